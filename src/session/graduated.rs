//! Graduated non-convexity as a task: solves with weights that are found in turn with the values.
//!
//! A round reads the costs of the terms' instances back, with the weights that their user gave them; makes weights of them
//! on the host; and solves. Terms with one weight for all are laid out with one for each meanwhile. In the end all weights
//! are the user's again.

use super::Session;
use super::costs::Costs;
use super::refined::Refining;
use super::task::{Progress, SolveMode, Task};
use leastwise_device::Play;
use leastwise_error::Error;
use leastwise_problem::{Reals, Weight};
use leastwise_solve::graduated::{Ending, Rounds, Schedule};
use leastwise_solve::{Options, Report, Termination};

/// A term whose instances may be outliers.
#[derive(Clone)]
pub struct Suspect {
    pub term: u32,
    /// c̄: the largest √w₀‖r‖ of an inlier.
    pub threshold: f64,
    /// Instances that are inliers whatever their residuals.
    pub known: Vec<u32>,
}

/// What graduated non-convexity found.
#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Graduated {
    /// Of the last solve.
    pub report: Box<Report>,
    pub ending: Ending,
    /// Weighted solves after the first, and the last μ.
    pub rounds: u32,
    pub mu: Option<f64>,
    /// Steps of all solves.
    pub steps: u32,
    /// How many instances each term has, whose weights are one after the other in `weights`.
    pub counts: Vec<u32>,
    #[serde(skip)]
    pub weights: Vec<f64>,
}

/// A term, with its user's weights and those of the round.
struct Weighed {
    suspect: Suspect,
    shared: Option<f64>,
    own: Vec<f64>,
    factors: Vec<f64>,
    /// r²/c̄² of every instance.
    squares: Vec<f64>,
}

pub(super) struct GraduatedTask {
    pub problem: u32,
    pub solver: u32,
    terms: Vec<Weighed>,
    rounds: Rounds,
    /// A solve, or the costs of the term with this number.
    stage: Stage,
    report: Option<Box<Report>>,
    steps: u32,
    /// Whether the solve that is running is to be the last.
    pub stopped: bool,
}

enum Stage {
    Solving(Box<Task>),
    Looking(usize, Box<Costs>),
    /// The last solve goes on in mixed precision.
    Refining(Ending, Box<Refining>),
}

impl Suspect {
    /// Terms as they cross: term and number of known inliers, one pair after the other; thresholds; and all known inliers.
    pub fn unpack(terms: &[u32], thresholds: &[f64], mut known: &[u32]) -> Result<Vec<Self>, Error> {
        let suspects = terms.chunks_exact(2).zip(thresholds).map(|(pair, &threshold)| {
            let (own, rest) = known
                .split_at_checked(pair[1] as usize)
                .ok_or_else(|| Error::InvalidOption("known inliers crossed incompletely".into()))?;
            known = rest;
            Ok(Self { term: pair[0], threshold, known: own.to_vec() })
        });
        suspects.collect()
    }
}

impl GraduatedTask {
    /// A step that a device is in the midst of.
    pub(super) fn playing(&mut self) -> Option<&mut Play> {
        match &mut self.stage {
            Stage::Solving(task) => match &mut **task {
                Task::Solve { play, .. } => play.as_mut(),
                _ => None,
            },
            Stage::Looking(..) | Stage::Refining(..) => None,
        }
    }

    pub(super) fn refining(&mut self) -> Option<&mut Refining> {
        if let Stage::Refining(_, refining) = &mut self.stage { Some(refining) } else { None }
    }
}

impl Session {
    /// A task: solves with the instances of these terms weighted by graduated non-convexity.
    pub fn graduated(&mut self, problem: u32, suspects: &[Suspect], schedule: Schedule, options: &Options) -> Result<u32, Error> {
        schedule.validate()?;
        let settings = options.settings()?;
        let (entry, ..) = self.idle(problem)?;
        let of = &entry.problem;
        of.without_constraints("graduated", "whose multipliers would have to follow the weights")?;
        if suspects.is_empty() {
            return Err(Error::InvalidOption("graduated: name at least one term whose instances may be outliers".into()));
        }
        let mut terms = Vec::new();
        for (place, suspect) in suspects.iter().enumerate() {
            let term = of.term(suspect.term)?;
            let refuse = |message: String| Err(Error::InvalidOption(format!("graduated: term \"{}\" {message}", term.name)));
            if !term.enabled {
                return refuse("is disabled".into());
            }
            if suspects[..place].iter().any(|other| other.term == suspect.term) {
                return refuse("is named twice".into());
            }
            if !term.is_plain() {
                return refuse("is an energy, or has a robust loss, of whose cost no threshold of ‖r‖ can be had: graduated weights take the loss's place".into());
            }
            if !(suspect.threshold > 0.0 && suspect.threshold.is_finite()) {
                return refuse(format!("has a threshold of {}, but it must be a positive number", suspect.threshold));
            }
            if let Some(&index) = suspect.known.iter().find(|index| **index >= term.count) {
                return Err(Error::RowOutOfRange { table: format!("known inliers of {}", term.name), index, count: term.count });
            }
            let (shared, own) = term.weights();
            if shared.is_some() && term.entries.is_some() {
                return refuse("sums over rows (sumOver) and has one weight for all: make it with one for each instance, as in weight: new Float32Array(count).fill(1)".into());
            }
            let factors = vec![1.0; own.len()];
            terms.push(Weighed { suspect: suspect.clone(), shared, squares: vec![0.0; own.len()], own, factors });
        }
        let (entry, device, _) = self.idle(problem)?;
        for weighed in terms.iter().filter(|weighed| weighed.shared.is_some()) {
            entry.problem.spread_weight(device, weighed.suspect.term)?;
        }
        let solver = match self.add_solver(problem, settings) {
            Ok(solver) => solver,
            Err(error) => {
                let (entry, device, _) = self.entry(problem)?;
                give_back(&mut entry.problem, device, &terms)?;
                return Err(error);
            }
        };
        let stage = Stage::Solving(Box::new(self.first_solve(problem, solver)?));
        let task = GraduatedTask { problem, solver, terms, rounds: Rounds::new(schedule), stage, report: None, steps: 0, stopped: false };
        self.start_task(problem, Task::Graduated(Box::new(task)))
    }

    pub(super) fn resume_graduated(&mut self, task: &mut GraduatedTask, deadline: f64) -> Result<Progress, Error> {
        loop {
            match &mut task.stage {
                Stage::Solving(inner) => match match &mut **inner {
                    Task::Costs(costs) => self.resume_costs(costs, deadline)?,
                    Task::SettingUp(_) => self.resume_set_up(inner, deadline)?,
                    _ => self.resume_solve(inner, deadline)?,
                } {
                    Progress::Report(report) => {
                        task.steps += report.iterations.len() as u32;
                        let over = task.stopped || report.termination == Termination::Stopped;
                        task.report = Some(report);
                        if over {
                            return self.finish_graduated(task, Ending::Stopped);
                        }
                        self.weigh(task, false)?;
                        task.stage = Stage::Looking(0, Box::new(self.look(task, 0)?));
                    }
                    other => return Ok(other),
                },
                Stage::Looking(place, costs) => match self.resume_costs(costs, deadline)? {
                    Progress::Values(values) => {
                        let place = *place;
                        let Stage::Looking(_, costs) = &task.stage else { return Err(Error::Disposed("task")) };
                        costs.buffers().into_iter().for_each(|buffer| self.device.free(buffer));
                        let weighed = &mut task.terms[place];
                        let scale = 2.0 / weighed.suspect.threshold.powi(2);
                        weighed.squares = values.iter().map(|cost| scale * cost).collect();
                        if place + 1 < task.terms.len() {
                            task.stage = Stage::Looking(place + 1, Box::new(self.look(task, place + 1)?));
                            continue;
                        }
                        // What comes next has no buffers of the costs any more.
                        task.stage = Stage::Solving(Box::new(Task::solve(task.problem, task.solver, SolveMode::Solve)));
                        if let Some(ending) = task.next_round() {
                            if !self.refine_last(task, ending)? {
                                return self.finish_graduated(task, ending);
                            }
                            continue;
                        }
                        self.weigh(task, true)?;
                        self.reopen(task)?;
                    }
                    other => return Ok(other),
                },
                Stage::Refining(ending, refining) => match (*ending, self.resume_refining(refining, deadline)?) {
                    (ending, Progress::Report(report)) => {
                        let known = task.report.take().map_or(0, |report| report.iterations.len());
                        task.steps += (report.iterations.len() - known) as u32;
                        task.report = Some(report);
                        return self.finish_graduated(task, ending);
                    }
                    (_, other) => return Ok(other),
                },
            }
        }
    }

    /// Whether the last solve goes on in mixed precision, with its weights.
    fn refine_last(&mut self, task: &mut GraduatedTask, ending: Ending) -> Result<bool, Error> {
        self.weigh(task, true)?;
        let Some(report) = &mut task.report else { return Err(Error::Disposed("task")) };
        let refining = self.refinement(task.problem, task.solver, report)?;
        let is_refined = refining.is_some();
        refining.into_iter().for_each(|refining| task.stage = Stage::Refining(ending, refining));
        Ok(is_refined)
    }

    fn look(&mut self, task: &GraduatedTask, place: usize) -> Result<Costs, Error> {
        let (entry, device, registry) = self.entry(task.problem)?;
        entry.problem.lay_out(device, registry)?;
        Costs::of_term(device, &entry.problem, task.problem, task.terms[place].suspect.term)
    }

    fn reopen(&mut self, task: &GraduatedTask) -> Result<(), Error> {
        let Some(entry) = self.solvers.get_mut(task.solver) else { return Err(Error::Disposed("solver")) };
        let Some(owner) = self.problems.get_mut(task.problem) else { return Err(Error::Disposed("problem")) };
        entry.solver.prepare(&mut self.device, &mut self.registry, &mut owner.problem)?;
        entry.solver.reopen();
        Ok(())
    }

    /// Gives the terms the weights of the round, or their users'.
    fn weigh(&mut self, task: &GraduatedTask, by_factors: bool) -> Result<(), Error> {
        let (entry, ..) = self.entry(task.problem)?;
        for Weighed { suspect, own, factors, .. } in &task.terms {
            let product = || own.iter().zip(factors).map(|(own, factor)| own * factor).collect();
            let weights = if by_factors { product() } else { own.clone() };
            entry.problem.set_weight(suspect.term, Weight::Each(Reals::F64(&weights)))?;
        }
        Ok(())
    }

    fn finish_graduated(&mut self, task: &mut GraduatedTask, ending: Ending) -> Result<Progress, Error> {
        let report = task.report.take().ok_or(Error::Disposed("task"))?;
        Ok(Progress::Graduated(Box::new(Graduated {
            report,
            ending,
            rounds: task.rounds.count,
            mu: task.rounds.mu,
            steps: task.steps,
            counts: task.terms.iter().map(|weighed| weighed.factors.len() as u32).collect(),
            weights: task.terms.iter().flat_map(|weighed| weighed.factors.iter().copied()).collect(),
        })))
    }

    /// Gives the weights back, whatever became of the task.
    pub(super) fn end_graduated(&mut self, task: GraduatedTask) {
        match task.stage {
            Stage::Solving(inner) => {
                if let Task::Costs(costs) = *inner {
                    costs.buffers().into_iter().for_each(|buffer| self.device.free(buffer));
                }
            }
            Stage::Looking(_, costs) => costs.buffers().into_iter().for_each(|buffer| self.device.free(buffer)),
            Stage::Refining(_, refining) => self.end_refining(*refining),
        }
        self.free_solver(task.solver);
        if let Some(entry) = self.problems.get_mut(task.problem) {
            // Of terms that are gone, nobody needs them.
            let _ = give_back(&mut entry.problem, &mut self.device, &task.terms);
        }
    }
}

impl GraduatedTask {
    /// Weights for the next round, or why there is none.
    fn next_round(&mut self) -> Option<Ending> {
        let is_known = |weighed: &Weighed| {
            let mut known = vec![false; weighed.own.len()];
            weighed.suspect.known.iter().for_each(|&index| known[index as usize] = true);
            // What weighs nothing has no residual to be judged by.
            known.iter_mut().zip(&weighed.own).for_each(|(known, own)| *known |= *own == 0.0);
            known
        };
        let open: Vec<(usize, usize)> = self
            .terms
            .iter()
            .enumerate()
            .flat_map(|(place, weighed)| {
                let known = is_known(weighed);
                (0..known.len()).filter(move |&k| !known[k]).map(move |k| (place, k)).collect::<Vec<_>>()
            })
            .collect();
        let squares: Vec<f64> = open.iter().map(|&(place, k)| self.terms[place].squares[k]).collect();
        let mut weights: Vec<f64> = open.iter().map(|&(place, k)| self.terms[place].factors[k]).collect();
        let ending = self.rounds.next(&squares, &mut weights);
        open.into_iter().zip(weights).for_each(|((place, k), weight)| self.terms[place].factors[k] = weight);
        ending
    }
}

fn give_back(problem: &mut leastwise_problem::Problem, device: &mut leastwise_device::Device, terms: &[Weighed]) -> Result<(), Error> {
    for weighed in terms {
        match weighed.shared {
            Some(value) => problem.gather_weight(device, weighed.suspect.term, value)?,
            None => problem.set_weight(weighed.suspect.term, Weight::Each(Reals::F64(&weighed.own)))?,
        }
    }
    Ok(())
}

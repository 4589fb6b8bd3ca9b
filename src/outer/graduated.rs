//! Graduated non-convexity: solves with weights that are found in turn with the values. `leastwise_solve::graduated` has the rules.
//!
//! A round reads the costs of the terms' instances back, with the weights that their user gave them; makes weights of them
//! on the host; and solves. Terms with one weight for all are laid out with one for each meanwhile. In the end all weights
//! are the user's again. Constraints are part of every round: each of its solves is one by the augmented Lagrangian.

use crate::evaluation::InstanceCosts;
use crate::set_up::takes_long;
use crate::{AugmentedLagrangian, Context, Devices, Driven, MixedPrecision, SetUp, Solve, SolveMode, Turn};
use leastwise_device::{Device, Play};
use leastwise_error::Error;
use leastwise_problem::{Problem, Reals, Weight};
use leastwise_solve::graduated::{Ending, Rounds, Schedule};
use leastwise_solve::{Report, Settings, Termination};

/// A term whose instances may be outliers.
#[derive(Clone)]
pub struct Suspect {
    /// Number of the term.
    pub term: u32,
    /// c̄: the largest √w₀‖r‖ of an inlier.
    pub threshold: f64,
    /// Instances that are inliers whatever their residuals.
    pub known: Vec<u32>,
}

/// Outcome of graduated non-convexity.
#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Graduated {
    /// Report of the last solve.
    pub report: Box<Report>,
    /// Reason of the end.
    pub ending: Ending,
    /// Weighted solves after the first, and the last μ.
    pub rounds: u32,
    /// Last μ; none if there was no weighted solve.
    pub mu: Option<f64>,
    /// Steps of all solves.
    pub steps: u32,
    /// Number of instances of each term; their weights are one after the other in `weights`.
    pub counts: Vec<u32>,
    /// Weights of all instances, term by term.
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

/// A graduated solve on its way, with a solver of its own.
pub struct Graduation {
    driven: Driven,
    terms: Vec<Weighed>,
    rounds: Rounds,
    stage: Stage,
    report: Option<Box<Report>>,
    steps: u32,
    /// True if the solve that is running is to be the last.
    is_stopped: bool,
}

enum Stage {
    SettingUp(SetUp),
    /// The solver is up to date: the next of the solves begins.
    Beginning,
    Solving(Box<Round>),
    /// Costs of the instances of the term in this place.
    Evaluating(usize, Box<InstanceCosts>),
    /// The last solve goes on in mixed precision.
    Refining(Ending, Box<MixedPrecision>),
}

/// The solve of a round.
enum Round {
    Plain(Box<Solve>),
    Constrained(Box<AugmentedLagrangian>),
}

impl Round {
    fn begin(context: &mut Context) -> Result<Self, Error> {
        let is_constrained = context.problem.enabled_constraints().next().is_some();
        Ok(if is_constrained {
            Self::Constrained(Box::new(AugmentedLagrangian::new(context)?))
        } else {
            Self::Plain(Box::new(Solve::new(SolveMode::Solve)))
        })
    }

    fn resume(&mut self, context: &mut Context, deadline: f64) -> Result<Turn<Box<Report>>, Error> {
        match self {
            Self::Plain(solve) => match solve.resume(context, deadline)?.outcome() {
                Ok(Some(report)) => Ok(Turn::Over(report)),
                Ok(None) => Err(Error::Internal("a graduated solve has no report")),
                Err(turn) => Ok(turn),
            },
            Self::Constrained(outer) => outer.resume(context, deadline),
        }
    }

    fn playing(&mut self) -> Option<&mut Play> {
        match self {
            Self::Plain(solve) => solve.playing(),
            Self::Constrained(outer) => outer.playing(),
        }
    }

    fn free(self, device: &mut Device) {
        match self {
            Self::Plain(mut solve) => solve.free(device),
            Self::Constrained(outer) => outer.free(device),
        }
    }
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

impl Graduation {
    /// Solves with the instances of these terms weighted by graduated non-convexity.
    pub fn new(
        devices: &mut Devices,
        problem: &mut Problem,
        suspects: &[Suspect],
        schedule: Schedule,
        settings: Settings,
    ) -> Result<Self, Error> {
        let terms = weighed(problem, suspects)?;
        let device = &mut devices.main;
        for weighed in terms.iter().filter(|weighed| weighed.shared.is_some()) {
            problem.spread_weight(device, weighed.suspect.term)?;
        }
        let driven = match Driven::new(device, &mut devices.registry, problem, settings) {
            Ok(driven) => driven,
            Err(error) => {
                give_back(problem, device, &terms)?;
                return Err(error);
            }
        };
        let stage = match takes_long(&driven.solver, problem) {
            true => Stage::SettingUp(SetUp::new(true)),
            false => Stage::Beginning,
        };
        Ok(Self { driven, terms, rounds: Rounds::new(schedule), stage, report: None, steps: 0, is_stopped: false })
    }

    /// Ends the solve after the present iteration.
    pub fn stop(&mut self, reason: &str) {
        self.is_stopped = true;
        if let Stage::Refining(_, refinement) = &mut self.stage {
            refinement.stop(reason);
        }
        self.driven.solver.stop(reason);
    }

    /// The recording that is being played, which brings the problem's uploads along.
    pub fn playing(&mut self) -> Option<&mut Play> {
        match &mut self.stage {
            Stage::Solving(round) => round.playing(),
            Stage::Evaluating(_, costs) => costs.playing(),
            _ => None,
        }
    }

    /// Goes on until a recording has to be waited for, the deadline (ms) is over, or the result is there. Fails as a solve does.
    pub fn resume(&mut self, devices: &mut Devices, problem: &mut Problem, deadline: f64) -> Result<Turn<Graduated>, Error> {
        loop {
            match &mut self.stage {
                Stage::SettingUp(set_up) => {
                    if let Err(turn) = set_up.resume(devices, problem, &mut self.driven.solver, deadline)?.outcome::<Graduated>() {
                        return Ok(turn);
                    }
                    self.stage = Stage::Beginning;
                    return Ok(Turn::Yielded);
                }
                Stage::Beginning => {
                    let mut context = Context { devices, problem, driven: &mut self.driven };
                    self.stage = Stage::Solving(Box::new(Round::begin(&mut context)?));
                }
                Stage::Solving(round) => {
                    let mut context = Context { devices, problem, driven: &mut self.driven };
                    let report = match round.resume(&mut context, deadline)?.outcome() {
                        Ok(report) => report,
                        Err(turn) => return Ok(turn),
                    };
                    self.steps += report.iterations.len() as u32;
                    let over = self.is_stopped || report.termination == Termination::Stopped;
                    // Weights have no part in constraints: what can't be met now can't be later.
                    let unmet = report.termination == Termination::Infeasible;
                    self.report = Some(report);
                    if over {
                        return self.finish(Ending::Stopped);
                    }
                    if unmet {
                        return self.finish(Ending::Infeasible);
                    }
                    self.weigh(problem, false)?;
                    self.evaluate(devices, problem, 0)?;
                }
                Stage::Evaluating(place, costs) => {
                    let costs = match costs.resume(&mut devices.main, problem, deadline)?.outcome() {
                        Ok(costs) => costs,
                        Err(turn) => return Ok(turn),
                    };
                    let place = *place;
                    // What comes next has no buffers of the costs any more.
                    let ended = std::mem::replace(&mut self.stage, Stage::Beginning);
                    ended.free(devices);
                    let weighed = &mut self.terms[place];
                    let scale = 2.0 / weighed.suspect.threshold.powi(2);
                    weighed.squares = costs.iter().map(|cost| scale * cost).collect();
                    if place + 1 < self.terms.len() {
                        self.evaluate(devices, problem, place + 1)?;
                        continue;
                    }
                    if let Some(ending) = self.next_round() {
                        if !self.refine(devices, problem, ending)? {
                            return self.finish(ending);
                        }
                        continue;
                    }
                    self.weigh(problem, true)?;
                    self.driven.solver.prepare(&mut devices.main, &mut devices.registry, problem)?;
                    self.driven.solver.reopen();
                    self.stage = Stage::Beginning;
                }
                Stage::Refining(ending, refinement) => {
                    let mut context = Context { devices, problem, driven: &mut self.driven };
                    let report = match refinement.resume(&mut context, deadline)?.outcome() {
                        Ok(report) => report,
                        Err(turn) => return Ok(turn),
                    };
                    let ending = *ending;
                    let known = self.report.take().map_or(0, |report| report.iterations.len());
                    self.steps += (report.iterations.len() - known) as u32;
                    self.report = Some(report);
                    return self.finish(ending);
                }
            }
        }
    }

    /// Begins to evaluate the costs of the term in a place.
    fn evaluate(&mut self, devices: &mut Devices, problem: &mut Problem, place: usize) -> Result<(), Error> {
        problem.lay_out(&mut devices.main, &mut devices.registry)?;
        let costs = InstanceCosts::of_term(&mut devices.main, problem, self.terms[place].suspect.term)?;
        self.stage = Stage::Evaluating(place, Box::new(costs));
        Ok(())
    }

    /// Begins to go on in mixed precision with the weights of the last solve; false if it is not to.
    fn refine(&mut self, devices: &mut Devices, problem: &mut Problem, ending: Ending) -> Result<bool, Error> {
        self.weigh(problem, true)?;
        let Some(report) = &mut self.report else { return Err(Error::Internal("a graduated solve has no report")) };
        let mut context = Context { devices, problem, driven: &mut self.driven };
        let refinement = MixedPrecision::begin(&mut context, report)?;
        let is_refined = refinement.is_some();
        refinement.into_iter().for_each(|refinement| self.stage = Stage::Refining(ending, refinement));
        Ok(is_refined)
    }

    /// Gives the terms the weights of the round, or their users'.
    fn weigh(&self, problem: &mut Problem, by_factors: bool) -> Result<(), Error> {
        for Weighed { suspect, own, factors, .. } in &self.terms {
            let product = || own.iter().zip(factors).map(|(own, factor)| own * factor).collect();
            let weights = if by_factors { product() } else { own.clone() };
            problem.set_weight(suspect.term, Weight::Each(Reals::F64(&weights)))?;
        }
        Ok(())
    }

    fn finish(&mut self, ending: Ending) -> Result<Turn<Graduated>, Error> {
        Ok(Turn::Over(Graduated {
            report: self.report.take().ok_or(Error::Internal("a graduated solve has no report"))?,
            ending,
            rounds: self.rounds.count,
            mu: self.rounds.mu,
            steps: self.steps,
            counts: self.terms.iter().map(|weighed| weighed.factors.len() as u32).collect(),
            weights: self.terms.iter().flat_map(|weighed| weighed.factors.iter().copied()).collect(),
        }))
    }

    /// Gives the weights back, whatever became of the solve, and frees what it has on the devices. The problem may be gone.
    pub fn free(self, devices: &mut Devices, mut problem: Option<&mut Problem>) {
        if let (Stage::Solving(round), Some(problem)) = (&self.stage, &mut problem)
            && let Round::Constrained(outer) = &**round
        {
            // A problem that has none of its terms any more has nothing to be left in order.
            let _ = outer.abandon(problem);
        }
        self.stage.free(devices);
        self.driven.free(&mut devices.main);
        if let Some(problem) = problem {
            // Of terms that are gone, nobody needs them.
            let _ = give_back(problem, &mut devices.main, &self.terms);
        }
    }

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

impl Stage {
    fn free(self, devices: &mut Devices) {
        match self {
            Self::SettingUp(_) | Self::Beginning => {}
            Self::Solving(round) => round.free(&mut devices.main),
            Self::Evaluating(_, costs) => costs.free(&mut devices.main),
            Self::Refining(_, refinement) => refinement.free(devices),
        }
    }
}

/// The terms that are named, each checked.
fn weighed(problem: &Problem, suspects: &[Suspect]) -> Result<Vec<Weighed>, Error> {
    if suspects.is_empty() {
        return Err(Error::InvalidOption("graduated: name at least one term whose instances may be outliers".into()));
    }
    let mut terms = Vec::new();
    for (place, suspect) in suspects.iter().enumerate() {
        let term = problem.term(suspect.term)?;
        let refuse = |message: String| Err(Error::InvalidOption(format!("graduated: term \"{}\" {message}", term.name)));
        if !term.enabled {
            return refuse("is disabled".into());
        }
        if suspects[..place].iter().any(|other| other.term == suspect.term) {
            return refuse("is named twice".into());
        }
        if term.constraint.is_some() {
            return refuse("is a constraint, which holds whatever the weights are: name residuals".into());
        }
        if !term.is_plain() {
            return refuse(
                "is an energy, or has a robust loss, of whose cost no threshold of ‖r‖ can be had: graduated weights take the loss's place"
                    .into(),
            );
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
    Ok(terms)
}

fn give_back(problem: &mut Problem, device: &mut Device, terms: &[Weighed]) -> Result<(), Error> {
    for weighed in terms {
        match weighed.shared {
            Some(value) => problem.gather_weight(device, weighed.suspect.term, value)?,
            None => problem.set_weight(weighed.suspect.term, Weight::Each(Reals::F64(&weighed.own)))?,
        }
    }
    Ok(())
}

//! Augmented Lagrangian: minimisations with fixed multipliers, one after the other, and an evaluation of the constraints between
//! two of them. [`Lagrangian`] has the rules.

use crate::evaluation::{TermEvaluation, Wanted};
use crate::mixed_precision::refusal;
use crate::{Context, Solve, SolveMode, Turn};
use leastwise_base::FileError;
use leastwise_device::{Device, Play, Precision};
use leastwise_error::Error;
use leastwise_problem::file::bytes::{Reader, Writer};
use leastwise_problem::{Problem, Term};
use leastwise_solve::{Iteration, Lagrangian, Report, Solver, Termination, Verdict};
use std::ops::RangeBounds;

/// A constrained solve on its way.
pub struct AugmentedLagrangian {
    lagrangian: Lagrangian,
    stage: Stage,
    /// Report of the last minimisation, while constraints are evaluated, and the residuals of those that were.
    minimised: Option<Box<Report>>,
    residuals: Vec<(u32, Vec<f64>)>,
    /// Purpose of the evaluations under way. `residuals` are scales until rows have theirs.
    wanted: Evaluated,
    /// The ending, while the slope of what could not be met is looked for.
    ending: Option<(Termination, String)>,
    /// Account of all minimisations.
    iterations: Vec<Iteration>,
    initial_cost: Option<f64>,
    solve_ms: f64,
}

/// Entries of a constraint's Jacobian that are read back at most.
const MOST_SLOPES: u64 = 1 << 22;

/// Purpose of an evaluation of constraints.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evaluated {
    /// Scales of rows, by their slopes at the start.
    Scales,
    /// Rows after a minimisation.
    Rows,
    /// Slopes of the constraint that could not be met.
    Slopes,
}

enum Stage {
    Minimising(Box<Solve>),
    /// Evaluation of the constraint that is the term with this number.
    Evaluating(u32, Box<TermEvaluation>),
    /// Return to the values that it began with.
    Returning(Box<Play>),
}

/// A constrained solve in its midst, as a file has it.
pub struct SavedOuter {
    lagrangian: Lagrangian,
    initial_cost: Option<f64>,
    solve_ms: f64,
}

impl SavedOuter {
    /// Reads the section of a file, for a solver that goes on with its own settings.
    ///
    /// # Errors
    /// [`FileError`] for what is no such section.
    pub fn read(bytes: &[u8], solver: &Solver, is_single: bool) -> Result<Self, FileError> {
        let mut from = Reader::new(bytes);
        let lagrangian = Lagrangian::read(&mut from, Lagrangian::new(solver.outer_settings(), is_single))?;
        let saved = Self { lagrangian, initial_cost: from.option(Reader::f64)?, solve_ms: from.f64()? };
        from.end()?;
        Ok(saved)
    }
}

impl AugmentedLagrangian {
    /// The section of a file between two steps.
    pub fn save(&self) -> Vec<u8> {
        let mut to = Writer::default();
        self.lagrangian.write(&mut to);
        to.option(self.initial_cost, Writer::f64);
        to.f64(self.solve_ms);
        to.bytes
    }

    /// Multipliers of the last solve are kept: they are the best guess. Penalties begin anew.
    pub fn new(context: &mut Context) -> Result<Self, Error> {
        let Context { devices, problem, driven } = context;
        let is_single = devices.main.precision() == Precision::F32;
        if let Some(SavedOuter { lagrangian, initial_cost, solve_ms }) = driven.outer.take() {
            driven.solver.loosen(lagrangian.slack());
            let iterations = driven.solver.reported().to_vec();
            return Ok(Self { iterations, initial_cost, solve_ms, ..Self::with(lagrangian, Evaluated::Rows) });
        }
        let lagrangian = Lagrangian::new(driven.solver.outer_settings(), is_single);
        driven.solver.loosen(lagrangian.slack());
        let mut outer = Self::with(lagrangian, Evaluated::Scales);
        open(problem, true)?;
        if !outer.evaluate(context, 0..)? {
            outer.begin(context)?;
        }
        Ok(outer)
    }

    fn with(lagrangian: Lagrangian, wanted: Evaluated) -> Self {
        Self {
            lagrangian,
            stage: Stage::minimising(),
            minimised: None,
            residuals: Vec::new(),
            wanted,
            ending: None,
            iterations: Vec::new(),
            initial_cost: None,
            solve_ms: 0.0,
        }
    }

    /// Sets scales, and penalties anew, before the first minimisation.
    fn begin(&mut self, context: &mut Context) -> Result<(), Error> {
        let Context { devices, problem, .. } = context;
        self.wanted = Evaluated::Rows;
        open(problem, false)?;
        for (number, scales) in self.residuals.drain(..) {
            problem.set_scales(number, scales)?;
        }
        let all: Vec<(u32, Vec<f64>)> = problem
            .enabled_constraints()
            .map(|(number, _, constraint)| {
                let part = constraint.penalty / self.lagrangian.penalty;
                (number, constraint.shifts.iter().map(|shift| part * shift).collect())
            })
            .collect();
        for (number, shifts) in all {
            problem.set_multipliers(&devices.main, number, self.lagrangian.penalty, shifts)?;
        }
        self.stage = Stage::minimising();
        Ok(())
    }

    /// Leaves the problem as it is between minimisations.
    pub fn abandon(&self, problem: &mut Problem) -> Result<(), Error> {
        if self.wanted == Evaluated::Scales { open(problem, false) } else { Ok(()) }
    }

    /// True while no step is on its way.
    pub fn is_between_steps(&self) -> bool {
        matches!(&self.stage, Stage::Minimising(solve) if solve.is_between_steps())
    }

    /// The recording that is being played, which brings the problem's uploads along.
    pub fn playing(&mut self) -> Option<&mut Play> {
        match &mut self.stage {
            Stage::Minimising(solve) => solve.playing(),
            Stage::Returning(play) => Some(play),
            Stage::Evaluating(_, evaluation) => evaluation.playing(),
        }
    }

    /// Goes on until a recording has to be waited for, the deadline (ms) is over, or the report is there. Fails as a solve does.
    pub fn resume(&mut self, context: &mut Context, deadline: f64) -> Result<Turn<Box<Report>>, Error> {
        loop {
            match &mut self.stage {
                Stage::Minimising(solve) => {
                    let report = match solve.resume(context, deadline)?.outcome() {
                        Ok(Some(report)) => report,
                        Ok(None) => return Err(Error::Internal("a minimisation has no report")),
                        Err(turn) => return Ok(turn),
                    };
                    self.iterations.extend(report.iterations.iter().copied());
                    self.initial_cost.get_or_insert(report.initial_cost);
                    self.solve_ms += report.solve_ms;
                    self.minimised = Some(report);
                    self.evaluate(context, 0..)?;
                }
                Stage::Returning(play) => match Turn::from(context.devices.main.resume(play, deadline)?).outcome() {
                    Ok(_) => self.stage = Stage::minimising(),
                    Err(turn) => return Ok(turn),
                },
                Stage::Evaluating(number, evaluation) => {
                    let residuals = match evaluation.resume(&mut context.devices.main, context.problem, deadline)?.outcome() {
                        Ok(residuals) => residuals,
                        Err(turn) => return Ok(turn),
                    };
                    let number = *number;
                    self.end_stage(context);
                    let term = context.problem.term(number)?;
                    let constraint = term.constraint.as_ref().ok_or(Error::Internal("a term is not a constraint"))?;
                    match self.wanted {
                        Evaluated::Scales => {
                            let jacobian = &residuals[constraint.shifts.len()..];
                            self.residuals.push((number, Lagrangian::scales(constraint, jacobian)));
                        }
                        Evaluated::Rows => {
                            self.lagrangian.look(&term.name, constraint, &residuals);
                            self.residuals.push((number, residuals));
                        }
                        Evaluated::Slopes => {
                            let hint = self.lagrangian.hint(constraint, &residuals[constraint.shifts.len()..]);
                            return self.conclude(context, hint).map(Turn::Over);
                        }
                    }
                    if self.evaluate(context, number + 1..)? {
                        continue;
                    }
                    if self.wanted == Evaluated::Scales {
                        self.begin(context)?;
                    } else if let Some(report) = self.update(context)? {
                        return Ok(Turn::Over(report));
                    }
                }
            }
        }
    }

    /// Begins to evaluate the first constraint among some terms; false if there is none.
    fn evaluate(&mut self, context: &mut Context, among: impl RangeBounds<u32>) -> Result<bool, Error> {
        let Context { devices, problem, .. } = context;
        let wanted = if self.wanted == Evaluated::Rows { Wanted::Residuals } else { Wanted::Values(None) };
        // Rows of terms with too many derivatives stay as they are.
        let is_wanted = |term: &Term| {
            let (rows, columns) = term.shape(problem.tables());
            wanted == Wanted::Residuals || u64::from(term.count) * u64::from(rows) * u64::from(columns) <= MOST_SLOPES
        };
        let next = problem.enabled_constraints().find(|(number, term, _)| among.contains(number) && is_wanted(term));
        let Some((number, ..)) = next else { return Ok(false) };
        let evaluation = TermEvaluation::new(&mut devices.main, &mut devices.registry, problem, number, wanted)?;
        // It linearises at the accepted point whatever the solver knows of it.
        problem.linearized_by = None;
        self.stage = Stage::Evaluating(number, Box::new(evaluation));
        Ok(true)
    }

    /// Multipliers and penalty after all constraints were evaluated; the report, or nothing before the next minimisation.
    fn update(&mut self, context: &mut Context) -> Result<Option<Box<Report>>, Error> {
        let Context { devices, problem, driven } = context;
        let Some(report) = self.minimised.take() else { return Err(Error::Internal("a minimisation has no report")) };
        let is_exact = !driven.solver.is_loosened();
        let falls = report.termination == Termination::Unbounded;
        let is_unbounded = falls || self.residuals.iter().any(|(_, residuals)| self.lagrangian.is_unbounded(residuals));
        let verdict = self.lagrangian.judge(&report, is_exact, is_unbounded);
        for (number, residuals) in self.residuals.drain(..) {
            let term = problem.term(number)?;
            let Some(constraint) = &term.constraint else { continue };
            let shifts = match &verdict {
                // A minimisation that was cut short says nothing of λ.
                Verdict::Over(Termination::Stopped | Termination::TimeLimit | Termination::Singular, _) => continue,
                Verdict::Restoration | Verdict::Restart | Verdict::Over(Termination::Unbounded, _) => vec![0.0; residuals.len()],
                // λ grew with what can't be met: the next solve is not to begin with it.
                Verdict::Over(Termination::Infeasible | Termination::NoProgress, _) if !self.lagrangian.is_met() => {
                    vec![0.0; residuals.len()]
                }
                Verdict::Next | Verdict::Over(..) => self.lagrangian.shifts(constraint, &residuals),
            };
            problem.set_multipliers(&devices.main, number, self.lagrangian.penalty, shifts)?;
        }
        let Verdict::Over(termination, reason) = verdict else {
            driven.solver.continue_with(self.lagrangian.slack());
            self.stage = if verdict == Verdict::Restart {
                let recording = driven.solver.begin_anew(problem)?;
                Stage::Returning(Box::new(devices.main.start(recording)))
            } else {
                Stage::minimising()
            };
            return Ok(None);
        };
        self.minimised = Some(report);
        let worst = self.lagrangian.worst().map(|worst| worst.term.clone()).filter(|_| termination == Termination::Infeasible);
        self.ending = Some((termination, reason));
        let unmet = worst.and_then(|name| problem.enabled_constraints().find(|(_, term, _)| term.name == name).map(|found| found.0));
        if let Some(number) = unmet {
            self.wanted = Evaluated::Slopes;
            if self.evaluate(context, number..=number)? {
                return Ok(None);
            }
        }
        self.conclude(context, None).map(Some)
    }

    /// The report of all minimisations.
    fn conclude(&mut self, context: &mut Context, hint: Option<&str>) -> Result<Box<Report>, Error> {
        let Context { devices, problem, driven } = context;
        let (Some(mut report), Some((termination, mut reason))) = (self.minimised.take(), self.ending.take()) else {
            return Err(Error::Internal("a constrained solve has no ending"));
        };
        hint.into_iter().for_each(|hint| reason.push_str(hint));
        report.converged = termination == Termination::Converged;
        (report.termination, report.reason) = (termination, reason);
        report.iterations = std::mem::take(&mut self.iterations);
        report.initial_cost = self.initial_cost.unwrap_or(report.initial_cost);
        report.solve_ms = self.solve_ms;
        let empty = Lagrangian::new(Default::default(), false);
        std::mem::replace(&mut self.lagrangian, empty).conclude(&mut report);
        if let Some(refusal) = refusal(devices, problem, &driven.solver, &report)? {
            report.refinement = refusal;
        }
        Ok(report)
    }

    fn end_stage(&mut self, context: &mut Context) {
        let ended = std::mem::replace(&mut self.stage, Stage::minimising());
        ended.free(&mut context.devices.main);
    }

    /// Frees what it has on the device.
    pub fn free(self, device: &mut Device) {
        self.stage.free(device);
    }
}

/// Has constraints show all their slopes, or no longer.
fn open(problem: &mut Problem, open: bool) -> Result<(), Error> {
    let numbers: Vec<u32> = problem.enabled_constraints().map(|(number, ..)| number).collect();
    numbers.into_iter().try_for_each(|number| problem.open_constraint(number, open))
}

impl Stage {
    fn minimising() -> Self {
        Self::Minimising(Box::new(Solve::new(SolveMode::Solve)))
    }

    fn free(self, device: &mut Device) {
        match self {
            Self::Minimising(mut solve) => solve.free(device),
            Self::Evaluating(_, evaluation) => evaluation.free(device),
            Self::Returning(_) => {}
        }
    }
}

//! Differentiating through a solve, as a task: the accepted values come back, a mirror of the problem is differentiated twice
//! in f64 on the CPU ([`Differentiating`]), the adjoint system is solved, and its solution goes through the mixed derivatives.

mod differentiating;

use super::Session;
use super::costs::Costs;
use super::task::{Progress, Task};
use differentiating::{Differentiating, Next};
use leastwise_base::work::Work;
use leastwise_device::{Command, Play, Playing, Recording};
use leastwise_error::Error;
use leastwise_problem::Problem;
use leastwise_solve::Mirroring;
use leastwise_solve::adjoint::{AdjointOptions, Deficient};
use leastwise_solve::covariance::{Unseen, Values};

/// How gradients are made; what is not there is the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct BackwardOptions {
    /// Whether a part of the cotangent along which the cost does not change is left out, and not refused.
    pub least_norm: bool,
    pub rank_tolerance: Option<f64>,
    pub stationary_tolerance: Option<f64>,
}

impl BackwardOptions {
    fn adjoint(&self) -> AdjointOptions {
        let deficient = if self.least_norm { Deficient::LeastNorm } else { Deficient::Error };
        AdjointOptions { deficient, rank_tolerance: self.rank_tolerance }
    }

    fn validate(&self) -> Result<(), Error> {
        self.adjoint().validate()?;
        match self.stationary_tolerance.filter(|tolerance| tolerance.is_nan() || *tolerance < 0.0) {
            Some(tolerance) => {
                Err(Error::InvalidOption(format!("stationaryTolerance must be a number that is not negative, not {tolerance}")))
            }
            None => Ok(()),
        }
    }
}

/// dL/dθ of a function L of the solution.
#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gradients {
    /// max |gᵢ| at the values that were found, of what may move; ‖H⁻¹g‖ / ‖x‖ there; and whether that is next to nothing.
    pub gradient_norm: f64,
    pub distance: f64,
    pub stationary: bool,
    /// Newton's steps from there to where the gradients are of, in f64.
    pub refinements: u32,
    /// Independent directions along which the cost does not change, and what they move.
    pub deficiency: u32,
    pub unseen: Vec<Unseen>,
    /// Degrees of freedom that are neither fixed nor held by a limit.
    pub unknowns: u32,
    pub method: &'static str,
    pub terms: Vec<OfTerm>,
    pub tables: Vec<OfTable>,
    /// All of them one after the other: of every term its columns and its weight, then of every table.
    #[serde(skip)]
    pub values: Vec<f64>,
}

/// How many values of a term there are: of each column, and of its weight.
#[derive(serde::Serialize)]
pub struct OfTerm {
    pub term: u32,
    pub columns: Vec<usize>,
    pub weight: usize,
}

/// How many values of a table there are: of constants their scalars, of variables their degrees of freedom.
#[derive(serde::Serialize)]
pub struct OfTable {
    pub table: u32,
    pub values: usize,
}

/// Numbers of tables, with values.
type ByTable = Vec<(u32, Vec<f64>)>;
/// Cotangents, and whether they are by degrees of freedom.
type Given = (ByTable, bool);

/// Gradients on their way.
pub(super) struct BackwardTask {
    pub problem: u32,
    options: BackwardOptions,
    /// By table: ∂L/∂x of all stored scalars, or of all degrees of freedom.
    cotangents: ByTable,
    tangent: bool,
    stage: Option<Stage>,
}

enum Stage {
    Reading(Play),
    Mirroring(Box<Mirroring>, Known),
    Differentiating(Box<Differentiating>, Option<Play>),
    Working(Work<'static, (Box<Differentiating>, Result<(), Error>)>),
}

/// What is known of a mirror's values before it is laid out: also those of every table that moves, and ‖x‖.
struct Known {
    values: Values,
    x: ByTable,
    size: f64,
}

impl Known {
    fn of(mirror: &Problem) -> Self {
        let moving = (0..).zip(mirror.tables()).filter(|(_, table)| table.moving);
        let x: ByTable = moving.filter_map(|(number, table)| Some((number, table.initial_values()?.to_vec()))).collect();
        let size = x.iter().flat_map(|(_, x)| x).map(|x| x * x).sum::<f64>().sqrt();
        Self { values: Values::of(mirror), x, size }
    }
}

impl BackwardTask {
    /// What uploads to the problem's own device, and reads.
    pub(super) fn reading(&mut self) -> Option<&mut Play> {
        match &mut self.stage {
            Some(Stage::Reading(play)) => Some(play),
            _ => None,
        }
    }
}

impl Session {
    /// A task: dL/dθ with respect to data columns, weights, constants and what is held, for a function L of the solution of
    /// which ∂L/∂x is given: tables and how many values they have, and the values one after the other, with respect to stored
    /// scalars or (`tangent`) degrees of freedom.
    pub fn backward(
        &mut self,
        problem: u32,
        tables: &[u32],
        values: &[f64],
        tangent: bool,
        options: BackwardOptions,
    ) -> Result<u32, Error> {
        options.validate()?;
        let of = &mut self.idle(problem)?.0.problem;
        if !of.has_enabled_terms() {
            return Err(Error::EmptyProblem("enabled residual terms"));
        }
        of.without_constraints("backward()", "whose multipliers move with what the gradient is of")?;
        if let Some(term) = of.terms().find(|term| term.enabled && term.entries.is_some()) {
            let message = "sums over rows of any length (sumOver), of which there are no second derivatives: use .rows(…), or disable it";
            return Err(Error::InvalidOption(format!("backward(): term \"{}\" {message}", term.name)));
        }
        let (mut rest, mut cotangents) = (values, Vec::new());
        for pair in tables.chunks_exact(2) {
            let (number, got) = (pair[0], pair[1] as usize);
            let table = of.table(number)?;
            if !table.moving {
                return Err(Error::Shape {
                    name: table.name.clone(),
                    message: "a constant is no part of the solution, so it has no cotangent".into(),
                });
            }
            let len = if tangent { table.unknowns() } else { table.elements() } as usize;
            let (own, others) = rest.split_at_checked(got).ok_or_else(|| Error::InvalidOption("cotangents crossed incompletely".into()))?;
            if got != len {
                let what = format!("the cotangent of \"{}\"", table.name);
                return Err(Error::DataLength { term: None, what, got, expected: len.to_string() });
            }
            if let Some(position) = own.iter().position(|value| !value.is_finite()) {
                let what = format!("the cotangent of \"{}\"", table.name);
                return Err(Error::NonFinite { term: None, instance: None, what, position, value: own[position].to_string() });
            }
            cotangents.push((number, own.to_vec()));
            rest = others;
        }
        self.once_laid_out(problem, move |session| {
            let (entry, device, _) = session.entry(problem)?;
            let mut recording = Recording { commands: entry.problem.take_uploads() };
            recording.push(Command::Read { slice: entry.problem.arenas()?.0 });
            let stage = Some(Stage::Reading(device.start(recording)));
            Ok(Task::Backward(BackwardTask { problem, options, cotangents, tangent, stage }))
        })
    }

    pub(super) fn resume_backward(&mut self, running: &mut Task, deadline: f64) -> Result<Progress, Error> {
        let Task::Backward(task) = running else { return Err(Error::Disposed("task")) };
        let id = task.problem;
        loop {
            match task.stage.as_mut().ok_or(Error::Disposed("task"))? {
                Stage::Reading(play) => {
                    let point = match self.device.resume(play, deadline)? {
                        Playing::Yielded => return Ok(Progress::Yielded),
                        Playing::Waiting(signal) => return Ok(Progress::Waiting(signal)),
                        Playing::Finished(point) => point,
                    };
                    let precision = self.device.precision();
                    let owner = self.problems.get(id).ok_or(Error::Disposed("problem"))?;
                    let mirror = owner.problem.mirrored(&point, precision)?;
                    let known = Known::of(&mirror);
                    task.stage = Some(Stage::Mirroring(Box::new(Mirroring::new(mirror, |_| true)), known));
                }
                Stage::Mirroring(mirroring, _) => {
                    let precision = self.device.precision();
                    let (device, registry) = self.double();
                    let Some(mirrored) = mirroring.resume(device, registry, deadline)? else { return Ok(Progress::Yielded) };
                    let Some(Stage::Mirroring(_, known)) = task.stage.take() else { return Err(Error::Disposed("task")) };
                    let given = (std::mem::take(&mut task.cotangents), task.tangent);
                    let work = Differentiating::new(device, mirrored, known, given, precision)?;
                    task.stage = Some(Stage::Differentiating(Box::new(work), None));
                }
                Stage::Differentiating(work, play) => {
                    let (device, registry) = self.double();
                    if let Some(current) = play {
                        let values = match device.resume(current, deadline)? {
                            Playing::Yielded => return Ok(Progress::Yielded),
                            Playing::Waiting(signal) => return Ok(Progress::Waiting(signal)),
                            Playing::Finished(values) => values,
                        };
                        *play = None;
                        if !work.take(device, registry, values)? {
                            let (owner, device, _) = self.entry(id)?;
                            let costs = Costs::blaming(device, &owner.problem, id)?;
                            let Some(Stage::Differentiating(mut work, _)) = task.stage.take() else { return Err(Error::Disposed("task")) };
                            work.dispose(self.double().0);
                            *running = Task::Costs(costs);
                            return Ok(Progress::Yielded);
                        }
                        continue;
                    }
                    match work.next(device, registry)? {
                        Next::Play(recording) => {
                            *play = Some(device.start(recording));
                            continue;
                        }
                        Next::Work => {
                            let Some(Stage::Differentiating(mut work, _)) = task.stage.take() else { return Err(Error::Disposed("task")) };
                            let options = task.options.adjoint();
                            task.stage = Some(Stage::Working(Work::new(move |pace| async move {
                                let worked = work.work(&options, &pace).await;
                                (work, worked)
                            })));
                            continue;
                        }
                        Next::Done => {}
                    }
                    let Some(Stage::Differentiating(mut work, _)) = task.stage.take() else { return Err(Error::Disposed("task")) };
                    work.dispose(device);
                    let owner = self.problems.get(id).ok_or(Error::Disposed("problem"))?;
                    return Ok(Progress::Gradients(Box::new(work.finish(&owner.problem, &task.options)?)));
                }
                Stage::Working(work) => {
                    let Some((differentiating, worked)) = work.resume(deadline) else {
                        return Ok(Progress::Partly { done: work.done(), total: 1.0 });
                    };
                    task.stage = Some(Stage::Differentiating(differentiating, None));
                    worked?;
                }
            }
        }
    }

    /// Frees what a task that does not go on has on its device.
    pub(super) fn end_backward(&mut self, task: BackwardTask) {
        let work = match task.stage {
            Some(Stage::Mirroring(mut mirroring, _)) => {
                mirroring.dispose(self.double().0);
                None
            }
            Some(Stage::Differentiating(work, _)) => Some(work),
            // It has buffers on the device.
            Some(Stage::Working(work)) => Some(work.stop().0),
            _ => None,
        };
        if let Some(mut work) = work {
            work.dispose(self.double().0);
        }
    }
}

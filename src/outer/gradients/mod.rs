//! Gradients through a solve: the accepted values come back, a snapshot of the problem is differentiated twice in f64 on the CPU
//! ([`Differentiating`]), the adjoint system is solved, and its solution goes through the mixed derivatives.

mod differentiating;

use crate::evaluation::{InstanceCosts, RowEvaluation};
use crate::{Devices, Turn};
use differentiating::{Differentiating, Next};
use leastwise_base::task::Task;
use leastwise_device::{Command, Device, Play, Recording};
use leastwise_error::Error;
use leastwise_problem::Problem;
use leastwise_solve::SnapshotLayout;
use leastwise_solve::adjoint::{AdjointOptions, Deficient};
use leastwise_solve::covariance::{NullSpacePart, Values};
use std::collections::HashMap;

/// Options of gradients; those that are absent have their defaults.
#[derive(Clone, Copy, Debug, Default)]
pub struct BackwardOptions {
    /// True if a part of the cotangent along which the cost does not change is left out, and not refused.
    pub least_norm: bool,
    /// Pivots below this part of the largest count as 0; default: by precision.
    pub rank_tolerance: Option<f64>,
    /// Relative gradient norm above which the point is refused as not stationary; default: by precision.
    pub stationary_tolerance: Option<f64>,
}

impl BackwardOptions {
    fn adjoint(&self) -> AdjointOptions {
        let deficient = if self.least_norm { Deficient::LeastNorm } else { Deficient::Error };
        AdjointOptions { deficient, rank_tolerance: self.rank_tolerance }
    }

    /// Fails if a tolerance is negative or not a number.
    pub fn validate(&self) -> Result<(), Error> {
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
    /// ‖H⁻¹g‖ / ‖x‖ there.
    pub distance: f64,
    /// True if that is next to nothing, λ were found, and no constraint contradicts another.
    pub stationary: bool,
    /// Newton's steps from there to where the gradients are of, in f64.
    pub refinements: u32,
    /// Independent directions along which the cost does not change, and what they move.
    pub deficiency: u32,
    /// Parts of the null space, by variable.
    pub unseen: Vec<NullSpacePart>,
    /// Rows of constraints that hold with equality, at the point that the gradients are of.
    pub equalities: u32,
    /// Rows of them that depend on others, and agree with those.
    pub redundant: u32,
    /// Largest violation of a constraint.
    pub violation: f64,
    /// Degrees of freedom that are neither fixed nor held by a limit.
    pub unknowns: u32,
    /// Linear solver.
    pub method: &'static str,
    /// Gradients of each term.
    pub terms: Vec<OfTerm>,
    /// Gradients of each table.
    pub tables: Vec<OfTable>,
    /// All of them one after the other: of every term its columns and its weight, then of every table.
    #[serde(skip)]
    pub values: Vec<f64>,
}

/// Numbers of values of a term: of each column, and of its weight.
#[derive(serde::Serialize)]
pub struct OfTerm {
    /// Number of the term.
    pub term: u32,
    /// Values of each column of data.
    pub columns: Vec<usize>,
    /// Values of the weight.
    pub weight: usize,
}

/// Number of values of a table: of constants their scalars, of variables their degrees of freedom.
#[derive(serde::Serialize)]
pub struct OfTable {
    /// Number of the table.
    pub table: u32,
    /// Values.
    pub values: usize,
}

/// Numbers of tables, with values.
type ByTable = Vec<(u32, Vec<f64>)>;
/// Cotangents, and whether they are by degrees of freedom.
type Given = (ByTable, bool);

/// Gradients of terms' columns and weights.
type Columns = HashMap<u32, (Vec<Vec<f64>>, Vec<f64>)>;

/// Gradients one after the other, of every term and then of every table, with how many there are of each; 0 where none was found.
fn collect(problem: &Problem, mut columns: Columns, mut by_table: HashMap<u32, Vec<f64>>) -> (Vec<f64>, Vec<OfTerm>, Vec<OfTable>) {
    let (mut values, mut terms, mut tables) = (Vec::new(), Vec::new(), Vec::new());
    for (number, term) in problem.numbered_terms() {
        let (mut lengths, weight) = term.lengths();
        let hidden = term.constraint.as_ref().map(|constraint| constraint.hidden());
        hidden.iter().for_each(|hidden| drop(lengths.drain(hidden.clone())));
        match columns.remove(&number) {
            Some((mut found, weights)) => {
                hidden.iter().for_each(|hidden| drop(found.drain(hidden.clone())));
                values.extend(found.into_iter().flatten());
                values.extend(weights);
            }
            None => values.resize(values.len() + lengths.iter().sum::<usize>() + weight, 0.0),
        }
        terms.push(OfTerm { term: number, columns: lengths, weight });
    }
    for (number, table) in (0..).zip(problem.tables()) {
        let len = if table.moving { table.unknowns() } else { table.elements() } as usize;
        values.extend(by_table.remove(&number).unwrap_or_else(|| vec![0.0; len]));
        tables.push(OfTable { table: number, values: len });
    }
    (values, terms, tables)
}

/// Gradients on their way.
pub struct GradientRun {
    options: BackwardOptions,
    /// By table: ∂L/∂x of all stored scalars, or of all degrees of freedom.
    cotangents: ByTable,
    tangent: bool,
    stage: Option<Stage>,
}

enum Stage {
    Reading(Play),
    LayingOut(Box<SnapshotLayout>, Known),
    Differentiating(Box<Differentiating>, Option<Play>),
    Working(Task<'static, (Box<Differentiating>, Result<(), Error>)>),
    /// Constraints of the snapshot. What is on the device stays out of what tasks take to other threads.
    Evaluating(Box<Differentiating>, Box<RowEvaluation>),
    /// Search for the residual that is not finite; it ends in an error.
    Searching(Box<InstanceCosts>),
}

/// Values of a snapshot before it is laid out: also those of every table that moves, and ‖x‖.
struct Known {
    values: Values,
    x: ByTable,
    size: f64,
}

impl Known {
    fn of(snapshot: &Problem) -> Self {
        let moving = (0..).zip(snapshot.tables()).filter(|(_, table)| table.moving);
        let x: ByTable = moving.filter_map(|(number, table)| Some((number, table.initial_values()?.to_vec()))).collect();
        let size = x.iter().flat_map(|(_, x)| x).map(|x| x * x).sum::<f64>().sqrt();
        Self { values: Values::of(snapshot), x, size }
    }
}

/// Cotangents of a solution, checked.
pub struct GradientRequest {
    options: BackwardOptions,
    cotangents: ByTable,
    tangent: bool,
}

impl GradientRequest {
    /// dL/dθ with respect to data columns, weights, constants and what is held, for a function L of the solution of which ∂L/∂x is
    /// given: tables and how many values they have, and the values one after the other, with respect to stored scalars or
    /// (`tangent`) degrees of freedom.
    pub fn new(problem: &Problem, tables: &[u32], values: &[f64], tangent: bool, options: BackwardOptions) -> Result<Self, Error> {
        if !problem.has_enabled_terms() {
            return Err(Error::EmptyProblem("enabled residual terms"));
        }
        if let Some(term) = problem.terms().find(|term| term.enabled && term.entries.is_some()) {
            let message = "sums over rows of any length (sumOver), of which there are no second derivatives: use .rows(…), or disable it";
            return Err(Error::InvalidOption(format!("backward(): term \"{}\" {message}", term.name)));
        }
        let (mut rest, mut cotangents) = (values, Vec::new());
        for pair in tables.chunks_exact(2) {
            let (number, got) = (pair[0], pair[1] as usize);
            let table = problem.table(number)?;
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
        Ok(Self { options, cotangents, tangent })
    }

    /// Begins to read the accepted values of the problem, which is laid out.
    pub fn start(self, device: &mut Device, problem: &mut Problem) -> Result<GradientRun, Error> {
        let mut recording = Recording { commands: problem.take_uploads() };
        recording.push(Command::Read { slice: problem.arenas()?.0 });
        let Self { options, cotangents, tangent } = self;
        Ok(GradientRun { options, cotangents, tangent, stage: Some(Stage::Reading(device.start(recording))) })
    }
}

impl GradientRun {
    /// The recording on the problem's own device that is being played, which brings the problem's uploads along.
    pub fn playing(&mut self) -> Option<&mut Play> {
        match &mut self.stage {
            Some(Stage::Reading(play)) => Some(play),
            Some(Stage::Searching(search)) => search.playing(),
            _ => None,
        }
    }

    /// Goes on until a recording has to be waited for, the deadline (ms) is over, or the gradients are there. Fails if the point is not stationary, or along a null space that no pseudo-inverse was requested for.
    pub fn resume(&mut self, devices: &mut Devices, problem: &mut Problem, deadline: f64) -> Result<Turn<Box<Gradients>>, Error> {
        let precision = devices.main.precision();
        loop {
            match self.stage.take().ok_or(Error::Internal("gradients have no stage"))? {
                Stage::Reading(mut play) => match Turn::from(devices.main.resume(&mut play, deadline)?).outcome() {
                    Ok(point) => {
                        let mut snapshot = problem.snapshot(&point, precision)?;
                        snapshot.as_lagrangian()?;
                        let known = Known::of(&snapshot);
                        self.stage = Some(Stage::LayingOut(Box::new(SnapshotLayout::new(snapshot, |_| true)), known));
                    }
                    Err(turn) => {
                        self.stage = Some(Stage::Reading(play));
                        return Ok(turn);
                    }
                },
                Stage::LayingOut(mut layout, known) => {
                    let (device, registry) = devices.double();
                    let Some(made) = layout.resume(device, registry, deadline)? else {
                        self.stage = Some(Stage::LayingOut(layout, known));
                        return Ok(Turn::Yielded);
                    };
                    let given = (std::mem::take(&mut self.cotangents), self.tangent);
                    let work = Differentiating::new(device, made, known, given, precision)?;
                    self.stage = Some(Stage::Differentiating(Box::new(work), None));
                }
                Stage::Differentiating(work, play) => {
                    if let Some(turn) = self.differentiate(work, play, devices, problem, deadline)? {
                        return Ok(turn);
                    }
                }
                Stage::Working(mut work) => {
                    let Some((differentiating, worked)) = work.resume(deadline) else {
                        let done = work.done();
                        self.stage = Some(Stage::Working(work));
                        return Ok(Turn::Partly { done, total: 1.0 });
                    };
                    self.stage = Some(Stage::Differentiating(differentiating, None));
                    worked?;
                }
                Stage::Evaluating(mut work, mut rows) => {
                    let (device, registry) = devices.double();
                    match work.evaluate(&mut rows, (device, registry), deadline).map(Turn::outcome) {
                        Ok(Ok(())) => self.stage = Some(Stage::Differentiating(work, None)),
                        Ok(Err(turn)) => {
                            self.stage = Some(Stage::Evaluating(work, rows));
                            return Ok(turn);
                        }
                        Err(error) => {
                            rows.free(device);
                            work.dispose(device);
                            return Err(error);
                        }
                    }
                }
                Stage::Searching(mut search) => {
                    let turn = search.resume(&mut devices.main, problem, deadline);
                    self.stage = Some(Stage::Searching(search));
                    return Ok(match turn?.outcome() {
                        Err(turn) => turn,
                        Ok(_) => return Err(Error::Internal("a search for a residual came to no end")),
                    });
                }
            }
        }
    }

    /// Goes on with the derivatives of the snapshot; nothing where the next stage has begun.
    fn differentiate(
        &mut self,
        mut work: Box<Differentiating>,
        mut play: Option<Play>,
        devices: &mut Devices,
        problem: &mut Problem,
        deadline: f64,
    ) -> Result<Option<Turn<Box<Gradients>>>, Error> {
        let (device, registry) = devices.double();
        if let Some(current) = &mut play {
            let played = device.resume(current, deadline);
            let values = match played.map(|playing| Turn::from(playing).outcome()) {
                Ok(Ok(values)) => values,
                Ok(Err(turn)) => {
                    self.stage = Some(Stage::Differentiating(work, play));
                    return Ok(Some(turn));
                }
                Err(error) => {
                    self.stage = Some(Stage::Differentiating(work, None));
                    return Err(error.into());
                }
            };
            let taken = work.take(device, registry, values);
            if let Ok(false) = taken {
                work.dispose(device);
                let search = InstanceCosts::first_non_finite(&mut devices.main, problem)?;
                self.stage = Some(Stage::Searching(Box::new(search)));
                return Ok(Some(Turn::Yielded));
            }
            self.stage = Some(Stage::Differentiating(work, None));
            return taken.map(|_| None);
        }
        match work.next(device, registry) {
            Ok(Next::Play(recording)) => self.stage = Some(Stage::Differentiating(work, Some(device.start(recording)))),
            Ok(Next::Task) => {
                let options = self.options.adjoint();
                self.stage = Some(Stage::Working(Task::new(move |pace| async move {
                    let worked = work.work(&options, &pace).await;
                    (work, worked)
                })));
            }
            Ok(Next::Evaluate) => {
                let rows = Box::new(work.evaluation());
                self.stage = Some(Stage::Evaluating(work, rows));
            }
            Ok(Next::Done) => {
                work.dispose(device);
                return Ok(Some(Turn::Over(Box::new(work.finish(problem, &self.options)?))));
            }
            Err(error) => {
                self.stage = Some(Stage::Differentiating(work, None));
                return Err(error);
            }
        }
        Ok(None)
    }

    /// Frees what it has on the devices.
    pub fn free(self, devices: &mut Devices) {
        let device = devices.double().0;
        match self.stage {
            Some(Stage::LayingOut(mut layout, _)) => layout.dispose(device),
            Some(Stage::Differentiating(mut work, _)) => work.dispose(device),
            Some(Stage::Evaluating(mut work, mut rows)) => {
                rows.free(device);
                work.dispose(device);
            }
            // It has buffers on the device.
            Some(Stage::Working(work)) => work.stop().0.dispose(device),
            Some(Stage::Searching(search)) => search.free(&mut devices.main),
            Some(Stage::Reading(_)) | None => {}
        }
    }
}

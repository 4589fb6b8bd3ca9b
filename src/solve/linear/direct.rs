//! Linear solvers on the host: what the device assembled comes back once a linearisation, and steps for any λ are made of
//! it in f64.

use super::super::assembly::{Assembled, Assembly, Structure};
use super::super::{Workspace, state};
use super::choose::masks;
use super::reduced::formed::{self, Arrived, Formed};
use super::rows::Rows;
use super::{Choice, Linear, Preconditioner, Wanted, pcg, sizes};
use leastwise_base::FileError;
use leastwise_base::task::{Pace, Stopped};
use leastwise_device::{BufferId, Command, Device, DeviceError};
use leastwise_error::Error;
use leastwise_linear::conjugate::Inexact;
use leastwise_linear::dense::DenseCholesky;
use leastwise_linear::elimination::{self, Linked};
use leastwise_linear::frozen::Frozen;
use leastwise_linear::matrix::{BlockMatrix, System, Unsolved};
use leastwise_linear::qr::Triangle;
use leastwise_linear::schur::{Refused, Schur};
use leastwise_linear::sparse::{SparseCholesky, Unfactorised};
use leastwise_linear::unblocked::Unblocked;
use leastwise_problem::file::bytes::{Reader, Writer};
use leastwise_problem::{Links, Pattern, Problem, Registry};

/// A linear solver on the host, and what it knows of the current point.
pub struct Direct {
    source: Source,
    /// The structure of a sparse factor, where that is not the matrix's.
    unblocked: Option<Unblocked>,
    known: Option<Known>,
    /// What it brought back so far, and how often.
    pub readbacks: u64,
    pub elements: u64,
}

/// Structures that the choice of a linear solver found.
pub struct Found {
    /// Structure of JᵀWJ.
    pub structure: Structure,
    /// Structure of a Schur complement that the device is to form.
    pub formed: Option<formed::Plan>,
    /// Choice instead of one that is not to be made on the host, for want of room on the device.
    pub instead: Option<Choice>,
}

enum Source {
    Rows(Box<Rows>),
    Matrix(Box<Assembly>, Factor),
    /// A Schur complement that the device forms of the matrix.
    Formed(Box<Assembly>, Box<Formed>),
}

/// What solves with an assembled matrix.
enum Factor {
    /// Made by the first step, in time slices.
    Planned(Plan),
    Dense,
    Sparse(Box<SparseCholesky>),
    Schur(Box<Schur>),
    /// Conjugate gradients, with a preconditioner that is made in every step.
    Iterative {
        max_iterations: u32,
        preconditioner: Preconditioner,
    },
    /// Conjugate gradients, preconditioned by an older factor.
    Frozen {
        max_iterations: u32,
        frozen: Box<Frozen>,
    },
}

/// Factors whose structure is yet to be found.
#[derive(Clone)]
enum Plan {
    Sparse,
    Schur(Vec<u32>),
    Frozen { max_iterations: u32 },
}

/// Why there is no step.
pub enum Unfinished {
    Stopped,
    /// λ was raised, and the device is to form the system for it.
    Damped,
    Refused(Error),
}

impl From<Unsolved> for Unfinished {
    fn from(unsolved: Unsolved) -> Self {
        match unsolved {
            Unsolved::Stopped => Self::Stopped,
            Unsolved::OutOfMemory(lack) => Self::Refused(lack.into()),
            Unsolved::Singular => Self::Refused(Error::Internal("a singular system was not damped")),
        }
    }
}

impl From<Stopped> for Unfinished {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

/// The linearisation at the current point: over all unknowns, without gaps.
struct Known {
    /// −g, D, and the largest that the diagonal has been.
    right: Vec<f64>,
    scale: Vec<f64>,
    peak: Vec<f64>,
    /// max |gᵢ|
    gradient_max: f64,
    system: Linearised,
}

enum Linearised {
    Triangle(Triangle),
    Matrix(BlockMatrix),
}

/// λ, φ and η of a step, which the device's state has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DampingState {
    pub damping: f64,
    pub floor: f64,
    pub forcing: f64,
}

impl DampingState {
    pub fn write(&self, to: &mut Writer) {
        [self.damping, self.floor, self.forcing].into_iter().for_each(|value| to.f64(value));
    }

    pub fn read(from: &mut Reader) -> Result<Self, FileError> {
        Ok(Self { damping: from.f64()?, floor: from.f64()?, forcing: from.f64()? })
    }

    /// Those of a state that was read back.
    pub fn of(state: &[f64]) -> Self {
        let [damping, floor, forcing] = [state::DAMPING, state::FLOOR, state::FORCING].map(|element| state[element as usize]);
        Self { damping, floor, forcing }
    }
}

/// A step, as parts of a vector of the device with their first elements.
pub struct Step {
    pub pieces: Vec<(u32, Vec<f64>)>,
    /// What it leaves of the system, if it does.
    pub residual: Option<Vec<f64>>,
    pub iterations: u32,
    /// max |gᵢ|; NaN where one is not a number. Then the step is 0, as it is where all are 0.
    pub gradient_max: f64,
}

/// D at most.
const MOST_SCALE: f64 = 1e30;
/// λ at most: beyond it a matrix that has no factor is not for want of damping.
const MOST_DAMPING: f64 = 1e15;

impl Direct {
    /// A solver with a Schur complement that the device forms.
    ///
    /// # Errors
    /// Those [of room](is_of_room), where the device has too little; nothing is left behind.
    pub fn formed(
        device: &mut Device,
        registry: &mut Registry,
        problem: &Problem,
        structure: Structure,
        plan: formed::Plan,
    ) -> Result<Self, Error> {
        let assembly = Box::new(Assembly::new(device, registry, problem, structure)?);
        match Formed::new(device, problem, plan) {
            Ok(formed) => {
                Ok(Self { source: Source::Formed(assembly, Box::new(formed)), unblocked: None, known: None, readbacks: 0, elements: 0 })
            }
            Err(error) => {
                assembly.buffers().iter().for_each(|buffer| device.free(*buffer));
                Err(error)
            }
        }
    }

    /// The solver of this name for the problem as it is now; its matrix, if it has one, is of this structure. With it, why the device has no
    /// room for the Schur complement that it was to form, if so.
    pub fn new(
        device: &mut Device,
        registry: &mut Registry,
        problem: &Problem,
        linear: Linear,
        wanted: &Wanted,
        found: Option<Found>,
    ) -> Result<(Self, Option<String>), Error> {
        let (mut unblocked, mut formed, mut refused) = (None, None, None);
        let source = if linear == Linear::Dense && super::choose::has_rows(problem) {
            Source::Rows(Box::new(Rows::new(device, problem)?))
        } else {
            if linear == Linear::Dense {
                sizes::dense(problem.moving().map(|table| u64::from(table.unknowns())).sum())?;
            }
            let Found { structure: (pattern, lists), formed: plan, .. } = found.ok_or_else(|| not_assembled(linear))?;
            let max_iterations = wanted.max_iterations.unwrap_or_else(|| pcg::max_iterations(problem));
            let factor = match linear {
                Linear::Schur => {
                    let tables = super::choose::eliminated(&pattern, wanted)?;
                    elimination::check(&pattern, &tables).map_err(|Linked(a, b)| linked(&pattern, a, b))?;
                    sizes::schur(&pattern, &tables, wanted.eliminate.is_some(), plan.as_ref().map(|plan| &plan.pattern))?;
                    formed = plan;
                    Factor::Planned(Plan::Schur(tables))
                }
                Linear::SparseCholesky => {
                    unblocked = Unblocked::new(&pattern, &masks(&pattern, &Links::new(problem)));
                    Factor::Planned(Plan::Sparse)
                }
                Linear::AssembledPcg if wanted.preconditioner == Some(Preconditioner::FrozenFactor) => {
                    Factor::Planned(Plan::Frozen { max_iterations })
                }
                Linear::AssembledPcg => {
                    let preconditioner = wanted.preconditioner.unwrap_or(Preconditioner::BlockJacobi);
                    Factor::Iterative { max_iterations, preconditioner }
                }
                Linear::Dense | Linear::Pcg | Linear::SchurPcg | Linear::None => Factor::Dense,
            };
            let assembly = Box::new(Assembly::new(device, registry, problem, (pattern, lists))?);
            match formed.map(|plan| Formed::new(device, problem, plan)) {
                Some(Ok(formed)) => Source::Formed(assembly, Box::new(formed)),
                Some(Err(error)) => {
                    refused = Some(error.to_string());
                    let instead = match &factor {
                        // The host takes no plan: there is to be room for the most that S may have.
                        Factor::Planned(Plan::Schur(tables)) if is_of_room(&error) => sizes::schur(&assembly.pattern, tables, true, None),
                        _ => Err(error),
                    };
                    if let Err(error) = instead {
                        assembly.buffers().iter().for_each(|buffer| device.free(*buffer));
                        return Err(error);
                    }
                    Source::Matrix(assembly, factor)
                }
                None => Source::Matrix(assembly, factor),
            }
        };
        Ok((Self { source, unblocked, known: None, readbacks: 0, elements: 0 }, refused))
    }

    /// Finds the structure of the factor, if that is still to be done.
    async fn plan(&mut self, pace: &Pace) -> Result<(), Unfinished> {
        let Source::Matrix(assembly, factor) = &mut self.source else { return Ok(()) };
        let Factor::Planned(plan) = factor else { return Ok(()) };
        let pattern = assembly.pattern.clone();
        let unfinished = |linear: Linear, unfactorised: Unfactorised| match unfactorised {
            Unfactorised::Stopped => Unfinished::Stopped,
            Unfactorised::TooLarge => Unfinished::Refused(too_large(linear)),
        };
        *factor = match plan {
            Plan::Sparse => {
                let pattern = self.unblocked.as_ref().map_or(pattern, |unblocked| unblocked.pattern.clone());
                let sparse = <SparseCholesky>::made(&pattern, pace).await;
                Factor::Sparse(Box::new(sparse.map_err(|why| unfinished(Linear::SparseCholesky, why))?))
            }
            Plan::Schur(tables) => {
                let schur = Schur::new(&pattern, tables, pace).await.map_err(|refused| match refused {
                    Refused::Stopped => Unfinished::Stopped,
                    Refused::TooLarge => Unfinished::Refused(too_large(Linear::Schur)),
                    Refused::Linked(Linked(a, b)) => Unfinished::Refused(linked(&pattern, a, b)),
                });
                Factor::Schur(Box::new(schur?))
            }
            Plan::Frozen { max_iterations } => {
                let max_iterations = *max_iterations;
                let frozen = Frozen::new(&pattern, pace).await.map_err(|why| unfinished(Linear::AssembledPcg, why))?;
                Factor::Frozen { max_iterations, frozen: Box::new(frozen) }
            }
        };
        Ok(())
    }

    pub fn buffers(&self) -> Vec<BufferId> {
        match &self.source {
            Source::Rows(rows) => vec![rows.buffer()],
            Source::Matrix(assembly, _) => assembly.buffers().to_vec(),
            Source::Formed(assembly, formed) => [assembly.buffers(), formed.buffers()].concat(),
        }
    }

    fn pattern(&self) -> &Pattern {
        match &self.source {
            Source::Rows(rows) => &rows.pattern,
            Source::Matrix(assembly, _) => &assembly.pattern,
            Source::Formed(_, formed) => &formed.pattern,
        }
    }

    /// Unknowns without gaps as parts of a vector of the device.
    fn pieces(&self, step: &[f64]) -> Vec<(u32, Vec<f64>)> {
        match &self.source {
            Source::Formed(_, formed) => formed.pieces(step),
            _ => vec![(0, self.pattern().spread(step))],
        }
    }

    /// True if the system is formed on the device, for one λ.
    pub fn is_formed(&self) -> bool {
        matches!(self.source, Source::Formed(..))
    }

    /// Appends what forms the system for the λ of the state, and its readback, where the device does that.
    pub fn form(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) {
        if let Source::Formed(assembly, formed) = &self.source {
            formed.form(work, problem, assembly, commands);
        }
    }

    /// Appends what makes a whole step of what was solved for, where that is a part.
    pub fn complete(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) {
        if let Source::Formed(_, formed) = &self.source {
            formed.complete(work, problem, commands);
        }
    }

    /// The assembly alone, where there is one: what prepares it once, and itself.
    pub fn assembly(&mut self, work: &Workspace, problem: &Problem) -> Result<[Vec<Command>; 2], Error> {
        let (mut uploads, mut commands) = (Vec::new(), Vec::new());
        if let Source::Matrix(assembly, _) | Source::Formed(assembly, _) = &mut self.source {
            uploads = assembly.take_uploads();
            assembly.assemble(work, problem, &mut commands)?;
        }
        Ok([uploads, commands])
    }

    /// What must be uploaded before the first [`assemble`](Self::assemble).
    pub fn take_uploads(&mut self) -> Vec<Command> {
        match &mut self.source {
            Source::Rows(_) => Vec::new(),
            Source::Matrix(assembly, _) => assembly.take_uploads(),
            Source::Formed(assembly, formed) => {
                // No copies: lists of a large problem are most of what the host holds.
                let mut uploads = assembly.take_uploads();
                uploads.append(&mut formed.take_uploads());
                uploads
            }
        }
    }

    /// Appends the assembly, after [`Workspace::differentiate`], and its readback unless something is [formed](Self::form) of it.
    pub fn assemble(&mut self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        match &mut self.source {
            Source::Rows(rows) => rows.read(work, problem, commands),
            Source::Matrix(assembly, _) => {
                assembly.assemble(work, problem, commands)?;
                assembly.read(work, problem, commands);
            }
            Source::Formed(assembly, _) => assembly.assemble(work, problem, commands)?,
        }
        Ok(())
    }

    /// What [`assemble`](Self::assemble) brought of the point's cost, and the damping_state.
    pub fn arrived(&mut self, readback: &[f64]) -> (f64, DampingState) {
        self.readbacks += 1;
        self.elements += readback.len() as u64;
        (readback[state::COST as usize], DampingState::of(readback))
    }

    /// Takes the rest of it. `is_masked`: some unknowns may not move.
    pub async fn take(&mut self, readback: &[f64], is_masked: bool, pace: &Pace) -> Result<(), Unsolved> {
        let before = self.known.take();
        if let Source::Formed(_, formed) = &self.source {
            self.known = Some(known_of(formed.arrived(readback, is_masked), pace).await?);
            return Ok(());
        }
        let pattern = self.pattern();
        let Assembled { gradient, scale, peak, free, diagonal, lower, .. } = match &self.source {
            Source::Rows(rows) => rows.assembled(is_masked, readback),
            Source::Matrix(assembly, _) | Source::Formed(assembly, _) => assembly.assembled(is_masked, readback),
        };
        let mut right = pattern.compact(gradient);
        right.iter_mut().for_each(|value| *value = -*value);
        let gradient_max = right.iter().fold(0.0, |top: f64, g| if g.is_finite() && top.is_finite() { top.max(g.abs()) } else { f64::NAN });
        let free = free.map(|free| pattern.compact(free));
        let (scale, peak) = (pattern.compact(scale), pattern.compact(peak));
        let system = match &self.source {
            Source::Rows(rows) => {
                let empty = match before {
                    Some(Known { system: Linearised::Triangle(triangle), .. }) => triangle.emptied(),
                    _ => Triangle::new(pattern.scalars as usize)?,
                };
                Linearised::Triangle(rows.triangle(readback, free.as_deref(), empty, pace).await?)
            }
            Source::Matrix(assembly, _) | Source::Formed(assembly, _) => {
                let whole = || BlockMatrix { pattern: assembly.pattern.clone(), diagonal: diagonal.to_vec(), lower: lower.to_vec() };
                let mut matrix = self.unblocked.as_ref().map_or_else(whole, |unblocked| unblocked.matrix(diagonal, lower));
                if let Some(free) = &free {
                    matrix.mask(free, pace).await?;
                }
                Linearised::Matrix(matrix)
            }
        };
        self.known = Some(Known { right, scale, peak, gradient_max, system });
        Ok(())
    }

    /// D, which grows with φ as long as the point stays; none where the device makes it.
    pub fn scale(&self) -> Option<&[f64]> {
        self.known.as_ref().filter(|_| !self.is_formed()).map(|known| &known.scale[..])
    }

    /// Puts back a D that was found before.
    pub fn recall(&mut self, scale: Vec<f64>) {
        if let Some(known) = self.known.as_mut().filter(|known| known.scale.len() == scale.len()) {
            known.scale = scale;
        }
    }

    /// The step for a damping λ, which is raised, if it may be, as long as there is none. φ may have grown since D was made.
    pub async fn solve(&mut self, damping_state: &mut DampingState, may_raise: bool, pace: &Pace) -> Result<Option<Step>, Unfinished> {
        let Some(known) = self.known.as_mut() else { return Ok(None) };
        // As `shaders/system/damping_diagonal.wgsl` has it, limit and all: the device makes the model's promise with its own D.
        known.scale.iter_mut().zip(&known.peak).for_each(|(scale, peak)| *scale = scale.max(damping_state.floor * peak).min(MOST_SCALE));
        let gradient_max = known.gradient_max;
        // Without a gradient there is nowhere to go, whether or not there is a factor.
        if !gradient_max.is_finite() || gradient_max == 0.0 {
            let pieces = self.pieces(&vec![0.0; self.pattern().scalars as usize]);
            return Ok(Some(Step { pieces, residual: None, iterations: 0, gradient_max }));
        }
        self.plan(pace).await?;
        loop {
            match self.step(*damping_state, pace).await {
                Ok(step) => return Ok(Some(step)),
                Err(unsolved @ (Unsolved::Stopped | Unsolved::OutOfMemory(_))) => return Err(unsolved.into()),
                Err(Unsolved::Singular) if may_raise && damping_state.damping < MOST_DAMPING => {
                    damping_state.damping = (10.0 * damping_state.damping).max(1e-15);
                    if self.is_formed() {
                        return Err(Unfinished::Damped);
                    }
                }
                Err(Unsolved::Singular) => return Ok(None),
            }
        }
    }

    /// The step for one λ.
    async fn step(&mut self, damping_state: DampingState, pace: &Pace) -> Result<Step, Unsolved> {
        let known = self.known.as_mut().ok_or(Unsolved::Singular)?;
        let damping: Vec<f64> = known.scale.iter().map(|scale| damping_state.damping * scale).collect();
        let (mut residual, mut iterations, gradient_max) = (None, 1, known.gradient_max);
        let step = match (&mut known.system, &mut self.source) {
            (Linearised::Triangle(triangle), _) => triangle.solve(&damping).ok_or(Unsolved::Singular)?,
            (Linearised::Matrix(matrix), Source::Matrix(_, factor)) => {
                let system = System { matrix, damping: &damping, right: &known.right };
                let mut x = known.right.clone();
                match factor {
                    Factor::Dense => DenseCholesky::new(&system, pace).await?.solve(&mut x, pace).await?,
                    Factor::Sparse(sparse) => {
                        sparse.factorized(&system, pace).await?;
                        sparse.solved(&mut x, pace).await?;
                    }
                    Factor::Planned(_) => return Err(Unsolved::Singular),
                    Factor::Schur(schur) => schur.solve(&system, &mut x, pace).await?,
                    Factor::Iterative { max_iterations, preconditioner } => {
                        let inexact = Inexact { forcing: damping_state.forcing, max_iterations: *max_iterations };
                        let solution = preconditioner.solve(&system, inexact, pace).await?;
                        (x, residual, iterations) = (solution.x, Some(solution.residual), solution.iterations);
                    }
                    Factor::Frozen { max_iterations, frozen } => {
                        let inexact = Inexact { forcing: damping_state.forcing, max_iterations: *max_iterations };
                        let solution = frozen.solve(&system, inexact, pace).await?;
                        (x, residual, iterations) = (solution.x, Some(solution.residual), solution.iterations);
                    }
                }
                x
            }
            (Linearised::Matrix(matrix), Source::Formed(_, formed)) => {
                let mut x = known.right.clone();
                formed.solve(&System { matrix, damping: &damping, right: &known.right }, &mut x, pace).await?;
                x
            }
            _ => return Err(Unsolved::Singular),
        };
        if step.iter().any(|value| !value.is_finite()) {
            return Err(Unsolved::Singular);
        }
        let pattern = self.pattern();
        let residual = residual.map(|residual| pattern.spread(&residual));
        Ok(Step { pieces: self.pieces(&step), residual, iterations, gradient_max })
    }

    /// How often a frozen factor was made, where there is one.
    pub fn factorizations(&self) -> Option<u64> {
        match &self.source {
            Source::Matrix(_, Factor::Planned(Plan::Frozen { .. })) => Some(0),
            Source::Matrix(_, Factor::Frozen { frozen, .. }) => Some(frozen.factorizations),
            _ => None,
        }
    }

    /// The matrix at the current point, where one was assembled.
    pub fn matrix(&self) -> Option<&BlockMatrix> {
        match &self.known.as_ref()?.system {
            Linearised::Matrix(matrix) => Some(matrix),
            Linearised::Triangle(_) => None,
        }
    }
}

/// Knowledge of a system that was formed on the device.
async fn known_of(arrived: Arrived, pace: &Pace) -> Result<Known, Unsolved> {
    let Arrived { gradient, scale, free, mut matrix, gradient_max } = arrived;
    let mut right: Vec<f64> = gradient.iter().map(|value| -value).collect();
    if let Some(free) = &free {
        matrix.mask(free, pace).await?;
        right.iter_mut().zip(free).filter(|(_, free)| **free == 0.0).for_each(|(value, _)| *value = 0.0);
    }
    // The device made D for this φ.
    Ok(Known { right, scale, peak: Vec::new(), gradient_max, system: Linearised::Matrix(matrix) })
}

pub(super) fn not_assembled(linear: Linear) -> Error {
    Error::InvalidOption(format!(
        "linear \"{}\": a term sums over entries (sumOver), whose Jacobian is never stored, so JᵀWJ can't be assembled: use \"pcg\"",
        linear.name()
    ))
}

/// True where something would not fit a device, or the host: something else may.
pub(super) fn is_of_room(error: &Error) -> bool {
    matches!(error, Error::Limits(_) | Error::Memory(_) | Error::Device(DeviceError::OutOfMemory { .. }))
}

fn too_large(linear: Linear) -> Error {
    Error::Limits(format!("linear \"{}\": the factor of JᵀWJ is too large: use \"pcg\"", linear.name()))
}

fn linked(pattern: &Pattern, a: u32, b: u32) -> Error {
    let name = |table: u32| &pattern.tables[table as usize].name;
    Error::InvalidOption(if a == b {
        format!("linear \"schur\": \"{}\" can't be eliminated: a residual touches two of its instances", name(a))
    } else {
        format!("linear \"schur\": \"{}\" and \"{}\" can't be eliminated together: a residual touches both", name(a), name(b))
    })
}

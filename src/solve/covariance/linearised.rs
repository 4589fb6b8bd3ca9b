//! What covariances are made of: √W J or JᵀWJ at the values of a [snapshot](Problem::snapshot), brought back from an f64 device.

use super::super::assembly::{Assembly, Structure};
use super::super::linear::rows::Rows;
use super::super::{Needs, SnapshotLayout, Workspace, state};
use leastwise_base::task::{Pace, Stopped};
use leastwise_device::{Command, Device, Kind, Recording, Slice};
use leastwise_error::Error;
use leastwise_linear::matrix::BlockMatrix;
use leastwise_linear::qr::Triangle;
use leastwise_problem::{Pattern, Problem, Registry, Table};
use std::sync::Arc;

/// Unknowns of a whole matrix, and rows of J times the square of these: beyond either the matrix is kept sparse.
const DENSE: u32 = 200;
const ROWS: f64 = 5e8;

/// A snapshot that is being differentiated.
pub struct Linearising {
    problem: Problem,
    work: Workspace,
    source: Source,
    /// Rows of residuals that weigh something, and for every unknown of a table whether it is fixed: of the problem before it is disposed of.
    rows: u64,
    fixed: Vec<Vec<bool>>,
}

enum Source {
    Rows(Box<Rows>),
    Matrix(Box<Assembly>),
    /// The columns of JᵀWJ one by one, as products: state, g, what may move, then the columns.
    Products {
        pattern: Arc<Pattern>,
        whole: Slice,
        vector: u32,
    },
}

/// A snapshot's derivatives on the host.
pub struct Linearised {
    /// Structure of JᵀWJ.
    pub pattern: Arc<Pattern>,
    /// For every unknown, whether it is neither fixed nor held by a limit, and whether it is fixed.
    pub free: Vec<bool>,
    /// True for an unknown that its user has fixed.
    pub fixed: Vec<bool>,
    /// ½ Σ w ρ(‖r‖²)
    pub cost: f64,
    /// Rows of residuals that weigh something.
    pub rows: u64,
    /// First derivatives, in the form that their size suggests.
    pub derivatives: Derivatives,
}

/// Derivatives of the residuals by all unknowns.
pub enum Derivatives {
    /// R of √W J = QR, column by column.
    Triangle(Vec<Vec<f64>>),
    /// JᵀWJ, column by column.
    Whole(Vec<Vec<f64>>),
    /// JᵀWJ in sparse blocks.
    Blocks(BlockMatrix),
}

impl Linearising {
    /// A snapshot on its way to a device that computes in f64.
    pub fn layout(snapshot: Problem) -> SnapshotLayout {
        SnapshotLayout::new(snapshot, |snapshot| Form::of(snapshot) == Form::Matrix)
    }

    /// Makes what differentiates a snapshot that is laid out, whose JᵀWJ has this structure where it is assembled.
    pub fn new(device: &mut Device, registry: &mut Registry, mut problem: Problem, found: Option<Structure>) -> Result<Self, Error> {
        let made =
            Workspace::new(device, &problem, Needs::default()).and_then(|work| match Source::new(device, registry, &problem, found) {
                Ok(source) => Ok((work, source)),
                Err(error) => {
                    work.buffers().into_iter().for_each(|buffer| device.free(buffer));
                    Err(error)
                }
            });
        match made {
            Ok((work, source)) => {
                let rows = problem.terms().map(|term| term.weighted_rows()).sum();
                let of_table = |table: &Table| (0..table.unknowns()).map(|unknown| !table.is_free(unknown)).collect();
                let fixed = problem.tables().iter().map(of_table).collect();
                Ok(Self { problem, work, source, rows, fixed })
            }
            Err(error) => {
                problem.dispose(device);
                Err(error)
            }
        }
    }

    /// Frees the snapshot and every buffer.
    pub fn dispose(&mut self, device: &mut Device) {
        self.work.buffers().into_iter().for_each(|buffer| device.free(buffer));
        match &self.source {
            Source::Rows(rows) => device.free(rows.buffer()),
            Source::Matrix(assembly) => assembly.buffers().iter().for_each(|&buffer| device.free(buffer)),
            Source::Products { whole, .. } => device.free(whole.buffer),
        }
        self.problem.dispose(device);
    }

    /// What differentiates, and reads all back at its end.
    pub fn recording(&mut self) -> Result<Recording, Error> {
        let mut commands = self.problem.take_uploads();
        let (work, problem) = (&self.work, &self.problem);
        match &mut self.source {
            Source::Rows(rows) => {
                work.differentiate(problem, &mut commands)?;
                rows.read(work, problem, &mut commands);
            }
            Source::Matrix(assembly) => {
                commands.extend(assembly.take_uploads());
                work.differentiate(problem, &mut commands)?;
                assembly.assemble(work, problem, &mut commands)?;
                assembly.read(work, problem, &mut commands);
            }
            Source::Products { pattern, whole, vector } => {
                work.differentiate(problem, &mut commands)?;
                let piece = |place: u32, len: u32| Slice { offset: place * *vector, len, ..*whole };
                let copied = |from: Slice, to: Slice| Command::Copy { from: Slice { len: to.len, ..from }, to };
                commands.push(copied(work.state, piece(0, state::STATE_LEN)));
                if let Some(free) = work.free() {
                    commands.push(copied(free, piece(1, problem.vector_len())));
                }
                let unknowns = pattern.tables.iter().flat_map(|table| (0..table.count * table.width).map(|k| table.vector + k));
                for (place, unknown) in (2..).zip(unknowns) {
                    commands.push(Command::Clear { slice: work.p });
                    commands.push(Command::Clear { slice: work.q });
                    commands.push(Command::UploadReals { buffer: work.p.buffer, offset: unknown, data: vec![1.0] });
                    work.multiply(problem, &mut commands);
                    commands.push(copied(work.q, piece(place, problem.vector_len())));
                }
                commands.push(Command::Read { slice: *whole });
            }
        }
        Ok(Recording { commands })
    }

    /// The cost at the point, of what the recording read.
    pub fn cost(readback: &[f64]) -> f64 {
        readback[state::COST as usize]
    }

    /// Takes what the recording read.
    pub async fn take(self: Box<Self>, readback: Vec<f64>, pace: &Pace) -> Result<Linearised, Stopped> {
        let Self { work, source, rows, fixed, .. } = *self;
        let (is_masked, readback) = (work.free().is_some(), &readback[..]);
        let (pattern, free, derivatives) = match &source {
            Source::Rows(rows) => {
                let brought = rows.assembled(is_masked, readback);
                let free = brought.free.map(|free| rows.pattern.compact(free));
                // Rows are for few unknowns.
                let empty = Triangle::new(rows.pattern.scalars as usize).expect("room for a small matrix");
                let triangle = rows.triangle(readback, free.as_deref(), empty, pace).await?;
                let pattern = Arc::new(rows.pattern.clone());
                (pattern, free, Derivatives::Triangle(triangle.columns()))
            }
            Source::Matrix(assembly) => {
                let brought = assembly.assembled(is_masked, readback);
                let pattern = assembly.pattern.clone();
                let (diagonal, lower) = (brought.diagonal.to_vec(), brought.lower.to_vec());
                let matrix = BlockMatrix { pattern: pattern.clone(), diagonal, lower };
                let free = brought.free.map(|free| pattern.compact(free));
                (pattern, free, Derivatives::Blocks(matrix))
            }
            Source::Products { pattern, vector, .. } => {
                let piece = |place: usize| &readback[place * *vector as usize..][..*vector as usize];
                let free = is_masked.then(|| pattern.compact(piece(1)));
                let columns = (0..pattern.scalars as usize).map(|column| pattern.compact(piece(2 + column))).collect();
                (pattern.clone(), free, Derivatives::Whole(columns))
            }
        };
        Ok(Linearised {
            free: free.map_or(vec![true; pattern.scalars as usize], |free| free.iter().map(|&free| free != 0.0).collect()),
            fixed: pattern.tables.iter().flat_map(|rows| fixed[rows.table as usize].iter().copied()).collect(),
            rows,
            pattern,
            cost: Self::cost(readback),
            derivatives,
        })
    }
}

/// In what form derivatives come back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Rows,
    Matrix,
    Products,
}

impl Form {
    /// That of a snapshot that is laid out.
    fn of(problem: &Problem) -> Self {
        if problem.enabled_batches().any(|batch| batch.sums.is_some()) {
            return Self::Products;
        }
        let unknowns: u32 = problem.moving().map(|table| table.unknowns()).sum();
        let rows: f64 = problem.enabled_batches().map(|batch| f64::from(batch.count()) * f64::from(batch.programs.rows)).sum();
        if unknowns <= DENSE && rows * f64::from(unknowns).powi(2) <= ROWS { Self::Rows } else { Self::Matrix }
    }
}

impl Source {
    fn new(device: &mut Device, registry: &mut Registry, problem: &Problem, found: Option<Structure>) -> Result<Self, Error> {
        let form = Form::of(problem);
        if form == Form::Products {
            let pattern = Pattern::of_tables(problem.tables());
            let unknowns = pattern.scalars;
            if unknowns > DENSE {
                return Err(Error::Limits(format!(
                    "covariance: a term sums over entries (sumOver), whose Jacobian is never stored, so JᵀWJ is made product by product, for {DENSE} unknowns at most; there are {unknowns}"
                )));
            }
            let vector = device.limits().align(problem.vector_len().max(state::STATE_LEN));
            let len = vector * (unknowns + 2);
            let whole = Slice { buffer: device.allocate(Kind::Real, len, "columns of JᵀWJ")?, offset: 0, len };
            return Ok(Self::Products { pattern: Arc::new(pattern), whole, vector });
        }
        if form == Form::Rows {
            return Ok(Self::Rows(Box::new(Rows::new(device, problem)?)));
        }
        let found = found.ok_or(Error::Internal("the structure of a matrix was not found"))?;
        Ok(Self::Matrix(Box::new(Assembly::new(device, registry, problem, found)?)))
    }
}

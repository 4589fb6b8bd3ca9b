// Written by `npm run generate` from src/session/surface.idl. Do not edit.
//! What crosses as words: `ts/src/packed.ts` packs it. Names of choices.

use super::reader::{Read, Reader};
use leastwise_error::Error;

/// Precision of an engine on the CPU or on CUDA.
pub fn precision(word: &str) -> Result<leastwise_device::Precision, Error> {
    match word {
        "f32" => Ok(leastwise_device::Precision::F32),
        "f64" => Ok(leastwise_device::Precision::F64),
        other => Err(Error::InvalidOption(format!("precision \"{other}\" is not \"f32\" or \"f64\""))),
    }
}

/// Reals on WebGPU: f32, pairs of them, or f32 that a sibling in pairs goes on from.
pub fn reals(word: &str) -> Result<leastwise_device::Reals, Error> {
    match word {
        "f32" => Ok(leastwise_device::Reals::Single),
        "mixed" => Ok(leastwise_device::Reals::Mixed),
        "f32x2" => Ok(leastwise_device::Reals::Double),
        other => Err(Error::InvalidOption(format!("precision \"{other}\" is not \"f32\", \"mixed\" or \"f32x2\""))),
    }
}

/// Extent of a solve: to termination, or one iteration.
pub fn mode(word: &str) -> Result<crate::SolveMode, Error> {
    match word {
        "solve" => Ok(crate::SolveMode::Solve),
        "step" => Ok(crate::SolveMode::Step),
        other => Err(Error::InvalidOption(format!("mode \"{other}\" is not \"solve\" or \"step\""))),
    }
}

/// Form of Hessians.
pub fn hessian(word: &str) -> Result<crate::HessianForm, Error> {
    match word {
        "exact" => Ok(crate::HessianForm::Exact),
        "psd" => Ok(crate::HessianForm::Semidefinite),
        other => Err(Error::InvalidOption(format!("hessian \"{other}\" is not \"exact\" or \"psd\""))),
    }
}

/// Step by which tensors and problems meet.
pub fn meeting(word: &str) -> Result<crate::Meeting, Error> {
    match word {
        "borrow" => Ok(crate::Meeting::Borrow),
        "await" => Ok(crate::Meeting::Await),
        "awaits" => Ok(crate::Meeting::Awaits),
        "lend" => Ok(crate::Meeting::Lend),
        "lenders" => Ok(crate::Meeting::Lenders),
        "learn" => Ok(crate::Meeting::Learn),
        "solution" => Ok(crate::Meeting::Solution),
        "solves" => Ok(crate::Meeting::Solves),
        "epoch" => Ok(crate::Meeting::Epoch),
        "pulls" => Ok(crate::Meeting::Pulls),
        "fill" => Ok(crate::Meeting::Fill),
        other => Err(Error::InvalidOption(format!(
            "meeting \"{other}\" is not \"borrow\", \"await\", \"awaits\", \"lend\", \"lenders\", \"learn\", \"solution\", \"solves\", \"epoch\", \"pulls\" or \"fill\""
        ))),
    }
}

/// Subject of a measurement.
pub fn measured(word: &str) -> Result<crate::Measured, Error> {
    match word {
        "evaluation" => Ok(crate::Measured::Evaluation),
        "product" => Ok(crate::Measured::Product),
        other => Err(Error::InvalidOption(format!("measured \"{other}\" is not \"evaluation\" or \"product\""))),
    }
}

/// Kind of a term: a residual, an energy, a constraint c = 0, c ≤ 0 or c ≥ 0, or a residual with full curvature.
pub enum TermKind {
    Residual,
    Energy,
    Zero,
    AtMostZero,
    AtLeastZero,
    Curved,
}

impl<'a> Read<'a> for TermKind {
    fn read(from: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(match from.word()? {
            0 => Self::Residual,
            1 => Self::Energy,
            2 => Self::Zero,
            3 => Self::AtMostZero,
            4 => Self::AtLeastZero,
            5 => Self::Curved,
            other => return Err(from.unknown(other)),
        })
    }
}

/// Slot of a term: a table, gathered through a column of the term's index table.
pub struct Slot {
    pub table: u32,
    pub column: u32,
}

impl<'a> Read<'a> for Slot {
    fn read(from: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(Self { table: from.read()?, column: from.read()? })
    }
}

/// Data column: one value for each instance, or one that all share.
pub struct Column<'a> {
    pub name: &'a str,
    pub width: u32,
    pub shared: bool,
    pub values: &'a [f64],
}

impl<'a> Read<'a> for Column<'a> {
    fn read(from: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(Self { name: from.read()?, width: from.read()?, shared: from.read()?, values: from.read()? })
    }
}

/// Data column with a value for each entry of the rows.
pub struct EntryColumn<'a> {
    pub name: &'a str,
    pub values: &'a [f64],
}

impl<'a> Read<'a> for EntryColumn<'a> {
    fn read(from: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(Self { name: from.read()?, values: from.read()? })
    }
}

/// Slot with rows of entries.
pub struct RaggedSlot<'a> {
    pub table: u32,
    pub rows: &'a [u32],
}

impl<'a> Read<'a> for RaggedSlot<'a> {
    fn read(from: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(Self { table: from.read()?, rows: from.read()? })
    }
}

/// Term. Its traces follow it.
pub struct Term<'a> {
    pub count: u32,
    pub kind: TermKind,
    /// True if the entries of a row are summed over.
    pub summed: bool,
    pub loss: Option<Loss<'a>>,
    /// True if every instance has a weight of its own.
    pub weighted: bool,
    /// One for each instance, one that all share, or none where all weigh 1.
    pub weights: &'a [f64],
    pub slots: Vec<Slot>,
    pub columns: Vec<Column<'a>>,
    pub entries: Vec<EntryColumn<'a>>,
    /// Index columns, each with an index for each instance; empty where it is a column of an index table that crosses by itself.
    pub indices: Vec<&'a [u32]>,
    /// Columns of that table, one for each empty list.
    pub over: &'a [u32],
    pub ragged: Vec<RaggedSlot<'a>>,
    /// Where the rows begin, and where the last one ends; empty where there are none.
    pub offsets: &'a [u32],
    pub traces: Vec<Trace<'a>>,
}

impl<'a> Read<'a> for Term<'a> {
    fn read(from: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(Self {
            count: from.read()?,
            kind: from.read()?,
            summed: from.read()?,
            loss: from.read()?,
            weighted: from.read()?,
            weights: from.read()?,
            slots: from.read()?,
            columns: from.read()?,
            entries: from.read()?,
            indices: from.read()?,
            over: from.read()?,
            ragged: from.read()?,
            offsets: from.read()?,
            traces: from.read()?,
        })
    }
}

/// Trace of a function for rows of a length.
pub struct Trace<'a> {
    pub length: u32,
    pub tape: &'a [u32],
    pub outputs: &'a [u32],
}

impl<'a> Read<'a> for Trace<'a> {
    fn read(from: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(Self { length: from.read()?, tape: from.read()?, outputs: from.read()? })
    }
}

/// Part of an instance: free scalars, or a manifold.
pub enum Shape<'a> {
    Euclidean { width: u32 },
    Subset { width: u32, constant: &'a [u32] },
    Sphere { width: u32 },
    Quaternion,
    So2,
    Se2,
    Se3,
    Sim3,
    Traced { ambient: u32, tangent: u32, tape: &'a [u32], outputs: &'a [u32] },
}

impl<'a> Read<'a> for Shape<'a> {
    fn read(from: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(match from.word()? {
            0 => Self::Euclidean { width: from.read()? },
            1 => Self::Subset { width: from.read()?, constant: from.read()? },
            2 => Self::Sphere { width: from.read()? },
            3 => Self::Quaternion,
            4 => Self::So2,
            5 => Self::Se2,
            6 => Self::Se3,
            7 => Self::Sim3,
            8 => Self::Traced { ambient: from.read()?, tangent: from.read()?, tape: from.read()?, outputs: from.read()? },
            other => return Err(from.unknown(other)),
        })
    }
}

/// Robust loss: ρ and its parameters. Those of `src/program/losses/` have numbers that are not here.
pub enum Loss<'a> {
    Trivial,
    Scaled {
        factor: f64,
        of: Box<Loss<'a>>,
    },
    Composed {
        outer: Box<Loss<'a>>,
        inner: Box<Loss<'a>>,
    },
    Traced {
        parameters: &'a [f64],
        output: u32,
        tape: &'a [u32],
    },
    /// One that the declaration does not list, of reals alone.
    Other {
        kind: leastwise_program::BuiltInLoss,
        parameters: &'a [f64],
    },
}

impl<'a> Read<'a> for Loss<'a> {
    fn read(from: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(match from.word()? {
            0 => Self::Trivial,
            10 => Self::Scaled { factor: from.read()?, of: from.read()? },
            11 => Self::Composed { outer: from.read()?, inner: from.read()? },
            12 => Self::Traced { parameters: from.read()?, output: from.read()?, tape: from.read()? },
            other => {
                let kind = leastwise_program::BuiltInLoss::of(other).ok_or_else(|| from.unknown(other))?;
                Self::Other { kind, parameters: from.reals(kind.parameters().len() as u32)? }
            }
        })
    }
}

/// Weights of fits' points: all 1, one for each point, or one for each point of each fit.
pub enum FitWeights {
    None,
    Shared,
    Each,
}

impl<'a> Read<'a> for FitWeights {
    fn read(from: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(match from.word()? {
            0 => Self::None,
            1 => Self::Shared,
            2 => Self::Each,
            other => return Err(from.unknown(other)),
        })
    }
}

/// Model of many small fits. Its function takes parameters, then independent variables.
pub struct FitModel<'a> {
    pub parameters: u32,
    /// Numbers of the parameters that are fitted.
    pub free: &'a [u32],
    /// Numbers of the parameters that all fits share.
    pub common: &'a [u32],
    /// For each independent variable, 1 if all fits share its values.
    pub shared: &'a [u32],
    pub weights: FitWeights,
    /// True if fits differ in how many points they have.
    pub ragged: bool,
    pub bounded: bool,
    /// True for Poisson's likelihood.
    pub poisson: bool,
    pub loss: Option<Loss<'a>>,
    pub tape: &'a [u32],
    pub output: u32,
}

impl<'a> Read<'a> for FitModel<'a> {
    fn read(from: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(Self {
            parameters: from.read()?,
            free: from.read()?,
            common: from.read()?,
            shared: from.read()?,
            weights: from.read()?,
            ragged: from.read()?,
            bounded: from.read()?,
            poisson: from.read()?,
            loss: from.read()?,
            tape: from.read()?,
            output: from.read()?,
        })
    }
}

//! Kernels made of expressions: straight-line programs, and their text in WGSL.
//!
//! A [`Program`] is one term's residual (or Jacobian, or product with it…) as a list of scalar operations that every
//! instance runs on its own data. [`wgsl`] writes it as a shader; the CPU interprets it over blocks of lanes.
//!
//! It knows no device, and not what a program's terms are for.
//!
//! ```
//! use leastwise_program::{Binary, Instruction, Load, Program, Store, wgsl};
//!
//! // Column 0 of J: twice column 0 of the data.
//! let instructions = vec![Instruction::Load(Load::Data(0)), Instruction::Binary(Binary::Add, 0, 0)];
//! let program = Program { instructions, stores: vec![(Store::Jacobian(0), 1)], ..Program::default() };
//! assert!(wgsl::write(&program).contains("fn main("));
//! ```

mod cross_derivative;
mod energy;
pub mod fit;
pub mod fused;
mod hessian;
mod inputs;
mod loss;
mod loss_function;
mod losses;
mod lower;
mod merged;
mod offdiagonal;
mod owner;
mod program;
mod reduced;
mod repeated_slots;
mod residual;
mod retraction;
mod segment_sums;
mod structure;
mod triggs;
pub mod wgsl;
pub mod words;

pub use leastwise_expr::{functions_of_one, functions_of_two};

pub use cross_derivative::CrossDerivativeProgram;
pub use energy::ProjectedHessian;
pub use fit::{FitArguments, FitLayout, FitModel, FitProgram, FitTolerances, FitWeights, Likelihood};
pub use fused::Fused;
pub use hessian::EnergyPrograms;
pub use leastwise_kernels::{Access, KernelText, binding, state};
pub use loss::{LossKind, Step, TracedLoss};
pub use loss_function::{Parameter, Range};
pub use losses::BuiltInLoss;
pub use lower::lower;
pub use merged::{HalfProduct, MergedPart, MergedProgram, directory};
pub use offdiagonal::{OffDiagonalPass, OffDiagonalPrograms, SlotPair};
pub use owner::{OwnSlot, OwnerArguments, OwnerProgram, Rows};
pub use program::*;
pub use reduced::{ReducedArguments, ReducedProgram, SchurDiagonalProgram};
pub use repeated_slots::RepeatedSlotsProgram;
pub use residual::*;
pub use retraction::Retraction;
pub use segment_sums::{RowSlots, SegmentSumPrograms, SegmentSumSlope};
pub use structure::{Layout, Objective, SlotKind, Structure};
pub use triggs::{Curvature, LEAST_CURVATURE, RobustShape};

//! Evaluations of terms outside of a solver: costs of instances, residuals, Jacobians and Hessians, and checks of derivatives.

mod constraint_rows;
mod differences;
mod entries;
mod evaluate_term;
mod held;
mod hessians;
mod instance_blocks;
mod instance_costs;

pub(crate) use constraint_rows::RowEvaluation;
pub use evaluate_term::{TermEvaluation, Wanted};
pub(crate) use held::HeldRun;
pub use hessians::HessianForm;
pub(crate) use instance_blocks::{InstanceBlock, InstanceBlocks, Instances};
pub use instance_costs::InstanceCosts;

use leastwise_device::{Device, KernelSource, Kind, Slice};
use leastwise_error::Error;
use leastwise_kernels::StaticKernel;
use leastwise_solve::{Summing, state};

/// A buffer of reals for an evaluation, all 0.
fn scratch(device: &mut Device, len: u32, label: &str) -> Result<Slice, Error> {
    let buffer = device.allocate(Kind::Real, len, label)?;
    Ok(Slice { buffer, offset: 0, len })
}

/// Scratch columns of `len` elements and a state, for evaluations without a solver.
fn summing(device: &mut Device, len: u32) -> Result<Summing, Error> {
    let [gather] = device.kernels(&[KernelSource::of_static(StaticKernel::SystemGather)])?[..] else {
        return Err(Error::Internal("a device gave no kernel"));
    };
    let scratch = scratch(device, len, "scratch columns")?;
    let state = self::scratch(device, state::STATE_LEN, "state").inspect_err(|_| device.free(scratch.buffer))?;
    Ok(Summing { gather, scratch, state })
}

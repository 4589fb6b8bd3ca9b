//! The wire between the engine and JavaScript, the same for either binding: `src/js/` (wasm-bindgen) and the addon
//! (`native_cuda/addon`). `src/session/surface.idl` declares what crosses.

mod packed;
mod progress;
mod reader;
mod term;

pub use packed::{hessian, measured, meeting, mode, precision, reals};
pub use progress::{Host, State, progress, with};
pub use term::{CrossedTerm, fit, loss, shapes};

use leastwise_device::Limits;
use leastwise_error::Error;
use leastwise_problem::Tuning;
use leastwise_solve::graduated::{Schedule, Surrogate};
use serde::{Deserialize, Serialize};

/// Limits that tests force.
#[derive(Deserialize, Clone, Copy, Debug, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ForcedLimits {
    /// Bytes of a buffer binding, 65536 at least.
    pub binding_bytes: Option<f64>,
    /// Bytes of all buffers.
    pub memory_bytes: Option<f64>,
    /// Invocations of a workgroup.
    pub group_size: Option<u32>,
    /// Workgroups of a dispatch along one dimension.
    pub groups_per_dimension: Option<u32>,
}

impl ForcedLimits {
    /// A device's limits with these in place of its own.
    pub fn over(&self, base: Limits) -> Limits {
        let binding_bytes = self.binding_bytes.map_or(base.binding_bytes, |bytes| (bytes as u64).max(1 << 16));
        let group_size = self.group_size.unwrap_or(base.group_size).clamp(Limits::LEAST_GROUP, 256);
        Limits {
            binding_bytes,
            buffer_bytes: if self.binding_bytes.is_some() { binding_bytes } else { base.buffer_bytes },
            memory_bytes: self.memory_bytes.map_or(base.memory_bytes, |bytes| bytes as u64),
            group_size: 1 << group_size.ilog2(),
            groups_per_dimension: self.groups_per_dimension.unwrap_or(base.groups_per_dimension).max(1),
            ..base
        }
    }
}

/// `{ code, message, term?, instance?, slot? }`, of which the façade makes its error.
#[derive(Serialize)]
pub struct Refusal<'a> {
    /// Code of the error ([`Error::code`]).
    pub code: &'a str,
    /// Message of the error.
    pub message: String,
    /// Name of the term that the error is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub term: Option<&'a str>,
    /// Instance that the error is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<u32>,
    /// Slot that the error is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<u32>,
}

impl<'a> From<&'a Error> for Refusal<'a> {
    fn from(error: &'a Error) -> Self {
        Self { code: error.code(), message: error.to_string(), term: error.term(), instance: error.instance(), slot: error.slot() }
    }
}

/// How graduated solves go on; what is not there is the default.
pub fn graduation(cost: &str, step: Option<f64>, max_rounds: Option<f64>, cost_tolerance: Option<f64>) -> Result<Schedule, Error> {
    let usual = Schedule::default();
    let max_rounds = match max_rounds {
        Some(most) if most.is_nan() || most < 0.0 || most.fract() != 0.0 => {
            return Err(Error::InvalidOption(format!("maxRounds must be a whole number that is not negative, not {most}")));
        }
        most => most.map_or(usual.max_rounds, |most| most as u32),
    };
    let (step, cost_tolerance) = (step.unwrap_or(usual.step), cost_tolerance.unwrap_or(usual.cost_tolerance));
    Ok(Schedule { surrogate: Surrogate::of_name(cost)?, step, max_rounds, cost_tolerance })
}

/// The tuning table: keys, and after all of these their schedules and evaluators.
pub fn tuning(table: &Tuning) -> Vec<String> {
    table.names().map(|(key, _)| key.clone()).chain(table.names().map(|(_, name)| name.into())).collect()
}

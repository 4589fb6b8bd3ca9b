//! Many small fits: one model, and thousands to millions of independent data sets, each fitted by its own Levenberg–Marquardt.
//!
//! A [`Fitting`] is a model, compiled once for a device. A [`FitSet`] is fits whose data stay there. A run of it is launches of a
//! few iterations each, between which fits that are at their end are taken from the list of those that run. It knows no problem
//! and no solver.
//!
//! ```
//! use leastwise_device::{Device, Limits, Playing, Precision, cpu::CpuDevice};
//! use leastwise_expr::Graph;
//! use leastwise_fits::{Candidates, FitData, Fitting, From, Options, Values};
//! use leastwise_program::{FitLayout, FitModel, FitWeights, Likelihood, fit::fit_parameter};
//!
//! // Two fits of a constant, of three points each.
//! let mut graph = Graph::new();
//! let value = graph.leaf(fit_parameter(0));
//! let model = FitModel { graph: &graph, value, likelihood: &Likelihood::LeastSquares(None) };
//! let weights = FitWeights::None;
//! let layout = FitLayout { parameters: 1, free: vec![0], variables: vec![], weights, ragged: false, bounded: false };
//! let fitting = Fitting::new(&model, layout)?;
//! let mut device = Device::Cpu(CpuDevice::new(Precision::F64, Limits::SMALL));
//! let points = Values::Doubles(&[1.0, 2.0, 3.0, 4.0, 5.0, 9.0]);
//! let data = FitData { count: 2, points: 3, data: points, start: &[0.0, 0.0], bounds: &[], offsets: &[] };
//! let mut set = fitting.set(&mut device, &data)?;
//! set.begin(&mut device, From::Start, &Candidates::NONE, &Options::default())?;
//! while !matches!(set.resume(&mut device, f64::INFINITY)?, Some(Playing::Finished(_))) {}
//! set.read(&mut device, 0, 1)?;
//! let Some(Playing::Finished(found)) = set.resume(&mut device, f64::INFINITY)? else { unreachable!() };
//! // As near as the tolerance of costs asks.
//! assert!((found[0] - 2.0).abs() < 1e-3 && (found[1] - 6.0).abs() < 1e-3);
//! # Ok::<(), leastwise_error::Error>(())
//! ```

mod layout;
mod options;
mod set;

pub use options::Options;
pub use set::{Candidates, FitSet, From};

use leastwise_device::{Device, KernelSource, Limits, Profile};
use leastwise_error::Error;
use leastwise_program::{FitLayout, FitModel, FitProgram};

/// A model's kernel.
pub struct Fitting {
    program: FitProgram,
}

/// Numbers of either precision.
#[derive(Clone, Copy)]
pub enum Values<'a> {
    /// `f32`.
    Singles(&'a [f32]),
    /// `f64`.
    Doubles(&'a [f64]),
}

impl Values<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Singles(values) => values.len(),
            Self::Doubles(values) => values.len(),
        }
    }
}

/// The fits of a set.
pub struct FitData<'a> {
    /// Fits.
    pub count: u32,
    /// Points of a fit; the most where they differ.
    pub points: u32,
    /// Shared variables, data, weights and the other variables, in the order of [`FitLayout::places`], but fit by fit.
    pub data: Values<'a>,
    /// Starting values: one for each parameter, or a column for each.
    pub start: &'a [f64],
    /// Lower, then upper bounds of the free parameters: one each, or a column each; empty where there are none.
    pub bounds: &'a [f64],
    /// Where each fit's points begin, and the last one's end; empty where all have as many.
    pub offsets: &'a [u32],
}

impl Fitting {
    /// The kernel of a model.
    ///
    /// # Errors
    /// [`Error::Limits`] for more free parameters, or a larger model, than a kernel has room for.
    pub fn new(model: &FitModel, layout: FitLayout) -> Result<Self, Error> {
        let (free, most) = (layout.free_count(), FitProgram::MOST_FREE);
        if free > most {
            return Err(Error::Limits(format!(
                "fit(): {free} parameters are fitted, but a fit has room for {most}: fix some, or solve larger fits one by one with a Problem"
            )));
        }
        if free == 0 {
            return Err(Error::InvalidOption("fit(): all parameters are fixed, so there is nothing to be fitted".into()));
        }
        let program = FitProgram::new(model, layout);
        let (length, most) = (program.program.instructions.len(), FitProgram::MOST_INSTRUCTIONS);
        if length > most {
            return Err(Error::Limits(format!(
                "fit(): the model with its derivatives takes {length} operations a point, but a fit has room for {most}: solve larger fits one by one with a Problem"
            )));
        }
        Ok(Self { program })
    }

    /// Layout of its buffers.
    pub fn layout(&self) -> &FitLayout {
        &self.program.layout
    }

    /// The kernel, for devices.
    pub fn source(&self) -> KernelSource {
        KernelSource::of_fit(&self.program)
    }

    /// Fits of so many points each that one set may have on a device, at least 1.
    pub fn capacity(&self, device: &Device, points: u32) -> u32 {
        let limits = device.limits();
        let numbers = limits.binding_bytes.min(limits.buffer_bytes) / 8;
        let layout = self.layout();
        // Data, fields, bounds, and the table of two lists, each in a buffer.
        let points = u64::from(points.max(1));
        let of_data = numbers.saturating_sub(layout.data(points, 0)) / layout.data(0, points).max(1);
        let others = numbers / u64::from(layout.fields().max(2 * layout.free_count()).max(4));
        // A launch must not keep a device busy for long: so many operations take it well below a second.
        let of_work = WORK / (points * self.work());
        let most = if device.profile() == Profile::Gpu { MOST } else { MOST_ON_CPU };
        let of_items = limits.max_items().min(u32::MAX.into()) / u64::from(self.lanes(&limits));
        of_data.min(others).min(of_work).min(of_items).clamp(1, most) as u32
    }

    /// Items of a dispatch that a fit has: a workgroup's, where a thread has no room for it.
    pub(crate) fn lanes(&self, limits: &Limits) -> u32 {
        if self.program.is_wide() { limits.group_size } else { 1 }
    }

    /// Operations of a point, about.
    pub(crate) fn work(&self) -> u64 {
        let free = u64::from(self.layout().free_count());
        self.program.program.instructions.len() as u64 + 4 * free + free * (free + 1)
    }

    /// Fits on a device. Their data are uploaded with what is done first.
    ///
    /// # Errors
    /// [`Error`] for another number of values than the layout says, and for buffers that can't be had.
    pub fn set(&self, device: &mut Device, data: &FitData) -> Result<FitSet, Error> {
        FitSet::new(self, device, data)
    }
}

/// Fits of a set at most: on the CPU what one has is in main memory twice.
const MOST: u64 = 1 << 20;
const MOST_ON_CPU: u64 = 1 << 16;
/// Operations of one evaluation of all fits of a set at most.
const WORK: u64 = 1 << 36;

//! Parameters that fits share: trials of their values, sums of the reduced normal equations, and standard errors.
//!
//! Shared parameters are fixed in each fit's own Levenberg–Marquardt. At its end the own parameters are taken out of the fit's normal
//! equations ([`leastwise_program::wgsl::fit_module`]), and what is left is added up over all fits; the caller solves it for a step of
//! the shared ones (variable projection: Golub & Pereyra 1973, Kaufman 1975).

use super::set::{FitSet, Stage, allocated};
use super::{Fitting, Options};
use leastwise_device::{BufferId, Command, Device, Dispatch, KernelId, Kind, Limits, Recording, Slice, binding};
use leastwise_error::Error;
use leastwise_kernels::fits::{Gather, GatherBindings};
use leastwise_program::FitArguments;
use leastwise_program::fit::fit_sums;

/// Buffers and kernels of a set with shared parameters.
pub(crate) struct Sharing {
    kernel: KernelId,
    /// Numbers of the shared parameters.
    shared: Vec<u32>,
    /// Values of all parameters, of which the shared ones are read; behind them the covariance of these.
    numbers: Slice,
    covariance_at: u32,
    /// Parts of the reduced equations, a column each; and their sums.
    parts: Slice,
    totals: Slice,
    /// Fields of the last accepted trial.
    kept: Slice,
}

impl Sharing {
    /// For a set of so many fits with so many fields; nothing where none are shared.
    pub fn new(
        fitting: &Fitting,
        device: &mut Device,
        buffers: &mut Vec<BufferId>,
        count: u32,
        fields: u64,
    ) -> Result<Option<Self>, Error> {
        let Some(program) = fitting.sharing() else { return Ok(None) };
        let kernel = device.kernels(&[leastwise_device::KernelSource::of_fit(program)])?[0];
        let shared = program.shared.clone();
        let (m, parameters) = (shared.len() as u32, program.layout.parameters);
        let covariance_at = device.limits().align(parameters);
        let sums = u64::from(fit_sums::count(m));
        let mut make = |len: u64, what: &str| allocated(device, buffers, Kind::Single, len, what);
        Ok(Some(Self {
            kernel,
            numbers: make(u64::from(covariance_at + m * m), "shared parameters of fits")?,
            covariance_at,
            parts: make(sums * u64::from(count), "reduced equations of fits")?,
            totals: make(2 * sums, "reduced equations of all fits")?,
            kept: make(fields, "accepted fits")?,
            shared,
        }))
    }

    /// Bits of the shared parameters.
    fn given(&self) -> u32 {
        self.shared.iter().fold(0, |bits, number| bits | 1 << number)
    }

    /// Fits of a set that the buffers of parts have room for.
    pub fn room(shared: u32, limits: &Limits) -> u64 {
        limits.binding_bytes.min(limits.buffer_bytes) / 8 / u64::from(fit_sums::count(shared))
    }
}

/// Refusal of what only sets with shared parameters do.
fn none() -> Error {
    Error::InvalidOption("fits: they share no parameters".into())
}

impl FitSet {
    fn sharing(&self) -> Result<&Sharing, Error> {
        self.sharing.as_ref().ok_or_else(none)
    }

    /// Begins to fit from where fits are, or (`restores`) from where they were when they were kept last, with these values of the shared
    /// parameters among `values` of all. Before that, `keeps` keeps them.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] where no parameters are shared; as [`FitSet::begin`].
    pub fn begin_trial(
        &mut self,
        device: &mut Device,
        values: &[f64],
        keeps: bool,
        restores: bool,
        options: &Options,
    ) -> Result<(), Error> {
        self.must_be_idle()?;
        let Sharing { numbers, kept, .. } = *self.sharing()?;
        let given = self.sharing()?.given();
        super::layout::counted("values of parameters", values.len(), self.layout.parameters.into())?;
        let mut recording = self.begun(options)?;
        if keeps {
            recording.push(Command::Copy { from: self.fields, to: kept });
        }
        if restores {
            recording.push(Command::Copy { from: kept, to: self.fields });
        }
        recording.push(Command::UploadReals { buffer: numbers.buffer, offset: 0, data: values.to_vec() });
        let starts = Slice { len: self.layout.parameters, ..numbers };
        self.reset_from(&mut recording, true, starts, (given, 0));
        self.launch(&mut recording);
        self.start(device, recording, Stage::Launch);
        Ok(())
    }

    /// Sums over all fits, each in two parts: the lower triangle of the reduced matrix, row by row, the reduced gradient, F, and how many
    /// fits are not finite.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] where no parameters are shared.
    pub fn reduce(&mut self, device: &mut Device) -> Result<(), Error> {
        self.must_be_idle()?;
        let Sharing { parts, totals, .. } = *self.sharing()?;
        let columns = fit_sums::count(self.sharing()?.shared.len() as u32);
        let mut recording = std::mem::take(&mut self.pending);
        self.eliminate(&mut recording, 0, device.limits().group_size)?;
        let count = columns * device.limits().group_size;
        let sums = self.others.dispatch(Gather { fits: self.count }, count, GatherBindings { columns: parts, totals });
        recording.push(Command::Dispatch(sums));
        recording.push(Command::Read { slice: totals });
        self.start(device, recording, Stage::Last);
        Ok(())
    }

    /// Standard errors, where shared parameters have this covariance; before that, `restores` brings back what was kept last.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] where no parameters are shared; [`Error::DataLength`] for another size of the covariance.
    pub fn spread(&mut self, device: &mut Device, covariance: &[f64], restores: bool) -> Result<(), Error> {
        self.must_be_idle()?;
        let Sharing { numbers, kept, covariance_at, .. } = *self.sharing()?;
        let shared = self.sharing()?.shared.len() as u64;
        super::layout::counted("entries of a covariance", covariance.len(), shared * shared)?;
        let mut recording = std::mem::take(&mut self.pending);
        if restores {
            recording.push(Command::Copy { from: kept, to: self.fields });
        }
        recording.push(Command::UploadReals { buffer: numbers.buffer, offset: covariance_at, data: covariance.to_vec() });
        self.eliminate(&mut recording, 1, device.limits().group_size)?;
        self.start(device, recording, Stage::Last);
        Ok(())
    }

    /// Own parameters are taken out: for sums (0), or for standard errors (1).
    fn eliminate(&self, recording: &mut Recording, mode: u32, lanes: u32) -> Result<(), Error> {
        let Sharing { kernel, numbers, covariance_at, parts, .. } = *self.sharing()?;
        let mut bindings = [None; binding::COUNT];
        bindings[binding::ARENA] = self.offsets;
        bindings[binding::DATA] = Some(self.data);
        bindings[binding::VECTOR_IN] = self.bounds;
        bindings[binding::VECTOR_OUT] = Some(self.fields);
        bindings[binding::STATE] = Some(Slice { offset: covariance_at, len: numbers.len - covariance_at, ..numbers });
        bindings[binding::PARTIALS] = Some(parts);
        let words = FitArguments { rounds: mode, lanes, ..self.args }.words();
        recording.push(Command::Dispatch(Dispatch { kernel, bindings, count: self.count * lanes, single_group: false, words }));
        Ok(())
    }
}

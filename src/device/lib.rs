//! One of the devices: the CPU, WebGPU and, with the feature of that name, CUDA.
//!
//! A device is passive. It makes buffers and kernels, plays a [`Recording`] piece by piece
//! ([`Device::resume`]) and says after each piece whether it finished, ran out of its time slice (CPU) or waits for
//! the GPU. It knows no problem and no solver. What devices are asked in is [`leastwise_recording`], all of which is found here too.
//!
//! ```
//! use leastwise_device::{Command, Device, Kind, Limits, Precision, Recording, Slice, cpu::CpuDevice};
//!
//! let mut device = Device::Cpu(CpuDevice::new(Precision::F64, Limits::SMALL));
//! let buffer = device.allocate(Kind::Real, 3, "values")?;
//! let mut recording = Recording::new();
//! recording.push(Command::UploadReals { buffer, offset: 0, data: vec![1.0, 2.0, 3.0] });
//! recording.push(Command::Read { slice: Slice { buffer, offset: 1, len: 2 } });
//! assert_eq!(device.run(recording)?, [2.0, 3.0]);
//! # Ok::<(), leastwise_device::DeviceError>(())
//! ```

mod static_kernels;

pub use leastwise_cpu as cpu;
#[cfg(feature = "cuda")]
pub use leastwise_cuda as cuda;
pub use leastwise_recording::*;
pub use leastwise_webgpu as wgpu;
pub use static_kernels::StaticKernels;

use leastwise_program::wgsl::Cut;

/// A recording that is being played.
pub enum Play {
    /// On the CPU.
    Cpu(cpu::Play),
    /// On WebGPU.
    Wgpu(wgpu::Play),
    /// On CUDA.
    #[cfg(feature = "cuda")]
    Cuda(cuda::Play),
    /// Of a recording that is not valid: it plays nothing, and ends with the error.
    Refused(DeviceError),
}

/// A few elements that were asked for by [`Device::glance`], and which nothing waits for.
pub enum Glance {
    /// Elements that are there already.
    Landed(Vec<f64>),
    /// A readback of WebGPU that is under way.
    Wgpu(Box<wgpu::Play>),
    /// A readback of CUDA that is under way.
    #[cfg(feature = "cuda")]
    Cuda(cuda::Glance),
}

/// One of the backends.
pub enum Device {
    /// The CPU, in f64 or f32.
    Cpu(cpu::CpuDevice),
    /// An adapter of WebGPU.
    Wgpu(Box<wgpu::WgpuDevice>),
    /// An NVIDIA GPU.
    #[cfg(feature = "cuda")]
    Cuda(Box<cuda::CudaDevice>),
}

impl Device {
    /// Arithmetic of its reals.
    pub fn precision(&self) -> Precision {
        match self {
            Self::Cpu(device) => device.precision(),
            Self::Wgpu(device) => device.precision(),
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => device.precision(),
        }
    }

    /// What reals are where there is no f64.
    pub fn reals(&self) -> Reals {
        match self {
            Self::Wgpu(device) => device.reals(),
            _ => Reals::Single,
        }
    }

    /// True if the memory of a workgroup holds a tile of so many columns ([`leastwise_program::OwnerProgram`]): WebGPU promises 16 KiB.
    pub fn holds_tile(&self, columns: u32) -> bool {
        let bytes = u64::from(columns)
            * u64::from(self.limits().group_size + leastwise_program::OwnerProgram::PADDING)
            * self.inner_precision().bytes();
        self.backend() != "webgpu" || bytes <= 16 << 10
    }

    /// The precision of [`Kind::Inner`] reals.
    pub fn inner_precision(&self) -> Precision {
        if self.reals() == Reals::Mixed { Precision::F32 } else { self.precision() }
    }

    /// What users call the precision.
    pub fn precision_name(&self) -> &'static str {
        match (self.reals(), self.precision()) {
            (Reals::Mixed, _) => "mixed",
            (Reals::Double, _) => "f32x2",
            (_, Precision::F64) => "f64",
            _ => "f32",
        }
    }

    /// Whether there are double-floats, beside reals that are `f32`; or why not.
    pub fn has_doubles(&self) -> Result<leastwise_kernels::Products, &str> {
        match self {
            Self::Wgpu(device) => device.has_doubles(),
            _ => Err(NO_NEED_OF_DOUBLES),
        }
    }

    /// The kind of machine that schedules are chosen for.
    pub fn profile(&self) -> Profile {
        match self {
            Self::Cpu(_) => Profile::Cpu,
            Self::Wgpu(device) if device.is_software() => Profile::Software,
            Self::Wgpu(_) => Profile::Gpu,
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => Profile::Gpu,
        }
    }

    /// How programs that are too large for one module are cut here, if they are.
    pub fn cut(&self) -> Option<Cut> {
        match (self, self.reals()) {
            (Self::Cpu(_), _) => None,
            (_, Reals::Single) => Some(Cut::Coarse),
            _ => Some(Cut::Fine),
        }
    }

    /// The adapter's own name; "cpu" without one.
    pub fn adapter(&self) -> &str {
        match self {
            Self::Cpu(_) => "cpu",
            Self::Wgpu(device) => device.adapter(),
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => device.adapter(),
        }
    }

    /// Makes it one of several ranks, or a device alone again. Gives the communicator that it had.
    ///
    /// # Errors
    /// [`Fault::Refused`] on WebGPU, which has no exchange of numbers, and for a communicator of another GPU; on a GPU also what the
    /// kernels of exchanges and memory for messages fail with.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn join(
        &mut self,
        communicator: Option<std::sync::Arc<dyn Communicator>>,
    ) -> Result<Option<std::sync::Arc<dyn Communicator>>, DeviceError> {
        match self {
            Self::Cpu(device) => Ok(device.join(communicator)),
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => device.join(communicator),
            Self::Wgpu(_) if communicator.is_none() => Ok(None),
            Self::Wgpu(_) => {
                Err(Fault::Refused("ranks exchange numbers on backends \"cpu\" and \"cuda\", not on \"webgpu\"".into()).into())
            }
        }
    }

    /// True for the communicator of ranks whose devices have to meet before they join: over NCCL.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn has_to_meet(communicator: &dyn Communicator) -> bool {
        #[cfg(feature = "cuda")]
        let has_to = cuda::NcclCommunicator::is_nccl(communicator);
        #[cfg(not(feature = "cuda"))]
        let has_to = {
            let _ = communicator;
            false
        };
        has_to
    }

    /// True if [`meet`](Self::meet) has nothing to do for this device.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn has_met(&self, communicator: &std::sync::Arc<dyn Communicator>) -> bool {
        match self {
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => device.has_met(communicator),
            _ => {
                let _ = communicator;
                true
            }
        }
    }

    /// Has the ranks meet by this device, which need not be the one that made their communicator. All ranks call it before it joins.
    ///
    /// # Errors
    /// [`Fault::Refused`] on all ranks where some have a device in another precision, or no memory for messages: then all can go on. Else
    /// faults of NCCL.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn meet(&self, communicator: &std::sync::Arc<dyn Communicator>) -> Result<(), DeviceError> {
        match self {
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => device.meet(communicator),
            _ => {
                let _ = communicator;
                Ok(())
            }
        }
    }

    /// What users call it.
    pub fn backend(&self) -> &'static str {
        match self {
            Self::Cpu(_) => "cpu",
            Self::Wgpu(_) => "webgpu",
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => "cuda",
        }
    }

    /// Whether work is enqueued and done later: nothing is known of it before something is read back.
    pub fn is_queue(&self) -> bool {
        !matches!(self, Self::Cpu(_))
    }

    /// Limits of recordings for it.
    pub fn limits(&self) -> Limits {
        match self {
            Self::Cpu(device) => device.limits(),
            Self::Wgpu(device) => device.limits(),
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => device.limits(),
        }
    }

    /// Work so far.
    pub fn counters(&self) -> Counters {
        match self {
            Self::Cpu(device) => device.counters(),
            Self::Wgpu(device) => device.counters(),
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => device.counters(),
        }
    }

    /// Numbers of kernels; equal sources (by what they are made of) are one kernel. A GPU compiles a kernel when a recording that names it is
    /// about to be played: see [`compile`](Self::compile).
    pub fn kernels(&mut self, sources: &[KernelSource]) -> Result<Vec<KernelId>, DeviceError> {
        match self {
            Self::Cpu(device) => Ok(device.kernels(sources)),
            Self::Wgpu(device) => device.kernels(sources),
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => Ok(device.kernels(sources)),
        }
    }

    /// Whether it has a library for products of matrices ([`Command::Multiply`]).
    pub fn multiplies(&self) -> bool {
        match self {
            Self::Cpu(_) | Self::Wgpu(_) => false,
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => device.multiplies(),
        }
    }

    /// Makes products of a form ready; whether the library has an algorithm for them.
    pub fn prepare_product(&mut self, #[cfg_attr(not(feature = "cuda"), expect(unused))] form: &Form) -> Result<bool, DeviceError> {
        match self {
            Self::Cpu(_) | Self::Wgpu(_) => Ok(false),
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => device.prepare_product(form),
        }
    }

    /// Begins to compile what a recording names and is not there yet, in the background; what to wait for before the recording can be
    /// [enqueued](Self::enqueue), if anything. A kernel that the compiler refused is an error.
    pub fn compile(&mut self, recording: &Recording) -> Result<Option<Signal>, DeviceError> {
        match self {
            Self::Cpu(_) => Ok(None),
            Self::Wgpu(device) => device.compile(recording),
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => device.compile(recording),
        }
    }

    /// The same of what is played, which [`resume`](Self::resume) waits for otherwise: nothing once it has begun.
    pub fn compile_for(&mut self, play: &Play) -> Result<Option<Signal>, DeviceError> {
        let unbegun = match play {
            Play::Cpu(_) | Play::Refused(_) => None,
            Play::Wgpu(play) => play.unbegun(),
            #[cfg(feature = "cuda")]
            Play::Cuda(play) => play.unbegun(),
        };
        unbegun.map_or(Ok(None), |recording| self.compile(recording))
    }

    /// Which evaluators programs are run by, on a CPU.
    pub fn set_evaluators(&mut self, evaluators: cpu::Evaluators) {
        if let Self::Cpu(device) = self {
            device.set_evaluators(evaluators);
        }
    }

    /// By which evaluator a kernel is run on so many items, where there is a choice.
    pub fn evaluation(&self, kernel: KernelId, items: u32) -> Option<cpu::Evaluation> {
        match self {
            Self::Cpu(device) => device.evaluation(kernel, items),
            _ => None,
        }
    }

    /// The same of a dispatch.
    pub fn evaluation_of(&self, dispatch: &Dispatch) -> Option<cpu::Evaluation> {
        match self {
            Self::Cpu(device) => device.evaluation_of(dispatch),
            _ => None,
        }
    }

    /// What to wait for before measuring, where something is still compiled that others do not wait for.
    pub fn linking(&self) -> Option<Signal> {
        match self {
            Self::Cpu(device) => device.linking(),
            _ => None,
        }
    }

    /// A buffer of `len` elements, all 0.
    pub fn allocate(&mut self, kind: Kind, len: u32, label: &str) -> Result<BufferId, DeviceError> {
        match self {
            Self::Cpu(device) => device.allocate(kind, len, label),
            Self::Wgpu(device) => device.allocate(kind, len, label),
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => device.allocate(kind, len, label),
        }
    }

    /// Destroys a buffer now, not when a garbage collector comes by. Freeing twice is harmless.
    pub fn free(&mut self, buffer: BufferId) {
        match self {
            Self::Cpu(device) => device.free(buffer),
            Self::Wgpu(device) => device.free(buffer),
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => device.free(buffer),
        }
    }

    /// Whether memory was refused for some buffer after it was given out, which only WebGPU does.
    pub fn has_refused(&self) -> bool {
        matches!(self, Self::Wgpu(device) if device.has_refused())
    }

    /// Whether memory was refused for one of these buffers.
    pub fn refuses(&self, mut buffers: impl Iterator<Item = BufferId>) -> bool {
        match self {
            Self::Wgpu(device) => device.has_refused() && buffers.any(|buffer| device.refusal(buffer).is_some()),
            _ => false,
        }
    }

    /// Fails with what went wrong since the last call, of which this is the first to tell.
    fn check_health(&self) -> Result<(), DeviceError> {
        if let Self::Wgpu(device) = self { device.check_health() } else { Ok(()) }
    }

    /// Validates a recording: see [`validation`].
    fn validate(&self, recording: &Recording) -> Result<(), DeviceError> {
        match self {
            Self::Cpu(device) => validation::validate(recording, device),
            Self::Wgpu(device) => validation::validate(recording, &**device),
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => validation::validate(recording, &**device),
        }
    }

    /// Begins to play; nothing happens before [`resume`](Self::resume), which tells if the recording is not valid.
    pub fn start(&mut self, recording: Recording) -> Play {
        let health = self.check_health();
        if let Err(lost @ DeviceError::Lost(_)) = health {
            // It has no buffers any more, which is not the recording's fault.
            return Play::Refused(lost);
        }
        if let Err(error) = self.validate(&recording) {
            return Play::Refused(error);
        }
        if let (Err(error), Self::Wgpu(device)) = (health, &mut *self) {
            // Somebody else's error, of which this is the next call to tell.
            device.abandon(&mut wgpu::Play::new(recording));
            return Play::Refused(error);
        }
        match self {
            Self::Cpu(_) => Play::Cpu(cpu::Play::new(recording)),
            Self::Wgpu(device) => Play::Wgpu(wgpu::Play::new(device.in_parts(recording))),
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => Play::Cuda(cuda::Play::new(recording)),
        }
    }

    /// Plays on. The CPU works until `deadline_ms` (on `clock::now_ms`'s scale) or the end;
    /// a GPU submits what it can and never blocks.
    pub fn resume(&mut self, play: &mut Play, deadline_ms: f64) -> Result<Playing, DeviceError> {
        match (self, play) {
            (Self::Cpu(device), Play::Cpu(play)) => device.resume(play, deadline_ms),
            (Self::Wgpu(device), Play::Wgpu(play)) => device.resume(play),
            #[cfg(feature = "cuda")]
            (Self::Cuda(device), Play::Cuda(play)) => device.resume(play, deadline_ms),
            (_, Play::Refused(error)) => Err(error.clone()),
            _ => Err(DeviceError::Invalid("it was started on another device".into())),
        }
    }

    /// Plays what a recording that nobody goes on with begins with: uploads, clears and copies, unless something of it was played. They may
    /// be all that there is of values that the host gave. On the CPU a recording is played to its end instead.
    pub fn abandon(&mut self, play: &mut Play) {
        match (self, play) {
            (Self::Wgpu(device), Play::Wgpu(play)) => device.abandon(play),
            #[cfg(feature = "cuda")]
            (Self::Cuda(device), Play::Cuda(play)) => device.abandon(play),
            _ => {}
        }
    }

    /// Submits the whole recording without ever reading back: a `Repeat` runs its body `max` times, and a `Read` is
    /// left out. For frame loops on a GPU; a CPU uses [`resume`](Self::resume) with a deadline instead.
    pub fn enqueue(&mut self, recording: &Recording) -> Result<(), DeviceError> {
        self.check_health()?;
        self.validate(recording)?;
        match self {
            Self::Cpu(_) => Err(DeviceError::Invalid("a CPU has no queue".into())),
            Self::Wgpu(device) if device.has_parts() => device.enqueue(&device.in_parts(recording.clone())),
            Self::Wgpu(device) => device.enqueue(recording),
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => device.enqueue(recording),
        }
    }

    /// Asks for a few elements as they are behind all that is enqueued, without ever waiting for them. It counts as no readback.
    pub fn glance(&mut self, slice: Slice) -> Result<Glance, DeviceError> {
        match self {
            Self::Cpu(device) => device.elements(slice).map(Glance::Landed),
            Self::Wgpu(device) => {
                let mut play = wgpu::Play::glance(Recording { commands: vec![Command::Read { slice }] });
                Ok(match device.resume(&mut play)? {
                    Playing::Finished(values) => Glance::Landed(values),
                    _ => Glance::Wgpu(Box::new(play)),
                })
            }
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => device.glance(slice).map(Glance::Cuda),
        }
    }

    /// What a glance saw, once that has come.
    pub fn seen(&mut self, glance: &mut Glance) -> Result<Option<Vec<f64>>, DeviceError> {
        match (self, glance) {
            (_, Glance::Landed(values)) => Ok(Some(std::mem::take(values))),
            (Self::Wgpu(device), Glance::Wgpu(play)) => match device.resume(play)? {
                Playing::Finished(values) => Ok(Some(values)),
                _ => Ok(None),
            },
            #[cfg(feature = "cuda")]
            (Self::Cuda(device), Glance::Cuda(glance)) => device.seen(glance),
            _ => Err(DeviceError::Invalid("it was asked of another device".into())),
        }
    }

    /// Plays a few commands at once, in the midst of another recording.
    pub fn interject(&mut self, recording: Recording) -> Result<(), DeviceError> {
        if self.is_queue() {
            return self.enqueue(&recording);
        }
        let mut play = self.start(recording);
        self.resume(&mut play, f64::INFINITY).map(|_| ())
    }

    /// Plays to the end, blocking. Native builds only: in a browser nothing may block.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run(&mut self, recording: Recording) -> Result<Vec<f64>, DeviceError> {
        let mut play = self.start(recording);
        loop {
            match self.resume(&mut play, f64::INFINITY)? {
                Playing::Yielded => {}
                Playing::Waiting(signal) => self.block_on(&signal)?,
                Playing::Finished(values) => return Ok(values),
            }
        }
    }

    /// Whether signals are set only while somebody [blocks](Self::block_on) on the device. Native builds only.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn is_polled(&self) -> bool {
        matches!(self, Self::Wgpu(_))
    }

    /// Blocks until `signal` is set. Native builds only.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn block_on(&mut self, signal: &Signal) -> Result<(), DeviceError> {
        match self {
            Self::Cpu(_) => Ok(()),
            Self::Wgpu(device) => device.block_on(signal),
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => {
                pollster::block_on(signal.clone());
                Ok(())
            }
        }
    }
}

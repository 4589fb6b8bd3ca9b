//! Devices of an engine: its own, and siblings in other precisions that are opened when they are first needed.

use leastwise_device::{Counters, Device, Precision, Reals, cpu::CpuDevice};
use leastwise_error::Error;
use leastwise_problem::Registry;

/// A device beside the engine's own, and the registry of what is compiled for it.
pub struct SideDevice {
    /// The device.
    pub device: Device,
    /// Registry of its kernels and programs.
    pub registry: Registry,
}

/// Devices of an engine: its own, and those of other precisions beside it, which are made on demand.
pub struct Devices {
    /// The engine's own device.
    pub main: Device,
    /// Registry of the kernels and programs of the engine's own device.
    pub registry: Registry,
    /// In f32, beside one that is not.
    single: Option<Device>,
    /// In f64 on the CPU, beside one that is not.
    double: Option<SideDevice>,
    /// On WebGPU in f32, its sibling in mixed precision.
    mixed: Option<SideDevice>,
    /// True if solves that f32 stops go on in mixed precision.
    pub refines: bool,
}

impl Devices {
    /// The engine's own device, with none beside it.
    pub fn new(main: Device) -> Self {
        Self { main, registry: Registry::default(), single: None, double: None, mixed: None, refines: true }
    }

    /// Counters of all devices together.
    pub fn counters(&self) -> Counters {
        let beside = [&self.double, &self.mixed].into_iter().flatten().map(|side| &side.device);
        self.single.iter().chain(beside).fold(self.main.counters(), |own, other| own.with(&other.counters()))
    }

    /// The engine's own device, and the one in f32 beside it if it was made.
    pub fn made(&self) -> impl Iterator<Item = &Device> {
        [&self.main].into_iter().chain(&self.single)
    }

    /// A device in f32: the engine's own, or the one beside it.
    pub fn single(&mut self) -> Result<&mut Device, Error> {
        if self.main.precision() == Precision::F32 {
            return Ok(&mut self.main);
        }
        let sibling = match (self.single.take(), &mut self.main) {
            (Some(sibling), _) => sibling,
            #[cfg(feature = "cuda")]
            (None, Device::Cuda(device)) => Device::Cuda(Box::new(device.sibling(Precision::F32)?)),
            (None, Device::Wgpu(device)) => Device::Wgpu(Box::new(device.sibling(Reals::Single)?)),
            (None, device) => Device::Cpu(CpuDevice::new(Precision::F32, device.limits())),
        };
        Ok(self.single.insert(sibling))
    }

    /// A device in f64 on the CPU with its registry: the engine's own where it is one.
    pub fn double(&mut self) -> (&mut Device, &mut Registry) {
        let Self { main, registry, double, .. } = self;
        if matches!(main, Device::Cpu(_)) && main.precision() == Precision::F64 {
            return (main, registry);
        }
        let SideDevice { device, registry } = double.get_or_insert_with(|| {
            let limits = if matches!(main, Device::Cpu(_)) { main.limits() } else { CpuDevice::default_limits() };
            SideDevice { device: Device::Cpu(CpuDevice::new(Precision::F64, limits)), registry: Registry::default() }
        });
        (device, registry)
    }

    /// The sibling in mixed precision of a device on WebGPU, with the engine's tuning.
    pub fn mixed(&mut self) -> Result<(&mut Device, &mut Registry), Error> {
        let side = match self.mixed.take() {
            Some(side) => side,
            None => {
                let Device::Wgpu(device) = &self.main else { return Err(Error::Internal("there is no sibling in mixed precision")) };
                SideDevice { device: Device::Wgpu(Box::new(device.sibling(Reals::Mixed)?)), registry: Registry::default() }
            }
        };
        let SideDevice { device, registry } = self.mixed.insert(side);
        if registry.tuning != self.registry.tuning {
            registry.tuning = self.registry.tuning.clone();
        }
        registry.adopt_manifolds(&self.registry);
        Ok((device, registry))
    }

    /// Destroys all devices, siblings of the adapter first.
    pub fn dispose(&mut self) {
        (self.single, self.mixed, self.double) = (None, None, None);
        match &mut self.main {
            Device::Wgpu(device) => device.dispose(),
            Device::Cpu(device) => device.dispose(),
            #[cfg(feature = "cuda")]
            Device::Cuda(_) => {}
        }
    }
}

//! Static kernels by name: their numbers on a device, and dispatches of them.

use super::{Arguments, Device, DeviceError, Dispatch, KernelId, KernelSource, Slice, StaticKernel};
use std::collections::HashMap;

/// The numbers of static kernels on a device.
#[derive(Default)]
pub struct StaticKernels {
    numbers: HashMap<StaticKernel, KernelId>,
}

impl StaticKernels {
    /// Asks a device for kernels, each as `grade` makes it.
    ///
    /// # Errors
    /// Those of [`Device::kernels`].
    pub fn request(
        device: &mut Device,
        kernels: &[StaticKernel],
        grade: impl Fn(KernelSource) -> KernelSource,
    ) -> Result<Self, DeviceError> {
        let sources: Vec<_> = kernels.iter().map(|kernel| grade(KernelSource::of_static(*kernel))).collect();
        let numbers = device.kernels(&sources)?;
        Ok(Self { numbers: kernels.iter().copied().zip(numbers).collect() })
    }

    /// The number of a kernel; of one that was not requested, a number that no device has.
    pub fn number(&self, kernel: StaticKernel) -> KernelId {
        self.numbers.get(&kernel).copied().unwrap_or(KernelId(u32::MAX))
    }

    /// A launch over `count` items.
    pub fn dispatch<K: Arguments>(&self, args: K, count: u32, bindings: K::Bindings<Slice>) -> Dispatch {
        Dispatch::of(self.number(K::KERNEL), args, count, bindings)
    }
}

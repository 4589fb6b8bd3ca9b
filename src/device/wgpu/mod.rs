//! WebGPU through wgpu.
use super::*;

pub struct WgpuDevice {}
pub struct Play {}
impl Play {
    pub fn new(_recording: Recording) -> Self {
        todo!()
    }
}
impl WgpuDevice {
    pub fn limits(&self) -> Limits {
        todo!()
    }
    pub fn counters(&self) -> Counters {
        todo!()
    }
    pub fn kernels(&mut self, _sources: &[KernelSource]) -> Result<Vec<KernelId>, DeviceError> {
        todo!()
    }
    pub fn compiled(&mut self) -> Result<Option<Signal>, DeviceError> {
        todo!()
    }
    pub fn allocate(&mut self, _kind: Kind, _len: u32, _label: &str) -> Result<BufferId, DeviceError> {
        todo!()
    }
    pub fn free(&mut self, _buffer: BufferId) {}
    pub fn resume(&mut self, _play: &mut Play) -> Result<Playing, DeviceError> {
        todo!()
    }
    pub fn enqueue(&mut self, _recording: &Recording) -> Result<(), DeviceError> {
        todo!()
    }
    #[cfg(not(target_arch = "wasm32"))]
    pub fn block_on(&mut self, _signal: &Signal) -> Result<(), DeviceError> {
        todo!()
    }
}

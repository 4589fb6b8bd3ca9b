//! Devices that tests hand on. An adapter in software takes longest for making pipelines: those of one test are there for
//! the next one that is given the device.

use super::gpu;
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, Limits, Precision};
use leastwise::session::Session;
use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

static IDLE: Mutex<Vec<(Option<Limits>, Device)>> = Mutex::new(Vec::new());

/// A GPU that another test is done with, or a new one.
pub fn take_gpu(limits: Option<Limits>) -> Device {
    let mut idle = IDLE.lock().expect("nothing fails while it is locked");
    let known = idle.iter().position(|(of, _)| *of == limits);
    let known = known.map(|place| idle.swap_remove(place).1);
    drop(idle);
    known.unwrap_or_else(|| take_device(&mut gpu(limits)))
}

/// For the next test. Nothing may be left on it.
pub fn give_gpu(limits: Option<Limits>, device: Device) {
    assert_eq!(device.counters().bytes_live, 0, "buffers are left");
    IDLE.lock().expect("nothing fails while it is locked").push((limits, device));
}

fn take_device(session: &mut Session) -> Device {
    std::mem::replace(session.device_mut(), placeholder())
}

/// What stands where a device was.
fn placeholder() -> Device {
    Device::Cpu(CpuDevice::new(Precision::F32, Limits::SMALL))
}

/// A device that is handed on, and has to be left with no buffers.
pub struct SharedDevice {
    device: Device,
    /// Of the GPU that it is.
    gpu: Option<Option<Limits>>,
}

pub fn shared_device(limits: Option<Limits>) -> SharedDevice {
    SharedDevice { device: take_gpu(limits), gpu: Some(limits) }
}

/// One that is nobody else's, as CPUs are.
impl From<Device> for SharedDevice {
    fn from(device: Device) -> Self {
        Self { device, gpu: None }
    }
}

impl Deref for SharedDevice {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.device
    }
}

impl DerefMut for SharedDevice {
    fn deref_mut(&mut self) -> &mut Device {
        &mut self.device
    }
}

impl Drop for SharedDevice {
    fn drop(&mut self) {
        // What failed may have left anything behind.
        if let (Some(limits), false) = (self.gpu, std::thread::panicking()) {
            give_gpu(limits, std::mem::replace(&mut self.device, placeholder()));
        }
    }
}

/// A session on a device that is handed on. Its kernels may be there before anything asked for them.
pub struct Shared {
    session: Session,
    /// Of the GPU that it was given.
    gpu: Option<Option<Limits>>,
}

pub fn shared_gpu(limits: Option<Limits>) -> Shared {
    Shared { session: Session::new(take_gpu(limits)), gpu: Some(limits) }
}

/// One that is nobody else's, as CPUs are.
impl From<Session> for Shared {
    fn from(session: Session) -> Self {
        Self { session, gpu: None }
    }
}

impl Deref for Shared {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl DerefMut for Shared {
    fn deref_mut(&mut self) -> &mut Session {
        &mut self.session
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // What failed may have left anything behind.
        if let (Some(limits), false) = (self.gpu, std::thread::panicking()) {
            self.session.problems().into_iter().for_each(|problem| self.session.free_problem(problem));
            give_gpu(limits, take_device(&mut self.session));
        }
    }
}

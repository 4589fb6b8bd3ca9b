//! Devices that tests hand on. An adapter in software takes longest for making pipelines: those of one test are there for
//! the next one that is given the device.

use super::gpu;
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, Limits, Precision};
use leastwise::session::Session;
use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

struct Pool {
    idle: Vec<(Option<Limits>, Device)>,
    /// Those in use, by the tests that have them.
    lent: Vec<(Option<Limits>, ThreadId)>,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { idle: Vec::new(), lent: Vec::new() });
static GIVEN: Condvar = Condvar::new();

/// A new device compiles for longer. Tests that wait for each other's end with one each.
const PATIENCE: Duration = Duration::from_secs(10);

/// A GPU that another test is done with, or soon will be, or a new one.
pub fn take_gpu(limits: Option<Limits>) -> Device {
    let me = thread::current().id();
    let is_others = |pool: &mut Pool| {
        let none_idle = pool.idle.iter().all(|(of, _)| *of != limits);
        none_idle && pool.lent.iter().any(|(of, _)| *of == limits) && !pool.lent.contains(&(limits, me))
    };
    let pool = POOL.lock().expect("nothing fails while it is locked");
    let mut pool = GIVEN.wait_timeout_while(pool, PATIENCE, is_others).expect("nothing fails while it is locked").0;
    pool.lent.push((limits, me));
    let known = pool.idle.iter().position(|(of, _)| *of == limits);
    let known = known.map(|place| pool.idle.swap_remove(place).1);
    drop(pool);
    known.unwrap_or_else(|| take_device(&mut gpu(limits)))
}

/// For the next test. Nothing may be left on it.
pub fn give_gpu(limits: Option<Limits>, device: Device) {
    let is_clean = device.counters().bytes_live == 0;
    come_back(limits, is_clean.then_some(device));
    assert!(is_clean, "buffers are left");
}

/// Nobody need wait for it any more: here it is, or its test failed and may have left anything behind.
fn come_back(limits: Option<Limits>, device: Option<Device>) {
    let mut pool = POOL.lock().expect("nothing fails while it is locked");
    let me = thread::current().id();
    let place = pool.lent.iter().position(|lent| *lent == (limits, me)).or_else(|| pool.lent.iter().position(|(of, _)| *of == limits));
    place.map(|place| pool.lent.swap_remove(place));
    pool.idle.extend(device.map(|device| (limits, device)));
    GIVEN.notify_all();
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
        match self.gpu {
            Some(limits) if thread::panicking() => come_back(limits, None),
            Some(limits) => give_gpu(limits, std::mem::replace(&mut self.device, placeholder())),
            None => {}
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
        match self.gpu {
            Some(limits) if thread::panicking() => come_back(limits, None),
            Some(limits) => {
                self.session.problems().into_iter().for_each(|problem| self.session.free_problem(problem));
                give_gpu(limits, take_device(&mut self.session));
            }
            None => {}
        }
    }
}

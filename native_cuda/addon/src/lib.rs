//! The engine as an addon for Node: CUDA, and the CPU natively.
//!
//! It is the interface `NativeAddon` of `ts/src/native.ts`, which the façade loads as the package `leastwise-cuda`. Loading it
//! needs neither a driver nor a GPU.

mod engine;
mod generated;
#[cfg(target_os = "linux")]
mod libc;
mod objects;
mod values;

use engine::Engine;
use leastwise::device::cpu::CpuDevice;
use leastwise::device::cuda::{self, CudaDevice};
use leastwise::device::{Device, Precision};
use leastwise::session::wire::{self, ForcedLimits};
use leastwise::session::{Failure, Session, Threaded};
use napi::Task;
use napi::bindgen_prelude::{AsyncTask, Env, Result, Unknown};
use napi_derive::napi;
use std::panic::catch_unwind;
use values::{fail, refuse};

/// An engine that is being opened, on a thread that may wait for a driver.
pub struct Opening {
    /// The GPU, or none for the CPU.
    gpu: Option<u32>,
    precision: Precision,
    limits: ForcedLimits,
}

impl Opening {
    fn new(env: &Env, gpu: Option<u32>, precision: &str, limits: Option<Unknown>) -> Result<AsyncTask<Self>> {
        let precision = wire::precision(precision).map_err(|error| refuse(env, error))?;
        let limits = limits.map(objects::from_js).transpose()?.unwrap_or_default();
        Ok(AsyncTask::new(Self { gpu, precision, limits }))
    }

    fn open(&self) -> std::result::Result<(Threaded, String), leastwise::Error> {
        let device = match self.gpu {
            Some(index) => Device::Cuda(Box::new(CudaDevice::open_within(index, self.precision, |own| self.limits.over(own))?)),
            None => Device::Cpu(CpuDevice::new(self.precision, self.limits.over(CpuDevice::default_limits()))),
        };
        let adapter = device.adapter().to_string();
        Ok((Threaded::new(Session::new(device))?, adapter))
    }
}

impl Task for Opening {
    type Output = std::result::Result<(Threaded, String), Failure>;
    type JsValue = Engine;

    fn compute(&mut self) -> Result<Self::Output> {
        let opened = catch_unwind(|| self.open());
        Ok(opened.map_or_else(|panic| Err(Failure::panicked(&*panic)), |opened| opened.map_err(Failure::Refused)))
    }

    fn resolve(&mut self, env: Env, opened: Self::Output) -> Result<Engine> {
        let (session, adapter) = opened.map_err(|failure| fail(&env, failure))?;
        Ok(Engine::new(session, adapter))
    }
}

/// An engine on the CPU: all its cores, and all its memory.
#[napi]
pub fn open_cpu(env: &Env, precision: String, limits: Option<Unknown>) -> Result<AsyncTask<Opening>> {
    Opening::new(env, None, &precision, limits)
}

/// An engine on a GPU, by the driver's index.
#[napi]
pub fn open_cuda(env: &Env, precision: String, limits: Option<Unknown>, device: u32) -> Result<AsyncTask<Opening>> {
    Opening::new(env, Some(device), &precision, limits)
}

/// What is there to work with, and why CUDA can't be used where it can't.
#[napi]
pub fn probe(env: &Env) -> Result<Unknown<'_>> {
    objects::to_js(env, &cuda::found())
}

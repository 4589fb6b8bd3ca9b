//! The engine as an addon for Node: CUDA, and the CPU natively.
//!
//! It is the interface `NativeAddon` of `ts/src/native.ts`, which the façade loads as the package `leastwise-cuda`. Loading it
//! needs neither a driver nor a GPU.

mod engine;
mod generated;
#[cfg(target_os = "linux")]
mod libc;
mod objects;
mod ranks;
mod values;

use engine::Engine;
use leastwise::collective::{DEADLINE, Fault, threads_of};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::cuda::{self, CudaDevice, WorldId};
use leastwise::device::{Device, Precision};
use leastwise::session::wire::{self, ForcedLimits};
use leastwise::session::{Failure, Session, Threaded};
use napi::Task;
use napi::bindgen_prelude::{AsyncTask, Env, Result, Uint8Array, Unknown};
use napi_derive::napi;
use std::panic::catch_unwind;
use values::{fail, refuse};

/// One of several ranks, as JavaScript gives it.
#[napi(object)]
pub struct World {
    /// Number of the rank, from 0.
    pub rank: u32,
    /// Number of ranks.
    pub size: u32,
    /// Bytes that all of them have in common.
    pub id: Uint8Array,
}

/// The same, checked.
#[derive(Clone, Copy)]
struct Rank {
    rank: u32,
    size: u32,
    id: [u8; WorldId::BYTES],
}

impl Rank {
    fn of(world: World) -> std::result::Result<Self, leastwise::Error> {
        let refused = |_| Fault::Refused(format!("a world's id has {} bytes, as worldId() gives them", WorldId::BYTES));
        Ok(Self { rank: world.rank, size: world.size, id: (&*world.id).try_into().map_err(refused)? })
    }
}

/// An engine that is being opened, on a thread that may wait for a driver.
pub struct Opening {
    /// The GPU, or none for the CPU.
    gpu: Option<Gpu>,
    precision: Precision,
    limits: ForcedLimits,
    rank: Option<Rank>,
}

/// The choice of a GPU: the driver's index, or none for the one of the rank.
struct Gpu(Option<u32>);

impl Opening {
    fn new(env: &Env, gpu: Option<Gpu>, precision: &str, limits: Option<Unknown>, world: Option<World>) -> Result<AsyncTask<Self>> {
        let precision = wire::precision(precision).map_err(|error| refuse(env, error))?;
        let limits = limits.map(objects::from_js).transpose()?.unwrap_or_default();
        let rank = world.map(Rank::of).transpose().map_err(|error| refuse(env, error))?;
        Ok(AsyncTask::new(Self { gpu, precision, limits, rank }))
    }

    fn open(&self) -> std::result::Result<(Threaded, String), leastwise::Error> {
        let (device, ranks) = match &self.gpu {
            Some(gpu) => {
                let device = CudaDevice::open_within(self.index(gpu), self.precision, |own| self.limits.over(own))?;
                let joined = |rank: Rank| device.over_nccl(&WorldId::from_bytes(rank.id), rank.rank, rank.size, DEADLINE);
                let ranks = self.rank.map(joined).transpose()?;
                (Device::Cuda(Box::new(device)), ranks)
            }
            None => {
                let device = CpuDevice::new(self.precision, self.limits.over(CpuDevice::default_limits()));
                let ranks = self.rank.map(|rank| threads_of(&rank.id, rank.rank, rank.size, DEADLINE)).transpose()?;
                (Device::Cpu(device), ranks)
            }
        };
        let adapter = device.adapter().to_string();
        let session = match ranks {
            Some(ranks) => Session::over_ranks(device, ranks)?,
            None => Session::new(device),
        };
        Ok((Threaded::new(session)?, adapter))
    }

    /// The GPU's index: ranks of one host take its GPUs in turn, unless they are told.
    fn index(&self, gpu: &Gpu) -> u32 {
        let by_rank = || self.rank.map_or(0, |rank| rank.rank % (cuda::found().gpus.len() as u32).max(1));
        gpu.0.unwrap_or_else(by_rank)
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

/// An engine on the CPU: all its cores, and all its memory. Ranks are engines of one process.
#[napi]
pub fn open_cpu(env: &Env, precision: String, limits: Option<Unknown>, world: Option<World>) -> Result<AsyncTask<Opening>> {
    Opening::new(env, None, &precision, limits, world)
}

/// An engine on a GPU, by the driver's index. One of several ranks comes once all are there.
#[napi]
pub fn open_cuda(
    env: &Env,
    precision: String,
    limits: Option<Unknown>,
    device: Option<u32>,
    world: Option<World>,
) -> Result<AsyncTask<Opening>> {
    Opening::new(env, Some(Gpu(device)), &precision, limits, world)
}

/// Bytes that all ranks of a group have in common. The process that makes them lives until all ranks are there.
#[napi]
pub fn world_id(env: &Env) -> Result<Uint8Array> {
    let id = WorldId::new().map_err(|error| refuse(env, error.into()))?;
    Ok(Uint8Array::new(id.to_bytes().to_vec()))
}

/// What is there to work with, and why CUDA can't be used where it can't.
#[napi]
pub fn probe(env: &Env) -> Result<Unknown<'_>> {
    objects::to_js(env, &cuda::found())
}

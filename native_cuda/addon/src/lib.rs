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
use leastwise::collective::{Communicator, DEADLINE, Fault, threads, threads_of};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::cuda::{self, CudaDevice, WorldId};
use leastwise::device::{Device, DeviceError, Precision};
use leastwise::session::wire::{self, ForcedLimits};
use leastwise::session::{Failure, Session, Threaded};
use napi::Task;
use napi::bindgen_prelude::{AsyncTask, Env, Result, Uint8Array, Unknown};
use napi_derive::napi;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;
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

/// The rank of a world, and milliseconds that ranks wait for each other.
type Waiting = (Option<World>, Option<f64>);

/// The longest that ranks may be told to wait for each other: a day.
const LONGEST_MS: f64 = 86_400_000.0;

/// Time that ranks wait for each other.
fn time_limit(ms: f64) -> std::result::Result<Duration, leastwise::Error> {
    if !(1.0..=LONGEST_MS).contains(&ms) {
        return Err(leastwise::Error::InvalidOption(format!("timeoutMs: {ms} is not a number from 1 to {LONGEST_MS}")));
    }
    Ok(Duration::from_secs_f64(ms / 1e3))
}

/// Ranks of one session: their devices, and their ends of the group.
type Ranks = (Vec<Device>, Vec<Arc<dyn Communicator>>);

/// An engine that is being opened, on a thread that may wait for a driver.
pub struct Opening {
    on: On,
    precision: Precision,
    limits: ForcedLimits,
    rank: Option<Rank>,
    /// Time that ranks wait for each other in a call.
    deadline: Duration,
}

/// The choice of devices.
enum On {
    /// So many CPUs.
    Cpu(u32),
    /// A GPU by the driver's index, or that of the rank.
    Gpu(Option<u32>),
    /// Several GPUs by the driver's indices.
    Gpus(Vec<u32>),
}

impl Opening {
    fn new(env: &Env, on: On, precision: &str, limits: Option<Unknown>, ranks: Waiting) -> Result<AsyncTask<Self>> {
        let precision = wire::precision(precision).map_err(|error| refuse(env, error))?;
        let limits = limits.map(objects::from_js).transpose()?.unwrap_or_default();
        let (world, timeout_ms) = ranks;
        let rank = world.map(Rank::of).transpose().map_err(|error| refuse(env, error))?;
        let deadline = timeout_ms.map_or(Ok(DEADLINE), time_limit).map_err(|error| refuse(env, error))?;
        Ok(AsyncTask::new(Self { on, precision, limits, rank, deadline }))
    }

    fn open(&self) -> std::result::Result<(Threaded, String), leastwise::Error> {
        let cpu = || Device::Cpu(CpuDevice::new(self.precision, self.limits.over(CpuDevice::default_limits())));
        let (devices, ranks) = match &self.on {
            On::Gpus(gpus) => self.join_gpus(gpus)?,
            On::Cpu(count) if *count > 1 => ((0..*count).map(|_| cpu()).collect(), threads(*count, self.deadline)),
            On::Cpu(_) => {
                let rank = self.rank.map(|rank| threads_of(&rank.id, rank.rank, rank.size, self.deadline)).transpose()?;
                return alone(cpu(), rank);
            }
            On::Gpu(gpu) => {
                let device = self.gpu(self.index(*gpu))?;
                let joined = |rank: Rank| device.over_nccl(&WorldId::from_bytes(rank.id), rank.rank, rank.size, self.deadline);
                let rank = self.rank.map(joined).transpose()?;
                return alone(Device::Cuda(Box::new(device)), rank);
            }
        };
        let adapters = devices.iter().map(Device::adapter).collect::<Vec<_>>().join(", ");
        Ok((Threaded::new(Session::over_devices(devices, ranks)?)?, adapters))
    }

    fn gpu(&self, index: u32) -> std::result::Result<CudaDevice, DeviceError> {
        CudaDevice::open_within(index, self.precision, |own| self.limits.over(own))
    }

    /// Several GPUs, each a rank. All are there before they look for each other, so that one that is not keeps nobody waiting.
    fn join_gpus(&self, gpus: &[u32]) -> std::result::Result<Ranks, leastwise::Error> {
        check(gpus)?;
        let id = WorldId::new()?;
        let size = gpus.len() as u32;
        let opened = at_once(gpus.iter().copied(), |index| self.gpu(index))?;
        let joined = at_once((0..).zip(opened), |(rank, device)| {
            let communicator = device.over_nccl(&id, rank, size, self.deadline)?;
            Ok((Device::Cuda(Box::new(device)), communicator))
        })?;
        Ok(joined.into_iter().unzip())
    }

    /// The GPU's index: ranks of one host take its GPUs in turn, unless they are told.
    fn index(&self, gpu: Option<u32>) -> u32 {
        let by_rank = || self.rank.map_or(0, |rank| rank.rank % (cuda::found().gpus.len() as u32).max(1));
        gpu.unwrap_or_else(by_rank)
    }
}

/// A session on one device, which may be one of several ranks; and the device's name.
fn alone(device: Device, rank: Option<Arc<dyn Communicator>>) -> std::result::Result<(Threaded, String), leastwise::Error> {
    let adapter = device.adapter().to_string();
    let session = match rank {
        Some(rank) => Session::over_ranks(device, rank)?,
        None => Session::new(device),
    };
    Ok((Threaded::new(session)?, adapter))
}

/// Refuses GPUs that are not there, where CUDA is.
fn check(gpus: &[u32]) -> std::result::Result<(), leastwise::Error> {
    let found = cuda::found();
    if let Some(missing) = found.missing {
        return Err(DeviceError::NoCuda(missing).into());
    }
    let known: Vec<u32> = found.gpus.iter().map(|gpu| gpu.index).collect();
    match gpus.iter().find(|gpu| !known.contains(gpu)) {
        None => Ok(()),
        Some(gpu) => {
            let list = known.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            Err(leastwise::Error::InvalidOption(format!(
                "devices: there is no GPU {gpu}: name some of those that the driver finds ({list})"
            )))
        }
    }
}

/// Results of work that threads do at the same time.
fn at_once<A: Send, T: Send>(
    all: impl Iterator<Item = A>,
    work: impl Fn(A) -> std::result::Result<T, DeviceError> + Sync,
) -> std::result::Result<Vec<T>, DeviceError> {
    let work = &work;
    std::thread::scope(|scope| {
        let started: Vec<_> = all.map(|one| scope.spawn(move || work(one))).collect();
        started.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
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

/// An engine on the CPU: all its cores, and all its memory. Ranks are engines of one process, or as many CPUs of one engine as there are
/// devices.
#[napi]
pub fn open_cpu(
    env: &Env,
    precision: String,
    limits: Option<Unknown>,
    world: Option<World>,
    devices: Option<Vec<u32>>,
    timeout_ms: Option<f64>,
) -> Result<AsyncTask<Opening>> {
    let count = devices.map_or(1, |devices| devices.len() as u32);
    Opening::new(env, On::Cpu(count), &precision, limits, (world, timeout_ms))
}

/// An engine on a GPU, by the driver's index, or on several. One of several ranks comes once all are there.
#[napi]
pub fn open_cuda(
    env: &Env,
    precision: String,
    limits: Option<Unknown>,
    device: Option<u32>,
    world: Option<World>,
    devices: Option<Vec<u32>>,
    timeout_ms: Option<f64>,
) -> Result<AsyncTask<Opening>> {
    let on = match devices.as_deref() {
        None => On::Gpu(device),
        Some([one]) => On::Gpu(Some(*one)),
        Some(several) => On::Gpus(several.to_vec()),
    };
    Opening::new(env, on, &precision, limits, (world, timeout_ms))
}

/// Names the file of compiled kernels that lies beside this addon, before anything else is asked; false where one was named before, as by
/// another thread.
#[napi]
pub fn use_images(path: String) -> bool {
    cuda::use_images(path.into())
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

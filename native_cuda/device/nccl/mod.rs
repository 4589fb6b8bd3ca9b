//! Ranks over NCCL: a communicator whose messages go from GPU to GPU.
//!
//! * `library`: NCCL's functions.
//! * `world`: what ranks of one process know of each other.
//! * `beside`: the communicator of a second device on the same GPU.
//! * `endings`: ends of communicators, which may take long.
//!
//! NCCL only moves bytes here (`ncclAllGather`): every rank adds up what all gave, in the order of ranks, so bits depend on nothing else.
//! Ranks meet by a non-blocking communicator, so the wait for all of them has a deadline. Messages go by a second one, which they make once
//! all are there: NCCL starts a thread for every call of the former, which takes longer than a short message. The calls of the latter only
//! enqueue, once ranks are connected, so the host waits for nothing but its own stream. After a deadline, or where a rank of this process
//! is gone, both are aborted: kernels that wait for other ranks end, and the stream goes on.
//!
//! Messages lie in memory of its own, which is allocated before the communicator is made, and never grows: memory that is mapped to
//! other GPUs is not to be asked for while one of these waits for this one. It is no memory of a pool, which ranks in one process, whose
//! kernels reach into each other's, could not see.

mod beside;
mod endings;
mod library;
mod world;

use super::waits::{self, Exchanges};
use super::{CudaDevice, failed, graphs};
use cudarc::driver::{CudaContext, CudaStream, DriverError, result, sys};
use endings::{Endings, FAREWELL};
use leastwise_collective::{Call, Communicator, DEADLINE, Fault, Gathered, Kind, Traffic};
use leastwise_recording::DeviceError;
use library::{BYTES, Config, Handle, Nccl, Status, UniqueId, nccl};
use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use world::World;

/// Bytes that a rank gives in a message at most; what is longer goes in several.
pub(super) const PIECE: usize = 4 << 20;

/// Bytes that describe a call.
const HEADER: usize = 128;

/// Bytes that a rank gives with the description: a call in which no rank gives more is one message.
const ENCLOSED: usize = 128;

/// Pause between two looks at a call that NCCL goes on with in the background.
const NAP: Duration = Duration::from_micros(20);

/// For so long such a wait keeps its core.
const SPIN: Duration = Duration::from_millis(1);

/// Longest wait for other ranks of the process where nothing failed: ranks that one thread drops one after the other can't leave together.
const PARTING: Duration = Duration::from_millis(500);

/// Name of a group of ranks, which one rank makes and all others get by whatever channel there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorldId([u8; Self::BYTES]);

impl WorldId {
    /// Length of its bytes.
    pub const BYTES: usize = 128;

    /// A new one. The process that makes it must have a rank, and live until all ranks are there.
    ///
    /// # Errors
    /// [`Fault::Refused`] without NCCL, with the reason.
    pub fn new() -> Result<Self, DeviceError> {
        let nccl = nccl().map_err(Fault::Refused)?;
        let mut id = UniqueId([0; Self::BYTES]);
        // SAFETY: NCCL writes so many bytes.
        match unsafe { (nccl.get_unique_id)(&mut id) } {
            Status::SUCCESS => Ok(Self(id.0)),
            status => Err(Fault::Refused(format!("NCCL made no name of a group: {}", nccl.describe(status, std::ptr::null_mut()))).into()),
        }
    }

    /// That of bytes that came from another rank.
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes, for other ranks.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        self.0
    }
}

/// The version of NCCL that is there, or why there is none.
///
/// # Errors
/// The reason, in words.
pub fn nccl_version() -> Result<&'static str, String> {
    nccl().map(|nccl| nccl.version.as_str())
}

/// One rank's end of a group of GPUs. It belongs to the device that made it.
pub struct NcclCommunicator {
    rank: u32,
    size: u32,
    deadline: Duration,
    nccl: &'static Nccl,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    /// The one that ranks met by; null once it was aborted or destroyed.
    comm: Mutex<Handle>,
    /// The one that messages go by; null until it is made, and of a rank by itself.
    quick: Mutex<Handle>,
    world: Arc<World>,
    /// This rank's part of a message.
    pub(super) own: sys::CUdeviceptr,
    /// Parts of all ranks, in their order.
    pub(super) all: sys::CUdeviceptr,
    /// Pinned memory of [`PIECE`] bytes, for calls of the host.
    pinned: Mutex<*mut c_void>,
    /// Counts, which a second device's communicator has in common with the first one's.
    traffic: Arc<Mutex<Traffic>>,
    /// That of a second device on this GPU, once ranks have met by it.
    second: Mutex<Option<Arc<NcclCommunicator>>>,
    /// That of the first device, where this is the second's.
    first: Weak<NcclCommunicator>,
    /// Label of the last call.
    label: Mutex<&'static str>,
    /// Aborts and farewells of both communicators.
    endings: Endings,
    has_left: AtomicBool,
}

/// Communicator that a thread makes, for whoever waits for it.
enum Making {
    UnderWay,
    /// Status, and the handle as a number.
    Made(Status, usize),
    /// Nobody waits any more: the thread aborts what it makes.
    Abandoned,
}

// SAFETY: NCCL's handle and the pinned memory are used under their locks.
unsafe impl Send for NcclCommunicator {}
// SAFETY: as above.
unsafe impl Sync for NcclCommunicator {}

/// A thread that panicked holding such a lock has changed nothing by halves.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn broken(error: DriverError) -> Fault {
    Fault::Failed { message: failed(error).to_string() }
}

impl CudaDevice {
    /// Makes this GPU a rank of a group, once all ranks have called it. Calls wait for other ranks until the deadline; this one waits at
    /// least [`DEADLINE`]. [`CudaDevice::join`] then has recordings exchange numbers by it.
    ///
    /// # Errors
    /// [`Fault::Refused`], on all ranks of this process, without NCCL and where two ranks have one GPU, which NCCL does not have;
    /// [`Fault::Differs`] on all ranks where they have other deadlines; [`Fault::Stalled`] where ranks do not come, and
    /// [`Fault::Failed`] where NCCL does.
    pub fn over_nccl(&self, id: &WorldId, rank: u32, size: u32, deadline: Duration) -> Result<Arc<dyn Communicator>, DeviceError> {
        let mut made = self.reserved(id, (rank, size))?;
        made.connect(id, deadline)?;
        Ok(Arc::new(made))
    }

    /// A rank that has its memory, and knows no other yet.
    fn reserved(&self, id: &WorldId, (rank, size): (u32, u32)) -> Result<NcclCommunicator, DeviceError> {
        let nccl = nccl().map_err(Fault::Refused)?;
        self.bind()?;
        let world = World::enter(id.0, (rank, size), self.context.ordinal())?;
        let allocate = |bytes: usize| {
            // SAFETY: freed with the communicator.
            unsafe { result::malloc_sync(bytes) }.map_err(|error| match error {
                DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY) => {
                    DeviceError::OutOfMemory { what: "messages of ranks".into(), needed: bytes as u64, limit: None }
                }
                error => failed(error),
            })
        };
        let mut made = NcclCommunicator {
            rank,
            size,
            deadline: DEADLINE,
            nccl,
            context: self.context.clone(),
            stream: self.stream.clone(),
            comm: Mutex::new(std::ptr::null_mut()),
            quick: Mutex::new(std::ptr::null_mut()),
            world,
            own: 0,
            all: 0,
            pinned: Mutex::new(std::ptr::null_mut()),
            traffic: Arc::default(),
            second: Mutex::default(),
            first: Weak::new(),
            label: Mutex::new("set-up of ranks"),
            endings: Endings::default(),
            has_left: AtomicBool::new(false),
        };
        let allocated = (|| {
            let _apart = graphs::between_captures();
            made.own = allocate(PIECE)?;
            made.all = allocate(PIECE * size as usize)?;
            // SAFETY: freed with the communicator.
            made.pinned = Mutex::new(unsafe { result::malloc_host(PIECE, 0) }.map_err(failed)?);
            Ok(())
        })();
        if let Err(error) = allocated {
            made.world.fail(Fault::Refused(format!("rank {rank} has no memory for messages")));
            return Err(error);
        }
        Ok(made)
    }
}

impl NcclCommunicator {
    /// Meets the other ranks, on the thread that the context is bound to. The deadline is that of later calls.
    fn connect(&mut self, id: &WorldId, deadline: Duration) -> Result<(), Fault> {
        // NCCL connects ranks meanwhile, which takes longer than a message.
        let (nccl, longest) = (self.nccl, deadline.max(DEADLINE));
        self.deadline = longest;
        // NCCL's thread writes the handle once more when it is done, which may be after a fault has ended this call: so its place is never freed.
        let (comm, mut config) = (Box::leak(Box::new(std::ptr::null_mut())), Config::new(false));
        // SAFETY: the context is bound to this thread, and NCCL writes the handle and copies the rest.
        let status = unsafe { (nccl.init)(&raw mut *comm, self.size as c_int, UniqueId(id.0), self.rank as c_int, &mut config) };
        *lock(&self.comm) = *comm;
        self.settle(status, longest)?;
        if self.size > 1 {
            self.quicken(longest)?;
            self.agree("time limits", u64::try_from(deadline.as_nanos()).unwrap_or(u64::MAX))?;
        }
        // Messages of set-up are no traffic of a caller's.
        *lock(&self.traffic) = Traffic::default();
        self.deadline = deadline;
        Ok(())
    }

    /// True if it was made by the device with this stream.
    pub(super) fn is_of(&self, stream: &CudaStream) -> bool {
        self.stream.cu_stream() == stream.cu_stream()
    }

    /// The deadline of its calls.
    pub(super) fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Enqueues a gather of the first bytes of [`own`](Self::own) of all ranks into [`all`](Self::all). Gathers on several streams do not
    /// overlap: whoever enqueues one on another stream has it wait for the last.
    pub(super) fn gather(&self, label: &'static str, bytes: usize, stream: sys::CUstream) -> Result<(), Fault> {
        *lock(&self.label) = label;
        if let Some((fault, _)) = self.world.fault() {
            return Err(self.fail(fault));
        }
        let status = {
            let (quick, comm) = (lock(&self.quick), lock(&self.comm));
            let comm = if quick.is_null() { *comm } else { *quick };
            // SAFETY: both places have room for a piece of each rank, and the handle is alive: nothing was aborted.
            unsafe { (self.nccl.all_gather)(self.own as *const c_void, self.all as *mut c_void, bytes, BYTES, comm, stream) }
        };
        self.settle(status, self.deadline)
    }

    /// Makes the communicator that messages go by. A thread of its own waits for that, so this one has its deadline: NCCL gives no handle
    /// before the end. Messages of all sizes connect ranks in every way that NCCL may choose later.
    fn quicken(&self, longest: Duration) -> Result<(), Fault> {
        const LABEL: &str = "set-up of messages";
        let (nccl, size) = (self.nccl, self.size as c_int);
        let mut own = UniqueId([0; WorldId::BYTES]);
        if self.rank == 0 {
            // SAFETY: NCCL writes so many bytes.
            match unsafe { (nccl.get_unique_id)(&mut own) } {
                Status::SUCCESS => {}
                status => return Err(self.failed(status)),
            }
        }
        let all = self.exchange(Call { kind: Kind::Broadcast, label: LABEL, bytes: Some(WorldId::BYTES) }, own.0.to_vec())?;
        let id = UniqueId(all[0][..].try_into().unwrap_or(own.0));
        let made = Arc::new(Mutex::new(Making::UnderWay));
        let (of_thread, context, rank) = (made.clone(), self.context.clone(), self.rank as c_int);
        let work = move || {
            let (mut comm, mut config) = (std::ptr::null_mut(), Config::new(true));
            let status = match context.bind_to_thread() {
                // SAFETY: as of the first communicator.
                Ok(()) => unsafe { (nccl.init)(&mut comm, size, id, rank, &mut config) },
                Err(_) => Status::UNHANDLED_CUDA_ERROR,
            };
            let mut making = lock(&of_thread);
            if matches!(*making, Making::UnderWay) {
                *making = Making::Made(status, comm as usize);
            } else if !comm.is_null() {
                drop(making);
                // SAFETY: nobody else knows the handle.
                unsafe { (nccl.abort)(comm) };
            }
        };
        let started = std::thread::Builder::new().name("leastwise-nccl".into()).spawn(work);
        started.map_err(|error| self.fail(Fault::Failed { message: format!("no thread could be started: {error}") }))?;
        let begun = Instant::now();
        let (status, comm) = loop {
            if let Making::Made(status, comm) = *lock(&made) {
                break (status, comm);
            }
            if let Err(fault) = self.watch(begun, longest) {
                if let Making::Made(_, comm) = std::mem::replace(&mut *lock(&made), Making::Abandoned) {
                    *lock(&self.quick) = comm as Handle;
                    self.abort(&fault);
                }
                return Err(fault);
            }
            std::thread::sleep(NAP);
        };
        *lock(&self.quick) = comm as Handle;
        if status != Status::SUCCESS {
            return Err(self.failed(status));
        }
        for bytes in [HEADER, 64 << 10, PIECE] {
            self.gather(LABEL, bytes, self.stream.cu_stream())?;
            self.arrive(LABEL)?;
        }
        Ok(())
    }

    /// Counts a call that a recording made.
    pub(super) fn note(&self, kind: Kind, given: usize) {
        lock(&self.traffic).note(kind, given, given * (self.size as usize - 1));
    }

    /// Waits until NCCL has enqueued what it was asked for: the first call of a communicator connects ranks.
    fn settle(&self, mut status: Status, longest: Duration) -> Result<(), Fault> {
        let begun = Instant::now();
        while status == Status::IN_PROGRESS {
            self.watch(begun, longest)?;
            // Some versions of NCCL have a thread of theirs enqueue each call, which takes less than a sleep.
            if begun.elapsed() < SPIN {
                std::hint::spin_loop()
            } else {
                std::thread::sleep(NAP)
            }
            status = self.state();
        }
        if status == Status::SUCCESS { Ok(()) } else { Err(self.failed(status)) }
    }

    /// The state of both communicators, in which errors of their threads are, too.
    fn state(&self) -> Status {
        let mut status = Status::SUCCESS;
        for comm in [lock(&self.quick), lock(&self.comm)].into_iter().filter(|comm| !comm.is_null()) {
            // SAFETY: the handle is alive.
            match unsafe { (self.nccl.async_error)(*comm, &mut status) } {
                Status::SUCCESS if status == Status::SUCCESS => {}
                Status::SUCCESS => return status,
                refused => return refused,
            }
        }
        status
    }

    fn failed(&self, status: Status) -> Fault {
        let message = format!("NCCL: {}", self.nccl.describe(status, *lock(&self.comm)));
        self.fail(Fault::Failed { message })
    }

    /// Gives the communicator up, and that of the other device on this GPU; the first fault of this process's ranks counts.
    fn fail(&self, fault: Fault) -> Fault {
        let fault = self.world.fail(fault);
        self.abort(&fault);
        fault
    }

    /// Looks after a wait that has taken since `begun`.
    ///
    /// # Errors
    /// The [`Fault`] that ended it; then nothing that is enqueued waits for other ranks any more.
    pub(super) fn watch(&self, begun: Instant, longest: Duration) -> Result<(), Fault> {
        if !self.is_connected() {
            return Ok(());
        }
        if let Some(fault) = self.world.ended() {
            return Err(self.fail(fault));
        }
        match self.state() {
            Status::SUCCESS | Status::IN_PROGRESS => {}
            status => return Err(self.failed(status)),
        }
        if begun.elapsed() >= longest {
            let call = *lock(&self.label);
            return Err(self.fail(Fault::Stalled { call, size: self.size, within: longest }));
        }
        Ok(())
    }

    /// True until it was aborted or left.
    pub(super) fn is_connected(&self) -> bool {
        !lock(&self.comm).is_null()
    }

    /// Ends the communicator of a rank that dies: kernels that wait for others end, too.
    pub(super) fn die(&self) {
        self.fail(Fault::Gone { rank: self.rank, size: self.size, panicked: true });
    }

    /// One message of so many bytes of each rank, by way of the host.
    fn round(&self, pinned: *mut c_void, label: &'static str, given: &[u8], bytes: usize) -> Result<Vec<Vec<u8>>, Fault> {
        self.context.bind_to_thread().map_err(broken)?;
        let stream = self.stream.cu_stream();
        // SAFETY: the pinned memory has a piece, which nothing is copied from or to: each call waits for its copies.
        let staged = unsafe { std::slice::from_raw_parts_mut(pinned.cast::<u8>(), PIECE) };
        staged[..given.len()].copy_from_slice(given);
        staged[given.len()..bytes].fill(0);
        // SAFETY: the message has room for a piece.
        unsafe { result::memcpy_htod_async(self.own, &staged[..bytes], stream) }.map_err(broken)?;
        self.gather(label, bytes, stream)?;
        let (mut found, abreast) = (Vec::with_capacity(self.size as usize), PIECE / bytes);
        while found.len() < self.size as usize {
            let ranks = abreast.min(self.size as usize - found.len());
            let landing = &mut staged[..ranks * bytes];
            // SAFETY: parts of all ranks lie there one after the other.
            unsafe { result::memcpy_dtoh_async(landing, self.all + (found.len() * bytes) as u64, stream) }.map_err(broken)?;
            self.arrive(label)?;
            found.extend(landing.chunks_exact(bytes).map(<[u8]>::to_vec));
        }
        Ok(found)
    }

    /// Waits for all that is enqueued.
    fn arrive(&self, label: &'static str) -> Result<(), Fault> {
        match waits::wait_for(self.stream.cu_stream(), label, Some(Exchanges::under_way(self))) {
            Ok(()) if self.is_connected() => Ok(()),
            // No message arrived: the call that was waited for was aborted.
            Ok(()) => Err(self.fail(Fault::Failed { message: "the communicator was ended meanwhile".into() })),
            Err(DeviceError::Ranks(fault)) => Err(fault),
            Err(other) => Err(self.fail(Fault::Failed { message: other.to_string() })),
        }
    }
}

/// A call in bytes, with those that this rank gives.
fn header(call: Call, given: usize) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..8].copy_from_slice(&(given as u64).to_le_bytes());
    bytes[8..16].copy_from_slice(&call.bytes.map_or(u64::MAX, |bytes| bytes as u64).to_le_bytes());
    bytes[16] = call.kind as u8;
    let label = &call.label.as_bytes()[..call.label.len().min(HEADER - 18)];
    bytes[17] = label.len() as u8;
    bytes[18..][..label.len()].copy_from_slice(label);
    bytes
}

/// Bytes that a rank gives.
fn given(header: &[u8]) -> usize {
    u64::from_le_bytes(header[..8].try_into().unwrap_or_default()) as usize
}

/// The first call that is not that of rank 0.
fn mismatch(headers: &[Vec<u8>]) -> Option<Fault> {
    let name = |header: &Vec<u8>| {
        let kind = Kind::ALL.get(usize::from(header[16])).map_or("unknown call", |kind| kind.name());
        let label = String::from_utf8_lossy(&header[18..][..usize::from(header[17]).min(HEADER - 18)]);
        format!("{kind} \"{label}\" of {} bytes", given(header))
    };
    let rank = headers.iter().position(|header| header[8..HEADER] != headers[0][8..HEADER])?;
    Some(Fault::Mismatch { rank: rank as u32, called: name(&headers[rank]), expected: name(&headers[0]) })
}

impl Communicator for NcclCommunicator {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn traffic(&self) -> Traffic {
        *lock(&self.traffic)
    }

    fn exchange(&self, call: Call, own: Vec<u8>) -> Result<Gathered, Fault> {
        self.rest_beside(call.label)?;
        let pinned = lock(&self.pinned);
        let enclosed = own.iter().take(ENCLOSED).copied();
        let opening: Vec<u8> = header(call, own.len()).into_iter().chain(enclosed).collect();
        let headers = self.round(*pinned, call.label, &opening, HEADER + ENCLOSED)?;
        if let Some(fault) = mismatch(&headers) {
            return Err(self.fail(fault));
        }
        let lengths: Vec<usize> = headers.iter().map(|header| given(header)).collect();
        let longest = lengths.iter().copied().max().unwrap_or_default();
        let is_enclosed = longest <= ENCLOSED;
        let mut all: Vec<Vec<u8>> = match is_enclosed {
            true => headers.iter().zip(&lengths).map(|(opening, length)| opening[HEADER..][..*length].to_vec()).collect(),
            false => lengths.iter().map(|length| Vec::with_capacity(*length)).collect(),
        };
        for begin in (0..if is_enclosed { 0 } else { longest }).step_by(PIECE) {
            let part = |length: usize| begin.min(length)..(begin + PIECE).min(length);
            let bytes = part(longest).len().next_multiple_of(16);
            let pieces = self.round(*pinned, call.label, &own[part(own.len())], bytes)?;
            for ((all, piece), length) in all.iter_mut().zip(&pieces).zip(&lengths) {
                all.extend_from_slice(&piece[..part(*length).len()]);
            }
        }
        lock(&self.traffic).note(call.kind, own.len(), lengths.iter().sum::<usize>() - own.len());
        Ok(Arc::new(all))
    }

    fn give_up(&self, fault: Fault) {
        self.fail(fault);
    }
}

impl Drop for NcclCommunicator {
    fn drop(&mut self) {
        let (begun, panicked) = (Instant::now(), std::thread::panicking());
        let fault = self.world.fail(Fault::Gone { rank: self.rank, size: self.size, panicked });
        let is_orderly = matches!(fault, Fault::Gone { panicked: false, .. });
        if !is_orderly {
            self.abort(&fault);
        }
        // That of the second device ends first, on all ranks.
        let second = lock(&self.second).take();
        drop(second);
        let _ = self.context.bind_to_thread();
        if is_orderly {
            self.leave();
        }
        // Kernels of other ranks that still wait for this one end first: memory that they see is freed.
        let are_gone = self.world.wait_for_others(if is_orderly { PARTING } else { FAREWELL });
        let is_over = self.endings.are_over_within(FAREWELL.saturating_sub(begun.elapsed()));
        // After a fault NCCL may still use it, here or in a rank that did not get away.
        if !is_over || !is_orderly && !are_gone {
            return;
        }
        let _apart = graphs::between_captures();
        // SAFETY: no kernel uses it any more.
        unsafe {
            for place in [self.own, self.all].into_iter().filter(|place| *place != 0) {
                let _ = result::free_sync(place);
            }
            let pinned = *lock(&self.pinned);
            if !pinned.is_null() {
                let _ = result::free_host(pinned);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_apart_by_kind_label_and_length() {
        let call = |kind, label, bytes| Call { kind, label, bytes };
        let sum = |bytes: usize| header(call(Kind::Reduce, "energies", Some(bytes)), bytes).to_vec();
        assert_eq!(mismatch(&[sum(8), sum(8)]), None);
        // Ranks may give different things with it.
        assert_eq!(mismatch(&[0, 1].map(|given| [sum(8), vec![given; ENCLOSED]].concat())), None);
        let [called, expected] = ["reduce \"energies\" of 16 bytes", "reduce \"energies\" of 8 bytes"].map(String::from);
        assert_eq!(mismatch(&[sum(8), sum(8), sum(16)]), Some(Fault::Mismatch { rank: 2, called, expected }));
        // Lengths may differ where each rank may give another number.
        let rows = |given| header(call(Kind::Gather, "rows", None), given).to_vec();
        assert_eq!((mismatch(&[rows(8), rows(80)]), given(&rows(80))), (None, 80));
        let other = header(call(Kind::Barrier, "energies", Some(8)), 8).to_vec();
        assert!(matches!(mismatch(&[sum(8), other]), Some(Fault::Mismatch { rank: 1, .. })));
        assert_eq!(header(call(Kind::Gather, "long".repeat(100).leak(), None), 0)[17], 110);
    }
}

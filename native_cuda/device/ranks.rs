//! Exchanges with other ranks (`Command::Collective`).
//!
//! A kernel gathers this rank's elements into a message, the message goes to all ranks, and another kernel adds up what all gave, in the
//! order of ranks and in f64, as the CPU does: the bits are the same. Over NCCL all of it is enqueued, and the host waits for nothing; by
//! any other communicator messages go by way of the host, which is for ranks on one GPU, and where there is no NCCL.
//!
//! After an exchange outside of a `Repeat` the host waits until it is over: what decides about a step must never see the message of a
//! rank that is gone. Inside, a fault is found with the flag of the next rounds, before anything was decided.
//!
//! Over NCCL an exchange in the background goes by a stream of its own, the *side stream*: events have it wait for what was enqueued before
//! it, and the device's stream for its end where it is awaited. The host waits for neither; whoever reads what follows from it, does.

use super::nccl::{NcclCommunicator, PIECE};
use super::{CudaDevice, failed, graphs, waits};
use cudarc::driver::{DriverError, result, sys};
use leastwise_collective::{Call, Communicator, Fault, Kind};
use leastwise_recording::{ABSENT, BufferId, Collective, Command, DeviceError, Exchange, Fold, Precision};
use std::any::Any;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;

/// CUDA C++ of both kernels.
const TEXT: &str = include_str!("../../shaders/cuda/ranks.cu");

/// Threads of a workgroup.
const GROUP: u32 = 256;

/// Plans of exchanges that are kept.
const MAX_PLANS: usize = 64;

/// Folds of the kernel that takes a message (`shaders/cuda/ranks.cu`).
const SUM: u32 = 0;
const LARGEST: u32 = 1;
const EXACT: u32 = 2;
const LOW: u32 = 3;

/// Additions to a device that is one of several ranks.
pub(super) struct Ranked {
    communicator: Arc<dyn Communicator>,
    /// Where it is NCCL's: the same, or that of a second device beside it.
    nccl: Option<Arc<NcclCommunicator>>,
    /// This rank's part of a message, and those of all.
    own: sys::CUdeviceptr,
    all: sys::CUdeviceptr,
    module: sys::CUmodule,
    give: sys::CUfunction,
    take: sys::CUfunction,
    plans: Vec<Plan>,
    /// Of NCCL's communicator.
    side: Option<Side>,
}

// SAFETY: handles of the driver may be used from any thread that the context is bound to.
unsafe impl Send for Ranked {}

/// Stream of exchanges in the background. Only one exchange is under way at a time, as all have one message's memory.
struct Side {
    stream: sys::CUstream,
    /// Recorded on the device's stream where an exchange begins, and on this one behind the last exchange.
    begun: sys::CUevent,
    over: sys::CUevent,
    /// True while there may be an exchange that the device's stream does not wait for.
    is_open: bool,
}

impl Side {
    fn new() -> Result<Self, DriverError> {
        let event = || result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
        // Its short kernels come before what fills the GPU, so that messages leave early.
        let (_, greatest) = result::stream::get_priority_range()?;
        let mut side = Self { stream: std::ptr::null_mut(), begun: event()?, over: std::ptr::null_mut(), is_open: false };
        let made = event().and_then(|over| {
            side.over = over;
            side.stream = result::stream::create_with_priority(result::stream::StreamKind::NonBlocking, greatest)?;
            Ok(())
        });
        match made {
            Ok(()) => Ok(side),
            Err(error) => {
                side.free();
                Err(error)
            }
        }
    }

    fn free(&self) {
        // SAFETY: nothing is enqueued on it any more.
        unsafe {
            for event in [self.begun, self.over].into_iter().filter(|event| !event.is_null()) {
                let _ = result::event::destroy(event);
            }
            if !self.stream.is_null() {
                let _ = result::stream::destroy(self.stream);
            }
        }
    }
}

/// Has a stream wait for what an event was recorded behind.
fn follow(stream: sys::CUstream, event: sys::CUevent) -> Result<(), DeviceError> {
    // SAFETY: both are alive.
    unsafe { result::stream::wait_event(stream, event, sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT) }.map_err(failed)
}

/// Places of an exchange's elements, on the GPU.
struct Plan {
    collective: Arc<Collective>,
    /// Addresses that are given, addresses that are written, and folds, one behind the other.
    memory: sys::CUdeviceptr,
    len: u32,
    /// Elements of each message: a sum and its low part are never apart.
    pieces: Vec<Range<u32>>,
    /// Recorded behind its last exchange in the background.
    over: sys::CUevent,
}

impl Ranked {
    pub fn nccl(&self) -> Option<&NcclCommunicator> {
        self.nccl.as_deref()
    }
}

/// Where an exchange's elements are given from and written to, by addresses of buffers; and how they are combined.
#[derive(Default)]
struct Places {
    give: Vec<u64>,
    take: Vec<u64>,
    folds: Vec<u32>,
}

impl Places {
    /// Adds a part whose buffer begins at `base`, with reals of so many bytes.
    fn add(&mut self, part: &Exchange, base: u64, bytes: u64) {
        let at = |place: u32| base + u64::from(place) * bytes;
        match part {
            Exchange::Elements { places, .. } => {
                let places = places.iter().map(|&place| if place == ABSENT { 0 } else { at(place) });
                self.give.extend(places.clone());
                self.take.extend(places);
                self.folds.resize(self.give.len(), SUM);
            }
            Exchange::Partials { first, distance, folds, count, each, .. } => {
                let mut kind = *first;
                for fold in *folds {
                    for place in 0..*each {
                        let mut element = |first: u32, fold: u32| {
                            self.give.push(if place < *count { at(first + place) } else { 0 });
                            self.take.push(at(first + place));
                            self.folds.push(fold);
                        };
                        match fold {
                            Fold::Sum => element(kind, SUM),
                            Fold::Largest => element(kind, LARGEST),
                            Fold::Exact => {
                                element(kind, EXACT);
                                element(kind + distance, LOW);
                            }
                        }
                    }
                    kind += fold.kinds() * distance;
                }
            }
        }
    }

    /// Messages of at most so many elements.
    fn pieces(&self, most: usize) -> Vec<Range<u32>> {
        let (mut pieces, mut begin) = (Vec::new(), 0);
        while begin < self.folds.len() {
            let mut end = self.folds.len().min(begin + most);
            if self.folds[end - 1] == EXACT {
                end -= 1;
            }
            pieces.push(begin as u32..end as u32);
            begin = end;
        }
        pieces
    }
}

/// True if a round of a `Repeat` has exchanges: all ranks play as many of them.
pub(super) fn has_exchanges(body: &[Command]) -> bool {
    body.iter().any(|command| matches!(command, Command::Collective(_)))
}

/// Rounds of the next chunk of a `Repeat`. They depend on nothing but those that were played: all ranks have the same flags at the same
/// rounds, and so enqueue the same exchanges.
pub(super) fn rounds(played: u32, left: u32) -> u32 {
    (played / 8).clamp(2, 16).min(left)
}

impl CudaDevice {
    /// Makes it one of several ranks: recordings may exchange numbers with the others. Without a communicator it is alone again.
    /// Gives the communicator that it had; one that it has stays as it is.
    ///
    /// # Errors
    /// [`Fault::Refused`] for a communicator of another device's that this one has not met others by ([`CudaDevice::meet`]);
    /// [`DeviceError::Kernel`], and no memory for messages.
    pub fn join(&mut self, communicator: Option<Arc<dyn Communicator>>) -> Result<Option<Arc<dyn Communicator>>, DeviceError> {
        if let (Some(ranked), Some(communicator)) = (&self.ranks, &communicator)
            && Arc::ptr_eq(&ranked.communicator, communicator)
        {
            return Ok(Some(communicator.clone()));
        }
        let joined = communicator.map(|communicator| self.joined(communicator)).transpose()?;
        let before = std::mem::replace(&mut self.ranks, joined);
        Ok(before.map(|before| self.part(before)))
    }

    fn joined(&mut self, communicator: Arc<dyn Communicator>) -> Result<Ranked, DeviceError> {
        self.bind()?;
        let any: Arc<dyn Any + Send + Sync> = communicator.clone();
        let nccl = any.downcast::<NcclCommunicator>().ok();
        let alone = || {
            Fault::Refused("a communicator over NCCL belongs to the device that made it: another one has to meet the others first".into())
        };
        let nccl = match nccl {
            Some(first) if !first.is_of(&self.stream) => Some(first.beside(&self.stream).ok_or_else(alone)?),
            own => own,
        };
        self.settle()?;
        let _apart = graphs::between_captures();
        let real = if self.precision == Precision::F64 { "double" } else { "float" };
        let (module, [give, take]) = self.kernels.load_text(&format!("typedef {real} real;\n{TEXT}"), [c"give", c"take"])?;
        let (own, all) = match &nccl {
            Some(nccl) => (nccl.own, nccl.all),
            None => {
                let ranks = communicator.size() as usize;
                // SAFETY: freed in `part`.
                let own = unsafe { result::malloc_async(self.stream.cu_stream(), PIECE * (1 + ranks)) }.map_err(|error| {
                    // SAFETY: nothing uses it.
                    let _ = unsafe { result::module::unload(module) };
                    failed(error)
                })?;
                (own, own + PIECE as u64)
            }
        };
        let side = nccl.is_some().then(Side::new).transpose().map_err(|error| {
            // SAFETY: nothing uses it.
            let _ = unsafe { result::module::unload(module) };
            failed(error)
        })?;
        Ok(Ranked { communicator, nccl, own, all, module, give, take, plans: Vec::new(), side })
    }

    /// Frees what a rank had.
    fn part(&mut self, ranked: Ranked) -> Arc<dyn Communicator> {
        let stream = self.stream.cu_stream();
        let _ = self.bind();
        // Whatever became of it, its end is waited for: a wait for an event that was never recorded is none.
        let _ = ranked.side.as_ref().map(|side| follow(stream, side.over));
        let _ = waits::wait_for(stream, "the end of exchanges", ranked.nccl());
        let _apart = graphs::between_captures();
        let own = ranked.nccl.is_none().then_some(ranked.own);
        // SAFETY: the memory came from this stream's pool; nothing is enqueued any more that uses the module.
        unsafe {
            for place in ranked.plans.iter().map(|plan| plan.memory).chain(own) {
                let _ = result::free_async(place, stream);
            }
            for plan in &ranked.plans {
                let _ = result::event::destroy(plan.over);
            }
            let _ = result::module::unload(ranked.module);
        }
        ranked.side.iter().for_each(Side::free);
        ranked.communicator
    }

    /// The communicator, where exchanges are enqueued.
    pub(super) fn over_ranks(&self) -> Option<&NcclCommunicator> {
        self.ranks.as_ref().and_then(Ranked::nccl)
    }

    /// Waits for what is enqueued, where it may wait for other ranks. Calls that the driver has wait for all of a context (memory of the
    /// host, modules, graphs) come after it: else they would wait with what other ranks of this process need.
    pub(super) fn settle(&self) -> Result<(), DeviceError> {
        let Some(ranked) = self.ranks.as_ref().filter(|ranked| ranked.nccl.is_some()) else { return Ok(()) };
        if let Some(side) = ranked.side.as_ref().filter(|side| side.is_open) {
            follow(self.stream.cu_stream(), side.over)?;
        }
        self.wait_for_stream("the end of exchanges", waits::longest())
    }

    /// Has the device's stream wait for exchanges in the background.
    pub(super) fn join_exchanges(&mut self) -> Result<(), DeviceError> {
        let Some(side) = self.ranks.as_mut().and_then(|ranked| ranked.side.as_mut()) else { return Ok(()) };
        if std::mem::take(&mut side.is_open) { follow(self.stream.cu_stream(), side.over) } else { Ok(()) }
    }

    /// Begins an exchange outside of a `Repeat`: in the background, where it may be and NCCL is there, else to its end.
    pub(super) fn begin_exchange(&mut self, collective: &Arc<Collective>) -> Result<(), DeviceError> {
        let side = self.ranks.as_ref().and_then(|ranked| ranked.side.as_ref()).map(|side| (side.stream, side.begun, side.over));
        let Some((stream, begun, over)) = side.filter(|_| collective.in_background) else {
            self.exchange(collective, 0)?;
            return self.settle();
        };
        // Uploads of the plan go by the device's stream.
        let number = self.plan(collective)?;
        // SAFETY: the events and both streams are alive.
        unsafe { result::event::record(begun, self.stream.cu_stream()) }.map_err(failed)?;
        follow(stream, begun)?;
        let enqueued = self.enqueue_exchange(number, collective, 0, stream);
        // Behind a part of one, too: it is waited for before its memory is freed.
        let Some(ranked) = &mut self.ranks else { return Err(super::play::unvalidated()) };
        ranked.side.iter_mut().for_each(|side| side.is_open = true);
        for event in [ranked.plans[number].over, over] {
            // SAFETY: as above.
            unsafe { result::event::record(event, stream) }.map_err(failed)?;
        }
        enqueued
    }

    /// Has the device's stream wait for the end of an exchange, if it was one in the background.
    pub(super) fn await_exchange(&mut self, collective: &Arc<Collective>) -> Result<(), DeviceError> {
        let Some(ranked) = self.ranks.as_ref().filter(|ranked| ranked.side.is_some()) else { return Ok(()) };
        match ranked.plans.iter().find(|plan| plan.collective == *collective) {
            Some(plan) => follow(self.stream.cu_stream(), plan.over),
            // There were too many since.
            None => self.join_exchanges(),
        }
    }

    /// Leaves the ranks, as a device that goes.
    pub(super) fn leave_ranks(&mut self) {
        let Some(ranked) = self.ranks.take() else { return };
        if let Some(nccl) = ranked.nccl().filter(|_| std::thread::panicking()) {
            nccl.die();
        }
        self.part(ranked);
    }

    /// Frees plans that use a buffer.
    pub(super) fn forget_exchanges(&mut self, buffer: BufferId) {
        if self.ranks.is_none() {
            return;
        }
        // Kernels of the side stream may still read the plan, and the buffer.
        let _ = self.bind().and_then(|()| self.join_exchanges());
        let Some(ranked) = &mut self.ranks else { return };
        let stream = self.stream.cu_stream();
        ranked.plans.retain(|plan| {
            let is_used = plan.collective.parts.iter().any(|part| part.buffer() == buffer);
            if is_used {
                // SAFETY: the memory came from this stream's pool, which keeps order; an event that is destroyed is recorded nevertheless.
                unsafe {
                    let _ = result::free_async(plan.memory, stream);
                    let _ = result::event::destroy(plan.over);
                }
            }
            !is_used
        });
    }

    /// Enqueues an exchange that does nothing once a flag, which may be none, is set.
    pub(super) fn exchange(&mut self, collective: &Arc<Collective>, until: sys::CUdeviceptr) -> Result<(), DeviceError> {
        // The memory of messages is that of those in the background.
        self.join_exchanges()?;
        let number = self.plan(collective)?;
        self.enqueue_exchange(number, collective, until, self.stream.cu_stream())
    }

    /// Enqueues an exchange whose plan has this number.
    fn enqueue_exchange(
        &mut self,
        number: usize,
        collective: &Arc<Collective>,
        until: sys::CUdeviceptr,
        stream: sys::CUstream,
    ) -> Result<(), DeviceError> {
        let Some(ranked) = &self.ranks else { return Err(super::play::unvalidated()) };
        let Plan { memory, len, ref pieces, .. } = ranked.plans[number];
        let (pieces, len) = (pieces.clone(), u64::from(len));
        let (own, all, give, take, ranks) = (ranked.own, ranked.all, ranked.give, ranked.take, ranked.communicator.size());
        for piece in pieces {
            let (first, count) = (u64::from(piece.start), piece.len() as u32);
            let bytes = count as usize * self.precision.bytes() as usize;
            let given = memory + 8 * first;
            self.start(give, count, &mut [own, given, count.into()], stream)?;
            self.gather(collective.label, bytes, stream)?;
            let (taken, folds) = (memory + 8 * (len + first), memory + 16 * len + 4 * first);
            self.start(take, count, &mut [all, taken, folds, count.into(), ranks.into(), until], stream)?;
            self.enqueued(3)?;
        }
        Ok(())
    }

    /// Starts a kernel over elements. Arguments of 32 bits are the low halves of theirs.
    fn start(&self, function: sys::CUfunction, count: u32, arguments: &mut [u64], stream: sys::CUstream) -> Result<(), DeviceError> {
        let mut arguments: Vec<*mut c_void> = arguments.iter_mut().map(|argument| (&raw mut *argument).cast()).collect();
        // SAFETY: the arguments are those of the kernels in `TEXT`, in order, on a little-endian host; the driver copies them.
        unsafe { result::launch_kernel(function, (count.div_ceil(GROUP), 1, 1), (GROUP, 1, 1), 0, stream, &mut arguments) }.map_err(failed)
    }

    /// Brings this rank's part of a message to all, and theirs here.
    fn gather(&mut self, label: &'static str, bytes: usize, stream: sys::CUstream) -> Result<(), DeviceError> {
        let Some(ranked) = &self.ranks else { return Err(super::play::unvalidated()) };
        if let Some(nccl) = &ranked.nccl {
            nccl.gather(label, bytes, stream)?;
            nccl.note(Kind::Reduce, bytes);
            return Ok(());
        }
        let (communicator, all) = (ranked.communicator.clone(), ranked.all);
        let landing = {
            let _apart = graphs::between_captures();
            self.landing.reals(bytes).map_err(failed)?
        };
        // SAFETY: the landing holds as many bytes, and is looked at after the stream has come so far.
        let landed = unsafe { std::slice::from_raw_parts_mut(landing.cast::<u8>(), bytes) };
        // SAFETY: the message has a piece's bytes.
        unsafe { result::memcpy_dtoh_async(landed, ranked.own, stream) }.map_err(failed)?;
        self.wait_for_stream("a message to other ranks", waits::longest())?;
        let gathered = communicator.exchange(Call { kind: Kind::Reduce, label, bytes: Some(bytes) }, landed.to_vec())?;
        for (rank, message) in (0..).zip(gathered.iter()) {
            // SAFETY: all ranks gave as many bytes, for which there is room.
            unsafe { self.staging.send(stream, all + rank * bytes as u64, message, |byte| *byte, None) }?;
        }
        Ok(())
    }

    /// The number of an exchange's plan, which is made the first time.
    fn plan(&mut self, collective: &Arc<Collective>) -> Result<usize, DeviceError> {
        let Some(ranked) = &self.ranks else { return Err(super::play::unvalidated()) };
        if let Some(known) = ranked.plans.iter().position(|plan| plan.collective == *collective) {
            return Ok(known);
        }
        let bytes = self.precision.bytes();
        let mut places = Places::default();
        for part in &collective.parts {
            let storage = self.storage(part.buffer())?;
            if part.end() > u64::from(storage.len) || self.element_bytes(storage.kind) != bytes {
                return Err(super::play::unvalidated());
            }
            places.add(part, storage.place, bytes);
        }
        let (len, stream) = (places.folds.len(), self.stream.cu_stream());
        let (memory, over) = {
            let _apart = graphs::between_captures();
            // SAFETY: freed with the plan.
            let memory = unsafe { result::malloc_async(stream, (20 * len).max(32)) }.map_err(failed)?;
            (memory, result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).map_err(failed)?)
        };
        let nccl = ranked.nccl.as_deref();
        // SAFETY: there is room for two addresses and a fold of each element.
        unsafe {
            self.staging.send(stream, memory, &places.give, |place| *place, nccl)?;
            self.staging.send(stream, memory + 8 * len as u64, &places.take, |place| *place, nccl)?;
            self.staging.send(stream, memory + 16 * len as u64, &places.folds, |fold| *fold, nccl)?;
        }
        let pieces = places.pieces(PIECE / bytes as usize);
        let plan = Plan { collective: collective.clone(), memory, len: len as u32, pieces, over };
        if self.ranks.as_ref().is_some_and(|ranked| ranked.plans.len() >= MAX_PLANS) {
            self.join_exchanges()?;
        }
        let Some(ranked) = &mut self.ranks else { return Err(super::play::unvalidated()) };
        if ranked.plans.len() >= MAX_PLANS {
            for plan in ranked.plans.drain(..) {
                // SAFETY: the memory came from this stream's pool, which keeps order.
                unsafe {
                    result::free_async(plan.memory, stream).map_err(failed)?;
                    result::event::destroy(plan.over).map_err(failed)?;
                }
            }
        }
        ranked.plans.push(plan);
        Ok(ranked.plans.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUFFER: BufferId = BufferId(0);

    #[test]
    fn elements_lie_where_the_buffer_has_them() {
        let mut places = Places::default();
        places.add(&Exchange::Elements { buffer: BUFFER, places: Arc::new(vec![2, ABSENT, 0]) }, 1000, 8);
        const FOLDS: &[Fold] = &[Fold::Sum, Fold::Exact, Fold::Largest];
        places.add(&Exchange::Partials { buffer: BUFFER, first: 10, distance: 4, folds: FOLDS, count: 1, each: 2 }, 1000, 8);
        let at = |place: u64| 1000 + 8 * place;
        assert_eq!(places.give, [at(2), 0, at(0), at(10), 0, at(14), at(18), 0, 0, at(22), 0]);
        assert_eq!(places.take, [at(2), 0, at(0), at(10), at(11), at(14), at(18), at(15), at(19), at(22), at(23)]);
        assert_eq!(places.folds, [SUM, SUM, SUM, SUM, SUM, EXACT, LOW, EXACT, LOW, LARGEST, LARGEST]);
        assert_eq!(places.pieces(100), std::slice::from_ref(&(0..11)));
        // The sixth element's low part is the seventh: both come with the next message.
        assert_eq!(places.pieces(6), [0..5, 5..11]);
        assert_eq!(Places::default().pieces(6), []);
    }

    #[test]
    fn rounds_of_a_chunk_follow_from_those_before() {
        let mut chunks = Vec::new();
        let mut played = 0;
        while played < 100 {
            chunks.push(rounds(played, 100 - played));
            played += chunks.last().unwrap();
        }
        assert_eq!((played, chunks[..4].iter().sum::<u32>()), (100, 8));
        assert_eq!((rounds(500, 1000), rounds(500, 3), rounds(0, 1)), (16, 3, 1));
    }
}

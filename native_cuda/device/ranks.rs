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
//!
//! Elements of an exchange have places in lists on the GPU, unless all of it is the sum of elements that follow each other.

use super::nccl::{NcclCommunicator, PIECE};
use super::places::{Layout, Places, Plan, in_a_row};
use super::staging::Staging;
use super::waits::Exchanges;
use super::{CudaDevice, failed, graphs, waits};
use cudarc::driver::{DriverError, result, sys};
use leastwise_collective::{Call, Communicator, Fault, Kind};
use leastwise_recording::{BufferId, Collective, Command, DeviceError, Precision};
use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;

/// CUDA C++ of the kernels.
const TEXT: &str = include_str!("../../shaders/cuda/ranks.cu");

/// Threads of a workgroup.
const GROUP: u32 = 256;

/// Plans of exchanges that are kept.
const MAX_PLANS: usize = 64;

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
    total: sys::CUfunction,
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
    /// Recorded on the device's stream behind its own last message.
    passed: sys::CUevent,
    /// Exchanges so far, and the last one that the device's stream waits for.
    enqueued: u64,
    followed: u64,
}

impl Side {
    fn new() -> Result<Self, DriverError> {
        let event = || result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
        // Its short kernels come before what fills the GPU, so that messages leave early.
        let (_, greatest) = result::stream::get_priority_range()?;
        let none = std::ptr::null_mut();
        let mut side = Self { stream: std::ptr::null_mut(), begun: none, over: none, passed: none, enqueued: 0, followed: 0 };
        let made = (|| {
            (side.begun, side.over, side.passed) = (event()?, event()?, event()?);
            side.stream = result::stream::create_with_priority(result::stream::StreamKind::NonBlocking, greatest)?;
            Ok(())
        })();
        match made {
            Ok(()) => Ok(side),
            Err(error) => {
                side.free();
                Err(error)
            }
        }
    }

    /// True while there may be an exchange that the device's stream does not wait for.
    fn is_open(&self) -> bool {
        self.followed < self.enqueued
    }

    fn free(&self) {
        // SAFETY: nothing is enqueued on it any more.
        unsafe {
            for event in [self.begun, self.over, self.passed].into_iter().filter(|event| !event.is_null()) {
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

impl Ranked {
    pub fn nccl(&self) -> Option<&NcclCommunicator> {
        self.nccl.as_deref()
    }

    /// Exchanges over NCCL that waits may be for.
    pub fn exchanges(&self) -> Option<Exchanges<'_>> {
        let side = self.side.as_ref()?;
        self.nccl().map(|nccl| Exchanges::before(nccl, [side.passed, side.over]))
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
        let text = format!("typedef {real} real;\n{TEXT}");
        let (module, [give, take, total]) = self.kernels.load_text(&text, [c"give", c"take", c"total"])?;
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
        Ok(Ranked { communicator, nccl, own, all, module, give, take, total, plans: Vec::new(), side })
    }

    /// Frees what a rank had.
    fn part(&mut self, ranked: Ranked) -> Arc<dyn Communicator> {
        let stream = self.stream.cu_stream();
        let _ = self.bind();
        // Whatever became of it, its end is waited for: a wait for an event that was never recorded is none.
        let _ = ranked.side.as_ref().map(|side| follow(stream, side.over));
        let _ = waits::wait_for(stream, "the end of exchanges", ranked.exchanges());
        let _apart = graphs::between_captures();
        let own = ranked.nccl.is_none().then_some(ranked.own);
        // SAFETY: the memory came from this stream's pool; nothing is enqueued any more that uses the module.
        unsafe {
            for plan in &ranked.plans {
                let _ = plan.free(stream);
            }
            let _ = own.map(|own| result::free_async(own, stream));
            let _ = result::module::unload(ranked.module);
        }
        ranked.side.iter().for_each(Side::free);
        ranked.communicator
    }

    /// Exchanges over NCCL that waits may be for.
    pub(super) fn exchanges(&self) -> Option<Exchanges<'_>> {
        self.ranks.as_ref().and_then(Ranked::exchanges)
    }

    /// Waits for what is enqueued, where it may wait for other ranks. Calls that the driver has wait for all of a context (memory of the
    /// host, modules, graphs) come after it: else they would wait with what other ranks of this process need.
    pub(super) fn settle(&self) -> Result<(), DeviceError> {
        let Some(ranked) = self.ranks.as_ref().filter(|ranked| ranked.nccl.is_some()) else { return Ok(()) };
        if let Some(side) = ranked.side.as_ref().filter(|side| side.is_open()) {
            follow(self.stream.cu_stream(), side.over)?;
        }
        self.wait_for_stream("the end of exchanges", waits::longest())
    }

    /// Has the device's stream wait for exchanges in the background.
    pub(super) fn join_exchanges(&mut self) -> Result<(), DeviceError> {
        let Some(side) = self.ranks.as_mut().and_then(|ranked| ranked.side.as_mut()) else { return Ok(()) };
        if side.is_open() {
            follow(self.stream.cu_stream(), side.over)?;
            side.followed = side.enqueued;
        }
        Ok(())
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
        if let Some(side) = &mut ranked.side {
            side.enqueued += 1;
            ranked.plans[number].number = side.enqueued;
        }
        for event in [ranked.plans[number].over, over] {
            // SAFETY: as above.
            unsafe { result::event::record(event, stream) }.map_err(failed)?;
        }
        enqueued
    }

    /// Has the device's stream wait for the end of an exchange, if it was one in the background.
    pub(super) fn await_exchange(&mut self, collective: &Arc<Collective>) -> Result<(), DeviceError> {
        let Some(Ranked { side: Some(side), plans, .. }) = &mut self.ranks else { return Ok(()) };
        match plans.iter().find(|plan| plan.collective == *collective) {
            Some(plan) => {
                follow(self.stream.cu_stream(), plan.over)?;
                // Those before it are over, too.
                side.followed = side.followed.max(plan.number);
                Ok(())
            }
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
                // SAFETY: the device's stream waits for the side stream.
                let _ = unsafe { plan.free(stream) };
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
        let Plan { layout, len, ref pieces, .. } = ranked.plans[number];
        let (pieces, len, each) = (pieces.clone(), u64::from(len), self.precision.bytes());
        let Ranked { own, all, give, take, total, .. } = *ranked;
        let ranks = ranked.communicator.size().into();
        for piece in pieces {
            let (first, count) = (u64::from(piece.start), piece.len() as u32);
            let bytes = count as usize * each as usize;
            match layout {
                // SAFETY: the plan saw that they lie within their buffer, and the message has room for a piece.
                Layout::Row(begin) => unsafe { result::memcpy_dtod_async(own, begin + first * each, bytes, stream) }.map_err(failed)?,
                Layout::Listed(memory) => self.start(give, count, &mut [own, memory + 8 * first, count.into()], stream)?,
            }
            self.gather(collective.label, bytes, stream)?;
            match layout {
                Layout::Row(begin) => {
                    self.start(total, count, &mut [all, begin + first * each, count.into(), ranks, until], stream)?;
                }
                Layout::Listed(memory) => {
                    let (taken, folds) = (memory + 8 * (len + first), memory + 16 * len + 4 * first);
                    self.start(take, count, &mut [all, taken, folds, count.into(), ranks, until], stream)?;
                }
            }
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
            // Until it is passed, waits are held to the deadline of ranks.
            let behind = ranked.side.as_ref().map(|side| if stream == side.stream { side.over } else { side.passed });
            // SAFETY: the event and the stream are alive.
            return behind.map_or(Ok(()), |event| unsafe { result::event::record(event, stream) }.map_err(failed));
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
        if ranked.plans.len() >= MAX_PLANS {
            self.join_exchanges()?;
            let plans = self.ranks.as_mut().map(|ranked| std::mem::take(&mut ranked.plans));
            for plan in plans.iter().flatten() {
                // SAFETY: the device's stream waits for the side stream.
                unsafe { plan.free(self.stream.cu_stream()) }.map_err(failed)?;
            }
        }
        let bytes = self.precision.bytes();
        let (mut bases, most) = (Vec::new(), PIECE / bytes as usize);
        for part in &collective.parts {
            let storage = self.storage(part.buffer())?;
            if part.end() > u64::from(storage.len) || self.element_bytes(storage.kind) != bytes {
                return Err(super::play::unvalidated());
            }
            bases.push(storage.place);
        }
        let (layout, len, pieces) = if let Some((first, len)) = in_a_row(&collective.parts) {
            let pieces = (0..len).step_by(most).map(|begin| begin..len.min(begin + most as u32)).collect();
            (Layout::Row(bases[0] + u64::from(first) * bytes), len, pieces)
        } else {
            let mut places = Places::default();
            collective.parts.iter().zip(bases).for_each(|(part, base)| places.add(part, base, bytes));
            (Layout::Listed(self.listed(&places)?), places.folds.len() as u32, places.pieces(most))
        };
        let over = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).map_err(failed)?;
        let Some(ranked) = &mut self.ranks else { return Err(super::play::unvalidated()) };
        ranked.plans.push(Plan { collective: collective.clone(), layout, len, pieces, over, number: 0 });
        Ok(ranked.plans.len() - 1)
    }

    /// Lists of places on the GPU.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`], and a GPU that is lost; nothing stays allocated.
    fn listed(&mut self, places: &Places) -> Result<sys::CUdeviceptr, DeviceError> {
        let (len, stream) = (places.folds.len(), self.stream.cu_stream());
        let bytes = (20 * len).max(32);
        let memory = {
            let _apart = graphs::between_captures();
            // SAFETY: freed with the plan, or here.
            unsafe { result::malloc_async(stream, bytes) }.map_err(|error| match error {
                DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY) => {
                    let limit = self.context.mem_get_info().ok().map(|(free, _)| free as u64);
                    DeviceError::OutOfMemory { what: "places of what ranks exchange".into(), needed: bytes as u64, limit }
                }
                error => failed(error),
            })?
        };
        let exchanges = self.ranks.as_ref().and_then(Ranked::exchanges);
        // SAFETY: there is room for two addresses and a fold of each element.
        let sent = unsafe {
            let send = |staging: &mut Staging, place, list: &[u64]| staging.send(stream, place, list, |place| *place, exchanges);
            send(&mut self.staging, memory, &places.give)
                .and_then(|()| send(&mut self.staging, memory + 8 * len as u64, &places.take))
                .and_then(|()| self.staging.send(stream, memory + 16 * len as u64, &places.folds, |fold| *fold, exchanges))
        };
        sent.map(|()| memory).inspect_err(|_| {
            let _apart = graphs::between_captures();
            // SAFETY: nothing uses it but copies that the stream has before.
            let _ = unsafe { result::free_async(memory, stream) };
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

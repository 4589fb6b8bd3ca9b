//! Waits for the GPU. The driver's own (`cuEventSynchronize`, `cuStreamSynchronize`) end when the GPU does, if ever; these end with an
//! error that says what was waited for. Commands that are enqueued without a readback are held to a few hundred, since the driver blocks
//! without end where its queue is full.
//!
//! A wait for other ranks ends with their deadline instead. It is one while an exchange is under way, as events behind the last ones tell.

use super::nccl::NcclCommunicator;
use super::{CudaDevice, failed};
use cudarc::driver::{CudaContext, DriverError, result, sys};
use leastwise_recording::DeviceError;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// Seconds of a wait, unless `LEASTWISE_CUDA_PATIENCE` says otherwise: far longer than any kernel takes, also where others use the GPU.
const PATIENCE_S: f64 = 120.0;

/// For so long a wait keeps its core, and for so long it gives way to other threads; then it sleeps between two looks.
const SPIN: Duration = Duration::from_micros(100);
const GIVE_WAY: Duration = Duration::from_millis(5);
const NAP: Duration = Duration::from_micros(50);

/// Launches between two fences; of two fences the older one must be passed.
const LAUNCHES: u32 = 256;

static PATIENCE: LazyLock<Duration> = LazyLock::new(|| patience(std::env::var("LEASTWISE_CUDA_PATIENCE").ok().as_deref()));

fn patience(given: Option<&str>) -> Duration {
    let seconds = given.and_then(|text| text.parse().ok()).filter(|seconds| *seconds > 0.0);
    Duration::try_from_secs_f64(seconds.unwrap_or(PATIENCE_S)).unwrap_or(Duration::MAX)
}

/// The longest that anything of CUDA's is waited for.
pub(super) fn longest() -> Duration {
    *PATIENCE
}

/// The longest that an engine which is disposed of is waited for.
pub(super) fn last() -> Duration {
    longest().min(Duration::from_secs(10))
}

/// Waits until `is_over`.
///
/// # Errors
/// [`DeviceError::Lost`], which names what was waited for, after so long; and what `is_over` fails with.
pub(super) fn wait(what: &str, longest: Duration, mut is_over: impl FnMut() -> Result<bool, DeviceError>) -> Result<(), DeviceError> {
    let begun = Instant::now();
    loop {
        if is_over()? {
            return Ok(());
        }
        let waited = begun.elapsed();
        if waited >= longest {
            return Err(late(what, longest));
        }
        match waited {
            waited if waited < SPIN => std::hint::spin_loop(),
            waited if waited < GIVE_WAY => std::thread::yield_now(),
            _ => std::thread::sleep(NAP),
        }
    }
}

fn late(what: &str, longest: Duration) -> DeviceError {
    let seconds = longest.as_secs_f64();
    DeviceError::Lost(format!(
        "the GPU did not come to {what} within {seconds} s: it hangs, or others keep it busy (LEASTWISE_CUDA_PATIENCE sets the seconds)"
    ))
}

/// Exchanges over NCCL that a wait may be for.
#[derive(Clone, Copy)]
pub(super) struct Exchanges<'a> {
    nccl: &'a NcclCommunicator,
    /// Events behind the last exchange of each stream; none where one is under way.
    behind: Option<[sys::CUevent; 2]>,
}

impl<'a> Exchanges<'a> {
    /// Those that are waited for whatever else the stream has.
    pub fn under_way(nccl: &'a NcclCommunicator) -> Self {
        Self { nccl, behind: None }
    }

    /// Those that events were recorded behind, which live as long as the communicator is borrowed.
    pub fn before(nccl: &'a NcclCommunicator, events: [sys::CUevent; 2]) -> Self {
        Self { nccl, behind: Some(events) }
    }

    /// True while one is under way. An error of the GPU is left to whoever waits.
    fn are_under_way(&self) -> bool {
        // SAFETY: the events are alive.
        let is_ahead = |event| unsafe { result::event::query(event) } == Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_READY));
        self.nccl.is_connected() && self.behind.is_none_or(|events| events.into_iter().any(is_ahead))
    }
}

/// Whether the GPU has come to where an event was recorded.
fn is_passed(queried: Result<(), DriverError>) -> Result<bool, DeviceError> {
    match queried {
        Ok(()) => Ok(true),
        Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
        Err(error) => Err(failed(error)),
    }
}

/// Waits for an event. One that was never recorded is not waited for.
///
/// # Safety
/// The event was made and not destroyed.
pub(super) unsafe fn wait_for_event(event: sys::CUevent, what: &str, exchanges: Option<Exchanges>) -> Result<(), DeviceError> {
    // SAFETY: as the caller says.
    wait_with(what, longest(), exchanges, || unsafe { result::event::query(event) })
}

/// Waits for all that was enqueued.
pub(super) fn wait_for(stream: sys::CUstream, what: &str, exchanges: Option<Exchanges>) -> Result<(), DeviceError> {
    // SAFETY: the stream is alive.
    wait_with(what, longest(), exchanges, || unsafe { sys::cuStreamQuery(stream) }.result())
}

fn wait_with(
    what: &str,
    longest: Duration,
    exchanges: Option<Exchanges>,
    query: impl Fn() -> Result<(), DriverError>,
) -> Result<(), DeviceError> {
    let Some(exchanges) = exchanges else { return wait(what, longest, || is_passed(query())) };
    // While ranks are waited for, their deadline counts, which says more; from then on, that of all else.
    let (begun, mut alone) = (Instant::now(), Instant::now());
    wait(what, Duration::MAX, || {
        if is_passed(query())? {
            return Ok(true);
        }
        if begun.elapsed() < GIVE_WAY {
            return Ok(false);
        }
        if exchanges.are_under_way() {
            exchanges.nccl.watch(begun, exchanges.nccl.deadline())?;
            alone = Instant::now();
        } else if alone.elapsed() >= longest {
            return Err(late(what, longest));
        }
        Ok(false)
    })
}

/// Events behind the launches of before, in turn.
pub(super) struct Fences {
    events: [sys::CUevent; 2],
    next: usize,
    launches: u32,
}

// SAFETY: they are used by their device alone, on the thread that the context is bound to.
unsafe impl Send for Fences {}

impl Fences {
    pub fn new(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        context.bind_to_thread()?;
        let event = || result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
        Ok(Self { events: [event()?, event()?], next: 0, launches: 0 })
    }

    pub fn free(&mut self) {
        for event in self.events {
            // SAFETY: nothing is recorded any more.
            let _ = unsafe { result::event::destroy(event) };
        }
    }
}

impl CudaDevice {
    /// Counts launches that were just enqueued, and waits where too many are on their way.
    pub(super) fn enqueued(&mut self, launches: u32) -> Result<(), DeviceError> {
        self.fences.launches += launches;
        if self.fences.launches < LAUNCHES {
            return Ok(());
        }
        self.fences.launches = 0;
        let event = self.fences.events[self.fences.next];
        self.fences.next = 1 - self.fences.next;
        let older = self.fences.events[self.fences.next];
        // SAFETY: the events live as long as the device.
        unsafe {
            result::event::record(event, self.stream.cu_stream()).map_err(failed)?;
            wait_for_event(older, "the end of the steps that were enqueued", self.exchanges())
        }
    }

    /// Whether the GPU still works on what was enqueued, as one that is lost does not.
    pub(super) fn is_working(&self) -> bool {
        // SAFETY: the stream is alive.
        let status = unsafe { sys::cuStreamQuery(self.stream.cu_stream()) };
        status == sys::CUresult::CUDA_ERROR_NOT_READY
    }

    /// Waits for all that was enqueued.
    pub(super) fn wait_for_stream(&self, what: &str, longest: Duration) -> Result<(), DeviceError> {
        // SAFETY: the stream is alive.
        wait_with(what, longest, self.exchanges(), || unsafe { sys::cuStreamQuery(self.stream.cu_stream()) }.result())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_and_says_what_for() {
        let after = |count: u32| {
            let mut looks = 0;
            move || {
                looks += 1;
                Ok(looks > count)
            }
        };
        assert_eq!(wait("nothing", Duration::ZERO, after(0)), Ok(()));
        assert_eq!(wait("something", Duration::MAX, after(5)), Ok(()));
        let Err(DeviceError::Lost(message)) = wait("a readback", Duration::from_millis(8), || Ok(false)) else { panic!("it ended well") };
        assert!(message.starts_with("the GPU did not come to a readback within 0.008 s: "), "{message}");
        assert_eq!(wait("x", Duration::MAX, || Err(DeviceError::Lost("gone".into()))), Err(DeviceError::Lost("gone".into())));
    }

    #[test]
    fn patience_is_a_number_of_seconds() {
        let seconds = |given: Option<&str>| patience(given).as_secs_f64();
        assert_eq!(
            [None, Some("2.5"), Some("0"), Some("-1"), Some("soon"), Some("NaN")].map(seconds),
            [120.0, 2.5, 120.0, 120.0, 120.0, 120.0]
        );
        assert_eq!(patience(Some("inf")), Duration::MAX);
    }
}

//! A second device on a GPU that is a rank, such as that in f32 of an engine in f64. A communicator belongs to one stream, so it has one of
//! its own, which ranks meet by through calls of the first one.
//!
//! * The first one keeps it, for every later time, and ends it before itself.
//! * A fault of one is a fault of both: kernels that wait on either stream end.
//! * Messages of both are never on their way at the same time: NCCL wants ranks to enqueue those of a GPU in the same order. A call of the
//!   first one waits for the second device's stream, and ranks make such a call whenever the second device joins them.

use super::{NcclCommunicator, WorldId, broken, lock};
use crate::CudaDevice;
use cudarc::driver::CudaStream;
use leastwise_collective::{Call, Communicator, Fault, Kind, everybody};
use leastwise_recording::DeviceError;
use std::any::Any;
use std::sync::Arc;

/// Devices as they stand to a communicator, in the order of their numbers for other ranks.
#[derive(Clone, Copy, PartialEq)]
enum Standing {
    /// The device that made it.
    Own,
    /// A second one, which ranks have met by.
    Met,
    /// One that has no communicator yet.
    New,
}

impl NcclCommunicator {
    /// True for a communicator whose devices have to meet before they join ([`CudaDevice::meet`]).
    pub fn is_nccl(communicator: &dyn Communicator) -> bool {
        let any: &dyn Any = communicator;
        any.is::<Self>()
    }

    /// The communicator of a second device with this stream.
    pub(in super::super) fn beside(&self, stream: &CudaStream) -> Option<Arc<Self>> {
        lock(&self.second).clone().filter(|second| second.is_of(stream))
    }

    /// The communicator of the other device on this GPU.
    pub(super) fn other(&self) -> Option<Arc<Self>> {
        self.first.upgrade().or_else(|| lock(&self.second).clone())
    }

    /// Waits until the second device's messages are over.
    pub(super) fn rest_beside(&self, label: &'static str) -> Result<(), Fault> {
        let second = lock(&self.second).clone();
        second.map_or(Ok(()), |second| {
            second.context.bind_to_thread().map_err(broken)?;
            second.arrive(label)
        })
    }
}

impl CudaDevice {
    /// True if [`join`](Self::join) can be given this communicator: of another kind, this device's own, or one that ranks have met by.
    pub fn has_met(&self, communicator: &Arc<dyn Communicator>) -> bool {
        let any: Arc<dyn Any + Send + Sync> = communicator.clone();
        match any.downcast::<NcclCommunicator>() {
            Ok(first) => first.is_of(&self.stream) || first.beside(&self.stream).is_some(),
            Err(_) => true,
        }
    }

    /// Has all ranks meet by their devices, so that [`join`](Self::join) can be given the communicator of another device on this GPU. All
    /// ranks call it; it makes a communicator the first time. Those of other kinds than NCCL's need none.
    ///
    /// # Errors
    /// [`Fault::Refused`] on all ranks where devices of some made the communicator and those of others did not, and where one has no
    /// memory for messages: then all can go on. Else the faults of [`over_nccl`](Self::over_nccl), after which neither goes on.
    pub fn meet(&self, communicator: &Arc<dyn Communicator>) -> Result<(), DeviceError> {
        const LABEL: &str = "set-up of second devices";
        let any: Arc<dyn Any + Send + Sync> = communicator.clone();
        let Ok(first) = any.downcast::<NcclCommunicator>() else { return Ok(()) };
        let standing = match first.beside(&self.stream) {
            _ if first.is_of(&self.stream) => Standing::Own,
            Some(_) => Standing::Met,
            None => Standing::New,
        };
        let all = first.gather_varying(LABEL, &[f64::from(standing as u8)])?.concat();
        let are = |of: Standing| all.iter().filter(|other| **other == f64::from(of as u8)).count();
        if are(Standing::Own) == all.len() || are(Standing::Met) == all.len() {
            return Ok(());
        }
        if are(Standing::Own) > 0 {
            let message =
                "ranks come with devices of different precisions: make all engines, and all tensors that are summed, with the same one";
            return Err(Fault::Refused(message.into()).into());
        }
        let (rank, size) = (first.rank(), first.size());
        let named = if rank == 0 { WorldId::new() } else { Ok(WorldId::from_bytes([0; WorldId::BYTES])) };
        let own = everybody(&*first, named)?.to_bytes().to_vec();
        let all = first.exchange(Call { kind: Kind::Broadcast, label: LABEL, bytes: Some(WorldId::BYTES) }, own)?;
        let id = WorldId::from_bytes(all[0][..].try_into().unwrap_or([0; WorldId::BYTES]));
        let mut made = everybody(&*first, self.reserved(&id, (rank, size)))?;
        made.first = Arc::downgrade(&first);
        // A failure from here on is no matter of this rank alone.
        made.connect(&id, first.deadline()).map_err(|fault| first.fail(fault))?;
        // Messages of set-up are counted apart.
        made.traffic = first.traffic.clone();
        let before = lock(&first.second).replace(Arc::new(made));
        drop(before);
        Ok(())
    }
}

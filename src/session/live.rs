//! Counts of live steps: what became of them, some frames ago.

use leastwise_device::{BufferId, Device, Glance, Slice};
use leastwise_error::Error;

/// Steps of a solver since it was made, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advanced {
    pub accepted: u32,
    pub rejected: u32,
    /// Those that were begun, and of which nothing is known yet: on a GPU they may be over.
    pub unfinished: u32,
}

/// What is known of a solver's live steps, and the glance that will tell more.
#[derive(Default)]
pub(super) struct LiveSteps {
    /// The buffer that counts; steps that another one counted before it.
    buffer: Option<BufferId>,
    before: Advanced,
    known: Option<Advanced>,
    /// Steps enqueued, and those that what is known includes.
    enqueued: u32,
    included: u32,
    glance: Option<(Glance, u32)>,
}

impl LiveSteps {
    pub fn enqueue(&mut self) {
        self.enqueued = self.enqueued.wrapping_add(1);
    }

    /// Takes what has come of the last glance, and asks for another.
    pub fn look(&mut self, device: &mut Device, counts: Slice) -> Result<(), Error> {
        if self.buffer != Some(counts.buffer) {
            // What the old buffer counted stays as far as it is known.
            self.before = self.known.unwrap_or_default();
            (self.buffer, self.glance, self.included) = (Some(counts.buffer), None, self.enqueued);
        }
        self.take(device)?;
        if self.glance.is_none() {
            self.glance = Some((device.glance(counts)?, self.enqueued));
            self.take(device)?;
        }
        Ok(())
    }

    fn take(&mut self, device: &mut Device) -> Result<(), Error> {
        let Some((glance, enqueued)) = &mut self.glance else { return Ok(()) };
        let Some(values) = device.seen(glance)? else { return Ok(()) };
        let [taken, .., tried] = values[..] else { return Ok(()) };
        let (accepted, rejected) = (taken as u32, (tried - taken) as u32);
        self.known = Some(Advanced { accepted: self.before.accepted + accepted, rejected: self.before.rejected + rejected, unfinished: 0 });
        self.included = *enqueued;
        self.glance = None;
        Ok(())
    }

    /// What is known; `in_midst`: a step that the CPU is in the midst of.
    pub fn known(&self, in_midst: bool) -> Option<Advanced> {
        let unfinished = self.enqueued.wrapping_sub(self.included) + u32::from(in_midst);
        self.known.map(|known| Advanced { unfinished, ..known })
    }
}

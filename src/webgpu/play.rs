//! A recording's way through the queue.
//!
//! [`WgpuDevice::resume`] submits as much as it can and returns. Only two things make it wait: a `Read`, until its
//! buffer is mapped, and a `Repeat` with enough submissions in flight (`pace`), until the flag of the oldest one is known.
//! Two in flight is what keeps the GPU busy: while it works on one, the host looks at the flag of the one before.

use super::encode::{Batch, Place};
use super::health::{Troubles, trouble};
use super::pool::{ParamsBuffer, Readback};
use super::{ELEMENT, Scopes, WgpuDevice};
use leastwise_base::clock::now_ms;
use leastwise_recording::repeat_pacing::RepeatPacing;
use leastwise_recording::{BufferId, Command, DeviceError, Kind, Playing, Recording, Signal};
use std::{collections::VecDeque, sync::Arc};

/// A recording on its way. Dropping it abandons what was not submitted yet; what was, the GPU finishes.
pub struct Play {
    recording: Recording,
    /// The uniform blocks of all its dispatches, once it has begun.
    params: Option<Arc<ParamsBuffer>>,
    /// The next command, and where the uniform blocks from there on begin.
    command: usize,
    block: u32,
    repeat: Option<Repetition>,
    reading: Option<(Arc<Readback>, Kind, usize)>,
    /// Nobody waits for what it reads, so it is counted as no readback.
    is_glance: bool,
    /// What was read, while it is not known whether all went well.
    found: Option<Vec<f64>>,
    troubles: Arc<Troubles>,
    /// How it ended, if it did.
    ended: Option<Result<(), DeviceError>>,
}

impl Play {
    /// A recording that nothing of was played yet.
    pub fn new(recording: Recording) -> Self {
        Self {
            recording,
            params: None,
            command: 0,
            block: 0,
            repeat: None,
            reading: None,
            is_glance: false,
            found: None,
            troubles: Arc::default(),
            ended: None,
        }
    }

    /// One that only reads, and that nobody waits for.
    pub fn glance(recording: Recording) -> Self {
        Self { is_glance: true, ..Self::new(recording) }
    }

    /// The recording, while nothing of it has been played.
    pub fn unbegun(&self) -> Option<&Recording> {
        self.params.is_none().then_some(&self.recording)
    }

    /// What has to happen before anything can be submitted.
    fn waiting(&self) -> Option<Signal> {
        match (&self.reading, &self.repeat) {
            (Some((readback, ..)), _) => readback.pending(),
            (None, Some(repeat)) => repeat.waiting(),
            (None, None) => None,
        }
    }

    fn end(&mut self, how: Result<(), DeviceError>) {
        *self = Self { ended: Some(how), ..Self::new(Recording::new()) };
    }
}

/// A `Repeat` that is being played.
struct Repetition {
    signature: u64,
    pace: RepeatPacing,
    played: u32,
    in_flight: VecDeque<Chunk>,
    /// When the last chunk was done: the next one cannot have begun before.
    last_landed_ms: f64,
    done: bool,
}

struct Chunk {
    flag: Arc<Readback>,
    bodies: u32,
    /// Bodies played up to the end of this chunk.
    played: u32,
    submitted_ms: f64,
}

impl Repetition {
    fn waiting(&self) -> Option<Signal> {
        if self.in_flight.len() < self.pace.in_flight(self.played) { None } else { self.in_flight.front()?.flag.pending() }
    }

    /// Looks at the flags that have landed.
    fn look(&mut self) -> Result<(), DeviceError> {
        while let Some(chunk) = self.in_flight.pop_front_if(|chunk| chunk.flag.pending().is_none()) {
            let flag = chunk.flag.take(Kind::Real, 1).ok_or_else(not_mapped)?;
            let landed_ms = chunk.flag.landed_at_ms();
            let begun_ms = self.last_landed_ms.max(chunk.submitted_ms);
            self.last_landed_ms = landed_ms;
            if flag.iter().any(|flag| *flag != 0.0) {
                self.pace.finished(chunk.played);
                self.done = true;
                return Ok(());
            }
            // Only chunks that worked to their end: past the flag, bodies take no time.
            self.pace.measured(landed_ms - begun_ms, chunk.bodies, begun_ms > chunk.submitted_ms);
        }
        Ok(())
    }
}

/// A mapping under way, and the submission that it waits for.
#[cfg(not(target_arch = "wasm32"))]
pub(super) struct Flight {
    landing: std::sync::Arc<super::pool::Landing>,
    signal: Signal,
    submission: Option<wgpu::SubmissionIndex>,
}

#[cfg(not(target_arch = "wasm32"))]
pub(super) type Flights = std::sync::Mutex<VecDeque<Flight>>;

/// Bodies whose pace is remembered.
const MAX_PACES: usize = 256;

impl WgpuDevice {
    /// Submits what can be submitted, and never blocks.
    pub fn resume(&mut self, play: &mut Play) -> Result<Playing, DeviceError> {
        match &play.ended {
            Some(Ok(())) => return Ok(Playing::Finished(Vec::new())),
            Some(Err(error)) => return Err(error.clone()),
            None => {}
        }
        let result = self.resume_piece(play);
        match &result {
            Ok(Playing::Finished(_)) => play.end(Ok(())),
            Ok(_) => {}
            Err(error) => {
                self.abandon(play);
                play.end(Err(error.clone()));
            }
        }
        result
    }

    /// Plays the [prelude](Recording::into_prelude) of a recording of which nothing was played, but for what is in buffers that memory was refused
    /// for: those are made anew, of what the host knows.
    pub fn abandon(&mut self, play: &mut Play) {
        if play.params.is_some() {
            return;
        }
        let mut prelude = std::mem::take(&mut play.recording).into_prelude();
        prelude.commands.retain(|command| {
            let mut named = Vec::new();
            command.name_buffers(&mut named);
            named.into_iter().all(|buffer| self.refusal(buffer).is_none())
        });
        if prelude.commands.is_empty() {
            return;
        }
        let scopes = Scopes::open(&self.device);
        // Nobody waits for it. What goes wrong with a buffer, its next use tells.
        let _ = self.enqueue_all(&prelude);
        self.settle(scopes);
    }

    /// Notes what scopes catch of a recording that nobody waits for.
    fn settle(&self, scopes: Scopes) {
        let health = Arc::downgrade(&self.health);
        scopes.settle(move |caught| {
            if let (Some(caught), Some(health)) = (caught, health.upgrade()) {
                health.note_unowned(caught);
            }
        });
    }

    fn resume_piece(&mut self, play: &mut Play) -> Result<Playing, DeviceError> {
        self.reap();
        self.health.check()?;
        self.untroubled(play)?;
        if let Some(signal) = play.waiting() {
            return Ok(Playing::Waiting(signal));
        }
        if play.reading.is_some() || play.found.is_some() {
            return self.bring_in(play);
        }
        let recording = std::mem::take(&mut play.recording);
        let scopes = Scopes::open(&self.device);
        let advanced = self.advance(&recording, play);
        play.troubles.watch(scopes, &self.health);
        play.recording = recording;
        // Natively, what the scopes caught is known at once.
        self.health.check()?;
        self.untroubled(play)?;
        advanced
    }

    /// Takes what was mapped, and gives it as soon as it is known that nothing went wrong: what is computed of a buffer that memory was
    /// refused for are zeros.
    fn bring_in(&mut self, play: &mut Play) -> Result<Playing, DeviceError> {
        if let Some((readback, kind, len)) = play.reading.take() {
            play.found = Some(readback.take(kind, len).ok_or_else(not_mapped)?);
            if !play.is_glance {
                self.counters.readbacks += 1;
                self.counters.bytes_read_back += len as u64 * if kind == Kind::Double { 2 * ELEMENT } else { ELEMENT };
            }
        }
        Ok(match play.troubles.pending() {
            Some(signal) => Playing::Waiting(signal),
            None => Playing::Finished(play.found.take().unwrap_or_default()),
        })
    }

    /// Fails with what is known to be wrong with a recording: first of all, with the refusal of a buffer that it names.
    fn untroubled(&mut self, play: &Play) -> Result<(), DeviceError> {
        if self.has_refused() {
            self.unrefused(&play.recording)?;
        }
        let Some((out_of_memory, message)) = play.troubles.first() else { return Ok(()) };
        if *out_of_memory {
            // Of what recordings borrow, nobody can tell which buffers are there.
            self.params.forget();
            self.readbacks.forget();
            self.bind_groups.clear();
        }
        Err(trouble(*out_of_memory, message.clone()))
    }

    /// Fails with the refusal of a buffer that a recording names, if there is one.
    fn unrefused(&self, recording: &Recording) -> Result<(), DeviceError> {
        let refusal = recording.buffers().into_iter().find_map(|buffer| self.refusal(buffer));
        refusal.map_or(Ok(()), Err)
    }

    fn advance(&mut self, recording: &Recording, play: &mut Play) -> Result<Playing, DeviceError> {
        let params = match &play.params {
            Some(params) => params.clone(),
            None => {
                if let Some(signal) = self.compile(recording)? {
                    return Ok(Playing::Waiting(signal));
                }
                let params = self.lease_params(recording)?;
                play.params.insert(params).clone()
            }
        };
        let mut batch = Batch::default();
        while let Some(command) = recording.commands.get(play.command) {
            match command {
                Command::Repeat { body, max, until } => {
                    if let Some(signal) = self.repeat(&mut batch, play, &params, body, *max, *until)? {
                        return Ok(Playing::Waiting(signal));
                    }
                }
                Command::Read { slice } if play.command + 1 == recording.commands.len() => {
                    let kind = self.storage(slice.buffer)?.kind;
                    let place = self.place(slice.buffer, slice.offset)?;
                    let len = slice.len as usize;
                    if len == 0 {
                        self.counters.readbacks += 1;
                    } else {
                        let (readback, signal) = self.bring_back(&mut batch, &place, len);
                        play.reading = Some((readback, kind, len));
                        return Ok(Playing::Waiting(signal));
                    }
                }
                other => {
                    let mut steps = Vec::new();
                    self.resolve(other, &params, &mut play.block, &mut steps)?;
                    steps.iter().for_each(|step| self.encode(&mut batch, step));
                }
            }
            play.command += 1;
        }
        self.submit(&mut batch);
        Ok(Playing::Finished(Vec::new()))
    }

    /// Submits bodies until the flag is known to be set or `max` is reached; returns what to wait for before that.
    fn repeat(
        &mut self,
        batch: &mut Batch,
        play: &mut Play,
        params: &ParamsBuffer,
        body: &[Command],
        max: u32,
        until: (BufferId, u32),
    ) -> Result<Option<Signal>, DeviceError> {
        // 0 or not: the high part says it.
        let flag = self.place(until.0, until.1)?.without_low();
        let mut repeat = play.repeat.take().unwrap_or_else(|| {
            let signature = RepeatPacing::signature(body);
            let pace = self.paces.get(&signature).copied().unwrap_or_default();
            Repetition { signature, pace, played: 0, in_flight: VecDeque::new(), last_landed_ms: 0.0, done: false }
        });
        loop {
            repeat.look()?;
            if repeat.done || repeat.played >= max {
                break;
            }
            if let Some(signal) = repeat.waiting() {
                play.repeat = Some(repeat);
                return Ok(Some(signal));
            }
            let bodies = repeat.pace.chunk(repeat.played, max - repeat.played, body.len());
            self.bodies(batch, params, play.block, body, bodies)?;
            repeat.played += bodies;
            // Nobody asks for the flag of the last chunk.
            if repeat.played < max {
                let submitted_ms = now_ms();
                let (flag, _) = self.bring_back(batch, &flag, 1);
                self.internals.flag_reads += 1;
                repeat.in_flight.push_back(Chunk { flag, bodies, played: repeat.played, submitted_ms });
            }
        }
        if self.paces.len() >= MAX_PACES {
            self.paces.clear();
        }
        self.paces.insert(repeat.signature, repeat.pace);
        play.block += dispatches_of(body);
        Ok(None)
    }

    /// Encodes a body `times` times. Its uniform blocks begin at `block`, and are the same each time.
    fn bodies(
        &mut self,
        batch: &mut Batch,
        params: &ParamsBuffer,
        mut block: u32,
        body: &[Command],
        times: u32,
    ) -> Result<(), DeviceError> {
        let mut steps = Vec::with_capacity(body.len());
        for command in body {
            self.resolve(command, params, &mut block, &mut steps)?;
        }
        let before = self.counters.dispatches;
        for _ in 0..times {
            for step in &steps {
                self.encode(batch, step);
            }
        }
        self.counters.rounds += u64::from(times);
        self.counters.round_dispatches += self.counters.dispatches - before;
        Ok(())
    }

    /// Copies `len` elements to where the host can map them, of double-floats all high parts first, submits, and asks for the
    /// mapping.
    fn bring_back(&mut self, batch: &mut Batch, from: &Place, len: usize) -> (Arc<Readback>, Signal) {
        let parts: Vec<u64> = [Some(from.byte), from.low()].into_iter().flatten().collect();
        let (words, bytes) = (parts.len() * len, len as u64 * ELEMENT);
        let readback = self.readbacks.lease(&self.device, &mut self.internals, words);
        for (part, byte) in (0..).zip(parts) {
            batch.encoder(&self.device).copy_buffer_to_buffer(&from.buffer, byte, &readback.buffer, part * bytes, bytes);
        }
        let _submission = self.submit(batch);
        let (_landing, signal) = readback.map(words);
        #[cfg(not(target_arch = "wasm32"))]
        self.flying().push_back(Flight { landing: _landing, signal: signal.clone(), submission: _submission });
        (readback, signal)
    }

    fn lease_params(&mut self, recording: &Recording) -> Result<Arc<ParamsBuffer>, DeviceError> {
        let blocks = self.params_of(&recording.commands)?;
        let (params, retired) = self.params.lease(&self.device, &self.queue, &mut self.internals, blocks);
        if let Some(retired) = retired {
            self.bind_groups.retain(|key, _| key.params() != retired);
        }
        Ok(params)
    }

    /// Submits the whole recording without reading anything back: every `Repeat` to its `max`, and no `Read`.
    pub fn enqueue(&mut self, recording: &Recording) -> Result<(), DeviceError> {
        self.reap();
        self.health.check()?;
        if self.compile(recording)?.is_some() {
            return Err(DeviceError::Invalid("kernels are still being compiled; wait for `compile`".into()));
        }
        if self.has_refused() {
            self.unrefused(recording)?;
        }
        let scopes = Scopes::open(&self.device);
        let enqueued = self.enqueue_all(recording);
        self.settle(scopes);
        self.health.check().and(enqueued)
    }

    fn enqueue_all(&mut self, recording: &Recording) -> Result<(), DeviceError> {
        let params = self.lease_params(recording)?;
        let mut batch = Batch::default();
        let mut block = 0;
        for command in &recording.commands {
            match command {
                Command::Repeat { body, max, .. } => {
                    self.bodies(&mut batch, &params, block, body, *max)?;
                    block += dispatches_of(body);
                }
                Command::Read { .. } => {}
                other => {
                    let mut steps = Vec::new();
                    self.resolve(other, &params, &mut block, &mut steps)?;
                    steps.iter().for_each(|step| self.encode(&mut batch, step));
                }
            }
        }
        self.submit(&mut batch);
        Ok(())
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn flying(&self) -> std::sync::MutexGuard<'_, VecDeque<Flight>> {
        self.flights.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Natively, callbacks run when somebody polls, and signals are set by whoever polled.
    #[cfg(not(target_arch = "wasm32"))]
    fn reap(&mut self) {
        if self.disposed {
            return;
        }
        // Without a wait there is nothing that could fail.
        let _ = self.device.poll(wgpu::PollType::Poll);
        self.flying().retain(|flight| {
            let landed = flight.landing.has_landed();
            if landed {
                flight.signal.set();
            }
            !landed
        });
    }

    #[cfg(target_arch = "wasm32")]
    fn reap(&mut self) {}

    /// Blocks until the signal is set: waits for one submission after the other, the oldest first, so that the GPU
    /// goes on with the younger ones meanwhile.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn block_on(&mut self, signal: &Signal) -> Result<(), DeviceError> {
        loop {
            self.reap();
            if signal.is_set() {
                return Ok(());
            }
            self.health.check()?;
            let Some(submission_index) = self.flying().front().map(|oldest| oldest.submission.clone()) else {
                return Err(DeviceError::Invalid("a wait for a signal that nothing will set".into()));
            };
            let timeout = Some(std::time::Duration::from_secs(1));
            let wait = wgpu::PollType::Wait { submission_index, timeout };
            match self.device.poll(wait) {
                // After a timeout, the health tells whether it is worth to go on.
                Ok(_) | Err(wgpu::PollError::Timeout) => {}
                Err(error) => return Err(DeviceError::Lost(error.to_string())),
            }
        }
    }
}

/// The uniform blocks that a body has.
fn dispatches_of(body: &[Command]) -> u32 {
    body.iter().filter(|command| matches!(command, Command::Dispatch(_))).count() as u32
}

fn not_mapped() -> DeviceError {
    DeviceError::Lost("what it brought back could not be read".into())
}

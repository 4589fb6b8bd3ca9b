//! A recording's way through the stream.
//!
//! Runs of commands that need no host (dispatches, copies, clears) become CUDA graphs where they come again (`graphs.rs`). A
//! `Repeat` is played in chunks of bodies whose sizes `super::pace` finds, as on other GPUs.

use super::landing::FLAGS;
use super::products::Places;
use super::ranks::{self, Ranked};
use super::{CudaDevice, background, failed, graphs, waits};
use cudarc::driver::{DriverError, result, sys};
use leastwise_base::clock::now_ms;
use leastwise_base::parallel;
use leastwise_recording::repeat_pacing::RepeatPacing;
use leastwise_recording::{BufferId, Command, DeviceError, Dispatch, Grid, Kind, Multiply, Params, Playing, Recording, Slice};
use std::collections::VecDeque;
use std::ffi::c_void;
use wgsl_cuda::Parameter;

/// A recording that is to be played; it is played at once.
pub struct Play {
    recording: Recording,
    /// The command to go on with and, where it is a `Repeat` that a time slice ended within, how many bodies are played.
    next: usize,
    played: u32,
    read: Vec<f64>,
}

impl Play {
    /// A recording of which nothing has been played.
    pub fn new(recording: Recording) -> Self {
        Self { recording, next: 0, played: 0, read: Vec::new() }
    }

    /// The recording, while nothing of it has been played.
    pub fn unbegun(&self) -> Option<&Recording> {
        (self.next == 0 && self.played == 0).then_some(&self.recording)
    }
}

/// Kernels of a graph at most: a longer run of commands is several graphs.
const MAX_GRAPH_COMMANDS: usize = 2048;

/// Bodies of a `Repeat` that are on their way, when they were enqueued, and how many are played after them.
struct Chunk {
    slot: usize,
    bodies: u32,
    played: u32,
    begun_ms: f64,
}

/// What a kernel is launched with, in the order of its parameters.
struct Launch {
    function: sys::CUfunction,
    grid: (u32, u32, u32),
    block: (u32, u32, u32),
    params: Params,
    shared_bytes: u32,
    /// Place and number of elements of each bound slice.
    bound: Vec<(sys::CUdeviceptr, u32)>,
    parameters: Vec<Parameter>,
}

impl CudaDevice {
    /// Plays on once all kernels are there, and waits for what is read back. A slice ends between chunks of a `Repeat`, with none in flight.
    pub fn resume(&mut self, play: &mut Play, deadline_ms: f64) -> Result<Playing, DeviceError> {
        self.bind()?;
        let waiting = play.unbegun().map_or(Ok(None), |recording| self.compile(recording))?;
        if let Some(signal) = waiting {
            return Ok(Playing::Waiting(signal));
        }
        let mut recording = std::mem::take(&mut play.recording);
        let played = self.play(&mut recording.commands, play, deadline_ms);
        play.recording = recording;
        // Commands of other recordings know nothing of exchanges in the background.
        let joined = self.join_exchanges();
        let is_over = played?;
        joined?;
        Ok(if is_over { Playing::Finished(std::mem::take(&mut play.read)) } else { Playing::Yielded })
    }

    /// Plays the [prelude](Recording::into_prelude) of a recording of which nothing was played.
    pub fn abandon(&mut self, play: &mut Play) {
        if play.unbegun().is_some() {
            let prelude = std::mem::take(&mut play.recording).into_prelude();
            // Nobody waits for it. A context that is gone says so with its next use.
            let _ = self.enqueue(&prelude);
        }
    }

    /// Enqueues the whole recording: a `Repeat` runs its body `max` times, and a `Read` is left out.
    pub fn enqueue(&mut self, recording: &Recording) -> Result<(), DeviceError> {
        self.bind()?;
        if self.compile(recording)?.is_some() {
            return Err(DeviceError::Invalid("kernels are still being compiled; wait for `compile`".into()));
        }
        let enqueued = self.enqueue_commands(&recording.commands);
        // Commands of other recordings know nothing of exchanges in the background, also where one of these failed.
        let joined = self.join_exchanges();
        enqueued.and(joined)
    }

    fn enqueue_commands(&mut self, commands: &[Command]) -> Result<(), DeviceError> {
        let mut rest = commands;
        while let Some(command) = rest.first() {
            let run = self.run_of(rest)?;
            match command {
                Command::Repeat { body, max, until } => self.play_rounds(body, *max, self.place(until.0, until.1, 1)?.0)?,
                _ => self.begin(command)?,
            }
            rest = &rest[run.max(1)..];
        }
        Ok(())
    }

    /// True if it came to the end. Memory of uploads is given back meanwhile: nothing goes back to a command.
    fn play(&mut self, commands: &mut [Command], play: &mut Play, deadline_ms: f64) -> Result<bool, DeviceError> {
        while let Some(rest) = commands.get_mut(play.next..).filter(|rest| !rest.is_empty()) {
            let run = self.run_of(rest)?;
            match &mut rest[0] {
                Command::Repeat { body, max, until } => {
                    if !self.repeat(body, *max, *until, &mut play.played, deadline_ms)? {
                        return Ok(false);
                    }
                }
                Command::Read { slice } => play.read = self.read(*slice)?,
                command => {
                    self.begin(command)?;
                    background::give_back(command);
                }
            }
            play.next += run.max(1);
        }
        Ok(true)
    }

    /// Enqueues the commands that begin a recording and need nothing of the host; gives how many they are.
    fn run_of(&mut self, commands: &[Command]) -> Result<usize, DeviceError> {
        let run = commands.iter().take_while(|command| is_enqueued(command)).count().min(MAX_GRAPH_COMMANDS);
        if run > 0 {
            self.run(&commands[..run], 1)?;
        }
        Ok(run)
    }

    /// Begins a command that the host has a part in, without an answer: an upload, an exchange, or a wait for one. Others are left out.
    fn begin(&mut self, command: &Command) -> Result<(), DeviceError> {
        match command {
            Command::Collective(collective) => self.begin_exchange(collective),
            Command::Await(collective) => self.await_exchange(collective),
            Command::UploadReals { buffer, offset, data } => {
                self.upload_reals(*buffer, *offset, data, |value| *value, |value| *value as f32)
            }
            Command::UploadSingles { buffer, offset, data, first, len } => {
                let data = &data[*first..*first + *len as usize];
                self.upload_reals(*buffer, *offset, data, |value| f64::from(*value), |value| *value)
            }
            Command::UploadIndices { buffer, offset, data } => {
                let place = self.place(*buffer, *offset, data.len() as u64)?.0;
                self.upload(place, data, |index| *index)
            }
            _ => Ok(()),
        }
    }

    /// Enqueues rounds of a `Repeat` with this flag. Exchanges are no part of graphs.
    fn play_rounds(&mut self, body: &[Command], rounds: u32, until: sys::CUdeviceptr) -> Result<(), DeviceError> {
        if !ranks::has_exchanges(body) {
            return self.run_bodies(body, rounds);
        }
        for _ in 0..rounds {
            let mut rest = body;
            while let Some(command) = rest.first() {
                let run = self.run_of(rest)?;
                match command {
                    Command::Collective(collective) => self.exchange(collective, until)?,
                    _ if run == 0 => return Err(unvalidated()),
                    _ => {}
                }
                rest = &rest[run.max(1)..];
            }
        }
        Ok(())
    }

    /// Whether all is played that there is to play; `played` has the bodies.
    fn repeat(
        &mut self,
        body: &[Command],
        max: u32,
        until: (BufferId, u32),
        played: &mut u32,
        deadline_ms: f64,
    ) -> Result<bool, DeviceError> {
        let (flag, _) = self.place(until.0, until.1, 1)?;
        // Ranks enqueue the same exchanges, so nothing here may depend on a clock.
        let is_ranked = ranks::has_exchanges(body);
        let key = RepeatPacing::signature(body);
        let mut pace = self.paces.get(&key).copied().unwrap_or_default();
        // Between two slices, somebody may have set it.
        let mut is_over = *played > 0 && {
            self.land(flag, 0)?;
            self.landed(0)?
        };
        let (mut chunk, mut last_landed_ms) = (0, 0.0f64);
        let mut in_flight: VecDeque<Chunk> = VecDeque::new();
        while !is_over {
            // However short a slice is, it gets on.
            let is_late = chunk > 0 && !is_ranked && now_ms() > deadline_ms;
            let abreast = |played: u32| if is_ranked { FLAGS } else { pace.in_flight(played).min(FLAGS) };
            while !is_late && *played < max && (in_flight.is_empty() || in_flight.len() < abreast(*played)) {
                let left = max - *played;
                let bodies = if is_ranked { ranks::rounds(*played, left) } else { pace.chunk(*played, left, body.len()) };
                let (begun_ms, before) = (now_ms(), self.counters.dispatches);
                self.play_rounds(body, bodies, flag)?;
                self.counters.rounds += u64::from(bodies);
                self.counters.round_dispatches += self.counters.dispatches - before;
                *played += bodies;
                self.land(flag, chunk % FLAGS)?;
                in_flight.push_back(Chunk { slot: chunk % FLAGS, bodies, played: *played, begun_ms });
                chunk += 1;
            }
            let Some(Chunk { slot, bodies, played: rounds, begun_ms }) = in_flight.pop_front() else {
                // All are played, or the slice is over.
                is_over = *played >= max;
                break;
            };
            is_over = self.landed(slot)?;
            let landed_ms = now_ms();
            if is_over {
                pace.finished(rounds);
            } else {
                // Only chunks that worked to their end: past the flag, bodies take little time.
                pace.measured(landed_ms - begun_ms.max(last_landed_ms), bodies, last_landed_ms > begun_ms);
            }
            last_landed_ms = landed_ms;
        }
        // What is in flight still lands in its slot: it must have before the next Repeat uses it.
        for Chunk { slot, .. } in in_flight {
            self.landed(slot)?;
        }
        self.paces.insert(key, pace);
        if is_over {
            *played = 0;
        }
        Ok(is_over)
    }

    /// Has the flag copied into a slot of the pinned memory.
    fn land(&mut self, flag: sys::CUdeviceptr, slot: usize) -> Result<(), DeviceError> {
        let bytes = self.precision.bytes() as usize;
        // SAFETY: the slot's last reader has waited for its event.
        unsafe {
            let to = self.landing.flags.add(slot);
            to.write(0.0);
            let to = std::slice::from_raw_parts_mut(to.cast::<u8>(), bytes);
            result::memcpy_dtoh_async(to, flag, self.stream.cu_stream()).map_err(failed)?;
            result::event::record(self.landing.events[slot], self.stream.cu_stream()).map_err(failed)
        }
    }

    /// Waits for a slot; whether its flag is set.
    fn landed(&self, slot: usize) -> Result<bool, DeviceError> {
        // SAFETY: the event was recorded after the copy into this slot.
        unsafe {
            waits::wait_for_event(self.landing.events[slot], "the flag of inner iterations", self.exchanges())?;
            Ok(self.landing.flags.add(slot).cast::<u64>().read() != 0)
        }
    }

    /// Gives the number of kernels.
    pub(super) fn enqueue_all(&self, commands: &[Command], bodies: u32) -> Result<u64, DeviceError> {
        let mut dispatches = 0;
        for _ in 0..bodies {
            for command in commands {
                dispatches += self.enqueue_command(command)?;
            }
        }
        Ok(dispatches)
    }

    /// Gives the number of kernels.
    fn enqueue_command(&self, command: &Command) -> Result<u64, DeviceError> {
        let stream = self.stream.cu_stream();
        match command {
            Command::Clear { slice } => {
                let (place, bytes) = self.place(slice.buffer, slice.offset, slice.len.into())?;
                if bytes > 0 {
                    // SAFETY: `place` checked that the slice is inside its buffer.
                    unsafe { result::memset_d8_async(place, 0, bytes as usize, stream) }.map_err(failed)?;
                }
                Ok(0)
            }
            Command::Copy { from, to } => {
                let (source, bytes) = self.place(from.buffer, from.offset, from.len.into())?;
                let (target, _) = self.place(to.buffer, to.offset, to.len.into())?;
                if bytes > 0 {
                    // SAFETY: as above, for both.
                    unsafe { result::memcpy_dtod_async(target, source, bytes as usize, stream) }.map_err(failed)?;
                }
                Ok(0)
            }
            Command::Dispatch(dispatch) => {
                let launches = self.launches(dispatch)?;
                let count = launches.len() as u64;
                launches.into_iter().try_for_each(|launch| self.launch(launch))?;
                Ok(count)
            }
            Command::Multiply(multiply) => {
                self.multiply(multiply)?;
                Ok(1)
            }
            _ => Err(DeviceError::Invalid("a command that is not enqueued".into())),
        }
    }

    fn multiply(&self, multiply: &Multiply) -> Result<(), DeviceError> {
        let Multiply { form, left, right, out, bias } = multiply;
        let place = |slice: &Slice| self.place(slice.buffer, slice.offset, slice.len.into()).map(|(place, _)| place);
        let bias = bias.as_ref().map(place).transpose()?;
        let places = Places { left: place(left)?, right: place(right)?, out: place(out)?, bias };
        let Some(products) = &self.products else { return Err(DeviceError::Invalid("a product that was not prepared".into())) };
        // SAFETY: validation saw that the form's entries lie within the slices, and `place` that these lie within their buffers.
        unsafe { products.enqueue(form, &places, self.stream.cu_stream()) }
    }

    /// The launches of a dispatch, one for each part of its kernel; none when there is nothing to do.
    fn launches(&self, dispatch: &Dispatch) -> Result<Vec<Launch>, DeviceError> {
        let kernel = self.kernels.get(dispatch.kernel)?;
        let Some(Grid { x, y, params }) = dispatch.grid(&self.limits)? else { return Ok(Vec::new()) };
        let stand_in = kernel
            .variants
            .iter()
            .find_map(|(variant, part)| Some((std::slice::from_ref(part), variant.shared_bytes(&dispatch.words, self.shared_bytes)?)));
        let (parts, shared_bytes) = stand_in.unwrap_or((&kernel.parts, 0));
        parts
            .iter()
            .map(|part| {
                let mut bound = Vec::new();
                for parameter in &part.parameters {
                    let Parameter::Storage { binding: slot, .. } = *parameter else { continue };
                    let slice = dispatch.bindings.get(slot as usize).copied().flatten().ok_or_else(unvalidated)?;
                    // An empty slice is bound as one element: every buffer has room for that.
                    bound.push((self.place(slice.buffer, slice.offset, slice.len.into())?.0, slice.len.max(1)));
                }
                let (grid, block) = ((x, y, 1), (self.limits.group_size, 1, 1));
                Ok(Launch { function: part.function, grid, block, params, shared_bytes, bound, parameters: part.parameters.clone() })
            })
            .collect()
    }

    fn launch(&self, mut launch: Launch) -> Result<(), DeviceError> {
        let mut arguments: Vec<*mut c_void> = Vec::new();
        let mut bound = launch.bound.iter_mut();
        for parameter in &launch.parameters {
            match parameter {
                Parameter::Uniform { .. } => arguments.push((&raw mut launch.params).cast()),
                Parameter::Storage { .. } => {
                    let Some((place, count)) = bound.next() else { continue };
                    arguments.push((place as *mut sys::CUdeviceptr).cast());
                    arguments.push((count as *mut u32).cast());
                }
            }
        }
        // SAFETY: the arguments are those that the kernel declares, in order, and the driver copies them before it returns; every
        // slice was found to be inside its buffer.
        unsafe {
            let Launch { function, grid, block, shared_bytes, .. } = launch;
            result::launch_kernel(function, grid, block, shared_bytes, self.stream.cu_stream(), &mut arguments)
        }
        .map_err(failed)
    }

    /// Where elements of a buffer begin, and their bytes. Nothing else makes addresses, so the range is looked at again.
    pub(super) fn place(&self, buffer: BufferId, offset: u32, len: u64) -> Result<(sys::CUdeviceptr, u64), DeviceError> {
        let storage = self.storage(buffer)?;
        if u64::from(offset) + len > u64::from(storage.len) {
            return Err(unvalidated());
        }
        let each = self.element_bytes(storage.kind);
        Ok((storage.place + u64::from(offset) * each, len * each))
    }

    /// Uploads numbers in the device's precision.
    fn upload_reals<T: Sync>(
        &mut self,
        buffer: BufferId,
        offset: u32,
        data: &[T],
        double: impl Fn(&T) -> f64 + Sync,
        single: impl Fn(&T) -> f32 + Sync,
    ) -> Result<(), DeviceError> {
        let (place, _) = self.place(buffer, offset, data.len() as u64)?;
        if self.element_bytes(Kind::Real) == 8 { self.upload(place, data, double) } else { self.upload(place, data, single) }
    }

    /// Uploads what `to` makes of the elements, to a place that they fit.
    fn upload<T: Sync, U: Send>(&mut self, place: sys::CUdeviceptr, data: &[T], to: impl Fn(&T) -> U + Sync) -> Result<(), DeviceError> {
        // SAFETY: `place` checked that so many elements fit.
        unsafe { self.staging.send(self.stream.cu_stream(), place, data, to, self.ranks.as_ref().and_then(Ranked::exchanges)) }?;
        self.counters.bytes_uploaded += (data.len() * size_of::<U>()) as u64;
        Ok(())
    }

    fn read(&mut self, slice: Slice) -> Result<Vec<f64>, DeviceError> {
        let kind = self.storage(slice.buffer)?.kind;
        let (place, _) = self.place(slice.buffer, slice.offset, slice.len.into())?;
        let (len, each) = (slice.len as usize, self.element_bytes(kind) as usize);
        if !self.landing.has_room(len * each) {
            self.settle()?;
        }
        let mut pageable: Vec<u64> = Vec::new();
        let landing = {
            let _apart = graphs::between_captures();
            match self.landing.reals(len * each) {
                // The driver brings what can't be pinned through pinned memory of its own.
                Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                    pageable = vec![0; (len * each).div_ceil(size_of::<u64>())];
                    pageable.as_mut_ptr().cast()
                }
                reals => reals.map_err(failed)?,
            }
        };
        if !pageable.is_empty() {
            // The copy itself waits for what is enqueued before it, without end.
            self.wait_for_stream("a readback", waits::longest())?;
        }
        // SAFETY: the landing holds as many bytes, and is looked at after the stream has come so far.
        unsafe {
            let bytes = std::slice::from_raw_parts_mut(landing.cast::<u8>(), len * each);
            result::memcpy_dtoh_async(bytes, place, self.stream.cu_stream()).map_err(failed)?;
        }
        self.wait_for_stream("a readback", waits::longest())?;
        self.counters.readbacks += 1;
        self.counters.bytes_read_back += (len * each) as u64;
        // SAFETY: as above; either memory is aligned to 8 bytes at least.
        Ok(unsafe {
            match (kind, each) {
                (Kind::Index, _) => parallel::converted(std::slice::from_raw_parts(landing.cast::<u32>(), len), |value| f64::from(*value)),
                (_, 8) => parallel::copy(std::slice::from_raw_parts(landing.cast::<f64>(), len)),
                _ => parallel::converted(std::slice::from_raw_parts(landing.cast::<f32>(), len), |value| f64::from(*value)),
            }
        })
    }
}

/// Validation lets nothing come here; a recording that was started on another device does.
pub(super) fn unvalidated() -> DeviceError {
    DeviceError::Invalid("it was validated for another device".into())
}

/// Whether a command needs nothing of the host.
fn is_enqueued(command: &Command) -> bool {
    matches!(command, Command::Clear { .. } | Command::Copy { .. } | Command::Dispatch(_) | Command::Multiply(_))
}

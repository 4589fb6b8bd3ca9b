//! Playing a recording on the CPU, a time slice at a time.

use super::bindings::Slot;
use super::{Bindings, Body, CpuDevice, DeviceError, Evaluator, Kernel, Storage, Workgroups};
use crate::block::threads;
use crate::real::Real;
use leastwise_base::clock::now_ms;
use leastwise_recording::{Access, BufferId, Command, Dispatch, Params, Playing, Precision, Recording, Slice, binding};
use std::cell::{Ref, RefMut};

/// A recording on its way: which command is next, in which repetition, from which workgroup.
pub struct Play {
    recording: Recording,
    command: usize,
    /// Next command of the current `Sequence`.
    within: usize,
    /// Next command of the current `Repeat`'s body, and how often the body has run.
    inner: usize,
    rounds: u32,
    /// Next workgroup of the current dispatch.
    group: u32,
    /// Items since the last look at the clock, and whether the deadline had passed before anything was played.
    spent: u32,
    is_urged: bool,
    /// True once it was counted as a submission.
    begun: bool,
    read: Vec<f64>,
}

impl Play {
    /// Counts a command of so many items; true if the deadline has passed, as far as the clock was looked at.
    fn is_late(&mut self, items: u32, deadline_ms: f64) -> bool {
        if self.is_urged {
            return true;
        }
        self.spent = self.spent.saturating_add(items.max(ITEMS_PER_COMMAND));
        if self.spent < ITEMS_PER_SLICE || deadline_ms == f64::INFINITY {
            return false;
        }
        self.spent = 0;
        now_ms() > deadline_ms
    }

    /// A recording of which nothing has been played.
    pub fn new(recording: Recording) -> Self {
        Self { recording, command: 0, within: 0, inner: 0, rounds: 0, group: 0, spent: 0, is_urged: false, begun: false, read: Vec::new() }
    }
}

/// Items between two looks at the clock, on one thread; and what each of several does, since all of them wait
/// for the last before the clock is looked at.
const ITEMS_PER_SLICE: u32 = 8192;
const ITEMS_PER_THREAD: u32 = 4 * ITEMS_PER_SLICE;

/// Items that a command counts for at least: in a page a look at the clock takes longer than a small one.
const ITEMS_PER_COMMAND: u32 = ITEMS_PER_SLICE / 16;

/// Steps of a program that are counted as an item, and elements that are moved in the time of one.
const STEPS_PER_ITEM: u32 = 64;
const ELEMENTS_PER_ITEM: u32 = 8;

/// Looks at the clock come no closer, where how much work an item is depends on sizes. (Results don't depend on slices.) Products of
/// tensors pack a factor for every slice.
const LEAST_SLICE_MS: f64 = 1.0;
const LEAST_FUSED_MS: f64 = 4.0;

impl CpuDevice {
    /// Plays until the recording ends or `deadline_ms` ([`now_ms`]) has passed. At least one part is played.
    ///
    /// # Errors
    /// [`DeviceError::Invalid`] for a recording that was validated for another device.
    pub fn resume(&mut self, play: &mut Play, deadline_ms: f64) -> Result<Playing, DeviceError> {
        play.is_urged = deadline_ms != f64::INFINITY && now_ms() > deadline_ms;
        let recording = std::mem::take(&mut play.recording);
        let result = self.resume_commands(&recording, play, deadline_ms);
        play.recording = recording;
        result
    }

    fn resume_commands(&mut self, recording: &Recording, play: &mut Play, deadline_ms: f64) -> Result<Playing, DeviceError> {
        if play.command == 0 && play.inner == 0 && play.group == 0 && !play.begun {
            play.begun = true;
            self.counters.submissions += 1;
        }
        if !self.fill(deadline_ms) {
            return Ok(Playing::Yielded);
        }
        while let Some(outer) = recording.commands.get(play.command) {
            let command = match outer {
                Command::Sequence(sequence) => match sequence.commands().get(play.within) {
                    Some(command) => command,
                    None => {
                        (play.command, play.within) = (play.command + 1, 0);
                        continue;
                    }
                },
                command => command,
            };
            let finished = match command {
                Command::Repeat { body, max, until } => self.repeat(body, *max, *until, play, deadline_ms)?,
                other => self.command(other, play, deadline_ms)?,
            };
            if !finished {
                return Ok(Playing::Yielded);
            }
            let next = if matches!(outer, Command::Sequence(_)) { &mut play.within } else { &mut play.command };
            *next += 1;
            if play.is_late(self.items(command), deadline_ms) && play.command < recording.commands.len() {
                return Ok(Playing::Yielded);
            }
        }
        Ok(Playing::Finished(std::mem::take(&mut play.read)))
    }

    fn repeat(
        &mut self,
        body: &[Command],
        max: u32,
        until: (BufferId, u32),
        play: &mut Play,
        deadline_ms: f64,
    ) -> Result<bool, DeviceError> {
        while play.rounds < max {
            if play.inner == 0 && play.group == 0 && self.element(until)? != 0.0 {
                break;
            }
            while let Some(command) = body.get(play.inner) {
                if !self.command(command, play, deadline_ms)? {
                    return Ok(false);
                }
                play.inner += 1;
            }
            play.inner = 0;
            play.rounds += 1;
            let items = body.iter().fold(0, |sum: u32, command| sum.saturating_add(self.items(command).max(ITEMS_PER_COMMAND)));
            self.counters.rounds += 1;
            self.counters.round_dispatches += body.iter().filter(|command| matches!(command, Command::Dispatch(_))).count() as u64;
            if play.is_late(items, deadline_ms) {
                return Ok(false);
            }
        }
        play.rounds = 0;
        Ok(true)
    }

    /// Work of a command, in items of a small program.
    fn items(&self, command: &Command) -> u32 {
        match command {
            Command::Dispatch(dispatch) => match self.kernels.list.get(dispatch.kernel.0 as usize).and_then(Kernel::body) {
                Some(Body::Twin(twin)) if !twin.heavy => dispatch.count,
                Some(Body::Program(program)) => dispatch.count.saturating_mul(program.length().div_ceil(STEPS_PER_ITEM)),
                _ => u32::MAX,
            },
            Command::Clear { slice } | Command::Read { slice } | Command::Copy { from: slice, .. } => slice.len / ELEMENTS_PER_ITEM,
            Command::UploadReals { data, .. } => data.len() as u32 / ELEMENTS_PER_ITEM,
            Command::UploadIndices { data, .. } => data.len() as u32 / ELEMENTS_PER_ITEM,
            Command::UploadSingles { len, .. } => len / ELEMENTS_PER_ITEM,
            Command::Multiply(_) | Command::Repeat { .. } | Command::Sequence(_) => u32::MAX,
            #[cfg(not(target_arch = "wasm32"))]
            Command::Collective(_) => u32::MAX,
            #[cfg(not(target_arch = "wasm32"))]
            Command::Await(_) => 0,
        }
    }

    /// Whether the command is done; if not, the time slice ended within it.
    fn command(&mut self, command: &Command, play: &mut Play, deadline_ms: f64) -> Result<bool, DeviceError> {
        match command {
            Command::UploadReals { buffer, offset, data } => {
                let range = *offset as usize..*offset as usize + data.len();
                match &mut *self.buffer(*buffer)?.storage.borrow_mut() {
                    Storage::F32(values) => values[range].iter_mut().zip(data).for_each(|(to, from)| *to = *from as f32),
                    Storage::F64(values) => values[range].copy_from_slice(data),
                    Storage::Index(_) => return Err(unplayable()),
                }
                self.counters.bytes_uploaded += data.len() as u64 * self.precision.bytes();
            }
            Command::UploadSingles { buffer, offset, data, first, len } => {
                let data = &data[*first..*first + *len as usize];
                let range = *offset as usize..*offset as usize + data.len();
                match &mut *self.buffer(*buffer)?.storage.borrow_mut() {
                    Storage::F32(values) => values[range].copy_from_slice(data),
                    Storage::F64(values) => values[range].iter_mut().zip(data).for_each(|(to, from)| *to = f64::from(*from)),
                    Storage::Index(_) => return Err(unplayable()),
                }
                self.counters.bytes_uploaded += data.len() as u64 * self.precision.bytes();
            }
            Command::UploadIndices { buffer, offset, data } => {
                let range = *offset as usize..*offset as usize + data.len();
                match &mut *self.buffer(*buffer)?.storage.borrow_mut() {
                    Storage::Index(values) => values[range].copy_from_slice(data),
                    _ => return Err(unplayable()),
                }
                self.counters.bytes_uploaded += data.len() as u64 * 4;
            }
            Command::Clear { slice } => match &mut *self.buffer(slice.buffer)?.storage.borrow_mut() {
                Storage::F32(values) => values[range(*slice)].fill(0.0),
                Storage::F64(values) => values[range(*slice)].fill(0.0),
                Storage::Index(values) => values[range(*slice)].fill(0),
            },
            Command::Copy { from, to } => {
                let source = self.buffer(from.buffer)?.storage.borrow();
                let mut target = self.buffer(to.buffer)?.storage.borrow_mut();
                match (&*source, &mut *target) {
                    (Storage::F32(a), Storage::F32(b)) => b[range(*to)].copy_from_slice(&a[range(*from)]),
                    (Storage::F64(a), Storage::F64(b)) => b[range(*to)].copy_from_slice(&a[range(*from)]),
                    (Storage::Index(a), Storage::Index(b)) => b[range(*to)].copy_from_slice(&a[range(*from)]),
                    _ => return Err(unplayable()),
                }
            }
            Command::Dispatch(dispatch) => return self.dispatch(dispatch, play, deadline_ms),
            // There is no library for products, and a Repeat is played by `repeat`, a Sequence command by command.
            Command::Multiply(_) | Command::Repeat { .. } | Command::Sequence(_) => return Err(unplayable()),
            #[cfg(not(target_arch = "wasm32"))]
            Command::Collective(collective) => self.exchange(collective)?,
            // Each exchange is over where it stands.
            #[cfg(not(target_arch = "wasm32"))]
            Command::Await(_) => {}
            Command::Read { slice } => {
                let bytes = u64::from(slice.len) * self.bytes_of(self.buffer(slice.buffer)?.kind);
                play.read = self.elements(*slice)?;
                self.counters.readbacks += 1;
                self.counters.bytes_read_back += bytes;
            }
        }
        Ok(true)
    }

    /// The elements of a slice as they are now.
    pub fn elements(&self, slice: Slice) -> Result<Vec<f64>, DeviceError> {
        Ok(match &*self.buffer(slice.buffer)?.storage.borrow() {
            Storage::F32(values) => values.get(range(slice)).ok_or_else(unplayable)?.iter().map(|value| f64::from(*value)).collect(),
            Storage::F64(values) => values.get(range(slice)).ok_or_else(unplayable)?.to_vec(),
            Storage::Index(values) => values.get(range(slice)).ok_or_else(unplayable)?.iter().map(|value| f64::from(*value)).collect(),
        })
    }

    fn dispatch(&mut self, dispatch: &Dispatch, play: &mut Play, deadline_ms: f64) -> Result<bool, DeviceError> {
        let group_size = self.limits.group_size;
        let groups = if dispatch.single_group { 1 } else { dispatch.count.div_ceil(group_size) };
        if play.group == 0 {
            self.counters.dispatches += 1;
        }
        let kernel = self.kernels.list.get(dispatch.kernel.0 as usize).ok_or_else(unplayable)?;
        let Some(body) = kernel.body() else {
            let message = "the CPU runs programs and twins of shaders, and this is text".into();
            return Err(DeviceError::Kernel { kernel: kernel.interface.name.clone(), message });
        };
        let access = &kernel.interface.access;
        let params = Params { count: dispatch.count, grid_width: groups * group_size, zero: 0, group_count: groups, words: dispatch.words };
        let items = match (body, threads() as u32) {
            _ if deadline_ms == f64::INFINITY => u32::MAX,
            (Body::Twin(twin), threads) if twin.heavy => group_size * threads,
            (Body::Fused(program), threads) if program.is_heavy() => group_size * threads,
            (Body::Fit(fits), threads) => fits.slice(dispatch.words).max(group_size).saturating_mul(threads),
            (Body::Fused(program), 1) => program.slice(),
            (_, 1) => ITEMS_PER_SLICE,
            // In wasm a share of so few items would not be worth handing over.
            (Body::Twin(_), _) if cfg!(not(target_arch = "wasm32")) => ITEMS_PER_SLICE,
            (_, threads) => ITEMS_PER_THREAD.saturating_mul(threads),
        };
        let mut step = (items / group_size).max(1);
        let is_heavy = match body {
            Body::Twin(twin) => twin.heavy,
            Body::Fused(program) => program.is_heavy(),
            Body::Fit(_) => true,
            Body::Program(_) | Body::Tiles(_) | Body::Reduced(_) | Body::Merged(_) => false,
        };
        let least_ms = if matches!(body, Body::Fused(_)) { LEAST_FUSED_MS } else { LEAST_SLICE_MS };
        let evaluator = self.evaluator(body, dispatch);
        while play.group < groups {
            let begun_ms = if is_heavy { now_ms() } else { 0.0 };
            let end = play.group.saturating_add(step).min(groups);
            let work = Workgroups { params, group_size, groups: play.group..end };
            match self.precision {
                Precision::F32 => self.run::<f32>(&body.in_f32(evaluator), &work, dispatch, access)?,
                Precision::F32x2 | Precision::F64 => self.run::<f64>(&body.in_f64(evaluator), &work, dispatch, access)?,
            }
            play.group = end;
            if end == groups {
                break;
            }
            let now = now_ms();
            if now > deadline_ms {
                return Ok(false);
            }
            if is_heavy && now - begun_ms < least_ms {
                step *= 2;
            }
        }
        play.group = 0;
        Ok(true)
    }

    fn run<R: Real>(
        &self,
        body: &dyn Fn(&Workgroups, Bindings<R>),
        work: &Workgroups,
        dispatch: &Dispatch,
        access: &[Access; binding::COUNT],
    ) -> Result<(), DeviceError> {
        let mut guards: [Guard; binding::COUNT] = Default::default();
        for (slot, guard) in guards.iter_mut().enumerate() {
            // What is empty may be bound twice.
            let Some(slice) = dispatch.bindings[slot].filter(|slice| access[slot] != Access::Unused && slice.len > 0) else { continue };
            let storage = &self.buffer(slice.buffer)?.storage;
            *guard =
                if access[slot] == Access::Read { Guard::Read(storage.borrow(), slice) } else { Guard::Write(storage.borrow_mut(), slice) };
        }
        let mut slots: [Slot<R>; binding::COUNT] = std::array::from_fn(|_| Slot::Empty);
        for (slot, guard) in slots.iter_mut().zip(&mut guards) {
            *slot = match guard {
                Guard::None => Slot::Empty,
                Guard::Read(storage, slice) => match &**storage {
                    Storage::Index(values) => Slot::Index(&values[range(*slice)]),
                    other => Slot::Read(&R::of(other).ok_or_else(unplayable)?[range(*slice)]),
                },
                Guard::Write(storage, slice) => match &mut **storage {
                    Storage::Index(values) => Slot::IndexWrite(&mut values[range(*slice)]),
                    other => Slot::Write(&mut R::of_mut(other).ok_or_else(unplayable)?[range(*slice)]),
                },
            };
        }
        body(work, Bindings { slots });
        Ok(())
    }

    fn element(&self, (buffer, element): (BufferId, u32)) -> Result<f64, DeviceError> {
        match &*self.buffer(buffer)?.storage.borrow() {
            Storage::F32(values) => Ok(f64::from(values[element as usize])),
            Storage::F64(values) => Ok(values[element as usize]),
            Storage::Index(_) => Err(unplayable()),
        }
    }
}

impl Body {
    fn in_f32(&self, evaluator: Evaluator) -> impl Fn(&Workgroups, Bindings<f32>) {
        move |work, bindings| match self {
            Body::Twin(twin) => (twin.f32)(work, bindings),
            Body::Program(program) => program.run(work, bindings, evaluator),
            Body::Tiles(program) => program.run(work, bindings, evaluator),
            Body::Reduced(program) => program.run(work, bindings, evaluator),
            Body::Merged(program) => program.run(work, bindings),
            Body::Fused(program) => program.run(work, bindings),
            Body::Fit(fits) => fits.run(work, bindings, evaluator),
        }
    }

    fn in_f64(&self, evaluator: Evaluator) -> impl Fn(&Workgroups, Bindings<f64>) {
        move |work, bindings| match self {
            Body::Twin(twin) => (twin.f64)(work, bindings),
            Body::Program(program) => program.run(work, bindings, evaluator),
            Body::Tiles(program) => program.run(work, bindings, evaluator),
            Body::Reduced(program) => program.run(work, bindings, evaluator),
            Body::Merged(program) => program.run(work, bindings),
            Body::Fused(program) => program.run(work, bindings),
            Body::Fit(fits) => fits.run(work, bindings, evaluator),
        }
    }
}

#[derive(Default)]
enum Guard<'a> {
    #[default]
    None,
    Read(Ref<'a, Storage>, Slice),
    Write(RefMut<'a, Storage>, Slice),
}

fn range(slice: Slice) -> std::ops::Range<usize> {
    slice.offset as usize..slice.offset as usize + slice.len as usize
}

/// Validation lets nothing come here; a recording that was started on another device does.
pub(super) fn unplayable() -> DeviceError {
    DeviceError::Invalid("it was validated for another device".into())
}

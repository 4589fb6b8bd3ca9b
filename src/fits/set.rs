//! Fits whose data stay on a device: uploads, runs of launches with compaction between them, starts, and what fits came to.

use super::layout::{Places, RUN, counted, total, upload, upload_data};
use super::sharing::Sharing;
use super::{FitData, Fitting, Options, Values};
use leastwise_device::{
    BufferId, Command, Device, Dispatch, KernelId, Kind, Play, Playing, Precision, Profile, Recording, Slice, StaticKernels, binding,
};
use leastwise_error::Error;
use leastwise_kernels::fits::{
    self, Begin, BeginBindings, Compact, CompactBindings, Keep, KeepBindings, Offsets, OffsetsBindings, Tally, TallyBindings,
};
use leastwise_program::{FitArguments, FitLayout};

/// Fits of a set at most: their number is kept in f32 as well, on the device.
const MOST: u32 = 1 << 24;

/// Operations of a launch on a GPU, about, and of what the CPU does of one between two looks at the clock.
const LAUNCH: u64 = 1 << 37;
const SLICE: u64 = 1 << 26;

/// Iterations of a launch: on the CPU a fit that is at its end makes room for the next one.
const CPU_ROUNDS: (u64, u64) = (4, 32);
const GPU_ROUNDS: u64 = 16;

/// Fits whose slices are looked at between two looks at the clock.
const CPU_FITS: u64 = 256;

/// Start values of fits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    /// At their starting values.
    Start,
    /// At the parameters that they have.
    Values,
}

/// Starts to be tried.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'a> {
    /// A row of all parameters for each.
    pub rows: &'a [f64],
    /// Bits of the parameters that they give; the others begin at their starting values. A bit stands for one of the first 32.
    pub given: u32,
    /// True if fits are made from each of them; else from the one with the lowest objective.
    pub fitted: bool,
}

impl Candidates<'_> {
    /// None: fits begin at their starting values.
    pub const NONE: Candidates<'static> = Candidates { rows: &[], given: 0, fitted: false };
}

/// Recording that is being played.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Idle,
    /// Uploads, or all that was asked for: its end is the call's.
    Last,
    /// Objectives at candidates.
    Search,
    /// A launch, which ends in reading how many fits run on.
    Launch,
}

/// Candidates on their way.
struct Search {
    candidates: u32,
    /// The next of them, and the given parameters.
    next: u32,
    given: u32,
    fitted: bool,
}

/// Fits on a device.
pub struct FitSet {
    kernel: KernelId,
    pub(crate) others: StaticKernels,
    pub(crate) layout: FitLayout,
    precision: Precision,
    pub(crate) args: FitArguments,
    /// Iterations of a launch.
    rounds: u32,
    /// Operations of an evaluation of all fits.
    evaluation: u64,
    pub(crate) count: u32,
    /// Fits that are not at their end.
    running: u32,
    /// Number of the list that has them.
    list: usize,
    places: Places,
    pub(crate) data: Slice,
    pub(crate) fields: Slice,
    table: Slice,
    /// One number: the fits that run on.
    left: Slice,
    /// Starting values, and how many numbers they are.
    starts: Slice,
    /// True if each fit has starting values of its own.
    each_start: bool,
    pub(crate) bounds: Option<Slice>,
    pub(crate) offsets: Option<Slice>,
    /// Candidates, and the best fields: of a run that has some.
    tried: Option<(Slice, Slice)>,
    search: Search,
    /// Of sets with shared parameters.
    pub(crate) sharing: Option<Sharing>,
    buffers: Vec<BufferId>,
    /// Uploads that the next recording begins with.
    pub(crate) pending: Recording,
    stage: Stage,
    play: Option<Play>,
}

pub(crate) fn allocated(device: &mut Device, buffers: &mut Vec<BufferId>, kind: Kind, len: u64, what: &str) -> Result<Slice, Error> {
    let len = len.max(1) as u32;
    let buffer = device.allocate(kind, len, what)?;
    buffers.push(buffer);
    Ok(Slice { buffer, offset: 0, len })
}

impl FitSet {
    pub(crate) fn new(fitting: &Fitting, device: &mut Device, data: &FitData) -> Result<Self, Error> {
        let layout = fitting.layout().clone();
        let FitData { count, points, offsets, .. } = *data;
        if count == 0 || count > MOST || count > fitting.capacity(device, points) && offsets.is_empty() {
            return Err(Error::Limits(format!("fit(): a run of {count} fits of {points} points, where there is no room for so many")));
        }
        let total = total(&layout, data)?;
        let each = u32::from(layout.bounded && data.bounds.len() as u64 != 2 * u64::from(layout.free_count()));
        let limits = device.limits();
        let (length, fields) = (layout.data(points.into(), total), u64::from(layout.fields()) * u64::from(count));
        let room = limits.binding_bytes.min(limits.buffer_bytes) / device.precision().bytes();
        let longest = length.max(fields).max(data.bounds.len().max(data.start.len()) as u64);
        if longest > room.min(u32::MAX.into()) {
            return Err(Error::Limits(format!("fit(): {longest} numbers in one buffer, where this device has room for {room}")));
        }
        let lanes = fitting.lanes(&limits);
        if u64::from(count) * u64::from(lanes) > limits.max_items().min(u32::MAX.into()) {
            return Err(Error::Limits(format!("fit(): {count} fits with a workgroup each, where a dispatch has no room for so many")));
        }
        let precision = if device.backend() == "webgpu" { Precision::F32 } else { device.precision() };
        let kernel = device.kernels(&[fitting.source()])?[0];
        let others = StaticKernels::request(device, fits::ALL, |source| source)?;
        let places = Places::new(count, &limits);
        let evaluation = total.max(1) * fitting.work();
        let rounds = if device.profile() == Profile::Gpu {
            (LAUNCH / evaluation).clamp(1, GPU_ROUNDS)
        } else {
            (SLICE / (CPU_FITS * u64::from(points.max(1)) * fitting.work())).clamp(CPU_ROUNDS.0, CPU_ROUNDS.1)
        };
        let mut buffers = Vec::new();
        let (bounds, starts) = (data.bounds.len() as u64, data.start.len() as u64);
        let mut make = || -> Result<_, Error> {
            let mut make = |kind, len, what| allocated(device, &mut buffers, kind, len, what);
            let all = [
                make(Kind::Single, length, "points of fits")?,
                make(Kind::Single, fields, "fits")?,
                make(Kind::Index, places.len.into(), "lists of fits")?,
                make(Kind::Single, 1, "fits that run")?,
                make(Kind::Single, starts, "starts of fits")?,
            ];
            let bounds = layout.bounded.then(|| make(Kind::Single, bounds, "bounds of fits")).transpose()?;
            let offsets = layout.ragged.then(|| make(Kind::Index, offsets.len() as u64, "beginnings of fits")).transpose()?;
            Ok((all, bounds, offsets))
        };
        let made = make().and_then(|(all, bounds, offsets)| {
            let sharing = Sharing::new(fitting, device, &mut buffers, count, fields)?;
            Ok((all, bounds, offsets, sharing))
        });
        let ([data_slice, fields, table, left, starts], bounds, offsets_slice, sharing) = match made {
            Ok(made) => made,
            Err(error) => {
                buffers.drain(..).for_each(|buffer| device.free(buffer));
                return Err(error);
            }
        };
        let mut pending = Recording::new();
        pending.push(upload(&layout, (points, total), data_slice.buffer, data.data));
        pending.push(Command::UploadReals { buffer: starts.buffer, offset: 0, data: data.start.to_vec() });
        if let Some(bounds) = bounds {
            let largest = precision.largest();
            let data = data.bounds.iter().map(|bound| bound.clamp(-largest, largest)).collect();
            pending.push(Command::UploadReals { buffer: bounds.buffer, offset: 0, data });
        }
        if let Some(slice) = offsets_slice {
            pending.push(Command::UploadIndices { buffer: slice.buffer, offset: 0, data: offsets.to_vec() });
        }
        Ok(Self {
            kernel,
            others,
            precision,
            args: FitArguments { fits: count, points, total: total as u32, rounds: 0, most: 0, each, lanes: fitting.fit_lanes(&limits) },
            rounds: rounds as u32,
            evaluation,
            count,
            running: 0,
            list: 0,
            places,
            data: data_slice,
            fields,
            table,
            left,
            starts,
            each_start: data.start.len() != layout.parameters as usize,
            bounds,
            offsets: offsets_slice,
            sharing,
            tried: None,
            search: Search { candidates: 0, next: 0, given: 0, fitted: false },
            buffers,
            pending,
            stage: Stage::Idle,
            play: None,
            layout,
        })
    }

    pub(crate) fn must_be_idle(&self) -> Result<(), Error> {
        match self.stage {
            Stage::Idle => Ok(()),
            _ => Err(Error::InvalidOption("fits: they are at work already: wait for the running call".into())),
        }
    }

    pub(crate) fn start(&mut self, device: &mut Device, recording: Recording, stage: Stage) {
        self.stage = stage;
        self.play = Some(device.start(recording));
    }

    /// Plays the uploads that there are.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] while something else is on its way, as everything here has.
    pub fn upload(&mut self, device: &mut Device) -> Result<(), Error> {
        self.must_be_idle()?;
        let pending = std::mem::take(&mut self.pending);
        self.start(device, pending, Stage::Last);
        Ok(())
    }

    /// Replaces the data, with the next upload or run.
    ///
    /// # Errors
    /// [`Error::DataLength`] for another number of values.
    pub fn write(&mut self, data: Values) -> Result<(), Error> {
        self.must_be_idle()?;
        counted("values of data", data.len(), self.args.total.into())?;
        let command = upload_data(&self.layout, (self.args.points, self.args.total.into()), self.data.buffer, data);
        self.pending.push(command);
        Ok(())
    }

    /// Reads fields of all fits, a column each.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for fields that are not there.
    pub fn read(&mut self, device: &mut Device, first: u32, fields: u32) -> Result<(), Error> {
        self.must_be_idle()?;
        if fields == 0 || first.checked_add(fields).is_none_or(|end| end > self.layout.fields()) {
            return Err(Error::InvalidOption(format!("fits: {fields} fields from {first} on, where there are {}", self.layout.fields())));
        }
        let mut recording = std::mem::take(&mut self.pending);
        recording.push(Command::Read { slice: Slice { offset: first * self.count, len: fields * self.count, ..self.fields } });
        self.start(device, recording, Stage::Last);
        Ok(())
    }

    /// Begins to fit.
    ///
    /// # Errors
    /// [`Error`] for options, candidates that are no whole number of rows, and buffers that can't be had.
    pub fn begin(&mut self, device: &mut Device, from: From, candidates: &Candidates, options: &Options) -> Result<(), Error> {
        self.must_be_idle()?;
        let parameters = self.layout.parameters as usize;
        if !candidates.rows.len().is_multiple_of(parameters) {
            return Err(Error::InvalidOption("fits: candidates must be rows of all parameters".into()));
        }
        self.free_tried(device);
        let mut recording = self.begun(options)?;
        if !candidates.rows.is_empty() {
            let before = self.buffers.len();
            let mut make = |len, what| allocated(device, &mut self.buffers, Kind::Single, len, what);
            // Candidates stand behind the starting values, in a copy of them.
            let starts = make(u64::from(self.starts.len) + candidates.rows.len() as u64, "starts of fits");
            let made = starts.and_then(|starts| Ok((starts, make(self.fields.len.into(), "best fits")?)));
            let (starts, best) = match made {
                Ok(made) => made,
                Err(error) => {
                    self.buffers.drain(before..).for_each(|buffer| device.free(buffer));
                    self.pending = recording.into_prelude();
                    return Err(error);
                }
            };
            recording.push(Command::Copy { from: self.starts, to: Slice { len: self.starts.len, ..starts } });
            let rows = candidates.rows.to_vec();
            recording.push(Command::UploadReals { buffer: starts.buffer, offset: self.starts.len, data: rows });
            self.tried = Some((starts, best));
        }
        let rows = (candidates.rows.len() / parameters) as u32;
        self.search = Search { candidates: rows, next: 0, given: candidates.given, fitted: candidates.fitted };
        match (rows, candidates.fitted) {
            (0, _) => self.reset(&mut recording, from == From::Values, None),
            (_, true) => self.next_start(&mut recording),
            (_, false) => {
                self.search_on(device, recording);
                return Ok(());
            }
        }
        self.launch(&mut recording);
        self.start(device, recording, Stage::Launch);
        Ok(())
    }

    /// The beginning of a run: what is to be uploaded, and the tolerances.
    pub(crate) fn begun(&mut self, options: &Options) -> Result<Recording, Error> {
        let (tolerances, most) = (options.tolerances(self.precision)?, options.most()?);
        let mut recording = std::mem::take(&mut self.pending);
        recording.push(Command::UploadReals { buffer: self.data.buffer, offset: 0, data: tolerances.numbers().to_vec() });
        self.args.most = most;
        self.search = Search { candidates: 0, next: 0, given: 0, fitted: false };
        Ok(recording)
    }

    /// All fits are to be begun: from where they are, from a candidate, or from their starting values.
    fn reset(&mut self, recording: &mut Recording, keeps: bool, candidate: Option<u32>) {
        let starts = self.tried.map_or(self.starts, |(starts, _)| starts);
        let given = if candidate.is_some() { self.search.given } else { 0 };
        let place = self.starts.len + candidate.unwrap_or(0) * self.layout.parameters;
        self.reset_from(recording, keeps, starts, (given, place));
    }

    /// The same with the slice of starting values, and the bits and the place of what is given besides.
    pub(crate) fn reset_from(&mut self, recording: &mut Recording, keeps: bool, starts: Slice, (given, candidate): (u32, u32)) {
        (self.running, self.list) = (self.count, 0);
        let (table, fields) = (self.table, self.fields);
        let args = Begin {
            fits: self.count,
            parameters: self.layout.parameters,
            fields: self.layout.fields(),
            each: self.each_start.into(),
            keeps: keeps.into(),
            given,
            candidate,
        };
        recording.push(Command::Dispatch(self.others.dispatch(args, self.count, BeginBindings { table, starts, fields })));
    }

    /// The next candidate is begun.
    fn next_start(&mut self, recording: &mut Recording) {
        let candidate = self.search.next;
        self.search.next += 1;
        self.reset(recording, false, Some(candidate));
    }

    /// The last candidate's result is kept where it is better.
    fn keep(&self, recording: &mut Recording) {
        let Some((_, best)) = self.tried else { return };
        if self.search.next == 1 {
            recording.push(Command::Copy { from: self.fields, to: best });
            return;
        }
        let args = Keep { fits: self.count, fields: self.layout.fields(), cost: self.layout.cost() * self.count };
        recording.push(Command::Dispatch(self.others.dispatch(args, self.count, KeepBindings { fields: self.fields, best })));
    }

    /// The best becomes what fits have.
    fn take_best(&self, recording: &mut Recording) {
        if let Some((_, best)) = self.tried {
            recording.push(Command::Copy { from: best, to: self.fields });
        }
    }

    /// Objectives at further candidates, as many as a launch has time for; behind the last, fits begin at the best.
    fn search_on(&mut self, device: &mut Device, mut recording: Recording) {
        let together = (LAUNCH / self.evaluation).clamp(1, 256) as u32;
        for _ in 0..together.min(self.search.candidates - self.search.next) {
            self.next_start(&mut recording);
            self.dispatch(&mut recording, 0);
            self.keep(&mut recording);
        }
        if self.search.next < self.search.candidates {
            return self.start(device, recording, Stage::Search);
        }
        self.take_best(&mut recording);
        self.launch(&mut recording);
        self.start(device, recording, Stage::Launch);
    }

    /// Iterations of the fits that run.
    fn dispatch(&self, recording: &mut Recording, rounds: u32) {
        let mut bindings = [None; binding::COUNT];
        bindings[binding::ARENA] = self.offsets;
        bindings[binding::DATA] = Some(self.data);
        bindings[binding::INDEX] = Some(Slice { offset: self.places.lists[self.list], len: self.running, ..self.table });
        bindings[binding::VECTOR_IN] = self.bounds;
        bindings[binding::VECTOR_OUT] = Some(self.fields);
        let words = FitArguments { rounds, ..self.args }.words();
        let count = self.running * self.args.lanes;
        recording.push(Command::Dispatch(Dispatch { kernel: self.kernel, bindings, count, single_group: false, words }));
    }

    /// A launch over the fits that run, and the list of those that run after it.
    pub(crate) fn launch(&self, recording: &mut Recording) {
        self.dispatch(recording, self.rounds);
        let (fits, runs) = (self.running, self.running.div_ceil(RUN));
        let states = self.layout.state() * self.count;
        let Places { lists, counts, .. } = self.places;
        let (list, next) = (lists[self.list], lists[1 - self.list]);
        let (table, fields) = (self.table, self.fields);
        let tally = Tally { fits, run: RUN, list, counts, states };
        recording.push(Command::Dispatch(self.others.dispatch(tally, runs, TallyBindings { table, fields })));
        let offsets = self.others.dispatch(Offsets { runs, counts, total: 0 }, 1, OffsetsBindings { table, totals: self.left });
        recording.push(Command::Dispatch(Dispatch { single_group: true, ..offsets }));
        let compact = Compact { fits, run: RUN, list, counts, states, next };
        recording.push(Command::Dispatch(self.others.dispatch(compact, runs, CompactBindings { table, fields })));
        recording.push(Command::Read { slice: self.left });
    }

    /// Fields of a fit.
    pub fn fields(&self) -> u32 {
        self.layout.fields()
    }

    /// Fits that are at their end, and fits in all: of every start, where fits are made from several.
    pub fn progress(&self) -> (f64, f64) {
        let Search { candidates, next, fitted, .. } = self.search;
        let (starts, before) = if fitted && candidates > 0 { (candidates, next.max(1) - 1) } else { (1, 0) };
        let count = f64::from(self.count);
        (f64::from(before) * count + count - f64::from(self.running), f64::from(starts) * count)
    }

    /// Goes on until the deadline. `None` after a launch, behind which there is another one. At the end, what was read.
    ///
    /// # Errors
    /// Those of the device.
    pub fn resume(&mut self, device: &mut Device, deadline: f64) -> Result<Option<Playing>, Error> {
        let Some(play) = &mut self.play else { return Ok(Some(Playing::Finished(Vec::new()))) };
        let values = match device.resume(play, deadline)? {
            Playing::Finished(values) => values,
            other => return Ok(Some(other)),
        };
        let mut recording = Recording::new();
        match self.stage {
            Stage::Idle | Stage::Last => {
                (self.stage, self.play) = (Stage::Idle, None);
                self.free_tried(device);
                return Ok(Some(Playing::Finished(values)));
            }
            Stage::Search => {
                self.search_on(device, recording);
                return Ok(None);
            }
            Stage::Launch => {}
        }
        self.running = values.first().map_or(0, |running| *running as u32).min(self.running);
        self.list = 1 - self.list;
        if self.running == 0 {
            if !self.search.fitted || self.tried.is_none() {
                (self.stage, self.play) = (Stage::Idle, None);
                self.free_tried(device);
                return Ok(Some(Playing::Finished(Vec::new())));
            }
            self.keep(&mut recording);
            if self.search.next == self.search.candidates {
                self.take_best(&mut recording);
                self.start(device, recording, Stage::Last);
                return Ok(None);
            }
            self.next_start(&mut recording);
        }
        self.launch(&mut recording);
        self.start(device, recording, Stage::Launch);
        Ok(None)
    }

    /// Leaves what is on its way.
    pub fn abandon(&mut self, device: &mut Device) {
        if let Some(mut play) = self.play.take() {
            device.abandon(&mut play);
        }
        self.stage = Stage::Idle;
        self.free_tried(device);
    }

    pub(crate) fn free_tried(&mut self, device: &mut Device) {
        if let Some((starts, best)) = self.tried.take() {
            let is_of_these = |buffer: &BufferId| *buffer == starts.buffer || *buffer == best.buffer;
            self.buffers.iter().filter(|buffer| is_of_these(buffer)).for_each(|buffer| device.free(*buffer));
            self.buffers.retain(|buffer| !is_of_these(buffer));
        }
    }

    /// Frees what it has on the device.
    pub fn free(mut self, device: &mut Device) {
        self.abandon(device);
        self.buffers.drain(..).for_each(|buffer| device.free(buffer));
    }
}

//! A run of fits: uploads, launches, compaction, and what fits came to.

use super::{FitData, Fitting, Options, Values};
use leastwise_device::{
    BufferId, Command, Device, Dispatch, KernelId, Kind, Limits, Play, Playing, Precision, Profile, Recording, Slice, StaticKernels,
    binding,
};
use leastwise_error::Error;
use leastwise_kernels::fits::{self, Compact, CompactBindings, Offsets, OffsetsBindings, Tally, TallyBindings};
use leastwise_program::{FitArguments, FitLayout, FitTolerances};
use std::sync::Arc;

/// Fits of a run of the list, which one lane counts.
const RUN: u32 = 64;

/// Operations of a launch on a GPU, about.
const LAUNCH: u64 = 1 << 37;

/// Iterations of a launch: on the CPU few, since a block waits for its slowest lane.
const CPU_ROUNDS: u32 = 4;
const GPU_ROUNDS: u32 = 16;

/// Where the parts of the table begin, and how long it is: two lists, and the counts of runs.
struct Places {
    lists: [u32; 2],
    counts: u32,
    len: u32,
}

impl Places {
    fn new(count: u32, limits: &Limits) -> Self {
        let list = limits.align(count);
        Self { lists: [0, list], counts: 2 * list, len: 2 * list + count.div_ceil(RUN) }
    }
}

/// Recording that is being played.
enum Stage {
    /// A launch, which ends in reading how many fits run on.
    Launch,
    /// All that fits came to.
    Read,
}

/// Fits on their way.
pub struct FitRun {
    kernel: KernelId,
    compaction: StaticKernels,
    layout: FitLayout,
    args: FitArguments,
    count: u32,
    /// Fits that are not at their end.
    running: u32,
    /// Which of the lists has them.
    list: usize,
    places: Places,
    data: Slice,
    fields: Slice,
    table: Slice,
    /// One number: the fits that run on.
    left: Slice,
    bounds: Option<Slice>,
    starts: Option<Slice>,
    buffers: Vec<BufferId>,
    stage: Stage,
    play: Play,
}

/// Refuses a wrong number of values.
fn counted(what: &str, got: usize, expected: u64) -> Result<(), Error> {
    if got as u64 == expected {
        return Ok(());
    }
    Err(Error::DataLength { term: None, what: format!("fit(): {what}"), got, expected: expected.to_string() })
}

impl FitRun {
    pub(crate) fn new(fitting: &Fitting, device: &mut Device, data: &FitData, options: &Options) -> Result<Self, Error> {
        let layout = fitting.layout().clone();
        let FitData { count, points, offsets, .. } = *data;
        if count == 0 || count > fitting.capacity(device, points) && offsets.is_empty() {
            return Err(Error::Limits(format!("fit(): a run of {count} fits of {points} points, where there is no room for so many")));
        }
        let total = if layout.ragged {
            counted("offsets", offsets.len(), u64::from(count) + 1)?;
            if offsets[0] != 0 || offsets.windows(2).any(|pair| pair[0] > pair[1] || pair[1] - pair[0] > points) {
                return Err(Error::InvalidOption("fit(): offsets must begin at 0 and ascend".into()));
            }
            u64::from(offsets[count as usize])
        } else {
            u64::from(count) * u64::from(points)
        };
        let (length, free) = (layout.data(points.into(), total), u64::from(layout.free_count()));
        counted("values of data, weights and variables", data.data.len(), length - FitTolerances::COUNT)?;
        counted("starting values", data.start.len(), u64::from(count) * u64::from(layout.parameters))?;
        let is_each = data.bounds.len() as u64 != 2 * free;
        match layout.bounded {
            true if is_each => counted("bounds", data.bounds.len(), 2 * free * u64::from(count))?,
            true => {}
            false => counted("bounds", data.bounds.len(), 0)?,
        }
        let limits = device.limits();
        let fields = u64::from(layout.fields()) * u64::from(count);
        let room = limits.binding_bytes.min(limits.buffer_bytes) / device.precision().bytes();
        if length.max(fields).max(data.bounds.len() as u64) > room.min(u32::MAX.into()) {
            return Err(Error::Limits(format!(
                "fit(): {} numbers in one buffer, where this device has room for {room}",
                length.max(fields)
            )));
        }
        let precision = if device.backend() == "webgpu" { Precision::F32 } else { device.precision() };
        let (tolerances, most) = (options.tolerances(precision)?, options.most()?);
        let each = u32::from(layout.bounded && is_each);
        let args = FitArguments { fits: count, points, total: total as u32, rounds: 0, most, each };
        let kernel = device.kernels(&[fitting.source()])?[0];
        let compaction = StaticKernels::request(device, fits::ALL, |source| source)?;
        let places = Places::new(count, &limits);

        let mut buffers = Vec::new();
        let mut make = |kind: Kind, len: u64, what: &str| -> Result<Slice, Error> {
            let len = len.max(1) as u32;
            let made = device.allocate(kind, len, what);
            match made {
                Ok(buffer) => {
                    buffers.push(buffer);
                    Ok(Slice { buffer, offset: 0, len })
                }
                Err(error) => {
                    buffers.drain(..).for_each(|buffer| device.free(buffer));
                    Err(error.into())
                }
            }
        };
        let points_slice = make(Kind::Single, length, "points of fits")?;
        let fields = make(Kind::Single, fields, "fits")?;
        let table = make(Kind::Index, places.len.into(), "lists of fits")?;
        let left = make(Kind::Single, 1, "fits that run")?;
        let bounds = layout.bounded.then(|| make(Kind::Single, data.bounds.len() as u64, "bounds of fits")).transpose()?;
        let starts = layout.ragged.then(|| make(Kind::Index, offsets.len() as u64, "beginnings of fits")).transpose()?;

        let largest = precision.largest();
        let mut recording = Recording::new();
        let numbers = tolerances.numbers().to_vec();
        recording.push(Command::UploadReals { buffer: points_slice.buffer, offset: 0, data: numbers });
        recording.push(upload(points_slice.buffer, FitTolerances::COUNT as u32, data.data));
        recording.push(Command::UploadReals { buffer: fields.buffer, offset: 0, data: data.start.to_vec() });
        recording.push(Command::UploadIndices { buffer: table.buffer, offset: places.lists[0], data: (0..count).collect() });
        if let Some(bounds) = bounds {
            let data = data.bounds.iter().map(|bound| bound.clamp(-largest, largest)).collect();
            recording.push(Command::UploadReals { buffer: bounds.buffer, offset: 0, data });
        }
        if let Some(starts) = starts {
            recording.push(Command::UploadIndices { buffer: starts.buffer, offset: 0, data: offsets.to_vec() });
        }
        let mut run = Self {
            kernel,
            compaction,
            layout,
            args,
            count,
            running: count,
            list: 0,
            places,
            data: points_slice,
            fields,
            table,
            left,
            bounds,
            starts,
            buffers,
            stage: Stage::Launch,
            play: Play::Refused(leastwise_device::DeviceError::Invalid("a run that was not begun".into())),
        };
        run.args.rounds = run.rounds(device, fitting);
        run.launch(&mut recording);
        run.play = device.start(recording);
        Ok(run)
    }

    /// Iterations of a launch.
    fn rounds(&self, device: &Device, fitting: &Fitting) -> u32 {
        if device.profile() != Profile::Gpu {
            return CPU_ROUNDS;
        }
        let evaluation = u64::from(self.args.total) * fitting.work();
        (LAUNCH / evaluation.max(1)).clamp(1, GPU_ROUNDS.into()) as u32
    }

    /// A launch over the fits that run, and the list of those that run after it.
    fn launch(&self, recording: &mut Recording) {
        let mut bindings = [None; binding::COUNT];
        bindings[binding::ARENA] = self.starts;
        bindings[binding::DATA] = Some(self.data);
        bindings[binding::INDEX] = Some(Slice { offset: self.places.lists[self.list], len: self.running, ..self.table });
        bindings[binding::VECTOR_IN] = self.bounds;
        bindings[binding::VECTOR_OUT] = Some(self.fields);
        let words = self.args.words();
        recording.push(Command::Dispatch(Dispatch { kernel: self.kernel, bindings, count: self.running, single_group: false, words }));
        let (fits, runs) = (self.running, self.running.div_ceil(RUN));
        let states = self.layout.state() * self.count;
        let Places { lists, counts, .. } = self.places;
        let (list, next) = (lists[self.list], lists[1 - self.list]);
        let (table, fields) = (self.table, self.fields);
        let tally = Tally { fits, run: RUN, list, counts, states };
        recording.push(Command::Dispatch(self.compaction.dispatch(tally, runs, TallyBindings { table, fields })));
        let offsets = self.compaction.dispatch(Offsets { runs, counts, total: 0 }, 1, OffsetsBindings { table, totals: self.left });
        recording.push(Command::Dispatch(Dispatch { single_group: true, ..offsets }));
        let compact = Compact { fits, run: RUN, list, counts, states, next };
        recording.push(Command::Dispatch(self.compaction.dispatch(compact, runs, CompactBindings { table, fields })));
        recording.push(Command::Read { slice: self.left });
    }

    /// Fits that are at their end, and fits in all.
    pub fn progress(&self) -> (u32, u32) {
        (self.count - self.running, self.count)
    }

    /// Goes on until the deadline. `None` after a launch, behind which there is another one. At the end, the fields of all fits: a
    /// column each ([`FitLayout`]). Standard errors are √ of the diagonal of the inverse normal matrix, 0 where there is none.
    ///
    /// # Errors
    /// Those of the device.
    pub fn resume(&mut self, device: &mut Device, deadline: f64) -> Result<Option<Playing>, Error> {
        let values = match device.resume(&mut self.play, deadline)? {
            Playing::Finished(values) => values,
            other => return Ok(Some(other)),
        };
        if matches!(self.stage, Stage::Read) {
            return Ok(Some(Playing::Finished(values)));
        }
        self.running = values.first().map_or(0, |running| *running as u32).min(self.running);
        self.list = 1 - self.list;
        let mut recording = Recording::new();
        match self.running {
            0 => {
                self.stage = Stage::Read;
                recording.push(Command::Read { slice: self.fields });
            }
            _ => self.launch(&mut recording),
        }
        self.play = device.start(recording);
        Ok(None)
    }

    /// Ends a run that nobody goes on with, and frees what it has on the device.
    pub fn free(mut self, device: &mut Device) {
        device.abandon(&mut self.play);
        self.buffers.drain(..).for_each(|buffer| device.free(buffer));
    }
}

/// Uploads numbers of either precision.
fn upload(buffer: BufferId, offset: u32, values: Values) -> Command {
    match values {
        Values::Singles(values) => {
            Command::UploadSingles { buffer, offset, first: 0, len: values.len() as u32, data: Arc::new(values.to_vec()) }
        }
        Values::Doubles(values) => Command::UploadReals { buffer, offset, data: values.to_vec() },
    }
}

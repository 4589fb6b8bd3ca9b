//! One call of a kernel: its input, what it must write, and how it is played and judged.

use crate::support::{SharedDevice, shared_device};
use crate::twins::value::{Random, Value};
use leastwise::device::{
    Access, Arguments, Command, Device, Dispatch, Grade, KernelSource, Kind, Limits, PARAM_WORDS, Playing, Precision, Reals, Recording,
    Slice, StaticKernel, StaticKernels,
    binding::{COUNT, INDEX, STATE},
    cpu::CpuDevice,
    wgpu::WgpuDevice,
};
use leastwise::{anneal::cluster, solve};

/// Every slice begins and ends this far within its buffer, in poison that must stay.
const MARGIN: usize = 64;

/// As long as the longest there is.
const STATE_LEN: u32 =
    if solve::state::STATE_LEN > cluster::state::STATE_LEN { solve::state::STATE_LEN } else { cluster::state::STATE_LEN };

/// The elements of one binding; words are what f64 has exactly.
#[derive(Clone)]
struct Slot {
    kind: Kind,
    before: Vec<f64>,
    /// What is expected, where something must be written; anything else must stay.
    after: Vec<Option<Value>>,
    /// Working memory, in which anything may be left.
    scratch: bool,
}

/// One or several dispatches of one kernel on the same bindings.
#[derive(Clone)]
pub struct Case {
    pub kernel: StaticKernel,
    pub name: String,
    single_group: bool,
    dispatches: Vec<(u32, [u32; PARAM_WORDS])>,
    slots: [Option<Slot>; COUNT],
    /// The value of a state element that must stop the kernel.
    pub stop: Option<(u32, f64)>,
    /// The largest error of an element in f32, as a part of its size.
    pub bound: f64,
}

/// What a kernel left in a slot.
pub type Outcome = Vec<(usize, Vec<f64>)>;

/// Among words: far outside of every table.
pub const POISONED_WORD: u32 = 0xdead_beef;

/// Neither is ever right: NaN spreads where it is read, and 1e30 is there for compilers that assume no NaN.
pub fn poison(i: usize) -> f64 {
    if i.is_multiple_of(2) { f64::NAN } else { f64::from(1e30f32) }
}

impl Case {
    pub fn new(kernel: StaticKernel, name: impl Into<String>) -> Self {
        Self { kernel, name: name.into(), single_group: false, dispatches: Vec::new(), slots: Default::default(), stop: None, bound: 1e-6 }
    }

    /// A kernel of one workgroup.
    pub fn of_one_group(kernel: StaticKernel, name: impl Into<String>) -> Self {
        Self { single_group: true, ..Self::new(kernel, name) }
    }

    /// A kernel of one workgroup over partials.
    pub fn reduction<K: Arguments>(args: K, name: impl Into<String>, state: Vec<f64>) -> Self {
        let mut case = Self::of_one_group(K::KERNEL, name);
        case.dispatch(1, args);
        case.reals(STATE, state);
        case
    }

    pub fn dispatch<K: Arguments>(&mut self, count: u32, args: K) {
        assert_eq!(K::KERNEL, self.kernel);
        self.launch(count, args.words());
    }

    /// The same, with the words of arguments.
    pub fn launch(&mut self, count: u32, words: [u32; PARAM_WORDS]) {
        self.dispatches.push((count, words));
    }

    pub fn reals(&mut self, slot: usize, values: Vec<f64>) {
        self.slots[slot] = Some(Slot { kind: Kind::Real, after: vec![None; values.len()], before: values, scratch: false });
    }

    /// A slot that must not be read before it is written.
    pub fn poisoned(&mut self, slot: usize, len: usize) {
        self.reals(slot, (0..len).map(poison).collect());
    }

    /// Working memory of the kernel's own.
    pub fn scratch(&mut self, slot: usize, len: usize) {
        self.poisoned(slot, len);
        self.slots[slot].as_mut().expect("just bound").scratch = true;
    }

    pub fn indices(&mut self, words: Vec<u32>) {
        let before: Vec<f64> = words.into_iter().map(f64::from).collect();
        self.slots[INDEX] = Some(Slot { kind: Kind::Index, after: vec![None; before.len()], before, scratch: false });
    }

    /// Words of another slot than the table's.
    pub fn words(&mut self, slot: usize, words: Vec<u32>) {
        let before: Vec<f64> = words.into_iter().map(f64::from).collect();
        self.slots[slot] = Some(Slot { kind: Kind::Index, after: vec![None; before.len()], before, scratch: false });
    }

    /// Launches: items, and the words of arguments.
    pub fn launches(&self) -> &[(u32, [u32; PARAM_WORDS])] {
        &self.dispatches
    }

    /// The words of a slot as a device in f32 holds them, before and after; of reals that are written nothing is said.
    pub fn held(&self, slot: usize) -> Option<[Vec<u32>; 2]> {
        let slot = self.slots[slot].as_ref()?;
        let word = |value: f64| if slot.kind == Kind::Index { value as u32 } else { (value as f32).to_bits() };
        let before: Vec<u32> = slot.before.iter().copied().map(word).collect();
        let after = slot.after.iter().zip(&before).map(|(after, before)| after.as_ref().map_or(*before, |after| word(after.value)));
        Some([before.clone(), after.collect()])
    }

    pub fn before(&self, slot: usize, i: usize) -> f64 {
        self.slots[slot].as_ref().expect("bound before").before[i]
    }

    /// The element must be written.
    pub fn expect(&mut self, slot: usize, i: usize, value: impl Into<Value>) {
        self.slots[slot].as_mut().expect("bound before").after[i] = Some(value.into());
    }

    /// The word of the index slot must be written.
    pub fn expect_index(&mut self, i: usize, word: u32) {
        self.expect(INDEX, i, f64::from(word));
    }

    /// What is already expected, or was there before.
    pub fn latest(&self, slot: usize, i: usize) -> Value {
        let slot = self.slots[slot].as_ref().expect("bound before");
        slot.after[i].unwrap_or(slot.before[i].into())
    }

    pub fn expect_state(&mut self, elements: &[(u32, Value)]) {
        elements.iter().for_each(|(element, value)| self.expect(STATE, *element as usize, *value));
    }

    /// The same, with the guard set: nothing may be written.
    pub fn stopped(&self) -> Option<Self> {
        let (element, value) = self.stop?;
        let mut case = self.clone();
        case.name += ", stopped by its guard";
        case.slots[STATE].as_mut().expect("a guarded kernel has a state").before[element as usize] = value;
        case.slots.iter_mut().flatten().for_each(|slot| slot.after.fill(None));
        Some(case)
    }

    pub fn expects_in(&self, slot: usize) -> bool {
        self.slots[slot].as_ref().is_some_and(|slot| slot.scratch || slot.after.iter().any(Option::is_some))
    }

    pub fn items(&self) -> u32 {
        self.dispatches.iter().map(|dispatch| dispatch.0).max().unwrap_or(0)
    }

    /// The length of the longest buffer that playing the case takes, margins included: a slot's, or that of all reals that
    /// are written, side by side.
    pub fn longest_buffer(&self) -> usize {
        let access = KernelSource::of_static(self.kernel).access();
        let all = || self.slots.iter().enumerate().filter_map(|(number, slot)| slot.as_ref().map(|slot| (number, slot)));
        let len = |slot: &Slot| slot.before.len() + 2 * MARGIN;
        let longest = all().map(|(_, slot)| len(slot)).max().unwrap_or(0);
        let written = all().filter(|(number, slot)| access[*number] == Access::ReadWrite && slot.kind == Kind::Real);
        longest.max(written.map(|(_, slot)| len(slot)).sum())
    }

    pub fn binds(&self, slot: usize) -> bool {
        self.slots[slot].is_some()
    }
}

/// A state whose elements are all something, so that a kernel that reads the wrong one is found out.
pub fn random_state(random: &mut Random, set: &[(u32, f64)]) -> Vec<f64> {
    let mut state = random.vector(STATE_LEN as usize);
    set.iter().for_each(|(element, value)| state[*element as usize] = *value);
    state
}

/// A device with all static kernels.
pub struct Bench {
    pub name: &'static str,
    pub device: SharedDevice,
    kernels: StaticKernels,
}

impl Bench {
    pub fn new(name: &'static str, device: impl Into<SharedDevice>) -> Self {
        let mut device = device.into();
        let kernels = StaticKernels::request(&mut device, StaticKernel::ALL, |source| source).unwrap_or_else(|error| panic!("{error}"));
        Self { name, device, kernels }
    }

    /// A CPU with workgroups of that size; memory is not what the twins are tested on.
    pub fn cpu(precision: Precision, limits: Limits) -> Self {
        let name = if precision == Precision::F64 { "CPU in f64" } else { "CPU in f32" };
        let limits = Limits { binding_bytes: 1 << 30, buffer_bytes: 1 << 30, ..limits };
        Self::new(name, Device::Cpu(CpuDevice::new(precision, limits)))
    }

    /// Whatever adapter there is; none is a failure. One that another test is done with has its kernels compiled.
    pub fn gpu(limits: Limits) -> Self {
        Self::new("wgpu", shared_device(Some(limits)))
    }

    /// A GPU in double-floats, with the kernels that there are for them.
    pub fn doubles() -> Self {
        let mut device =
            WgpuDevice::open_blocking(Some(Limits::WEBGPU)).expect("these tests need a WebGPU adapter: see tests/twins/main.rs");
        pollster::block_on(device.check_doubles()).expect("a self-check");
        device.set_reals(Reals::Double).expect("an adapter whose double-floats are exact");
        let mut device = Device::Wgpu(Box::new(device));
        let sources: Vec<_> = StaticKernel::ALL.iter().copied().filter(|kernel| kernel.has_doubles()).collect();
        let kernels = StaticKernels::request(&mut device, &sources, |source| source).unwrap_or_else(|error| panic!("{error}"));
        Self { name: "wgpu in double-floats", device: device.into(), kernels }
    }

    /// The reference, its f32 form, and the GPU, all with the GPU's workgroups (a software adapter's are small).
    pub fn all(limits: Limits) -> [Self; 3] {
        let gpu = Self::gpu(limits);
        let limits = gpu.device.limits();
        [Self::cpu(Precision::F64, limits), Self::cpu(Precision::F32, limits), gpu]
    }

    pub fn group_size(&self) -> usize {
        self.device.limits().group_size as usize
    }

    /// Plays a recording; a CPU in the smallest time slices there are, when `sliced`. Gives the number of slices.
    pub fn play(&mut self, recording: Recording, sliced: bool) -> (Vec<f64>, u32) {
        if !sliced {
            return (self.device.run(recording).unwrap_or_else(|error| panic!("{}: {error}", self.name)), 1);
        }
        let mut play = self.device.start(recording);
        let mut slices = 1;
        loop {
            // On the clock's scale, it was over before it began.
            match self.device.resume(&mut play, -1.0).expect("a recording that plays") {
                Playing::Yielded => slices += 1,
                Playing::Waiting(_) => panic!("a CPU waits for nothing"),
                Playing::Finished(values) => return (values, slices),
            }
        }
    }

    /// A static kernel on slices of the bench's buffers.
    pub fn command<K: Arguments>(&self, args: K, count: u32, single_group: bool, bindings: K::Bindings<Slice>) -> Command {
        Command::Dispatch(Dispatch { single_group, ..self.kernels.dispatch(args, count, bindings) })
    }

    /// What the kernel leaves in the slots that it may write, margins included, and whether time slices ended within
    /// one of the dispatches.
    pub fn run(&mut self, case: &Case, sliced: bool) -> (Outcome, bool) {
        let source = KernelSource::of_static(case.kernel);
        let access = source.access();
        // What a kernel in f32 writes is in f32, in mixed precision too.
        let kind = |kind: Kind| match (kind, source.grade) {
            (Kind::Real, Grade::Inner) => Kind::Inner,
            (Kind::Real, Grade::Single) => Kind::Single,
            (kind, _) => kind,
        };
        let mut bindings = [None; COUNT];
        let mut commands = Vec::new();
        let mut buffers = Vec::new();
        let mut written = Vec::new();
        for (number, slot) in case.slots.iter().enumerate() {
            let Some(slot) = slot else { continue };
            let data = with_margins(slot);
            let buffer = self.device.allocate(kind(slot.kind), data.len() as u32, &format!("slot {number}")).expect("a small buffer");
            bindings[number] = Some(Slice { buffer, offset: MARGIN as u32, len: slot.before.len() as u32 });
            if access[number] == Access::ReadWrite {
                written.push((number, slot.kind, Slice { buffer, offset: 0, len: data.len() as u32 }));
            }
            commands.push(match slot.kind {
                Kind::Real | Kind::Inner | Kind::Single | Kind::Double => Command::UploadReals { buffer, offset: 0, data },
                Kind::Index => Command::UploadIndices { buffer, offset: 0, data: data.into_iter().map(|word| word as u32).collect() },
            });
            buffers.push(buffer);
        }
        for (count, words) in &case.dispatches {
            let (kernel, single_group) = (self.kernels.number(case.kernel), case.single_group);
            commands.push(Command::Dispatch(Dispatch { kernel, bindings, count: *count, single_group, words: *words }));
        }
        // Reals side by side, and the table; a recording reads once.
        let total: u32 = written.iter().filter(|(_, kind, _)| *kind == Kind::Real).map(|(.., slice)| slice.len).sum();
        let mut reads = Vec::new();
        if total > 0 {
            let all = self.device.allocate(Kind::Real, total, "all that was written").expect("a small buffer");
            buffers.push(all);
            let mut offset = 0;
            for (_, _, from) in written.iter().filter(|(_, kind, _)| *kind == Kind::Real) {
                commands.push(Command::Copy { from: *from, to: Slice { buffer: all, offset, len: from.len } });
                offset += from.len;
            }
            reads.push(Slice { buffer: all, offset: 0, len: total });
        }
        written.sort_by_key(|(_, kind, _)| *kind == Kind::Index);
        reads.extend(written.iter().filter(|(_, kind, _)| *kind == Kind::Index).map(|(.., slice)| *slice));
        let mut values = Vec::new();
        let mut interrupted = false;
        // New buffers become zeros in slices of their own.
        self.play(Recording::new(), false);
        for read in reads {
            commands.push(Command::Read { slice: read });
            let count = commands.len() as u32;
            let (found, slices) = self.play(Recording { commands: std::mem::take(&mut commands) }, sliced);
            interrupted |= slices > count;
            values.extend(found);
        }
        buffers.into_iter().for_each(|buffer| self.device.free(buffer));
        let mut rest = values.as_slice();
        let mut outcome = Vec::new();
        for (number, _, slice) in written {
            let (these, others) = rest.split_at(slice.len as usize);
            outcome.push((number, these.to_vec()));
            rest = others;
        }
        (outcome, interrupted)
    }
}

fn with_margins(slot: &Slot) -> Vec<f64> {
    let margin = (0..MARGIN).map(|i| if slot.kind == Kind::Real { poison(i) } else { f64::from(POISONED_WORD) });
    margin.clone().chain(slot.before.iter().copied()).chain(margin).collect()
}

pub fn without_margins(values: &[f64]) -> &[f64] {
    &values[MARGIN..values.len() - MARGIN]
}

/// The largest error, as a part of the elements' sizes, against what is expected (or against `reference`, which was
/// held to that before). An `Err` when something else was written, or something was not.
pub fn judge(case: &Case, outcome: &Outcome, reference: Option<&Outcome>) -> Result<f64, String> {
    let mut worst = 0.0f64;
    for (place, (number, values)) in outcome.iter().enumerate() {
        let slot = case.slots[*number].as_ref().expect("it was bound");
        let before = with_margins(slot);
        for (i, (value, before)) in values.iter().zip(&before).enumerate() {
            let element = i.wrapping_sub(MARGIN);
            if slot.scratch && element < slot.before.len() {
                continue;
            }
            let Some(expected) = slot.after.get(element).copied().flatten() else {
                if value.to_bits() != before.to_bits() && !(value.is_nan() && before.is_nan()) {
                    return Err(format!("slot {number}[{}]: {before:e} became {value:e}", element as isize));
                }
                continue;
            };
            if expected.value.is_nan() {
                // Which of the values that are not finite it is, no device promises.
                if value.is_finite() {
                    return Err(format!("slot {number}[{element}]: {value:e}, where nothing finite can come out"));
                }
                continue;
            }
            if slot.kind == Kind::Index {
                if *value != expected.value {
                    return Err(format!("slot {number}[{element}]: {value}, where {} is right", expected.value));
                }
                continue;
            }
            let right = reference.map_or(expected.value, |reference| reference[place].1[i]);
            let error = (value - right).abs();
            if error > 0.0 || error.is_nan() {
                let relative = error / expected.size;
                if relative.is_nan() || relative > 1e-3 {
                    return Err(format!("slot {number}[{element}]: {value:e} instead of {right:e} (sizes of {:e})", expected.size));
                }
                worst = worst.max(relative);
            }
        }
    }
    Ok(worst)
}

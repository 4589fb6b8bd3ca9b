//! Problems whose products are known: tables of different widths, terms over them, and their dense matrices.

use crate::support::*;
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Command, Device, Limits, Precision, Recording, Slice};
use leastwise::expr::Opcode;
use leastwise::problem::{Loss, Problem, Reals, Registry, Schedule, Shape, TermSpec, Tuning, Weight};
use leastwise::session::Progress;
use leastwise::solve::{
    Needs, Workspace,
    linear::{DeviceSolver, merged, pcg},
    state,
};

pub const DAMPING: f64 = 0.25;

/// Tables of different widths, and terms over them.
pub struct Model {
    pub points: Vec<f64>,
    pub turns: Vec<f64>,
    pub scales: Vec<f64>,
    pub terms: Vec<Given>,
    /// Of all terms.
    pub loss: Option<Loss>,
    /// Table, instance and component of what is fixed.
    pub fixed: Vec<(u32, u32, u32)>,
}

/// A term: its kind, its index columns and its weight.
pub struct Given {
    pub kind: Kinds,
    pub indices: Vec<Vec<u32>>,
    pub weight: f64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kinds {
    /// |a − b| − s: both blocks of J are variable; s is a table of its own, owned by the first column, too.
    Springs,
    /// (a − b) − R(w)(b̂ − â) with the constants in the place of the points: one block is variable, the others ±1.
    Rigid,
    /// The product of a scale and a difference: three columns, each with another table or none.
    Scaled,
    /// a∘b + s·a: quadratic in a where it is b as well.
    Joined,
}

/// What a device makes of a model.
pub struct Found {
    /// JᵀWJ·p + λDp, and the packed diagonal blocks of JᵀWJ, table by table.
    pub product: [Vec<f64>; 3],
    pub blocks: [Vec<f64>; 3],
    pub schedules: Vec<Schedule>,
}

/// JᵀWJ·p + λDp and the packed diagonal blocks of JᵀWJ, table by table, and how far off roundings may be.
pub struct Reference {
    pub product: [Vec<Sum>; 3],
    pub blocks: [Vec<Sum>; 3],
}

/// A sum and what its roundings lost (Neumaier 1974). Where all instances share a variable they add equal numbers, whose
/// roundings add up instead of cancelling.
#[derive(Clone, Copy, Default)]
pub struct Sum {
    sum: f64,
    lost: f64,
    /// Of how many numbers, and how large all of them are that were multiplied and added for it.
    count: usize,
    size: f64,
}

/// Additions one after the other, at most: rows of 512, or trees of three levels of 256, and then the sums of chunks.
const MOST_ADDITIONS: usize = 1024;

/// Roundings of one number that is added, relative to its size: J itself with its sines, w, and u = Jp with nine products.
const OPERATIONS: usize = 32;

impl Sum {
    fn of(value: f64) -> Self {
        let mut sum = Self::default();
        sum.add(value, value.abs());
        sum
    }

    fn add(&mut self, value: f64, size: f64) {
        let sum = self.sum + value;
        self.lost += if self.sum.abs() >= value.abs() { (self.sum - sum) + value } else { (value - sum) + self.sum };
        self.sum = sum;
        self.count += 1;
        self.size += size;
    }

    fn total(&self) -> f64 {
        self.sum + self.lost
    }

    /// The error of a device's sum, as a part of what its roundings can come to (Higham 2002, §4.2).
    fn error(&self, found: f64, epsilon: f64) -> f64 {
        let error = (found - self.total()).abs();
        let bound = (self.count.min(MOST_ADDITIONS) + OPERATIONS) as f64 * epsilon * self.size;
        if error <= 0.0 { 0.0 } else { if bound > 0.0 && error.is_finite() { error / bound } else { f64::INFINITY } }
    }
}

/// Degrees of freedom of the tables that move.
const WIDTHS: [usize; 3] = [3, 3, 1];

impl Model {
    pub fn new(count: u32, random: &mut Random) -> Self {
        // What f32 has exactly: two points near each other would be farther apart there, or nearer, by a good part.
        let mut values = |len: u32, low: f64, high: f64| -> Vec<f64> { (0..len).map(|_| single(random.between(low, high))).collect() };
        let (points, turns, scales) = (values(3 * count, -1.0, 1.0), values(3 * count, -1.0, 1.0), values(count, 0.5, 1.5));
        Self { points, turns, scales, terms: Vec::new(), loss: None, fixed: Vec::new() }
    }

    fn count(&self) -> u64 {
        self.scales.len() as u64
    }

    /// A term with rows of up to `longest` instances, owned in order by the variables of one column. Some own nothing.
    pub fn term(&mut self, kind: Kinds, longest: u64, random: &mut Random) {
        let columns = if kind == Kinds::Scaled { 3 } else { 2 };
        let mut indices = vec![Vec::new(); columns];
        let owned = if kind == Kinds::Scaled { 1 } else { 0 };
        for owner in 0..self.count() {
            let length = if random.below(4) == 0 { random.below(longest + 1) } else { random.below(7.min(longest + 1)) };
            for _ in 0..length {
                for (column, indices) in indices.iter_mut().enumerate() {
                    // Never itself: a distance of 0 has no derivative.
                    let other = (owner + 1 + random.below(self.count() - 1)) % self.count();
                    indices.push(if column == owned { owner } else { other } as u32);
                }
            }
        }
        self.terms.push(Given { kind, indices, weight: single(random.between(0.5, 2.0)) });
    }

    pub fn shuffled(&mut self, random: &mut Random) {
        for Given { indices, .. } in &mut self.terms {
            for i in (1..indices[0].len()).rev() {
                let j = random.below(i as u64 + 1) as usize;
                indices.iter_mut().for_each(|column| column.swap(i, j));
            }
        }
    }

    fn tape(kind: Kinds) -> (Tape, u32) {
        let mut tape = Tape::default();
        let residual = match kind {
            Kinds::Springs => {
                let [a, b, s] = [0, 1, 2].map(|source| tape.input(source));
                let between = tape.op(Opcode::Sub, &[a, b]);
                let length = tape.op(Opcode::Norm, &[between]);
                tape.op(Opcode::Sub, &[length, s])
            }
            Kinds::Rigid => {
                let [a, b, w, a0, b0] = [0, 1, 2, 3, 4].map(|source| tape.input(source));
                let (now, before) = (tape.op(Opcode::Sub, &[a, b]), tape.op(Opcode::Sub, &[a0, b0]));
                let turned = tape.op(Opcode::RotateXYZ, &[w, before]);
                tape.op(Opcode::Sub, &[now, turned])
            }
            Kinds::Joined => {
                let [a, b, s] = [0, 1, 2].map(|source| tape.input(source));
                let [joined, scaled] = [[a, b], [a, s]].map(|factors| tape.op(Opcode::Mul, &factors));
                tape.op(Opcode::Add, &[joined, scaled])
            }
            Kinds::Scaled => {
                let [a, s, b] = [0, 1, 2].map(|source| tape.input(source));
                let between = tape.op(Opcode::Sub, &[a, b]);
                tape.op(Opcode::Mul, &[between, s])
            }
        };
        (tape, residual)
    }

    /// The slots of a kind: table and column.
    fn slots(kind: Kinds) -> &'static [(u32, u32)] {
        match kind {
            Kinds::Springs | Kinds::Joined => &[(0, 0), (0, 1), (2, 0)],
            Kinds::Rigid => &[(0, 0), (0, 1), (1, 0), (3, 0), (3, 1)],
            Kinds::Scaled => &[(0, 0), (2, 1), (0, 2)],
        }
    }

    /// Calls `add` with every term.
    pub fn terms(&self, mut add: impl FnMut(TermSpec)) {
        for Given { kind, indices, weight } in &self.terms {
            let (tape, residual) = Self::tape(*kind);
            let slot = |&(table, column): &(u32, u32)| leastwise::problem::Slot { table, column };
            add(TermSpec {
                name: format!("{kind:?}"),
                count: indices[0].len() as u32,
                indices: indices.clone(),
                slots: Self::slots(*kind).iter().map(slot).collect(),
                columns: Vec::new(),
                weight: Weight::Shared(*weight),
                loss: self.loss.clone(),
                objective: Default::default(),
                tape: &tape.words,
                outputs: &[residual],
            });
        }
    }

    fn tables(&self) -> [(&'static str, u32, &[f64], bool); 4] {
        [("x", 3, &self.points, true), ("w", 3, &self.turns, true), ("s", 1, &self.scales, true), ("rest", 3, &self.turns, false)]
    }

    /// A direction, 0 where something is fixed.
    pub fn direction(&self, random: &mut Random) -> [Vec<f64>; 3] {
        let tables = [&self.points, &self.turns, &self.scales];
        let mut p = tables.map(|table| table.iter().map(|_| single(random.between(-1.0, 1.0))).collect::<Vec<_>>());
        for &(table, instance, component) in &self.fixed {
            p[table as usize][instance as usize * WIDTHS[table as usize] + component as usize] = 0.0;
        }
        p
    }

    /// JᵀWJ·p + λDp and the diagonal blocks, from the Jacobians of single instances as the engine has them in f64. What an
    /// instance names twice has the sum of both columns. Losses are left out.
    pub fn dense(&self, p: &[Vec<f64>; 3]) -> Reference {
        let mut session = cpu(Precision::F64);
        let problem = session.problem();
        for (name, width, values, moving) in self.tables() {
            session.table(problem, name, width, Reals::F64(values), moving).unwrap();
        }
        self.terms(|spec| {
            session.term(problem, TermSpec { loss: None, ..spec }).unwrap();
        });
        let is_fixed = |table: usize, at: usize| {
            let place = (table as u32, (at / WIDTHS[table]) as u32, (at % WIDTHS[table]) as u32);
            self.fixed.contains(&place)
        };
        let packed = |width: usize| width * (width + 1) / 2;
        let mut q = p.clone().map(|table| vec![Sum::default(); table.len()]);
        let mut blocks = [0, 1, 2].map(|table| vec![Sum::default(); p[table].len() / WIDTHS[table] * packed(WIDTHS[table])]);
        for (number, Given { kind, indices, weight }) in self.terms.iter().enumerate() {
            let task = session.evaluate_term(problem, number as u32, None).unwrap();
            let Progress::Values(values) = finish(&mut session, task, |_| {}) else { panic!("no values") };
            let rows = if *kind == Kinds::Springs { 1 } else { 3 };
            let jacobians = &values[rows * indices[0].len()..];
            let slots = Self::slots(*kind).iter().filter(|slot| slot.0 < 3);
            let inputs: Vec<(usize, usize, usize)> =
                slots.flat_map(|&(table, column)| (0..WIDTHS[table as usize]).map(move |k| (table as usize, column as usize, k))).collect();
            for instance in 0..indices[0].len() {
                let whole = &jacobians[instance * rows * inputs.len()..][..rows * inputs.len()];
                // What an entry of J was made of may have cancelled, and be as large as the others.
                let largest = whole.iter().fold(0.0f64, |largest, j| largest.max(j.abs()));
                for j in whole.chunks(inputs.len()) {
                    // The slope, and the sizes of what it is the sum of.
                    let mut slopes: std::collections::BTreeMap<(usize, usize), [f64; 2]> = Default::default();
                    for (&(table, column, k), j) in inputs.iter().zip(j) {
                        let at = indices[column][instance] as usize * WIDTHS[table] + k;
                        if !is_fixed(table, at) {
                            let slope = slopes.entry((table, at)).or_default();
                            *slope = [slope[0] + j, slope[1] + largest];
                        }
                    }
                    let along = |k: usize| slopes.iter().map(move |(&(table, at), j)| j[k] * p[table][at]);
                    let (u, size) = (along(0).sum::<f64>(), along(1).map(f64::abs).sum::<f64>());
                    for (&(table, at), j) in &slopes {
                        q[table][at].add(weight * j[0] * u, weight * j[1] * size);
                        let (width, of) = (WIDTHS[table], at / WIDTHS[table]);
                        let same = slopes.range((table, of * width)..=(table, at));
                        for (&(_, other), k) in same {
                            let (row, column) = (at % width, other % width);
                            let block = &mut blocks[table][of * packed(width) + packed(row) + column];
                            block.add(weight * j[0] * k[0], weight * j[1] * k[1]);
                        }
                    }
                }
            }
        }
        for &(table, instance, component) in &self.fixed {
            let (table, k) = (table as usize, component as usize);
            blocks[table][instance as usize * packed(WIDTHS[table]) + packed(k) + k] = Sum::of(1.0);
        }
        for table in 0..3 {
            let width = WIDTHS[table];
            for (at, q) in q[table].iter_mut().enumerate() {
                let diagonal = blocks[table][at / width * packed(width) + at % width * (at % width + 3) / 2];
                // D is 1 where nothing depends on the unknown.
                let diagonal = if diagonal.total() == 0.0 { Sum::of(1.0) } else { diagonal };
                q.add(DAMPING * diagonal.total() * p[table][at], (DAMPING * diagonal.size * p[table][at]).abs());
            }
        }
        Reference { product: q, blocks }
    }

    /// The same, by the device; and the schedules that ran.
    pub fn product(&self, device: &mut Device, tuning: Tuning, p: &[Vec<f64>; 3]) -> Found {
        self.product_of(device, tuning, p, false)
    }

    /// The same, with the products of all batches gathered at once.
    pub fn merged_product(&self, device: &mut Device, tuning: Tuning, p: &[Vec<f64>; 3]) -> Found {
        self.product_of(device, tuning, p, true)
    }

    fn product_of(&self, device: &mut Device, tuning: Tuning, p: &[Vec<f64>; 3], is_merged: bool) -> Found {
        let mut registry = Registry::default();
        registry.tuning = tuning;
        let mut problem = Problem::new();
        for (name, width, values, moving) in self.tables() {
            problem.add_table(device, &mut registry, name, vec![Shape::Euclidean(width)], Reals::F64(values), moving).unwrap();
        }
        self.terms(|spec| {
            problem.add_term(device, &mut registry, spec).unwrap();
        });
        for &(table, instance, component) in &self.fixed {
            problem.fix(table, Some(&[instance]), Some(&[component])).unwrap();
        }
        problem.lay_out(device, &mut registry).unwrap();
        let work = Workspace::new(device, &problem, Needs::default()).unwrap();
        let mut commands = problem.take_uploads();
        work.differentiate(&problem, &mut commands).unwrap();
        work.scale_damping(&problem, &mut commands);
        for (element, value) in [(state::SOLVED, 0.0), (state::BETA, 0.0), (state::DAMPING, DAMPING)] {
            commands.push(Command::UploadReals { buffer: work.state.buffer, offset: element, data: vec![value] });
        }
        let places: Vec<u32> = problem.moving().map(|table| table.vector).collect();
        for (place, values) in places.iter().zip(p) {
            commands.push(Command::UploadReals { buffer: work.z.buffer, offset: *place, data: values.clone() });
        }
        let mut merged = None;
        if is_merged {
            let sources = merged::Sources::of(device, &problem).expect("no sums");
            let plan = at_once(async |pace| merged::Plan::new(&sources, &pace).await).expect("short rows");
            let mut made = plan.merge(device, &problem).unwrap();
            commands.extend(made.take_uploads());
            // As if an iteration were the first one.
            let partials = (work.inner_partials.buffer, merged::control(&work));
            commands.push(Command::UploadReals { buffer: partials.0, offset: 0, data: vec![1.0; partials.1 as usize / 2] });
            commands.push(Command::UploadReals { buffer: partials.0, offset: partials.1 + 1, data: vec![0.0; 2] });
            made.set_up(&work, &problem, &mut commands);
            made.product(&work, &problem, made.partials(&work), &mut commands);
            merged = Some(made);
        } else {
            pcg::product(&work, &problem, &mut commands);
        }
        commands.push(Command::Read { slice: Slice { len: problem.vector_len(), ..work.q } });
        let all = device.run(Recording { commands }).unwrap();
        let product = [0, 1, 2].map(|table| all[places[table] as usize..][..p[table].len()].to_vec());
        let all = device.run(Recording { commands: vec![Command::Read { slice: work.blocks }] }).unwrap();
        let blocks: Vec<Vec<f64>> = problem
            .moving()
            .map(|table| all[table.block as usize..][..(table.count * table.tangent * (table.tangent + 1) / 2) as usize].to_vec())
            .collect();
        let schedules = problem.batches().iter().map(|batch| batch.product.schedule).collect();
        work.buffers().into_iter().for_each(|buffer| device.free(buffer));
        merged.iter().flat_map(|made| made.buffers()).for_each(|buffer| device.free(*buffer));
        problem.dispose(device);
        Found { product, blocks: blocks.try_into().expect("three tables move"), schedules }
    }
}

pub fn always(schedule: Schedule) -> Tuning {
    Tuning { products: [(Tuning::ANY.to_string(), schedule)].into(), ..Tuning::default() }
}

/// A number that f32 has exactly.
fn single(value: f64) -> f64 {
    f64::from(value as f32)
}

/// Calls `work` with every kind of device; GPUs are those that other tests are done with.
pub fn on_every_device(mut work: impl FnMut(&str, &mut Device)) {
    for (name, precision, limits) in [
        ("cpu f64", Precision::F64, CpuDevice::default_limits()),
        ("cpu f64, small limits", Precision::F64, Limits::SMALL),
        ("cpu f32", Precision::F32, CpuDevice::default_limits()),
    ] {
        work(name, &mut Device::Cpu(CpuDevice::new(precision, limits)));
    }
    for (name, limits) in gpus() {
        let mut device = take_gpu(limits);
        work(name, &mut device);
        give_gpu(limits, device);
    }
}

/// Half of the distance from 1 to the next number.
pub fn epsilon(device: &Device) -> f64 {
    if device.precision() == Precision::F64 { f64::EPSILON / 2.0 } else { f64::from(f32::EPSILON) / 2.0 }
}

/// The largest error, as a part of what roundings can come to.
pub fn error(found: &[Vec<f64>; 3], reference: &[Vec<Sum>; 3], epsilon: f64) -> f64 {
    let pairs = found.iter().flatten().zip(reference.iter().flatten());
    pairs.map(|(found, reference)| reference.error(*found, epsilon)).fold(0.0, f64::max)
}

/// Other values with as many numbers added, of the same size.
pub fn with_values(reference: &[Vec<Sum>; 3], values: &[Vec<f64>; 3]) -> [Vec<Sum>; 3] {
    let table = |k: usize| reference[k].iter().zip(&values[k]).map(|(of, value)| Sum { sum: *value, lost: 0.0, ..*of }).collect();
    [0, 1, 2].map(table)
}

/// Holds every schedule on every device to the dense product; `expected` says which schedules must have run, if that is certain.
pub fn agree(model: &Model, random: &mut Random, expected: impl Fn(Schedule) -> Option<Vec<Schedule>>) {
    let p = model.direction(random);
    let dense = model.dense(&p);
    on_every_device(|name, device| {
        let live = device.counters().bytes_live;
        for schedule in Schedule::ALL {
            let found = model.product(device, always(schedule), &p);
            let errors = [(&found.product, &dense.product), (&found.blocks, &dense.blocks)];
            let errors = errors.map(|(found, reference)| error(found, reference, epsilon(device)));
            println!("{name}, {}: {:.1e} and {:.1e} of what roundings can come to", schedule.name(), errors[0], errors[1]);
            assert!(errors.iter().all(|error| *error < 1.0), "{name}, {}: errors of {errors:?} bounds", schedule.name());
            assert!(expected(schedule).is_none_or(|expected| found.schedules == expected), "{name}: {:?}", found.schedules);
        }
        assert_eq!(device.counters().bytes_live, live, "{name}: buffers are left");
    });
}

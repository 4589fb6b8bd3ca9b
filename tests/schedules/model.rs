//! Problems whose products are known: tables of different widths, terms over them, and their dense matrices.

use crate::support::*;
use leastwise::device::cpu::CpuDevice;
use leastwise::device::wgpu::WgpuDevice;
use leastwise::device::{Command, Device, Limits, Precision, Recording, Slice};
use leastwise::expr::Opcode;
use leastwise::problem::{Loss, Problem, Reals, Registry, Schedule, Shape, TermSpec, Tuning, Weight};
use leastwise::session::Progress;
use leastwise::solve::{Needs, Workspace, linear::pcg, state};

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

/// A sum and what its roundings lost (Neumaier 1974). Where all instances share a variable they add equal numbers, whose
/// roundings add up instead of cancelling.
#[derive(Clone, Copy, Default)]
struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.lost += if self.sum.abs() >= value.abs() { (self.sum - sum) + value } else { (value - sum) + self.sum };
        self.sum = sum;
    }

    fn total(&self) -> f64 {
        self.sum + self.lost
    }
}

/// Degrees of freedom of the tables that move.
const WIDTHS: [usize; 3] = [3, 3, 1];

impl Model {
    pub fn new(count: u32, random: &mut Random) -> Self {
        let mut values = |len: u32, low: f64, high: f64| -> Vec<f64> { (0..len).map(|_| random.between(low, high)).collect() };
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
        self.terms.push(Given { kind, indices, weight: random.between(0.5, 2.0) });
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
                tape: &tape.words,
                outputs: &[residual],
            });
        }
    }

    fn tables(&self) -> [(&'static str, u32, &[f64], bool); 4] {
        [("x", 3, &self.points, true), ("w", 3, &self.turns, true), ("s", 1, &self.scales, true), ("rest", 3, &self.turns, false)]
    }

    /// JᵀWJ·p + λDp and the diagonal blocks, from the Jacobians of single instances as the engine has them in f64. What an
    /// instance names twice has the sum of both columns.
    pub fn dense(&self, p: &[Vec<f64>; 3]) -> Found {
        let mut session = cpu(Precision::F64);
        let problem = session.problem();
        for (name, width, values, moving) in self.tables() {
            session.table(problem, name, width, Reals::F64(values), moving).unwrap();
        }
        self.terms(|spec| {
            session.term(problem, spec).unwrap();
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
                for row in 0..rows {
                    let j = &jacobians[(instance * rows + row) * inputs.len()..][..inputs.len()];
                    let mut slopes: std::collections::BTreeMap<(usize, usize), f64> = Default::default();
                    for (&(table, column, k), j) in inputs.iter().zip(j) {
                        let at = indices[column][instance] as usize * WIDTHS[table] + k;
                        if !is_fixed(table, at) {
                            *slopes.entry((table, at)).or_default() += j;
                        }
                    }
                    let u: f64 = slopes.iter().map(|(&(table, at), j)| j * p[table][at]).sum();
                    for (&(table, at), j) in &slopes {
                        q[table][at].add(weight * j * u);
                        let (width, of) = (WIDTHS[table], at / WIDTHS[table]);
                        let same = slopes.range((table, of * width)..=(table, at));
                        for (&(_, other), k) in same {
                            let (row, column) = (at % width, other % width);
                            blocks[table][of * packed(width) + packed(row) + column].add(weight * j * k);
                        }
                    }
                }
            }
        }
        let [mut q, mut blocks] = [q, blocks].map(|tables| tables.map(|table| table.iter().map(Sum::total).collect::<Vec<_>>()));
        for &(table, instance, component) in &self.fixed {
            let (table, k) = (table as usize, component as usize);
            blocks[table][instance as usize * packed(WIDTHS[table]) + packed(k) + k] = 1.0;
        }
        for table in 0..3 {
            let width = WIDTHS[table];
            for (at, q) in q[table].iter_mut().enumerate() {
                let diagonal: f64 = blocks[table][at / width * packed(width) + at % width * (at % width + 3) / 2];
                // D is 1 where nothing depends on the unknown.
                *q += DAMPING * if diagonal == 0.0 { 1.0 } else { diagonal } * p[table][at];
            }
        }
        Found { product: q, blocks, schedules: Vec::new() }
    }

    /// The same, by the device; and the schedules that ran.
    pub fn product(&self, device: &mut Device, tuning: Tuning, p: &[Vec<f64>; 3]) -> Found {
        let mut registry = Registry::tuned(tuning);
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
        pcg::product(&work, &problem, &mut commands);
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
        problem.dispose(device);
        Found { product, blocks: blocks.try_into().expect("three tables move"), schedules }
    }
}

pub fn always(schedule: Schedule) -> Tuning {
    Tuning { products: [(Tuning::ANY.to_string(), schedule)].into() }
}

pub fn devices() -> Vec<(&'static str, Device, f64)> {
    let cpu = |precision, limits| Device::Cpu(CpuDevice::new(precision, limits));
    let gpu = |limits| Device::Wgpu(Box::new(WgpuDevice::open_blocking(limits).expect("a WebGPU adapter")));
    vec![
        ("cpu f64", cpu(Precision::F64, CpuDevice::default_limits()), 1e-12),
        ("cpu f64, small limits", cpu(Precision::F64, Limits::SMALL), 1e-12),
        ("cpu f32", cpu(Precision::F32, CpuDevice::default_limits()), 2e-5),
        ("webgpu", gpu(None), 2e-5),
        ("webgpu, small limits", gpu(Some(Limits::SMALL)), 2e-5),
    ]
}

/// The largest difference, as a part of the largest entry.
pub fn difference(a: &[Vec<f64>; 3], b: &[Vec<f64>; 3]) -> f64 {
    let largest = b.iter().flatten().fold(0.0f64, |largest, value| largest.max(value.abs()));
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    pairs.map(|(a, b)| if (a - b).is_nan() { f64::INFINITY } else { (a - b).abs() / largest }).fold(0.0, f64::max)
}

/// Holds every schedule on every device to the dense product; `expected` says which schedules must have run, if that is certain.
pub fn agree(model: &Model, random: &mut Random, expected: impl Fn(Schedule) -> Option<Vec<Schedule>>) {
    let mut p =
        [&model.points, &model.turns, &model.scales].map(|table| table.iter().map(|_| random.between(-1.0, 1.0)).collect::<Vec<_>>());
    for &(table, instance, component) in &model.fixed {
        p[table as usize][instance as usize * WIDTHS[table as usize] + component as usize] = 0.0;
    }
    let dense = model.dense(&p);
    for (name, mut device, bound) in devices() {
        let live = device.counters().bytes_live;
        for schedule in Schedule::ALL {
            let found = model.product(&mut device, always(schedule), &p);
            let errors = [difference(&found.product, &dense.product), difference(&found.blocks, &dense.blocks)];
            assert!(errors.iter().all(|error| *error < bound), "{name}, {}: errors of {errors:?}", schedule.name());
            assert!(expected(schedule).is_none_or(|expected| found.schedules == expected), "{name}: {:?}", found.schedules);
        }
        assert_eq!(device.counters().bytes_live, live, "{name}: buffers are left");
    }
}

//! Products JᵀWJ·p + λDp in every schedule, against dense matrices and against each other, on every backend; sizes are
//! ragged, and limits small.

mod support;

use leastwise::device::cpu::CpuDevice;
use leastwise::device::wgpu::WgpuDevice;
use leastwise::device::{Command, Device, Limits, Precision, Recording, Slice};
use leastwise::expr::Opcode;
use leastwise::problem::{Loss, Problem, Reals, Registry, Schedule, Shape, TermSpec, Tuning, Weight};
use leastwise::session::{Progress, SolveMode};
use leastwise::solve::{Needs, Options, Workspace, linear::pcg, state};
use support::*;

const DAMPING: f64 = 0.25;

/// Tables of different widths, and terms over them.
struct Model {
    points: Vec<f64>,
    turns: Vec<f64>,
    scales: Vec<f64>,
    terms: Vec<Given>,
    /// Of all terms.
    loss: Option<Loss>,
}

/// A term: its kind, its index columns and its weight.
struct Given {
    kind: Kinds,
    indices: Vec<Vec<u32>>,
    weight: f64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kinds {
    /// |a − b| − s: both blocks of J are variable; s is a table of its own, owned by the first column, too.
    Springs,
    /// (a − b) − R(w)(b̂ − â) with the constants in the place of the points: one block is variable, the others ±1.
    Rigid,
    /// The product of a scale and a difference: three columns, each with another table or none.
    Scaled,
}

impl Model {
    fn new(count: u32, random: &mut Random) -> Self {
        let mut values = |len: u32, low: f64, high: f64| -> Vec<f64> { (0..len).map(|_| random.between(low, high)).collect() };
        let (points, turns, scales) = (values(3 * count, -1.0, 1.0), values(3 * count, -1.0, 1.0), values(count, 0.5, 1.5));
        Self { points, turns, scales, terms: Vec::new(), loss: None }
    }

    fn count(&self) -> u64 {
        self.scales.len() as u64
    }

    /// A term with rows of up to `longest` instances, owned in order by the variables of one column. Some own nothing.
    fn term(&mut self, kind: Kinds, longest: u64, random: &mut Random) {
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

    fn shuffled(&mut self, random: &mut Random) {
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
            Kinds::Springs => &[(0, 0), (0, 1), (2, 0)],
            Kinds::Rigid => &[(0, 0), (0, 1), (1, 0), (3, 0), (3, 1)],
            Kinds::Scaled => &[(0, 0), (2, 1), (0, 2)],
        }
    }

    /// Calls `add` with every term.
    fn terms(&self, mut add: impl FnMut(TermSpec)) {
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

    /// JᵀWJ·p + λDp from the Jacobians of single instances, as the engine has them in f64.
    fn dense(&self, p: &[Vec<f64>; 3]) -> [Vec<f64>; 3] {
        let mut session = cpu(Precision::F64);
        let problem = session.problem();
        for (name, width, values, moving) in self.tables() {
            session.table(problem, name, width, Reals::F64(values), moving).unwrap();
        }
        self.terms(|spec| {
            session.term(problem, spec).unwrap();
        });
        let mut q = p.clone().map(|table| vec![0.0; table.len()]);
        let mut diagonal = q.clone();
        for (number, Given { kind, indices, weight }) in self.terms.iter().enumerate() {
            let task = session.evaluate_term(problem, number as u32, None).unwrap();
            let Progress::Values(values) = finish(&mut session, task, |_| {}) else { panic!("no values") };
            let rows = if *kind == Kinds::Springs { 1 } else { 3 };
            let jacobians = &values[rows * indices[0].len()..];
            let slots = Self::slots(*kind).iter().filter(|slot| slot.0 < 3);
            let inputs: Vec<(usize, usize, usize)> = slots
                .flat_map(|&(table, column)| (0..[3, 3, 1][table as usize]).map(move |k| (table as usize, column as usize, k)))
                .collect();
            for instance in 0..indices[0].len() {
                let place =
                    |&(table, column, k): &(usize, usize, usize)| (table, indices[column][instance] as usize * [3, 3, 1][table] + k);
                for row in 0..rows {
                    let j = &jacobians[(instance * rows + row) * inputs.len()..][..inputs.len()];
                    let u: f64 = inputs.iter().map(place).zip(j).map(|((table, at), j)| j * p[table][at]).sum();
                    for ((table, at), j) in inputs.iter().map(place).zip(j) {
                        q[table][at] += weight * j * u;
                        diagonal[table][at] += weight * j * j;
                    }
                }
            }
        }
        for table in 0..3 {
            for ((q, p), d) in q[table].iter_mut().zip(&p[table]).zip(&diagonal[table]) {
                *q += DAMPING * d.max(1e-6) * p;
            }
        }
        q
    }

    /// The same, by the device; and the schedules that ran.
    fn product(&self, device: &mut Device, tuning: Tuning, p: &[Vec<f64>; 3]) -> ([Vec<f64>; 3], Vec<Schedule>) {
        let mut registry = Registry::tuned(tuning);
        let mut problem = Problem::new();
        for (name, width, values, moving) in self.tables() {
            problem.add_table(device, &mut registry, name, vec![Shape::Euclidean(width)], Reals::F64(values), moving).unwrap();
        }
        self.terms(|spec| {
            problem.add_term(device, &mut registry, spec).unwrap();
        });
        problem.lay_out(device, &mut registry).unwrap();
        let work = Workspace::new(device, &problem, Needs::default()).unwrap();
        let mut commands = problem.take_uploads();
        work.differentiate(&problem, &mut commands).unwrap();
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
        let q = [0, 1, 2].map(|table| all[places[table] as usize..][..p[table].len()].to_vec());
        let schedules = problem.batches().iter().map(|batch| batch.product.schedule).collect();
        work.buffers().into_iter().for_each(|buffer| device.free(buffer));
        problem.dispose(device);
        (q, schedules)
    }
}

fn always(schedule: Schedule) -> Tuning {
    Tuning { products: [(Tuning::ANY.to_string(), schedule)].into() }
}

fn devices() -> Vec<(&'static str, Device, f64)> {
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
fn difference(a: &[Vec<f64>; 3], b: &[Vec<f64>; 3]) -> f64 {
    let largest = b.iter().flatten().fold(0.0f64, |largest, value| largest.max(value.abs()));
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    pairs.map(|(a, b)| if (a - b).is_nan() { f64::INFINITY } else { (a - b).abs() / largest }).fold(0.0, f64::max)
}

fn agree(model: &Model, random: &mut Random, expected: impl Fn(Schedule) -> Vec<Schedule>) {
    let p = [&model.points, &model.turns, &model.scales].map(|table| table.iter().map(|_| random.between(-1.0, 1.0)).collect());
    let dense = model.dense(&p);
    for (name, mut device, bound) in devices() {
        let live = device.counters().bytes_live;
        for schedule in Schedule::ALL {
            let (q, schedules) = model.product(&mut device, always(schedule), &p);
            let error = difference(&q, &dense);
            assert!(error < bound, "{name}, {}: an error of {error:e}", schedule.name());
            assert_eq!(schedules, expected(schedule), "{name}");
        }
        assert_eq!(device.counters().bytes_live, live, "{name}: buffers are left");
    }
}

#[test]
fn every_schedule_is_the_dense_product() {
    let seed = seed();
    println!("LEASTWISE_TEST_SEED={seed}");
    let mut random = Random::new(seed);
    for (count, longest) in [(2, 3), (77, 60), (1200, 20)] {
        let mut model = Model::new(count, &mut random);
        for kind in [Kinds::Springs, Kinds::Rigid, Kinds::Scaled] {
            model.term(kind, longest, &mut random);
        }
        model.terms.retain(|given| !given.indices[0].is_empty());
        agree(&model, &mut random, |schedule| vec![schedule; model.terms.len()]);
    }
}

/// Their weights depend on r, whose square the corrected product has in it, too. The products in two passes are held to
/// dense matrices where losses are tested.
#[test]
fn losses_weigh_the_rows_of_every_schedule() {
    let mut random = Random::new(seed());
    for loss in [Loss::cauchy(0.3), Loss::tukey(1.5)] {
        let mut model = Model::new(300, &mut random);
        for kind in [Kinds::Springs, Kinds::Rigid, Kinds::Scaled] {
            model.term(kind, 12, &mut random);
        }
        let p = [&model.points, &model.turns, &model.scales].map(|table| table.iter().map(|_| random.between(-1.0, 1.0)).collect());
        let mut exact = Device::Cpu(CpuDevice::new(Precision::F64, CpuDevice::default_limits()));
        let plain = model.product(&mut exact, always(Schedule::TwoPass), &p).0;
        model.loss = Some(loss.unwrap());
        let reference = model.product(&mut exact, always(Schedule::TwoPass), &p).0;
        assert!(difference(&reference, &plain) > 1e-2, "the loss weighs nothing");
        for (name, mut device, bound) in devices() {
            for schedule in Schedule::ALL {
                let (q, schedules) = model.product(&mut device, always(schedule), &p);
                let error = difference(&q, &reference);
                assert!(error < 5.0 * bound, "{name}, {}: an error of {error:e}", schedule.name());
                assert_eq!(schedules, [schedule; 3], "{name}");
            }
        }
    }
}

#[test]
fn instances_that_no_column_owns_are_multiplied_in_two_passes() {
    let mut random = Random::new(seed());
    let mut model = Model::new(300, &mut random);
    for kind in [Kinds::Springs, Kinds::Rigid] {
        model.term(kind, 6, &mut random);
    }
    model.shuffled(&mut random);
    agree(&model, &mut random, |schedule| {
        let recompute = schedule == Schedule::Recompute;
        vec![if recompute { schedule } else { Schedule::TwoPass }; 2]
    });
}

#[test]
fn rows_longer_than_a_workgroup_are_multiplied_in_two_passes() {
    let mut random = Random::new(seed());
    let mut model = Model::new(40, &mut random);
    model.term(Kinds::Rigid, 6, &mut random);
    // One variable in every instance, as all are joined to it.
    let hub = 700;
    model.terms[0].indices = vec![vec![0; hub], (0..hub as u32).map(|i| 1 + i % 39).collect()];
    agree(&model, &mut random, |schedule| vec![if schedule == Schedule::Recompute { schedule } else { Schedule::TwoPass }]);
}

#[test]
fn a_table_for_other_kernels_changes_nothing() {
    let mut random = Random::new(seed());
    let mut model = Model::new(50, &mut random);
    model.term(Kinds::Rigid, 6, &mut random);
    let p = [&model.points, &model.turns, &model.scales].map(|table| table.iter().map(|_| random.between(-1.0, 1.0)).collect());
    let mut device = Device::Cpu(CpuDevice::new(Precision::F64, CpuDevice::default_limits()));
    let other = Tuning { products: [("0000000000000000/5".to_string(), Schedule::Recompute)].into() };
    let chosen = model.product(&mut device, Tuning::default(), &p);
    assert_eq!(chosen.1, [Schedule::OwnerComputes], "on a CPU, J is read once and not computed anew");
    assert_eq!(model.product(&mut device, other, &p), chosen);
}

#[test]
fn threads_change_no_bit_of_a_solve() {
    let mesh = Mesh::icosphere(5).normalized();
    let costs = |threads: usize, schedule: Schedule| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| {
            let mut session = cpu(Precision::F64);
            session.set_tuning(always(schedule));
            let (problem, table) = arap(&mut session, &mesh);
            let solver = session.solver(problem, &Options::default()).unwrap();
            for _ in 0..2 {
                let task = session.solve(solver, SolveMode::Step).unwrap();
                finish(&mut session, task, |_| {});
            }
            read(&mut session, problem, table).into_iter().map(f64::to_bits).collect::<Vec<_>>()
        })
    };
    for schedule in [Schedule::TwoPass, Schedule::OwnerComputes] {
        let alone = costs(1, schedule);
        for threads in [2, 3] {
            assert!(alone == costs(threads, schedule), "{}: {threads} threads differ from one", schedule.name());
        }
    }
}

/// New in every run, unless it is given.
fn seed() -> u64 {
    let given = std::env::var("LEASTWISE_TEST_SEED").ok().map(|seed| seed.parse().expect("a number"));
    given.unwrap_or_else(|| std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_nanos() as u64)
}

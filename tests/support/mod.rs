//! What the integration tests share: a tape written by hand, meshes, problems, and ways to run them.
#![allow(dead_code)]

pub mod classics;
pub mod fits;
pub mod gradients;
pub mod refusals;
pub mod scan;
pub mod scene;
mod shared;

use leastwise::base::task::{Pace, Stopped, Task};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::wgpu::WgpuDevice;
use leastwise::device::{Device, Limits, Precision};
use leastwise::expr::Opcode;
use leastwise::problem::{Column, Reals, Slot, TermSpec, Weight};
use leastwise::session::{Progress, Session, SolveMode};
use leastwise::solve::{Iteration, Options, Report};
#[allow(unused_imports)]
pub use shared::*;

/// True in `npm run test:full`, which repeats claims at every size and with all random programs; `npm test` has a share of them.
pub fn is_full() -> bool {
    std::env::var_os("LEASTWISE_FULL").is_some()
}

/// WebGPU with limits of its own, which cut what is large into chunks, and in `npm run test:full` with those of the adapter too.
pub fn gpus() -> Vec<(&'static str, Option<Limits>)> {
    repeated(&[("webgpu, small limits", Some(Limits::SMALL)), ("webgpu", None)], 1).to_vec()
}

/// What a claim is repeated for: all of it in `npm run test:full`, the first few in `npm test`.
pub fn repeated<T>(all: &[T], few: usize) -> &[T] {
    if is_full() { all } else { &all[..few.min(all.len())] }
}

/// Writes a tape as the façade does.
#[derive(Default)]
pub struct Tape {
    pub words: Vec<u32>,
    values: u32,
}

impl Tape {
    pub fn op(&mut self, opcode: Opcode, operands: &[u32]) -> u32 {
        self.words.push(opcode as u32 | (operands.len() as u32) << 16);
        self.words.extend(operands);
        self.values += 1;
        self.values - 1
    }

    pub fn input(&mut self, source: u32) -> u32 {
        self.op(Opcode::Input, &[source])
    }

    pub fn literal(&mut self, value: f64) -> u32 {
        let bits = value.to_bits();
        self.op(Opcode::Literal, &[bits as u32, (bits >> 32) as u32])
    }
}

pub struct Mesh {
    pub positions: Vec<f64>,
    pub triangles: Vec<u32>,
}

impl Mesh {
    /// An icosahedron, subdivided: 10·4ⁿ + 2 vertices on the unit sphere.
    pub fn icosphere(level: u32) -> Self {
        let phi = (1.0 + 5f64.sqrt()) / 2.0;
        let corners = [
            [-1.0, phi, 0.0],
            [1.0, phi, 0.0],
            [-1.0, -phi, 0.0],
            [1.0, -phi, 0.0],
            [0.0, -1.0, phi],
            [0.0, 1.0, phi],
            [0.0, -1.0, -phi],
            [0.0, 1.0, -phi],
            [phi, 0.0, -1.0],
            [phi, 0.0, 1.0],
            [-phi, 0.0, -1.0],
            [-phi, 0.0, 1.0],
        ];
        let mut points: Vec<[f64; 3]> = corners.iter().map(|p| unit(*p)).collect();
        let mut triangles: Vec<[u32; 3]> = [
            [0, 11, 5],
            [0, 5, 1],
            [0, 1, 7],
            [0, 7, 10],
            [0, 10, 11],
            [1, 5, 9],
            [5, 11, 4],
            [11, 10, 2],
            [10, 7, 6],
            [7, 1, 8],
            [3, 9, 4],
            [3, 4, 2],
            [3, 2, 6],
            [3, 6, 8],
            [3, 8, 9],
            [4, 9, 5],
            [2, 4, 11],
            [6, 2, 10],
            [8, 6, 7],
            [9, 8, 1],
        ]
        .to_vec();
        for _ in 0..level {
            let mut middles = std::collections::HashMap::new();
            let mut middle = |points: &mut Vec<[f64; 3]>, a: u32, b: u32| {
                *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                    let (p, q) = (points[a as usize], points[b as usize]);
                    points.push(unit([p[0] + q[0], p[1] + q[1], p[2] + q[2]]));
                    points.len() as u32 - 1
                })
            };
            triangles = triangles
                .iter()
                .flat_map(|&[a, b, c]| {
                    let [ab, bc, ca] = [middle(&mut points, a, b), middle(&mut points, b, c), middle(&mut points, c, a)];
                    [[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]
                })
                .collect();
        }
        Self { positions: points.concat(), triangles: triangles.concat() }
    }

    /// Subtracts each axis' minimum and divides by the height.
    pub fn normalized(mut self) -> Self {
        let axis = |k: usize| self.positions.iter().skip(k).step_by(3).copied();
        let low = [0, 1, 2].map(|k| axis(k).fold(f64::INFINITY, f64::min));
        let height = axis(1).fold(f64::NEG_INFINITY, f64::max) - low[1];
        self.positions.iter_mut().enumerate().for_each(|(i, x)| *x = (*x - low[i % 3]) / height);
        self
    }

    /// Every directed edge once: starts and ends.
    pub fn directed_edges(&self) -> [Vec<u32>; 2] {
        let mut edges: Vec<(u32, u32)> =
            self.triangles.chunks(3).flat_map(|t| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])]).flat_map(|(a, b)| [(a, b), (b, a)]).collect();
        edges.sort_unstable();
        edges.dedup();
        [edges.iter().map(|edge| edge.0).collect(), edges.iter().map(|edge| edge.1).collect()]
    }
}

fn unit(p: [f64; 3]) -> [f64; 3] {
    let length = (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt();
    p.map(|x| x / length)
}

/// As-rigid-as-possible deformation: base pinned, top moved by 0.3 in x. Gives the problem and its position table.
pub fn arap(session: &mut Session, mesh: &Mesh) -> (u32, u32) {
    let problem = session.problem();
    let count = mesh.positions.len();
    let x = session.table(problem, "position", 3, Reals::F64(&mesh.positions), true).unwrap();
    let w = session.table(problem, "rotation", 3, Reals::F64(&vec![0.0; count]), true).unwrap();
    let rest = session.table(problem, "rest", 3, Reals::F64(&mesh.positions), false).unwrap();
    let mut tape = Tape::default();
    let [a, b, angles, a0, b0] = [0, 1, 2, 3, 4].map(|source| tape.input(source));
    let now = tape.op(Opcode::Sub, &[a, b]);
    let before = tape.op(Opcode::Sub, &[a0, b0]);
    let turned = tape.op(Opcode::RotateXYZ, &[angles, before]);
    let residual = tape.op(Opcode::Sub, &[now, turned]);
    let edges = mesh.directed_edges();
    let slot = |table, column| Slot { table, column };
    let spec = TermSpec {
        name: "arap".into(),
        count: edges[0].len() as u32,
        indices: edges.to_vec(),
        slots: vec![slot(x, 0), slot(x, 1), slot(w, 0), slot(rest, 0), slot(rest, 1)],
        columns: Vec::new(),
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &[residual],
    };
    session.term(problem, spec).unwrap();
    let height = |v: usize| mesh.positions[3 * v + 1];
    let pinned: Vec<u32> = (0..count / 3).filter(|&v| height(v) < 0.05 || height(v) > 0.95).map(|v| v as u32).collect();
    let target = |&v: &u32| {
        let p = &mesh.positions[3 * v as usize..][..3];
        [p[0] + if p[1] > 0.95 { 0.3 } else { 0.0 }, p[1], p[2]]
    };
    let targets: Vec<f64> = pinned.iter().flat_map(target).collect();
    let mut tape = Tape::default();
    let [p, goal] = [0, 1].map(|source| tape.input(source));
    let residual = tape.op(Opcode::Sub, &[p, goal]);
    let spec = TermSpec {
        name: "handles".into(),
        count: pinned.len() as u32,
        indices: vec![pinned],
        slots: vec![slot(x, 0)],
        columns: vec![Column { name: "target".into(), width: 3, shared: false, values: Reals::F64(&targets) }],
        weight: Weight::Shared(5.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &[residual],
    };
    session.term(problem, spec).unwrap();
    (problem, x)
}

/// A term of weight 1 with a name and a count, and nothing else yet.
pub fn plain<'a>(name: &str, count: u32) -> TermSpec<'a> {
    TermSpec {
        name: name.into(),
        count,
        indices: Vec::new(),
        slots: Vec::new(),
        columns: Vec::new(),
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &[],
        outputs: &[],
    }
}

pub fn cpu(precision: Precision) -> Session {
    Session::new(Device::Cpu(CpuDevice::new(precision, CpuDevice::default_limits())))
}

pub fn cpu_with(precision: Precision, limits: Limits) -> Session {
    Session::new(Device::Cpu(CpuDevice::new(precision, limits)))
}

/// No adapter is a failure: install software Vulkan (`npm run setup`).
pub fn gpu(limits: Option<Limits>) -> Session {
    Session::new(Device::Wgpu(Box::new(WgpuDevice::open_blocking(limits).expect("a WebGPU adapter"))))
}

/// A GPU in f32 whose solves go on in mixed precision.
pub fn refining_gpu(limits: Option<Limits>) -> Session {
    gpu_in(leastwise::device::Reals::Single, limits)
}

/// A GPU in double-floats, or in mixed precision.
pub fn gpu_in(reals: leastwise::device::Reals, limits: Option<Limits>) -> Session {
    let mut device = WgpuDevice::open_blocking(limits).expect("a WebGPU adapter");
    pollster::block_on(device.check_doubles()).expect("a self-check");
    device.set_reals(reals).expect("an adapter whose double-floats are exact");
    Session::new(Device::Wgpu(Box::new(device)))
}

/// Runs a task to its end; iterations go to `each`.
pub fn finish(session: &mut Session, task: u32, mut each: impl FnMut(Iteration)) -> Progress {
    loop {
        match session.resume(task, f64::INFINITY).unwrap() {
            Progress::Yielded | Progress::Partly { .. } => {}
            Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
            Progress::Iteration(iteration) => each(iteration),
            done => return done,
        }
    }
}

/// Does work that may be interrupted in one piece.
pub fn at_once<'a, T, F: Future<Output = Result<T, Stopped>> + Send + 'a>(work: impl FnOnce(Pace) -> F) -> T {
    Task::new(work).finish().expect("nobody stops it")
}

/// Runs a solve in slices as short as can be, and stops it before one of them; gives its iterations.
pub fn stop_at(session: &mut Session, task: u32, slice: usize) -> (Vec<Iteration>, Report) {
    let (mut seen, mut slices) = (Vec::new(), 0);
    loop {
        slices += 1;
        if slices == slice {
            session.stop(task, "enough");
        }
        match session.resume(task, 0.0).unwrap() {
            Progress::Iteration(iteration) => seen.push(iteration),
            Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
            Progress::Report(report) => return (seen, *report),
            _ => {}
        }
    }
}

/// One step of a solver.
pub fn step(session: &mut Session, solver: u32) -> Iteration {
    let task = session.solve(solver, SolveMode::Step).unwrap();
    let mut last = None;
    finish(session, task, |iteration| last = Some(iteration));
    last.expect("a step")
}

pub fn solve(session: &mut Session, problem: u32, options: &Options) -> Report {
    let solver = session.solver(problem, options).unwrap();
    let task = session.solve(solver, SolveMode::Solve).unwrap();
    let Progress::Report(report) = finish(session, task, |_| {}) else { panic!("no report") };
    session.free_solver(solver);
    *report
}

pub fn read(session: &mut Session, problem: u32, table: u32) -> Vec<f64> {
    let task = session.read_table(problem, table).unwrap();
    let Progress::Values(values) = finish(session, task, |_| {}) else { panic!("no values") };
    values
}

/// New in every run, unless `LEASTWISE_TEST_SEED` gives it.
pub fn fresh_seed() -> u64 {
    let given = std::env::var("LEASTWISE_TEST_SEED").ok().map(|seed| seed.parse().expect("LEASTWISE_TEST_SEED is a number"));
    given.unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock after 1970");
        now.as_nanos() as u64
    })
}

/// xorshift64*: small, seeded, the same everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

//! Small problems, whose steps cost what is around them: how many recordings, dispatches, readbacks and allocations a step takes.

use crate::index::memory;
use crate::support::*;
use leastwise::device::{Command, Device, Limits, Precision, Recording, Slice, cpu::CpuDevice};
use leastwise::expr::Opcode;
use leastwise::problem::{Column, Problem, Reals, Registry, Shape, Slot, TermSpec, Weight};
use leastwise::solve::{Next, Options, Report, Solver};

/// A problem with one table and the device that it is on.
struct Scene {
    device: Device,
    registry: Registry,
    problem: Problem,
}

impl Scene {
    /// One instance whose residual a tape makes of all `width` unknowns and of data; gives it with the outputs.
    fn new(start: &[f64], data: &[f64], tape: impl FnOnce(&mut Tape) -> Vec<u32>) -> Self {
        let device = Device::Cpu(CpuDevice::new(Precision::F64, Limits { group_size: 256, ..CpuDevice::default_limits() }));
        let (mut registry, mut problem) = (Registry::default(), Problem::new());
        let shape = vec![Shape::Euclidean(start.len() as u32)];
        let table = problem.add_table(&device, &mut registry, "x", shape, Reals::F64(start), true).unwrap();
        let mut words = Tape::default();
        let outputs = tape(&mut words);
        let column = Column { name: "goal".into(), width: data.len() as u32, shared: false, values: Reals::F64(data) };
        let spec = TermSpec {
            name: "r".into(),
            count: 1,
            indices: vec![vec![0]],
            slots: vec![Slot { table, column: 0 }],
            columns: if data.is_empty() { Vec::new() } else { vec![column] },
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Default::default(),
            tape: &words.words,
            outputs: &outputs,
        };
        problem.add_term(&device, &mut registry, spec).unwrap();
        Self { device, registry, problem }
    }

    fn solver(&mut self, linear: &str, max_iterations: f64) -> Solver {
        let tolerance = Some(0.0);
        let options = Options {
            linear: Some(linear.into()),
            max_iterations: Some(max_iterations),
            cost_tolerance: tolerance,
            gradient_tolerance: tolerance,
            step_tolerance: tolerance,
            ..Options::default()
        };
        Solver::new(&mut self.device, &mut self.registry, &mut self.problem, options.settings().unwrap()).unwrap()
    }

    /// Solves; `each` sees the solver and the device after every step.
    fn solve(&mut self, solver: &mut Solver, mut each: impl FnMut(&Solver, &Device)) -> Report {
        let mut readback = Vec::new();
        loop {
            match solver.advance(&mut self.problem, &self.device, &mut readback, f64::INFINITY).unwrap() {
                Next::Run(recording) => readback = self.device.run(recording).unwrap(),
                Next::Iteration(_) => each(solver, &self.device),
                Next::Done(report) => break *report,
                Next::Yielded => {}
                Next::NonFinite => panic!("it is finite"),
            }
        }
    }

    fn values(&mut self, count: u32) -> Vec<f64> {
        let slice = Slice { len: count, ..self.problem.arenas().unwrap().0 };
        self.device.run(Recording { commands: vec![Command::Read { slice }] }).unwrap()
    }
}

/// A planar arm: where its hand is and points to, less the goal.
fn arm(joints: u32) -> impl FnOnce(&mut Tape) -> Vec<u32> {
    move |tape| {
        let length = tape.literal(1.0 / f64::from(joints));
        let [angles, goals] = [0, 1].map(|source| tape.input(source));
        let [mut angle, mut x, mut y] = [tape.literal(0.0); 3];
        for joint in 0..joints {
            let turn = tape.op(Opcode::Component, &[angles, joint]);
            angle = tape.op(Opcode::Add, &[angle, turn]);
            for (at, function) in [(&mut x, Opcode::Cos), (&mut y, Opcode::Sin)] {
                let along = tape.op(function, &[angle]);
                let along = tape.op(Opcode::Mul, &[along, length]);
                *at = tape.op(Opcode::Add, &[*at, along]);
            }
        }
        let mut outputs = Vec::new();
        for (k, at) in (0..).zip([x, y, angle]) {
            let goal = tape.op(Opcode::Component, &[goals, k]);
            outputs.push(tape.op(Opcode::Sub, &[at, goal]));
        }
        outputs
    }
}

#[test]
fn a_step_that_repeats_records_nothing_and_allocates_little() {
    // A goal out of reach, so that steps go on.
    let mut scene = Scene::new(&[0.05; 30], &[2.0, 1.0, 0.5], arm(30));
    let mut solver = scene.solver("dense", 30.0);
    let mut seen = Vec::new();
    scene.solve(&mut solver, |solver, device| {
        seen.push((solver.recordings_made(), device.counters(), memory::times()));
    });
    assert!(seen.len() > 20, "{} steps", seen.len());
    let (mut worst_allocations, mut worst_dispatches) = (0, 0);
    for (step, pair) in seen.windows(2).enumerate().skip(8) {
        let [(made, before, allocated), (still, after, then)] = [&pair[0], &pair[1]];
        assert!(still <= &MOST_RECORDINGS && made <= still, "step {step} made a recording: {still} so far");
        let did = after.since(before);
        assert!(did.submissions <= 2 && did.readbacks <= 2, "step {step}: {did:?}");
        assert_eq!((did.buffers_created, did.kernels_created), (0, 0), "step {step}");
        worst_dispatches = worst_dispatches.max(did.dispatches);
        worst_allocations = worst_allocations.max(then - allocated);
    }
    assert!(worst_dispatches <= MOST_DISPATCHES, "{worst_dispatches} dispatches a step");
    assert!(worst_allocations <= MOST_ALLOCATIONS, "{worst_allocations} allocations a step");
}

/// Recordings of a solver: an assembly, the steps after one that was accepted and one that was rejected, each again once the point
/// has moved.
const MOST_RECORDINGS: u64 = 6;

/// Dispatches and allocations of a step of one instance.
const MOST_DISPATCHES: u64 = 20;
const MOST_ALLOCATIONS: u64 = 80;

/// Extended Rosenbrock as one instance of so many unknowns.
fn rosenbrock(unknowns: u32) -> impl FnOnce(&mut Tape) -> Vec<u32> {
    move |tape| {
        let x = tape.input(0);
        let [ten, one] = [10.0, 1.0].map(|value| tape.literal(value));
        let mut outputs = Vec::new();
        for k in (0..unknowns).step_by(2) {
            let [a, b] = [k, k + 1].map(|component| tape.op(Opcode::Component, &[x, component]));
            let square = tape.op(Opcode::Mul, &[a, a]);
            let bend = tape.op(Opcode::Sub, &[b, square]);
            outputs.push(tape.op(Opcode::Mul, &[bend, ten]));
            outputs.push(tape.op(Opcode::Sub, &[one, a]));
        }
        outputs
    }
}

#[test]
fn one_wide_instance_is_factorised_as_the_scalars_that_it_links() {
    let start: Vec<f64> = (0..400).map(|k| if k % 2 == 0 { -1.2 } else { 1.0 }).collect();
    let mut scene = Scene::new(&start, &[], rosenbrock(400));
    let mut solver = scene.solver("sparse-cholesky", 100.0);
    let sparse = scene.solve(&mut solver, |_, _| {});
    let values = scene.values(400);
    assert!(values.iter().all(|value| (value - 1.0).abs() < 1e-9), "{}", sparse.reason);
    // The whole block as one dense matrix takes the same steps.
    let mut scene = Scene::new(&start, &[], rosenbrock(400));
    let mut solver = scene.solver("dense", 100.0);
    let dense = scene.solve(&mut solver, |_, _| {});
    for (a, b) in sparse.iterations.iter().zip(&dense.iterations).take(20) {
        assert!((a.cost - b.cost).abs() <= 1e-9 * a.cost.max(1.0), "step {}: {} and {}", a.index, a.cost, b.cost);
    }
}

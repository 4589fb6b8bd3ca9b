//! `cargo bench --bench energies`: methods by the gradient, and projected Newton's systems, natively in f64 on the CPU.
//!
//! - L-BFGS for 20 steps on the edges of a shaken icosphere of 10,242 vertices, against 0.93 s in a JavaScript library.
//! - The symmetric Dirichlet energy of 52 k triangles: value, gradient, projected Hessian and the assembled sparse matrix, a
//!   triangle, against TinyAD's 2,540 ns for the same (one thread; measured elsewhere, on a machine of this class).

#[path = "../../tests/energies/patch.rs"]
mod patch;
#[path = "../../tests/support/mod.rs"]
mod support;

use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Reals, Slot, TermSpec, Weight};
use leastwise::program::Objective;
use leastwise::session::{Measured, Progress, Session};
use leastwise::solve::Options;
use std::time::Instant;
use support::{Mesh, Random, Tape, cpu, finish, solve};

const STEPS: f64 = 20.0;
/// Seconds for as many steps.
const JAVASCRIPT: f64 = 0.93;
/// Nanoseconds a triangle: value, gradient and sparse Hessian.
const TINYAD: f64 = 2540.0;
const REPEATS: usize = 7;

/// Springs along the edges of an icosphere that was shaken.
fn springs(session: &mut Session, level: u32) -> u32 {
    let mesh = Mesh::icosphere(level);
    let [from, to] = mesh.directed_edges();
    let edges: [Vec<u32>; 2] = from.iter().zip(&to).filter(|(a, b)| a < b).map(|(a, b)| (*a, *b)).unzip().into();
    let distance = |a: u32, b: u32| {
        (0..3).map(|c| (mesh.positions[3 * a as usize + c] - mesh.positions[3 * b as usize + c]).powi(2)).sum::<f64>().sqrt()
    };
    let rest: Vec<f64> = edges[0].iter().zip(&edges[1]).map(|(a, b)| distance(*a, *b)).collect();
    let mut random = Random::new(1);
    let shaken: Vec<f64> = mesh.positions.iter().map(|x| x + random.between(-0.02, 0.02)).collect();
    let problem = session.problem();
    let x = session.table(problem, "x", 3, Reals::F64(&shaken), true).expect("a table");
    let mut tape = Tape::default();
    let [a, b, rest_length] = [0, 1, 2].map(|source| tape.input(source));
    let edge = tape.op(Sub, &[a, b]);
    let length = tape.op(Norm, &[edge]);
    let outputs = [tape.op(Sub, &[length, rest_length])];
    let spec = TermSpec {
        name: "edges".into(),
        count: rest.len() as u32,
        indices: edges.to_vec(),
        slots: (0..2).map(|column| Slot { table: x, column }).collect(),
        columns: vec![Column { name: "rest".into(), width: 1, shared: false, values: Reals::F64(&rest) }],
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Objective::LeastSquares,
        tape: &tape.words,
        outputs: &outputs,
    };
    session.term(problem, spec).expect("a term");
    problem
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(work)
}

/// The least of several runs.
fn least(mut run: impl FnMut() -> f64) -> f64 {
    (0..REPEATS).map(|_| run()).fold(f64::INFINITY, f64::min)
}

fn lbfgs(threads: usize) {
    on_threads(threads, || {
        let mut line = String::new();
        let milliseconds = least(|| {
            let mut session = cpu(Precision::F64);
            let problem = springs(&mut session, 5);
            let begun = Instant::now();
            let options = Options {
                method: Some("lbfgs".into()),
                max_iterations: Some(STEPS),
                cost_tolerance: Some(0.0),
                gradient_tolerance: Some(0.0),
                step_tolerance: Some(0.0),
                ..Options::default()
            };
            let report = solve(&mut session, problem, &options);
            let trials: u32 = report.iterations.iter().map(|step| step.inner_iterations).sum();
            let milliseconds = begun.elapsed().as_secs_f64() * 1e3;
            line = format!("cost {:.3e} → {:.3e}, {} steps, {trials} trials", report.initial_cost, report.cost, report.iterations.len());
            milliseconds
        });
        println!("  {threads} threads {milliseconds:8.1} ms   {line}; {:.0} times as long in JavaScript", JAVASCRIPT * 1e3 / milliseconds);
    });
}

fn newton(threads: usize) {
    on_threads(threads, || {
        let mut session = cpu(Precision::F64);
        let patch = patch::Patch::new(162);
        let values = patch.shaken(&mut Random::new(2));
        let (problem, _) = patch.make(&mut session, &values);
        let triangles = patch.triangles() as f64;
        for (linear, what) in [("pcg", "gradient and diagonal blocks"), ("sparse-cholesky", "gradient and sparse Hessian")] {
            let options = Options { linear: Some(linear.into()), ..Options::default() };
            let solver = session.solver(problem, &options).expect("a solver");
            let nanoseconds = least(|| {
                let task = session.measure(solver, Measured::System, 5).expect("a task");
                match finish(&mut session, task, |_| {}) {
                    Progress::Values(values) => values[0] * 1e6 / triangles,
                    _ => panic!("no measurement"),
                }
            });
            let ratio = if linear == "pcg" { String::new() } else { format!("; TinyAD {:.2} times as long", TINYAD / nanoseconds) };
            println!("  {threads} threads {nanoseconds:8.0} ns a triangle: value, {what}{ratio}");
        }
    });
}

fn main() {
    println!("L-BFGS, {STEPS} steps on the edges of an icosphere of 10,242 vertices, with all set-up of the solver");
    [1, 2].into_iter().for_each(lbfgs);
    println!("\nsymmetric Dirichlet, projected Hessians");
    [1, 2].into_iter().for_each(newton);
}

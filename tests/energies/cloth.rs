//! Cloth by implicit Euler: two Newton steps a frame, without readback, follow a reference of twenty-five.

use crate::support::*;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Reals, Slot, TermSpec, Weight};
use leastwise::program::Objective;
use leastwise::session::Session;
use leastwise::solve::Options;

const STEP: f64 = 1.0 / 60.0;
const GRAVITY: f64 = 9.81;
const STIFFNESS: f64 = 100.0;

/// A square sheet of side 1 that hangs by two corners, in a problem of a session.
struct Cloth {
    problem: u32,
    x: u32,
    /// The values of the last frame, and where x would be by its velocity.
    last: u32,
    ahead: u32,
}

impl Cloth {
    fn new(session: &mut Session, side: u32, objective: Objective) -> Self {
        let gap = 1.0 / f64::from(side - 1);
        let at = |i: u32, j: u32| i * side + j;
        let rest: Vec<f64> = (0..side * side).flat_map(|k| [f64::from(k % side) * gap, 0.0, f64::from(k / side) * gap]).collect();
        let (mut ends, mut lengths) = (vec![Vec::new(); 2], Vec::new());
        for (i, j) in (0..side).flat_map(|i| (0..side).map(move |j| (i, j))) {
            for (di, dj) in [(0i32, 1i32), (1, 0), (1, 1), (1, -1)] {
                let (to_i, to_j) = (i + di as u32, j as i32 + dj);
                if to_i < side && (0..side as i32).contains(&to_j) {
                    ends[0].push(at(i, j));
                    ends[1].push(at(to_i, to_j as u32));
                    lengths.push(gap * f64::from(di * di + dj * dj).sqrt());
                }
            }
        }
        let problem = session.problem();
        let x = session.table(problem, "x", 3, Reals::F64(&rest), true).unwrap();
        let slot = |column| Slot { table: x, column };
        let mut tape = Tape::default();
        let [a, b, length] = [0, 1, 2].map(|source| tape.input(source));
        let edge = tape.op(Sub, &[a, b]);
        let now = tape.op(Norm, &[edge]);
        let stretch = tape.op(Sub, &[now, length]);
        let outputs = [match objective {
            Objective::Energy => {
                let (half, squared) = (tape.literal(0.5), tape.op(Square, &[stretch]));
                tape.op(Mul, &[half, squared])
            }
            _ => stretch,
        }];
        let springs = TermSpec {
            name: "springs".into(),
            count: lengths.len() as u32,
            indices: ends,
            slots: vec![slot(0), slot(1)],
            columns: vec![Column { name: "length".into(), width: 1, shared: false, values: Reals::F64(&lengths) }],
            weight: Weight::Shared(STIFFNESS),
            loss: None,
            objective,
            tape: &tape.words,
            outputs: &outputs,
        };
        session.term(problem, springs).unwrap();
        let [last, ahead] = ["last", "ahead"].map(|name| session.table(problem, name, 3, Reals::F64(&rest), false).unwrap());
        let mut tape = Tape::default();
        let [p, by_velocity] = [0, 1].map(|source| tape.input(source));
        let fall = [0.0, -STEP * STEP * GRAVITY, 0.0].map(|value| tape.literal(value));
        let fall = tape.op(Pack, &fall);
        let off = tape.op(Sub, &[p, by_velocity]);
        let outputs = [tape.op(Sub, &[off, fall])];
        let spec = TermSpec {
            name: "inertia".into(),
            count: side * side,
            indices: vec![(0..side * side).collect()],
            slots: vec![slot(0), Slot { table: ahead, column: 0 }],
            columns: Vec::new(),
            weight: Weight::Shared(1.0 / f64::from(side * side) / (STEP * STEP)),
            loss: None,
            objective: Objective::LeastSquares,
            tape: &tape.words,
            outputs: &outputs,
        };
        session.term(problem, spec).unwrap();
        session.fix_table(problem, x, Some(&[at(0, 0), at(0, side - 1)]), None).unwrap();
        Self { problem, x, last, ahead }
    }

    /// Begins the next frame: 2xₙ − xₙ₋₁ is where inertia leads and where steps start, and xₙ becomes the last frame's.
    fn begin(&self, session: &mut Session) {
        let &Self { problem, x, last, ahead } = self;
        session.combine_tables(problem, ahead, &[x, last], &[2.0, -1.0]).unwrap();
        session.combine_tables(problem, last, &[x], &[1.0]).unwrap();
        session.combine_tables(problem, x, &[ahead], &[1.0]).unwrap();
    }

    fn lowest(&self, session: &mut Session) -> f64 {
        read(session, self.problem, self.x).into_iter().skip(1).step_by(3).fold(f64::INFINITY, f64::min)
    }
}

/// Lowest points of the reference after 20, 30, … 100 frames.
const REFERENCE: [f64; 9] = [-0.574612, -1.158366, -1.067940, -0.751074, -0.502034, -0.432014, -0.661715, -1.121905, -1.081519];

/// The reference: up to 25 Newton steps a frame, by a sparse factor, on springs as energies.
fn reference() -> Vec<f64> {
    let mut session = cpu(Precision::F64);
    let cloth = Cloth::new(&mut session, 33, Objective::Energy);
    let options = Options {
        method: Some("newton".into()),
        linear: Some("sparse-cholesky".into()),
        max_iterations: Some(25.0),
        cost_tolerance: Some(1e-10),
        ..Options::default()
    };
    let frame = |_| {
        cloth.begin(&mut session);
        solve(&mut session, cloth.problem, &options);
        cloth.lowest(&mut session)
    };
    (0..100).map(frame).collect::<Vec<_>>().into_iter().skip(19).step_by(10).collect()
}

fn off(lows: &[f64]) -> f64 {
    lows.iter().zip(REFERENCE).map(|(low, expected)| (low / expected - 1.0).abs()).fold(0.0, f64::max)
}

/// A solver that advances by two steps a frame; gives the lowest points, and reads nothing back in between.
fn advanced(session: &mut Session, frames: u32, objective: Objective, method: &str) -> Vec<f64> {
    let cloth = Cloth::new(session, 33, objective);
    let options = Options { method: Some(method.into()), forcing: Some(1e-3), ..Options::default() };
    let solver = session.solver(cloth.problem, &options).unwrap();
    // No frame passes while kernels are compiled.
    let task = session.report(solver).unwrap();
    finish(session, task, |_| {});
    let mut lows = Vec::new();
    for frame in 1..=frames {
        let before = session.device().counters();
        cloth.begin(session);
        session.advance(solver, 2, f64::INFINITY).unwrap();
        let after = session.device().counters();
        assert_eq!((after.readbacks, after.bytes_read_back), (before.readbacks, before.bytes_read_back), "frame {frame}");
        if frame >= 20 && frame % 10 == 0 {
            lows.push(cloth.lowest(session));
        }
    }
    session.free_solver(solver);
    lows
}

#[test]
fn two_steps_a_frame_follow_the_reference() {
    if is_full() {
        // A tenth of its frames end by the limit of steps, while the sheet buckles: with 50 steps instead of 25, or with the
        // rounding of wasm, the lowest points move by up to 0.3 %.
        let lows = reference();
        assert!(off(&lows) < 5e-3, "{} of {lows:?}", off(&lows));
    }
    for method in ["newton", "lm"] {
        let mut session = cpu(Precision::F64);
        let lows = advanced(&mut session, 100, Objective::FullCurvature, method);
        assert!(lows.len() == REFERENCE.len() && off(&lows) < 0.02, "{method}: {} of {lows:?}", off(&lows));
        let again = advanced(&mut session, 40, Objective::FullCurvature, method);
        assert_eq!(again[..], lows[..again.len()], "{method}: the same bits");
    }
    // What the curvature of lengths is worth: with JᵀJ the cloth hardly falls.
    let lows = advanced(&mut cpu(Precision::F64), 40, Objective::LeastSquares, "lm");
    assert!(off(&lows) > 0.1, "{lows:?}");
}

#[test]
fn it_does_on_webgpu_without_a_readback() {
    let lows = advanced(&mut shared_gpu(None), if is_full() { 100 } else { 30 }, Objective::FullCurvature, "newton");
    assert!(lows.len() > 1 && off(&lows) < 0.02, "{} of {lows:?}", off(&lows));
}

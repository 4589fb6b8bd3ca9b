//! Fixed variables and components: they keep their bits, and the rest is at a minimum of what is left.

mod support;

use leastwise::device::{Limits, Precision};
use leastwise::expr::Opcode;
use leastwise::problem::{Column, Reals, Slot, TermSpec, Weight};
use leastwise::session::{Session, SolveMode};
use leastwise::solve::{Options, Termination};
use support::*;

/// Points in the plane on a random graph, whose edges want their lengths and whose points want to stay near goals.
struct Net {
    points: Vec<f64>,
    edges: [Vec<u32>; 2],
    lengths: Vec<f64>,
    goals: Vec<f64>,
}

const PULL: f64 = 0.3;

impl Net {
    fn new(count: u32, random: &mut Random) -> Self {
        let goals: Vec<f64> = (0..2 * count).map(|_| random.between(-1.0, 1.0)).collect();
        // Exactly what f32 has, so that bits can be compared; and a zero of either sign.
        let mut points: Vec<f64> = goals.iter().map(|goal| f64::from((goal + random.between(-0.2, 0.2)) as f32)).collect();
        (points[0], points[1]) = (-0.0, 0.0);
        let ends = (0..3 * count).map(|_| (random.below(count.into()) as u32, random.below(count.into()) as u32));
        let (a, b): (Vec<u32>, Vec<u32>) = ends.filter(|(a, b)| a != b).unzip();
        // Nearly those of the goals: with small residuals, Gauss and Newton's model is good.
        let apart = |a: u32, b: u32| {
            let at = |i: u32, k: u32| goals[(2 * i + k) as usize];
            (at(a, 0) - at(b, 0)).hypot(at(a, 1) - at(b, 1))
        };
        let lengths = a.iter().zip(&b).map(|(&a, &b)| apart(a, b) * random.between(0.95, 1.05)).collect();
        Self { points, edges: [a, b], lengths, goals }
    }

    fn count(&self) -> u32 {
        self.points.len() as u32 / 2
    }

    /// The problem and its table of points.
    fn build(&self, session: &mut Session) -> (u32, u32) {
        let problem = session.problem();
        let x = session.table(problem, "x", 2, Reals::F64(&self.points), true).unwrap();
        let column = |name: &str, width, values| Column { name: String::from(name), width, shared: false, values: Reals::F64(values) };
        let mut tape = Tape::default();
        let [a, b, length] = [0, 1, 2].map(|source| tape.input(source));
        let between = tape.op(Opcode::Sub, &[a, b]);
        let distance = tape.op(Opcode::Norm, &[between]);
        let residual = tape.op(Opcode::Sub, &[distance, length]);
        let spec = TermSpec {
            name: "edges".into(),
            count: self.lengths.len() as u32,
            indices: self.edges.to_vec(),
            slots: vec![Slot { table: x, column: 0 }, Slot { table: x, column: 1 }],
            columns: vec![column("length", 1, &self.lengths)],
            weight: Weight::Shared(1.0),
            loss: None,
            tape: &tape.words,
            outputs: &[residual],
        };
        session.term(problem, spec).unwrap();
        let mut tape = Tape::default();
        let [p, goal] = [0, 1].map(|source| tape.input(source));
        let residual = tape.op(Opcode::Sub, &[p, goal]);
        let spec = TermSpec {
            name: "goals".into(),
            count: self.count(),
            indices: vec![(0..self.count()).collect()],
            slots: vec![Slot { table: x, column: 0 }],
            columns: vec![column("goal", 2, &self.goals)],
            weight: Weight::Shared(PULL),
            loss: None,
            tape: &tape.words,
            outputs: &[residual],
        };
        session.term(problem, spec).unwrap();
        (problem, x)
    }

    /// The cost's gradient, term by term.
    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let mut gradient: Vec<f64> = x.iter().zip(&self.goals).map(|(x, goal)| PULL * (x - goal)).collect();
        for (e, length) in self.lengths.iter().enumerate() {
            let [a, b] = [self.edges[0][e] as usize, self.edges[1][e] as usize];
            let d = [x[2 * a] - x[2 * b], x[2 * a + 1] - x[2 * b + 1]];
            let distance = d[0].hypot(d[1]);
            for k in 0..2 {
                let slope = (distance - length) * d[k] / distance;
                gradient[2 * a + k] += slope;
                gradient[2 * b + k] -= slope;
            }
        }
        gradient
    }
}

fn sessions() -> [(&'static str, Session, f64); 5] {
    [
        ("cpu f64", cpu(Precision::F64), 1e-5),
        ("cpu f32", cpu(Precision::F32), 2e-3),
        ("cpu f64, small limits", cpu_with(Precision::F64, Limits::SMALL), 1e-5),
        ("webgpu", gpu(None), 2e-3),
        ("webgpu, small limits", gpu(Some(Limits::SMALL)), 2e-3),
    ]
}

fn tight() -> Options {
    Options {
        cost_tolerance: Some(1e-14),
        gradient_tolerance: Some(1e-9),
        step_tolerance: Some(1e-12),
        max_iterations: Some(300.0),
        ..Options::default()
    }
}

/// Fixed components have their bits; the gradient of the others is within `tolerance` of 0.
fn check(name: &str, net: &Net, before: &[f64], after: &[f64], free: &[bool], tolerance: f64) {
    let gradient = net.gradient(after);
    for (i, &free) in free.iter().enumerate() {
        if free {
            assert!(gradient[i].abs() <= tolerance, "{name}: a slope of {:e} at component {i}", gradient[i]);
        } else {
            assert_eq!(before[i].to_bits(), after[i].to_bits(), "{name}: component {i} moved from {:e} to {:e}", before[i], after[i]);
        }
    }
}

#[test]
fn random_masks_hold_what_they_fix_and_nothing_else() {
    let seed = fresh_seed();
    let mut random = Random::new(seed);
    let net = Net::new(157, &mut random);
    let count = net.count();
    // Whole instances, x of some, y of others.
    let whole: Vec<u32> = (0..count).filter(|_| random.below(6) == 0).chain([0]).collect();
    let [first, second]: [Vec<u32>; 2] = [(); 2].map(|()| (0..count).filter(|_| random.below(5) == 0).collect());
    let mut free = vec![true; net.points.len()];
    whole.iter().for_each(|&i| free[2 * i as usize..][..2].fill(false));
    first.iter().for_each(|&i| free[2 * i as usize] = false);
    second.iter().for_each(|&i| free[2 * i as usize + 1] = false);
    for (name, mut session, tolerance) in sessions() {
        let name = format!("{name}, seed {seed}");
        let (problem, x) = net.build(&mut session);
        session.fix_table(problem, x, Some(&whole), None).unwrap();
        session.fix_table(problem, x, Some(&first), Some(&[0])).unwrap();
        session.fix_table(problem, x, Some(&second), Some(&[1])).unwrap();
        let report = solve(&mut session, problem, &tight());
        assert!(report.cost < 0.9 * report.initial_cost, "{name}: {report:?}");
        let after = read(&mut session, problem, x);
        check(&name, &net, &net.points, &after, &free, tolerance);
        // Everything is let go again.
        session.unfix_table(problem, x, None).unwrap();
        let last = solve(&mut session, problem, &tight());
        assert!(last.cost < report.cost, "{name}: {} is not below {}", last.cost, report.cost);
        check(&name, &net, &[], &read(&mut session, problem, x), &vec![true; free.len()], tolerance);
    }
}

#[test]
fn a_problem_without_anything_that_may_move_has_converged() {
    let net = Net::new(40, &mut Random::new(3));
    for (name, mut session, _) in sessions() {
        let (problem, x) = net.build(&mut session);
        session.fix_table(problem, x, None, None).unwrap();
        let report = solve(&mut session, problem, &Options { gradient_tolerance: Some(0.0), ..Options::default() });
        assert_eq!(report.termination, Termination::Converged, "{name}: {}", report.reason);
        assert_eq!((report.iterations.len(), report.iterations[0].gradient_norm), (1, 0.0), "{name}");
        check(name, &net, &net.points, &read(&mut session, problem, x), &vec![false; net.points.len()], 0.0);
    }
}

#[test]
fn pins_change_between_live_steps_by_one_upload() {
    let net = Net::new(60, &mut Random::new(5));
    for (name, mut session, tolerance) in sessions() {
        let (problem, x) = net.build(&mut session);
        session.fix_table(problem, x, Some(&[4, 7]), None).unwrap();
        let solver = session.solver(problem, &tight()).unwrap();
        let steps = |session: &mut Session| {
            for _ in 0..40 {
                let task = session.solve(solver, SolveMode::Step).unwrap();
                finish(session, task, |_| {});
            }
        };
        steps(&mut session);
        let before = read(&mut session, problem, x);
        let made = session.device().counters();
        session.unfix_table(problem, x, Some(&[7])).unwrap();
        session.fix_table(problem, x, Some(&[11, 9, 13]), Some(&[1])).unwrap();
        steps(&mut session);
        let now = session.device().counters().since(&made);
        assert_eq!((now.kernels_created, now.buffers_created), (0, 0), "{name}");
        let mut free = vec![true; net.points.len()];
        [8, 9, 2 * 9 + 1, 2 * 11 + 1, 2 * 13 + 1].into_iter().for_each(|i| free[i] = false);
        check(name, &net, &before, &read(&mut session, problem, x), &free, tolerance);
        session.free_solver(solver);
    }
}

#[test]
fn tables_made_after_a_pin_can_move() {
    let net = Net::new(30, &mut Random::new(8));
    for (name, mut session, tolerance) in sessions() {
        let (problem, x) = net.build(&mut session);
        session.fix_table(problem, x, Some(&[2]), None).unwrap();
        solve(&mut session, problem, &tight());
        let before = read(&mut session, problem, x);
        let y = session.table(problem, "y", 1, Reals::F64(&[4.0, -3.0, 2.0]), true).unwrap();
        let mut tape = Tape::default();
        let value = tape.input(0);
        let spec = TermSpec {
            name: "y".into(),
            count: 3,
            indices: vec![vec![0, 1, 2]],
            slots: vec![Slot { table: y, column: 0 }],
            columns: Vec::new(),
            weight: Weight::Shared(1.0),
            loss: None,
            tape: &tape.words,
            outputs: &[value],
        };
        session.term(problem, spec).unwrap();
        session.fix_table(problem, y, Some(&[1]), None).unwrap();
        solve(&mut session, problem, &tight());
        let now = read(&mut session, problem, y);
        assert!(now[0].abs() < tolerance && now[1] == -3.0 && now[2].abs() < tolerance, "{name}: {now:?}");
        let mut free = vec![true; net.points.len()];
        free[4..6].fill(false);
        check(name, &net, &before, &read(&mut session, problem, x), &free, tolerance);
    }
}

#[test]
fn what_cannot_be_fixed_is_refused() {
    let net = Net::new(10, &mut Random::new(9));
    let mut session = cpu(Precision::F64);
    let (problem, x) = net.build(&mut session);
    let constant = session.table(problem, "c", 2, Reals::F64(&[1.0, 2.0]), false).unwrap();
    let range = session.fix_table(problem, x, Some(&[3, 10]), None).unwrap_err();
    assert_eq!(range.code(), "index-out-of-range");
    assert!(range.to_string().contains("\"x\": index 10"), "{range}");
    for (table, components) in [(x, Some(&[0, 2][..])), (constant, None)] {
        let error = session.fix_table(problem, table, None, components).unwrap_err();
        assert_eq!(error.code(), "shape", "{error}");
    }
}

//! Bounds: solutions are checked by the conditions of Karush, Kuhn and Tucker, with a gradient that the tests work out.

use crate::constraints::net::*;
use crate::support::*;
use leastwise::device::Precision;
use leastwise::problem::Reals;
use leastwise::session::{Session, SolveMode};
use leastwise::solve::{Options, Report};

/// A box around every component: some far away, some so near that they bind, some on one side only, some without width.
fn boxes(net: &Net, random: &mut Random) -> [Vec<f64>; 2] {
    let one = |x: f64, random: &mut Random| match random.below(6) {
        0 => (x - 0.02, x + 0.03),
        1 => (x, f64::INFINITY),
        2 => (f64::NEG_INFINITY, x - 0.01),
        3 => (x + 0.05, x + 0.05),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let (lower, upper): (Vec<f64>, Vec<f64>) = net.points.iter().map(|&x| one(x, random)).unzip();
    [lower, upper]
}

/// Everything is within its limits, exactly, and no slope leads to a better place within them. Gives how many are at one.
fn check(name: &str, net: &Net, x: &[f64], lower: &[f64], upper: &[f64], tolerance: f64) -> usize {
    let gradient = net.gradient(x);
    let mut active = 0;
    for i in 0..x.len() {
        let (x, slope) = (x[i], gradient[i]);
        let squeezed = lower[i] == upper[i];
        let within = if squeezed { (x - lower[i]).abs() <= 1e-7 * x.abs() } else { lower[i] <= x && x <= upper[i] };
        assert!(within, "{name}: component {i} is {x:e}, beyond {:e} to {:e}", lower[i], upper[i]);
        // Limits that f32 does not have are rounded into the box.
        let [at_lower, at_upper] = [lower[i], upper[i]].map(|limit| (x - limit).abs() <= 2e-7 * limit.abs());
        active += usize::from(at_lower || at_upper);
        assert!(at_upper || slope >= -tolerance, "{name}: component {i} could go up: a slope of {slope:e}");
        assert!(at_lower || slope <= tolerance, "{name}: component {i} could go down: a slope of {slope:e}");
    }
    active
}

fn bound(session: &mut Session, problem: u32, x: u32, [lower, upper]: &[Vec<f64>; 2]) {
    session.bound_table(problem, x, Some(Reals::F64(lower)), Some(Reals::F64(upper))).unwrap();
}

#[test]
fn random_boxes_are_held_and_solved_in() {
    let seed = fresh_seed();
    let mut random = Random::new(seed);
    let net = Net::new(143, &mut random);
    let limits = boxes(&net, &mut random);
    let [lower, upper] = &limits;
    for (name, mut session, tolerance) in sessions() {
        let name = format!("{name}, seed {seed}");
        let (problem, x) = net.build(&mut session);
        bound(&mut session, problem, x, &limits);
        let report = solve(&mut session, problem, &tight());
        let after = read(&mut session, problem, x);
        let active = check(&name, &net, &after, lower, upper, tolerance);
        assert!(active > net.points.len() / 10, "{name}: only {active} limits bind");
        // The reported gradient is the projected one.
        let last = report.iterations.last().expect("an iteration");
        assert!(last.gradient_norm <= tolerance, "{name}: {:e}", last.gradient_norm);
        // Those below an upper limit that they began above, and those that were squeezed.
        let outside = net.points.iter().zip(lower.iter().zip(upper)).filter(|(x, (lower, upper))| x < lower || x > upper).count();
        assert_eq!(report.moved_into_bounds as usize, outside, "{name}");
        // Without limits it is better.
        session.bound_table(problem, x, Some(Reals::F64(&[f64::NEG_INFINITY])), Some(Reals::F64(&[f64::INFINITY]))).unwrap();
        let free = solve(&mut session, problem, &tight());
        assert!(free.cost < report.cost, "{name}: {} is not below {}", free.cost, report.cost);
        assert_eq!(free.moved_into_bounds, 0, "{name}");
    }
}

#[test]
fn the_promise_of_a_clipped_step_is_the_models() {
    // Springs between goals are quadratic: then the gain ratio is exactly 1, clipped or not.
    let mut net = Net::new(50, &mut Random::new(11));
    net.edges = [vec![], vec![]];
    net.lengths.clear();
    for (name, mut session, tolerance) in sessions() {
        let (problem, x) = net.build_goals(&mut session);
        let (lower, upper) = (vec![-0.4; net.points.len()], vec![0.3; net.points.len()]);
        bound(&mut session, problem, x, &[lower.clone(), upper.clone()]);
        let report: Report = solve(&mut session, problem, &tight());
        let first = report.iterations[0];
        assert!(first.accepted && (first.gain_ratio - 1.0).abs() < 1e-3, "{name}: {first:?}");
        check(name, &net, &read(&mut session, problem, x), &lower, &upper, tolerance);
    }
}

#[test]
fn limits_change_between_live_steps_by_uploads() {
    let net = Net::new(60, &mut Random::new(12));
    for (name, mut session, tolerance) in sessions() {
        let (problem, x) = net.build(&mut session);
        session.fix_table(problem, x, Some(&[5]), None).unwrap();
        session.bound_table(problem, x, Some(Reals::F64(&[-0.5, -0.4])), None).unwrap();
        let solver = session.solver(problem, &tight()).unwrap();
        let steps = |session: &mut Session| {
            for _ in 0..40 {
                let task = session.solve(solver, SolveMode::Step).unwrap();
                finish(session, task, |_| {});
            }
        };
        steps(&mut session);
        let made = session.device().counters();
        // The fixed point is outside of these limits, and stays there.
        session.bound_table(problem, x, Some(Reals::F64(&[f64::NEG_INFINITY])), Some(Reals::F64(&[0.35, 0.45]))).unwrap();
        session.write_table(problem, x, Reals::F64(&[0.625, 0.75]), Some(&[5])).unwrap();
        steps(&mut session);
        let now = session.device().counters().since(&made);
        assert_eq!((now.kernels_created, now.buffers_created), (0, 0), "{name}");
        let after = read(&mut session, problem, x);
        assert_eq!(after[10..12], [0.625, 0.75], "{name}");
        let mut upper: Vec<f64> = [0.35, 0.45].into_iter().cycle().take(net.points.len()).collect();
        let mut lower = vec![f64::NEG_INFINITY; upper.len()];
        for (i, value) in [(10, 0.625), (11, 0.75)] {
            (lower[i], upper[i]) = (value, value);
        }
        let active = check(name, &net, &after, &lower, &upper, tolerance);
        assert!(active > 10, "{name}: only {active} limits bind");
        session.free_solver(solver);
    }
}

/// A solver that has stepped within the limits of one table keeps those of another from the next step on.
#[test]
fn limits_of_another_table_hold_for_a_solver_that_has_stepped() {
    let net = Net::new(20, &mut Random::new(15));
    for (name, mut session, _) in sessions() {
        let (problem, x) = net.build(&mut session);
        let y = session.table(problem, "y", 1, Reals::F64(&[0.0]), true).unwrap();
        let mut tape = Tape::default();
        let [value, goal] = [tape.input(0), tape.literal(2.0)];
        let outputs = [tape.op(leastwise::expr::Opcode::Sub, &[value, goal])];
        let slots = vec![leastwise::problem::Slot { table: y, column: 0 }];
        let spec = leastwise::problem::TermSpec { indices: vec![vec![0]], slots, tape: &tape.words, outputs: &outputs, ..plain("y", 1) };
        session.term(problem, spec).unwrap();
        session.bound_table(problem, x, Some(Reals::F64(&[-0.5])), None).unwrap();
        let solver = session.solver(problem, &tight()).unwrap();
        for (limit, expected) in [(None, 2.0), (Some(1.0), 1.0), (Some(1.5), 1.5)] {
            if let Some(limit) = limit {
                session.bound_table(problem, y, None, Some(Reals::F64(&[limit]))).unwrap();
                session.write_table(problem, y, Reals::F64(&[0.0]), None).unwrap();
            }
            let task = session.solve(solver, SolveMode::Solve).unwrap();
            finish(&mut session, task, |_| {});
            let [found] = read(&mut session, problem, y)[..] else { panic!("one value") };
            assert!((found - expected).abs() < 1e-4 && limit.is_none_or(|limit| found <= limit), "{name}: {found}, not {expected}");
        }
        session.free_solver(solver);
    }
}

#[test]
fn a_start_in_a_corner_that_is_the_minimum_has_converged() {
    let net = Net::new(20, &mut Random::new(13));
    for (name, mut session, _) in sessions() {
        let (problem, x) = net.build(&mut session);
        bound(&mut session, problem, x, &[net.points.clone(), net.points.clone()]);
        let report = solve(&mut session, problem, &Options::default());
        assert!(report.converged && report.iterations.len() == 1, "{name}: {}", report.reason);
        assert_eq!(read(&mut session, problem, x), net.points, "{name}");
    }
}

#[test]
fn limits_that_make_no_sense_are_refused() {
    let net = Net::new(10, &mut Random::new(14));
    let mut session = cpu(Precision::F64);
    let (problem, x) = net.build(&mut session);
    let mut refused = |lower: Option<&[f64]>, upper: Option<&[f64]>| {
        let error = session.bound_table(problem, x, lower.map(Reals::F64), upper.map(Reals::F64)).unwrap_err();
        (error.code(), error.instance(), error.to_string())
    };
    let mut seven = vec![0.0; 20];
    seven[7] = f64::NAN;
    let (code, instance, message) = refused(Some(&seven), None);
    assert_eq!((code, instance), ("bounds", Some(3)), "{message}");
    assert!(message.contains("component 1 of instance 3"), "{message}");
    seven[7] = 2.0;
    let (code, instance, message) = refused(Some(&seven), Some(&[1.0, 1.5]));
    assert_eq!((code, instance), ("bounds", Some(3)), "{message}");
    assert_eq!(refused(Some(&[f64::INFINITY]), None).0, "bounds");
    assert_eq!(refused(None, Some(&[f64::NEG_INFINITY])).0, "bounds");
    assert_eq!(refused(Some(&[0.0; 3]), None).0, "data-length");
}

#[test]
fn every_method_finds_the_minimum_in_a_box() {
    let seed = fresh_seed();
    let mut random = Random::new(seed);
    for round in 0..40 {
        // Goals alone, coupled by springs of no length: linear, so that there is one minimum.
        let mut net = Net::new(6 + round % 5, &mut random);
        net.lengths.fill(0.0);
        let limits = boxes(&net, &mut random);
        let mut costs = Vec::new();
        for linear in ["dense", "pcg"] {
            for method in ["lm", "gauss-newton", "dogleg", "subspace"] {
                let mut session = cpu(Precision::F64);
                let (problem, x) = net.build_squares(&mut session);
                bound(&mut session, problem, x, &limits);
                let dogleg = (method == "subspace").then(|| "subspace".to_string());
                let method = if method == "subspace" { "dogleg" } else { method };
                let options = Options { method: Some(method.into()), dogleg, linear: Some(linear.into()), ..tight() };
                let report = solve(&mut session, problem, &options);
                assert!(report.converged, "{method}, {linear}, seed {seed}, round {round}: {}", report.reason);
                costs.push(report.cost);
            }
        }
        for cost in &costs {
            assert!((cost - costs[0]).abs() <= 1e-8 * costs[0], "seed {seed}, round {round}: {costs:?}");
        }
    }
}

//! The two-level preconditioner: far fewer inner iterations than block Jacobi's, hardly more of them on finer meshes, and the same
//! solutions, on every backend, under every constraint.

use crate::support::*;
use leastwise::Error;
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Limits, Precision};
use leastwise::expr::Opcode::{self, *};
use leastwise::problem::{RaggedSlot, Reals, Slot, SummedSpec, TermSpec, Weight};
use leastwise::session::{Progress, Session, SolveMode};
use leastwise::solve::linear::two_level::aggregate::{Graph, NONE};
use leastwise::solve::linear::two_level::hierarchy::{Hierarchy, Lower};
use leastwise::solve::{Options, Report};

const BOTH: [&str; 2] = ["block-jacobi", "two-level"];

fn options(preconditioner: &str) -> Options {
    Options { preconditioner: Some(preconditioner.into()), forcing: Some(1e-3), max_inner_iterations: Some(5000.0), ..Options::default() }
}

/// Solved well enough to be compared.
fn tight(preconditioner: &str) -> Options {
    Options { forcing: Some(1e-6), cost_tolerance: Some(1e-10), max_iterations: Some(200.0), ..options(preconditioner) }
}

/// Solved as well as f32 compares: all that comes after is rounding.
fn near(preconditioner: &str) -> Options {
    Options { cost_tolerance: Some(1e-6), max_iterations: Some(200.0), ..options(preconditioner) }
}

/// Inner iterations of the first steps of as-rigid-as-possible deformation, each of which leaves a thousandth of its system.
fn iterations(mesh: &Mesh, preconditioner: &str, steps: usize) -> Vec<u32> {
    let mut session = cpu(Precision::F64);
    let (problem, _) = arap(&mut session, mesh);
    let solver = session.solver(problem, &options(preconditioner)).unwrap();
    (0..steps).map(|_| step(&mut session, solver).inner_iterations).collect()
}

#[test]
fn meshes_take_far_fewer_iterations_and_finer_ones_hardly_more() {
    // To 40,962 vertices in `npm run test:full`, to 10,242 in `npm test`.
    let levels = if is_full() { 4..=6 } else { 4..=5 };
    let counts: Vec<[Vec<u32>; 2]> = levels
        .map(|level| {
            let mesh = Mesh::icosphere(level).normalized();
            BOTH.map(|preconditioner| iterations(&mesh, preconditioner, 2))
        })
        .collect();
    for [jacobi, two] in &counts {
        for (jacobi, two) in jacobi.iter().zip(two) {
            assert!(3 * two < *jacobi, "{counts:?}");
        }
    }
    let (first, last) = (&counts[0], &counts[counts.len() - 1]);
    let (coarse, fine) = (first[1][1], last[1][1]);
    assert!(fine < 70 && 2 * fine < 3 * coarse, "{counts:?}");
    // It takes twice as many where edges are half as long; somewhat less is asked for.
    let growth = 1.55f64.powi(counts.len() as i32 - 1);
    assert!(f64::from(last[0][1]) > growth * f64::from(first[0][1]), "block Jacobi takes more on finer meshes: {counts:?}");
}

#[test]
#[ignore = "LEASTWISE_DATA names the folder that has meshes/armadillo.off.gz"]
fn the_armadillo_takes_a_third_of_the_iterations() {
    let folder = std::env::var("LEASTWISE_DATA").expect("LEASTWISE_DATA names the folder that has meshes/armadillo.off.gz");
    let mesh = armadillo::read_off(&format!("{folder}/meshes/armadillo.off.gz")).normalized();
    let [jacobi, two] = BOTH.map(|preconditioner| iterations(&mesh, preconditioner, 5));
    println!("block-jacobi {jacobi:?}, two-level {two:?}");
    assert!(jacobi.iter().zip(&two).all(|(jacobi, two)| 3 * two < *jacobi), "{jacobi:?}, {two:?}");
    assert!(two.iter().all(|two| 3 * two <= 2 * 142), "{two:?}");
}

#[path = "../benches/schedules/armadillo.rs"]
#[allow(dead_code)]
mod armadillo;

#[test]
fn solutions_are_those_of_block_jacobi_on_every_backend() {
    let mesh = Mesh::icosphere(3).normalized();
    let cpus: [(&str, Shared, f64); 3] = [
        ("cpu f64", cpu(Precision::F64).into(), 1e-8),
        ("cpu f64, small limits", cpu_with(Precision::F64, Limits::SMALL).into(), 1e-8),
        ("cpu f32", cpu(Precision::F32).into(), 1e-4),
    ];
    let backends = cpus.into_iter().chain(gpus().into_iter().map(|(name, limits)| (name, shared_gpu(limits), 1e-4)));
    let mut costs = Vec::new();
    for (name, mut session, tolerance) in backends {
        let reports = BOTH.map(|preconditioner| {
            let (problem, _) = arap(&mut session, &mesh);
            let is_near = tolerance > 1e-6 && !is_full();
            solve(&mut session, problem, &if is_near { near(preconditioner) } else { tight(preconditioner) })
        });
        let [jacobi, two] = &reports;
        assert!(two.converged || two.termination == leastwise::solve::Termination::Precision, "{name}: {}", two.reason);
        assert_eq!((two.linear, two.preconditioner), ("pcg", Some("two-level")), "{name}");
        assert!((jacobi.cost - two.cost).abs() <= tolerance * jacobi.cost, "{name}: {} and {}", jacobi.cost, two.cost);
        let inner = |report: &Report| report.iterations.iter().map(|step| step.inner_iterations).sum::<u32>();
        assert!(3 * inner(two) < 2 * inner(jacobi), "{name}: {} and {}", inner(two), inner(jacobi));
        // Nothing comes back but the state.
        assert_eq!(two.counters.readbacks, two.iterations.len() as u64 + 1, "{name}");
        costs.push(two.cost);
    }
    assert!(costs.iter().all(|cost| (cost - costs[0]).abs() < 1e-4 * costs[0]), "{costs:?}");
}

/// What a batch's pairs add comes in chunks, whose columns begin anew.
#[test]
fn terms_in_several_chunks_take_the_same_steps() {
    let mesh = Mesh::icosphere(4).normalized();
    let steps = [cpu(Precision::F64), cpu_with(Precision::F64, Limits::SMALL)].map(|mut session| {
        let (problem, _) = arap(&mut session, &mesh);
        let solver = session.solver(problem, &options("two-level")).unwrap();
        [(); 3].map(|()| step(&mut session, solver))
    });
    for (whole, cut) in steps[0].iter().zip(&steps[1]) {
        assert!((whole.cost - cut.cost).abs() < 1e-6 * whole.cost, "{whole:?}, {cut:?}");
        assert!(whole.inner_iterations.abs_diff(cut.inner_iterations) <= 1, "{whole:?}, {cut:?}");
    }
}

fn bits(threads: usize, level: u32, options: &Options) -> Vec<u64> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
        let mut session = cpu(Precision::F64);
        let (problem, x) = arap(&mut session, &Mesh::icosphere(level).normalized());
        let report = solve(&mut session, problem, options);
        let values = read(&mut session, problem, x);
        report.iterations.iter().map(|step| step.cost).chain(values).map(f64::to_bits).collect()
    })
}

#[test]
fn the_same_bits_come_again_and_of_any_number_of_threads() {
    let few = Options { max_iterations: Some(6.0), ..options("two-level") };
    // So many instances that threads share the plan.
    let many = Options { max_iterations: Some(1.0), max_inner_iterations: Some(4.0), ..options("two-level") };
    for (level, options, threads) in [(4, few, &[1, 2, 3][..]), (6, many, &[2, 5])] {
        let once = bits(1, level, &options);
        for &threads in threads {
            assert!(bits(threads, level, &options) == once, "{threads} threads");
        }
    }
}

#[test]
fn what_is_fixed_or_bounded_stays_within() {
    let mesh = Mesh::icosphere(3).normalized();
    let solved = BOTH.map(|preconditioner| {
        let mut session = cpu(Precision::F64);
        let (problem, x) = arap(&mut session, &mesh);
        let before = read(&mut session, problem, x);
        let fixed: Vec<u32> = (0..642).filter(|v| v % 50 == 7).collect();
        session.fix_table(problem, x, Some(&fixed), None).unwrap();
        session.fix_table(problem, x, None, Some(&[2])).unwrap();
        // The sphere begins within, and would move in x.
        session.bound_table(problem, x, None, Some(Reals::F64(&[1.0]))).unwrap();
        let report = solve(&mut session, problem, &tight(preconditioner));
        let after = read(&mut session, problem, x);
        for (place, (before, after)) in before.iter().zip(&after).enumerate() {
            if fixed.contains(&(place as u32 / 3)) && before <= &1.0 || place % 3 == 2 {
                assert_eq!(before.to_bits(), after.to_bits(), "{preconditioner}: component {place}");
            }
            assert!(*after <= 1.0, "{preconditioner}: component {place} is {after}");
        }
        assert!(after.iter().step_by(3).any(|x| *x == 1.0), "nothing is at its limit");
        report.cost
    });
    assert!((solved[0] - solved[1]).abs() < 1e-6 * solved[0], "{solved:?}");
}

#[test]
fn edits_are_followed() {
    // The same solver through edits of data and of values, terms switched off, and live steps.
    let mesh = Mesh::icosphere(if is_full() { 4 } else { 3 }).normalized();
    let ends = BOTH.map(|preconditioner| {
        let mut session = cpu(Precision::F64);
        let (problem, x) = arap(&mut session, &mesh);
        let solver = session.solver(problem, &tight(preconditioner)).unwrap();
        let run = |session: &mut Session| {
            let task = session.solve(solver, SolveMode::Solve).unwrap();
            let Progress::Report(report) = finish(session, task, |_| {}) else { panic!("no report") };
            *report
        };
        let first = run(&mut session);
        session.write_table(problem, x, Reals::F64(&mesh.positions), None).unwrap();
        session.set_weight(problem, 1, Weight::Shared(50.0)).unwrap();
        session.advance(solver, 4, f64::INFINITY).unwrap();
        let second = run(&mut session);
        session.set_enabled(problem, 1, false).unwrap();
        let third = run(&mut session);
        assert!(third.cost < 1e-6 * second.cost, "without handles the sphere is at rest: {}", third.cost);
        [first.cost, second.cost]
    });
    for (jacobi, two) in ends[0].iter().zip(ends[1]) {
        assert!((jacobi - two).abs() < 1e-6 * jacobi, "{ends:?}");
    }
}

/// From far away some steps are rejected. What comes after is solved with another λ on every level.
#[test]
fn steps_after_rejected_ones_are_shorter() {
    let mesh = Mesh::icosphere(3).normalized();
    let mut rejected = 0;
    for (seed, spread) in [(1, 0.5), (2, 1.0), (3, 2.0), (4, 4.0), (5, 8.0)] {
        let mut session = cpu(Precision::F64);
        let (problem, x) = arap(&mut session, &mesh);
        let mut random = Random::new(seed);
        let far: Vec<f64> = mesh.positions.iter().map(|x| x + random.between(-spread, spread)).collect();
        session.write_table(problem, x, Reals::F64(&far), None).unwrap();
        let report = solve(&mut session, problem, &Options { max_iterations: Some(300.0), ..options("two-level") });
        assert!(report.converged, "spread {spread}: {}", report.reason);
        for pair in report.iterations.windows(2).filter(|pair| !pair[0].accepted) {
            rejected += 1;
            assert!(pair[1].damping > pair[0].damping && pair[1].step_norm < pair[0].step_norm, "spread {spread}: {pair:?}");
            assert!((1..300).contains(&pair[1].inner_iterations), "spread {spread}: {pair:?}");
        }
    }
    assert!(rejected > 0, "λ never rose");
}

/// A term over instances of tables.
fn term(session: &mut Session, problem: u32, slots: &[(u32, Vec<u32>)], residual: impl FnOnce(&mut Tape, &[u32]) -> u32) -> u32 {
    let mut tape = Tape::default();
    let inputs: Vec<u32> = (0..slots.len() as u32).map(|source| tape.input(source)).collect();
    let output = residual(&mut tape, &inputs);
    let spec = TermSpec {
        name: "term".into(),
        count: slots[0].1.len() as u32,
        indices: slots.iter().map(|slot| slot.1.clone()).collect(),
        slots: (0..).zip(slots).map(|(column, slot)| Slot { table: slot.0, column }).collect(),
        columns: Vec::new(),
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &[output],
    };
    session.term(problem, spec).unwrap()
}

/// Neighbours along both ways of a grid.
pub fn grid_edges(side: u32) -> [Vec<u32>; 2] {
    let edges: Vec<(u32, u32)> = (0..side * side)
        .flat_map(|i| [(i % side + 1 < side).then_some((i, i + 1)), (i / side + 1 < side).then_some((i, i + side))])
        .flatten()
        .collect();
    [edges.iter().map(|edge| edge.0).collect(), edges.iter().map(|edge| edge.1).collect()]
}

/// A net of instances whose neighbours are to be `between` each other, held near where they begin by a weak pull.
fn net(session: &mut Session, width: u32, side: u32, between: impl Fn(&mut Tape, u32, u32) -> u32) -> u32 {
    let problem = session.problem();
    let mut random = Random::new(11);
    let values: Vec<f64> = (0..side * side)
        .flat_map(|i| [f64::from(i % side), f64::from(i / side), 0.0].into_iter().take(width as usize).collect::<Vec<_>>())
        .map(|x| x + random.between(-0.2, 0.2))
        .collect();
    let x = session.table(problem, "x", width, Reals::F64(&values), true).unwrap();
    let [mut a, mut b] = grid_edges(side);
    // And across: squares alone would shear.
    for i in (0..side * (side - 1)).filter(|i| i % side + 1 < side) {
        a.extend([i, i + 1]);
        b.extend([i + side + 1, i + side]);
    }
    term(session, problem, &[(x, a), (x, b)], |tape, inputs| between(tape, inputs[0], inputs[1]));
    let goal = session.table(problem, "goal", width, Reals::F64(&values), false).unwrap();
    let some: Vec<u32> = (0..side * side).filter(|i| i % 97 == 0).collect();
    term(session, problem, &[(x, some.clone()), (goal, some)], |tape, inputs| {
        let apart = tape.op(Sub, &[inputs[0], inputs[1]]);
        let weak = tape.literal(0.1);
        tape.op(Opcode::Mul, &[apart, weak])
    });
    problem
}

fn compare(make: impl Fn(&mut Session) -> u32) -> [(f64, u32); 2] {
    BOTH.map(|preconditioner| {
        let mut session = cpu(Precision::F64);
        let problem = make(&mut session);
        let report = solve(&mut session, problem, &tight(preconditioner));
        (report.cost, report.iterations[0].inner_iterations)
    })
}

#[test]
fn points_in_the_plane_turn_about_one_axis() {
    let springs = |tape: &mut Tape, a, b| {
        let apart = tape.op(Sub, &[a, b]);
        let (length, rest) = (tape.op(Norm, &[apart]), tape.literal(0.9));
        tape.op(Sub, &[length, rest])
    };
    let [jacobi, two] = compare(|session| net(session, 2, 40, springs));
    assert!((jacobi.0 - two.0).abs() < 1e-5 * jacobi.0, "{jacobi:?}, {two:?}");
    assert!(2 * two.1 < jacobi.1, "{jacobi:?}, {two:?}");
}

#[test]
fn what_is_no_point_is_the_same_throughout_a_patch() {
    // Heights: one degree of freedom; colours: four.
    for width in [1, 4] {
        let [jacobi, two] = compare(|session| {
            let problem = session.problem();
            let mut random = Random::new(12);
            let values: Vec<f64> = (0..1600 * width).map(|_| random.between(-1.0, 1.0)).collect();
            let x = session.table(problem, "x", width, Reals::F64(&values), true).unwrap();
            let [a, b] = grid_edges(40);
            term(session, problem, &[(x, a), (x, b)], |tape, inputs| tape.op(Sub, inputs));
            term(session, problem, &[(x, vec![0, 820])], |_, inputs| inputs[0]);
            problem
        });
        // It is linear: both end at 0.
        assert!(jacobi.0 < 1e-8 && two.0 < 1e-8, "{jacobi:?}, {two:?}");
        assert!(2 * two.1 < jacobi.1, "width {width}: {jacobi:?}, {two:?}");
    }
}

#[test]
fn what_all_residuals_share_is_in_no_patch() {
    let [jacobi, two] = compare(|session| {
        let problem = session.problem();
        let values: Vec<f64> = (0..900).map(|i| f64::from(i % 30) / 30.0).collect();
        let x = session.table(problem, "x", 1, Reals::F64(&values), true).unwrap();
        let scale = session.table(problem, "scale", 1, Reals::F64(&[1.5]), true).unwrap();
        let [a, b] = grid_edges(30);
        let shared = vec![0; a.len()];
        term(session, problem, &[(x, a), (x, b), (scale, shared)], |tape, inputs| {
            let apart = tape.op(Sub, &inputs[..2]);
            let tenth = tape.literal(0.1);
            let wanted = tape.op(Opcode::Mul, &[inputs[2], tenth]);
            tape.op(Sub, &[apart, wanted])
        });
        term(session, problem, &[(x, vec![0, 899])], |_, inputs| inputs[0]);
        problem
    });
    assert!((jacobi.0 - two.0).abs() < 1e-9, "{jacobi:?}, {two:?}");
}

fn refused(session: &mut Session, problem: u32, options: &Options) -> String {
    match session.solver(problem, options) {
        Err(Error::InvalidOption(why) | Error::Limits(why)) => why,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was not refused"),
    }
}

#[test]
fn what_has_no_coarse_space_is_refused_with_the_reason() {
    let mut session = cpu(Precision::F64);
    let problem = session.problem();
    let wide = session.table(problem, "wide", 7, Reals::F64(&[0.5; 70]), true).unwrap();
    term(&mut session, problem, &[(wide, (0..10).collect())], |_, inputs| inputs[0]);
    let why = refused(&mut session, problem, &options("two-level"));
    assert!(why.contains("7 degrees of freedom") && why.contains("\"block-jacobi\""), "{why}");
    let (problem, _) = arap(&mut session, &Mesh::icosphere(1).normalized());
    for (linear, preconditioner) in [("dense", "two-level"), ("assembled-pcg", "two-level"), ("pcg", "frozen-factor")] {
        let why = refused(&mut session, problem, &Options { linear: Some(linear.into()), ..options(preconditioner) });
        assert!(why.contains(linear) && why.contains(preconditioner), "{why}");
    }
    let why = refused(&mut session, problem, &options("ilu"));
    assert!(why.contains("\"ilu\" is not one of \"auto\", \"block-jacobi\", \"two-level\", \"schur-jacobi\", \"frozen-factor\""), "{why}");
}

#[test]
fn variables_that_are_linked_at_random_are_refused_once_their_links_are_known() {
    let (mut session, mut random) = (cpu(Precision::F64), Random::new(11));
    let count = 6400;
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(&vec![0.5; count]), true).unwrap();
    // Eight of each, and a hundred patches: nearly all are next to all others, and each to 24 lower ones at most is allowed.
    let mut ends = || (0..4 * count).map(|_| random.below(count as u64) as u32).collect::<Vec<u32>>();
    let links = [(x, ends()), (x, ends())];
    term(&mut session, problem, &links, |tape, inputs| tape.op(Sub, inputs));
    let solver = session.solver(problem, &options("two-level")).unwrap();
    let task = session.solve(solver, SolveMode::Solve).unwrap();
    let error = loop {
        match session.resume(task, f64::INFINITY) {
            Ok(Progress::Yielded) => {}
            Ok(_) => panic!("it was not refused"),
            Err(error) => break error,
        }
    };
    let Error::InvalidOption(why) = error else { panic!("{error}") };
    assert!(why.contains("more than 48 neighbours") && why.contains("\"block-jacobi\""), "{why}");
}

#[test]
fn sums_over_entries_are_refused() {
    let mut session = cpu(Precision::F64);
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(&[1.0, 2.0, 3.0]), true).unwrap();
    summed(&mut session, problem, x);
    let why = refused(&mut session, problem, &options("two-level"));
    assert!(why.contains("sumOver"), "{why}");
    let report = solve(&mut session, problem, &Options::default());
    assert_eq!((report.linear, report.preconditioner), ("pcg", Some("block-jacobi")));
}

/// Σ x over all instances, minus the first.
fn summed(session: &mut Session, problem: u32, x: u32) {
    let mut tape = Tape::default();
    let [own, entry] = [0, 1].map(|source| tape.input(source));
    let sum = tape.op(SumOver, &[entry]);
    let residual = tape.op(Sub, &[sum, own]);
    let plain = TermSpec {
        name: "sum".into(),
        count: 1,
        indices: vec![vec![0]],
        slots: vec![Slot { table: x, column: 0 }],
        columns: Vec::new(),
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &[residual],
    };
    let slots = vec![RaggedSlot { table: x, indices: vec![0, 1, 2] }];
    session.summed_term(problem, SummedSpec { plain, offsets: vec![0, 3], slots, columns: Vec::new() }).unwrap();
}

#[test]
fn auto_takes_two_levels_for_large_meshes_and_says_so() {
    let mut session = cpu(Precision::F64);
    for (level, name) in [(3, "block-jacobi"), (5, "two-level")] {
        let (problem, _) = arap(&mut session, &Mesh::icosphere(level).normalized());
        let report = solve(&mut session, problem, &Options { linear: Some("pcg".into()), max_iterations: Some(1.0), ..Options::default() });
        assert_eq!(report.preconditioner, Some(name), "{:?}", report.preconditioner_reason);
        assert!(report.preconditioner_reason.is_some_and(|why| why.contains("unknowns")), "level {level}");
    }
    // Blocks of 36 entries need as many lanes.
    let mut small = cpu_with(Precision::F64, Limits { group_size: 32, ..CpuDevice::default_limits() });
    let (problem, _) = arap(&mut small, &Mesh::icosphere(5).normalized());
    let report = solve(&mut small, problem, &Options { linear: Some("pcg".into()), max_iterations: Some(1.0), ..Options::default() });
    assert_eq!(report.preconditioner, Some("block-jacobi"));
    assert!(report.preconditioner_reason.is_some_and(|why| why.contains("workgroup of 32 lanes")));
    let (problem, _) = arap(&mut session, &Mesh::icosphere(2).normalized());
    let report = solve(&mut session, problem, &Options { linear: Some("sparse-cholesky".into()), ..Options::default() });
    assert_eq!((report.preconditioner, report.preconditioner_reason), (None, None));
}

/// Neighbours in a grid.
fn grid(side: u32) -> Graph {
    let [a, b] = grid_edges(side);
    let most = vec![4; (side * side) as usize];
    at_once(|pace| async move { Graph::new(most, &[[(0, &a), (0, &b)]], |_, _| true, &pace).await })
}

#[test]
fn links_that_are_not_kept_leave_no_gaps() {
    // The second column's nodes begin at 1.
    let [a, b] = [vec![0, 1, 2, 3, 1], vec![0, 1, 1, 2, 2]];
    let kept = |i, j| i != j && (i, j) != (1, 2);
    let graph = at_once(|pace| async move { Graph::new([4; 4], &[[(0, &a), (1, &b)]], kept, &pace).await });
    assert_eq!((graph.starts, graph.neighbours), (vec![0, 1, 3, 3, 4], vec![1, 0, 3, 1]));
}

#[test]
fn patches_are_connected_and_as_large_as_they_are_to_be() {
    let graph = grid(50);
    let of = &graph;
    let (owners, count) = at_once(|pace| async move { of.patches(32, |node| node % 11 != 0, &pace).await });
    let mut members = vec![Vec::new(); count as usize];
    for (node, &owner) in (0u32..).zip(&owners) {
        assert_eq!(owner == NONE, node % 11 == 0);
        if owner != NONE {
            members[owner as usize].push(node);
        }
    }
    for (patch, members) in (0u32..).zip(&members) {
        assert!((1..64).contains(&members.len()), "patch {patch} has {} nodes", members.len());
        let (mut seen, mut queue) = (std::collections::BTreeSet::from([members[0]]), vec![members[0]]);
        while let Some(node) = queue.pop() {
            for &other in graph.of(node) {
                if owners[other as usize] == patch && seen.insert(other) {
                    queue.push(other);
                }
            }
        }
        assert_eq!(seen.len(), members.len(), "patch {patch} is in pieces");
    }
    let middle = members.iter().filter(|members| members.len() >= 16).count();
    assert!(10 * middle >= 9 * members.len(), "{middle} of {} patches are half as large as they are to be", members.len());
}

#[test]
fn levels_become_fewer_until_one_node_is_left() {
    let side = 60;
    let [a, b] = grid_edges(side);
    let mut pairs: Vec<(u32, u32)> = a.iter().zip(&b).map(|(&a, &b)| (b, a)).collect();
    pairs.sort_unstable();
    let levels = |matrix: Lower| at_once(|pace| async move { Hierarchy::new(matrix, &pace).await });
    let hierarchy = levels(Lower::new(side * side, &pairs));
    let nodes: Vec<u32> = hierarchy.nodes().collect();
    assert!(hierarchy.levels.iter().all(|level| level.full.is_some() == (level.nodes <= 128)), "{nodes:?}");
    assert!(nodes.windows(2).all(|pair| 2 * pair[1] < pair[0]) && nodes.last() == Some(&1), "{nodes:?}");
    // What is not linked stays apart.
    let hierarchy = levels(Lower::new(100, &[(1, 0), (3, 2)]));
    assert_eq!(hierarchy.nodes().collect::<Vec<_>>(), [100]);
}

//! Edits between steps, and stops at any moment: nothing is compiled, analysed or allocated anew, and the best accepted
//! values stay.

use crate::support::*;
use leastwise::device::{Counters, Precision};
use leastwise::expr::Opcode;
use leastwise::problem::{Column, Loss, Reals, Slot, Stats, TermSpec, Weight};
use leastwise::session::{Advanced, Progress, Session, SolveMode};
use leastwise::solve::{Options, Termination};

fn sessions() -> [(&'static str, Shared); 3] {
    [("cpu f64", cpu(Precision::F64).into()), ("cpu f32", cpu(Precision::F32).into()), ("webgpu", shared_gpu(None))]
}

/// A term x − target over instances of a table of scalars.
fn pull(session: &mut Session, problem: u32, name: &str, table: u32, indices: Vec<u32>, loss: Option<Loss>) -> u32 {
    let mut tape = Tape::default();
    let [x, target] = [0, 1].map(|source| tape.input(source));
    let residual = tape.op(Opcode::Sub, &[x, target]);
    let targets = vec![2.0; indices.len()];
    let spec = TermSpec {
        name: name.into(),
        count: indices.len() as u32,
        indices: vec![indices],
        slots: vec![Slot { table, column: 0 }],
        columns: vec![Column { name: "target".into(), width: 1, shared: false, values: Reals::F64(&targets) }],
        weight: Weight::Shared(1.0),
        loss,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &[residual],
    };
    session.term(problem, spec).unwrap()
}

/// What is made only when something is compiled, analysed or laid out.
fn made(session: &Session) -> (u64, u64, Stats) {
    let Counters { kernels_created, buffers_created, .. } = session.device().counters();
    (kernels_created, buffers_created, session.stats())
}

#[test]
fn edits_between_steps_upload_and_nothing_else() {
    for (name, mut session) in sessions() {
        let problem = session.problem();
        let x = session.table(problem, "x", 1, Reals::F64(&(0..50).map(f64::from).collect::<Vec<_>>()), true).unwrap();
        let k = session.table(problem, "k", 1, Reals::F64(&[1.0; 3]), false).unwrap();
        let term = pull(&mut session, problem, "pull", x, (0..50).collect(), Some(Loss::cauchy(1.0).unwrap()));
        session.fix_table(problem, x, Some(&[0]), None).unwrap();
        session.bound_table(problem, x, Some(Reals::F64(&[-100.0])), None).unwrap();
        let solver = session.solver(problem, &Options { linear: Some("pcg".into()), ..Options::default() }).unwrap();
        step(&mut session, solver);
        let before = made(&session);
        for round in 0..3 {
            let edits: [&dyn Fn(&mut Session); 8] = [
                &|session| session.write_table(problem, x, Reals::F64(&[9.0, 8.0]), Some(&[5, 17])).unwrap(),
                &|session| session.write_table(problem, k, Reals::F64(&[f64::from(round); 3]), None).unwrap(),
                &|session| session.set_column(problem, term, 0, Reals::F64(&[f64::from(round) - 3.0; 50])).unwrap(),
                &|session| session.set_weight(problem, term, Weight::Shared(2.0 + f64::from(round))).unwrap(),
                &|session| session.fix_table(problem, x, Some(&[3, 9]), None).unwrap(),
                &|session| session.unfix_table(problem, x, Some(&[9])).unwrap(),
                &|session| session.set_loss(problem, term, &Loss::cauchy(0.5 + f64::from(round)).unwrap()).unwrap(),
                &|session| session.bound_table(problem, x, Some(Reals::F64(&[-1.0])), Some(Reals::F64(&[60.0]))).unwrap(),
            ];
            for (number, edit) in edits.iter().enumerate() {
                edit(&mut session);
                let iteration = step(&mut session, solver);
                assert!(iteration.cost.is_finite(), "{name}");
                assert_eq!(made(&session), before, "{name}: after edit {number} of round {round}");
            }
        }
        // Live steps see edits as well.
        session.advance(solver, 3, f64::INFINITY).unwrap();
        session.set_column(problem, term, 0, Reals::F64(&[7.0; 50])).unwrap();
        session.advance(solver, 40, f64::INFINITY).unwrap();
        assert_eq!(made(&session), before, "{name}: after live steps");
        let values = read(&mut session, problem, x);
        assert!((values[20] - 7.0).abs() < 1e-2, "{name}: {}", values[20]);
    }
}

#[test]
fn a_known_term_that_comes_or_goes_is_laid_out_and_not_compiled() {
    for (name, mut session) in sessions() {
        let problem = session.problem();
        let values: Vec<f64> = (0..70_000).map(|i| f64::from(i % 91)).collect();
        let [x, y] = ["x", "y"].map(|name| session.table(problem, name, 1, Reals::F64(&values), true).unwrap());
        pull(&mut session, problem, "first", x, (0..70_000).collect(), None);
        let solver = session.solver(problem, &Options::default()).unwrap();
        step(&mut session, solver);
        let (kernels, _, before) = made(&session);
        let second = pull(&mut session, problem, "second", y, (0..70_000).collect(), None);
        let grown = step(&mut session, solver);
        let (now, _, stats) = made(&session);
        assert_eq!((now, stats.layouts, stats.structures), (kernels, before.layouts + 1, before.structures), "{name}: a term came");
        session.free_term(problem, second).unwrap();
        let shrunk = step(&mut session, solver);
        let (now, _, stats) = made(&session);
        assert_eq!((now, stats.layouts), (kernels, before.layouts + 1), "{name}: a term went");
        assert!(shrunk.cost <= grown.cost, "{name}: {} {}", shrunk.cost, grown.cost);
    }
}

/// The cost of the values that are there.
fn cost(session: &mut Session, problem: u32) -> f64 {
    (0..2)
        .map(|term| {
            let task = session.term_costs(problem, term).unwrap();
            let Progress::Values(costs) = finish(session, task, |_| {}) else { panic!("no costs") };
            costs.iter().sum::<f64>()
        })
        .sum()
}

#[test]
fn stops_at_random_moments_leave_the_best_accepted_values() {
    let seed = fresh_seed();
    println!("LEASTWISE_TEST_SEED={seed}");
    let mut random = Random::new(seed);
    for (name, mut session) in sessions() {
        let mesh = Mesh::icosphere(2).normalized();
        let (problem, x) = arap(&mut session, &mesh);
        let start = cost(&mut session, problem);
        let (mut lowest, mut stops) = (start, 0);
        for round in 0..12 {
            let options =
                Options { cost_tolerance: Some(0.0), gradient_tolerance: Some(0.0), step_tolerance: Some(0.0), ..Options::default() };
            let solver = session.solver(problem, &options).unwrap();
            let task = session.solve(solver, SolveMode::Solve).unwrap();
            // Half of them early: a fast machine is done before the sixtieth turn.
            let (moment, budget) = (random.below([6, 60][round / 2 % 2]), [0.0, 0.2, 1.0][random.below(3) as usize]);
            let (mut reports, mut seen, mut stopped) = (None, Vec::new(), false);
            for turn in 0.. {
                if turn == moment {
                    match round % 3 {
                        // Dropped within whatever it was in the midst of.
                        2 => {
                            session.cancel(task);
                            break;
                        }
                        _ => session.stop(task, "enough"),
                    }
                    stopped = true;
                }
                match session.resume(task, budget).unwrap() {
                    Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
                    Progress::Iteration(iteration) => seen.push(iteration),
                    Progress::Report(report) => {
                        reports = Some(report);
                        break;
                    }
                    _ => {}
                }
            }
            let left = cost(&mut session, problem);
            let slack = if name == "cpu f64" { 1e-12 } else { 1e-4 };
            assert!(left <= lowest * (1.0 + slack) + 1e-12, "{name}, round {round}: {left} is above {lowest}");
            if let Some(report) = reports {
                // One that comes while the report is being made is late.
                assert!(report.termination != Termination::Stopped || stopped && report.reason == "enough", "{name}: {}", report.reason);
                stops += u32::from(report.termination == Termination::Stopped);
                assert!((report.cost - left).abs() <= slack * left, "{name}: {} and {left}", report.cost);
                assert_eq!(report.iterations, seen, "{name}");
            }
            lowest = left.min(lowest);
            session.free_solver(solver);
            // Every other time from a little way back.
            if round % 2 == 1 {
                session.write_table(problem, x, Reals::F64(&mesh.positions), None).unwrap();
                lowest = cost(&mut session, problem);
            }
        }
        assert!(stops > 0, "{name}: nothing was stopped in time");
        let last = solve(&mut session, problem, &Options { max_iterations: Some(100.0), ..Options::default() });
        assert!(last.converged && last.cost < 0.5 * start, "{name}: usable afterwards: {} {}", last.cost, last.reason);
    }
}

/// An arm of three joints that is to reach a goal: at rest nothing at all is left of the cost.
fn arm(session: &mut Session) -> (u32, u32) {
    let problem = session.problem();
    let joints = session.table(problem, "joints", 3, Reals::F64(&[0.3, 0.4, 0.5]), true).unwrap();
    let mut tape = Tape::default();
    let [angles, goal] = [0, 1].map(|source| tape.input(source));
    let parts: Vec<u32> = (0..3).map(|k| tape.op(Opcode::Component, &[angles, k])).collect();
    let two = tape.op(Opcode::Add, &[parts[0], parts[1]]);
    let three = tape.op(Opcode::Add, &[two, parts[2]]);
    let [x, y] = [Opcode::Cos, Opcode::Sin].map(|function| {
        let [a, b, c] = [parts[0], two, three].map(|angle| tape.op(function, &[angle]));
        let both = tape.op(Opcode::Add, &[a, b]);
        tape.op(Opcode::Add, &[both, c])
    });
    let hand = tape.op(Opcode::Pack, &[x, y]);
    let residual = tape.op(Opcode::Sub, &[hand, goal]);
    let spec = TermSpec {
        name: "reach".into(),
        count: 1,
        indices: vec![vec![0]],
        slots: vec![Slot { table: joints, column: 0 }],
        columns: vec![Column { name: "goal".into(), width: 2, shared: false, values: Reals::F64(&[1.5, 1.0]) }],
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &[residual],
    };
    let term = session.term(problem, spec).unwrap();
    (problem, term)
}

#[test]
fn an_edit_is_followed_however_long_the_rest_before_it() {
    for (name, mut session) in sessions() {
        for (method, dogleg) in [("lm", None), ("dogleg", Some("traditional")), ("dogleg", Some("subspace"))] {
            let (problem, term) = arm(&mut session);
            let [method, dogleg] = [Some(method), dogleg].map(|name| name.map(String::from));
            let options = Options { linear: Some("pcg".into()), method, dogleg, ..Options::default() };
            let solver = session.solver(problem, &options).unwrap();
            let goals = [[1.0, 1.6], [-0.5, 1.2], [2.0, -0.3]];
            for (round, goal) in repeated(&goals, if name == "webgpu" { 1 } else { 3 }).iter().enumerate() {
                session.advance(solver, 60, f64::INFINITY).unwrap();
                session.set_column(problem, term, 0, Reals::F64(goal)).unwrap();
                session.advance(solver, 20, f64::INFINITY).unwrap();
                let task = session.term_costs(problem, term).unwrap();
                let Progress::Values(costs) = finish(&mut session, task, |_| {}) else { panic!("no costs") };
                assert!(costs[0] < 1e-4, "{name}, {options:?}, round {round}: {}", costs[0]);
            }
        }
    }
}

#[test]
fn values_can_be_read_between_the_steps_of_a_solve() {
    for (name, mut session) in sessions() {
        let mesh = Mesh::icosphere(1);
        let (problem, x) = arap(&mut session, &mesh);
        let solver = session.solver(problem, &Options { linear: Some("pcg".into()), ..Options::default() }).unwrap();
        let task = session.solve(solver, SolveMode::Solve).unwrap();
        let mut between = Vec::new();
        let report = loop {
            match session.resume(task, 1.0).unwrap() {
                Progress::Iteration(_) => {
                    // The solve goes on before the values have come.
                    between.push(session.read_table(problem, x).unwrap());
                }
                Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
                Progress::Report(report) => break report,
                _ => {}
            }
        };
        let mut values = between.into_iter().map(|task| match finish(&mut session, task, |_| {}) {
            Progress::Values(values) => values,
            _ => panic!("no values"),
        });
        let first = values.next().expect("a step");
        let last = values.last().expect("more steps");
        assert_ne!(first, last, "{name}");
        assert_eq!(last, read(&mut session, problem, x), "{name}: {}", report.reason);
    }
}

#[test]
fn a_stop_does_not_wait_for_the_inner_iterations() {
    // A device that has made such a step before knows how much a GPU can be given at a time: on a fast one that is all.
    let unknowing: [(&str, Session); 3] = [("cpu f64", cpu(Precision::F64)), ("cpu f32", cpu(Precision::F32)), ("webgpu", gpu(None))];
    for ((name, mut session), (_, mut other)) in unknowing.into_iter().zip(sessions()) {
        let options =
            Options { linear: Some("pcg".into()), forcing: Some(1e-12), max_inner_iterations: Some(3000.0), ..Options::default() };
        let begin = |session: &mut Session| {
            let (problem, _) = arap(session, &Mesh::icosphere(3));
            session.solver(problem, &options).unwrap()
        };
        let (solver, unstopped) = (begin(&mut session), begin(&mut other));
        let whole = step(&mut other, unstopped).inner_iterations;
        // In the midst of the first step, be it before its first inner iteration: after so many submissions, or slices of a
        // CPU, which are as short as can be.
        for moment in if name == "webgpu" { [2, 3, 4] } else { [2, 20, 60] } {
            let task = session.solve(solver, SolveMode::Solve).unwrap();
            let (mut seen, mut slices, mut begun) = (Vec::new(), 0, 0);
            let report = loop {
                slices += 1;
                if slices == moment {
                    session.stop(task, "enough");
                    begun = session.device().counters().rounds;
                }
                match session.resume(task, 0.0).unwrap() {
                    Progress::Iteration(iteration) => seen.push(iteration),
                    Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
                    Progress::Report(report) => break *report,
                    _ => {}
                }
            };
            assert_eq!((report.termination, seen.len()), (Termination::Stopped, 1), "{name}, {moment}: {}", report.reason);
            // What is submitted at a time depends on what a round trip takes. Two submissions may follow, which find the work done.
            let after = session.device().counters().rounds - begun;
            let most = if name == "webgpu" { 2 * 32 } else { 0 };
            assert!(
                after <= most,
                "{name}, {moment}: {after} inner iterations after the stop; {} of {whole} in all",
                seen[0].inner_iterations
            );
            assert!(moment > 2 || seen[0].inner_iterations < whole, "{name}: all inner iterations");
            assert!(seen[0].cost <= report.initial_cost, "{name}, {moment}");
        }
    }
}

/// What `advance` tells, once all that was enqueued before has come.
fn told(session: &mut Session, problem: u32, table: u32, solver: u32) -> Advanced {
    // A glance that was on its way lands while values are read; the next call asks again.
    for _ in 0..2 {
        session.advance(solver, 0, f64::INFINITY).unwrap();
        read(session, problem, table);
    }
    session.advance(solver, 0, f64::INFINITY).unwrap().expect("it has come")
}

#[test]
fn advance_tells_what_became_of_steps_without_a_readback() {
    for (name, mut session) in sessions() {
        let problem = session.problem();
        let x = session.table(problem, "x", 1, Reals::F64(&(0..50).map(f64::from).collect::<Vec<_>>()), true).unwrap();
        let term = pull(&mut session, problem, "pull", x, (0..50).collect(), Some(Loss::cauchy(1.0).unwrap()));
        let solver = session.solver(problem, &Options { linear: Some("pcg".into()), ..Options::default() }).unwrap();
        step(&mut session, solver);
        let before = session.device().counters().readbacks;
        for _ in 0..10 {
            let known = session.advance(solver, 2, f64::INFINITY).unwrap();
            if !session.device().is_queue() {
                assert_eq!(known.map(|known| known.unfinished), Some(0), "{name}");
            }
        }
        assert_eq!(session.device().counters().readbacks, before, "{name}: nothing waits for counts");
        let Advanced { accepted, rejected, unfinished } = told(&mut session, problem, x, solver);
        assert_eq!((accepted + rejected, unfinished), (21, 0), "{name}: with the one before");
        assert!(accepted > 1, "{name}: {accepted}");
        // At its minimum steps are rejected, and what an edit undoes is made good.
        session.advance(solver, 60, f64::INFINITY).unwrap();
        let rested = told(&mut session, problem, x, solver);
        assert!(rested.rejected > 0, "{name}: {rested:?}");
        session.set_column(problem, term, 0, Reals::F64(&[30.0; 50])).unwrap();
        session.advance(solver, 5, f64::INFINITY).unwrap();
        let edited = told(&mut session, problem, x, solver);
        assert!(edited.accepted > rested.accepted && edited.accepted + edited.rejected == 86, "{name}: {edited:?}");
        // Other buffers count from 0, and what was known goes on.
        pull(&mut session, problem, "more", x, (0..5).collect(), None);
        session.advance(solver, 1, f64::INFINITY).unwrap();
        let more = told(&mut session, problem, x, solver);
        assert_eq!(more.accepted + more.rejected, 87, "{name}: {more:?}");
    }
}

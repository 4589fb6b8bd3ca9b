//! Sessions over several devices of one process: the calls of one device, and the bits of as many ranks that are told everything
//! themselves.

use super::scenes::{Alone, Declare, Made, mesh, net, options};
use super::sessions::{SCENES, fault, session, solved, values};
use super::{bits, on_all};
use crate::support::*;
use leastwise::Error;
use leastwise::collective::{Call, Communicator, DEADLINE, Fault, Gathered, Traffic, threads};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, DeviceError, Limits, Precision};
use leastwise::problem::{Loss, Reals, Shape, Weight};
use leastwise::ranks::RankedProblem;
use leastwise::session::{Progress, Session, SolveMode};
use leastwise::solve::{Options, Report};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

fn cpus(precision: Precision, count: u32) -> Vec<Device> {
    (0..count).map(|_| Device::Cpu(CpuDevice::new(precision, CpuDevice::default_limits()))).collect()
}

/// A session over CPUs that exchange numbers by these.
pub fn by(precision: Precision, ranks: Vec<Arc<dyn Communicator>>) -> Alone {
    let mut session = Session::over_devices(cpus(precision, ranks.len() as u32), ranks).unwrap();
    let problem = session.problem();
    Alone { session, problem }
}

pub fn over(precision: Precision, count: u32) -> Alone {
    by(precision, threads(count, DEADLINE))
}

/// Costs of all iterations and values of all tables, in bits.
pub type Bits = (Vec<u64>, Vec<u64>);

pub fn found(of: &mut Alone, made: &Made, reports: &[Report]) -> Bits {
    let costs = reports.iter().flat_map(|report| report.iterations.iter().map(|step| step.cost).chain([report.cost]));
    (bits(&costs.collect::<Vec<_>>()), bits(&values(of, made).concat()))
}

/// Begins a solve and makes so many iterations.
pub fn begun(of: &mut Alone, iterations: u32) -> u32 {
    let solver = of.session.solver(of.problem, &options()).unwrap();
    let task = of.session.solve(solver, SolveMode::Solve).unwrap();
    for _ in 0..iterations {
        assert!(matches!(of.session.resume(task, 8.0).unwrap(), Progress::Iteration(_)));
    }
    task
}

/// Goes on with a task that fails.
fn failure(of: &mut Alone, task: u32) -> Error {
    loop {
        match of.session.resume(task, 8.0) {
            Ok(progress) => assert!(matches!(progress, Progress::Iteration(_)), "no failure"),
            Err(error) => return error,
        }
    }
}

fn two_iterations() -> Options {
    Options { max_iterations: Some(2.0), ..options() }
}

/// Values of the mesh after two iterations by three ranks, and the costs of a solve from there.
fn after_two_iterations() -> (Vec<u64>, Bits) {
    let mut of = over(Precision::F64, 3);
    let made = mesh(&mut of);
    assert!(solve(&mut of.session, of.problem, &two_iterations()).iterations.iter().all(|step| step.accepted));
    let first = bits(&values(&mut of, &made).concat());
    let report = solve(&mut of.session, of.problem, &options());
    (first, found(&mut of, &made, &[report]))
}

#[test]
fn devices_have_the_bits_of_ranks_that_are_told_everything_themselves() {
    for count in 1..=4 {
        for precision in [Precision::F64, Precision::F32] {
            for make in SCENES {
                let options = Options { linear: Some(make.2.into()), preconditioner: None, ..options() };
                let expected = on_all(count, |ranks| {
                    let mut of = session(precision, ranks);
                    let made = make.0(&mut of);
                    let report = solve(&mut of.session, of.problem, &options);
                    found(&mut of, &made, &[report])
                });
                let mut of = over(precision, count);
                let made = make.0(&mut of);
                let report = solve(&mut of.session, of.problem, &options);
                assert_eq!(found(&mut of, &made, &[report]), expected[0], "{count} devices, {precision:?}");
                // Counters are those of all devices.
                let [all, own] = [of.session.counters(), of.session.device().counters()].map(|counters| counters.bytes_live);
                assert!(own > 0 && (all > own) == (count > 1), "{count} devices: {all} and {own} bytes");
                of.session.free_problem(of.problem);
                assert_eq!(of.session.counters().bytes_live, 0, "memory is left");
            }
        }
    }
}

#[test]
fn edits_are_those_of_all_devices() {
    let run = |of: &mut Alone| {
        let made = mesh(of);
        let problem = of.problem;
        let mut reports = vec![solve(&mut of.session, problem, &options())];
        let data: Vec<f32> = made.data.iter().map(|value| 0.9 * *value as f32 + 0.01).collect();
        of.session.set_column(problem, made.edited, 0, Reals::F32(&data)).unwrap();
        reports.push(solve(&mut of.session, problem, &options()));
        of.session.write_table(problem, made.tables[0], Reals::F64(&[0.5, 0.9, 0.1, 0.2, 0.8, 0.3]), Some(&[140, 3])).unwrap();
        of.session.set_weight(problem, 0, Weight::Shared(2.5)).unwrap();
        let weights: Vec<f64> = (0..made.data.len() / 3).map(|row| 0.04 + 0.02 * (row % 5) as f64).collect();
        of.session.set_weight(problem, made.edited, Weight::Each(Reals::F64(&weights))).unwrap();
        of.session.set_loss(problem, made.edited, &Loss::huber(0.1).unwrap()).unwrap();
        reports.push(solve(&mut of.session, problem, &options()));
        assert!(reports.windows(2).all(|pair| pair[0].cost != pair[1].cost), "an edit counts for nothing");
        found(of, &made, &reports)
    };
    let expected = on_all(3, |ranks| run(&mut session(Precision::F64, ranks)));
    assert_eq!(run(&mut over(Precision::F64, 3)), expected[0]);
}

#[test]
fn edits_between_two_iterations_are_those_of_all_devices() {
    let run = |of: &mut Alone, edits: bool| {
        let made = net(of);
        let (problem, table) = (of.problem, made.tables[0]);
        let edit = |session: &mut Session, _: u32, index: u32| {
            if edits && index == 1 {
                session.write_table(problem, table, Reals::F64(&[2.5, -3.0]), Some(&[76])).unwrap();
                session.set_weight(problem, 1, Weight::Shared(1.5)).unwrap();
            }
        };
        let first = *solved(of, &options(), edit).unwrap();
        // A limit that binds.
        of.session.bound_table(problem, made.tables[1], None, Some(Reals::F64(&[1.25]))).unwrap();
        let second = solve(&mut of.session, problem, &options());
        assert_eq!(read(&mut of.session, problem, made.tables[1]), [1.25]);
        found(of, &made, &[first, second])
    };
    for count in [2, 4] {
        let expected = on_all(count, |ranks| run(&mut session(Precision::F64, ranks), true));
        assert_eq!(run(&mut over(Precision::F64, count), true), expected[0]);
        assert_ne!(run(&mut over(Precision::F64, count), false), expected[0], "the edit counts for nothing");
    }
}

#[test]
fn problems_of_one_session_are_solved_by_turns() {
    let alone = |make: fn(&mut Alone) -> Made| {
        let mut of = over(Precision::F64, 2);
        let made = make(&mut of);
        let report = solve(&mut of.session, of.problem, &options());
        found(&mut of, &made, &[report])
    };
    let (of_mesh, of_net) = (alone(mesh), alone(net));
    let mut of = over(Precision::F64, 2);
    let made_mesh = mesh(&mut of);
    let first = of.problem;
    of.problem = of.session.problem();
    let made_net = net(&mut of);
    let report = solve(&mut of.session, of.problem, &options());
    assert_eq!(found(&mut of, &made_net, &[report]), of_net);
    of.session.free_problem(of.problem);
    of.problem = first;
    let report = solve(&mut of.session, of.problem, &options());
    assert_eq!(found(&mut of, &made_mesh, &[report]), of_mesh);
    // A handle that is used again is another problem for all devices.
    of.problem = of.session.problem();
    let made_net = net(&mut of);
    let report = solve(&mut of.session, of.problem, &options());
    assert_eq!(found(&mut of, &made_net, &[report]), of_net);
    // Two at a time, iteration by iteration.
    let mut of = over(Precision::F64, 2);
    let made = [mesh(&mut of), {
        of.problem = of.session.problem();
        net(&mut of)
    }];
    let problems = of.session.problems();
    let tasks = [0, 1].map(|k| {
        let solver = of.session.solver(problems[k], &options()).unwrap();
        of.session.solve(solver, SolveMode::Solve).unwrap()
    });
    let mut reports = [None, None];
    while reports.iter().any(Option::is_none) {
        for (task, report) in tasks.iter().zip(&mut reports) {
            if report.is_none()
                && let Progress::Report(made) = of.session.resume(*task, 8.0).unwrap()
            {
                *report = Some(*made);
            }
        }
    }
    for (((made, report), problem), expected) in made.iter().zip(reports).zip(problems).zip([of_mesh, of_net]) {
        of.problem = problem;
        assert_eq!(found(&mut of, made, report.as_slice()), expected);
    }
}

#[test]
fn a_solve_that_is_told_to_stop_stops_on_all_devices() {
    let run = |of: &mut Alone, stops: bool| {
        let made = mesh(of);
        let stop = |session: &mut Session, task: u32, index: u32| {
            if stops && index == 1 {
                session.stop(task, "enough");
            }
        };
        let stopped = solved(of, &options(), stop).unwrap();
        let first = found(of, &made, &[(*stopped).clone()]);
        // All go on from there.
        let report = solve(&mut of.session, of.problem, &options());
        (stopped.reason.clone(), first, found(of, &made, &[report]))
    };
    let expected = on_all(3, |ranks| {
        let stops = ranks.rank() == 0;
        run(&mut session(Precision::F64, ranks), stops)
    });
    let (reason, first, after) = run(&mut over(Precision::F64, 3), true);
    assert!(reason.contains("enough"), "{reason}");
    assert_eq!((&first, &after), (&expected[0].1, &expected[0].2));
    assert!(first.0.len() < after.0.len().max(5), "{} costs", first.0.len());
}

#[test]
fn what_is_refused_leaves_all_devices_in_order() {
    let expected = {
        let mut of = over(Precision::F64, 2);
        let made = mesh(&mut of);
        let report = solve(&mut of.session, of.problem, &options());
        found(&mut of, &made, &[report])
    };
    let mut of = over(Precision::F64, 2);
    let made = mesh(&mut of);
    let (problem, table) = (of.problem, made.tables[0]);
    for refused in [Options { method: Some("dogleg".into()), ..options() }, Options { time_limit_ms: Some(-5.0), ..options() }] {
        assert_eq!(solved(&mut of, &refused, |_, _, _| {}).unwrap_err().code(), "invalid-option");
    }
    let of_session = &mut of.session;
    assert!(of_session.write_table(problem, table, Reals::F64(&[f64::NAN, 0.0, 0.0]), Some(&[3])).is_err());
    assert!(of_session.set_weight(problem, 0, Weight::Each(Reals::F64(&[1.0]))).is_err());
    assert!(of_session.fix_table(problem, table, Some(&[100_000]), None).is_err());
    assert!(of_session.table(problem, "empty", 2, Reals::F64(&[1.0]), true).is_err());
    assert!(of_session.unfix_table(problem, table, Some(&[100_000])).is_err());
    let switched = of_session.set_enabled(problem, 0, false).unwrap_err();
    assert_eq!(switched.code(), "invalid-option");
    assert!(switched.to_string().ends_with("make an engine without `world` or `devices` for it"), "{switched}");
    let report = solve(&mut of.session, problem, &options());
    assert_eq!(found(&mut of, &made, &[report]), expected);
    // What can't be divided is said to be so.
    let mut of = over(Precision::F64, 3);
    let x = of.table("x", vec![Shape::Euclidean(1)], &[1.0, 2.0], true);
    let mut tape = Tape::default();
    let outputs = [tape.input(0)];
    let slots = vec![leastwise::problem::Slot { table: x, column: 0 }];
    of.term(&leastwise::problem::TermSpec { indices: vec![vec![0, 1]], slots, tape: &tape.words, outputs: &outputs, ..plain("r", 2) });
    let error = solved(&mut of, &options(), |_, _, _| {}).unwrap_err();
    assert!(error.to_string().starts_with("2 instances can't be divided among 3 ranks"), "{error}");
    assert_eq!(Session::over_devices(Vec::new(), Vec::new()).err().map(|error| error.code()), Some("invalid-option"));
}

#[test]
fn a_solve_that_is_given_up_leaves_the_last_accepted_step_and_can_be_begun_again() {
    let (first, after) = after_two_iterations();
    let mut of = over(Precision::F64, 3);
    let made = mesh(&mut of);
    // One that no device has begun, and one in its midst.
    let task = begun(&mut of, 0);
    of.session.cancel(task);
    let task = begun(&mut of, 2);
    of.session.cancel(task);
    assert_eq!(bits(&values(&mut of, &made).concat()), first);
    let report = solve(&mut of.session, of.problem, &options());
    assert_eq!(found(&mut of, &made, &[report]), after);
    // A problem that is gone in the midst of its solve.
    begun(&mut of, 1);
    of.session.free_problem(of.problem);
    assert_eq!(of.session.counters().bytes_live, 0, "memory is left");
    of.problem = of.session.problem();
    let made = mesh(&mut of);
    solve(&mut of.session, of.problem, &two_iterations());
    assert_eq!(bits(&values(&mut of, &made).concat()), first);
}

/// Ends of ranks, which are gone once nobody has them any more.
pub fn watched(ranks: &[Arc<dyn Communicator>]) -> Vec<Weak<dyn Communicator>> {
    ranks.iter().map(Arc::downgrade).collect()
}

pub fn are_gone(ends: &[Weak<dyn Communicator>]) -> bool {
    ends.iter().all(|end| end.upgrade().is_none())
}

#[test]
fn threads_end_with_their_session_also_in_the_midst_of_a_solve() {
    let since = Instant::now();
    for disposes in [true, false] {
        for iterations in [0, 2] {
            let ranks = threads(3, DEADLINE);
            let ends = watched(&ranks);
            let mut of = by(Precision::F64, ranks);
            mesh(&mut of);
            begun(&mut of, iterations);
            assert!(!are_gone(&ends[1..]));
            if disposes {
                of.session.dispose();
            }
            drop(of);
            assert!(are_gone(&ends), "a thread is left");
        }
    }
    assert!(since.elapsed() < DEADLINE, "nobody waited for the deadline");
}

/// A fault between two iterations, of which rank 0 knows nothing before: it has the rows of all ranks of its process.
#[test]
fn a_fault_leaves_the_last_accepted_step_of_all_rows() {
    let (first, _) = after_two_iterations();
    let ranks = threads(3, DEADLINE);
    let second = ranks[1].clone();
    let mut of = by(Precision::F64, ranks);
    let made = mesh(&mut of);
    let task = begun(&mut of, 2);
    let broken = Fault::Broken { rank: 1, size: 3, message: "the GPU hangs".into() };
    second.give_up(broken.clone());
    let error = failure(&mut of, task);
    assert_eq!((error.code(), fault(error)), ("device-lost", broken.clone()));
    assert_eq!(bits(&values(&mut of, &made).concat()), first);
    // It stays so, and edits and memory are as ever.
    of.session.write_table(of.problem, made.tables[0], Reals::F64(&[0.5, 0.9, 0.1]), Some(&[140])).unwrap();
    assert_eq!(fault(solved(&mut of, &options(), |_, _, _| {}).unwrap_err()), broken);
    of.session.free_problem(of.problem);
    assert_eq!(of.session.counters().bytes_live, 0, "memory is left");
}

#[test]
fn a_device_that_has_no_room_for_its_part_has_its_own_error() {
    let mut refused = 0;
    for bytes in [8, 12, 20, 1024].map(|kib| kib << 10) {
        let device = |rank: u32| {
            let limits = CpuDevice::default_limits();
            let limits = if rank == 1 { Limits { buffer_bytes: bytes, ..limits } } else { limits };
            Device::Cpu(CpuDevice::new(Precision::F64, limits))
        };
        let expected = on_all(3, |ranks| {
            let mut problem = RankedProblem::new(device(ranks.rank()), ranks).unwrap();
            mesh(&mut problem);
            problem.solve(&options()).map(|report| report.report.cost.to_bits())
        });
        let mut session = Session::over_devices([0, 1, 2].map(device).into(), threads(3, DEADLINE)).unwrap();
        let problem = session.problem();
        let mut of = Alone { session, problem };
        mesh(&mut of);
        let mut run = || solved(&mut of, &options(), |_, _, _| {}).map(|report| report.cost.to_bits());
        let found = run();
        assert_eq!(found, expected[1], "{bytes} bytes");
        if let Err(error) = found {
            assert!(!matches!(error, Error::Device(DeviceError::Ranks(_))), "{bytes} bytes: {error}");
            // Ranks are in order, so that it is no fault of theirs the next time either.
            let again = run().expect_err("no more room");
            assert!(!matches!(again, Error::Device(DeviceError::Ranks(_))), "{bytes} bytes: {again}");
            refused += 1;
        }
    }
    assert!((1..4).contains(&refused), "{refused} of 4");
}

/// A rank that does something in one of its calls.
struct Odd {
    inner: Arc<dyn Communicator>,
    left: AtomicU32,
    then: fn(),
}

impl Communicator for Odd {
    fn rank(&self) -> u32 {
        self.inner.rank()
    }

    fn size(&self) -> u32 {
        self.inner.size()
    }

    fn traffic(&self) -> Traffic {
        self.inner.traffic()
    }

    fn exchange(&self, call: Call, own: Vec<u8>) -> Result<Gathered, Fault> {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            (self.then)();
        }
        self.inner.exchange(call, own)
    }

    fn give_up(&self, fault: Fault) {
        self.inner.give_up(fault);
    }
}

/// Ranks of which one is odd in so many calls from now.
pub fn odd(rank: usize, calls: u32, deadline: Duration, then: fn()) -> Vec<Arc<dyn Communicator>> {
    let mut ranks = threads(3, deadline);
    ranks[rank] = Arc::new(Odd { inner: ranks[rank].clone(), left: calls.into(), then });
    ranks
}

#[test]
fn a_follower_that_panics_is_an_error_of_the_solve() {
    let since = Instant::now();
    // In the first call, in the set-up, and in the midst.
    for calls in [1, 3, 60] {
        let ranks = odd(1, calls, DEADLINE, || panic!("rank 1 dies"));
        let ends = watched(&ranks);
        let mut of = by(Precision::F64, ranks);
        let made = mesh(&mut of);
        let error = solved(&mut of, &options(), |_, _, _| {}).unwrap_err();
        let broken = Fault::Broken { rank: 1, size: 3, message: "rank 1 dies".into() };
        assert_eq!((error.code(), fault(error)), ("device-lost", broken.clone()), "{calls} calls");
        assert!(values(&mut of, &made).concat().iter().all(|value| value.is_finite()));
        // Nobody is told any more, and all others are.
        of.session.write_table(of.problem, made.tables[0], Reals::F64(&[0.5, 0.9, 0.1]), Some(&[140])).unwrap();
        assert_eq!(fault(solved(&mut of, &options(), |_, _, _| {}).unwrap_err()), broken);
        of.session.free_problem(of.problem);
        assert_eq!(of.session.counters().bytes_live, 0, "memory is left");
        drop(of);
        assert!(are_gone(&ends), "a thread is left");
    }
    assert!(since.elapsed() < DEADLINE, "nobody waited for the deadline");
}

#[test]
fn a_session_that_panics_in_an_iteration_leaves_no_thread_waiting() {
    let since = Instant::now();
    let ranks = odd(0, 60, DEADLINE, || panic!("rank 0 dies"));
    let ends = watched(&ranks);
    let mut of = by(Precision::F64, ranks);
    mesh(&mut of);
    let task = begun(&mut of, 0);
    let died = catch_unwind(AssertUnwindSafe(|| while of.session.resume(task, 8.0).is_ok() {}));
    assert!(died.is_err());
    drop(of);
    assert!(are_gone(&ends), "a thread is left");
    assert!(since.elapsed() < DEADLINE, "nobody waited for the deadline");
}

#[test]
fn a_follower_that_hangs_is_an_error_of_the_solve() {
    let ranks = odd(2, 60, Duration::from_secs(1), || std::thread::sleep(Duration::from_secs(3)));
    let mut of = by(Precision::F64, ranks);
    let made = mesh(&mut of);
    let error = solved(&mut of, &options(), |_, _, _| {}).unwrap_err();
    assert_eq!(error.code(), "device-lost");
    assert!(matches!(fault(error), Fault::Late { .. }));
    assert!(values(&mut of, &made).concat().iter().all(|value| value.is_finite()));
}

#[test]
fn what_exceeds_the_memory_of_one_device_is_solved_by_two() {
    let within = |count: u32, memory_bytes: u64| {
        let limits = Limits { memory_bytes, ..CpuDevice::default_limits() };
        let device = |_| Device::Cpu(CpuDevice::new(Precision::F64, limits));
        let mut session = Session::over_devices((0..count).map(device).collect(), threads(count, DEADLINE)).unwrap();
        let problem = session.problem();
        let mut of = Alone { session, problem };
        let made = mesh(&mut of);
        let report = solved(&mut of, &options(), |_, _, _| {})?;
        Ok::<_, Error>((report.cost, of.session.device().counters().bytes_peak, values(&mut of, &made)))
    };
    let (cost, needed, expected) = within(1, u64::MAX).unwrap();
    let budget = needed * 3 / 4;
    let refused = within(1, budget).unwrap_err();
    assert_eq!(refused.code(), "out-of-memory", "{refused}");
    let (by_two, peak, found) = within(2, budget).unwrap();
    assert!(peak <= budget, "{peak} bytes of {budget}");
    assert!((by_two - cost).abs() < 1e-9 * cost, "{by_two} and {cost}");
    assert!(found.concat().iter().zip(expected.concat()).all(|(a, b)| (a - b).abs() < 1e-5));
}

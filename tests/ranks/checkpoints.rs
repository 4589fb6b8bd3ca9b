//! Checkpoints over ranks: files that all ranks write alike, from which the same ranks go on to the bit, and others, or one device, go on.

use super::scenes::{Alone, Made, bundle, limited_bundle, mesh, options};
use super::sessions::{fault, session, values};
use super::{bits, on_all};
use crate::support::*;
use leastwise::base::container::{self, Section};
use leastwise::collective::{DEADLINE, Fault, threads};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, Precision};
use leastwise::problem::file::{FORMAT, section};
use leastwise::problem::{Reals, Weight};
use leastwise::session::{Answer, Progress, Session, SolveMode};
use leastwise::solve::{Iteration, Options, Report};

type Make = fn(&mut Alone) -> Made;

/// Options by a linear solver whose preconditioner every engine is told.
fn by(linear: &str) -> Options {
    let preconditioner = if linear == "pcg" { "block-jacobi" } else { "schur-jacobi" };
    Options { linear: Some(linear.into()), preconditioner: Some(preconditioner.into()), ..options() }
}

fn bytes(session: &mut Session, save: u32) -> Vec<u8> {
    match session.resume(save, f64::INFINITY).unwrap() {
        Progress::Answer(Answer::Bytes(bytes)) => bytes,
        _ => panic!("no checkpoint"),
    }
}

fn saved(of: &mut Alone, solver: u32) -> Vec<u8> {
    let save = of.session.save(solver).unwrap();
    bytes(&mut of.session, save)
}

/// A solve with a checkpoint after each of its iterations, and its end.
struct Whole {
    files: Vec<Vec<u8>>,
    report: Report,
    values: Vec<Vec<f64>>,
}

fn whole(of: &mut Alone, made: &Made, options: &Options, waits: bool) -> Whole {
    let solver = of.session.solver(of.problem, options).unwrap();
    let task = of.session.solve(solver, SolveMode::Solve).unwrap();
    let mut files = Vec::new();
    let report = loop {
        match of.session.resume(task, f64::INFINITY).unwrap() {
            Progress::Iteration(_) => {
                let saves = [of.session.save(solver).unwrap(), of.session.save(solver).unwrap()];
                if waits {
                    // Nobody has awaited the checkpoints: the solve does, and the second one waits for the first.
                    for task in [task, saves[1]] {
                        assert!(matches!(of.session.resume(task, f64::INFINITY), Ok(Progress::Yielded)));
                    }
                }
                let [file, same] = saves.map(|save| bytes(&mut of.session, save));
                // They differ by the time that is over.
                assert_eq!(file.len(), same.len());
                files.push(file);
            }
            Progress::Report(report) => break *report,
            _ => {}
        }
    };
    Whole { files, report, values: values(of, made) }
}

/// An iteration without its time, by its bits.
fn of_iteration(iteration: &Iteration) -> Vec<u64> {
    let Iteration { index, cost, cost_change, gradient_norm, step_norm, damping, gain_ratio, inner_iterations, accepted, .. } = *iteration;
    let reals = bits(&[cost, cost_change, gradient_norm, step_norm, damping, gain_ratio]);
    reals.into_iter().chain([u64::from(index), inner_iterations.into(), accepted.into()]).collect()
}

fn of_report(report: &Report) -> Vec<Vec<u64>> {
    let ends = vec![report.cost.to_bits(), report.initial_cost.to_bits()];
    report.iterations.iter().map(of_iteration).chain([ends]).collect()
}

/// Values that are read at once, the report and the values at the end.
type GoneOn = (Vec<Vec<f64>>, Report, Vec<Vec<f64>>);

/// Goes on from a file.
fn gone_on(of: &mut Alone, made: &Made, options: &Options, file: &[u8]) -> GoneOn {
    let solver = of.session.solver(of.problem, options).unwrap();
    of.session.restore(solver, file).unwrap();
    let restored = values(of, made);
    let task = of.session.solve(solver, SolveMode::Solve).unwrap();
    let Progress::Report(report) = finish(&mut of.session, task, |_| {}) else { panic!("no report") };
    let end = values(of, made);
    of.session.free_problem(of.problem);
    assert_eq!(of.session.counters().bytes_live, 0, "memory is left");
    (restored, *report, end)
}

fn over_devices(precision: Precision, size: u32) -> Alone {
    let device = |_| Device::Cpu(CpuDevice::new(precision, CpuDevice::default_limits()));
    let mut session = Session::over_devices((0..size).map(device).collect(), threads(size, DEADLINE)).unwrap();
    let problem = session.problem();
    Alone { session, problem }
}

#[test]
fn the_same_ranks_go_on_from_every_iteration_to_the_bit() {
    let scenes: [(Make, &str, Precision); 4] = [
        (mesh, "pcg", Precision::F32),
        (bundle, "schur-pcg", Precision::F64),
        (limited_bundle, "pcg", Precision::F64),
        (limited_bundle, "schur-pcg", Precision::F32),
    ];
    for (make, linear, precision) in scenes {
        let options = by(linear);
        for size in [1, 3] {
            let begun = on_all(size, |ranks| {
                let mut of = session(precision, ranks);
                make(&mut of);
                let plain = solve(&mut of.session, of.problem, &options);
                of.problem = of.session.problem();
                let made = make(&mut of);
                let found = whole(&mut of, &made, &options, true);
                assert_eq!(of_report(&found.report), of_report(&plain), "a checkpoint changes the solve");
                found
            });
            let first = &begun[0];
            assert!(first.files.len() > 3, "{} iterations", first.files.len());
            assert!(begun.iter().all(|rank| rank.files == first.files), "files of all ranks are the same");
            let picked = [0, 1, first.files.len() / 2, first.files.len() - 1];
            for at in picked {
                let found = on_all(size, |ranks| {
                    let mut of = session(precision, ranks);
                    let made = make(&mut of);
                    gone_on(&mut of, &made, &options, &first.files[at])
                });
                for (_, report, end) in &found {
                    let what = format!("{linear} in {precision:?}, {size} ranks, iteration {at}");
                    assert_eq!(of_report(report), of_report(&first.report), "{what}");
                    assert_eq!(bits(&end.concat()), bits(&first.values.concat()), "{what}");
                }
            }
        }
    }
}

/// The cost after a few iterations, its file, and where they ended.
fn begun(of: &mut Alone, (make, linear): (Make, &str), waits: bool) -> (Vec<u8>, Report, Vec<Vec<f64>>) {
    let made = make(of);
    let found = whole(of, &made, &Options { max_iterations: Some(3.0), ..by(linear) }, waits);
    (found.files[1].clone(), found.report, found.values)
}

#[test]
fn any_number_of_ranks_and_one_device_go_on_from_a_file_of_either() {
    for (make, linear) in [(bundle as Make, "schur-pcg"), (limited_bundle as Make, "schur-pcg"), (mesh as Make, "pcg")] {
        let options = by(linear);
        let mut one = Alone::new(Precision::F64);
        let made = make(&mut one);
        let expected = solve(&mut one.session, one.problem, &options);
        let end = values(&mut one, &made);
        let of_one = begun(&mut Alone::new(Precision::F64), (make, linear), false);
        let of_three = on_all(3, |ranks| begun(&mut session(Precision::F64, ranks), (make, linear), true)).remove(0);
        let of_devices = begun(&mut over_devices(Precision::F64, 2), (make, linear), true);
        for (by, (file, few, _)) in [("one device", &of_one), ("three ranks", &of_three), ("two devices", &of_devices)] {
            let check = |to: &str, found: &[GoneOn]| {
                let what = format!("{linear}: {by}, then {to}");
                for (restored, report, reached) in found {
                    assert_eq!(bits(&restored.concat()), bits(&found[0].0.concat()), "{what}");
                    // Two iterations are the file's; the third is that of the solve that was saved, but for rounding.
                    assert_eq!(report.initial_cost.to_bits(), few.initial_cost.to_bits(), "{what}");
                    assert_eq!(
                        report.iterations[..2].iter().map(of_iteration).collect::<Vec<_>>(),
                        few.iterations[..2].iter().map(of_iteration).collect::<Vec<_>>(),
                        "{what}"
                    );
                    let (third, of_few) = (&report.iterations[2], &few.iterations[2]);
                    assert_eq!(third.damping.to_bits(), of_few.damping.to_bits(), "{what}");
                    assert!((third.cost - of_few.cost).abs() < 1e-6 * of_few.cost, "{what}: {} and {}", third.cost, of_few.cost);
                    assert!((report.cost - expected.cost).abs() < 1e-8 * expected.cost, "{what}: {} and {}", report.cost, expected.cost);
                    let farthest = reached.concat().iter().zip(end.concat()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    assert!(farthest < 1e-4, "{what}: {farthest} apart");
                }
            };
            let mut alone = Alone::new(Precision::F64);
            let made = make(&mut alone);
            check("one device", &[gone_on(&mut alone, &made, &options, file)]);
            for size in [1, 2, 4] {
                let go_on = |mut of: Alone| {
                    let made = make(&mut of);
                    gone_on(&mut of, &made, &options, file)
                };
                check(&format!("{size} ranks"), &on_all(size, |ranks| go_on(session(Precision::F64, ranks))));
                check(&format!("{size} devices"), &[go_on(over_devices(Precision::F64, size))]);
            }
        }
    }
}

/// A later solve of the same solver goes on with its damping; from a file of what it was after the first, it does so, too.
#[test]
fn between_solves_a_file_has_what_the_next_solve_begins_with() {
    let few = Options { max_iterations: Some(3.0), ..by("pcg") };
    let next = |of: &mut Alone, solver: u32| {
        let task = of.session.solve(solver, SolveMode::Solve).unwrap();
        let Progress::Report(report) = finish(&mut of.session, task, |_| {}) else { panic!("no report") };
        of_report(&report)
    };
    let written = on_all(2, |ranks| {
        let mut of = session(Precision::F64, ranks);
        let made = mesh(&mut of);
        let solver = of.session.solver(of.problem, &few).unwrap();
        let refused = of.session.save(solver).unwrap_err();
        assert!(
            refused
                .to_string()
                .starts_with("save(): several ranks keep the problem's last solve alone, which was not this solver's: solve"),
            "{refused}"
        );
        next(&mut of, solver);
        let file = saved(&mut of, solver);
        let later = next(&mut of, solver);
        // An edit after a file was read counts.
        of.session.restore(solver, &file).unwrap();
        let lifted = [0.5, 0.9, 0.1, 0.2, 0.8, 0.3];
        of.session.write_table(of.problem, made.tables[0], Reals::F64(&lifted), Some(&[140, 3])).unwrap();
        (file, later, next(&mut of, solver))
    });
    let (file, later, edited) = &written[0];
    assert_ne!(later, edited);
    let found = on_all(2, |ranks| {
        let mut of = session(Precision::F64, ranks);
        let made = mesh(&mut of);
        let solver = of.session.solver(of.problem, &few).unwrap();
        of.session.restore(solver, file).unwrap();
        let read = values(&mut of, &made);
        (next(&mut of, solver), read)
    });
    for (report, read) in &found {
        assert_eq!(report, later);
        assert_eq!(bits(&read.concat()), bits(&found[0].1.concat()));
    }
    let other = on_all(2, |ranks| {
        let mut of = session(Precision::F64, ranks);
        let made = mesh(&mut of);
        let solver = of.session.solver(of.problem, &few).unwrap();
        of.session.restore(solver, file).unwrap();
        let lifted = [0.5, 0.9, 0.1, 0.2, 0.8, 0.3];
        of.session.write_table(of.problem, made.tables[0], Reals::F64(&lifted), Some(&[140, 3])).unwrap();
        next(&mut of, solver)
    });
    assert!(other.iter().all(|report| report == edited), "values that are written after a file was read");
}

/// Sections that a solver reads once it is set up are checked before.
#[test]
fn a_file_whose_best_point_does_not_fit_is_refused_by_restore() {
    let steps = Options { nonmonotone: Some(3.0), ..by("pcg") };
    let file = on_all(2, |ranks| {
        let mut of = session(Precision::F64, ranks);
        let made = mesh(&mut of);
        whole(&mut of, &made, &steps, true).files.remove(1)
    })
    .remove(0);
    let crafted = |edit: fn(&mut Vec<u8>)| {
        let owned = |section: Section| Section { kind: section.kind, bytes: section.bytes.into_owned().into() };
        let mut sections: Vec<Section> = container::read(&FORMAT, &file).unwrap().into_iter().map(owned).collect();
        let best = sections.iter().position(|known| known.kind == section::BEST).expect("a file of steps that may go uphill");
        edit(sections[best].bytes.to_mut());
        // An empty section stands for one that is missing.
        sections.retain(|known| known.kind != section::BEST || !known.bytes.is_empty());
        container::write(&FORMAT, &sections)
    };
    let files = [
        (crafted(|best| best.truncate(8)), "has another length"),
        (crafted(|best| best.extend([0; 8])), "has another length"),
        (crafted(Vec::clear), "is missing"),
    ];
    let run = |of: &mut Alone| {
        let made = mesh(of);
        let before = values(of, &made);
        let solver = of.session.solver(of.problem, &steps).unwrap();
        for (damaged, expected) in &files {
            let refused = of.session.restore(solver, damaged).unwrap_err().to_string();
            assert!(refused.contains(&format!("section {} of it {expected}", section::BEST)), "{refused}");
        }
        assert_eq!(bits(&values(of, &made).concat()), bits(&before.concat()), "a file that is refused changes nothing");
        of.session.restore(solver, &file).unwrap();
        let task = of.session.solve(solver, SolveMode::Solve).unwrap();
        let Progress::Report(report) = finish(&mut of.session, task, |_| {}) else { panic!("no report") };
        report.cost
    };
    let expected = run(&mut Alone::new(Precision::F64));
    let mut found = on_all(2, |ranks| run(&mut session(Precision::F64, ranks)));
    found.push(run(&mut over_devices(Precision::F64, 2)));
    assert!(found.iter().all(|cost| cost.to_bits() == found[0].to_bits()));
    assert!((found[0] - expected).abs() < 1e-6 * expected, "{} and {expected}", found[0]);
}

/// Solves that another solver was refused, for its options, its table to eliminate, or its rank's options.
#[test]
fn a_solve_that_is_refused_leaves_the_last_solve_of_another_solver() {
    let few = Options { max_iterations: Some(3.0), ..by("pcg") };
    let attempt = |of: &mut Alone, options: &Options| {
        let solver = match of.session.solver(of.problem, options) {
            Ok(solver) => solver,
            Err(error) => return Some(error.code()),
        };
        let task = of.session.solve(solver, SolveMode::Solve).unwrap();
        loop {
            match of.session.resume(task, f64::INFINITY) {
                Ok(Progress::Report(_)) => break None,
                Ok(_) => {}
                Err(error) => break Some(error.code()),
            }
        }
    };
    let next = |of: &mut Alone, solver: u32| {
        let task = of.session.solve(solver, SolveMode::Solve).unwrap();
        let Progress::Report(report) = finish(&mut of.session, task, |_| {}) else { panic!("no report") };
        of_report(&report)
    };
    let run = |of: &mut Alone, refuses: bool, rank: u32, is_world: bool| {
        mesh(of);
        let solver = of.session.solver(of.problem, &few).unwrap();
        next(of, solver);
        let before = saved(of, solver);
        if refuses {
            let mut refused = vec![
                Options { method: Some("dogleg".into()), ..few.clone() },
                Options { eliminate: Some(vec![0]), linear: Some("schur-pcg".into()), ..few.clone() },
            ];
            refused.extend(is_world.then(|| Options { forcing: Some(if rank == 1 { 0.1 } else { 0.2 }), ..few.clone() }));
            for options in &refused {
                assert_eq!(attempt(of, options), Some("invalid-option"));
            }
            assert_eq!(saved(of, solver), before);
        }
        let later = next(of, solver);
        // One that begins takes its place.
        assert_eq!(attempt(of, &few), None);
        assert_eq!(of.session.save(solver).unwrap_err().code(), "invalid-option");
        of.session.free_problem(of.problem);
        assert_eq!(of.session.counters().bytes_live, 0, "memory is left");
        later
    };
    let by_ranks = |refuses: bool| {
        on_all(2, |ranks| {
            let rank = ranks.rank();
            run(&mut session(Precision::F64, ranks), refuses, rank, true)
        })
    };
    let expected = by_ranks(false);
    assert_eq!(by_ranks(true), expected);
    assert_eq!(run(&mut over_devices(Precision::F64, 2), true, 0, false), expected[0]);
}

#[test]
fn a_file_that_does_not_fit_is_refused_and_another_on_one_rank_is_told_to_all() {
    let made_by = |of: &mut Alone| begun(of, (bundle, "schur-pcg"), true).0;
    let file = on_all(2, |ranks| made_by(&mut session(Precision::F64, ranks))).remove(0);
    let longer = on_all(2, |ranks| {
        let mut of = session(Precision::F64, ranks);
        let made = bundle(&mut of);
        whole(&mut of, &made, &by("schur-pcg"), true).files.remove(2)
    });
    let found = on_all(2, |ranks| {
        let rank = ranks.rank();
        let mut of = session(Precision::F64, ranks);
        let made = bundle(&mut of);
        let before = values(&mut of, &made);
        let refusal = |of: &mut Alone, options: &Options, file: &[u8]| {
            let solver = of.session.solver(of.problem, options).unwrap();
            of.session.restore(solver, file).unwrap_err().to_string()
        };
        let mut told = vec![
            refusal(&mut of, &by("pcg"), &file),
            refusal(&mut of, &by("schur-pcg"), &file[..file.len() - 9]),
            refusal(&mut of, &Options { max_inner_iterations: Some(7.0), ..by("schur-pcg") }, &file),
        ];
        of.session.set_weight(of.problem, 0, Weight::Shared(99.0)).unwrap();
        told.push(refusal(&mut of, &by("schur-pcg"), &file));
        of.session.set_weight(of.problem, 0, Weight::Shared(100.0)).unwrap();
        assert_eq!(bits(&values(&mut of, &made).concat()), bits(&before.concat()), "a file that is refused changes nothing");
        // One rank has another file; then all have the same one.
        let solver = of.session.solver(of.problem, &by("schur-pcg")).unwrap();
        of.session.restore(solver, if rank == 1 { &longer[0] } else { &file }).unwrap();
        let task = of.session.solve(solver, SolveMode::Solve).unwrap();
        let differs = fault(of.session.resume(task, f64::INFINITY).err().expect("files differ"));
        (told, differs)
    });
    for (told, differs) in found {
        assert!(
            told[0].contains("its linear systems were solved by linear: \"schur-pcg\", preconditioner: \"schur-jacobi\""),
            "{}",
            told[0]
        );
        assert!(told[1].contains("the file ends too early"), "{}", told[1]);
        assert!(told[2].contains("maxInnerIterations"), "{}", told[2]);
        assert!(told[3].contains("with several ranks give the problem those of the file before restore()"), "{}", told[3]);
        assert!(matches!(differs, Fault::Differs { rank: 1, .. }), "{differs:?}");
    }
}

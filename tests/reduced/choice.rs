//! When `"auto"` eliminates, and how a solve that is to end gives up its inner iterations.

use super::scene::*;
use crate::support::*;
use leastwise::device::{Limits, Precision};
use leastwise::session::{Progress, Session, SolveMode};
use leastwise::solve::{Options, Report, Termination};

/// So many unknowns that a GPU's choice looks at no factor.
fn large(is_shuffled: bool) -> Scene {
    Scene { cameras: 520, points: 12_000, is_corridor: true, is_shuffled, ..Scene::default() }
}

fn first_step(session: &mut Session, scene: &Scene, wanted: Options) -> Report {
    solved(session, scene, 0, &Options { max_iterations: Some(1.0), max_inner_iterations: Some(4.0), ..wanted })
}

#[test]
fn auto_forms_a_schur_complement_of_many_cameras_in_a_row() {
    let mut session = shared_gpu(None);
    // An order of instances matters to products alone.
    for is_shuffled in [false, true] {
        let report = first_step(&mut session, &large(is_shuffled), Options::default());
        assert_eq!((report.linear, report.preconditioner), ("schur", None), "{}", report.linear_reason);
        let why = &report.linear_reason;
        assert!(
            why.starts_with("\"point\" (36000 of 39120 unknowns) can be eliminated, and ") && why.ends_with(", S is formed on the device"),
            "{why}"
        );
    }
}

#[test]
fn auto_iterates_where_few_cameras_are_left() {
    let mut session = shared_gpu(None);
    let few = Scene { cameras: 40, points: 7000, is_corridor: true, ..Scene::default() };
    let report = first_step(&mut session, &few, Options::default());
    // Lists of pairs cost more than inner iterations do.
    assert_eq!((report.linear, report.preconditioner), ("schur-pcg", Some("block-jacobi")), "{}", report.linear_reason);
    let why = &report.linear_reason;
    assert!(why.starts_with("\"point\" (21000 of 21240 unknowns) can be eliminated"), "{why}");
    assert!(why.contains("; S is not formed: ") && why.ends_with(" products would cost more than iterations"), "{why}");
    let report = first_step(&mut session, &Scene { is_shuffled: true, ..few.clone() }, Options::default());
    assert_eq!(report.linear, "pcg", "in no order, where a product takes two: {}", report.linear_reason);
    assert!(report.linear_reason.contains("21240 unknowns, more than 20000"), "{}", report.linear_reason);
    let report = first_step(&mut session, &few, Options { linear: Some("schur".into()), ..Options::default() });
    assert_eq!((report.linear, &report.linear_reason[..]), ("schur", "it was asked for, S is formed on the device"));
}

#[test]
fn auto_forms_nothing_that_has_no_cheap_factor() {
    // Few pairs, and in three points all cameras meet.
    let scene = Scene { cameras: 600, points: 12_000, is_corridor: true, hubs: 3, ..Scene::default() };
    let report = first_step(&mut shared_gpu(None), &scene, Options::default());
    assert_eq!(report.linear, "schur-pcg", "{}", report.linear_reason);
    assert!(report.linear_reason.ends_with("; S is not formed: a factor of what is left is too large"), "{}", report.linear_reason);
}

#[test]
fn auto_iterates_as_it_was_weighed_where_the_device_has_no_room_to_form() {
    let within = |memory_bytes: u64, wanted: Options| {
        let mut session = gpu(Some(Limits { memory_bytes, ..Limits::WEBGPU }));
        let report = first_step(&mut session, &large(false), wanted);
        let counters = session.device().counters();
        (report, counters.bytes_live, counters.bytes_peak)
    };
    let named = |linear: &str, preconditioner: Option<&str>| Options {
        linear: Some(linear.into()),
        preconditioner: preconditioner.map(String::from),
        ..Options::default()
    };
    let (.., formed) = within(u64::MAX, named("schur", None));
    let (iterated, live, needed) = within(u64::MAX, named("schur-pcg", Some("block-jacobi")));
    assert!(needed < formed, "{needed} bytes for iterations, {formed} for S");
    // Not even the matrix has room, and then the lists of S alone do not.
    for budget in [needed + (formed - needed) / 16, formed - (formed - needed) / 16] {
        let (report, left, peak) = within(budget, Options::default());
        assert_eq!((report.linear, report.preconditioner), ("schur-pcg", Some("block-jacobi")), "{}", report.linear_reason);
        assert!(report.linear_reason.contains("; S is not formed: "), "{}", report.linear_reason);
        assert_eq!(report.cost, iterated.cost);
        assert!(left == live && peak <= budget, "{left} bytes of {live} are left, {peak} of {budget} were taken");
    }
    // Tiles and lists of iterations on S have none either.
    let (plain, live, least) = within(u64::MAX, named("pcg", Some("block-jacobi")));
    assert!(least < needed, "{least} bytes for iterations on the whole matrix, {needed} for those on S");
    let budget = needed - (needed - least) / 16;
    let (report, left, peak) = within(budget, Options::default());
    assert_eq!((report.linear, report.preconditioner), ("pcg", Some("block-jacobi")), "{}", report.linear_reason);
    assert!(report.linear_reason.contains("; S is not formed: ") && report.linear_reason.contains(", but "), "{}", report.linear_reason);
    assert_eq!(report.cost, plain.cost);
    assert!(left == live && peak <= budget, "{left} bytes of {live} are left, {peak} of {budget} were taken");
}

#[test]
fn what_was_asked_for_is_not_chosen() {
    let mut session = shared_gpu(None);
    let asked = |linear: &str, preconditioner: Option<&str>| Options {
        linear: Some(linear.into()),
        preconditioner: preconditioner.map(String::from),
        ..Options::default()
    };
    let report = first_step(&mut session, &large(false), asked("pcg", None));
    assert_eq!((report.linear, &report.linear_reason[..]), ("pcg", "it was asked for"));
    let report = first_step(&mut session, &large(false), Options { linear: None, ..asked("", Some("block-jacobi")) });
    assert_eq!((report.linear, &report.linear_reason[..]), ("pcg", "it is what \"block-jacobi\" is for"));
    let report = first_step(&mut session, &large(false), asked("schur-pcg", None));
    assert_eq!((report.linear, report.preconditioner), ("schur-pcg", Some("schur-jacobi")));
}

/// A solve of one step, stopped in a slice, if there is one of that number; with the values that it came to.
fn one_step(linear: &str, method: &str, stop: Option<usize>, most: Option<f64>) -> (Report, Vec<f64>, usize) {
    let mut session = cpu(Precision::F64);
    let bundle = Scene { cameras: 8, points: 60, has_priors: true, ..Scene::default() }.add(&mut session, 5);
    let wanted = Options {
        method: Some(method.into()),
        max_iterations: Some(1.0),
        forcing: Some(1e-12),
        max_inner_iterations: most.or(Some(500.0)),
        ..options(linear)
    };
    let solver = session.solver(bundle.problem, &wanted).unwrap();
    let task = session.solve(solver, SolveMode::Solve).unwrap();
    let mut slices = 0;
    let report = loop {
        if stop == Some(slices) {
            session.stop(task, "nobody waits any more");
        }
        slices += 1;
        match session.resume(task, 0.0).unwrap() {
            Progress::Report(report) => break report,
            Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
            _ => {}
        }
    };
    let values = [bundle.camera, bundle.point].map(|table| read(&mut session, bundle.problem, table)).concat();
    (*report, values, slices)
}

#[test]
fn a_step_that_is_to_end_is_that_of_as_many_inner_iterations() {
    for method in ["lm", "dogleg"] {
        let (whole, _, slices) = one_step("schur-pcg", method, None, None);
        let all = whole.iterations[0].inner_iterations;
        assert!(all > 10, "{method}: {all} inner iterations");
        let mut ended = 0;
        for stop in (1..slices).step_by(slices / 12) {
            let (report, values, _) = one_step("schur-pcg", method, Some(stop), None);
            let Some(step) = report.iterations.first() else { continue };
            let inner = step.inner_iterations;
            // Later than that the step, which is the last, is as whole as it gets.
            assert!(report.termination == Termination::Stopped || inner == all, "{method}, slice {stop}: {}", report.reason);
            assert!(inner <= all && step.accepted, "{method}, slice {stop}: {inner} of {all}");
            ended += u32::from(inner < all);
            // Points follow from cameras in full: no product is left out.
            let (_, same, _) = one_step("schur-pcg", method, None, Some(inner.into()));
            assert_eq!(values, same, "{method}, slice {stop}: {inner} inner iterations");
        }
        assert!(ended > 2, "{method}: {ended} steps ended before they were solved");
    }
}

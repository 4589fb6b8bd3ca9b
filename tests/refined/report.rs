//! What reports say where there is no more precision.

use super::*;

#[test]
fn a_report_says_why_there_is_no_more_precision() {
    let (t, y) = (times(0.0), heights(2.25));
    let state = |report: &Report| (report.refinement.state, report.refinement.code);
    for (precision, expected) in
        [(Precision::F64, (RefinementState::NotNeeded, None)), (Precision::F32, (RefinementState::Refused, Some("no-doubles")))]
    {
        let mut session = cpu(precision);
        let fit = fit(&mut session, &t, &y);
        let report = solve(&mut session, fit.problem, &Options::default());
        assert_eq!(state(&report), expected, "{}", report.refinement.reason);
    }
    on_gpu(|session| {
        let fit = fit(session, &t, &y);
        session.set_refines(false);
        let report = solve(session, fit.problem, &Options::default());
        session.set_refines(true);
        assert_eq!((state(&report), report.precision), ((RefinementState::Refused, Some("off")), "f32"));
        session.write_table(fit.problem, fit.b, Reals::F64(&[0.0, 1.0]), None).unwrap();
        // Who is content with little is not asked to wait.
        let loose = Options { cost_tolerance: Some(0.1), step_tolerance: Some(0.1), gradient_tolerance: Some(0.1), ..Options::default() };
        assert_eq!(state(&solve(session, fit.problem, &loose)), (RefinementState::NotNeeded, None));
        let none_left = Options { max_iterations: Some(1.0), ..Options::default() };
        assert_eq!(state(&solve(session, fit.problem, &none_left)), (RefinementState::Refused, Some("max-iterations")));
        // b₀ + b₁² t₀ = y₀, exactly.
        let mut tape = Tape::default();
        let x = tape.input(0);
        let one = tape.literal(1.0);
        let outputs = [tape.op(Sub, &[x, one])];
        let spec = TermSpec {
            name: "first".into(),
            count: 1,
            indices: vec![vec![0]],
            slots: vec![Slot { table: fit.b, column: 0 }],
            columns: Vec::new(),
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &outputs,
        };
        session.constraint(fit.problem, spec, Relation::Zero).unwrap();
        let report = solve(session, fit.problem, &Options::default());
        assert!(report.precision == "f32" && report.feasibility.is_some());
        println!("constrained: {} {:?}", report.reason, report.refinement);
    });
    // A snapshot's tables are twice as long as its problem's.
    let mut session = refining_gpu(Some(Limits::SMALL));
    let fit = fit(&mut session, &t, &y);
    session.table(fit.problem, "filler", 1, Reals::F64(&vec![0.5; 140_000]), false).unwrap();
    let report = solve(&mut session, fit.problem, &Options::default());
    assert_eq!(state(&report), (RefinementState::Refused, Some("limits")), "{}", report.refinement.reason);
    assert!(report.refinement.reason.contains("one buffer binding has 1048576"), "{}", report.refinement.reason);
    assert_eq!(report.precision, "f32");
}

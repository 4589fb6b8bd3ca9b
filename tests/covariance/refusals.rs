//! What has no covariance, or none yet.

use crate::covariance::net::Net;
use crate::covariance::{covariance, ended, known};
use crate::support::*;
use leastwise::Error;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Reals, Slot, TermSpec, Weight};
use leastwise::session::Session;
use leastwise::solve::covariance::CovarianceOptions;

/// √(x − 1) of every instance, without an instance where `count` is 0.
fn roots(session: &mut Session, values: &[f64]) -> (u32, u32) {
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(values), true).unwrap();
    let mut tape = Tape::default();
    let (input, one) = (tape.input(0), tape.literal(1.0));
    let less = tape.op(Sub, &[input, one]);
    let root = tape.op(Sqrt, &[less]);
    let spec = TermSpec {
        name: "roots".into(),
        count: values.len() as u32,
        indices: vec![(0..values.len() as u32).collect()],
        slots: vec![Slot { table: x, column: 0 }],
        columns: Vec::new(),
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &[root],
    };
    session.term(problem, spec).unwrap();
    (problem, x)
}

fn refused(session: &mut Session, problem: u32, options: &CovarianceOptions) -> (&'static str, String) {
    let error = covariance(session, problem, options).map(|_| ()).unwrap_err();
    (error.code(), error.to_string())
}

#[test]
fn nothing_has_no_covariance() {
    for mut session in [cpu(Precision::F64).into(), cpu(Precision::F32).into(), shared_gpu(None)] {
        let empty = session.problem();
        assert_eq!(refused(&mut session, empty, &known()).0, "empty-term");
        session.table(empty, "x", 2, Reals::F64(&[1.0, 2.0]), true).unwrap();
        assert_eq!(
            refused(&mut session, empty, &known()),
            ("empty-term", "the problem has no enabled residual terms: add some before solving".into())
        );
        let (problem, _) = roots(&mut session, &[2.0, 3.0]);
        session.set_enabled(problem, 0, false).unwrap();
        assert_eq!(refused(&mut session, problem, &known()).0, "empty-term");
        assert!(matches!(session.covariance(99, known()), Err(Error::Disposed("problem"))));
    }
}

#[test]
fn what_is_not_finite_is_named() {
    for mut session in [cpu(Precision::F64).into(), cpu(Precision::F32).into(), shared_gpu(None)] {
        let (problem, _) = roots(&mut session, &[2.0, 3.0, 0.5, 4.0]);
        let Err(error) = covariance(&mut session, problem, &known()) else { panic!("√−½") };
        assert_eq!((error.code(), error.term(), error.instance()), ("non-finite", Some("roots"), Some(2)));
        // Nothing runs any more, and nothing is left of it.
        let live = session.counters().bytes_live;
        assert!(covariance(&mut session, problem, &known()).is_err());
        assert_eq!(session.counters().bytes_live, live);
    }
}

#[test]
fn options_are_checked() {
    let mut session = cpu(Precision::F64);
    let (problem, _) = roots(&mut session, &[2.0, 3.0]);
    let given = |change: &dyn Fn(&mut CovarianceOptions)| {
        let mut options = known();
        change(&mut options);
        options
    };
    for variance in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(&mut session, problem, &given(&|options| options.variance = Some(variance))).0, "invalid-option");
    }
    for tolerance in [-0.1, 1.0, f64::NAN] {
        assert_eq!(refused(&mut session, problem, &given(&|options| options.rank_tolerance = Some(tolerance))).0, "invalid-option");
    }
    let (code, said) = refused(&mut session, problem, &given(&|options| options.variance = None));
    assert_eq!(code, "invalid-option");
    assert!(said.contains("2 rows of residuals leave nothing over for 2 unknowns"), "{said}");
}

#[test]
fn only_what_is_there_is_given() {
    let mut session = cpu(Precision::F64);
    let (problem, x) = roots(&mut session, &[2.0, 3.0]);
    let still = session.table(problem, "still", 1, Reals::F64(&[1.0]), false).unwrap();
    let made = covariance(&mut session, problem, &known()).unwrap();
    let mut ask = |of: &[u32], others: Option<&[u32]>, form: &str| {
        let task = session.covariance_blocks(made.handle, of, others, form, false);
        task.map_err(|error| (error.code(), error.instance()))
    };
    assert_eq!(ask(&[x, 2], None, "covariance"), Err(("index-out-of-range", None)));
    assert_eq!(ask(&[still, 0], None, "covariance"), Err(("invalid-option", None)));
    assert_eq!(ask(&[99, 0], None, "covariance"), Err(("invalid-option", None)));
    assert_eq!(ask(&[x, 0], Some(&[x, 0, x, 1]), "covariance"), Err(("invalid-option", None)));
    assert_eq!(ask(&[x, 0], None, "nonsense"), Err(("invalid-option", None)));
    assert!(ask(&[], None, "covariance").is_ok() && ask(&[], None, "joint").is_ok());
    let many: Vec<u32> = (0..20_000).flat_map(|k| [x, k % 2]).collect();
    assert_eq!(ask(&many, None, "joint"), Err(("limits", None)));
    let task = ask(&[x, 0, x, 1], None, "errors").unwrap();
    session.free_covariance(made.handle);
    assert!(matches!(ended(&mut session, task), Err(Error::Disposed("covariance"))));
    // It goes with its problem.
    let made = covariance(&mut session, problem, &known()).unwrap();
    session.free_problem(problem);
    assert!(matches!(session.covariance_blocks(made.handle, &[x, 0], None, "errors", false), Err(Error::Disposed("covariance"))));
}

#[test]
fn a_problem_at_work_is_busy() {
    let mut session = cpu(Precision::F64);
    let net = Net::new(&mut session, &mut Random::new(2), &[(9, 2), (5, 3)], 30, false);
    let task = session.covariance(net.problem, known()).unwrap();
    assert!(matches!(session.covariance(net.problem, known()), Err(Error::Busy)));
    assert!(matches!(session.solver(net.problem, &leastwise::solve::Options::default()), Err(Error::Busy)));
    session.cancel(task);
    assert!(covariance(&mut session, net.problem, &known()).is_ok());
}

//! Where there is no gradient, or only of some functions; and what is refused.

use super::support::scene::{Numbers, With, scene};
use super::support::*;
use super::{backward, close, of_table, of_term, slope, tight};
use leastwise::Error;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Reals, Slot, TermSpec, Weight};
use leastwise::session::{BackwardOptions, Session};
use leastwise::solve::Options;

/// A square with its diagonals as springs in the plane: three motions are free.
fn frame(session: &mut Session, copies: u32) -> (u32, u32, u32) {
    let problem = session.problem();
    let corner = [[0.0, 0.1], [1.1, 0.0], [1.0, 0.9], [-0.1, 1.0]];
    let points: Vec<f64> = (0..copies).flat_map(|copy| corner.map(|[x, y]| [x + 3.0 * f64::from(copy), y])).flatten().collect();
    let x = session.table(problem, "x", 2, Reals::F64(&points), true).unwrap();
    let ends = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3)];
    let side = |which: fn(&(u32, u32)) -> u32| {
        (0..copies).flat_map(|copy| ends.iter().map(move |end| 4 * copy + which(end))).collect::<Vec<u32>>()
    };
    let indices = vec![side(|end| end.0), side(|end| end.1)];
    let rest: Vec<f64> = (0..copies).flat_map(|_| [1.0, 1.1, 0.9, 1.05, 1.3, 1.5]).collect();
    let mut tape = Tape::default();
    let [a, b, length] = [0, 1, 2].map(|source| tape.input(source));
    let distance = tape.op(Distance, &[a, b]);
    let outputs = [tape.op(Sub, &[distance, length])];
    let spec = TermSpec {
        name: "springs".into(),
        count: rest.len() as u32,
        indices,
        slots: vec![Slot { table: x, column: 0 }, Slot { table: x, column: 1 }],
        columns: vec![Column { name: "rest".into(), width: 1, shared: false, values: Reals::F64(&rest) }],
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &outputs,
    };
    let term = session.term(problem, spec).unwrap();
    (problem, x, term)
}

#[test]
fn what_a_gauge_does_not_change_has_a_gradient() {
    // Few unknowns, and with more frames, which are held but for the first, more than a whole matrix is made of.
    for copies in [1, 60] {
        let mut session = cpu(Precision::F64);
        let (problem, x, term) = frame(&mut session, copies);
        if copies > 1 {
            let held: Vec<u32> = (1..copies).flat_map(|copy| [4 * copy, 4 * copy + 1]).collect();
            session.fix_table(problem, x, Some(&held), None).unwrap();
        }
        let what = format!("{copies} frames");
        // ‖x₀ − x₂‖² is what it is wherever the frame lies.
        let value = |points: &[f64]| (points[0] - points[4]).powi(2) + (points[1] - points[5]).powi(2);
        solve(&mut session, problem, &tight());
        let at = read(&mut session, problem, x);
        let mut v = vec![0.0; at.len()];
        for k in 0..2 {
            let off = 2.0 * (at[k] - at[4 + k]);
            (v[k], v[4 + k]) = (off, -off);
        }
        let gradients = backward(&mut session, problem, &[(x, &v)], false, BackwardOptions::default()).unwrap();
        assert_eq!((gradients.deficiency, gradients.method), (3, if copies == 1 { "dense" } else { "sparse" }), "{what}");
        if copies == 1 {
            assert_eq!((gradients.unseen[0].translations, gradients.unseen[0].rotations), (2, 1), "{what}");
        }
        let rest = [1.0, 1.1, 0.9, 1.05, 1.3, 1.5];
        let differences: Vec<f64> = (0..6)
            .map(|place| {
                slope(|by| {
                    let mut moved: Vec<f64> = rest.iter().copied().cycle().take(6 * copies as usize).collect();
                    moved[place] += by;
                    session.set_column(problem, term, 0, Reals::F64(&moved)).unwrap();
                    solve(&mut session, problem, &tight());
                    value(&read(&mut session, problem, x))
                })
            })
            .collect();
        close(&what, &of_term(&gradients, term, Some(0))[..6], &differences, 2e-5);

        // Where one corner is, is not.
        let mut where_it_is = vec![0.0; at.len()];
        where_it_is[0] = 1.0;
        let refused = backward(&mut session, problem, &[(x, &where_it_is)], false, BackwardOptions::default());
        let Err(Error::RankDeficient(message)) = refused.map(|_| ()) else { panic!("{what}: not refused") };
        assert!(message.contains("3 directions leave the cost as it is") && message.contains("\"x\""), "{what}: {message}");
        let least = BackwardOptions { least_norm: true, ..BackwardOptions::default() };
        let least = backward(&mut session, problem, &[(x, &where_it_is)], false, least).unwrap();
        assert_eq!(least.deficiency, 3, "{what}");
        assert!(of_term(&least, term, Some(0)).iter().any(|value| *value != 0.0), "{what}");
        let counters = session.device().counters();
        session.free_problem(problem);
        assert!(counters.bytes_live > 0 && session.device().counters().bytes_live == 0, "{what}: buffers are left");
    }
}

/// As vectors, what nothing touches would fill the memory, and to compare each with each would take hours.
#[test]
fn thousands_that_nothing_touches_are_counted() {
    let mut session = cpu(Precision::F64);
    let (problem, x, term) = frame(&mut session, 60);
    let held: Vec<u32> = (1..60).flat_map(|copy| [4 * copy, 4 * copy + 1]).collect();
    session.fix_table(problem, x, Some(&held), None).unwrap();
    let loose = session.table(problem, "loose", 2, Reals::F64(&[0.5; 6000]), true).unwrap();
    solve(&mut session, problem, &tight());
    let at = read(&mut session, problem, x);
    let mut v = vec![0.0; at.len()];
    for k in 0..2 {
        (v[k], v[4 + k]) = (2.0 * (at[k] - at[4 + k]), -2.0 * (at[k] - at[4 + k]));
    }
    let gradients = backward(&mut session, problem, &[(x, &v)], false, BackwardOptions::default()).unwrap();
    assert_eq!((gradients.deficiency, gradients.method), (6003, "sparse"));
    let of_loose = gradients.unseen.iter().find(|unseen| unseen.variable == "loose").unwrap();
    assert_eq!((of_loose.instances, of_loose.untouched), (3000, 3000));
    assert!(of_term(&gradients, term, Some(0))[..6].iter().any(|value| *value != 0.0));
    let refused = backward(&mut session, problem, &[(loose, &[1.0; 6000])], false, BackwardOptions::default());
    let Err(Error::RankDeficient(message)) = refused.map(|_| ()) else { panic!("not refused") };
    assert!(message.contains("6003 directions") && message.contains("\"loose\""), "{message}");
}

#[test]
fn values_that_are_not_stationary_are_told() {
    let mut session = cpu(Precision::F64);
    let (problem, x, _) = frame(&mut session, 1);
    session.fix_table(problem, x, Some(&[0, 1]), None).unwrap();
    let v = vec![1.0; 8];
    let gradients = backward(&mut session, problem, &[(x, &v)], false, BackwardOptions::default()).unwrap();
    assert!(!gradients.stationary && gradients.distance > 0.01 && gradients.gradient_norm > 0.01, "{}", gradients.distance);
    let lenient = BackwardOptions { stationary_tolerance: Some(1.0), ..BackwardOptions::default() };
    assert!(backward(&mut session, problem, &[(x, &v)], false, lenient).unwrap().stationary);
    solve(&mut session, problem, &Options { max_iterations: Some(100.0), ..tight() });
    let gradients = backward(&mut session, problem, &[(x, &v)], false, BackwardOptions::default()).unwrap();
    assert!(gradients.stationary && gradients.distance < 1e-8, "{}", gradients.distance);
    // What is fixed moves the rest along: together, a translation.
    let held = of_table(&gradients, x);
    close("translation", &[held[0] + held[2], held[1] + held[3]], &[4.0, 4.0], 1e-9);
    assert!(held[4..].iter().all(|value| *value == 0.0));
}

#[test]
fn what_cannot_be_differentiated_is_refused() {
    let mut session = cpu(Precision::F64);
    let own = scene(&mut session, &Numbers::new(1), With { sums: true, ..With::default() });
    let v = vec![1.0; 80];
    let refused = |session: &mut Session, cotangents: &[(u32, &[f64])], options: BackwardOptions| {
        backward(session, own.problem, cotangents, false, options).map(|_| ()).unwrap_err()
    };
    let error = refused(&mut session, &[(own.points, &v)], BackwardOptions::default());
    assert!(error.to_string().contains("term \"rows\" sums over rows of any length"), "{error}");
    let error = refused(&mut session, &[(own.points, &v)], BackwardOptions { rank_tolerance: Some(2.0), ..BackwardOptions::default() });
    assert_eq!(error.code(), "invalid-option");
    let error = refused(&mut session, &[(own.points, &v)], BackwardOptions { stationary_tolerance: Some(f64::NAN), ..Default::default() });
    assert_eq!(error.code(), "invalid-option");
    let other = scene(&mut session, &Numbers::new(1), With::default());
    let mut of = |cotangents: &[(u32, &[f64])]| {
        backward(&mut session, other.problem, cotangents, false, BackwardOptions::default()).map(|_| ()).unwrap_err()
    };
    assert_eq!(of(&[(other.points, &v[1..])]).code(), "data-length");
    assert_eq!(of(&[(other.centre, &v[..2])]).code(), "shape");
    assert_eq!(of(&[(other.points, &vec![f64::NAN; 80])]).code(), "non-finite");
}

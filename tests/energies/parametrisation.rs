//! The symmetric Dirichlet energy A(‖F‖² + ‖F⁻¹‖²) of triangles (Smith & Schaefer, *Bijective Parameterization with Free
//! Boundaries*, 2015): infinite where one is flat, undefined where it is turned over, and 4A where none is distorted.

use super::sessions;
use crate::support::*;
use leastwise::expr::Opcode::*;
use leastwise::kernel::Objective;
use leastwise::problem::{Column, Reals, Slot, TermSpec, Weight};
use leastwise::session::Session;
use leastwise::solve::{Options, Termination};

const SIDE: usize = 9;

/// A square of so many points a side.
fn square() -> (Vec<[f64; 2]>, [Vec<u32>; 3]) {
    let points = (0..SIDE * SIDE).map(|i| [(i % SIDE) as f64, (i / SIDE) as f64]).collect();
    let mut corners: [Vec<u32>; 3] = Default::default();
    for cell in (0..SIDE * SIDE).filter(|i| i % SIDE + 1 < SIDE && i / SIDE + 1 < SIDE) {
        let [a, b, c, d] = [cell, cell + 1, cell + SIDE, cell + SIDE + 1].map(|i| i as u32);
        for triangle in [[a, b, d], [a, d, c]] {
            corners.iter_mut().zip(triangle).for_each(|(list, corner)| list.push(corner));
        }
    }
    (points, corners)
}

/// The square's energy with points that begin anywhere.
fn dirichlet(session: &mut Session, values: &[f64]) -> (u32, u32) {
    let (points, corners) = square();
    let problem = session.problem();
    let x = session.table(problem, "uv", 2, Reals::F64(values), true).unwrap();
    let mut inverses = Vec::new();
    let mut areas = Vec::new();
    for k in 0..corners[0].len() {
        let [a, b, c] = [0, 1, 2].map(|corner: usize| points[corners[corner][k] as usize]);
        let [[p, q], [r, s]] = [[b[0] - a[0], c[0] - a[0]], [b[1] - a[1], c[1] - a[1]]];
        let determinant = p * s - q * r;
        inverses.extend([s, -q, -r, p].map(|entry| entry / determinant));
        areas.push(determinant / 2.0);
    }
    let mut tape = Tape::default();
    let [a, b, c, inverse] = [0, 1, 2, 3].map(|source| tape.input(source));
    let edges = [tape.op(Sub, &[b, a]), tape.op(Sub, &[c, a])];
    let columns = [0, 1].map(|column| {
        let entries = [0, 1].map(|row| tape.op(Component, &[inverse, 2 * row + column]));
        let parts = [tape.op(Mul, &[edges[0], entries[0]]), tape.op(Mul, &[edges[1], entries[1]])];
        tape.op(Add, &parts)
    });
    let squares = columns.map(|column| tape.op(NormSq, &[column]));
    let squared = tape.op(Add, &squares);
    let determinant = tape.op(Cross, &columns);
    // 1/det², where det is positive: ‖F⁻¹‖² = ‖F‖²/det² of 2×2 matrices.
    let logarithm = tape.op(Log, &[determinant]);
    let minus_two = tape.literal(-2.0);
    let exponent = tape.op(Mul, &[minus_two, logarithm]);
    let inverse_squared = tape.op(Exp, &[exponent]);
    let one = tape.literal(1.0);
    let factor = tape.op(Add, &[one, inverse_squared]);
    let outputs = [tape.op(Mul, &[squared, factor])];
    let spec = TermSpec {
        name: "symmetric Dirichlet".into(),
        count: areas.len() as u32,
        indices: corners.to_vec(),
        slots: (0..3).map(|column| Slot { table: x, column }).collect(),
        columns: vec![Column { name: "inverse".into(), width: 4, shared: false, values: Reals::F64(&inverses) }],
        weight: Weight::Each(Reals::F64(&areas)),
        loss: None,
        objective: Objective::Energy,
        tape: &tape.words,
        outputs: &outputs,
    };
    session.term(problem, spec).unwrap();
    (problem, x)
}

#[test]
fn a_squeezed_square_finds_back_to_its_shape() {
    let seed = fresh_seed();
    for (name, exactness, mut session) in sessions() {
        let mut random = Random::new(seed);
        // Squeezed, sheared and shaken, but no triangle turned over.
        let values: Vec<f64> = square()
            .0
            .iter()
            .flat_map(|&[u, v]| {
                let [du, dv] = [0, 1].map(|_| random.between(-0.2, 0.2));
                let (u, v) = (u + du, v + dv);
                [0.4 * u + 0.3 * v, 0.15 * v + 0.02 * u * u / SIDE as f64]
            })
            .collect();
        let (problem, x) = dirichlet(&mut session, &values);
        let area = (SIDE - 1).pow(2) as f64;
        for linear in ["sparse-cholesky", "pcg"] {
            session.write_table(problem, x, Reals::F64(&values), None).unwrap();
            let cost_tolerance = Some(if exactness < 1e-6 { 1e-12 } else { 1e-6 });
            let options = Options { linear: Some(linear.into()), max_iterations: Some(100.0), cost_tolerance, ..Options::default() };
            let report = solve(&mut session, problem, &options);
            let what = format!(
                "LEASTWISE_TEST_SEED={seed}, {name}, {linear}: {} after {}, {}",
                report.cost,
                report.iterations.len(),
                report.reason
            );
            assert!(report.initial_cost > 3.0 * 4.0 * area, "{what}");
            assert!([Termination::Converged, Termination::Precision].contains(&report.termination), "{what}");
            assert!((report.cost - 4.0 * area).abs() <= 100.0 * exactness * area, "{what}");
            assert!(report.cost >= 4.0 * area * (1.0 - 1e-5), "{what}");
            assert!(report.iterations.len() <= 60, "{what}");
            // Every step that was accepted led downhill.
            assert!(report.iterations.iter().filter(|iteration| iteration.accepted).all(|iteration| iteration.cost_change < 0.0), "{what}");
        }
    }
}

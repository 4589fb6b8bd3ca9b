//! The symmetric Dirichlet energy of a parametrisation (`patch.rs`).

use super::patch::Patch;
use super::sessions;
use crate::support::*;
use leastwise::problem::Reals;
use leastwise::solve::{Options, Termination};

const SIDE: usize = 9;

#[test]
fn a_squeezed_square_finds_back_to_its_shape() {
    let seed = fresh_seed();
    for (name, exactness, mut session) in sessions() {
        let mut random = Random::new(seed);
        let patch = Patch::new(SIDE);
        let values = patch.shaken(&mut random);
        let (problem, x) = patch.make(&mut session, &values);
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

//! Builds and evaluations in time slices.

use super::{data::Random, kmeans, mixture, options, small};
use leastwise::anneal::code::Code;
use leastwise::anneal::index::{Coarse, Evaluating, Index, Options};
use leastwise::base::clock::now_ms;
use leastwise::base::task::Task;
use std::sync::Arc;

/// Resumes work to its end, with slices that end at once, but for some that last a little unless `seed` is 0; gives what it came to and how many
/// there were.
fn in_slices<T>(mut work: Task<'_, T>, seed: u64) -> (T, usize) {
    let (mut random, mut done) = (Random(seed), 0.0);
    for slices in 1.. {
        let more = if seed > 0 && random.below(4) == 0 { 2.0 * random.uniform() } else { 0.0 };
        if let Some(result) = work.resume(now_ms() + more) {
            return (result, slices);
        }
        assert!(work.done() >= done && work.done() <= 1.0, "{} after {done}", work.done());
        done = work.done();
    }
    unreachable!()
}

#[test]
fn an_index_is_the_same_whatever_the_slices() {
    for (count, dim, clusters) in [(0, 5, 1), (3, 7, 2), (700, 36, 5)] {
        let points = mixture(count, dim, 3, 31);
        let coarse = if count == 0 { Coarse::default() } else { kmeans(&points, dim, clusters, 3) };
        for code in Code::ALL {
            let whole = Index::build(&points, dim, coarse.clone(), &options(code)).expect("an index").save();
            for seed in 0..2 {
                let (index, slices) = in_slices(Index::building(&points, dim, coarse.clone(), options(code)), seed);
                assert_eq!(index.expect("an index").save(), whole, "{}", code.name());
                let least = if count == 700 && code == Code::Bits { 40 } else { 2 };
                assert!(seed > 0 || slices >= least, "{} came in {slices} slices", code.name());
            }
        }
    }
    // Rotations by blocks.
    let (points, dim) = (mixture(500, 40, 3, 32), 40);
    let ratio = Options { ratio: Some(0.3), ..Options::default() };
    let coarse = kmeans(&points, dim, 4, 3);
    let whole = Index::build(&points, dim, coarse.clone(), &ratio).expect("an index");
    let (sliced, slices) = in_slices(Index::building(&points, dim, coarse, ratio), 0);
    assert_eq!(sliced.expect("an index").save(), whole.save());
    assert!(slices > 60, "{slices} slices");
}

#[test]
fn a_build_says_what_is_wrong() {
    let (mut points, dim) = small();
    points[5 * dim + 1] = f32::NAN;
    let (failed, _) = in_slices(Index::building(points, dim, Coarse::default(), Options::default()), 1);
    assert_eq!(failed.err().expect("an error").code(), "non-finite");
}

#[test]
fn a_build_that_is_dropped_frees_what_it_held() {
    struct Held(Arc<Vec<f32>>);
    impl AsRef<[f32]> for Held {
        fn as_ref(&self) -> &[f32] {
            &self.0
        }
    }
    let (points, dim) = small();
    let points = Arc::new(points);
    let mut work = Index::building(Held(points.clone()), dim, kmeans(&points, dim, 4, 2), Options::default());
    for _ in 0..20 {
        assert!(work.resume(0.0).is_none(), "it is not done yet");
    }
    assert_eq!(Arc::strong_count(&points), 2);
    drop(work);
    assert_eq!(Arc::strong_count(&points), 1);
}

#[test]
fn an_evaluation_is_the_same_whatever_the_slices() {
    let (dim, points, queries) = (20, mixture(1700, 20, 6, 33), mixture(150, 20, 6, 34));
    let mut index = Index::build(&points, dim, kmeans(&points, dim, 12, 3), &options(Code::Int4)).expect("an index");
    index.remove(&[3, 900, 1699]);
    for probes in [None, Some(2)] {
        let whole = index.evaluate(&queries, &points, 10, probes).expect("an evaluation");
        let mut evaluating = Evaluating::new(&index, &queries[..], &points[..], 10, probes).expect("an evaluation");
        let (mut slices, mut done) = (1, 0.0);
        let sliced = loop {
            if let Some(evaluation) = evaluating.advance(&index, 0.0).expect("an evaluation") {
                break evaluation;
            }
            slices += 1;
            assert!(evaluating.done() >= done && evaluating.done() <= 1.0, "{} after {done}", evaluating.done());
            done = evaluating.done();
        };
        assert_eq!((sliced.recall, sliced.bytes), (whole.recall, whole.bytes));
        assert!(done > 0.9 && slices > 35, "{slices} slices");
    }
    let mut evaluating = Evaluating::new(&index, &queries[..], &points[..], 10, None).expect("an evaluation");
    assert!(evaluating.advance(&index, 0.0).expect("a beginning").is_none());
    index.remove(&[4]);
    assert_eq!(evaluating.advance(&index, 0.0).expect_err("the index changed").code(), "invalid-option");
}

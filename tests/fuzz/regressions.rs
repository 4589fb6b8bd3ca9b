//! Programs that once went wrong; every run replays them. The fuzzer prints entries in this form.

use super::check::{EVERYTHING, Outcome, check};
use super::traced::{Origin, Point, Traced};

struct Regression {
    name: &'static str,
    inputs: &'static [(Origin, u32)],
    words: &'static [u32],
    outputs: &'static [u32],
    points: &'static [&'static [f64]],
}

const REGRESSIONS: &[Regression] = &[];

#[test]
fn what_went_wrong_once_does_not_again() {
    for regression in REGRESSIONS {
        let traced = Traced::from_words(regression.inputs, regression.words, regression.outputs);
        let points: Vec<Point> = regression.points.iter().map(|point| point.to_vec()).collect();
        match check(&traced, &points, EVERYTHING) {
            Outcome::Agrees(_) => {}
            wrong => panic!("{}: {wrong:?}\n{}", regression.name, traced.listing(&points)),
        }
    }
}

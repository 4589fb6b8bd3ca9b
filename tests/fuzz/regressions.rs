//! Programs that once went wrong; every run replays them. The fuzzer prints entries in this form.

use super::fuzz::backends;
use super::fuzz::check::{EVERYTHING, Outcome, check};
use super::fuzz::traced::Origin::{self, Constant, Variable};
use super::fuzz::traced::{Point, Traced};
use super::support::gpu_in;
use leastwise::device::{Kind, Reals};

struct Regression {
    name: &'static str,
    inputs: &'static [(Origin, u32)],
    words: &'static [u32],
    outputs: &'static [u32],
    points: &'static [&'static [f64]],
}

const REGRESSIONS: &[Regression] = &[
    // Both factors of a square are masked in the same way: their adjoints' sum has to be, too.
    Regression { name: "hypot′(0)", inputs: &[(Variable, 1)], words: &[65537, 0, 65601, 0], outputs: &[1], points: &[&[0.0]] },
    Regression {
        name: "a zero vector, normalised twice",
        inputs: &[(Variable, 1)],
        words: &[65537, 0, 65553, 0, 65553, 1],
        outputs: &[2],
        points: &[&[0.0]],
    },
    Regression {
        name: "the logarithm of a zero quaternion, normalised",
        inputs: &[(Variable, 1)],
        words: &[65537, 0, 131075, 0, 0, 131075, 1, 1, 65553, 2, 65626, 3],
        outputs: &[4],
        points: &[&[0.0]],
    },
    // Masks that agree in part: one within another one, and one alone.
    Regression {
        name: "the normal of a triangle without area in a quaternion",
        inputs: &[(Variable, 3), (Constant, 1), (Variable, 1)],
        words: &[
            65537, 0, 65537, 1, 131074, 0, 2, 131075, 1, 1, 131075, 3, 1, 131086, 4, 4, 131075, 3, 2, 196700, 4, 6, 5, 131075, 2, 7, 65622,
            8,
        ],
        outputs: &[9],
        points: &[&[0.0, 0.0, 1.0, 0.0, 0.0]],
    },
    // Folded as it is computed: an exponent that is a number does not move.
    Regression {
        name: "−2 to the power −2",
        inputs: &[(Variable, 1)],
        words: &[131072, 0, 3221225472, 131117, 0, 0],
        outputs: &[1],
        points: &[&[0.0]],
    },
    // Compiled by NVIDIA's driver in double-floats, the cosine had the other sign.
    Regression {
        name: "a normalised vector's cosine in double-floats",
        inputs: &[(Variable, 2)],
        words: &[65537, 0, 65553, 0, 65548, 0],
        outputs: &[0, 2, 1],
        points: &[&[1.0, 0.0]],
    },
];

impl Regression {
    fn program(&self) -> (Traced, Vec<Point>) {
        let points = self.points.iter().map(|point| point.to_vec()).collect();
        (Traced::from_words(self.inputs, self.words, self.outputs), points)
    }
}

#[test]
fn what_went_wrong_once_does_not_again_in_double_floats() {
    let mut session = gpu_in(Reals::Single, None);
    for regression in REGRESSIONS {
        let (traced, points) = regression.program();
        if let Err(wrong) = backends::check_in(session.device_mut(), Kind::Double, &traced, &points) {
            panic!("{}: {wrong:?}\n{}", regression.name, traced.listing(&points));
        }
    }
}

#[test]
fn what_went_wrong_once_does_not_again() {
    for regression in REGRESSIONS {
        let (traced, points) = regression.program();
        match check(&traced, &points, EVERYTHING) {
            Outcome::Agrees(_) => {}
            wrong => panic!("{}: {wrong:?}\n{}", regression.name, traced.listing(&points)),
        }
    }
}

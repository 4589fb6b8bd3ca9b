//! Nonlinear conjugate gradients with Hager & Zhang's β (*A New Conjugate Gradient Method with Guaranteed Descent and an
//! Efficient Line Search*, SIAM J. Optim. 16, 2005).

use crate::descent::rule::*;

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ConjugateGradients;

impl DescentRule for ConjugateGradients {
    const NUMBER: u32 = 1;
    const NAME: &'static str = "nonlinear-cg";
    const DESCRIPTION: &'static str = "conjugate gradients with Hager & Zhang's β (2005).";
    const STEP: &'static str = "along −g + βd";
    const GOOD_FOR: &'static str = "the same with less memory";
    const REMEMBERS: bool = true;

    fn of(_: &Options) -> Result<Self, Error> {
        Ok(Self)
    }
}

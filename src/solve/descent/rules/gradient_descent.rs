//! Gradient descent, whose first trials have Barzilai & Borwein's length (IMA J. Numer. Anal. 8, 1988).

use crate::descent::rule::*;

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GradientDescent;

impl DescentRule for GradientDescent {
    const NUMBER: u32 = 2;
    const NAME: &'static str = "gradient-descent";
    const DESCRIPTION: &'static str = "−g, first tried at Barzilai & Borwein's length.";
    const STEP: &'static str = "along −g";
    const GOOD_FOR: &'static str = "to compare with";

    fn of(_: &Options) -> Result<Self, Error> {
        Ok(Self)
    }
}

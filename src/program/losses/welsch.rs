//! Welsch's loss.

use crate::loss_function::*;

/// Welsch's loss: 1 − exp(−s).
pub struct Welsch;

impl LossFunction for Welsch {
    const NUMBER: u32 = 7;
    const NAME: &'static str = "welsch";
    const DESCRIPTION: &'static str = "c²(1 − e^(−s/c²)): at most c².";
    const EXAMPLE: &'static str = r#"problem.residuals("fit", { of: [scale], loss: welsch(2) }, ([s]) => s.sub(1));"#;
    const PARAMETERS: &'static [Parameter] = &[Parameter { name: "c", symbol: "c", range: Range::Scale }];
    const FORMULA: &'static str = "c²(1 − e^(−s/c²))";
    const BOUND: &'static str = "c²";
    const INFLECTION: &'static str = "x = c/√2";
    const SOURCE: &'static str = "Dennis & Welsch 1978";

    fn slope<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        (-(s / p[0].square())).exp()
    }

    fn bend<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        -(Self::slope(s, p) / p[0].square())
    }

    fn rise<'g>(low: Symbol<'g>, _: Symbol<'g>, by: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        let b = p[0].square();
        -(b * (-(low / b)).exp() * (-(by / b)).expm1())
    }
}

//! Cauchy's loss.

use crate::loss_function::*;

/// Cauchy's loss: the logarithm of 1 + s.
pub struct Cauchy;

impl LossFunction for Cauchy {
    const NUMBER: u32 = 3;
    const NAME: &'static str = "cauchy";
    const DESCRIPTION: &'static str = "c² ln(1 + s/c²): grows like the logarithm of the length.";
    const EXAMPLE: &'static str = r#"problem.residuals("fit", { of: [scale], loss: cauchy(0.05) }, ([s]) => s.sub(1));"#;
    const PARAMETERS: &'static [Parameter] = &[Parameter { name: "c", symbol: "c", range: Range::Scale }];
    const FORMULA: &'static str = "c² ln(1 + s/c²)";
    const BOUND: &'static str = "–";
    const INFLECTION: &'static str = "x = c";
    const SOURCE: &'static str = "Zhang 1997, table 1";

    fn slope<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        1.0 / (1.0 + s / p[0].square())
    }

    fn bend<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        -(Self::slope(s, p) / (p[0].square() + s))
    }

    fn rise<'g>(low: Symbol<'g>, _: Symbol<'g>, by: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        let b = p[0].square();
        b * (by / (b + low)).log1p()
    }
}

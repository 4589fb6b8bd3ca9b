//! Soft L1.

use crate::loss_function::*;

/// Charbonnier's loss: a smooth Huber.
pub struct SoftL1;

impl LossFunction for SoftL1 {
    const NUMBER: u32 = 2;
    const NAME: &'static str = "softL1";
    const DESCRIPTION: &'static str = "2c²(√(1 + s/c²) − 1): squares within c, lengths beyond, smoothly.";
    const EXAMPLE: &'static str = r#"problem.residuals("fit", { of: [scale], loss: softL1(0.5) }, ([s]) => s.sub(1));"#;
    const PARAMETERS: &'static [Parameter] = &[Parameter { name: "c", symbol: "c", range: Range::Scale }];
    const FORMULA: &'static str = "2c²(√(1 + s/c²) − 1)";
    const BOUND: &'static str = "–";
    const INFLECTION: &'static str = "–";
    const SOURCE: &'static str = "Charbonnier et al. 1997";

    fn slope<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        1.0 / (1.0 + s / p[0].square()).sqrt()
    }

    fn bend<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        -(Self::slope(s, p) / (2.0 * (p[0].square() + s)))
    }

    fn rise<'g>(low: Symbol<'g>, high: Symbol<'g>, by: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        let b = p[0].square();
        2.0 * by / ((1.0 + low / b).sqrt() + (1.0 + high / b).sqrt())
    }
}

//! Geman & McClure's loss.

use crate::loss_function::*;

/// Geman and McClure's loss: s / (1 + s).
pub struct GemanMcClure;

impl LossFunction for GemanMcClure {
    const NUMBER: u32 = 6;
    const NAME: &'static str = "gemanMcClure";
    const DESCRIPTION: &'static str = "s/(1 + s/c²): at most c².";
    const EXAMPLE: &'static str = r#"problem.residuals("fit", { of: [scale], loss: gemanMcClure(0.5) }, ([s]) => s.sub(1));"#;
    const PARAMETERS: &'static [Parameter] = &[Parameter { name: "c", symbol: "c", range: Range::Scale }];
    const FORMULA: &'static str = "s / (1 + s/c²)";
    const BOUND: &'static str = "c²";
    const INFLECTION: &'static str = "x = c/√3";
    const SOURCE: &'static str = "Geman & McClure 1985";

    fn slope<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        (1.0 / (1.0 + s / p[0].square())).square()
    }

    fn bend<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        -2.0 * Self::slope(s, p) / (p[0].square() + s)
    }

    fn rise<'g>(low: Symbol<'g>, high: Symbol<'g>, by: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        let b = p[0].square();
        by / ((1.0 + low / b) * (1.0 + high / b))
    }
}

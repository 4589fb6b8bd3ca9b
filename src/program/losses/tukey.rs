//! Tukey's biweight.

use crate::loss_function::*;

/// Tukey's biweight: constant beyond its scale.
pub struct Tukey;

impl LossFunction for Tukey {
    const NUMBER: u32 = 5;
    const NAME: &'static str = "tukey";
    const DESCRIPTION: &'static str = "c²(1 − (1 − s/c²)³)/3 for ‖r‖ ≤ c, then c²/3: outliers have no say at all.";
    const EXAMPLE: &'static str = r#"problem.residuals("fit", { of: [scale], loss: tukey(4.685) }, ([s]) => s.sub(1));"#;
    const PARAMETERS: &'static [Parameter] = &[Parameter { name: "c", symbol: "c", range: Range::Scale }];
    const FORMULA: &'static str = "c²/3 · (1 − (1 − s/c²)³) for s ≤ c², else c²/3";
    const BOUND: &'static str = "c²/3";
    const INFLECTION: &'static str = "x = c/√5";
    const SOURCE: &'static str = "Beaton & Tukey 1974";

    fn slope<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        inside(s, p[0].square()).square()
    }

    fn bend<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        -2.0 * inside(s, p[0].square()) / p[0].square()
    }

    /// (p³ − q³)/3 with p and q the distances to c², in units of it.
    fn rise<'g>(low: Symbol<'g>, high: Symbol<'g>, by: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        let b = p[0].square();
        let (p, q) = (inside(low, b), inside(high, b));
        by.min((b - low).max(by.scope().constant(0.0))) / 3.0 * (p.square() + p * q + q.square())
    }
}

/// 1 − s/c², and 0 beyond.
fn inside<'g>(s: Symbol<'g>, b: Symbol<'g>) -> Symbol<'g> {
    (1.0 - s / b).max(s.scope().constant(0.0))
}

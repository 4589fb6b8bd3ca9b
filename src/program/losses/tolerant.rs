//! The tolerant loss.

use crate::loss_function::*;
use leastwise_expr::softplus_rise;

/// Tolerant loss: small residuals cost nearly nothing.
pub struct Tolerant;

impl LossFunction for Tolerant {
    const NUMBER: u32 = 8;
    const NAME: &'static str = "tolerant";
    const DESCRIPTION: &'static str = "b ln(1 + e^((s − a)/b)) − b ln(1 + e^(−a/b)): next to nothing until s comes to a, then s − a; b says how sharply one\n\
        becomes the other. Mind that both are compared with s, not with ‖r‖.";
    const EXAMPLE: &'static str = r#"problem.residuals("fit", { of: [scale], loss: tolerant(1, 0.1) }, ([s]) => s.sub(1));"#;
    const PARAMETERS: &'static [Parameter] =
        &[Parameter { name: "a", symbol: "a", range: Range::NotNegative }, Parameter { name: "b", symbol: "b", range: Range::Scale }];
    const FORMULA: &'static str = "b ln(1 + e^((s − a)/b)) − b ln(1 + e^(−a/b))";
    const BOUND: &'static str = "–";
    const INFLECTION: &'static str = "–";
    const SOURCE: &'static str = "Ceres";

    fn slope<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        ((s - p[0]) / p[1]).sigmoid()
    }

    fn bend<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        Self::slope(s, p) * ((p[0] - s) / p[1]).sigmoid() / p[1]
    }

    fn rise<'g>(low: Symbol<'g>, high: Symbol<'g>, by: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        let scaled = |s: Symbol<'g>| (s - p[0]) / p[1];
        p[1] * softplus_rise(scaled(low), scaled(high), by / p[1])
    }
}

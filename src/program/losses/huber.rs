//! Huber's loss.

use crate::loss_function::*;

/// Huber's loss: quadratic near 0, linear beyond.
pub struct Huber;

impl LossFunction for Huber {
    const NUMBER: u32 = 1;
    const NAME: &'static str = "huber";
    const DESCRIPTION: &'static str = "s for ‖r‖ ≤ δ, then 2δ‖r‖ − δ²: squares within δ, lengths beyond.";
    const EXAMPLE: &'static str = concat!(
        r#"const term = problem.residuals("fit", { of: [scale], loss: huber(1) }, ([s]) => s.sub(1));"#,
        "\n",
        "term.set({ loss: huber(0.1) });  // live, without compiling"
    );
    const PARAMETERS: &'static [Parameter] = &[Parameter { name: "delta", symbol: "δ", range: Range::Scale }];
    const FORMULA: &'static str = "s for s ≤ δ², else 2δ√s − δ²";
    const BOUND: &'static str = "–";
    const INFLECTION: &'static str = "straight from x = δ";
    const SOURCE: &'static str = "Huber 1964";

    fn value<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        let b = p[0].square();
        s.less_equal(b).select(s, 2.0 * p[0] * s.sqrt() - b)
    }

    fn slope<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        let scope = s.scope();
        let b = p[0].square();
        s.less_equal(b).select(scope.constant(1.0), p[0] / s.max(b).sqrt())
    }

    fn bend<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        let scope = s.scope();
        let b = p[0].square();
        s.less_equal(b).select(scope.constant(0.0), -(Self::slope(s, p) / (2.0 * s.max(b))))
    }

    /// Across δ² the parts below and above count with 1 and 2δ/(√high + δ): as by times the latter, and a rest of second order.
    fn rise<'g>(low: Symbol<'g>, high: Symbol<'g>, by: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        let b = p[0].square();
        let root = high.sqrt();
        let above = 2.0 * p[0] * by / (root + low.max(b).sqrt());
        let rest = (b - low) * (high - b) / (root + p[0]).square();
        let beyond = low.less_equal(b).select(above + rest, above);
        high.less_equal(b).select(by, beyond)
    }
}

//! The arctangent of s.

use crate::loss_function::*;

/// The arctangent of s.
pub struct Arctan;

impl LossFunction for Arctan {
    const NUMBER: u32 = 4;
    const NAME: &'static str = "arctan";
    const DESCRIPTION: &'static str = "a arctan(s/a): at most aπ/2. Mind that `a` is compared with s, not with ‖r‖.";
    const EXAMPLE: &'static str = r#"problem.residuals("fit", { of: [scale], loss: arctan(0.5) }, ([s]) => s.sub(1));"#;
    const PARAMETERS: &'static [Parameter] = &[Parameter { name: "a", symbol: "a", range: Range::Scale }];
    const FORMULA: &'static str = "a arctan(s/a)";
    const BOUND: &'static str = "aπ/2";
    const INFLECTION: &'static str = "x = (a²/3)^¼";
    const SOURCE: &'static str = "Ceres";

    fn slope<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        1.0 / (1.0 + (s / p[0]).square())
    }

    fn bend<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        -2.0 * (s / p[0]) / p[0] * Self::slope(s, p).square()
    }

    /// By tan(x − y) = (tan x − tan y)/(1 + tan x tan y).
    fn rise<'g>(low: Symbol<'g>, high: Symbol<'g>, by: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        p[0] * (by / p[0] / (1.0 + low / p[0] * (high / p[0]))).atan()
    }
}

//! Barron's general loss.

use crate::loss_function::*;

/// Barron's general loss, with its shape as a parameter.
pub struct Barron;

impl LossFunction for Barron {
    const NUMBER: u32 = 9;
    const NAME: &'static str = "barron";
    const DESCRIPTION: &'static str = "Barron's general loss, 2c² |α − 2|/α ((s/(c²|α − 2|) + 1)^(α/2) − 1) and its limits: s for α = 2, {@link softL1} for 1,\n\
        {@link cauchy} for 0, {@link gemanMcClure} for −2, {@link welsch} for `-Infinity`; for the last three c is that of the\n\
        other times √½, ½ and √½. α may change from one to the other while a problem is being solved.";
    const EXAMPLE: &'static str =
        r#"problem.residuals("fit", { of: [scale], loss: barron(-2, 0.5) }, ([s]) => s.sub(1));  // Geman and McClure's"#;
    const PARAMETERS: &'static [Parameter] =
        &[Parameter { name: "alpha", symbol: "α", range: Range::AtMost(1e6) }, Parameter { name: "c", symbol: "c", range: Range::Scale }];
    const FORMULA: &'static str = "2c² (|α − 2|/α) ((s/(c²|α − 2|) + 1)^(α/2) − 1), and its limits";
    const BOUND: &'static str = "depends on α";
    const INFLECTION: &'static str = "α < 1: x = c√((α − 2)/(α − 1))";
    const SOURCE: &'static str = "Barron 2019, eq. 8, times 2c²";

    fn slope<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        let barron = Parts::new(p[0], p[1]);
        barron.unless_square(barron.power(s, 0.0), s.scope().constant(1.0))
    }

    fn bend<'g>(s: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        let barron = Parts::new(p[0], p[1]);
        (p[0] - 2.0).sign() * (0.5 / barron.b) * barron.power(s, 1.0)
    }

    fn rise<'g>(low: Symbol<'g>, _: Symbol<'g>, by: Symbol<'g>, p: &[Symbol<'g>]) -> Symbol<'g> {
        Parts::new(p[0], p[1]).rise(low, by)
    }
}

/// |α − 2| below which the loss is s itself.
const SQUARE: f64 = 1e-15;

/// What Barron's loss is made of: c², |α − 2| (never 0) and what is chosen where that is next to nothing.
struct Parts<'g> {
    alpha: Symbol<'g>,
    b: Symbol<'g>,
    beta: Symbol<'g>,
}

impl<'g> Parts<'g> {
    fn new(alpha: Symbol<'g>, c: Symbol<'g>) -> Self {
        let beta = (alpha - 2.0).abs().max(alpha.scope().constant(SQUARE));
        Self { alpha, b: c.square(), beta }
    }

    /// `general` unless α is 2.
    fn unless_square(&self, general: Symbol<'g>, square: Symbol<'g>) -> Symbol<'g> {
        (self.alpha - 2.0).abs().less_equal(self.alpha.scope().constant(SQUARE)).select(square, general)
    }

    /// s/(c²|α − 2|)
    fn scaled(&self, s: Symbol<'g>) -> Symbol<'g> {
        s / self.b / self.beta
    }

    /// (1 + s/(c²|α − 2|)) to the power of α/2 − 1 − `less`.
    fn power(&self, s: Symbol<'g>, less: f64) -> Symbol<'g> {
        ((0.5 * self.alpha - (1.0 + less)) * self.scaled(s).log1p()).exp()
    }

    /// c²|α − 2| (1 + s₀/…)^(α/2) L (e^(αL/2) − 1)/(αL/2) with L the logarithm of (1 + s₁/…)/(1 + s₀/…): so for every α,
    /// 0 included, and for α → −∞ it comes to Welsch's by itself.
    fn rise(&self, low: Symbol<'g>, by: Symbol<'g>) -> Symbol<'g> {
        let half = 0.5 * self.alpha;
        let start = self.scaled(low);
        let logarithm = (self.scaled(by) / (1.0 + start)).log1p();
        let exponent = half * logarithm;
        let scope = by.scope();
        let tiny = exponent.abs().less_equal(scope.constant(1e-30));
        let growth = tiny.select(scope.constant(1.0), exponent.expm1() / exponent);
        let general = self.b * (self.beta * logarithm) * ((half * start.log1p()).exp() * growth);
        self.unless_square(general, by)
    }
}

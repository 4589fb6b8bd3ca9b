//! Powers.

use crate::operation::*;

/// Power with an integer exponent.
pub struct PowInt;

impl Instruction for PowInt {
    const CODE: u32 = 44;
    const ARITY: Arity = Arity::Words(2);
    const MEANING: &'static str = "value, i32 exponent → aⁿ by multiplication";
    const RULE: Option<Rule> = Some(Rule {
        row: 130,
        usage: "pow(a, n)",
        widths: &[1],
        value: "aⁿ, n a whole number from −1024 to 1024 written as a number",
        derivative: "n·aⁿ⁻¹",
        remark: "by multiplication, for every a; 0⁰ = 1; undefined at a = 0 for n < 0",
        edges: &[
            at(&[0.0, 0.0], 1.0, &[0.0]),
            at(&[0.0, 1.0], 0.0, &[1.0]),
            at(&[-2.0, 2.0], 4.0, &[-4.0]),
            at(&[-2.0, 3.0], -8.0, &[12.0]),
            at(&[2.0, -2.0], 0.25, &[-0.25]),
            undefined(&[0.0, -1.0]),
        ],
    });
}

/// Power.
pub struct Pow;

impl Instruction for Pow {
    const CODE: u32 = 45;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "a, b → aᵇ for a ≥ 0, and below for whole b";
    const RULE: Option<Rule> = Some(Rule {
        row: 120,
        usage: "pow(a, b)",
        widths: &[1, 1],
        value: "aᵇ",
        derivative: "b·aᵇ⁻¹, aᵇ ln a",
        remark: "a = 0: 0 for b > 0, 1 for b = 0, undefined for b < 0; there ∂a is 1 for b = 1 and else 0, ∂b is 0. a < 0: as for every a where b is whole and does not move (a number, data, `detach`, a rounded value), else undefined",
        edges: &[
            at(&[0.0, 0.0], 1.0, &[0.0, 0.0]),
            at(&[0.0, 1.0], 0.0, &[1.0, 0.0]),
            at(&[0.0, 2.0], 0.0, &[0.0, 0.0]),
            at(&[0.0, 0.5], 0.0, &[0.0, 0.0]),
            undefined(&[0.0, -1.0]),
            undefined(&[-2.0, 2.0]),
            at(&[4.0, 0.5], 2.0, &[0.25, 4.0 * consts::LN_2]),
        ],
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, b] = scalars(operands);
        vec![graph.binary(Binary::Pow, a, b)]
    }
}

impl BinaryOperation for Pow {
    const NUMBER: u32 = 34;
    const NUMERICS: Numerics = Numerics::Function("power");
    const COST: usize = 64;

    /// aᵇ for a > 0, and for a < 0 where b is whole; 0ᵇ is 0 for b > 0 and 1 for b = 0.
    fn apply(a: f64, b: f64) -> f64 {
        // Adding 0 drops the sign of a zero.
        libm::pow(if a == 0.0 { 0.0 } else { a }, b)
    }

    /// b·aᵇ⁻¹ and aᵇ ln a. At a = 0 the first is 0 for b < 1, where it would be infinite, and so is the second. Below 0 the
    /// first is NaN unless b is whole, as the power itself, and the second is NaN.
    fn slopes(graph: &mut Graph, [a, b]: [Expr; 2], y: Expr) -> [Option<Slope>; 2] {
        let (zero, one) = (graph.constant(0.0), graph.constant(1.0));
        let at_zero = graph.equal(a, zero);
        let is_less = graph.less(b, one);
        let infinite = graph.and(at_zero, is_less);
        let lowered = graph.sub(b, one);
        let power = graph.binary(Binary::Pow, a, lowered);
        let slope = graph.mul(b, power);
        if graph.has_limits {
            // Infinite powers of 0 are a quotient's: functions of devices say NaN there.
            let magnitude = graph.unary(Unary::Abs, a);
            let quotient = graph.div(one, magnitude);
            let power = graph.select(infinite, quotient, power);
            let of_base = graph.mul(b, power);
            // By log 1 at 0, where the slope is 0 unless y is infinite or NaN.
            let base = graph.select(at_zero, one, a);
            let logarithm = graph.unary(Unary::Log, base);
            let of_exponent = graph.mul(y, logarithm);
            return [Some(Slope::Factor(of_base)), Some(Slope::Factor(of_exponent))];
        }
        let of_base = graph.select(infinite, zero, slope);
        let logarithm = graph.unary(Unary::Log, a);
        let slope = graph.mul(y, logarithm);
        let of_exponent = graph.select(at_zero, zero, slope);
        [Some(Slope::Factor(of_base)), Some(Slope::Factor(of_exponent))]
    }

    /// Above 0, at 0 for b ≥ 0, and below for a whole b that does not move. Of an exponent that moves, a negative base has no
    /// power next to the whole ones.
    fn domain(graph: &mut Graph, [Operand { expr: a, sign, .. }, Operand { expr: b, moves, .. }]: [Operand; 2]) -> Expr {
        let (zero, one) = (graph.constant(0.0), graph.constant(1.0));
        if sign.positive {
            return one;
        }
        let above = graph.less(zero, a);
        let (at_zero, exponent) = (graph.less_equal(zero, a), graph.less_equal(zero, b));
        let edge = graph.and(at_zero, exponent);
        let within = graph.or(above, edge);
        if sign.not_negative || moves {
            return within;
        }
        let below = graph.less(a, zero);
        let floor = graph.unary(Unary::Floor, b);
        let whole = graph.equal(b, floor);
        let below = graph.and(below, whole);
        graph.or(within, below)
    }

    fn sign([a, _]: [KnownSign; 2], _: bool) -> KnownSign {
        KnownSign { not_negative: a.not_negative, positive: false }
    }

    fn difference<'g>([a, b]: [Pair<'g>; 2], from: Symbol<'g>, to: Symbol<'g>) -> Symbol<'g> {
        let scope = from.scope();
        if b.by.expr != scope.constant(0.0).expr {
            return to - from;
        }
        let by = a.rising(|low, _, by| {
            scope.build(|graph| graph.binary(Binary::Pow, low.expr, b.from.expr)) * (b.from * (by / low).log1p()).expm1()
        });
        scope.constant(0.0).less(a.from.min(a.to)).select(by, to - from)
    }
}

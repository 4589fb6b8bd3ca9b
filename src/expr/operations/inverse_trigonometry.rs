//! Inverses of the sine, the cosine and the tangent.

use crate::operation::*;

/// Arcsine.
pub struct Asin;

impl Instruction for Asin {
    const CODE: u32 = 54;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → arcsin a";
    const RULE: Option<Rule> = Some(Rule {
        row: 240,
        usage: "asin(a)",
        widths: &[1],
        value: "arcsin a",
        derivative: "1/√(1 − a²)",
        remark: "slope 0 at ±1; undefined beyond",
        edges: &[at(&[1.0], consts::FRAC_PI_2, &[0.0]), at(&[-1.0], -consts::FRAC_PI_2, &[0.0]), undefined(&[1.5]), undefined(&[-1.5])],
    });
    const FUNCTION: Option<Function> = Some(Function {
        name: "asin",
        parameters: "a: Num",
        description: "arcsin a, in [−π/2, π/2], for |a| ≤ 1; its derivative at ±1 is 0.",
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Asin, operands)
    }
}

impl UnaryOperation for Asin {
    const NUMBER: u32 = 15;
    const NUMERICS: Numerics = Numerics::Function("arcsine");
    const SYMMETRY: Symmetry = Symmetry::Odd;

    fn apply(a: f64) -> f64 {
        libm::asin(a)
    }

    fn slope(graph: &mut Graph, a: Expr, _: Expr) -> Option<Expr> {
        Some(arc_slope(graph, a))
    }

    fn domain(graph: &mut Graph, a: Expr, _: KnownSign) -> Expr {
        at_most_one(graph, a)
    }
}

/// Arccosine.
pub struct Acos;

impl Instruction for Acos {
    const CODE: u32 = 55;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → arccos a";
    const RULE: Option<Rule> = Some(Rule {
        row: 250,
        usage: "acos(a)",
        widths: &[1],
        value: "arccos a",
        derivative: "−1/√(1 − a²)",
        remark: "slope 0 at ±1; undefined beyond",
        edges: &[at(&[1.0], 0.0, &[0.0]), at(&[-1.0], consts::PI, &[0.0]), undefined(&[1.5]), undefined(&[-1.5])],
    });
    const FUNCTION: Option<Function> = Some(Function {
        name: "acos",
        parameters: "a: Num",
        description: "arccos a, in [0, π], for |a| ≤ 1; its derivative at ±1 is 0. For angles between vectors see {@link angleBetween}.",
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Acos, operands)
    }
}

impl UnaryOperation for Acos {
    const NUMBER: u32 = 16;
    const NUMERICS: Numerics = Numerics::Function("arccosine");

    fn apply(a: f64) -> f64 {
        libm::acos(a)
    }

    fn slope(graph: &mut Graph, a: Expr, _: Expr) -> Option<Expr> {
        let slope = arc_slope(graph, a);
        Some(graph.neg(slope))
    }

    fn domain(graph: &mut Graph, a: Expr, _: KnownSign) -> Expr {
        at_most_one(graph, a)
    }

    fn sign(_: KnownSign) -> KnownSign {
        KnownSign::NOT_NEGATIVE
    }
}

/// 1/√(1 − a²), and 0 at ±1.
fn arc_slope(graph: &mut Graph, a: Expr) -> Expr {
    let one = graph.constant(1.0);
    let (below, above) = (graph.sub(one, a), graph.add(one, a));
    let product = graph.mul(below, above);
    let root = graph.unary(Unary::Sqrt, product);
    graph.div_safe(one, root)
}

/// |a| ≤ 1
fn at_most_one(graph: &mut Graph, a: Expr) -> Expr {
    let (one, minus_one) = (graph.constant(1.0), graph.constant(-1.0));
    let (low, high) = (graph.less_equal(minus_one, a), graph.less_equal(a, one));
    graph.and(low, high)
}

/// Arctangent.
pub struct Atan;

impl Instruction for Atan {
    const CODE: u32 = 56;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → arctan a";
    const RULE: Option<Rule> = Some(Rule {
        row: 260,
        usage: "atan(a)",
        widths: &[1],
        value: "arctan a",
        derivative: "1/(1 + a²)",
        remark: "",
        edges: &[at(&[0.0], 0.0, &[1.0])],
    });
    const FUNCTION: Option<Function> = Some(Function { name: "atan", parameters: "a: Num", description: "arctan a, in (−π/2, π/2)." });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Atan, operands)
    }
}

impl UnaryOperation for Atan {
    const NUMBER: u32 = 17;
    const NUMERICS: Numerics = Numerics::Function("arctangent");
    const SYMMETRY: Symmetry = Symmetry::Odd;

    fn apply(a: f64) -> f64 {
        libm::atan(a)
    }

    fn slope(graph: &mut Graph, a: Expr, _: Expr) -> Option<Expr> {
        let one = graph.constant(1.0);
        let squared = graph.square(a);
        let sum = graph.add(one, squared);
        Some(graph.div(one, sum))
    }

    fn difference<'g>(a: Pair<'g>, _: Symbol<'g>, _: Symbol<'g>) -> Option<Symbol<'g>> {
        Some(a.by.atan2(1.0 + a.from * a.to))
    }
}

/// Angle of the point (x, y).
pub struct Atan2;

impl Instruction for Atan2 {
    const CODE: u32 = 57;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "y, x → the angle of (x, y)";
    const RULE: Option<Rule> = Some(Rule {
        row: 270,
        usage: "atan2(y, x)",
        widths: &[1, 1],
        value: "the angle of (x, y), in [−π, π]",
        derivative: "x/(x² + y²), −y/(x² + y²)",
        remark: "0 with slopes 0 at the origin; π on the negative x axis, whatever the sign of a zero",
        edges: &[
            at(&[0.0, 0.0], 0.0, &[0.0, 0.0]),
            at(&[0.0, -2.0], consts::PI, &[-0.5, 0.0]),
            at(&[-0.0, -2.0], consts::PI, &[-0.5, 0.0]),
            at(&[3.0, 0.0], consts::FRAC_PI_2, &[0.0, -1.0 / 3.0]),
            at(&[0.0, 2.0], 0.0, &[0.5, 0.0]),
        ],
    });
    const FUNCTION: Option<Function> = Some(Function {
        name: "atan2",
        parameters: "y: Num, x: Num",
        description: "The angle of the point (x, y), in [−π, π]; 0, with derivative 0, at the origin. It jumps across the negative x axis.",
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [y, x] = scalars(operands);
        vec![graph.atan2(y, x)]
    }
}

impl BinaryOperation for Atan2 {
    const NUMBER: u32 = 35;
    const NUMERICS: Numerics = Numerics::Function("arctangent2");
    const COST: usize = 32;

    /// The angle of (x, y) = (right, left), in [−π, π]; 0 at the origin. The sign of a zero does not matter.
    fn apply(a: f64, b: f64) -> f64 {
        if a == 0.0 && b == 0.0 { 0.0 } else { libm::atan2(a + 0.0, b) }
    }

    fn slopes(graph: &mut Graph, [a, b]: [Expr; 2], _: Expr) -> [Option<Slope>; 2] {
        let (left, right) = (graph.square(a), graph.square(b));
        let squared = graph.add(left, right);
        let of_a = graph.div_safe(b, squared);
        let of_b = graph.div_safe(a, squared);
        [Some(Slope::Factor(of_a)), Some(Slope::Factor(graph.neg(of_b)))]
    }
}

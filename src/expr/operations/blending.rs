//! Steps, and ways from one value to another.

use crate::operation::*;

/// Linear interpolation between two.
pub struct Mix;

impl Instruction for Mix {
    const CODE: u32 = 37;
    const ARITY: Arity = Arity::Values(3);
    const MEANING: &'static str = "a, b, t → a(1 − t) + bt";
    const RULE: Option<Rule> = Some(Rule {
        row: 460,
        usage: "mix(a, b, t)",
        widths: &[1, 1, 1],
        value: "a(1 − t) + bt",
        derivative: "1 − t, t, b − a",
        remark: "",
        edges: &[at(&[2.0, 6.0, 1.0], 6.0, &[0.0, 1.0, 4.0])],
    });

    fn fits(widths: &[usize]) -> bool {
        matches!(widths, &[a, b, t] if a == b && (t == 1 || t == a))
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, b, t] = values(operands);
        let mix = |k: usize| {
            let t = if t.len() == 1 { t[0] } else { t[k] };
            let one = graph.constant(1.0);
            let rest = graph.sub(one, t);
            let (left, right) = (graph.mul(a[k], rest), graph.mul(b[k], t));
            graph.add(left, right)
        };
        (0..a.len()).map(mix).collect()
    }
}

/// 0 below an edge, else 1.
pub struct Step;

impl Instruction for Step {
    const CODE: u32 = 38;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "edge, x → 1 where edge ≤ x, else 0";
    const RULE: Option<Rule> = Some(Rule {
        row: 470,
        usage: "step(edge, x)",
        widths: &[1, 1],
        value: "1 where edge ≤ x, else 0",
        derivative: "0, 0",
        remark: "1 at the edge",
        edges: &[at(&[2.0, 2.0], 1.0, &[0.0, 0.0]), at(&[2.0, 1.0], 0.0, &[0.0, 0.0])],
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [edge, x] = scalars(operands);
        vec![graph.less_equal(edge, x)]
    }
}

/// Cubic step between two edges.
pub struct Smoothstep;

impl Instruction for Smoothstep {
    const CODE: u32 = 39;
    const ARITY: Arity = Arity::Values(3);
    const MEANING: &'static str = "low, high, x → t²(3 − 2t), t = clamp((x − low)/(high − low), 0, 1)";
    const RULE: Option<Rule> = Some(Rule {
        row: 480,
        usage: "smoothstep(low, high, x)",
        widths: &[1, 1, 1],
        value: "t²(3 − 2t), t = clamp((x − low)/(high − low), 0, 1)",
        derivative: "by the chain rule",
        remark: "0 and 1 with slope 0 at the bounds and beyond; undefined where low = high",
        edges: &[
            at(&[0.0, 1.0, 0.0], 0.0, &[0.0, 0.0, 0.0]),
            at(&[0.0, 1.0, 1.0], 1.0, &[0.0, 0.0, 0.0]),
            at(&[0.0, 2.0, 1.0], 0.5, &[-0.375, -0.375, 0.75]),
            undefined(&[1.0, 1.0, 0.5]),
        ],
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [low, high, x] = scalars(operands);
        let (zero, one, two, three) = (graph.constant(0.0), graph.constant(1.0), graph.constant(2.0), graph.constant(3.0));
        let (above, range) = (graph.sub(x, low), graph.sub(high, low));
        let t = graph.div(above, range);
        let t = graph.clamp(t, zero, one);
        let doubled = graph.mul(two, t);
        let factor = graph.sub(three, doubled);
        let squared = graph.square(t);
        vec![graph.mul(squared, factor)]
    }
}

//! Truth values, and the choice by one. What is not 0 is true.

use crate::operation::*;

/// 1 if neither is 0, else 0.
pub struct And;

impl Instruction for And {
    const CODE: u32 = 22;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "a, b → both";
    const RULE: Option<Rule> = Some(Rule {
        row: 620,
        usage: "p.and(q)",
        widths: &[1, 1],
        value: "both",
        derivative: "0",
        remark: "",
        edges: &[at(&[1.0, 0.0], 0.0, &[0.0, 0.0])],
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, b] = scalars(operands);
        vec![graph.and(a, b)]
    }
}

impl BinaryOperation for And {
    const NUMBER: u32 = 38;
    const NUMERICS: Numerics = Numerics::Instruction;
    const COMMUTES: bool = true;
    const IS_TRUTH: bool = true;

    fn apply(a: f64, b: f64) -> f64 {
        f64::from(a != 0.0 && b != 0.0)
    }

    fn slopes(_: &mut Graph, _: [Expr; 2], _: Expr) -> [Option<Slope>; 2] {
        [None, None]
    }

    fn simpler(graph: &mut Graph, a: Expr, b: Expr) -> Option<Expr> {
        decided(graph, false, a, b)
    }
}

/// 1 if one of them is not 0, else 0.
pub struct Or;

impl Instruction for Or {
    const CODE: u32 = 23;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "a, b → one of them";
    const RULE: Option<Rule> = Some(Rule {
        row: 630,
        usage: "p.or(q)",
        widths: &[1, 1],
        value: "one or both",
        derivative: "0",
        remark: "",
        edges: &[at(&[1.0, 0.0], 1.0, &[0.0, 0.0])],
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, b] = scalars(operands);
        vec![graph.or(a, b)]
    }
}

impl BinaryOperation for Or {
    const NUMBER: u32 = 39;
    const NUMERICS: Numerics = Numerics::Instruction;
    const COMMUTES: bool = true;
    const IS_TRUTH: bool = true;

    fn apply(a: f64, b: f64) -> f64 {
        f64::from(a != 0.0 || b != 0.0)
    }

    fn slopes(_: &mut Graph, _: [Expr; 2], _: Expr) -> [Option<Slope>; 2] {
        [None, None]
    }

    fn simpler(graph: &mut Graph, a: Expr, b: Expr) -> Option<Expr> {
        decided(graph, true, a, b)
    }
}

/// The result where an operand is constant or both are the same. One value decides, whatever the other operand is.
fn decided(graph: &mut Graph, decisive: bool, a: Expr, b: Expr) -> Option<Expr> {
    for (known, other) in [(a, b), (b, a)] {
        match graph.value(known) {
            Some(value) if (value != 0.0) == decisive => return Some(graph.constant(f64::from(decisive))),
            Some(_) if graph.is_truth(other) => return Some(other),
            _ => {}
        }
    }
    (a == b && graph.is_truth(a)).then_some(a)
}

/// 1 if x = 0, else 0.
pub struct Not;

impl Instruction for Not {
    const CODE: u32 = 24;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → not a";
    const RULE: Option<Rule> = Some(Rule {
        row: 640,
        usage: "p.not()",
        widths: &[1],
        value: "the opposite",
        derivative: "0",
        remark: "",
        edges: &[at(&[1.0], 0.0, &[0.0])],
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Not, operands)
    }
}

impl UnaryOperation for Not {
    const NUMBER: u32 = 27;
    const NUMERICS: Numerics = Numerics::Instruction;
    const IS_FLAT: bool = true;
    const IS_TRUTH: bool = true;

    fn apply(a: f64) -> f64 {
        f64::from(a == 0.0)
    }

    fn slope(_: &mut Graph, _: Expr, _: Expr) -> Option<Expr> {
        None
    }

    fn simpler(graph: &mut Graph, a: Expr) -> Option<Expr> {
        match graph.node(a) {
            Node::Unary(Unary::Not, inner) if graph.is_truth(inner) => Some(inner),
            _ => None,
        }
    }
}

/// One of two, by a condition.
pub struct Select;

impl Instruction for Select {
    const CODE: u32 = 25;
    const ARITY: Arity = Arity::Values(3);
    const MEANING: &'static str = "condition, then, otherwise → one of the two, elementwise";
    const RULE: Option<Rule> = Some(Rule {
        row: 650,
        usage: "select(p, a, b)",
        widths: &[1, 1, 1],
        value: "a where p, else b",
        derivative: "of the branch taken",
        remark: "the other branch leaves no trace, even where it is undefined",
        edges: &[at(&[1.0, 5.0, 6.0], 5.0, &[0.0, 1.0, 0.0]), at(&[0.0, 5.0, 6.0], 6.0, &[0.0, 0.0, 1.0])],
    });

    fn fits(widths: &[usize]) -> bool {
        matches!(widths, &[condition, then, otherwise] if condition == 1 && then == otherwise)
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [condition, then, otherwise] = values(operands);
        then.iter().zip(otherwise).map(|(&x, &y)| graph.select(condition[0], x, y)).collect()
    }
}

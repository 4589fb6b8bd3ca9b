//! Operations that no tape has: the engine's own.

use crate::operation::*;

/// 1 where the operand is neither infinite nor NaN, by its bits; else 0.
pub struct Finite;

impl UnaryOperation for Finite {
    const NUMBER: u32 = 28;
    const NUMERICS: Numerics = Numerics::Instruction;
    const IS_FLAT: bool = true;
    const IS_TRUTH: bool = true;

    fn apply(a: f64) -> f64 {
        f64::from(a.is_finite())
    }

    fn slope(_: &mut Graph, _: Expr, _: Expr) -> Option<Expr> {
        None
    }
}

/// 1 where the operand is NaN, by its bits; else 0.
pub struct IsNan;

impl UnaryOperation for IsNan {
    const NUMBER: u32 = 40;
    const NUMERICS: Numerics = Numerics::Instruction;
    const IS_FLAT: bool = true;
    const IS_TRUTH: bool = true;

    fn apply(a: f64) -> f64 {
        f64::from(a.is_nan())
    }

    fn slope(_: &mut Graph, _: Expr, _: Expr) -> Option<Expr> {
        None
    }
}

/// The operand, without a derivative. It exists only until a program is written.
pub struct Detach;

impl UnaryOperation for Detach {
    const NUMBER: u32 = 29;
    const NUMERICS: Numerics = Numerics::Instruction;
    const IS_FLAT: bool = true;

    fn apply(a: f64) -> f64 {
        a
    }

    fn slope(_: &mut Graph, _: Expr, _: Expr) -> Option<Expr> {
        None
    }

    fn sign(a: KnownSign) -> KnownSign {
        a
    }

    fn simpler(graph: &mut Graph, a: Expr) -> Option<Expr> {
        matches!(graph.node(a), Node::Unary(Unary::Detach, _)).then_some(a)
    }

    fn difference<'g>(a: Pair<'g>, _: Symbol<'g>, _: Symbol<'g>) -> Option<Symbol<'g>> {
        Some(a.by)
    }
}

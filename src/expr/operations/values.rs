//! Values of a tape that are not computed: numbers, inputs, components, and values put together.

use crate::operation::*;

/// A number.
pub struct Literal;

impl Instruction for Literal {
    const CODE: u32 = 0;
    const ARITY: Arity = Arity::Words(2);
    const MEANING: &'static str = "low, high word of an f64 → a scalar";
}

/// An input of the traced function.
pub struct Input;

impl Instruction for Input {
    const CODE: u32 = 1;
    const ARITY: Arity = Arity::Words(1);
    const MEANING: &'static str = "source (slots first, then data columns) → its scalars";
}

/// A component of a vector.
pub struct Component;

impl Instruction for Component {
    const CODE: u32 = 2;
    const ARITY: Arity = Arity::Words(2);
    const MEANING: &'static str = "value, index → one scalar of it";
}

/// A vector of scalars.
pub struct Pack;

impl Instruction for Pack {
    const CODE: u32 = 3;
    const ARITY: Arity = Arity::OneOrMore;
    const MEANING: &'static str = "values… → their scalars, one after the other";
    const RULE: Option<Rule> = Some(Rule {
        row: 660,
        usage: "vec(a, b, …)",
        widths: &[1, 1],
        value: "(a, b, …)",
        derivative: "the unit vectors",
        remark: "of scalars, one after the other",
        edges: &[all(&[3.0, 4.0], &[3.0, 4.0], &[1.0, 0.0, 0.0, 1.0])],
    });

    fn fits(_: &[usize]) -> bool {
        true
    }

    fn build(_: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        operands.concat()
    }
}

//! Declarations of operations: the traits that a file of [`operations`](crate::operations) implements, and what is made of all
//! of them together.
//!
//! An operation is up to two things. An [`Instruction`] is a word of a tape: an opcode, its operands, what it makes of them,
//! its line in `docs/OPERATIONS.md` and its function in TypeScript. A [`UnaryOperation`] or [`BinaryOperation`] is a node of a
//! graph: a value, a slope, a domain, simplifications and a difference. Most instructions are made of the nodes of others.

pub use crate::difference::Pair;
pub use crate::domain::{KnownSign, Operand};
pub use crate::rules::{Function, Rule, all, at, undefined};
pub use crate::{Binary, Expr, Graph, Node, Symbol, Unary};
pub use std::f64::consts;

/// How many operands an instruction takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arity {
    /// So many values.
    Values(usize),
    /// One value or more.
    OneOrMore,
    /// Words that the instruction reads by itself.
    Words(usize),
}

impl Arity {
    /// True if an instruction of this arity may have so many operands.
    pub fn fits(self, operands: usize) -> bool {
        match self {
            Self::Values(count) | Self::Words(count) => operands == count,
            Self::OneOrMore => operands > 0,
        }
    }

    /// For messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Values(1) | Self::Words(1) => "one",
            Self::Values(2) | Self::Words(2) => "two",
            Self::Values(3) | Self::Words(3) => "three",
            Self::Values(_) | Self::Words(_) => "four",
            Self::OneOrMore => "one or more",
        }
    }
}

/// An instruction of a tape.
pub trait Instruction {
    /// Its number on tapes, which stays for good: checkpoints have it.
    const CODE: u32;
    const ARITY: Arity;
    /// Operands and result, in a line.
    const MEANING: &'static str;
    /// Its line in the table of operations.
    const RULE: Option<Rule> = None;
    /// Its function in TypeScript, if that takes scalars and gives one.
    const FUNCTION: Option<Function> = None;

    /// True if it takes operands of these widths. Default: scalars.
    fn fits(widths: &[usize]) -> bool {
        widths.iter().all(|&width| width == 1)
    }

    /// The scalars of its result, of operands that fit.
    fn build(_: &mut Graph, _: &[Vec<Expr>]) -> Vec<Expr> {
        unreachable!("the tape's reader does what is not made of values alone")
    }
}

/// How devices compute an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numerics {
    /// An instruction of every processor, whose text the devices have.
    Instruction,
    /// The same, and a call in the text of kernels.
    BuiltIn(&'static str),
    /// A function of the devices' library (`shaders/functions/`, `src/cpu/block/`), by its name in kernels.
    Function(&'static str),
    /// A function of an angle that is reduced first, once for all functions of that angle.
    OfTurn(&'static str),
    /// The same, of sine and cosine: to the CPU they are one step.
    SinCos(&'static str),
}

/// What a sign before the operand comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Symmetry {
    None,
    /// f(−a) = f(a)
    Even,
    /// f(−a) = −f(a)
    Odd,
}

/// A slope ∂y/∂operand that is not 0 everywhere.
#[derive(Clone, Copy)]
pub enum Slope {
    One,
    MinusOne,
    Factor(Expr),
}

/// A node of one operand.
pub trait UnaryOperation {
    /// Its number among the nodes of both kinds, which decides the order of operands in kernels.
    const NUMBER: u32;
    const NUMERICS: Numerics;
    const SYMMETRY: Symmetry = Symmetry::None;
    /// True if its slope is 0 wherever it has one.
    const IS_FLAT: bool = false;
    /// True if its value is always 0 or 1.
    const IS_TRUTH: bool = false;

    /// The value in f64, by a library that gives the same bits on every platform.
    fn apply(a: f64) -> f64;

    /// ∂y/∂a, finite by definition: 0 where it would be infinite. `None` where it is 0 everywhere.
    fn slope(graph: &mut Graph, a: Expr, y: Expr) -> Option<Expr>;

    /// 1 where it is defined, else 0. Default: everywhere.
    fn domain(graph: &mut Graph, _: Expr, _: KnownSign) -> Expr {
        graph.constant(1.0)
    }

    /// The sign of its value, from that of its operand.
    fn sign(_: KnownSign) -> KnownSign {
        KnownSign { not_negative: Self::IS_TRUTH, positive: false }
    }

    /// What it comes to without a node of its own.
    fn simpler(_: &mut Graph, _: Expr) -> Option<Expr> {
        None
    }

    /// y₁ − y₀ without cancellation. Default: by the slope, over small steps.
    fn difference<'g>(_: Pair<'g>, from: Symbol<'g>, to: Symbol<'g>) -> Option<Symbol<'g>> {
        Self::IS_FLAT.then(|| to - from)
    }
}

/// A node of two operands.
pub trait BinaryOperation {
    /// As of a [`UnaryOperation`].
    const NUMBER: u32;
    const NUMERICS: Numerics;
    const COMMUTES: bool = false;
    const IS_TRUTH: bool = false;
    /// What it costs to compile, in instructions.
    const COST: usize = 1;

    fn apply(a: f64, b: f64) -> f64;

    fn slopes(graph: &mut Graph, operands: [Expr; 2], y: Expr) -> [Option<Slope>; 2];

    fn domain(graph: &mut Graph, _: [Operand; 2]) -> Expr {
        graph.constant(1.0)
    }

    /// The sign of its value, from those of its operands; `same` if these are one.
    fn sign(_: [KnownSign; 2], _same: bool) -> KnownSign {
        KnownSign { not_negative: Self::IS_TRUTH, positive: false }
    }

    fn simpler(_: &mut Graph, _: Expr, _: Expr) -> Option<Expr> {
        None
    }

    /// y₁ − y₀ without cancellation. Default: by subtraction.
    fn difference<'g>(_: [Pair<'g>; 2], from: Symbol<'g>, to: Symbol<'g>) -> Symbol<'g> {
        to - from
    }
}

/// The opcodes of the instructions, which come in the order of their codes.
macro_rules! instructions {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// An instruction of a tape.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u32)]
        pub enum Opcode { $($(#[$doc])* $name = <$name as Instruction>::CODE),* }

        impl Opcode {
            /// Every opcode with its name and meaning.
            pub const TABLE: &[(Self, &str, &str)] = &[$((Self::$name, stringify!($name), <$name as Instruction>::MEANING)),*];
            const ALL: [Self; Self::TABLE.len()] = [$(Self::$name),*];

            /// The operation of a word of a tape; none if there is no such operation.
            pub fn from_word(word: u32) -> Option<Self> {
                Self::ALL.get(word as usize).copied()
            }

            /// Name in messages.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }

            /// Number of operands.
            pub fn arity(self) -> Arity {
                match self { $(Self::$name => <$name as Instruction>::ARITY),* }
            }

            /// Its line in the table of operations.
            pub fn rule(self) -> Option<Rule> {
                match self { $(Self::$name => <$name as Instruction>::RULE),* }
            }

            /// Its function in TypeScript.
            pub fn function(self) -> Option<Function> {
                match self { $(Self::$name => <$name as Instruction>::FUNCTION),* }
            }

            pub(crate) fn fits(self, widths: &[usize]) -> bool {
                match self { $(Self::$name => <$name as Instruction>::fits(widths)),* }
            }

            pub(crate) fn build(self, graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
                match self { $(Self::$name => <$name as Instruction>::build(graph, operands)),* }
            }
        }

        const _: () = {
            let mut code = 0;
            while code < Opcode::ALL.len() {
                assert!(Opcode::ALL[code] as usize == code, "opcodes are numbered from 0 on");
                code += 1;
            }
        };
    };
}

/// The nodes of one operand.
macro_rules! unary_operations {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A node of one operand.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Unary { $($(#[$doc])* $name),* }

        impl Unary {
            /// All of them, in their order.
            pub const ALL: [Self; [$(stringify!($name)),*].len()] = [$(Self::$name),*];

            /// Numerics of the operation.
            pub fn numerics(self) -> Numerics {
                match self { $(Self::$name => <$name as UnaryOperation>::NUMERICS),* }
            }

            /// The value in f64, by a library that gives the same bits on every platform.
            pub fn apply(self, a: f64) -> f64 {
                match self { $(Self::$name => <$name as UnaryOperation>::apply(a)),* }
            }

            pub(crate) fn number(self) -> u32 {
                match self { $(Self::$name => <$name as UnaryOperation>::NUMBER),* }
            }

            pub(crate) fn symmetry(self) -> Symmetry {
                match self { $(Self::$name => <$name as UnaryOperation>::SYMMETRY),* }
            }

            pub(crate) fn is_flat(self) -> bool {
                match self { $(Self::$name => <$name as UnaryOperation>::IS_FLAT),* }
            }

            /// True if its value is always 0 or 1.
            pub fn is_truth(self) -> bool {
                match self { $(Self::$name => <$name as UnaryOperation>::IS_TRUTH),* }
            }

            pub(crate) fn slope(self, graph: &mut Graph, a: Expr, y: Expr) -> Option<Expr> {
                match self { $(Self::$name => <$name as UnaryOperation>::slope(graph, a, y)),* }
            }

            pub(crate) fn domain(self, graph: &mut Graph, a: Expr, sign: KnownSign) -> Expr {
                match self { $(Self::$name => <$name as UnaryOperation>::domain(graph, a, sign)),* }
            }

            pub(crate) fn sign(self, a: KnownSign) -> KnownSign {
                match self { $(Self::$name => <$name as UnaryOperation>::sign(a)),* }
            }

            pub(crate) fn simpler(self, graph: &mut Graph, a: Expr) -> Option<Expr> {
                match self { $(Self::$name => <$name as UnaryOperation>::simpler(graph, a)),* }
            }

            pub(crate) fn difference<'g>(self, a: Pair<'g>, from: Symbol<'g>, to: Symbol<'g>) -> Option<Symbol<'g>> {
                match self { $(Self::$name => <$name as UnaryOperation>::difference(a, from, to)),* }
            }
        }
    };
}

/// The nodes of two operands.
macro_rules! binary_operations {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A node of two operands.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Binary { $($(#[$doc])* $name),* }

        impl Binary {
            /// All of them, in their order.
            pub const ALL: [Self; [$(stringify!($name)),*].len()] = [$(Self::$name),*];

            /// Numerics of the operation.
            pub fn numerics(self) -> Numerics {
                match self { $(Self::$name => <$name as BinaryOperation>::NUMERICS),* }
            }

            /// What it costs to compile, in instructions.
            pub fn cost(self) -> usize {
                match self { $(Self::$name => <$name as BinaryOperation>::COST),* }
            }

            /// The value in f64, by a library that gives the same bits on every platform.
            pub fn apply(self, a: f64, b: f64) -> f64 {
                match self { $(Self::$name => <$name as BinaryOperation>::apply(a, b)),* }
            }

            /// True if the operands can change places.
            pub fn commutes(self) -> bool {
                match self { $(Self::$name => <$name as BinaryOperation>::COMMUTES),* }
            }

            /// True if its value is always 0 or 1.
            pub fn is_truth(self) -> bool {
                match self { $(Self::$name => <$name as BinaryOperation>::IS_TRUTH),* }
            }

            pub(crate) fn number(self) -> u32 {
                match self { $(Self::$name => <$name as BinaryOperation>::NUMBER),* }
            }

            pub(crate) fn slopes(self, graph: &mut Graph, operands: [Expr; 2], y: Expr) -> [Option<Slope>; 2] {
                match self { $(Self::$name => <$name as BinaryOperation>::slopes(graph, operands, y)),* }
            }

            pub(crate) fn domain(self, graph: &mut Graph, operands: [Operand; 2]) -> Expr {
                match self { $(Self::$name => <$name as BinaryOperation>::domain(graph, operands)),* }
            }

            pub(crate) fn sign(self, operands: [KnownSign; 2], same: bool) -> KnownSign {
                match self { $(Self::$name => <$name as BinaryOperation>::sign(operands, same)),* }
            }

            pub(crate) fn simpler(self, graph: &mut Graph, a: Expr, b: Expr) -> Option<Expr> {
                match self { $(Self::$name => <$name as BinaryOperation>::simpler(graph, a, b)),* }
            }

            pub(crate) fn difference<'g>(self, operands: [Pair<'g>; 2], from: Symbol<'g>, to: Symbol<'g>) -> Symbol<'g> {
                match self { $(Self::$name => <$name as BinaryOperation>::difference(operands, from, to)),* }
            }
        }
    };
}

pub(crate) use {binary_operations, instructions, unary_operations};

/// The operands of an instruction that takes `N` values.
pub fn values<const N: usize>(operands: &[Vec<Expr>]) -> [&[Expr]; N] {
    std::array::from_fn(|k| &operands[k][..])
}

/// The operands of an instruction that takes `N` scalars.
pub fn scalars<const N: usize>(operands: &[Vec<Expr>]) -> [Expr; N] {
    std::array::from_fn(|k| operands[k][0])
}

/// True if all operands are of one width.
pub fn equal(widths: &[usize]) -> bool {
    widths.iter().all(|&width| width == widths[0])
}

/// True for two operands of one width, or a scalar and any other.
pub fn broadcasts(widths: &[usize]) -> bool {
    matches!(widths, &[a, b] if a == b || a == 1 || b == 1)
}

/// An operation on every element.
pub fn each(graph: &mut Graph, operation: Unary, operands: &[Vec<Expr>]) -> Vec<Expr> {
    operands[0].iter().map(|&x| graph.unary(operation, x)).collect()
}

/// An operation on the elements of two operands that [broadcast](broadcasts).
pub fn broadcast(graph: &mut Graph, operation: Binary, operands: &[Vec<Expr>]) -> Vec<Expr> {
    let [a, b] = values(operands);
    let at = |v: &[Expr], k: usize| if v.len() == 1 { v[0] } else { v[k] };
    // A vector of no elements stays one.
    let width = if a.is_empty() || b.is_empty() { 0 } else { a.len().max(b.len()) };
    (0..width).map(|k| graph.binary(operation, at(a, k), at(b, k))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Leaf;

    /// A graph with two leaves.
    fn leaves() -> (Graph, [Expr; 2]) {
        let mut graph = Graph::new();
        let leaves = [0, 1].map(|slot| graph.leaf(Leaf::Slot { slot, component: 0 }));
        (graph, leaves)
    }

    #[test]
    fn what_is_flat_has_no_slope_and_nothing_else_has_none() {
        for operation in Unary::ALL {
            let (mut graph, [a, _]) = leaves();
            let y = graph.unary(operation, a);
            assert_eq!(operation.slope(&mut graph, a, y).is_none(), operation.is_flat(), "{operation:?}");
        }
        for operation in Binary::ALL {
            let (mut graph, operands) = leaves();
            let y = graph.binary(operation, operands[0], operands[1]);
            let slopes = operation.slopes(&mut graph, operands, y);
            assert!(slopes.iter().all(|slope| slope.is_none() == operation.is_truth()), "{operation:?}");
        }
    }

    #[test]
    fn symmetries_and_truths_are_those_of_the_values() {
        for operation in Unary::ALL {
            for a in [0.25, 0.75, 1.5, 3.0, 20.0] {
                let [there, mirrored] = [a, -a].map(|a| operation.apply(a));
                match operation.symmetry() {
                    Symmetry::Even => assert!(there == mirrored || there.is_nan(), "{operation:?}({a})"),
                    Symmetry::Odd => assert!(there == -mirrored || there.is_nan(), "{operation:?}({a})"),
                    Symmetry::None => {}
                }
                assert!(!operation.is_truth() || matches!(there, 0.0 | 1.0), "{operation:?}({a})");
            }
        }
    }
}

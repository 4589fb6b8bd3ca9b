//! Element by element.

use super::super::formula::Formula;
use super::super::graph::{Graph, Node, Op};
use super::super::view::Movement;
use super::refuse;
use leastwise_cpu::half;
use leastwise_error::Error;
use leastwise_expr::{Binary, Expr, Graph as Scalars, Unary};
use std::sync::Arc;

/// Method of tensors that applies an operation, by its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// The tensor alone.
    One,
    /// The tensor, and another or a number.
    Two,
    /// Not generated: methods or functions by hand apply it.
    Free,
}

/// Elementwise operations by name: operands of the method that applies each, its documentation in TypeScript, and the formula,
/// whose derivative is taken symbolically.
macro_rules! elementwise {
    ($($name:literal, $takes:expr, $description:literal => $formula:expr;)*) => {
        /// Name, operands and documentation of every operation, in the order of the methods.
        pub const ELEMENTWISE: &[(&str, Takes, &str)] = &[$(($name, $takes, $description)),*];

        /// The formula of an operation by its name.
        pub fn elementwise(name: &str) -> Option<Arc<Formula>> {
            Some(match name {
                $($name => $formula,)*
                _ => return None,
            })
        }
    };
}

elementwise! {
    "add", Takes::Two, "this + o" => Formula::binary(Binary::Add);
    "sub", Takes::Two, "this − o" => Formula::binary(Binary::Sub);
    "mul", Takes::Two, "this · o, element by element" => Formula::binary(Binary::Mul);
    "div", Takes::Two, "this / o" => Formula::binary(Binary::Div);
    "maximum", Takes::Two, "The larger one; NaN where one is. Where both are equal, the gradient goes to the left one." => extreme(Scalars::max);
    "minimum", Takes::Two, "The smaller one; NaN where one is. Where both are equal, the gradient goes to the left one." => extreme(Scalars::min);
    "less", Takes::Two, "Where this < o." => Formula::binary(Binary::Lt);
    "lessEqual", Takes::Two, "Where this ≤ o." => Formula::binary(Binary::Le);
    "equal", Takes::Two, "Where both are equal." => Formula::new(2, |graph, x| graph.equal(x[0], x[1]));
    "neg", Takes::One, "" => Formula::unary(Unary::Neg);
    "abs", Takes::One, "|x|; its slope at 0 is 0." => Formula::unary(Unary::Abs);
    "sign", Takes::One, "−1, 0 or 1; NaN of NaN. Its slope is 0." => Formula::new(1, |graph, x| {
        let (sign, is_nan) = (graph.sign(x[0]), graph.unary(Unary::IsNan, x[0]));
        let still = graph.unary(Unary::Detach, x[0]);
        graph.select(is_nan, still, sign)
    });
    "isNaN", Takes::One, "Where this is NaN." => Formula::unary(Unary::IsNan);
    "floor", Takes::One, "" => Formula::unary(Unary::Floor);
    "ceil", Takes::One, "" => Formula::unary(Unary::Ceil);
    "round", Takes::One, "To the nearest whole number; halves to the even one." => Formula::unary(Unary::Round);
    "square", Takes::One, "" => Formula::new(1, |graph, x| graph.square(x[0]));
    "sqrt", Takes::One, "√x; its slope at 0 is 0." => Formula::unary(Unary::Sqrt);
    "rsqrt", Takes::One, "1/√x" => Formula::with_limits(
        1,
        |graph, x| {
            let root = graph.unary(Unary::Sqrt, x[0]);
            graph.reciprocal(root)
        },
        |graph, x, y, _| {
            let quotient = graph.div(y, x[0]);
            let slope = graph.times(quotient, -0.5);
            graph.mul(x[1], slope)
        },
    );
    "cbrt", Takes::One, "" => Formula::unary(Unary::Cbrt);
    "exp", Takes::One, "" => Formula::unary(Unary::Exp);
    "exp2", Takes::One, "" => Formula::unary(Unary::Exp2);
    "expm1", Takes::One, "exp(x) − 1, exact for small x" => Formula::unary(Unary::Expm1);
    "log", Takes::One, "" => Formula::unary(Unary::Log);
    "log1p", Takes::One, "log(1 + x), exact for small x" => Formula::unary(Unary::Log1p);
    "sin", Takes::One, "" => Formula::unary(Unary::Sin);
    "cos", Takes::One, "" => Formula::unary(Unary::Cos);
    "tan", Takes::One, "" => Formula::unary(Unary::Tan);
    "tanh", Takes::One, "" => Formula::unary(Unary::Tanh);
    "erf", Takes::One, "2/√π ∫₀ˣ exp(−t²) dt" => Formula::unary(Unary::Erf);
    "relu", Takes::One, "max(x, 0); its slope at 0 is 0." => Formula::with_limits(
        1,
        |graph, x| {
            // NaN stays NaN.
            let zero = graph.constant(0.0);
            let is_out = graph.less_equal(x[0], zero);
            graph.select(is_out, zero, x[0])
        },
        |graph, x, _, _| {
            let zero = graph.constant(0.0);
            let is_in = graph.less(zero, x[0]);
            graph.select(is_in, x[1], zero)
        },
    );
    "sigmoid", Takes::One, "1/(1 + exp(−x))" => Formula::unary(Unary::Sigmoid);
    "gelu", Takes::One, "x Φ(x), Φ the normal distribution's, in the form with tanh (Hendrycks & Gimpel 2016): ½x(1 + tanh(√(2/π)(x + 0.044715x³)))." => gelu();
    "silu", Takes::One, "x · sigmoid(x)" => Formula::new(1, |graph, x| {
        let gate = graph.unary(Unary::Sigmoid, x[0]);
        graph.mul(x[0], gate)
    });
    "softplus", Takes::One, "log(1 + exp(x))" => Formula::unary(Unary::Softplus);
    "pow", Takes::Free, "" => Formula::binary(Binary::Pow);
    "where", Takes::Free, "" => Formula::new(3, |graph, x| graph.select(x[0], x[1], x[2]));
}

/// The larger or the smaller one of two; the one that is NaN, if one is. Where slopes are limits, equal ones have ½ each, and beside
/// NaN both have 0.
fn extreme(of: impl FnOnce(&mut Scalars, Expr, Expr) -> Expr) -> Arc<Formula> {
    Formula::with_limits(
        2,
        |graph, x| {
            let value = of(graph, x[0], x[1]);
            let [left, right] = [x[0], x[1]].map(|x| graph.unary(Unary::IsNan, x));
            let value = graph.select(right, x[1], value);
            graph.select(left, x[0], value)
        },
        |graph, x, y, k| {
            let [own, other] = [x[k as usize], x[1 - k as usize]].map(|x| graph.equal(x, y));
            let (half, one) = (graph.constant(0.5), graph.constant(1.0));
            let share = graph.select(other, half, one);
            let slope = graph.mul(own, share);
            graph.mul(x[2], slope)
        },
    )
}

/// 1 where the first operand is the extreme, which is the second one: all that is NaN, where the extreme is.
pub(crate) fn is_extreme() -> Arc<Formula> {
    Formula::new(2, |graph, x| {
        let [own, of_extreme] = [x[0], x[1]].map(|x| graph.unary(Unary::IsNan, x));
        let equal = graph.equal(x[0], x[1]);
        graph.select(of_extreme, own, equal)
    })
}

/// ½x(1 + tanh(√(2/π)(x + 0.044715 x³))) (Hendrycks & Gimpel, "Gaussian Error Linear Units", 2016).
pub fn gelu() -> Arc<Formula> {
    Formula::new(1, |graph, x| {
        let cube = graph.power(x[0], 3);
        let bent = graph.times(cube, 0.044715);
        let sum = graph.add(x[0], bent);
        let scaled = graph.times(sum, (2.0 / std::f64::consts::PI).sqrt());
        let tanh = graph.unary(Unary::Tanh, scaled);
        let one = graph.constant(1.0);
        let gate = graph.add(one, tanh);
        let half = graph.times(x[0], 0.5);
        graph.mul(half, gate)
    })
}

impl Graph {
    /// A tensor of this shape with the same number everywhere.
    pub fn constant(&mut self, value: f64, shape: &[u32]) -> Node {
        self.add(Op::Constant(value), Vec::new(), shape.to_vec())
    }

    /// 0, 1, 2… in row-major order.
    pub fn count(&mut self, shape: &[u32]) -> Result<Node, Error> {
        let shape = Self::checked("count", shape.to_vec())?;
        Ok(self.add(Op::Count, Vec::new(), shape))
    }

    /// A formula of operands that broadcast to one shape.
    pub fn map(&mut self, name: &str, formula: &Arc<Formula>, operands: &[Node]) -> Result<Node, Error> {
        if operands.len() != formula.operands as usize {
            return refuse(name, format!("it takes {} operands, not {}", formula.operands, operands.len()));
        }
        let shapes: Vec<&[u32]> = operands.iter().map(|&node| self.known(node).map(|node| self.shape(node))).collect::<Result<_, _>>()?;
        let shape = Self::broadcast(name, &shapes)?;
        let operands = operands.iter().map(|&node| self.broadcast_to(name, node, &shape)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.add(Op::Map(formula.clone()), operands, shape))
    }

    /// The elementwise operation of this name, of operands that are broadcast to one shape.
    ///
    /// # Errors
    /// [`Error`] for an unknown name, another number of operands, and shapes that do not fit.
    pub fn apply(&mut self, name: &str, operands: &[Node]) -> Result<Node, Error> {
        match self.formula(name) {
            Some(formula) => self.map(name, &formula, operands),
            None => refuse(name, "there is no such operation".into()),
        }
    }

    /// An operation with a number.
    pub fn apply_number(&mut self, name: &str, node: Node, number: f64) -> Result<Node, Error> {
        let number = self.constant(number, &[]);
        self.apply(name, &[node, number])
    }

    /// The same elements along axes of size 1, and along axes before the first.
    pub fn broadcast_to(&mut self, name: &str, node: Node, shape: &[u32]) -> Result<Node, Error> {
        let own = self.shape(self.known(node)?).to_vec();
        if own == shape {
            return Ok(node);
        }
        if let Op::Constant(value) = self.entry(node).op {
            return Ok(self.constant(value, shape));
        }
        let common = Self::broadcast(name, &[&own, shape])?;
        if common != shape {
            return refuse(name, format!("{} does not broadcast to {}", super::shown(&own), super::shown(shape)));
        }
        let mut padded = vec![1; shape.len() - own.len()];
        padded.extend(&own);
        let whole = self.moved(node, Movement::Reshape(padded));
        Ok(self.moved(whole, Movement::Expand(shape.to_vec())))
    }

    /// Rounded to halves, of two at the same distance to the one whose last bit is 0, and kept as such. Whatever is computed of
    /// them is computed of the numbers that they stand for.
    pub fn half(&mut self, node: Node) -> Result<Node, Error> {
        let entry = self.entry(self.known(node)?);
        if entry.half {
            return Ok(node);
        }
        let shape = entry.shape.clone();
        // A number may be an f64's, which is not to be rounded twice.
        let node = match entry.op {
            Op::Constant(value) => self.constant(half::value(half::rounded_double(value)).into(), &shape),
            _ => node,
        };
        Ok(self.add(Op::Half, vec![node], shape))
    }

    /// The numbers that halves stand for, also of a movement of halves; anything else is itself. Kernels that are written by hand
    /// read numbers.
    pub fn widened(&mut self, node: Node) -> Node {
        let mut base = node;
        while let Op::Move(_) | Op::Detach = self.entry(base).op {
            base = self.entry(base).inputs[0];
        }
        if !self.entry(base).half {
            return node;
        }
        let shape = self.shape(node).to_vec();
        self.add(Op::Map(Formula::new(1, |_, x| x[0])), vec![node], shape)
    }

    /// Without a gradient.
    pub fn detach(&mut self, node: Node) -> Result<Node, Error> {
        let shape = self.shape(self.known(node)?).to_vec();
        Ok(self.add(Op::Detach, vec![node], shape))
    }
}

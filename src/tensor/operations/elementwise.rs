//! Element by element.

use super::super::formula::{Formula, known};
use super::super::graph::{Graph, Node, Op};
use super::super::view::Movement;
use super::refuse;
use leastwise_cpu::half;
use leastwise_error::Error;
use leastwise_expr::{Binary, Unary};
use std::sync::Arc;

/// The formula of an operation by its name.
pub fn elementwise(name: &str) -> Option<Arc<Formula>> {
    let unary = |operation| Some(Formula::unary(operation));
    let binary = |operation| Some(Formula::binary(operation));
    match name {
        "neg" => unary(Unary::Neg),
        "abs" => unary(Unary::Abs),
        "floor" => unary(Unary::Floor),
        "ceil" => unary(Unary::Ceil),
        "round" => unary(Unary::Round),
        "sqrt" => unary(Unary::Sqrt),
        "cbrt" => unary(Unary::Cbrt),
        "exp" => unary(Unary::Exp),
        "exp2" => unary(Unary::Exp2),
        "expm1" => unary(Unary::Expm1),
        "log" => unary(Unary::Log),
        "log1p" => unary(Unary::Log1p),
        "sin" => unary(Unary::Sin),
        "cos" => unary(Unary::Cos),
        "tan" => unary(Unary::Tan),
        "tanh" => unary(Unary::Tanh),
        "erf" => unary(Unary::Erf),
        "sigmoid" => unary(Unary::Sigmoid),
        "softplus" => unary(Unary::Softplus),
        "add" => binary(Binary::Add),
        "sub" => binary(Binary::Sub),
        "mul" => binary(Binary::Mul),
        "div" => binary(Binary::Div),
        "pow" => binary(Binary::Pow),
        "less" => binary(Binary::Lt),
        "lessEqual" => binary(Binary::Le),
        "relu" => Some(known::relu()),
        "gelu" => Some(known::gelu()),
        "silu" => Some(known::silu()),
        "square" => Some(known::square()),
        "rsqrt" => Some(known::reciprocal_root()),
        "sign" => Some(known::sign()),
        "maximum" => Some(known::maximum()),
        "minimum" => Some(known::minimum()),
        "equal" => Some(known::equal()),
        "where" => Some(known::select()),
        _ => None,
    }
}

impl Graph {
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

    pub fn apply(&mut self, name: &str, operands: &[Node]) -> Result<Node, Error> {
        match elementwise(name) {
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

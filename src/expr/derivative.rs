//! Symbolic differentiation: reverse sweeps for gradients, forward sweeps for directions, forward over reverse for
//! second derivatives (Griewank & Walther, *Evaluating Derivatives*, 2nd ed., sections 3.1, 3.2 and 5.1, on symbols
//! instead of numbers).
//!
//! Derivatives are expressions of the same graph, so what several entries share is computed once. At kinks and at the
//! edges of domains they are finite by definition: where a slope would be infinite it is 0.

use super::{Binary, Expr, Graph, Node, Unary};

/// The slopes ∂y/∂operand of a node, with the operands.
type Slopes = [Option<(Expr, Slope)>; 2];

#[derive(Clone, Copy)]
enum Slope {
    One,
    MinusOne,
    Factor(Expr),
}

impl Graph {
    /// ∂`output`/∂x for every x of `inputs`, by one sweep from the output back to the leaves.
    pub fn gradient(&mut self, output: Expr, inputs: &[Expr]) -> Vec<Expr> {
        let zero = self.constant(0.0);
        let mut adjoint: Vec<Option<Expr>> = vec![None; output.0 as usize + 1];
        adjoint[output.0 as usize] = Some(self.constant(1.0));
        for index in (0..=output.0).rev() {
            let Some(g) = adjoint[index as usize] else { continue };
            let y = Expr(index);
            let mut give = |graph: &mut Self, operand: Expr, amount: Expr| {
                let entry = &mut adjoint[operand.0 as usize];
                *entry = Some(entry.map_or(amount, |sum| graph.add_masked(sum, amount)));
            };
            match self.node(y) {
                Node::Const(_) | Node::Leaf(_) => {}
                Node::Select { condition, then, otherwise } => {
                    let taken = self.select(condition, g, zero);
                    give(self, then, taken);
                    let taken = self.select(condition, zero, g);
                    give(self, otherwise, taken);
                }
                // (g/b) once for both operands.
                Node::Binary(Binary::Div, a, b) => {
                    let quotient = self.div(g, b);
                    give(self, a, quotient);
                    let scaled = self.mul(quotient, y);
                    let minus = self.neg(scaled);
                    give(self, b, minus);
                }
                Node::Unary(..) | Node::Binary(..) => {
                    for (operand, slope) in self.slopes(y).into_iter().flatten() {
                        let amount = self.scaled(g, slope);
                        give(self, operand, amount);
                    }
                }
            }
        }
        inputs.iter().map(|input| adjoint.get(input.0 as usize).copied().flatten().unwrap_or(zero)).collect()
    }

    /// The derivative of every output in the direction that `directions` gives for the `inputs`: J·d, by one sweep from
    /// the leaves on.
    pub fn tangents(&mut self, outputs: &[Expr], inputs: &[Expr], directions: &[Expr]) -> Vec<Expr> {
        let zero = self.constant(0.0);
        let Some(last) = outputs.iter().max() else { return Vec::new() };
        let mut tangent: Vec<Option<Expr>> = vec![None; last.0 as usize + 1];
        for (input, direction) in inputs.iter().zip(directions) {
            if let Some(entry) = tangent.get_mut(input.0 as usize) {
                *entry = Some(*direction).filter(|direction| *direction != zero);
            }
        }
        for index in 0..=last.0 {
            let y = Expr(index);
            if !self.operands(y).any(|operand| tangent[operand.0 as usize].is_some()) {
                continue;
            }
            let along = |operand: Expr| tangent[operand.0 as usize];
            let result = match self.node(y) {
                Node::Const(_) | Node::Leaf(_) => continue,
                Node::Select { condition, then, otherwise } => {
                    let (then, otherwise) = (along(then).unwrap_or(zero), along(otherwise).unwrap_or(zero));
                    self.select(condition, then, otherwise)
                }
                Node::Unary(..) | Node::Binary(..) => {
                    let moving = self.slopes(y).into_iter().flatten().filter_map(|(operand, slope)| Some((along(operand)?, slope)));
                    let moving: Vec<(Expr, Slope)> = moving.collect();
                    moving.into_iter().fold(zero, |sum, (direction, slope)| {
                        let part = self.scaled(direction, slope);
                        self.add(sum, part)
                    })
                }
            };
            tangent[index as usize] = Some(result).filter(|result| *result != zero);
        }
        outputs.iter().map(|output| tangent[output.0 as usize].unwrap_or(zero)).collect()
    }

    /// H·d for the Hessian H of `output`: the gradient's derivative in the direction d.
    pub fn hessian_product(&mut self, output: Expr, inputs: &[Expr], directions: &[Expr]) -> Vec<Expr> {
        let gradient = self.gradient(output, inputs);
        self.tangents(&gradient, inputs, directions)
    }

    /// The lower triangle of the Hessian, row by row: ∂²`output`/∂xᵢ∂xⱼ for j ≤ i.
    pub fn hessian(&mut self, output: Expr, inputs: &[Expr]) -> Vec<Expr> {
        let gradient = self.gradient(output, inputs);
        self.hessian_of_gradient(&gradient, inputs)
    }

    /// The same from a gradient that is there already.
    pub fn hessian_of_gradient(&mut self, gradient: &[Expr], inputs: &[Expr]) -> Vec<Expr> {
        let (zero, one) = (self.constant(0.0), self.constant(1.0));
        let mut columns = Vec::new();
        for column in 0..inputs.len() {
            let mut direction = vec![zero; inputs.len()];
            direction[column] = one;
            // Column j is needed from its diagonal down.
            columns.push(self.tangents(&gradient[column..], inputs, &direction));
        }
        (0..inputs.len())
            .flat_map(|row| (0..=row).map(move |column| (row, column)))
            .map(|(row, column)| columns[column][row - column])
            .collect()
    }

    fn scaled(&mut self, g: Expr, slope: Slope) -> Expr {
        match slope {
            Slope::One => g,
            Slope::MinusOne => self.neg(g),
            Slope::Factor(factor) => self.mul(g, factor),
        }
    }

    /// The slopes of a unary or binary node.
    fn slopes(&mut self, y: Expr) -> Slopes {
        let factor = |operand: Expr, slope: Expr| Some((operand, Slope::Factor(slope)));
        match self.node(y) {
            Node::Unary(operation, a) => match operation {
                Unary::Neg => [Some((a, Slope::MinusOne)), None],
                _ => [self.unary_slope(operation, a, y).map(|slope| (a, Slope::Factor(slope))), None],
            },
            Node::Binary(operation, a, b) => match operation {
                Binary::Add => [Some((a, Slope::One)), Some((b, Slope::One))],
                Binary::Sub => [Some((a, Slope::One)), Some((b, Slope::MinusOne))],
                Binary::Mul => [factor(a, b), factor(b, a)],
                Binary::Div => {
                    let one = self.constant(1.0);
                    let inverse = self.div(one, b);
                    let scaled = self.mul(inverse, y);
                    [factor(a, inverse), factor(b, self.neg(scaled))]
                }
                Binary::Pow => {
                    let (base, exponent) = self.pow_slopes(a, b, y);
                    [factor(a, base), factor(b, exponent)]
                }
                Binary::Atan2 => {
                    let (left, right) = (self.square(a), self.square(b));
                    let squared = self.add(left, right);
                    let of_a = self.div_safe(b, squared);
                    let of_b = self.div_safe(a, squared);
                    [factor(a, of_a), factor(b, self.neg(of_b))]
                }
                Binary::Lt | Binary::Le | Binary::And | Binary::Or => [None, None],
            },
            Node::Const(_) | Node::Leaf(_) | Node::Select { .. } => [None, None],
        }
    }

    /// ∂y/∂a for y = operation(a).
    pub(super) fn slope_of(&mut self, operation: Unary, a: Expr, y: Expr) -> Expr {
        let zero = self.constant(0.0);
        self.unary_slope(operation, a, y).unwrap_or(zero)
    }

    /// The same; none where it is 0 everywhere.
    fn unary_slope(&mut self, operation: Unary, a: Expr, y: Expr) -> Option<Expr> {
        let one = self.constant(1.0);
        Some(match operation {
            Unary::Neg => self.constant(-1.0),
            Unary::Abs => self.sign(a),
            Unary::Floor | Unary::Ceil | Unary::Round | Unary::Not | Unary::Finite | Unary::Detach => return None,
            Unary::Sqrt => {
                let half = self.constant(0.5);
                self.div_safe(half, y)
            }
            Unary::Cbrt => {
                let third = self.constant(1.0 / 3.0);
                let squared = self.square(y);
                self.div_safe(third, squared)
            }
            Unary::Exp => y,
            Unary::Exp2 => {
                let ln2 = self.constant(std::f64::consts::LN_2);
                self.mul(ln2, y)
            }
            Unary::Expm1 => self.unary(Unary::Exp, a),
            Unary::Log => self.div_safe(one, a),
            Unary::Log1p => {
                let sum = self.add(one, a);
                self.div_safe(one, sum)
            }
            Unary::Sin => self.unary(Unary::Cos, a),
            Unary::Cos => {
                let sine = self.unary(Unary::Sin, a);
                self.neg(sine)
            }
            Unary::Tan => {
                let squared = self.square(y);
                self.add(one, squared)
            }
            Unary::Asin => self.arc_slope(a),
            Unary::Acos => {
                let slope = self.arc_slope(a);
                self.neg(slope)
            }
            Unary::Atan => {
                let squared = self.square(a);
                let sum = self.add(one, squared);
                self.div(one, sum)
            }
            Unary::Sinh => self.unary(Unary::Cosh, a),
            Unary::Cosh => self.unary(Unary::Sinh, a),
            Unary::Tanh => {
                let squared = self.square(y);
                self.sub(one, squared)
            }
            Unary::Asinh => {
                let squared = self.square(a);
                let sum = self.add(squared, one);
                let root = self.unary(Unary::Sqrt, sum);
                self.div(one, root)
            }
            Unary::Acosh => {
                let (below, above) = (self.sub(a, one), self.add(a, one));
                let product = self.mul(below, above);
                let root = self.unary(Unary::Sqrt, product);
                self.div_safe(one, root)
            }
            Unary::Atanh => {
                let (below, above) = (self.sub(one, a), self.add(one, a));
                let product = self.mul(below, above);
                self.div_safe(one, product)
            }
            Unary::Erf => {
                let squared = self.square(a);
                let exponent = self.neg(squared);
                let bell = self.unary(Unary::Exp, exponent);
                let scale = self.constant(std::f64::consts::FRAC_2_SQRT_PI);
                self.mul(scale, bell)
            }
            Unary::Sigmoid => {
                // 1 − y would lose its digits where y is near 1.
                let minus = self.neg(a);
                let complement = self.unary(Unary::Sigmoid, minus);
                self.mul(y, complement)
            }
            Unary::Softplus => self.unary(Unary::Sigmoid, a),
        })
    }

    /// 1/√(1 − a²), and 0 at ±1.
    fn arc_slope(&mut self, a: Expr) -> Expr {
        let one = self.constant(1.0);
        let (below, above) = (self.sub(one, a), self.add(one, a));
        let product = self.mul(below, above);
        let root = self.unary(Unary::Sqrt, product);
        self.div_safe(one, root)
    }

    /// b·aᵇ⁻¹ and aᵇ ln a. At a = 0 the first is 0 for b < 1, where it would be infinite, and so is the second. Below 0 the
    /// first is NaN unless b is whole, as the power itself, and the second is NaN.
    fn pow_slopes(&mut self, a: Expr, b: Expr, y: Expr) -> (Expr, Expr) {
        let (zero, one) = (self.constant(0.0), self.constant(1.0));
        let at_zero = self.equal(a, zero);
        let is_less = self.less(b, one);
        let infinite = self.and(at_zero, is_less);
        let lowered = self.sub(b, one);
        let power = self.binary(Binary::Pow, a, lowered);
        let slope = self.mul(b, power);
        let of_base = self.select(infinite, zero, slope);
        let logarithm = self.unary(Unary::Log, a);
        let slope = self.mul(y, logarithm);
        let of_exponent = self.select(at_zero, zero, slope);
        (of_base, of_exponent)
    }
}

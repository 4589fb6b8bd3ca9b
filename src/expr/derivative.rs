//! Symbolic differentiation: reverse sweeps for gradients, forward sweeps for directions, forward over reverse for
//! second derivatives (Griewank & Walther, *Evaluating Derivatives*, 2nd ed., sections 3.1, 3.2 and 5.1, on symbols
//! instead of numbers).
//!
//! Derivatives are expressions of the same graph, so what several entries share is computed once. At kinks and at the
//! edges of domains they are finite by definition: where a slope would be infinite it is 0. In a graph that
//! [has limits](Graph::has_limits) slopes are what IEEE 754 makes of their formulas, as JAX's are.

use super::operation::Slope;
use super::{Binary, Expr, Graph, Node, Unary};

/// The slopes ∂y/∂operand of a node, with the operands.
type Slopes = [Option<(Expr, Slope)>; 2];

impl Graph {
    /// ∂`output`/∂x for every x of `inputs`, by one sweep from the output back to the leaves.
    pub fn gradient(&mut self, output: Expr, inputs: &[Expr]) -> Vec<Expr> {
        let zero = self.constant(0.0);
        let one = self.constant(1.0);
        self.pulled(output, [zero, one], inputs)
    }

    /// g · ∂`output`/∂x for every x of `inputs`, of zero and g.
    pub fn pulled(&mut self, output: Expr, [zero, g]: [Expr; 2], inputs: &[Expr]) -> Vec<Expr> {
        let mut adjoint: Vec<Option<Expr>> = vec![None; output.0 as usize + 1];
        adjoint[output.0 as usize] = Some(g);
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
        match self.node(y) {
            Node::Unary(Unary::Neg, a) => [Some((a, Slope::MinusOne)), None],
            Node::Unary(operation, a) => [self.unary_slope(operation, a, y).map(|slope| (a, Slope::Factor(slope))), None],
            Node::Binary(operation, a, b) => {
                let [of_a, of_b] = operation.slopes(self, [a, b], y);
                [of_a.map(|slope| (a, slope)), of_b.map(|slope| (b, slope))]
            }
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
        // Before all slopes: the numbers of nodes decide the order of operands in kernels.
        self.constant(1.0);
        operation.slope(self, a, y)
    }
}

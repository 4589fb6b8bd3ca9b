//! Reverse-mode symbolic differentiation.

use super::{Binary, Expr, Graph, Node, Unary};

impl Graph {
    /// ∂`output`/∂x for every x of `inputs`, by one sweep from the output back to the leaves
    /// (Griewank & Walther, *Evaluating Derivatives*, 2nd ed., section 3.2, on symbols instead of numbers).
    ///
    /// The adjoint of a node is an expression of the same graph, so what several entries share is computed once.
    /// At kinks: (√x)′ = 0 at x ≤ 0, hence ‖v‖′ = 0 at v = 0; `select` is differentiated through the branch taken.
    pub fn gradient(&mut self, output: Expr, inputs: &[Expr]) -> Vec<Expr> {
        let zero = self.constant(0.0);
        let mut adjoint: Vec<Option<Expr>> = vec![None; output.0 as usize + 1];
        adjoint[output.0 as usize] = Some(self.constant(1.0));
        for index in (0..=output.0).rev() {
            let Some(g) = adjoint[index as usize] else { continue };
            let y = Expr(index);
            let mut give = |graph: &mut Self, operand: Expr, amount: Expr| {
                let entry = &mut adjoint[operand.0 as usize];
                *entry = Some(entry.map_or(amount, |sum| graph.add(sum, amount)));
            };
            match self.node(y) {
                Node::Const(_) | Node::Leaf(_) => {}
                Node::Unary(operation, a) => {
                    if let Some(amount) = self.unary_adjoint(operation, a, y, g) {
                        give(self, a, amount);
                    }
                }
                Node::Binary(Binary::Add, a, b) => {
                    give(self, a, g);
                    give(self, b, g);
                }
                Node::Binary(Binary::Sub, a, b) => {
                    give(self, a, g);
                    let minus = self.neg(g);
                    give(self, b, minus);
                }
                Node::Binary(Binary::Mul, a, b) => {
                    let left = self.mul(g, b);
                    give(self, a, left);
                    let right = self.mul(g, a);
                    give(self, b, right);
                }
                Node::Binary(Binary::Div, a, b) => {
                    let quotient = self.div(g, b);
                    give(self, a, quotient);
                    let scaled = self.mul(quotient, y);
                    let minus = self.neg(scaled);
                    give(self, b, minus);
                }
                Node::Binary(Binary::Lt | Binary::Le | Binary::And | Binary::Or, ..) => {}
                Node::Select { condition, then, otherwise } => {
                    let taken = self.select(condition, g, zero);
                    give(self, then, taken);
                    let taken = self.select(condition, zero, g);
                    give(self, otherwise, taken);
                }
            }
        }
        inputs.iter().map(|input| adjoint.get(input.0 as usize).copied().flatten().unwrap_or(zero)).collect()
    }

    /// g · ∂y/∂a for y = operation(a).
    fn unary_adjoint(&mut self, operation: Unary, a: Expr, y: Expr, g: Expr) -> Option<Expr> {
        Some(match operation {
            Unary::Neg => self.neg(g),
            Unary::Sqrt => {
                let half = self.constant(0.5);
                let slope = self.div_safe(half, y);
                self.mul(g, slope)
            }
            Unary::Sin => {
                let slope = self.unary(Unary::Cos, a);
                self.mul(g, slope)
            }
            Unary::Cos => {
                let slope = self.unary(Unary::Sin, a);
                let product = self.mul(g, slope);
                self.neg(product)
            }
            Unary::Not => return None,
        })
    }
}

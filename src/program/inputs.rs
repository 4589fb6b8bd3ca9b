//! The unknowns of a residual: the scalars of its variables or, of those on a manifold, their degrees of freedom.

use super::Signature;
use leastwise_expr::{Expr, Graph, Leaf};

pub(super) struct Inputs {
    /// Slot, and scalar or degree of freedom.
    pub list: Vec<(u32, u32)>,
    /// What the symbols differentiate by: the scalars of all slots.
    scalars: Vec<Expr>,
    /// For every input, the scalars that it moves and how fast.
    moves: Vec<Vec<(usize, Expr)>>,
}

impl Inputs {
    /// Those of some slots.
    pub fn new(graph: &mut Graph, signature: &Signature, slots: impl IntoIterator<Item = u32>) -> Self {
        let mut inputs = Self { list: Vec::new(), scalars: Vec::new(), moves: Vec::new() };
        let one = graph.constant(1.0);
        for slot in slots {
            let (shape, first) = (&signature.slots[slot as usize], inputs.scalars.len());
            let scalars = (0..shape.arena.stride).map(|component| graph.leaf(Leaf::Slot { slot, component }));
            inputs.scalars.extend(scalars);
            let moves: Vec<Vec<(usize, Expr)>> = match &shape.manifold {
                None => (first..inputs.scalars.len()).map(|scalar| vec![(scalar, one)]).collect(),
                Some(manifold) => {
                    let columns = manifold.plus(graph, slot).into_iter();
                    columns.map(|column| column.into_iter().map(|(scalar, speed)| (first + scalar as usize, speed)).collect()).collect()
                }
            };
            inputs.list.extend((0..moves.len() as u32).map(|component| (slot, component)));
            inputs.moves.extend(moves);
        }
        inputs
    }

    /// Those of everything that moves.
    pub fn moving(graph: &mut Graph, signature: &Signature) -> Self {
        Self::new(graph, signature, signature.moving())
    }

    /// The derivative of an expression with respect to every input: ∂y/∂x · P.
    pub fn gradient(&self, graph: &mut Graph, output: Expr) -> Vec<Expr> {
        let slopes = graph.gradient(output, &self.scalars);
        let zero = graph.constant(0.0);
        let along = |moves: &Vec<(usize, Expr)>| {
            moves.iter().fold(zero, |sum, &(scalar, speed)| {
                let part = graph.mul(slopes[scalar], speed);
                graph.add_masked(sum, part)
            })
        };
        self.moves.iter().map(along).collect()
    }

    /// What second derivatives are taken by: the scalars of variables that are free, the steps of those on a manifold.
    pub fn unknowns(&self, graph: &mut Graph, signature: &Signature) -> Vec<Expr> {
        let unknown = |&(slot, component): &(u32, u32)| match signature.slots[slot as usize].manifold {
            None => graph.leaf(Leaf::Slot { slot, component }),
            Some(_) => graph.leaf(Leaf::Step { slot, component }),
        };
        self.list.iter().map(unknown).collect()
    }
}

/// Expressions at x ⊕ δ instead of x, for the variables on a manifold: a derivative of the second order by δ sees how
/// the manifold bends.
pub(super) fn displaced(graph: &mut Graph, signature: &Signature, roots: &[Expr]) -> Vec<Expr> {
    let mut moved = vec![None; signature.slots.len()];
    for slot in signature.moving() {
        let manifold = signature.slots[slot as usize].manifold.as_ref();
        moved[slot as usize] = manifold.map(|manifold| manifold.moved(graph, slot));
    }
    if moved.iter().all(Option::is_none) {
        return roots.to_vec();
    }
    graph.substitute(roots, |leaf| match leaf {
        Leaf::Slot { slot, component } => Some(moved[slot as usize].as_ref()?[component as usize]),
        _ => None,
    })
}

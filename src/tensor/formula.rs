//! Formulas: one element of the result of an elementwise operation, as an expression of one element of each operand.
//!
//! They are scalar graphs of the expression compiler ([`leastwise_expr`]), so elementwise operations fuse by substitution, and
//! their derivatives are those of residuals.

use leastwise_expr::{Binary, Expr, Graph, Leaf, Node, Unary};
use std::sync::{Arc, OnceLock};

/// The k-th operand's element.
pub fn operand(k: u32) -> Leaf {
    Leaf::Slot { slot: k, component: 0 }
}

/// An expression of so many operands.
pub struct Formula {
    graph: Graph,
    output: Expr,
    /// Number of operands.
    pub operands: u32,
    /// Its words, equal for equal formulas.
    pub words: Vec<u64>,
    /// Slopes that were asked for, of both kinds.
    slopes: [Vec<OnceLock<Option<SlopeOf>>>; 2],
    /// Slopes of its own where slopes are limits.
    limit: Option<Limit>,
}

/// g · ∂f/∂xₖ of the operands, of which g is the one after the last, of the value, and of k.
pub type Limit = Arc<dyn Fn(&mut Graph, &[Expr], Expr, u32) -> Expr + Send + Sync>;

/// Slopes at the edges of domains and outside of them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Slopes {
    /// Finite: 0 where the limit is infinite or where there is none.
    #[default]
    Finite,
    /// Limits: infinities and NaN, those of JAX.
    Limits,
}

/// g · ∂f/∂xₖ and the operands that it needs, of which g is the one after the last.
type SlopeOf = (Arc<Formula>, Vec<u32>);

impl std::fmt::Debug for Formula {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Formula({} operands, {} nodes)", self.operands, self.words.len())
    }
}

impl Formula {
    /// The expression that `write` makes of its operands.
    pub fn new(operands: u32, write: impl FnOnce(&mut Graph, &[Expr]) -> Expr) -> Arc<Self> {
        let mut graph = Graph::new();
        let inputs: Vec<Expr> = (0..operands).map(|k| graph.leaf(operand(k))).collect();
        let output = write(&mut graph, &inputs);
        Self::of(graph, output, operands)
    }

    /// The same with slopes of its own where slopes are limits.
    pub fn with_limits(
        operands: u32,
        write: impl FnOnce(&mut Graph, &[Expr]) -> Expr,
        limit: impl Fn(&mut Graph, &[Expr], Expr, u32) -> Expr + Send + Sync + 'static,
    ) -> Arc<Self> {
        let formula = Self::new(operands, write);
        let Some(formula) = Arc::into_inner(formula) else { unreachable!("it is new") };
        Arc::new(Self { limit: Some(Arc::new(limit)), ..formula })
    }

    /// Of a graph that has it; what the output does not need is left behind.
    pub fn of(graph: Graph, output: Expr, operands: u32) -> Arc<Self> {
        let mut kept = Graph::new();
        kept.has_limits = graph.has_limits;
        let inputs: Vec<Expr> = (0..operands).map(|k| kept.leaf(operand(k))).collect();
        let output = import(&mut kept, &graph, output, &inputs);
        let mut words = vec![u64::from(operands), u64::from(output.0)];
        for index in 0..kept.len() as u32 {
            write_node(kept.node(Expr(index)), &mut words);
        }
        if kept.has_limits {
            words.push(6);
        }
        let slopes = [(); 2].map(|()| (0..operands).map(|_| OnceLock::new()).collect());
        Arc::new(Self { graph: kept, output, operands, words, slopes, limit: None })
    }

    /// One operation on one operand.
    pub fn unary(operation: Unary) -> Arc<Self> {
        Self::new(1, |graph, x| graph.unary(operation, x[0]))
    }

    /// One operation on two operands.
    pub fn binary(operation: Binary) -> Arc<Self> {
        Self::new(2, |graph, x| graph.binary(operation, x[0], x[1]))
    }

    /// The formula in another graph, of these operands.
    pub fn write(&self, graph: &mut Graph, operands: &[Expr]) -> Expr {
        graph.has_limits |= self.graph.has_limits;
        import(graph, &self.graph, self.output, operands)
    }

    /// g · ∂f/∂xₖ, with the operands that it needs, of which g is the one after the last; `None` where that is 0 everywhere.
    pub fn slope(&self, k: u32, slopes: Slopes) -> Option<SlopeOf> {
        self.slopes[slopes as usize][k as usize].get_or_init(|| self.slope_of(k, slopes)).clone()
    }

    fn slope_of(&self, k: u32, slopes: Slopes) -> Option<SlopeOf> {
        let mut graph = self.graph.clone();
        let leaf = graph.leaf(operand(k));
        let scaled = if slopes == Slopes::Limits {
            graph.has_limits = true;
            let operands: Vec<Expr> = (0..=self.operands).map(|k| graph.leaf(operand(k))).collect();
            let zero = graph.constant(0.0);
            match &self.limit {
                Some(limit) => limit(&mut graph, &operands, self.output, k),
                // Branches that are not taken get 0, also of a g that is infinite.
                None => graph.pulled(self.output, [zero, operands[self.operands as usize]], &[leaf])[0],
            }
        } else {
            let slope = graph.gradient(self.output, &[leaf])[0];
            let g = graph.leaf(operand(self.operands));
            graph.mul(g, slope)
        };
        if graph.value(scaled) == Some(0.0) {
            return None;
        }
        let needed: Vec<u32> = (0..=self.operands).filter(|&k| graph.needs(scaled, operand(k))).collect();
        let mut kept = Graph::new();
        kept.has_limits = graph.has_limits;
        let mut inputs = vec![Expr(0); self.operands as usize + 1];
        (0..).zip(&needed).for_each(|(place, &k)| inputs[k as usize] = kept.leaf(operand(place)));
        let output = import(&mut kept, &graph, scaled, &inputs);
        Some((Self::of(kept, output, needed.len() as u32), needed))
    }

    /// How many operations it has.
    pub fn operations(&self) -> u32 {
        self.words.len() as u32 / 4 + 1
    }

    /// Whether it is its k-th operand.
    pub fn is_operand(&self, k: u32) -> bool {
        self.graph.node(self.output) == Node::Leaf(operand(k))
    }

    /// Operations that are more than an instruction or two.
    pub fn is_costly(&self) -> bool {
        let costly = |node: Node| {
            let cheap =
                |operation| matches!(operation, Unary::Neg | Unary::Abs | Unary::Not | Unary::Finite | Unary::Detach | Unary::Floor);
            matches!(node, Node::Unary(operation, _) if !cheap(operation))
                || matches!(node, Node::Binary(Binary::Pow | Binary::Atan2 | Binary::Div, ..))
        };
        self.graph.len() > 24 || (0..self.graph.len() as u32).any(|index| costly(self.graph.node(Expr(index))))
    }

    /// Its value, by the expression compiler's own arithmetic in f64.
    pub fn value(&self, operands: &[f64]) -> f64 {
        let mut values: Vec<f64> = Vec::with_capacity(self.graph.len());
        for index in 0..self.graph.len() as u32 {
            let at = |expr: Expr| values[expr.0 as usize];
            values.push(match self.graph.node(Expr(index)) {
                Node::Const(bits) => f64::from_bits(bits),
                Node::Leaf(Leaf::Slot { slot, .. }) => operands[slot as usize],
                Node::Leaf(_) => f64::NAN,
                Node::Unary(operation, a) => operation.apply(at(a)),
                Node::Binary(operation, a, b) => operation.apply(at(a), at(b)),
                Node::Select { condition, then, otherwise } => at(if at(condition) == 0.0 { otherwise } else { then }),
            });
        }
        values[self.output.0 as usize]
    }
}

fn write_node(node: Node, words: &mut Vec<u64>) {
    match node {
        Node::Const(bits) => words.extend([0, bits]),
        Node::Leaf(Leaf::Slot { slot, .. }) => words.extend([1, slot.into()]),
        Node::Leaf(_) => words.push(2),
        Node::Unary(operation, a) => words.extend([3, operation as u64, a.0.into()]),
        Node::Binary(operation, a, b) => words.extend([4, operation as u64, a.0.into(), b.0.into()]),
        Node::Select { condition, then, otherwise } => words.extend([5, condition.0.into(), then.0.into(), otherwise.0.into()]),
    }
}

/// An expression of one graph in another, operands replaced.
fn import(to: &mut Graph, from: &Graph, output: Expr, operands: &[Expr]) -> Expr {
    let mut needed = vec![false; output.0 as usize + 1];
    needed[output.0 as usize] = true;
    // Operands have smaller numbers than what uses them.
    for index in (0..=output.0).rev() {
        if needed[index as usize] {
            from.operands(Expr(index)).for_each(|operand| needed[operand.0 as usize] = true);
        }
    }
    let mut written: Vec<Option<Expr>> = vec![None; needed.len()];
    for index in 0..=output.0 {
        if !needed[index as usize] {
            continue;
        }
        let at = |expr: Expr| written[expr.0 as usize].expect("operands come first");
        let expr = match from.node(Expr(index)) {
            Node::Const(bits) => to.constant(f64::from_bits(bits)),
            Node::Leaf(Leaf::Slot { slot, .. }) => operands[slot as usize],
            Node::Leaf(leaf) => to.leaf(leaf),
            Node::Unary(operation, a) => to.unary(operation, at(a)),
            Node::Binary(operation, a, b) => to.binary(operation, at(a), at(b)),
            Node::Select { condition, then, otherwise } => to.select(at(condition), at(then), at(otherwise)),
        };
        written[index as usize] = Some(expr);
    }
    written[output.0 as usize].expect("the output is needed")
}

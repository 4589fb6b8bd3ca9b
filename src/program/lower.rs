//! From expressions to a straight-line program.

use super::{Instruction, Load, Program, Store, Value};
use leastwise_expr::{Binary, Expr, Graph, Leaf, Node};

/// Writes the instructions that `stores` need into `program`, each once, operands first and as late as possible: depth
/// first, output by output, and of several operands first the one that needs the most registers (Sethi & Ullman, "The
/// generation of optimal code for arithmetic expressions", 1970), so that few values are alive at a time.
pub fn lower(graph: &Graph, stores: &[(Store, Expr)], load: impl Fn(Leaf) -> Load, program: &mut Program) {
    let (places, roots): (Vec<Store>, Vec<Expr>) = stores.iter().copied().unzip();
    match graph.settled(&roots) {
        None => lower_settled(graph, stores, load, program),
        Some((settled, roots)) => lower_settled(&settled, &places.into_iter().zip(roots).collect::<Vec<_>>(), load, program),
    }
}

/// The same of a graph in which nothing is detached.
fn lower_settled(graph: &Graph, stores: &[(Store, Expr)], load: impl Fn(Leaf) -> Load, program: &mut Program) {
    let mut uses = vec![0u32; graph.len()];
    let mut stack: Vec<Expr> = stores.iter().map(|store| store.1).collect();
    while let Some(expr) = stack.pop() {
        uses[expr.0 as usize] += 1;
        if uses[expr.0 as usize] == 1 {
            stack.extend(graph.operands(expr));
        }
    }
    let needs = registers(graph, &uses);
    let mut lowering = Lowering { graph, uses, needs, values: vec![None; graph.len()], load, program };
    for &(store, expr) in stores {
        let value = lowering.value(expr);
        lowering.program.stores.push((store, value));
    }
}

/// Sethi & Ullman's numbers: how many registers a value takes, were nothing shared.
fn registers(graph: &Graph, uses: &[u32]) -> Vec<u32> {
    let mut needs = vec![0u32; graph.len()];
    for index in (0..graph.len()).filter(|&index| uses[index] > 0) {
        let mut of_operands = [0; 3];
        graph.operands(Expr(index as u32)).zip(&mut of_operands).for_each(|(operand, need)| *need = needs[operand.0 as usize]);
        of_operands.sort_unstable();
        // Those done already each hold a register while the next is computed.
        needs[index] =
            (0..).zip(of_operands.into_iter().rev()).map(|(held, need)| need + if need > 0 { held } else { 0 }).max().unwrap_or(0).max(1);
    }
    needs
}

struct Lowering<'a, L> {
    graph: &'a Graph,
    uses: Vec<u32>,
    needs: Vec<u32>,
    values: Vec<Option<Value>>,
    load: L,
    program: &'a mut Program,
}

impl<L: Fn(Leaf) -> Load> Lowering<'_, L> {
    fn value(&mut self, root: Expr) -> Value {
        let mut stack = vec![root];
        while let Some(&expr) = stack.last() {
            if self.values[expr.0 as usize].is_some() {
                stack.pop();
                continue;
            }
            let fused = self.fused(expr);
            let operands: [Option<Expr>; 3] = match fused {
                Some((a, b, c)) => [Some(a), Some(b), Some(c)],
                None => {
                    let mut operands = self.graph.operands(expr);
                    [operands.next(), operands.next(), operands.next()]
                }
            };
            let before = stack.len();
            stack.extend(operands.into_iter().flatten().filter(|operand| self.values[operand.0 as usize].is_none()));
            // The last one pushed is computed first. They are three at most: what sorts any number is long.
            let (operands, need) = (&mut stack[before..], |operand: Expr| self.needs[operand.0 as usize]);
            for end in 1..operands.len() {
                for at in (1..=end).rev() {
                    if need(operands[at - 1]) > need(operands[at]) {
                        operands.swap(at - 1, at);
                    }
                }
            }
            if stack.len() == before {
                self.emit(expr, fused);
                stack.pop();
            }
        }
        self.at(root)
    }

    fn at(&self, expr: Expr) -> Value {
        self.values[expr.0 as usize].unwrap_or_default()
    }

    /// `a · b + c` as one instruction, where the product is used nowhere else.
    fn fused(&self, expr: Expr) -> Option<(Expr, Expr, Expr)> {
        let Node::Binary(Binary::Add, x, y) = self.graph.node(expr) else { return None };
        [(x, y), (y, x)].into_iter().find_map(|(product, other)| match self.graph.node(product) {
            Node::Binary(Binary::Mul, a, b) if self.uses[product.0 as usize] == 1 => Some((a, b, other)),
            _ => None,
        })
    }

    fn emit(&mut self, expr: Expr, fused: Option<(Expr, Expr, Expr)>) {
        let instruction = match (fused, self.graph.node(expr)) {
            (Some((a, b, c)), _) => Instruction::MulAdd(self.at(a), self.at(b), self.at(c)),
            (_, Node::Const(bits)) => Instruction::Const(f64::from_bits(bits)),
            (_, Node::Leaf(leaf)) => Instruction::Load((self.load)(leaf)),
            (_, Node::Unary(operation, a)) => Instruction::Unary(operation, self.at(a)),
            (_, Node::Binary(operation, a, b)) => Instruction::Binary(operation, self.at(a), self.at(b)),
            (_, Node::Select { condition, then, otherwise }) => {
                Instruction::Select { condition: self.at(condition), then: self.at(then), otherwise: self.at(otherwise) }
            }
        };
        self.values[expr.0 as usize] = Some(self.program.instructions.len() as Value);
        self.program.instructions.push(instruction);
    }
}

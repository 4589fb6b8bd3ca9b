//! Instances that name one variable in two slots: what its diagonal block of JᵀWJ lacks without the two meeting.
//!
//! The program `diagonal` stores JₐᵀWJₐ of every slot. Where slots a and b are one variable, its block is
//! (Jₐ + J_b)ᵀW(Jₐ + J_b), so JₐᵀWJ_b + J_bᵀWJₐ is to be added. Hardly any problem has such instances, so the program is
//! only made for those pairs of slots that have.

use super::energy::Normal;
use super::residual::Columns;
use super::{ColumnMap, Entry, Program, ResidualPrograms, Signature};
use leastwise_expr::{Expr, Graph, Leaf};

/// The program that stores JₐᵀWJ_b + J_bᵀWJₐ of pairs of slots, each distinct value up to its sign once.
#[derive(Clone, Debug)]
pub struct RepeatedSlotsProgram {
    /// The program.
    pub program: Program,
    /// Columns that it stores.
    pub columns: u32,
    /// For every pair, where the lower triangle is, row by row.
    pub maps: Vec<ColumnMap>,
}

impl RepeatedSlotsProgram {
    /// The program for these pairs of slots, each of equal degrees of freedom.
    pub fn new(name: &str, programs: &ResidualPrograms, signature: &Signature, pairs: &[(u32, u32)]) -> Self {
        let mut graph = Graph::new();
        let mut normal = Normal::new(&mut graph, programs, signature);
        let first = |slot: u32| programs.inputs.iter().position(|input| input.0 == slot).unwrap_or(0);
        let mut columns = Columns::new(0);
        let mut map = |&(a, b): &(u32, u32)| {
            let (width, a, b) = (signature.slots[a as usize].tangent(), first(a), first(b));
            let mut codes = Vec::new();
            for i in 0..width as usize {
                for j in 0..=i {
                    let one = normal.entry(&mut graph, a + i, b + j);
                    let other = normal.entry(&mut graph, a + j, b + i);
                    let sum = graph.add(one, other);
                    codes.push(columns.code(&graph, sum));
                }
            }
            ColumnMap { width: width * (width + 1) / 2, codes }
        };
        let maps = pairs.iter().map(&mut map).collect();
        let program = signature.program(&format!("{name}: named twice"), &graph, &columns.stores(super::Store::Column), None);
        Self { program, columns: columns.list.len() as u32, maps }
    }
}

impl ResidualPrograms {
    /// The Jacobian as `linearize` stored it, column by column: the rows whose entry is not 0, in ascending order.
    pub(super) fn jacobian(&self, graph: &mut Graph) -> Vec<Vec<(usize, Expr)>> {
        let width = self.inputs.len();
        let mut columns = vec![Vec::new(); width];
        for (place, entry) in self.entries.iter().enumerate() {
            let signed = |graph: &mut Graph, leaf: Leaf, negative: bool| {
                let value = graph.leaf(leaf);
                if negative { graph.neg(value) } else { value }
            };
            let value = match *entry {
                Entry::Constant(value) => graph.constant(value),
                Entry::Stored { column, negative } => signed(graph, Leaf::Stored(column), negative),
                Entry::Data { column, negative } => signed(graph, Leaf::Data { column, component: 0 }, negative),
            };
            if graph.value(value) != Some(0.0) {
                columns[place % width].push((place / width, value));
            }
        }
        columns
    }
}

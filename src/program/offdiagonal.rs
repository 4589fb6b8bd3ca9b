//! What a term adds to JᵀWJ off its diagonal: the blocks JₐᵀWJ_b of every two of its slots that move.
//!
//! Only solvers that assemble the matrix ask for these programs. As with the diagonal blocks, each distinct value (up to
//! its sign) is stored once, in a column; a map says which column, with which sign, an entry of a block is. A device
//! holds so many columns of a chunk at most: where there are more, they are stored in several *passes*.

use super::energy::Normal;
use super::residual::Columns;
use super::{ColumnMap, NEGATIVE, Program, ResidualPrograms, Signature, Store};
use leastwise_expr::{Expr, Graph};
use std::ops::Range;

/// Two slots whose block JₐᵀWJ_b is stored: rows are components of `a`, columns those of `b`, and a > b.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotPair {
    /// Slot of the rows.
    pub a: u32,
    /// Slot of the columns.
    pub b: u32,
    /// Degrees of freedom of either.
    pub rows: u32,
    /// Degrees of freedom of the slot of the columns.
    pub columns: u32,
}

impl SlotPair {
    /// Every two slots that have inputs, given as slot and component, slot by slot.
    pub fn all(inputs: &[(u32, u32)]) -> Vec<Self> {
        let mut slots: Vec<(u32, u32)> = Vec::new();
        for &(slot, _) in inputs {
            match slots.last_mut() {
                Some((last, width)) if *last == slot => *width += 1,
                _ => slots.push((slot, 1)),
            }
        }
        let below = |(number, &(a, rows)): (usize, &(u32, u32))| {
            let of = move |&(b, columns): &(u32, u32)| Self { a, b, rows, columns };
            slots[..number].iter().map(of).collect::<Vec<_>>()
        };
        slots.iter().enumerate().flat_map(below).collect()
    }
}

/// Columns that one program stores.
#[derive(Clone, Debug)]
pub struct OffDiagonalPass {
    /// The program.
    pub program: Program,
    /// Columns that it stores.
    pub columns: u32,
    /// For every pair, row by row, where the entries of its block are; 0 for those of other passes.
    pub maps: Vec<ColumnMap>,
}

/// Programs of the blocks of JᵀWJ between two slots, in passes that fit the scratch space.
#[derive(Clone, Debug)]
pub struct OffDiagonalPrograms {
    /// Pairs of slots.
    pub pairs: Vec<SlotPair>,
    /// Passes, each with some entries of all pairs.
    pub passes: Vec<OffDiagonalPass>,
}

impl OffDiagonalPrograms {
    /// The programs of a residual that was differentiated already, each of which stores `most` columns at most.
    pub fn new(name: &str, programs: &ResidualPrograms, signature: &Signature, most: u32) -> Self {
        let mut graph = Graph::new();
        let mut normal = Normal::new(&mut graph, programs, signature);
        let pairs = SlotPair::all(&programs.inputs);
        let first = |slot: u32| programs.inputs.iter().position(|input| input.0 == slot).unwrap_or(0);
        let mut distinct = Columns::new(0);
        let mut blocks = Vec::new();
        for pair in &pairs {
            let (a, b) = (first(pair.a), first(pair.b));
            let mut codes = Vec::with_capacity((pair.rows * pair.columns) as usize);
            for i in a..a + pair.rows as usize {
                for j in b..b + pair.columns as usize {
                    let entry = normal.entry(&mut graph, i, j);
                    codes.push(distinct.code(&graph, entry));
                }
            }
            blocks.push(codes);
        }
        let most = most.max(1) as usize;
        let passes = distinct.list.chunks(most).zip((0..).step_by(most)).map(|(list, first)| {
            let stores: Vec<(Store, Expr)> = (0..).map(Store::Column).zip(list.iter().copied()).collect();
            let columns = first..first + list.len() as u32;
            let map = |codes: &Vec<u32>| ColumnMap {
                width: codes.len() as u32,
                codes: codes.iter().map(|&code| within(code, &columns)).collect(),
            };
            let program = signature.program(&format!("{name}: pairs"), &graph, &stores, None);
            OffDiagonalPass { program, columns: list.len() as u32, maps: blocks.iter().map(map).collect() }
        });
        let passes = passes.collect();
        Self { pairs, passes }
    }
}

/// A code among these columns only, numbered from the first of them.
fn within(code: u32, columns: &Range<u32>) -> u32 {
    let column = (code & !NEGATIVE).wrapping_sub(1);
    if columns.contains(&column) { (column - columns.start + 1) | (code & NEGATIVE) } else { 0 }
}

//! Sums over a row's entries, as programs.
//!
//! A residual r(x, S) of a row contains S = Σₑ g(yₑ, x): x are the row's own slots, yₑ those of its entry e. An item of
//! these programs is an entry; what it stores in columns is gathered along the rows. With G = ∂g/∂y and T = Σₑ ∂g/∂x:
//!
//! | program | reads | stores |
//! |---|---|---|
//! | value | variables, constants, data | g |
//! | slopes | the same | the distinct entries of ∂g/∂x, whose sums are T |
//! | linearize | the same | the distinct non-constant entries of G |
//! | forward | G, p | G p, whose sums are the part of p that belongs to S |
//! | gradient, product | G, u | Gᵀu, where u is the row's part of Jᵀw… that belongs to S |
//! | diagonal | G, B | the diagonal blocks of GᵀBG, where B is the row's diagonal block that belongs to S |
//!
//! So S is one more variable to the residual's own programs, whose derivative with respect to x they complete by T
//! ([`Through`]), and the chain rule does the rest: JᵀWJ is exact. Its diagonal blocks are, too, but for variables that
//! a row meets more than once.

use super::inputs::Inputs;
use super::residual::{Columns, Linearised};
use super::wgsl::Cut;
use super::{ColumnMap, Entry, Guards, Program, Signature, Store, wgsl};
use leastwise_expr::{Expr, Graph, Leaf};

/// The slots of an entry's programs that are not entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowSlots {
    /// The row's own variables.
    pub own: Vec<u32>,
    /// Where the row's part of a vector is that belongs to S, and its diagonal block.
    pub sums: u32,
    /// The same for its diagonal block.
    pub block: u32,
}

/// An entry of T: a component of S, an input, and where the slope is, perhaps with the opposite sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentSumSlope {
    /// Component of S.
    pub sum: u32,
    /// Slot and degree of freedom.
    pub input: (u32, u32),
    /// Column of the slope.
    pub slope: u32,
    /// True if its sign is turned.
    pub negative: bool,
}

/// Programs of the entries of rows that are summed.
#[derive(Clone, Debug)]
pub struct SegmentSumPrograms {
    /// Contributions to S.
    pub value: Program,
    /// None where nothing of x moves, or g does not depend on it.
    pub slopes: Option<Program>,
    /// Stores the distinct entries of J with respect to entries.
    pub linearize: Program,
    /// Contributions to Gp.
    pub forward: Program,
    /// Contributions to the gradient.
    pub gradient: Program,
    /// Contributions to JᵀWJp.
    pub product: Program,
    /// Contributions to the diagonal blocks.
    pub diagonal: Program,
    /// Components of S, and columns that `slopes` stores.
    pub width: u32,
    /// Columns that `slopes` stores.
    pub slopes_width: u32,
    /// Slopes of S that stay symbolic.
    pub through: Vec<SegmentSumSlope>,
    /// Columns of the Jacobian buffer.
    pub stored: u32,
    /// Columns of contributions to a gradient or a product.
    pub contributions: u32,
    /// Columns of contributions to diagonal blocks.
    pub diagonals: u32,
    /// What the columns of G stand for: slot, and scalar or degree of freedom. And G, row by row.
    pub inputs: Vec<(u32, u32)>,
    /// G, row by row.
    pub entries: Vec<Entry>,
    /// Columns of each slot's gradient.
    pub gradient_maps: Vec<ColumnMap>,
    /// Columns of each slot's diagonal block.
    pub diagonal_maps: Vec<ColumnMap>,
}

impl SegmentSumPrograms {
    /// Differentiates what is summed. Slots with a vector are the entry's variables.
    pub fn new(name: &str, mut graph: Graph, entry: &[Expr], signature: &Signature, rows: &RowSlots, guards: Guards) -> Self {
        let width = entry.len();
        let program = |suffix: &str, graph: &Graph, stores: &[(Store, Expr)], guard: Option<u32>| {
            signature.program(&format!("{name}: {suffix}"), graph, stores, guard)
        };
        let values: Vec<(Store, Expr)> = (0..).map(Store::Column).zip(graph.flagged(entry)).collect();
        let value = program("entry value", &graph, &values, None);

        let own = Inputs::new(&mut graph, signature, rows.own.iter().copied());
        let (mut slopes, mut through) = (Columns::new(0), Vec::new());
        for (sum, &row) in (0..).zip(entry) {
            for (&input, derivative) in own.list.iter().zip(own.gradient(&mut graph, row)) {
                if graph.value(derivative) != Some(0.0) {
                    let (slope, negative) = slopes.column(&graph, derivative);
                    through.push(SegmentSumSlope { sum, input, slope, negative });
                }
            }
        }
        let slopes_width = slopes.list.len() as u32;
        let slopes = (slopes_width > 0).then(|| program("entry slopes", &graph, &slopes.stores(Store::Column), None));

        let derivatives = Inputs::moving(&mut graph, signature);
        let inputs = &derivatives.list;
        let mut linearised = Linearised::new(0);
        let jacobian: Vec<Vec<Expr>> = entry
            .iter()
            .map(|&row| {
                let slopes = derivatives.gradient(&mut graph, row);
                slopes.into_iter().map(|slope| linearised.entry(&graph, slope)).collect()
            })
            .collect();
        let Linearised { mut linear, stored, entries } = linearised;
        let linearize = program("entry linearize", &graph, &stored.stores(Store::Jacobian), Some(guards.linearized));

        let direction = |linear: &mut Graph, (slot, component): (u32, u32)| linear.leaf(Leaf::Direction { slot, component });
        let p: Vec<Expr> = inputs.iter().map(|&input| direction(&mut linear, input)).collect();
        let along: Vec<Expr> = jacobian.iter().map(|row| linear.dot(row, &p)).collect();
        let stores: Vec<(Store, Expr)> = (0..).map(Store::Column).zip(along).collect();
        let forward = program("entry forward", &linear, &stores, Some(guards.solved));

        let column = |input: usize| -> Vec<Expr> { jacobian.iter().map(|row| row[input]).collect() };
        let u: Vec<Expr> = (0..width as u32).map(|row| direction(&mut linear, (rows.sums, row))).collect();
        let mut contributions = Columns::new(0);
        let codes: Vec<u32> = (0..inputs.len())
            .map(|input| {
                let back = linear.dot(&column(input), &u);
                contributions.code(&linear, back)
            })
            .collect();
        let gradient = program("entry gradient", &linear, &contributions.stores(Store::Column), None);
        let product = program("entry product", &linear, &contributions.stores(Store::Column), Some(guards.solved));

        let b = |linear: &mut Graph, r: usize, c: usize| {
            let (low, high) = (r.min(c), r.max(c));
            direction(linear, (rows.block, (high * (high + 1) / 2 + low) as u32))
        };
        let weighed: Vec<Vec<Expr>> = (0..width)
            .map(|r| {
                let row: Vec<Expr> = (0..width).map(|c| b(&mut linear, r, c)).collect();
                (0..inputs.len()).map(|input| linear.dot(&row, &column(input))).collect()
            })
            .collect();
        let mut diagonals = Columns::new(0);
        let mut gradient_maps = vec![ColumnMap::default(); signature.slots.len()];
        let mut diagonal_maps = gradient_maps.clone();
        let mut first = 0;
        for slot in signature.moving() {
            let width = signature.slots[slot as usize].tangent();
            let range = first..first + width as usize;
            gradient_maps[slot as usize] = ColumnMap { width, codes: codes[range.clone()].to_vec() };
            let mut block = Vec::new();
            for i in range.clone() {
                for j in range.start..=i {
                    let weighed: Vec<Expr> = weighed.iter().map(|row| row[j]).collect();
                    let value = linear.dot(&column(i), &weighed);
                    block.push(diagonals.code(&linear, value));
                }
            }
            diagonal_maps[slot as usize] = ColumnMap { width: width * (width + 1) / 2, codes: block };
            first = range.end;
        }
        let diagonal = program("entry diagonal", &linear, &diagonals.stores(Store::Column), None);
        Self {
            value,
            slopes,
            linearize,
            forward,
            gradient,
            product,
            diagonal,
            width: width as u32,
            slopes_width,
            through,
            stored: stored.list.len() as u32,
            contributions: contributions.list.len() as u32,
            diagonals: diagonals.list.len() as u32,
            inputs: derivatives.list,
            entries,
            gradient_maps,
            diagonal_maps,
        }
    }

    /// In the order of `SumKernels`; the slopes last, if there are any.
    pub fn all(&self) -> Vec<&Program> {
        let Self { value, linearize, forward, gradient, product, diagonal, slopes, .. } = self;
        [value, linearize, forward, gradient, product, diagonal].into_iter().chain(slopes).collect()
    }

    /// Columns of scratch that the programs store; with those between pieces of large ones where a device needs pieces.
    pub fn scratch(&self, cut: Option<Cut>) -> u32 {
        let own = self.width.max(self.slopes_width).max(self.contributions).max(self.diagonals);
        cut.map_or(own, |cut| self.all().into_iter().map(|program| wgsl::columns(program, cut)).fold(own, u32::max))
    }
}

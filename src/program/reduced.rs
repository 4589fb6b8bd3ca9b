//! The product S p with a Schur complement S = B − E C⁻¹ Eᵀ, without its matrix, in the schedule *owner-computes*.
//!
//! As in a product by owners ([`OwnerProgram`](super::OwnerProgram)), instances of one eliminated variable lie next to each other: they
//! are a *row*, and a workgroup takes whole rows. With J = [J_c J_e] of an instance's kept and eliminated variables,
//!
//! 1. a lane forms u = W J_c p and leaves J_eᵀu in the workgroup's memory;
//! 2. every row is added up, v = Eᵀp, and w = C⁻¹v is formed of it;
//! 3. a lane goes on with t = u − W J_e w, and J_cᵀt is stored for whoever gathers it, instance by instance.
//!
//! So J is read once, as it is in products with the whole matrix, and no vector over the eliminated variables is touched.

use super::energy::Normal;
use super::residual::Columns;
use super::triggs::Weighting;
use super::wgsl::{self, Cut};
use super::{ColumnMap, NEGATIVE, OwnerProgram, Program, ResidualPrograms, Signature, Store};
use crate::{Access, binding};
use leastwise_expr::{Expr, Graph, Leaf};
use leastwise_kernels::ARGUMENT_WORDS;
use std::hash::{Hash, Hasher};

/// The kernel of a product S p. Equal kernels have equal programs over the same column.
#[derive(Clone, Debug)]
pub struct ReducedProgram {
    /// Stores J_eᵀu in the first columns of the tile, then what crosses from the first column on; w is handed to it.
    pub program: Program,
    /// The parts of it: without w, and with it.
    pub parts: [Program; 2],
    /// Column of the index table with the eliminated variables.
    pub column: u32,
    /// Degrees of freedom of an eliminated variable.
    pub width: u32,
    /// Columns of the tile.
    pub tile: u32,
    /// Columns whose values cross to kept variables.
    pub crossing_columns: u32,
    /// For every slot whose part crosses, where it is; empty for the others.
    pub crossing: Vec<ColumnMap>,
}

impl ReducedProgram {
    fn identity(&self) -> (&Program, [u32; 2]) {
        (&self.program, [self.column, self.width])
    }
}

impl PartialEq for ReducedProgram {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for ReducedProgram {}

impl Hash for ReducedProgram {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.program.hash(state);
    }
}

/// The arguments of a product with a Schur complement: `struct Args` of its text.
#[derive(Clone, Copy, Debug)]
pub struct ReducedArguments {
    /// Instances.
    pub instances: u32,
    /// Word of the tiles' buffer with the first row's beginning.
    pub starts: u32,
    /// First element of the eliminated variables' inverted blocks.
    pub block: u32,
}

impl ReducedArguments {
    /// The words of a dispatch.
    pub fn words(self) -> [u32; ARGUMENT_WORDS] {
        let mut words = [0; ARGUMENT_WORDS];
        words[..3].copy_from_slice(&[self.instances, self.starts, self.block]);
        words
    }

    /// The arguments that words are.
    pub fn of(words: [u32; ARGUMENT_WORDS]) -> Self {
        let [instances, starts, block, ..] = words;
        Self { instances, starts, block }
    }
}

impl ReducedProgram {
    /// What its kernel does with each slot. The tiles are words in the arena's slot, C⁻¹ is in that of partial sums.
    pub fn access(&self) -> [Access; binding::COUNT] {
        let mut access = self.program.access();
        for slot in [binding::ARENA, binding::INDEX, binding::PARTIALS] {
            access[slot] = Access::Read;
        }
        access[binding::VECTOR_OUT] = Access::ReadWrite;
        access
    }

    /// Of residuals that name one eliminated variable each, in the slot `eliminated`. `None` where the kernel would be too large, and for
    /// energies, whose Hessians are stored as a whole.
    pub fn new(programs: &ResidualPrograms, signature: &Signature, eliminated: u32, cut: Cut) -> Option<Self> {
        if programs.curvature.is_some() {
            return None;
        }
        let mut graph = Graph::new();
        let jacobian = programs.jacobian(&mut graph);
        let mut weighting = Weighting::new(&mut graph, programs.rows, signature.loss.as_ref());
        let inputs = || programs.inputs.iter().zip(&jacobian);
        let zero = graph.constant(0.0);
        // Products of rows with a vector over some of the inputs.
        let along = |graph: &mut Graph, vector: &dyn Fn(&mut Graph, u32, u32) -> Option<Expr>| -> Vec<Expr> {
            let mut rows = vec![(Vec::new(), Vec::new()); programs.rows as usize];
            for (&(slot, component), column) in inputs() {
                let Some(value) = vector(graph, slot, component) else { continue };
                for &(row, entry) in column {
                    rows[row].0.push(entry);
                    rows[row].1.push(value);
                }
            }
            rows.into_iter().map(|(entries, values)| if entries.is_empty() { zero } else { graph.dot(&entries, &values) }).collect()
        };
        let kept =
            along(&mut graph, &|graph, slot, component| (slot != eliminated).then(|| graph.leaf(Leaf::Direction { slot, component })));
        let u = weighting.rows(&mut graph, &kept);
        // w is what the kernel around the program makes.
        let given = along(&mut graph, &|graph, slot, component| (slot == eliminated).then(|| graph.leaf(Leaf::Row(component))));
        let taken = weighting.rows(&mut graph, &given);
        let t: Vec<Expr> = u.iter().zip(&taken).map(|(&u, &taken)| graph.sub(u, taken)).collect();
        let transposed = |graph: &mut Graph, column: &[(usize, Expr)], rows: &[Expr]| {
            let (entries, values): (Vec<Expr>, Vec<Expr>) = column.iter().map(|&(row, entry)| (entry, rows[row])).unzip();
            graph.dot(&entries, &values)
        };

        let mut own = Vec::new();
        // Inputs whose parts of Jᵀu are equal up to their sign share a column, as in all products.
        let mut columns: Vec<(u32, Expr)> = Vec::new();
        let mut crossing = vec![ColumnMap::default(); signature.slots.len()];
        let mut first = 0;
        for slot in signature.moving() {
            let width = signature.slots[slot as usize].tangent();
            let range = first..first + width as usize;
            first = range.end;
            if slot == eliminated {
                own = jacobian[range].iter().map(|column| transposed(&mut graph, column, &u)).collect();
                continue;
            }
            let codes = programs.gradient_maps[slot as usize].codes.iter().zip(range).map(|(&code, input)| {
                if code == 0 {
                    return 0;
                }
                let known = columns.iter().position(|(column, _)| *column == code & !NEGATIVE);
                let place = known.unwrap_or_else(|| {
                    let value = transposed(&mut graph, &jacobian[input], &t);
                    columns.push((code & !NEGATIVE, if code & NEGATIVE == 0 { value } else { graph.neg(value) }));
                    columns.len() - 1
                });
                (place as u32 + 1) | code & NEGATIVE
            });
            let codes = codes.collect();
            crossing[slot as usize] = ColumnMap { width, codes };
        }
        let width = own.len() as u32;
        let tile = width.max(columns.len() as u32);
        if width == 0 || columns.is_empty() || tile > OwnerProgram::MOST_COLUMNS {
            return None;
        }
        let tiles = |values: &mut dyn Iterator<Item = Expr>| (0..).map(Store::Tile).zip(values).collect::<Vec<_>>();
        let stores = [tiles(&mut own.into_iter()), tiles(&mut columns.iter().map(|column| column.1))];
        let guard = programs.product.guard;
        let name = format!("{}, with a Schur complement", programs.product.name);
        let made = |stores: &[(Store, Expr)]| signature.program(&name, &graph, stores, guard);
        let (parts, program) = ([made(&stores[0]), made(&stores[1])], made(&stores.concat()));
        let column = signature.slots[eliminated as usize].arena.column;
        let made = Self { program, parts, column, width, tile, crossing_columns: columns.len() as u32, crossing };
        wgsl::is_small(&made.program, cut).then_some(made)
    }

    /// Instructions that come before w is there: those that the first stores depend on are written first.
    pub fn before(&self) -> usize {
        self.program.stores[..self.width as usize].iter().map(|(_, value)| *value as usize + 1).max().unwrap_or(0)
    }
}

/// What an instance takes from the diagonal blocks of B to make those of S: −J_cᵀWJ_e C⁻¹ J_eᵀWJ_c of every kept slot.
///
/// What two instances of one eliminated variable take together, where both name one kept variable, is left out. Without it the blocks stay
/// positive definite: of every instance they have J_cᵀ(W − W J_e C⁻¹ J_eᵀ W)J_c, and C is at least J_eᵀWJ_e.
#[derive(Clone, Debug)]
pub struct SchurDiagonalProgram {
    /// The program, whose vector is C⁻¹: the packed blocks of the eliminated variables.
    pub program: Program,
    /// Columns that it stores.
    pub columns: u32,
    /// For every kept slot where the lower triangle is, row by row; empty for the others.
    pub maps: Vec<ColumnMap>,
}

impl SchurDiagonalProgram {
    /// Of residuals or energies that name one eliminated variable each, in the slot `eliminated`.
    pub fn new(name: &str, programs: &ResidualPrograms, signature: &Signature, eliminated: u32) -> Self {
        let mut graph = Graph::new();
        let mut normal = Normal::new(&mut graph, programs, signature);
        let place = |slot: u32| programs.inputs.iter().position(|input| input.0 == slot).unwrap_or(0);
        let width = signature.slots[eliminated as usize].tangent();
        let (own, mut distinct) = (place(eliminated), Columns::new(0));
        let mut maps = vec![ColumnMap::default(); signature.slots.len()];
        for slot in signature.moving().filter(|slot| *slot != eliminated) {
            let (first, rows) = (place(slot), signature.slots[slot as usize].tangent() as usize);
            let blocks: Vec<Vec<Expr>> =
                (first..first + rows).map(|i| (0..width as usize).map(|a| normal.entry(&mut graph, i, own + a)).collect()).collect();
            let solved: Vec<Vec<Expr>> = blocks
                .iter()
                .map(|row| {
                    let column = |graph: &mut Graph, b: u32| {
                        let inverse: Vec<Expr> = (0..width)
                            .map(|a| {
                                let (high, low) = (a.max(b), a.min(b));
                                graph.leaf(Leaf::Direction { slot: eliminated, component: high * (high + 1) / 2 + low })
                            })
                            .collect();
                        graph.dot(row, &inverse)
                    };
                    (0..width).map(|b| column(&mut graph, b)).collect()
                })
                .collect();
            let mut codes = Vec::new();
            for (i, solved) in solved.iter().enumerate() {
                for block in &blocks[..=i] {
                    let taken = graph.dot(solved, block);
                    let taken = graph.neg(taken);
                    codes.push(distinct.code(&graph, taken));
                }
            }
            maps[slot as usize] = ColumnMap { width: codes.len() as u32, codes };
        }
        // A vector of packed blocks in place of one over the unknowns.
        let mut of_blocks = signature.clone();
        if let Some(address) = &mut of_blocks.slots[eliminated as usize].vector {
            address.stride = width * (width + 1) / 2;
        }
        let zero = graph.constant(0.0);
        let nothing = distinct.list.is_empty().then_some((Store::Column(0), zero));
        let stores: Vec<(Store, Expr)> = distinct.stores(Store::Column).into_iter().chain(nothing).collect();
        let program = of_blocks.program(&format!("{name}: blocks of the Schur complement"), &graph, &stores, None);
        Self { program, columns: stores.len() as u32, maps }
    }
}

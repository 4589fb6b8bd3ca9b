//! Everything that a solver needs of one residual, as programs.
//!
//! With r the residual of an instance (m rows), J its Jacobian, w its weight and ρ its loss (‖r‖² without one):
//!
//! | program | reads | stores |
//! |---|---|---|
//! | linearize | variables, constants, data | r and the distinct non-constant entries of J |
//! | energy | r, w | ½ w ρ(‖r‖²) |
//! | change | variables at the trial point, the stored r | ½ w ρ(‖r′‖²) − ½ w ρ(‖r‖²), without cancellation |
//! | gradient | r, J, w | the contributions Jᵀ w ρ′ r |
//! | product | a vector p, J, w | the contributions Jᵀ W J p |
//! | diagonal | J, w | the contributions to the diagonal blocks of Jᵀ W J |
//!
//! W is w without a loss; what a loss makes of it is in [`robust`](super::robust). It never changes r and J.
//!
//! *Contributions* are stored in columns, each distinct value (up to its sign) once; a [`ColumnMap`] says which column
//! with which sign a slot's component is. `gather` adds them up by incidence list: no atomics. For an edge, whose two
//! ends get u and −u, that is one stored vector instead of two.
//! Entries of J that are constant or zero, as the symbols prove, are neither stored nor multiplied; those that are data
//! are read where the data is.

use super::energy::ProjectedHessian;
use super::inputs::Inputs;
use super::triggs::{Weighting, change};
use super::wgsl::Cut;
use super::{Address, Layout, Load, Objective, Program, RobustShape, Store, lower::lower, wgsl};
use leastwise_expr::{Expr, Graph, Leaf, Manifold, Node};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// A slot of a term as its kernels see it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SlotShape {
    /// Where the variable or constant is.
    pub arena: Address,
    /// Where the slot's part of a vector over all unknowns is; none for constants.
    pub vector: Option<Address>,
    /// What the variable moves on, unless all its scalars are free.
    pub manifold: Option<Arc<Manifold>>,
}

impl SlotShape {
    /// Degrees of freedom of the variable.
    pub fn tangent(&self) -> u32 {
        self.manifold.as_ref().map_or(self.arena.stride, |manifold| manifold.tangent)
    }
}

/// A data column as its kernels see it: `offset` numbers its first scalar among the shared values, or its first column.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ColumnShape {
    /// Scalars of a value.
    pub width: u32,
    /// True if all instances share it.
    pub shared: bool,
    /// First of its shared values, or of its columns.
    pub offset: u32,
}

/// All that decides a term's kernels besides its residual.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Signature {
    /// Slots, in their order.
    pub slots: Vec<SlotShape>,
    /// Columns of data, in their order.
    pub columns: Vec<ColumnShape>,
    /// The weight is value 0 of the shared values, or column 0 of the data.
    pub weight_shared: bool,
    /// Shared values, the weight included; words before the index columns.
    pub shared: u32,
    /// Words before the index columns.
    pub header: u32,
    /// The loss, if there is one, and where its parameters are.
    pub loss: Option<RobustShape>,
}

/// For every degree of freedom of a slot: 0, or column + 1 with the sign in the highest bit.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ColumnMap {
    /// Columns that are stored.
    pub width: u32,
    /// Codes of the degrees of freedom: 0, or column + 1 with the sign in the highest bit.
    pub codes: Vec<u32>,
}

/// Where an entry of J is found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Entry {
    /// A number that is the same everywhere.
    Constant(f64),
    /// A column of the Jacobian buffer, or its negative.
    Stored {
        /// Column of the Jacobian buffer.
        column: u32,
        /// True if the entry is the column's negative.
        negative: bool,
    },
    /// A scalar of the data, or its negative.
    Data {
        /// Scalar of the data.
        column: u32,
        /// True if the entry is the scalar's negative.
        negative: bool,
    },
}

/// The sign bit of a [`ColumnMap`]'s codes.
pub const NEGATIVE: u32 = 1 << 31;

/// The programs of a term and the layout of what they store.
#[derive(Clone, Debug)]
pub struct ResidualPrograms {
    /// Stores r and the distinct entries of J.
    pub linearize: Program,
    /// Adds ½w‖r‖², or its loss, up.
    pub energy: Program,
    /// Adds the change of that between two points up, without cancellation.
    pub change: Program,
    /// Contributions to JᵀWr.
    pub gradient: Program,
    /// Contributions to JᵀWJp.
    pub product: Program,
    /// The product with J's entries computed anew from the variables, instead of loaded.
    pub recompute: Option<Program>,
    /// Contributions to the diagonal blocks of JᵀWJ.
    pub diagonal: Program,
    /// Rows of the residual.
    pub rows: u32,
    /// Columns of the Jacobian buffer: the rows of r, then the stored entries of J.
    pub stored: u32,
    /// Columns that `gradient` and `product` store.
    pub contributions: u32,
    /// Columns that `diagonal` stores.
    pub diagonals: u32,
    /// Columns that the programs store into, those between pieces of large ones included; counted when a device asks.
    pub(super) in_pieces: [OnceLock<u32>; Cut::ALL.len()],
    /// What the columns of J stand for: slot, and scalar or degree of freedom.
    pub inputs: Vec<(u32, u32)>,
    /// J, row by row.
    pub entries: Vec<Entry>,
    /// For every slot, where its part of Jᵀu is (width d), and of its diagonal block
    /// (width d(d+1)/2: the lower triangle, row by row). Empty for constants.
    pub gradient_maps: Vec<ColumnMap>,
    /// The same for the diagonal blocks.
    pub diagonal_maps: Vec<ColumnMap>,
    /// Of energies and of residuals with full curvature, what stands in JᵀWJ's place.
    pub curvature: Option<ProjectedHessian>,
    /// Residuals or an energy.
    pub objective: Objective,
}

/// The state elements that guard the programs: a kernel does nothing while its guard is not 0.
#[derive(Clone, Copy, Debug)]
pub struct Guards {
    /// Set while the linearisation at the current point is still valid.
    pub linearized: u32,
    /// Set when the inner solver has converged.
    pub solved: u32,
}

/// A residual's dependence on its own slots through a slot that holds sums over entries: component `sum` of the sums has
/// the derivative ±`slope`, a component of the slot that holds such derivatives, with respect to the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Through {
    /// The input's slot, and its scalar or degree of freedom.
    pub input: (u32, u32),
    /// Slot and component.
    pub sum: (u32, u32),
    /// Code of the slope.
    pub slope: (u32, u32),
    /// True if its sign is turned.
    pub negative: bool,
}

/// A Jacobian's entries as later programs see them: `linear` is the graph over what is stored.
pub(super) struct Linearised {
    pub linear: Graph,
    pub stored: Columns,
    pub entries: Vec<Entry>,
}

impl Linearised {
    /// Columns of the Jacobian buffer are numbered from `first`.
    pub fn new(first: u32) -> Self {
        Self { linear: Graph::new(), stored: Columns::new(first), entries: Vec::new() }
    }

    /// The next entry, an expression of `graph`, as one of `linear`.
    pub fn entry(&mut self, graph: &Graph, entry: Expr) -> Expr {
        let (unsigned, negative) = graph.unsigned(entry);
        let (value, known) = match graph.node(unsigned) {
            Node::Const(bits) => (self.linear.constant(f64::from_bits(bits)), Entry::Constant(f64::from_bits(bits))),
            // It is there already.
            Node::Leaf(Leaf::Data { column, component }) => {
                (self.linear.leaf(Leaf::Data { column, component }), Entry::Data { column, negative })
            }
            _ => {
                let (column, _) = self.stored.column(graph, unsigned);
                (self.linear.leaf(Leaf::Stored(column)), Entry::Stored { column, negative })
            }
        };
        self.entries.push(known);
        if negative { self.linear.neg(value) } else { value }
    }
}

/// Distinct expressions up to sign, numbered from `first`.
pub(super) struct Columns {
    first: u32,
    numbers: HashMap<Expr, u32>,
    pub list: Vec<Expr>,
}

impl Columns {
    pub fn new(first: u32) -> Self {
        Self { first, numbers: HashMap::new(), list: Vec::new() }
    }

    /// The column of an expression, and whether it is stored with the opposite sign.
    pub fn column(&mut self, graph: &Graph, expr: Expr) -> (u32, bool) {
        let (unsigned, negative) = graph.unsigned(expr);
        let next = self.first + self.list.len() as u32;
        let number = *self.numbers.entry(unsigned).or_insert_with(|| {
            self.list.push(unsigned);
            next
        });
        (number, negative)
    }

    pub fn code(&mut self, graph: &Graph, expr: Expr) -> u32 {
        if graph.value(expr) == Some(0.0) {
            return 0;
        }
        let (column, negative) = self.column(graph, expr);
        (column + 1) | if negative { NEGATIVE } else { 0 }
    }

    pub fn stores(&self, store: impl Fn(u32) -> Store) -> Vec<(Store, Expr)> {
        (self.first..).zip(&self.list).map(|(column, &expr)| (store(column), expr)).collect()
    }
}

impl ResidualPrograms {
    /// Differentiates `residual` (expressions of `graph` over slots and data) and writes the programs.
    pub fn new(name: &str, graph: Graph, residual: &[Expr], signature: &Signature, guards: Guards) -> Self {
        Self::with_sums(name, graph, residual, signature, guards, &[])
    }

    /// The same for a residual that contains sums over entries: J with respect to its own slots is the whole derivative.
    pub fn with_sums(name: &str, mut graph: Graph, residual: &[Expr], signature: &Signature, guards: Guards, through: &[Through]) -> Self {
        let rows = residual.len() as u32;
        let derivatives = Inputs::moving(&mut graph, signature);
        let inputs = &derivatives.list;

        // The stored entries: row by row, distinct up to sign.
        let place = |wanted: (u32, u32)| inputs.iter().position(|input| *input == wanted);
        let through: Vec<_> = through.iter().filter_map(|known| Some((place(known.input)?, place(known.sum)?, known))).collect();
        let mut linearised = Linearised::new(rows);
        let jacobian: Vec<Vec<Expr>> = residual
            .iter()
            .map(|&row| {
                let mut entries = derivatives.gradient(&mut graph, row);
                for &(input, sum, &Through { slope: (slot, component), negative, .. }) in &through {
                    let slope = graph.leaf(Leaf::Slot { slot, component });
                    let part = graph.mul(entries[sum], slope);
                    entries[input] = if negative { graph.sub(entries[input], part) } else { graph.add(entries[input], part) };
                }
                entries.into_iter().map(|entry| linearised.entry(&graph, entry)).collect()
            })
            .collect();
        let Linearised { mut linear, stored, entries: known_entries } = linearised;

        let program = |suffix: &str, graph: &Graph, stores: &[(Store, Expr)], guard: Option<u32>| {
            signature.program(&format!("{name}: {suffix}"), graph, stores, guard)
        };
        let checked = graph.flagged(residual);
        let mut stores: Vec<(Store, Expr)> = (0..rows).map(Store::Jacobian).zip(checked.iter().copied()).collect();
        stores.extend(stored.stores(Store::Jacobian));
        let linearize = program("linearize", &graph, &stores, Some(guards.linearized));
        let change = {
            let difference = change(&mut graph, residual, signature.loss.as_ref());
            program("change", &graph, &[(Store::Column(0), difference)], None)
        };

        let mut weighting = Weighting::new(&mut linear, rows, signature.loss.as_ref());
        let energy = {
            // Where a row may carry the flag, its bits decide: a sum over it would be up to the hardware.
            let may_be_flagged = residual.iter().zip(&checked).map(|(plain, checked)| plain != checked);
            let value = weighting.energy(&mut linear, may_be_flagged);
            program("energy", &linear, &[(Store::Column(0), value)], None)
        };

        // Jᵀu for a vector u of rows that is only a symbol yet: both programs have these columns.
        let u: Vec<Expr> = (0..rows).map(|row| linear.leaf(Leaf::Row(row))).collect();
        // Column by column, the rows whose entry is not 0: wide variables have few.
        let entries: Vec<Vec<(usize, Expr)>> = (0..inputs.len())
            .map(|input| {
                let column = jacobian.iter().map(|row| row[input]).enumerate();
                column.filter(|&(_, entry)| linear.value(entry) != Some(0.0)).collect()
            })
            .collect();
        let transposed: Vec<Expr> = entries
            .iter()
            .map(|column| {
                let (entry, u): (Vec<Expr>, Vec<Expr>) = column.iter().map(|&(row, entry)| (entry, u[row])).unzip();
                linear.dot(&entry, &u)
            })
            .collect();
        let mut contributions = Columns::new(0);
        let codes: Vec<u32> = transposed.iter().map(|&expr| contributions.code(&linear, expr)).collect();
        let columns = contributions.list.clone();
        let with_rows = |linear: &mut Graph, rows: &[Expr]| -> Vec<(Store, Expr)> {
            let values = linear.substitute(&columns, |leaf| match leaf {
                Leaf::Row(row) => rows.get(row as usize).copied(),
                _ => None,
            });
            (0..).map(Store::Column).zip(values).collect()
        };
        let weighted_r = weighting.gradient(&mut linear);
        let stores = with_rows(&mut linear, &weighted_r);
        let gradient = program("gradient", &linear, &stores, None);
        let p: Vec<Expr> = inputs.iter().map(|&(slot, component)| linear.leaf(Leaf::Direction { slot, component })).collect();
        let jp: Vec<Expr> = jacobian.iter().map(|row| linear.dot(row, &p)).collect();
        let weighted_jp = weighting.rows(&mut linear, &jp);
        let stores = with_rows(&mut linear, &weighted_jp);
        let product = program("product", &linear, &stores, Some(guards.solved));
        // With sums over entries, J is not a function of the variables alone.
        let recompute = through.is_empty().then(|| {
            let (places, values): (Vec<Store>, Vec<Expr>) = stores.into_iter().unzip();
            // The rows of r stay what was stored: a loss weighs J by them.
            let entry = |graph: &mut Graph, leaf| match leaf {
                Leaf::Stored(column) if column >= rows => stored.list[(column - rows) as usize],
                _ => graph.leaf(leaf),
            };
            let values = graph.import(&linear, &values, entry);
            program("product, recomputed", &graph, &places.into_iter().zip(values).collect::<Vec<_>>(), Some(guards.solved))
        });
        let recompute = recompute.filter(|program| wgsl::is_small(program, Cut::Coarse));

        let mut diagonals = Columns::new(0);
        let mut gradient_maps = vec![ColumnMap::default(); signature.slots.len()];
        let mut diagonal_maps = vec![ColumnMap::default(); signature.slots.len()];
        let mut first = 0;
        for slot in signature.moving().map(|slot| slot as usize) {
            let width = signature.slots[slot].tangent();
            let range = first..first + width as usize;
            gradient_maps[slot] = ColumnMap { width, codes: codes[range.clone()].to_vec() };
            let mut block = Vec::new();
            for i in range.clone() {
                for of_j in &entries[range.start..=i] {
                    let entry = weighting.pair(&mut linear, &entries[i], of_j);
                    block.push(diagonals.code(&linear, entry));
                }
            }
            diagonal_maps[slot] = ColumnMap { width: width * (width + 1) / 2, codes: block };
            first = range.end;
        }
        let diagonal = program("diagonal", &linear, &diagonals.stores(Store::Column), None);
        Self {
            in_pieces: Default::default(),
            linearize,
            energy,
            change,
            gradient,
            product,
            recompute,
            diagonal,
            rows,
            stored: rows + stored.list.len() as u32,
            contributions: columns.len() as u32,
            diagonals: diagonals.list.len() as u32,
            inputs: derivatives.list,
            entries: known_entries,
            gradient_maps,
            diagonal_maps,
            curvature: None,
            objective: Objective::LeastSquares,
        }
    }
}

impl ResidualPrograms {
    /// Columns of scratch that the programs need; with those between pieces of large ones where a device needs pieces.
    pub fn scratch(&self, cut: Option<Cut>) -> u32 {
        let raw = self.curvature.as_ref().map_or(0, |curvature| curvature.columns);
        let own = self.contributions.max(self.diagonals).max(raw).max(1);
        let all = || self.all().into_iter().chain(self.curvature.iter().map(|curvature| &curvature.program));
        let counted = |cut| all().map(|program| wgsl::columns(program, cut)).max().unwrap_or(0);
        cut.map_or(own, |cut| own.max(*self.in_pieces[cut as usize].get_or_init(|| counted(cut))))
    }

    /// In the order of `TermKernels`.
    pub fn all(&self) -> [&Program; 6] {
        [&self.linearize, &self.energy, &self.change, &self.gradient, &self.product, &self.diagonal]
    }
}

impl Signature {
    /// The slots that are solved for.
    pub fn moving(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.slots).filter(|(_, slot)| slot.vector.is_some()).map(|(slot, _)| slot)
    }

    /// What of it is not the structure's.
    pub fn layout(&self) -> Layout {
        Layout { weight_shared: self.weight_shared, shared: self.columns.iter().map(|column| column.shared).collect() }
    }

    /// Columns of the index table.
    pub fn index_columns(&self) -> u32 {
        self.slots.iter().map(|slot| slot.arena.column + 1).max().unwrap_or(0)
    }

    /// Columns of the data that have a value an instance.
    pub fn each(&self) -> u32 {
        let columns = self.columns.iter().filter(|column| !column.shared).map(|column| column.width);
        columns.sum::<u32>() + u32::from(!self.weight_shared)
    }

    pub(super) fn program(&self, name: &str, graph: &Graph, stores: &[(Store, Expr)], guard: Option<u32>) -> Program {
        let arena = self.slots.iter().map(|slot| slot.arena);
        let vector = self.slots.iter().map(|slot| slot.vector.unwrap_or(slot.arena));
        let mut program = Program {
            name: name.to_string(),
            addresses: arena.chain(vector).collect(),
            header: self.header,
            shared: self.shared,
            guard,
            ..Program::default()
        };
        let slots = self.slots.len() as u32;
        let load = |leaf: Leaf| match leaf {
            Leaf::Slot { slot, component } => Load::Arena { address: slot, component },
            Leaf::Direction { slot, component } | Leaf::Step { slot, component } => Load::Vector { address: slots + slot, component },
            Leaf::Stored(column) => Load::Jacobian(column),
            Leaf::Weight if self.weight_shared => Load::Shared(0),
            Leaf::Weight => Load::Data(0),
            Leaf::Data { column, component } => {
                let shape = self.columns[column as usize];
                if shape.shared { Load::Shared(shape.offset + component) } else { Load::Data(shape.offset + component) }
            }
            // Only kernels that make something themselves have rows left.
            Leaf::Row(number) => Load::Given(number),
            Leaf::Literal(_) => unreachable!("replaced before a program is written"),
        };
        lower(graph, stores, load, &mut program);
        program.keep_used_addresses();
        program
    }
}

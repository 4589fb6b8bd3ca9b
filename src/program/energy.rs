//! Everything that a solver needs of one energy, in the form of [`ResidualPrograms`].
//!
//! With E(x) the scalar that an instance adds to the cost, w its weight, g its gradient and H its Hessian:
//!
//! | program | reads | stores |
//! |---|---|---|
//! | linearize | variables, constants, data | E and the distinct non-constant entries of g |
//! | curvature | the same | the distinct entries of H, in scratch columns |
//! | energy | E, w | w E |
//! | change | variables at the trial point, the stored E | w (E′ − E) |
//! | gradient | g, w | the contributions w g |
//! | product | a vector p, H⁺, w | the contributions w H⁺p |
//! | diagonal | H⁺, w | the diagonal blocks of w H⁺ |
//!
//! H⁺ is the positive semidefinite matrix nearest to H, which the kernel `project_blocks` makes of the scratch columns:
//! *projected Newton* (Teran, Sifakis, Irving & Fedkiw, *Robust Quasistatic Finite Elements and Flesh Simulation*, 2005).
//! Of every instance on its own it is small, and sums of such matrices are semidefinite. So wherever a method has JᵀWJ for
//! residuals it has w H⁺ for energies, and both may stand in one problem.
//!
//! A derivative that is the negative of another one, for all values, is stored once, as of residuals; H⁺ keeps that, since
//! what H has as a null vector is one of H⁺.

use super::inputs::{Inputs, displaced};
use super::residual::{Columns, Linearised};
use super::triggs::Weighting;
use super::{ColumnMap, Guards, NEGATIVE, Program, ResidualPrograms, Signature, Store};
use leastwise_expr::{Expr, Graph, Leaf, Unary};

/// The second derivatives of an energy.
#[derive(Clone, Debug)]
pub struct ProjectedHessian {
    /// Stores the distinct entries of H in scratch columns.
    pub program: Program,
    pub columns: u32,
    /// Unknowns of an instance.
    pub width: u32,
    /// The lower triangle of H, row by row, among the scratch columns.
    pub entries: ColumnMap,
    /// The column of the Jacobian buffer at which the lower triangle of H⁺ begins.
    pub first: u32,
}

impl ProjectedHessian {
    /// Entries of a packed matrix.
    pub fn packed(&self) -> u32 {
        self.width * (self.width + 1) / 2
    }

    /// Columns that projecting takes besides.
    pub fn work(&self) -> u32 {
        self.width * (self.width + 1)
    }

    /// Where an entry of H⁺ is stored.
    fn column(&self, i: usize, j: usize) -> u32 {
        let (row, column) = (i.max(j) as u32, i.min(j) as u32);
        self.first + row * (row + 1) / 2 + column
    }
}

impl ResidualPrograms {
    /// Differentiates a scalar of `graph` over slots and data, and writes the programs.
    pub fn of_energy(name: &str, mut graph: Graph, energy: Expr, signature: &Signature, guards: Guards) -> Self {
        let inputs = Inputs::moving(&mut graph, signature);
        let unknowns = inputs.unknowns(&mut graph, signature);
        let moved = displaced(&mut graph, signature, &[energy]);
        let slopes = graph.gradient(moved[0], &unknowns);
        let triangle = graph.hessian_of_gradient(&slopes, &unknowns);
        let (slopes, triangle) = (graph.at_rest(&slopes), graph.at_rest(&triangle));
        let program = |suffix: &str, graph: &Graph, stores: &[(Store, Expr)], guard: Option<u32>| {
            signature.program(&format!("{name}: {suffix}"), graph, stores, guard)
        };

        let mut linearised = Linearised::new(1);
        let gradient: Vec<Expr> = slopes.iter().map(|&slope| linearised.entry(&graph, slope)).collect();
        let Linearised { mut linear, stored, entries } = linearised;
        let checked = graph.flagged(&[energy])[0];
        let mut stores = vec![(Store::Jacobian(0), checked)];
        stores.extend(stored.stores(Store::Jacobian));
        let linearize = program("linearize", &graph, &stores, Some(guards.linearized));

        let mut raw = Columns::new(0);
        let codes: Vec<u32> = triangle.iter().map(|&entry| raw.code(&graph, entry)).collect();
        // Of what is linear in everything nothing else would be stored.
        let zero = graph.constant(0.0);
        let nothing = raw.list.is_empty().then_some((Store::Column(0), zero));
        let curvature = ProjectedHessian {
            program: program("curvature", &graph, &raw.stores(Store::Column).into_iter().chain(nothing).collect::<Vec<_>>(), None),
            columns: raw.list.len() as u32,
            width: inputs.list.len() as u32,
            entries: ColumnMap { width: codes.len() as u32, codes },
            first: 1 + stored.list.len() as u32,
        };

        let change = {
            let before = graph.leaf(Leaf::Stored(0));
            let difference = graph.sub(energy, before);
            let weight = graph.leaf(Leaf::Weight);
            let change = graph.mul(weight, difference);
            let defined = graph.defined(&[energy]);
            let change = graph.flagged_unless(defined, change);
            program("change", &graph, &[(Store::Column(0), change)], None)
        };
        let weight = linear.leaf(Leaf::Weight);
        let value = {
            let stored = linear.leaf(Leaf::Stored(0));
            let value = linear.mul(weight, stored);
            if checked == energy {
                value
            } else {
                // The flag's bits decide: what is made of it is up to the hardware.
                let finite = linear.unary(Unary::Finite, stored);
                linear.flagged_unless(finite, value)
            }
        };
        let value = program("energy", &linear, &[(Store::Column(0), value)], None);

        let mut contributions = Columns::new(0);
        let weighted: Vec<Expr> = gradient.iter().map(|&slope| linear.mul(weight, slope)).collect();
        let codes: Vec<u32> = weighted.iter().map(|&slope| contributions.code(&linear, slope)).collect();
        let gradient = program("gradient", &linear, &contributions.stores(Store::Column), None);

        let p: Vec<Expr> = inputs.list.iter().map(|&(slot, component)| linear.leaf(Leaf::Direction { slot, component })).collect();
        // Of every column, the row of the first input that it is the derivative by.
        let products: Vec<(Store, Expr)> = (0..contributions.list.len() as u32)
            .map(|column| {
                let input = codes.iter().position(|code| (code & !NEGATIVE) == column + 1).unwrap_or(0);
                let row: Vec<Expr> = (0..p.len()).map(|other| linear.leaf(Leaf::Stored(curvature.column(input, other)))).collect();
                let along = linear.dot(&row, &p);
                let along = linear.mul(weight, along);
                (Store::Column(column), if codes[input] & NEGATIVE == 0 { along } else { linear.neg(along) })
            })
            .collect();
        let product = program("product", &linear, &products, Some(guards.solved));

        let mut diagonals = Columns::new(0);
        let mut gradient_maps = vec![ColumnMap::default(); signature.slots.len()];
        let mut diagonal_maps = vec![ColumnMap::default(); signature.slots.len()];
        let mut first = 0;
        for slot in signature.moving().map(|slot| slot as usize) {
            let width = signature.slots[slot].tangent();
            let range = first..first + width as usize;
            gradient_maps[slot] = ColumnMap { width, codes: codes[range.clone()].to_vec() };
            let block = range.clone().flat_map(|i| (range.start..=i).map(move |j| (i, j)));
            let block = block.map(|(i, j)| {
                let entry = linear.leaf(Leaf::Stored(curvature.column(i, j)));
                let entry = linear.mul(weight, entry);
                diagonals.code(&linear, entry)
            });
            diagonal_maps[slot] = ColumnMap { width: width * (width + 1) / 2, codes: block.collect() };
            first = range.end;
        }
        let diagonal = program("diagonal", &linear, &diagonals.stores(Store::Column), None);
        Self {
            in_pieces: Default::default(),
            linearize,
            energy: value,
            change,
            gradient,
            product,
            recompute: None,
            diagonal,
            rows: 1,
            stored: curvature.first + curvature.packed(),
            contributions: contributions.list.len() as u32,
            diagonals: diagonals.list.len() as u32,
            inputs: inputs.list,
            entries,
            gradient_maps,
            diagonal_maps,
            curvature: Some(curvature),
        }
    }
}

/// The entries of what a term adds to the matrix of a step's linear system, JᵀWJ of residuals and w H⁺ of energies, in a
/// graph over what is stored.
pub(super) enum Normal<'a> {
    Residual { jacobian: Vec<Vec<(usize, Expr)>>, weighting: Weighting<'a> },
    Energy { weight: Expr, curvature: &'a ProjectedHessian },
}

impl<'a> Normal<'a> {
    pub fn new(graph: &mut Graph, programs: &'a ResidualPrograms, signature: &'a Signature) -> Self {
        match &programs.curvature {
            Some(curvature) => Self::Energy { weight: graph.leaf(Leaf::Weight), curvature },
            None => Self::Residual {
                jacobian: programs.jacobian(graph),
                weighting: Weighting::new(graph, programs.rows, signature.loss.as_ref()),
            },
        }
    }

    /// The entry of two inputs.
    pub fn entry(&mut self, graph: &mut Graph, i: usize, j: usize) -> Expr {
        match self {
            Self::Residual { jacobian, weighting } => weighting.pair(graph, &jacobian[i], &jacobian[j]),
            Self::Energy { weight, curvature } => {
                let entry = graph.leaf(Leaf::Stored(curvature.column(i, j)));
                graph.mul(*weight, entry)
            }
        }
    }
}

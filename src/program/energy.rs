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
//! residuals it has w H⁺ for energies, and both may stand in one problem. A residual with *full curvature* has H⁺ of its
//! ½ ρ(‖r‖²), too, and all else as residuals have it.
//!
//! A derivative that is the negative of another one, for all values, is stored once, as of residuals; H⁺ keeps that, since
//! what H has as a null vector is one of H⁺.

use super::hessian::gradient_of_squares;
use super::inputs::{Inputs, displaced};
use super::residual::{Columns, Linearised};
use super::triggs::Weighting;
use super::{ColumnMap, Guards, NEGATIVE, Objective, Program, ResidualPrograms, Signature, Store};
use leastwise_expr::{Expr, Graph, Leaf, Unary};

/// The second derivatives of an energy, or of ½ ρ(‖r‖²) of a residual with full curvature.
#[derive(Clone, Debug)]
pub struct ProjectedHessian {
    /// Stores the distinct entries of H in scratch columns.
    pub program: Program,
    /// Columns that it stores.
    pub columns: u32,
    /// Unknowns of an instance.
    pub width: u32,
    /// The lower triangle of H, row by row, among the scratch columns.
    pub entries: ColumnMap,
    /// The column of the Jacobian buffer at which the lower triangle of H⁺ begins.
    pub first: u32,
}

impl ProjectedHessian {
    /// That of a Hessian whose lower triangle is given, row by row; the Jacobian buffer has room from the column `first` on.
    fn new(name: &str, graph: &mut Graph, triangle: &[Expr], width: u32, first: u32, signature: &Signature) -> Self {
        let mut raw = Columns::new(0);
        let codes: Vec<u32> = triangle.iter().map(|&entry| raw.code(graph, entry)).collect();
        // Of what is linear in everything nothing else would be stored.
        let zero = graph.constant(0.0);
        let nothing = raw.list.is_empty().then_some((Store::Column(0), zero));
        let stores: Vec<(Store, Expr)> = raw.stores(Store::Column).into_iter().chain(nothing).collect();
        Self {
            program: signature.program(&format!("{name}: curvature"), graph, &stores, None),
            columns: raw.list.len() as u32,
            width,
            entries: ColumnMap { width: codes.len() as u32, codes },
            first,
        }
    }

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

        let first = 1 + stored.list.len() as u32;
        let curvature = ProjectedHessian::new(name, &mut graph, &triangle, inputs.list.len() as u32, first, signature);

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

        let contributions = contributions.list.len() as u32;
        let Products { product, diagonal, diagonals, gradient_maps, diagonal_maps } =
            Products::new(name, &mut linear, &curvature, (&inputs.list, &codes, contributions), signature, guards);
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
            contributions,
            diagonals,
            inputs: inputs.list,
            entries,
            gradient_maps,
            diagonal_maps,
            curvature: Some(curvature),
            objective: Objective::Energy,
        }
    }

    /// Those of a residual whose steps take the Hessian of ½ ρ(‖r‖²), made semidefinite, in place of Jᵀ W J. r, J, the cost, its
    /// changes and the gradient are computed as of any residual.
    pub fn with_full_curvature(name: &str, mut graph: Graph, residual: &[Expr], signature: &Signature, guards: Guards) -> Self {
        let programs = Self::new(name, graph.clone(), residual, signature, guards);
        let unknowns = Inputs::moving(&mut graph, signature).unknowns(&mut graph, signature);
        let slopes = gradient_of_squares(&mut graph, residual, signature, &unknowns);
        let triangle = graph.hessian_of_gradient(&slopes, &unknowns);
        let triangle = graph.at_rest(&triangle);
        let curvature = ProjectedHessian::new(name, &mut graph, &triangle, programs.inputs.len() as u32, programs.stored, signature);
        let codes: Vec<u32> = programs.gradient_maps.iter().flat_map(|map| map.codes.iter().copied()).collect();
        let contributions = (&programs.inputs[..], &codes[..], programs.contributions);
        let Products { product, diagonal, diagonals, gradient_maps, diagonal_maps } =
            Products::new(name, &mut Graph::new(), &curvature, contributions, signature, guards);
        Self {
            product,
            recompute: None,
            diagonal,
            diagonals,
            gradient_maps,
            diagonal_maps,
            stored: curvature.first + curvature.packed(),
            curvature: Some(curvature),
            objective: Objective::FullCurvature,
            ..programs
        }
    }
}

/// What multiplies with w H⁺.
struct Products {
    product: Program,
    diagonal: Program,
    diagonals: u32,
    gradient_maps: Vec<ColumnMap>,
    diagonal_maps: Vec<ColumnMap>,
}

impl Products {
    /// `linear` is a graph over what is stored. `codes` say for every input which of the `contributions` columns is its part of
    /// the gradient. What that shares up to its sign, rows of H and of H⁺ share, too.
    fn new(
        name: &str,
        linear: &mut Graph,
        curvature: &ProjectedHessian,
        (inputs, codes, contributions): (&[(u32, u32)], &[u32], u32),
        signature: &Signature,
        guards: Guards,
    ) -> Self {
        let program = |suffix: &str, graph: &Graph, stores: &[(Store, Expr)], guard: Option<u32>| {
            signature.program(&format!("{name}: {suffix}"), graph, stores, guard)
        };
        let p: Vec<Expr> = inputs.iter().map(|&(slot, component)| linear.leaf(Leaf::Direction { slot, component })).collect();
        let weight = linear.leaf(Leaf::Weight);
        // Of every column, the row of the first input that it is the derivative by.
        let products: Vec<(Store, Expr)> = (0..contributions)
            .map(|column| {
                let input = codes.iter().position(|code| (code & !NEGATIVE) == column + 1).unwrap_or(0);
                let row: Vec<Expr> = (0..p.len()).map(|other| linear.leaf(Leaf::Stored(curvature.column(input, other)))).collect();
                let along = linear.dot(&row, &p);
                let along = linear.mul(weight, along);
                (Store::Column(column), if codes[input] & NEGATIVE == 0 { along } else { linear.neg(along) })
            })
            .collect();
        let product = program("product", linear, &products, Some(guards.solved));

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
                diagonals.code(linear, entry)
            });
            diagonal_maps[slot] = ColumnMap { width: width * (width + 1) / 2, codes: block.collect() };
            first = range.end;
        }
        let diagonal = program("diagonal", linear, &diagonals.stores(Store::Column), None);
        Self { product, diagonal, diagonals: diagonals.list.len() as u32, gradient_maps, diagonal_maps }
    }
}

/// The entries of what a term adds to the matrix of a step's linear system, JᵀWJ of residuals and w H⁺ of what has
/// curvature, in a graph over what is stored.
pub(super) enum Normal<'a> {
    Residual { jacobian: Vec<Vec<(usize, Expr)>>, weighting: Weighting<'a> },
    Projected { weight: Expr, curvature: &'a ProjectedHessian },
}

impl<'a> Normal<'a> {
    /// Block JᵀWJ, or the projected Hessian in its place, of the linearised programs.
    pub fn new(graph: &mut Graph, programs: &'a ResidualPrograms, signature: &'a Signature) -> Self {
        match &programs.curvature {
            Some(curvature) => Self::Projected { weight: graph.leaf(Leaf::Weight), curvature },
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
            Self::Projected { weight, curvature } => {
                let entry = graph.leaf(Leaf::Stored(curvature.column(i, j)));
                graph.mul(*weight, entry)
            }
        }
    }
}

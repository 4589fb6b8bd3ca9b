//! The kernel of many small fits: one model, and a whole Levenberg–Marquardt for each fit.
//!
//! A point of a fit compares the model f(p, x) with a datum y, and adds w ℓ(f, y) to the fit's objective F. The program gives
//! of a point: its part of F, u = ∂F/∂f, the curvature k of F along f that steps take, and the row J = ∂f/∂p of the free
//! parameters. The kernel around it adds up F, the gradient Jᵀu and the normal matrix Jᵀ diag(k) J, and solves.
//!
//! | likelihood | part of F | u | k |
//! |---|---|---|---|
//! | least squares, r = f − y | ½ w ρ(r²) | w ρ′ r | w (ρ′ + κ r²), [Triggs' correction](crate::RobustShape) |
//! | Poisson, f > 0, y ≥ 0 | w (f − y + y ln(y/f)) | w (1 − y/f) | w / f (Fisher scoring) |
//!
//! So 2F is χ² of least squares, and the deviance of Poisson's likelihood (Laurence & Chromy, *Efficient maximum likelihood
//! estimator fitting of histograms*, Nature Methods 7, 2010).

use super::triggs::RobustShape;
use super::{Load, LossKind, Program, Store, lower};
use crate::{Access, binding};
use leastwise_expr::{Expr, Graph, Leaf, Unary};
use leastwise_kernels::ARGUMENT_WORDS;
use std::sync::Arc;

/// The distribution that data are compared by.
#[derive(Clone, PartialEq, Debug)]
pub enum Likelihood {
    /// ½ Σ w ρ((f − y)²): the loss with the values of its parameters.
    LeastSquares(Option<(Arc<LossKind>, Vec<f64>)>),
    /// Counts: Σ w (f − y + y ln(y/f)).
    Poisson,
}

/// Weights of points.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FitWeights {
    /// All are 1.
    None,
    /// One for each point, the same for all fits.
    Shared,
    /// One for each point of each fit.
    Each,
}

/// What decides a fit's layout besides its model.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FitLayout {
    /// Parameters of the model.
    pub parameters: u32,
    /// Those of them that are fitted, in ascending order.
    pub free: Vec<u32>,
    /// For each independent variable, true if all fits share its values.
    pub variables: Vec<bool>,
    /// Weights.
    pub weights: FitWeights,
    /// True if fits differ in how many points they have.
    pub ragged: bool,
    /// True if free parameters have bounds.
    pub bounded: bool,
}

/// The kernel of a model's fits.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FitProgram {
    /// Program of a point: `Given` values are the parameters, the variables, the datum and its weight. It stores, as columns of a
    /// tile, the point's part of F, u, k, 1 if all is defined (else 0), and J.
    pub program: Program,
    /// Layout of its buffers.
    pub layout: FitLayout,
    /// Parameters that all fits share, behind the free ones in J: then it is the kernel that takes the free ones out of the normal
    /// equations ([`fit_sums`]). Empty for the kernel of fits.
    pub shared: Vec<u32>,
}

/// Model of a fit: an expression over parameters (slot 0) and independent variables (data columns of one scalar).
pub struct FitModel<'a> {
    /// Graph of the model.
    pub graph: &'a Graph,
    /// f(p, x).
    pub value: Expr,
    /// Likelihood of the data.
    pub likelihood: &'a Likelihood,
}

/// The parameter of this number in a model.
pub fn fit_parameter(number: u32) -> Leaf {
    Leaf::Slot { slot: 0, component: number }
}

/// The independent variable of this number in a model.
pub fn fit_variable(number: u32) -> Leaf {
    Leaf::Data { column: number, component: 0 }
}

/// First column that stands for a parameter of a loss: behind all variables.
const LOSS: u32 = 1 << 20;

/// A fit's part of the reduced normal equations of shared parameters: the lower triangle of their matrix, row by row, the gradient, F,
/// and 1 if the fit is not finite (then the others are 0).
pub mod fit_sums {
    /// Number of F: behind the triangle and the gradient.
    pub fn cost(shared: u32) -> u32 {
        shared * (shared + 3) / 2
    }

    /// Number of degrees of freedom: points less own parameters that they determine.
    pub fn freedom(shared: u32) -> u32 {
        cost(shared) + 1
    }

    /// Numbers in all. The last one is 1 for a fit that gives nothing else.
    pub fn count(shared: u32) -> u32 {
        cost(shared) + 3
    }
}

/// State of a fit, as kernels write it.
pub mod fit_state {
    /// It is not at its end.
    pub const RUNNING: u32 = 0;
    /// A step changes F or the parameters by less than the tolerances.
    pub const CONVERGED: u32 = 1;
    /// The same, with parameters at a bound.
    pub const AT_BOUND: u32 = 2;
    /// The same, but the normal matrix is singular: some parameters are not determined by the data.
    pub const SINGULAR: u32 = 3;
    /// The model is not finite at the start, or wherever steps lead.
    pub const NON_FINITE: u32 = 4;
    /// It made as many iterations as are allowed.
    pub const LIMIT: u32 = 5;
}

impl FitLayout {
    /// Free parameters.
    pub fn free_count(&self) -> u32 {
        self.free.len() as u32
    }

    /// True if a fit has more parameters than a thread's registers have room for: then a workgroup has a fit.
    pub fn is_wide(&self) -> bool {
        self.free_count() > FitProgram::MOST_IN_REGISTERS
    }

    /// Field of the state's buffer with the first standard error: after the parameters.
    pub fn errors(&self) -> u32 {
        self.parameters
    }

    /// Field with F. Iterations, state, damping and its growth follow.
    pub fn cost(&self) -> u32 {
        self.parameters + self.free_count()
    }

    /// Field with the iterations.
    pub fn iterations(&self) -> u32 {
        self.cost() + 1
    }

    /// Field with the state: the last one of what fits came to.
    pub fn state(&self) -> u32 {
        self.cost() + 2
    }

    /// Field with the damping, before its growth. 0 for a fit that was not begun.
    pub fn damping(&self) -> u32 {
        self.cost() + 3
    }

    /// Fields of a fit, each a column of as many numbers as there are fits.
    pub fn fields(&self) -> u32 {
        self.cost() + 5
    }

    /// Numbers of the data's buffer: tolerances, shared variables, then data, weights, and the other variables. `total` points in all,
    /// `points` the most of a fit. What is not shared is point by point, all fits of a point together, so that neighbouring threads
    /// read neighbouring numbers; of fits that differ in their points, it is fit by fit.
    pub fn data(&self, points: u64, total: u64) -> u64 {
        self.places(points, total).end
    }

    /// Where the parts of the data's buffer begin.
    pub fn places(&self, points: u64, total: u64) -> FitPlaces {
        let mut end = FitTolerances::COUNT;
        let mut take = |length: u64| {
            end += length;
            end - length
        };
        let shared: Vec<u64> = self.variables.iter().map(|shared| if *shared { take(points) } else { 0 }).collect();
        let data = take(total);
        let weights = match self.weights {
            FitWeights::None => 0,
            FitWeights::Shared => take(points),
            FitWeights::Each => take(total),
        };
        let variables = self.variables.iter().zip(shared).map(|(is_shared, place)| if *is_shared { place } else { take(total) });
        let variables = variables.collect();
        FitPlaces { data, weights, variables, end }
    }
}

/// Where the parts of the data's buffer begin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FitPlaces {
    /// First datum.
    pub data: u64,
    /// First weight, if there are any.
    pub weights: u64,
    /// First value of each variable.
    pub variables: Vec<u64>,
    /// Length of the buffer.
    pub end: u64,
}

/// The arguments of a fit: `struct Args` of its text. Tolerances are numbers of the data's buffer ([`FitTolerances`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FitArguments {
    /// Fits of the buffers.
    pub fits: u32,
    /// Most points of a fit.
    pub points: u32,
    /// Points of all fits.
    pub total: u32,
    /// Iterations of this launch.
    pub rounds: u32,
    /// Iterations of a fit at most.
    pub most: u32,
    /// 1 if every fit has bounds of its own, 0 if they are shared.
    pub each: u32,
    /// Items of a dispatch that a fit has: 1, or those of a workgroup ([`FitProgram::is_wide`]).
    pub lanes: u32,
}

impl FitArguments {
    /// The words of a dispatch.
    pub fn words(self) -> [u32; ARGUMENT_WORDS] {
        let mut words = [0; ARGUMENT_WORDS];
        words[..7].copy_from_slice(&[self.fits, self.points, self.total, self.rounds, self.most, self.each, self.lanes]);
        words
    }

    /// The arguments that words are.
    pub fn of(words: [u32; ARGUMENT_WORDS]) -> Self {
        let [fits, points, total, rounds, most, each, lanes, ..] = words;
        Self { fits, points, total, rounds, most, each, lanes: lanes.max(1) }
    }
}

/// Tolerances, which the data's buffer begins with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FitTolerances {
    /// Converged if a step is predicted to reduce F by less than this part.
    pub cost: f64,
    /// Converged if a step changes every parameter by less than this part.
    pub step: f64,
    /// Part of F by which rounding errors may raise it.
    pub noise: f64,
    /// Pivot below which the normal matrix is singular, where its diagonal is 1.
    pub rank: f64,
}

impl FitTolerances {
    /// How many numbers they are.
    pub const COUNT: u64 = 4;

    /// The numbers, in their order.
    pub fn numbers(self) -> [f64; 4] {
        [self.cost, self.step, self.noise, self.rank]
    }
}

impl FitProgram {
    /// Free parameters at most, whose normal matrix stays in the registers of one thread.
    pub const MOST_IN_REGISTERS: u32 = 12;
    /// Free parameters at most: the normal matrix and its factor are in a workgroup's memory.
    pub const MOST_FREE: u32 = 32;
    /// Instructions of a point at most: the kernel is one module.
    pub const MOST_INSTRUCTIONS: usize = 3000;
    /// First damping.
    pub const FIRST_DAMPING: f64 = 1e-3;
    /// Damping at which a fit ends that no step improves.
    pub const LAST_DAMPING: f64 = 1e16;
    /// Part of the predicted reduction that a step must achieve to be accepted.
    pub const LEAST_GAIN: f64 = 1e-4;
    /// Diagonal entry of the normal matrix below which a parameter counts as one without influence.
    pub const LEAST_CURVATURE: f64 = 1e-30;
    /// Columns of a point before J.
    pub const BEFORE: u32 = 4;

    /// The kernel of a model.
    pub fn new(model: &FitModel, layout: FitLayout) -> Self {
        Self::of_shared(model, layout, Vec::new())
    }

    /// The kernel that takes the free parameters out, where all fits share some others.
    pub fn of_shared(model: &FitModel, layout: FitLayout, shared: Vec<u32>) -> Self {
        let mut graph = Graph::new();
        let f = graph.import(model.graph, &[model.value], |graph, leaf| graph.leaf(leaf))[0];
        let inputs: Vec<Expr> = layout.free.iter().chain(&shared).map(|number| graph.leaf(fit_parameter(*number))).collect();
        let datum = fit_variable(layout.variables.len() as u32);
        let y = graph.leaf(datum);
        let weight = match layout.weights {
            FitWeights::None => graph.constant(1.0),
            _ => graph.leaf(Leaf::Weight),
        };
        let (parts, domain) = match model.likelihood {
            Likelihood::LeastSquares(loss) => least_squares(&mut graph, f, y, weight, loss.as_ref()),
            Likelihood::Poisson => poisson(&mut graph, f, y, weight),
        };
        let row = graph.gradient(f, &inputs);
        let all: Vec<Expr> = parts.iter().chain(&row).copied().collect();
        let defined = graph.defined(&all);
        // What comes in is finite, or the fit is not.
        let mut valid = graph.and(defined, domain);
        let leaves: Vec<Expr> = (0..layout.variables.len() as u32)
            .map(fit_variable)
            .chain([datum])
            .map(|leaf| graph.leaf(leaf))
            .chain((layout.weights != FitWeights::None).then_some(weight))
            .collect();
        for leaf in leaves {
            let finite = graph.unary(Unary::Finite, leaf);
            valid = graph.and(valid, finite);
        }
        let values = [parts[0], parts[1], parts[2], valid].into_iter().chain(row);
        let stores: Vec<(Store, Expr)> = (0..).map(Store::Tile).zip(values).collect();
        let mut program = Program { name: "fits".into(), ..Program::default() };
        let (parameters, variables) = (layout.parameters, layout.variables.len() as u32);
        let load = |leaf: Leaf| match leaf {
            Leaf::Slot { component, .. } => Load::Given(component),
            Leaf::Data { column, .. } => Load::Given(parameters + column),
            _ => Load::Given(parameters + variables + 1),
        };
        lower(&graph, &stores, load, &mut program);
        Self { program, layout, shared }
    }

    /// True if a workgroup has a fit, which otherwise a thread has.
    pub fn is_wide(&self) -> bool {
        self.is_of_shared() || self.layout.is_wide()
    }

    /// True for the kernel that takes the free parameters out.
    pub fn is_of_shared(&self) -> bool {
        !self.shared.is_empty()
    }

    /// What its kernel does with each slot: where fits begin is in the arena's slot, the fits that are not at their end in the
    /// index's, bounds are in the vector's, and what fits come to is written. Of shared parameters, the covariance is in the state's
    /// slot, and parts of the reduced equations are partial sums.
    pub fn access(&self) -> [Access; binding::COUNT] {
        let mut access = [Access::Unused; binding::COUNT];
        access[binding::DATA] = Access::Read;
        if self.is_of_shared() {
            access[binding::STATE] = Access::Read;
            access[binding::PARTIALS] = Access::ReadWrite;
        } else {
            access[binding::INDEX] = Access::Read;
        }
        access[binding::VECTOR_OUT] = Access::ReadWrite;
        if self.layout.ragged {
            access[binding::ARENA] = Access::Read;
        }
        if self.layout.bounded {
            access[binding::VECTOR_IN] = Access::Read;
        }
        access
    }
}

/// Part of F, u and k of least squares; and 1, since every residual has a square.
fn least_squares(graph: &mut Graph, f: Expr, y: Expr, weight: Expr, loss: Option<&(Arc<LossKind>, Vec<f64>)>) -> ([Expr; 3], Expr) {
    let r = graph.sub(f, y);
    let squared = graph.square(r);
    let (half, one) = (graph.constant(0.5), graph.constant(1.0));
    let scale = graph.mul(half, weight);
    let Some((kind, parameters)) = loss else {
        let cost = graph.mul(scale, squared);
        let u = graph.mul(weight, r);
        return ([cost, u, weight], one);
    };
    let shape = RobustShape { kind: kind.clone(), first: LOSS };
    let value = shape.value(graph, squared);
    let (slope, along) = shape.curvature(graph, squared);
    let numbers: Vec<Expr> = parameters.iter().map(|value| graph.constant(*value)).collect();
    let replaced = graph.substitute(&[value, slope, along], |leaf| match leaf {
        Leaf::Data { column, .. } if column >= LOSS => numbers.get((column - LOSS) as usize).copied(),
        _ => None,
    });
    let cost = graph.mul(scale, replaced[0]);
    let gradient = graph.mul(replaced[1], r);
    let u = graph.mul(weight, gradient);
    let bent = graph.mul(replaced[2], squared);
    let curvature = graph.add(replaced[1], bent);
    let k = graph.mul(weight, curvature);
    ([cost, u, k], one)
}

/// Part of F, u and k of Poisson's likelihood, and where it is defined: f > 0 and y ≥ 0.
fn poisson(graph: &mut Graph, f: Expr, y: Expr, weight: Expr) -> ([Expr; 3], Expr) {
    let (zero, one) = (graph.constant(0.0), graph.constant(1.0));
    let r = graph.sub(f, y);
    let counted = graph.less(zero, y);
    // y ln(y/f) = −y ln(1 + (f − y)/y), which keeps its digits where f is near y.
    let safe = graph.select(counted, y, one);
    let ratio = graph.div(r, safe);
    let ratio = graph.select(counted, ratio, zero);
    let logarithm = graph.unary(Unary::Log1p, ratio);
    let part = graph.mul(y, logarithm);
    let deviance = graph.sub(r, part);
    let positive = graph.less(zero, f);
    let at_least_zero = graph.less_equal(zero, y);
    let domain = graph.and(positive, at_least_zero);
    let cost = graph.mul(weight, deviance);
    let slope = graph.div(r, f);
    let u = graph.mul(weight, slope);
    let k = graph.div(weight, f);
    ([cost, u, k], domain)
}

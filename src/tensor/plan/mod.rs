//! Plans: which kernels compute some tensors, and from where to where.
//!
//! Elementwise operations run in the kernel of what uses them, of the reduction or product before them, or together with
//! others over the same elements; movements are views. What several kernels need is stored once. A plan depends on
//! structure alone — operations, shapes, who uses what — so the next step of a training run finds it made.

mod fuse;
mod layout;
mod library;
mod reach;
mod rows;
mod special;
mod stage;
mod steps;
mod words;

pub use library::{Library, Multiplied};

use super::graph::{Graph, Node, Op, Special, Values};
use leastwise_base::task::Task;
use leastwise_cpu::half;
use leastwise_device::{KernelSource, Kind, Limits};
use leastwise_error::Error;
use std::collections::HashMap;
use std::sync::Arc;

/// Whose elements are bound.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ref {
    /// Stored before the plan runs.
    Leaf(u32),
    /// Written by it.
    Buffer(u32),
}

/// A kernel and what it is given.
#[derive(Clone)]
pub struct Step {
    /// What it does, for people.
    pub what: String,
    /// Operands and results by the kernel's slot.
    pub bindings: Vec<(usize, Ref)>,
    /// Its part of the constants: where, and how long.
    pub constants: Option<(u32, u32)>,
    /// Elements and operations of the step.
    pub work: Work,
    /// How it is launched on every target.
    pub launches: Vec<Launch>,
}

/// A step on a target: what its library does, and then a kernel; either may be all there is.
#[derive(Clone, Default)]
pub struct Launch {
    /// Product by the library.
    pub multiplied: Option<Multiplied>,
    /// Kernel, run after the product.
    pub kernel: Option<Kernel>,
}

impl Launch {
    /// True for rows on a target that has no kernels of them.
    pub fn is_none(&self) -> bool {
        self.multiplied.is_none() && self.kernel.is_none()
    }
}

/// A kernel of a step.
#[derive(Clone)]
pub struct Kernel {
    /// Text and interface of the kernel.
    pub source: KernelSource,
    /// Its part of the target's layout table: where, and how long.
    pub table: Option<(u32, u32)>,
    /// Items of the dispatch.
    pub count: u32,
    /// Arguments of the kernel.
    pub words: [u32; leastwise_device::PARAM_WORDS],
}

/// What a step moves and computes: what routing goes by.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Work {
    /// Elements that are read and written.
    pub elements: f64,
    /// How many of them are halves.
    pub halves: f64,
    /// Operations, those of products excluded.
    pub operations: f64,
    /// Those of products of matrices.
    pub products: f64,
}

impl Work {
    /// What is moved.
    pub fn bytes(&self, bytes_of_real: f64) -> f64 {
        (self.elements - self.halves) * bytes_of_real + self.halves * 2.0
    }
}

/// What is written, and by which steps it is needed.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    /// Number of elements.
    pub elements: u32,
    /// Whether they are halves, two in a word.
    pub half: bool,
    /// True for int32s, a word each.
    pub word: bool,
    /// The step that writes it.
    pub first: u32,
    /// The last step that reads or writes it; those that are asked for stay.
    pub last: u32,
    /// True if it is a requested result, which outlives the plan.
    pub stays: bool,
}

impl Buffer {
    /// Kind of the device's buffer: halves and int32s are words of an index buffer.
    pub fn kind(&self) -> Kind {
        if self.half || self.word { Kind::Index } else { Kind::Real }
    }

    /// Elements of the device's buffer.
    pub fn size(&self) -> u32 {
        if self.half { half::words(self.elements) } else { self.elements }
    }
}

/// Everything but the elements.
#[derive(Clone, Default)]
pub struct Plan {
    /// Steps, in the order in which they run.
    pub steps: Vec<Step>,
    /// Buffers of results and intermediate values.
    pub buffers: Vec<Buffer>,
    /// The layout table of every target.
    pub tables: Vec<Vec<u32>>,
    /// Number of constants.
    pub constants: u32,
    /// From where on among the constants which of the request's numbers stand.
    pub numbers: Vec<(u32, Vec<u32>)>,
    /// Where the tensors that were asked for are.
    pub outputs: Vec<Ref>,
    /// Elementwise operations that run within other kernels.
    pub fused: u32,
    /// Nodes and expressions that planning looked at.
    pub visited: u64,
}

/// What plans are made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// True for the CPU, which runs programs instead of text.
    pub cpu: bool,
    /// Limits of the device.
    pub limits: Limits,
    /// For products of matrices, where it has one.
    pub library: Option<Library>,
    /// True for a first target whose kernels take rows: folds of rows, and what follows of their elements. Others have no such kernels, and
    /// run no steps of such a plan.
    pub rows: bool,
}

/// What is to be computed: everything that plans depend on, and what they don't.
pub struct Request {
    /// Equal for equal structures.
    pub key: Vec<u64>,
    /// Operands first.
    pub order: Vec<Node>,
    /// Tensors that are stored.
    pub leaves: Vec<Node>,
    /// Numbers that kernels are given.
    pub numbers: Vec<(Node, f64)>,
}

/// Numbers that are written into kernels: they simplify formulas.
pub fn is_plain(value: f64) -> bool {
    [0.0, 1.0, -1.0, 2.0, 0.5].contains(&value)
}

impl Request {
    /// The request for some nodes of a graph, with all that they depend on and that has no elements yet.
    pub fn new(graph: &Graph, outputs: &[Node]) -> Self {
        let order = graph.order(outputs);
        let place: HashMap<Node, u64> = order.iter().copied().zip(0..).collect();
        let mut request = Self { key: Vec::new(), leaves: Vec::new(), numbers: Vec::new(), order: Vec::new() };
        let key = &mut request.key;
        for &node in &order {
            let entry = graph.entry(node);
            key.push(entry.shape.len() as u64);
            key.extend(entry.shape.iter().map(|&size| u64::from(size)));
            key.push(entry.inputs.len() as u64);
            key.extend(entry.inputs.iter().map(|input| place[input]));
            match &entry.op {
                Op::Stored => {
                    request.leaves.push(node);
                    key.push(match entry.values {
                        Values::Integers => 37,
                        _ if entry.half => 24,
                        _ => 1,
                    });
                }
                Op::Constant(value) if is_plain(*value) => key.extend([2, value.to_bits()]),
                Op::Constant(value) => {
                    request.numbers.push((node, *value));
                    key.push(3);
                }
                Op::Count => key.push(4),
                Op::Map(formula) => {
                    key.push(5);
                    key.extend(&formula.words);
                }
                Op::Words(formula) => {
                    key.extend([36, u64::from(entry.values == Values::Integers)]);
                    key.extend(formula.words());
                }
                Op::Move(movement) => {
                    use super::view::Movement::*;
                    match movement {
                        Reshape(_) => key.push(6),
                        Expand(_) => key.push(7),
                        Permute(order) => {
                            key.push(8);
                            key.extend(order.iter().map(|&axis| u64::from(axis)));
                        }
                        Slice { axis, start, count, step } => key.extend([9, *axis, *start, *count, *step].map(u64::from)),
                        Flip { axis } => key.extend([10, u64::from(*axis)]),
                        Pad { axis, low, high } => key.extend([11, *axis, *low, *high].map(u64::from)),
                        Window { axis, size, step, dilation } => key.extend([12, *axis, *size, *step, *dilation].map(u64::from)),
                    }
                }
                Op::Gather => key.push(13),
                Op::Reduce { fold, axes } => {
                    key.extend([14, *fold as u64, axes.len() as u64]);
                    key.extend(axes.iter().map(|&axis| u64::from(axis)));
                }
                Op::Product(groups) => {
                    key.extend([15, groups.batch as u64, groups.rows as u64, groups.depth as u64, groups.columns as u64])
                }
                Op::Special(special) => match *special {
                    Special::Attend { causal } => key.extend([16, causal.into()]),
                    Special::AttendQueries { causal } => key.extend([17, causal.into()]),
                    Special::AttendKeys { causal } => key.extend([18, causal.into()]),
                    Special::Fold { n, step, dilation } => key.extend([19, n, step, dilation].map(u64::from)),
                    Special::SumRows { rows } => key.extend([20, u64::from(rows)]),
                    Special::Scan { chunk, reverse } => key.extend([26, u64::from(chunk), reverse.into()]),
                    Special::Merge { width } => key.extend([27, u64::from(width)]),
                    Special::MergeWords { width } => key.extend([38, u64::from(width)]),
                    Special::ScanWords { chunk, products } => key.extend([39, u64::from(chunk), products.into()]),
                    Special::ScatterWords { n } => key.extend([40, u64::from(n)]),
                    Special::Take => key.push(28),
                    Special::Scatter { n, latest } => key.extend([29, u64::from(n), latest.into()]),
                    Special::Solve => key.push(30),
                    Special::Cholesky => key.push(31),
                    Special::Qr => key.push(32),
                    Special::Singular => key.push(33),
                    Special::Recur { reverse } => key.extend([34, reverse.into()]),
                },
                Op::Part(number) => key.extend([21, u64::from(*number)]),
                Op::Detach => key.push(22),
                Op::Half => key.push(25),
                Op::Implicit(_) => key.push(35),
                #[cfg(not(target_arch = "wasm32"))]
                Op::OverRanks { .. } => key.push(41),
            }
        }
        key.push(23);
        key.extend(outputs.iter().map(|output| place[output]));
        request.order = order;
        request
    }
}

/// Makes a plan for devices to choose from; `unfused`, every operation has a kernel of its own, to compare with.
///
/// # Errors
/// [`Error::Limits`] for an operation that no kernel can have.
pub fn plan(graph: &Graph, request: &Request, outputs: &[Node], targets: &[Target], unfused: bool) -> Result<Plan, Error> {
    Task::new(|pace| async move { fuse::Fuser::new(graph, request, outputs, targets, unfused).plan(&pace).await }).finish()
}

/// The same in time slices, of a graph that may change meanwhile.
pub fn planning(
    graph: &Graph,
    request: Arc<Request>,
    outputs: Vec<Node>,
    targets: Vec<Target>,
    unfused: bool,
) -> Task<'static, Result<Plan, Error>> {
    let graph = graph.excerpt(&request.order);
    Task::new(|pace| async move { fuse::Fuser::new(&graph, &request, &outputs, &targets, unfused).plan(&pace).await })
}

//! Reductions, and what is made of them.

use super::super::graph::{Graph, Node, Op, Values, elements};
use super::super::view::Movement;
use super::{is_extreme, refuse, shown};
use leastwise_error::Error;
use leastwise_program::fused::Fold;

/// Sums of more elements than this are made of sums of parts: few workgroups would do all the work.
const LONG: u32 = 1 << 15;

/// The same of elements that lie apart, of which a lane adds up a column.
const LONG_APART: u32 = 512;

/// Columns so many that a lane each is enough, and those that parts of columns come to.
const MANY: u32 = 1 << 16;
const ENOUGH: u32 = 1 << 15;

/// Results so few that a workgroup each leaves a device idle.
const FEW: u32 = 64;

impl Graph {
    /// Axes in ascending order, each once; all where none is given.
    fn axes(&self, name: &str, node: Node, axes: &[f64]) -> Result<Vec<u32>, Error> {
        let rank = self.shape(self.known(node)?).len();
        if axes.is_empty() {
            return Ok((0..rank as u32).collect());
        }
        let mut axes: Vec<u32> = axes.iter().map(|&axis| Self::axis(name, axis, rank).map(|axis| axis as u32)).collect::<Result<_, _>>()?;
        axes.sort_unstable();
        let count = axes.len();
        axes.dedup();
        if axes.len() < count {
            return refuse(name, "an axis is named twice".into());
        }
        Ok(axes)
    }

    /// Fold over some axes, all if there are none; `keep` leaves them with size 1. Negative axes count from the last.
    ///
    /// # Errors
    /// [`Error`] for an axis that is not there or named twice, and for the extreme of no elements.
    pub fn reduce(&mut self, name: &str, fold: Fold, node: Node, axes: &[f64], keep: bool) -> Result<Node, Error> {
        let axes = self.axes(name, node, axes)?;
        let shape = self.shape(node).to_vec();
        let is_empty = axes.iter().any(|&axis| shape[axis as usize] == 0);
        if is_empty && fold != Fold::Sum {
            return refuse(name, "there is no extreme of no elements".into());
        }
        let reduced = self.fold(fold, node, &axes);
        if !keep {
            return Ok(reduced);
        }
        let kept = (0..).zip(&shape).map(|(axis, &size)| if axes.contains(&axis) { 1 } else { size }).collect();
        Ok(self.moved(reduced, Movement::Reshape(kept)))
    }

    /// Over axes in ascending order.
    pub(crate) fn fold(&mut self, fold: Fold, node: Node, axes: &[u32]) -> Node {
        let shape = self.shape(node).to_vec();
        if axes.iter().all(|&axis| shape[axis as usize] == 1) {
            let rest = (0..).zip(&shape).filter(|(axis, _)| !axes.contains(axis)).map(|(_, &size)| size).collect();
            return self.moved(node, Movement::Reshape(rest));
        }
        let rest: Vec<u32> = (0..).zip(&shape).filter(|(axis, _)| !axes.contains(axis)).map(|(_, &size)| size).collect();
        let inner = elements(&axes.iter().map(|&axis| shape[axis as usize]).collect::<Vec<_>>()).unwrap_or(u32::MAX);
        let outer = elements(&rest).unwrap_or(u32::MAX);
        let apart = axes.last().is_none_or(|&last| shape[last as usize + 1..].iter().any(|&size| size > 1));
        // Of whole numbers a lane folds an element, wherever these lie.
        let apart = apart || self.entry(node).values == Values::Integers;
        if let Some(parts) = parts(inner, outer, apart) {
            let order = (0..shape.len() as u32).filter(|axis| !axes.contains(axis)).chain(axes.iter().copied()).collect();
            let turned = self.moved(node, Movement::Permute(order));
            let mut split = rest.clone();
            split.extend([parts, inner / parts]);
            let last = rest.len() as u32;
            let mut split = self.moved(turned, Movement::Reshape(split));
            if apart {
                // Lanes next to each other have columns that are.
                split = self.moved(split, Movement::Permute([last].into_iter().chain(0..last).chain([last + 1]).collect()));
            }
            let partial = self.fold(fold, split, &[last + 1]);
            return self.fold(fold, partial, &[if apart { 0 } else { last }]);
        }
        self.add(Op::Reduce { fold, axes: axes.to_vec() }, vec![node], rest)
    }

    /// Σ x/n over some axes; the arguments are those of [`reduce`](Self::reduce).
    ///
    /// # Errors
    /// [`Error`] as for `reduce`, and for the mean of no elements.
    pub fn mean(&mut self, node: Node, axes: &[f64], keep: bool) -> Result<Node, Error> {
        let over = self.axes("mean", node, axes)?;
        let count: f64 = over.iter().map(|&axis| f64::from(self.shape(node)[axis as usize])).product();
        let sum = self.reduce("mean", Fold::Sum, node, axes, keep)?;
        if count == 0.0 {
            return refuse("mean", "there is no mean of no elements".into());
        }
        self.apply_number("mul", sum, 1.0 / count)
    }

    /// The first place of the largest element along an axis, as a number; the first NaN's, if there is one.
    pub fn argmax(&mut self, node: Node, axis: f64) -> Result<Node, Error> {
        self.place_of_extreme("argmax", Fold::Max, node, axis)
    }

    /// The first place of the smallest element along an axis, as a number; the first NaN's, if there is one.
    pub fn argmin(&mut self, node: Node, axis: f64) -> Result<Node, Error> {
        self.place_of_extreme("argmin", Fold::Min, node, axis)
    }

    fn place_of_extreme(&mut self, name: &str, fold: Fold, node: Node, axis: f64) -> Result<Node, Error> {
        let shape = self.shape(self.known(node)?).to_vec();
        let axis = Self::axis(name, axis, shape.len())?;
        if shape[axis] > 1 << 24 {
            return refuse(name, format!("{} has an axis of more places than the 2²⁴ that numbers tell apart", shown(&shape)));
        }
        let extreme = self.reduce(name, fold, node, &[axis as f64], true)?;
        let is_extreme = self.is_extreme_of(name, node, extreme, &is_extreme())?;
        let mut places = vec![1; shape.len()];
        places[axis] = shape[axis];
        let places = self.count(&places)?;
        let none = self.constant(f64::from(shape[axis]) - 1.0, &[]);
        let places = self.apply("where", &[is_extreme, places, none])?;
        self.reduce(name, Fold::Min, places, &[axis as f64], false)
    }

    /// exp(x − max x)/Σ exp(x − max x) along an axis.
    pub fn softmax(&mut self, node: Node, axis: f64) -> Result<Node, Error> {
        let shifted = self.shifted("softmax", node, axis)?;
        let powers = self.apply("exp", &[shifted])?;
        let sum = self.reduce("softmax", Fold::Sum, powers, &[axis], true)?;
        // One division a row, of a sum that is at least 1.
        let one = self.constant(1.0, &[]);
        let scale = self.apply("div", &[one, sum])?;
        self.apply("mul", &[powers, scale])
    }

    /// x − max x − ln Σ exp(x − max x) along an axis.
    pub fn log_softmax(&mut self, node: Node, axis: f64) -> Result<Node, Error> {
        let shifted = self.shifted("logSoftmax", node, axis)?;
        let powers = self.apply("exp", &[shifted])?;
        let sum = self.reduce("logSoftmax", Fold::Sum, powers, &[axis], true)?;
        let logarithm = self.apply("log", &[sum])?;
        self.apply("sub", &[shifted, logarithm])
    }

    /// x − max x, of which no exponential overflows; the shift itself has no gradient, since nothing depends on it.
    fn shifted(&mut self, name: &str, node: Node, axis: f64) -> Result<Node, Error> {
        let largest = self.reduce(name, Fold::Max, node, &[axis], true)?;
        let shift = self.detach(largest)?;
        self.apply("sub", &[node, shift])
    }

    /// (x − mean)/√(variance + ε) over the last axis, times a scale, plus a shift (Ba, Kiros & Hinton 2016).
    pub fn layer_norm(&mut self, node: Node, scale: Option<Node>, shift: Option<Node>, epsilon: f64) -> Result<Node, Error> {
        if !(epsilon > 0.0 && epsilon.is_finite()) {
            return refuse("layerNorm", format!("epsilon must be a positive number, not {epsilon}"));
        }
        let mean = self.mean(node, &[-1.0], true)?;
        let centred = self.apply("sub", &[node, mean])?;
        let squares = self.apply("square", &[centred])?;
        let variance = self.mean(squares, &[-1.0], true)?;
        let guarded = self.apply_number("add", variance, epsilon)?;
        let scaling = self.apply("rsqrt", &[guarded])?;
        let mut result = self.apply("mul", &[centred, scaling])?;
        if let Some(scale) = scale {
            result = self.apply("mul", &[result, scale])?;
        }
        if let Some(shift) = shift {
            result = self.apply("add", &[result, shift])?;
        }
        Ok(result)
    }

    /// The mean over rows of log Σ exp(logits) − logits[label]; labels are whole numbers.
    pub fn cross_entropy(&mut self, logits: Node, labels: Node) -> Result<Node, Error> {
        let shape = self.shape(self.known(logits)?).to_vec();
        let own = self.shape(self.known(labels)?).to_vec();
        let Some((&classes, rows)) = shape.split_last() else { return refuse("crossEntropy", "logits need an axis of classes".into()) };
        if rows != own {
            let message = format!("labels are {}, but logits of {} need {}", super::shown(&own), super::shown(&shape), super::shown(rows));
            return refuse("crossEntropy", message);
        }
        let logarithms = self.log_softmax(logits, -1.0)?;
        let mut column = own;
        column.push(1);
        let labels = self.moved(labels, Movement::Reshape(column));
        let numbers = self.count(&[classes])?;
        let is_label = self.apply("equal", &[labels, numbers])?;
        let zero = self.constant(0.0, &[]);
        let picked = self.apply("where", &[is_label, logarithms, zero])?;
        let total = self.reduce("crossEntropy", Fold::Sum, picked, &[], false)?;
        let count = elements(rows).unwrap_or(1);
        if count == 0 {
            return refuse("crossEntropy", "there is no mean of no rows".into());
        }
        self.apply_number("mul", total, -1.0 / f64::from(count))
    }
}

/// In how many parts many elements are added up, where few results would keep few workgroups busy: a workgroup a result or,
/// where elements of one lie `apart`, a lane.
fn parts(inner: u32, outer: u32, apart: bool) -> Option<u32> {
    let is_long = if apart { inner >= LONG_APART && outer < MANY } else { inner >= LONG && outer <= FEW };
    if !is_long {
        return None;
    }
    // The divisor next to the root: as many parts as each has elements, but of columns no more than are added up at once.
    let root = f64::from(inner).sqrt() as u32;
    let most = if apart { root.min((ENOUGH / outer.max(1)).clamp(16, LONG_APART - 1)) } else { root };
    let more = most + 1..=root.min(LONG_APART - 1);
    (16..=most).rev().chain(more).find(|parts| inner.is_multiple_of(*parts))
}

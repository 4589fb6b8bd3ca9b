//! Movements: the same elements elsewhere.

use super::super::formula::Formula;
use super::super::graph::{Graph, Node, Op, Values, elements};
use super::super::integers::WordFormula;
use super::super::view::{Movement, windows};
use super::{refuse, shown};
use leastwise_error::Error;
use leastwise_expr::Binary;
use leastwise_program::fused::TENSOR_SLOTS;
use leastwise_program::words::WordBinary;

/// Tensors that are joined at once: as many as a kernel reads beside what it writes.
const MOST_JOINED: usize = TENSOR_SLOTS.len() - 1;

impl Graph {
    /// A movement that fits; none where it would move nothing.
    pub(crate) fn moved(&mut self, node: Node, movement: Movement) -> Node {
        let own = self.shape(node);
        let is_nothing = match &movement {
            Movement::Reshape(shape) | Movement::Expand(shape) => own == shape,
            Movement::Permute(order) => order.iter().zip(0..).all(|(&axis, k)| axis == k),
            Movement::Slice { axis, start, count, step } => *start == 0 && *step == 1 && own[*axis as usize] == *count,
            Movement::Pad { low, high, .. } => *low == 0 && *high == 0,
            Movement::Flip { .. } | Movement::Window { .. } => false,
        };
        if is_nothing {
            return node;
        }
        let shape = movement.shape(own);
        self.add(Op::Move(movement), vec![node], shape)
    }

    /// Another shape of as many elements; one size may be −1, which is what is left for it.
    pub fn reshape(&mut self, node: Node, sizes: &[f64]) -> Result<Node, Error> {
        let size = self.size(self.known(node)?);
        let mut shape = Vec::with_capacity(sizes.len());
        let mut open = None;
        for (axis, &size) in sizes.iter().enumerate() {
            if size == -1.0 && open.replace(axis).is_none() {
                shape.push(1);
                continue;
            }
            shape.push(Self::whole("reshape", "a size", size, 0.0)?);
        }
        let asked = || sizes.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
        let misfit = || refuse("reshape", format!("{} has {size} elements, [{}] has not", shown(self.shape(node)), asked()));
        if let Some(axis) = open {
            let others = elements(&shape).filter(|others| *others > 0 && size.is_multiple_of(*others));
            let Some(others) = others else { return misfit() };
            shape[axis] = size / others;
        }
        if elements(&shape) != Some(size) {
            return misfit();
        }
        Ok(self.moved(node, Movement::Reshape(shape)))
    }

    /// Axis k of the result is axis `order[k]`; the last two change places without an order, or all where there are fewer.
    pub fn transpose(&mut self, node: Node, order: &[f64]) -> Result<Node, Error> {
        let rank = self.shape(self.known(node)?).len();
        let mut axes: Vec<u32> = (0..rank as u32).collect();
        if order.is_empty() && rank >= 2 {
            axes.swap(rank - 2, rank - 1);
        } else if !order.is_empty() {
            axes = order.iter().map(|&axis| Self::axis("transpose", axis, rank).map(|axis| axis as u32)).collect::<Result<_, _>>()?;
            let mut sorted = axes.clone();
            sorted.sort_unstable();
            if !sorted.into_iter().eq(0..rank as u32) {
                return refuse("transpose", format!("{order:?} is no order of the {rank} axes: each must be there once"));
            }
        }
        Ok(self.moved(node, Movement::Permute(axes)))
    }

    /// Elements from `start` to before `stop` in steps, as in NumPy: negative positions count from the end, NaN is the end of
    /// the axis that the step comes from or goes to, and what lies beyond the axis is left out.
    pub fn slice(&mut self, node: Node, axis: f64, start: f64, stop: f64, step: f64) -> Result<Node, Error> {
        let shape = self.shape(self.known(node)?);
        let axis = Self::axis("slice", axis, shape.len())?;
        let n = f64::from(shape[axis]);
        let whole = |value: f64| value.is_nan() || value.fract() == 0.0;
        if step.fract() != 0.0 || step == 0.0 || !whole(start) || !whole(stop) {
            return refuse("slice", format!("{start} to {stop} in steps of {step}: positions must be whole numbers, and the step not 0"));
        }
        let from_end = |value: f64| if value < 0.0 { value + n } else { value };
        let axis = axis as u32;
        if step < 0.0 {
            let first = if start.is_nan() { n - 1.0 } else { from_end(start).clamp(-1.0, n - 1.0) };
            let last = if stop.is_nan() { -1.0 } else { from_end(stop).clamp(-1.0, n - 1.0) };
            let count = ((first - last) / -step).ceil().max(0.0);
            let flipped = self.moved(node, Movement::Flip { axis });
            let start = if count == 0.0 { 0.0 } else { n - 1.0 - first };
            return Ok(self.moved(flipped, Movement::Slice { axis, start: start as u32, count: count as u32, step: -step as u32 }));
        }
        let first = if start.is_nan() { 0.0 } else { from_end(start).clamp(0.0, n) };
        let last = if stop.is_nan() { n } else { from_end(stop).clamp(0.0, n) };
        let count = ((last - first) / step).ceil().max(0.0);
        Ok(self.moved(node, Movement::Slice { axis, start: first as u32, count: count as u32, step: step.min(n.max(1.0)) as u32 }))
    }

    /// The elements in reverse order along an axis; a negative axis counts from the last.
    pub fn flip(&mut self, node: Node, axis: f64) -> Result<Node, Error> {
        let axis = Self::axis("flip", axis, self.shape(self.known(node)?).len())? as u32;
        Ok(self.moved(node, Movement::Flip { axis }))
    }

    /// `low` and `high` numbers before and after what is there.
    pub fn pad(&mut self, node: Node, axis: f64, low: f64, high: f64, value: f64) -> Result<Node, Error> {
        let shape = self.shape(self.known(node)?).to_vec();
        let axis = Self::axis("pad", axis, shape.len())?;
        let [low, high] = [Self::whole("pad", "a padding", low, 0.0)?, Self::whole("pad", "a padding", high, 0.0)?];
        let mut padded = shape.clone();
        let size = padded[axis].checked_add(low).and_then(|size| size.checked_add(high));
        let Some(size) = size else { return refuse("pad", format!("axis {axis} would be longer than 2³² − 1")) };
        padded[axis] = size;
        Self::checked("pad", padded)?;
        let movement = Movement::Pad { axis: axis as u32, low, high };
        let zeros = self.moved(node, movement.clone());
        if value == 0.0 || zeros == node {
            return Ok(zeros);
        }
        let ones = self.constant(1.0, &shape);
        let inside = self.moved(ones, movement);
        let value = self.constant(value, &[]);
        self.apply("where", &[inside, zeros, value])
    }

    /// Windows of `size` elements, `step` apart, their elements `dilation` apart: the axis becomes two, windows and places.
    pub fn window(&mut self, node: Node, axis: f64, size: f64, step: f64, dilation: f64) -> Result<Node, Error> {
        let windows = self.windows_of(node, axis, size, step, dilation)?;
        Self::checked("window", self.shape(windows).to_vec())?;
        Ok(windows)
    }

    /// The same, of more elements than there can be in a tensor: a view, which nobody may store.
    pub(super) fn windows_of(&mut self, node: Node, axis: f64, size: f64, step: f64, dilation: f64) -> Result<Node, Error> {
        let shape = self.shape(self.known(node)?);
        let axis = Self::axis("window", axis, shape.len())?;
        let [size, step, dilation] = [("the size", size), ("the step", step), ("the dilation", dilation)]
            .map(|(what, value)| Self::whole("window", what, value, 1.0));
        let [size, step, dilation] = [size?, step?, dilation?];
        if windows(shape[axis], size, step, dilation) == 0 {
            return refuse("window", format!("axis {axis} of {} is too short for windows of {size}, dilated by {dilation}", shown(shape)));
        }
        Ok(self.moved(node, Movement::Window { axis: axis as u32, size, step, dilation }))
    }

    /// One after the other along an axis; other sizes must be equal.
    pub fn concat(&mut self, nodes: &[Node], axis: f64) -> Result<Node, Error> {
        let Some(&first) = nodes.first() else { return refuse("concat", "there is nothing to join".into()) };
        let shape = self.shape(self.known(first)?).to_vec();
        let axis = Self::axis("concat", axis, shape.len())?;
        let mut total = 0u32;
        for &node in nodes {
            let own = self.shape(self.known(node)?);
            let fits = own.len() == shape.len() && (0..shape.len()).all(|k| k == axis || own[k] == shape[k]);
            if !fits {
                return refuse("concat", format!("{} and {} differ along another axis than {axis}", shown(&shape), shown(own)));
            }
            let sum = total.checked_add(own[axis]);
            let Some(sum) = sum else { return refuse("concat", format!("axis {axis} would be longer than 2³² − 1")) };
            total = sum;
        }
        let mut joined = shape;
        joined[axis] = total;
        Self::checked("concat", joined)?;
        Ok(self.joined(nodes, axis as u32))
    }

    /// Nodes that fit, one after the other. Of many, a few at a time: a kernel reads few tensors, and each goes over what it joins.
    fn joined(&mut self, nodes: &[Node], axis: u32) -> Node {
        let mut parts = nodes.to_vec();
        while parts.len() > 1 {
            parts = parts.chunks(MOST_JOINED).map(|few| self.joined_few(few, axis)).collect();
        }
        parts[0]
    }

    /// The sum of all, padded to where each lies.
    fn joined_few(&mut self, nodes: &[Node], axis: u32) -> Node {
        let sizes: Vec<u32> = nodes.iter().map(|&node| self.shape(node)[axis as usize]).collect();
        let total: u32 = sizes.iter().sum();
        let (mut before, mut padded) = (0, Vec::with_capacity(nodes.len()));
        for (&node, size) in nodes.iter().zip(sizes) {
            padded.push(self.moved(node, Movement::Pad { axis, low: before, high: total - before - size }));
            before += size;
        }
        let shape = self.shape(padded[0]).to_vec();
        let add = match self.entry(padded[0]).values {
            Values::Integers => Op::Words(WordFormula::binary(WordBinary::Add)),
            _ => Op::Map(Formula::binary(Binary::Add)),
        };
        let first = padded[0];
        padded[1..].iter().fold(first, |sum, &next| self.add(add.clone(), vec![sum, next], shape.clone()))
    }

    /// Rows of the first axis, by the whole numbers in `rows`, which are taken to the nearest row that there is. Computed numbers below 0
    /// count from the end.
    pub fn gather(&mut self, table: Node, rows: Node) -> Result<Node, Error> {
        let own = self.shape(self.known(table)?).to_vec();
        if own.first().is_none_or(|rows| *rows == 0 || *rows > 1 << 24) {
            return refuse("gather", format!("{} has no rows to be gathered, or more than 2²⁴", shown(&own)));
        }
        let mut shape = self.shape(self.known(rows)?).to_vec();
        shape.extend(&own[1..]);
        let shape = Self::checked("gather", shape)?;
        // Those that the host knows are none of these.
        let rows = if self.entry(rows).numbers.is_some() { rows } else { self.counted(rows, own[0])? };
        Ok(self.add(Op::Gather, vec![table, rows], shape))
    }
}

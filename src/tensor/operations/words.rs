//! Whole numbers by their places, and products of their matrices: made of expressions of words, which round nothing.

use super::super::graph::{Graph, Node, Op, elements};
use super::super::view::Movement;
use super::{refuse, shown};
use leastwise_error::Error;
use leastwise_program::fused::Fold;

/// Parts that the products of matrices are summed in, at most: each is a few nodes.
const MOST_PARTS: u32 = 1 << 10;

impl Graph {
    /// Elements of whole numbers [outer, n, inner] by numbers [outer, m, inner] that there are: rows of one element, gathered by where
    /// they lie, which words count.
    pub(super) fn taken_words(&mut self, name: &str, node: Node, numbers: Node) -> Result<Node, Error> {
        let (own, shape) = (self.shape(node).to_vec(), self.shape(numbers).to_vec());
        let &[outer, _, inner] = &own[..] else { return Err(Error::Internal("what is taken needs three axes")) };
        if shape.contains(&0) {
            return Ok(self.integers(Vec::new(), shape));
        }
        let Some(size) = elements(&own).filter(|size| *size <= i32::MAX as u32) else {
            return refuse(name, format!("{} are more elements than the 2³¹ − 1 that int32s count", shown(&own)));
        };
        let table = self.moved(node, Movement::Reshape(vec![size]));
        let count = self.count(&own)?;
        let first = self.moved(count, Movement::Slice { axis: 1, start: 0, count: 1, step: 1 });
        let apart = self.constant(inner.into(), &[]);
        let far = self.whole_operation("mul", &[numbers, apart])?;
        let first = self.broadcast_to(name, first, &[outer, shape[1], inner])?;
        let places = self.whole_operation("add", &[first, far])?;
        Ok(self.add(Op::Gather, vec![table, places], shape))
    }

    /// The product of whole matrices [.., m, k] and [.., k, n], which wraps: a sum for each element of the result. Where there are more
    /// products than words count, sums of parts are added up; any order gives the same.
    pub(super) fn product_of_words(&mut self, [a, b]: [Node; 2], [m, k, n]: [u32; 3]) -> Result<Node, Error> {
        let name = "matmul";
        let [of_a, of_b] = [a, b].map(|node| self.shape(node)[..self.shape(node).len() - 2].to_vec());
        let batch = Self::broadcast(name, &[&of_a, &of_b])?;
        let with = |sizes: &[u32]| batch.iter().chain(sizes).copied().collect::<Vec<u32>>();
        let size = elements(&Self::checked(name, with(&[m, n]))?).unwrap_or(u32::MAX);
        let axis = batch.len() as u32;
        let turned = self.shape(b).len() as u32;
        let order = (0..turned - 2).chain([turned - 1, turned - 2]).collect();
        let rows = self.with_axis_before(a, 1);
        let columns = self.moved(b, Movement::Permute(order));
        let columns = self.with_axis_before(columns, 2);
        let most = (u32::MAX / size.max(1)).min(k).max(1);
        if k.div_ceil(most) > MOST_PARTS {
            let [left, right] = [a, b].map(|node| shown(self.shape(node)));
            return refuse(name, format!("{left} by {right} are more products than int32s are summed of: multiply parts of the matrices"));
        }
        let mut total = None;
        for start in (0..k.max(1)).step_by(most as usize) {
            let count = most.min(k - start);
            let shape = with(&[m, n, count]);
            let mut part = |node: Node| {
                let last = self.shape(node).len() as u32 - 1;
                let part = self.moved(node, Movement::Slice { axis: last, start, count, step: 1 });
                self.broadcast_to(name, part, &shape)
            };
            let (rows, columns) = (part(rows)?, part(columns)?);
            let products = self.whole_operation("mul", &[rows, columns])?;
            let sum = self.fold(Fold::Sum, products, &[axis + 2]);
            total = Some(match total {
                Some(total) => self.whole_operation("add", &[total, sum])?,
                None => sum,
            });
        }
        total.ok_or(Error::Internal("a product has no parts"))
    }

    /// The same with an axis of size 1, before the last so many.
    fn with_axis_before(&mut self, node: Node, last: usize) -> Node {
        let mut shape = self.shape(node).to_vec();
        shape.insert(shape.len() - last, 1);
        self.moved(node, Movement::Reshape(shape))
    }
}

//! Products.

use super::super::graph::{Graph, Groups, Node, Op, Rule, Values};
use super::super::view::Movement;
use super::{refuse, shown};
use leastwise_error::Error;
use leastwise_program::fused::Fold;

/// Depth from which on products of few tiles are cut, and the least of a part.
const DEEP: f64 = 4096.0;
const LEAST_DEPTH: f64 = 512.0;
/// Side of a tile, tiles that are few, and those that parts come to.
const TILE: f64 = 64.0;
const FEW_TILES: f64 = 64.0;
const ENOUGH_TILES: f64 = 500.0;

impl Graph {
    /// The product of matrices, as NumPy's `matmul`: the last two axes are matrices', those before broadcast, and a vector is a
    /// row on the left and a column on the right.
    pub fn matmul(&mut self, a: Node, b: Node) -> Result<Node, Error> {
        let (left, right) = (self.shape(self.known(a)?).to_vec(), self.shape(self.known(b)?).to_vec());
        if left.is_empty() || right.is_empty() {
            return refuse("matmul", "a single number has no axis to multiply along: use mul".into());
        }
        if left.len() == 1 || right.len() == 1 {
            let row = if left.len() == 1 { self.moved(a, Movement::Reshape(vec![1, left[0]])) } else { a };
            let column = if right.len() == 1 { self.moved(b, Movement::Reshape(vec![right[0], 1])) } else { b };
            let product = self.matmul(row, column)?;
            let mut shape = self.shape(product).to_vec();
            if right.len() == 1 {
                shape.pop();
            }
            if left.len() == 1 {
                shape.remove(shape.len() - 1 - usize::from(right.len() != 1));
            }
            return Ok(self.moved(product, Movement::Reshape(shape)));
        }
        let ([.., m, k], [.., inner, n]) = (&left[..], &right[..]) else { return refuse("matmul", "matrices have two axes".into()) };
        let (m, k, n) = (*m, *k, *n);
        if k != *inner {
            let message = format!(
                "{} times {}: the left one's last axis must be as long as the right one's last but one",
                shown(&left),
                shown(&right)
            );
            return refuse("matmul", message);
        }
        if self.entry(a).values == Values::Integers {
            return self.product_of_words([a, b], [m, k, n]);
        }
        if m == 1 || n == 1 {
            Self::broadcast("matmul", &[&left[..left.len() - 2], &right[..right.len() - 2]])?;
            return self.vector_product(a, b, [m, n]);
        }
        if right.len() == 2 && left.len() > 2 {
            // One matrix for all: the rows of all batches are rows.
            let shape = left[..left.len() - 1].iter().copied().chain([n]).collect();
            let shape = Self::checked("matmul", shape)?;
            let groups = Groups { batch: 0, rows: left.len() - 1, depth: 1, columns: 1 };
            return Ok(self.product(groups, [a, b], shape));
        }
        let batch = Self::broadcast("matmul", &[&left[..left.len() - 2], &right[..right.len() - 2]])?;
        let with = |sizes: [u32; 2]| batch.iter().copied().chain(sizes).collect::<Vec<u32>>();
        let shape = Self::checked("matmul", with([m, n]))?;
        Self::checked("matmul", with([m, k]))?;
        Self::checked("matmul", with([k, n]))?;
        let (a, b) = (self.broadcast_to("matmul", a, &with([m, k]))?, self.broadcast_to("matmul", b, &with([k, n]))?);
        Ok(self.product(Groups { batch: batch.len(), rows: 1, depth: 1, columns: 1 }, [a, b], shape))
    }

    /// Product of two factors whose axes come in these groups. A deep one of few tiles, such as the gradient of a layer's weights over many
    /// examples, is the sum of products over parts of an axis that is summed over: a workgroup alone would walk all of its depth.
    pub(crate) fn product(&mut self, groups: Groups, [left, right]: [Node; 2], shape: Vec<u32>) -> Node {
        let Groups { batch, rows, depth, columns } = groups;
        let (of_left, of_right) = (self.shape(left).to_vec(), self.shape(right).to_vec());
        let of = |axes: &[u32]| axes.iter().map(|&size| f64::from(size)).product::<f64>();
        let tiles_of = |axes: &[u32]| (of(axes) / TILE).ceil();
        let inner = &of_left[batch + rows..];
        let tiles = of(&of_left[..batch]) * tiles_of(&of_left[batch..batch + rows]) * tiles_of(&of_right[batch + depth..]);
        // Whole batches are tiles enough or nearly; and a library knows one axis of batches.
        let is_deep = of(inner) >= DEEP && tiles > 0.0 && tiles < FEW_TILES && of(&of_left[..batch]) == 1.0;
        let most = (ENOUGH_TILES / tiles.max(1.0)).min(of(inner) / LEAST_DEPTH) as u32;
        let parts_of = |size: u32| (2..=most.min(size)).rev().find(|parts| size.is_multiple_of(*parts));
        // The first axis that is cut well: parts of one behind it would not be one axis with those that are left.
        let cut = || {
            let cuts = inner.iter().enumerate().filter_map(|(place, &size)| Some((place, size, parts_of(size)?)));
            let best = cuts.clone().map(|(_, _, parts)| parts).max()?;
            cuts.into_iter().find(|(_, _, parts)| 2 * parts >= best)
        };
        let Some((place, size, parts)) = is_deep.then(cut).flatten() else {
            return self.add(Op::Product(groups), vec![left, right], shape);
        };
        // [batch, parts, rows, depth of a part] and [batch, parts, depth of a part, columns].
        let mut split = |node: Node, sizes: &[u32], first: usize| {
            let axis = first + place;
            let mut apart = sizes.to_vec();
            apart.splice(axis..=axis, [parts, size / parts]);
            let apart = self.moved(node, Movement::Reshape(apart));
            let (batch, axis) = (batch as u32, axis as u32);
            let order = (0..batch).chain([axis]).chain((batch..=sizes.len() as u32).filter(|other| *other != axis)).collect();
            self.moved(apart, Movement::Permute(order))
        };
        let factors = vec![split(left, &of_left, batch + rows), split(right, &of_right, batch)];
        let mut of_parts = shape;
        of_parts.insert(batch, parts);
        let products = self.add(Op::Product(Groups { batch: batch + 1, rows, depth, columns }), factors, of_parts);
        self.fold(Fold::Sum, products, &[batch as u32])
    }

    /// A matrix times a column, or a row times a matrix: sums of what is multiplied where it is read, since tiles of so narrow a
    /// product would be mostly empty.
    fn vector_product(&mut self, a: Node, b: Node, [m, n]: [u32; 2]) -> Result<Node, Error> {
        let turned = |node: Node, graph: &mut Self| {
            let rank = graph.shape(node).len() as u32;
            let order = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
            graph.moved(node, Movement::Permute(order))
        };
        let (a, b) = if n == 1 { (a, turned(b, self)) } else { (turned(a, self), b) };
        let products = self.apply("mul", &[a, b])?;
        let rank = self.shape(products).len() as u32;
        let sums = self.fold(Fold::Sum, products, &[if n == 1 { rank - 1 } else { rank - 2 }]);
        let mut shape = self.shape(sums).to_vec();
        shape.truncate(rank as usize - 2);
        shape.extend([m, n]);
        Ok(self.moved(sums, Movement::Reshape(shape)))
    }

    /// Cross-correlation of images [batch, channels, height, width] with filters [results, channels, height, width], as
    /// PyTorch's `conv2d`: steps, zeros around the images, and dilation of the filters, along height and width.
    pub fn conv2d(&mut self, images: Node, filters: Node, step: [f64; 2], padding: [f64; 2], dilation: [f64; 2]) -> Result<Node, Error> {
        let (own, sizes) = (self.shape(self.known(images)?).to_vec(), self.shape(self.known(filters)?).to_vec());
        let (&[batch, channels, ..], &[results, inner, height, width]) = (&own[..], &sizes[..]) else {
            return refuse(
                "conv2d",
                format!(
                    "images are [batch, channels, height, width], filters [results, channels, height, width], not {} and {}",
                    shown(&own),
                    shown(&sizes)
                ),
            );
        };
        if own.len() != 4 || channels != inner {
            return refuse(
                "conv2d",
                format!("images {} and filters {} must both have four axes, and as many channels", shown(&own), shown(&sizes)),
            );
        }
        let images = self.pad(images, 2.0, padding[0], padding[0], 0.0)?;
        let images = self.pad(images, 3.0, padding[1], padding[1], 0.0)?;
        let rows = self.windows_of(images, 2.0, height.into(), step[0], dilation[0])?;
        let places = self.windows_of(rows, 4.0, width.into(), step[1], dilation[1])?;
        let [_, _, high, _, wide, _] = self.shape(places)[..] else { return refuse("conv2d", "windows have six axes".into()) };
        // Depth: channels and places in a window; columns: windows.
        let right = self.moved(places, Movement::Permute(vec![0, 1, 3, 5, 2, 4]));
        let left = self.moved(filters, Movement::Reshape(vec![1, results, channels, height, width]));
        let left = self.moved(left, Movement::Expand(vec![batch, results, channels, height, width]));
        let shape = Self::checked("conv2d", vec![batch, results, high, wide])?;
        let product = self.add(Op::Product(Groups { batch: 1, rows: 1, depth: 3, columns: 2 }), vec![left, right], shape);
        let [step, dilation] = [step, dilation].map(|pair| pair.map(|value| value as u32));
        self.set_rule(product, Rule::Convolution { images, filters, step, dilation });
        Ok(product)
    }
}

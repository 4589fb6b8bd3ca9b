//! What networks are made of besides products: attention and pooling.

use super::super::graph::{Graph, Node, Op, Special, elements};
use super::super::view::Movement;
use super::{refuse, shown};
use leastwise_error::Error;
use leastwise_program::fused::Fold;

/// The longest query, key and value that attention has kernels for.
pub const LONGEST_HEAD: u32 = 256;

impl Graph {
    /// softmax(scale · q kᵀ + mask) v over the last two axes, of queries [.., n, d], keys [.., m, d] and values [.., m, e]; axes
    /// before those are equal. `causal` lets query i see keys 0 to i. The matrix of scores is never written.
    pub fn attention(&mut self, queries: Node, keys: Node, values: Node, scale: f64, causal: bool) -> Result<Node, Error> {
        let name = "attention";
        let [q, k, v] = [queries, keys, values].map(|node| self.known(node).map(|node| self.shape(node).to_vec()));
        let [q, k, v] = [q?, k?, v?];
        let message = format!(
            "queries {}, keys {} and values {} must be [.., n, d], [.., m, d] and [.., m, e] with equal axes before",
            shown(&q),
            shown(&k),
            shown(&v)
        );
        let (Some((batch, &[n, d])), Some((of_keys, &[m, also_d])), Some((of_values, &[also_m, e]))) =
            (q.split_last_chunk::<2>(), k.split_last_chunk::<2>(), v.split_last_chunk::<2>())
        else {
            return refuse(name, message);
        };
        if batch != of_keys || batch != of_values || d != also_d || m != also_m {
            return refuse(name, message);
        }
        if d == 0 || e == 0 || d > LONGEST_HEAD || e > LONGEST_HEAD || (m == 0 && n > 0) {
            return refuse(name, format!("there must be a key, and d and e must be 1 to {LONGEST_HEAD}, not {d} and {e}"));
        }
        if !scale.is_finite() {
            return refuse(name, format!("the scale must be a finite number, not {scale}"));
        }
        let count = elements(batch).unwrap_or(u32::MAX);
        let [keys, values] = [keys, values].map(|node| self.widened(node));
        let scaled = self.apply_number("mul", queries, scale)?;
        let queries = self.moved(scaled, Movement::Reshape(vec![count, n, d]));
        let keys = self.moved(keys, Movement::Reshape(vec![count, m, d]));
        let values = self.moved(values, Movement::Reshape(vec![count, m, e]));
        let parts = vec![vec![count, n, e], vec![count, n]];
        let parts = self.add_parts(Op::Special(Special::Attend { causal }), vec![queries, keys, values], parts);
        let mut shape = batch.to_vec();
        shape.extend([n, e]);
        Ok(self.moved(parts[0], Movement::Reshape(shape)))
    }

    /// The largest element of every window of images [batch, channels, height, width]; what pads is −∞. Equal
    /// largest elements share the gradient.
    pub fn max_pool2d(&mut self, images: Node, size: [f64; 2], step: [f64; 2], padding: [f64; 2]) -> Result<Node, Error> {
        let name = "maxPool2d";
        let own = self.shape(self.known(images)?);
        if own.len() != 4 {
            return refuse(name, format!("images are [batch, channels, height, width], not {}", shown(own)));
        }
        for (axis, (&size, &padding)) in size.iter().zip(&padding).enumerate() {
            if padding * 2.0 > size {
                return refuse(
                    name,
                    format!("padding {padding} along axis {axis} is more than half of the window ({size}): it would have nothing in it"),
                );
            }
        }
        let lowest = f64::NEG_INFINITY;
        let images = self.pad(images, 2.0, padding[0], padding[0], lowest)?;
        let images = self.pad(images, 3.0, padding[1], padding[1], lowest)?;
        let rows = self.windows_of(images, 2.0, size[0], step[0], 1.0)?;
        let places = self.windows_of(rows, 4.0, size[1], step[1], 1.0)?;
        Ok(self.fold(Fold::Max, places, &[3, 5]))
    }
}

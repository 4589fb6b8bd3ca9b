//! Operations by name, as they come from other languages.

use super::super::formula::Formula;
use super::super::graph::{Graph, Node};
use super::refuse;
use leastwise_error::Error;
use leastwise_expr::tape::{self, Source};
use leastwise_expr::{Graph as Scalars, Leaf};
use leastwise_program::fused::Fold;

/// A literal exponent's magnitude at most: up to here a power is made of products.
const MOST_FACTORS: f64 = 1024.0;

/// A function's operands at most: a kernel reads no more tensors.
const MOST_OPERANDS: usize = 5;

fn sizes(name: &str, numbers: &[f64]) -> Result<Vec<u32>, Error> {
    numbers.iter().map(|&size| Graph::whole(name, "a size", size, 0.0)).collect()
}

/// Operations that are not elementwise, by name: their tensors, their numbers, and what is made of them.
macro_rules! operations {
    (($graph:ident, $name:ident, $inputs:ident, $numbers:ident) $($known:literal, $tensors:pat, $with:pat => $made:expr;)*) => {
        /// Names of the operations that are not elementwise.
        pub const NAMED: &[&str] = &[$($known),*];

        impl Graph {
            /// Operation of tensors and numbers, by its name.
            pub fn operation(&mut $graph, $name: &str, $inputs: &[Node], $numbers: &[f64]) -> Result<Node, Error> {
                if let Some(made) = $graph.typed($name, $inputs, $numbers)? {
                    return Ok(made);
                }
                if let Some(formula) = $graph.formula($name) {
                    return $graph.map($name, &formula, $inputs);
                }
                match ($name, $inputs, $numbers) {
                    $(($known, $tensors, $with) => $made,)*
                    _ => refused($name, $inputs, $numbers),
                }
            }
        }
    };
}

fn refused(name: &str, inputs: &[Node], numbers: &[f64]) -> Result<Node, Error> {
    refuse(name, format!("it does not take {} tensors and {} numbers", inputs.len(), numbers.len()))
}

operations! {
    (self, name, inputs, numbers)
    "constant", [], [value, shape @ ..] => {
        let shape = Self::checked(name, sizes(name, shape)?)?;
        Ok(self.constant(*value, &shape))
    };
    "count", [], shape => self.count(&sizes(name, shape)?);
    "powInt", [x], [exponent] => self.whole_power(*x, *exponent);
    "detach", [x], [] => self.detach(*x);
    "f16", [x], [] => self.half(*x);
    "f32", [x], [] => Ok(self.widened(self.known(*x)?));
    "reshape", [x], shape => self.reshape(*x, shape);
    "transpose", [x], order => self.transpose(*x, order);
    "broadcastTo", [x], shape => {
        let shape = Self::checked(name, sizes(name, shape)?)?;
        self.broadcast_to(name, *x, &shape)
    };
    "slice", [x], [axis, start, stop, step] => self.slice(*x, *axis, *start, *stop, *step);
    "flip", [x], [axis] => self.flip(*x, *axis);
    "pad", [x], [axis, low, high, value] => self.pad(*x, *axis, *low, *high, *value);
    "window", [x], [axis, size, step, dilation] => self.window(*x, *axis, *size, *step, *dilation);
    "concat", all, [axis] => self.concat(all, *axis);
    "gather", [table, rows], [] => self.gather(*table, *rows);
    "sum", [x], [keep, axes @ ..] => self.reduce(name, Fold::Sum, *x, axes, *keep != 0.0);
    "max", [x], [keep, axes @ ..] => self.reduce(name, Fold::Max, *x, axes, *keep != 0.0);
    "min", [x], [keep, axes @ ..] => self.reduce(name, Fold::Min, *x, axes, *keep != 0.0);
    "mean", [x], [keep, axes @ ..] => self.mean(*x, axes, *keep != 0.0);
    "argmax", [x], [axis] => {
        let places = self.argmax(*x, *axis)?;
        self.cast_to_integers(places)
    };
    "argmin", [x], [axis] => {
        let places = self.argmin(*x, *axis)?;
        self.cast_to_integers(places)
    };
    "cumsum", [x], [axis] => self.cumsum(*x, *axis);
    "cumprod", [x], [axis] => self.cumprod(*x, *axis);
    "sort", [x], [axis, descending] => self.sort(*x, *axis, *descending != 0.0);
    "argsort", [x], [axis, descending] => {
        let places = self.argsort(*x, *axis, *descending != 0.0)?;
        self.cast_to_integers(places)
    };
    "takeAlongAxis", [x, rows], [axis] => self.take_along_axis(*x, *rows, *axis);
    "putAlongAxis", [x, rows, values], [axis] => self.put_along_axis(*x, *rows, *values, *axis);
    "scatterAdd", [x, rows, values], [axis] => self.scatter_add(*x, *rows, *values, *axis);
    "softmax", [x], [axis] => self.softmax(*x, *axis);
    "logSoftmax", [x], [axis] => self.log_softmax(*x, *axis);
    "layerNorm", [x, others @ ..], [epsilon, scaled, shifted] => {
        let mut others = others.iter().copied();
        let scale = if *scaled == 0.0 { None } else { others.next() };
        let shift = if *shifted == 0.0 { None } else { others.next() };
        if others.next().is_some() { refused(name, inputs, numbers) } else { self.layer_norm(*x, scale, shift, *epsilon) }
    };
    "crossEntropy", [logits, labels], [] => self.cross_entropy(*logits, *labels);
    "matmul", [a, b], [] => self.matmul(*a, *b);
    "solve", [a, b], [] => self.solve(*a, *b);
    "cholesky", [a], [] => self.cholesky(*a);
    "qr", [a], [] => self.qr(*a);
    "svd", [a], [] => self.svd(*a);
    "eigh", [a], [] => self.eigh(*a);
    "attention", [q, k, v], [scale, causal] => self.attention(*q, *k, *v, *scale, *causal != 0.0);
    "conv2d", [images, filters], &[a, b, c, d, e, f] => self.conv2d(*images, *filters, [a, b], [c, d], [e, f]);
    "maxPool2d", [images], &[a, b, c, d, e, f] => self.max_pool2d(*images, [a, b], [c, d], [e, f]);
}

impl Graph {
    /// xⁿ by multiplication, for every x.
    fn whole_power(&mut self, x: Node, exponent: f64) -> Result<Node, Error> {
        if exponent.fract() != 0.0 || exponent.abs() > MOST_FACTORS {
            return refuse("powInt", format!("the exponent must be a whole number from −1024 to 1024, not {exponent}"));
        }
        let exponent = exponent as i32;
        let formula = Formula::with_limits(
            1,
            |graph, x| graph.power(x[0], exponent),
            move |graph, x, _, _| {
                let power = graph.power(x[0], exponent - 1);
                let slope = graph.times(power, exponent.into());
                graph.mul(x[1], slope)
            },
        );
        self.map("powInt", &formula, &[x])
    }

    /// A traced function of one scalar of every operand, which broadcast.
    pub fn traced(&mut self, words: &[u32], outputs: &[u32], inputs: &[Node]) -> Result<Node, Error> {
        if outputs.len() != 1 || inputs.is_empty() || inputs.len() > MOST_OPERANDS {
            return refuse(
                "map",
                format!("the function must give one scalar of 1 to {MOST_OPERANDS} tensors, not {} of {}", outputs.len(), inputs.len()),
            );
        }
        let count = inputs.len() as u32;
        let sources: Vec<Source> = (0..count).map(|slot| Source { leaf: Leaf::Slot { slot, component: 0 }, width: 1 }).collect();
        let mut scalars = Scalars::new();
        let read = tape::read(&mut scalars, words, outputs, &sources).map_err(|error| Error::Tape { term: "map".into(), error })?;
        let [output] = read[..] else { return refuse("map", format!("the function must give one scalar, not {}", read.len())) };
        let formula = Formula::of(scalars, output, count);
        self.map("map", &formula, inputs)
    }
}

//! Along an axis: running sums and products, sorting, elements by their numbers, and sums by numbers. Names are NumPy's.

use super::super::graph::{Graph, Node, Op, Special, Values, elements};
use super::super::integers::WordFormula;
use super::super::view::Movement;
use super::{refuse, shown};
use leastwise_error::Error;
use leastwise_program::words::WordUnary;

/// Axes up to this length have running sums of one lane each, longer ones of a lane a chunk.
const SHORT: u32 = 128;
const CHUNK: u32 = 64;

/// Lanes so many that each may have an axis of its own, however long that is.
const ENOUGH: u64 = 1 << 14;

/// Places along an axis that numbers of f32 tell apart.
const MOST_PLACES: u32 = 1 << 24;

/// A shape with one axis in the middle.
fn along(shape: &[u32], axis: usize) -> [u32; 3] {
    let product = |sizes: &[u32]| elements(sizes).unwrap_or(0);
    [product(&shape[..axis]), shape[axis], product(&shape[axis + 1..])]
}

impl Graph {
    /// A tensor as numbers, its shape, and the number of an axis.
    fn with_axis(&mut self, name: &str, node: Node, axis: f64) -> Result<(Node, Vec<u32>, usize), Error> {
        let shape = self.shape(self.known(node)?).to_vec();
        let axis = Self::axis(name, axis, shape.len())?;
        Ok((self.widened(node), shape, axis))
    }

    fn with_places(&mut self, name: &str, node: Node, axis: f64) -> Result<(Node, Vec<u32>, usize), Error> {
        let (node, shape, axis) = self.with_axis(name, node, axis)?;
        if shape[axis] > MOST_PLACES {
            return refuse(name, format!("{} has an axis of more places than the 2²⁴ that numbers tell apart", shown(&shape)));
        }
        Ok((node, shape, axis))
    }

    /// y[k] = Σ x[j] over j ≤ k, along an axis.
    ///
    /// # Errors
    /// [`Error`] for an axis that is not there.
    pub fn cumsum(&mut self, node: Node, axis: f64) -> Result<Node, Error> {
        let (node, shape, axis) = self.with_axis("cumsum", node, axis)?;
        let flat = self.moved(node, Movement::Reshape(along(&shape, axis).to_vec()));
        let sums = self.running(flat, false)?;
        Ok(self.moved(sums, Movement::Reshape(shape)))
    }

    /// Running sums along the middle one of three axes: of a long axis those within chunks, to which are added the running sums of
    /// the chunks before (Blelloch 1990, "Prefix Sums and Their Applications"). Of whole numbers products, too, which wrap.
    fn running(&mut self, node: Node, products: bool) -> Result<Node, Error> {
        let &[outer, n, inner] = self.shape(node) else { return Err(Error::Internal("running sums need three axes")) };
        let has_lanes = u64::from(outer) * u64::from(inner) >= ENOUGH;
        let chunk = if n <= SHORT || has_lanes { n.max(1) } else { CHUNK };
        let special = match self.entry(node).values {
            Values::Integers => Special::ScanWords { chunk, products },
            _ => Special::Scan { chunk, reverse: false },
        };
        let sums = self.add(Op::Special(special), vec![node], vec![outer, n, inner]);
        if chunk >= n {
            return Ok(sums);
        }
        let chunks = n.div_ceil(chunk);
        let whole = Self::checked(if products { "cumprod" } else { "cumsum" }, vec![outer, chunks * chunk, inner])?;
        let totals = self.moved(sums, Movement::Slice { axis: 1, start: chunk - 1, count: chunks - 1, step: chunk });
        let totals = self.running(totals, products)?;
        let before = self.padded(totals, [1.0, 1.0, 0.0], f64::from(u8::from(products)))?;
        let before = self.moved(before, Movement::Reshape(vec![outer, chunks, 1, inner]));
        let before = self.moved(before, Movement::Expand(vec![outer, chunks, chunk, inner]));
        let before = self.moved(before, Movement::Reshape(whole));
        let before = self.moved(before, Movement::Slice { axis: 1, start: 0, count: n, step: 1 });
        self.operation(if products { "mul" } else { "add" }, &[before, sums], &[])
    }

    /// y[k] = Π x[j] over j ≤ k, along an axis, one after the other: products of parts of an axis may overflow, or be NaN, where no
    /// product from the first element on does. y[k] = x[k]·y[k − 1] is a recurrence, whose gradient is one, too: right at 0.
    ///
    /// # Errors
    /// [`Error`] for an axis that is not there.
    pub fn cumprod(&mut self, node: Node, axis: f64) -> Result<Node, Error> {
        let (node, shape, axis) = self.with_axis("cumprod", node, axis)?;
        let whole = along(&shape, axis);
        if whole.contains(&0) {
            return Ok(node);
        }
        let flat = self.moved(node, Movement::Reshape(whole.to_vec()));
        if self.entry(node).values == Values::Integers {
            let products = self.running(flat, true)?;
            return Ok(self.moved(products, Movement::Reshape(shape)));
        }
        let first = self.moved(flat, Movement::Slice { axis: 1, start: 0, count: 1, step: 1 });
        let first = self.moved(first, Movement::Pad { axis: 1, low: 0, high: whole[1] - 1 });
        let products = self.add(Op::Special(Special::Recur { reverse: false }), vec![first, flat], whole.to_vec());
        Ok(self.moved(products, Movement::Reshape(shape)))
    }

    /// Gradients of recurrences y of x and factors a: x̄[k] = ȳ[k] + a[k + 1]·x̄[k + 1], the recurrence the other way round, and
    /// ā[k] = x̄[k]·y[k − 1].
    pub(crate) fn back_through_recurrence(&mut self, factors: Node, y: Node, g: Node, reverse: bool) -> Result<[Node; 2], Error> {
        let shape = self.shape(y).to_vec();
        let n = shape[1];
        let part = |graph: &mut Self, node: Node, start: u32| graph.moved(node, Movement::Slice { axis: 1, start, count: n - 1, step: 1 });
        let [of_first, of_last] = [0, 1].map(|start| if reverse { start } else { 1 - start });
        let later = part(self, factors, of_first);
        let later = self.moved(later, Movement::Pad { axis: 1, low: 1 - of_first, high: of_first });
        let of_x = self.add(Op::Special(Special::Recur { reverse: !reverse }), vec![g, later], shape);
        let (own, before) = (part(self, of_x, of_first), part(self, y, of_last));
        let product = self.apply("mul", &[own, before])?;
        Ok([of_x, self.moved(product, Movement::Pad { axis: 1, low: of_first, high: 1 - of_first })])
    }

    /// The places of the elements along an axis in ascending or descending order; of equal ones the first one first, NaN last.
    ///
    /// # Errors
    /// [`Error`] for an axis that is not there, or has more than 2²⁴ places.
    pub fn argsort(&mut self, node: Node, axis: f64, descending: bool) -> Result<Node, Error> {
        let (node, shape, axis) = self.with_places("argsort", node, axis)?;
        let keys = match (descending, self.entry(node).values) {
            (false, _) => node,
            // All bits turned: −2³¹ has no opposite.
            (true, Values::Integers) => self.words(&WordFormula::unary(WordUnary::Not), &[node]),
            (true, _) => self.apply("neg", &[node])?,
        };
        let axes = 0..shape.len() as u32;
        let mut order: Vec<u32> = axes.clone().filter(|&other| other != axis as u32).collect();
        order.push(axis as u32);
        let keys = self.moved(keys, Movement::Permute(order.clone()));
        let turned = self.shape(keys).to_vec();
        let n = shape[axis];
        let rows = elements(&turned[..turned.len() - 1]).unwrap_or(0);
        let keys = self.moved(keys, Movement::Reshape(vec![rows, n]));
        let (_, places) = self.sorted_rows(keys)?;
        let places = self.moved(places, Movement::Reshape(turned));
        let mut inverse = vec![0; order.len()];
        axes.zip(&order).for_each(|(place, &axis)| inverse[axis as usize] = place);
        Ok(self.moved(places, Movement::Permute(inverse)))
    }

    /// Keys [rows, n] row by row in ascending order, and the places that they came from.
    fn sorted_rows(&mut self, keys: Node) -> Result<(Node, Node), Error> {
        let &[rows, n] = self.shape(keys) else { return Err(Error::Internal("rows need two axes")) };
        let shape = vec![rows, n];
        let count = self.count(&[n])?;
        let places = self.broadcast_to("argsort", count, &shape)?;
        let is_whole = self.entry(keys).values == Values::Integers;
        let (mut sorted, mut width) = ((keys, places), 1);
        while width < n {
            let parts = vec![shape.clone(), shape.clone()];
            let special = if is_whole { Special::MergeWords { width } } else { Special::Merge { width } };
            let parts = self.add_parts(Op::Special(special), vec![sorted.0, sorted.1], parts);
            sorted = (parts[0], parts[1]);
            width *= 2;
        }
        Ok(sorted)
    }

    /// The elements along an axis in ascending or descending order, NaN last.
    ///
    /// # Errors
    /// Those of [`argsort`](Self::argsort).
    pub fn sort(&mut self, node: Node, axis: f64, descending: bool) -> Result<Node, Error> {
        let places = self.argsort(node, axis, descending)?;
        let (node, shape, axis) = self.with_axis("sort", node, axis)?;
        self.taken("sort", [node, places], (&shape, &shape), axis)
    }

    /// `node` of a shape by whole numbers of another shape, equal but for that axis.
    fn taken(&mut self, name: &str, [node, numbers]: [Node; 2], (own, shape): (&[u32], &[u32]), axis: usize) -> Result<Node, Error> {
        let node = self.moved(node, Movement::Reshape(along(own, axis).to_vec()));
        let numbers = self.moved(numbers, Movement::Reshape(along(shape, axis).to_vec()));
        let taken = self.taken_flat(name, node, numbers)?;
        Ok(self.moved(taken, Movement::Reshape(shape.to_vec())))
    }

    /// Elements along the middle one of three axes.
    fn taken_flat(&mut self, name: &str, node: Node, numbers: Node) -> Result<Node, Error> {
        if self.entry(node).values == Values::Integers {
            return self.taken_words(name, node, numbers);
        }
        let shape = self.shape(numbers).to_vec();
        Ok(self.add(Op::Special(Special::Take), vec![node, numbers], shape))
    }

    /// Whole numbers, those below 0 counted from the end of n.
    pub(super) fn counted(&mut self, numbers: Node, n: u32) -> Result<Node, Error> {
        let numbers = self.apply("floor", &[numbers])?;
        let from_end = self.apply_number("add", numbers, n.into())?;
        let zero = self.constant(0.0, &[]);
        let is_negative = self.apply("less", &[numbers, zero])?;
        self.apply("where", &[is_negative, from_end, numbers])
    }

    /// Numbers taken to the nearest from 0 to n − 1.
    fn within(&mut self, numbers: Node, n: u32) -> Result<Node, Error> {
        let least = self.apply_number("maximum", numbers, 0.0)?;
        self.apply_number("minimum", least, f64::from(n) - 1.0)
    }

    /// The shapes that a tensor and numbers broadcast to, equal but for an axis.
    fn fitted(&self, name: &str, own: &[u32], numbers: &[u32], axis: usize) -> Result<(Vec<u32>, Vec<u32>), Error> {
        if own.len() != numbers.len() {
            let message = format!("a tensor {} takes numbers of as many axes, not {}", shown(own), shown(numbers));
            return refuse(name, message);
        }
        let without = |shape: &[u32]| {
            let mut shape = shape.to_vec();
            shape[axis] = 1;
            shape
        };
        let common = Self::broadcast(name, &[&without(own), &without(numbers)])?;
        let with = |n: u32| {
            let mut shape = common.clone();
            shape[axis] = n;
            Self::checked(name, shape)
        };
        Ok((with(own[axis])?, with(numbers[axis])?))
    }

    /// Elements along an axis by their numbers (NumPy's `take_along_axis`): other axes broadcast. Numbers below 0 count from the end;
    /// what lies beyond is taken to the nearest that there is.
    ///
    /// # Errors
    /// [`Error`] for shapes that do not fit, for elements of an empty axis, and for more than 2²⁴ places.
    pub fn take_along_axis(&mut self, node: Node, numbers: Node, axis: f64) -> Result<Node, Error> {
        let name = "takeAlongAxis";
        let (node, own, axis) = self.with_places(name, node, axis)?;
        let of_numbers = self.shape(self.known(numbers)?).to_vec();
        let (own_fitted, shape) = self.fitted(name, &own, &of_numbers, axis)?;
        let n = own[axis];
        if n == 0 && elements(&shape) != Some(0) {
            return refuse(name, format!("axis {axis} of {} has no elements", shown(&own)));
        }
        let node = self.broadcast_to(name, node, &own_fitted)?;
        let numbers = self.counted(numbers, n)?;
        let numbers = self.within(numbers, n)?;
        let numbers = self.broadcast_to(name, numbers, &shape)?;
        self.taken(name, [node, numbers], (&own_fitted, &shape), axis)
    }

    /// What [`put_along_axis`](Self::put_along_axis) and [`scatter_add`](Self::scatter_add) begin with: x and its shape, numbers and
    /// values [outer, m, inner], and the axis.
    fn put(&mut self, name: &str, [node, numbers, values]: [Node; 3], axis: f64) -> Result<(Node, Vec<u32>, [Node; 2], usize), Error> {
        let (node, own, axis) = self.with_places(name, node, axis)?;
        let of_numbers = self.shape(self.known(numbers)?).to_vec();
        let (fitted, shape) = self.fitted(name, &own, &of_numbers, axis)?;
        if fitted != own {
            return refuse(name, format!("numbers {} do not broadcast to {}", shown(&of_numbers), shown(&own)));
        }
        if shape[axis] > MOST_PLACES {
            return refuse(name, format!("{} are more numbers along an axis than the 2²⁴ that are told apart", shown(&of_numbers)));
        }
        self.known(values)?;
        let values = self.widened(values);
        let values = self.broadcast_to(name, values, &shape)?;
        let numbers = self.counted(numbers, own[axis])?;
        let numbers = self.broadcast_to(name, numbers, &shape)?;
        let flat = [numbers, values].map(|node| self.moved(node, Movement::Reshape(along(&shape, axis).to_vec())));
        Ok((node, own, flat, axis))
    }

    /// x with values added to elements along an axis, by their numbers (JAX's `.at[].add`): of equal numbers all values, in their
    /// order. Numbers below 0 count from the end; those beyond are left out.
    ///
    /// # Errors
    /// [`Error`] for shapes that do not fit, and for more than 2²⁴ places.
    pub fn scatter_add(&mut self, node: Node, numbers: Node, values: Node, axis: f64) -> Result<Node, Error> {
        let (node, own, [numbers, values], axis) = self.put("scatterAdd", [node, numbers, values], axis)?;
        let sums = self.scatter(values, numbers, own[axis], false)?;
        let sums = self.moved(sums, Movement::Reshape(own));
        self.operation("add", &[node, sums], &[])
    }

    /// x with values in place of elements along an axis, by their numbers (NumPy's `put_along_axis`): of equal numbers the last value.
    /// Numbers below 0 count from the end; those beyond are left out.
    ///
    /// # Errors
    /// Those of [`scatter_add`](Self::scatter_add).
    pub fn put_along_axis(&mut self, node: Node, numbers: Node, values: Node, axis: f64) -> Result<Node, Error> {
        let (node, own, [numbers, values], axis) = self.put("putAlongAxis", [node, numbers, values], axis)?;
        if self.shape(values).contains(&0) {
            return Ok(node);
        }
        let latest = self.scatter(numbers, numbers, own[axis], true)?;
        let place = self.apply_number("maximum", latest, 0.0)?;
        let put = self.taken_flat("putAlongAxis", values, place)?;
        let [latest, put] = [latest, put].map(|node| self.moved(node, Movement::Reshape(own.clone())));
        let zero = self.constant(0.0, &[]);
        let is_left = self.operation("less", &[latest, zero], &[])?;
        self.operation("where", &[is_left, node, put], &[])
    }

    /// Of values [outer, m, inner] and their numbers [outer, m, inner], or [outer, m, 1] for all: [outer, n, inner], to which those
    /// with a number are added up; or the last of their places.
    pub(crate) fn scatter(&mut self, values: Node, numbers: Node, n: u32, latest: bool) -> Result<Node, Error> {
        let (&[outer, m, inner], &[_, _, lists]) = (self.shape(values), self.shape(numbers)) else {
            return Err(Error::Internal("what is scattered needs three axes"));
        };
        let turned = self.moved(numbers, Movement::Permute(vec![0, 2, 1]));
        let rows = elements(&[outer, lists]).unwrap_or(0);
        let keys = self.moved(turned, Movement::Reshape(vec![rows, m]));
        let (keys, places) = self.sorted_rows(keys)?;
        let [keys, places] = [keys, places].map(|node| self.moved(node, Movement::Reshape(vec![outer, lists, m])));
        if self.entry(values).values == Values::Integers {
            return Ok(self.add(Op::Special(Special::ScatterWords { n }), vec![values, keys, places], vec![outer, n, inner]));
        }
        Ok(self.add(Op::Special(Special::Scatter { n, latest }), vec![values, keys, places, numbers], vec![outer, n, inner]))
    }

    /// The adjoint of scattering: elements of g [outer, n, inner] by the numbers that there are, and 0 by others.
    pub(crate) fn taken_back(&mut self, g: Node, numbers: Node) -> Result<Node, Error> {
        let (&[outer, n, inner], &[_, m, _]) = (self.shape(g), self.shape(numbers)) else {
            return Err(Error::Internal("what is scattered needs three axes"));
        };
        let shape = vec![outer, m, inner];
        let numbers = self.broadcast_to("grad", numbers, &shape)?;
        if n == 0 {
            return Ok(self.constant(0.0, &shape));
        }
        let nearest = self.within(numbers, n)?;
        let taken = self.add(Op::Special(Special::Take), vec![g, nearest], shape);
        let is_there = self.apply("equal", &[nearest, numbers])?;
        let zero = self.constant(0.0, &[]);
        self.apply("where", &[is_there, taken, zero])
    }

    /// Rows [count, width] added up by computed numbers of n rows, which are taken to the nearest that there is.
    pub(crate) fn summed_rows(&mut self, rows: Node, numbers: Node, n: u32) -> Result<Node, Error> {
        let &[count, width] = self.shape(rows) else { return Err(Error::Internal("rows need two axes")) };
        let numbers = self.widened(numbers);
        let numbers = self.within(numbers, n)?;
        let numbers = self.apply("floor", &[numbers])?;
        let numbers = self.moved(numbers, Movement::Reshape(vec![1, count, 1]));
        let rows = self.moved(rows, Movement::Reshape(vec![1, count, width]));
        let sums = self.scatter(rows, numbers, n, false)?;
        Ok(self.moved(sums, Movement::Reshape(vec![n, width])))
    }
}

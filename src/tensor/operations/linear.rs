//! Linear algebra of matrices, which are the last two axes: names are those of NumPy's `linalg`.
//!
//! Gradients are those of Giles (2008), *Collected matrix derivative results*, and of Walter & Lehmann (2018), *Algorithmic
//! differentiation of linear algebra functions*: made of products and solutions of the results, so that they have gradients, too.

use super::super::graph::{Graph, Node, Op, Rule, Special, elements};
use super::super::view::Movement;
use super::{refuse, shown};
use leastwise_error::Error;
use leastwise_program::fused::Fold;

impl Graph {
    /// Batches, rows and columns of matrices.
    fn matrices(&self, name: &str, node: Node) -> Result<(Vec<u32>, [u32; 2]), Error> {
        let shape = self.shape(self.known(node)?);
        let Some((batch, &[rows, columns])) = shape.split_last_chunk::<2>() else {
            return refuse(name, format!("matrices are the last two axes, of which {} has too few", shown(shape)));
        };
        Ok((batch.to_vec(), [rows, columns]))
    }

    fn square(&self, name: &str, node: Node) -> Result<(Vec<u32>, u32), Error> {
        let (batch, [rows, columns]) = self.matrices(name, node)?;
        if rows != columns {
            return refuse(name, format!("matrices must be square, not {rows} × {columns}"));
        }
        Ok((batch, rows))
    }

    /// Matrices [.., m, n] as [b, m, n].
    fn in_a_row(&mut self, node: Node) -> Node {
        let shape = self.shape(node).to_vec();
        let (batch, sizes) = shape.split_at(shape.len() - 2);
        let flat = elements(batch).into_iter().chain(sizes.iter().copied()).collect();
        self.moved(node, Movement::Reshape(flat))
    }

    fn with_batch(&mut self, node: Node, batch: &[u32]) -> Node {
        let shape = self.shape(node).to_vec();
        let whole = batch.iter().chain(&shape[1..]).copied().collect();
        self.moved(node, Movement::Reshape(whole))
    }

    /// ½(A + Aᵀ)
    fn symmetric(&mut self, node: Node) -> Result<Node, Error> {
        let turned = self.transpose(node, &[])?;
        let sum = self.apply("add", &[node, turned])?;
        self.apply_number("mul", sum, 0.5)
    }

    /// Matrices [n, n] of a number below the diagonal, on it, and above it.
    fn pattern(&mut self, n: u32, [below, diagonal, above]: [f64; 3]) -> Result<Node, Error> {
        let [rows, columns] = [self.count(&[n, 1])?, self.count(&[1, n])?];
        let [below, diagonal, above] = [below, diagonal, above].map(|number| self.constant(number, &[]));
        let [is_below, is_diagonal] = [self.apply("less", &[columns, rows])?, self.apply("equal", &[rows, columns])?];
        let others = self.apply("where", &[is_below, below, above])?;
        self.apply("where", &[is_diagonal, diagonal, others])
    }

    /// The part of matrices on one side of the diagonal, times the pattern's numbers; what is left out may be anything.
    fn cut(&mut self, node: Node, pattern: [f64; 3]) -> Result<Node, Error> {
        let n = self.shape(node).last().copied().unwrap_or(0);
        let pattern = self.pattern(n, pattern)?;
        let zero = self.constant(0.0, &[]);
        let is_out = self.apply("equal", &[pattern, zero])?;
        let product = self.apply("mul", &[node, pattern])?;
        self.apply("where", &[is_out, zero, product])
    }

    /// X of A X = B, of matrices whose batches broadcast; a vector B is a column. Where A is singular, X is not finite.
    ///
    /// # Errors
    /// [`Error`] for shapes that do not fit.
    pub fn solve(&mut self, a: Node, b: Node) -> Result<Node, Error> {
        let name = "solve";
        let (batch, n) = self.square(name, a)?;
        let of_right = self.shape(self.known(b)?).to_vec();
        let is_vector = of_right.len() == 1;
        let b = if is_vector { self.moved(b, Movement::Reshape(vec![of_right[0], 1])) } else { b };
        let (of_right, [rows, columns]) = self.matrices(name, b)?;
        if rows != n {
            return refuse(name, format!("matrices of {n} rows need right-hand sides of as many, not {rows}"));
        }
        let batch = Self::broadcast(name, &[&batch, &of_right])?;
        let mut sides = [(a, n), (b, columns)];
        for (node, columns) in &mut sides {
            let shape = Self::checked(name, batch.iter().copied().chain([n, *columns]).collect())?;
            *node = self.widened(*node);
            *node = self.broadcast_to(name, *node, &shape)?;
            *node = self.in_a_row(*node);
        }
        let solved = self.solved(sides[0].0, sides[1].0);
        let solved = self.with_batch(solved, &batch);
        if !is_vector {
            return Ok(solved);
        }
        let shape = batch.iter().copied().chain([n]).collect();
        Ok(self.moved(solved, Movement::Reshape(shape)))
    }

    /// Of matrices [b, n, n] and [b, n, k].
    fn solved(&mut self, a: Node, b: Node) -> Node {
        let parts = vec![self.shape(b).to_vec(), self.shape(a).to_vec()];
        self.add_parts(Op::Special(Special::Solve), vec![a, b], parts)[0]
    }

    /// The lower triangle L of A = L Lᵀ, of the symmetric part of A; NaN where that is not positive definite.
    ///
    /// # Errors
    /// [`Error`] for matrices that are not square.
    pub fn cholesky(&mut self, a: Node) -> Result<Node, Error> {
        let (batch, _) = self.square("cholesky", a)?;
        let symmetric = self.symmetric(a)?;
        let flat = self.in_a_row(symmetric);
        let shape = self.shape(flat).to_vec();
        let lower = self.add(Op::Special(Special::Cholesky), vec![flat], shape);
        Ok(self.with_batch(lower, &batch))
    }

    /// Q and below it R of A = Q R, of at least as many rows as columns: [.., m + n, n].
    ///
    /// # Errors
    /// [`Error`] for matrices with fewer rows than columns.
    pub fn qr(&mut self, a: Node) -> Result<Node, Error> {
        let (batch, [m, n]) = self.matrices("qr", a)?;
        if m < n {
            return refuse("qr", format!("matrices must have at least as many rows as columns, not {m} × {n}"));
        }
        let a = self.widened(a);
        let flat = self.in_a_row(a);
        let b = self.shape(flat)[0];
        let parts = self.add_parts(Op::Special(Special::Qr), vec![flat], vec![vec![b, m, n], vec![b, n, n], vec![b, n]]);
        let both = self.concat(&parts[..2], 1.0)?;
        Ok(self.with_batch(both, &batch))
    }

    /// The largest size of an element of matrices [b, m, n], as [b, 1, 1], or 1 where all are 0: of what is divided by it no square
    /// overflows, and squares that vanish do not count.
    fn scales(&mut self, flat: Node) -> Result<Node, Error> {
        let sizes = self.apply("abs", &[flat])?;
        let largest = self.reduce("svd", Fold::Max, sizes, &[1.0, 2.0], true)?;
        let divisor = self.divisor(largest)?;
        self.detach(divisor)
    }

    /// Numbers, and 1 in place of 0.
    fn divisor(&mut self, node: Node) -> Result<Node, Error> {
        let [zero, one] = [0.0, 1.0].map(|number| self.constant(number, &[]));
        let is_zero = self.apply("equal", &[node, zero])?;
        self.apply("where", &[is_zero, one, node])
    }

    /// Right singular vectors V of matrices A [b, m, n], in no order, and A V.
    fn singular(&mut self, a: Node) -> Result<[Node; 2], Error> {
        let &[b, m, n] = self.shape(a) else { return Err(Error::Internal("matrices need three axes")) };
        let parts = self.add_parts(Op::Special(Special::Singular), vec![a], vec![vec![b, n, n], vec![b, m, n]]);
        Ok([parts[0], parts[1]])
    }

    /// Singular values [b, n] of matrices A, which are the lengths of the columns of A V.
    fn lengths(&mut self, a: Node, [vectors, products]: [Node; 2]) -> Result<Node, Error> {
        let squares = self.apply("square", &[products])?;
        let squares = self.reduce("svd", Fold::Sum, squares, &[1.0], false)?;
        let values = self.apply("sqrt", &[squares])?;
        self.set_rule(values, Rule::Values { matrices: a, left: products, right: vectors, is_scaled: true });
        Ok(values)
    }

    /// Columns of matrices [b, m, n] in an order [b, n].
    fn columns_by(&mut self, node: Node, order: Node) -> Result<Node, Error> {
        let &[b, n] = self.shape(order) else { return Err(Error::Internal("an order needs two axes")) };
        let order = self.moved(order, Movement::Reshape(vec![b, 1, n]));
        self.take_along_axis(node, order, 2.0)
    }

    /// U, s and V of A = U diag(s) Vᵀ, one below the other, of at least as many rows as columns: [.., m + 1 + n, n]; s is in
    /// descending order. Columns of U whose s is no larger than rounding leaves of 0 are any that are orthonormal to the others.
    ///
    /// # Errors
    /// [`Error`] for matrices with fewer rows than columns.
    pub fn svd(&mut self, a: Node) -> Result<Node, Error> {
        let (batch, [m, n]) = self.matrices("svd", a)?;
        if m < n {
            return refuse("svd", format!("matrices must have at least as many rows as columns, not {m} × {n}"));
        }
        let a = self.widened(a);
        let flat = self.in_a_row(a);
        let b = self.shape(flat)[0];
        if n == 0 {
            let empty = self.constant(0.0, &[b, m + 1, 0]);
            return Ok(self.with_batch(empty, &batch));
        }
        let scale = self.scales(flat)?;
        let scaled = self.apply("div", &[flat, scale])?;
        let [vectors, products] = self.singular(scaled)?;
        let values = self.lengths(scaled, [vectors, products])?;
        let order = self.argsort(values, 1.0, true)?;
        let values = self.take_along_axis(values, order, 1.0)?;
        let row = self.moved(values, Movement::Reshape(vec![b, 1, n]));
        let (vectors, products) = (self.columns_by(vectors, order)?, self.columns_by(products, order)?);
        let divisor = self.divisor(row)?;
        let left = self.apply("div", &[products, divisor])?;
        // Reflections that make an upper triangle of columns, of which the last ones are 0, make orthonormal ones of these.
        let largest = self.moved(row, Movement::Slice { axis: 2, start: 0, count: 1, step: 1 });
        let least = self.apply_number("mul", largest, f64::from(m) * self.epsilon())?;
        let is_null = self.apply("lessEqual", &[row, least])?;
        let zero = self.constant(0.0, &[]);
        let known = self.apply("where", &[is_null, zero, left])?;
        let known = self.detach(known)?;
        let parts = vec![vec![b, m, n], vec![b, n, n], vec![b, n]];
        let completed = self.add_parts(Op::Special(Special::Qr), vec![known], parts)[0];
        let left = self.apply("where", &[is_null, completed, left])?;
        let row = self.apply("mul", &[row, scale])?;
        let all = self.concat(&[left, row, vectors], 1.0)?;
        Ok(self.with_batch(all, &batch))
    }

    /// λ and below it V of A = V diag(λ) Vᵀ, of the symmetric part of A: [.., 1 + n, n]; λ is in ascending order.
    ///
    /// # Errors
    /// [`Error`] for matrices that are not square.
    pub fn eigh(&mut self, a: Node) -> Result<Node, Error> {
        let (batch, n) = self.square("eigh", a)?;
        let a = self.widened(a);
        let flat = self.in_a_row(a);
        let b = self.shape(flat)[0];
        if n == 0 {
            let empty = self.constant(0.0, &[b, 1, 0]);
            return Ok(self.with_batch(empty, &batch));
        }
        let scale = self.scales(flat)?;
        let scaled = self.apply("div", &[flat, scale])?;
        let scaled = self.symmetric(scaled)?;
        // No eigenvalue is below the largest sum of a row's sizes, taken negative (Gershgorin 1931): shifted by it, singular vectors are eigenvectors.
        let sizes = self.apply("abs", &[scaled])?;
        let sums = self.reduce("eigh", Fold::Sum, sizes, &[2.0], false)?;
        let bound = self.reduce("eigh", Fold::Max, sums, &[1.0], false)?;
        let bound = self.detach(bound)?;
        let bound = self.moved(bound, Movement::Reshape(vec![b, 1, 1]));
        let diagonal = self.pattern(n, [0.0, 1.0, 0.0])?;
        let shift = self.apply("mul", &[bound, diagonal])?;
        let shifted = self.apply("add", &[scaled, shift])?;
        let [vectors, _] = self.singular(shifted)?;
        let products = self.matmul(scaled, vectors)?;
        let products = self.apply("mul", &[vectors, products])?;
        let values = self.reduce("eigh", Fold::Sum, products, &[1.0], false)?;
        self.set_rule(values, Rule::Values { matrices: scaled, left: vectors, right: vectors, is_scaled: false });
        let order = self.argsort(values, 1.0, false)?;
        let values = self.take_along_axis(values, order, 1.0)?;
        let row = self.moved(values, Movement::Reshape(vec![b, 1, n]));
        let row = self.apply("mul", &[row, scale])?;
        let vectors = self.columns_by(vectors, order)?;
        let both = self.concat(&[row, vectors], 1.0)?;
        Ok(self.with_batch(both, &batch))
    }

    /// Gradients of a solution X by A and B: −B̄ Xᵀ and B̄ = A⁻ᵀ X̄.
    pub(crate) fn back_through_solve(&mut self, a: Node, x: Node, g: Node) -> Result<[Node; 2], Error> {
        let turned = self.transpose(a, &[])?;
        let of_right = self.solved(turned, g);
        let x = self.transpose(x, &[])?;
        let product = self.matmul(of_right, x)?;
        Ok([self.apply("neg", &[product])?, of_right])
    }

    /// Gradient of L by A: the symmetric part of L⁻ᵀ Φ(Lᵀ L̄) L⁻¹, where Φ is the lower triangle with half of the diagonal.
    pub(crate) fn back_through_cholesky(&mut self, lower: Node, g: Node) -> Result<Node, Error> {
        let upper = self.transpose(lower, &[])?;
        let product = self.matmul(upper, g)?;
        let half = self.cut(product, [1.0, 0.5, 0.0])?;
        let left = self.solved(upper, half);
        let left = self.transpose(left, &[])?;
        let both = self.solved(upper, left);
        self.symmetric(both)
    }

    /// Gradient of Q or R by A: (Q̄ + Q M)R⁻ᵀ, where M is symmetric, with the lower triangle of R R̄ᵀ − Q̄ᵀ Q.
    pub(crate) fn back_through_qr(&mut self, [q, r]: [Node; 2], g: Node, of_q: bool) -> Result<Node, Error> {
        let triangle = if of_q {
            let turned = self.transpose(g, &[])?;
            let product = self.matmul(turned, q)?;
            self.apply("neg", &[product])?
        } else {
            let upper = self.cut(g, [0.0, 1.0, 1.0])?;
            let turned = self.transpose(upper, &[])?;
            self.matmul(r, turned)?
        };
        let (lower, strict) = (self.cut(triangle, [1.0, 1.0, 0.0])?, self.cut(triangle, [1.0, 0.0, 0.0])?);
        let upper = self.transpose(strict, &[])?;
        let both = self.apply("add", &[lower, upper])?;
        let mut sum = self.matmul(q, both)?;
        if of_q {
            sum = self.apply("add", &[g, sum])?;
        }
        let turned = self.transpose(sum, &[])?;
        let solved = self.solved(r, turned);
        self.transpose(solved, &[])
    }

    /// Gradient of singular values or eigenvalues by A: Σ ḡᵢ uᵢ vᵢᵀ.
    pub(crate) fn back_through_values(&mut self, values: Node, [left, right]: [Node; 2], g: Node, is_scaled: bool) -> Result<Node, Error> {
        let &[b, n] = self.shape(values) else { return Err(Error::Internal("values need two axes")) };
        let [values, g] = [values, g].map(|node| self.moved(node, Movement::Reshape(vec![b, 1, n])));
        let weights = if is_scaled {
            let divisor = self.divisor(values)?;
            self.apply("div", &[g, divisor])?
        } else {
            g
        };
        let weighted = self.apply("mul", &[left, weights])?;
        let right = self.transpose(right, &[])?;
        self.matmul(weighted, right)
    }

    /// Gradient of right singular vectors V, or of A V, by A: they are the eigenvectors of M = AᵀA, so that dV = V (F ∘ Vᵀ dM V) with
    /// F = 1/(sⱼ² − sᵢ²). Where two are equal, as far as rounding tells, their vectors are any two of a plane, and F is 0.
    pub(crate) fn back_through_singular(&mut self, a: Node, [v, products]: [Node; 2], g: Node, of_v: bool) -> Result<Node, Error> {
        let &[b, n, _] = self.shape(v) else { return Err(Error::Internal("matrices need three axes")) };
        let turned = self.transpose(v, &[])?;
        let through_v = if of_v {
            g
        } else {
            let across = self.transpose(a, &[])?;
            self.matmul(across, g)?
        };
        let values = self.lengths(a, [v, products])?;
        let [across, down] = [[b, 1, n], [b, n, 1]].map(|shape| self.moved(values, Movement::Reshape(shape.to_vec())));
        let (gaps, sums) = (self.apply("sub", &[across, down])?, self.apply("add", &[across, down])?);
        let largest = self.reduce("grad", Fold::Max, across, &[2.0], true)?;
        let least = self.apply_number("mul", largest, f64::from(n) * self.epsilon())?;
        let sizes = self.apply("abs", &[gaps])?;
        let is_equal = self.apply("lessEqual", &[sizes, least])?;
        let [zero, one] = [0.0, 1.0].map(|number| self.constant(number, &[]));
        let gaps = self.apply("mul", &[gaps, sums])?;
        let gaps = self.apply("where", &[is_equal, one, gaps])?;
        let turns = self.matmul(turned, through_v)?;
        let turns = self.apply("div", &[turns, gaps])?;
        let turns = self.apply("where", &[is_equal, zero, turns])?;
        let left = self.matmul(v, turns)?;
        let of_squares = self.matmul(left, turned)?;
        let other = self.transpose(of_squares, &[])?;
        let both = self.apply("add", &[of_squares, other])?;
        let by_v = self.matmul(a, both)?;
        if of_v {
            return Ok(by_v);
        }
        let direct = self.matmul(g, turned)?;
        self.apply("add", &[direct, by_v])
    }
}

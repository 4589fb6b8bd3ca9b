//! Gradients: one reverse sweep over the graph, whose results are tensors of the same graph (Griewank & Walther,
//! *Evaluating Derivatives*, 2nd ed., section 3.2). What is elementwise is differentiated by the expression compiler.

use super::formula::Slopes;
use super::graph::{Graph, Groups, Node, Op, Rule, Special, Values, elements};
use super::operations::{is_extreme, shown};
use super::view::Movement;
use leastwise_error::Error;
use leastwise_program::fused::Fold;
use std::collections::{HashMap, HashSet};

fn refuse<T>(message: String) -> Result<T, Error> {
    Err(Error::Shape { name: "grad".into(), message })
}

impl Graph {
    /// ∂loss/∂x for every x of `of`; the loss is one number.
    pub fn gradient(&mut self, loss: Node, of: &[Node]) -> Result<Vec<Node>, Error> {
        for &node in of.iter().chain([&loss]) {
            let name = match self.entry(self.known(node)?).values {
                Values::Reals => continue,
                Values::Integers => "int32",
                Values::Booleans => "bool",
            };
            return refuse(format!(
                "tensors of {name} are constants, which have no gradient: cast(\"f32\") comes before what is differentiated"
            ));
        }
        if self.size(loss) != 1 {
            return refuse(format!("the loss must be one number, not {}: take its sum or its mean", shown(self.shape(loss))));
        }
        let wanted: HashSet<Node> = of.iter().copied().collect();
        let order = self.reverse_order(loss, &wanted)?;
        let mut sweep = Sweep { graph: self, adjoints: HashMap::new(), through: order.iter().copied().collect() };
        let shape = sweep.graph.shape(loss).to_vec();
        let one = sweep.graph.constant(1.0, &shape);
        sweep.adjoints.insert(loss, one);
        for node in order {
            let Some(&g) = sweep.adjoints.get(&node) else { continue };
            if !wanted.contains(&node) || sweep.leads_on(node) {
                sweep.pass(node, g)?;
            }
        }
        let adjoints = sweep.adjoints;
        let found = |(place, node): (usize, &Node)| match adjoints.get(node) {
            Some(&adjoint) => Ok(adjoint),
            None => refuse(format!("the loss does not depend on tensor {place} of those that it is to be differentiated by")),
        };
        of.iter().enumerate().map(found).collect()
    }

    /// What a gradient goes through from a node.
    fn sources(&self, node: Node) -> Vec<Node> {
        let entry = self.entry(node);
        if entry.values != Values::Reals {
            return Vec::new();
        }
        match (&entry.rule, &entry.op) {
            (Some(Rule::Convolution { images, filters, .. }), _) => vec![*images, *filters],
            (Some(Rule::Values { matrices, .. }), _) => vec![*matrices],
            (Some(Rule::Solution { data, .. }), _) => data.clone(),
            (None, Op::Detach) => Vec::new(),
            #[cfg(not(target_arch = "wasm32"))]
            (None, Op::OverRanks { .. }) => Vec::new(),
            (None, Op::Gather | Op::Special(Special::Take | Special::Scatter { latest: false, .. })) => vec![entry.inputs[0]],
            // Places are whole numbers, which have no slope.
            (None, Op::Special(Special::Merge { .. } | Special::Scatter { .. })) => Vec::new(),
            (None, _) => entry.inputs.clone(),
        }
    }

    /// Nodes between the loss and what it is differentiated by, users first.
    fn reverse_order(&self, loss: Node, of: &HashSet<Node>) -> Result<Vec<Node>, Error> {
        let mut order = Vec::new();
        let mut done: HashMap<Node, bool> = HashMap::new();
        let mut leads: HashSet<Node> = HashSet::new();
        let mut stack = vec![loss];
        while let Some(&node) = stack.last() {
            match done.get(&node) {
                Some(true) => {
                    stack.pop();
                }
                Some(false) => {
                    stack.pop();
                    done.insert(node, true);
                    if of.contains(&node) || self.sources(node).iter().any(|source| leads.contains(source)) {
                        leads.insert(node);
                        order.push(node);
                    } else if self.entry(node).computed {
                        let shape = shown(self.shape(node));
                        return refuse(format!(
                            "a tensor of shape {shape} that the loss depends on was computed before, and how is forgotten: call grad before reading or evaluating it, name it among those to differentiate by, or use its detach()"
                        ));
                    }
                }
                None => {
                    done.insert(node, false);
                    stack.extend(self.sources(node).into_iter().rev().filter(|source| !done.contains_key(source)));
                }
            }
        }
        order.reverse();
        Ok(order)
    }
}

pub(super) struct Sweep<'a> {
    pub(super) graph: &'a mut Graph,
    adjoints: HashMap<Node, Node>,
    /// Nodes that lead to what is differentiated by.
    through: HashSet<Node>,
}

impl Sweep<'_> {
    /// Whether something else that is differentiated by lies behind a node.
    fn leads_on(&self, node: Node) -> bool {
        self.graph.sources(node).iter().any(|source| self.through.contains(source))
    }

    /// True if a node leads to a tensor that is differentiated by.
    pub(super) fn leads_to(&self, node: Node) -> bool {
        self.through.contains(&node)
    }

    pub(super) fn give(&mut self, to: Node, amount: Node) -> Result<(), Error> {
        let sum = match self.adjoints.get(&to) {
            Some(&sum) => self.graph.apply("add", &[sum, amount])?,
            None => amount,
        };
        self.adjoints.insert(to, sum);
        Ok(())
    }

    /// Hands a node's adjoint on to what it is made of.
    fn pass(&mut self, node: Node, g: Node) -> Result<(), Error> {
        let entry = self.graph.entry(node).clone();
        match entry.rule {
            Some(Rule::Convolution { images, filters, step, dilation }) => {
                return self.pass_convolution(&entry.inputs, (images, filters), (step, dilation), g);
            }
            Some(Rule::Values { matrices, left, right, is_scaled }) => {
                let amount = self.graph.back_through_values(node, [left, right], g, is_scaled)?;
                return self.give(matrices, amount);
            }
            Some(Rule::Solution { solve, data }) => return self.pass_solution(solve, &data, g),
            None => {}
        }
        match &entry.op {
            Op::Stored | Op::Constant(_) | Op::Count | Op::Detach | Op::Words(_) => Ok(()),
            #[cfg(not(target_arch = "wasm32"))]
            Op::OverRanks { .. } => Ok(()),
            Op::Map(formula) => {
                for (k, &input) in (0..).zip(&entry.inputs).filter(|(_, input)| self.through.contains(input)).collect::<Vec<_>>() {
                    let Some((slope, operands)) = formula.slope(k, self.graph.slopes) else { continue };
                    let operands: Vec<Node> = operands.iter().map(|&k| entry.inputs.get(k as usize).copied().unwrap_or(g)).collect();
                    let amount = match slope.operands {
                        1 if slope.is_operand(0) => operands[0],
                        _ => self.graph.map("grad", &slope, &operands)?,
                    };
                    self.give(input, amount)?;
                }
                Ok(())
            }
            Op::Move(movement) => {
                let amount = self.moved_back(entry.inputs[0], movement, g)?;
                self.give(entry.inputs[0], amount)
            }
            // Rounding has the slope 1, as if it were not there.
            Op::Half => self.give(entry.inputs[0], g),
            Op::Gather => self.pass_gather(&entry.inputs, g),
            Op::Reduce { fold, axes } => self.pass_reduction(node, entry.inputs[0], (*fold, axes), g),
            Op::Product(groups) => self.pass_product(&entry.inputs, *groups, g),
            Op::Part(number) if self.is_linear(entry.inputs[0]) => self.pass_linear(entry.inputs[0], (node, *number), g),
            Op::Part(0) => self.pass_special(entry.inputs[0], node, g),
            Op::Special(Special::Fold { step, dilation, .. }) => {
                let size = self.graph.shape(entry.inputs[0])[2];
                let amount = self.graph.moved(g, Movement::Window { axis: 1, size, step: *step, dilation: *dilation });
                self.give(entry.inputs[0], amount)
            }
            Op::Special(Special::Scan { chunk, reverse }) => {
                let shape = self.graph.shape(node).to_vec();
                let scan = Special::Scan { chunk: *chunk, reverse: !reverse };
                let amount = self.graph.add(Op::Special(scan), vec![g], shape);
                self.give(entry.inputs[0], amount)
            }
            Op::Special(Special::Recur { reverse }) => {
                let amounts = self.graph.back_through_recurrence(entry.inputs[1], node, g, *reverse)?;
                for (&input, amount) in entry.inputs.iter().zip(amounts) {
                    if self.through.contains(&input) {
                        self.give(input, amount)?;
                    }
                }
                Ok(())
            }
            Op::Special(Special::Take) => {
                let n = self.graph.shape(entry.inputs[0])[1];
                let amount = self.graph.scatter(g, entry.inputs[1], n, false)?;
                self.give(entry.inputs[0], amount)
            }
            Op::Special(Special::Scatter { latest: false, .. }) => {
                let amount = self.graph.taken_back(g, entry.inputs[3])?;
                self.give(entry.inputs[0], amount)
            }
            Op::Special(Special::Cholesky) => {
                let amount = self.graph.back_through_cholesky(node, g)?;
                self.give(entry.inputs[0], amount)
            }
            // Nothing comes here: they have no sources.
            Op::Special(Special::Merge { .. } | Special::Scatter { .. }) => Ok(()),
            Op::Implicit(_) => refuse("there are no second derivatives through a solve".into()),
            Op::Part(_) | Op::Special(_) => refuse("there are no second derivatives through attention and gathered rows".into()),
        }
    }

    /// The adjoint of a movement.
    fn moved_back(&mut self, source: Node, movement: &Movement, g: Node) -> Result<Node, Error> {
        let shape = self.graph.shape(source).to_vec();
        Ok(match movement {
            Movement::Reshape(_) => self.graph.moved(g, Movement::Reshape(shape)),
            Movement::Expand(expanded) => {
                let axes: Vec<u32> =
                    (0..).zip(shape.iter().zip(expanded)).filter(|(_, (own, new))| own != new).map(|(axis, _)| axis).collect();
                let sum = self.graph.fold(Fold::Sum, g, &axes);
                self.graph.moved(sum, Movement::Reshape(shape))
            }
            Movement::Permute(order) => {
                let mut inverse = vec![0; order.len()];
                (0..).zip(order).for_each(|(place, &axis)| inverse[axis as usize] = place);
                self.graph.moved(g, Movement::Permute(inverse))
            }
            Movement::Flip { axis } => self.graph.moved(g, Movement::Flip { axis: *axis }),
            Movement::Pad { axis, low, .. } => {
                let count = shape[*axis as usize];
                self.graph.moved(g, Movement::Slice { axis: *axis, start: *low, count, step: 1 })
            }
            Movement::Slice { axis, start, count, step } => {
                let n = shape[*axis as usize];
                let (spread, reach) = self.spread(g, *axis, *step);
                let reach = if *count == 0 { 0 } else { reach };
                self.graph.moved(spread, Movement::Pad { axis: *axis, low: *start, high: n - start - reach })
            }
            Movement::Window { axis, size, step, dilation } => {
                self.fold_windows(g, *axis, (shape[*axis as usize], *size, *step, *dilation))?
            }
        })
    }

    /// Elements `step` apart along an axis, zeros between them; and how many places that are.
    fn spread(&mut self, node: Node, axis: u32, step: u32) -> (Node, u32) {
        let shape = self.graph.shape(node).to_vec();
        let count = shape[axis as usize];
        if step == 1 || count == 0 {
            return (node, count);
        }
        let mut split = shape.clone();
        split.insert(axis as usize + 1, 1);
        let split = self.graph.moved(node, Movement::Reshape(split));
        let padded = self.graph.moved(split, Movement::Pad { axis: axis + 1, low: 0, high: step - 1 });
        let mut joined = shape;
        joined[axis as usize] = count * step;
        let joined = self.graph.moved(padded, Movement::Reshape(joined));
        let reach = (count - 1) * step + 1;
        (self.graph.moved(joined, Movement::Slice { axis, start: 0, count: reach, step: 1 }), reach)
    }

    /// Σ over the windows that an element is in.
    fn fold_windows(&mut self, g: Node, axis: u32, (n, size, step, dilation): (u32, u32, u32, u32)) -> Result<Node, Error> {
        let shape = self.graph.shape(g).to_vec();
        let (before, after) = (&shape[..axis as usize], &shape[axis as usize + 2..]);
        let count = shape[axis as usize];
        let mut whole = before.to_vec();
        whole.push(n);
        whole.extend(after);
        if step == size && dilation == 1 {
            // Windows side by side.
            let mut joined = before.to_vec();
            joined.push(count * size);
            joined.extend(after);
            let joined = self.graph.moved(g, Movement::Reshape(joined));
            return Ok(self.graph.moved(joined, Movement::Pad { axis, low: 0, high: n - count * size }));
        }
        let product = |sizes: &[u32]| elements(sizes).unwrap_or(0);
        let (outer, inner) = (product(before), product(after));
        let flat = self.graph.moved(g, Movement::Reshape(vec![outer, count, size, inner]));
        let folded = self.graph.add(Op::Special(Special::Fold { n, step, dilation }), vec![flat], vec![outer, n, inner]);
        Ok(self.graph.moved(folded, Movement::Reshape(whole)))
    }

    fn pass_reduction(&mut self, result: Node, source: Node, (fold, axes): (Fold, &[u32]), g: Node) -> Result<(), Error> {
        let shape = self.graph.shape(source).to_vec();
        let kept: Vec<u32> = (0..).zip(&shape).map(|(axis, &size)| if axes.contains(&axis) { 1 } else { size }).collect();
        let spread = |graph: &mut Graph, node: Node| {
            let column = graph.moved(node, Movement::Reshape(kept.clone()));
            graph.moved(column, Movement::Expand(shape.clone()))
        };
        let amount = match fold {
            Fold::Sum => spread(self.graph, g),
            // Equal extremes share.
            Fold::Max | Fold::Min => {
                let extreme = spread(self.graph, result);
                let is_limit = self.graph.slopes == Slopes::Limits;
                let is_extreme = if is_limit {
                    self.graph.apply("equal", &[source, extreme])?
                } else {
                    self.graph.map("grad", &is_extreme(), &[source, extreme])?
                };
                let count = self.graph.fold(Fold::Sum, is_extreme, axes);
                let share = self.graph.apply("div", &[g, count])?;
                let share = spread(self.graph, share);
                if is_limit {
                    // Nothing equals NaN: infinite shares of nobody are NaN.
                    let amount = self.graph.apply("mul", &[is_extreme, share])?;
                    return self.give(source, amount);
                }
                let zero = self.graph.constant(0.0, &[]);
                self.graph.apply("where", &[is_extreme, share, zero])?
            }
        };
        self.give(source, amount)
    }

    /// Axes of a product's batch along which a factor is one and the same, and what it was before it was repeated.
    fn repeated(&self, factor: Node, batch: usize) -> Option<(Node, Vec<usize>)> {
        let entry = self.graph.entry(factor);
        let Op::Move(Movement::Expand(shape)) = &entry.op else { return None };
        let source = entry.inputs[0];
        let own = self.graph.shape(source);
        let axes: Vec<usize> = (0..shape.len()).filter(|&axis| own[axis] != shape[axis]).collect();
        axes.iter().all(|&axis| axis < batch).then_some((source, axes))
    }

    fn pass_product(&mut self, inputs: &[Node], groups: Groups, g: Node) -> Result<(), Error> {
        let Groups { batch, rows, depth, columns } = groups;
        let [left, right] = inputs[..] else { return Ok(()) };
        if self.through.contains(&left) {
            // dA = G·Bᵀ
            let (b, d, c) = (axes(0, batch), axes(batch, depth), axes(batch + depth, columns));
            let of_g = (g, axes(0, batch), axes(batch, rows), axes(batch + rows, columns));
            self.pass_factor(left, batch, (of_g, (right, b, d, c)), true)?;
        }
        if self.through.contains(&right) {
            // dB = Aᵀ·G
            let (b, r, d) = (axes(0, batch), axes(batch, rows), axes(batch + rows, depth));
            let of_g = (g, axes(0, batch), axes(batch + rows, columns), axes(batch, rows));
            self.pass_factor(right, batch, (of_g, (left, b, d, r)), false)?;
        }
        Ok(())
    }

    /// The gradient of a factor: the product of G and of the other factor, each with its axes of batch, of what it brings to the
    /// result and of what is summed over; G first or second. Batches of which the factor is part in all are summed over as well.
    fn pass_factor(&mut self, factor: Node, batch: usize, (of_g, of_other): (Factor, Factor), g_first: bool) -> Result<(), Error> {
        let (target, summed) = match self.repeated(factor, batch) {
            Some((source, axes)) if self.through.contains(&source) => (source, axes),
            _ => (factor, Vec::new()),
        };
        let kept: Vec<usize> = (0..batch).filter(|axis| !summed.contains(axis)).collect();
        let split = |(node, batch, own, common): &Factor, own_first: bool| {
            let kept = kept.iter().map(|&axis| batch[axis]);
            let common: Vec<u32> = summed.iter().map(|&axis| batch[axis]).chain(common.iter().copied()).collect();
            let (before, after) = if own_first { (own.clone(), common) } else { (common, own.clone()) };
            (*node, kept.chain(before).chain(after).collect::<Vec<u32>>())
        };
        let (first, second) = if g_first { (&of_g, &of_other) } else { (&of_other, &of_g) };
        let depth = summed.len() + first.3.len();
        let groups = Groups { batch: kept.len(), rows: first.2.len(), depth, columns: second.2.len() };
        let (first, second) = (split(first, true), split(second, false));
        let shape = self.graph.shape(target).to_vec();
        let [first, second] = [first, second].map(|(node, order)| self.graph.moved(node, Movement::Permute(order)));
        let (of_first, of_second) = (self.graph.shape(first).to_vec(), self.graph.shape(second).to_vec());
        let sizes = of_first[..groups.batch + groups.rows].iter().chain(&of_second[groups.batch + depth..]);
        let sizes = sizes.copied().collect();
        let product = self.graph.product(groups, [first, second], sizes);
        let amount = self.graph.moved(product, Movement::Reshape(shape));
        self.give(target, amount)
    }

    /// Of the filters as of any factor; of the images as the convolution of G, its elements a step apart, with the filters turned.
    fn pass_convolution(
        &mut self,
        inputs: &[Node],
        (images, filters): (Node, Node),
        (step, dilation): ([u32; 2], [u32; 2]),
        g: Node,
    ) -> Result<(), Error> {
        let sizes = self.graph.shape(filters).to_vec();
        if self.through.contains(&filters) {
            // dF[o, c, i, j] = Σ over images and places of G[b, o, y, x]·window[b, c, i, j, y, x]
            let left = self.graph.moved(g, Movement::Permute(vec![1, 0, 2, 3]));
            let right = self.graph.moved(inputs[1], Movement::Permute(vec![0, 4, 5, 1, 2, 3]));
            let groups = Groups { batch: 0, rows: 1, depth: 3, columns: 3 };
            let amount = self.graph.product(groups, [left, right], sizes.clone());
            self.give(filters, amount)?;
        }
        if !self.through.contains(&images) {
            return Ok(());
        }
        let own = self.graph.shape(images).to_vec();
        let mut spread = g;
        for k in 0..2 {
            let axis = 2 + k as u32;
            let (apart, reach) = self.spread(spread, axis, step[k]);
            // As far as a window reaches: before and after every place of G, and where no window came.
            let reach_of = (sizes[2 + k] - 1) * dilation[k];
            let high = own[2 + k] - reach;
            spread = self.graph.moved(apart, Movement::Pad { axis, low: reach_of, high });
        }
        let mut turned = self.graph.moved(filters, Movement::Permute(vec![1, 0, 2, 3]));
        for axis in [2, 3] {
            turned = self.graph.moved(turned, Movement::Flip { axis });
        }
        let dilation = dilation.map(f64::from);
        let amount = self.graph.conv2d(spread, turned, [1.0, 1.0], [0.0, 0.0], dilation)?;
        self.give(images, amount)
    }

    fn pass_gather(&mut self, inputs: &[Node], g: Node) -> Result<(), Error> {
        let [table, rows] = inputs[..] else { return Ok(()) };
        let shape = self.graph.shape(table).to_vec();
        let width = elements(&shape[1..]).unwrap_or(0);
        let count = self.graph.size(rows);
        let flat = self.graph.moved(g, Movement::Reshape(vec![count, width]));
        let Some(lists) = self.graph.lists(rows, shape[0]) else {
            // Numbers that were computed are sorted where they are.
            let amount = self.graph.summed_rows(flat, rows, shape[0])?;
            let amount = self.graph.moved(amount, Movement::Reshape(shape));
            return self.give(table, amount);
        };
        let special = Special::SumRows { rows: shape[0] };
        let summed = self.graph.add(Op::Special(special), vec![flat, lists], vec![shape[0], width]);
        let amount = self.graph.moved(summed, Movement::Reshape(shape));
        self.give(table, amount)
    }

    /// True for a node that is one of several results of linear algebra.
    fn is_linear(&self, whole: Node) -> bool {
        matches!(self.graph.entry(whole).op, Op::Special(Special::Solve | Special::Qr | Special::Singular))
    }

    /// Linear algebra: of results, of which the other ones are the same operation's.
    fn pass_linear(&mut self, whole: Node, (result, number): (Node, u32), g: Node) -> Result<(), Error> {
        let entry = self.graph.entry(whole).clone();
        let first = entry.inputs[0];
        match entry.op {
            Op::Special(Special::Solve) => {
                let amounts = self.graph.back_through_solve(first, result, g)?;
                for (&input, amount) in entry.inputs.iter().zip(amounts) {
                    if self.through.contains(&input) {
                        self.give(input, amount)?;
                    }
                }
                Ok(())
            }
            Op::Special(Special::Qr) => {
                let other = 1 - number;
                let made = self.graph.add(Op::Part(other), vec![whole], entry.parts[other as usize].clone());
                let both = if number == 0 { [result, made] } else { [made, result] };
                let amount = self.graph.back_through_qr(both, g, number == 0)?;
                self.give(first, amount)
            }
            _ => {
                let other = 1 - number;
                let made = self.graph.add(Op::Part(other), vec![whole], entry.parts[other as usize].clone());
                let both = if number == 0 { [result, made] } else { [made, result] };
                let amount = self.graph.back_through_singular(first, both, g, number == 0)?;
                self.give(first, amount)
            }
        }
    }

    /// Attention: by its own kernels, which make scores anew.
    fn pass_special(&mut self, whole: Node, result: Node, g: Node) -> Result<(), Error> {
        let entry = self.graph.entry(whole).clone();
        let Op::Special(Special::Attend { causal }) = entry.op else { return Ok(()) };
        let statistic = entry.parts[1].clone();
        let logarithms = self.graph.add(Op::Part(1), vec![whole], statistic.clone());
        let product = self.graph.apply("mul", &[g, result])?;
        let sums = self.graph.fold(Fold::Sum, product, &[2]);
        let mut stacked = vec![1];
        stacked.extend(&statistic);
        let both = [logarithms, sums].map(|node| self.graph.moved(node, Movement::Reshape(stacked.clone())));
        let statistics = self.graph.concat(&both, 0.0)?;
        let [queries, keys, values] = entry.inputs[..] else { return Ok(()) };
        let inputs = vec![queries, keys, values, g, statistics];
        if self.through.contains(&queries) {
            let shape = self.graph.shape(queries).to_vec();
            let amount = self.graph.add(Op::Special(Special::AttendQueries { causal }), inputs.clone(), shape);
            self.give(queries, amount)?;
        }
        if self.through.contains(&keys) || self.through.contains(&values) {
            let parts = [keys, values].map(|node| self.graph.shape(node).to_vec()).to_vec();
            let parts = self.graph.add_parts(Op::Special(Special::AttendKeys { causal }), inputs, parts);
            self.give(keys, parts[0])?;
            self.give(values, parts[1])?;
        }
        Ok(())
    }
}

/// A factor, and its axes: batch, its own, and those that are summed over.
type Factor = (Node, Vec<u32>, Vec<u32>, Vec<u32>);

fn axes(first: usize, count: usize) -> Vec<u32> {
    (first as u32..(first + count) as u32).collect()
}

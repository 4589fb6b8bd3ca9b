//! Which operations share a kernel.
//!
//! A *root* is stored: what is asked for, what reductions, products and hand-written kernels make, what several kernels
//! need, and what can't be read where it is used (a view that is none, too many tensors at once). Everything else is
//! written into the kernels of its users. A root joins a kernel before it where it is over the same elements and reads
//! the kernel's own results element by element.

use super::layout;
use super::stage::{Around, Origin, Prologue, Stage, Unwritten};
use super::{Buffer, Launch, Plan, Ref, Request, Step, Target, Work, special};
use crate::error::Error;
use crate::expr::Expr;
use crate::kernel::block::PRODUCT_ROWS;
use crate::kernel::fused::{Anchor, Fold, Folding, Fused, HEAD, Product, Source, Stage as KernelStage, TENSOR_SLOTS};
use crate::tensor::graph::{Graph, Groups, Node, Op, elements};
use crate::tensor::view::{Movement, View};
use std::collections::{HashMap, HashSet};

/// Instructions of an elementwise kernel, and of what follows a product, which is written once an entry of a lane.
const MOST_INSTRUCTIONS: usize = 400;
const MOST_AFTER_PRODUCT: usize = 80;

/// Tiles that keep a large GPU busy.
const ENOUGH_TILES: u64 = 192;

/// Elements that a workgroup is worth folding together.
const FEWEST_PER_GROUP: u32 = 32;

/// What a kernel begins with.
#[derive(Clone)]
enum Start {
    Nothing,
    Reduction { node: Node, fold: Fold, prologue: Prologue, axes: Vec<u32> },
    Product { node: Node, groups: Groups, factors: [(Node, View); 2] },
    Special { node: Node },
}

/// A kernel while it is being made.
#[derive(Clone)]
struct Draft {
    start: Start,
    domain: Vec<u32>,
    stage: Stage,
    /// What it computes, element by element of its domain.
    values: HashMap<Node, Expr>,
    /// In the order in which they came.
    members: Vec<Node>,
}

impl Draft {
    /// Tensors that it reads.
    fn reads(&self) -> Vec<Node> {
        let mut all = self.stage.tensors();
        match &self.start {
            Start::Reduction { prologue, .. } => all.extend(prologue.stage.tensors()),
            Start::Product { factors, .. } => all.extend(factors.iter().map(|(node, _)| *node)),
            Start::Nothing | Start::Special { .. } => {}
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

pub struct Fuser<'a> {
    graph: &'a Graph,
    request: &'a Request,
    outputs: &'a [Node],
    targets: &'a [Target],
    unfused: bool,
    roots: HashSet<Node>,
    drafts: Vec<Draft>,
    /// Which draft computes a root.
    maker: HashMap<Node, usize>,
}

impl<'a> Fuser<'a> {
    pub fn new(graph: &'a Graph, request: &'a Request, outputs: &'a [Node], targets: &'a [Target], unfused: bool) -> Self {
        Self { graph, request, outputs, targets, unfused, roots: HashSet::new(), drafts: Vec::new(), maker: HashMap::new() }
    }

    pub fn plan(mut self) -> Result<Plan, Error> {
        self.choose_roots();
        // Whatever can't be written is stored, and all begins anew: that ends, since every node is stored at last.
        while let Err(Unwritten(node)) = self.draft_all() {
            if !self.roots.insert(node) {
                return Err(Error::Limits(format!(
                    "an operation on tensors reads more than the {} that a kernel can have",
                    TENSOR_SLOTS.len()
                )));
            }
        }
        self.finish()
    }

    fn is_leaf(&self, node: Node) -> bool {
        matches!(self.graph.entry(node).op, Op::Stored)
    }

    /// What a chain of movements begins at.
    fn base(&self, mut node: Node) -> Node {
        loop {
            let entry = self.graph.entry(node);
            match entry.op {
                Op::Move(_) | Op::Detach if !self.roots.contains(&node) => node = entry.inputs[0],
                _ => return node,
            }
        }
    }

    fn choose_roots(&mut self) {
        let mut users: HashMap<Node, u32> = HashMap::new();
        for &node in &self.request.order {
            for &input in &self.graph.entry(node).inputs {
                *users.entry(input).or_default() += 1;
            }
        }
        let asked: Vec<Node> = self.outputs.iter().copied().filter(|&output| !self.is_leaf(output)).collect();
        self.roots.extend(asked);
        for &node in &self.request.order {
            let entry = self.graph.entry(node);
            match &entry.op {
                Op::Reduce { .. } | Op::Product(_) | Op::Special(_) | Op::Part(_) => {
                    self.roots.insert(node);
                    if !matches!(entry.op, Op::Reduce { .. }) {
                        for &input in &entry.inputs {
                            let base = self.base(input);
                            self.store(base);
                        }
                    }
                }
                Op::Gather => {
                    for &input in &entry.inputs {
                        self.store(input);
                    }
                }
                // What is repeated is computed once, where it is more than a sum or two.
                Op::Move(Movement::Expand(_) | Movement::Window { .. }) => {
                    let base = self.base(node);
                    if let Op::Map(formula) = &self.graph.entry(base).op
                        && self.reaches_tensors(base)
                        && (formula.is_costly() || self.graph.entry(base).inputs.len() > 2)
                    {
                        self.roots.insert(base);
                    }
                }
                Op::Map(_) if self.unfused => {
                    self.roots.insert(node);
                }
                Op::Map(_) if users.get(&node).is_some_and(|users| *users > 1) && self.reaches_tensors(node) => {
                    self.roots.insert(node);
                }
                _ => {}
            }
        }
    }

    fn store(&mut self, node: Node) {
        if !self.is_leaf(node) {
            self.roots.insert(node);
        }
    }

    /// Whether elements come from anywhere but numbers.
    fn reaches_tensors(&self, node: Node) -> bool {
        let mut open = vec![node];
        let mut seen = HashSet::new();
        while let Some(node) = open.pop() {
            let entry = self.graph.entry(node);
            match entry.op {
                Op::Constant(_) | Op::Count => {}
                Op::Map(_) | Op::Move(_) | Op::Detach if !self.roots.contains(&node) || seen.is_empty() => {
                    if seen.insert(node) {
                        open.extend(&entry.inputs);
                    }
                }
                _ => return true,
            }
        }
        false
    }

    fn draft_all(&mut self) -> Result<(), Unwritten> {
        self.drafts.clear();
        self.maker.clear();
        for &node in &self.request.order {
            if self.roots.contains(&node) {
                self.draft(node)?;
            }
        }
        Ok(())
    }

    fn draft(&mut self, node: Node) -> Result<(), Unwritten> {
        let entry = self.graph.entry(node);
        match &entry.op {
            Op::Part(_) => {
                let made_by = self.maker[&entry.inputs[0]];
                self.maker.insert(node, made_by);
                return Ok(());
            }
            Op::Special(_) => {
                for &input in &entry.inputs {
                    self.plain_base(input)?;
                }
                self.add(Start::Special { node }, node, None);
            }
            Op::Product(groups) => {
                let [left, right] = [entry.inputs[0], entry.inputs[1]].map(|input| self.factor(input));
                let (left, right) = (left?, right?);
                self.add(Start::Product { node, groups: *groups, factors: [left, right] }, node, Some(node));
            }
            Op::Reduce { fold, axes } => {
                let source = entry.inputs[0];
                let rank = self.graph.shape(source).len() as u32;
                let order = (0..rank).filter(|axis| !axes.contains(axis)).chain(axes.iter().copied()).collect();
                let last = Movement::Permute(order);
                let mut stage = Stage::default();
                let none = HashMap::new();
                let is_stored = |node: Node| self.roots.contains(&node) || self.is_leaf(node);
                let around = Around { graph: self.graph, is_stored: &is_stored, values: &none, last: Some(&last) };
                let value = stage.write(&around, source)?;
                let is_long = stage.program(&[value], 0).instructions.len() > MOST_INSTRUCTIONS;
                if is_long || stage.tensors().len() + 1 > TENSOR_SLOTS.len() {
                    return Err(self.divide(source));
                }
                let start = Start::Reduction { node, fold: *fold, prologue: Prologue { stage, value }, axes: axes.clone() };
                self.add(start, node, Some(node));
            }
            _ => self.draft_elements(node)?,
        }
        Ok(())
    }

    fn add(&mut self, start: Start, node: Node, made: Option<Node>) {
        let mut stage = Stage::default();
        let mut values = HashMap::new();
        if let Some(node) = made {
            let expr = stage.made();
            values.insert(node, expr);
        }
        let domain = self.graph.shape(node).to_vec();
        self.drafts.push(Draft { start, domain, stage, values, members: vec![node] });
        self.maker.insert(node, self.drafts.len() - 1);
    }

    /// What a factor of a product is read from, and how.
    fn factor(&self, node: Node) -> Result<(Node, View), Unwritten> {
        let base = self.base(node);
        let mut chain = Vec::new();
        let mut at = node;
        while at != base {
            chain.push(at);
            at = self.graph.entry(at).inputs[0];
        }
        let mut view = View::contiguous(self.graph.shape(base));
        for &step in chain.iter().rev() {
            if let Op::Move(movement) = &self.graph.entry(step).op {
                view = view.moved(movement).ok_or(Unwritten(self.graph.entry(step).inputs[0]))?;
            }
        }
        // Products read what is there.
        if view.is_masked() { Err(Unwritten(node)) } else { Ok((base, view)) }
    }

    /// What a hand-written kernel reads from: the whole of a tensor, in order.
    fn plain_base(&self, node: Node) -> Result<Node, Unwritten> {
        let (base, view) = self.factor(node)?;
        if view.is_contiguous() { Ok(base) } else { Err(Unwritten(node)) }
    }

    /// Roots and leaves that an elementwise root reads, and whether each is read element by element alone.
    fn dependencies(&self, root: Node) -> HashMap<Node, bool> {
        let mut found: HashMap<Node, bool> = HashMap::new();
        let mut seen = HashSet::new();
        let mut open: Vec<(Node, bool)> = self.graph.entry(root).inputs.iter().map(|&input| (input, self.is_even(root))).collect();
        while let Some((node, even)) = open.pop() {
            if !seen.insert((node, even)) {
                continue;
            }
            if self.roots.contains(&node) || self.is_leaf(node) {
                *found.entry(node).or_insert(true) &= even;
                continue;
            }
            let entry = self.graph.entry(node);
            open.extend(entry.inputs.iter().map(|&input| (input, even && self.is_even(node))));
        }
        found
    }

    /// Whether an element of a node needs just that element of its operands.
    fn is_even(&self, node: Node) -> bool {
        matches!(self.graph.entry(node).op, Op::Map(_) | Op::Detach)
    }

    fn draft_elements(&mut self, root: Node) -> Result<(), Unwritten> {
        let dependencies = self.dependencies(root);
        let made_last = dependencies.keys().filter_map(|node| self.maker.get(node)).max().copied();
        let first = made_last.unwrap_or(0);
        if !self.unfused {
            for number in first..self.drafts.len() {
                let is_own = |node: &Node| self.maker.get(node) == Some(&number);
                let fits = self.drafts[number].domain == self.graph.shape(root)
                    && dependencies.iter().all(|(node, &even)| even || !is_own(node))
                    && match self.drafts[number].start {
                        Start::Special { .. } => false,
                        Start::Nothing => {
                            let reads = self.drafts[number].reads();
                            dependencies.keys().any(|node| is_own(node) || reads.contains(node))
                        }
                        Start::Reduction { .. } | Start::Product { .. } => dependencies.keys().any(is_own),
                    };
                if fits && let Some(draft) = self.joined(&self.drafts[number], root) {
                    self.drafts[number] = draft;
                    self.maker.insert(root, number);
                    return Ok(());
                }
            }
        }
        let empty = Draft {
            start: Start::Nothing,
            domain: self.graph.shape(root).to_vec(),
            stage: Stage::default(),
            values: HashMap::new(),
            members: Vec::new(),
        };
        let draft = self.with_member(&empty, root)?;
        match self.fits(&draft) {
            true => {
                self.drafts.push(draft);
                self.maker.insert(root, self.drafts.len() - 1);
                Ok(())
            }
            false => Err(self.divide(root)),
        }
    }

    fn joined(&self, draft: &Draft, root: Node) -> Option<Draft> {
        self.with_member(draft, root).ok().filter(|draft| self.fits(draft))
    }

    fn with_member(&self, draft: &Draft, root: Node) -> Result<Draft, Unwritten> {
        let mut draft = draft.clone();
        let own: HashSet<Node> = draft.members.iter().copied().collect();
        // Its own results are values; the root itself is what is being written.
        let is_stored = |node: Node| node != root && !own.contains(&node) && (self.roots.contains(&node) || self.is_leaf(node));
        let around = Around { graph: self.graph, is_stored: &is_stored, values: &draft.values, last: None };
        let value = draft.stage.write(&around, root)?;
        draft.values.insert(root, value);
        draft.members.push(root);
        Ok(draft)
    }

    fn fits(&self, draft: &Draft) -> bool {
        let stores: Vec<Expr> = draft.members.iter().filter_map(|node| draft.values.get(node)).copied().collect();
        let most = if matches!(draft.start, Start::Product { .. }) { MOST_AFTER_PRODUCT } else { MOST_INSTRUCTIONS };
        draft.reads().len() + draft.members.len() <= TENSOR_SLOTS.len() && draft.stage.program(&stores, 0).instructions.len() <= most
    }

    /// What to store of an expression that reads too much: the part that reads the most, but not all.
    fn divide(&self, root: Node) -> Unwritten {
        let all = self.dependencies(root).len();
        let mut open: Vec<Node> = self.graph.entry(root).inputs.clone();
        let mut seen = HashSet::new();
        let mut best = (0, root);
        while let Some(node) = open.pop() {
            if !seen.insert(node) || self.roots.contains(&node) || self.is_leaf(node) {
                continue;
            }
            if matches!(self.graph.entry(node).op, Op::Map(_)) {
                let reads = self.dependencies(node).len();
                if reads > best.0 && (reads < all || best.1 == root) {
                    best = (reads, node);
                }
            }
            open.extend(&self.graph.entry(node).inputs);
        }
        Unwritten(best.1)
    }

    /// Which roots are written to memory: what is asked for, and what other kernels read.
    fn stored(&self) -> HashSet<Node> {
        let mut stored: HashSet<Node> = self.outputs.iter().copied().collect();
        for draft in &self.drafts {
            stored.extend(draft.reads());
            if let Start::Special { node } = draft.start {
                stored.extend(self.graph.entry(node).inputs.iter().map(|&input| self.base(input)));
            }
        }
        stored
    }

    fn finish(self) -> Result<Plan, Error> {
        let stored = self.stored();
        let mut plan = Plan { tables: vec![Vec::new(); self.targets.len()], ..Plan::default() };
        let mut places: HashMap<Node, Ref> = self.request.leaves.iter().copied().zip((0..).map(Ref::Leaf)).collect();
        let inlined: HashSet<Node> = self.drafts.iter().flat_map(|draft| &draft.stage.inlined).copied().collect();
        plan.fused = inlined.iter().filter(|node| !stored.contains(node)).count() as u32;
        for (number, draft) in (0u32..).zip(&self.drafts) {
            let mut buffer = |elements: u32| {
                plan.buffers.push(Buffer { elements, first: number, last: number, stays: false });
                Ref::Buffer(plan.buffers.len() as u32 - 1)
            };
            let step = match draft.start {
                Start::Special { node } => {
                    // Every result has a buffer, also one that nobody asked for.
                    let results: Vec<Ref> =
                        special::results(self.graph, node).iter().map(|shape| buffer(elements(shape).unwrap_or(0))).collect();
                    places.insert(node, results[0]);
                    places.extend(self.parts(node).map(|(part, number)| (part, results[number as usize])));
                    let inputs: Vec<Ref> = self.graph.entry(node).inputs.iter().map(|&input| places[&self.base(input)]).collect();
                    special::step(self.graph, node, self.targets, &inputs, &results)?
                }
                _ => {
                    let members: Vec<Node> = draft.members.iter().copied().filter(|node| stored.contains(node)).collect();
                    places.extend(members.iter().map(|&member| (member, buffer(self.graph.size(member)))).collect::<Vec<_>>());
                    self.step(draft, &members, &mut plan, &places)
                }
            };
            for (_, place) in &step.bindings {
                if let Ref::Buffer(buffer) = place {
                    plan.buffers[*buffer as usize].last = number;
                }
            }
            plan.steps.push(step);
        }
        plan.outputs = self.outputs.iter().map(|output| places[output]).collect();
        for output in &plan.outputs {
            if let Ref::Buffer(buffer) = output {
                plan.buffers[*buffer as usize].stays = true;
            }
        }
        Ok(plan)
    }

    /// The results of a hand-written kernel that somebody uses, and which they are.
    fn parts(&self, node: Node) -> impl Iterator<Item = (Node, u32)> {
        self.request.order.iter().filter_map(move |&part| match self.graph.entry(part).op {
            Op::Part(number) if self.graph.entry(part).inputs[0] == node => Some((part, number)),
            _ => None,
        })
    }

    fn step(&self, draft: &Draft, members: &[Node], plan: &mut Plan, places: &HashMap<Node, Ref>) -> Step {
        let reads = draft.reads();
        let slots: HashMap<Node, usize> = reads.iter().chain(members).copied().zip(TENSOR_SLOTS).collect();
        let source_of = |origin: &Origin| match origin {
            Origin::Tensor(node) => Source::Slot(slots[node]),
            Origin::Address => Source::Address,
            Origin::One => Source::One,
        };
        let (size, mut words, mut numbers) = (elements(&draft.domain).unwrap_or(0), vec![0; HEAD as usize], Vec::new());
        let mut work = Work::default();
        let mut anchor = Anchor::None;
        let (mut outer, mut each, mut product) = (0, 0, [0; 3]);
        match &draft.start {
            Start::Nothing | Start::Special { .. } => {}
            Start::Reduction { node, fold, prologue, axes } => {
                let shape = self.graph.shape(self.graph.entry(*node).inputs[0]);
                let kept = (0..).zip(shape).filter(|(axis, _)| !axes.contains(axis)).map(|(_, &size)| size);
                let inner: Vec<u32> = axes.iter().map(|&axis| shape[axis as usize]).collect();
                let domain: Vec<u32> = kept.chain(inner.iter().copied()).collect();
                outer = domain.len() - inner.len();
                each = elements(&inner).unwrap_or(0);
                let layout = layout::stage(&prologue.stage.readings, &domain, &[outer, inner.len()], source_of);
                words[..2].copy_from_slice(&[size, each]);
                words.extend(&layout.words);
                numbers.extend(&prologue.stage.numbers);
                let program = prologue.stage.program(&[prologue.value], 0);
                work.operations = f64::from(size) * f64::from(each) * program.instructions.len() as f64;
                let stage = KernelStage { rank: layout.rank(), program, outputs: Vec::new(), views: layout.views };
                anchor = Anchor::Reduce { fold: *fold, folding: Folding::Lane, prologue: stage, inner: layout.groups[1] as u32 };
            }
            Start::Product { node, groups, factors: [left, right] } => {
                let sizes = [groups.batch, groups.rows, groups.depth, groups.columns];
                let layout = layout::product(&left.1, &right.1, sizes, [slots[&left.0], slots[&right.0]]);
                let shape = self.graph.shape(*node);
                let (first, second) = (groups.batch, groups.batch + groups.rows);
                let of = |sizes: &[u32]| elements(sizes).unwrap_or(0);
                let k = of(&self.graph.shape(self.graph.entry(*node).inputs[0])[second..]);
                product = [of(&shape[..first]), of(&shape[first..second]), of(&shape[second..])];
                words[..3].copy_from_slice(&[product[1], product[2], k]);
                words.extend(&layout.words);
                work.products = 2.0 * f64::from(size) * f64::from(k);
                anchor = Anchor::Product(Product { left: layout.left, right: layout.right, fours: [1, 1], lanes: 256 });
            }
        }
        let layout = layout::stage(&draft.stage.readings, &draft.domain, &[draft.domain.len()], source_of);
        words.extend(&layout.words);
        let stores: Vec<Expr> = members.iter().map(|node| draft.values[node]).collect();
        let program = draft.stage.program(&stores, numbers.len() as u32);
        work.operations += f64::from(size) * program.instructions.len() as f64;
        work.elements = reads.iter().chain(members).map(|&node| f64::from(self.graph.size(node))).sum();
        numbers.extend(&draft.stage.numbers);
        let outputs = members.iter().map(|node| slots[node]).collect();
        let finish = KernelStage { rank: layout.rank(), views: layout.views, program, outputs };
        let what = self.what(draft);
        let mut fused = Fused { name: format!("tensor: {what}"), anchor, finish };
        let mut launches = Vec::with_capacity(self.targets.len());
        for (target, table) in self.targets.iter().zip(&mut plan.tables) {
            let mut count = size;
            if let (Anchor::Reduce { folding, .. }, Start::Reduction { prologue, .. }) = (&mut fused.anchor, &draft.start) {
                *folding = target.folding(&prologue.stage, outer, size, each);
                if *folding == Folding::Group {
                    count = size * target.limits.group_size;
                }
            }
            if let Anchor::Product(Product { fours, lanes, .. }) = &mut fused.anchor {
                let [batch, m, n] = product;
                *fours = target.fours(batch, m, n);
                *lanes = target.limits.group_size;
                let [down, across] = target.tiles(m, n, *fours);
                words[3..5].copy_from_slice(&[down, across]);
                count = batch * down * across * target.limits.group_size;
            }
            let place = (table.len() as u32, words.len() as u32);
            table.extend(&words);
            table.resize(table.len().next_multiple_of(target.limits.offset_alignment as usize), 0);
            launches.push(Launch { source: fused.source(), table: Some(place), count, words: Default::default() });
        }
        let constants = (!numbers.is_empty()).then(|| {
            let place = (plan.constants, numbers.len() as u32);
            let position = |node: &Node| self.request.numbers.iter().position(|(known, _)| known == node).unwrap_or(0) as u32;
            plan.numbers.push((place.0, numbers.iter().map(position).collect()));
            let alignment = self.targets.iter().map(|target| target.limits.offset_alignment).max().unwrap_or(1);
            plan.constants = (place.0 + place.1).next_multiple_of(alignment);
            place
        });
        let mut bindings: Vec<(usize, Ref)> = slots.iter().map(|(node, &slot)| (slot, places[node])).collect();
        bindings.sort_unstable_by_key(|(slot, _)| *slot);
        Step { what, bindings, constants, work, launches }
    }

    /// A kernel's operations, for people.
    fn what(&self, draft: &Draft) -> String {
        let anchor = match &draft.start {
            Start::Nothing | Start::Special { .. } => None,
            Start::Reduction { fold, .. } => Some(match fold {
                Fold::Sum => "sum",
                Fold::Max => "max",
                Fold::Min => "min",
            }),
            Start::Product { .. } => Some("matmul"),
        };
        let mut elementwise = draft.stage.inlined.len();
        if let Start::Reduction { prologue, .. } = &draft.start {
            elementwise += prologue.stage.inlined.len();
        }
        match (anchor, elementwise) {
            (Some(anchor), 0) => anchor.into(),
            (Some(anchor), count) => format!("{anchor} + {count} elementwise"),
            (None, 0) => "copy".into(),
            (None, count) => format!("{count} elementwise"),
        }
    }
}

impl Target {
    /// Fours of rows and columns that a lane of a product has: fewer where tiles would be too few for the device, or mostly empty.
    fn fours(&self, batch: u32, m: u32, n: u32) -> [u32; 2] {
        let tiles = |fours: [u32; 2]| self.tiles(m, n, fours).into_iter().map(u64::from).product::<u64>() * u64::from(batch);
        let sizes = [[2, 2], [1, 2], [1, 1]];
        sizes.into_iter().find(|&fours| tiles(fours) >= ENOUGH_TILES).unwrap_or([1, 1])
    }

    /// Tiles of a product along its rows and columns.
    fn tiles(&self, m: u32, n: u32, [down, across]: [u32; 2]) -> [u32; 2] {
        if self.cpu {
            return [m.div_ceil(PRODUCT_ROWS), 1];
        }
        // As `kernel/wgsl/fused.rs` has lanes.
        let columns = 1u32 << (self.limits.group_size.trailing_zeros() / 2);
        let rows = self.limits.group_size / columns;
        [m.div_ceil(4 * down * rows), n.div_ceil(4 * across * columns)]
    }

    /// Who folds: lanes next to each other should read what lies next to each other.
    fn folding(&self, prologue: &Stage, outer: usize, results: u32, each: u32) -> Folding {
        let lies = |view: &View, axes: std::ops::Range<usize>| view.axes[axes].iter().any(|axis| axis.size > 1 && axis.stride == 1);
        let (mut along, mut across) = (0, 0);
        for reading in prologue.readings.iter().filter(|reading| matches!(reading.origin, Origin::Tensor(_))) {
            let rank = reading.view.axes.len();
            along += u32::from(lies(&reading.view, outer..rank));
            across += u32::from(lies(&reading.view, 0..outer));
        }
        let apart = across > along;
        let groups = u64::from(results) * u64::from(self.limits.group_size);
        match self.cpu {
            _ if groups > self.limits.max_items().min(u32::MAX.into()) => Folding::Lane,
            true if apart => Folding::Lane,
            true => Folding::Group,
            false if each < FEWEST_PER_GROUP || apart && results >= 1024 => Folding::Lane,
            false => Folding::Group,
        }
    }
}

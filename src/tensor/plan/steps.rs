//! Drafts of kernels become steps of a plan.

use super::fuse::{Draft, Fuser, OPERATIONS, Start};
use super::rows::Unit;
use super::stage::{Origin, Reading, Stage};
use super::{Buffer, Kernel, Launch, Multiplied, Plan, Ref, Step, Target, Work, layout, library, special};
use crate::graph::{Node, Op, Values, elements};
use crate::view::View;
use leastwise_base::task::Pace;
use leastwise_cpu::block::PRODUCT_ROWS;
use leastwise_cpu::half;
use leastwise_device::{After, KernelSource};
use leastwise_error::Error;
use leastwise_expr::Expr;
use leastwise_program::fused::{Anchor, Fold, Folding, Fused, HEAD, Product, STRIP, Source, Stage as KernelStage, TENSOR_SLOTS};
use std::collections::{HashMap, HashSet};

/// Tiles that keep a large GPU busy.
const ENOUGH_TILES: u64 = 192;

/// Elements that keep a large GPU busy with one a lane, how many a lane has where there are more, and of how long programs.
const ENOUGH_ELEMENTS: u32 = 1 << 18;
const SEVERAL: u32 = 4;
const MOST_SEVERAL: usize = 120;

/// Elements that a workgroup is worth folding together.
pub(super) const FEWEST_PER_GROUP: u32 = 32;

/// Strips that keep a large GPU busy; columns that are short enough to be folded by fewer.
const ENOUGH_STRIPS: u32 = 64;
const SHORT_COLUMN: u32 = 256;

impl Fuser<'_> {
    /// Which roots are written to memory: what is asked for, and what other kernels read.
    fn stored(&self, units: &[Unit]) -> HashSet<Node> {
        let mut stored: HashSet<Node> = self.outputs.iter().copied().collect();
        for unit in units {
            let is_own = |node: &Node| self.maker.get(node).is_some_and(|maker| unit.drafts.contains(maker));
            let reads = unit.drafts.iter().flat_map(|&draft| self.drafts[draft].all_reads());
            stored.extend(reads.filter(|node| !is_own(node)));
        }
        stored
    }

    pub(super) async fn finish(self, pace: &Pace) -> Result<Plan, Error> {
        let units = self.units(pace).await?;
        let stored = self.stored(&units);
        let mut parts: HashMap<Node, Vec<(Node, u32)>> = HashMap::new();
        for &part in &self.request.order {
            let entry = self.graph.entry(part);
            if let Op::Part(number) = entry.op {
                parts.entry(entry.inputs[0]).or_default().push((part, number));
            }
        }
        let numbers: HashMap<Node, u32> = self.request.numbers.iter().map(|(node, _)| *node).zip(0..).collect();
        let mut plan = Plan { tables: vec![Vec::new(); self.targets.len()], visited: self.visited, ..Plan::default() };
        let mut places: HashMap<Node, Ref> = self.request.leaves.iter().copied().zip((0..).map(Ref::Leaf)).collect();
        let inlined: HashSet<Node> = self.drafts.iter().flat_map(|draft| &draft.stage.inlined).copied().collect();
        plan.fused = inlined.iter().filter(|node| !stored.contains(node)).count() as u32;
        for (number, unit) in (0u32..).zip(&units) {
            let draft = &self.drafts[unit.drafts[0]];
            pace.spend(OPERATIONS * (1 + draft.stage.scalars.len())).await?;
            let mut buffer = |elements: u32, half: bool, word: bool| {
                plan.buffers.push(Buffer { elements, half, word, first: number, last: number, stays: false });
                Ref::Buffer(plan.buffers.len() as u32 - 1)
            };
            let step = match &draft.start {
                &Start::Special { node, ref bases } => {
                    // Every result has a buffer, also one that nobody asked for.
                    let results = special::results(self.graph, node);
                    let results: Vec<Ref> =
                        results.iter().map(|(shape, word)| buffer(elements(shape).unwrap_or(0), false, *word)).collect();
                    places.insert(node, results[0]);
                    let own = parts.get(&node).into_iter().flatten();
                    places.extend(own.map(|(part, number)| (*part, results[*number as usize])));
                    let inputs: Vec<Ref> = bases.iter().map(|base| places[base]).collect();
                    special::step(self.graph, node, self.targets, &inputs, &results)?
                }
                _ => {
                    let members = unit.drafts.iter().flat_map(|&draft| &self.drafts[draft].members);
                    let members: Vec<Node> = members.copied().filter(|node| stored.contains(node)).collect();
                    let made = |&member: &Node| {
                        let entry = self.graph.entry(member);
                        (member, buffer(self.graph.size(member), entry.half, entry.values == Values::Integers))
                    };
                    places.extend(members.iter().map(made).collect::<Vec<_>>());
                    match (self.row_step(unit, &members, &mut plan, (&places, &numbers)), &draft.start) {
                        (Some(step), _) => step,
                        (_, Start::Words(whole)) => self.word_step(draft, whole, &mut plan.tables, &places),
                        _ => self.step(draft, &members, &mut plan, (&places, &numbers))?,
                    }
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

    /// The step of a draft: where tensors are, and the places of numbers among the request's.
    fn step(
        &self,
        draft: &Draft,
        members: &[Node],
        plan: &mut Plan,
        (places, places_of_numbers): (&HashMap<Node, Ref>, &HashMap<Node, u32>),
    ) -> Result<Step, Error> {
        let reads = &draft.reads;
        let slots: HashMap<Node, usize> = reads.iter().chain(members).copied().zip(TENSOR_SLOTS).collect();
        let is_half = |node: &Node| self.graph.entry(*node).half;
        let source_of = |origin: &Origin| self.source(origin, &slots);
        let (size, mut words, mut numbers) = (elements(&draft.domain).unwrap_or(0), vec![0; HEAD as usize], Vec::new());
        let mut work = Work::default();
        let mut anchor = Anchor::None { each: 1 };
        words[0] = size;
        let (mut outer, mut each, mut product) = (0, 0, [0; 3]);
        match &draft.start {
            Start::Nothing | Start::Words(_) | Start::Special { .. } => {}
            Start::Halves => words[0] = size,
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
                let slots = [left.0, right.0].map(|node| (slots[&node], is_half(&node)));
                let layout = layout::product(&left.1, &right.1, groups, slots);
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
        let moved = || reads.iter().chain(members).map(|&node| (node, f64::from(self.graph.size(node))));
        work.elements = moved().map(|(_, size)| size).sum();
        work.halves = moved().filter(|(node, _)| is_half(node)).map(|(_, size)| size).sum();
        numbers.extend(&draft.stage.numbers);
        let outputs = members.iter().map(|node| slots[node]).collect();
        let finish = KernelStage { rank: layout.rank(), views: layout.views, program, outputs };
        let what = self.what(draft);
        let halves = matches!(draft.start, Start::Halves);
        let mut fused = Fused { name: format!("tensor: {what}"), anchor, finish, halves };
        let mut launches = Vec::with_capacity(self.targets.len());
        for (target, table) in self.targets.iter().zip(&mut plan.tables) {
            if let Some(launch) = self.by_library(draft, members, &slots, target, table, &fused) {
                launches.push(launch);
                continue;
            }
            let mut count = if halves { half::words(size) } else { size };
            if let (Anchor::None { each }, false) = (&mut fused.anchor, halves) {
                *each = target.elements_of_a_lane(size, &fused.finish);
                count = target.lanes(size, *each);
            }
            if let (Anchor::Reduce { folding, .. }, Start::Reduction { prologue, .. }) = (&mut fused.anchor, &draft.start) {
                *folding = target.folding(&prologue.stage, outer, size, each);
                count = match folding {
                    Folding::Lane => size,
                    Folding::Group => size * target.limits.group_size,
                    Folding::Strip => size.div_ceil(STRIP) * target.limits.group_size,
                };
            }
            if let Anchor::Product(Product { fours, lanes, .. }) = &mut fused.anchor {
                let [batch, m, n] = product;
                *fours = target.fours(batch, m, n);
                *lanes = target.limits.group_size;
                let [down, across] = target.tiles(m, n, *fours);
                words[3..5].copy_from_slice(&[down, across]);
                let items = [down, across, target.limits.group_size].into_iter().try_fold(batch, u32::checked_mul);
                let Some(items) = items else {
                    return Err(Error::Limits(format!("{batch} products of {m} × {n} are more tiles than a dispatch has; cut the batch")));
                };
                count = items;
            }
            let table = Some(target.add_words(table, &words));
            launches.push(Launch {
                multiplied: None,
                kernel: Some(Kernel { source: KernelSource::of_fused(&fused), table, count, words: Default::default() }),
            });
        }
        let constants = self.constants(&numbers, places_of_numbers, plan);
        let mut bindings: Vec<(usize, Ref)> = slots.iter().map(|(node, &slot)| (slot, places[node])).collect();
        bindings.sort_unstable_by_key(|(slot, _)| *slot);
        Ok(Step { what, bindings, constants, work, launches })
    }

    /// A step's part of the plan's constants.
    pub(super) fn constants(&self, numbers: &[Node], places: &HashMap<Node, u32>, plan: &mut Plan) -> Option<(u32, u32)> {
        let place = (plan.constants, numbers.len() as u32);
        (place.1 > 0).then(|| {
            plan.numbers.push((place.0, numbers.iter().map(|node| places.get(node).copied().unwrap_or(0)).collect()));
            let alignment = self.targets.iter().map(|target| target.limits.offset_alignment).max().unwrap_or(1);
            plan.constants = (place.0 + place.1).next_multiple_of(alignment);
            place
        })
    }

    /// A product by the target's library, if it has one that knows such products: what it can't finish, a kernel does in place.
    fn by_library(
        &self,
        draft: &Draft,
        members: &[Node],
        slots: &HashMap<Node, usize>,
        target: &Target,
        table: &mut Vec<u32>,
        whole: &Fused,
    ) -> Option<Launch> {
        let (Some(library), Start::Product { groups, factors: [left, right], .. }) = (target.library, &draft.start) else { return None };
        let is_half = |node: &Node| self.graph.entry(*node).half || self.graph.entry(*node).values == Values::Integers;
        if is_half(&left.0) || is_half(&right.0) {
            return None;
        }
        let mut form = library::form(&left.1, &right.1, groups, library.coarse)?;
        let (factors, out) = ([slots[&left.0], slots[&right.0]], slots[members.first()?]);
        let finished = library::finish(draft, members, form.columns).filter(|(_, bias)| !bias.as_ref().is_some_and(is_half));
        if let Some((after, bias)) = finished.filter(|(after, _)| library.finishes || *after == After::Nothing) {
            form.after = after;
            let bias = bias.map(|node| slots[&node]);
            return Some(Launch { multiplied: Some(Multiplied { form, factors, out, bias }), kernel: None });
        }
        // What the anchor made is read where the library left it: each lane writes over what it alone reads.
        let readings = [Reading { origin: Origin::Tensor(members[0]), view: View::contiguous(&draft.domain), row: None }];
        let readings: Vec<Reading> = draft.stage.readings.iter().cloned().chain(readings).collect();
        let source_of = |origin: &Origin| self.source(origin, slots);
        let layout = layout::stage(&readings, &draft.domain, &[draft.domain.len()], source_of);
        let size = elements(&draft.domain).unwrap_or(0);
        let words: Vec<u32> = [size].into_iter().chain([0; HEAD as usize - 1]).chain(layout.words.iter().copied()).collect();
        let finish = KernelStage { rank: layout.rank(), views: layout.views, ..whole.finish.clone() };
        let each = target.elements_of_a_lane(size, &finish);
        let fused = Fused { name: format!("{}, after the library", whole.name), anchor: Anchor::None { each }, finish, halves: false };
        let kernel = Kernel {
            source: KernelSource::of_fused(&fused),
            table: Some(target.add_words(table, &words)),
            count: target.lanes(size, each),
            words: Default::default(),
        };
        Some(Launch { multiplied: Some(Multiplied { form, factors, out, bias: None }), kernel: Some(kernel) })
    }

    /// What a kernel reads of an origin.
    pub(super) fn source(&self, origin: &Origin, slots: &HashMap<Node, usize>) -> Source {
        match origin {
            Origin::Tensor(node) if self.graph.entry(*node).values == Values::Integers => Source::Word(slots[node]),
            Origin::Tensor(node) if self.graph.entry(*node).half => Source::Half(slots[node]),
            Origin::Tensor(node) => Source::Slot(slots[node]),
            Origin::Address => Source::Address,
            Origin::One => Source::One,
        }
    }

    /// Number of elementwise operations.
    pub(super) fn elementwise(&self, draft: &Draft) -> usize {
        let before = if let Start::Reduction { prologue, .. } = &draft.start { prologue.stage.inlined.len() } else { 0 };
        before + draft.stage.inlined.len()
    }

    /// A kernel's operations, for people.
    pub(super) fn what(&self, draft: &Draft) -> String {
        let anchor = match &draft.start {
            Start::Nothing | Start::Special { .. } => None,
            Start::Halves => Some("f16"),
            Start::Words(_) => Some("int32"),
            Start::Reduction { fold, .. } => Some(match fold {
                Fold::Sum => "sum",
                Fold::Max => "max",
                Fold::Min => "min",
            }),
            Start::Product { .. } => Some("matmul"),
        };
        match (anchor, self.elementwise(draft)) {
            (Some(anchor), 0) => anchor.into(),
            (Some(anchor), count) => format!("{anchor} + {count} elementwise"),
            (None, 0) => "copy".into(),
            (None, count) => format!("{count} elementwise"),
        }
    }
}

impl Target {
    /// Puts a kernel's words into the target's layout table; gives where, and how many.
    pub(super) fn add_words(&self, table: &mut Vec<u32>, words: &[u32]) -> (u32, u32) {
        let place = (table.len() as u32, words.len() as u32);
        table.extend(words);
        table.resize(table.len().next_multiple_of(self.limits.offset_alignment as usize), 0);
        place
    }

    /// Elements that a lane has of so many: several on GPUs whose lanes are all busy with one each.
    fn elements_of_a_lane(&self, size: u32, stage: &KernelStage) -> u32 {
        let is_short = stage.program.instructions.len() * stage.program.stores.len() <= MOST_SEVERAL;
        if !self.cpu && self.limits.elements_per_lane == 1 && (ENOUGH_ELEMENTS..1 << 31).contains(&size) && is_short { SEVERAL } else { 1 }
    }

    /// The lanes for elements of which each has so many, in whole workgroups where these are several.
    fn lanes(&self, size: u32, each: u32) -> u32 {
        if each == 1 { size } else { size.div_ceil(each * self.limits.group_size) * self.limits.group_size }
    }

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
        // As `program/wgsl/fused.rs` has lanes.
        let columns = 1u32 << (self.limits.group_size.trailing_zeros() / 2);
        let rows = self.limits.group_size / columns;
        [m.div_ceil(4 * down * rows), n.div_ceil(4 * across * columns)]
    }

    /// Who folds: lanes next to each other should read what lies next to each other.
    fn folding(&self, prologue: &Stage, outer: usize, results: u32, each: u32) -> Folding {
        let apart = lie_apart(&prologue.readings, outer);
        let is_enough = results.div_ceil(STRIP) >= ENOUGH_STRIPS || results >= STRIP / 2 && each <= SHORT_COLUMN;
        let groups = u64::from(results) * u64::from(self.limits.group_size);
        match self.cpu {
            _ if groups > self.limits.max_items().min(u32::MAX.into()) => Folding::Lane,
            true if apart => Folding::Lane,
            true => Folding::Group,
            false if each < FEWEST_PER_GROUP => Folding::Lane,
            false if apart && is_enough => Folding::Strip,
            false => Folding::Group,
        }
    }
}

/// True where what lies next to each other belongs to different results of a fold, more often than to one: `outer` axes are the result's.
pub(super) fn lie_apart(readings: &[Reading], outer: usize) -> bool {
    let lies = |view: &View, axes: std::ops::Range<usize>| view.axes[axes].iter().any(|axis| axis.size > 1 && axis.stride == 1);
    let (mut along, mut across) = (0, 0);
    for reading in readings.iter().filter(|reading| matches!(reading.origin, Origin::Tensor(_))) {
        let rank = reading.view.axes.len();
        along += u32::from(lies(&reading.view, outer..rank));
        across += u32::from(lies(&reading.view, 0..outer));
    }
    across > along
}

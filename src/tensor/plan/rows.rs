//! Rows: folds along the last axes, and what is computed of the same rows element by element, become one kernel. A softmax is a largest
//! element, powers, their sum and quotients; a layer norm two sums. Such drafts are put together after the fact, so the rule knows no
//! names: elements that one makes and another needs at the same place stay with their lane, and a row's folds with the lanes of the row.

use super::fuse::{Draft, Fuser, OPERATIONS, Start};
use super::stage::{Origin, Reading, Stage, tensors};
use super::steps::{FEWEST_PER_GROUP, lie_apart};
use super::{Kernel, Launch, Plan, Ref, Step, Target, Work, layout};
use crate::graph::{Node, elements};
use crate::view::{Axis, View};
use leastwise_base::task::{Pace, Stopped};
use leastwise_device::KernelSource;
use leastwise_expr::Expr;
use leastwise_program::fused::{Anchor, Fused, HEAD, MADE, Phase, Rows, Scope, Stage as KernelStage, TENSOR_SLOTS};
use std::collections::HashMap;

/// Elements of a row that a lane has at most, and those that it rather has.
const MOST_EACH: u32 = 16;
const RATHER_EACH: u32 = 8;
/// The fewest lanes of a row: those of a longer one read and write whole sectors of 32 bytes.
const FEWEST_LANES: [u32; 2] = [4, 8];

/// Values that a lane keeps for all of its elements, and instructions that are written once an element.
const MOST_KEPT: usize = 128;
const MOST_WRITTEN: usize = 2048;

/// Drafts of a unit.
const MOST_DRAFTS: usize = 16;

/// Some drafts as phases of one kernel.
struct RowDraft {
    /// Axes of the rows, and all.
    outer: usize,
    domain: Vec<u32>,
    readings: Vec<Reading>,
    numbers: Vec<Node>,
    phases: Vec<Phase>,
    /// Values that phases make; true where a row has one.
    made: Vec<(Node, bool)>,
}

/// Sizes without the last ones that are 1.
fn trimmed(shape: &[u32]) -> &[u32] {
    let end = shape.iter().rposition(|&size| size != 1).map_or(0, |last| last + 1);
    &shape[..end]
}

impl RowDraft {
    /// The number under which a reading is given: of what was made, or of a view that is read from memory. `None` where something of
    /// the kernel's own is read elsewhere than it is kept.
    fn given(&mut self, reading: &Reading, is_row: bool, is_own: &dyn Fn(Node) -> bool) -> Option<u32> {
        let Reading { origin, view, row: None } = reading else { return None };
        let (outer, mut whole) = (self.outer, view.clone());
        if is_row {
            let kept = trimmed(&self.domain[..outer]).len();
            if view.axes[kept..].iter().any(|axis| axis.range.is_some()) {
                return None;
            }
            whole.axes.truncate(kept);
            whole.axes.extend(self.domain[kept..].iter().map(|&size| Axis { size, stride: 0, range: None }));
        }
        if let Origin::Tensor(node) = origin
            && is_own(*node)
        {
            let made = self.made.iter().position(|(made, _)| made == node)?;
            let is_kept = match (self.made[made].1, is_row) {
                (true, _) => {
                    let inner = &whole.axes[outer..];
                    let of_rows = View { axes: whole.axes[..outer].to_vec(), offset: whole.offset };
                    inner.iter().all(|axis| axis.range.is_none() && (axis.size == 1 || axis.stride == 0)) && of_rows.is_contiguous()
                }
                (false, true) => false,
                (false, false) => view.is_contiguous(),
            };
            return is_kept.then_some(MADE + made as u32);
        }
        let reading = Reading { origin: *origin, view: whole, row: None };
        let number = self.readings.iter().position(|known| *known == reading).unwrap_or_else(|| {
            self.readings.push(reading);
            self.readings.len() - 1
        });
        Some(number as u32)
    }

    /// Appends a stage that makes these; `fold` is where what the anchor made is.
    fn push(&mut self, stage: &Stage, scope: Scope, made: &[(Node, Expr)], fold: u32, is_own: &dyn Fn(Node) -> bool) -> Option<()> {
        let is_row = scope == Scope::Rows;
        let given = stage.readings.iter().map(|reading| self.given(reading, is_row, is_own)).collect::<Option<Vec<u32>>>()?;
        let stores: Vec<Expr> = made.iter().map(|(_, expr)| *expr).collect();
        let before = self.numbers.len() as u32;
        let program = stage.program_given(&stores, before, |reading| reading.map_or(fold, |number| given[number as usize]));
        self.numbers.extend(&stage.numbers);
        self.phases.push(Phase { scope, program });
        self.made.extend(made.iter().map(|(node, _)| (*node, scope != Scope::Elements)));
        Some(())
    }

    /// Rows, and elements of one.
    fn sizes(&self) -> Option<[u32; 2]> {
        let [rows, length] = [&self.domain[..self.outer], &self.domain[self.outer..]].map(elements);
        Some([rows?, length?])
    }
}

/// Drafts that share a kernel.
pub(super) struct Unit {
    /// Their numbers.
    pub drafts: Vec<usize>,
    rows: Option<RowDraft>,
}

impl Fuser<'_> {
    /// Drafts that are one kernel each, or rows together; none before one that it depends on.
    pub(super) async fn units(&self, pace: &Pace) -> Result<Vec<Unit>, Stopped> {
        let single = |number| Unit { drafts: vec![number], rows: None };
        let all = 0..self.drafts.len();
        if self.unfused || !self.targets.first().is_some_and(|target| target.rows) {
            return Ok(all.map(single).collect());
        }
        let mut readers: HashMap<Node, Vec<usize>> = HashMap::new();
        for (number, draft) in self.drafts.iter().enumerate() {
            draft.all_reads().for_each(|node| readers.entry(node).or_default().push(number));
        }
        let (mut units, mut unit_of): (Vec<Unit>, Vec<usize>) = (Vec::new(), Vec::new());
        // The last unit that reads a tensor.
        let mut last: HashMap<Node, usize> = HashMap::new();
        for number in all {
            let reads = || self.drafts[number].all_reads();
            // Units need earlier ones alone, so a draft may join the last of those that it needs, and any later one.
            let needed = reads().filter_map(|node| Some(unit_of[*self.maker.get(&node)?])).max();
            let beside =
                reads().filter_map(|node| last.get(&node).copied()).max().filter(|beside| needed.is_none_or(|needed| *beside > needed));
            let joined = needed.into_iter().chain(beside).find(|&unit| {
                let drafts: Vec<usize> = units[unit].drafts.iter().copied().chain([number]).collect();
                let rows = self.rows(&drafts, &readers);
                let is_joined = rows.is_some();
                if is_joined {
                    units[unit] = Unit { drafts, rows };
                }
                is_joined
            });
            let unit = joined.unwrap_or(units.len());
            if joined.is_none() {
                units.push(single(number));
            }
            unit_of.push(unit);
            // All of a unit is written again for the next draft.
            pace.spend(OPERATIONS * units[unit].drafts.len()).await?;
            for node in reads() {
                let latest = last.entry(node).or_default();
                *latest = unit.max(*latest);
            }
        }
        Ok(units)
    }

    /// Some drafts as one kernel of rows, if that can be; `readers` are the drafts that read a node.
    fn rows(&self, drafts: &[usize], readers: &HashMap<Node, Vec<usize>>) -> Option<RowDraft> {
        let row_of = |draft: &Draft| match &draft.start {
            Start::Reduction { node, axes, .. } => Some((self.graph.shape(self.graph.entry(*node).inputs[0]), axes.clone())),
            _ => None,
        };
        let form = drafts.iter().find_map(|&number| row_of(&self.drafts[number]))?;
        let (domain, axes) = (form.0, &form.1);
        let outer = domain.len() - axes.len();
        let is_last = (outer as u32..).zip(axes).all(|(last, axis)| last == *axis);
        if !is_last || drafts.len() > MOST_DRAFTS {
            return None;
        }
        let is_own = |node: Node| self.maker.get(&node).is_some_and(|maker| drafts.contains(maker));
        let is_needed = |node: &Node| self.outputs.contains(node) || readers.contains_key(node);
        let mut rows =
            RowDraft { outer, domain: domain.to_vec(), readings: Vec::new(), numbers: Vec::new(), phases: Vec::new(), made: Vec::new() };
        for &number in drafts {
            let draft = &self.drafts[number];
            let (scope, members) = match &draft.start {
                Start::Reduction { node, fold, prologue, .. } if row_of(draft).as_ref() == Some(&form) => {
                    rows.push(&prologue.stage, Scope::Fold(*fold), &[(*node, prologue.value)], 0, &is_own)?;
                    (Scope::Rows, &draft.members[1..])
                }
                Start::Nothing if draft.domain == domain => (Scope::Elements, &draft.members[..]),
                Start::Nothing if trimmed(&draft.domain) == trimmed(&domain[..outer]) => (Scope::Rows, &draft.members[..]),
                _ => return None,
            };
            let made: Vec<(Node, Expr)> = members.iter().filter(|node| is_needed(node)).map(|node| (*node, draft.values[node])).collect();
            if !made.is_empty() {
                let folded = MADE + rows.made.len().saturating_sub(1) as u32;
                rows.push(&draft.stage, scope, &made, folded, &is_own)?;
            }
        }
        let is_read_elsewhere = |readers: &Vec<usize>| readers.iter().any(|reader| !drafts.contains(reader));
        let is_stored = |node: &Node| self.outputs.contains(node) || readers.get(node).is_some_and(is_read_elsewhere);
        let bound = tensors(&rows.readings).len() + rows.made.iter().filter(|(node, _)| is_stored(node)).count();
        let [_, length] = rows.sizes()?;
        // A workgroup would read a column a lane.
        if length >= FEWEST_PER_GROUP && lie_apart(&rows.readings, outer) {
            return None;
        }
        let each = self.targets.first()?.lanes_of_rows(rows.sizes()?)?.each;
        let kept = each as usize * (rows.readings.len() + rows.made.iter().filter(|(_, is_row)| !is_row).count());
        let written = each as usize * rows.phases.iter().map(|phase| phase.program.instructions.len()).sum::<usize>();
        (bound <= TENSOR_SLOTS.len() && kept <= MOST_KEPT && written <= MOST_WRITTEN).then_some(rows)
    }

    /// The step of a unit of rows; nothing for one draft alone.
    pub(super) fn row_step(
        &self,
        unit: &Unit,
        members: &[Node],
        plan: &mut Plan,
        (places, places_of_numbers): (&HashMap<Node, Ref>, &HashMap<Node, u32>),
    ) -> Option<Step> {
        let rows = unit.rows.as_ref()?;
        let (reads, [count, length]) = (tensors(&rows.readings), rows.sizes()?);
        let slots: HashMap<Node, usize> = reads.iter().chain(members).copied().zip(TENSOR_SLOTS).collect();
        let inner = rows.domain.len() - rows.outer;
        let layout = layout::stage(&rows.readings, &rows.domain, &[rows.outer, inner], |origin| self.source(origin, &slots));
        let words: Vec<u32> = [count, length].into_iter().chain([0; HEAD as usize - 2]).chain(layout.words.iter().copied()).collect();
        let mut work = Work::default();
        for node in reads.iter().chain(members) {
            let size = f64::from(self.graph.size(*node));
            work.elements += size;
            work.halves += if self.graph.entry(*node).half { size } else { 0.0 };
        }
        let items = |phase: &Phase| f64::from(count) * if phase.scope == Scope::Rows { 1.0 } else { f64::from(length) };
        work.operations = rows.phases.iter().map(|phase| items(phase) * phase.program.instructions.len() as f64).sum();
        let is_fold = |phase: &&Phase| matches!(phase.scope, Scope::Fold(_));
        let folds = rows.phases.iter().filter(is_fold).count();
        let elementwise: usize = unit.drafts.iter().map(|&number| self.elementwise(&self.drafts[number])).sum();
        let what = format!("{folds} of rows + {elementwise} elementwise");
        let Lanes { lanes, each, whole, items } = self.targets.first()?.lanes_of_rows([count, length])?;
        let stored = members.iter().map(|node| rows.made.iter().position(|(made, _)| made == node).map(|made| made as u32));
        let anchor = Anchor::Rows(Rows {
            inner: layout.groups[1] as u32,
            stage: KernelStage {
                rank: layout.rank(),
                views: layout.views,
                outputs: members.iter().map(|node| slots[node]).collect(),
                ..KernelStage::default()
            },
            phases: rows.phases.clone(),
            stored: stored.collect::<Option<Vec<u32>>>()?,
            lanes,
            each,
            whole,
        });
        let fused = Fused { name: format!("tensor: {what}"), anchor, finish: KernelStage::default(), halves: false };
        let table = Some(self.targets[0].add_words(&mut plan.tables[0], &words));
        let kernel = Kernel { source: KernelSource::of_fused(&fused), table, count: items, words: Default::default() };
        let mut launches = vec![Launch::default(); self.targets.len()];
        launches[0].kernel = Some(kernel);
        let constants = self.constants(&rows.numbers, places_of_numbers, plan);
        let mut bindings: Vec<(usize, Ref)> = slots.iter().map(|(node, &slot)| (slot, places[node])).collect();
        bindings.sort_unstable_by_key(|(slot, _)| *slot);
        Some(Step { what, bindings, constants, work, launches })
    }
}

/// How a kernel of rows is divided.
struct Lanes {
    /// Lanes of a row.
    lanes: u32,
    /// Elements of a lane at most, and the first ones of them that every lane has.
    each: u32,
    whole: u32,
    /// Items of the dispatch.
    items: u32,
}

impl Target {
    /// Lanes for so many rows of some length; `None` where a workgroup has too few for a row.
    fn lanes_of_rows(&self, [rows, length]: [u32; 2]) -> Option<Lanes> {
        let group = self.limits.group_size;
        let [short, long] = FEWEST_LANES;
        let lanes = length.div_ceil(RATHER_EACH).next_power_of_two().clamp(if length > 2 * short { long } else { short }, group);
        let most = length.div_ceil(lanes);
        // Few kernels serve rows of many lengths: one for some lengths in a row, and one without masks for the longest of them.
        let step = if most > 8 { 4 } else { 1 + u32::from(most > 2) };
        let each = most.next_multiple_of(step);
        let whole = if length.is_multiple_of(lanes) && most == each { each } else { each.saturating_sub(step) };
        let items = u64::from(rows.div_ceil(group / lanes)) * u64::from(group);
        let is_dispatch = rows > 0 && length > 0 && items <= self.limits.max_items().min(u32::MAX.into());
        (each <= MOST_EACH && is_dispatch).then_some(Lanes { lanes, each, whole, items: items as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::{Lanes, Target};
    use leastwise_device::Limits;

    #[test]
    fn lanes_have_all_elements_of_a_row_and_the_whole_ones_lie_in_it() {
        for group_size in [64, 256] {
            let limits = Limits { group_size, ..Limits::WEBGPU };
            let target = Target { cpu: false, limits, library: None, rows: true };
            for length in 1..=16 * group_size {
                let Lanes { lanes, each, whole, .. } = target.lanes_of_rows([7, length]).expect("a kernel");
                assert!(whole * lanes <= length && length <= each * lanes, "{length}: {whole} and {each} times {lanes}");
                assert_eq!(whole == each, length == each * lanes, "{length}");
            }
            assert!(target.lanes_of_rows([7, 16 * group_size + 1]).is_none());
        }
    }
}

//! Solutions by a factor: up the tree with L, down with Lᵀ. Branches are independent of each other, as in the factorisation.

use super::schedule::Run;
use super::tree::{Front, NONE};
use super::{Multifrontal, shared};
use leastwise_base::task::{Pace, Stopped};
use std::ops::Range;

/// Sums that a product is divided into, so that they need not wait for each other.
const LANES: usize = 8;
/// Multiplications of a factorisation in the time of a value that is read from memory.
const READ: f64 = 8.0;

/// Own values of fronts, and what they change above: of one front, or of several in places of their parent.
struct Raised {
    own: Vec<f64>,
    child: Option<u32>,
    change: Vec<f64>,
}

impl Multifrontal {
    /// x becomes the solution of the last matrix for the right-hand side x.
    pub(super) async fn substitute(&self, x: &mut [f64], pace: &Pace) -> Result<(), Stopped> {
        let mut y = vec![0.0; x.len()];
        for (place, &scalar) in (0..).zip(&self.scalars) {
            y[self.scalars_of(place..place + 1)].copy_from_slice(&x[scalar as usize..][..self.tree.width(place)]);
        }
        self.raise(&mut y, pace).await?;
        self.lower(&mut y, pace).await?;
        for (place, &scalar) in (0..).zip(&self.scalars) {
            x[scalar as usize..][..self.tree.width(place)].copy_from_slice(&y[self.scalars_of(place..place + 1)]);
        }
        Ok(())
    }

    /// Scalars of positions in the order of elimination.
    fn scalars_of(&self, places: Range<u32>) -> Range<usize> {
        self.tree.first[places.start as usize] as usize..self.tree.first[places.end as usize] as usize
    }

    fn own(&self, front: u32) -> Range<usize> {
        self.scalars_of(self.tree.fronts[front as usize].variables.clone())
    }

    fn of_run(&self, run: &Run) -> Range<usize> {
        self.own(run.fronts.start).start..self.own(run.fronts.end - 1).end
    }

    fn reads(&self, fronts: Range<u32>) -> f64 {
        let [first, last] = [fronts.start, fronts.end - 1].map(|front| self.tree.fronts[front as usize].panel());
        READ * (last.end - first.start) as f64
    }

    /// y becomes L⁻¹y.
    async fn raise(&self, y: &mut [f64], pace: &Pace) -> Result<(), Stopped> {
        let fronts = &self.tree.fronts;
        let mut changes: Vec<Vec<(Option<u32>, Vec<f64>)>> = vec![Vec::new(); fronts.len()];
        let runs: Vec<&Run> = self.schedule.runs.iter().collect();
        let known = &*y;
        let raised = shared(runs, |run| self.reads(run.fronts.clone()), || (), |(), run| self.raise_run(run, known), pace).await?;
        for (run, Raised { own, child, change }) in self.schedule.runs.iter().zip(raised) {
            y[self.of_run(run)].copy_from_slice(&own);
            if run.parent != NONE {
                changes[run.parent as usize].push((child, change));
            }
        }
        for level in &self.schedule.levels {
            let (items, known) = (level.clone(), &*y);
            let raise = |(): &mut (), front: u32| {
                let mut local = vec![0.0; fronts[front as usize].height];
                for (child, change) in &changes[front as usize] {
                    match child {
                        Some(child) => self.add(*child, change, &mut local),
                        None => local.iter_mut().zip(change).for_each(|(value, change)| *value += change),
                    }
                }
                self.raise_front(front, &known[self.own(front)], &mut local);
                local
            };
            let raised = shared(items, |&front| self.reads(front..front + 1), || (), raise, pace).await?;
            for (&front, local) in level.iter().zip(raised) {
                let (own, below) = local.split_at(fronts[front as usize].width);
                y[self.own(front)].copy_from_slice(own);
                if let Some(changes) = changes.get_mut(fronts[front as usize].parent as usize) {
                    changes.push((Some(front), below.to_vec()));
                }
            }
        }
        Ok(())
    }

    fn raise_run(&self, run: &Run, y: &[f64]) -> Raised {
        let (fronts, range) = (&self.tree.fronts, self.of_run(run));
        let mut own = y[range.clone()].to_vec();
        let together = if run.roots > 1 && run.parent != NONE { fronts[run.parent as usize].height } else { 0 };
        let mut raised = Raised { own: Vec::new(), child: None, change: vec![0.0; together] };
        let mut begun: Vec<Vec<f64>> = vec![Vec::new(); run.fronts.len()];
        for number in run.fronts.clone() {
            let front = &fronts[number as usize];
            let mut local = std::mem::take(&mut begun[(number - run.fronts.start) as usize]);
            local.resize(front.height, 0.0);
            let places = self.own(number).start - range.start..self.own(number).end - range.start;
            self.raise_front(number, &own[places.clone()], &mut local);
            own[places].copy_from_slice(&local[..front.width]);
            let change = &local[front.width..];
            if front.parent != NONE && front.parent < run.fronts.end {
                let parent = &mut begun[(front.parent - run.fronts.start) as usize];
                parent.resize(fronts[front.parent as usize].height, 0.0);
                self.add(number, change, parent);
            } else if together > 0 {
                self.add(number, change, &mut raised.change);
            } else {
                (raised.child, raised.change) = (Some(number), change.to_vec());
            }
        }
        Raised { own, ..raised }
    }

    /// Adds what a front changes to its parent's values.
    fn add(&self, child: u32, change: &[f64], parent: &mut [f64]) {
        for link in self.assembly.links(child) {
            let (target, source) = (&mut parent[link.to as usize..], &change[link.from as usize..][..link.len as usize]);
            target.iter_mut().zip(source).for_each(|(value, change)| *value += change);
        }
    }

    /// A front's values after the elimination of its own, which were `own` without what is in `local`.
    fn raise_front(&self, number: u32, own: &[f64], local: &mut [f64]) {
        let front = &self.tree.fronts[number as usize];
        local.iter_mut().zip(own).for_each(|(value, own)| *value += own);
        for (k, column) in self.columns(front).enumerate() {
            let value = local[k] / column[k];
            local[k] = value;
            local[k + 1..].iter_mut().zip(&column[k + 1..]).for_each(|(target, entry)| *target -= entry * value);
        }
    }

    /// y becomes L⁻ᵀy.
    async fn lower(&self, y: &mut [f64], pace: &Pace) -> Result<(), Stopped> {
        for level in self.schedule.levels.iter().rev() {
            let known = &*y;
            let lower = |(): &mut (), front: u32| {
                let mut own = known[self.own(front)].to_vec();
                self.lower_front(front, known, &mut own, self.own(front).start);
                own
            };
            let lowered = shared(level.clone(), |&front| self.reads(front..front + 1), || (), lower, pace).await?;
            level.iter().zip(lowered).for_each(|(&front, own)| y[self.own(front)].copy_from_slice(&own));
        }
        let known = &*y;
        let lower = |(): &mut (), run: &Run| {
            let range = self.of_run(run);
            let mut own = known[range.clone()].to_vec();
            run.fronts.clone().rev().for_each(|front| self.lower_front(front, known, &mut own, range.start));
            own
        };
        let runs: Vec<&Run> = self.schedule.runs.iter().collect();
        let lowered = shared(runs, |run| self.reads(run.fronts.clone()), || (), lower, pace).await?;
        self.schedule.runs.iter().zip(lowered).for_each(|(run, own)| y[self.of_run(run)].copy_from_slice(&own));
        Ok(())
    }

    /// A front's own values, of those above it: these are in `own`, which begins at `start`, or else in `y`.
    fn lower_front(&self, number: u32, y: &[f64], own: &mut [f64], start: usize) {
        let front = &self.tree.fronts[number as usize];
        let places = self.own(number);
        let mut local = Vec::with_capacity(front.height);
        local.extend_from_slice(&own[places.start - start..places.end - start]);
        for &row in self.tree.rows(front) {
            let scalars = self.scalars_of(row..row + 1);
            local.extend_from_slice(own.get(scalars.start - start..scalars.end - start).unwrap_or_else(|| &y[scalars.clone()]));
        }
        for (k, column) in self.columns(front).enumerate().rev() {
            local[k] = (local[k] - dot(&column[k + 1..], &local[k + 1..])) / column[k];
        }
        own[places.start - start..places.end - start].copy_from_slice(&local[..front.width]);
    }

    fn columns(&self, front: &Front) -> std::slice::ChunksExact<'_, f64> {
        self.factor[front.panel()].chunks_exact(front.height)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (lanes, others) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f64 = lanes.remainder().iter().zip(others.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in lanes.zip(others) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().sum::<f64>() + rest
}

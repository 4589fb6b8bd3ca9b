//! Sparse Cholesky factors by fronts, on all threads of the host (Duff & Reid, "The multifrontal solution of indefinite sparse symmetric
//! linear equations", 1983; Liu, "The multifrontal method for sparse matrix solution", 1992).
//!
//! Variables of nearly the same structure are eliminated together, in a dense matrix, their *front*: the matrix's own values, and the
//! changes that the eliminations of its children have left. Fronts are a [`tree`], of which branches are independent of each other; the
//! [`schedule`] says which are worked on at the same time, and large fronts are shared besides ([`front`]). The order of elimination is
//! minimum degree's, or nested [`dissection`]'s where that leaves more to be done at the same time. All of this follows from the
//! structure, and changes are added in one order: bits do not depend on the number of threads.

mod assembly;
mod dissection;
mod front;
mod schedule;
mod substitution;
#[cfg(test)]
mod tests;
mod tree;

use crate::matrix::{System, Unsolved};
use crate::sparse::{Factorization, Structure, TooLarge, Unfactorised};
use assembly::{Assembly, Columns, Link};
use faer::dyn_stack::{MemBuffer, StackReq};
use leastwise_base::task::{Pace, Stopped, UNIT};
use leastwise_base::{memory, parallel};
use schedule::{Run, Schedule};
use tree::{NONE, Tree};

/// Multiplications for an operation of a [`Pace`].
const EACH: f64 = 8.0;
/// Work from which on minimum degree's order is compared with another, and the part of its time that the other may take at most.
const WORTH: f64 = (1 << 21) as f64;
const FASTER: f64 = 0.9;
/// Multiplications that the other order may take, as a multiple of minimum degree's.
const MORE: f64 = 2.0;
/// Threads that minimum degree's order must leave busy to be taken without a comparison.
const BUSY: f64 = 6.0;
/// Columns of a large front that a thread assembles at a time, and the entries from which it is large.
const COLUMNS: usize = 64;
const MANY: usize = 1 << 16;

/// Multifrontal Cholesky factorisation, on hosts other than WebAssembly.
pub struct Multifrontal {
    tree: Tree,
    schedule: Schedule,
    assembly: Assembly,
    /// First scalars of the variables, by position in the order of elimination.
    scalars: Vec<u32>,
    factor: Vec<f64>,
    room: StackReq,
    /// Memory of changes, for the next ones.
    spare: Vec<Vec<f64>>,
}

/// Work and time of an order of elimination, in multiplications.
#[derive(Clone, Copy, Debug)]
pub struct Predicted {
    /// Multiplications.
    pub work: f64,
    /// Multiplications one after the other on so many threads.
    pub path: f64,
}

/// Memory of a thread.
struct Scratch {
    memory: MemBuffer,
    spare: Vec<Vec<f64>>,
}

/// A change of a front by a child, or by several in the front's own places: links, rows, and the lower triangle.
struct Change {
    links: Option<u32>,
    rows: usize,
    values: Vec<f64>,
}

/// A vector of so many zeros, of memory that was used before.
fn zeros(spare: &mut Vec<Vec<f64>>, len: usize) -> Vec<f64> {
    let mut values = spare.pop().unwrap_or_default();
    values.clear();
    values.resize(len, 0.0);
    values
}

/// Results of items on all threads, or on one where all take little.
async fn shared<I: Send, S: Send, T: Send>(
    items: Vec<I>,
    multiplications: impl Fn(&I) -> f64,
    state: impl Fn() -> S + Sync + Send,
    work: impl Fn(&mut S, I) -> T + Sync + Send,
    pace: &Pace,
) -> Result<Vec<T>, Stopped> {
    let all: f64 = items.iter().map(&multiplications).sum();
    if all < schedule::LITTLE {
        let mut state = state();
        let results = items.into_iter().map(|item| work(&mut state, item)).collect();
        pace.spend((all / EACH) as usize).await?;
        return Ok(results);
    }
    // Several items for each thread before all of them meet.
    parallel::map(items, |item| ((multiplications(item) / EACH) as usize).min(UNIT / 4), state, work, pace).await
}

impl Multifrontal {
    /// The tree of the better order.
    async fn tree(structure: Structure<'_>, scalars: &[u32], pace: &Pace) -> Result<Tree, Unfactorised> {
        let graph = structure.blocks.graph(pace).await?;
        let least = Tree::new(&graph, scalars, &structure.ordering.forward);
        pace.spend(UNIT).await?;
        if let Ok(tree) = &least
            && (tree.work < WORTH || BUSY * Schedule::new(tree).nominal(tree) < tree.work)
        {
            return Ok(least?);
        }
        let widths: Vec<u32> = scalars.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let order = dissection::order(&graph, &widths, pace).await?;
        let other = Tree::new(&graph, scalars, &order);
        pace.spend(UNIT).await?;
        match (least, other) {
            (Ok(least), Ok(other)) => {
                let [before, after] = [&least, &other].map(|tree| Schedule::new(tree).nominal(tree));
                Ok(if after < FASTER * before && other.work < MORE * least.work { other } else { least })
            }
            (least, other) => Ok(least.or(other)?),
        }
    }

    /// Work and time that a factor is predicted to take on so many threads.
    pub fn predicted(&self, threads: usize) -> Predicted {
        Predicted { work: self.tree.work, path: self.schedule.path(&self.tree, threads as f64) }
    }

    /// Entries of the factor, with the zeros that fronts have.
    pub fn entries(&self) -> usize {
        self.factor.len()
    }
}

impl Factorization for Multifrontal {
    async fn new(structure: Structure<'_>, pace: &Pace) -> Result<Self, Unfactorised> {
        let first = structure.scalars();
        let tree = Self::tree(structure, &first, pace).await?;
        let schedule = Schedule::new(&tree);
        let assembly = Assembly::new(structure, &tree, pace).await?;
        let mut factor = memory::room(tree.values(), "a sparse factor").map_err(|_| TooLarge)?;
        while factor.len() < tree.values() {
            factor.resize(tree.values().min(factor.len() + UNIT / 2), 0.0);
            pace.spend(UNIT / 2).await?;
        }
        let room = tree.fronts.iter().fold(StackReq::EMPTY, |all, front| all.or(front::room(front.width)));
        let scalars = tree.order.iter().map(|&variable| first[variable as usize]).collect();
        Ok(Self { tree, schedule, assembly, scalars, factor, room, spare: Vec::new() })
    }

    async fn factorize(&mut self, system: &System<'_>, pace: &Pace) -> Result<(), Unsolved> {
        let Self { tree, schedule, assembly, factor, room, spare, .. } = self;
        let making = Making { tree, assembly, system };
        let (of_runs, mut of_fronts) = panels(tree, schedule, factor);
        let state = || Scratch { memory: MemBuffer::new(*room), spare: Vec::new() };
        let mut changes: Vec<Vec<Change>> = Vec::new();
        changes.resize_with(tree.fronts.len(), Vec::new);
        let runs: Vec<_> = schedule.runs.iter().zip(of_runs).map(|(run, panels)| (run, panels, spare.pop().unwrap_or_default())).collect();
        let made = shared(runs, |(run, ..)| run.work, state, |scratch, (run, panels, room)| making.run(run, panels, room, scratch), pace);
        let mut is_definite = true;
        for (run, change) in schedule.runs.iter().zip(made.await?) {
            is_definite &= change.is_some();
            if let (Some(change), true) = (change, run.parent != NONE) {
                changes[run.parent as usize].push(change);
            }
        }
        for level in &schedule.levels {
            if !is_definite {
                break;
            }
            let item = |&front: &u32| {
                let panel = of_fronts[front as usize].take().expect("a front is on one level");
                (front, panel, std::mem::take(&mut changes[front as usize]), spare.pop().unwrap_or_default())
            };
            let items: Vec<_> = level.iter().map(item).collect();
            let made = shared(
                items,
                |(front, ..)| tree.fronts[*front as usize].work,
                state,
                |scratch, (front, panel, changes, room)| (making.front(front, panel, &changes, room, scratch), changes),
                pace,
            );
            for (&front, (change, used)) in level.iter().zip(made.await?) {
                spare.extend(used.into_iter().map(|change| change.values));
                is_definite &= change.is_some();
                let parent = tree.fronts[front as usize].parent;
                if let Some(change) = change {
                    if parent == NONE { spare.push(change.values) } else { changes[parent as usize].push(change) }
                }
            }
        }
        if is_definite { Ok(()) } else { Err(Unsolved::Singular) }
    }

    async fn solve(&mut self, x: &mut [f64], pace: &Pace) -> Result<(), Stopped> {
        self.substitute(x, pace).await
    }
}

/// The factor's values of every run, and of every front above them.
fn panels<'a>(tree: &Tree, schedule: &Schedule, factor: &'a mut [f64]) -> (Vec<&'a mut [f64]>, Vec<Option<&'a mut [f64]>>) {
    let (mut rest, mut next) = (factor, 0);
    let mut part = |len: usize| rest.split_off_mut(..len).expect("the factor has all fronts");
    let (mut of_runs, mut of_fronts) = (Vec::with_capacity(schedule.runs.len()), Vec::with_capacity(tree.fronts.len()));
    let mut take_fronts = |from: u32, to: u32, part: &mut dyn FnMut(usize) -> &'a mut [f64]| {
        of_fronts.resize_with(from as usize, || None);
        of_fronts.extend((from..to).map(|front| Some(part(tree.fronts[front as usize].panel().len()))));
    };
    for Run { fronts, .. } in &schedule.runs {
        take_fronts(next, fronts.start, &mut part);
        next = fronts.end;
        of_runs.push(part(tree.fronts[next as usize - 1].panel().end - tree.fronts[fronts.start as usize].values));
    }
    take_fronts(next, tree.fronts.len() as u32, &mut part);
    (of_runs, of_fronts)
}

/// A factor that is made.
struct Making<'a> {
    tree: &'a Tree,
    assembly: &'a Assembly,
    system: &'a System<'a>,
}

impl Making<'_> {
    /// Factors of a run's fronts, and the change of its parent; none if the matrix is not positive definite.
    fn run(&self, run: &Run, panels: &mut [f64], mut out: Vec<f64>, scratch: &mut Scratch) -> Option<Change> {
        let tree = self.tree;
        let first = run.fronts.start;
        let begin = tree.fronts[first as usize].values;
        // A change of a single root is made where it stays, those of several are added up in the places of their parent.
        let together = if run.roots > 1 && run.parent != NONE { tree.fronts[run.parent as usize].height } else { 0 };
        out.clear();
        out.resize(together * together, 0.0);
        let mut change = Change { links: None, rows: together, values: out };
        // Changes of fronts that are begun.
        let mut begun: Vec<Option<Vec<f64>>> = Vec::new();
        begun.resize_with(run.fronts.len(), || None);
        for number in run.fronts.clone() {
            let front = &tree.fronts[number as usize];
            let mut update = match begun[(number - first) as usize].take() {
                Some(update) => update,
                None => self.begin(number, &mut panels[front.values - begin..], scratch)?,
            };
            let (panel, below) = (front.values - begin..front.panel().end - begin, front.below());
            if !front::eliminate(&mut panels[panel], front.height, &mut update, &mut scratch.memory) {
                return None;
            }
            let links = self.assembly.links(number);
            if front.parent != NONE && front.parent < run.fronts.end {
                let parent = &tree.fronts[front.parent as usize];
                let there = &mut begun[(front.parent - first) as usize];
                if there.is_none() {
                    *there = Some(self.begin(front.parent, &mut panels[parent.values - begin..], scratch)?);
                }
                let values = there.as_mut().expect("the parent is begun");
                let panel = &mut panels[parent.values - begin..parent.panel().end - begin];
                of_panel(parent.width, parent.height, panel).add(links, &update, below);
                of_update(parent.width, parent.height, values).add(links, &update, below);
            } else if together > 0 {
                Columns { range: 0..together, base: 0, stride: together, values: &mut change.values }.add(links, &update, below);
            } else if run.parent != NONE {
                (change.links, change.rows) = (Some(number), below);
                std::mem::swap(&mut change.values, &mut update);
            }
            scratch.spare.push(update);
        }
        Some(change)
    }

    /// A front of the matrix's values alone, and room for its change; `panel` may have more behind it.
    fn begin(&self, number: u32, panel: &mut [f64], scratch: &mut Scratch) -> Option<Vec<f64>> {
        let front = &self.tree.fronts[number as usize];
        let panel = &mut panel[..front.panel().len()];
        panel.fill(0.0);
        let is_finite = self.assembly.add_matrix(self.tree, number, self.system, panel);
        is_finite.then(|| zeros(&mut scratch.spare, front.below() * front.below()))
    }

    /// The factor of a front whose changes are all there, and its own change.
    fn front(&self, number: u32, panel: &mut [f64], changes: &[Change], mut update: Vec<f64>, scratch: &mut Scratch) -> Option<Change> {
        let front = &self.tree.fronts[number as usize];
        let (width, height, below) = (front.width, front.height, front.below());
        update.clear();
        update.resize(below * below, 0.0);
        let whole = [Link { from: 0, to: 0, len: height as u32 }];
        let assemble = |mut columns: Columns<'_>| {
            for change in changes {
                let links = change.links.map_or(&whole[..], |child| self.assembly.links(child));
                columns.add(links, &change.values, change.rows);
            }
        };
        panel.fill(0.0);
        if height * height < MANY {
            assemble(of_panel(width, height, panel));
            assemble(of_update(width, height, &mut update));
        } else {
            let mut items = Vec::new();
            for (base, stride, values) in [(0, height, &mut *panel), (width, below, &mut update[..])] {
                let runs = values.chunks_mut(COLUMNS * stride.max(1)).enumerate();
                items.extend(runs.map(|(run, values)| {
                    let start = base + run * COLUMNS;
                    Columns { range: start..start + values.len() / stride, base, stride, values }
                }));
            }
            parallel::each(items, &assemble);
        }
        let is_definite = self.assembly.add_matrix(self.tree, number, self.system, panel)
            && front::eliminate(panel, height, &mut update, &mut scratch.memory);
        is_definite.then_some(Change { links: Some(number), rows: below, values: update })
    }
}

/// The columns of a front that are eliminated.
fn of_panel(width: usize, height: usize, values: &mut [f64]) -> Columns<'_> {
    Columns { range: 0..width, base: 0, stride: height, values }
}

/// The others.
fn of_update(width: usize, height: usize, values: &mut [f64]) -> Columns<'_> {
    Columns { range: width..height, base: width, stride: height - width, values }
}

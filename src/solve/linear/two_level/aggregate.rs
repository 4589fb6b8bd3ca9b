//! Patches: the nodes of a graph in groups of neighbours, grown breadth first from seeds at the edge of those before. The same graph
//! gives the same patches.

use leastwise_base::parallel;
use leastwise_base::task::{Pace, Stopped};
use leastwise_problem::runs;
use std::collections::VecDeque;
use std::ops::Range;

/// A graph by rows: where each node's neighbours begin, and one past the last.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// First neighbour of every node, and the end of the last.
    pub starts: Vec<u32>,
    /// Neighbours, node after node.
    pub neighbours: Vec<u32>,
}

/// Two columns of nodes, of which those at the same place are linked: the first node of each column's table, and numbers within it.
pub type Linked<'a> = [(u32, &'a [u32]); 2];

/// What is in no patch.
pub const NONE: u32 = u32::MAX;

/// A node that may be taken into a patch and was not seen yet; one that may not is marked with [`NONE`].
const OPEN: u32 = NONE - 1;

/// Operations that an end of a link takes, about.
const EACH: usize = 8;

impl Graph {
    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// Neighbours of a node.
    pub fn of(&self, node: u32) -> &[u32] {
        &self.neighbours[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    /// The graph of those links that are `kept`. A node's neighbours are in the order of the links; `most` says how many each has at
    /// most, in all links that are kept.
    pub async fn new(
        most: impl IntoIterator<Item = u32>,
        links: &[Linked<'_>],
        kept: impl Fn(u32, u32) -> bool + Sync,
        pace: &Pace,
    ) -> Result<Self, Stopped> {
        let mut end = 0;
        let ends = most.into_iter().map(|most| {
            end += most;
            end
        });
        let mut starts: Vec<u32> = std::iter::once(0).chain(ends).collect();
        let mut neighbours = vec![0; end as usize];
        let all: usize = links.iter().map(|[left, right]| left.1.len().min(right.1.len())).sum();
        let shares = even(&starts, 4 * EACH * all);
        let rows = parallel::parts(&mut neighbours, &shares, |node| starts[node as usize]);
        let (from, kept) = (&starts, &kept);
        let lens = parallel::ranges(
            shares.into_iter().zip(rows).collect(),
            |range, rows, pace| async move { neighbours_of(range, rows, from, links, kept, &pace).await },
            pace,
        );
        let lens = lens.await?.concat();
        // Rows are moved together.
        let mut end = 0;
        for (node, len) in lens.into_iter().enumerate() {
            let start = std::mem::replace(&mut starts[node], end);
            if start != end {
                neighbours.copy_within(start as usize..(start + len) as usize, end as usize);
            }
            end += len;
        }
        if let Some(last) = starts.last_mut() {
            *last = end;
        }
        neighbours.truncate(end as usize);
        Ok(Self { starts, neighbours })
    }

    /// The patch of every node that takes part, and how many there are: of `size` nodes, more or less.
    pub async fn patches(&self, size: u32, takes_part: impl Fn(u32) -> bool, pace: &Pace) -> Result<(Vec<u32>, u32), Stopped> {
        let nodes = self.nodes() as u32;
        let mut owners = vec![NONE; nodes as usize];
        // The patch that saw an open node last.
        let mut marks: Vec<u32> = (0..nodes).map(|node| if takes_part(node) { OPEN } else { NONE }).collect();
        // Members of patches, one patch after the other, and behind them what the one that grows has seen; in the end a place for what
        // is written in vain.
        let (mut members, mut starts) = (vec![NONE; nodes as usize + 1], vec![0]);
        let (mut edge, mut next) = (VecDeque::new(), 0..nodes);
        loop {
            let is_open = |node: &u32| marks[*node as usize] != NONE;
            let seed = std::iter::from_fn(|| edge.pop_front()).find(is_open).or_else(|| next.find(is_open));
            let Some(seed) = seed else { break };
            let (number, first) = (starts.len() as u32 - 1, starts[starts.len() - 1]);
            members[first] = seed;
            let (place, end, links) = self.grow(number, &mut members, first, size as usize, &mut marks);
            members[first..place].iter().for_each(|&node| owners[node as usize] = number);
            edge.extend(&members[place..end]);
            starts.push(place);
            pace.spend(16 * (place - first) + EACH * links).await?;
        }
        self.merge(&mut owners, &members, &starts, size, pace).await?;
        pace.spend(EACH * owners.len()).await?;
        let count = number(&mut owners, starts.len() - 1);
        Ok((owners, count))
    }

    /// Grows a patch from its first member: one past its last member, one past the nodes that it has seen besides, and how many
    /// neighbours were looked at.
    fn grow(&self, number: u32, members: &mut [u32], first: usize, size: usize, marks: &mut [u32]) -> (usize, usize, usize) {
        let (mut place, mut end, mut links) = (first, first + 1, 0);
        marks[members[first] as usize] = number;
        while place < end && place - first < size {
            let node = members[place];
            place += 1;
            marks[node as usize] = NONE;
            let around = self.of(node);
            links += around.len();
            for &other in around {
                // Without a branch, which would be foreseen badly.
                let mark = &mut marks[other as usize];
                let is_new = (*mark != NONE) & (*mark != number);
                *mark = if is_new { number } else { *mark };
                members[end] = other;
                end += usize::from(is_new);
            }
        }
        (place, end, links)
    }

    /// Joins what is less than half a patch to the smallest of its neighbours.
    async fn merge(&self, owners: &mut [u32], members: &[u32], starts: &[usize], size: u32, pace: &Pace) -> Result<(), Stopped> {
        let patches = starts.len() - 1;
        let mut counts: Vec<u32> = starts.windows(2).map(|ends| (ends[1] - ends[0]) as u32).collect();
        let mut order: Vec<u32> = (0..patches as u32).filter(|&patch| 2 * counts[patch as usize] < size).collect();
        order.sort_by_key(|&patch| counts[patch as usize]);
        // Patches that were joined to one, as a chain: the one behind each, and the last of them.
        let (mut behind, mut last) = (vec![NONE; patches], (0..patches as u32).collect::<Vec<u32>>());
        for patch in order {
            if 2 * counts[patch as usize] >= size {
                continue;
            }
            pace.spend(64 * counts[patch as usize] as usize).await?;
            let joined = || std::iter::successors(Some(patch), |&patch| Some(behind[patch as usize]).filter(|&next| next != NONE));
            let nodes = || joined().flat_map(|patch| &members[starts[patch as usize]..starts[patch as usize + 1]]);
            let around = nodes().flat_map(|&node| self.of(node)).map(|&node| owners[node as usize]);
            let smallest = around.filter(|&other| other != NONE && other != patch).min_by_key(|&other| (counts[other as usize], other));
            let Some(to) = smallest else { continue };
            nodes().for_each(|&node| owners[node as usize] = to);
            counts[to as usize] += std::mem::take(&mut counts[patch as usize]);
            behind[last[to as usize] as usize] = patch;
            last[to as usize] = last[patch as usize];
        }
        Ok(())
    }
}

/// Ranges of rows with about as many entries each, for [`parallel::ranges`].
pub(super) fn even(starts: &[u32], operations: usize) -> Vec<Range<u32>> {
    let rows = starts.len() - 1;
    let row = |entry: u32| if entry == starts[rows] { rows } else { starts.partition_point(|&start| start < entry) } as u32;
    let shares = parallel::shares(starts[rows], operations).into_iter();
    shares.map(|share| if share.start == 0 { 0 } else { row(share.start) }..row(share.end)).collect()
}

/// Fills the rows of a range of nodes, and says how long each is.
async fn neighbours_of(
    range: Range<u32>,
    rows: &mut [u32],
    starts: &[u32],
    links: &[Linked<'_>],
    kept: &(impl Fn(u32, u32) -> bool + Sync),
    pace: &Pace,
) -> Result<Vec<u32>, Stopped> {
    let own = &starts[range.start as usize..range.end as usize];
    let first = starts[range.start as usize];
    let mut next: Vec<u32> = own.iter().map(|start| start - first).collect();
    let mut add = |[(s, left), (t, right)]: [(u32, &[u32]); 2]| {
        for (&i, &j) in left.iter().zip(right) {
            let (a, b) = (s + i, t + j);
            let is_own = |node: u32| node.wrapping_sub(range.start) < own.len() as u32;
            if !(is_own(a) | is_own(b)) || !kept(a, b) {
                continue;
            }
            for (node, other) in [(a, b), (b, a)] {
                if let Some(place) = next.get_mut(node.wrapping_sub(range.start) as usize) {
                    rows[*place as usize] = other;
                    *place += 1;
                }
            }
        }
    };
    for [(s, left), (t, right)] in links {
        for run in runs(left.len().min(right.len())) {
            pace.spend(2 * EACH * run.len()).await?;
            add([(*s, &left[run.clone()]), (*t, &right[run])]);
        }
    }
    next.iter_mut().zip(own).for_each(|(end, start)| *end -= start - first);
    Ok(next)
}

/// Numbers patches in the order of their first nodes, and counts them.
fn number(owners: &mut [u32], patches: usize) -> u32 {
    let (mut numbers, mut count) = (vec![NONE; patches], 0);
    for owner in owners.iter_mut().filter(|owner| **owner != NONE) {
        let number = &mut numbers[*owner as usize];
        if *number == NONE {
            *number = count;
            count += 1;
        }
        *owner = *number;
    }
    count
}

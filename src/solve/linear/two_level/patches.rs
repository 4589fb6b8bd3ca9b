//! Patches of a problem's variables.

use super::aggregate::{Graph, NONE};
use super::space::Space;
use leastwise_base::task::{Pace, Stopped};
use leastwise_problem::{LinkedBatch, LinkedTable, Links, runs};

/// Variables of a patch.
pub const VARIABLES: u32 = 64;
/// A variable in more instances than this is in no patch: it would be next to all of them.
const MOST_INSTANCES: u32 = 256;
/// Of more slots than this only the first is linked with the others.
const MOST_LINKED: usize = 8;

/// The patches of all variables.
pub struct Patches {
    pub count: u32,
    /// The patch of every variable of the problem's moving tables; none for constants.
    pub owners: Vec<Option<Vec<u32>>>,
}

/// A batch's slots that move: the slot, its table and its variables.
type Slots<'a> = Vec<(u32, u32, &'a [u32])>;

/// Operations that an instance takes, about.
const EACH: usize = 8;

impl Patches {
    pub async fn new(links: &Links, space: &Space, pace: &Pace) -> Result<Self, Stopped> {
        let batches: Vec<Slots> = links.batches.iter().map(LinkedBatch::moving_slots).collect();
        let mut first = vec![0u32; links.tables.len() + 1];
        for (number, table) in links.tables.iter().enumerate() {
            first[number + 1] = first[number] + if table.moving { table.site.count } else { 0 };
        }
        let all = first[links.tables.len()] as usize;
        let node = |table: u32, variable: u32| first[table as usize] + variable;
        let mut instances = vec![0u32; all];
        for (_, table, variables) in batches.iter().flatten() {
            for run in runs(variables.len()) {
                pace.spend(EACH * run.len()).await?;
                let of_table = &mut instances[first[*table as usize] as usize..];
                variables[run].iter().for_each(|&variable| of_table[variable as usize] += 1);
            }
        }
        let leads: Vec<bool> = (0..links.tables.len() as u32).map(|table| space.leads(table)).collect();
        let mut edges = Vec::new();
        for slots in &batches {
            let leading: Vec<_> = slots.iter().filter(|(_, table, _)| leads[*table as usize]).collect();
            let pairs = (0..leading.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
            for (a, b) in pairs.filter(|&(a, _)| a == 0 || leading.len() <= MOST_LINKED) {
                let ((_, s, left), (_, t, right)) = (leading[a], leading[b]);
                edges.reserve(left.len().min(right.len()));
                for run in runs(left.len().min(right.len())) {
                    pace.spend(EACH * run.len()).await?;
                    let linked = left[run.clone()].iter().zip(&right[run]).map(|(&i, &j)| (node(*s, i), node(*t, j)));
                    let is_close = |&(i, j): &(u32, u32)| i != j && instances[i as usize].max(instances[j as usize]) <= MOST_INSTANCES;
                    edges.extend(linked.filter(is_close));
                }
            }
        }
        let graph = Graph::new(all, &edges, pace).await?;
        drop(edges);
        let mut is_leading = vec![false; all];
        let (mut leaders, mut total) = (0u64, 0u64);
        for (number, table) in links.moving() {
            let count = table.site.count;
            total += u64::from(count);
            if leads[number as usize] {
                leaders += u64::from(count);
                is_leading[node(number, 0) as usize..node(number, count - 1) as usize + 1].fill(true);
            }
        }
        // Those who follow are variables of a patch as well.
        let size = (u64::from(VARIABLES) * leaders / total.max(1)).max(4) as u32;
        let takes_part = |node: u32| is_leading[node as usize] && (1..=MOST_INSTANCES).contains(&instances[node as usize]);
        let (mut owners, count) = graph.patches(size, takes_part, pace).await?;
        let followed = followed(&batches, &leads, all, node, pace).await?;
        for (place, &leader) in followed.iter().enumerate().filter(|(place, leader)| **leader != NONE && !is_leading[*place]) {
            if instances[place] <= MOST_INSTANCES {
                owners[place] = owners[leader as usize];
            }
        }
        pace.spend(EACH * all).await?;
        let of_table = |(number, table): (usize, &LinkedTable)| {
            table.moving.then(|| owners[first[number] as usize..first[number + 1] as usize].to_vec())
        };
        Ok(Self { count, owners: links.tables.iter().enumerate().map(of_table).collect() })
    }
}

/// The leader that each follower meets in most instances: the one that is left of a vote (Boyer & Moore 1981).
async fn followed(
    batches: &[Slots<'_>],
    leads: &[bool],
    all: usize,
    node: impl Fn(u32, u32) -> u32,
    pace: &Pace,
) -> Result<Vec<u32>, Stopped> {
    let mut votes = vec![(NONE, 0u32); all];
    for slots in batches {
        let (leading, following): (Vec<_>, Vec<_>) = slots.iter().partition(|(_, table, _)| leads[*table as usize]);
        let Some(count) = slots.first().map(|slot| slot.2.len()).filter(|_| !leading.is_empty() && !following.is_empty()) else { continue };
        for run in runs(count) {
            pace.spend(EACH * run.len() * leading.len() * following.len()).await?;
            for instance in run {
                for (_, table, variables) in &following {
                    let vote = &mut votes[node(*table, variables[instance]) as usize];
                    for (_, table, leaders) in &leading {
                        let leader = node(*table, leaders[instance]);
                        match vote {
                            (known, times) if *known == leader => *times += 1,
                            (_, 0) => *vote = (leader, 1),
                            (_, times) => *times -= 1,
                        }
                    }
                }
            }
        }
    }
    Ok(votes.into_iter().map(|vote| vote.0).collect())
}

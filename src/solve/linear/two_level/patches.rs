//! Patches of a problem's variables.

use super::aggregate::{Graph, Linked, NONE};
use super::space::Space;
use leastwise_base::parallel;
use leastwise_base::task::{Pace, Stopped};
use leastwise_problem::{LinkedBatch, Links, runs};
use std::ops::Range;

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

/// A slot that moves: its table and its variables.
type Slot<'a> = (u32, &'a [u32]);

/// A batch's slots whose tables lead, and those whose follow.
struct Slots<'a> {
    leading: Vec<Slot<'a>>,
    following: Vec<Slot<'a>>,
}

impl<'a> Slots<'a> {
    fn new(batch: &'a LinkedBatch, space: &Space) -> Self {
        let moving = batch.moving_slots().into_iter().map(|(_, table, variables)| (table, variables));
        let (leading, following) = moving.partition(|slot: &Slot| space.leads(slot.0));
        Self { leading, following }
    }

    fn are_all_linked(&self) -> bool {
        self.leading.len() <= MOST_LINKED
    }

    /// Every two leading slots that are linked.
    fn pairs(&self) -> impl Iterator<Item = [Slot<'a>; 2]> {
        let pairs = (0..self.leading.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        pairs.filter(|&(a, _)| a == 0 || self.are_all_linked()).map(|(a, b)| [self.leading[a], self.leading[b]])
    }

    /// Slots that a leading one is linked with.
    fn linked_with(&self, slot: usize) -> u32 {
        let others = self.leading.len() as u32 - 1;
        if slot == 0 || self.are_all_linked() { others } else { 1 }
    }

    /// Looks at variables of a table that follow, and at those that they follow.
    fn votes(&self, table: u32) -> usize {
        let looks = self.following.iter().filter(|slot| slot.0 == table).map(|slot| (1 + self.leading.len()) * slot.1.len());
        looks.sum()
    }
}

/// Operations that an instance takes, about.
const EACH: usize = 8;

impl Patches {
    pub async fn new(links: &Links, space: &Space, pace: &Pace) -> Result<Self, Stopped> {
        let batches: Vec<Slots> = links.batches.iter().map(|batch| Slots::new(batch, space)).collect();
        // Nodes are the variables of the tables that lead.
        let leads = |table: u32| links.tables[table as usize].moving && space.leads(table);
        let mut first = vec![0u32];
        for (number, table) in (0..).zip(&links.tables) {
            first.push(first[number as usize] + if leads(number) { table.site.count } else { 0 });
        }
        let first_of = |table: u32| first[table as usize];
        let nodes = first[links.tables.len()];
        // Instances of every node, and links: one word, so that both are added to at once.
        let mut counts = vec![0u64; nodes as usize];
        for slots in &batches {
            for (place, &(table, variables)) in slots.leading.iter().enumerate() {
                let one = 1 | u64::from(slots.linked_with(place)) << 32;
                let of_table = &mut counts[first_of(table) as usize..];
                for run in runs(variables.len()) {
                    pace.spend(EACH * run.len()).await?;
                    for &variable in &variables[run] {
                        let count = &mut of_table[variable as usize];
                        *count = count.wrapping_add(one);
                    }
                }
            }
        }
        let instances: Vec<u32> = counts.iter().map(|&count| count as u32).collect();
        let most = counts.iter().map(|&count| if count as u32 > MOST_INSTANCES { 0 } else { (count >> 32) as u32 });
        let columns = batches.iter().flat_map(|slots| slots.pairs());
        let linked: Vec<Linked> = columns.map(|pair| pair.map(|(table, variables)| (first_of(table), variables))).collect();
        let is_few = |node: u32| instances[node as usize] <= MOST_INSTANCES;
        let graph = Graph::new(most, &linked, |a, b| a != b && is_few(a) && is_few(b), pace).await?;
        drop(counts);
        // Those who follow are variables of a patch as well.
        let total: u64 = links.moving().map(|(_, table)| u64::from(table.site.count)).sum();
        let size = (u64::from(VARIABLES) * u64::from(nodes) / total.max(1)).max(4) as u32;
        let takes_part = |node: u32| instances[node as usize] > 0 && is_few(node);
        let (of_nodes, count) = graph.patches(size, takes_part, pace).await?;
        let mut owners = Vec::new();
        for (number, table) in (0..).zip(&links.tables) {
            owners.push(if leads(number) {
                Some(of_nodes[first_of(number) as usize..first_of(number + 1) as usize].to_vec())
            } else if table.moving {
                let votes: usize = batches.iter().map(|slots| slots.votes(number)).sum();
                let shares = parallel::shares(table.site.count, EACH * votes).into_iter().map(|range| (range, ()));
                let (batches, first, patches) = (&batches[..], &first[..], &of_nodes[..]);
                let followed = parallel::ranges(
                    shares.collect(),
                    |range, (), pace| async move { followed(range, batches, number, first, patches, &pace).await },
                    pace,
                );
                Some(followed.await?.concat())
            } else {
                None
            });
        }
        Ok(Self { count, owners })
    }
}

/// The votes for the leader of a variable that follows, and its instances.
#[derive(Clone, Copy)]
struct Votes {
    leader: u32,
    ahead: u32,
    instances: u32,
}

impl Votes {
    const NONE: Self = Self { leader: NONE, ahead: 0, instances: 0 };

    fn add(&mut self, leader: u32) {
        let is_for = self.leader == leader || self.ahead == 0;
        self.leader = if is_for { leader } else { self.leader };
        self.ahead = if is_for { self.ahead + 1 } else { self.ahead - 1 };
    }
}

/// Has instances vote for leaders of variables, of which votes are from `first` on. Leaders are given with the first node of their table.
fn vote(instances: Range<usize>, following: &[&[u32]], leading: &[Slot], first: u32, votes: &mut [Votes]) {
    for instance in instances {
        for variables in following {
            let Some(votes) = votes.get_mut(variables[instance].wrapping_sub(first) as usize) else { continue };
            votes.instances += 1;
            leading.iter().for_each(|(of_table, leaders)| votes.add(of_table + leaders[instance]));
        }
    }
}

/// The patches of variables that follow, of a range of a table's: those of the leaders that they meet in most instances, of which one
/// is left by a vote (Boyer & Moore 1981).
async fn followed(
    range: Range<u32>,
    batches: &[Slots<'_>],
    table: u32,
    first: &[u32],
    patches: &[u32],
    pace: &Pace,
) -> Result<Vec<u32>, Stopped> {
    let mut votes = vec![Votes::NONE; range.len()];
    for slots in batches {
        let leading: Vec<Slot> = slots.leading.iter().map(|&(table, leaders)| (first[table as usize], leaders)).collect();
        let following: Vec<&[u32]> = slots.following.iter().filter(|slot| slot.0 == table).map(|slot| slot.1).collect();
        for run in runs(following.first().map_or(0, |variables| variables.len())) {
            pace.spend(EACH * run.len() * (1 + leading.len()) * following.len()).await?;
            vote(run, &following, &leading, range.start, &mut votes);
        }
    }
    let patch = |votes: Votes| match votes {
        Votes { leader, instances: 0..=MOST_INSTANCES, .. } if leader != NONE => patches[leader as usize],
        _ => NONE,
    };
    Ok(votes.into_iter().map(patch).collect())
}

//! The partition of a problem's instances among ranks.
//!
//! Variables and instances are the two sides of the incidence graph. Variables are bisected recursively by greedy graph growing
//! (Karypis & Kumar, *A fast and high quality multilevel scheme for partitioning irregular graphs*, SIAM J. Sci. Comput. 20, 1998,
//! section 4.2, without levels): a part grows by the variable that cuts least, from one far from the middle, until it has its share of
//! incidences. Variables at the border then move where most of their neighbours are, while the balance allows it. An instance goes to
//! the rank of most of its variables, of several to the one with the fewest instances. No coordinates are used, nothing is drawn at
//! random, and ties go to the lowest number: every rank finds the same partition.
//!
//! Rows of some tables may have to be whole, as a Schur complement wants of those that it eliminates: their instances go with them, and
//! parts are weighed by these.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Rank of what no instance touches.
pub const NOBODY: u32 = u32::MAX;

/// Part of the average that a rank may have more.
const SLACK: f64 = 0.03;
/// Passes over variables at borders.
const PASSES: usize = 4;

/// Index columns of a term that lead to variables: the table of each, and its row of every instance.
pub struct Links<'a> {
    /// Number of instances.
    pub count: u32,
    /// Table and rows of every slot that is a variable.
    pub slots: Vec<(u32, &'a [u32])>,
}

/// The rank of every instance, and the owner of every variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// By term and instance.
    pub instances: Vec<Vec<u32>>,
    /// By table and row; [`NOBODY`] where no instance touches it.
    pub owners: Vec<Vec<u32>>,
    /// Variables that several ranks touch: table and row, ascending.
    pub cut: Vec<(u32, u32)>,
}

/// Variables and instances by number, and what touches what.
struct Graph {
    /// Number of the first variable of each table, and the number of all.
    first: Vec<u32>,
    /// Variables of each instance, each once: ends in `variables`.
    ends: Vec<u32>,
    variables: Vec<u32>,
    /// Instances of each variable: ends in `instances`.
    touching: Vec<u32>,
    instances: Vec<u32>,
    /// Neighbours of each variable, once for each instance.
    degrees: Vec<i64>,
    /// Of each instance, the variable that it goes with, or [`NOBODY`].
    leaders: Vec<u32>,
    /// Instances that count for each variable: its own, or those that go with it and with nothing else.
    weights: Vec<u64>,
}

impl Graph {
    fn new(counts: &[u32], terms: &[Links], whole: &[u32]) -> Self {
        let mut first = vec![0];
        counts.iter().for_each(|count| first.push(first[first.len() - 1] + count));
        let (mut ends, mut variables, mut leaders) = (vec![0], Vec::new(), Vec::new());
        for term in terms {
            let leading = term.slots.iter().find(|(table, _)| whole.contains(table));
            for instance in 0..term.count as usize {
                leaders.push(leading.map_or(NOBODY, |&(table, rows)| first[table as usize] + rows[instance]));
                let begin = variables.len();
                for &(table, rows) in &term.slots {
                    let variable = first[table as usize] + rows[instance];
                    if !variables[begin..].contains(&variable) {
                        variables.push(variable);
                    }
                }
                ends.push(variables.len() as u32);
            }
        }
        let mut touching = vec![0u32; first[first.len() - 1] as usize + 1];
        variables.iter().for_each(|variable| touching[*variable as usize + 1] += 1);
        (1..touching.len()).for_each(|place| touching[place] += touching[place - 1]);
        let (mut next, mut instances) = (touching.clone(), vec![0; variables.len()]);
        let mut degrees = vec![0; touching.len() - 1];
        let mut weights = vec![0; touching.len() - 1];
        for instance in 0..ends.len() - 1 {
            let own = &variables[ends[instance] as usize..ends[instance + 1] as usize];
            for variable in own {
                instances[next[*variable as usize] as usize] = instance as u32;
                next[*variable as usize] += 1;
                degrees[*variable as usize] += own.len() as i64 - 1;
                weights[*variable as usize] += u64::from([NOBODY, *variable].contains(&leaders[instance]));
            }
        }
        Self { first, ends, variables, touching, instances, degrees, leaders, weights }
    }

    fn of_instance(&self, instance: u32) -> &[u32] {
        &self.variables[self.ends[instance as usize] as usize..self.ends[instance as usize + 1] as usize]
    }

    fn of_variable(&self, variable: u32) -> &[u32] {
        &self.instances[self.touching[variable as usize] as usize..self.touching[variable as usize + 1] as usize]
    }

    /// Variables that share an instance with one, once for each such instance.
    fn neighbours(&self, variable: u32) -> impl Iterator<Item = u32> + '_ {
        self.of_variable(variable).iter().flat_map(|instance| self.of_instance(*instance)).copied().filter(move |other| *other != variable)
    }

    fn weight(&self, variable: u32) -> u64 {
        self.weights[variable as usize]
    }

    fn is_touched(&self, variable: u32) -> bool {
        !self.of_variable(variable).is_empty()
    }

    /// Gives the variables of `rank_of` = `ranks.0` to the ranks from there on, so many.
    fn bisect(&self, variables: Vec<u32>, (rank, ranks): (u32, u32), rank_of: &mut [u32]) {
        if ranks < 2 || variables.is_empty() {
            return;
        }
        let all: u64 = variables.iter().map(|variable| self.weight(*variable)).sum();
        let upper = ranks / 2;
        let share = all * u64::from(upper) / u64::from(ranks);
        let other = rank + ranks - upper;
        // The upper part grows.
        let mut inside = vec![0i64; rank_of.len()];
        let mut heap = BinaryHeap::new();
        let mut grown = 0;
        let start = self.far_from(variables[0], rank, rank_of);
        let mut seeds = std::iter::once(start).chain(variables.iter().copied());
        while grown < share {
            let next = heap.pop().map(|(_, Reverse(variable))| variable).or_else(|| seeds.next());
            let Some(variable) = next else { break };
            if rank_of[variable as usize] != rank {
                continue;
            }
            rank_of[variable as usize] = other;
            grown += self.weight(variable);
            for neighbour in self.neighbours(variable).filter(|neighbour| rank_of[*neighbour as usize] == rank) {
                inside[neighbour as usize] += 1;
                // Neighbours inside less neighbours outside.
                heap.push((2 * inside[neighbour as usize] - self.degrees[neighbour as usize], Reverse(neighbour)));
            }
        }
        let (lower, upper_part) = variables.into_iter().partition(|variable| rank_of[*variable as usize] == rank);
        self.bisect(lower, (rank, ranks - upper), rank_of);
        self.bisect(upper_part, (other, upper), rank_of);
    }

    /// The last variable of a part that a breadth-first search from one finds.
    fn far_from(&self, variable: u32, rank: u32, rank_of: &[u32]) -> u32 {
        let mut seen = vec![false; rank_of.len()];
        seen[variable as usize] = true;
        let mut queue = std::collections::VecDeque::from([variable]);
        let mut last = variable;
        while let Some(next) = queue.pop_front() {
            last = next;
            let is_new = |other: &u32| rank_of[*other as usize] == rank && !std::mem::replace(&mut seen[*other as usize], true);
            queue.extend(self.neighbours(next).filter(is_new));
        }
        last
    }

    /// Moves variables at borders to the rank of most of their neighbours.
    fn refine(&self, ranks: u32, rank_of: &mut [u32]) {
        let mut weights = vec![0; ranks as usize];
        let touched: Vec<u32> = (0..rank_of.len() as u32).filter(|variable| self.is_touched(*variable)).collect();
        touched.iter().for_each(|variable| weights[rank_of[*variable as usize] as usize] += self.weight(*variable));
        let most = (weights.iter().sum::<u64>() as f64 / f64::from(ranks) * (1.0 + SLACK)) as u64;
        for _ in 0..PASSES {
            let mut moved = false;
            for &variable in &touched {
                let (own, weight) = (rank_of[variable as usize] as usize, self.weight(variable));
                let mut near = vec![0u64; ranks as usize];
                self.neighbours(variable).for_each(|other| near[rank_of[other as usize] as usize] += 1);
                let fits = |rank: &usize| near[*rank] > near[own] && weights[*rank] + weight <= most;
                let best = (0..ranks as usize).filter(fits).max_by_key(|rank| (near[*rank], Reverse(*rank)));
                if let Some(best) = best {
                    (weights[own], weights[best]) = (weights[own] - weight, weights[best] + weight);
                    rank_of[variable as usize] = best as u32;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
    }
}

impl Partition {
    /// The partition of terms over tables of so many variables; tables of constants have none. Rows of the tables in `whole`, of which an
    /// instance has one at most, are not cut.
    pub fn new(ranks: u32, counts: &[u32], terms: &[Links], whole: &[u32]) -> Self {
        let graph = Graph::new(counts, terms, whole);
        let mut rank_of = vec![0; graph.first[counts.len()] as usize];
        let touched = (0..rank_of.len() as u32).filter(|variable| graph.is_touched(*variable)).collect();
        graph.bisect(touched, (0, ranks), &mut rank_of);
        graph.refine(ranks, &mut rank_of);
        // Instances go where most of their variables are; then ranks that have too many give some to others that their variables touch.
        let mut loads = vec![0u32; ranks as usize];
        let all = graph.ends.len() as u32 - 1;
        let follows = |instance: u32| graph.leaders[instance as usize] != NOBODY;
        let mut flat: Vec<u32> = (0..all)
            .map(|instance| {
                let mut votes = vec![0u32; ranks as usize];
                graph.of_instance(instance).iter().for_each(|variable| votes[rank_of[*variable as usize] as usize] += 1);
                let voted = || (0..ranks as usize).max_by_key(|rank| (votes[*rank], Reverse((loads[*rank], *rank)))).unwrap_or(0);
                let best = if follows(instance) { rank_of[graph.leaders[instance as usize] as usize] as usize } else { voted() };
                loads[best] += 1;
                best as u32
            })
            .collect();
        let average = f64::from(all) / f64::from(ranks);
        for (instance, rank) in (0..).zip(&mut flat).filter(|(instance, _)| ranks > 1 && !follows(*instance)) {
            let near = graph.of_instance(instance).iter().map(|variable| rank_of[*variable as usize]);
            let Some(other) = near.min_by_key(|rank| (loads[*rank as usize], *rank)) else { continue };
            if f64::from(loads[*rank as usize]) > average * (1.0 + SLACK) && f64::from(loads[other as usize]) < average {
                (loads[*rank as usize], loads[other as usize]) = (loads[*rank as usize] - 1, loads[other as usize] + 1);
                *rank = other;
            }
        }
        let mut rest = &flat[..];
        let instances = terms.iter().map(|term| rest.split_off(..term.count as usize).unwrap_or_default().to_vec()).collect();
        // Owners, and what is cut.
        let mut cut = Vec::new();
        let owners = counts.iter().enumerate().map(|(table, &count)| {
            let owner = |row: u32| {
                let variable = graph.first[table] + row;
                let mut ranks = graph.of_variable(variable).iter().map(|instance| flat[*instance as usize]);
                let Some(first) = ranks.next() else { return NOBODY };
                let (mut lowest, mut touches, mut several) = (first, first == rank_of[variable as usize], false);
                for rank in ranks {
                    (lowest, touches, several) =
                        (lowest.min(rank), touches || rank == rank_of[variable as usize], several || rank != first);
                }
                if several {
                    cut.push((table as u32, row));
                }
                if touches { rank_of[variable as usize] } else { lowest }
            };
            (0..count).map(owner).collect()
        });
        let owners = owners.collect();
        Self { instances, owners, cut }
    }

    /// Instances of each of so many ranks.
    pub fn loads(&self, ranks: u32) -> Vec<u32> {
        let mut loads = vec![0; ranks as usize];
        self.instances.iter().flatten().for_each(|rank| loads[*rank as usize] += 1);
        loads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Springs along the rows and columns of a grid.
    fn grid(width: u32, height: u32) -> [Vec<u32>; 2] {
        let at = |x: u32, y: u32| y * width + x;
        let across = (0..height).flat_map(|y| (1..width).map(move |x| (at(x - 1, y), at(x, y))));
        let down = (1..height).flat_map(|y| (0..width).map(move |x| (at(x, y - 1), at(x, y))));
        let (starts, ends) = across.chain(down).unzip();
        [starts, ends]
    }

    #[test]
    fn a_grid_is_cut_into_balanced_parts_with_short_borders() {
        let (width, height) = (40, 24);
        let [starts, ends] = grid(width, height);
        for ranks in 1..=4 {
            let links = || [Links { count: starts.len() as u32, slots: vec![(0, &starts[..]), (0, &ends[..])] }];
            let partition = Partition::new(ranks, &[width * height], &links(), &[]);
            assert_eq!(partition, Partition::new(ranks, &[width * height], &links(), &[]), "it is always the same");
            let loads = partition.loads(ranks);
            let (least, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
            assert!(f64::from(*most) < 1.1 * f64::from(*least), "{loads:?}");
            // A straight cut has 24 variables; three cuts, no more than 2.5 times as many each.
            assert!(partition.cut.len() <= 60 * (ranks as usize - 1), "{ranks} ranks: {} variables are cut", partition.cut.len());
            assert_eq!(partition.cut.is_empty(), ranks == 1);
            for (row, owner) in (0..).zip(&partition.owners[0]) {
                let touching = (0..starts.len()).filter(|&spring| starts[spring] == row || ends[spring] == row);
                let mut by: Vec<u32> = touching.map(|spring| partition.instances[0][spring]).collect();
                by.sort_unstable();
                by.dedup();
                assert!(by.contains(owner), "an owner touches what it owns");
                assert_eq!(by.len() > 1, partition.cut.contains(&(0, row)));
            }
        }
    }

    #[test]
    fn islands_are_not_cut_and_what_is_alone_has_no_owner() {
        // Four chains of ten variables, which no instance connects, and one variable that none touches.
        let starts: Vec<u32> = (0..40).filter(|i| i % 10 != 9).collect();
        let ends: Vec<u32> = starts.iter().map(|i| i + 1).collect();
        let links = [Links { count: starts.len() as u32, slots: vec![(0, &starts[..]), (0, &ends[..])] }];
        let partition = Partition::new(4, &[41], &links, &[]);
        assert_eq!((partition.cut.len(), partition.loads(4)), (0, vec![9; 4]));
        assert_eq!(partition.owners[0][40], NOBODY);
    }

    #[test]
    fn rows_that_are_whole_are_not_cut_and_parts_stay_balanced() {
        // Points, each seen by three cameras in a row of twelve; a focal length that all views share; springs between cameras.
        let (cameras, points) = (12, 500);
        let views = (0..points).flat_map(|point| (0..3).map(move |next| ((point * 10 / points + next), point)));
        let (by, of): (Vec<u32>, Vec<u32>) = views.unzip();
        let (all, starts) = (vec![0; by.len()], (0..cameras - 1).collect::<Vec<u32>>());
        let ends: Vec<u32> = starts.iter().map(|camera| camera + 1).collect();
        for ranks in 1..=4 {
            let links = [
                Links { count: by.len() as u32, slots: vec![(0, &by[..]), (1, &of[..]), (2, &all[..])] },
                Links { count: starts.len() as u32, slots: vec![(0, &starts[..]), (0, &ends[..])] },
            ];
            let partition = Partition::new(ranks, &[cameras, points, 1], &links, &[1]);
            assert!(partition.cut.iter().all(|(table, _)| *table != 1), "{ranks} ranks cut {:?}", partition.cut);
            for (view, point) in of.iter().enumerate() {
                assert_eq!(partition.instances[0][view], partition.owners[1][*point as usize], "a view is where its point is");
            }
            let loads = partition.loads(ranks);
            let (least, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
            assert!(f64::from(*most) < 1.1 * f64::from(*least), "{loads:?}");
            // Neighbours share the cameras at their border, and all share the focal length.
            let cut = |table: u32| partition.cut.iter().filter(|cut| cut.0 == table).count() as u32;
            assert!(cut(0) <= 4 * (ranks - 1), "{ranks} ranks share {} cameras", cut(0));
            assert_eq!(cut(2), u32::from(ranks > 1));
        }
    }
}

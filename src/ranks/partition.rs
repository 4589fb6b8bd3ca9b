//! The partition of a problem's instances among ranks.
//!
//! Variables and instances are the two sides of the incidence graph. Variables are bisected recursively by greedy graph growing
//! (Karypis & Kumar, *A fast and high quality multilevel scheme for partitioning irregular graphs*, SIAM J. Sci. Comput. 20, 1998,
//! section 4.2, without levels): a part grows by the variable that cuts least, from one far from the middle, until it has its share of
//! the instances' cost. Variables at the border then move where most of their neighbours are, while the balance allows it. An instance
//! goes to the rank of most of its variables, of several with the one that the fewest others touch. No coordinates are used, nothing is
//! drawn at random, and ties go to the lowest number: every rank finds the same partition.
//!
//! Variables that a large part of all instances touch have no say in it (`graph.rs`). Instances that touch nothing else fill ranks up,
//! and ranks that have too much all the same give some away, first those of the variables that most others touch.
//!
//! Rows of some tables may have to be whole, as a Schur complement wants of those that it eliminates: their instances go with them, and
//! parts are weighed by these.

use super::graph::{Graph, firsts};
use super::growth::{most, ranks_of_variables};
use std::cmp::Reverse;

pub use super::graph::{Links, NOBODY};

/// A variable has no vote for an instance if so many times as many touch it as the one that the fewest touch: it is shared more likely.
const COMPARABLE: u64 = 4;

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

/// Ranks of instances, by those of variables.
struct Assignment<'a> {
    graph: &'a Graph,
    rank_of: &'a [u32],
    /// Cost of all instances of a rank.
    loads: Vec<u64>,
    average: u64,
    most: u64,
    /// By instance; [`NOBODY`] for those of hubs alone, until they fill ranks up.
    ranks: Vec<u32>,
}

impl Assignment<'_> {
    /// Rank of most of an instance's variables; where there are several, that of its leader if it is one of them.
    fn voted(&self, instance: u32) -> u32 {
        let leader = self.graph.leader(instance);
        let bound = self.graph.touched(leader).saturating_mul(COMPARABLE);
        let own = self.graph.of_instance(instance);
        let voters =
            || own.iter().filter(|variable| self.graph.touched(**variable) <= bound).map(|variable| self.rank_of[*variable as usize]);
        let votes = |rank: u32| voters().filter(|other| *other == rank).count();
        let first = self.rank_of[leader as usize];
        voters().fold((first, votes(first)), |best, rank| if votes(rank) > best.1 { (rank, votes(rank)) } else { best }).0
    }

    /// Gives every instance that has a leader a rank.
    fn assign(&mut self) {
        for (instance, cost, is_bound) in self.graph.instances() {
            let leader = self.graph.leader(instance);
            let rank = match leader {
                NOBODY => NOBODY,
                _ if is_bound => self.rank_of[leader as usize],
                _ => self.voted(instance),
            };
            self.ranks.push(rank);
            if rank != NOBODY {
                self.loads[rank as usize] += cost;
            }
        }
    }

    fn give(&mut self, instance: u32, rank: u32, cost: u64) {
        let before = std::mem::replace(&mut self.ranks[instance as usize], rank);
        if before != NOBODY {
            self.loads[before as usize] -= cost;
        }
        self.loads[rank as usize] += cost;
    }

    fn is_over(&self, rank: u32) -> bool {
        rank != NOBODY && self.loads[rank as usize] > self.most
    }

    /// Has ranks with too much give instances to others that their variables are of.
    fn relieve(&mut self) {
        if (0..self.loads.len() as u32).all(|rank| !self.is_over(rank)) {
            return;
        }
        for (instance, cost, is_bound) in self.graph.instances() {
            if is_bound || !self.is_over(self.ranks[instance as usize]) {
                continue;
            }
            let near = self.graph.of_instance(instance).iter().map(|variable| self.rank_of[*variable as usize]);
            let Some(other) = near.min_by_key(|rank| (self.loads[*rank as usize], *rank)) else { continue };
            if self.loads[other as usize] + cost <= self.average {
                self.give(instance, other, cost);
            }
        }
    }

    /// Fills ranks up with instances of hubs alone, one rank after the other.
    fn fill(&mut self) {
        let mut rank = 0;
        for (instance, cost, _) in self.graph.instances() {
            if self.ranks[instance as usize] == NOBODY {
                while 2 * self.loads[rank] + cost > 2 * self.average && rank + 1 < self.loads.len() {
                    rank += 1;
                }
                self.give(instance, rank as u32, cost);
            }
        }
    }

    /// The rank that has least.
    fn lightest(&self) -> u32 {
        (0..self.loads.len()).min_by_key(|rank| (self.loads[*rank], *rank)).unwrap_or(0) as u32
    }

    /// Has ranks with too much give instances to others, first those whose leaders have most: they cut the fewest variables.
    fn give_away(&mut self) {
        let is_over = |(instance, _, is_bound): &(u32, u64, bool)| !is_bound && self.is_over(self.ranks[*instance as usize]);
        let mut given: Vec<_> = self.graph.instances().filter(is_over).collect();
        let weight = |leader: u32| if leader == NOBODY { u64::MAX } else { self.graph.weight(leader) };
        given.sort_by_key(|(instance, ..)| {
            let leader = self.graph.leader(*instance);
            (Reverse(weight(leader)), leader)
        });
        let mut to = self.lightest();
        for (instance, cost, _) in given {
            let own = self.ranks[instance as usize];
            // As much as it takes to the average: the one that gives stays above it.
            if self.loads[own as usize] < self.average + cost {
                continue;
            }
            if self.loads[to as usize] + cost > self.average {
                to = self.lightest();
            }
            if self.loads[to as usize] + cost < self.loads[own as usize] {
                self.give(instance, to, cost);
            }
        }
    }

    /// Gives ranks without instances one of the rank that has most to give: instances that are bound stay, and a donor keeps one.
    fn leave_none_empty(&mut self) {
        let (mut counts, mut unbound) = (vec![0u32; self.loads.len()], vec![0u32; self.loads.len()]);
        for (instance, _, is_bound) in self.graph.instances() {
            let rank = self.ranks[instance as usize] as usize;
            counts[rank] += 1;
            unbound[rank] += u32::from(!is_bound);
        }
        for empty in 0..counts.len() {
            if counts[empty] > 0 {
                continue;
            }
            let gives = |rank: &usize| counts[*rank] > 1 && unbound[*rank] > 0;
            let Some(donor) = (0..counts.len()).filter(gives).max_by_key(|rank| (unbound[*rank], Reverse(*rank))) else { return };
            let of_donor = |(instance, _, is_bound): &(u32, u64, bool)| !is_bound && self.ranks[*instance as usize] as usize == donor;
            let Some((instance, cost, _)) = self.graph.instances().filter(of_donor).last() else { return };
            self.give(instance, empty as u32, cost);
            (counts[empty], unbound[empty]) = (1, 1);
            (counts[donor], unbound[donor]) = (counts[donor] - 1, unbound[donor] - 1);
        }
    }
}

impl Partition {
    /// The partition of terms over tables of so many variables; tables of constants have none. Rows of the tables in `whole`, of which an
    /// instance has one at most, are not cut.
    pub fn new(ranks: u32, counts: &[u32], terms: &[Links], whole: &[u32]) -> Self {
        let (ranks, first) = (ranks.max(1), firsts(counts));
        let count = first[counts.len()] as usize;
        let (flat, rank_of) = if ranks == 1 {
            (vec![0; terms.iter().map(|term| term.count as usize).sum()], vec![0; count])
        } else {
            let graph = Graph::new(ranks, &first, terms, whole);
            let rank_of = ranks_of_variables(&graph, ranks);
            let (loads, average, most) = (vec![0; ranks as usize], graph.total / u64::from(ranks), most(graph.total, ranks));
            let mut assignment = Assignment { graph: &graph, rank_of: &rank_of, loads, average, most, ranks: Vec::new() };
            assignment.assign();
            assignment.relieve();
            assignment.fill();
            assignment.give_away();
            assignment.leave_none_empty();
            (assignment.ranks, rank_of)
        };
        let mut rest = &flat[..];
        let instances: Vec<Vec<u32>> =
            terms.iter().map(|term| rest.split_off(..term.count as usize).unwrap_or_default().to_vec()).collect();
        // Owners, and what is cut: the lowest and the highest rank that touch a variable, and if its own one does.
        let mut touching = vec![(NOBODY, 0, false); count];
        for (term, ranks) in terms.iter().zip(&instances) {
            for &(table, rows) in &term.slots {
                for (row, rank) in rows.iter().zip(ranks) {
                    let variable = (first[table as usize] + row) as usize;
                    let (lowest, highest, owns) = &mut touching[variable];
                    (*lowest, *highest) = ((*lowest).min(*rank), (*highest).max(*rank));
                    *owns |= *rank == rank_of[variable];
                }
            }
        }
        let of_table = |table: usize| first[table] as usize..first[table + 1] as usize;
        let owner = |variable: usize| if touching[variable].2 { rank_of[variable] } else { touching[variable].0 };
        let owners = (0..counts.len()).map(|table| of_table(table).map(owner).collect()).collect();
        let is_cut = |variable: &usize| touching[*variable].0 < touching[*variable].1;
        let cut_of = |table: usize| of_table(table).filter(is_cut).map(move |variable| (table, variable));
        let cut = (0..counts.len()).flat_map(cut_of).map(|(table, variable)| (table as u32, variable as u32 - first[table])).collect();
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

    /// Cost of an instance, and tables with their rows of all instances.
    struct Term(u32, Vec<(u32, Vec<u32>)>);

    fn divided(ranks: u32, counts: &[u32], terms: &[Term], whole: &[u32]) -> Partition {
        let mut links = Vec::new();
        for Term(cost, slots) in terms {
            let count = slots[0].1.len() as u32;
            let slots = slots.iter().map(|(table, rows)| (*table, &rows[..])).collect();
            links.push(Links { count, cost: *cost, slots });
        }
        let partition = Partition::new(ranks, counts, &links, whole);
        assert_eq!(partition, Partition::new(ranks, counts, &links, whole), "it is always the same");
        for (term, by) in terms.iter().zip(&partition.instances) {
            assert!(by.len() == term.1[0].1.len() && by.iter().all(|rank| *rank < ranks));
        }
        // Owners touch what they own, and what several touch is cut.
        let mut touching = vec![Vec::new(); counts.iter().sum::<u32>() as usize];
        let first = firsts(counts);
        for (Term(_, slots), by) in terms.iter().zip(&partition.instances) {
            for (table, rows) in slots {
                rows.iter().zip(by).for_each(|(row, rank)| touching[(first[*table as usize] + row) as usize].push(*rank));
            }
        }
        for (table, owners) in (0..).zip(&partition.owners) {
            for (row, owner) in (0..).zip(owners) {
                let mut by = std::mem::take(&mut touching[(first[table as usize] + row) as usize]);
                by.sort_unstable();
                by.dedup();
                assert!(if by.is_empty() { *owner == NOBODY } else { by.contains(owner) }, "an owner touches what it owns");
                assert_eq!(by.len() > 1, partition.cut.contains(&(table, row)));
            }
        }
        partition
    }

    /// The largest cost of a rank's instances, as a part of the average.
    fn largest(partition: &Partition, ranks: u32, terms: &[Term]) -> f64 {
        let mut costs = vec![0.0; ranks as usize];
        for (Term(cost, _), by) in terms.iter().zip(&partition.instances) {
            by.iter().for_each(|rank| costs[*rank as usize] += f64::from(*cost));
        }
        costs.iter().fold(0.0, |most: f64, cost| most.max(*cost)) / costs.iter().sum::<f64>() * f64::from(ranks)
    }

    /// Rows of a table that are cut.
    fn cut(partition: &Partition, table: u32) -> u32 {
        partition.cut.iter().filter(|cut| cut.0 == table).count() as u32
    }

    /// Springs along the rows and columns of a grid.
    fn grid(width: u32, height: u32) -> [Vec<u32>; 2] {
        let at = |x: u32, y: u32| y * width + x;
        let across = (0..height).flat_map(|y| (1..width).map(move |x| (at(x - 1, y), at(x, y))));
        let down = (1..height).flat_map(|y| (0..width).map(move |x| (at(x, y - 1), at(x, y))));
        let (starts, ends) = across.chain(down).unzip();
        [starts, ends]
    }

    /// Cameras, and points that each five see which follow each other, in a ring.
    fn ring(cameras: u32, points: u32) -> [Vec<u32>; 2] {
        let views = (0..points).flat_map(|point| (0..5).map(move |next| ((point * cameras / points + next) % cameras, point)));
        let (by, of) = views.unzip();
        [by, of]
    }

    #[test]
    fn a_grid_is_cut_into_balanced_parts_with_short_borders() {
        let (width, height) = (40, 24);
        for ranks in 1..=4 {
            let terms = [Term(1, grid(width, height).map(|rows| (0, rows)).to_vec())];
            let partition = divided(ranks, &[width * height], &terms, &[]);
            assert!(largest(&partition, ranks, &terms) < 1.03, "{:?}", partition.loads(ranks));
            // A straight cut has 24 variables; three cuts, no more than 2.5 times as many each.
            assert!(partition.cut.len() <= 60 * (ranks as usize - 1), "{ranks} ranks: {} variables are cut", partition.cut.len());
            assert_eq!(partition.cut.is_empty(), ranks == 1);
        }
    }

    #[test]
    fn islands_are_not_cut_and_what_is_alone_has_no_owner() {
        // Four chains of ten variables, which no instance connects, and one variable that none touches.
        let starts: Vec<u32> = (0..40).filter(|i| i % 10 != 9).collect();
        let ends: Vec<u32> = starts.iter().map(|i| i + 1).collect();
        let partition = divided(4, &[41], &[Term(1, vec![(0, starts), (0, ends)])], &[]);
        assert_eq!((partition.cut.len(), partition.loads(4)), (0, vec![9; 4]));
        assert_eq!(partition.owners[0][40], NOBODY);
    }

    /// A focal length of all cameras, the scale of a mesh: parts are those that there are without it, to the instance.
    #[test]
    fn variables_that_all_touch_steer_nothing() {
        let [by, of] = ring(300, 3000);
        let [starts, ends] = grid(50, 40);
        let scenes = [([300, 3000], vec![(0, by), (1, of)]), ([2000, 0], vec![(0, starts), (0, ends)])];
        for ([a, b], slots) in scenes {
            let count = slots[0].1.len();
            for (ranks, hubs) in [(2, 1), (3, 1), (4, 1), (8, 1), (2, 2), (8, 2)] {
                let without = [Term(20, slots.clone())];
                let with = [Term(20, [slots.clone(), (0..hubs).map(|hub| (2, vec![hub; count])).collect()].concat())];
                let [expected, found] = [&without, &with].map(|terms| divided(ranks, &[a, b, hubs], terms, &[]));
                assert_eq!(found.instances, expected.instances, "{ranks} ranks, {hubs} hubs");
                assert_eq!(found.cut, [&expected.cut[..], &(0..hubs).map(|hub| (2, hub)).collect::<Vec<_>>()].concat());
                assert!(largest(&found, ranks, &with) < 1.03, "{:?}", found.loads(ranks));
            }
        }
    }

    #[test]
    fn views_go_with_their_points_and_cameras_at_borders_are_shared() {
        let [by, of] = ring(300, 3000);
        // Each camera has a lens besides, as 30 that follow each other do.
        let lenses: Vec<u32> = by.iter().map(|camera| camera / 30).collect();
        let terms = [Term(20, vec![(0, by), (1, of), (2, lenses)]), Term(12, vec![(1, (0..3000).collect())])];
        for ranks in [2, 3, 4, 8] {
            let partition = divided(ranks, &[300, 3000, 10], &terms, &[]);
            assert_eq!(cut(&partition, 1), 0, "{ranks} ranks cut points");
            assert!(cut(&partition, 0) <= 5 * ranks, "{ranks} ranks share {} cameras", cut(&partition, 0));
            assert!(largest(&partition, ranks, &terms) < 1.04, "{:?}", partition.loads(ranks));
        }
    }

    #[test]
    fn instances_weigh_what_they_cost() {
        // A grid, and few instances elsewhere that cost a fifth of all together; the same on a corner of the grid.
        let [starts, ends] = grid(60, 60);
        for elsewhere in [true, false] {
            let few = if elsewhere { vec![(1, (0..39).collect()), (1, (1..40).collect())] } else { vec![(0, (0..39).collect())] };
            let terms = [Term(3, vec![(0, starts.clone()), (0, ends.clone())]), Term(136, few)];
            for ranks in [2, 3, 4, 8] {
                let partition = divided(ranks, &[3600, 40], &terms, &[]);
                assert!(largest(&partition, ranks, &terms) < 1.04, "{ranks} ranks: {:?}", partition.loads(ranks));
                assert!(cut(&partition, 0) + cut(&partition, 1) <= 75 * (ranks - 1));
            }
        }
    }

    #[test]
    fn stars_are_divided_evenly_and_share_their_middles() {
        let count = 5003;
        let all: Vec<u32> = (0..count).collect();
        let middle = |number: u32| vec![number; count as usize];
        let thirds: Vec<u32> = all.iter().map(|instance| instance % 3).collect();
        // One middle with leaves, one alone, two, and three variables of a third of the instances each.
        let scenes = [
            (vec![(0, middle(0)), (1, all)], 1),
            (vec![(0, middle(0))], 1),
            (vec![(0, middle(0)), (0, middle(2))], 2),
            (vec![(0, thirds)], 3),
        ];
        for (slots, middles) in scenes {
            let terms = [Term(7, slots)];
            for ranks in [2, 3, 4, 8] {
                let partition = divided(ranks, &[3, count], &terms, &[]);
                let loads = partition.loads(ranks);
                assert!(loads.iter().max().unwrap() - loads.iter().min().unwrap() <= ranks, "{loads:?}");
                assert!((1..=middles).contains(&cut(&partition, 0)) && cut(&partition, 1) == 0, "{:?}", partition.cut);
            }
        }
    }

    /// Variables below the share of a rank, but too heavy to be put anywhere: they give instances away.
    #[test]
    fn heavy_variables_do_not_unbalance_parts() {
        let terms = [Term(1, vec![(0, (0..4000).map(|instance| instance % 9).collect())])];
        for ranks in [2, 3, 4] {
            let partition = divided(ranks, &[9], &terms, &[]);
            assert!(largest(&partition, ranks, &terms) < 1.04, "{:?}", partition.loads(ranks));
            assert!(partition.cut.len() <= 4);
        }
    }

    #[test]
    fn what_can_not_be_divided_is_no_panic() {
        for ranks in [0, 1, 2, 3, 100] {
            assert_eq!(Partition::new(ranks, &[], &[], &[]), Partition { instances: vec![], owners: vec![], cut: vec![] });
            let nothing = Links { count: 0, cost: 1, slots: vec![(0, &[][..])] };
            assert_eq!(Partition::new(ranks, &[2], &[nothing], &[]).owners, [[NOBODY; 2]]);
            // Instances without variables, of the largest cost.
            let constants = Links { count: 3, cost: u32::MAX, slots: vec![] };
            assert_eq!(Partition::new(ranks, &[0], &[constants], &[]).instances[0].len(), 3);
        }
        for ranks in [1, 2, 3, 7, 100] {
            for count in 1..8 {
                for whole in [&[][..], &[0], &[1]] {
                    let terms = [
                        Term(0, vec![(0, vec![0; count])]),
                        Term(u32::MAX, vec![(1, (0..count as u32).map(|row| row % 3).collect()), (1, vec![0; count])]),
                    ];
                    let loads = divided(ranks, &[1, 3], &terms, whole).loads(ranks);
                    // Nobody goes without, where there are as many instances.
                    assert!(!whole.is_empty() || ranks > 2 * count as u32 || loads.iter().all(|load| *load > 0), "{loads:?}");
                }
            }
        }
    }

    #[test]
    fn rows_that_are_whole_are_not_cut_and_parts_stay_balanced() {
        // Points, each seen by three cameras in a row of twelve; a focal length that all views share; springs between cameras.
        let (cameras, points) = (12, 500);
        let views = (0..points).flat_map(|point| (0..3).map(move |next| ((point * 10 / points + next), point)));
        let (by, of): (Vec<u32>, Vec<u32>) = views.unzip();
        let all = vec![0; by.len()];
        let (starts, ends) = ((0..cameras - 1).collect(), (1..cameras).collect());
        let terms = [Term(20, vec![(0, by), (1, of.clone()), (2, all)]), Term(12, vec![(0, starts), (0, ends)])];
        for ranks in 1..=4 {
            let partition = divided(ranks, &[cameras, points, 1], &terms, &[1]);
            assert!(partition.cut.iter().all(|(table, _)| *table != 1), "{ranks} ranks cut {:?}", partition.cut);
            for (view, point) in of.iter().enumerate() {
                assert_eq!(partition.instances[0][view], partition.owners[1][*point as usize], "a view is where its point is");
            }
            assert!(largest(&partition, ranks, &terms) < 1.05, "{:?}", partition.loads(ranks));
            // Neighbours share the cameras at their border, and all share the focal length.
            assert!(cut(&partition, 0) <= 4 * (ranks - 1), "{ranks} ranks share {} cameras", cut(&partition, 0));
            assert_eq!(cut(&partition, 2), u32::from(ranks > 1));
        }
        // A hub is not cut if it is to be whole.
        let partition = divided(3, &[cameras, points, 1], &terms, &[2]);
        assert_eq!(cut(&partition, 2), 0);
    }

    /// The rank with most instances has bound ones alone: one with fewer gives what it may.
    #[test]
    fn ranks_without_instances_get_some_of_those_that_may_be_given() {
        // A point that is whole with all of its views by two cameras, and a prior of each camera.
        let views = [(0, (0..100).map(|view| view % 2).collect()), (1, vec![0; 100])];
        let terms = [Term(20, views.to_vec()), Term(12, vec![(0, vec![0, 1])])];
        let mut loads = divided(3, &[2, 1], &terms, &[1]).loads(3);
        loads.sort_unstable();
        assert_eq!(loads, [1, 1, 100]);
        // Nothing that is bound is given, and nobody gives the last one.
        let mut loads = divided(4, &[2, 1], &terms, &[1]).loads(4);
        loads.sort_unstable();
        assert_eq!(loads, [0, 1, 1, 100]);
    }
}

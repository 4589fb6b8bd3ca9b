//! The incidence graph of a problem: variables, instances, and the instances that touch each variable.
//!
//! Two kinds of variables stay out of the way of growth. *Hubs*, such as a focal length that all cameras share, are touched by more than
//! half of a rank's share of the cost: ranks share them whatever is done, so they are no neighbours of anybody. There are few: each
//! instance touches a few variables, so hubs are a few a rank at most. All other variables weigh what the instances cost that they
//! *lead*: an instance goes with the variable that the fewest others touch, as a view does with its point. A camera weighs nothing then.

/// Rank of what no instance touches, and leader of instances of hubs alone.
pub const NOBODY: u32 = u32::MAX;

/// Index columns of a term that lead to variables: the table of each, and its row of every instance.
pub struct Links<'a> {
    /// Number of instances.
    pub count: u32,
    /// Cost of one of them, in any unit that all terms have.
    pub cost: u32,
    /// Table and rows of every slot that is a variable.
    pub slots: Vec<(u32, &'a [u32])>,
}

/// A term's instances.
struct Span {
    end: u32,
    cost: u64,
    /// True if an instance goes with its leader whatever the balance is.
    is_bound: bool,
}

/// Variables and instances by number, and their incidences without hubs.
pub struct Graph {
    spans: Vec<Span>,
    /// Variables of each instance, each once: ends in `variables`.
    ends: Vec<u32>,
    variables: Vec<u32>,
    /// Instances of each variable: ends in `instances`.
    touching: Vec<u32>,
    instances: Vec<u32>,
    /// Neighbours of each variable, once for each instance.
    degrees: Vec<i64>,
    /// Cost of the instances that touch each variable.
    touched: Vec<u64>,
    leaders: Vec<u32>,
    weights: Vec<u64>,
    /// Cost of all instances.
    pub total: u64,
}

/// Numbers of the first variables of tables of so many, and the number of all.
pub fn firsts(counts: &[u32]) -> Vec<u32> {
    let mut first = vec![0];
    counts.iter().for_each(|count| first.push(first[first.len() - 1] + count));
    first
}

/// Visits the variables of every instance, each once: the term, and the variables.
fn visit(first: &[u32], terms: &[Links], mut each: impl FnMut(usize, &[u32])) {
    let mut own = Vec::new();
    for (number, term) in terms.iter().enumerate() {
        for instance in 0..term.count as usize {
            own.clear();
            for &(table, rows) in &term.slots {
                let variable = first[table as usize] + rows[instance];
                if !own.contains(&variable) {
                    own.push(variable);
                }
            }
            each(number, &own);
        }
    }
}

impl Graph {
    /// The graph of terms over tables whose first variables have these numbers. An instance with a row of the tables in `whole`, of which
    /// it has one at most, is bound to it.
    pub fn new(ranks: u32, first: &[u32], terms: &[Links], whole: &[u32]) -> Self {
        let bound = |term: &Links| term.slots.iter().position(|(table, _)| whole.contains(table));
        let mut spans = Vec::new();
        let (mut end, mut total) = (0, 0);
        for term in terms {
            let cost = u64::from(term.cost.max(1));
            (end, total) = (end + term.count, total + u64::from(term.count) * cost);
            spans.push(Span { end, cost, is_bound: bound(term).is_some() });
        }
        let count = first[first.len() - 1] as usize;
        let mut touched = vec![0; count];
        visit(first, terms, |term, own| own.iter().for_each(|variable| touched[*variable as usize] += spans[term].cost));
        let mut is_hub: Vec<bool> = touched.iter().map(|cost| 2 * u128::from(*cost) * u128::from(ranks) > u128::from(total)).collect();
        whole.iter().for_each(|table| is_hub[first[*table as usize] as usize..first[*table as usize + 1] as usize].fill(false));
        let (mut ends, mut variables) = (vec![0], Vec::new());
        let mut touching = vec![0u32; count + 1];
        visit(first, terms, |_, own| {
            for variable in own.iter().filter(|variable| !is_hub[**variable as usize]) {
                variables.push(*variable);
                touching[*variable as usize + 1] += 1;
            }
            ends.push(variables.len() as u32);
        });
        (1..touching.len()).for_each(|place| touching[place] += touching[place - 1]);
        let (mut next, mut instances) = (touching.clone(), vec![0; variables.len()]);
        let (mut degrees, mut weights, mut leaders) = (vec![0; count], vec![0; count], Vec::with_capacity(end as usize));
        let mut instance = 0;
        for (term, span) in terms.iter().zip(&spans) {
            let of_whole = bound(term).map(|slot| term.slots[slot]);
            for number in 0..term.count as usize {
                let own = &variables[ends[instance] as usize..ends[instance + 1] as usize];
                for variable in own {
                    instances[next[*variable as usize] as usize] = instance as u32;
                    next[*variable as usize] += 1;
                    degrees[*variable as usize] += own.len() as i64 - 1;
                }
                let lightest = || own.iter().copied().min_by_key(|variable| (touched[*variable as usize], *variable));
                let leader = of_whole.map(|(table, rows)| first[table as usize] + rows[number]).or_else(lightest);
                leader.iter().for_each(|leader| weights[*leader as usize] += span.cost);
                leaders.push(leader.unwrap_or(NOBODY));
                instance += 1;
            }
        }
        Self { spans, ends, variables, touching, instances, degrees, touched, leaders, weights, total }
    }

    /// Number of variables, hubs among them.
    pub fn size(&self) -> u32 {
        self.degrees.len() as u32
    }

    /// Instances with their cost, and true for those that are bound to their leader.
    pub fn instances(&self) -> impl Iterator<Item = (u32, u64, bool)> + '_ {
        let begins = std::iter::once(0).chain(self.spans.iter().map(|span| span.end));
        begins.zip(&self.spans).flat_map(|(begin, span)| (begin..span.end).map(|instance| (instance, span.cost, span.is_bound)))
    }

    /// Variables of an instance, without hubs.
    pub fn of_instance(&self, instance: u32) -> &[u32] {
        &self.variables[self.ends[instance as usize] as usize..self.ends[instance as usize + 1] as usize]
    }

    fn of_variable(&self, variable: u32) -> &[u32] {
        &self.instances[self.touching[variable as usize] as usize..self.touching[variable as usize + 1] as usize]
    }

    /// Variable that an instance goes with, or [`NOBODY`] where it has hubs alone.
    pub fn leader(&self, instance: u32) -> u32 {
        self.leaders[instance as usize]
    }

    /// Variables that share an instance with one, once for each such instance.
    pub fn neighbours(&self, variable: u32) -> impl Iterator<Item = u32> + '_ {
        self.of_variable(variable).iter().flat_map(|instance| self.of_instance(*instance)).copied().filter(move |other| *other != variable)
    }

    /// Number of these.
    pub fn degree(&self, variable: u32) -> i64 {
        self.degrees[variable as usize]
    }

    /// Cost of the instances that go with a variable.
    pub fn weight(&self, variable: u32) -> u64 {
        self.weights[variable as usize]
    }

    /// Cost of the instances that touch a variable.
    pub fn touched(&self, variable: u32) -> u64 {
        self.touched[variable as usize]
    }

    /// Variables that instances touch, but for hubs.
    pub fn divided(&self) -> Vec<u32> {
        (0..self.size()).filter(|variable| !self.of_variable(*variable).is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_go_with_what_the_fewest_others_touch() {
        // Two points with three views each by two cameras, of which all have one focal length; a prior of the focal length.
        let (cameras, points, focal) = ([0, 1, 0, 1, 0, 1], [0, 0, 0, 1, 1, 1], [0; 6]);
        let links = [
            Links { count: 6, cost: 2, slots: vec![(0, &cameras[..]), (1, &points[..]), (2, &focal[..])] },
            Links { count: 1, cost: 1, slots: vec![(2, &focal[..1])] },
        ];
        let graph = Graph::new(1, &firsts(&[2, 2, 1]), &links, &[]);
        // One rank has no hubs but what more than half of all touch.
        assert_eq!((graph.total, graph.of_instance(0), graph.of_instance(6)), (13, &[0, 2][..], &[][..]));
        assert_eq!((graph.leader(6), graph.divided()), (NOBODY, vec![0, 1, 2, 3]));
        // A variable that is to be whole leads, and is no hub.
        let graph = Graph::new(1, &firsts(&[2, 2, 1]), &links, &[2]);
        assert_eq!((graph.leader(0), graph.weight(4), graph.of_instance(6)), (4, 13, &[4][..]));
        let found: Vec<_> = graph.instances().skip(5).collect();
        assert_eq!(found, [(5, 2, true), (6, 1, true)]);
    }
}

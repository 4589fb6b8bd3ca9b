//! Ranks of variables: recursive bisection by greedy graph growing, and the moves of variables at borders.

use super::frontier::Frontier;
use super::graph::{Graph, NOBODY};
use std::cmp::Reverse;
use std::collections::VecDeque;

/// Part of the average that a rank may have more.
pub const SLACK: f64 = 0.03;
/// Passes over variables at borders.
const PASSES: usize = 4;

/// A share of what all have with the slack.
pub fn most(total: u64, ranks: u32) -> u64 {
    (total as f64 / f64::from(ranks) * (1.0 + SLACK)) as u64
}

/// The rank of every variable; [`NOBODY`] for hubs, and for what no instance touches.
pub fn ranks_of_variables(graph: &Graph, ranks: u32) -> Vec<u32> {
    let divided = graph.divided();
    let mut rank_of = vec![NOBODY; graph.size() as usize];
    divided.iter().for_each(|variable| rank_of[*variable as usize] = 0);
    let mut growth = Growth { graph, rank_of, frontier: Frontier::new(graph.size()), seen: vec![NOBODY; graph.size() as usize] };
    growth.bisect(divided.clone(), (0, ranks));
    growth.refine(&divided, ranks);
    growth.rank_of
}

struct Growth<'a> {
    graph: &'a Graph,
    rank_of: Vec<u32>,
    frontier: Frontier,
    /// The upper part that each variable was last searched for, which each is once.
    seen: Vec<u32>,
}

impl Growth<'_> {
    /// Divides variables, all of `ranks.0`, among the ranks from there on, so many.
    fn bisect(&mut self, variables: Vec<u32>, (rank, ranks): (u32, u32)) {
        if ranks < 2 || variables.is_empty() {
            return;
        }
        let graph = self.graph;
        let all: u64 = variables.iter().map(|variable| graph.weight(*variable)).sum();
        let upper = ranks / 2;
        let share = (u128::from(all) * u128::from(upper) / u128::from(ranks)) as u64;
        let other = rank + ranks - upper;
        // The upper part grows.
        let start = self.far_from(variables[0], (rank, other));
        self.frontier.begin(graph, &variables);
        let mut grown = 0;
        let mut seeds = std::iter::once(start).chain(variables.iter().copied());
        while grown < share {
            let next = self.frontier.pop().or_else(|| seeds.next());
            let Some(variable) = next else { break };
            if self.rank_of[variable as usize] != rank || self.frontier.is_left_out(variable) {
                continue;
            }
            // One so heavy that the part is closer to its share without it stays.
            let weight = graph.weight(variable);
            if weight > 2 * (share - grown) {
                self.frontier.leave_out(variable);
                continue;
            }
            self.rank_of[variable as usize] = other;
            grown += weight;
            for neighbour in graph.neighbours(variable) {
                if self.rank_of[neighbour as usize] == rank {
                    self.frontier.raise(neighbour);
                }
            }
        }
        let (lower, upper_part) = variables.into_iter().partition(|variable| self.rank_of[*variable as usize] == rank);
        self.bisect(lower, (rank, ranks - upper));
        self.bisect(upper_part, (other, upper));
    }

    /// The last variable of a rank's part that a breadth-first search from one finds; `mark` is a number that no search had before.
    fn far_from(&mut self, variable: u32, (rank, mark): (u32, u32)) -> u32 {
        self.seen[variable as usize] = mark;
        let mut queue = VecDeque::from([variable]);
        let mut last = variable;
        while let Some(next) = queue.pop_front() {
            last = next;
            for other in self.graph.neighbours(next) {
                if self.rank_of[other as usize] == rank && std::mem::replace(&mut self.seen[other as usize], mark) != mark {
                    queue.push_back(other);
                }
            }
        }
        last
    }

    /// Moves variables at borders to the rank of most of their neighbours.
    fn refine(&mut self, divided: &[u32], ranks: u32) {
        if ranks < 2 {
            return;
        }
        let (graph, rank_of) = (self.graph, &mut self.rank_of);
        let mut weights = vec![0; ranks as usize];
        divided.iter().for_each(|variable| weights[rank_of[*variable as usize] as usize] += graph.weight(*variable));
        let most = most(weights.iter().sum(), ranks);
        let mut near = vec![0u64; ranks as usize];
        for _ in 0..PASSES {
            let mut moved = false;
            for &variable in divided {
                let (own, weight) = (rank_of[variable as usize] as usize, graph.weight(variable));
                let mut is_inside = true;
                for other in graph.neighbours(variable) {
                    let other = rank_of[other as usize] as usize;
                    near[other] += 1;
                    is_inside &= other == own;
                }
                if !is_inside {
                    let fits = |rank: &usize| near[*rank] > near[own] && (weight == 0 || weights[*rank] + weight <= most);
                    let best = (0..ranks as usize).filter(fits).max_by_key(|rank| (near[*rank], Reverse(*rank)));
                    if let Some(best) = best {
                        (weights[own], weights[best]) = (weights[own] - weight, weights[best] + weight);
                        rank_of[variable as usize] = best as u32;
                        moved = true;
                    }
                }
                near.fill(0);
            }
            if !moved {
                break;
            }
        }
    }
}

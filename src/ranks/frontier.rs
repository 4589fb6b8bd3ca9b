//! The border of a part that grows.

use super::graph::Graph;
use std::cmp::Ordering;

/// Variables at the border of a part that grows: the one whose move cuts least comes first, of several the one with the lowest number. A
/// binary heap that knows the place of each, so that it holds each once.
pub struct Frontier {
    heap: Vec<u32>,
    places: Vec<u32>,
    /// Neighbours inside less neighbours outside.
    gains: Vec<i64>,
}

/// Places of variables that are not at the border, and of those that are left out.
const ABSENT: u32 = u32::MAX;
const LEFT_OUT: u32 = u32::MAX - 1;

impl Frontier {
    /// An empty one, for so many variables.
    pub fn new(count: u32) -> Self {
        Self { heap: Vec::new(), places: vec![ABSENT; count as usize], gains: vec![0; count as usize] }
    }

    /// Begins anew, with nothing inside, for these variables of the graph.
    pub fn begin(&mut self, graph: &Graph, variables: &[u32]) {
        self.heap.clear();
        for &variable in variables {
            self.places[variable as usize] = ABSENT;
            self.gains[variable as usize] = -graph.degree(variable);
        }
    }

    /// Notes that a neighbour of a variable has come inside.
    pub fn raise(&mut self, variable: u32) {
        self.gains[variable as usize] += 2;
        match self.places[variable as usize] {
            LEFT_OUT => {}
            ABSENT => {
                self.heap.push(variable);
                self.rise(self.heap.len() - 1);
            }
            place => self.rise(place as usize),
        }
    }

    /// Has a variable stay where it is.
    pub fn leave_out(&mut self, variable: u32) {
        self.places[variable as usize] = LEFT_OUT;
    }

    /// True if [`leave_out`](Self::leave_out) was called for it.
    pub fn is_left_out(&self, variable: u32) -> bool {
        self.places[variable as usize] == LEFT_OUT
    }

    /// Takes the first one.
    pub fn pop(&mut self) -> Option<u32> {
        let last = self.heap.pop()?;
        let first = self.heap.first().copied().unwrap_or(last);
        self.places[first as usize] = ABSENT;
        if first != last {
            self.heap[0] = last;
            self.sink();
        }
        Some(first)
    }

    fn compare(&self, a: u32, b: u32) -> Ordering {
        self.gains[a as usize].cmp(&self.gains[b as usize]).then(b.cmp(&a))
    }

    fn rise(&mut self, mut place: usize) {
        let variable = self.heap[place];
        while place > 0 && self.compare(variable, self.heap[(place - 1) / 2]).is_gt() {
            self.put(place, self.heap[(place - 1) / 2]);
            place = (place - 1) / 2;
        }
        self.put(place, variable);
    }

    fn sink(&mut self) {
        let (variable, mut place) = (self.heap[0], 0);
        while let Some(&left) = self.heap.get(2 * place + 1) {
            let right = self.heap.get(2 * place + 2).copied();
            let (child, larger) = match right {
                Some(right) if self.compare(right, left).is_gt() => (2 * place + 2, right),
                _ => (2 * place + 1, left),
            };
            if self.compare(variable, larger).is_ge() {
                break;
            }
            self.put(place, larger);
            place = child;
        }
        self.put(place, variable);
    }

    fn put(&mut self, place: usize, variable: u32) {
        self.heap[place] = variable;
        self.places[variable as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Links, firsts};

    #[test]
    fn the_border_gives_the_variable_that_cuts_least() {
        // Chain of three, and pairs: degrees 1, 2, 1, 1, 1, …
        let (starts, ends) = ([0, 1, 3, 5, 7], [1, 2, 4, 6, 8]);
        let links = [Links { count: 5, cost: 1, slots: vec![(0, &starts[..]), (0, &ends[..])] }];
        let graph = Graph::new(1, &firsts(&[9]), &links, &[]);
        let mut frontier = Frontier::new(9);
        frontier.begin(&graph, &[0, 1, 2, 3, 4]);
        assert_eq!(frontier.pop(), None);
        [4, 1, 2].into_iter().for_each(|variable| frontier.raise(variable));
        assert_eq!(frontier.pop(), Some(2), "of equal ones the lowest number");
        frontier.raise(1);
        frontier.leave_out(3);
        frontier.raise(3);
        assert_eq!([frontier.pop(), frontier.pop(), frontier.pop()], [Some(1), Some(4), None]);
        assert!(frontier.is_left_out(3));
    }

    #[test]
    fn the_border_gives_all_in_their_order() {
        let (mut numbers, count) = (Vec::new(), 200);
        let mut state = 9u32;
        for _ in 0..2000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            numbers.push((state >> 16) % count);
        }
        let links = [Links { count: 1, cost: 1, slots: vec![(0, &[0])] }];
        let graph = Graph::new(1, &firsts(&[count]), &links, &[]);
        let mut frontier = Frontier::new(count);
        frontier.begin(&graph, &(0..count).collect::<Vec<_>>());
        numbers.iter().for_each(|variable| frontier.raise(*variable));
        let times = |variable: u32| numbers.iter().filter(|other| **other == variable).count();
        let mut expected: Vec<u32> = (0..count).filter(|variable| times(*variable) > 0).collect();
        expected.sort_by_key(|variable| (std::cmp::Reverse(times(*variable)), *variable));
        let found: Vec<u32> = std::iter::from_fn(|| frontier.pop()).collect();
        assert_eq!(found, expected);
    }
}

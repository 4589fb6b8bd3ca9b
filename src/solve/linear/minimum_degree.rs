//! Approximate minimum degree in time slices (Amestoy, Davis & Duff, *An approximate minimum degree ordering algorithm*, 1996), as faer's
//! `amd` and SuiteSparse have it, with aggressive absorption: the orders are the same.
//!
//! The graph is a quotient graph: eliminated nodes are *elements*, each of which stands for the clique of its neighbours. Nodes that can't
//! be told apart are one, with the number of those that it stands for.

use crate::work::{Pace, Stopped};

/// No node.
const NONE: i32 = -1;
/// Operations that an entry of a list takes, about.
const EACH: usize = 8;
/// A node with more neighbours than this times √n is eliminated last.
const DENSE: f64 = 10.0;
/// A node may have so many neighbours in any case.
const FEW: usize = 16;

/// An order, and what a factor in that order takes.
pub struct Found {
    /// Number of the node that comes k-th.
    pub order: Vec<u32>,
    pub divisions: f64,
    pub multiplications: f64,
}

/// A parent's number as it is kept beside places of lists.
fn flip(i: i32) -> i32 {
    -2 - i
}

struct Quotient {
    n: usize,
    /// Of every node that is left, and every element, where its list begins; of others the parent, flipped.
    place: Vec<i32>,
    lists: Vec<i32>,
    /// Entries of a list, and how many of them are elements: these come first.
    len: Vec<i32>,
    elements: Vec<i32>,
    /// The first element of `lists` that is free.
    free: usize,
    /// Nodes that one stands for: 0 for those that another stands for, negative while a pivot is formed.
    size: Vec<i32>,
    /// Approximate degree.
    degree: Vec<i32>,
    /// Marks: 0 of what is gone.
    mark: Vec<i32>,
    flag: i32,
    /// Lists of nodes by degree; while a pivot is eliminated, by hash.
    head: Vec<i32>,
    next: Vec<i32>,
    last: Vec<i32>,
    least: usize,
    largest: usize,
    /// Nodes that are eliminated, and dense ones.
    done: usize,
    dense: usize,
}

/// A pivot that is eliminated: its number, its list, the nodes that it stands for, and its degree.
struct Pivot {
    me: usize,
    first: usize,
    end: usize,
    size: i32,
    degree: usize,
    /// Whether its list was made at the end of the others.
    is_new: bool,
}

/// The order of a symmetric graph, whose lists of neighbours are given by where each begins, and one past the last.
pub async fn order(starts: &[u32], neighbours: &[u32], pace: &Pace) -> Result<Found, Stopped> {
    let n = starts.len() - 1;
    let mut graph = Quotient::new(starts, neighbours);
    pace.spend(EACH * (neighbours.len() + n)).await?;
    let (mut divisions, mut multiplications) = (0.0, 0.0);
    while graph.done < n {
        let mut pivot = graph.begin();
        let mut spent = graph.gather(&mut pivot);
        spent += graph.scan(&pivot);
        spent += graph.shrink(&mut pivot);
        spent += graph.join(&pivot);
        graph.finish(&pivot);
        let (f, r) = (f64::from(graph.size[pivot.me]), (pivot.degree + graph.dense) as f64);
        let entries = f * r + (f - 1.0) * f / 2.0;
        let squares = f * r * r + r * (f - 1.0) * f + (f - 1.0) * f * (2.0 * f - 1.0) / 6.0;
        divisions += entries;
        multiplications += (squares + entries) / 2.0;
        pace.spend(EACH * (spent + 4)).await?;
    }
    let f = graph.dense as f64;
    let entries = (f - 1.0) * f / 2.0;
    divisions += entries;
    multiplications += ((f - 1.0) * f * (2.0 * f - 1.0) / 6.0 + entries) / 2.0;
    pace.spend(4 * EACH * n).await?;
    Ok(Found { order: graph.order(), divisions, multiplications })
}

impl Quotient {
    fn new(starts: &[u32], neighbours: &[u32]) -> Self {
        let n = starts.len() - 1;
        let mut lists: Vec<i32> = neighbours.iter().map(|&node| node as i32).collect();
        lists.resize(neighbours.len() + neighbours.len() / 5 + n, 0);
        let len: Vec<i32> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as i32).collect();
        let mut graph = Self {
            n,
            place: starts[..n].iter().map(|&start| start as i32).collect(),
            lists,
            degree: len.clone(),
            len,
            elements: vec![0; n],
            free: neighbours.len(),
            size: vec![1; n],
            mark: vec![1; n],
            flag: 0,
            head: vec![NONE; n],
            next: vec![NONE; n],
            last: vec![NONE; n],
            least: 0,
            largest: 0,
            done: 0,
            dense: 0,
        };
        let most = ((DENSE * (n as f64).sqrt()) as usize).max(FEW).min(n);
        for i in 0..n {
            let degree = graph.degree[i] as usize;
            if degree == 0 {
                graph.elements[i] = flip(1);
                graph.done += 1;
                (graph.place[i], graph.mark[i]) = (NONE, 0);
            } else if degree > most {
                graph.dense += 1;
                graph.done += 1;
                (graph.size[i], graph.elements[i], graph.place[i]) = (0, NONE, NONE);
            } else {
                graph.insert(i, degree);
            }
        }
        graph
    }

    /// Puts a node first among those of a degree.
    fn insert(&mut self, i: usize, degree: usize) {
        let next = self.head[degree];
        if next != NONE {
            self.last[next as usize] = i as i32;
        }
        self.next[i] = next;
        self.head[degree] = i as i32;
    }

    /// Takes a node out of the list of its degree.
    fn remove(&mut self, i: usize) {
        let (last, next) = (self.last[i], self.next[i]);
        if next != NONE {
            self.last[next as usize] = last;
        }
        if last != NONE {
            self.next[last as usize] = next;
        } else {
            self.head[self.degree[i] as usize] = next;
        }
    }

    /// Takes a node of least degree.
    fn begin(&mut self) -> Pivot {
        self.least += self.head[self.least..].iter().position(|&head| head != NONE).expect("a node is left");
        let me = self.head[self.least] as usize;
        let next = self.next[me];
        if next != NONE {
            self.last[next as usize] = NONE;
        }
        self.head[self.least] = next;
        let size = self.size[me];
        self.done += size as usize;
        self.size[me] = -size;
        Pivot { me, first: 0, end: 0, size, degree: 0, is_new: self.elements[me] != 0 }
    }

    /// Makes the pivot's list, of its nodes and those of its elements; gives how many entries were seen.
    fn gather(&mut self, pivot: &mut Pivot) -> usize {
        let (me, mut seen) = (pivot.me, 0);
        if !pivot.is_new {
            // In place.
            pivot.first = self.place[me] as usize;
            pivot.end = pivot.first;
            for p in pivot.first..pivot.first + self.len[me] as usize {
                seen += 1;
                let i = self.lists[p] as usize;
                if self.size[i] > 0 {
                    self.take(i, pivot);
                    self.lists[pivot.end] = i as i32;
                    pivot.end += 1;
                }
            }
        } else {
            let mut p = self.place[me] as usize;
            pivot.first = self.free;
            let elements = self.elements[me];
            let nodes = self.len[me] - elements;
            for number in 1..=elements + 1 {
                let (e, mut from, count) = if number > elements {
                    (me, p, nodes)
                } else {
                    let e = self.lists[p] as usize;
                    p += 1;
                    (e, self.place[e] as usize, self.len[e])
                };
                for taken in 1..=count {
                    seen += 1;
                    let i = self.lists[from] as usize;
                    from += 1;
                    if self.size[i] <= 0 {
                        continue;
                    }
                    if self.free >= self.lists.len() {
                        // What is left of both lists.
                        self.shorten(me, p, self.len[me] - number);
                        self.shorten(e, from, count - taken);
                        self.compact(pivot);
                        from = self.place[e] as usize;
                        p = self.place[me] as usize;
                    }
                    self.take(i, pivot);
                    self.lists[self.free] = i as i32;
                    self.free += 1;
                }
                if e != me {
                    self.place[e] = flip(me as i32);
                    self.mark[e] = 0;
                }
            }
            pivot.end = self.free;
        }
        self.degree[me] = pivot.degree as i32;
        self.place[me] = pivot.first as i32;
        self.len[me] = (pivot.end - pivot.first) as i32;
        self.elements[me] = flip(pivot.size + pivot.degree as i32);
        seen
    }

    /// Takes a node into a pivot's list.
    fn take(&mut self, i: usize, pivot: &mut Pivot) {
        pivot.degree += self.size[i] as usize;
        self.size[i] = -self.size[i];
        self.remove(i);
    }

    fn shorten(&mut self, list: usize, place: usize, len: i32) {
        self.place[list] = if len == 0 { NONE } else { place as i32 };
        self.len[list] = len;
    }

    /// Moves all lists to the front, and what there is of the pivot's behind them.
    fn compact(&mut self, pivot: &mut Pivot) {
        for j in 0..self.n {
            let p = self.place[j];
            if p >= 0 {
                self.place[j] = self.lists[p as usize];
                self.lists[p as usize] = flip(j as i32);
            }
        }
        let (mut from, mut to) = (0, 0);
        while from < pivot.first {
            let j = flip(self.lists[from]);
            from += 1;
            if j >= 0 {
                self.lists[to] = self.place[j as usize];
                self.place[j as usize] = to as i32;
                to += 1;
                let rest = (self.len[j as usize] - 1).max(0) as usize;
                self.lists.copy_within(from..from + rest, to);
                (from, to) = (from + rest, to + rest);
            }
        }
        self.lists.copy_within(pivot.first..self.free, to);
        self.free = to + self.free - pivot.first;
        pivot.first = to;
    }

    fn renew_flag(&mut self) {
        if self.flag < 2 || self.flag >= i32::MAX - self.n as i32 {
            self.mark.iter_mut().filter(|mark| **mark != 0).for_each(|mark| *mark = 1);
            self.flag = 2;
        }
    }

    /// Marks every element next to the pivot with how many of its nodes are not the pivot's; gives how many entries were seen.
    fn scan(&mut self, pivot: &Pivot) -> usize {
        self.renew_flag();
        let mut seen = 0;
        for p in pivot.first..pivot.end {
            let i = self.lists[p] as usize;
            let (place, count) = (self.place[i] as usize, self.elements[i].max(0) as usize);
            let size = -self.size[i];
            for q in place..place + count {
                let e = self.lists[q] as usize;
                let mark = self.mark[e];
                if mark >= self.flag {
                    self.mark[e] = mark - size;
                } else if mark != 0 {
                    self.mark[e] = self.degree[e] + self.flag - size;
                }
            }
            seen += count + 1;
        }
        seen
    }

    /// Drops from the lists of the pivot's nodes what the pivot stands for, and finds their degrees and hashes; gives how many entries were
    /// seen.
    fn shrink(&mut self, pivot: &mut Pivot) -> usize {
        let (me, mut seen) = (pivot.me, 0);
        for p in pivot.first..pivot.end {
            let i = self.lists[p] as usize;
            let begin = self.place[i] as usize;
            let (nodes, end) = (begin + self.elements[i] as usize, begin + self.len[i] as usize);
            seen += end - begin + 1;
            let (mut to, mut hash, mut degree) = (begin, 0usize, 0);
            for q in begin..nodes {
                let e = self.lists[q] as usize;
                if self.mark[e] == 0 {
                    continue;
                }
                let outside = self.mark[e] - self.flag;
                if outside > 0 {
                    degree += outside;
                    self.lists[to] = e as i32;
                    to += 1;
                    hash = hash.wrapping_add(e);
                } else {
                    // All of its nodes are the pivot's.
                    self.place[e] = flip(me as i32);
                    self.mark[e] = 0;
                }
            }
            self.elements[i] = (to - begin + 1) as i32;
            let middle = to;
            for q in nodes..end {
                let j = self.lists[q] as usize;
                if self.size[j] > 0 {
                    degree += self.size[j];
                    self.lists[to] = j as i32;
                    to += 1;
                    hash = hash.wrapping_add(j);
                }
            }
            if self.elements[i] == 1 && middle == to {
                // It has no other neighbours: it is eliminated with the pivot.
                self.place[i] = flip(me as i32);
                let size = -self.size[i];
                pivot.degree -= size as usize;
                pivot.size += size;
                self.done += size as usize;
                (self.size[i], self.elements[i]) = (0, NONE);
                continue;
            }
            self.degree[i] = self.degree[i].min(degree);
            self.lists[to] = self.lists[middle];
            self.lists[middle] = self.lists[begin];
            self.lists[begin] = me as i32;
            self.len[i] = (to - begin + 1) as i32;
            let hash = hash % self.n;
            let j = self.head[hash];
            if j <= NONE {
                self.next[i] = flip(j);
                self.head[hash] = flip(i as i32);
            } else {
                self.next[i] = self.last[j as usize];
                self.last[j as usize] = i as i32;
            }
            self.last[i] = hash as i32;
        }
        self.degree[me] = pivot.degree as i32;
        self.largest = self.largest.max(pivot.degree);
        self.flag += self.largest as i32;
        self.renew_flag();
        seen
    }

    /// Joins nodes of the pivot that have the same neighbours; gives how many entries were seen.
    fn join(&mut self, pivot: &Pivot) -> usize {
        let mut seen = 0;
        for p in pivot.first..pivot.end {
            let i = self.lists[p] as usize;
            if self.size[i] >= 0 {
                continue;
            }
            let hash = self.last[i] as usize;
            let j = self.head[hash];
            let mut i = NONE;
            if j < NONE {
                i = flip(j);
                self.head[hash] = NONE;
            } else if j > NONE {
                i = self.last[j as usize];
                self.last[j as usize] = NONE;
            }
            while i != NONE && self.next[i as usize] != NONE {
                seen += self.join_with(i as usize);
                self.flag += 1;
                i = self.next[i as usize];
            }
        }
        seen
    }

    /// Joins a node with those behind it that have its hash.
    fn join_with(&mut self, i: usize) -> usize {
        let entries = |graph: &Self, j: usize| graph.place[j] as usize + 1..(graph.place[j] + graph.len[j]) as usize;
        let own = entries(self, i);
        let mut seen = own.len() + 1;
        for q in own {
            self.mark[self.lists[q] as usize] = self.flag;
        }
        let (mut before, mut j) = (i, self.next[i]);
        while j != NONE {
            let other = j as usize;
            let is_alike = self.len[other] == self.len[i] && self.elements[other] == self.elements[i] && {
                let range = entries(self, other);
                seen += range.len();
                self.lists[range].iter().all(|&entry| self.mark[entry as usize] == self.flag)
            };
            seen += 1;
            j = self.next[other];
            if is_alike {
                self.place[other] = flip(i as i32);
                self.size[i] += self.size[other];
                (self.size[other], self.elements[other]) = (0, NONE);
                self.next[before] = j;
            } else {
                before = other;
            }
        }
        seen
    }

    /// Puts the nodes that are left of the pivot's back among those of their degrees.
    fn finish(&mut self, pivot: &Pivot) {
        let (mut to, left) = (pivot.first, (self.n - self.done) as i32);
        for p in pivot.first..pivot.end {
            let i = self.lists[p] as usize;
            let size = -self.size[i];
            if size <= 0 {
                continue;
            }
            self.size[i] = size;
            let degree = (self.degree[i] + pivot.degree as i32 - size).min(left - size);
            self.insert(i, degree as usize);
            self.last[i] = NONE;
            self.least = self.least.min(degree as usize);
            self.degree[i] = degree;
            self.lists[to] = i as i32;
            to += 1;
        }
        let me = pivot.me;
        self.size[me] = pivot.size;
        self.len[me] = (to - pivot.first) as i32;
        if self.len[me] == 0 {
            (self.place[me], self.mark[me]) = (NONE, 0);
        }
        if pivot.is_new {
            self.free = to;
        }
    }

    /// The order: elements by a walk of their tree, each behind what it stands for, dense nodes last.
    fn order(mut self) -> Vec<u32> {
        let n = self.n;
        self.place.iter_mut().chain(&mut self.elements).for_each(|value| *value = flip(*value));
        // Of nodes that another stands for, the element that they were eliminated with.
        for i in 0..n {
            if self.size[i] != 0 || self.place[i] == NONE {
                continue;
            }
            let mut element = self.place[i];
            while self.size[element as usize] == 0 {
                element = self.place[element as usize];
            }
            let mut j = i;
            while self.size[j] == 0 {
                j = std::mem::replace(&mut self.place[j], element) as usize;
            }
        }
        let mut by_turn = vec![NONE; n];
        for (element, &turn) in self.walked().iter().enumerate().filter(|(_, turn)| **turn != NONE) {
            by_turn[turn as usize] = element as i32;
        }
        let (mut position, mut next) = (vec![0; n], 0);
        for &element in by_turn.iter().take_while(|element| **element != NONE) {
            position[element as usize] = next;
            next += self.size[element as usize];
        }
        for i in (0..n).filter(|&i| self.size[i] == 0) {
            let of = if self.place[i] == NONE { &mut next } else { &mut position[self.place[i] as usize] };
            let own = *of;
            *of += 1;
            position[i] = own;
        }
        let mut order = vec![0; n];
        position.iter().enumerate().for_each(|(node, &place)| order[place as usize] = node as u32);
        order
    }

    /// The turn of every element in a walk of their tree, children first, of which the largest is the last.
    fn walked(&self) -> Vec<i32> {
        let n = self.n;
        let (mut child, mut sibling) = (vec![NONE; n], vec![NONE; n]);
        for j in (0..n).rev().filter(|&j| self.size[j] > 0 && self.place[j] != NONE) {
            let parent = self.place[j] as usize;
            sibling[j] = child[parent];
            child[parent] = j as i32;
        }
        for i in (0..n).filter(|&i| self.size[i] > 0) {
            let (mut before, mut f) = (NONE, child[i]);
            let (mut largest, mut before_largest, mut most) = (NONE, NONE, NONE);
            while f != NONE {
                if self.elements[f as usize] >= most {
                    (most, before_largest, largest) = (self.elements[f as usize], before, f);
                }
                (before, f) = (f, sibling[f as usize]);
            }
            if largest == NONE || sibling[largest as usize] == NONE {
                continue;
            }
            let after = std::mem::replace(&mut sibling[largest as usize], NONE);
            *(if before_largest == NONE { &mut child[i] } else { &mut sibling[before_largest as usize] }) = after;
            sibling[before as usize] = largest;
        }
        let (mut turns, mut turn) = (vec![NONE; n], 0);
        let mut stack = Vec::new();
        for root in (0..n).filter(|&i| self.place[i] == NONE && self.size[i] > 0) {
            stack.push(root);
            while let Some(&i) = stack.last() {
                let mut f = std::mem::replace(&mut child[i], NONE);
                if f == NONE {
                    stack.pop();
                    turns[i] = turn;
                    turn += 1;
                    continue;
                }
                let first = stack.len();
                while f != NONE {
                    stack.push(f as usize);
                    f = sibling[f as usize];
                }
                stack[first..].reverse();
            }
        }
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::{UNIT, Work};
    use faer::dyn_stack::{MemBuffer, MemStack};
    use faer::sparse::SymbolicSparseColMatRef;
    use faer::sparse::linalg::amd;

    /// Lists of neighbours of edges a < b.
    fn lists(n: usize, edges: &[(u32, u32)]) -> (Vec<u32>, Vec<u32>) {
        let mut rows = vec![std::collections::BTreeSet::new(); n];
        for &(a, b) in edges.iter().filter(|(a, b)| a != b) {
            rows[a as usize].insert(b);
            rows[b as usize].insert(a);
        }
        let mut starts = vec![0];
        rows.iter().for_each(|row| starts.push(starts[starts.len() - 1] + row.len() as u32));
        (starts, rows.into_iter().flatten().collect())
    }

    fn known(starts: &[u32], neighbours: &[u32]) -> (Vec<u32>, amd::FlopCount) {
        let n = starts.len() - 1;
        let (mut forward, mut inverse) = (vec![0u32; n], vec![0u32; n]);
        let structure = SymbolicSparseColMatRef::new_checked(n, n, starts, None, neighbours);
        let mut memory = MemBuffer::new(amd::order_maybe_unsorted_scratch::<u32>(n, neighbours.len()));
        let flops = amd::order_maybe_unsorted(&mut forward, &mut inverse, structure, Default::default(), MemStack::new(&mut memory));
        (forward, flops.unwrap())
    }

    fn check(n: usize, edges: &[(u32, u32)]) {
        let (starts, neighbours) = lists(n, edges);
        let (wanted, flops) = known(&starts, &neighbours);
        let mut work = Work::new(|pace| async move { order(&starts, &neighbours, &pace).await });
        let mut slices = 1;
        let found = loop {
            match work.resume(0.0) {
                Some(found) => break found.unwrap(),
                None => slices += 1,
            }
        };
        assert_eq!(found.order, wanted, "{n} nodes, {} edges", edges.len());
        assert_eq!((found.divisions, found.multiplications), (flops.n_div, flops.n_mult_subs_ldl));
        assert!(work.largest_unit() < 2 * UNIT, "{} operations", work.largest_unit());
        assert!(slices > 4 || n < 10_000, "{slices} slices");
    }

    #[test]
    fn orders_are_those_of_faer() {
        let mut state = 1u32;
        let mut below = |most: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % most
        };
        for round in 0..300 {
            let n = 1 + below(if round % 3 == 0 { 12 } else { 200 });
            let each = 1 + below(8);
            let count = below(1 + n * each);
            let mut edges: Vec<(u32, u32)> = (0..count).map(|_| (below(n), below(n))).collect();
            // Some are next to all others, and some are alike.
            if round % 4 == 0 {
                edges.extend((1..n).map(|other| (0, other)));
            }
            if round % 5 == 0 {
                edges.extend((0..n).map(|node| (node, node / 4)));
            }
            check(n as usize, &edges);
        }
    }

    #[test]
    fn large_graphs_are_ordered_in_slices() {
        let side = 120;
        let grid = (0..side * side).flat_map(|node| {
            let right = (node % side + 1 < side).then_some((node, node + 1));
            right.into_iter().chain((node + side < side * side).then_some((node, node + side)))
        });
        check((side * side) as usize, &grid.collect::<Vec<_>>());
    }
}

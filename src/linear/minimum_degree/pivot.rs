//! The elimination of a pivot, once there is its list.

use super::quotient::{NONE, Pivot, Quotient, flip};

impl Quotient {
    /// Marks every element next to the pivot with how many of its nodes are not the pivot's; gives how many entries were seen.
    pub(super) fn scan(&mut self, pivot: &Pivot) -> usize {
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
    pub(super) fn shrink(&mut self, pivot: &mut Pivot) -> usize {
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
    pub(super) fn join(&mut self, pivot: &Pivot) -> usize {
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
    pub(super) fn finish(&mut self, pivot: &Pivot) {
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
}

//! The quotient graph: its lists, its nodes by degree, and the list of a pivot.

/// No node.
pub(super) const NONE: i32 = -1;
/// A node with more neighbours than this times √n is eliminated last.
const DENSE: f64 = 10.0;
/// A node may have so many neighbours in any case.
const FEW: usize = 16;

/// A parent's number as it is kept beside places of lists.
pub(super) fn flip(i: i32) -> i32 {
    -2 - i
}

pub(super) struct Quotient {
    pub(super) n: usize,
    /// Of every node that is left, and every element, where its list begins; of others the parent, flipped.
    pub(super) place: Vec<i32>,
    pub(super) lists: Vec<i32>,
    /// Entries of a list, and how many of them are elements: these come first.
    pub(super) len: Vec<i32>,
    pub(super) elements: Vec<i32>,
    /// The first element of `lists` that is free.
    pub(super) free: usize,
    /// Nodes that one stands for: 0 for those that another stands for, negative while a pivot is formed.
    pub(super) size: Vec<i32>,
    /// Approximate degree.
    pub(super) degree: Vec<i32>,
    /// Marks: 0 of what is gone.
    pub(super) mark: Vec<i32>,
    pub(super) flag: i32,
    /// Lists of nodes by degree; while a pivot is eliminated, by hash.
    pub(super) head: Vec<i32>,
    pub(super) next: Vec<i32>,
    pub(super) last: Vec<i32>,
    pub(super) least: usize,
    pub(super) largest: usize,
    /// Nodes that are eliminated, and dense ones.
    pub(super) done: usize,
    pub(super) dense: usize,
}

/// A pivot that is eliminated: its number, its list, the nodes that it stands for, and its degree.
pub(super) struct Pivot {
    pub(super) me: usize,
    pub(super) first: usize,
    pub(super) end: usize,
    pub(super) size: i32,
    pub(super) degree: usize,
    /// True if its list was made at the end of the others.
    pub(super) is_new: bool,
}

impl Quotient {
    pub(super) fn new(starts: &[u32], neighbours: &[u32]) -> Self {
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
    pub(super) fn insert(&mut self, i: usize, degree: usize) {
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
    pub(super) fn begin(&mut self) -> Pivot {
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
    pub(super) fn gather(&mut self, pivot: &mut Pivot) -> usize {
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
                        // Both lists are shortened to what is left of them.
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

    pub(super) fn renew_flag(&mut self) {
        if self.flag < 2 || self.flag >= i32::MAX - self.n as i32 {
            self.mark.iter_mut().filter(|mark| **mark != 0).for_each(|mark| *mark = 1);
            self.flag = 2;
        }
    }
}

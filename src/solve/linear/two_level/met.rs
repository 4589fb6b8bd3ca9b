//! Pairs of patches that are met, by number.

use super::aggregate::NONE;

/// Pairs of patches that instances link, counted. A patch with itself has the patch's number; pairs of two patches have the numbers
/// behind, in the order in which they are met.
pub(super) struct Met {
    patches: u32,
    /// Pairs of two patches: row and column of a block below the diagonal.
    pub(super) pairs: Vec<(u32, u32)>,
    /// Times that each number was met.
    pub(super) counts: Vec<u32>,
    /// Places of pairs by their hashes, with linear probing; [`NONE`] where there is none. At most half of them are taken.
    table: Vec<u32>,
}

impl Met {
    const FIRST: usize = 1 << 10;

    pub(super) fn new(patches: u32) -> Self {
        Self { patches, pairs: Vec::new(), counts: vec![0; patches as usize], table: vec![NONE; Self::FIRST] }
    }

    /// Counts a pair and gives its number.
    pub(super) fn meet(&mut self, p: u32, q: u32) -> u32 {
        let number = if p == q { p } else { self.patches + self.place((p.max(q), p.min(q))) };
        self.counts[number as usize] += 1;
        number
    }

    fn place(&mut self, pair: (u32, u32)) -> u32 {
        let at = self.slot(pair);
        if self.table[at] != NONE {
            return self.table[at];
        }
        let place = self.pairs.len() as u32;
        self.table[at] = place;
        self.pairs.push(pair);
        self.counts.push(0);
        if 2 * self.pairs.len() > self.table.len() {
            self.table = vec![NONE; 2 * self.table.len()];
            for (place, &pair) in (0..).zip(&self.pairs) {
                let at = self.slot(pair);
                self.table[at] = place;
            }
        }
        place
    }

    /// Slot of the table that a pair has, or is to have.
    fn slot(&self, pair: (u32, u32)) -> usize {
        let mixed = (u64::from(pair.0) << 32 | u64::from(pair.1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut at = (mixed >> (64 - self.table.len().ilog2())) as usize;
        while self.table[at] != NONE && self.pairs[self.table[at] as usize] != pair {
            at = (at + 1) & (self.table.len() - 1);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_the_numbers_of_their_first_time() {
        let mut met = Met::new(100);
        let pairs: Vec<(u32, u32)> = (1..100).flat_map(|row| (0..row).map(move |column| (row, column))).collect();
        for _ in 0..2 {
            for (number, &(row, column)) in (100..).zip(&pairs) {
                assert_eq!((met.meet(row, column), met.meet(column, row)), (number, number));
            }
        }
        assert_eq!(met.meet(7, 7), 7);
        assert!(met.pairs == pairs && met.counts[7] == 1 && met.counts[8] == 0);
        assert!(met.counts[100..].iter().all(|&count| count == 4) && met.counts.len() == 100 + pairs.len());
    }
}

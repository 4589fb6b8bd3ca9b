//! Unknowns that rows hold whatever the cost is, found by structure alone: then a variance is 0 without a look at it.

use super::equalities::Equalities;

impl Equalities {
    /// True for every unknown that Ax = 0 of these independent rows leaves nothing but 0: of so many unknowns.
    ///
    /// A row of which one unknown is left holds that, and then counts for others without it. Of what remains, rows that share unknowns
    /// hold these if they are as many: a matrix of them is square, and invertible.
    pub fn held(&self, pivots: &[usize], unknowns: usize) -> Vec<bool> {
        let mut held = vec![false; unknowns];
        let mut rows_of: Vec<Vec<usize>> = vec![Vec::new(); unknowns];
        let mut left = vec![0usize; self.rows.len()];
        for &pivot in pivots {
            for &(unknown, _) in &self.rows[pivot].entries {
                rows_of[unknown as usize].push(pivot);
            }
            left[pivot] = self.rows[pivot].entries.len();
        }
        let mut alone: Vec<usize> = pivots.iter().copied().filter(|&pivot| left[pivot] == 1).collect();
        while let Some(row) = alone.pop() {
            let Some(unknown) = self.rows[row].entries.iter().map(|entry| entry.0 as usize).find(|&unknown| !held[unknown]) else {
                continue;
            };
            held[unknown] = true;
            for &other in &rows_of[unknown] {
                left[other] -= 1;
                if left[other] == 1 {
                    alone.push(other);
                }
            }
        }
        let (mut seen, mut is_taken) = (held.clone(), vec![false; self.rows.len()]);
        for first in 0..unknowns {
            if seen[first] || rows_of[first].is_empty() {
                continue;
            }
            seen[first] = true;
            let (mut group, mut next, mut rows) = (vec![first], 0, 0);
            while next < group.len() {
                for &row in &rows_of[group[next]] {
                    if std::mem::replace(&mut is_taken[row], true) {
                        continue;
                    }
                    rows += 1;
                    let of = self.rows[row].entries.iter().map(|entry| entry.0 as usize);
                    group.extend(of.filter(|&unknown| !std::mem::replace(&mut seen[unknown], true)));
                }
                next += 1;
            }
            if rows == group.len() {
                group.iter().for_each(|&unknown| held[unknown] = true);
            }
        }
        held
    }
}

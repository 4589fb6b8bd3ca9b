//! Random linear residuals A x + B y − c, of which the test knows J, W and r.

use crate::support::{Random, Tape};
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Loss, Reals, Slot, TermSpec, Weight};
use leastwise::session::Session;

pub struct Net {
    pub problem: u32,
    /// Number, count and width.
    pub tables: Vec<(u32, u32, usize)>,
    pub values: Vec<f64>,
    /// JᵀWJ, whole; and Σ w ρ(‖r‖²).
    pub matrix: Vec<Vec<f64>>,
    pub squares: f64,
    pub rows: u64,
}

/// The constant of Cauchy's loss.
pub const CAUCHY: f64 = 0.7;
const ROWS: usize = 2;

impl Net {
    /// Tables, given as count and width, and so many residuals between each and the next (or itself), each of two rows. A
    /// prior on all unless it is left out.
    pub fn new(session: &mut Session, random: &mut Random, tables: &[(u32, usize)], residuals: u32, robust: bool) -> Self {
        let problem = session.problem();
        // f32 has these numbers.
        let mut vector = |len: usize| (0..len).map(|_| f64::from(random.between(-1.0, 1.0) as f32)).collect::<Vec<f64>>();
        let (mut values, mut made) = (Vec::new(), Vec::new());
        for (number, &(count, width)) in tables.iter().enumerate() {
            let own = vector(count as usize * width);
            let table = session.table(problem, &format!("table {number}"), width as u32, Reals::F64(&own), true).unwrap();
            values.extend(own);
            made.push((table, count, width));
        }
        let n = values.len();
        let mut net = Self { problem, tables: made, values, matrix: vec![vec![0.0; n]; n], squares: 0.0, rows: 0 };
        for a in 0..tables.len() {
            let b = (a + 1) % tables.len();
            let which = |random: &mut Random, table: usize| {
                (0..residuals).map(|_| random.below(tables[table].0.into()) as u32).collect::<Vec<u32>>()
            };
            let indices = [which(random, a), which(random, b)];
            net.add(session, random, &format!("term {a}"), &[(a, indices[0].clone()), (b, indices[1].clone())], robust);
        }
        for (a, &(count, _)) in tables.iter().enumerate() {
            net.add(session, random, &format!("prior {a}"), &[(a, (0..count).collect())], false);
        }
        net
    }

    /// The first unknown of an instance.
    pub fn first(&self, table: usize, instance: u32) -> usize {
        let before: usize = self.tables[..table].iter().map(|&(_, count, width)| count as usize * width).sum();
        before + instance as usize * self.tables[table].2
    }

    fn add(&mut self, session: &mut Session, random: &mut Random, name: &str, slots: &[(usize, Vec<u32>)], robust: bool) {
        let count = slots[0].1.len();
        let mut vector = |len: usize| (0..len).map(|_| f64::from(random.between(-1.0, 1.0) as f32)).collect::<Vec<f64>>();
        // Priors are square.
        let rows = if slots.len() == 1 { self.tables[slots[0].0].2 } else { ROWS };
        let factors: Vec<Vec<f64>> = slots.iter().map(|slot| vector(count * rows * self.tables[slot.0].2)).collect();
        let (wanted, weights) = (vector(count * rows), vector(count).iter().map(|w| 1.0 + w.abs()).collect::<Vec<f64>>());
        let mut tape = Tape::default();
        let inputs: Vec<u32> = (0..2 * slots.len() as u32 + 1).map(|source| tape.input(source)).collect();
        let outputs: Vec<u32> = (0..rows as u32)
            .map(|row| {
                let mut terms = Vec::new();
                for (k, slot) in slots.iter().enumerate() {
                    let width = self.tables[slot.0].2 as u32;
                    for j in 0..width {
                        let a = tape.op(Component, &[inputs[slots.len() + k], row * width + j]);
                        let x = if width == 1 { inputs[k] } else { tape.op(Component, &[inputs[k], j]) };
                        terms.push(tape.op(Mul, &[a, x]));
                    }
                }
                let c = if rows == 1 { inputs[2 * slots.len()] } else { tape.op(Component, &[inputs[2 * slots.len()], row]) };
                let sum = tape.op(Sum, &terms);
                tape.op(Sub, &[sum, c])
            })
            .collect();
        let column =
            |name: &str, width: usize, values| Column { name: name.into(), width: width as u32, shared: false, values: Reals::F64(values) };
        let mut columns: Vec<Column> =
            slots.iter().zip(&factors).map(|(slot, values)| column("factors", rows * self.tables[slot.0].2, values)).collect();
        columns.push(column("wanted", rows, &wanted));
        let spec = TermSpec {
            name: name.into(),
            count: count as u32,
            indices: slots.iter().map(|slot| slot.1.clone()).collect(),
            slots: (0..).zip(slots).map(|(column, slot)| Slot { table: self.tables[slot.0].0, column }).collect(),
            columns,
            weight: Weight::Each(Reals::F64(&weights)),
            tape: &tape.words,
            outputs: &outputs,
            loss: robust.then(|| Loss::cauchy(CAUCHY).unwrap()),
            objective: Default::default(),
        };
        session.term(self.problem, spec).unwrap();
        self.rows += (count * rows) as u64;
        for k in 0..count {
            let (mut j, mut r) = (vec![Vec::new(); rows], vec![0.0; rows]);
            for (slot, factors) in slots.iter().zip(&factors) {
                let (width, first) = (self.tables[slot.0].2, self.first(slot.0, slot.1[k]));
                for row in 0..rows {
                    for c in 0..width {
                        let a = factors[(k * rows + row) * width + c];
                        j[row].push((first + c, a));
                        r[row] += a * self.values[first + c];
                    }
                }
            }
            (0..rows).for_each(|row| r[row] -= wanted[k * rows + row]);
            let s: f64 = r.iter().map(|r| r * r).sum();
            let (value, slope, bend) = if robust {
                let t = 1.0 + s / (CAUCHY * CAUCHY);
                let slope = 1.0 / t;
                (CAUCHY * CAUCHY * t.ln(), slope, (-2.0 / (CAUCHY * CAUCHY * t * t)).max(-0.1 * slope / s))
            } else {
                (s, 1.0, 0.0)
            };
            self.squares += weights[k] * value;
            for (p, row_p) in j.iter().enumerate() {
                for (q, row_q) in j.iter().enumerate() {
                    let w = weights[k] * (if p == q { slope } else { 0.0 } + bend * r[p] * r[q]);
                    for &(a, x) in row_p {
                        row_q.iter().for_each(|&(b, y)| self.matrix[a][b] += w * x * y);
                    }
                }
            }
        }
    }

    /// The block of a matrix over all unknowns.
    pub fn block(&self, matrix: &[Vec<f64>], row: (usize, u32), column: (usize, u32)) -> Vec<f64> {
        let range = |(table, instance): (usize, u32)| {
            let first = self.first(table, instance);
            first..first + self.tables[table].2
        };
        range(row).flat_map(|r| matrix[r][range(column)].to_vec()).collect()
    }
}

/// The inverse of the rows and columns that are kept; zeros elsewhere (Gauss and Jordan, with pivoting).
pub fn inverse(matrix: &[Vec<f64>], kept: &[bool]) -> Vec<Vec<f64>> {
    let places: Vec<usize> = (0..matrix.len()).filter(|&k| kept[k]).collect();
    let n = places.len();
    let mut work: Vec<Vec<f64>> = (0..n)
        .map(|r| (0..2 * n).map(|c| if c < n { matrix[places[r]][places[c]] } else { f64::from(u8::from(c - n == r)) }).collect())
        .collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|&a, &b| work[a][k].abs().total_cmp(&work[b][k].abs())).unwrap();
        work.swap(k, pivot);
        let by = work[k][k];
        work[k].iter_mut().for_each(|value| *value /= by);
        let row = work[k].clone();
        for (other, line) in work.iter_mut().enumerate().filter(|(other, _)| *other != k) {
            let by = line[k];
            assert!(by.is_finite(), "row {other}");
            line.iter_mut().zip(&row).for_each(|(value, pivot)| *value -= by * pivot);
        }
    }
    let mut whole = vec![vec![0.0; matrix.len()]; matrix.len()];
    for (r, &row) in places.iter().enumerate() {
        places.iter().enumerate().for_each(|(c, &column)| whole[row][column] = work[r][n + c]);
    }
    whole
}

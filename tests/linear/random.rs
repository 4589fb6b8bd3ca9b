//! Random problems: tables, batches of instances that touch them, and the Jacobians of these.

use crate::support::{Random, at_once};
use leastwise::linear::matrix::BlockMatrix;
use leastwise::problem::{BlockList, Pattern, PatternBatch, Target, pair_bits};
use std::sync::Arc;

/// What is between two tables.
pub struct Sampled {
    pub pattern: Arc<Pattern>,
    pub lists: Vec<BlockList>,
    pub batches: Vec<Sample>,
    /// JᵀJ, whole.
    pub dense: Vec<Vec<f64>>,
}

/// Instances of one batch: slots (numbers of tables), the variables that they name, and J row by row.
pub struct Sample {
    pub slots: Vec<(u32, Vec<u32>)>,
    pub pairs: Vec<(u32, u32)>,
    pub chunks: Vec<(u32, u32)>,
    pub rows: usize,
    pub jacobian: Vec<Vec<f64>>,
}

/// Tables, given as count and width; batches, given as slots, count and chunks.
pub fn sample(tables: &[(u32, u32)], batches: &[(&[u32], u32, u32)], random: &mut Random) -> Sampled {
    let mut pattern = Pattern::default();
    for (number, &(count, width)) in (0..).zip(tables) {
        pattern.push(&format!("table {number}"), number, count, width);
    }
    let scalars = pattern.scalars as usize;
    let mut dense = vec![vec![0.0; scalars]; scalars];
    let samples: Vec<Sample> = batches
        .iter()
        .map(|&(slots, count, chunk)| {
            let slots: Vec<(u32, Vec<u32>)> = slots
                .iter()
                .map(|&table| (table, (0..count).map(|_| random.below(tables[table as usize].0.into()) as u32).collect()))
                .collect();
            let pairs = (0..slots.len() as u32).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
            let chunks = (0..count).step_by(chunk as usize).map(|first| (first, chunk.min(count - first))).collect();
            let rows = 2 + random.below(2) as usize;
            let width: usize = slots.iter().map(|slot| tables[slot.0 as usize].1 as usize).sum();
            let jacobian = (0..count).map(|_| (0..rows * width).map(|_| random.between(-1.0, 1.0)).collect()).collect();
            let sample = Sample { slots, pairs, chunks, rows, jacobian };
            sample.add(&pattern, &mut dense);
            sample
        })
        .collect();
    let of: Vec<PatternBatch> = (0..)
        .zip(&samples)
        .map(|(batch, sample)| PatternBatch {
            batch,
            slots: sample.slots.iter().map(|(table, variables)| Some((*table, &variables[..]))).collect(),
            pairs: sample.pairs.clone(),
            chunks: sample.chunks.clone(),
        })
        .collect();
    let (adding, batches) = (&mut pattern, &of);
    let lists = at_once(|pace| async move { adding.add(batches, &pace).await });
    drop(of);
    Sampled { pattern: Arc::new(pattern), lists, batches: samples, dense }
}

impl Sample {
    fn widths(&self, pattern: &Pattern) -> Vec<usize> {
        self.slots.iter().map(|slot| pattern.tables[slot.0 as usize].width as usize).collect()
    }

    /// Adds JᵀJ to a whole matrix, entry by entry.
    fn add(&self, pattern: &Pattern, dense: &mut [Vec<f64>]) {
        let widths = self.widths(pattern);
        for (instance, jacobian) in self.jacobian.iter().enumerate() {
            let unknowns: Vec<usize> = self
                .slots
                .iter()
                .zip(&widths)
                .flat_map(|((table, variables), width)| {
                    let first = pattern.tables[*table as usize].scalar as usize + variables[instance] as usize * width;
                    first..first + width
                })
                .collect();
            for row in jacobian.chunks(unknowns.len()) {
                for (i, a) in unknowns.iter().zip(row) {
                    for (j, b) in unknowns.iter().zip(row) {
                        dense[*i][*j] += a * b;
                    }
                }
            }
        }
    }

    /// JₐᵀJ_b of an instance, row by row.
    fn block(&self, pattern: &Pattern, instance: usize, a: u32, b: u32) -> Vec<f64> {
        let widths = self.widths(pattern);
        let width: usize = widths.iter().sum();
        let columns = |slot: u32| {
            let first: usize = widths[..slot as usize].iter().sum();
            first..first + widths[slot as usize]
        };
        let jacobian = &self.jacobian[instance];
        let entry = |i: usize, j: usize| (0..self.rows).map(|row| jacobian[row * width + i] * jacobian[row * width + j]).sum();
        columns(a).flat_map(|i| columns(b).map(move |j| (i, j))).map(|(i, j)| entry(i, j)).collect()
    }
}

impl Sampled {
    /// JᵀJ as the lists put it together.
    pub fn gathered(&self) -> BlockMatrix {
        let pattern = &self.pattern;
        let mut matrix = BlockMatrix::zero(pattern.clone());
        for sample in &self.batches {
            for (slot, (table, variables)) in (0..).zip(&sample.slots) {
                let rows = &pattern.tables[*table as usize];
                let (width, size) = (rows.width as usize, (rows.width * (rows.width + 1) / 2) as usize);
                for (instance, &variable) in variables.iter().enumerate() {
                    let block = sample.block(pattern, instance, slot, slot);
                    let to = &mut matrix.diagonal[rows.block as usize + variable as usize * size..][..size];
                    let lower = (0..width).flat_map(|r| (0..=r).map(move |c| (r, c)));
                    to.iter_mut().zip(lower).for_each(|(to, (r, c))| *to += block[r * width + c]);
                }
            }
        }
        for list in &self.lists {
            let sample = &self.batches[list.batch as usize];
            let bits = pair_bits(sample.pairs.len());
            for (place, &id) in list.ids.iter().enumerate() {
                for &entry in &list.entries[list.starts[place] as usize..list.starts[place + 1] as usize] {
                    let instance = (sample.chunks[list.chunk as usize].0 + (entry >> bits)) as usize;
                    let code = entry & ((1 << bits) - 1);
                    let (a, b) = sample.pairs[(code / 2) as usize];
                    let block = sample.block(pattern, instance, a, b);
                    let width = pattern.tables[sample.slots[b as usize].0 as usize].width as usize;
                    let height = block.len() / width;
                    let (rows, columns) = if code % 2 == 1 { (width, height) } else { (height, width) };
                    let at = |r: usize, c: usize| if code % 2 == 1 { block[c * width + r] } else { block[r * width + c] };
                    match list.target {
                        Target::Part(part) => {
                            let part = &pattern.parts[part as usize];
                            assert_eq!((part.rows as usize, part.width as usize), (rows, columns));
                            let to = &mut matrix.lower[part.base as usize + id as usize * rows * columns..][..rows * columns];
                            to.iter_mut().enumerate().for_each(|(k, to)| *to += at(k / columns, k % columns));
                        }
                        Target::Diagonal(table) => {
                            let table = &pattern.tables[table as usize];
                            let size = rows * (rows + 1) / 2;
                            let to = &mut matrix.diagonal[table.block as usize + id as usize * size..][..size];
                            let lower = (0..rows).flat_map(|r| (0..=r).map(move |c| (r, c)));
                            to.iter_mut().zip(lower).for_each(|(to, (r, c))| *to += at(r, c));
                        }
                    }
                }
            }
        }
        matrix
    }
}

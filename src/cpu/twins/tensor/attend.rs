//! The twin of `attend`: softmax(Q·Kᵀ)·V, online, a panel of queries at a time.

use super::panel::{BLOCK, LANES, Lanes, add_weighted, multiply, packed, unpacked};
use super::{Shape, batch_of};
use crate::Workgroups;
use crate::block::{Instructions, SimdKernel};
use crate::real::Real;
use crate::threads::{self, Pieces};
use leastwise_kernels as kernels;

/// Below every score.
const UNSEEN: f64 = -1e38;

/// A panel of queries of a batch, with all that it sees and writes.
struct Attend<'a, R> {
    shape: Shape,
    first: usize,
    panel: Vec<Lanes<R>>,
    keys: &'a [R],
    values: &'a [R],
    results: &'a mut [R],
    logarithms: &'a mut [R],
}

impl<R: Real> SimdKernel for Attend<'_, R> {
    #[inline(always)]
    fn run(self) {
        let Shape { keys, depth, width, is_causal, .. } = self.shape;
        let end = if is_causal { keys.min(self.first + self.logarithms.len()) } else { keys };
        let mut sums = vec![[R::ZERO; LANES]; width];
        let mut largest = [R::from_f64(UNSEEN); LANES];
        let mut total = [R::ZERO; LANES];
        let mut scores = [[R::ZERO; LANES]; BLOCK];
        for start in (0..end).step_by(BLOCK) {
            let block = start..end.min(start + BLOCK);
            let scores = &mut scores[..block.len()];
            multiply(&self.panel, &self.keys[start * depth..block.end * depth], scores);
            if is_causal {
                for (key, scores) in block.clone().zip(&mut *scores).skip_while(|(key, _)| *key <= self.first) {
                    scores.iter_mut().take(key - self.first).for_each(|score| *score = R::from_f64(UNSEEN));
                }
            }
            let before = largest;
            for scores in &*scores {
                for lane in 0..LANES {
                    largest[lane] = if scores[lane] > largest[lane] { scores[lane] } else { largest[lane] };
                }
            }
            let mut scale = [R::ZERO; LANES];
            for lane in 0..LANES {
                scale[lane] = (before[lane] - largest[lane]).exp();
                total[lane] = total[lane] * scale[lane];
            }
            for scores in &mut *scores {
                for lane in 0..LANES {
                    scores[lane] = (scores[lane] - largest[lane]).exp();
                    total[lane] += scores[lane];
                }
            }
            for sums in &mut sums {
                for lane in 0..LANES {
                    sums[lane] = sums[lane] * scale[lane];
                }
            }
            add_weighted(&mut sums, &self.values[start * width..block.end * width], scores);
        }
        for sums in &mut sums {
            for lane in 0..LANES {
                sums[lane] = sums[lane] / total[lane];
            }
        }
        unpacked(&sums, self.results);
        for (logarithm, (largest, total)) in self.logarithms.iter_mut().zip(largest.iter().zip(&total)) {
            *logarithm = *largest + R::from_f64(libm::log(total.to_f64()));
        }
    }
}

/// softmax(Q·Kᵀ)·V, and the logarithms of what the softmax divides by.
pub fn attend<R: Real>(work: &Workgroups, args: kernels::tensor::Attend, bindings: kernels::tensor::AttendSlices<R>) {
    let shape = Shape::new([args.queries, args.keys, args.width, args.value_width, args.causal, args.batches]);
    let Shape { queries: count, keys: key_count, depth, width, .. } = shape;
    let (queries, keys, values) = (bindings.queries, bindings.keys, bindings.values);
    let (mut results, mut logarithms) = (Pieces::new(bindings.results), Pieces::new(bindings.logarithms));
    let mut tasks = Vec::new();
    for (batch, first, end) in shape.panels(work, count, width) {
        let [begin, behind] = [first, end].map(|query| batch * count + query);
        tasks.push((batch, first..end, results.take(begin * width..behind * width), logarithms.take(begin..behind)));
    }
    let elements = tasks.len() * key_count * (depth + width);
    threads::each(tasks, elements, |(batch, rows, results, logarithms)| {
        Instructions::best().run(Attend {
            shape,
            first: rows.start,
            panel: packed(batch_of(queries, batch, count, depth), depth, rows),
            keys: batch_of(keys, batch, key_count, depth),
            values: batch_of(values, batch, key_count, width),
            results,
            logarithms,
        });
    });
}

//! Kernels of tensors: attention, windows, gathered rows.

use super::clusters::bound_of_sum;
use crate::twins::harness::{Case, POISONED_WORD};
use crate::twins::value::{Random, Value};
use leastwise::device::Limits;
use leastwise::kernels::{StaticKernel, tensor};
use leastwise::tensor::attention::{Attention, Launch, Windows, sum_rows as launch_sum_rows};

/// Numbers of a buffer, and of products of a case.
const ROOM: usize = 100_000;
const WORK: usize = 100_000;

/// Queries or keys at most, which are many tiles, and batches, which need a 2-D grid within small limits.
const MOST_ROWS: usize = 1009;
const MOST_BATCHES: usize = 257;

pub fn limits(group: usize) -> Limits {
    Limits { group_size: group as u32, ..Limits::WEBGPU }
}

pub fn dispatch(case: &mut Case, launch: Option<Launch>) {
    let launch = launch.expect("a small shape");
    assert_eq!(launch.kernel, case.kernel);
    case.launch(launch.count, launch.words);
}

/// An attention's input, and what it makes of it.
struct Net {
    of: Attention,
    queries: Vec<f64>,
    keys: Vec<f64>,
    values: Vec<f64>,
    slopes: Vec<f64>,
}

impl Net {
    /// Many queries, many keys, or many batches; of everything else any number, but little where there is a lot.
    fn all(size: usize, random: &mut Random) -> Vec<Self> {
        let net = |many: usize| {
            let mut any = || [1, 2, 3, 16, 37, 63, 64, 65, 131][random.below(9) as usize];
            let mut sizes = [any(), any(), any(), any(), 1 + any() % 3];
            // Nothing can attend to no keys.
            let least = [0, 1, 0][many];
            let place = [0, 1, 4][many];
            sizes[place] = size.max(least).min(if many == 2 { MOST_BATCHES } else { MOST_ROWS });
            let shrinks: Vec<usize> = (0..5).filter(|i| *i != place).collect();
            loop {
                let [n, m, d, e, b] = sizes;
                if b * n.max(m) * (d + e + 1) <= ROOM && b * n * m * (d + e) <= WORK {
                    break;
                }
                let largest = shrinks.iter().copied().max_by_key(|i| sizes[*i]).expect("four of them");
                sizes[largest] = (sizes[largest] / 2).max(1);
                if shrinks.iter().all(|i| sizes[*i] == 1) {
                    break;
                }
            }
            let [n, m, d, e, b] = sizes;
            let of = [b, n, m, d, e].map(|size| size as u32);
            let of = Attention { batches: of[0], queries: of[1], keys: of[2], depth: of[3], width: of[4], causal: random.below(2) == 0 };
            // Scores of all sizes, whatever the depth is.
            let scale = f64::from((random.within(0.5, 8.0) / (d as f64).sqrt()) as f32);
            let queries = random.vector(b * n * d).into_iter().map(|q| f64::from((scale * q) as f32)).collect();
            Self { of, queries, keys: random.vector(b * m * d), values: random.vector(b * m * e), slopes: random.vector(b * n * e) }
        };
        (0..3).map(net).collect()
    }

    fn sizes(&self) -> [usize; 5] {
        let Attention { batches, queries, keys, depth, width, .. } = self.of;
        [batches, queries, keys, depth, width].map(|size| size as usize)
    }

    fn case(&self, kernel: StaticKernel) -> Case {
        let [b, n, m, d, e] = self.sizes();
        let name = format!("{b} batches, {n} queries, {m} keys, {d} and {e} entries, causal {}", self.of.causal);
        let mut case = Case::new(kernel, name);
        case.bound = bound_of_sum(n + m + d + e);
        case.reals(tensor::Attend::QUERIES, self.queries.clone());
        case.reals(tensor::Attend::KEYS, self.keys.clone());
        case.reals(tensor::Attend::VALUES, self.values.clone());
        case
    }

    fn keys_of(&self, query: usize) -> usize {
        let keys = self.of.keys as usize;
        if self.of.causal { keys.min(query + 1) } else { keys }
    }

    /// Entry by entry, the product of two rows.
    fn product(x: &[f64], y: &[f64]) -> Value {
        x.iter().zip(y).map(|(x, y)| Value::from(x * y)).sum()
    }

    fn score(&self, batch: usize, query: usize, key: usize) -> Value {
        let [_, n, m, d, _] = self.sizes();
        Self::product(&self.queries[(batch * n + query) * d..][..d], &self.keys[(batch * m + key) * d..][..d])
    }

    /// The logarithm of a query's sum of weights, the weights, and what their rounding is relative to.
    fn weights(&self, batch: usize, query: usize) -> (f64, Vec<f64>, f64) {
        let scores: Vec<Value> = (0..self.keys_of(query)).map(|key| self.score(batch, query, key)).collect();
        let largest = scores.iter().map(|score| score.value).fold(f64::NEG_INFINITY, f64::max);
        let size = scores.iter().map(|score| score.size).fold(0.0, f64::max);
        let total: f64 = scores.iter().map(|score| (score.value - largest).exp()).sum();
        let logarithm = largest + total.ln();
        (logarithm, scores.iter().map(|score| (score.value - logarithm).exp()).collect(), 2.0 + 2.0 * size + logarithm.abs())
    }

    /// O of a query.
    fn result(&self, batch: usize, query: usize) -> (f64, Vec<Value>) {
        let [_, _, m, _, e] = self.sizes();
        let (logarithm, weights, size) = self.weights(batch, query);
        let mut result = vec![Value::default(); e];
        for (key, weight) in weights.into_iter().enumerate() {
            let row = &self.values[(batch * m + key) * e..][..e];
            let weight = Value { value: weight, size: weight * size };
            result.iter_mut().zip(row).for_each(|(sum, value)| *sum = *sum + weight * (*value).into());
        }
        (logarithm, result)
    }

    /// L and D of all queries, as both precisions have them.
    fn statistics(&self) -> Vec<f64> {
        let [b, n, _, _, e] = self.sizes();
        let (mut logarithms, mut means) = (Vec::new(), Vec::new());
        for (batch, query) in (0..b).flat_map(|batch| (0..n).map(move |query| (batch, query))) {
            let (logarithm, result) = self.result(batch, query);
            let slopes = &self.slopes[(batch * n + query) * e..][..e];
            let mean: f64 = slopes.iter().zip(result).map(|(slope, value)| slope * value.value).sum();
            logarithms.push(f64::from(logarithm as f32));
            means.push(f64::from(mean as f32));
        }
        [logarithms, means].concat()
    }

    /// For every pair of a query and a key that it sees: batch, query, key, P, dS.
    fn pairs(&self, statistics: &[f64], mut take: impl FnMut(usize, usize, usize, Value, Value)) {
        let [b, n, m, _, e] = self.sizes();
        for (batch, query) in (0..b).flat_map(|batch| (0..n).map(move |query| (batch, query))) {
            let at = batch * n + query;
            for key in 0..self.keys_of(query) {
                let score = self.score(batch, query, key);
                let weight = (score.value - statistics[at]).exp();
                let weight = Value { value: weight, size: weight * (2.0 + score.size + statistics[at].abs()) };
                let slope = Self::product(&self.slopes[at * e..][..e], &self.values[(batch * m + key) * e..][..e]);
                take(batch, query, key, weight, weight * (slope - statistics[b * n + at].into()));
            }
        }
    }
}

fn add(sums: &mut [Value], weight: Value, row: &[f64]) {
    sums.iter_mut().zip(row).for_each(|(sum, x)| *sum = *sum + weight * (*x).into());
}

pub fn expect_all(case: &mut Case, slot: usize, values: Vec<Value>) {
    values.into_iter().enumerate().for_each(|(i, value)| case.expect(slot, i, value));
}

pub fn attend(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |net: Net| {
        let [b, n, _, _, e] = net.sizes();
        let mut case = net.case(StaticKernel::TensorAttend);
        dispatch(&mut case, net.of.forward(&limits(group)));
        case.poisoned(tensor::Attend::RESULTS, b * n * e);
        case.poisoned(tensor::Attend::LOGARITHMS, b * n);
        for (batch, query) in (0..b).flat_map(|batch| (0..n).map(move |query| (batch, query))) {
            let (logarithm, result) = net.result(batch, query);
            let size = net.weights(batch, query).2;
            case.expect(tensor::Attend::LOGARITHMS, batch * n + query, Value { value: logarithm, size });
            let at = (batch * n + query) * e;
            result.into_iter().enumerate().for_each(|(c, value)| case.expect(tensor::Attend::RESULTS, at + c, value));
        }
        case
    };
    Net::all(size, random).into_iter().map(case).collect()
}

pub fn attend_queries(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |net: Net| {
        let [b, n, m, d, _] = net.sizes();
        let mut case = net.case(StaticKernel::TensorAttendQueries);
        dispatch(&mut case, net.of.of_queries(&limits(group)));
        let statistics = net.statistics();
        let mut sums = vec![Value::default(); b * n * d];
        net.pairs(&statistics, |batch, query, key, _, slope| {
            add(&mut sums[(batch * n + query) * d..][..d], slope, &net.keys[(batch * m + key) * d..][..d]);
        });
        case.reals(tensor::AttendQueries::SLOPES, net.slopes.clone());
        case.reals(tensor::AttendQueries::STATISTICS, statistics);
        case.poisoned(tensor::AttendQueries::RESULTS, b * n * d);
        expect_all(&mut case, tensor::AttendQueries::RESULTS, sums);
        case
    };
    Net::all(size, random).into_iter().map(case).collect()
}

pub fn attend_keys(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |net: Net| {
        let [b, n, m, d, e] = net.sizes();
        let mut case = net.case(StaticKernel::TensorAttendKeys);
        dispatch(&mut case, net.of.of_keys(&limits(group)));
        let statistics = net.statistics();
        let (mut of_keys, mut of_values) = (vec![Value::default(); b * m * d], vec![Value::default(); b * m * e]);
        net.pairs(&statistics, |batch, query, key, weight, slope| {
            let at = batch * n + query;
            add(&mut of_values[(batch * m + key) * e..][..e], weight, &net.slopes[at * e..][..e]);
            add(&mut of_keys[(batch * m + key) * d..][..d], slope, &net.queries[at * d..][..d]);
        });
        case.reals(tensor::AttendKeys::SLOPES, net.slopes.clone());
        case.reals(tensor::AttendKeys::STATISTICS, statistics);
        case.poisoned(tensor::AttendKeys::OF_KEYS, b * m * d);
        case.poisoned(tensor::AttendKeys::OF_VALUES, b * m * e);
        expect_all(&mut case, tensor::AttendKeys::OF_KEYS, of_keys);
        expect_all(&mut case, tensor::AttendKeys::OF_VALUES, of_values);
        case
    };
    Net::all(size, random).into_iter().map(case).collect()
}

/// Windows that overlap, stand apart, or are dilated, and that leave some of the axis out; the axis first, in the middle, last.
pub fn fold(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |(step, dilation, window): (usize, usize, usize)| {
        let [outer, inner] = [[1, 2, 5][random.below(3) as usize], [1, 3, 64][random.below(3) as usize]];
        let reach = (window - 1) * dilation + 1;
        let length = (size / (outer * inner)).max(usize::from(size > 0));
        let count = if length < reach { 0 } else { (length - reach) / step + 1 };
        let of = [outer, length, inner, count, window, step, dilation].map(|size| size as u32);
        let [outer_words, length_words, inner_words, count_words, size_words, step_words, dilation_words] = of;
        let windows = Windows {
            outer: outer_words,
            length: length_words,
            inner: inner_words,
            count: count_words,
            size: size_words,
            step: step_words,
            dilation: dilation_words,
        };
        let mut case = Case::new(StaticKernel::TensorFold, format!("{windows:?}"));
        dispatch(&mut case, windows.fold(&limits(group)));
        let x = random.vector(outer * count * window * inner);
        let mut sums = vec![Value::default(); outer * length * inner];
        for (place, value) in x.iter().enumerate() {
            let (i, k, w, o) = (place % inner, place / inner % window, place / inner / window % count, place / inner / window / count);
            let to = (o * length + w * step + k * dilation) * inner + i;
            sums[to] = sums[to] + (*value).into();
        }
        case.reals(tensor::Fold::WINDOWS, x);
        case.poisoned(tensor::Fold::RESULTS, outer * length * inner);
        expect_all(&mut case, tensor::Fold::RESULTS, sums);
        case
    };
    [(1, 1, 3), (2, 1, 5), (3, 1, 2), (1, 3, 3), (2, 3, 4), (4, 1, 1)].map(case).into()
}

/// Rows that nothing was gathered from, that all was, and any; rows may be as long as a workgroup or longer.
pub fn sum_rows(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |kind: u32| {
        let width = [1, 3, 37, group + 1][random.below(4) as usize].min(size.max(1));
        let rows = size.div_ceil(width);
        let count = 1 + random.below(2 * rows as u32 + 9) as usize;
        let count = count.min(ROOM / width);
        // No rows, no members.
        let of: Vec<usize> = match (rows, kind) {
            (0, _) => Vec::new(),
            (_, 0) => vec![random.below(rows as u32) as usize; count],
            _ => (0..count).map(|_| random.below(rows as u32) as usize).collect(),
        };
        let x = random.vector(count * width);
        let mut members: Vec<u32> = (0..of.len() as u32).collect();
        members.sort_by_key(|t| of[*t as usize]);
        let starts = (0..=rows).map(|row| members.partition_point(|t| of[*t as usize] < row) as u32).collect();
        let mut case = Case::new(StaticKernel::TensorSumRows, format!("{count} rows of {width} entries from {rows}, kind {kind}"));
        case.bound = bound_of_sum(count);
        dispatch(&mut case, launch_sum_rows(rows as u32, width as u32, &limits(group)));
        let mut sums = vec![Value::default(); rows * width];
        for (t, row) in of.iter().enumerate() {
            add(&mut sums[row * width..][..width], 1.0.into(), &x[t * width..][..width]);
        }
        case.indices([starts, members, vec![POISONED_WORD; 3]].concat());
        case.reals(tensor::SumRows::GATHERED, x);
        case.poisoned(tensor::SumRows::RESULTS, rows * width);
        expect_all(&mut case, tensor::SumRows::RESULTS, sums);
        case
    };
    [0, 1].map(case).into()
}

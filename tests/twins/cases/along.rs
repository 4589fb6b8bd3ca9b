//! Kernels along an axis: running sums, merges, elements by numbers, sums by numbers; of whole numbers, too.

use super::clusters::bound_of_sum;
use super::tensors::{dispatch, expect_all, limits};
use crate::twins::harness::{Case, POISONED_WORD};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, tensor};
use leastwise::tensor::along::{Along, merge as launch_merge, merge_words as launch_merge_words};

/// Whole numbers over all words, both ends among them.
fn words(count: usize, random: &mut Random) -> Vec<u32> {
    let word = |random: &mut Random| match random.below(8) {
        0 => i32::MIN as u32,
        1 => i32::MAX as u32,
        2 => random.below(3).wrapping_sub(1),
        _ => random.below(1 << 16) << 16 | random.below(1 << 16),
    };
    (0..count).map(|_| word(random)).collect()
}

fn expect_words(case: &mut Case, slot: usize, words: &[u32]) {
    case.words(slot, vec![POISONED_WORD; words.len()]);
    words.iter().enumerate().for_each(|(i, &word)| case.expect(slot, i, f64::from(word)));
}

/// An array of about so many elements, its axis first, in the middle or last.
fn shape(size: usize, random: &mut Random) -> Along {
    let [outer, inner] = [[1, 2, 5][random.below(3) as usize], [1, 3, 64][random.below(3) as usize]];
    let length = size.div_ceil(outer * inner);
    let [outer, length, inner] = [outer, length, inner].map(|size| size as u32);
    Along { outer, length, inner }
}

fn elements(of: Along) -> usize {
    of.outer as usize * of.length as usize * of.inner as usize
}

/// Chunks of one element, of a few, and of all; both ways.
pub fn scan(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |(chunk, reverse): (u32, bool)| {
        let of = shape(size, random);
        let chunk = if chunk == 0 { of.length.max(1) } else { chunk };
        let mut case = Case::new(StaticKernel::TensorScan, format!("{of:?}, chunks of {chunk}, reverse {reverse}"));
        case.bound = bound_of_sum(chunk as usize);
        dispatch(&mut case, of.scan(chunk, reverse, &limits(group)));
        let x = random.vector(elements(of));
        let mut sums = vec![Value::default(); x.len()];
        let [n, inner, chunk] = [of.length, of.inner, chunk].map(|size| size as usize);
        let places: Vec<usize> = if reverse { (0..x.len()).rev().collect() } else { (0..x.len()).collect() };
        for place in places {
            let k = place / inner % n;
            let (is_first, before) = if reverse {
                (k % chunk == chunk - 1 || k == n - 1, place + inner)
            } else {
                (k.is_multiple_of(chunk), place.wrapping_sub(inner))
            };
            let sum = if is_first { Value::default() } else { sums[before] };
            sums[place] = sum + x[place].into();
        }
        case.reals(tensor::Scan::X, x);
        case.poisoned(tensor::Scan::RESULTS, sums.len());
        expect_all(&mut case, tensor::Scan::RESULTS, sums);
        case
    };
    [(1, false), (5, false), (64, true), (0, false), (0, true)].map(case).into()
}

/// Recurrences both ways, of factors below 1.
pub fn recur(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |reverse: bool| {
        let of = shape(size, random);
        let mut case = Case::new(StaticKernel::TensorRecur, format!("{of:?}, reverse {reverse}"));
        case.bound = bound_of_sum(of.length as usize);
        dispatch(&mut case, of.recur(reverse, &limits(group)));
        let (x, factors) = (random.vector(elements(of)), random.vector(elements(of)));
        let mut results = vec![Value::default(); x.len()];
        let [n, inner] = [of.length, of.inner].map(|size| size as usize);
        let places: Vec<usize> = if reverse { (0..x.len()).rev().collect() } else { (0..x.len()).collect() };
        for place in places {
            let k = place / inner % n;
            let (is_first, before) = if reverse { (k == n - 1, place + inner) } else { (k == 0, place.wrapping_sub(inner)) };
            let own = Value::from(x[place]);
            results[place] = if is_first { own } else { own + Value::from(factors[place]) * results[before] };
        }
        case.reals(tensor::Recur::X, x);
        case.reals(tensor::Recur::FACTORS, factors);
        case.poisoned(tensor::Recur::RESULTS, results.len());
        expect_all(&mut case, tensor::Recur::RESULTS, results);
        case
    };
    [false, true].map(case).into()
}

/// Rows whose runs are sorted, with many equal keys, infinities and NaN; the last pair cut off, and the last run alone.
pub fn merge(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |width: usize| {
        let rows = [1, 3, 7][random.below(3) as usize];
        let n = size.div_ceil(rows);
        let width = if width == 0 { n.div_ceil(2).max(1) } else { width };
        let mut case = Case::new(StaticKernel::TensorMerge, format!("{rows} rows of {n}, runs of {width}"));
        dispatch(&mut case, launch_merge(rows as u32, n as u32, width as u32, &limits(group)));
        let mut keys: Vec<f64> = (0..rows * n)
            .map(|_| match random.below(12) {
                0 => f64::NAN,
                1 => f64::INFINITY,
                2 => f64::NEG_INFINITY,
                few => f64::from(few) - 6.0,
            })
            .collect();
        let order = |a: &f64, b: &f64| a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()));
        keys.chunks_mut(n.max(1)).for_each(|row| row.chunks_mut(width).for_each(|run| run.sort_by(order)));
        let mut places: Vec<usize> = (0..keys.len()).collect();
        for row in places.chunks_mut(n.max(1)) {
            row.chunks_mut(2 * width).for_each(|pair| pair.sort_by(|a, b| order(&keys[*a], &keys[*b])));
        }
        case.poisoned(tensor::Merge::SORTED, keys.len());
        case.poisoned(tensor::Merge::ORIGINS, keys.len());
        // Places that a sort has left behind are in no order.
        let labels: Vec<f64> = (0..keys.len()).map(|place| (place * 7 % 1009) as f64).collect();
        for (i, &place) in places.iter().enumerate() {
            case.expect(tensor::Merge::ORIGINS, i, labels[place]);
            // Of what is not finite `judge` wants no more than that it is not.
            case.expect(tensor::Merge::SORTED, i, if keys[place].is_finite() { keys[place] } else { f64::NAN });
        }
        case.reals(tensor::Merge::KEYS, keys);
        case.reals(tensor::Merge::PLACES, labels);
        case
    };
    [1, 2, 3, 64, 0].map(case).into()
}

/// Numbers within, beyond both ends, and none.
fn number(n: u32, random: &mut Random) -> f64 {
    match random.below(16) {
        0 => -3.0,
        1 => f64::from(n) + 5.0,
        2 => 1e20,
        3 => f64::NAN,
        _ => f64::from(random.below(n.max(1))),
    }
}

pub fn take(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |kind: u32| {
        let result = shape(size, random);
        let of = Along { length: [1, 4, 37][kind as usize], ..result };
        let mut case = Case::new(StaticKernel::TensorTake, format!("{} of {of:?}", result.length));
        dispatch(&mut case, of.take(result.length, &limits(group)));
        let x = random.vector(elements(of));
        let numbers: Vec<f64> = (0..elements(result)).map(|_| number(of.length, random)).collect();
        let [n, m, inner] = [of.length, result.length, of.inner].map(|size| size as usize);
        let values: Vec<Value> = numbers
            .iter()
            .enumerate()
            .map(|(place, &number)| x[(place / inner / m * n + (number.max(0.0) as usize).min(n - 1)) * inner + place % inner].into())
            .collect();
        case.reals(tensor::Take::X, x);
        case.reals(tensor::Take::NUMBERS, numbers);
        case.poisoned(tensor::Take::RESULTS, values.len());
        expect_all(&mut case, tensor::Take::RESULTS, values);
        case
    };
    [0, 1, 2].map(case).into()
}

/// A list for every inner coordinate and one for all; sums and the last places; no numbers at all.
pub fn scatter(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |(taken, shared, latest): (usize, bool, bool)| {
        let of = shape(size, random);
        let [outer, n, inner] = [of.outer, of.length, of.inner].map(|size| size as usize);
        let lists = if shared { 1 } else { inner };
        let mut case = Case::new(StaticKernel::TensorScatter, format!("{taken} to {of:?}, {lists} lists, latest {latest}"));
        case.bound = bound_of_sum(taken.max(1));
        dispatch(&mut case, of.scatter(taken as u32, lists as u32, latest, &limits(group)));
        let x = random.vector(outer * taken * inner);
        let (mut numbers, mut places) = (Vec::new(), Vec::new());
        let mut results = vec![if latest { (-1.0).into() } else { Value::default() }; outer * n * inner];
        for list in 0..outer * lists {
            let of_list: Vec<f64> = (0..taken).map(|_| number(of.length, random)).collect();
            let mut order: Vec<usize> = (0..taken).collect();
            let key = |t: usize| if of_list[t].is_nan() { f64::INFINITY } else { of_list[t] };
            order.sort_by(|a, b| key(*a).total_cmp(&key(*b)));
            for (t, number) in of_list.iter().enumerate().filter(|(_, number)| (0.0..n as f64).contains(*number)) {
                let (o, columns) = (list / lists, if shared { 0..inner } else { list % lists..list % lists + 1 });
                for i in columns {
                    let y = &mut results[(o * n + *number as usize) * inner + i];
                    *y = if latest { (t as f64).into() } else { *y + x[(o * taken + t) * inner + i].into() };
                }
            }
            numbers.extend(order.iter().map(|&t| of_list[t]));
            places.extend(order.iter().map(|&t| t as f64));
        }
        case.reals(tensor::Scatter::X, x);
        case.reals(tensor::Scatter::NUMBERS, numbers);
        case.reals(tensor::Scatter::PLACES, places);
        case.poisoned(tensor::Scatter::RESULTS, results.len());
        expect_all(&mut case, tensor::Scatter::RESULTS, results);
        case
    };
    [(37, false, false), (37, true, false), (5, false, true), (1, true, true)].map(case).into()
}

/// Sums and products that wrap, in chunks of one element, of a few, and of all.
pub fn scan_words(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |(chunk, products): (u32, bool)| {
        let of = shape(size, random);
        let chunk = if chunk == 0 { of.length.max(1) } else { chunk };
        let mut case = Case::new(StaticKernel::TensorScanWords, format!("{of:?}, chunks of {chunk}, products {products}"));
        dispatch(&mut case, of.scan_words(chunk, products, &limits(group)));
        // Odd ones, whose products are never 0.
        let x: Vec<u32> = words(elements(of), random).into_iter().map(|word| word | u32::from(products)).collect();
        let [n, inner] = [of.length, of.inner].map(|size| size as usize);
        let mut totals = x.clone();
        for place in (0..x.len()).filter(|place| !(place / inner % n).is_multiple_of(chunk as usize)) {
            let before = totals[place - inner];
            totals[place] = if products { before.wrapping_mul(x[place]) } else { before.wrapping_add(x[place]) };
        }
        case.words(tensor::ScanWords::X, x);
        expect_words(&mut case, tensor::ScanWords::RESULTS, &totals);
        case
    };
    [(1, false), (5, false), (64, true), (0, false), (0, true)].map(case).into()
}

/// Rows of int32s whose runs are sorted, many equal ones among them.
pub fn merge_words(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |width: usize| {
        let rows = [1, 3, 7][random.below(3) as usize];
        let n = size.div_ceil(rows);
        let width = if width == 0 { n.div_ceil(2).max(1) } else { width };
        let mut case = Case::new(StaticKernel::TensorMergeWords, format!("{rows} rows of {n}, runs of {width}"));
        dispatch(&mut case, launch_merge_words(rows as u32, n as u32, width as u32, &limits(group)));
        let mut keys = words(rows * n, random);
        keys.chunks_mut(n.max(1)).for_each(|row| row.chunks_mut(width).for_each(|run| run.sort_by_key(|&word| word as i32)));
        let mut places: Vec<usize> = (0..keys.len()).collect();
        for row in places.chunks_mut(n.max(1)) {
            row.chunks_mut(2 * width).for_each(|pair| pair.sort_by_key(|&place| keys[place] as i32));
        }
        let labels: Vec<f64> = (0..keys.len()).map(|place| (place * 7 % 1009) as f64).collect();
        let sorted: Vec<u32> = places.iter().map(|&place| keys[place]).collect();
        expect_words(&mut case, tensor::MergeWords::SORTED, &sorted);
        case.poisoned(tensor::MergeWords::ORIGINS, keys.len());
        places.iter().enumerate().for_each(|(i, &place)| case.expect(tensor::MergeWords::ORIGINS, i, labels[place]));
        case.words(tensor::MergeWords::KEYS, keys);
        case.reals(tensor::MergeWords::PLACES, labels);
        case
    };
    [1, 2, 3, 64, 0].map(case).into()
}

/// Sums that wrap: a list for every inner coordinate and one for all.
pub fn scatter_words(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |(taken, shared): (usize, bool)| {
        let of = shape(size, random);
        let [outer, n, inner] = [of.outer, of.length, of.inner].map(|size| size as usize);
        let lists = if shared { 1 } else { inner };
        let mut case = Case::new(StaticKernel::TensorScatterWords, format!("{taken} to {of:?}, {lists} lists"));
        dispatch(&mut case, of.scatter_words(taken as u32, lists as u32, &limits(group)));
        let x = words(outer * taken * inner, random);
        let (mut numbers, mut places) = (Vec::new(), Vec::new());
        let mut results = vec![0u32; outer * n * inner];
        for list in 0..outer * lists {
            let of_list: Vec<f64> = (0..taken).map(|_| number(of.length.min(9), random)).collect();
            let mut order: Vec<usize> = (0..taken).collect();
            let key = |t: usize| if of_list[t].is_nan() { f64::INFINITY } else { of_list[t] };
            order.sort_by(|a, b| key(*a).total_cmp(&key(*b)));
            for (t, number) in of_list.iter().enumerate().filter(|(_, number)| (0.0..n as f64).contains(*number)) {
                let (o, columns) = (list / lists, if shared { 0..inner } else { list % lists..list % lists + 1 });
                for i in columns {
                    let y = &mut results[(o * n + *number as usize) * inner + i];
                    *y = y.wrapping_add(x[(o * taken + t) * inner + i]);
                }
            }
            numbers.extend(order.iter().map(|&t| of_list[t]));
            places.extend(order.iter().map(|&t| t as f64));
        }
        case.words(tensor::ScatterWords::X, x);
        case.reals(tensor::ScatterWords::NUMBERS, numbers);
        case.reals(tensor::ScatterWords::PLACES, places);
        expect_words(&mut case, tensor::ScatterWords::RESULTS, &results);
        case
    };
    [(37, false), (37, true), (1, true)].map(case).into()
}

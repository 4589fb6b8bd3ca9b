//! Twins of the shaders of searches among compressed vectors: `pairwise`, `probe`, `split`, `decode`, `estimate`, `finish`, `shortlist`.

use super::clustering::multiply::{Panels, Sum};
use super::clustering::tile;
use crate::Workgroups;
use crate::real::Real;
use leastwise_kernels as kernels;
use std::ops::Range;

/// What stands for no distance, and what distances are below.
const ABSENT: f64 = 3e38;
const FAR: f64 = 1e38;

/// The order of 2¹²⁷.
const FAR_ORDER: u32 = 0xff00_0000;

const NOBODY: u32 = u32::MAX;

/// Lanes that decode a row together.
const LANES_OF_ROW: usize = 16;

/// Where a number stands among all.
fn signed_order_of<R: Real>(x: R) -> u32 {
    let bits = (x.to_f64() as f32).to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

/// The rows whose tiles begin with one of the workgroups to do: here the first of a row of tiles does all of them.
fn tiled_rows(work: &Workgroups, rows: usize, columns: usize) -> impl Iterator<Item = Range<usize>> {
    let (tall, wide) = tile(work.group_size);
    let tiles = columns.div_ceil(wide).max(1);
    let first_of_row = work.groups.clone().filter(move |group| (*group as usize).is_multiple_of(tiles));
    first_of_row.map(move |group| {
        let first = (group as usize / tiles * tall).min(rows);
        first..(first + tall).min(rows)
    })
}

/// The queries of the workgroups to do, where each has one.
fn queries(work: &Workgroups, count: usize) -> Range<usize> {
    (work.groups.start as usize).min(count)..(work.groups.end as usize).min(count)
}

/// Products or squared distances of all rows with all others.
pub fn pairwise<R: Real>(work: &Workgroups, args: kernels::search::Pairwise, bindings: kernels::search::PairwiseSlices<R>) {
    let [count, entries, other_count, differences, length, offset, stride, to, begin, row_step, step] = [
        args.rows,
        args.entries,
        args.other_rows,
        args.squared,
        args.stride,
        args.first,
        args.result_stride,
        args.result_first,
        args.other_first,
        args.other_row_stride,
        args.other_entry_stride,
    ]
    .map(|word| word as usize);
    let (points, others, results) = (bindings.points, bindings.others, bindings.results);
    let panels = Panels::new(other_count, entries, |other, k| others[begin + other * row_step + k * step]);
    let sum = if differences != 0 { Sum::Differences } else { Sum::Products };
    for rows in tiled_rows(work, count, other_count) {
        let row = |i: usize| &points[(rows.start + i) * length + offset..][..entries];
        panels.multiply(sum, rows.len(), row, |i, column, sums| {
            for (r, sums) in sums.iter().enumerate().take(rows.len() - i) {
                let width = sums.len().min(other_count - column);
                results[(rows.start + i + r) * stride + to + column..][..width].copy_from_slice(&sums[..width]);
            }
        });
    }
}

/// The lists that queries do not probe become infinitely far.
pub fn probe<R: Real>(work: &Workgroups, args: kernels::search::Probe, bindings: kernels::search::ProbeSlices<R>) {
    let [count, lists, probes] = [args.queries, args.lists, args.probed].map(|word| word as usize);
    let distances = bindings.distances;
    for query in queries(work, count) {
        let row = &mut distances[query * lists..(query + 1) * lists];
        let mut order: Vec<(u32, usize)> =
            row.iter().enumerate().map(|(list, distance)| ((distance.to_f64() as f32).to_bits(), list)).collect();
        order.sort();
        order[probes.min(lists)..].iter().for_each(|(_, list)| row[*list] = R::from_f64(ABSENT));
    }
}

/// The leading 11 bits of a number's significand.
fn leading_eleven_bits<R: Real>(x: R) -> R {
    R::from_f64(f64::from(f32::from_bits((x.to_f64() as f32).to_bits() & 0xffff_e000)))
}

/// Queries as their leading bits, these again, and what is left.
pub fn split<R: Real>(work: &Workgroups, args: kernels::search::Split, bindings: kernels::search::SplitSlices<R>) {
    let [count, dimensions, stride] = [args.queries, args.dimensions, args.stride].map(|word| word as usize);
    for place in work.items().filter(|place| *place < count * dimensions) {
        let (query, k) = (place / dimensions, place % dimensions);
        let leading = leading_eleven_bits(bindings.queries[place]);
        let row = &mut bindings.rows[query * stride..][..3 * dimensions];
        [row[k], row[dimensions + k], row[2 * dimensions + k]] = [leading, leading, bindings.queries[place] - leading];
    }
}

fn from_half<R: Real>(bits: u32) -> R {
    let exponent = bits >> 10 & 31;
    let significand = (bits & 1023) + if exponent > 0 { 1024 } else { 0 };
    let size = f64::from(significand) * f64::from(1 << exponent.max(1)) / f64::from(1 << 25);
    R::from_f64(if bits & 0x8000 == 0 { size } else { -size })
}

/// Codes become residuals, and what of their distances does not depend on the query.
pub fn decode<R: Real>(work: &Workgroups, args: kernels::search::Decode, bindings: kernels::search::DecodeSlices<R>) {
    let [count, dimensions, first, first_list, lists_at, codes_at, width, stride] =
        [args.vectors, args.dimensions, args.first, args.first_list, args.lists, args.codes, args.code_words, args.split_stride]
            .map(|word| word as usize);
    let (anchors, numbers, table) = (bindings.anchors, bindings.numbers, bindings.table);
    let (residuals, constants) = (bindings.residuals, bindings.constants);
    let (spreads, rest) = numbers[1..].split_at(dimensions);
    let (lows, levels) = rest.split_at(dimensions);
    let group = work.group_size as usize;
    let rows = |group_number: u32| (group_number as usize * group / LANES_OF_ROW).min(count);
    for row in rows(work.groups.start)..rows(work.groups.end) {
        let code = codes_at + (first + row) * width;
        let anchor = &anchors[(table[lists_at + first + row] as usize - first_list) * dimensions..][..dimensions];
        let scale = if args.form == 1 { from_half(table[code] & 0xffff) } else { R::ONE };
        let mut parts = [R::ZERO; LANES_OF_ROW];
        for k in 0..dimensions {
            let [bit, mask, levels_at] = [0, 1, 2].map(|word| table[3 * k + word]);
            let word = code + bit as usize / 32;
            let two = u64::from(table[word]) | u64::from(if bit % 32 == 0 { 0 } else { table[word + 1] }) << 32;
            let level = levels_at as usize + ((two >> (bit % 32)) as u32 & mask) as usize;
            let value = match args.form {
                2 => lows[k] + R::from_f64(f64::from(f32::from_bits(table[code + k]))),
                3 => lows[k] + from_half(table[code + k / 2] >> (k % 2 * 16) & 0xffff),
                _ => scale * (lows[k] + spreads[k] * levels[level]),
            };
            if stride != 0 {
                let leading = leading_eleven_bits(value);
                let row = &mut residuals[row * stride..][..3 * dimensions];
                [row[k], row[dimensions + k], row[2 * dimensions + k]] = [leading, value - leading, leading];
            } else {
                residuals[row * dimensions + k] = value;
            }
            parts[k % LANES_OF_ROW] += value * (anchor[k] + anchor[k] + numbers[0] * value);
        }
        constants[row] = parts.into_iter().reduce(|sum, part| sum + part).unwrap_or(R::ZERO);
    }
}

/// The squared distance, of a query's from the anchor, a vector's constant and their product.
fn estimated<R: Real>(distance: R, constant: R, product: R) -> R {
    let result = distance + (constant - (product + product));
    if distance < R::from_f64(FAR) && result.is_finite() { result } else { R::from_f64(ABSENT) }
}

/// Products become squared distances.
pub fn finish<R: Real>(work: &Workgroups, args: kernels::search::Finish, bindings: kernels::search::FinishSlices<R>) {
    let [count, vectors, stride, lists, lists_at] =
        [args.queries, args.vectors, args.stride, args.lists, args.list_of].map(|word| word as usize);
    let (table, constants, results, distances) = (bindings.table, bindings.constants, bindings.results, bindings.distances);
    for place in work.items().filter(|place| *place < count * vectors) {
        let (query, vector) = (place / vectors, place % vectors);
        let distance = distances[query * lists + table[lists_at + vector] as usize];
        let result = &mut results[query * stride + vector];
        *result = estimated(distance, constants[vector], *result);
    }
}

/// Squared distances of vectors from queries.
pub fn estimate<R: Real>(work: &Workgroups, args: kernels::search::Estimate, bindings: kernels::search::EstimateSlices<R>) {
    let [count, dimensions, vectors, stride, lists, lists_at] =
        [args.queries, args.dimensions, args.vectors, args.stride, args.lists, args.list_of].map(|word| word as usize);
    let (queries, residuals, table) = (bindings.queries, bindings.residuals, bindings.table);
    let (constants, distances) = (bindings.constants, bindings.distances);
    let results = bindings.results;
    let panels = Panels::new(vectors, dimensions, |vector, k| residuals[vector * dimensions + k]);
    for rows in tiled_rows(work, count, vectors) {
        let row = |i: usize| &queries[(rows.start + i) * dimensions..][..dimensions];
        panels.multiply(Sum::Products, rows.len(), row, |i, column, sums| {
            for (r, sums) in sums.iter().enumerate().take(rows.len() - i) {
                let query = rows.start + i + r;
                for (vector, sum) in (column..vectors).zip(sums) {
                    let distance = distances[query * lists + table[lists_at + vector] as usize];
                    results[query * stride + vector] = estimated(distance, constants[vector], *sum);
                }
            }
        });
    }
}

/// The k nearest of what was nearest and a block of vectors.
pub fn shortlist<R: Real>(work: &Workgroups, args: kernels::search::Shortlist, bindings: kernels::search::ShortlistSlices<R>) {
    let [count, vectors, stride, k, ids_at, nearest_at, nearest_ids_at, continues] =
        [args.queries, args.vectors, args.stride, args.k, args.ids, args.orders, args.nearest, args.any].map(|word| word as usize);
    let (board, distances) = (bindings.board, bindings.distances);
    for query in queries(work, count) {
        let places = |at: usize| at + query * k..at + (query + 1) * k;
        let mut all: Vec<(u32, u32)> = Vec::with_capacity(vectors + k);
        if continues != 0 {
            all.extend(places(nearest_at).zip(places(nearest_ids_at)).map(|(order, id)| (board[order], board[id])));
        }
        let row = &distances[query * stride..][..vectors];
        let found = row.iter().zip(&board[ids_at..]).map(|(distance, id)| (signed_order_of(*distance), *id));
        all.extend(found.filter(|(order, id)| *order < FAR_ORDER && *id != NOBODY));
        all.sort();
        all.resize(k, (NOBODY, NOBODY));
        for ((order, id), found) in places(nearest_at).zip(places(nearest_ids_at)).zip(all) {
            (board[order], board[id]) = found;
        }
    }
}

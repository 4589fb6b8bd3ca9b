//! Kernels of searches among compressed vectors.

use super::clusters::{bound_of_sum, row, squared_distance, tile};
use crate::twins::harness::{Case, POISONED_WORD, poison};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, search};

/// What stands for no distance.
const ABSENT: f64 = 3e38;
const NOBODY: u32 = u32::MAX;

/// Forms of codes that `decode` knows.
const LEVELS: u32 = 0;
const SCALED: u32 = 1;
const SINGLES: u32 = 2;
const HALVES: u32 = 3;

/// Dimensions, fewer where there are many rows: these fit into small buffers, and some numbers beside each row, too.
fn dimensions(rows: usize, random: &mut Random) -> usize {
    let any = [1, 2, 3, 16, 37, 131][random.below(6) as usize];
    any.min((140_000 / rows.max(1)).max(1))
}

/// How many others so many rows have, of either side of a tile's width.
fn others(rows: usize, dimensions: usize, random: &mut Random) -> usize {
    let any = [1, 2, 7, 33, 150][random.below(5) as usize];
    any.min((400_000 / (rows.max(1) * dimensions)).max(1)).min((60_000 / rows.max(1)).max(1))
}

fn tiles(rows: usize, columns: usize, group: usize) -> u32 {
    let (tall, wide) = tile(group);
    (rows.div_ceil(tall) * columns.div_ceil(wide) * group) as u32
}

/// Rows within longer ones; the others by rows or by columns; products and squared distances.
pub fn pairwise(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |(differences, by_columns): (bool, bool)| {
        let entries = dimensions(size, random);
        let other_count = others(size, entries, random);
        let [offset, beyond, to, after, begin] = [0; 5].map(|_| random.below(4) as usize);
        let (length, stride) = (offset + entries + beyond, to + other_count + after);
        let (points, other) = (random.vector(size * entries), random.vector(other_count * entries));
        let (row_step, step) = if by_columns { (1, other_count) } else { (entries, 1) };
        let name = format!("{entries} entries, {other_count} others, differences {differences}, by columns {by_columns}");
        let mut case = Case::new(StaticKernel::SearchPairwise, name);
        case.bound = bound_of_sum(entries);
        let args = search::Pairwise {
            rows: size as u32,
            entries: entries as u32,
            other_rows: other_count as u32,
            squared: differences.into(),
            stride: length as u32,
            first: offset as u32,
            result_stride: stride as u32,
            result_first: to as u32,
            other_first: begin as u32,
            other_row_stride: row_step as u32,
            other_entry_stride: step as u32,
        };
        case.dispatch(tiles(size, other_count, group), args);
        let mut stored: Vec<f64> = (0..size * length).map(poison).collect();
        let mut stored_others: Vec<f64> = (0..begin + other_count * entries).map(poison).collect();
        for k in 0..entries {
            (0..size).for_each(|i| stored[i * length + offset + k] = points[i * entries + k]);
            (0..other_count).for_each(|i| stored_others[begin + i * row_step + k * step] = other[i * entries + k]);
        }
        case.reals(search::Pairwise::POINTS, stored);
        case.reals(search::Pairwise::OTHERS, stored_others);
        case.poisoned(search::Pairwise::RESULTS, size * stride);
        for i in 0..size {
            for j in 0..other_count {
                let (x, y) = (row(&points, i, entries), row(&other, j, entries));
                let product = || x.iter().zip(y).map(|(x, y)| Value::from(x * y)).sum::<Value>();
                let expected = if differences { squared_distance(x, y) } else { product() };
                case.expect(search::Pairwise::RESULTS, i * stride + to + j, expected);
            }
        }
        case
    };
    [(false, false), (false, true), (true, false)].map(case).into()
}

/// Queries at most: each is a workgroup with as many sums as there are bits, and this many need a 2-D grid within small limits.
const MOST_QUERIES: usize = 601;

/// Many queries of few lists, and few of many; many distances are equal.
pub fn probe(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let few = 1 + random.below(7) as usize;
    let many = size.min(3000) + 2;
    let case = |(count, lists): (usize, usize)| {
        let probes = 1 + random.below(lists as u32 - 1) as usize;
        let kinds = [2, 5, 1 << 20][random.below(3) as usize];
        let mut case = Case::new(StaticKernel::SearchProbe, format!("{count} queries, {probes} of {lists} lists, {kinds} distances"));
        case.dispatch((count * group) as u32, search::Probe { queries: count as u32, lists: lists as u32, probed: probes as u32 });
        let distances: Vec<f64> = (0..count * lists).map(|_| f64::from(random.below(kinds) as f32 * 0.37)).collect();
        case.reals(search::Probe::DISTANCES, distances.clone());
        for query in 0..count {
            let distances = row(&distances, query, lists);
            let mut order: Vec<usize> = (0..lists).collect();
            order.sort_by(|a, b| distances[*a].total_cmp(&distances[*b]).then(a.cmp(b)));
            order[probes..].iter().for_each(|list| case.expect(search::Probe::DISTANCES, query * lists + list, ABSENT));
        }
        case
    };
    [(size.min(MOST_QUERIES), 3 + few), (few, many)].map(case).into()
}

/// The leading 11 bits of a number.
fn leading(x: f64) -> f64 {
    f64::from(f32::from_bits((x as f32).to_bits() & 0xffff_e000))
}

fn single(x: f64) -> f64 {
    f64::from(x as f32)
}

/// Rows of queries as leading bits, these again, and what is left; zeros of either sign and tiny numbers among them.
pub fn split(size: usize, random: &mut Random) -> Vec<Case> {
    let dimensions = dimensions(3 * size, random);
    let stride = 3 * dimensions + random.below(4) as usize;
    let mut case = Case::new(StaticKernel::SearchSplit, format!("dimension {dimensions}, stride {stride}"));
    let edges = [0.0, -0.0, 1e-30, -1e30, 2047.0, 2049.0, -1.0 / 3.0];
    let values = random.vector(size * dimensions).into_iter().enumerate();
    let queries: Vec<f64> = values.map(|(place, x)| single(*edges.get(place % 11).unwrap_or(&x))).collect();
    let args = search::Split { queries: size as u32, dimensions: dimensions as u32, stride: stride as u32 };
    case.dispatch((size * dimensions) as u32, args);
    case.poisoned(search::Split::ROWS, size * stride + 3);
    for (place, x) in queries.iter().enumerate() {
        let begin = place / dimensions * stride + place % dimensions;
        for (part, value) in [leading(*x), leading(*x), x - leading(*x)].into_iter().enumerate() {
            case.expect(search::Split::ROWS, begin + part * dimensions, value);
        }
    }
    case.reals(search::Split::QUERIES, queries);
    vec![case]
}

/// Products become distances: of all lists, some, hardly any; products that are no number.
pub fn finish(size: usize, random: &mut Random) -> Vec<Case> {
    let case = |share: u32| {
        let vectors = 1 + random.below(size.clamp(1, 700) as u32) as usize;
        let count = size.div_ceil(vectors);
        let lists = (1 + random.below(40) as usize).min((200_000 / count.max(1)).max(1));
        let (stride, before) = (vectors + random.below(4) as usize, random.below(9) as usize);
        let of_vectors: Vec<u32> = (0..vectors).map(|_| random.below(lists as u32)).collect();
        let constants = random.vector(vectors);
        let mut products: Vec<f64> = (0..count * stride).map(poison).collect();
        let distances: Vec<f64> =
            (0..count * lists).map(|_| if random.below(100) < share { single(random.within(0.0, 9.0)) } else { single(ABSENT) }).collect();
        let mut case = Case::new(StaticKernel::SearchFinish, format!("{count} queries, {vectors} vectors, {share} % of {lists} lists"));
        let mut expected = Vec::new();
        for query in 0..count {
            for vector in 0..vectors {
                let product = random.within(-5.0, 5.0);
                products[query * stride + vector] = product;
                let distance = distances[query * lists + of_vectors[vector] as usize];
                let result = Value::from(distance) + Value::from(constants[vector]) - Value::from(product) - Value::from(product);
                expected.push((query * stride + vector, if distance > 1e38 { ABSENT.into() } else { result }));
            }
        }
        // Overflow makes no neighbour.
        if let Some((place, _)) = expected.first().copied() {
            products[place] = f64::INFINITY;
            expected[0].1 = ABSENT.into();
        }
        case.dispatch(
            (count * vectors) as u32,
            search::Finish {
                queries: count as u32,
                vectors: vectors as u32,
                stride: stride as u32,
                lists: lists as u32,
                list_of: before as u32,
            },
        );
        case.reals(search::Finish::RESULTS, products);
        expected.into_iter().for_each(|(place, value)| case.expect(search::Finish::RESULTS, place, value));
        case.reals(search::Finish::CONSTANTS, constants);
        case.reals(search::Finish::DISTANCES, distances);
        case.indices([vec![POISONED_WORD; before], of_vectors].concat());
        case
    };
    [100, 60, 4].map(case).into()
}

/// Fields of any width up to 12 bits anywhere in rows, which overlap; with and without a scale; numbers of either precision; split, where what is
/// decoded is exact.
pub fn decode(size: usize, random: &mut Random) -> Vec<Case> {
    let case = |(form, splits): (u32, bool)| {
        let dimensions = dimensions(if splits { 4 * size } else { size }, random);
        let stride = if splits { 3 * dimensions + random.below(4) as usize } else { 0 };
        let beyond = random.below(if form >= SINGLES { 3 } else { 9 }) as usize;
        let width = match form {
            SINGLES => dimensions + beyond,
            HALVES => dimensions.div_ceil(2) + beyond,
            _ => 1 + beyond,
        };
        let (lists, first_list) = (1 + random.below(30) as usize, random.below(50));
        let before = random.below(20) as usize;
        let all = before + size + random.below(5) as usize;
        // Levels of every width, one table after the other.
        let starts: Vec<u32> = (0..=12).map(|bits: u32| (1 << bits) - 1).collect();
        let levels = random.vector((1 << 13) - 1);
        let (mut spreads, mut lows) = (random.vector(dimensions), random.vector(dimensions));
        let levels: Vec<f64> = levels.into_iter().map(single).collect();
        if splits {
            spreads.iter_mut().for_each(|spread| *spread = [0.5, 1.0, -2.0][random.below(3) as usize]);
            lows.fill(0.0);
        }
        let shrink = random.within(0.5, 1.0);
        let mut table = Vec::new();
        for _ in 0..dimensions {
            let bits = random.below(13).min(32 * width as u32);
            let bit = random.below(32 * width as u32 - bits + 1);
            table.extend([bit, (1 << bits) - 1, starts[bits as usize]]);
        }
        let lists_at = table.len();
        table.extend((0..all).map(|_| first_list + random.below(lists as u32)));
        table.extend([POISONED_WORD; 3]);
        let codes_at = table.len();
        for _ in 0..all {
            // A scale is any number of half precision.
            let begin = table.len();
            table.extend((0..width).map(|_| random.below(u32::MAX)));
            if form == SCALED {
                table[begin] = table[begin] & 0xffff_0000 | random.below(0x7c00);
            } else if form == SINGLES {
                table[begin..].iter_mut().for_each(|word| *word = (random.within(-2.0, 2.0) as f32).to_bits());
            } else if form == HALVES {
                table[begin..].iter_mut().for_each(|word| *word &= 0xbbff_bbff);
            }
        }
        table.push(POISONED_WORD);
        let anchors = random.vector(lists * dimensions);
        let name = format!(
            "dimension {dimensions}, {width} words, {lists} lists from {first_list} on, {before} of {all} before, form {form}, split {splits}"
        );
        let mut case = Case::new(StaticKernel::SearchDecode, name);
        case.bound = bound_of_sum(dimensions);
        let args = search::Decode {
            vectors: size as u32,
            dimensions: dimensions as u32,
            first: before as u32,
            first_list,
            lists: lists_at as u32,
            codes: codes_at as u32,
            code_words: width as u32,
            form,
            split_stride: stride as u32,
        };
        case.dispatch((size * 16) as u32, args);
        case.poisoned(search::Decode::RESIDUALS, size * if splits { stride } else { dimensions } + 3);
        case.poisoned(search::Decode::CONSTANTS, size + 3);
        for i in 0..size {
            let code = &table[codes_at + (before + i) * width..][..width + 1];
            let anchor = row(&anchors, (table[lists_at + before + i] - first_list) as usize, dimensions);
            let scale = if form == SCALED { half(code[0] & 0xffff) } else { 1.0 };
            let mut constant = Value::default();
            for k in 0..dimensions {
                let [bit, mask, begin] = [0, 1, 2].map(|word| table[3 * k + word]);
                let number = (0..12).map(|i| code[((bit + i) / 32) as usize] >> ((bit + i) % 32) & 1).rev().fold(0, |n, bit| 2 * n + bit);
                let level = levels[(begin + (number & mask)) as usize];
                let exact = match form {
                    SINGLES => f64::from(f32::from_bits(code[k])),
                    HALVES => {
                        let bits = code[k / 2] >> (k % 2 * 16) & 0xffff;
                        half(bits & 0x7fff) * if bits & 0x8000 == 0 { 1.0 } else { -1.0 }
                    }
                    _ => spreads[k] * level,
                };
                let value = match form {
                    SINGLES | HALVES => Value::from(lows[k]) + Value::from(exact),
                    _ => Value::from(scale) * (Value::from(lows[k]) + Value::from(exact)),
                };
                if splits {
                    for (part, value) in [leading(exact), exact - leading(exact), leading(exact)].into_iter().enumerate() {
                        case.expect(search::Decode::RESIDUALS, i * stride + part * dimensions + k, value);
                    }
                } else {
                    case.expect(search::Decode::RESIDUALS, i * dimensions + k, value);
                }
                constant = constant + value * (Value::from(2.0 * anchor[k]) + Value::from(shrink) * value);
            }
            case.expect(search::Decode::CONSTANTS, i, constant);
        }
        case.reals(search::Decode::ANCHORS, anchors);
        case.reals(search::Decode::NUMBERS, [vec![shrink], spreads, lows, levels].concat());
        case.indices(table);
        case
    };
    [(LEVELS, false), (SCALED, false), (LEVELS, true), (SINGLES, false), (SINGLES, true), (HALVES, false), (HALVES, true)].map(case).into()
}

/// A number of half precision that is not negative.
fn half(bits: u32) -> f64 {
    match bits >> 10 {
        0 => f64::from(bits) * 2f64.powi(-24),
        exponent => f64::from(1024 + bits % 1024) * 2f64.powi(exponent as i32 - 25),
    }
}

/// Many vectors of few queries, and few of many; with all lists probed, some, or hardly any, so that tiles are left out.
pub fn estimate(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |(share, of_queries): (u32, bool)| {
        let dimensions = dimensions(size, random);
        let other = others(size, dimensions, random);
        let (count, vectors) = if of_queries { (size, other) } else { (other, size) };
        let lists = (1 + random.below(40) as usize).min((200_000 / count.max(1)).max(1));
        let stride = vectors + random.below(4) as usize;
        let before = random.below(9) as usize;
        let mut of_vectors: Vec<u32> = (0..vectors).map(|_| random.below(lists as u32)).collect();
        of_vectors.sort();
        let (queries, residuals) = (random.vector(count * dimensions), random.vector(vectors * dimensions));
        let constants = random.vector(vectors);
        let distances: Vec<f64> =
            (0..count * lists).map(|_| if random.below(100) < share { random.within(0.0, 9.0) } else { ABSENT }).collect();
        let mut case = Case::new(
            StaticKernel::SearchEstimate,
            format!("{count} queries, {vectors} vectors, dimension {dimensions}, {share} % of {lists} lists"),
        );
        case.bound = bound_of_sum(dimensions);
        let args = search::Estimate {
            queries: count as u32,
            dimensions: dimensions as u32,
            vectors: vectors as u32,
            stride: stride as u32,
            lists: lists as u32,
            list_of: before as u32,
            probing: u32::from(share < 100),
        };
        case.dispatch(tiles(count, vectors, group), args);
        case.poisoned(search::Estimate::RESULTS, count * stride);
        for query in 0..count {
            for vector in 0..vectors {
                let terms = row(&queries, query, dimensions).iter().zip(row(&residuals, vector, dimensions));
                let product: Value = terms.map(|(x, r)| Value::from(x * r)).sum();
                let distance = distances[query * lists + of_vectors[vector] as usize];
                let estimate = Value::from(distance) + Value::from(constants[vector]) - product - product;
                case.expect(search::Estimate::RESULTS, query * stride + vector, if distance == ABSENT { ABSENT.into() } else { estimate });
            }
        }
        case.reals(search::Estimate::QUERIES, queries);
        case.reals(search::Estimate::RESIDUALS, residuals);
        case.reals(search::Estimate::CONSTANTS, constants);
        case.reals(search::Estimate::DISTANCES, distances.iter().map(|distance| f64::from(*distance as f32)).collect());
        case.indices([vec![POISONED_WORD; before], of_vectors].concat());
        case
    };
    [(100, false), (100, true), (60, false), (4, true), (1, false)].map(case).into()
}

/// A block at a time, of all lengths; k up to its limit; equal distances, negative ones, vectors that are not to be found.
pub fn shortlist(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |continues: bool| {
        let count = 1 + random.below(if size > 5000 { 3 } else { 9 }) as usize;
        let stride = size + random.below(4) as usize;
        let k = [1, 2, 10, 100, 511, 512][random.below(6) as usize];
        let kinds = [3, 100, 1 << 22][random.below(3) as usize];
        let falling = random.below(3) == 0;
        let mut case = Case::new(
            StaticKernel::SearchShortlist,
            format!("{count} queries, k = {k}, {kinds} distances, falling {falling}, continues {continues}"),
        );
        let mut ids: Vec<u32> = (0..size as u32).map(|id| 3 * id + 1).collect();
        random.shuffle(&mut ids);
        ids.iter_mut().filter(|_| random.below(5) == 0).for_each(|id| *id = NOBODY);
        let mut distances: Vec<f64> = (0..count * stride).map(poison).collect();
        for query in 0..count {
            let row = &mut distances[query * stride..][..size];
            row.iter_mut().for_each(|distance| *distance = f64::from((f64::from(random.below(kinds)) * 0.3 - 0.2) as f32));
            if falling {
                // Whatever comes is nearer than all before: nothing else fills the room as fast.
                row.sort_by(|a, b| b.total_cmp(a));
            }
            row.iter_mut().filter(|_| random.below(4) == 0).for_each(|distance| *distance = f64::from(ABSENT as f32));
        }
        let mut board = vec![POISONED_WORD; random.below(9) as usize];
        let ids_at = board.len();
        board.extend(&ids);
        board.push(POISONED_WORD);
        // What was nearest before: ids that the block does not have.
        let known = |query: usize| -> Vec<(u32, u32)> {
            let many = if continues { [0, k / 2, k][query % 3] } else { 0 };
            let mut known: Vec<(u32, u32)> =
                (0..many).map(|i| (order((i / 2) as f64 * 0.4), 3 * ((i * 7919) % 100_003) as u32 + 2)).collect();
            known.sort();
            known.resize(k, (NOBODY, NOBODY));
            known
        };
        let before: Vec<Vec<(u32, u32)>> = (0..count).map(known).collect();
        let word = |word: u32| if continues { word } else { POISONED_WORD };
        let orders_at = board.len();
        board.extend(before.iter().flatten().map(|(order, _)| word(*order)));
        board.push(POISONED_WORD);
        let nearest_at = board.len();
        board.extend(before.iter().flatten().map(|(_, id)| word(*id)));
        case.dispatch(
            (count * group) as u32,
            search::Shortlist {
                queries: count as u32,
                vectors: size as u32,
                stride: stride as u32,
                k: k as u32,
                ids: ids_at as u32,
                orders: orders_at as u32,
                nearest: nearest_at as u32,
                any: u32::from(continues),
            },
        );
        case.indices(board);
        for (query, known) in before.into_iter().enumerate() {
            let row = &distances[query * stride..][..size];
            let found = row.iter().zip(&ids).filter(|(distance, id)| **distance < 1e38 && **id != NOBODY);
            let mut all: Vec<(u32, u32)> = found.map(|(distance, id)| (order(*distance), *id)).chain(known).collect();
            all.sort();
            all.resize(k, (NOBODY, NOBODY));
            for (place, (order, id)) in all.into_iter().enumerate() {
                case.expect_index(orders_at + query * k + place, order);
                case.expect_index(nearest_at + query * k + place, id);
            }
        }
        case.reals(search::Shortlist::DISTANCES, distances);
        case
    };
    [false, true].map(case).into()
}

/// Where a number stands among all numbers.
fn order(x: f64) -> u32 {
    let bits = (x as f32).to_bits();
    if x.is_sign_positive() { bits + (1 << 31) } else { u32::MAX - bits }
}

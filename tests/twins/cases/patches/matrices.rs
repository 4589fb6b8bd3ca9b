//! Matrices of patches: blocks of the diagonal, of pairs and of frames, their products and inverses.

use super::super::entry;
use super::{NONE, SIZES, TURNED, Words, of_block, owners, rows, shared, spin};
use crate::twins::harness::{Case, random_state};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, two_level};
use leastwise::program::NEGATIVE;
use leastwise::solve::state::{DAMPING, INNER_EPSILON};

pub fn diagonal(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let one = |columns: usize, width: usize, random: &mut Random| {
        let (vector, block, variables, packed) = (3, 2, 150, width * (width + 1) / 2);
        let nodes = size.div_ceil(columns * columns);
        let (scale, blocks) = (random.positive(vector + variables * width), random.vector(block + variables * packed));
        let modes = random.vector((vector + variables * width) * columns);
        let members = rows(nodes, 5, random, |random| [random.below(variables as u32)]);
        let mut words = Words::new();
        let [starts, entries] = words.rows(&members);
        let state = random_state(random, &[]);
        let lambda = state[DAMPING as usize];
        let mut case = Case::new(StaticKernel::TwoLevelCoarseDiagonal, format!("{columns} motions, width {width}"));
        case.reals(two_level::CoarseDiagonal::SCALE, scale.clone());
        case.reals(two_level::CoarseDiagonal::MODES, modes.clone());
        case.reals(two_level::CoarseDiagonal::BLOCKS, blocks.clone());
        case.reals(two_level::CoarseDiagonal::COARSE, random.vector(nodes * columns * columns));
        case.reals(two_level::CoarseDiagonal::STATE, state);
        case.indices(words.0);
        let (lanes, slots) = shared(nodes, columns * columns, group, random);
        let args = two_level::CoarseDiagonal {
            vector: vector as u32,
            width: width as u32,
            block: block as u32,
            modes: columns as u32,
            starts,
            members: entries,
            patches: nodes as u32,
            slots,
        };
        case.dispatch(lanes, args);
        for (place, row) in members.iter().enumerate() {
            for (r, c) in (0..columns).flat_map(|r| (0..columns).map(move |c| (r, c))) {
                let of = |&[variable]: &[u32; 1]| {
                    let variable = variable as usize;
                    let mode = |k: usize, column: usize| Value::from(modes[(vector + variable * width + k) * columns + column]);
                    let pairs = (0..width).flat_map(|i| (0..width).map(move |j| (i, j)));
                    let term = |(i, j): (usize, usize)| {
                        let damping =
                            if i == j { Value::from(lambda) * scale[vector + variable * width + i].into() } else { Value::default() };
                        mode(i, r) * (Value::from(entry(&blocks, block + variable * packed, i, j)) + damping) * mode(j, c)
                    };
                    pairs.map(term).sum::<Value>()
                };
                let at = (place * columns + r) * columns + c;
                case.expect(
                    two_level::CoarseDiagonal::COARSE,
                    at,
                    case.latest(two_level::CoarseDiagonal::COARSE, at) + row.iter().map(of).sum(),
                );
            }
        }
        case
    };
    vec![one(6, 3, random), one(3, 2, random), one(1, 1, random)]
}

/// Two pairs of slots: 3 × 3 and 3 × 2.
pub fn pairs(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let one = |columns: usize, random: &mut Random| {
        let (instances, stored, unknowns, bits) = (60, 5, 90, 2);
        let shapes = [(3, 3), (3, 2)];
        let nodes = size.div_ceil(columns * columns);
        let (values, modes) = (random.vector(stored * instances), random.vector(unknowns * columns));
        let codes: Vec<Vec<u32>> = shapes
            .iter()
            .map(|&(rows, width)| {
                let code = |random: &mut Random| match random.below(4) {
                    0 => 0,
                    1 => (random.below(stored as u32) + 1) | NEGATIVE,
                    _ => random.below(stored as u32) + 1,
                };
                (0..rows * width).map(|_| code(random)).collect()
            })
            .collect();
        let list = rows(nodes, 4, random, |random| {
            let number = random.below(4);
            [random.below(instances as u32) << bits | number, random.below(unknowns as u32 - 3), random.below(unknowns as u32 - 3)]
        });
        // Rows lead to two of three blocks; the first third of these is on the diagonal.
        let ids: Vec<u32> = (0..nodes as u32).map(|place| place / 2 * 3 + place % 2).collect();
        let blocks = nodes * 3 / 2 + 2;
        let on_diagonal = blocks as u32 / 3;
        let mut words = Words::new();
        let shapes_at = words.push(&[3, 3, 6, 3, 2, 6 + 9]);
        codes.iter().for_each(|codes| {
            words.push(codes);
        });
        let [starts, entries] = words.rows(&list);
        let ids_at = words.push(&ids);
        let mut case = Case::new(StaticKernel::TwoLevelCoarsePairs, format!("{columns} motions"));
        case.reals(two_level::CoarsePairs::MODES, modes.clone());
        case.reals(two_level::CoarsePairs::COLUMNS, values.clone());
        case.reals(two_level::CoarsePairs::COARSE, random.vector(blocks * columns * columns));
        case.indices(words.0);
        let (lanes, slots) = shared(nodes, columns * columns, group, random);
        case.dispatch(
            lanes,
            two_level::CoarsePairs {
                modes: columns as u32,
                pairs: shapes_at,
                starts,
                ids: ids_at,
                entries,
                pair_bits: bits,
                length: instances as u32,
                diagonal: on_diagonal,
                rows: nodes as u32,
                slots,
            },
        );
        for (place, row) in list.iter().enumerate() {
            for (r, c) in (0..columns).flat_map(|r| (0..columns).map(move |c| (r, c))) {
                let of = |&[code, a, b]: &[u32; 3]| {
                    let (instance, number) = ((code >> bits) as usize, (code & 3) as usize);
                    let (height, width) = shapes[number / 2];
                    let along = |r: usize, c: usize| {
                        let terms = (0..height).flat_map(|i| (0..width).map(move |j| (i, j)));
                        let term = |(i, j): (usize, usize)| {
                            let code = codes[number / 2][i * width + j];
                            if code == 0 {
                                return Value::default();
                            }
                            let value = Value::from(values[((code & !NEGATIVE) as usize - 1) * instances + instance]);
                            let value = if code & NEGATIVE == 0 { value } else { -value };
                            Value::from(modes[(a as usize + i) * columns + r]) * value * modes[(b as usize + j) * columns + c].into()
                        };
                        terms.map(term).sum::<Value>()
                    };
                    match (ids[place] < on_diagonal, number % 2) {
                        (true, _) => along(r, c) + along(c, r),
                        (false, 0) => along(r, c),
                        (false, _) => along(c, r),
                    }
                };
                let at = ids[place] as usize * columns * columns + r * columns + c;
                case.expect(two_level::CoarsePairs::COARSE, at, case.latest(two_level::CoarsePairs::COARSE, at) + row.iter().map(of).sum());
            }
        }
        case
    };
    SIZES.map(|columns| one(columns, random)).to_vec()
}

pub fn frames(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |rows: usize, coordinates: usize, random: &mut Random| {
        let (nodes, above) = (size.div_ceil(rows * rows), 8);
        let (centers, higher) = (random.vector((nodes * coordinates).max(1)), random.vector(above * coordinates.max(1)));
        let parents: Vec<u32> = (0..nodes).map(|_| random.below(above as u32)).collect();
        let mut words = Words::new();
        let place = words.push(&parents);
        let mut case = Case::new(StaticKernel::TwoLevelCoarseFrames, format!("{coordinates} coordinates"));
        case.reals(two_level::CoarseFrames::CENTERS, centers.clone());
        case.reals(two_level::CoarseFrames::ABOVE, higher.clone());
        case.poisoned(two_level::CoarseFrames::FRAMES, nodes * rows * rows);
        case.indices(words.0);
        case.dispatch(
            (nodes * rows * rows) as u32,
            two_level::CoarseFrames { rows: rows as u32, coordinates: coordinates as u32, parents: place },
        );
        for node in 0..nodes {
            let arm = |k: usize| Value::from(centers[node * coordinates + k]) - higher[parents[node] as usize * coordinates + k].into();
            let arm: Vec<Value> = (0..coordinates).map(arm).collect();
            for (r, c) in (0..rows).flat_map(|r| (0..rows).map(move |c| (r, c))) {
                let value = match c.checked_sub(coordinates) {
                    Some(axis) if r < coordinates => spin(&arm, r, axis),
                    _ => f64::from(u8::from(r == c)).into(),
                };
                case.expect(two_level::CoarseFrames::FRAMES, (node * rows + r) * rows + c, value);
            }
        }
        case
    };
    vec![one(6, 3, random), one(3, 2, random), one(4, 0, random)]
}

pub fn multiply(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let one = |rows_of_block: usize, mode: u32, random: &mut Random| {
        let (area, known) = (rows_of_block * rows_of_block, 20);
        let count = size.div_ceil(area);
        let [left, right, base] = [(); 3].map(|()| random.vector(known * area));
        let number = |random: &mut Random| random.below(known as u32) | if random.below(2) == 0 { TURNED } else { 0 };
        let list = rows(count, 6, random, |random| [number(random), number(random)]);
        let bases: Vec<u32> = owners(count, known as u32, random);
        let radius = random.within(1.0, 3.0);
        let mut words = Words::new();
        let [starts, entries] = words.rows(&list);
        let bases_at = words.push(&bases);
        let mut case = Case::new(StaticKernel::TwoLevelMultiplyBlocks, format!("{rows_of_block} rows, mode {mode}"));
        case.reals(two_level::MultiplyBlocks::LEFT, left.clone());
        case.reals(two_level::MultiplyBlocks::RIGHT, right.clone());
        case.reals(two_level::MultiplyBlocks::BASE, base.clone());
        case.reals(two_level::MultiplyBlocks::RADIUS, vec![radius]);
        case.poisoned(two_level::MultiplyBlocks::PRODUCT, count * area);
        case.indices(words.0);
        let (lanes, slots) = shared(count, area, group, random);
        let blocks = count as u32;
        case.dispatch(
            lanes,
            two_level::MultiplyBlocks { rows: rows_of_block as u32, starts, entries, bases: bases_at, mode, blocks, slots },
        );
        let step = if mode == 1 { 4.0 / 3.0 } else { 1.6 } / radius;
        for (place, row) in list.iter().enumerate() {
            for (r, c) in (0..rows_of_block).flat_map(|r| (0..rows_of_block).map(move |c| (r, c))) {
                let of = |&[x, y]: &[u32; 2]| {
                    let term = |k: usize| of_block(&left, x, rows_of_block, r, k) * of_block(&right, y, rows_of_block, k, c);
                    (0..rows_of_block).map(term).sum::<Value>()
                };
                let sum: Value = row.iter().map(of).sum();
                let before = if bases[place] == NONE { Value::default() } else { of_block(&base, bases[place], rows_of_block, r, c) };
                let value = match mode {
                    0 => sum,
                    4 => before + sum,
                    3 => Value::from(2.0 * step) * before - Value::from(step * step) * sum,
                    _ => before - Value::from(step) * sum,
                };
                case.expect(two_level::MultiplyBlocks::PRODUCT, place * area + r * rows_of_block + c, value);
            }
        }
        case
    };
    vec![one(6, 0, random), one(6, 1, random), one(3, 2, random), one(6, 3, random), one(6, 4, random), one(1, 3, random)]
}

pub fn invert(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |rows: usize, random: &mut Random| {
        let (area, nodes) = (rows * rows, size.div_ceil(rows * rows));
        let mut blocks = Vec::new();
        let mut case = Case::new(StaticKernel::TwoLevelInvertNodes, format!("{rows} rows"));
        // Eliminations in another order round differently.
        case.bound = 1e-5;
        case.poisoned(two_level::InvertNodes::INVERSE, nodes * area);
        for node in 0..nodes {
            let mut block: Vec<f64> = random.vector(area);
            for r in 0..rows {
                for c in 0..r {
                    block[c * rows + r] = block[r * rows + c];
                }
                block[r * rows + r] = f64::from((rows as f64 + random.within(0.5, 1.0)) as f32);
            }
            // Nothing of the second row but what the first one says; nothing at all of the last.
            let lost: Vec<usize> = match node % 3 {
                1 if rows > 2 => {
                    for k in 0..rows {
                        let first = block[if k == 1 { 0 } else { k }];
                        block[rows + k] = first;
                        block[k * rows + 1] = first;
                    }
                    block[1] = block[0];
                    block[rows] = block[0];
                    block[rows + 1] = block[0];
                    vec![1]
                }
                2 => {
                    (0..rows).for_each(|k| (block[(rows - 1) * rows + k], block[k * rows + rows - 1]) = (0.0, 0.0));
                    vec![rows - 1]
                }
                _ => vec![],
            };
            let inverse = plain_inverse(&block, rows, &lost);
            for (place, value) in inverse.iter().enumerate() {
                case.expect(two_level::InvertNodes::INVERSE, node * area + place, Value { value: *value, size: 1.0 });
            }
            blocks.extend(block);
        }
        case.reals(two_level::InvertNodes::BLOCKS, blocks);
        case.reals(two_level::InvertNodes::STATE, random_state(random, &[(INNER_EPSILON, f64::from(f32::EPSILON))]));
        case.dispatch(nodes as u32, two_level::InvertNodes { rows: rows as u32 });
        case
    };
    vec![one(6, random), one(3, random), one(1, random)]
}

/// By Gauss & Jordan, without the rows and columns that are lost.
fn plain_inverse(block: &[f64], rows: usize, lost: &[usize]) -> Vec<f64> {
    let kept: Vec<usize> = (0..rows).filter(|row| !lost.contains(row)).collect();
    let n = kept.len();
    let mut a: Vec<Vec<f64>> = kept
        .iter()
        .enumerate()
        .map(|(place, &r)| {
            let own = (0..n).map(|k| f64::from(u8::from(k == place)));
            kept.iter().map(|&c| block[r * rows + c]).chain(own).collect()
        })
        .collect();
    for pivot in 0..n {
        let scale = 1.0 / a[pivot][pivot];
        a[pivot].iter_mut().for_each(|value| *value *= scale);
        let row = a[pivot].clone();
        for (place, other) in a.iter_mut().enumerate().filter(|(place, _)| *place != pivot) {
            let _ = place;
            let factor = other[pivot];
            other.iter_mut().zip(&row).for_each(|(value, known)| *value -= factor * known);
        }
    }
    let mut inverse = vec![0.0; rows * rows];
    for (place, &r) in kept.iter().enumerate() {
        kept.iter().enumerate().for_each(|(other, &c)| inverse[r * rows + c] = a[place][n + other]);
    }
    inverse
}

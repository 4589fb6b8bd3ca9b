//! The coarse space of patches: its motions, its matrices, and the cycle.

use super::mask::free;
use super::{Spread, entry};
use crate::twins::harness::{Case, random_state};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, two_level};
use leastwise::program::NEGATIVE;
use leastwise::solve::state::{ALWAYS, DAMPING, INNER_EPSILON, SOLVED};

const NONE: u32 = u32::MAX;
const TURNED: u32 = 1 << 31;
const GUARD: Option<(u32, f64)> = Some((SOLVED, 1.0));
/// Rows of blocks.
const SIZES: [usize; 3] = [1, 3, 6];

/// Words with something in front that must not be read as a list.
struct Words(Vec<u32>);

impl Words {
    fn new() -> Self {
        Self(vec![NEGATIVE | 1; 3])
    }

    fn push(&mut self, words: &[u32]) -> u32 {
        self.0.extend(words);
        (self.0.len() - words.len()) as u32
    }

    /// Rows of entries: where their starts and they are.
    fn rows<const N: usize>(&mut self, rows: &[Vec<[u32; N]>]) -> [u32; 2] {
        let mut starts = vec![0];
        rows.iter().for_each(|row| starts.push(starts[starts.len() - 1] + row.len() as u32));
        let starts = self.push(&starts);
        let entries: Vec<u32> = rows.iter().flatten().flatten().copied().collect();
        [starts, self.push(&entries)]
    }
}

/// Rows of random entries, some of which are empty.
fn rows<const N: usize>(
    count: usize,
    most: u32,
    random: &mut Random,
    mut entry: impl FnMut(&mut Random) -> [u32; N],
) -> Vec<Vec<[u32; N]>> {
    (0..count).map(|_| (0..random.below(most + 1)).map(|_| entry(random)).collect()).collect()
}

/// The patch of each of `count`, or none.
fn owners(count: usize, patches: u32, random: &mut Random) -> Vec<u32> {
    (0..count).map(|_| if random.below(5) == 0 { NONE } else { random.below(patches) }).collect()
}

/// An entry of a block, which may be meant transposed.
fn of_block(blocks: &[f64], number: u32, size: usize, r: usize, c: usize) -> Value {
    let (r, c) = if number & TURNED == 0 { (r, c) } else { (c, r) };
    blocks[(number & !TURNED) as usize * size * size + r * size + c].into()
}

/// What turning about an axis moves along a coordinate: e × arm, written out.
fn spin(arm: &[Value], component: usize, axis: usize) -> Value {
    match (arm.len(), component, axis) {
        (2, 0, _) => -arm[1],
        (2, ..) => arm[0],
        (_, 0, 1) => arm[2],
        (_, 0, 2) => -arm[1],
        (_, 1, 0) => -arm[2],
        (_, 1, 2) => arm[0],
        (_, 2, 0) => arm[1],
        (_, 2, 1) => -arm[0],
        _ => Value::default(),
    }
}

pub fn centers(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |width: usize, random: &mut Random| {
        let points = random.vector(200);
        let members = rows(size.div_ceil(width), 9, random, |random| [random.below(200 - width as u32)]);
        let mut words = Words::new();
        let [starts, entries] = words.rows(&members);
        let mut case = Case::new(StaticKernel::TwoLevelPatchCenters, format!("{width} coordinates"));
        case.reals(two_level::PatchCenters::POINTS, points.clone());
        case.poisoned(two_level::PatchCenters::CENTERS, members.len() * width);
        case.indices(words.0);
        case.dispatch((members.len() * width) as u32, two_level::PatchCenters { coordinates: width as u32, starts, members: entries });
        for (number, row) in members.iter().enumerate() {
            for k in 0..width {
                let sum: Value = row.iter().map(|[point]| Value::from(points[*point as usize + k])).sum();
                case.expect(two_level::PatchCenters::CENTERS, number * width + k, sum / (row.len().max(1) as f64).into());
            }
        }
        case
    };
    vec![one(2, random), one(3, random)]
}

pub fn modes(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |coordinates: usize, width: usize, masked: bool, random: &mut Random| {
        let (variables, patches) = (size.div_ceil(width), 7);
        let (columns, first) = if coordinates == 0 { (6, 6 - width) } else { (coordinates * (coordinates + 1) / 2, 0) };
        let (arena, vector) = (5, 4);
        let points = random.vector(arena + variables * width);
        let centers = random.vector(patches * coordinates.max(1));
        let free = free(vector + variables * width, random);
        let owners = owners(variables, patches as u32, random);
        let mut words = Words::new();
        let place = words.push(&owners);
        let mut case = Case::new(StaticKernel::TwoLevelPatchModes, format!("{coordinates} coordinates, width {width}, masked {masked}"));
        case.reals(two_level::PatchModes::ARENA, points.clone());
        case.reals(two_level::PatchModes::CENTERS, centers.clone());
        case.reals(two_level::PatchModes::FREE, free.clone());
        case.poisoned(two_level::PatchModes::MODES, (vector + variables * width + 2) * columns);
        case.indices(words.0);
        let args = two_level::PatchModes {
            arena: arena as u32,
            vector: vector as u32,
            width: width as u32,
            modes: columns as u32,
            column: first as u32,
            coordinates: coordinates as u32,
            masked: u32::from(masked),
            patches: place,
        };
        case.dispatch((variables * width) as u32, args);
        for i in 0..variables * width {
            let (variable, component) = (i / width, i % width);
            let moves = owners[variable] != NONE && !(masked && free[vector + i] == 0.0);
            for column in 0..columns {
                let value = match column.checked_sub(coordinates) {
                    _ if !moves => Value::default(),
                    Some(axis) if coordinates > 0 => {
                        let arm = |k: usize| {
                            Value::from(points[arena + variable * width + k]) - centers[owners[variable] as usize * coordinates + k].into()
                        };
                        spin(&(0..coordinates).map(arm).collect::<Vec<_>>(), component, axis)
                    }
                    _ => f64::from(u8::from(column == first + component)).into(),
                };
                case.expect(two_level::PatchModes::MODES, (vector + i) * columns + column, value);
            }
        }
        case
    };
    vec![one(3, 3, false, random), one(2, 2, true, random), one(0, 4, false, random), one(3, 3, true, random)]
}

pub fn spins(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |width: usize, axis: usize, random: &mut Random| {
        let (unknowns, arena, vector) = (size.div_ceil(width) * width, 3, 6);
        let points = random.vector(arena + unknowns);
        let mut case = Case::new(StaticKernel::TwoLevelPatchSpin, format!("axis {axis} of {width} coordinates"));
        case.reals(two_level::PatchSpin::ARENA, points.clone());
        case.poisoned(two_level::PatchSpin::MOTION, vector + unknowns);
        case.dispatch(
            unknowns as u32,
            two_level::PatchSpin { arena: arena as u32, vector: vector as u32, coordinates: width as u32, axis: axis as u32 },
        );
        for i in 0..unknowns {
            let arm: Vec<Value> = (0..width).map(|k| points[arena + i / width * width + k].into()).collect();
            case.expect(two_level::PatchSpin::MOTION, vector + i, spin(&arm, i % width, axis));
        }
        case
    };
    vec![one(2, 0, random), one(3, 0, random), one(3, 1, random), one(3, 2, random)]
}

pub fn follow(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |width: usize, random: &mut Random| {
        let (vector, block, columns, column, packed) = (3, 2, 6, 4, width * (width + 1) / 2);
        let variables = size.min(5000);
        let (inverse, product) = (random.vector(block + variables * packed), random.vector(vector + variables * width));
        let owners = owners(variables, 9, random);
        let mut words = Words::new();
        let place = words.push(&owners);
        let mut case = Case::new(StaticKernel::TwoLevelPatchFollow, format!("width {width}"));
        case.reals(two_level::PatchFollow::INVERSE, inverse.clone());
        case.reals(two_level::PatchFollow::PRODUCT, product.clone());
        case.poisoned(two_level::PatchFollow::MODES, (vector + variables * width) * columns);
        case.indices(words.0);
        let args = two_level::PatchFollow {
            vector: vector as u32,
            width: width as u32,
            block: block as u32,
            modes: columns as u32,
            column: column as u32,
            patches: place,
        };
        case.dispatch(variables as u32, args);
        for i in 0..variables {
            for c in 0..width {
                let of = |k: usize| Value::from(entry(&inverse, block + i * packed, c, k)) * product[vector + i * width + k].into();
                let value = if owners[i] == NONE { Value::default() } else { -(0..width).map(of).sum::<Value>() };
                case.expect(two_level::PatchFollow::MODES, (vector + i * width + c) * columns + column, value);
            }
        }
        case
    };
    vec![one(1, random), one(3, random)]
}

pub fn diagonal(size: usize, random: &mut Random) -> Vec<Case> {
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
        let args = two_level::CoarseDiagonal {
            vector: vector as u32,
            width: width as u32,
            block: block as u32,
            modes: columns as u32,
            starts,
            members: entries,
        };
        case.dispatch((nodes * columns * columns) as u32, args);
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
pub fn pairs(size: usize, random: &mut Random) -> Vec<Case> {
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
        case.dispatch(
            (nodes * columns * columns) as u32,
            two_level::CoarsePairs {
                modes: columns as u32,
                pairs: shapes_at,
                starts,
                ids: ids_at,
                entries,
                pair_bits: bits,
                length: instances as u32,
                diagonal: on_diagonal,
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

pub fn multiply(size: usize, random: &mut Random) -> Vec<Case> {
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
        case.dispatch(
            (count * area) as u32,
            two_level::MultiplyBlocks { rows: rows_of_block as u32, starts, entries, bases: bases_at, mode },
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
                    3 => Value::from(2.0 * step) * before - Value::from(step * step) * sum,
                    _ => before - Value::from(step) * sum,
                };
                case.expect(two_level::MultiplyBlocks::PRODUCT, place * area + r * rows_of_block + c, value);
            }
        }
        case
    };
    vec![one(6, 0, random), one(6, 1, random), one(3, 2, random), one(6, 3, random), one(1, 3, random)]
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

pub fn couple(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |rows_of_block: usize, both: bool, random: &mut Random| {
        let (area, known, count) = (rows_of_block * rows_of_block, 20, size.div_ceil(rows_of_block));
        let [left, right] = [(); 2].map(|()| random.vector(known * area));
        let [x, z] = [(); 2].map(|()| random.vector(30 * rows_of_block));
        let list = |random: &mut Random| {
            rows(count, 5, random, |random| [random.below(known as u32) | if random.below(2) == 0 { TURNED } else { 0 }, random.below(30)])
        };
        let (first, second) = (list(random), list(random));
        let mut words = Words::new();
        let [starts, entries] = words.rows(&first);
        let [other_starts, other_entries] = words.rows(&second);
        let guard = if both { SOLVED } else { ALWAYS };
        let mut case = Case::new(StaticKernel::TwoLevelCouple, format!("{rows_of_block} rows, both {both}"));
        case.stop = Some((guard, 1.0));
        case.reals(two_level::Couple::LEFT, left.clone());
        case.reals(two_level::Couple::X, x.clone());
        case.reals(two_level::Couple::RIGHT, right.clone());
        case.reals(two_level::Couple::Z, z.clone());
        case.reals(two_level::Couple::STATE, random_state(random, &[(guard, 0.0)]));
        case.poisoned(two_level::Couple::Y, count * rows_of_block);
        case.indices(words.0);
        case.dispatch(
            (count * rows_of_block) as u32,
            two_level::Couple {
                rows: rows_of_block as u32,
                guard,
                starts,
                entries,
                other_starts,
                other_entries,
                has_other: u32::from(both),
            },
        );
        for place in 0..count {
            for r in 0..rows_of_block {
                let of = |list: &[[u32; 2]], blocks: &[f64], vector: &[f64]| {
                    let term = |&[block, column]: &[u32; 2]| {
                        let entry =
                            |k: usize| of_block(blocks, block, rows_of_block, r, k) * vector[column as usize * rows_of_block + k].into();
                        (0..rows_of_block).map(entry).sum::<Value>()
                    };
                    list.iter().map(term).sum::<Value>()
                };
                let mut value = of(&first[place], &left, &x);
                if both {
                    value = value + of(&second[place], &right, &z);
                }
                case.expect(two_level::Couple::Y, place * rows_of_block + r, value);
            }
        }
        case
    };
    vec![one(6, true, random), one(3, false, random), one(1, true, random), one(6, false, random)]
}

pub fn radius(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |along: f64, across: f64, random: &mut Random| {
        let v = random.vector(size.max(1));
        let part =
            |sign: f64, random: &mut Random| v.iter().map(|v| f64::from((sign * v * random.within(0.5, 1.0)) as f32)).collect::<Vec<_>>();
        let (product, u) = (part(along, random), part(across, random));
        let mut case = Case::of_one_group(StaticKernel::TwoLevelSpectralRadius, format!("along {along}, across {across}"));
        case.dispatch(1, two_level::SpectralRadius { elements: size as u32 });
        let dot = |other: &[f64]| v.iter().zip(other).take(size).map(|(a, b)| Value::from(*a) * (*b).into()).sum::<Value>();
        let (above, below) = (dot(&product), dot(&u));
        let known = above.value > 0.0 && below.value > 0.0;
        let value = if known { above / below } else { 2.0.into() };
        case.reals(two_level::SpectralRadius::V, v.clone());
        case.reals(two_level::SpectralRadius::PRODUCT, product);
        case.reals(two_level::SpectralRadius::U, u);
        case.poisoned(two_level::SpectralRadius::RADIUS, 1);
        case.expect(two_level::SpectralRadius::RADIUS, 0, if value.value < 1.0 { 1.0.into() } else { value });
        case
    };
    vec![one(4.0, 1.0, random), one(0.25, 1.0, random), one(-1.0, 1.0, random), one(1.0, 0.0, random)]
}

pub fn restrict(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |columns: usize, random: &mut Random| {
        let (unknowns, patches) = (120, size.div_ceil(columns));
        let (modes, residual) = (random.vector(unknowns * columns), random.vector(unknowns));
        let members = rows(patches, 8, random, |random| [random.below(unknowns as u32)]);
        let mut words = Words::new();
        let [starts, entries] = words.rows(&members);
        let mut case = Case::new(StaticKernel::TwoLevelPatchRestrict, format!("{columns} motions"));
        case.stop = GUARD;
        case.reals(two_level::PatchRestrict::MODES, modes.clone());
        case.reals(two_level::PatchRestrict::RESIDUAL, residual.clone());
        case.reals(two_level::PatchRestrict::STATE, random_state(random, &[(SOLVED, 0.0)]));
        case.poisoned(two_level::PatchRestrict::COARSE, patches * columns);
        case.indices(words.0);
        case.dispatch((patches * columns) as u32, two_level::PatchRestrict { modes: columns as u32, starts, members: entries });
        for (place, row) in members.iter().enumerate() {
            for column in 0..columns {
                let of =
                    |[unknown]: &[u32; 1]| Value::from(modes[*unknown as usize * columns + column]) * residual[*unknown as usize].into();
                case.expect(two_level::PatchRestrict::COARSE, place * columns + column, row.iter().map(of).sum::<Value>());
            }
        }
        case
    };
    SIZES.map(|columns| one(columns, random)).to_vec()
}

pub fn prolong(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let one = |columns: usize, starts: bool, random: &mut Random| {
        let patches = 12;
        let [residual, z] = [(); 2].map(|()| random.vector(size));
        let (modes, coarse) = (random.vector(size * columns), random.vector(patches * columns));
        let owners = owners(size, patches as u32, random);
        let mut words = Words::new();
        let place = words.push(&owners);
        let spread = Spread::new(size, group, random);
        let (first, maxima) = (2, if starts { 2 + spread.groups + 3 } else { 0 });
        let mut case = Case::new(StaticKernel::TwoLevelPatchProlong, format!("{columns} motions, at the start {starts}"));
        case.stop = GUARD;
        case.reals(two_level::PatchProlong::RESIDUAL, residual.clone());
        case.reals(two_level::PatchProlong::MODES, modes.clone());
        case.reals(two_level::PatchProlong::COARSE, coarse.clone());
        case.reals(two_level::PatchProlong::Z, z.clone());
        case.reals(two_level::PatchProlong::STATE, random_state(random, &[(SOLVED, 0.0)]));
        case.poisoned(two_level::PatchProlong::PARTIALS, 2 * spread.groups + 8);
        case.indices(words.0);
        case.dispatch(
            spread.lanes(),
            two_level::PatchProlong {
                unknowns: size as u32,
                modes: columns as u32,
                partial: first as u32,
                patches: place,
                maxima: maxima as u32,
            },
        );
        for (group, elements) in spread.each() {
            let mut rz = Value::default();
            for i in elements.filter(|i| owners[*i] != NONE) {
                let of = |k: usize| Value::from(modes[i * columns + k]) * coarse[owners[i] as usize * columns + k].into();
                let value: Value = (0..columns).map(of).sum();
                case.expect(two_level::PatchProlong::Z, i, Value::from(z[i]) + value);
                rz = rz + Value::from(residual[i]) * value;
            }
            case.expect(two_level::PatchProlong::PARTIALS, first + group, rz);
            if starts {
                case.expect(two_level::PatchProlong::PARTIALS, maxima + group, 0.0);
            }
        }
        case
    };
    vec![one(6, false, random), one(3, true, random), one(1, false, random)]
}

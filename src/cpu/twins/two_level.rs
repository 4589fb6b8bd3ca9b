//! Twins of the shaders of the coarse space that patches of variables span: `patch_*`, and what instances add to its matrix.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use crate::twins::pcg::block_jacobi::row_start;
use crate::twins::reduce::{Lanes, MAX_GROUP, group_sum, run_elements, runs};
use leastwise_kernels as kernels;
use leastwise_kernels::state::solver::{DAMPING, INNER_EPSILON, SOLVED};
use leastwise_program::NEGATIVE;
use std::ops::Range;

/// What is in no patch.
const NONE: u32 = u32::MAX;
/// Rows of a task.
const ROWS: usize = 32;
/// Rows of a square block at most.
const SIZE: usize = 6;
/// The bit of a block's number that says that it is meant transposed.
const TURNED: u32 = 1 << 31;

/// Calls a function with the number of a block's rows, which is 1, 3 or 6, as a constant.
macro_rules! of_size {
    ($size:expr, $function:ident($($argument:expr),*)) => {
        match $size {
            1 => $function::<R, 1>($($argument),*),
            3 => $function::<R, 3>($($argument),*),
            _ => $function::<R, SIZE>($($argument),*),
        }
    };
}

/// How rows of results are written.
#[derive(Clone, Copy)]
struct Rows<'a> {
    /// Elements of a row.
    width: usize,
    /// For every row its place in the result, ascending; its own number where there is none.
    places: Option<&'a [u32]>,
    adds: bool,
    /// Elements that a row takes to compute, about.
    work: usize,
}

/// Computes rows and writes what of them is among the items: a row may begin in the workgroup before.
fn fill_rows<R: Real>(work: &Workgroups, rows: Rows, result: &mut [R], row: impl Fn(usize, &mut [R]) + Sync + Send) {
    fill(work.items(), rows, result, row);
}

/// Computes the rows that workgroups share (`shaders/shared/rows.wgsl`): of `count` in all, with so many lanes for an element of each.
fn fill_shared<R: Real>(
    work: &Workgroups,
    [count, slots]: [u32; 2],
    rows: Rows,
    result: &mut [R],
    row: impl Fn(usize, &mut [R]) + Sync + Send,
) {
    let together = work.group_size / (rows.width as u32 * slots);
    let [first, end] = [work.groups.start, work.groups.end].map(|group| (group.saturating_mul(together)).min(count) as usize);
    fill(first * rows.width..end * rows.width, rows, result, row);
}

fn fill<R: Real>(items: Range<usize>, rows: Rows, result: &mut [R], row: impl Fn(usize, &mut [R]) + Sync + Send) {
    let width = rows.width;
    if items.is_empty() {
        return;
    }
    let all = items.start / width..items.end.div_ceil(width);
    let place = |row: usize| rows.places.map_or(row, |places| places[row] as usize);
    let mut result = Pieces::new(result);
    let tasks = all.clone().step_by(ROWS).map(|first| {
        let end = all.end.min(first + ROWS);
        (result.take(place(first) * width..(place(end - 1) + 1) * width), first..end)
    });
    threads::each(tasks.collect(), all.len() * rows.work, |(result, part)| {
        let begin = place(part.start);
        for number in part {
            let mut values = [R::ZERO; SIZE * SIZE];
            row(number, &mut values[..width]);
            let to = &mut result[(place(number) - begin) * width..][..width];
            for (k, (to, value)) in to.iter_mut().zip(&values).enumerate() {
                if items.contains(&(number * width + k)) {
                    *to = if rows.adds { *to + *value } else { *value };
                }
            }
        }
    });
}

/// The means of points.
pub fn patch_centers<R: Real>(
    work: &Workgroups,
    args: kernels::two_level::PatchCenters,
    bindings: kernels::two_level::PatchCentersSlices<R>,
) {
    let [width, starts, members] = [args.coordinates, args.starts, args.members].map(|word| word as usize);
    let (list, points) = (bindings.table, bindings.points);
    let rows = Rows { width, places: None, adds: false, work: 64 * width };
    fill_rows(work, rows, bindings.centers, |number, center| {
        let range = list[starts + number] as usize..list[starts + number + 1] as usize;
        let count = R::from_f64(range.len().max(1) as f64);
        for &point in &list[members + range.start..members + range.end] {
            center.iter_mut().zip(&points[point as usize..]).for_each(|(sum, point)| *sum += *point);
        }
        center.iter_mut().for_each(|sum| *sum = *sum / count);
    });
}

/// The entry of row `row` and column `column` of [arm]×ᵀ: what turning about an axis moves, along a coordinate.
fn spin<R: Real>(arm: &[R], row: usize, column: usize) -> R {
    if arm.len() == 2 {
        return if row == 0 { -arm[1] } else { arm[0] };
    }
    match (column + 3 - row) % 3 {
        1 => arm[(row + 2) % 3],
        2 => -arm[(row + 1) % 3],
        _ => R::ZERO,
    }
}

/// T for the unknowns of a table of points, or of anything.
pub fn patch_modes<R: Real>(work: &Workgroups, args: kernels::two_level::PatchModes, bindings: kernels::two_level::PatchModesSlices<R>) {
    let [arena, vector, width, columns, first, coordinates, masked, patches] =
        [args.arena, args.vector, args.width, args.modes, args.column, args.coordinates, args.masked, args.patches]
            .map(|word| word as usize);
    let (points, centers, owners) = (bindings.arena, bindings.centers, &bindings.table[patches..]);
    let (free, modes) = (bindings.free, bindings.modes);
    let mut modes = Pieces::new(modes);
    let tasks = threads::cut_by(work.items(), columns)
        .map(|items| (modes.take((vector + items.start) * columns..(vector + items.end) * columns), items));
    threads::each(tasks.collect(), work.items().len() * columns, |(modes, items)| {
        for (i, row) in items.zip(modes.chunks_exact_mut(columns)) {
            row.fill(R::ZERO);
            let (variable, component) = (i / width, i % width);
            let owner = owners[variable];
            if owner == NONE || masked != 0 && free[vector + i] == R::ZERO {
                continue;
            }
            row[first + component] = R::ONE;
            if coordinates == 0 {
                continue;
            }
            let mut arm = [R::ZERO; 3];
            let center = &centers[owner as usize * coordinates..][..coordinates];
            let point = &points[arena + variable * width..][..coordinates];
            arm.iter_mut().zip(point.iter().zip(center)).for_each(|(arm, (point, center))| *arm = *point - *center);
            let turns = row[coordinates..].iter_mut().take(if coordinates == 2 { 1 } else { 3 });
            turns.enumerate().for_each(|(axis, entry)| *entry = spin(&arm[..coordinates], component, axis));
        }
    });
}

/// All points turn about an axis through the origin.
pub fn patch_spin<R: Real>(work: &Workgroups, args: kernels::two_level::PatchSpin, bindings: kernels::two_level::PatchSpinSlices<R>) {
    let [arena, vector, width, axis] = [args.arena, args.vector, args.coordinates, args.axis].map(|word| word as usize);
    let (points, mut motion) = (bindings.arena, Pieces::new(bindings.motion));
    let tasks = threads::cut(work.items()).map(|items| (motion.take(vector + items.start..vector + items.end), items));
    threads::each(tasks.collect(), work.items().len(), |(motion, items)| {
        for (i, to) in items.zip(motion) {
            *to = spin(&points[arena + i / width * width..][..width], i % width, axis);
        }
    });
}

/// A column of T for variables that are no points: −M⁻¹q.
pub fn patch_follow<R: Real>(work: &Workgroups, args: kernels::two_level::PatchFollow, bindings: kernels::two_level::PatchFollowSlices<R>) {
    let [vector, width, block, columns, column, patches] =
        [args.vector, args.width, args.block, args.modes, args.column, args.patches].map(|word| word as usize);
    let (inverse, owners, product) = (bindings.inverse, &bindings.table[patches..], bindings.product);
    let (mut modes, packed) = (Pieces::new(bindings.modes), row_start(width));
    let tasks = threads::cut_by(work.items(), packed).map(|items| {
        let range = vector + items.start * width..vector + items.end * width;
        (modes.take(range.start * columns..range.end * columns), items)
    });
    threads::each(tasks.collect(), work.items().len() * packed, |(modes, items)| {
        for (i, rows) in items.zip(modes.chunks_exact_mut(columns * width)) {
            let (inverse, q) = (&inverse[block + i * packed..], &product[vector + i * width..]);
            for (c, row) in rows.chunks_exact_mut(columns).enumerate() {
                let mut value = R::ZERO;
                for k in 0..width {
                    value -= inverse[row_start(c.max(k)) + c.min(k)] * q[k];
                }
                row[column] = if owners[i] == NONE { R::ZERO } else { value };
            }
        }
    });
}

/// What diagonal blocks add to those of the coarse matrix.
pub fn coarse_diagonal<R: Real>(
    work: &Workgroups,
    args: kernels::two_level::CoarseDiagonal,
    bindings: kernels::two_level::CoarseDiagonalSlices<R>,
) {
    of_size!(args.modes, diagonal(work, args, bindings));
}

fn diagonal<R: Real, const N: usize>(
    work: &Workgroups,
    args: kernels::two_level::CoarseDiagonal,
    bindings: kernels::two_level::CoarseDiagonalSlices<R>,
) {
    let [vector, width, block, starts, members] =
        [args.vector, args.width, args.block, args.starts, args.members].map(|word| word as usize);
    let (scale, modes, list) = (bindings.scale, bindings.modes, bindings.table);
    let (blocks, lambda, packed) = (bindings.blocks, bindings.state[DAMPING as usize], row_start(width));
    let rows = Rows { width: N * N, places: None, adds: true, work: 64 * N * N };
    fill_shared(work, [args.patches, args.slots], rows, bindings.coarse, |number, sums| {
        let range = list[starts + number] as usize..list[starts + number + 1] as usize;
        for &variable in &list[members + range.start..members + range.end] {
            let at = vector + variable as usize * width;
            let modes = &modes[at * N..][..width * N];
            let blocks = &blocks[block + variable as usize * packed..][..packed];
            for (c, row) in modes.chunks_exact(N).enumerate() {
                let damping = lambda * scale[at + c];
                let mut values: [R; N] = std::array::from_fn(|column| damping * row[column]);
                for (k, other) in modes.chunks_exact(N).enumerate() {
                    let entry = blocks[row_start(c.max(k)) + c.min(k)];
                    values.iter_mut().zip(other).for_each(|(value, mode)| *value += entry * *mode);
                }
                outer::<R, N>(sums, row, &values);
            }
        }
    });
}

/// sums += abᵀ
#[inline(always)]
fn outer<R: Real, const N: usize>(sums: &mut [R], a: &[R], b: &[R]) {
    for (sums, a) in sums.chunks_exact_mut(N).zip(a) {
        sums.iter_mut().zip(b).for_each(|(sum, b)| *sum += *a * *b);
    }
}

/// What the blocks of pairs of slots add to those of the coarse matrix.
pub fn coarse_pairs<R: Real>(work: &Workgroups, args: kernels::two_level::CoarsePairs, bindings: kernels::two_level::CoarsePairsSlices<R>) {
    of_size!(args.modes, pairs(work, args, bindings));
}

fn pairs<R: Real, const N: usize>(
    work: &Workgroups,
    args: kernels::two_level::CoarsePairs,
    bindings: kernels::two_level::CoarsePairsSlices<R>,
) {
    let [pairs, starts, ids, entries, bits, stride, on_diagonal] =
        [args.pairs, args.starts, args.ids, args.entries, args.pair_bits, args.length, args.diagonal].map(|word| word as usize);
    let (modes, list, columns) = (bindings.modes, bindings.table, bindings.columns);
    let rows = Rows { width: N * N, places: Some(&list[ids..]), adds: true, work: 64 * N * N };
    let ids = rows.places.unwrap_or_default();
    fill_shared(work, [args.rows, args.slots], rows, bindings.coarse, |number, sums| {
        let of_row = list[starts + number] as usize..list[starts + number + 1] as usize;
        let is_diagonal = (ids[number] as usize) < on_diagonal;
        for entry in list[entries + 3 * of_row.start..entries + 3 * of_row.end].chunks_exact(3) {
            let (instance, code) = ((entry[0] >> bits) as usize, entry[0] & ((1 << bits) - 1));
            let [height, width, first] = [0, 1, 2].map(|k| list[pairs + 3 * (code as usize >> 1) + k] as usize);
            let (of_a, of_b) = (&modes[entry[1] as usize * N..][..height * N], &modes[entry[2] as usize * N..][..width * N]);
            for (r, a) in of_a.chunks_exact(N).enumerate() {
                let mut values = [R::ZERO; N];
                for (c, b) in of_b.chunks_exact(N).enumerate() {
                    let code = list[pairs + first + r * width + c];
                    if code != 0 {
                        let stored = columns[((code & !NEGATIVE) as usize - 1) * stride + instance];
                        let known = if code & NEGATIVE == 0 { stored } else { -stored };
                        values.iter_mut().zip(b).for_each(|(value, b)| *value += known * *b);
                    }
                }
                if is_diagonal || code & 1 == 0 {
                    outer::<R, N>(sums, a, &values);
                }
                if is_diagonal || code & 1 != 0 {
                    outer::<R, N>(sums, &values, a);
                }
            }
        }
    });
}

/// How nodes move with their parents.
pub fn coarse_frames<R: Real>(
    work: &Workgroups,
    args: kernels::two_level::CoarseFrames,
    bindings: kernels::two_level::CoarseFramesSlices<R>,
) {
    let [size, coordinates, parents] = [args.rows, args.coordinates, args.parents].map(|word| word as usize);
    let (centers, list, above) = (bindings.centers, bindings.table, bindings.above);
    let rows = Rows { width: size * size, places: None, adds: false, work: size * size };
    fill_rows(work, rows, bindings.frames, |number, frame| {
        let mut arm = [R::ZERO; 3];
        let parent = list[parents + number] as usize * coordinates;
        for (k, arm) in arm.iter_mut().enumerate().take(coordinates) {
            *arm = centers[number * coordinates + k] - above[parent + k];
        }
        for (row, entries) in frame.chunks_exact_mut(size).enumerate() {
            entries[row] = R::ONE;
            if row < coordinates {
                let turns = entries[coordinates..].iter_mut().enumerate();
                turns.for_each(|(axis, entry)| *entry = spin(&arm[..coordinates], row, axis));
            }
        }
    });
}

/// Tᵀr.
pub fn patch_restrict<R: Real>(
    work: &Workgroups,
    args: kernels::two_level::PatchRestrict,
    bindings: kernels::two_level::PatchRestrictSlices<R>,
) {
    of_size!(args.modes, restrict(work, args, bindings));
}

fn restrict<R: Real, const N: usize>(
    work: &Workgroups,
    args: kernels::two_level::PatchRestrict,
    bindings: kernels::two_level::PatchRestrictSlices<R>,
) {
    if bindings.state[SOLVED as usize] != R::ZERO {
        return;
    }
    let [starts, members] = [args.starts, args.members].map(|word| word as usize);
    let (modes, list, residual) = (bindings.modes, bindings.table, bindings.residual);
    let rows = Rows { width: N, places: None, adds: false, work: 64 * N };
    fill_shared(work, [args.patches, args.slots], rows, bindings.coarse, |number, sums| {
        let range = list[starts + number] as usize..list[starts + number + 1] as usize;
        let mut known = [R::ZERO; N];
        for &unknown in &list[members + range.start..members + range.end] {
            let (row, value) = (&modes[unknown as usize * N..][..N], residual[unknown as usize]);
            known.iter_mut().zip(row).for_each(|(sum, mode)| *sum += *mode * value);
        }
        sums.copy_from_slice(&known);
    });
}

/// z += Tx, and partial sums of what that adds to rᵀz.
pub fn patch_prolong<R: Real>(
    work: &Workgroups,
    args: kernels::two_level::PatchProlong,
    bindings: kernels::two_level::PatchProlongSlices<R>,
) {
    of_size!(args.modes, prolong(work, args, bindings));
}

fn prolong<R: Real, const N: usize>(
    work: &Workgroups,
    args: kernels::two_level::PatchProlong,
    bindings: kernels::two_level::PatchProlongSlices<R>,
) {
    if bindings.state[SOLVED as usize] != R::ZERO {
        return;
    }
    let [elements, partial, patches, maxima] = [args.unknowns, args.partial, args.patches, args.maxima].map(|word| word as usize);
    let (residual, modes, owners) = (bindings.residual, bindings.modes, &bindings.table[patches..]);
    let (coarse, mut z, partials) = (bindings.coarse, Pieces::new(bindings.z), bindings.partials);
    let group_size = work.group_size as usize;
    let tasks = runs(work, elements).map(|run| (z.take(run.clone()), run));
    let sums = threads::map(tasks.collect(), run_elements(work, elements) * N, |(z, run)| {
        let mut lanes: Lanes<R> = [R::ZERO; MAX_GROUP];
        for (i, (z, element)) in z.iter_mut().zip(run).enumerate() {
            let owner = owners[element];
            if owner == NONE {
                continue;
            }
            let (row, motion) = (&modes[element * N..][..N], &coarse[owner as usize * N..][..N]);
            let mut value = R::ZERO;
            for (mode, speed) in row.iter().zip(motion) {
                value += *mode * *speed;
            }
            *z += value;
            lanes[i % group_size] += residual[element] * value;
        }
        group_sum(&lanes, group_size)
    });
    let first = work.groups.start as usize;
    if maxima != 0 {
        partials[maxima + first..][..sums.len()].fill(R::ZERO);
    }
    partials[partial + first..][..sums.len()].copy_from_slice(&sums);
}

/// Products of sparse matrices of square blocks: αB + βΣ XY.
pub fn multiply_blocks<R: Real>(
    work: &Workgroups,
    args: kernels::two_level::MultiplyBlocks,
    bindings: kernels::two_level::MultiplyBlocksSlices<R>,
) {
    of_size!(args.rows, multiply(work, args, bindings));
}

fn multiply<R: Real, const N: usize>(
    work: &Workgroups,
    args: kernels::two_level::MultiplyBlocks,
    bindings: kernels::two_level::MultiplyBlocksSlices<R>,
) {
    let [starts, entries, bases, mode] = [args.starts, args.entries, args.bases, args.mode].map(|word| word as usize);
    let (left, right, list) = (bindings.left, bindings.right, bindings.table);
    let (base, radius) = (bindings.base, bindings.radius);
    let rows = Rows { width: N * N, places: None, adds: false, work: 4 * N * N * N };
    fill_shared(work, [args.blocks, args.slots], rows, bindings.product, |number, product| {
        let range = list[starts + number] as usize..list[starts + number + 1] as usize;
        let mut sums = [[R::ZERO; N]; N];
        for entry in list[entries + 2 * range.start..entries + 2 * range.end].chunks_exact(2) {
            let (x, y) = (block::<R, N>(left, entry[0]), block::<R, N>(right, entry[1]));
            for k in 0..N {
                for r in 0..N {
                    for c in 0..N {
                        sums[r][c] += x[r][k] * y[k][c];
                    }
                }
            }
        }
        let before = match mode {
            0 => None,
            _ => (list[bases + number] != NONE).then(|| &base[list[bases + number] as usize * N * N..][..N * N]),
        };
        let step = match mode {
            0 => R::ONE,
            1 => R::from_f64(4.0 / 3.0) / radius[0],
            _ => R::from_f64(1.6) / radius[0],
        };
        for (place, (to, sum)) in product.iter_mut().zip(sums.as_flattened()).enumerate() {
            let before = before.map_or(R::ZERO, |before| before[place]);
            *to = match mode {
                0 => *sum,
                3 => (step + step) * before - step * step * *sum,
                4 => before + *sum,
                _ => before - step * *sum,
            };
        }
    });
}

/// A block by its number, turned where that says so.
#[inline(always)]
fn block<R: Real, const N: usize>(blocks: &[R], number: u32) -> [[R; N]; N] {
    let stored = &blocks[(number & !TURNED) as usize * N * N..][..N * N];
    if number & TURNED == 0 {
        std::array::from_fn(|r| std::array::from_fn(|c| stored[r * N + c]))
    } else {
        std::array::from_fn(|r| std::array::from_fn(|c| stored[c * N + r]))
    }
}

/// The inverses of small symmetric blocks, without what is lost in rounding.
pub fn invert_nodes<R: Real>(work: &Workgroups, args: kernels::two_level::InvertNodes, bindings: kernels::two_level::InvertNodesSlices<R>) {
    let (size, blocks) = (args.rows as usize, bindings.blocks);
    let least = R::from_f64(64.0) * bindings.state[INNER_EPSILON as usize];
    let area = size * size;
    let mut inverse = Pieces::new(bindings.inverse);
    let tasks = threads::cut_by(work.items(), area * size).map(|items| {
        let range = items.start * area..items.end * area;
        (inverse.take(range.clone()), &blocks[range])
    });
    threads::each(tasks.collect(), work.items().len() * area * size, |(inverse, blocks)| {
        for (inverse, block) in inverse.chunks_exact_mut(area).zip(blocks.chunks_exact(area)) {
            invert(block, inverse, size, least);
        }
    });
}

fn invert<R: Real>(block: &[R], inverse: &mut [R], size: usize, least: R) {
    let mut l = [[R::ZERO; SIZE]; SIZE];
    for r in 0..size {
        let entry = block[r * size + r];
        for c in 0..=r {
            let mut value = block[r * size + c];
            for (left, right) in l[r].iter().zip(&l[c]).take(c) {
                value -= *left * *right;
            }
            l[r][c] = if c < r {
                value * l[c][c]
            } else if value > least * entry && value.is_finite() {
                R::ONE / value.sqrt()
            } else {
                R::ZERO
            };
        }
    }
    // The diagonal has its reciprocals already.
    for r in 0..size {
        for c in 0..r {
            let mut sum = R::ZERO;
            for (left, right) in l[r].iter().zip(&l).take(r).skip(c) {
                sum += *left * right[c];
            }
            l[r][c] = -sum * l[r][r];
        }
    }
    for r in 0..size {
        for c in 0..=r {
            let mut sum = R::ZERO;
            for below in &l[r..size] {
                sum += below[r] * below[c];
            }
            inverse[r * size + c] = sum;
            inverse[c * size + r] = sum;
        }
    }
}

/// y = Mx + Nz.
pub fn couple<R: Real>(work: &Workgroups, args: kernels::two_level::Couple, bindings: kernels::two_level::CoupleSlices<R>) {
    of_size!(args.rows, couple_blocks(work, args, bindings));
}

fn couple_blocks<R: Real, const N: usize>(
    work: &Workgroups,
    args: kernels::two_level::Couple,
    bindings: kernels::two_level::CoupleSlices<R>,
) {
    let [guard, starts, entries, other_starts, other_entries, both] =
        [args.guard, args.starts, args.entries, args.other_starts, args.other_entries, args.has_other].map(|word| word as usize);
    if bindings.state[guard] != R::ZERO {
        return;
    }
    let (left, x, list) = (bindings.left, bindings.x, bindings.table);
    let (right, z) = (bindings.right, bindings.z);
    let rows = Rows { width: N, places: None, adds: false, work: 12 * N * N };
    fill_shared(work, [args.nodes, args.slots], rows, bindings.y, |number, y| {
        let mut sums = [R::ZERO; N];
        let mut add = |blocks: &[R], vector: &[R], starts: usize, entries: usize| {
            let range = list[starts + number] as usize..list[starts + number + 1] as usize;
            for entry in list[entries + 2 * range.start..entries + 2 * range.end].chunks_exact(2) {
                let block = &blocks[(entry[0] & !TURNED) as usize * N * N..][..N * N];
                let vector = &vector[entry[1] as usize * N..][..N];
                if entry[0] & TURNED == 0 {
                    for (sum, row) in sums.iter_mut().zip(block.chunks_exact(N)) {
                        row.iter().zip(vector).for_each(|(entry, value)| *sum += *entry * *value);
                    }
                } else {
                    for (row, value) in block.chunks_exact(N).zip(vector) {
                        sums.iter_mut().zip(row).for_each(|(sum, entry)| *sum += *entry * *value);
                    }
                }
            }
        };
        add(left, x, starts, entries);
        if both != 0 {
            add(right, z, other_starts, other_entries);
        }
        y.copy_from_slice(&sums);
    });
}

/// The largest eigenvalue of D⁻¹A, by its Rayleigh quotient.
pub fn spectral_radius<R: Real>(
    work: &Workgroups,
    args: kernels::two_level::SpectralRadius,
    bindings: kernels::two_level::SpectralRadiusSlices<R>,
) {
    let count = args.elements;
    let (v, product, u) = (bindings.v, bindings.product, bindings.u);
    let along = super::reduce::strided_sum(work, count, |i| v[i] * product[i]);
    let size = super::reduce::strided_sum(work, count, |i| v[i] * u[i]);
    let known = along.is_finite() && size.is_finite() && along > R::ZERO && size > R::ZERO;
    bindings.radius[0] = if known { super::reduce::larger(along / size, R::ONE) } else { R::from_f64(2.0) };
}

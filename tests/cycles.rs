//! Cycles of levels with few nodes, as one matrix each: the lists that they are made along, held to full matrices.

use crate::support::{Random, at_once, fresh_seed};
use crate::two_level::grid_edges;
use leastwise::solve::linear::two_level::aggregate::NONE;
use leastwise::solve::linear::two_level::hierarchy::{Hierarchy, Lower, Rows, TURNED};

/// Entries of a block, by rows.
type Block = [[f64; 2]; 2];

/// A full matrix of entries by rows and columns.
type Matrix = Vec<Vec<f64>>;

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let dot = |row: &[f64], column: usize| row.iter().zip(b).map(|(x, row)| x * row[column]).sum::<f64>();
    a.iter().map(|row| (0..b[0].len()).map(|column| dot(row, column)).collect()).collect()
}

fn turned(a: &Matrix) -> Matrix {
    (0..a[0].len()).map(|column| a.iter().map(|row| row[column]).collect()).collect()
}

/// Blocks of two rows in a matrix of so many by rows of blocks and columns; a block that is meant transposed has the highest bit.
fn placed(blocks: &[Block], rows: &Rows, columns: u32) -> Matrix {
    let mut all = vec![vec![0.0; 2 * columns as usize]; 2 * rows.count() as usize];
    for row in 0..rows.count() {
        for &[number, column] in rows.row(row) {
            let block = blocks[(number & !TURNED) as usize];
            for (i, k) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                all[2 * row as usize + i][2 * column as usize + k] = if number & TURNED == 0 { block[i][k] } else { block[k][i] };
            }
        }
    }
    all
}

/// Sums of products of blocks along a list.
fn summed(left: &[Block], right: &[Block], rows: &Rows) -> Vec<Block> {
    let of = |blocks: &[Block], number: u32, i: usize, k: usize| {
        let block = blocks[(number & !TURNED) as usize];
        if number & TURNED == 0 { block[i][k] } else { block[k][i] }
    };
    let entry = |row: u32, i: usize, k: usize| -> f64 {
        rows.row(row).iter().map(|&[x, y]| (0..2).map(|j| of(left, x, i, j) * of(right, y, j, k)).sum::<f64>()).sum()
    };
    (0..rows.count()).map(|row| [0, 1].map(|i| [0, 1].map(|k| entry(row, i, k)))).collect()
}

/// C = S̄ + G C′ Gᵀ of every level with few nodes, along its lists, with random numbers.
#[test]
fn cycles_of_few_nodes_are_matrices_of_all_levels_from_there_on() {
    let side = 60;
    let [a, b] = grid_edges(side);
    let mut pairs: Vec<(u32, u32)> = a.iter().zip(&b).map(|(&a, &b)| (b, a)).collect();
    pairs.sort_unstable();
    let hierarchy = at_once(|pace| async move { Hierarchy::new(Lower::new(side * side, &pairs), &pace).await });
    let mut random = Random::new(fresh_seed());
    let mut block = |symmetric: bool| {
        let [a, b, c, d] = [(); 4].map(|()| random.between(-1.0, 1.0));
        if symmetric { [[a, b], [b, d]] } else { [[a, b], [c, d]] }
    };
    // On the coarsest level there are blocks on the diagonal alone.
    let mut above: Matrix = Vec::new();
    let mut values: Vec<_> = (0..hierarchy.last[0]).map(|_| block(true)).collect();
    let own = |count: u32| Rows { starts: (0..=count).collect(), entries: (0..count).map(|node| [node, node]).collect() };
    above.extend(placed(&values, &own(hierarchy.last[0]), hierarchy.last[0]));
    let mut checked = 0;
    for level in hierarchy.levels.iter().rev() {
        let Some(full) = &level.full else { break };
        let count = level.up.entries.iter().map(|entry| entry[0] + 1).max().unwrap_or(0);
        let relaxed: Vec<_> = (0..count).map(|_| block(false)).collect();
        let smoother: Vec<_> = (0..level.blocks).map(|number| block(number < level.nodes)).collect();
        let g = placed(&relaxed, &level.up, above.len() as u32 / 2);
        let mut expected = product(&product(&g, &above), &turned(&g));
        let bare = placed(&smoother, &level.whole, level.nodes);
        expected.iter_mut().zip(&bare).for_each(|(row, more)| row.iter_mut().zip(more).for_each(|(sum, value)| *sum += value));
        let through = summed(&values, &relaxed, &full.through);
        let mut cycle = summed(&relaxed, &through, &full.sums.rows);
        for (cycle, &base) in cycle.iter_mut().zip(&full.sums.bases).filter(|(_, base)| **base != NONE) {
            (0..2).for_each(|i| (0..2).for_each(|k| cycle[i][k] += smoother[base as usize][i][k]));
        }
        let found = placed(&cycle, &full.whole, level.nodes);
        let largest = expected.iter().flatten().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!((found - expected).abs() <= 1e-12 * largest, "{} nodes: {found}, not {expected}", level.nodes);
        }
        (above, values, checked) = (expected, cycle, checked + 1);
    }
    assert!(checked >= 2, "{checked} levels");
}

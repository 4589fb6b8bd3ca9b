//! Block graphs of reduced systems, and positive definite matrices of them.

use leastwise_linear::matrix::{BlockMatrix, packed};
use leastwise_problem::{Pattern, PatternPart};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Pairs of blocks that are coupled, below the diagonal: of every row, its columns.
pub type Graph = Vec<BTreeSet<u32>>;

fn link(graph: &mut Graph, a: usize, b: usize) {
    if a != b {
        graph[a.max(b)].insert(a.min(b) as u32);
    }
}

/// Cameras on a ring of which so many in a row see a point, as in `pkg_tests/problems/bundles.mjs`.
pub fn ring(cameras: usize, views: usize) -> Graph {
    let mut graph = vec![BTreeSet::new(); cameras];
    for camera in 0..cameras {
        (1..views).for_each(|k| link(&mut graph, camera, (camera + k) % cameras));
    }
    graph
}

/// Cameras along the streets of a city, a row of blocks that are driven around; every third one a second time, and between two blocks
/// the street is shared, so that the graph has many loops.
pub fn city(cameras: usize, views: usize) -> Graph {
    let mut graph = vec![BTreeSet::new(); cameras];
    const ROUND: usize = 160;
    for camera in 0..cameras {
        (1..views).filter(|k| camera + k < cameras).for_each(|k| link(&mut graph, camera, camera + k));
        let (round, along) = (camera / ROUND, camera % ROUND);
        let mut see = |other: usize, at: usize| {
            (0..views).filter(|k| other * ROUND + at + k < cameras).for_each(|k| link(&mut graph, camera, other * ROUND + at + k));
        };
        if round % 3 == 1 {
            see(round - 1, along);
        } else if round > 1 && along < ROUND / 4 {
            // A side of the block before, driven along the other way.
            see(round - 2, ROUND / 2 - along);
        }
    }
    graph
}

/// A grid of side × side blocks, each coupled to the eight around it.
pub fn grid(side: usize) -> Graph {
    let mut graph = vec![BTreeSet::new(); side * side];
    for node in 0..side * side {
        let (x, y) = (node % side, node / side);
        for (dx, dy) in [(1, 0), (0, 1), (1, 1)] {
            if x + dx < side && y + dy < side {
                link(&mut graph, node, node + dx + side * dy);
            }
        }
        if x > 0 && y + 1 < side {
            link(&mut graph, node, node + side - 1);
        }
    }
    graph
}

/// The structure of a graph of blocks of this width.
pub fn pattern(graph: &Graph, width: u32) -> Pattern {
    let mut pattern = Pattern::default();
    pattern.push("blocks", 0, graph.len() as u32, width);
    let mut starts = vec![0];
    graph.iter().for_each(|row| starts.push(starts[starts.len() - 1] + row.len() as u32));
    let columns: Vec<u32> = graph.iter().flatten().copied().collect();
    pattern.values = columns.len() as u64 * u64::from(width * width);
    pattern.parts = vec![PatternPart { row: 0, column: 0, starts, columns, base: 0, rows: width, width }];
    pattern
}

/// A matrix of a structure, of which every diagonal entry exceeds the sum of its row.
pub fn matrix(pattern: Pattern) -> BlockMatrix {
    let mut matrix = BlockMatrix::zero(Arc::new(pattern));
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 23) as f64 - 1.0
    };
    matrix.lower.iter_mut().chain(&mut matrix.diagonal).for_each(|value| *value = random());
    let mut sums = vec![0.0; matrix.pattern.scalars as usize];
    let ones = vec![1.0; sums.len()];
    let mut positive = matrix.clone();
    positive.lower.iter_mut().chain(&mut positive.diagonal).for_each(|value| *value = value.abs());
    positive.multiply(&ones, &mut sums);
    let table = &matrix.pattern.tables[0];
    let width = table.width as usize;
    for (place, sum) in sums.into_iter().enumerate() {
        matrix.diagonal[place / width * packed(width, 0) + packed(place % width, place % width)] = 1.0 + sum;
    }
    matrix
}

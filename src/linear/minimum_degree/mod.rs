//! Approximate minimum degree in time slices (Amestoy, Davis & Duff, *An approximate minimum degree ordering algorithm*, 1996), as faer's
//! `amd` and SuiteSparse have it, with aggressive absorption: the orders are the same.
//!
//! The graph is a quotient graph: eliminated nodes are *elements*, each of which stands for the clique of its neighbours. Nodes that can't
//! be told apart are one, with the number of those that it stands for.

//!
//! - [`quotient`]: the graph, and the list of a pivot; [`pivot`]: its elimination; [`walk`]: the order at the end.

mod pivot;
mod quotient;
mod walk;

use leastwise_base::task::{Pace, Stopped};
use quotient::Quotient;

/// Operations that an entry of a list takes, about.
const EACH: usize = 8;

/// An order, and what a factor in that order takes.
pub struct Found {
    /// Number of the node that comes k-th.
    pub order: Vec<u32>,
    pub divisions: f64,
    pub multiplications: f64,
}

/// The order of a symmetric graph, whose lists of neighbours are given by where each begins, and one past the last.
pub async fn order(starts: &[u32], neighbours: &[u32], pace: &Pace) -> Result<Found, Stopped> {
    let n = starts.len() - 1;
    let mut graph = Quotient::new(starts, neighbours);
    pace.spend(EACH * (neighbours.len() + n)).await?;
    let (mut divisions, mut multiplications) = (0.0, 0.0);
    while graph.done < n {
        let mut pivot = graph.begin();
        let mut spent = graph.gather(&mut pivot);
        spent += graph.scan(&pivot);
        spent += graph.shrink(&mut pivot);
        spent += graph.join(&pivot);
        graph.finish(&pivot);
        let (f, r) = (f64::from(graph.size[pivot.me]), (pivot.degree + graph.dense) as f64);
        let entries = f * r + (f - 1.0) * f / 2.0;
        let squares = f * r * r + r * (f - 1.0) * f + (f - 1.0) * f * (2.0 * f - 1.0) / 6.0;
        divisions += entries;
        multiplications += (squares + entries) / 2.0;
        pace.spend(EACH * (spent + 4)).await?;
    }
    let f = graph.dense as f64;
    let entries = (f - 1.0) * f / 2.0;
    divisions += entries;
    multiplications += ((f - 1.0) * f * (2.0 * f - 1.0) / 6.0 + entries) / 2.0;
    pace.spend(4 * EACH * n).await?;
    Ok(Found { order: graph.order(), divisions, multiplications })
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::dyn_stack::{MemBuffer, MemStack};
    use faer::sparse::SymbolicSparseColMatRef;
    use faer::sparse::linalg::amd;
    use leastwise_base::task::{Task, UNIT};

    /// Lists of neighbours of edges a < b.
    fn lists(n: usize, edges: &[(u32, u32)]) -> (Vec<u32>, Vec<u32>) {
        let mut rows = vec![std::collections::BTreeSet::new(); n];
        for &(a, b) in edges.iter().filter(|(a, b)| a != b) {
            rows[a as usize].insert(b);
            rows[b as usize].insert(a);
        }
        let mut starts = vec![0];
        rows.iter().for_each(|row| starts.push(starts[starts.len() - 1] + row.len() as u32));
        (starts, rows.into_iter().flatten().collect())
    }

    fn known(starts: &[u32], neighbours: &[u32]) -> (Vec<u32>, amd::FlopCount) {
        let n = starts.len() - 1;
        let (mut forward, mut inverse) = (vec![0u32; n], vec![0u32; n]);
        let structure = SymbolicSparseColMatRef::new_checked(n, n, starts, None, neighbours);
        let mut memory = MemBuffer::new(amd::order_maybe_unsorted_scratch::<u32>(n, neighbours.len()));
        let flops = amd::order_maybe_unsorted(&mut forward, &mut inverse, structure, Default::default(), MemStack::new(&mut memory));
        (forward, flops.unwrap())
    }

    fn check(n: usize, edges: &[(u32, u32)]) {
        let (starts, neighbours) = lists(n, edges);
        let (wanted, flops) = known(&starts, &neighbours);
        let mut work = Task::new(|pace| async move { order(&starts, &neighbours, &pace).await });
        let mut slices = 1;
        let found = loop {
            match work.resume(0.0) {
                Some(found) => break found.unwrap(),
                None => slices += 1,
            }
        };
        assert_eq!(found.order, wanted, "{n} nodes, {} edges", edges.len());
        assert_eq!((found.divisions, found.multiplications), (flops.n_div, flops.n_mult_subs_ldl));
        assert!(work.largest_unit() < 2 * UNIT, "{} operations", work.largest_unit());
        assert!(slices > 4 || n < 10_000, "{slices} slices");
    }

    #[test]
    fn orders_are_those_of_faer() {
        let mut state = 1u32;
        let mut below = |most: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % most
        };
        for round in 0..300 {
            let n = 1 + below(if round % 3 == 0 { 12 } else { 200 });
            let each = 1 + below(8);
            let count = below(1 + n * each);
            let mut edges: Vec<(u32, u32)> = (0..count).map(|_| (below(n), below(n))).collect();
            // Some are next to all others, and some are alike.
            if round % 4 == 0 {
                edges.extend((1..n).map(|other| (0, other)));
            }
            if round % 5 == 0 {
                edges.extend((0..n).map(|node| (node, node / 4)));
            }
            check(n as usize, &edges);
        }
    }

    #[test]
    fn large_graphs_are_ordered_in_slices() {
        let side = 120;
        let grid = (0..side * side).flat_map(|node| {
            let right = (node % side + 1 < side).then_some((node, node + 1));
            right.into_iter().chain((node + side < side * side).then_some((node, node + side)))
        });
        check((side * side) as usize, &grid.collect::<Vec<_>>());
    }
}

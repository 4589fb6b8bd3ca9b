use super::*;
use crate::dense::{Algorithm, DenseCholesky};
use crate::matrix::{BlockMatrix, packed};
use crate::sparse::{Graph, SparseCholesky};
use leastwise_base::task::Task;
use leastwise_problem::{Pattern, PatternPart};
use std::collections::BTreeSet;
use std::sync::Arc;

struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }

    fn unit(&mut self) -> f64 {
        self.below(1 << 30) as f64 / (1 << 29) as f64 - 1.0
    }
}

type Edges = BTreeSet<(u32, u32)>;

fn edges(pairs: impl IntoIterator<Item = (usize, usize)>) -> Edges {
    pairs.into_iter().filter(|(a, b)| a != b).map(|(a, b)| (a.max(b) as u32, a.min(b) as u32)).collect()
}

/// The structure of tables of so many variables of these widths, of which pairs (row, column) meet.
fn pattern(tables: &[(u32, u32)], edges: &Edges) -> Pattern {
    let mut pattern = Pattern::default();
    for (number, &(count, width)) in (0..).zip(tables) {
        pattern.push("table", number, count, width);
    }
    for row in 0..tables.len() {
        for column in 0..=row {
            let [of_rows, of_columns] = [row, column].map(|table| pattern.tables[table].clone());
            let (mut starts, mut columns) = (vec![0], Vec::new());
            for variable in of_rows.first..of_rows.first + of_rows.count {
                let own = edges.range((variable, of_columns.first)..(variable, of_columns.first + of_columns.count));
                columns.extend(own.map(|(_, column)| column - of_columns.first));
                starts.push(columns.len() as u32);
            }
            let base = pattern.values;
            pattern.values += columns.len() as u64 * u64::from(of_rows.width * of_columns.width);
            let (row, column) = (row as u32, column as u32);
            pattern.parts.push(PatternPart { row, column, starts, columns, base, rows: of_rows.width, width: of_columns.width });
        }
    }
    pattern
}

/// Random values, of which those on the diagonal exceed the sums of their rows.
fn definite(pattern: Pattern, random: &mut Random) -> BlockMatrix {
    let mut matrix = BlockMatrix::zero(Arc::new(pattern));
    matrix.lower.iter_mut().chain(&mut matrix.diagonal).for_each(|value| *value = random.unit());
    let mut positive = matrix.clone();
    positive.lower.iter_mut().chain(&mut positive.diagonal).for_each(|value| *value = value.abs());
    let n = matrix.pattern.scalars as usize;
    let mut sums = vec![0.0; n];
    positive.multiply(&vec![1.0; n], &mut sums);
    for table in matrix.pattern.clone().tables.iter() {
        let width = table.width as usize;
        for place in 0..(table.count * table.width) as usize {
            let at = table.block as usize + place / width * packed(width, 0) + packed(place % width, place % width);
            matrix.diagonal[at] = 0.1 + sums[table.scalar as usize + place];
        }
    }
    matrix
}

fn made(pattern: &Pattern) -> SparseCholesky<Multifrontal> {
    Task::new(|pace| async move { SparseCholesky::new(pattern, &pace).await }).finish().expect("a structure")
}

fn solved(factor: &mut SparseCholesky<Multifrontal>, matrix: &BlockMatrix, damping: &[f64], right: &[f64]) -> Result<Vec<f64>, Unsolved> {
    let system = System { matrix, damping, right };
    let mut x = right.to_vec();
    let solve = async |pace: Pace| {
        factor.factorize(&system, &pace).await?;
        Ok::<_, Unsolved>(factor.solve(&mut x, &pace).await?)
    };
    Task::new(solve).finish()?;
    Ok(x)
}

fn dense(matrix: &BlockMatrix, damping: &[f64], right: &[f64]) -> Vec<f64> {
    let system = System { matrix, damping, right };
    let mut x = right.to_vec();
    let solve =
        async |pace: Pace| DenseCholesky::by(Algorithm::Products, &system, &pace).await?.solve(&mut x, &pace).await.map_err(Unsolved::from);
    Task::new(solve).finish().expect("a solution");
    x
}

fn on<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(work)
}

/// Solves on 1, 2 and 5 threads, twice each; compares bits with each other, and values with those of the whole matrix or what is known.
fn check(name: &str, matrix: &BlockMatrix, random: &mut Random) {
    let n = matrix.pattern.scalars as usize;
    let wanted: Vec<f64> = (0..n).map(|_| random.unit()).collect();
    let damping: Vec<f64> = (0..n).map(|_| 0.1 * (1.0 + random.unit())).collect();
    let mut right = vec![0.0; n];
    matrix.multiply(&wanted, &mut right);
    right.iter_mut().zip(wanted.iter().zip(&damping)).for_each(|(right, (wanted, damping))| *right += wanted * damping);
    let of_threads = [1, 2, 5].map(|threads| {
        on(threads, || {
            let mut factor = made(&matrix.pattern);
            let first = solved(&mut factor, matrix, &damping, &right).expect("a solution");
            assert_eq!(solved(&mut factor, matrix, &damping, &right).as_ref(), Ok(&first), "{name}, the second time");
            first
        })
    });
    let bits = |x: &[f64]| x.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert!(of_threads.iter().all(|x| bits(x) == bits(&of_threads[0])), "{name}: bits depend on threads");
    let known = if n < 800 { dense(matrix, &damping, &right) } else { wanted };
    let error = of_threads[0].iter().zip(&known).map(|(x, known)| (x - known).abs()).fold(0.0, f64::max);
    assert!(error < 1e-12, "{name}: {error}");
}

fn ring(blocks: usize, near: usize) -> Edges {
    edges((0..blocks).flat_map(|a| (1..=near).map(move |k| (a, (a + k) % blocks))))
}

fn clique(range: std::ops::Range<usize>) -> impl Iterator<Item = (usize, usize)> {
    range.clone().flat_map(move |a| (range.start..a).map(move |b| (a, b)))
}

#[test]
fn solutions_are_those_of_whole_matrices() {
    let mut random = Random(1);
    for round in 0..40 {
        let tables: Vec<(u32, u32)> = (0..1 + random.below(4)).map(|_| (1 + random.below(30) as u32, 1 + random.below(7) as u32)).collect();
        let n: u32 = tables.iter().map(|(count, _)| count).sum();
        let count = random.below(3 * n as usize + 1);
        let edges = edges((0..count).map(|_| (random.below(n as usize), random.below(n as usize))));
        check(&format!("round {round}, {tables:?}"), &definite(pattern(&tables, &edges), &mut random), &mut random);
    }
}

#[test]
fn no_unknowns_have_a_solution() {
    for tables in [&[][..], &[(0, 3)]] {
        let matrix = BlockMatrix::zero(Arc::new(pattern(tables, &Edges::new())));
        assert_eq!(solved(&mut made(&matrix.pattern), &matrix, &[], &[]), Ok(Vec::new()));
    }
}

/// Rings, a grid, graphs in pieces, with a variable that all others meet, fronts that threads share: several runs and levels of each.
#[test]
fn threads_share_factors_and_leave_no_trace() {
    let mut random = Random(2);
    let side = 60;
    let grid = edges((0..side * side).flat_map(|a| {
        let right = (a % side + 1 < side).then_some((a, a + 1));
        right.into_iter().chain((a / side + 1 < side).then_some((a, a + side)))
    }));
    let pieces = edges(
        ring(150, 4)
            .into_iter()
            .map(|(a, b)| (a as usize, b as usize))
            .chain((0..150).flat_map(|a| (1..4).map(move |k| (160 + a, 160 + (a + k) % 150)))),
    );
    let hub = edges(ring(300, 3).into_iter().map(|(a, b)| (a as usize, b as usize)).chain((0..300).map(|a| (a, 300))));
    let samples = [
        ("a ring", vec![(400, 9)], ring(400, 4)),
        ("a ring of two kinds", vec![(200, 9), (200, 4)], ring(400, 4)),
        ("a grid", vec![(3600, 3)], grid),
        ("two rings, and variables without neighbours", vec![(330, 9)], pieces),
        ("a ring, and a variable that all meet", vec![(300, 6), (1, 3)], hub),
        ("a front", vec![(70, 9)], edges(clique(0..70))),
        ("two large fronts", vec![(70, 9)], edges(clique(0..40).chain(clique(30..70)))),
        ("a very large front", vec![(120, 9)], edges(clique(0..110).chain(clique(100..120)))),
        ("three large fronts", vec![(160, 9)], edges(clique(0..70).chain(clique(50..110)).chain(clique(90..160)))),
    ];
    for (name, tables, edges) in samples {
        let matrix = definite(pattern(&tables, &edges), &mut random);
        let factor = made(&matrix.pattern);
        let schedule = &factor.factorization().schedule;
        assert!(schedule.runs.len() > 1 || !schedule.levels.is_empty(), "{name}: nothing to share");
        check(name, &matrix, &mut random);
    }
}

#[test]
fn indefinite_matrices_are_told_and_leave_nothing_behind() {
    let mut random = Random(3);
    for (blocks, near) in [(20, 2), (400, 4)] {
        let matrix = definite(pattern(&[(blocks as u32, 9)], &ring(blocks, near)), &mut random);
        let n = 9 * blocks;
        let right: Vec<f64> = (0..n).map(|_| random.unit()).collect();
        let none = vec![0.0; n];
        for threads in [1, 2] {
            on(threads, || {
                let mut factor = made(&matrix.pattern);
                let wanted = solved(&mut factor, &matrix, &none, &right).expect("a solution");
                for bad in [-1e3, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    // In a run, and in any front above: every eleventh unknown.
                    for place in (0..n).step_by(11 * (n / 180)) {
                        let mut damping = none.clone();
                        damping[place] = bad;
                        assert_eq!(solved(&mut factor, &matrix, &damping, &right), Err(Unsolved::Singular), "{bad} at {place} of {n}");
                    }
                    let mut other = matrix.clone();
                    let place = other.lower.len() / 2;
                    other.lower[place] = if bad == -1e3 { 1e6 } else { bad };
                    assert_eq!(solved(&mut factor, &other, &none, &right), Err(Unsolved::Singular), "{bad} below the diagonal");
                }
                assert_eq!(solved(&mut factor, &matrix, &none, &right), Ok(wanted));
            });
        }
    }
}

/// The graph of edges between so many variables.
fn graph(count: usize, edges: &Edges) -> Graph {
    let mut rows = vec![BTreeSet::new(); count];
    for &(a, b) in edges {
        rows[a as usize].insert(b);
        rows[b as usize].insert(a);
    }
    let mut starts = vec![0];
    rows.iter().for_each(|row| starts.push(starts[starts.len() - 1] + row.len() as u32));
    Graph { starts, neighbours: rows.into_iter().flatten().collect() }
}

#[test]
fn dissections_have_every_variable_once() {
    let mut random = Random(4);
    for round in 0..60 {
        let n = 1 + random.below(300);
        let count = random.below(4 * n);
        let mut edges = edges((0..count).map(|_| (random.below(n), random.below(n))));
        if round % 2 == 0 {
            edges.extend(ring(n, 1).into_iter().filter(|(a, b)| a != b));
        }
        let (graph, widths) = (graph(n, &edges), vec![3; n]);
        let mut order = Task::new(|pace| async move { dissection::order(&graph, &widths, &pace).await }).finish().expect("an order");
        order.sort_unstable();
        assert!(order.into_iter().eq(0..n as u32), "round {round}");
    }
}

/// The rows of fronts hold what elimination fills, and subtrees are ranges.
#[test]
fn trees_are_those_of_elimination() {
    let mut random = Random(5);
    for _ in 0..100 {
        let n = 1 + random.below(60);
        let count = random.below(3 * n);
        let graph = graph(n, &edges((0..count).map(|_| (random.below(n), random.below(n)))));
        let mut order: Vec<u32> = (0..n as u32).collect();
        (1..n).rev().for_each(|place| order.swap(place, random.below(place + 1)));
        let mut scalars = vec![0];
        (0..n).for_each(|place| scalars.push(scalars[place] + 1 + random.below(5) as u32));
        let tree = Tree::new(&graph, &scalars, &order).expect("a tree");
        let mut below: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); n];
        for (place, &variable) in tree.order.iter().enumerate() {
            below[place].extend(graph.of(variable).iter().map(|&other| tree.inverse[other as usize]).filter(|&other| other > place as u32));
        }
        for place in 0..n {
            let rows: Vec<u32> = below[place].iter().copied().collect();
            if let Some((&parent, rest)) = rows.split_first() {
                below[parent as usize].extend(rest);
            }
        }
        let mut next = 0;
        for (number, front) in (0..).zip(&tree.fronts) {
            assert_eq!(front.variables.start, next);
            next = front.variables.end;
            let rows = tree.rows(front);
            for place in front.variables.clone() {
                assert!(below[place as usize].iter().all(|row| front.variables.contains(row) || rows.binary_search(row).is_ok()));
            }
            assert!(below[next as usize - 1].iter().eq(rows));
            assert_eq!(front.below(), rows.iter().map(|&row| tree.width(row)).sum::<usize>());
            assert!((front.descendants..number).all(|child| tree.fronts[child as usize].parent <= number));
            assert!(front.parent == NONE || tree.fronts[front.parent as usize].variables.contains(&rows[0]));
        }
        assert_eq!(next as usize, n);
    }
}

#[test]
fn chains_are_dissected_where_threads_gain_by_it() {
    let (blocks, width) = (1778, 9);
    let edges = ring(blocks, 4);
    let graph = graph(blocks, &edges);
    let scalars: Vec<u32> = (0..=blocks as u32).map(|place| width * place).collect();
    let found = Task::new(async |pace: Pace| crate::minimum_degree::order(&graph.starts, &graph.neighbours, &pace).await)
        .finish()
        .expect("an order");
    let least = Tree::new(&graph, &scalars, &found.order).expect("a tree");
    let factor = made(&pattern(&[(blocks as u32, width)], &edges));
    let [alone, eight] = [1, 8].map(|threads| factor.factorization().predicted(threads));
    assert!(
        eight.path < 0.5 * Schedule::new(&least).nominal(&least),
        "{eight:?}, {} by minimum degree",
        Schedule::new(&least).nominal(&least)
    );
    assert!(eight.path < alone.work / 5.0 && alone.path < 1.1 * alone.work && alone.work < 1.2 * least.work, "{alone:?}, {eight:?}");
}

//! `cargo bench -p leastwise-linear --bench factors -- [ring city grid full mesh] [THREADS …]`: sparse factors of reduced systems on the host.

mod graphs;

use leastwise_base::task::{Pace, Task};
use leastwise_linear::dense::DenseCholesky;
use leastwise_linear::left_looking::LeftLooking;
use leastwise_linear::matrix::{BlockMatrix, System};
use leastwise_linear::multifrontal::Multifrontal;
use leastwise_linear::sparse::{Factorization, Ordering, SparseCholesky};
use std::time::Instant;

/// Repetitions, of which the shortest is told; fewer of large matrices.
const TIMES: usize = 15;
const FEW: usize = 2;
const LARGE: usize = 100_000;
/// Unknowns of which a factor of the whole matrix is made, too.
const DENSE: u32 = 6000;

fn ms(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64() * 1e3
}

/// Milliseconds until there is a structure, of a factor, and of a solution; and its error.
fn times<F: Factorization>(matrix: &BlockMatrix) -> [f64; 4] {
    let mut least = [f64::INFINITY; 4];
    let n = matrix.pattern.scalars as usize;
    let wanted: Vec<f64> = (0..n).map(|place| (place as f64).sin()).collect();
    let mut right = vec![0.0; n];
    matrix.multiply(&wanted, &mut right);
    let damping = vec![0.0; n];
    let system = System { matrix, damping: &damping, right: &right };
    let mut made: Option<SparseCholesky<F>> = None;
    let times = if n < LARGE { TIMES } else { FEW };
    for _ in 0..times.min(3) {
        let begin = |pace: Pace| async move { SparseCholesky::<F>::new(&matrix.pattern, &pace).await };
        least[0] = least[0].min(ms(|| made = Task::new(begin).finish().ok()));
    }
    let mut factor = made.expect("a structure");
    for _ in 0..times {
        let mut x = right.clone();
        let make = async |pace: Pace| factor.factorize(&system, &pace).await;
        least[1] = least[1].min(ms(|| Task::new(make).finish().expect("a factor")));
        let solve = async |pace: Pace| factor.solve(&mut x, &pace).await;
        least[2] = least[2].min(ms(|| Task::new(solve).finish().expect("a solution")));
        least[3] = x.iter().zip(&wanted).map(|(x, wanted)| (x - wanted).abs()).fold(0.0, f64::max);
    }
    least
}

/// Milliseconds of a factor of the whole matrix, and of a solution.
fn whole(matrix: &BlockMatrix) -> [f64; 2] {
    let n = matrix.pattern.scalars as usize;
    let (damping, right) = (vec![0.0; n], vec![1.0; n]);
    let system = System { matrix, damping: &damping, right: &right };
    let (mut made, mut least) = (None, [f64::INFINITY; 2]);
    for _ in 0..3 {
        let make = async |pace: Pace| DenseCholesky::new(&system, &pace).await;
        least[0] = least[0].min(ms(|| made = Task::new(make).finish().ok()));
        let (factor, mut x) = (made.as_ref().expect("a factor"), right.clone());
        let solve = async |pace: Pace| factor.solve(&mut x, &pace).await;
        least[1] = least[1].min(ms(|| Task::new(solve).finish().expect("a solution")));
    }
    least
}

/// Multiplications of both orders, and those one after the other on several threads, in millions.
fn predictions(matrix: &BlockMatrix) {
    let least = Task::new(|pace| async move { Ordering::new(&matrix.pattern, &pace).await }).finish().expect("an order");
    let made = Task::new(|pace| async move { SparseCholesky::<Multifrontal>::new(&matrix.pattern, &pace).await });
    let made = made.finish().expect("a structure");
    let factor = made.factorization();
    let [one, two, four, eight, sixteen] = [1, 2, 4, 8, 16].map(|threads| factor.predicted(threads).path / 1e6);
    println!("minimum degree: {:.1} M multiplications, {:.2} M entries of the factor", least.work / 1e6, least.fill / 1e6);
    println!(
        "the order that is taken: {:.1} M multiplications, {:.2} M entries, zeros of fronts included",
        factor.predicted(1).work / 1e6,
        factor.entries() as f64 / 1e6
    );
    println!("one after the other on 1, 2, 4, 8, 16 threads: {one:.1}, {two:.1}, {four:.1}, {eight:.1}, {sixteen:.1} M");
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let (numbers, names): (Vec<&String>, Vec<&String>) = arguments.iter().partition(|argument| argument.parse::<usize>().is_ok());
    let mut threads: Vec<usize> = numbers.iter().filter_map(|number| number.parse().ok()).collect();
    if threads.is_empty() {
        threads = vec![1, 2];
    }
    let all = [
        ("ring", graphs::ring(1778, 5), 9),
        ("city", graphs::city(1760, 5), 9),
        ("grid", graphs::grid(120), 3),
        ("full", graphs::ring(300, 300), 9),
        ("mesh", graphs::grid(500), 3),
    ];
    for (name, graph, width) in all.into_iter().filter(|(name, ..)| names.is_empty() || names.iter().any(|wanted| *wanted == name)) {
        let matrix = graphs::matrix(graphs::pattern(&graph, width));
        println!("\n{name}: {} blocks of {width}, {} below the diagonal", graph.len(), matrix.pattern.parts[0].blocks());
        predictions(&matrix);
        println!("               threads  structure ms  factor ms  solve ms     error");
        for &threads in &threads {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let told = |name: &str, [structure, factor, solve, error]: [f64; 4]| {
                println!("{name:14} {threads:7} {structure:13.2} {factor:10.2} {solve:9.2} {error:9.1e}");
            };
            pool.install(|| {
                told("multifrontal", times::<Multifrontal>(&matrix));
                if matrix.pattern.scalars <= DENSE {
                    let [factor, solve] = whole(&matrix);
                    println!("{:14} {threads:7} {:13} {factor:10.2} {solve:9.2}", "dense", "-");
                }
                if threads == 1 {
                    told("left-looking", times::<LeftLooking>(&matrix));
                }
            });
        }
    }
}

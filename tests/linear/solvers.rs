//! Factorisations, against the systems that they solve.

use crate::linear::random::{Sampled, sample};
use crate::support::Random;
use leastwise::base::task::{Pace, Task, UNIT};
use leastwise::linear::conjugate::{self, Blocks, Inexact, Solution};
use leastwise::linear::dense::{Algorithm, DenseCholesky};
use leastwise::linear::elimination::{Linked, check, detect, work};
use leastwise::linear::frozen::Frozen;
use leastwise::linear::left_looking::LeftLooking;
use leastwise::linear::matrix::{BlockMatrix, System, Unsolved, Unsolved::Singular};
use leastwise::linear::multifrontal::Multifrontal;
use leastwise::linear::qr::Triangle;
use leastwise::linear::schur::{Refused, Schur};
use leastwise::linear::sparse::{Factorization, SparseCholesky};
use leastwise::problem::Pattern;
use std::pin::Pin;

#[derive(Clone)]
struct Given {
    matrix: BlockMatrix,
    damping: Vec<f64>,
    right: Vec<f64>,
}

impl Given {
    fn of(sampled: &Sampled, random: &mut Random) -> Self {
        let n = sampled.pattern.scalars as usize;
        let mut vector = |low: f64, high: f64| (0..n).map(|_| random.between(low, high)).collect::<Vec<f64>>();
        Self { matrix: sampled.gathered(), damping: vector(0.01, 0.5), right: vector(-1.0, 1.0) }
    }

    fn system(&self) -> System<'_> {
        System { matrix: &self.matrix, damping: &self.damping, right: &self.right }
    }

    /// How far x is from solving the system.
    fn error(&self, x: &[f64]) -> f64 {
        let mut y = vec![0.0; x.len()];
        self.matrix.multiply(x, &mut y);
        let rest = (0..x.len()).map(|i| (y[i] + self.damping[i] * x[i] - self.right[i]).powi(2)).sum::<f64>().sqrt();
        rest / self.right.iter().map(|value| value * value).sum::<f64>().sqrt()
    }
}

fn samples(random: &mut Random) -> Vec<(&'static str, Sampled)> {
    vec![
        ("a mesh", sample(&[(120, 3), (120, 3)], &[(&[0, 0, 1], 500, 128), (&[0], 30, 30)], random)),
        ("cameras and points", sample(&[(6, 9), (150, 3)], &[(&[0, 1], 500, 200)], random)),
        ("points and cameras", sample(&[(150, 3), (6, 6)], &[(&[0, 1], 500, 200)], random)),
        (
            "cameras of two kinds, points of two kinds, a global scale",
            sample(
                &[(90, 3), (5, 6), (40, 2), (4, 7), (1, 1)],
                &[(&[0, 1, 4], 200, 77), (&[3, 0], 90, 90), (&[2, 1], 90, 50), (&[1, 1], 9, 9), (&[3, 1], 5, 5)],
                random,
            ),
        ),
        ("many cameras with few points", sample(&[(100, 6), (300, 3)], &[(&[0, 1], 700, 300), (&[0, 0], 80, 80)], random)),
    ]
}

/// What is native and what is for wasm.
const DENSE: [Algorithm; 2] = [Algorithm::Products, Algorithm::Columns];

/// x of a dense factor.
fn dense_solution(algorithm: Algorithm, given: &Given) -> Result<Vec<f64>, Unsolved> {
    let mut x = given.right.clone();
    let solved = Task::new(async |pace| {
        let system = given.system();
        Ok(DenseCholesky::by(algorithm, &system, &pace).await?.solve(&mut x, &pace).await?)
    });
    solved.finish().map(|()| x)
}

/// x of a Schur complement.
fn reduced_solution(schur: &mut Schur, given: &Given) -> Result<Vec<f64>, Unsolved> {
    let mut x = vec![f64::NAN; given.right.len()];
    Task::new(async |pace| schur.solve(&given.system(), &mut x, &pace).await).finish().map(|()| x)
}

fn frozen_solution(frozen: &mut Frozen, given: &Given, inexact: Inexact) -> Result<Solution, Unsolved> {
    Task::new(async |pace| frozen.solve(&given.system(), inexact, &pace).await).finish()
}

fn sparse<F: Factorization>(pattern: &Pattern) -> SparseCholesky<F> {
    Task::new(async |pace| SparseCholesky::new(pattern, &pace).await).finish().unwrap()
}

fn schur(pattern: &Pattern, tables: &[u32]) -> Result<Schur, Refused> {
    Task::new(async |pace| Schur::new(pattern, tables, &pace).await).finish()
}

fn factorized<F: Factorization>(sparse: &mut SparseCholesky<F>, given: &Given) -> Result<(), Unsolved> {
    Task::new(async |pace| sparse.factorize(&given.system(), &pace).await).finish()
}

/// A factor's structure serves for other values.
fn sparse_solves<F: Factorization>(sparse: &mut SparseCholesky<F>, given: &Given) -> f64 {
    let mut x = given.right.clone();
    factorized(sparse, given).unwrap();
    Task::new(async |pace| sparse.solve(&mut x, &pace).await).finish().unwrap();
    given.error(&x)
}

/// Conjugate gradients preconditioned by diagonal blocks.
fn by_blocks(system: &System, inexact: Inexact) -> Result<Solution, Unsolved> {
    Task::new(async |pace| {
        let mut blocks = Blocks::new(system, &pace).await?;
        conjugate::solve(system, inexact, &mut blocks, &pace).await
    })
    .finish()
}

#[test]
fn dense_and_sparse_factors_solve() {
    let mut random = Random::new(21);
    for (name, sampled) in samples(&mut random) {
        let mut multifrontal = sparse::<Multifrontal>(&sampled.pattern);
        let mut left_looking = sparse::<LeftLooking>(&sampled.pattern);
        for _ in 0..2 {
            let given = Given::of(&sampled, &mut random);
            for how in DENSE {
                let x = dense_solution(how, &given).unwrap();
                assert!(given.error(&x) < 1e-11, "{name}, dense {how:?}: {}", given.error(&x));
            }
            for (how, error) in
                [("by fronts", sparse_solves(&mut multifrontal, &given)), ("by panels", sparse_solves(&mut left_looking, &given))]
            {
                assert!(error < 1e-11, "{name}, sparse {how}: {error}");
            }
            let solution = by_blocks(&given.system(), Inexact { forcing: 1e-13, max_iterations: 5000 }).unwrap();
            assert!(given.error(&solution.x) < 1e-10, "{name}, conjugate gradients: {}", given.error(&solution.x));
            // What is said to be left is what is left, also when it is much.
            let solution = by_blocks(&given.system(), Inexact { forcing: 0.1, max_iterations: 5000 }).unwrap();
            let left = solution.residual.iter().map(|r| r * r).sum::<f64>().sqrt() / given.right.iter().map(|r| r * r).sum::<f64>().sqrt();
            assert!((left - given.error(&solution.x)).abs() < 1e-12 && left > 1e-6, "{name}: {left}");
        }
    }
}

#[test]
fn dense_factors_are_the_same_whatever_the_size() {
    let mut random = Random::new(29);
    // Below, at and beyond the columns that are worked on together, and a panel of them.
    for n in [0, 1, 2, 7, 8, 9, 31, 32, 33, 40, 64, 71, 130, 513] {
        // AAᵀ + n·1.
        let inner = n.min(130);
        let a: Vec<f64> = (0..n * inner).map(|_| random.between(-1.0, 1.0)).collect();
        let product = |i: usize, j: usize| (0..inner).map(|k| a[i * inner + k] * a[j * inner + k]).sum::<f64>();
        let entry = |i: usize, j: usize| product(i, j) + if i == j { n as f64 } else { 0.0 };
        let matrix: Vec<f64> = (0..n * n).map(|place| entry(place / n, place % n)).collect();
        for how in DENSE {
            let factorize = |matrix: &mut Vec<f64>| Task::new(async |pace| how.factorize(matrix, n, &pace).await).finish();
            let mut factor = matrix.clone();
            factorize(&mut factor).unwrap();
            for j in 0..n {
                for i in j..n {
                    let product: f64 = (0..=j).map(|k| factor[k * n + i] * factor[k * n + j]).sum();
                    assert!((product - matrix[j * n + i]).abs() < 1e-13 * n as f64, "{how:?}, {n}: ({i}, {j})");
                }
            }
            let mut indefinite = matrix.clone();
            if n > 0 {
                let k = random.below(n as u64) as usize;
                indefinite[k * n + k] = -1.0;
                assert_eq!(factorize(&mut indefinite), Err(Singular), "{how:?}, {n}: pivot {k}");
            }
        }
    }
}

#[test]
fn the_schur_complement_solves_with_every_table_that_can_be_eliminated() {
    let mut random = Random::new(22);
    for (name, sampled) in samples(&mut random) {
        let given = Given::of(&sampled, &mut random);
        let alone = (0..sampled.pattern.tables.len() as u32).map(|table| vec![table]);
        for tables in alone.chain([detect(&sampled.pattern)]) {
            if check(&sampled.pattern, &tables).is_err() || tables.is_empty() {
                continue;
            }
            let mut schur = schur(&sampled.pattern, &tables).unwrap();
            let x = reduced_solution(&mut schur, &given).unwrap();
            assert!(given.error(&x) < 1e-11, "{name}, {tables:?}: {}", given.error(&x));
        }
    }
}

#[test]
fn what_is_left_may_be_sparse() {
    let mut random = Random::new(23);
    // 2400 unknowns, of which few share a point.
    let sampled = sample(&[(400, 6), (900, 3)], &[(&[0, 1], 1800, 1000)], &mut random);
    let mut schur = schur(&sampled.pattern, &[1]).unwrap();
    let left = schur.reduced();
    assert_eq!(left.scalars, 2400);
    assert!((left.values as f64) < 0.1 * 2400.0 * 2400.0);
    let given = Given::of(&sampled, &mut random);
    let x = reduced_solution(&mut schur, &given).unwrap();
    assert!(given.error(&x) < 1e-11, "{}", given.error(&x));
}

#[test]
fn what_can_be_eliminated_is_found() {
    let mut random = Random::new(24);
    let [mesh, bundle, turned, kinds, _] = samples(&mut random).try_into().ok().unwrap();
    let found = |sampled: &(&str, Sampled)| detect(&sampled.1.pattern);
    assert_eq!(found(&mesh), [1]);
    assert_eq!(found(&bundle), [1]);
    assert_eq!(found(&turned), [0]);
    // The points of both kinds; the scale is in the same residuals as the first.
    assert_eq!(found(&kinds), [0, 2]);
    assert_eq!(check(&mesh.1.pattern, &[0]), Err(Linked(0, 0)));
    assert_eq!(schur(&kinds.1.pattern, &[0, 3]).err(), Some(Refused::Linked(Linked(3, 0))));
    // Every pair of blocks of a point, the one with itself included.
    let bundle = &bundle.1;
    let mut seen = vec![std::collections::HashSet::new(); 150];
    let [cameras, points] = [0, 1].map(|slot| &bundle.batches[0].slots[slot].1);
    for (camera, point) in cameras.iter().zip(points) {
        seen[*point as usize].insert(camera);
    }
    let pairs: usize = seen.iter().map(|cameras| cameras.len() * (cameras.len() + 1) / 2).sum();
    assert_eq!(work(&bundle.pattern, &[1]), pairs as f64);
}

#[test]
fn what_has_no_solution_is_said_to_have_none() {
    let mut random = Random::new(25);
    for (name, sampled) in samples(&mut random) {
        for bad in [-1e3, f64::NAN, f64::INFINITY] {
            let mut given = Given::of(&sampled, &mut random);
            let place = random.below(given.damping.len() as u64) as usize;
            given.damping[place] = bad;
            for how in DENSE {
                assert_eq!(dense_solution(how, &given).err(), Some(Singular), "{name}, dense {how:?}, {bad}");
            }
            let solved = factorized(&mut sparse::<Multifrontal>(&sampled.pattern), &given);
            assert_eq!(solved, Err(Singular), "{name}, sparse by fronts, {bad}");
            let solved = factorized(&mut sparse::<LeftLooking>(&sampled.pattern), &given);
            assert_eq!(solved, Err(Singular), "{name}, sparse by panels, {bad}");
            let solved = by_blocks(&given.system(), Inexact { forcing: 1e-3, max_iterations: 100 });
            assert_eq!(solved.err(), Some(Singular), "{name}, conjugate gradients, {bad}");
            let tables = detect(&sampled.pattern);
            let solved = reduced_solution(&mut schur(&sampled.pattern, &tables).unwrap(), &given);
            assert_eq!(solved.err(), Some(Singular), "{name}, Schur, {bad}");
        }
    }
}

/// Solves by QR and compares with the normal equations' residual, which is 0 at the solution.
#[test]
fn a_triangle_of_rows_solves_least_squares() {
    let mut random = Random::new(26);
    for (rows, n) in [(3, 3), (50, 7), (129, 1), (700, 33), (20, 40)] {
        let jacobian: Vec<Vec<f64>> = (0..rows).map(|_| (0..n).map(|_| random.between(-1.0, 1.0)).collect()).collect();
        let right: Vec<f64> = (0..rows).map(|_| random.between(-1.0, 1.0)).collect();
        let mut triangle = Triangle::new(n).unwrap();
        for (row, right) in jacobian.iter().zip(&right) {
            triangle.push(row.iter().copied().enumerate(), *right);
        }
        // One triangle serves for any damping.
        for damping in [0.3, 1e-9] {
            let damping: Vec<f64> = (0..n).map(|k| damping * (1.0 + k as f64)).collect();
            let x = triangle.solve(&damping).unwrap();
            for column in 0..n {
                let slope: f64 = jacobian
                    .iter()
                    .zip(&right)
                    .map(|(row, right)| row[column] * (row.iter().zip(&x).map(|(a, x)| a * x).sum::<f64>() - right))
                    .sum();
                let slope = slope + damping[column] * x[column];
                assert!(slope.abs() < 1e-10 * rows as f64, "{rows} × {n}: column {column}: {slope}");
            }
        }
    }
}

/// Where the normal equations have no digit left (condition 1e10, squared 1e20), QR still has six.
#[test]
fn rows_keep_the_digits_that_the_normal_equations_lose() {
    let n = 8;
    let mut random = Random::new(27);
    let truth: Vec<f64> = (0..n).map(|_| random.between(0.5, 1.0)).collect();
    let mut triangle = Triangle::new(n).unwrap();
    for k in 0..60 {
        let t = 0.7 + 0.3 * f64::from(k) / 59.0;
        let row: Vec<f64> = (0..n).map(|power| t.powi(power as i32)).collect();
        triangle.push(row.iter().copied().enumerate(), row.iter().zip(&truth).map(|(a, x)| a * x).sum());
    }
    let x = triangle.solve(&vec![0.0; n]).unwrap();
    for (x, truth) in x.iter().zip(&truth) {
        assert!((x - truth).abs() < 1e-6, "{x}, not {truth}");
    }
}

#[test]
fn columns_that_depend_on_others_are_left_out() {
    let mut triangle = Triangle::new(4).unwrap();
    let mut random = Random::new(28);
    for _ in 0..30 {
        let (a, b) = (random.between(-1.0, 1.0), random.between(-1.0, 1.0));
        // The third column is the sum of the first two, the fourth is 0.
        triangle.push([a, b, a + b, 0.0].into_iter().enumerate(), 2.0 * a - b);
    }
    let x = triangle.solve(&[0.0; 4]).unwrap();
    assert_eq!(x[3], 0.0);
    assert!((x[0] + x[2] - 2.0).abs() < 1e-12 && (x[1] + x[2] + 1.0).abs() < 1e-12, "{x:?}");
    assert_eq!(x.iter().filter(|x| **x == 0.0).count(), 2, "{x:?}");
    let mut triangle = Triangle::new(1).unwrap();
    triangle.push([(0, f64::NAN)].into_iter(), 1.0);
    assert_eq!(triangle.solve(&[1.0]), None);
}

#[test]
fn a_frozen_factor_stays_while_the_matrix_changes_little() {
    let mut random = Random::new(21);
    let sampled = sample(&[(40, 3)], &[(&[0, 0], 90, 90)], &mut random);
    let mut given = Given::of(&sampled, &mut random);
    let mut frozen = Task::new(async |pace| Frozen::new(&sampled.pattern, &pace).await).finish().unwrap();
    let inexact = Inexact { forcing: 1e-10, max_iterations: 200 };
    for round in 0..4 {
        let solution = frozen_solution(&mut frozen, &given, inexact).unwrap();
        assert!(solution.is_solved && given.error(&solution.x) < 1e-7, "round {round}: {}", given.error(&solution.x));
        assert_eq!(frozen.factorizations, 1, "round {round}");
        assert!(solution.iterations <= if round == 0 { 2 } else { 24 }, "round {round}: {} iterations", solution.iterations);
        given.damping.iter_mut().for_each(|damping| *damping *= 1.0 + random.between(0.0, 0.05));
        given.right.iter_mut().for_each(|right| *right += random.between(-0.1, 0.1));
    }
    // Quite another matrix.
    given.damping.iter_mut().enumerate().for_each(|(k, damping)| *damping *= if k % 3 == 0 { 1e6 } else { 1.0 + k as f64 });
    let solution = frozen_solution(&mut frozen, &given, inexact).unwrap();
    assert!(solution.is_solved && frozen.factorizations == 2, "{} factors, {} iterations", frozen.factorizations, solution.iterations);
    // A matrix without a factor leaves none behind.
    given.matrix.diagonal.fill(f64::NAN);
    assert!(frozen_solution(&mut frozen, &given, inexact).is_err());
}

/// Every factorisation, in slices that end at every look at the clock: the same bits, however often it rests, and it looks often.
#[test]
fn factors_are_made_in_slices() {
    let mut random = Random::new(30);
    let mesh = sample(&[(300, 3)], &[(&[0, 0], 1200, 1200)], &mut random);
    let bundle = sample(&[(60, 6), (800, 3)], &[(&[0, 1], 3200, 3200)], &mut random);
    let few = sample(&[(180, 3)], &[(&[0, 0], 900, 900)], &mut random);
    type Solve = fn(&Sampled, &Given, Pace) -> Pin<Box<dyn Future<Output = Result<Vec<f64>, Unsolved>> + Send>>;
    // The operations of the factor alone are a lower bound of what is spent.
    let cubed = |n: usize| n.pow(3) / 3;
    let works: [(&str, &Sampled, usize, Solve); 4] = [
        ("dense", &few, cubed(540), |_, given, pace| {
            let given = given.clone();
            Box::pin(async move {
                let mut x = given.right.clone();
                DenseCholesky::by(Algorithm::Columns, &given.system(), &pace).await?.solve(&mut x, &pace).await?;
                Ok(x)
            })
        }),
        ("dense by products", &few, cubed(540), |_, given, pace| {
            let given = given.clone();
            Box::pin(async move {
                let mut x = given.right.clone();
                DenseCholesky::by(Algorithm::Products, &given.system(), &pace).await?.solve(&mut x, &pace).await?;
                Ok(x)
            })
        }),
        ("sparse", &mesh, cubed(300), |sampled, given, pace| {
            let (mut sparse, given) = (sparse::<LeftLooking>(&sampled.pattern), given.clone());
            Box::pin(async move {
                let mut x = given.right.clone();
                sparse.factorize(&given.system(), &pace).await?;
                sparse.solve(&mut x, &pace).await?;
                Ok(x)
            })
        }),
        ("Schur", &bundle, cubed(360), |sampled, given, pace| {
            let (mut schur, given) = (schur(&sampled.pattern, &[1]).unwrap(), given.clone());
            Box::pin(async move {
                let mut x = vec![0.0; given.right.len()];
                schur.solve(&given.system(), &mut x, &pace).await?;
                Ok(x)
            })
        }),
    ];
    for (name, sampled, operations, solve) in works {
        let given = Given::of(sampled, &mut random);
        let begin = || Task::new(|pace| solve(sampled, &given, pace));
        let whole = begin().finish().unwrap();
        let (mut work, mut slices) = (begin(), 1);
        let sliced = loop {
            match work.resume(f64::NEG_INFINITY) {
                Some(sliced) => break sliced.unwrap(),
                None => slices += 1,
            }
        };
        assert!(sliced.iter().zip(&whole).all(|(a, b)| a.to_bits() == b.to_bits()), "{name}: its slices change it");
        // By faer, a unit is a block.
        let most = if ["dense by products", "Schur"].contains(&name) { 40 } else { 3 } * UNIT;
        assert!(work.largest_unit() <= most, "{name}: {} operations without a look at the clock", work.largest_unit());
        // The operations are an estimate from above.
        assert!(slices > operations / (2 * most), "{name}: {slices} slices of {operations} operations");
        // What is stopped says so at its next look.
        let mut work = begin();
        assert!(work.resume(f64::NEG_INFINITY).is_none(), "{name}");
        assert_eq!(work.stop(), Err(Unsolved::Stopped), "{name}");
    }
}

//! Linear algebra: what factorizations promise, on every device, and their gradients.

use super::gradients::check;
use super::support::{Random, fresh_seed};
use super::{Bench, benches, compare};
use leastwise::Error;
use leastwise::device::Precision;
use leastwise::program::fused::Fold;
use leastwise::tensor::graph::Node;

/// Rows of matrices: of one lane, of fewer than a workgroup, and of more.
const SIDES: [u32; 4] = [5, 33, 1, 2];

fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let (m, k) = (a.len() / n, b.len() / n);
    (0..m * k).map(|e| (0..n).map(|l| a[e / k * n + l] * b[l * k + e % k]).sum()).collect()
}

fn turned(a: &[f64], n: usize) -> Vec<f64> {
    let m = a.len() / n;
    (0..m * n).map(|e| a[e % m * n + e / m]).collect()
}

fn unit(n: usize) -> Vec<f64> {
    (0..n * n).map(|e| f64::from(u32::from(e / n == e % n))).collect()
}

/// Matrices as they were given, whatever is computed of them.
fn given(bench: &mut Bench, node: Node, each: usize) -> Vec<Vec<f64>> {
    bench.graph().hold(node);
    bench.read(&[node]).remove(0).chunks(each.max(1)).map(<[f64]>::to_vec).collect()
}

#[test]
fn solutions_solve() {
    let seed = fresh_seed();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        for &n in bench.repeated(&SIDES, 2) {
            let (a, b) = (bench.random(&mut random, &[3, n, n]), bench.random(&mut random, &[n, 2]));
            let made = bench.graph().made(|graph| {
                let diagonal = graph.constant(f64::from(n) * 2.0, &[n, n]);
                let (rows, columns) = (graph.count(&[n, 1])?, graph.count(&[1, n])?);
                // Rows the other way round: no pivot is where it should be.
                let last = graph.apply_number("sub", rows, f64::from(n) - 1.0)?;
                let last = graph.apply("neg", &[last])?;
                let is_there = graph.apply("equal", &[last, columns])?;
                let diagonal = graph.apply("mul", &[is_there, diagonal])?;
                let a = graph.apply("add", &[a, diagonal])?;
                Ok::<_, Error>(vec![a, graph.solve(a, b)?])
            });
            let found = bench.read(&made.unwrap());
            let (n, right) = (n as usize, given(&mut bench, b, 2 * n as usize).remove(0));
            for batch in 0..3 {
                let made = product(&found[0][batch * n * n..][..n * n], &found[1][batch * n * 2..][..n * 2], n);
                compare(&format!("{}, seed {seed}, {n} rows", bench.name), &made, &right, 30.0 * n as f64 * bench.epsilon());
            }
        }
        // A vector is a column; halves are numbers; there is nothing to solve.
        let a = bench.tensor(&[0.0, 2.0, 4.0, 1.0], &[2, 2]);
        let [v, none, singular] = [(&[2.0, 5.0][..], vec![2]), (&[], vec![0, 0]), (&[1.0, 2.0, 2.0, 4.0], vec![2, 2])]
            .map(|(values, shape)| bench.tensor(values, &shape));
        let is_single = bench.device.precision() == Precision::F32;
        let made = bench.graph().made(|graph| {
            // Only f32 keeps halves.
            let right = if is_single { graph.half(v)? } else { v };
            Ok::<_, Error>(vec![graph.solve(a, v)?, graph.solve(a, right)?, graph.solve(none, none)?, graph.solve(singular, v)?])
        });
        let found = bench.read(&made.unwrap());
        compare(bench.name, &found[0], &[1.0, 1.0], bench.epsilon());
        compare(bench.name, &found[1], &[1.0, 1.0], bench.epsilon());
        assert!(found[2].is_empty() && found[3].iter().all(|x| !x.is_finite()), "{}: {:?}", bench.name, found[3]);
    }
}

#[test]
fn triangles_multiply_to_their_matrix() {
    let seed = fresh_seed();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        for &n in bench.repeated(&SIDES, 2) {
            let x = bench.random(&mut random, &[2, n, n + 3]);
            let made = bench.graph().made(|graph| {
                let turned = graph.transpose(x, &[])?;
                let a = graph.matmul(x, turned)?;
                Ok::<_, Error>(vec![a, graph.cholesky(a)?])
            });
            let (found, n) = (bench.read(&made.unwrap()), n as usize);
            for batch in 0..2 {
                let of = |k: usize| &found[k][batch * n * n..][..n * n];
                let made = product(of(1), &turned(of(1), n), n);
                compare(&format!("{}, seed {seed}, {n} rows", bench.name), &made, of(0), 30.0 * bench.epsilon());
                assert!((0..n * n).all(|e| e % n <= e / n || of(1)[e] == 0.0), "{}: no triangle", bench.name);
            }
        }
        let a = bench.tensor(&[1.0, 2.0, 2.0, 1.0], &[2, 2]);
        let lower = bench.graph().cholesky(a).unwrap();
        bench.graph().hold(lower);
        let found = bench.read(&[lower]).remove(0);
        assert!(found[0] == 1.0 && found[1] == 0.0 && found[2] == 2.0 && found[3].is_nan(), "{}: {found:?}", bench.name);
    }
}

#[test]
fn reflections_and_rotations_keep_their_promises() {
    let seed = fresh_seed();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        for &(m, n) in bench.repeated(&[(7u32, 4u32), (33, 33), (1, 1), (40, 9)], 2) {
            let a = bench.random(&mut random, &[2, m, n]);
            let made = bench.graph().made(|graph| Ok::<_, Error>(vec![graph.qr(a)?, graph.svd(a)?]));
            let found = bench.read(&made.unwrap());
            let (m, n) = (m as usize, n as usize);
            let what = format!("{}, seed {seed}, {m} × {n}", bench.name);
            let tolerance = 60.0 * bench.epsilon();
            for (batch, a) in given(&mut bench, a, m * n).iter().enumerate() {
                let both = &found[0][batch * (m + n) * n..][..(m + n) * n];
                let (q, r) = both.split_at(m * n);
                compare(&format!("{what}: Q R"), &product(q, r, n), a, tolerance);
                compare(&format!("{what}: Qᵀ Q"), &product(&turned(q, n), q, m), &unit(n), tolerance);
                assert!((0..n * n).all(|e| e % n >= e / n || r[e] == 0.0), "{what}: no triangle");
                let all = &found[1][batch * (m + 1 + n) * n..][..(m + 1 + n) * n];
                let (u, rest) = all.split_at(m * n);
                let (s, v) = rest.split_at(n);
                let scaled: Vec<f64> = u.iter().enumerate().map(|(e, u)| u * s[e % n]).collect();
                compare(&format!("{what}: U s Vᵀ"), &product(&scaled, &turned(v, n), n), a, tolerance);
                compare(&format!("{what}: Uᵀ U"), &product(&turned(u, n), u, m), &unit(n), tolerance);
                compare(&format!("{what}: Vᵀ V"), &product(&turned(v, n), v, n), &unit(n), tolerance);
                assert!(s.is_sorted_by(|a, b| a >= b) && s[n - 1] >= 0.0, "{what}: {s:?}");
            }
        }
        for &n in bench.repeated(&SIDES, 2) {
            let x = bench.random(&mut random, &[2, n, n]);
            let made = bench.graph().made(|graph| {
                let turned = graph.transpose(x, &[])?;
                let a = graph.apply("add", &[x, turned])?;
                Ok::<_, Error>(vec![a, graph.eigh(a)?])
            });
            let (found, n) = (bench.read(&made.unwrap()), n as usize);
            let what = format!("{}, seed {seed}, {n} rows", bench.name);
            for batch in 0..2 {
                let (a, both) = (&found[0][batch * n * n..][..n * n], &found[1][batch * (n + 1) * n..][..(n + 1) * n]);
                let (values, v) = both.split_at(n);
                let scaled: Vec<f64> = v.iter().enumerate().map(|(e, v)| v * values[e % n]).collect();
                let tolerance = 60.0 * n as f64 * bench.epsilon();
                compare(&format!("{what}: V λ Vᵀ"), &product(&scaled, &turned(v, n), n), a, tolerance);
                compare(&format!("{what}: Vᵀ V"), &product(&turned(v, n), v, n), &unit(n), tolerance);
                assert!(values.is_sorted(), "{what}: {values:?}");
            }
        }
        // Equal ones, of both signs; a matrix of a row alone; zeros.
        let a = bench.tensor(&[0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0], &[3, 3]);
        let rank_one = bench.tensor(&[1.0, 2.0, 2.0, 4.0, 0.0, 0.0], &[3, 2]);
        let zeros = bench.tensor(&[0.0; 4], &[2, 2]);
        let made = bench.graph().made(|graph| {
            Ok::<_, Error>(vec![graph.eigh(a)?, graph.svd(rank_one)?, graph.eigh(zeros)?, graph.svd(zeros)?, graph.qr(zeros)?])
        });
        let found = bench.read(&made.unwrap());
        compare(bench.name, &found[0][..3], &[-1.0, 1.0, 1.0], 10.0 * bench.epsilon());
        compare(bench.name, &found[1][6..8], &[5.0, 0.0], 10.0 * bench.epsilon());
        compare(bench.name, &found[2], &[0.0, 0.0, 1.0, 0.0, 0.0, 1.0], 0.0);
        compare(bench.name, &found[3], &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0], 0.0);
        compare(bench.name, &found[4], &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0], 0.0);
        let wide = bench.tensor(&[1.0; 6], &[2, 3]);
        let graph = bench.graph();
        for (refused, message) in [
            (graph.solve(wide, wide), "must be square, not 2 × 3"),
            (graph.solve(a, wide), "need right-hand sides of as many, not 2"),
            (graph.cholesky(wide), "must be square"),
            (graph.qr(wide), "at least as many rows as columns, not 2 × 3"),
            (graph.svd(wide), "at least as many rows"),
            (graph.reshape(wide, &[6.0]).and_then(|flat| graph.eigh(flat)), "matrices are the last two axes"),
        ] {
            let found = refused.expect_err(message).to_string();
            assert!(found.contains(message), "{found}");
        }
    }
}

/// Rotations [3, 3] by turns in two planes.
fn rotations(random: &mut Random, count: usize) -> Vec<Vec<f64>> {
    let angle = |random: &mut Random| random.between(-3.0, 3.0).sin_cos();
    (0..count)
        .map(|_| {
            let ((s, c), (t, d)) = (angle(random), angle(random));
            product(&[c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0], &[1.0, 0.0, 0.0, 0.0, d, -t, 0.0, t, d], 3)
        })
        .collect()
}

#[test]
fn left_vectors_are_orthonormal_whatever_the_rank() {
    for mut bench in benches() {
        let third = 1.0 / 3.0;
        for (a, m) in [
            (vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], 3),
            (vec![third, 2.0 * third, 0.1, 0.2 * third, 0.4 * third, 0.02, 0.7 * third, 1.4 * third, 0.07, 0.0, 0.0, 0.0], 4),
            (vec![0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0], 3),
            // Small beside the largest, but known.
            (vec![1.0, 1.0, 1.0, 1.0, 1.001, 1.0, 1.0, 1.0, 1.002, 0.5, 0.25, 0.5], 4),
        ] {
            let (n, node) = (3, bench.tensor(&a, &[m as u32, 3]));
            let made = bench.graph().made(|graph| Ok::<_, Error>(vec![graph.svd(node)?]));
            let found = bench.read(&made.unwrap()).remove(0);
            let (u, rest) = found.split_at(m * n);
            let (s, v) = rest.split_at(n);
            let scaled: Vec<f64> = u.iter().enumerate().map(|(e, u)| u * s[e % n]).collect();
            let tolerance = 30.0 * bench.epsilon();
            compare(&format!("{}: U s Vᵀ of {a:?}", bench.name), &product(&scaled, &turned(v, n), n), &a, tolerance);
            compare(&format!("{}: Uᵀ U of {a:?}", bench.name), &product(&turned(u, n), u, m), &unit(n), tolerance);
            compare(&format!("{}: Vᵀ V of {a:?}", bench.name), &product(&turned(v, n), v, n), &unit(n), tolerance);
        }
    }
}

#[test]
fn factors_have_the_scale_of_their_matrices() {
    for mut bench in benches() {
        let a = [2.0, -1.0, 0.5, 1.0, 3.0, 0.25, -0.5, 1.0, 1.5];
        // Powers of two, by which nothing is rounded: squares of these overflow or vanish in f32, from the second one on.
        for scale in [1.0, 63.0, -80.0, 120.0, -120.0].map(f64::exp2) {
            let plain = bench.tensor(&a, &[3, 3]);
            let large = bench.tensor(&a.map(|x| x * scale), &[3, 3]);
            // Columns of two scales: those of Q have none.
            let graded = a.into_iter().enumerate().map(|(e, x)| if e % 3 == 1 { x * 1e-20 } else { x });
            let graded = bench.tensor(&graded.collect::<Vec<f64>>(), &[3, 3]);
            let made = bench.graph().made(|graph| {
                let mut all = Vec::new();
                for a in [plain, large] {
                    all.extend([graph.eigh(a)?, graph.svd(a)?, graph.qr(a)?]);
                }
                all.push(graph.qr(graded)?);
                Ok::<_, Error>(all)
            });
            let found = bench.read(&made.unwrap());
            for (k, scaled) in [0..3, 9..12, 9..18].into_iter().enumerate() {
                let what = format!("{}, times {scale:e}, factorization {k}", bench.name);
                let mut back = found[3 + k].clone();
                back[scaled].iter_mut().for_each(|x| *x /= scale);
                compare(&what, &back, &found[k], 100.0 * bench.epsilon());
            }
            let q = &found[6][..9];
            compare(
                &format!("{}: Qᵀ Q of columns of two scales", bench.name),
                &product(&turned(q, 3), q, 3),
                &unit(3),
                10.0 * bench.epsilon(),
            );
        }
    }
}

#[test]
fn gradients_of_equal_values() {
    let seed = fresh_seed();
    for mut bench in benches() {
        const COUNT: usize = 20;
        let mut random = Random::new(seed);
        for diagonal in [[1.0, 1.0, 1.0], [1.0, 1.0, 2.0], [5.0, 5.0, 1.0], [1.0, 1.0 + 1e-14, 2.0]] {
            let of = |r: &Vec<f64>| {
                let scaled: Vec<f64> = r.iter().enumerate().map(|(e, r)| r * diagonal[e % 3]).collect();
                product(&scaled, &turned(r, 3), 3)
            };
            let matrices: Vec<f64> = rotations(&mut random, COUNT).iter().flat_map(of).collect();
            let a = bench.tensor(&matrices, &[COUNT as u32, 3, 3]);
            let made = bench.graph().made(|graph| {
                let mut all = Vec::new();
                for (name, place) in [("eigh", 0.0), ("svd", 3.0)] {
                    let factors = graph.operation(name, &[a], &[])?;
                    let values = graph.slice(factors, 1.0, place, place + 1.0, 1.0)?;
                    let sum = graph.reduce("sum", Fold::Sum, values, &[], false)?;
                    all.extend(graph.gradient(sum, &[a])?);
                }
                Ok::<_, Error>(all)
            });
            for (k, found) in bench.read(&made.unwrap()).iter().enumerate() {
                let what = format!("{}, seed {seed}, {diagonal:?}, sum {k}", bench.name);
                compare(&what, found, &unit(3).repeat(COUNT), 20.0 * bench.epsilon());
            }
        }
        // All singular values of a rotation are 1, and the slope of their sum is itself.
        let turns = rotations(&mut random, COUNT).concat();
        let r = bench.tensor(&turns, &[COUNT as u32, 3, 3]);
        let made = bench.graph().made(|graph| {
            let factors = graph.svd(r)?;
            let values = graph.slice(factors, 1.0, 3.0, 4.0, 1.0)?;
            let sum = graph.reduce("sum", Fold::Sum, values, &[], false)?;
            graph.gradient(sum, &[r])
        });
        compare(&format!("{}, seed {seed}: a rotation", bench.name), &bench.read(&made.unwrap())[0], &turns, 20.0 * bench.epsilon());
    }
}

#[test]
fn gradients_of_linear_algebra() {
    let seed = fresh_seed();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        // Away from singular matrices, and from equal values.
        let near = |n: u32| -> Vec<f64> { (0..n * n).map(|e| if e / n == e % n { 3.0 + 1.5 * f64::from(e % n) } else { 0.0 }).collect() };
        // What was read is the device's: every check has tensors of its own.
        let mut fresh = |bench: &mut Bench| {
            (bench.random(&mut random, &[2, 3, 3]), bench.tensor(&near(3), &[3, 3]), bench.random(&mut random, &[3, 2]))
        };
        let (x, diagonal, b) = fresh(&mut bench);
        check(&mut bench, &format!("seed {seed}, solved"), &[x, b], |graph, x| {
            let a = graph.apply("add", &[x[0], diagonal]).unwrap();
            graph.solve(a, x[1]).unwrap()
        });
        let (x, diagonal, _) = fresh(&mut bench);
        check(&mut bench, &format!("seed {seed}, cholesky"), &[x], |graph, x| {
            let a = graph.apply("add", &[x[0], diagonal]).unwrap();
            graph.cholesky(a).unwrap()
        });
        let (x, diagonal, _) = fresh(&mut bench);
        check(&mut bench, &format!("seed {seed}, eigh"), &[x], |graph, x| {
            let a = graph.apply("add", &[x[0], diagonal]).unwrap();
            graph.eigh(a).unwrap()
        });
        for name in ["qr", "svd"] {
            let tall = bench.random(&mut random, &[4, 3]);
            let above = bench.tensor(&[near(3), vec![0.5, -0.25, 1.0]].concat(), &[4, 3]);
            check(&mut bench, &format!("seed {seed}, {name}"), &[tall], |graph, x| {
                let a = graph.apply("add", &[x[0], above]).unwrap();
                graph.operation(name, &[a], &[]).unwrap()
            });
        }
        // Slopes of slopes, of values alone.
        for (name, place) in [("eigh", 0.0), ("svd", 3.0)] {
            let (x, diagonal) = (bench.random(&mut random, &[2, 3, 3]), bench.tensor(&near(3), &[3, 3]));
            check(&mut bench, &format!("seed {seed}, slopes of {name}"), &[x], |graph, x| {
                let a = graph.apply("add", &[x[0], diagonal]).unwrap();
                let factors = graph.operation(name, &[a], &[]).unwrap();
                let values = graph.slice(factors, 1.0, place, place + 1.0, 1.0).unwrap();
                let logarithms = graph.apply("log", &[values]).unwrap();
                let sum = graph.reduce("sum", Fold::Sum, logarithms, &[], false).unwrap();
                graph.gradient(sum, x).unwrap()[0]
            });
        }
    }
}

//! What makes a projected matrix P the nearest semidefinite one to H: P and P − H have no negative eigenvalue and
//! nothing in common (P(P − H) = 0). On matrices that are awkward: singular, with equal eigenvalues, tiny, huge.

use crate::support::repeated;
use crate::twins::harness::Bench;
use crate::twins::seed;
use crate::twins::value::Random;
use leastwise::device::{Command, Kind, Limits, Precision, Recording, Slice};
use leastwise::kernels::system;

fn packed(width: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..width).flat_map(|r| (0..=r).map(move |c| (r, c)))
}

/// Σ λ v vᵀ, packed.
fn sum_of_squares(width: usize, parts: &[(f64, Vec<f64>)]) -> Vec<f64> {
    let entry = |(r, c): (usize, usize)| parts.iter().map(|(factor, v)| factor * v[r] * v[c]).sum::<f64>();
    packed(width).map(entry).collect()
}

/// Of eighths, so that f32 has all products exactly.
fn direction(width: usize, random: &mut Random) -> Vec<f64> {
    (0..width).map(|_| (f64::from(random.below(7)) + 1.0) / if random.below(2) == 0 { 8.0 } else { -8.0 }).collect()
}

/// Matrices by what they are; those that must stay are marked.
fn matrices(width: usize, random: &mut Random) -> Vec<(&'static str, bool, Vec<f64>)> {
    let diagonal = |entry: &dyn Fn(usize) -> f64| packed(width).map(|(r, c)| if r == c { entry(r) } else { 0.0 }).collect::<Vec<f64>>();
    let [v, w] = [0, 1].map(|_| direction(width, random));
    let scaled = |factor: f64, matrix: &[f64]| matrix.iter().map(|x| f64::from((x * factor) as f32)).collect::<Vec<f64>>();
    let mixed = sum_of_squares(width, &[(1.0, v.clone()), (-0.5, w.clone())]);
    let any: Vec<f64> = packed(width).map(|_| random.signed()).collect();
    let mut broken = any.clone();
    broken[0] = f64::NAN;
    vec![
        ("nothing", true, diagonal(&|_| 0.0)),
        ("the identity", true, diagonal(&|_| 1.0)),
        ("minus the identity", false, diagonal(&|_| -1.0)),
        ("equal eigenvalues of both signs", false, diagonal(&|k| if k % 2 == 0 { 0.75 } else { -0.25 })),
        ("one square", true, sum_of_squares(width, &[(1.0, v.clone())])),
        ("minus a square", false, sum_of_squares(width, &[(-1.0, v)])),
        ("two squares of opposite signs", false, mixed.clone()),
        ("the same, tiny", false, scaled(1e-18, &mixed)),
        ("the same, huge", false, scaled(1e18, &mixed)),
        ("anything", false, any),
        ("not finite", true, broken),
    ]
}

fn projected(bench: &mut Bench, width: usize, absolute: bool, matrices: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let (count, entries) = (matrices.len(), width * (width + 1) / 2);
    let tolerance = if bench.device.precision() == Precision::F32 { 9.5e-7 } else { 1.8e-15 };
    let columns: Vec<f64> = (0..entries).flat_map(|k| matrices.iter().map(move |matrix| matrix[k])).collect();
    let mut buffer = |kind: Kind, len: usize| {
        let buffer = bench.device.allocate(kind, len as u32, "a buffer").expect("a small buffer");
        Slice { buffer, offset: 0, len: len as u32 }
    };
    let (limits, map) = (buffer(Kind::Real, 2), buffer(Kind::Index, entries));
    let (given, found, work) =
        (buffer(Kind::Real, columns.len()), buffer(Kind::Real, columns.len()), buffer(Kind::Real, width * (width + 1) * count));
    let bindings = system::PsdBlocksBindings { limits, map, columns: given, blocks: found, work };
    let upload = |slice: Slice, data: Vec<f64>| Command::UploadReals { buffer: slice.buffer, offset: 0, data };
    let args = system::PsdBlocks { width: width as u32, absolute: absolute.into(), column: 0 };
    let commands = vec![
        upload(limits, vec![0.0, tolerance]),
        Command::UploadIndices { buffer: map.buffer, offset: 0, data: (1..=entries as u32).collect() },
        upload(given, columns),
        bench.command(args, count as u32, false, bindings),
        Command::Read { slice: found },
    ];
    let (values, _) = bench.play(Recording { commands }, false);
    [limits, map, given, found, work].into_iter().for_each(|slice| bench.device.free(slice.buffer));
    (0..count).map(|i| (0..entries).map(|k| values[k * count + i]).collect()).collect()
}

fn entry(a: &[f64], r: usize, c: usize) -> f64 {
    let (low, high) = (r.min(c), r.max(c));
    a[high * (high + 1) / 2 + low]
}

fn product(width: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
    let of = |r: usize, c: usize| (0..width).map(|k| entry(a, r, k) * entry(b, k, c)).sum();
    (0..width * width).map(|place| of(place / width, place % width)).collect()
}

/// Whether a + shift I has a Cholesky factor.
fn is_definite(width: usize, a: &[f64], shift: f64) -> bool {
    let mut l = vec![0.0; a.len()];
    for (r, c) in packed(width) {
        let (row, other) = (r * (r + 1) / 2, c * (c + 1) / 2);
        let rest = a[row + c] - (0..c).map(|k| l[row + k] * l[other + k]).sum::<f64>();
        if r == c && rest + shift <= 0.0 {
            return false;
        }
        l[row + c] = if r == c { (rest + shift).sqrt() } else { rest / l[other + c] };
    }
    true
}

#[test]
fn projections_are_the_nearest_semidefinite_matrices() {
    let seed = seed();
    for &limits in repeated(&[Limits::SMALL, Limits::WEBGPU], 1) {
        for mut bench in Bench::all(limits) {
            let bound = if bench.device.precision() == Precision::F32 { 1e-5 } else { 1e-13 };
            for width in [1, 2, 5, 12, 32] {
                let mut random = Random::new(seed, &format!("semidefinite {width}"));
                let matrices = matrices(width, &mut random);
                let given: Vec<Vec<f64>> = matrices.iter().map(|(_, _, matrix)| matrix.clone()).collect();
                let nearest = projected(&mut bench, width, false, &given);
                let absolute = projected(&mut bench, width, true, &given);
                let again = projected(&mut bench, width, false, &nearest);
                for (k, (what, stays, h)) in matrices.iter().enumerate() {
                    let what = format!("LEASTWISE_TEST_SEED={seed}, {}, {what}, width {width}", bench.name);
                    let (p, a) = (&nearest[k], &absolute[k]);
                    if *stays {
                        let bits = |m: &[f64]| {
                            m.iter().map(|x| (x.is_nan(), if x.is_nan() { 0 } else { (x + 0.0).to_bits() })).collect::<Vec<_>>()
                        };
                        assert!(bits(p) == bits(h) && bits(a) == bits(h), "{what}: {p:?} instead of {h:?}");
                        continue;
                    }
                    let size = (0..width).map(|r| (0..width).map(|c| entry(h, r, c).powi(2)).sum::<f64>()).sum::<f64>().sqrt();
                    let unit = |m: &[f64]| m.iter().map(|x| x / size).collect::<Vec<f64>>();
                    let (h, p, a, again) = (unit(h), unit(p), unit(a), unit(&again[k]));
                    let change: Vec<f64> = p.iter().zip(&h).map(|(p, h)| p - h).collect();
                    assert!(is_definite(width, &p, bound), "{what}: P has a negative eigenvalue");
                    assert!(is_definite(width, &change, bound), "{what}: P − H has a negative eigenvalue");
                    let common = product(width, &p, &change).iter().fold(0.0f64, |most, x| most.max(x.abs()));
                    assert!(common <= bound, "{what}: P(P − H) has {common:e}");
                    for (again, p) in again.iter().zip(&p) {
                        assert!((again - p).abs() <= bound, "{what}: projected again it is {again:e} instead of {p:e}");
                    }
                    // |H| = 2P − H
                    for ((a, p), h) in a.iter().zip(&p).zip(&h) {
                        assert!((a - (2.0 * p - h)).abs() <= 3.0 * bound, "{what}: absolute {a:e} instead of {:e}", 2.0 * p - h);
                    }
                }
            }
        }
    }
}

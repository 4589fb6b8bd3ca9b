//! Problems of Hock & Schittkowski (1981) with five unknowns and more whose data take some room.

use super::formula::{E, Model, cube, dot, exp, ln, pow, sq};
use super::hock_schittkowski::{Example, INF, hs};

/// Gibbs energies of ten substances (111 and 112).
const POTENTIALS: [f64; 10] = [-6.089, -17.164, -34.054, -5.914, -24.721, -14.986, -24.1, -10.708, -26.662, -22.179];

fn balances(n: &[E]) -> [E; 3] {
    [
        n[0] + 2.0 * n[1] + 2.0 * n[2] + n[5] + n[9] - 2.0,
        n[3] + 2.0 * n[4] + n[5] + n[6] - 1.0,
        n[2] + n[6] + n[7] + 2.0 * n[8] + n[9] - 1.0,
    ]
}

/// Colville's first problem (86), and its dual (117).
const COLVILLE_E: [f64; 5] = [-15.0, -27.0, -36.0, -18.0, -12.0];
const COLVILLE_D: [f64; 5] = [4.0, 8.0, 10.0, 6.0, 2.0];
const COLVILLE_B: [f64; 10] = [-40.0, -2.0, -0.25, -4.0, -4.0, -1.0, -40.0, -60.0, 5.0, 1.0];
const COLVILLE_C: [[f64; 5]; 5] = [
    [30.0, -20.0, -10.0, 32.0, -10.0],
    [-20.0, 39.0, -6.0, -31.0, 32.0],
    [-10.0, -6.0, 10.0, -6.0, -10.0],
    [32.0, -31.0, -6.0, 39.0, -20.0],
    [-10.0, 32.0, -10.0, -20.0, 30.0],
];
const COLVILLE_A: [[f64; 5]; 10] = [
    [-16.0, 2.0, 0.0, 1.0, 0.0],
    [0.0, -2.0, 0.0, 0.4, 2.0],
    [-3.5, 0.0, 2.0, 0.0, 0.0],
    [0.0, -2.0, 0.0, -4.0, -1.0],
    [0.0, -9.0, -2.0, 1.0, -2.8],
    [2.0, 0.0, -4.0, 0.0, 0.0],
    [-1.0, -1.0, -1.0, -1.0, -1.0],
    [-1.0, -2.0, -3.0, -2.0, -1.0],
    [1.0, 2.0, 3.0, 4.0, 5.0],
    [1.0, 1.0, 1.0, 1.0, 1.0],
];

fn quadratic(x: &[E]) -> E {
    (0..5).map(|j| x[j] * dot(&COLVILLE_C[j], x)).sum()
}

/// Those of more unknowns.
pub const LARGE: &[Example] = &[
    hs("86", &[0.0, 0.0, 0.0, 0.0, 1.0], -32.348_678_97, |x| {
        let cubes = (0..5).map(|j| COLVILLE_D[j] * cube(x[j])).sum::<E>();
        let rows: Vec<E> = (0..10).map(|i| dot(&COLVILLE_A[i], x) - COLVILLE_B[i]).collect();
        Model::energy(dot(&COLVILLE_E, x) + quadratic(x) + cubes).positive(rows).between([0.0; 5], [INF; 5])
    }),
    hs("100", &[1.0, 2.0, 0.0, 4.0, 0.0, 1.0, 1.0], 680.630_057_3, |x| {
        let energy = sq(x[0] - 10.0) + 5.0 * sq(x[1] - 12.0) + sq(sq(x[2])) + 3.0 * sq(x[3] - 11.0) + 10.0 * sq(cube(x[4]));
        let energy = energy + 7.0 * sq(x[5]) + sq(sq(x[6])) - 4.0 * x[5] * x[6] - 10.0 * x[5] - 8.0 * x[6];
        let rows = [
            127.0 - 2.0 * sq(x[0]) - 3.0 * sq(sq(x[1])) - x[2] - 4.0 * sq(x[3]) - 5.0 * x[4],
            282.0 - 7.0 * x[0] - 3.0 * x[1] - 10.0 * sq(x[2]) - x[3] + x[4],
            196.0 - 23.0 * x[0] - sq(x[1]) - 6.0 * sq(x[5]) + 8.0 * x[6],
            -4.0 * sq(x[0]) - sq(x[1]) + 3.0 * x[0] * x[1] - 2.0 * sq(x[2]) - 5.0 * x[5] + 11.0 * x[6],
        ];
        Model::energy(energy).positive(rows)
    }),
    hs("104", &[6.0, 3.0, 0.4, 0.2, 6.0, 6.0, 1.0, 0.5], 3.951_163_439_6, |x| {
        let energy = 0.4 * pow(x[0], 0.67) * pow(x[6], -0.67) + 0.4 * pow(x[1], 0.67) * pow(x[7], -0.67) + 10.0 - x[0] - x[1];
        let rows = [
            1.0 - 0.0588 * x[4] * x[6] - 0.1 * x[0],
            1.0 - 0.0588 * x[5] * x[7] - 0.1 * x[0] - 0.1 * x[1],
            1.0 - 4.0 * x[2] / x[4] - 2.0 * pow(x[2], -0.71) / x[4] - 0.0588 * x[6] * pow(x[2], -1.3),
            1.0 - 4.0 * x[3] / x[5] - 2.0 * pow(x[3], -0.71) / x[5] - 0.0588 * x[7] * pow(x[3], -1.3),
            energy - 1.0,
            4.2 - energy,
        ];
        Model::energy(energy).positive(rows).between([0.1; 8], [10.0; 8])
    }),
    hs("106", &[5000.0, 5000.0, 5000.0, 200.0, 350.0, 150.0, 225.0, 425.0], 7_049.248_02, |x| {
        let rows = [
            1.0 - 0.0025 * (x[3] + x[5]),
            1.0 - 0.0025 * (x[4] + x[6] - x[3]),
            1.0 - 0.01 * (x[7] - x[4]),
            x[0] * x[5] - 833.332_52 * x[3] - 100.0 * x[0] + 83_333.333,
            x[1] * x[6] - 1250.0 * x[4] - x[1] * x[3] + 1250.0 * x[3],
            x[2] * x[7] - 1_250_000.0 - x[2] * x[4] + 2500.0 * x[4],
        ];
        let lower = [100.0, 1000.0, 1000.0, 10.0, 10.0, 10.0, 10.0, 10.0];
        let upper = [1e4, 1e4, 1e4, 1e3, 1e3, 1e3, 1e3, 1e3];
        Model::energy(x[0] + x[1] + x[2]).positive(rows).between(lower, upper)
    }),
    hs("108", &[1.0; 9], -0.866_025_403_8, |x| {
        let far = |a: E, b: E| 1.0 - sq(a) - sq(b);
        let rows = [
            far(x[2], x[3]),
            1.0 - sq(x[8]),
            far(x[4], x[5]),
            far(x[0], x[1] - x[8]),
            far(x[0] - x[4], x[1] - x[5]),
            far(x[0] - x[6], x[1] - x[7]),
            far(x[2] - x[4], x[3] - x[5]),
            far(x[2] - x[6], x[3] - x[7]),
            far(x[6], x[7] - x[8]),
            x[0] * x[3] - x[1] * x[2],
            x[2] * x[8],
            -(x[4] * x[8]),
            x[4] * x[7] - x[5] * x[6],
        ];
        let area = x[0] * x[3] - x[1] * x[2] + x[2] * x[8] - x[4] * x[8] + x[4] * x[7] - x[5] * x[6];
        let mut lower = [-INF; 9];
        lower[8] = 0.0;
        Model::energy(-0.5 * area).positive(rows).between(lower, [INF; 9])
    })
    .or(&[-0.5, -0.674_981_42]),
    hs("111", &[-2.3; 10], -47.761_090_26, |x| {
        let n: Vec<E> = x.iter().map(|&x| exp(x)).collect();
        let total = ln(n.iter().copied().sum());
        let energy: E = (0..10).map(|i| n[i] * (POTENTIALS[i] + x[i] - total)).sum();
        Model::energy(energy).zero(balances(&n)).between([-100.0; 10], [100.0; 10])
    }),
    hs("112", &[0.1; 10], -47.761_090_26, |x| {
        let total: E = x.iter().copied().sum();
        let energy: E = (0..10).map(|i| x[i] * (POTENTIALS[i] + ln(x[i] / total))).sum();
        Model::energy(energy).zero(balances(x)).between([1e-6; 10], [INF; 10])
    }),
    hs("113", &[2.0, 3.0, 5.0, 5.0, 1.0, 2.0, 7.0, 3.0, 6.0, 10.0], 24.306_209_1, |x| {
        let energy = sq(x[0]) + sq(x[1]) + x[0] * x[1] - 14.0 * x[0] - 16.0 * x[1] + sq(x[2] - 10.0) + 4.0 * sq(x[3] - 5.0);
        let energy = energy + sq(x[4] - 3.0) + 2.0 * sq(x[5] - 1.0) + 5.0 * sq(x[6]) + 7.0 * sq(x[7] - 11.0);
        let energy = energy + 2.0 * sq(x[8] - 10.0) + sq(x[9] - 7.0) + 45.0;
        let rows = [
            105.0 - 4.0 * x[0] - 5.0 * x[1] + 3.0 * x[6] - 9.0 * x[7],
            -10.0 * x[0] + 8.0 * x[1] + 17.0 * x[6] - 2.0 * x[7],
            8.0 * x[0] - 2.0 * x[1] - 5.0 * x[8] + 2.0 * x[9] + 12.0,
            120.0 - 3.0 * sq(x[0] - 2.0) - 4.0 * sq(x[1] - 3.0) - 2.0 * sq(x[2]) + 7.0 * x[3],
            40.0 - 5.0 * sq(x[0]) - 8.0 * x[1] - sq(x[2] - 6.0) + 2.0 * x[3],
            30.0 - 0.5 * sq(x[0] - 8.0) - 2.0 * sq(x[1] - 4.0) - 3.0 * sq(x[4]) + x[5],
            -sq(x[0]) - 2.0 * sq(x[1] - 2.0) + 2.0 * x[0] * x[1] - 14.0 * x[4] + 6.0 * x[5],
            3.0 * x[0] - 6.0 * x[1] - 12.0 * sq(x[8] - 8.0) + 7.0 * x[9],
        ];
        Model::energy(energy).positive(rows)
    }),
    hs("114", &[1745.0, 12_000.0, 110.0, 3048.0, 1974.0, 89.2, 92.8, 8.0, 3.6, 145.0], -1_768.806_96, alkylation),
    hs("116", &[0.5, 0.8, 0.9, 0.1, 0.14, 0.5, 489.0, 80.0, 650.0, 450.0, 150.0, 150.0, 150.0], 97.591_034_66, membranes),
    hs(
        "117",
        &[0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 60.0, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001],
        32.348_678_97,
        |x| {
            let z = &x[10..];
            let cubes = (0..5).map(|j| 2.0 * COLVILLE_D[j] * cube(z[j])).sum::<E>();
            let row = |j: usize| {
                let column = COLVILLE_A.map(|row| row[j]);
                2.0 * dot(&COLVILLE_C[j], z) + 3.0 * COLVILLE_D[j] * sq(z[j]) + COLVILLE_E[j] - dot(&column, &x[..10])
            };
            let energy = -dot(&COLVILLE_B, &x[..10]) + quadratic(z) + cubes;
            Model::energy(energy).positive([0, 1, 2, 3, 4].map(row)).between([0.0; 15], [INF; 15])
        },
    ),
    hs("118", &[20.0, 55.0, 15.0, 20.0, 60.0, 20.0, 20.0, 60.0, 20.0, 20.0, 60.0, 20.0, 20.0, 60.0, 20.0], 664.820_45, |x| {
        let costs = [(2.3, 1e-4), (1.7, 1e-4), (2.2, 1.5e-4)];
        let energy: E = (0..15).map(|i| costs[i % 3].0 * x[i] + costs[i % 3].1 * sq(x[i])).sum();
        let rises: Vec<E> = (3..15).map(|i| x[i] - x[i - 3] + 7.0).collect();
        let falls: Vec<E> = (3..15).map(|i| if i % 3 == 1 { 14.0 } else { 13.0 } - rises[i - 3]).collect();
        let demands = [60.0, 50.0, 70.0, 85.0, 100.0];
        let sums: Vec<E> = (0..5).map(|k| x[3 * k] + x[3 * k + 1] + x[3 * k + 2] - demands[k]).collect();
        let mut lower = vec![0.0; 15];
        lower[..3].copy_from_slice(&[8.0, 43.0, 3.0]);
        let mut upper: Vec<f64> = (0..15).map(|i| [90.0, 120.0, 60.0][i % 3]).collect();
        upper[..3].copy_from_slice(&[21.0, 57.0, 16.0]);
        Model::energy(energy).positive(rises).positive(falls).positive(sums).between(lower, upper)
    }),
];

/// 114, the alkylation process of Bracken & McCormick.
fn alkylation(x: &[E]) -> Model {
    let (a, b) = (0.99, 0.9);
    let g1 = 35.82 - 0.222 * x[9] - b * x[8];
    let g2 = -133.0 + 3.0 * x[6] - a * x[9];
    let g5 = 1.12 * x[0] + 0.131_67 * x[0] * x[7] - 0.006_67 * x[0] * sq(x[7]) - a * x[3];
    let g6 = 57.425 + 1.098 * x[7] - 0.038 * sq(x[7]) + 0.325 * x[5] - a * x[6];
    let positive =
        [g1, g2, -g1 + x[8] * (1.0 / b - b), -g2 + (1.0 / a - a) * x[9], g5, g6, -g5 + (1.0 / a - a) * x[3], -g6 + (1.0 / a - a) * x[6]];
    let zero = [1.22 * x[3] - x[0] - x[4], 98_000.0 * x[2] / (x[3] * x[8] + 1000.0 * x[2]) - x[5], (x[1] + x[4]) / x[0] - x[7]];
    let energy = 5.04 * x[0] + 0.035 * x[1] + 10.0 * x[2] + 3.36 * x[4] - 0.063 * x[3] * x[6];
    let lower = [1e-5, 1e-5, 1e-5, 1e-5, 1e-5, 85.0, 90.0, 3.0, 1.2, 145.0];
    let upper = [2000.0, 16_000.0, 120.0, 5000.0, 2000.0, 93.0, 95.0, 12.0, 4.0, 162.0];
    Model::energy(energy).positive(positive).zero(zero).between(lower, upper)
}

/// 116, separation by membranes in three stages.
fn membranes(x: &[E]) -> Model {
    let energy = x[10] + x[11] + x[12];
    let mixed = |a: E, b: E| b - 0.03475 * a - 0.975 * a * b + 0.00975 * sq(a);
    let stage = |y: E, a: E, b: E| y - 1.262_626 * a + 1.231_059 * b * a;
    let rows = [
        x[2] - x[1],
        x[1] - x[0],
        1.0 - 0.002 * x[6] + 0.002 * x[7],
        energy - 50.0,
        250.0 - energy,
        stage(x[12], x[9], x[2]),
        mixed(x[1], x[4]),
        mixed(x[2], x[5]),
        mixed(x[0], x[3]),
        x[4] * x[6] - x[0] * x[7] - x[3] * x[6] + x[3] * x[7],
        1.0 - 0.002 * (x[1] * x[8] + x[4] * x[7] - x[0] * x[7] - x[5] * x[8]) - x[4] - x[5],
        x[1] * x[8] - x[2] * x[9] - x[5] * x[8] - 500.0 * x[1] + 500.0 * x[5] + x[1] * x[9],
        x[1] - 0.9 - 0.002 * (x[1] * x[9] - x[2] * x[9]),
        stage(x[10], x[7], x[0]),
        stage(x[11], x[8], x[1]),
    ];
    let lower = [0.1, 0.1, 0.1, 1e-4, 0.1, 0.1, 0.1, 0.1, 500.0, 0.1, 1.0, 1e-4, 1e-4];
    let upper = [1.0, 1.0, 1.0, 0.1, 0.9, 0.9, 1000.0, 1000.0, 1000.0, 500.0, 150.0, 150.0, 150.0];
    Model::energy(energy).positive(rows).between(lower, upper)
}

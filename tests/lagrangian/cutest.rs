//! Problems of the CUTEst collection (Gould, Orban & Toint, *Comput. Optim. Appl.* 60, 2015), with the optima that are known of them.

use super::formula::{E, Model, cos, cube, dot, exp, sin, sq, sqrt};
use super::hock_schittkowski::{Example, INF, hs};

/// The largest of some functions of all unknowns but the last, which is it.
fn minimax(x: &[E], rows: impl Into<Vec<E>>) -> Model {
    let most = x[x.len() - 1];
    Model::energy(most + 0.0).negative(rows.into().into_iter().map(|row| row - most).collect::<Vec<E>>())
}

/// Electrons on the unit sphere.
fn electrons(x: &[E]) -> Model {
    let count = x.len() / 3;
    let at = |k: usize| &x[3 * k..3 * k + 3];
    let pairs = (0..count).flat_map(|i| (0..i).map(move |j| (i, j)));
    let energy = pairs.map(|(i, j)| 1.0 / sqrt(at(i).iter().zip(at(j)).map(|(&a, &b)| sq(a - b)).sum())).sum();
    let spheres: Vec<E> = (0..count).map(|k| at(k).iter().map(|&a| sq(a)).sum::<E>() - 1.0).collect();
    Model::energy(energy).zero(spheres)
}

pub const CUTEST: &[Example] = &[
    hs("BT1", &[0.08, 0.06], -1.0, |x| Model::energy(100.0 * sq(x[0]) + 100.0 * sq(x[1]) - x[0] - 100.0).zero([sq(x[0]) + sq(x[1]) - 1.0])),
    hs("BT2", &[10.0, 10.0, 10.0], 0.032_568_200_25, |x| {
        let model = Model::squares([x[0] - 1.0, x[0] - x[1], sq(x[1] - x[2])]);
        model.zero([x[0] * (1.0 + sq(x[1])) + sq(sq(x[2])) - (4.0 + 18f64.sqrt())])
    }),
    hs("BT3", &[20.0; 5], 176.0 / 43.0, |x| {
        let model = Model::squares([x[0] - x[1], x[1] + x[2] - 2.0, x[3] - 1.0, x[4] - 1.0]);
        model.zero([x[0] + 3.0 * x[1], x[2] + x[3] - 2.0 * x[4], x[1] - x[4]])
    }),
    hs("BT4", &[4.0382, -2.9470, -0.091_15], -45.510_551, |x| {
        let model = Model::energy(x[0] - x[1] + cube(x[1]));
        model.zero([sq(x[0]) + sq(x[1]) + sq(x[2]) - 25.0, x[0] + x[1] + x[2] - 1.0])
    })
    .or(&[-3.704_768_18]),
    hs("BT5", &[2.0, 2.0, 2.0], 961.715_172_1, |x| {
        let energy = 1000.0 - sq(x[0]) - 2.0 * sq(x[1]) - sq(x[2]) - x[0] * x[1] - x[0] * x[2];
        Model::energy(energy).zero([sq(x[0]) + sq(x[1]) + sq(x[2]) - 25.0, dot(&[8.0, 14.0, 7.0], x) - 56.0])
    }),
    hs("BT7", &[-2.0, 1.0, 1.0, 1.0, 1.0], 306.5, |x| {
        let rows = [x[0] * x[1] - sq(x[2]) - 1.0, sq(x[1]) - sq(x[3]) + x[0], x[0] + sq(x[4]) - 0.5];
        Model::squares([10.0 * (x[1] - sq(x[0])), x[0] - 1.0]).zero(rows)
    })
    .or(&[360.379_767]),
    hs("BT8", &[1.0, 1.0, 1.0, 0.0, 0.0], 1.0, |x| {
        let rows = [x[0] - 1.0 - sq(x[3]) + sq(x[1]), sq(x[0]) + sq(x[1]) - 1.0 - sq(x[4])];
        Model::squares([x[0], x[1], x[2]]).zero(rows)
    }),
    hs("BT10", &[2.0, 2.0], -1.0, |x| Model::energy(-x[0]).zero([x[1] - cube(x[0]), sq(x[0]) - x[1]])),
    hs("BT12", &[15.811, 1.5811, 0.0, 15.083, 3.7164], 6.188_119, |x| {
        let rows = [x[0] + x[1] - sq(x[2]) - 25.0, sq(x[0]) + sq(x[1]) - sq(x[3]) - 25.0, x[0] - sq(x[4]) - 2.0];
        Model::squares([0.1 * x[0], x[1]]).zero(rows)
    }),
    hs("MARATOS", &[1.1, 0.1], -1.0, |x| {
        let circle = sq(x[0]) + sq(x[1]) - 1.0;
        Model::energy(1e-6 * circle - x[0]).zero([circle])
    }),
    hs("BYRDSPHR", &[5.0, 0.0001, -0.0001], -4.683_300_13, |x| {
        let rest = sq(x[1]) + sq(x[2]) - 9.0;
        Model::energy(-x[0] - x[1] - x[2]).zero([sq(x[0]) + rest, sq(x[0] - 1.0) + rest])
    }),
    hs("GENHS28", &[-4.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 0.927_173_7, |x| {
        let squares: Vec<E> = (0..9).map(|i| x[i] + x[i + 1]).collect();
        let rows: Vec<E> = (0..8).map(|i| x[i] + 2.0 * x[i + 1] + 3.0 * x[i + 2] - 1.0).collect();
        Model::squares(squares).zero(rows)
    }),
    hs(
        "ELEC",
        &[0.9, 0.3, -0.2, -0.7, 0.6, 0.3, 0.1, -0.8, 0.6, -0.3, -0.2, -0.9, 0.2, 0.9, 0.4, 0.5, -0.5, -0.7],
        9.985_281_374_238_57,
        electrons,
    ),
    hs("LUKVLE1", &[-1.2, 1.0, -1.2, 1.0, -1.2, 1.0, -1.2, 1.0, -1.2, 1.0], 0.0, |x| {
        let count = x.len();
        let squares = (0..count - 1).flat_map(|i| [10.0 * (sq(x[i]) - x[i + 1]), x[i] - 1.0]);
        let row = |k: usize| {
            let waves = sin(x[k + 1] - x[k + 2]) * sin(x[k + 1] + x[k + 2]);
            3.0 * cube(x[k + 1]) + 2.0 * x[k + 2] - 5.0 + waves + 4.0 * x[k + 1] - x[k] * exp(x[k] - x[k + 1]) - 3.0
        };
        Model::squares(squares.collect::<Vec<E>>()).zero((0..count - 2).map(row).collect::<Vec<E>>())
    })
    .or(&[6.232_458_632]),
    hs("POLAK1", &[50.0, 0.05, 0.0], std::f64::consts::E, |x| {
        minimax(x, [exp(0.001 * sq(x[0]) + sq(x[1] - 1.0)), exp(0.001 * sq(x[0]) + sq(x[1] + 1.0))])
    }),
    hs("CB2", &[1.0, -0.1, 0.0], 1.952_224_493_9, |x| {
        minimax(x, [sq(x[0]) + sq(sq(x[1])), sq(2.0 - x[0]) + sq(2.0 - x[1]), 2.0 * exp(x[1] - x[0])])
    }),
    hs("CB3", &[2.0, 2.0, 0.0], 2.0, |x| minimax(x, [sq(sq(x[0])) + sq(x[1]), sq(2.0 - x[0]) + sq(2.0 - x[1]), 2.0 * exp(x[1] - x[0])])),
    hs("MADSEN", &[3.0, 1.0, 0.0], 0.616_432_436, |x| {
        let [a, b, c] = [sq(x[0]) + sq(x[1]) + x[0] * x[1], sin(x[0]), cos(x[1])];
        minimax(x, [a, -a, b, -b, c, -c])
    }),
    hs("DEMYMALO", &[1.0, 1.0, 0.0], -3.0, |x| minimax(x, [5.0 * x[0] + x[1], x[1] - 5.0 * x[0], sq(x[0]) + sq(x[1]) + 4.0 * x[1]])),
    hs("MAKELA1", &[0.0, 0.0, 0.0], -std::f64::consts::SQRT_2, |x| minimax(x, [-x[0] - x[1], sq(x[0]) + sq(x[1]) - x[0] - x[1] - 1.0])),
    hs("MAKELA2", &[-1.0, 5.0, 0.0], 7.2, |x| {
        let squares = sq(x[0]) + sq(x[1]);
        minimax(x, [squares, squares + 10.0 * (4.0 - 4.0 * x[0] - x[1]), squares + 10.0 * (6.0 - x[0] - 2.0 * x[1])])
    }),
    hs("KIWCRESC", &[-1.5, 2.0, 0.0], 0.0, |x| {
        let circle = sq(x[0]) + sq(x[1] - 1.0);
        minimax(x, [circle + x[1] - 1.0, x[1] + 1.0 - circle])
    }),
    hs("ROSENMMX", &[0.0, 0.0, 0.0, 0.0, 0.0], -44.0, |x| {
        let squares = sq(x[0]) + sq(x[1]) + 2.0 * sq(x[2]) + sq(x[3]) + dot(&[-5.0, -5.0, -21.0, 7.0], x);
        let rows = [
            sq(x[0]) + sq(x[1]) + sq(x[2]) + sq(x[3]) + x[0] - x[1] + x[2] - x[3] - 8.0,
            sq(x[0]) + 2.0 * sq(x[1]) + sq(x[2]) + 2.0 * sq(x[3]) - x[0] - x[3] - 10.0,
            2.0 * sq(x[0]) + sq(x[1]) + sq(x[2]) + 2.0 * x[0] - x[1] - x[3] - 5.0,
        ];
        minimax(x, [squares, squares + 10.0 * rows[0], squares + 10.0 * rows[1], squares + 10.0 * rows[2]])
    }),
    hs("ALSOTAME", &[0.0, 0.0], 0.082_084_998_6, |x| {
        Model::energy(exp(x[0] - 2.0 * x[1])).zero([sin(x[1] - x[0] - 1.0)]).between([-2.0, -1.5], [2.0, 1.5])
    }),
    hs("CANTILVR", &[1.0; 5], 1.339_956_4, |x| {
        let loads: E = [61.0, 37.0, 19.0, 7.0, 1.0].iter().zip(x).map(|(&load, &x)| load / cube(x)).sum();
        Model::energy(0.0624 * (x[0] + x[1] + x[2] + x[3] + x[4])).negative([loads - 1.0]).between([1e-6; 5], [INF; 5])
    }),
    hs("TWOBARS", &[1.0, 1.0], 1.508_652_4, |x| {
        let root = sqrt(1.0 + sq(x[1]));
        let rows = [8.0 / x[0] + 1.0 / (x[0] * x[1]), 8.0 / x[0] - 1.0 / (x[0] * x[1])].map(|row| 0.124 * root * row - 1.0);
        Model::energy(x[0] * root).negative(rows).between([0.2, 0.1], [4.0, 1.6])
    }),
];

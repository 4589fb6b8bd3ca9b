//! Problems of Hock & Schittkowski, *Test Examples for Nonlinear Programming Codes* (1981): starts, and the optima that are published.

use super::formula::{E, Model, cos, cube, dot, exp, ln, pow, sin, sq, sqrt};

/// A problem of a collection.
pub struct Example {
    pub name: &'static str,
    pub start: &'static [f64],
    pub optimum: f64,
    /// Objectives of other local minima.
    pub others: &'static [f64],
    pub model: fn(&[E]) -> Model,
}

pub const fn hs(name: &'static str, start: &'static [f64], optimum: f64, model: fn(&[E]) -> Model) -> Example {
    Example { name, start, optimum, others: &[], model }
}

impl Example {
    pub const fn or(self, others: &'static [f64]) -> Self {
        Self { others, ..self }
    }
}

const SQRT_2: f64 = std::f64::consts::SQRT_2;
const SQRT_3: f64 = 1.732_050_807_568_877_2;
const SQRT_7: f64 = 2.645_751_311_064_590_7;
const INF: f64 = f64::INFINITY;

/// 10 (x₂ − x₁²) and 1 − x₁.
fn rosenbrock(x: &[E]) -> Model {
    Model::squares([10.0 * (x[1] - sq(x[0])), 1.0 - x[0]])
}

/// Constraints of 78, 80 and 81.
fn powells(x: &[E]) -> [E; 3] {
    let squares: E = x.iter().map(|&x| sq(x)).sum();
    [squares - 10.0, x[1] * x[2] - 5.0 * x[3] * x[4], cube(x[0]) + cube(x[1]) + 1.0]
}

fn product(x: &[E]) -> E {
    x.iter().copied().reduce(|product, x| product * x).expect("factors")
}

/// Those of two and three unknowns.
pub const SMALL: &[Example] = &[
    hs("6", &[-1.2, 1.0], 0.0, |x| Model::squares([1.0 - x[0]]).zero([10.0 * (x[1] - sq(x[0]))])),
    hs("7", &[2.0, 2.0], -SQRT_3, |x| Model::energy(ln(1.0 + sq(x[0])) - x[1]).zero([sq(1.0 + sq(x[0])) + sq(x[1]) - 4.0])),
    hs("8", &[2.0, 1.0], -1.0, |x| Model::feasibility().offset(-1.0).zero([sq(x[0]) + sq(x[1]) - 25.0, x[0] * x[1] - 9.0])),
    hs("9", &[0.0, 0.0], -0.5, |x| {
        let pi = std::f64::consts::PI;
        Model::energy(sin(x[0] * (pi / 12.0)) * cos(x[1] * (pi / 16.0))).zero([4.0 * x[0] - 3.0 * x[1]])
    }),
    hs("10", &[-10.0, 10.0], -1.0, |x| Model::energy(x[0] - x[1]).positive([-3.0 * sq(x[0]) + 2.0 * x[0] * x[1] - sq(x[1]) + 1.0])),
    hs("11", &[4.9, 0.1], -8.498_464_223, |x| Model::squares([x[0] - 5.0, x[1]]).offset(-25.0).positive([x[1] - sq(x[0])])),
    hs("12", &[0.0, 0.0], -30.0, |x| {
        Model::energy(0.5 * sq(x[0]) + sq(x[1]) - x[0] * x[1] - 7.0 * x[0] - 7.0 * x[1]).positive([25.0 - 4.0 * sq(x[0]) - sq(x[1])])
    }),
    hs("14", &[2.0, 2.0], 9.0 - 2.875 * SQRT_7, |x| {
        Model::squares([x[0] - 2.0, x[1] - 1.0]).zero([x[0] - 2.0 * x[1] + 1.0]).positive([1.0 - 0.25 * sq(x[0]) - sq(x[1])])
    }),
    hs("15", &[-2.0, 1.0], 306.5, |x| rosenbrock(x).positive([x[0] * x[1] - 1.0, x[0] + sq(x[1])]).between([-INF; 2], [0.5, INF])),
    hs("16", &[-2.0, 1.0], 0.25, |x| rosenbrock(x).positive([x[0] + sq(x[1]), sq(x[0]) + x[1]]).between([-0.5, -INF], [0.5, 1.0])),
    hs("17", &[-2.0, 1.0], 1.0, |x| rosenbrock(x).positive([sq(x[1]) - x[0], sq(x[0]) - x[1]]).between([-0.5, -INF], [0.5, 1.0])),
    hs("18", &[2.0, 2.0], 5.0, |x| {
        let model = Model::squares([0.1 * x[0], x[1]]).positive([x[0] * x[1] - 25.0, sq(x[0]) + sq(x[1]) - 25.0]);
        model.between([2.0, 0.0], [50.0; 2])
    }),
    hs("19", &[20.1, 5.84], -6_961.813_88, |x| {
        let [a, b] = [sq(x[0] - 5.0) + sq(x[1] - 5.0) - 100.0, 82.81 - sq(x[1] - 5.0) - sq(x[0] - 6.0)];
        Model::energy(cube(x[0] - 10.0) + cube(x[1] - 20.0)).positive([a, b]).between([13.0, 0.0], [100.0; 2])
    }),
    hs("20", &[-2.0, 1.0], 81.5 - 25.0 * SQRT_3, |x| {
        let rows = [x[0] + sq(x[1]), sq(x[0]) + x[1], sq(x[0]) + sq(x[1]) - 1.0];
        rosenbrock(x).positive(rows).between([-0.5, -INF], [0.5, INF])
    })
    .or(&[40.198_729_81]),
    hs("21", &[-1.0, -1.0], -99.96, |x| {
        Model::squares([0.1 * x[0], x[1]]).offset(-100.0).positive([10.0 * x[0] - x[1] - 10.0]).between([2.0, -50.0], [50.0; 2])
    }),
    hs("22", &[2.0, 2.0], 1.0, |x| Model::squares([x[0] - 2.0, x[1] - 1.0]).positive([2.0 - x[0] - x[1], x[1] - sq(x[0])])),
    hs("23", &[3.0, 1.0], 2.0, |x| {
        let rows = [x[0] + x[1] - 1.0, sq(x[0]) + sq(x[1]) - 1.0, 9.0 * sq(x[0]) + sq(x[1]) - 9.0, sq(x[0]) - x[1], sq(x[1]) - x[0]];
        Model::squares([x[0], x[1]]).positive(rows).between([-50.0; 2], [50.0; 2])
    }),
    hs("24", &[1.0, 0.5], -1.0, |x| {
        let rows = [x[0] / SQRT_3 - x[1], x[0] + SQRT_3 * x[1], 6.0 - x[0] - SQRT_3 * x[1]];
        Model::energy((sq(x[0] - 3.0) - 9.0) * cube(x[1]) / (27.0 * SQRT_3)).positive(rows).between([0.0; 2], [INF; 2])
    }),
    hs("26", &[-2.6, 2.0, 2.0], 0.0, |x| {
        Model::squares([x[0] - x[1], sq(x[1] - x[2])]).zero([(1.0 + sq(x[1])) * x[0] + sq(sq(x[2])) - 3.0])
    }),
    hs("27", &[2.0, 2.0, 2.0], 0.04, |x| Model::squares([0.1 * (x[0] - 1.0), x[1] - sq(x[0])]).zero([x[0] + sq(x[2]) + 1.0])),
    hs("28", &[-4.0, 1.0, 1.0], 0.0, |x| Model::squares([x[0] + x[1], x[1] + x[2]]).zero([x[0] + 2.0 * x[1] + 3.0 * x[2] - 1.0])),
    hs("29", &[1.0, 1.0, 1.0], -16.0 * SQRT_2, |x| {
        Model::energy(-product(x)).positive([48.0 - sq(x[0]) - 2.0 * sq(x[1]) - 4.0 * sq(x[2])])
    }),
    hs("30", &[1.0, 1.0, 1.0], 1.0, |x| {
        Model::squares(x.to_vec()).positive([sq(x[0]) + sq(x[1]) - 1.0]).between([1.0, -10.0, -10.0], [10.0; 3])
    }),
    hs("31", &[1.0, 1.0, 1.0], 6.0, |x| {
        Model::squares([3.0 * x[0], x[1], 3.0 * x[2]]).positive([x[0] * x[1] - 1.0]).between([-10.0, 1.0, -10.0], [10.0, 10.0, 1.0])
    }),
    hs("32", &[0.1, 0.7, 0.2], 1.0, |x| {
        let model = Model::squares([x[0] + 3.0 * x[1] + x[2], 2.0 * (x[0] - x[1])]).zero([1.0 - x[0] - x[1] - x[2]]);
        model.positive([6.0 * x[1] + 4.0 * x[2] - cube(x[0]) - 3.0]).between([0.0; 3], [INF; 3])
    }),
    hs("33", &[0.0, 0.0, 3.0], SQRT_2 - 6.0, |x| {
        let rows = [sq(x[2]) - sq(x[1]) - sq(x[0]), sq(x[0]) + sq(x[1]) + sq(x[2]) - 4.0];
        Model::energy((x[0] - 1.0) * (x[0] - 2.0) * (x[0] - 3.0) + x[2]).positive(rows).between([0.0; 3], [INF, INF, 5.0])
    })
    .or(&[-4.0]),
    hs("34", &[0.0, 1.05, 2.9], -0.834_032_445, |x| {
        Model::energy(-x[0]).positive([x[1] - exp(x[0]), x[2] - exp(x[1])]).between([0.0; 3], [100.0, 100.0, 10.0])
    }),
    hs("35", &[0.5, 0.5, 0.5], 1.0 / 9.0, |x| {
        let linear = 9.0 - 8.0 * x[0] - 6.0 * x[1] - 4.0 * x[2];
        let squares = 2.0 * sq(x[0]) + 2.0 * sq(x[1]) + sq(x[2]) + 2.0 * x[0] * x[1] + 2.0 * x[0] * x[2];
        Model::energy(linear + squares).positive([3.0 - x[0] - x[1] - 2.0 * x[2]]).between([0.0; 3], [INF; 3])
    }),
    hs("36", &[10.0, 10.0, 10.0], -3300.0, |x| {
        Model::energy(-product(x)).positive([72.0 - x[0] - 2.0 * x[1] - 2.0 * x[2]]).between([0.0; 3], [20.0, 11.0, 42.0])
    }),
    hs("37", &[10.0, 10.0, 10.0], -3456.0, |x| {
        let sum = x[0] + 2.0 * x[1] + 2.0 * x[2];
        Model::energy(-product(x)).positive([72.0 - sum, sum]).between([0.0; 3], [42.0; 3])
    }),
    hs("60", &[2.0, 2.0, 2.0], 0.032_568_200_25, |x| {
        let model = Model::squares([x[0] - 1.0, x[0] - x[1], sq(x[1] - x[2])]);
        model.zero([x[0] * (1.0 + sq(x[1])) + sq(sq(x[2])) - (4.0 + 3.0 * SQRT_2)]).between([-10.0; 3], [10.0; 3])
    }),
    hs("61", &[0.0, 0.0, 0.0], -143.646_142_2, |x| {
        let energy = 4.0 * sq(x[0]) + 2.0 * sq(x[1]) + 2.0 * sq(x[2]) - 33.0 * x[0] + 16.0 * x[1] - 24.0 * x[2];
        Model::energy(energy).zero([3.0 * x[0] - 2.0 * sq(x[1]) - 7.0, 4.0 * x[0] - sq(x[2]) - 11.0])
    }),
    hs("62", &[0.7, 0.2, 0.1], -26_272.514_48, |x| {
        let part = |factor: f64, tail: E, last: E, first: E| factor * ln((first + tail + 0.03) / (last + tail + 0.03));
        let sum = part(255.0, x[1] + x[2], 0.09 * x[0], x[0]) + part(280.0, x[2] + 0.0, 0.07 * x[1], x[1]);
        let sum = sum + 290.0 * ln((x[2] + 0.03) / (0.13 * x[2] + 0.03));
        Model::energy(-32.174 * sum).zero([x[0] + x[1] + x[2] - 1.0]).between([0.0; 3], [1.0; 3])
    }),
    hs("63", &[2.0, 2.0, 2.0], 961.715_172_1, |x| {
        let energy = 1000.0 - sq(x[0]) - 2.0 * sq(x[1]) - sq(x[2]) - x[0] * x[1] - x[0] * x[2];
        let rows = [8.0 * x[0] + 14.0 * x[1] + 7.0 * x[2] - 56.0, sq(x[0]) + sq(x[1]) + sq(x[2]) - 25.0];
        Model::energy(energy).zero(rows).between([0.0; 3], [INF; 3])
    }),
    hs("64", &[1.0, 1.0, 1.0], 6_299.842_428, |x| {
        let energy = 5.0 * x[0] + 50_000.0 / x[0] + 20.0 * x[1] + 72_000.0 / x[1] + 10.0 * x[2] + 144_000.0 / x[2];
        Model::energy(energy).positive([1.0 - 4.0 / x[0] - 32.0 / x[1] - 120.0 / x[2]]).between([1e-5; 3], [INF; 3])
    }),
    hs("65", &[-5.0, 5.0, 0.0], 0.953_528_856_7, |x| {
        let model = Model::squares([x[0] - x[1], (x[0] + x[1] - 10.0) / 3.0, x[2] - 5.0]);
        model.positive([48.0 - sq(x[0]) - sq(x[1]) - sq(x[2])]).between([-4.5, -4.5, -5.0], [4.5, 4.5, 5.0])
    }),
    hs("66", &[0.0, 1.05, 2.9], 0.518_163_274_1, |x| {
        Model::energy(0.2 * x[2] - 0.8 * x[0]).positive([x[1] - exp(x[0]), x[2] - exp(x[1])]).between([0.0; 3], [100.0, 100.0, 10.0])
    }),
];

/// Those of four to six unknowns.
pub const MIDDLE: &[Example] = &[
    hs("39", &[2.0, 2.0, 2.0, 2.0], -1.0, |x| Model::energy(-x[0]).zero([x[1] - cube(x[0]) - sq(x[2]), sq(x[0]) - x[1] - sq(x[3])])),
    hs("40", &[0.8, 0.8, 0.8, 0.8], -0.25, |x| {
        Model::energy(-product(x)).zero([cube(x[0]) + sq(x[1]) - 1.0, sq(x[0]) * x[3] - x[2], sq(x[3]) - x[1]])
    }),
    hs("41", &[2.0, 2.0, 2.0, 2.0], 52.0 / 27.0, |x| {
        let model = Model::energy(2.0 - product(&x[..3])).zero([x[0] + 2.0 * x[1] + 2.0 * x[2] - x[3]]);
        model.between([0.0; 4], [1.0, 1.0, 1.0, 2.0])
    }),
    hs("42", &[1.0, 1.0, 1.0, 1.0], 28.0 - 10.0 * SQRT_2, |x| {
        Model::squares([x[0] - 1.0, x[1] - 2.0, x[2] - 3.0, x[3] - 4.0]).zero([x[0] - 2.0, sq(x[2]) + sq(x[3]) - 2.0])
    }),
    hs("43", &[0.0, 0.0, 0.0, 0.0], -44.0, |x| {
        let squares = sq(x[0]) + sq(x[1]) + 2.0 * sq(x[2]) + sq(x[3]);
        let rows = [
            8.0 - sq(x[0]) - sq(x[1]) - sq(x[2]) - sq(x[3]) - x[0] + x[1] - x[2] + x[3],
            10.0 - sq(x[0]) - 2.0 * sq(x[1]) - sq(x[2]) - 2.0 * sq(x[3]) + x[0] + x[3],
            5.0 - 2.0 * sq(x[0]) - sq(x[1]) - sq(x[2]) - 2.0 * x[0] + x[1] + x[3],
        ];
        Model::energy(squares + dot(&[-5.0, -5.0, -21.0, 7.0], x)).positive(rows)
    }),
    hs("44", &[0.0, 0.0, 0.0, 0.0], -15.0, |x| {
        let energy = x[0] - x[1] - x[2] - x[0] * x[2] + x[0] * x[3] + x[1] * x[2] - x[1] * x[3];
        let rows = [
            8.0 - x[0] - 2.0 * x[1],
            12.0 - 4.0 * x[0] - x[1],
            12.0 - 3.0 * x[0] - 4.0 * x[1],
            8.0 - 2.0 * x[2] - x[3],
            8.0 - x[2] - 2.0 * x[3],
            5.0 - x[2] - x[3],
        ];
        Model::energy(energy).positive(rows).between([0.0; 4], [INF; 4])
    }),
    hs("46", &[0.707_106_781_2, 1.75, 0.5, 2.0, 2.0], 0.0, |x| {
        let model = Model::squares([x[0] - x[1], x[2] - 1.0, sq(x[3] - 1.0), cube(x[4] - 1.0)]);
        model.zero([sq(x[0]) * x[3] + sin(x[3] - x[4]) - 1.0, x[1] + sq(sq(x[2])) * sq(x[3]) - 2.0])
    }),
    hs("48", &[3.0, 5.0, -3.0, 2.0, -2.0], 0.0, |x| {
        let model = Model::squares([x[0] - 1.0, x[1] - x[2], x[3] - x[4]]);
        model.zero([x[0] + x[1] + x[2] + x[3] + x[4] - 5.0, x[2] - 2.0 * (x[3] + x[4]) + 3.0])
    }),
    hs("49", &[10.0, 7.0, 2.0, -3.0, 0.8], 0.0, |x| {
        let model = Model::squares([x[0] - x[1], x[2] - 1.0, sq(x[3] - 1.0), cube(x[4] - 1.0)]);
        model.zero([x[0] + x[1] + x[2] + 4.0 * x[3] - 7.0, x[2] + 5.0 * x[4] - 6.0])
    }),
    hs("50", &[35.0, -31.0, 11.0, 5.0, -5.0], 0.0, |x| {
        let row = |k: usize| x[k] + 2.0 * x[k + 1] + 3.0 * x[k + 2] - 6.0;
        Model::squares([x[0] - x[1], x[1] - x[2], sq(x[2] - x[3]), x[3] - x[4]]).zero([row(0), row(1), row(2)])
    }),
    hs("51", &[2.5, 0.5, 2.0, -1.0, 0.5], 0.0, |x| {
        let model = Model::squares([x[0] - x[1], x[1] + x[2] - 2.0, x[3] - 1.0, x[4] - 1.0]);
        model.zero([x[0] + 3.0 * x[1] - 4.0, x[2] + x[3] - 2.0 * x[4], x[1] - x[4]])
    }),
    hs("52", &[2.0, 2.0, 2.0, 2.0, 2.0], 1859.0 / 349.0, |x| {
        let model = Model::squares([4.0 * x[0] - x[1], x[1] + x[2] - 2.0, x[3] - 1.0, x[4] - 1.0]);
        model.zero([x[0] + 3.0 * x[1], x[2] + x[3] - 2.0 * x[4], x[1] - x[4]])
    }),
    hs("53", &[2.0, 2.0, 2.0, 2.0, 2.0], 176.0 / 43.0, |x| {
        let model = Model::squares([x[0] - x[1], x[1] + x[2] - 2.0, x[3] - 1.0, x[4] - 1.0]);
        model.zero([x[0] + 3.0 * x[1], x[2] + x[3] - 2.0 * x[4], x[1] - x[4]]).between([-10.0; 5], [10.0; 5])
    }),
    hs("55", &[1.0, 2.0, 0.0, 0.0, 0.0, 2.0], 19.0 / 3.0, |x| {
        let rows = [
            x[0] + 2.0 * x[1] + 5.0 * x[4] - 6.0,
            x[0] + x[1] + x[2] - 3.0,
            x[3] + x[4] + x[5] - 2.0,
            x[0] + x[3] - 1.0,
            x[1] + x[4] - 2.0,
            x[2] + x[5] - 2.0,
        ];
        let model = Model::energy(x[0] + 2.0 * x[1] + 4.0 * x[4] + exp(x[0] * x[3])).zero(rows);
        model.between([0.0; 6], [1.0, INF, INF, 1.0, INF, INF])
    })
    .or(&[20.0 / 3.0]),
    hs("71", &[1.0, 5.0, 5.0, 1.0], 17.014_017_3, |x| {
        let squares: E = x.iter().map(|&x| sq(x)).sum();
        let model = Model::energy(x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]).positive([product(x) - 25.0]);
        model.zero([squares - 40.0]).between([1.0; 4], [5.0; 4])
    }),
    hs("72", &[1.0, 1.0, 1.0, 1.0], 727.679_36, |x| {
        let rows = [
            0.0401 - 4.0 / x[0] - 2.25 / x[1] - 1.0 / x[2] - 0.25 / x[3],
            0.010_085 - 0.16 / x[0] - 0.36 / x[1] - 0.64 / x[2] - 0.64 / x[3],
        ];
        Model::energy(1.0 + x[0] + x[1] + x[2] + x[3]).positive(rows).between([0.001; 4], [4e5, 3e5, 2e5, 1e5])
    }),
    hs("73", &[1.0, 1.0, 1.0, 1.0], 29.894_378, |x| {
        let root = sqrt(0.28 * sq(x[0]) + 0.19 * sq(x[1]) + 20.5 * sq(x[2]) + 0.62 * sq(x[3]));
        let rows = [dot(&[2.3, 5.6, 11.1, 1.3], x) - 5.0, dot(&[12.0, 11.9, 41.8, 52.1], x) - 21.0 - 1.645 * root];
        let model = Model::energy(dot(&[24.55, 26.75, 39.0, 40.5], x)).positive(rows);
        model.zero([x[0] + x[1] + x[2] + x[3] - 1.0]).between([0.0; 4], [INF; 4])
    }),
    hs("74", &[0.0, 0.0, 0.0, 0.0], 5_126.498_1, |x| power_flow(x, 0.55)),
    hs("75", &[0.0, 0.0, 0.0, 0.0], 5_174.412_7, |x| power_flow(x, 0.48)),
    hs("76", &[0.5, 0.5, 0.5, 0.5], -4.681_818_181, |x| {
        let squares = sq(x[0]) + 0.5 * sq(x[1]) + sq(x[2]) + 0.5 * sq(x[3]) - x[0] * x[2] + x[2] * x[3];
        let rows = [5.0 - x[0] - 2.0 * x[1] - x[2] - x[3], 4.0 - 3.0 * x[0] - x[1] - 2.0 * x[2] + x[3], x[1] + 4.0 * x[2] - 1.5];
        Model::energy(squares + dot(&[-1.0, -3.0, 1.0, -1.0], x)).positive(rows).between([0.0; 4], [INF; 4])
    }),
    hs("77", &[2.0, 2.0, 2.0, 2.0, 2.0], 0.241_505_13, |x| {
        let model = Model::squares([x[0] - 1.0, x[0] - x[1], x[2] - 1.0, sq(x[3] - 1.0), cube(x[4] - 1.0)]);
        let rows = [sq(x[0]) * x[3] + sin(x[3] - x[4]) - 2.0 * SQRT_2, x[1] + sq(sq(x[2])) * sq(x[3]) - (8.0 + SQRT_2)];
        model.zero(rows)
    }),
    hs("78", &[-2.0, 1.5, 2.0, -1.0, -1.0], -2.919_700_41, |x| Model::energy(product(x)).zero(powells(x))),
    hs("79", &[2.0, 2.0, 2.0, 2.0, 2.0], 0.078_776_820_9, |x| {
        let model = Model::squares([x[0] - 1.0, x[0] - x[1], x[1] - x[2], sq(x[2] - x[3]), sq(x[3] - x[4])]);
        let rows = [x[0] + sq(x[1]) + cube(x[2]) - (2.0 + 3.0 * SQRT_2), x[1] - sq(x[2]) + x[3] + (2.0 - 2.0 * SQRT_2), x[0] * x[4] - 2.0];
        model.zero(rows)
    }),
    hs("80", &[-2.0, 2.0, 2.0, -1.0, -1.0], 0.053_949_847_8, |x| {
        let model = Model::energy(exp(product(x))).zero(powells(x));
        model.between([-2.3, -2.3, -3.2, -3.2, -3.2], [2.3, 2.3, 3.2, 3.2, 3.2])
    }),
    hs("81", &[-2.0, 2.0, 2.0, -1.0, -1.0], 0.053_949_847_8, |x| {
        let model = Model::energy(exp(product(x)) - 0.5 * sq(cube(x[0]) + cube(x[1]) + 1.0)).zero(powells(x));
        model.between([-2.3, -2.3, -3.2, -3.2, -3.2], [2.3, 2.3, 3.2, 3.2, 3.2])
    }),
    hs("83", &[78.0, 33.0, 27.0, 27.0, 27.0], -30_665.538_67, |x| {
        let rows = [
            85.334_407 + 0.005_685_8 * x[1] * x[4] + 0.000_626_2 * x[0] * x[3] - 0.002_205_3 * x[2] * x[4],
            80.512_49 + 0.007_131_7 * x[1] * x[4] + 0.002_995_5 * x[0] * x[1] + 0.002_181_3 * sq(x[2]) - 90.0,
            9.300_961 + 0.004_702_6 * x[2] * x[4] + 0.001_254_7 * x[0] * x[2] + 0.001_908_5 * x[2] * x[3] - 20.0,
        ];
        let energy = 5.357_854_7 * sq(x[2]) + 0.835_689_1 * x[0] * x[4] + 37.293_239 * x[0] - 40_792.141;
        let model = Model::energy(energy).positive(rows).positive([92.0 - rows[0], 20.0 - rows[1], 5.0 - rows[2]]);
        model.between([78.0, 33.0, 27.0, 27.0, 27.0], [102.0, 45.0, 45.0, 45.0, 45.0])
    }),
    hs("93", &[5.54, 4.4, 12.02, 11.82, 0.702, 0.852], 135.075_961, |x| {
        let [a, b] = [x[0] * x[3] * (x[0] + x[1] + x[2]), x[1] * x[2] * (x[0] + 1.57 * x[1] + x[3])];
        let energy = 0.0204 * a + 0.0187 * b + 0.0607 * a * sq(x[4]) + 0.0437 * b * sq(x[5]);
        let rows = [0.001 * product(x) - 2.07, 1.0 - 0.000_62 * a * sq(x[4]) - 0.000_58 * b * sq(x[5])];
        Model::energy(energy).positive(rows).between([0.0; 6], [INF; 6])
    }),
    hs("95", &[0.0; 6], 0.015_619_525, |x| himmelblaus(x, [4.97, -1.88, -29.08, -78.02])),
    hs("96", &[0.0; 6], 0.015_619_525, |x| himmelblaus(x, [4.97, -1.88, -69.08, -118.02])),
    hs("97", &[0.0; 6], 3.135_809_1, |x| himmelblaus(x, [32.97, 25.12, -29.08, -78.02])).or(&[4.071_246_357]),
    hs("98", &[0.0; 6], 3.135_809_1, |x| himmelblaus(x, [32.97, 25.12, -124.08, -173.02])).or(&[4.071_246_357]),
];

fn power_flow(x: &[E], limit: f64) -> Model {
    let energy = 3.0 * x[0] + 1e-6 * cube(x[0]) + 2.0 * x[1] + (2e-6 / 3.0) * cube(x[1]);
    let flow = |angle: E| 1000.0 * sin(angle - 0.25);
    let rows = [
        flow(-x[2]) + flow(-x[3]) + 894.8 - x[0],
        flow(x[2] + 0.0) + flow(x[2] - x[3]) + 894.8 - x[1],
        flow(x[3] + 0.0) + flow(x[3] - x[2]) + 1294.8,
    ];
    let model = Model::energy(energy).zero(rows).positive([x[3] - x[2] + limit, x[2] - x[3] + limit]);
    model.between([0.0, 0.0, -limit, -limit], [1200.0, 1200.0, limit, limit])
}

fn himmelblaus(x: &[E], least: [f64; 4]) -> Model {
    let rows = [
        dot(&[17.1, 38.2, 204.2, 212.3, 623.4, 1495.5], x)
            - 169.0 * x[0] * x[2]
            - 3580.0 * x[2] * x[4]
            - 3810.0 * x[3] * x[4]
            - 18_500.0 * x[3] * x[5]
            - 24_300.0 * x[4] * x[5],
        dot(&[17.9, 36.8, 113.9, 169.7, 337.8, 1385.2], x)
            - 139.0 * x[0] * x[2]
            - 2450.0 * x[3] * x[4]
            - 16_600.0 * x[3] * x[5]
            - 17_200.0 * x[4] * x[5],
        -273.0 * x[1] - 70.0 * x[3] - 819.0 * x[4] + 26_000.0 * x[3] * x[4],
        159.9 * x[0] - 311.0 * x[1] + 587.0 * x[3] + 391.0 * x[4] + 2198.0 * x[5] - 14_000.0 * x[0] * x[5],
    ];
    let rows: Vec<E> = rows.into_iter().zip(least).map(|(row, least)| row - least).collect();
    let model = Model::energy(dot(&[4.3, 31.8, 63.3, 15.8, 68.5, 4.7], x)).positive(rows);
    model.between([0.0; 6], [0.31, 0.046, 0.068, 0.042, 0.028, 0.0134])
}

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

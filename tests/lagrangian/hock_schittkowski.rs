//! Problems of Hock & Schittkowski, *Test Examples for Nonlinear Programming Codes* (1981): starts, and the optima that are published.

use super::formula::{E, Model, cos, cube, dot, exp, ln, sin, sq, sqrt};

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
pub const INF: f64 = f64::INFINITY;

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
    hs("46", &[0.5 * SQRT_2, 1.75, 0.5, 2.0, 2.0], 0.0, |x| {
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

//! NaN as in NumPy: in any order and place, on every device.

use super::{Bench, benches};
use leastwise::program::fused::Fold;
use leastwise::tensor::graph::Node;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

fn same(what: &str, found: &[f64], right: &[f64]) {
    assert_eq!(found.len(), right.len(), "{what}");
    let is_same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
    assert!(found.iter().zip(right).all(is_same), "{what}: {found:?} instead of {right:?}");
}

/// All pairs of numbers, infinities and NaN.
fn pairs(bench: &mut Bench) -> (Vec<(f64, f64)>, [Node; 2]) {
    let all = [NAN, 1.5, -2.0, 0.0, INF, -INF];
    let pairs: Vec<(f64, f64)> = all.iter().flat_map(|&a| all.map(|b| (a, b))).collect();
    let size = pairs.len() as u32;
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let nodes = [bench.tensor(&a, &[size]), bench.tensor(&b, &[size])];
    (pairs, nodes)
}

#[test]
fn extremes_of_two_are_nan_where_one_is() {
    for mut bench in benches() {
        for unfused in [false, true] {
            bench.tensors.unfused = unfused;
            let (pairs, [a, b]) = pairs(&mut bench);
            let made = bench.graph().made(|graph| {
                let [larger, smaller, sign] =
                    [graph.apply("maximum", &[a, b])?, graph.apply("minimum", &[a, b])?, graph.apply("sign", &[a])?];
                let [is_nan, equal] = [graph.apply("isNaN", &[a])?, graph.apply("equal", &[a, b])?];
                let raised = graph.apply_number("maximum", a, -1.0)?;
                let clipped = graph.apply_number("minimum", raised, 1.0)?;
                let other = graph.constant(0.3, &[]);
                let turned = graph.apply("maximum", &[other, a])?;
                Ok::<_, leastwise::Error>(vec![larger, smaller, sign, is_nan, equal, clipped, turned])
            });
            let values = bench.read(&made.unwrap());
            let of = |f: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|&(a, b)| f(a, b)).collect::<Vec<f64>>();
            let or_nan = |a: f64, b: f64, value: f64| if a.is_nan() || b.is_nan() { NAN } else { value };
            let name = bench.name;
            same(&format!("{name}: maximum"), &values[0], &of(&|a, b| or_nan(a, b, a.max(b))));
            same(&format!("{name}: minimum"), &values[1], &of(&|a, b| or_nan(a, b, a.min(b))));
            same(&format!("{name}: sign"), &values[2], &of(&|a, _| or_nan(a, a, if a == 0.0 { 0.0 } else { a.signum() })));
            same(&format!("{name}: isNaN"), &values[3], &of(&|a, _| f64::from(a.is_nan())));
            same(&format!("{name}: equal"), &values[4], &of(&|a, b| f64::from(a == b)));
            same(&format!("{name}: a clip"), &values[5], &of(&|a, _| or_nan(a, a, a.clamp(-1.0, 1.0))));
            let number = if bench.epsilon() > 1e-10 { f64::from(0.3f32) } else { 0.3 };
            same(&format!("{name}: a number first"), &values[6], &of(&|a, _| or_nan(a, a, a.max(number))));
        }
    }
}

#[test]
fn extremes_of_many_are_nan_where_one_is() {
    for mut bench in benches() {
        // A lane folds columns, a workgroup rows; a long axis is folded in parts.
        for &(rows, columns) in bench.repeated(&[(3u32, 97u32), (5, 4), (2, 1 << 16)], 2) {
            let mut all = Vec::new();
            for place in [0, 1, columns - 1, columns / 2, columns, columns + 1] {
                let mut values: Vec<f64> = (0..rows * columns).map(|k| f64::from(k * 7 % 31)).collect();
                if place < columns {
                    values[(columns + place) as usize] = NAN;
                }
                // Infinities of both signs, whose sum is NaN, in one lane of a vector and in one column.
                if place > columns {
                    values[columns as usize] = INF;
                    values[(columns + 64 % columns) as usize] = -INF;
                    values[2 * columns as usize - 1] = -INF;
                    values[columns as usize - 1] = INF;
                }
                all.push((place, values));
            }
            for (place, values) in all {
                let x = bench.tensor(&values, &[rows, columns]);
                let made = bench.graph().made(|graph| {
                    let mut made = Vec::new();
                    for fold in [Fold::Max, Fold::Min] {
                        made.push(graph.reduce("reduce", fold, x, &[1.0], false)?);
                        made.push(graph.reduce("reduce", fold, x, &[0.0], false)?);
                        made.push(graph.reduce("reduce", fold, x, &[], false)?);
                    }
                    made.extend([graph.argmax(x, 1.0)?, graph.argmin(x, 1.0)?]);
                    Ok::<_, leastwise::Error>(made)
                });
                let found = bench.read(&made.unwrap());
                let row = |r: u32| &values[(r * columns) as usize..((r + 1) * columns) as usize];
                let column = |c: u32| (0..rows).map(|r| values[(r * columns + c) as usize]).collect::<Vec<f64>>();
                let extreme = |values: &[f64], most: bool| match values.iter().any(|value| value.is_nan()) {
                    true => NAN,
                    false => values.iter().copied().reduce(if most { f64::max } else { f64::min }).unwrap(),
                };
                let place_of = |values: &[f64], most: bool| {
                    let value = extreme(values, most);
                    values.iter().position(|x| *x == value || x.is_nan()).unwrap() as f64
                };
                let what = format!("{}, {rows} × {columns}, NaN at {place}", bench.name);
                for (k, most) in [(0, true), (3, false)] {
                    same(&what, &found[k], &(0..rows).map(|r| extreme(row(r), most)).collect::<Vec<_>>());
                    same(&what, &found[k + 1], &(0..columns).map(|c| extreme(&column(c), most)).collect::<Vec<_>>());
                    same(&what, &found[k + 2], &[extreme(&values, most)]);
                }
                for (k, most) in [(6, true), (7, false)] {
                    same(&what, &found[k], &(0..rows).map(|r| place_of(row(r), most)).collect::<Vec<_>>());
                }
            }
        }
    }
}

#[test]
fn pooling_keeps_nan_and_pads_with_less_than_everything() {
    for mut bench in benches() {
        let images = bench.tensor(&[NAN, -1.0, -INF, -INF, 2.0, -3.0, -INF, -INF, 4.0], &[1, 1, 3, 3]);
        let pooled = bench.graph().made(|graph| graph.max_pool2d(images, [2.0, 2.0], [1.0, 1.0], [1.0, 1.0]).map(|node| vec![node]));
        let found = bench.read(&pooled.unwrap());
        let right = [NAN, NAN, -1.0, -INF, NAN, NAN, 2.0, -3.0, -INF, 2.0, 4.0, 4.0, -INF, -INF, 4.0, 4.0];
        same(bench.name, &found[0], &right);
        // Below everything, also what only f64 has.
        let lowest = if bench.epsilon() < 1e-10 { -1e300 } else { -3.4e38 };
        let images = bench.tensor(&[lowest; 4], &[1, 1, 2, 2]);
        let pooled = bench.graph().made(|graph| graph.max_pool2d(images, [2.0, 2.0], [1.0, 1.0], [1.0, 1.0]).map(|node| vec![node]));
        let found = bench.read(&pooled.unwrap());
        let shown = if bench.epsilon() < 1e-10 { lowest } else { f64::from(lowest as f32) };
        same(bench.name, &found[0], &[shown; 9]);
    }
}

#[test]
fn gradients_of_extremes_go_to_nan() {
    for mut bench in benches() {
        let x = bench.tensor(&[1.0, NAN, 3.0, 2.0, 5.0, 5.0], &[2, 3]);
        let made = bench.graph().made(|graph| {
            let largest = graph.reduce("max", Fold::Max, x, &[1.0], false)?;
            let loss = graph.reduce("sum", Fold::Sum, largest, &[], false)?;
            let mut made = graph.gradient(loss, &[x])?;
            let other = graph.constant(2.5, &[]);
            let larger = graph.apply("maximum", &[x, other])?;
            let loss = graph.reduce("sum", Fold::Sum, larger, &[], false)?;
            made.extend(graph.gradient(loss, &[x])?);
            Ok::<_, leastwise::Error>(made)
        });
        let found = bench.read(&made.unwrap());
        same(bench.name, &found[0], &[0.0, 1.0, 0.0, 0.0, 0.5, 0.5]);
        same(bench.name, &found[1], &[0.0, 1.0, 1.0, 0.0, 1.0, 1.0]);
    }
}

#[test]
fn powers_have_slopes_below_zero() {
    for mut bench in benches() {
        let x = bench.tensor(&[-2.0, -0.5, 0.5, 2.0], &[4]);
        let made = bench.graph().made(|graph| {
            let mut made = Vec::new();
            for (exponent, literal) in [(2.0, true), (3.0, true), (-1.0, true), (2.0, false), (3.0, false)] {
                let power = match literal {
                    true => graph.operation("powInt", &[x], &[exponent])?,
                    false => graph.apply_number("pow", x, exponent)?,
                };
                let loss = graph.reduce("sum", Fold::Sum, power, &[], false)?;
                made.push(power);
                made.extend(graph.gradient(loss, &[x])?);
            }
            Ok::<_, leastwise::Error>(made)
        });
        let values = bench.read(&made.unwrap());
        for (k, exponent) in [2.0, 3.0, -1.0, 2.0, 3.0f64].into_iter().enumerate() {
            let right = [-2.0, -0.5, 0.5, 2.0f64].map(|x| (x.powf(exponent), exponent * x.powf(exponent - 1.0)));
            super::compare(bench.name, &values[2 * k], &right.map(|(value, _)| value), 8.0 * bench.epsilon());
            super::compare(bench.name, &values[2 * k + 1], &right.map(|(_, slope)| slope), 8.0 * bench.epsilon());
        }
    }
}

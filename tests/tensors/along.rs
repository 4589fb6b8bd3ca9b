//! Running sums and products, sorting, elements by numbers and sums by numbers: held to plain loops, and to central differences.

use super::gradients::check;
use super::support::{Random, fresh_seed};
use super::{Bench, benches, compare};
use leastwise::Error;
use leastwise::program::fused::Fold;
use leastwise::tensor::graph::Node;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

/// Shapes with an axis; of several lengths beside chunks and workgroups.
const SHAPES: [(&[u32], f64); 8] = [
    (&[2, 300, 3], 1.0),
    (&[5, 7], 0.0),
    (&[9000], 0.0),
    (&[3, 1], -1.0),
    (&[4, 129], -1.0),
    (&[0, 3], 1.0),
    (&[3, 0], 1.0),
    (&[2, 64, 65], -2.0),
];

/// Offsets of the lines along an axis: the first element of each, the distance of neighbours, and how many there are.
fn lines(shape: &[u32], axis: f64) -> (Vec<usize>, usize, usize) {
    let axis = if axis < 0.0 { axis + shape.len() as f64 } else { axis } as usize;
    let size = |sizes: &[u32]| sizes.iter().map(|&size| size as usize).product::<usize>();
    let (outer, n, inner) = (size(&shape[..axis]), shape[axis] as usize, size(&shape[axis + 1..]));
    ((0..outer * inner).map(|line| line / inner * n * inner + line % inner).collect(), inner, n)
}

fn values(bench: &mut Bench, node: Node) -> Vec<f64> {
    bench.graph().hold(node);
    bench.read(&[node]).remove(0)
}

fn same(what: &str, found: &[f64], right: &[f64]) {
    let is_same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
    assert!(found.len() == right.len() && found.iter().zip(right).all(is_same), "{what}: {found:?} instead of {right:?}");
}

#[test]
fn running_sums_and_products() {
    let seed = fresh_seed();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        for &(shape, axis) in bench.repeated(&SHAPES, 5) {
            let x = bench.random(&mut random, shape);
            let given = values(&mut bench, x);
            let made = bench.graph().made(|graph| {
                // Of a chain before it, and with one behind it.
                let doubled = graph.apply_number("mul", x, 0.5)?;
                let sums = graph.cumsum(doubled, axis)?;
                let shifted = graph.apply_number("add", x, 1.5)?;
                Ok::<_, Error>(vec![graph.apply_number("add", sums, 1.0)?, graph.cumprod(shifted, axis)?])
            });
            let made = made.unwrap();
            let found = bench.read(&made);
            let (starts, stride, n) = lines(shape, axis);
            let mut sums = vec![0.0; given.len()];
            for start in starts {
                let mut sum = 0.0;
                for k in 0..n {
                    sum += 0.5 * given[start + k * stride];
                    sums[start + k * stride] = 1.0 + sum;
                }
            }
            let what = format!("{}, seed {seed}, {shape:?} along {axis}", bench.name);
            compare(&what, &found[0], &sums, 60.0 * bench.epsilon());
            if n < 200 {
                let (starts, ..) = lines(shape, axis);
                let (found, tolerance) = (&found[1], 100.0 * bench.epsilon());
                for start in starts {
                    let mut product = 1.0;
                    for place in (0..n).map(|k| start + k * stride) {
                        product *= 1.5 + given[place];
                        assert!((found[place] - product).abs() <= tolerance * f64::abs(product), "{what}: {} {product}", found[place]);
                    }
                }
            }
        }
        // Products of parts may overflow where no product from the first element on does.
        for (line, right) in [([1e-20, 1e20, 1e20, 1e-20], [1e-20, 1.0, 1e20, 1.0]), ([0.0, 1e30, 1e30, 1e30], [0.0; 4])] {
            let x = bench.tensor(&line, &[4]);
            let products = bench.graph().cumprod(x, 0.0).unwrap();
            let found = values(&mut bench, products);
            let is_right = |(found, right): (&f64, &f64)| (found - right).abs() <= bench.epsilon() * right;
            assert!(found.iter().zip(&right).all(is_right), "{}: {found:?} instead of {right:?}", bench.name);
        }
        // What is not finite stays so from there on, and nowhere before.
        let mut line = vec![1.0; 200];
        (line[70], line[150]) = (INF, -INF);
        let x = bench.tensor(&line, &[200]);
        let sums = bench.graph().cumsum(x, 0.0).unwrap();
        let right: Vec<f64> = (0..200)
            .map(|k| {
                if k < 70 {
                    f64::from(k + 1)
                } else if k < 150 {
                    INF
                } else {
                    NAN
                }
            })
            .collect();
        same(bench.name, &values(&mut bench, sums), &right);
    }
}

#[test]
fn sorts_are_stable_and_have_nan_last() {
    let seed = fresh_seed();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        for &(shape, axis) in bench.repeated(&SHAPES, 5) {
            // Few kinds of numbers, so that many are equal.
            let size = shape.iter().product::<u32>();
            let kinds = [NAN, INF, -INF, -0.0, 0.0, 1.0, 2.0, 3.5, -7.0];
            let given: Vec<f64> = (0..size).map(|_| kinds[(random.between(0.0, 9.0) as usize).min(8)]).collect();
            let x = bench.tensor(&given, shape);
            let made = bench.graph().made(|graph| {
                Ok::<_, Error>(vec![
                    graph.argsort(x, axis, false)?,
                    graph.argsort(x, axis, true)?,
                    graph.sort(x, axis, false)?,
                    graph.sort(x, axis, true)?,
                ])
            });
            let found = bench.read(&made.unwrap());
            let (starts, stride, n) = lines(shape, axis);
            let mut right = vec![vec![0.0; given.len()]; 4];
            for start in starts {
                let at = |k: usize| given[start + k * stride];
                for descending in [false, true] {
                    let mut order: Vec<usize> = (0..n).collect();
                    order.sort_by(|&a, &b| {
                        let (a, b) = (at(a), at(b));
                        let order = a.partial_cmp(&b).map(|order| if descending { order.reverse() } else { order });
                        order.unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
                    });
                    for (k, &place) in order.iter().enumerate() {
                        right[usize::from(descending)][start + k * stride] = place as f64;
                        right[2 + usize::from(descending)][start + k * stride] = at(place);
                    }
                }
            }
            for (found, right) in found.iter().zip(&right) {
                same(&format!("{}, seed {seed}, {shape:?} along {axis}", bench.name), found, right);
            }
        }
    }
}

#[test]
fn elements_are_taken_and_put_by_their_numbers() {
    let seed = fresh_seed();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        for &(shape, taken, axis) in
            bench.repeated(&[(&[3u32, 7, 4][..], &[3u32, 11, 4][..], 1usize), (&[6], &[9], 0), (&[2, 5], &[2, 70], 1)], 3)
        {
            let (x, v) = (bench.random(&mut random, shape), bench.random(&mut random, taken));
            let n = f64::from(shape[axis]);
            let count = taken.iter().product::<u32>();
            // From the end, from the start, and beyond both.
            let numbers: Vec<f64> = (0..count).map(|_| random.between(-n - 2.0, n + 2.0).floor()).collect();
            let rows = bench.tensor(&numbers, taken);
            let (of_x, of_v) = (values(&mut bench, x), values(&mut bench, v));
            let made = bench.graph().made(|graph| {
                let axis = axis as f64;
                Ok::<_, Error>(vec![
                    graph.take_along_axis(x, rows, axis)?,
                    graph.scatter_add(x, rows, v, axis)?,
                    graph.put_along_axis(x, rows, v, axis)?,
                ])
            });
            let found = bench.read(&made.unwrap());
            let (mut took, mut sums, mut put) = (vec![0.0; of_v.len()], of_x.clone(), of_x.clone());
            let inner: usize = shape[axis + 1..].iter().map(|&size| size as usize).product();
            let (m, n) = (taken[axis] as usize, n as usize);
            for (place, &number) in numbers.iter().enumerate() {
                let counted = if number < 0.0 { number + n as f64 } else { number };
                let to = |number: usize| (place / inner / m * n + number) * inner + place % inner;
                took[place] = of_x[to(counted.clamp(0.0, n as f64 - 1.0) as usize)];
                if (0.0..n as f64).contains(&counted) {
                    sums[to(counted as usize)] += of_v[place];
                    put[to(counted as usize)] = of_v[place];
                }
            }
            let what = format!("{}, seed {seed}, {taken:?} of {shape:?}", bench.name);
            same(&what, &found[0], &took);
            compare(&what, &found[1], &sums, 20.0 * bench.epsilon());
            same(&what, &found[2], &put);
        }
        // Other axes broadcast, either way; nothing is taken or put.
        let x = bench.tensor(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
        let [row, column, none, all] =
            [(&[-1.0, 0.0][..], [1, 2]), (&[1.0, 0.0][..], [2, 1]), (&[][..], [2, 0]), (&[1.0, 0.0, 0.0][..], [1, 3])]
                .map(|(numbers, shape)| bench.tensor(numbers, &shape));
        let made = bench.graph().made(|graph| {
            let one = graph.constant(10.0, &[]);
            Ok::<_, Error>(vec![
                graph.take_along_axis(x, row, 1.0)?,
                graph.take_along_axis(x, column, 1.0)?,
                graph.take_along_axis(x, all, 0.0)?,
                graph.take_along_axis(x, none, 1.0)?,
                graph.put_along_axis(x, none, one, 1.0)?,
                graph.scatter_add(x, none, one, 1.0)?,
                graph.put_along_axis(x, row, one, 1.0)?,
                graph.scatter_add(x, row, one, 1.0)?,
            ])
        });
        let found = bench.read(&made.unwrap());
        let given = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let right: [&[f64]; 8] = [
            &[3.0, 1.0, 6.0, 4.0],
            &[2.0, 4.0],
            &[4.0, 2.0, 3.0],
            &[],
            &given,
            &given,
            &[10.0, 2.0, 10.0, 10.0, 5.0, 10.0],
            &[11.0, 2.0, 13.0, 14.0, 5.0, 16.0],
        ];
        found.iter().zip(right).for_each(|(found, right)| same(bench.name, found, right));
        let wide = bench.tensor(&[0.0; 6], &[2, 3]);
        let graph = bench.graph();
        for (refused, message) in [
            (graph.take_along_axis(x, row, 2.0), "there is no axis 2"),
            (graph.take_along_axis(x, wide, 1.0).and_then(|node| graph.reshape(node, &[4.0])), "has 6 elements"),
            (graph.cumsum(x, -3.0), "there is no axis -3"),
            (graph.operation("sort", &[x], &[0.0]), "it does not take"),
        ] {
            let found = refused.expect_err(message).to_string();
            assert!(found.contains(message), "{found}");
        }
        let flat = graph.reshape(x, &[6.0]).unwrap();
        assert!(graph.take_along_axis(flat, row, 0.0).unwrap_err().to_string().contains("of as many axes"));
        let single = graph.slice(x, 0.0, 0.0, 1.0, 1.0).unwrap();
        assert!(graph.scatter_add(single, wide, wide, 1.0).unwrap_err().to_string().contains("do not broadcast to [1, 3]"));
    }
}

#[test]
fn gradients_go_where_elements_came_from() {
    let seed = fresh_seed();
    for mut bench in benches() {
        let mut random = Random::new(seed);
        for (shape, axis) in [(&[3u32, 5, 2][..], 1.0), (&[140], 0.0)] {
            let x = bench.random(&mut random, shape);
            check(&mut bench, &format!("seed {seed}, running sums of {shape:?}"), &[x], |graph, x| {
                let squares = graph.apply("square", &[x[0]]).unwrap();
                graph.cumsum(squares, axis).unwrap()
            });
        }
        // With a 0 in its midst.
        let x = bench.tensor(&[0.5, -1.25, 0.0, 2.0, 0.75, 1.5], &[2, 3]);
        check(&mut bench, "running products", &[x], |graph, x| graph.cumprod(x[0], 1.0).unwrap());
        let x = bench.tensor(&[0.5, -1.25, 2.0, 0.0, 0.75, 1.5, -2.0, 1.0], &[4, 2]);
        check(&mut bench, "slopes of running products", &[x], |graph, x| {
            let products = graph.cumprod(x[0], 0.0).unwrap();
            let cubes = graph.operation("powInt", &[products], &[3.0]).unwrap();
            let sum = graph.reduce("sum", Fold::Sum, cubes, &[], false).unwrap();
            graph.gradient(sum, x).unwrap()[0]
        });
        let x = bench.tensor(&[3.0, -1.0, 2.0, 5.0, 0.5, -4.0, 1.0, 7.0], &[2, 4]);
        check(&mut bench, "sorted", &[x], |graph, x| {
            let (sorted, squares) = (graph.sort(x[0], 1.0, true).unwrap(), graph.apply("square", &[x[0]]).unwrap());
            let columns = graph.sort(squares, 0.0, false).unwrap();
            graph.apply("mul", &[sorted, columns]).unwrap()
        });
        // Of a number twice, beyond the end and from the end. What was read is the device's: every check has tensors of its own.
        let mut fresh = |bench: &mut Bench| {
            let rows = bench.tensor(&[2.0, -1.0, 9.0, 2.0, 0.0, -7.0], &[2, 3]);
            (rows, bench.random(&mut random, &[2, 4]), bench.random(&mut random, &[2, 3]))
        };
        let (rows, x, _) = fresh(&mut bench);
        check(&mut bench, &format!("seed {seed}, taken"), &[x], |graph, x| {
            let taken = graph.take_along_axis(x[0], rows, 1.0).unwrap();
            graph.apply("square", &[taken]).unwrap()
        });
        let (rows, x, v) = fresh(&mut bench);
        check(&mut bench, &format!("seed {seed}, added"), &[x, v], |graph, x| {
            let sums = graph.scatter_add(x[0], rows, x[1], 1.0).unwrap();
            graph.apply("square", &[sums]).unwrap()
        });
        let (rows, x, v) = fresh(&mut bench);
        check(&mut bench, &format!("seed {seed}, put"), &[x, v], |graph, x| {
            let put = graph.put_along_axis(x[0], rows, x[1], 1.0).unwrap();
            graph.apply("square", &[put]).unwrap()
        });
        // Rows by numbers that nobody knew beforehand.
        let numbers = bench.tensor(&[1.0, 3.0, -3.0], &[3]);
        let table = bench.random(&mut random, &[4, 2]);
        check(&mut bench, &format!("seed {seed}, gathered"), &[table], |graph, x| {
            let gathered = graph.gather(x[0], numbers).unwrap();
            graph.apply("square", &[gathered]).unwrap()
        });
        let (numbers, table) = (bench.tensor(&[1.0, -1.0, -4.0, 9.0, -9.0], &[5]), bench.tensor(&[5.0, 6.0, 7.0, 8.0], &[4]));
        let gathered = bench.graph().gather(table, numbers).unwrap();
        same(bench.name, &values(&mut bench, gathered), &[6.0, 8.0, 5.0, 8.0, 5.0]);
    }
}

/// Slopes of slopes: of running sums, of what is taken and of what is added.
#[test]
fn second_derivatives() {
    for mut bench in benches() {
        let x = bench.tensor(&[0.5, -1.0, 2.0], &[3]);
        let rows = bench.tensor(&[2.0, 0.0, 2.0, 1.0], &[4]);
        let made = bench.graph().made(|graph| {
            let taken = graph.take_along_axis(x, rows, 0.0)?;
            let sums = graph.cumsum(taken, 0.0)?;
            let cubes = graph.operation("powInt", &[sums], &[3.0])?;
            let loss = graph.reduce("sum", Fold::Sum, cubes, &[], false)?;
            let slopes = graph.gradient(loss, &[x])?;
            let squares = graph.apply("square", &[slopes[0]])?;
            let total = graph.reduce("sum", Fold::Sum, squares, &[], false)?;
            graph.gradient(total, &[x])
        });
        let found = bench.read(&made.unwrap()).remove(0);
        // With s = C x, C the running sums of what is taken: g = Cᵀ 3 s², and the slope of |g|² is 2 Cᵀ diag(6 s) C g.
        let c = [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, 2.0], [1.0, 1.0, 2.0]];
        let times = |x: [f64; 3]| c.map(|row| (0..3).map(|k| row[k] * x[k]).sum::<f64>());
        let back = |y: [f64; 4]| [0, 1, 2].map(|k| (0..4).map(|row| c[row][k] * y[row]).sum::<f64>());
        let s = times([0.5, -1.0, 2.0]);
        let g = back(s.map(|s| 3.0 * s * s));
        let of_g = times(g);
        let right = back([0, 1, 2, 3].map(|row| 6.0 * s[row] * of_g[row])).map(|slope| 2.0 * slope);
        compare(bench.name, &found, &right, 20.0 * bench.epsilon());
    }
}

//! Whole numbers along an axis, and products of their matrices: held to loops over i32, on every device.

use super::bench::DIVIDED;
use super::support::{Random, fresh_seed};
use super::{Bench, benches, beside_the_cpu};
use leastwise::device::Precision;
use leastwise::device::cpu::CpuDevice;
use leastwise::tensor::graph::{Graph, Node, Op, Values};
use leastwise::tensor::routing::Mode;

/// Shapes with an axis: ragged ones, of several lengths beside chunks and workgroups, with nothing along the axis and beside it.
const SHAPES: [(&[u32], usize); 8] =
    [(&[2, 300, 3], 1), (&[5, 7], 0), (&[4500], 0), (&[3, 1], 1), (&[4, 129], 1), (&[0, 3], 1), (&[3, 0], 1), (&[2, 64, 33], 1)];

/// Whole numbers over all words: ends, few values, so that many are equal, and neighbours that f32 does not tell apart.
fn words(random: &mut Random, count: usize) -> Vec<i32> {
    let word = |random: &mut Random| match random.below(6) {
        0 => i32::MIN,
        1 => i32::MAX,
        2 => random.below(5) as i32 - 2,
        3 => (1 << 30) + random.below(4) as i32,
        _ => random.below(1 << 32) as u32 as i32,
    };
    (0..count).map(|_| word(random)).collect()
}

fn size(shape: &[u32]) -> usize {
    shape.iter().map(|&size| size as usize).product()
}

fn integers(bench: &mut Bench, values: &[i32], shape: &[u32]) -> Node {
    let node = bench.graph().integers(values.iter().map(|&value| value as u32).collect(), shape.to_vec());
    bench.graph().hold(node)
}

fn operation(bench: &mut Bench, name: &str, inputs: &[Node], numbers: &[f64]) -> Node {
    let made = bench.graph().made(|graph| graph.operation(name, inputs, numbers).map(|node| vec![node]));
    made.unwrap_or_else(|error| panic!("{name}: {error}"))[0]
}

/// Values of tensors that must be of int32s.
fn read(bench: &mut Bench, nodes: &[Node]) -> Vec<Vec<i32>> {
    nodes.iter().for_each(|&node| assert_eq!(bench.graph().entry(node).values, Values::Integers));
    bench.read(nodes).into_iter().map(|values| values.into_iter().map(|value| value as i32).collect()).collect()
}

/// The places of a line's elements, of every line along an axis.
fn lines(shape: &[u32], axis: usize) -> Vec<Vec<usize>> {
    let (outer, n, inner) = (size(&shape[..axis]), shape[axis] as usize, size(&shape[axis + 1..]));
    let line = |number: usize| (0..n).map(|k| (number / inner * n + k) * inner + number % inner).collect();
    (0..outer * inner).map(line).collect()
}

#[test]
fn order_is_exact_and_stable() {
    for mut bench in benches() {
        let mut random = Random::new(fresh_seed());
        for (shape, axis) in SHAPES {
            let values = words(&mut random, size(shape));
            let x = integers(&mut bench, &values, shape);
            for descending in [false, true] {
                let numbers = [axis as f64, f64::from(u8::from(descending))];
                let made = ["sort", "argsort"].map(|name| operation(&mut bench, name, &[x], &numbers));
                let taken = operation(&mut bench, "takeAlongAxis", &[x, made[1]], &[axis as f64]);
                let found = read(&mut bench, &[made[0], made[1], taken]);
                let (mut sorted, mut places) = (values.clone(), vec![0; values.len()]);
                for line in lines(shape, axis) {
                    let mut order: Vec<usize> = (0..line.len()).collect();
                    let key = |k: &usize| i64::from(values[line[*k]]) * if descending { -1 } else { 1 };
                    order.sort_by_key(key);
                    for (k, &from) in order.iter().enumerate() {
                        (sorted[line[k]], places[line[k]]) = (values[line[from]], from as i32);
                    }
                }
                let what = format!("{}: {shape:?} along {axis}, descending {descending}", bench.name);
                assert_eq!(found[0], sorted, "sort, {what}");
                assert_eq!(found[1], places, "argsort, {what}");
                assert_eq!(found[2], sorted, "taken by argsort, {what}");
                [made[0], made[1], taken].iter().for_each(|&node| bench.graph().release(node));
            }
        }
    }
}

#[test]
fn running_sums_and_products_wrap() {
    for mut bench in benches() {
        let mut random = Random::new(fresh_seed());
        for (shape, axis) in SHAPES {
            // Odd ones, whose products are never 0.
            let values: Vec<i32> = words(&mut random, size(shape)).into_iter().map(|value| value | 1).collect();
            let x = integers(&mut bench, &values, shape);
            for (name, next) in [("cumsum", i32::wrapping_add as fn(i32, i32) -> i32), ("cumprod", i32::wrapping_mul)] {
                let made = operation(&mut bench, name, &[x], &[axis as f64]);
                let mut expected = values.clone();
                for line in lines(shape, axis) {
                    (1..line.len()).for_each(|k| expected[line[k]] = next(expected[line[k - 1]], values[line[k]]));
                }
                assert_eq!(read(&mut bench, &[made])[0], expected, "{}: {name} of {shape:?} along {axis}", bench.name);
                bench.graph().release(made);
            }
        }
    }
}

/// Numbers of places, some of them from the end, some beyond both ends.
fn numbers(random: &mut Random, count: usize, n: u32) -> Vec<i32> {
    (0..count).map(|_| random.below((3 * n + 4).into()) as i32 - (3 * n / 2) as i32 - 2).collect()
}

/// Place that a number points to along an axis of n, counted from the end below 0.
fn place(number: i32, n: u32) -> i32 {
    if number < 0 { number + n as i32 } else { number }
}

#[test]
fn elements_are_taken_put_and_added_by_numbers() {
    for mut bench in benches() {
        let mut random = Random::new(fresh_seed());
        for (shape, axis, count) in [(&[2u32, 9, 5][..], 1, 14u32), (&[40], 0, 700), (&[6, 3], 1, 4), (&[3, 4], 0, 0), (&[0, 3], 1, 2)] {
            let n = shape[axis];
            let mut of_numbers = shape.to_vec();
            of_numbers[axis] = count;
            let (values, more) = (words(&mut random, size(shape)), words(&mut random, size(&of_numbers)));
            let by = numbers(&mut random, more.len(), n);
            let x = integers(&mut bench, &values, shape);
            let [given, y] = [&by, &more].map(|values| integers(&mut bench, values, &of_numbers));
            let axis_number = [axis as f64];
            let taken = operation(&mut bench, "takeAlongAxis", &[x, given], &axis_number);
            let put = operation(&mut bench, "putAlongAxis", &[x, given, y], &axis_number);
            let added = operation(&mut bench, "scatterAdd", &[x, given, y], &axis_number);
            let found = read(&mut bench, &[taken, put, added]);
            let (mut of_taken, mut of_put, mut of_added) = (more.clone(), values.clone(), values.clone());
            for (line, from) in lines(shape, axis).iter().zip(lines(&of_numbers, axis)) {
                for t in from {
                    let at = place(by[t], n);
                    of_taken[t] = values[line[at.clamp(0, n as i32 - 1) as usize]];
                    if (0..n as i32).contains(&at) {
                        let to = line[at as usize];
                        (of_put[to], of_added[to]) = (more[t], of_added[to].wrapping_add(more[t]));
                    }
                }
            }
            let what = format!("{}: {count} of {shape:?} along {axis}", bench.name);
            assert_eq!(found[0], of_taken, "taken, {what}");
            assert_eq!(found[1], of_put, "put, {what}");
            assert_eq!(found[2], of_added, "added, {what}");
        }
    }
}

/// Places of a table of more elements than f32 tells apart, read by a kernel of reals.
#[test]
fn elements_far_behind_are_taken_where_reals_read_them() {
    let mut bench = Bench::cpu(Precision::F32, CpuDevice::default_limits());
    let n = (1u32 << 23) + 8;
    let table: Vec<i32> = (0..2 * n).map(|place| (place % 1009) as i32).collect();
    let x = integers(&mut bench, &table, &[2, n]);
    let by: Vec<i32> = (0..6).map(|k| n as i32 - 1 - k).collect();
    let given = integers(&mut bench, &by, &[2, 3]);
    let taken = operation(&mut bench, "takeAlongAxis", &[x, given], &[1.0]);
    let reals = operation(&mut bench, "real", &[taken], &[]);
    let twice = operation(&mut bench, "add", &[reals, reals], &[]);
    let of = |(k, &place): (usize, &i32)| 2.0 * f64::from(table[k / 3 * n as usize + place as usize]);
    let expected: Vec<f64> = by.iter().enumerate().map(of).collect();
    assert_eq!(bench.read(&[twice])[0], expected);
}

/// Kinds of x and values: the greater one counts, and a number is an int32.
#[test]
fn what_is_put_decides_with_what_is_there() {
    for mut bench in benches() {
        let x = integers(&mut bench, &[16_777_217, 2, 3], &[3]);
        let by = bench.tensor(&[0.0, 0.0, -1.0], &[3]);
        let [number, half] = [-2_147_483_648.0, 0.5].map(|value| bench.graph().constant(value, &[]));
        let put = operation(&mut bench, "putAlongAxis", &[x, by, number], &[0.0]);
        let added = operation(&mut bench, "scatterAdd", &[x, by, number], &[0.0]);
        let found = read(&mut bench, &[put, added]);
        assert_eq!(found[0], [i32::MIN, 2, i32::MIN], "{}", bench.name);
        assert_eq!(found[1], [16_777_217, 2, i32::MIN + 3], "{}", bench.name);
        let error = bench.graph().operation("putAlongAxis", &[x, by, half], &[0.0]).expect_err("a half").to_string();
        assert!(error.contains("no int32"), "{error}");
        let zero = bench.graph().constant(0.0, &[]);
        let truth = operation(&mut bench, "less", &[x, zero], &[]);
        let counted = operation(&mut bench, "scatterAdd", &[truth, by, x], &[0.0]);
        assert_eq!(read(&mut bench, &[counted])[0], [16_777_219, 0, 3], "{}", bench.name);
        let reals = bench.tensor(&[0.25, 0.5, 0.75], &[3]);
        let mixed = operation(&mut bench, "scatterAdd", &[x, by, reals], &[0.0]);
        assert_eq!(bench.graph().entry(mixed).values, Values::Reals);
        assert_eq!(bench.read(&[mixed])[0][1..], [2.0, 3.75], "{}", bench.name);
    }
}

/// Truths stay such where they are moved, and are counted as int32s.
#[test]
fn truths_are_ordered_moved_and_counted() {
    for mut bench in benches() {
        let x = integers(&mut bench, &[5, -5, 3, -7], &[4]);
        let zero = bench.graph().constant(0.0, &[]);
        let truths = operation(&mut bench, "less", &[x, zero], &[]);
        let by = bench.tensor(&[1.0, 0.0, -1.0], &[3]);
        let two = operation(&mut bench, "slice", &[truths], &[0.0, 0.0, 3.0, 1.0]);
        let sorted = operation(&mut bench, "sort", &[truths], &[0.0, 1.0]);
        let taken = operation(&mut bench, "takeAlongAxis", &[truths, by], &[0.0]);
        let put = operation(&mut bench, "putAlongAxis", &[truths, by, two], &[0.0]);
        for node in [sorted, taken, put] {
            assert_eq!(bench.graph().entry(node).values, Values::Booleans);
        }
        let found = bench.read(&[sorted, taken, put]);
        assert_eq!(found, [vec![1.0, 1.0, 0.0, 0.0], vec![1.0, 0.0, 1.0], vec![1.0, 0.0, 0.0, 0.0]], "{}", bench.name);
        let counts = ["cumsum", "cumprod"].map(|name| operation(&mut bench, name, &[truths], &[0.0]));
        assert_eq!(read(&mut bench, &counts), [vec![0, 1, 1, 2], vec![0; 4]], "{}", bench.name);
    }
}

/// Matrices, vectors and batches that broadcast; depths of nothing, of one element, and such as are folded in parts.
#[test]
fn products_of_matrices_wrap() {
    let shapes: [(&[u32], &[u32]); 12] = [
        (&[3, 4], &[4, 5]),
        (&[17, 33], &[33, 19]),
        (&[2, 1040], &[1040, 3]),
        (&[1, 7], &[7, 1]),
        (&[6], &[6]),
        (&[5, 6], &[6]),
        (&[6], &[6, 4]),
        (&[2, 1, 3, 4], &[5, 4, 2]),
        (&[4, 3, 5], &[5, 2]),
        (&[3, 1], &[1, 3]),
        (&[3, 0], &[0, 2]),
        (&[0, 3], &[3, 2]),
    ];
    for mut bench in benches() {
        let mut random = Random::new(fresh_seed());
        for (left, right) in shapes {
            let (a, b) = (words(&mut random, size(left)), words(&mut random, size(right)));
            let [x, y] = [(&a, left), (&b, right)].map(|(values, shape)| integers(&mut bench, values, shape));
            let product = operation(&mut bench, "matmul", &[x, y], &[]);
            let found = read(&mut bench, &[product]).remove(0);
            let made = bench.tensors.statistics.kernels;
            assert!(made <= 2, "{}: {left:?} × {right:?} is {made} kernels", bench.name);

            let (m, k) = if left.len() == 1 { (1, left[0]) } else { (left[left.len() - 2], left[left.len() - 1]) };
            let n = if right.len() == 1 { 1 } else { right[right.len() - 1] };
            let [m, k, n] = [m, k, n].map(|size| size as usize);
            let batches = |shape: &[u32]| size(&shape[..shape.len().saturating_sub(2)]);
            let all = found.len().checked_div(m * n).unwrap_or(0);
            let mut expected = Vec::new();
            for batch in 0..all {
                // [2, 1] and [5] are [2, 5].
                let (of_a, of_b) = if left.len() == 4 { (batch / 5, batch % 5) } else { (batch % batches(left), batch % batches(right)) };
                for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                    let products = (0..k).map(|l| a[(of_a * m + i) * k + l].wrapping_mul(b[(of_b * k + l) * n + j]));
                    expected.push(products.fold(0, i32::wrapping_add));
                }
            }
            assert_eq!(found, expected, "{}: {left:?} × {right:?}", bench.name);
        }
        let x = integers(&mut bench, &[1, 2, 3, 4], &[2, 2]);
        let half = bench.tensor(&[0.5, 0.0, 0.0, 0.5], &[2, 2]);
        let mixed = operation(&mut bench, "matmul", &[x, half], &[]);
        assert_eq!(bench.graph().entry(mixed).values, Values::Reals);
        assert_eq!(bench.read(&[mixed])[0], [0.5, 1.0, 1.5, 2.0], "{}", bench.name);
    }
}

/// Products that are more than words count are added up in parts, whose depths are all of it.
#[test]
fn long_products_are_cut() {
    let mut graph = Graph::new(4);
    let side = 1 << 15;
    let [a, b] = [[side, 8], [8, side]].map(|shape| {
        let one = graph.integers(vec![3], vec![1, 1]);
        graph.operation("broadcastTo", &[one], &shape.map(f64::from)).expect("a matrix")
    });
    let product = graph.operation("matmul", &[a, b], &[]).expect("a product");
    assert_eq!(graph.shape(product), [side, side]);
    let nodes = graph.order(&[product]);
    let sums = nodes.iter().map(|&node| graph.entry(node)).filter(|entry| matches!(entry.op, Op::Reduce { .. }));
    let depths: Vec<u32> = sums.map(|entry| graph.shape(entry.inputs[0])[2]).collect();
    assert_eq!(depths, [3, 3, 2]);
    assert!(depths.iter().all(|depth| u64::from(side) * u64::from(side) * u64::from(*depth) < 1 << 32));
}

/// Rows and columns of views: padded, turned and gathered; many results, and few.
#[test]
fn views_are_folded_wherever_they_lie() {
    for mut bench in benches() {
        let mut random = Random::new(fresh_seed());
        let [m, n] = [70usize, 130];
        let values = words(&mut random, m * n);
        let x = integers(&mut bench, &values, &[m as u32, n as u32]);
        let rows: Vec<i32> = (0..m as i32).map(|i| i * 3 % m as i32).collect();
        let by = integers(&mut bench, &rows, &[m as u32]);
        let turned = operation(&mut bench, "transpose", &[x], &[1.0, 0.0]);
        let padded = operation(&mut bench, "pad", &[x], &[1.0, 2.0, 3.0, 0.0]);
        let flipped = operation(&mut bench, "flip", &[x], &[1.0]);
        let gathered = operation(&mut bench, "gather", &[x, by], &[]);
        let at = |i: usize, j: usize| values[i * n + j];
        let views: [(&str, Node, [usize; 2], Vec<i32>); 4] = [
            ("turned", turned, [n, m], (0..m * n).map(|place| at(place % m, place / m)).collect()),
            (
                "padded",
                padded,
                [m, n + 5],
                (0..m * (n + 5))
                    .map(|p| (p / (n + 5), p % (n + 5)))
                    .map(|(i, j)| if (2..n + 2).contains(&j) { at(i, j - 2) } else { 0 })
                    .collect(),
            ),
            ("flipped", flipped, [m, n], (0..m * n).map(|place| at(place / n, n - 1 - place % n)).collect()),
            ("gathered", gathered, [m, n], (0..m * n).map(|place| at(rows[place / n] as usize, place % n)).collect()),
        ];
        for (view, node, [height, width], values) in views {
            for (name, fold) in [("sum", i32::wrapping_add as fn(i32, i32) -> i32), ("max", i32::max), ("min", i32::min)] {
                let found = [0.0, 1.0].map(|axis| operation(&mut bench, name, &[node], &[0.0, axis]));
                let found = read(&mut bench, &found);
                let fold = |line: Vec<i32>| line.into_iter().reduce(fold).expect("an element");
                let down: Vec<i32> = (0..width).map(|j| fold((0..height).map(|i| values[i * width + j]).collect())).collect();
                let along: Vec<i32> = values.chunks(width).map(|row| fold(row.to_vec())).collect();
                assert_eq!(found[0], down, "{}: {name} down, {view}", bench.name);
                assert_eq!(found[1], along, "{}: {name} along, {view}", bench.name);
            }
        }
        // A product with both factors turned.
        let gram = operation(&mut bench, "matmul", &[turned, x], &[]);
        let outer = operation(&mut bench, "matmul", &[x, turned], &[]);
        let found = read(&mut bench, &[gram, outer]);
        let dot = |line: Vec<i32>| line.into_iter().fold(0, i32::wrapping_add);
        let expected: Vec<i32> = (0..n * n).map(|p| dot((0..m).map(|i| at(i, p / n).wrapping_mul(at(i, p % n))).collect())).collect();
        assert_eq!(found[0], expected, "{}: xᵀ x", bench.name);
        let expected: Vec<i32> = (0..m * m).map(|p| dot((0..n).map(|j| at(p / m, j).wrapping_mul(at(p % m, j))).collect())).collect();
        assert_eq!(found[1], expected, "{}: x xᵀ", bench.name);
    }
}

/// Order made on one device and read on the other.
#[test]
fn half_of_a_plan_runs_on_each_device() {
    let mut bench = beside_the_cpu();
    bench.tensors.router.set(Mode::Auto, Some(DIVIDED));
    let values = words(&mut Random::new(fresh_seed()), 4096);
    let x = integers(&mut bench, &values, &[64, 64]);
    let sorted = operation(&mut bench, "sort", &[x], &[1.0, 0.0]);
    let sums = operation(&mut bench, "cumsum", &[sorted], &[1.0]);
    let real = operation(&mut bench, "real", &[sums], &[]);
    let unit = bench.tensor(&(0..4096).map(|k| f64::from(k % 65 == 0)).collect::<Vec<f64>>(), &[64, 64]);
    let product = operation(&mut bench, "matmul", &[real, unit], &[]);
    let whole = operation(&mut bench, "int32", &[product], &[]);
    let both = operation(&mut bench, "bitwiseXor", &[whole, sorted], &[]);
    let mut expected = values;
    for row in expected.chunks_mut(64) {
        row.sort();
        let mut sum = 0i32;
        for value in row {
            sum = sum.wrapping_add(*value);
            *value ^= sum as f32 as i32;
        }
    }
    assert_eq!(read(&mut bench, &[both])[0], expected);
    let places: Vec<&str> = bench.tensors.trace.iter().map(|step| step.place).collect();
    assert!(places.contains(&"webgpu") && places.contains(&"cpu"), "{places:?}");
}

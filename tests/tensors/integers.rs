//! Integers and booleans: every operation on all pairs of edge values, on every device, against i32 itself; and what is between them
//! and reals.

use super::bench::DIVIDED;
use super::{Bench, benches, beside_the_cpu};
use leastwise::device::Precision;
use leastwise::tensor::graph::{Data, Node, Values};
use leastwise::tensor::routing::Mode;

/// Ends, zero and its neighbours, where f32 leaves out whole numbers, and where products overflow.
const EDGES: [i32; 24] = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    -3,
    7,
    -7,
    31,
    32,
    33,
    46340,
    46341,
    -46341,
    65536,
    (1 << 24) - 1,
    (1 << 24) + 1,
    -(1 << 24) - 1,
    0x5555_5555,
    i32::MAX,
    i32::MAX - 1,
    i32::MIN,
    i32::MIN + 1,
];

fn integers(bench: &mut Bench, values: &[i32], shape: &[u32]) -> Node {
    let node = bench.graph().integers(values.iter().map(|&value| value as u32).collect(), shape.to_vec());
    bench.graph().hold(node)
}

fn reals(bench: &mut Bench, values: &[f64]) -> Node {
    bench.tensor(values, &[values.len() as u32])
}

fn operation(bench: &mut Bench, name: &str, inputs: &[Node], numbers: &[f64]) -> Node {
    let made = bench.graph().operation(name, inputs, numbers).unwrap_or_else(|error| panic!("{name}: {error}"));
    bench.graph().hold(made)
}

fn read(bench: &mut Bench, node: Node) -> Vec<f64> {
    bench.read(&[node]).remove(0)
}

/// Result by i64 and by NumPy's rules, written another way than the engine has it.
fn right(name: &str, a: i32, b: i32) -> i64 {
    let (wide_a, wide_b) = (i64::from(a), i64::from(b));
    let floor = || (wide_a as f64 / wide_b as f64).floor() as i64;
    match name {
        "add" => wide_a + wide_b,
        "sub" => wide_a - wide_b,
        "mul" => wide_a * wide_b,
        "floorDivide" if b == 0 => 0,
        "floorDivide" => floor(),
        "mod" if b == 0 => 0,
        "mod" => wide_a - wide_b * floor(),
        "pow" if b < 0 => match a {
            1 => 1,
            -1 if b % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        },
        "pow" => {
            // Factors beyond 2³² repeat the low words of lower powers, or are 0.
            let mut power = 1i32;
            let mut left = b;
            let mut square = a;
            while left > 0 {
                if left % 2 == 1 {
                    power = power.wrapping_mul(square);
                }
                square = square.wrapping_mul(square);
                left /= 2;
            }
            power.into()
        }
        "minimum" => wide_a.min(wide_b),
        "maximum" => wide_a.max(wide_b),
        "less" => (a < b).into(),
        "lessEqual" => (a <= b).into(),
        "equal" => (a == b).into(),
        "notEqual" => (a != b).into(),
        "bitwiseAnd" => (a & b).into(),
        "bitwiseOr" => (a | b).into(),
        "bitwiseXor" => (a ^ b).into(),
        "shiftLeft" if (0..32).contains(&b) => wide_a << b,
        "shiftLeft" => 0,
        "shiftRight" if (0..32).contains(&b) => wide_a >> b,
        "shiftRight" => -i64::from(a < 0),
        _ => panic!("{name}"),
    }
}

const OF_TWO: [&str; 17] = [
    "add",
    "sub",
    "mul",
    "floorDivide",
    "mod",
    "pow",
    "minimum",
    "maximum",
    "less",
    "lessEqual",
    "equal",
    "notEqual",
    "bitwiseAnd",
    "bitwiseOr",
    "bitwiseXor",
    "shiftLeft",
    "shiftRight",
];

#[test]
fn operations_on_all_pairs_of_edges_are_exact() {
    for mut bench in benches() {
        let count = EDGES.len() as u32;
        let [rows, columns] = [[count, 1], [1, count]].map(|shape| integers(&mut bench, &EDGES, &shape));
        for name in OF_TWO {
            let made = operation(&mut bench, name, &[rows, columns], &[]);
            let found = read(&mut bench, made);
            for (i, &found) in found.iter().enumerate() {
                let (a, b) = (EDGES[i / EDGES.len()], EDGES[i % EDGES.len()]);
                assert_eq!(found, f64::from(right(name, a, b) as i32), "{}: {name}({a}, {b})", bench.name);
            }
        }
        for (name, right) in [
            ("neg", i32::wrapping_neg as fn(i32) -> i32),
            ("abs", i32::wrapping_abs),
            ("sign", i32::signum),
            ("bitwiseNot", |a| !a),
            ("square", |a| a.wrapping_mul(a)),
            ("floor", |a| a),
        ] {
            let made = operation(&mut bench, name, &[rows], &[]);
            let expected: Vec<f64> = EDGES.iter().map(|&a| right(a).into()).collect();
            assert_eq!(read(&mut bench, made), expected, "{}: {name}", bench.name);
        }
        // Numbers beside tensors, in the text and given.
        for number in [1.0, 2.0, 3.0, 16_777_217.0, -2_147_483_648.0] {
            let number_node = bench.graph().constant(number, &[]);
            let made = operation(&mut bench, "mul", &[rows, number_node], &[]);
            let expected: Vec<f64> = EDGES.iter().map(|&a| a.wrapping_mul(number as i32).into()).collect();
            assert_eq!(read(&mut bench, made), expected, "{}: times {number}", bench.name);
        }
    }
}

#[test]
fn a_chain_is_one_kernel_and_equals_its_parts() {
    for mut bench in benches() {
        let rows = integers(&mut bench, &EDGES, &[24]);
        let numbers: Vec<Node> = [3.0, 7.0, 16_777_217.0].iter().map(|&number| bench.graph().constant(number, &[])).collect();
        let scaled = operation(&mut bench, "mul", &[rows, numbers[2]], &[]);
        let shifted = operation(&mut bench, "add", &[scaled, numbers[0]], &[]);
        let rest = operation(&mut bench, "mod", &[shifted, numbers[1]], &[]);
        let is_small = operation(&mut bench, "less", &[rest, numbers[0]], &[]);
        let chosen = operation(&mut bench, "where", &[is_small, rest, shifted], &[]);
        let expected: Vec<f64> = EDGES
            .iter()
            .map(|&a| {
                let shifted = a.wrapping_mul(16_777_217).wrapping_add(3);
                let rest = shifted.rem_euclid(7);
                f64::from(if rest < 3 { rest } else { shifted })
            })
            .collect();
        [scaled, shifted, rest, is_small].iter().for_each(|&node| bench.graph().release(node));
        assert_eq!(read(&mut bench, chosen), expected, "{}", bench.name);
    }
}

#[test]
fn casts_are_whole_parts_at_the_ends_and_nearest_reals() {
    for mut bench in benches() {
        let values = [0.5, -0.5, 1.9, -1.9, 2_147_483_520.0, 3e9, -3e9, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0, 16_777_216.0];
        let given = reals(&mut bench, &values);
        let whole = operation(&mut bench, "int32", &[given], &[]);
        let expected: Vec<f64> = values.iter().map(|&value| f64::from(value as i32)).collect();
        assert_eq!(read(&mut bench, whole), expected, "{}: to int32", bench.name);
        let truths = operation(&mut bench, "bool", &[given], &[]);
        let expected: Vec<f64> = values.iter().map(|&value| f64::from(value != 0.0)).collect();
        assert_eq!(read(&mut bench, truths), expected, "{}: to bool", bench.name);
        assert_eq!(bench.graph().entry(truths).values, Values::Booleans);

        let edges = integers(&mut bench, &EDGES, &[24]);
        let real = operation(&mut bench, "real", &[edges], &[]);
        let is_double = bench.device.precision() == Precision::F64;
        let nearest = |a: &i32| if is_double { f64::from(*a) } else { f64::from(*a as f32) };
        assert_eq!(read(&mut bench, real), EDGES.iter().map(nearest).collect::<Vec<_>>(), "{}: to reals", bench.name);
        let truths = operation(&mut bench, "bool", &[edges], &[]);
        let expected: Vec<f64> = EDGES.iter().map(|&a| f64::from(a != 0)).collect();
        assert_eq!(read(&mut bench, truths), expected, "{}: int32 to bool", bench.name);
        let back = operation(&mut bench, "int32", &[truths], &[]);
        assert_eq!(read(&mut bench, back), expected, "{}: bool to int32", bench.name);

        // Of two kinds the greater counts, and quotients are real.
        let halves = bench.tensor(&[0.5; 24], &[24]);
        let sum = operation(&mut bench, "add", &[edges, halves], &[]);
        assert_eq!(bench.graph().entry(sum).values, Values::Reals);
        let round = |x: f64| if is_double { x } else { f64::from(x as f32) };
        let expected: Vec<f64> = EDGES.iter().map(|a| round(nearest(a) + 0.5)).collect();
        assert_eq!(read(&mut bench, sum), expected, "{}: int32 + real", bench.name);
        let two = bench.graph().constant(2.0, &[]);
        let quotient = operation(&mut bench, "div", &[edges, two], &[]);
        assert_eq!(read(&mut bench, quotient), EDGES.iter().map(|a| nearest(a) / 2.0).collect::<Vec<_>>(), "{}", bench.name);
    }
}

#[test]
fn views_join_and_choose_integers() {
    for mut bench in benches() {
        let large: Vec<i32> = (0..60).map(|k| (1 << 24) + 1 + 1_000_003 * k).collect();
        let x = integers(&mut bench, &large, &[3, 4, 5]);
        let turned = operation(&mut bench, "transpose", &[x], &[2.0, 0.0, 1.0]);
        let part = operation(&mut bench, "slice", &[turned], &[0.0, 1.0, 5.0, 2.0]);
        let flat = operation(&mut bench, "reshape", &[part], &[-1.0]);
        let at = |i: usize, j: usize, k: usize| f64::from(large[20 * i + 5 * j + k]);
        let expected: Vec<f64> =
            [1, 3].iter().flat_map(|&k| (0..3).flat_map(move |i| (0..4).map(move |j| (i, j, k)))).map(|(i, j, k)| at(i, j, k)).collect();
        assert_eq!(read(&mut bench, flat), expected, "{}: views", bench.name);

        let padded = operation(&mut bench, "pad", &[x], &[1.0, 1.0, 2.0, 16_777_217.0]);
        let expected: Vec<f64> = (0..3)
            .flat_map(|i| (0..7).flat_map(move |j| (0..5).map(move |k| (i, j, k))))
            .map(|(i, j, k)| if (1..5).contains(&j) { at(i, j - 1, k) } else { 16_777_217.0 })
            .collect();
        assert_eq!(read(&mut bench, padded), expected, "{}: pad", bench.name);

        let both = operation(&mut bench, "concat", &[x, x, x, x, x, x, x], &[0.0]);
        let expected: Vec<f64> = (0..7).flat_map(|_| large.iter().map(|&value| f64::from(value))).collect();
        assert_eq!(read(&mut bench, both), expected, "{}: concat", bench.name);

        let rows = integers(&mut bench, &[2, 0, -1, 1], &[4]);
        let picked = operation(&mut bench, "gather", &[x, rows], &[]);
        let expected: Vec<f64> = [2, 0, 2, 1].iter().flat_map(|&i| large[20 * i..][..20].iter().map(|&value| f64::from(value))).collect();
        assert_eq!(read(&mut bench, picked), expected, "{}: gather", bench.name);
        let table = bench.tensor(&[0.25, 0.5, 0.75], &[3]);
        let picked = operation(&mut bench, "gather", &[table, rows], &[]);
        assert_eq!(read(&mut bench, picked), [0.75, 0.25, 0.75, 0.5], "{}: gather of reals", bench.name);

        // Counts are whole, however large.
        let count = operation(&mut bench, "count", &[], &[60.0]);
        let whole = operation(&mut bench, "int32", &[count], &[]);
        let step = bench.graph().constant(33_554_433.0, &[]);
        let far = operation(&mut bench, "mul", &[whole, step], &[]);
        let expected: Vec<f64> = (0..60).map(|k: i32| k.wrapping_mul(33_554_433).into()).collect();
        assert_eq!(read(&mut bench, far), expected, "{}: arange", bench.name);
    }
}

#[test]
fn reductions_are_exact() {
    for mut bench in benches() {
        let values: Vec<i32> = (0..4200).map(|k: i32| k.wrapping_mul(-1_640_531_527) >> (k % 9)).collect();
        let x = integers(&mut bench, &values, &[6, 700]);
        let rows = || values.chunks(700);
        let columns = |fold: fn(i32, i32) -> i32| -> Vec<f64> {
            (0..700).map(|c| rows().map(|row| row[c]).reduce(fold).map_or(0.0, f64::from)).collect()
        };
        let along =
            |fold: fn(i32, i32) -> i32| -> Vec<f64> { rows().filter_map(|row| row.iter().copied().reduce(fold)).map(f64::from).collect() };
        for (name, fold) in [("sum", i32::wrapping_add as fn(i32, i32) -> i32), ("max", i32::max), ("min", i32::min)] {
            let [down, across, all] = [&[0.0, 0.0][..], &[0.0, 1.0], &[0.0]].map(|numbers| operation(&mut bench, name, &[x], numbers));
            assert_eq!(read(&mut bench, down), columns(fold), "{}: {name} of columns", bench.name);
            assert_eq!(read(&mut bench, across), along(fold), "{}: {name} of rows", bench.name);
            let whole = values.iter().copied().reduce(fold).map_or(0.0, f64::from);
            assert_eq!(read(&mut bench, all), [whole], "{}: {name} of all", bench.name);
        }
        let largest = operation(&mut bench, "argmax", &[x], &[1.0]);
        let expected: Vec<f64> =
            rows().map(|row| row.iter().position(|value| Some(value) == row.iter().max()).unwrap_or(0) as f64).collect();
        assert_eq!(read(&mut bench, largest), expected, "{}: argmax", bench.name);
        assert_eq!(bench.graph().entry(largest).values, Values::Integers);
        let mean = operation(&mut bench, "mean", &[x], &[0.0]);
        assert_eq!(bench.graph().entry(mean).values, Values::Reals);

        // A fused expression, folded; truths are counted as integers.
        let limit = bench.graph().constant(5.0, &[]);
        let is_small = operation(&mut bench, "less", &[x, limit], &[]);
        let count = operation(&mut bench, "sum", &[is_small], &[0.0]);
        let expected = values.iter().filter(|&&value| value < 5).count() as f64;
        assert_eq!(read(&mut bench, count), [expected], "{}: count", bench.name);
        assert_eq!(bench.graph().entry(count).values, Values::Integers);
        for (name, expected) in [("any", [1.0; 6]), ("all", [0.0; 6])] {
            let found = operation(&mut bench, name, &[is_small], &[0.0, 1.0]);
            assert_eq!(read(&mut bench, found), expected, "{}: {name}", bench.name);
        }
        let none = integers(&mut bench, &[], &[0, 3]);
        for (name, expected) in [("sum", 0.0), ("any", 0.0), ("all", 1.0)] {
            let found = operation(&mut bench, name, &[none], &[0.0, 0.0]);
            assert_eq!(read(&mut bench, found), [expected; 3], "{}: {name} of none", bench.name);
        }
    }
}

#[test]
fn booleans_are_truths() {
    for mut bench in benches() {
        let x = reals(&mut bench, &[-1.0, 0.0, 2.0, f64::NAN]);
        let y = reals(&mut bench, &[0.0, 0.0, 1.0, 1.0]);
        let a = operation(&mut bench, "less", &[x, y], &[]);
        let b = operation(&mut bench, "notEqual", &[x, y], &[]);
        let expected = [("logicalAnd", [1.0, 0.0, 0.0, 0.0]), ("logicalOr", [1.0, 0.0, 1.0, 1.0]), ("logicalXor", [0.0, 0.0, 1.0, 1.0])];
        for (name, expected) in expected {
            let made = operation(&mut bench, name, &[a, b], &[]);
            assert_eq!(bench.graph().entry(made).values, Values::Booleans, "{name}");
            assert_eq!(read(&mut bench, made), expected, "{}: {name}", bench.name);
        }
        let not = operation(&mut bench, "logicalNot", &[y], &[]);
        assert_eq!(read(&mut bench, not), [1.0, 1.0, 0.0, 0.0], "{}: logicalNot of reals", bench.name);
        for (name, expected) in [("floorDivide", [-1.0, 0.0, 1.0]), ("mod", [1.0, 0.0, 0.5])] {
            let [a, b] = [[-1.0, 0.0, 2.5], [2.0, 2.0, 2.0]].map(|values| reals(&mut bench, &values));
            let made = operation(&mut bench, name, &[a, b], &[]);
            assert_eq!(read(&mut bench, made), expected, "{}: {name} of reals", bench.name);
        }
        // A mask and what it is multiplied by are one kernel still.
        let masked = operation(&mut bench, "mul", &[a, y], &[]);
        assert_eq!(read(&mut bench, masked), [0.0; 4]);
        assert_eq!(bench.tensors.statistics.kernels, 1, "{}", bench.name);
    }
}

#[test]
fn half_of_a_plan_runs_on_each_device() {
    let mut bench = beside_the_cpu();
    bench.tensors.router.set(Mode::Auto, Some(DIVIDED));
    let values: Vec<i32> = (0..4096).map(|k: i32| k.wrapping_mul(1_000_003)).collect();
    let x = integers(&mut bench, &values, &[64, 64]);
    let squares = operation(&mut bench, "square", &[x], &[]);
    let real = operation(&mut bench, "real", &[squares], &[]);
    let diagonal: Vec<f64> = (0..4096).map(|k| f64::from(k % 65 == 0)).collect();
    let unit = bench.tensor(&diagonal, &[64, 64]);
    let product = operation(&mut bench, "matmul", &[real, unit], &[]);
    let whole = operation(&mut bench, "int32", &[product], &[]);
    let sum = operation(&mut bench, "add", &[whole, squares], &[]);
    let expected: Vec<f64> = values
        .iter()
        .map(|&value| {
            let square = value.wrapping_mul(value);
            (square as f32 as i32).wrapping_add(square).into()
        })
        .collect();
    assert_eq!(read(&mut bench, sum), expected);
    let places: Vec<&str> = bench.tensors.trace.iter().map(|step| step.place).collect();
    assert!(places.contains(&"webgpu") && places.contains(&"cpu"), "{places:?}");
}

#[test]
fn what_cannot_be_is_refused() {
    let mut bench = Bench::cpu(Precision::F32, leastwise::device::Limits::SMALL);
    let x = integers(&mut bench, &[1, 2, 3, 4], &[2, 2]);
    let half = bench.graph().constant(0.5, &[]);
    let large = bench.graph().constant(3e9, &[]);
    let mut refused = |name: &str, inputs: &[Node], numbers: &[f64], says: &str| {
        let error = bench.graph().operation(name, inputs, numbers).expect_err(name).to_string();
        assert!(error.contains(says), "{name}: {error}");
    };
    refused("softmax", &[x], &[0.0], "cast(\"f32\") first");
    refused("cholesky", &[x], &[], "cast(\"f32\") first");
    refused("scatterAdd", &[x, x, half], &[0.0], "no int32");
    refused("add", &[x, half], &[], "not whole");
    refused("add", &[x, large], &[], "no int32");
    refused("integer", &[], &[1.5, 2.0], "no int32");
    let reals = bench.tensor(&[1.0, 2.0], &[2]);
    let error = bench.graph().operation("bitwiseAnd", &[reals, reals], &[]).expect_err("bits of reals").to_string();
    assert!(error.contains("cast(\"int32\")"), "{error}");
    let loss = bench.graph().operation("sum", &[reals], &[0.0]).expect("a sum");
    let error = bench.graph().gradient(loss, &[x]).expect_err("a gradient by integers").to_string();
    assert!(error.contains("int32"), "{error}");
}

#[test]
fn gradients_take_integers_for_constants() {
    for mut bench in benches() {
        let x = bench.tensor(&[0.5, -1.5, 2.0], &[3]);
        let n = integers(&mut bench, &[2, 3, -4], &[3]);
        let zero = bench.graph().constant(0.0, &[]);
        let is_negative = operation(&mut bench, "less", &[x, zero], &[]);
        let scaled = operation(&mut bench, "mul", &[x, n], &[]);
        let masked = operation(&mut bench, "mul", &[scaled, is_negative], &[]);
        let loss = operation(&mut bench, "sum", &[masked], &[0.0]);
        let slopes = bench.graph().gradient(loss, &[x]).expect("a gradient");
        bench.graph().hold(slopes[0]);
        assert_eq!(read(&mut bench, slopes[0]), [0.0, 3.0, 0.0], "{}", bench.name);
    }
}

#[test]
fn stored_integers_are_the_hosts_words() {
    for mut bench in benches() {
        let x = integers(&mut bench, &EDGES, &[24]);
        let expected: Vec<f64> = EDGES.iter().map(|&a| f64::from(a)).collect();
        assert_eq!(read(&mut bench, x), expected, "{}: not uploaded", bench.name);
        let copy = operation(&mut bench, "flip", &[x], &[0.0]);
        assert_eq!(read(&mut bench, copy), expected.iter().rev().copied().collect::<Vec<_>>(), "{}", bench.name);
        assert_eq!(read(&mut bench, x), expected, "{}: uploaded", bench.name);
        assert!(matches!(bench.graph().entry(x).data, None | Some(Data::Indices(_))));
    }
}

/// Places are integers, and take elements: what is sorted by its own places is in order, and has its gradient.
#[test]
fn places_are_integers() {
    for mut bench in benches() {
        let values = [3.0, -1.0, 2.0, 2.0, f64::NAN, 0.5];
        let x = bench.tensor(&values, &[2, 3]);
        let places = operation(&mut bench, "argsort", &[x], &[1.0, 0.0]);
        let smallest = operation(&mut bench, "argmin", &[x], &[1.0]);
        let largest = operation(&mut bench, "argmax", &[x], &[0.0]);
        for node in [places, smallest, largest] {
            assert_eq!(bench.graph().entry(node).values, Values::Integers);
        }
        let taken = operation(&mut bench, "takeAlongAxis", &[x, places], &[1.0]);
        let first =
            bench.graph().made(|graph| graph.operation("slice", &[taken], &[1.0, 0.0, 2.0, 1.0]).map(|node| vec![node])).unwrap()[0];
        let sum = operation(&mut bench, "sum", &[first], &[0.0]);
        let slope = bench.graph().made(|graph| graph.gradient(sum, &[x])).expect("a gradient")[0];
        let doubled = operation(&mut bench, "mul", &[places, places], &[]);
        let found = bench.read(&[places, smallest, largest, first, slope, doubled]);
        let right: [&[f64]; 6] = [
            &[1.0, 2.0, 0.0, 2.0, 0.0, 1.0],
            &[1.0, 1.0],
            &[0.0, 1.0, 0.0],
            &[-1.0, 2.0, 0.5, 2.0],
            &[0.0, 1.0, 1.0, 1.0, 0.0, 1.0],
            &[1.0, 4.0, 0.0, 4.0, 0.0, 1.0],
        ];
        for (found, right) in found.iter().zip(right) {
            assert_eq!(found, right, "{}", bench.name);
        }
    }
}

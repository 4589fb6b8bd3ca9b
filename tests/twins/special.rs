//! What random input does not show: sums that cancel, values that are not finite, M⁻¹ as an inverse, and all numbers of half precision.

use crate::support::repeated;
use crate::twins::cases::clusters::half::{halves, nearest_half};
use crate::twins::cases::{Items, Tables, blocks, entry};
use crate::twins::harness::{Bench, Case, judge, random_state, without_margins};
use crate::twins::seed;
use crate::twins::value::{Random, Value};
use leastwise::anneal::cluster;
use leastwise::device::{Command, Kind, Limits, Precision, Recording, Reduction, Slice};
use leastwise::kernels::{StaticKernel, clustering::lloyd, pcg, step};
use leastwise::solve::state::*;

fn every_bench() -> impl Iterator<Item = Bench> {
    repeated(&[Limits::SMALL, Limits::WEBGPU], 1).iter().copied().flat_map(Bench::all)
}

/// Numbers around 1 among pairs of opposite large ones, in any order.
fn cancelling(random: &mut Random) -> (Vec<f64>, f64) {
    let small = random.positive(1501);
    let sum = small.iter().sum();
    let mut column = small;
    for _ in 0..1751 {
        let large = random.within(1e5, 1e6);
        column.extend([large, -large]);
    }
    random.shuffle(&mut column);
    (column, sum)
}

/// The sum as a tree in plain f32.
fn plain_tree(values: &[f32]) -> f32 {
    match values {
        [] => 0.0,
        [value] => *value,
        _ => {
            let half = values.len().div_ceil(2);
            plain_tree(&values[..half]) + plain_tree(&values[half..])
        }
    }
}

#[test]
fn compensated_sums_survive_the_compiler() {
    let seed = seed();
    let mut random = Random::new(seed, "cancelling");
    // By luck, plain additions may get one right.
    let beyond_plain_sums = |(column, sum): &(Vec<f64>, f64)| {
        let rounded: Vec<f32> = column.iter().map(|value| *value as f32).collect();
        [rounded.iter().sum(), plain_tree(&rounded)].iter().all(|plain| (f64::from(*plain) - sum).abs() > 1e-4 * sum)
    };
    let drawn = (0..20).map(|_| cancelling(&mut random)).find(beyond_plain_sums);
    let (column, sum) = drawn.expect("sums that plain f32 gets wrong");
    for mut bench in every_bench() {
        let group = bench.device.limits().group_size;
        let mut buffer = |len: usize| {
            let buffer = bench.device.allocate(Kind::Real, len as u32, "a buffer").expect("a small buffer");
            Slice { buffer, offset: 0, len: len as u32 }
        };
        let groups = |elements: u32| elements.div_ceil(8 * group);
        let partials = groups(column.len() as u32) as usize + 3;
        let (values, sums, state) = (buffer(column.len()), buffer(2 * partials), buffer(STATE_LEN as usize));
        let upload = |slice: Slice, data: Vec<f64>| Command::UploadReals { buffer: slice.buffer, offset: 0, data };
        let mut before = vec![0.0; STATE_LEN as usize];
        before[MODEL as usize] = 1.0;
        let mut commands = vec![upload(values, column.clone()), upload(state, before)];
        // Three chunks, as terms have them.
        let mut first = 0;
        for (offset, end) in [(0, 1024), (1024, 1088), (1088, column.len() as u32)] {
            let bindings = step::SumBindings { column: Slice { offset, len: end - offset, ..values }, partials: sums };
            let args = step::Sum { partial: first, distance: partials as u32, elements: end - offset };
            commands.push(bench.command(args, groups(end - offset) * group, false, bindings));
            first += groups(end - offset);
        }
        let (partial_count, distance) = (first, partials as u32);
        let cost = step::Cost { partial_count, distance, element: COST };
        commands.push(bench.command(cost, 1, true, step::Cost::over(state, sums)));
        commands.push(bench.command(step::Accept { partial_count, distance }, 1, true, step::Accept::over(state, sums)));
        commands.push(Command::Read { slice: state });
        let (found, _) = bench.play(Recording { commands }, false);
        [values, sums, state].into_iter().for_each(|slice| bench.device.free(slice.buffer));
        for element in [COST, CHANGE] {
            let error = (found[element as usize] - sum).abs() / sum;
            println!("{}, workgroups of {group}: {error:.1e} off", bench.name);
            assert!(error < 1e-6, "LEASTWISE_TEST_SEED={seed}, {}: {} instead of {sum}", bench.name, found[element as usize]);
        }
    }
}

#[test]
fn inverted_blocks_are_inverses() {
    let seed = seed();
    let mut random = Random::new(seed, "inverses");
    for mut bench in every_bench() {
        let epsilon = if bench.device.precision() == Precision::F64 { f64::EPSILON } else { f32::EPSILON.into() };
        let mut worst = 0.0f64;
        for width in [1, 2, 3, 6, 7] {
            let tables = Tables::new(300, width, bench.group_size(), Items::Variables, &mut random);
            let case = blocks::invert_blocks(&tables, &mut random);
            let outcome = bench.run(&case, false).0;
            let inverse = without_margins(&outcome[0].1);
            let table = &tables.list[1];
            for variable in (0..table.items).filter(|variable| variable % 5 != 2) {
                let block = table.block + variable * table.packed();
                let damped = |r: usize, c: usize| {
                    let (low, high) = (r.min(c), r.max(c));
                    let scale = case.before(pcg::BlockJacobi::SCALE, table.vector + variable * width + r);
                    let damping = if r == c { case.before(pcg::BlockJacobi::STATE, DAMPING as usize) * scale } else { 0.0 };
                    case.before(pcg::BlockJacobi::BLOCKS, block + high * (high + 1) / 2 + low) + damping
                };
                let norm = |entry: &dyn Fn(usize, usize) -> f64| {
                    let squares = (0..width * width).map(|i| entry(i / width, i % width)).map(|value| value * value);
                    squares.sum::<f64>().sqrt()
                };
                let off_identity = |r: usize, c: usize| {
                    let product: f64 = (0..width).map(|k| entry(inverse, block, r, k) * damped(k, c)).sum();
                    product - f64::from(u8::from(r == c))
                };
                let condition = norm(&damped) * norm(&|r, c| entry(inverse, block, r, c));
                worst = worst.max(norm(&off_identity) / (epsilon * condition));
            }
        }
        println!("{}: ‖M⁻¹M − I‖ ≤ {worst:.2} ε ‖M‖ ‖M⁻¹‖", bench.name);
        assert!(worst < 8.0, "LEASTWISE_TEST_SEED={seed}, {}: {worst}", bench.name);
    }
}

/// Runs the cases on every device.
fn check(cases: impl Fn(&mut Random) -> Vec<Case>) {
    let seed = seed();
    for mut bench in every_bench() {
        for case in cases(&mut Random::new(seed, "not finite")) {
            let outcome = bench.run(&case, false).0;
            let judged = judge(&case, &outcome, None);
            assert!(
                judged.as_ref().is_ok_and(|error| *error < 1e-6),
                "LEASTWISE_TEST_SEED={seed}, {}, {}: {judged:?}",
                case.name,
                bench.name
            );
        }
    }
}

const NOTHING: Value = Value { value: f64::NAN, size: f64::NAN };

/// Three hundred partials: all 0.5 but one.
fn partials(odd: f64) -> Vec<f64> {
    let mut partials = vec![0.5; 300];
    partials[277] = odd;
    partials
}

#[test]
fn a_step_without_a_finite_gain_is_rejected() {
    check(|random| {
        let case = |name: &str, change: f64, model: f64, random: &mut Random| {
            let forcing = [(FORCING, 0.0625), (FORCING_LEAST, 0.0078125), (FORCING_MOST, 0.09375)];
            let known = [(MODEL, model), (REFERENCE, 0.0), (REFERENCE_MODEL, 0.0), (STEPS, 7.0), (EPSILON, 0.0)];
            let state = random_state(random, &[&known[..], &forcing].concat());
            let kept = [(DAMPING, DAMPING_BEFORE), (RADIUS, RADIUS_BEFORE), (ALONG_NEWTON, LENGTH_BEFORE)];
            let kept = kept.map(|(now, before)| (before, Value::from(state[now as usize])));
            let mut case = Case::reduction(step::Accept { partial_count: 300, distance: 300 }, name, state);
            let mut high = partials(change);
            high.iter_mut().filter(|value| **value == 0.5).for_each(|value| *value = -0.5);
            case.reals(step::Accept::PARTIALS, [high, vec![0.0; 300]].concat());
            let sum = if change.is_finite() { (-0.5 * 299.0 + change).into() } else { NOTHING };
            case.expect_state(&[
                // At rest nothing is promised, and the damping stays.
                (TELLING, if model == 0.0 { 0.0 } else { 1.0 }.into()),
                (LEAVING, Value::default()),
                (TOO_FAR, Value::default()),
                (CHANGE, sum),
                (GAIN, Value::default()),
                (FORCING, 0.01875.into()),
            ]);
            case.expect_state(&kept);
            case.expect_state(&[(ACCEPTED, Value::default()), (LINEARIZED, 1.0.into()), (STEPS, 8.0.into())]);
            case
        };
        vec![
            case("the change is NaN", f64::NAN, 1.0, random),
            case("the change is infinite", f64::INFINITY, 1.0, random),
            case("the change is −∞", f64::NEG_INFINITY, 1.0, random),
            case("the model is NaN", -0.5, f64::NAN, random),
            case("the model is infinite", -0.5, f64::INFINITY, random),
            case("the model is −∞", -0.5, f64::NEG_INFINITY, random),
            case("the model is 0", -0.5, 0.0, random),
        ]
    });
}

#[test]
fn conjugate_gradients_stop_where_they_cannot_go_on() {
    check(|random| {
        let mut cases = Vec::new();
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -149.5, -150.0] {
            let finite = |value: f64| if odd.is_finite() { value.into() } else { NOTHING };
            let one: Value = 1.0.into();
            let sum = Value { value: 149.5 + odd, size: 300.0 };
            let sum = if odd.is_finite() { sum } else { NOTHING };

            let mut begin =
                Case::reduction(pcg::Begin { partial_count: 300, distance: 300 }, format!("rᵀz with {odd}"), random_state(random, &[]));
            begin.reals(pcg::Begin::PARTIALS, [partials(odd), vec![0.5; 300]].concat());
            begin.expect_state(&[
                (RZ, sum),
                (RZ_START, sum),
                (GRADIENT_MAX, if odd.is_finite() { 0.5.into() } else { sum }),
                (SOLVED, one),
            ]);
            [BETA, INNER, HURRIED].into_iter().for_each(|element| begin.expect_state(&[(element, Value::default())]));

            // The test for convergence would not end it.
            let set = [(SOLVED, 0.0), (RZ, 2.0), (RZ_START, 1.0), (INNER, 100.0), (FORCING, 0.125)];
            let args = |curvature_count: u32| pcg::Beta { partial_count: 300, curvature: 300, curvature_count };
            let mut flat = Case::reduction(args(300), format!("pᵀq with {odd}"), random_state(random, &set));
            flat.reals(pcg::Beta::PARTIALS, [vec![0.5; 300], partials(odd)].concat());
            flat.expect_state(&[(SOLVED, one)]);
            let mut beta = Case::reduction(args(2), format!("rᵀz with {odd}"), random_state(random, &set));
            beta.reals(pcg::Beta::PARTIALS, [partials(odd), vec![1.0; 2]].concat());
            beta.expect_state(&[(SOLVED, one), (INNER, 101.0.into()), (RZ, sum)]);
            beta.expect_state(&[(BETA, Value { size: 150.0, ..finite(sum.value / 2.0) })]);
            cases.extend([begin, flat, beta]);
        }
        cases
    });
}

/// Every number of half precision, and what lies between two: the middle, and its neighbours in f32 on both sides.
#[test]
fn halves_are_the_nearest() {
    let mut given = Vec::new();
    for (number, half) in halves().iter().enumerate() {
        let next = halves().get(number + 1).copied().unwrap_or(65_536.0);
        let middle = (half + next) / 2.0;
        let beside = [-1, 1].map(|step| f64::from(f32::from_bits((middle as f32).to_bits().wrapping_add_signed(step))));
        given.extend([*half, beside[0], middle, beside[1]]);
    }
    given.extend([65_519.0, 65_520.0, 65_536.0, 1e9, 3e38, 1e-30]);
    given.extend(given.clone().into_iter().map(|x| -x));
    for mut bench in every_bench() {
        for given in given.chunks(60_000) {
            let mut case = Case::new(StaticKernel::ClusteringLloydUpdate, "halves");
            // Anchors of one component each, with one member: their means are what is given.
            let anchors = given.len() as u32;
            case.dispatch(anchors, lloyd::Update { anchors, dimensions: 1, shares: 1, flags: 4, guard: cluster::state::ALWAYS });
            case.reals(lloyd::Update::SUMS, given.iter().flat_map(|x| [*x, 1.0]).collect());
            case.poisoned(lloyd::Update::ANCHORS, given.len());
            case.poisoned(lloyd::Update::VELOCITY, 1);
            case.reals(lloyd::Update::STATE, vec![0.0; cluster::state::STATE_LEN as usize]);
            given.iter().enumerate().for_each(|(i, x)| case.expect(lloyd::Update::ANCHORS, i, nearest_half(*x)));
            let outcome = bench.run(&case, false).0;
            assert_eq!(judge(&case, &outcome, None), Ok(0.0), "{}", bench.name);
        }
    }
}

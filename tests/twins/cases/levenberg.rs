use super::{Spread, Tables, total};
use crate::twins::harness::{Case, random_state};
use crate::twins::value::{Random, Value};
use leastwise::device::binding::STATE;
use leastwise::kernels::{Arguments, StaticKernel, step, trust_region};
use leastwise::solve::state::*;

pub fn trial(tables: &Tables, random: &mut Random) -> Case {
    let point = random.vector(tables.arena_len);
    let [scale, gradient, step, residual] = [(); 4].map(|()| random.vector(tables.vector_len));
    let mut case = Case::new(StaticKernel::StepTrial, "");
    case.reals(step::Trial::POINT, point.clone());
    for (slot, values) in
        [(step::Trial::SCALE, &scale), (step::Trial::GRADIENT, &gradient), (step::Trial::STEP, &step), (step::Trial::RESIDUAL, &residual)]
    {
        case.reals(slot, values.clone());
    }
    case.poisoned(step::Trial::TRIAL, tables.arena_len);
    case.poisoned(step::Trial::PARTIALS, 5 * tables.distance);
    for table in &tables.list {
        case.dispatch(
            table.spread.lanes(),
            step::Trial {
                distance: tables.distance as u32,
                arena: table.arena as u32,
                vector: table.vector as u32,
                partial: table.partial as u32,
                elements: table.items as u32,
            },
        );
        for (group, items) in table.spread.each() {
            let mut sums = [Value::default(); 5];
            for i in items {
                let [s, d, g, r] = [&step, &scale, &gradient, &residual].map(|vector| Value::from(vector[table.vector + i]));
                let x = Value::from(point[table.arena + i]);
                case.expect(step::Trial::TRIAL, table.arena + i, x + s);
                sums.iter_mut().zip([g * s, s * d * s, s * r, s * s, x * x]).for_each(|(sum, term)| *sum = *sum + term);
            }
            for (kind, sum) in sums.into_iter().enumerate() {
                case.expect(step::Trial::PARTIALS, kind * tables.distance + table.partial + group, sum);
            }
        }
    }
    case
}

/// Instances with one degree of freedom less than they have scalars, or with as many.
pub fn place(tables: &Tables, random: &mut Random) -> Case {
    let point = random.vector(tables.arena_len);
    let [scale, gradient, step, residual] = [(); 4].map(|()| random.vector(tables.vector_len));
    let columns = random.vector(tables.arena_len);
    let mut case = Case::new(StaticKernel::StepTrialManifold, "");
    for (slot, values) in [
        (step::TrialManifold::POINT, &point),
        (step::TrialManifold::SCALE, &scale),
        (step::TrialManifold::GRADIENT, &gradient),
        (step::TrialManifold::STEP, &step),
        (step::TrialManifold::RESIDUAL, &residual),
        (step::TrialManifold::COLUMNS, &columns),
    ] {
        case.reals(slot, values.clone());
    }
    case.poisoned(step::TrialManifold::TRIAL, tables.arena_len);
    case.poisoned(step::TrialManifold::PARTIALS, 5 * tables.distance);
    for (number, table) in tables.list.iter().enumerate() {
        let instances = table.items / table.width;
        let tangent = if number == 1 { table.width - 1 } else { table.width };
        case.dispatch(
            table.spread.lanes(),
            step::TrialManifold {
                distance: tables.distance as u32,
                arena: table.arena as u32,
                vector: table.vector as u32,
                partial: table.partial as u32,
                unknowns: (instances * tangent) as u32,
                elements: table.items as u32,
                width: table.width as u32,
                instances: instances as u32,
            },
        );
        for (group, items) in table.spread.each() {
            let mut sums = [Value::default(); 5];
            for i in items {
                let x = Value::from(point[table.arena + i]);
                case.expect(step::TrialManifold::TRIAL, table.arena + i, columns[i % table.width * instances + i / table.width]);
                sums[4] = sums[4] + x * x;
                if i < instances * tangent {
                    let [s, d, g, r] = [&step, &scale, &gradient, &residual].map(|vector| Value::from(vector[table.vector + i]));
                    sums.iter_mut().zip([g * s, s * d * s, s * r, s * s]).for_each(|(sum, term)| *sum = *sum + term);
                }
            }
            for (kind, sum) in sums.into_iter().enumerate() {
                case.expect(step::TrialManifold::PARTIALS, kind * tables.distance + table.partial + group, sum);
            }
        }
    }
    case
}

pub fn model(size: usize, random: &mut Random) -> Case {
    let state = random_state(random, &[]);
    let damping = Value::from(state[DAMPING as usize]);
    let distance = size + 2;
    let mut case = Case::reduction(step::Model { partial_count: size as u32, distance: distance as u32 }, "", state);
    let mut partials = random.vector(5 * distance);
    // Squares are positive.
    partials[3 * distance..].iter_mut().for_each(|value| *value = value.abs());
    let [slope, damped, unsolved, step, point] = [0, 1, 2, 3, 4].map(|kind| total(&partials[kind * distance..][..size]));
    case.reals(step::Model::PARTIALS, partials);
    let model = Value::from(0.5) * (damping * damped + unsolved - slope);
    case.expect_state(&[(MODEL, model), (STEP_NORM, step.sqrt()), (POINT_NORM, point.sqrt())]);
    case
}

/// A column in two chunks, whose partials follow one another. The low parts are tested where they matter: in
/// `compensated_sums_survive_the_compiler`.
pub fn sum(size: usize, group: usize, random: &mut Random) -> Case {
    let column = random.vector(size);
    let mut case = Case::new(StaticKernel::StepSum, "");
    let [all, half] = [size, size / 2].map(|elements| (elements, Spread::new(elements, group, random)));
    let distance = all.1.groups + half.1.groups + 3;
    case.reals(step::Sum::COLUMN, column.clone());
    case.poisoned(step::Sum::PARTIALS, 2 * distance);
    for ((elements, spread), first) in [(all, 0), (half, all.1.groups)] {
        case.dispatch(spread.lanes(), step::Sum { partial: first as u32, distance: distance as u32, elements: elements as u32 });
        for (group, items) in spread.each() {
            let sum: Value = items.map(|i| Value::from(column[i])).sum();
            case.expect(step::Sum::PARTIALS, first + group, sum);
            case.expect(step::Sum::PARTIALS, distance + first + group, Value { value: 0.0, size: sum.size });
        }
    }
    case
}

/// Sums, a gap and their low parts.
fn compensated(high: &[f64], random: &mut Random) -> (Vec<f64>, Value) {
    let low: Vec<f64> = high.iter().map(|_| f64::from((random.signed() * 1e-7) as f32)).collect();
    (([high, &random.vector(2), &low].concat()), total(high) + total(&low))
}

pub fn cost(size: usize, random: &mut Random) -> Case {
    let (partials, cost) = compensated(&random.vector(size), random);
    let mut case =
        Case::reduction(step::Cost { partial_count: size as u32, distance: size as u32 + 2, element: COST }, "", random_state(random, &[]));
    case.reals(step::Cost::PARTIALS, partials);
    case.expect_state(&[(COST, cost)]);
    case
}

/// What `accept` finds of steps before.
#[derive(Clone, Copy, Default)]
struct History {
    window: f64,
    uphill: f64,
    reference: [f64; 2],
    candidate: [f64; 2],
    above_best: f64,
    /// The first step is a long one.
    too_far: bool,
}

pub fn accept(size: usize, random: &mut Random) -> Vec<Case> {
    // The gain ratio that is wanted, the sign of the model, and what was before.
    let case = |name: &str, gain: f64, sign: f64, epsilon: f64, before: History, random: &mut Random| {
        let History { window, uphill, reference, candidate, above_best, too_far } = before;
        let high: Vec<f64> = random.positive(size).iter().map(|value| -gain.signum() * value).collect();
        let (partials, change) = compensated(&high, random);
        let model = f64::from((sign * change.value.abs().max(0.5) / gain.abs()) as f32);
        let scaled = |share: f64| f64::from((share * change.value.abs().max(0.5)) as f32);
        let (reference, candidate, above_best) = (reference.map(scaled), candidate.map(scaled), scaled(above_best));
        let known = [
            (MODEL, model),
            (EPSILON, epsilon),
            (FORCING, 0.0625),
            (FORCING_LEAST, 0.0078125),
            (FORCING_MOST, 0.09375),
            (WINDOW, window),
            (UPHILL, uphill),
            (REFERENCE, reference[0]),
            (REFERENCE_MODEL, reference[1]),
            (CANDIDATE, candidate[0]),
            (CANDIDATE_MODEL, candidate[1]),
            (ABOVE_BEST, above_best),
            (TOO_FAR, f64::from(u8::from(too_far))),
        ];
        let state = random_state(random, &known);
        let at = |element: u32| Value::from(state[element as usize]);
        let (cost, steps, damping, radius, length) = (at(COST), at(STEPS), at(DAMPING), at(RADIUS), at(ALONG_NEWTON));
        let taken = at(TAKEN);
        let mut case = Case::reduction(step::Accept { partial_count: size as u32, distance: size as u32 + 2 }, name, state);
        case.reals(step::Accept::PARTIALS, partials);

        let [reference, promised] = reference.map(Value::from);
        let ratio = if model > 0.0 {
            let [now, since] = [-change / model.into(), (reference - change) / (promised + model.into())];
            if now.value > since.value { now } else { since }
        } else {
            Value::default()
        };
        let ratio = if ratio.value.abs() > 10.0 { (10.0 * ratio.value.signum()).into() } else { ratio };
        let ratio = if too_far { Value::default() } else { ratio };
        let accepted = ratio.value > 1e-3;
        let flag = |set: bool| Value::from(f64::from(u8::from(set)));
        let mut leaving = false;
        if accepted {
            // As Ceres' TrustRegionStepEvaluator, whose costs are those here plus the cost after the step.
            let above = Value::from(above_best) + change;
            let [high, promised_since] = candidate.map(Value::from);
            let is_best = above.value < 0.0;
            let mut next = [high - change, promised_since + model.into()];
            leaving = !is_best && above_best == 0.0;
            let uphill = if is_best { 0.0 } else { uphill + 1.0 };
            if is_best || next[0].value < 0.0 {
                next = [Value::default(); 2];
            }
            let reference = if uphill == window { next } else { [reference - change, promised + model.into()] };
            case.expect_state(&[(COST, cost + change), (UPHILL, uphill.into())]);
            case.expect_state(&[(ABOVE_BEST, if is_best { Value::default() } else { above })]);
            case.expect_state(&[(REFERENCE, reference[0]), (REFERENCE_MODEL, reference[1])]);
            case.expect_state(&[(CANDIDATE, next[0]), (CANDIDATE_MODEL, next[1])]);
        }
        let forcing = match ratio.value {
            low if low < 0.5 => 0.01875,
            high if high > 0.75 => 0.09375,
            _ => 0.0625,
        };
        case.expect_state(&[(CHANGE, change), (GAIN, ratio), (STEPS, steps + 1.0.into()), (FORCING, forcing.into())]);
        case.expect_state(&[(TAKEN, taken + flag(accepted))]);
        let telling = accepted || model.abs() > epsilon * cost.value.abs();
        case.expect_state(&[
            (ACCEPTED, flag(accepted)),
            (LINEARIZED, flag(!accepted)),
            (TELLING, flag(telling)),
            (LEAVING, flag(leaving)),
            (TOO_FAR, flag(false)),
        ]);
        case.expect_state(&[(DAMPING_BEFORE, damping), (RADIUS_BEFORE, radius), (LENGTH_BEFORE, length)]);
        case
    };
    let none = History::default();
    let mut cases = vec![
        case("a step as good as the model", 0.97, 1.0, 0.0, none, random),
        case("a fair step", 0.6, 1.0, 0.0, none, random),
        case("much better than the model", 50.0, 1.0, 0.0, none, random),
        case("hardly a gain", 1e-5, 1.0, 0.0, none, random),
        case("a step uphill", -1.0, 1.0, 0.0, none, random),
        case("a model that promises nothing", 0.9, -1.0, 0.0, none, random),
        case("a long first step", 0.9, 1.0, 0.0, History { too_far: true, ..none }, random),
        case("at rest", -1e6, 1.0, 1e9, none, random),
    ];
    // Nothing at all would be as good as the best.
    if size > 0 {
        let window = |uphill, reference, candidate, above_best| History { window: 3.0, uphill, reference, candidate, above_best, ..none };
        cases.extend([
            case("uphill from the best, below the reference", -0.5, 1.0, 0.0, window(0.0, [4.0, 6.0], [0.0, 0.0], 0.0), random),
            case("uphill above the reference", -0.5, 1.0, 0.0, window(1.0, [0.5, 6.0], [0.0, 0.0], 0.0), random),
            case("downhill, not to the best", 0.8, 1.0, 0.0, window(1.0, [4.0, 6.0], [2.0, 1.0], 3.0), random),
            case("downhill to a new best", 0.8, 1.0, 0.0, window(2.0, [4.0, 6.0], [0.5, 1.0], 0.5), random),
            case("uphill to a new reference", -0.5, 1.0, 0.0, window(2.0, [4.0, 6.0], [0.25, 1.0], 1.5), random),
        ]);
    }
    cases
}

/// A case of a rule over the state.
fn rule<K: Arguments>(args: K, name: &str, known: &[(u32, f64)], random: &mut Random) -> Case {
    let mut case = Case::new(K::KERNEL, name);
    case.dispatch(1, args);
    case.reals(STATE, random_state(random, known));
    case
}

pub fn nielsen(random: &mut Random) -> Vec<Case> {
    // The outcome, its gain ratio, λ and ν, and what becomes of them; then φ.
    let (usual, tiny, huge) = (1.0 / 8192.0, 2f64.powi(-66), 2f64.powi(46));
    let untold = |(name, damping, next): (&str, f64, [f64; 2])| {
        let known = [(TELLING, 0.0), (ACCEPTED, 0.0), (GAIN, 0.0), (DAMPING, damping), (GROWTH, 8.0), (FLOOR, 0.125)];
        let mut case = rule(trust_region::Nielsen, name, &known, random);
        case.expect_state(&[(DAMPING, next[0].into()), (GROWTH, next[1].into())]);
        case
    };
    let resting = [("at rest", usual, [usual, 8.0]), ("too damped to tell", 1e6, [1e5, 2.0])].map(untold);
    let outcomes = [
        ("as good as the model", 1.0, 0.96875, [usual, 8.0], [usual / 3.0, 2.0], [0.125, 0.125]),
        ("a fair gain", 1.0, 0.25, [usual, 8.0], [1.125 * usual, 2.0], [1.0, 1.0]),
        ("better than the model", 1.0, 10.0, [tiny, 8.0], [1e-20, 2.0], [0.5, 0.5]),
        ("rejected", 0.0, -3.0, [usual, 8.0], [8.0 * usual, 16.0], [0.125, 0.375]),
        ("rejected at the limit", 0.0, 0.0, [huge, 8e5], [1e15, 1e6], [0.5, 1.0]),
    ];
    let case = |(name, accepted, gain, [damping, growth], next, floor): (&str, f64, f64, [f64; 2], [f64; 2], [f64; 2])| {
        let known = [(TELLING, 1.0), (ACCEPTED, accepted), (GAIN, gain), (DAMPING, damping), (GROWTH, growth), (FLOOR, floor[0])];
        let mut case = rule(trust_region::Nielsen, name, &known, random);
        case.expect_state(&[(DAMPING, next[0].into()), (GROWTH, next[1].into())]);
        if floor[1] != floor[0] {
            case.expect_state(&[(FLOOR, floor[1].into())]);
        }
        if accepted != 0.0 {
            case.expect_state(&[(DAMPING_TAKEN, next[0].into())]);
        }
        case
    };
    resting.into_iter().chain(outcomes.map(case)).collect()
}

pub fn step_length(random: &mut Random) -> Vec<Case> {
    [("accepted", 1.0, 1.0, 1.0), ("rejected", 0.0, 1.0, 0.125), ("too short to tell", 0.0, 0.0, 1.0)]
        .map(|(name, accepted, telling, next)| {
            let known = [(ACCEPTED, accepted), (TELLING, telling), (ALONG_NEWTON, 0.25)];
            let mut case = rule(trust_region::StepLength, name, &known, random);
            case.expect_state(&[(ALONG_NEWTON, next.into())]);
            case
        })
        .into()
}

pub fn reset_damping(random: &mut Random) -> Vec<Case> {
    // λ and Δ, those after the last accepted step, and what becomes of them and of ν.
    [
        ("nothing was accepted", [1e15, 1e-15], [0.0, 0.0], [1e3, 1e-2, 1024.0]),
        ("nothing was accepted, within reason", [0.5, 8.0], [0.0, 0.0], [0.5, 8.0, 1024.0]),
        ("rejections of rest", [1e9, 1e-9], [0.25, 4.0], [0.25, 4.0, 2.0]),
        ("accepted with much damping", [1e9, 1e-9], [1e6, 1e-6], [1e3, 1e-2, 2.0]),
        ("less by now", [0.125, 16.0], [0.25, 4.0], [0.125, 16.0, 2.0]),
    ]
    .map(|(name, [damping, radius], taken, [next_damping, next_radius, growth])| {
        let known = [(DAMPING, damping), (GROWTH, 1024.0), (RADIUS, radius), (ALONG_NEWTON, 1e-3)];
        let known = [&known[..], &[(DAMPING_TAKEN, taken[0]), (RADIUS_TAKEN, taken[1])]].concat();
        let mut case = rule(trust_region::ResetDamping, name, &known, random);
        case.expect_state(&[(DAMPING, next_damping.into()), (RADIUS, next_radius.into()), (GROWTH, growth.into())]);
        case.expect_state(&[(ALONG_NEWTON, 1.0.into()), (DAMPING_TAKEN, 0.0.into()), (RADIUS_TAKEN, 0.0.into())]);
        case
    })
    .into()
}

pub fn linear_combination(tables: &Tables, random: &mut Random) -> Case {
    let before = random.vector(tables.arena_len);
    let [table, others @ ..] = &tables.list[..] else { unreachable!("there are tables") };
    let items = tables.list.iter().map(|table| table.items).min().unwrap_or(0);
    // The table is one of its own sources.
    let sources: Vec<(f64, usize)> = [2.0, -1.0, 0.5].into_iter().zip(others.iter().chain([table]).map(|source| source.arena)).collect();
    let mut case = Case::new(StaticKernel::StepLinearCombination, "");
    case.reals(step::LinearCombination::FACTORS, sources.iter().map(|source| source.0).collect::<Vec<_>>());
    case.indices(sources.iter().map(|source| source.1 as u32).collect::<Vec<_>>());
    case.reals(step::LinearCombination::VALUES, before.clone());
    case.dispatch(items as u32, step::LinearCombination { arena: table.arena as u32, sources: sources.len() as u32 });
    for i in 0..items {
        let sum = sources.iter().fold(Value::from(0.0), |sum, (factor, place)| sum + Value::from(*factor) * before[place + i].into());
        case.expect(step::LinearCombination::VALUES, table.arena + i, sum);
    }
    case
}

pub fn commit(tables: &Tables, random: &mut Random) -> Case {
    let trial = random.vector(tables.arena_len);
    let mut case = Case::new(StaticKernel::StepCommit, "");
    case.reals(step::Commit::FROM_ARENA, trial.clone());
    case.reals(step::Commit::TO_ARENA, random.vector(tables.arena_len));
    case.reals(step::Commit::STATE, random_state(random, &[(ACCEPTED, 1.0)]));
    case.stop = Some((ACCEPTED, 0.0));
    for table in &tables.list {
        case.dispatch(table.items as u32, step::Commit { arena: table.arena as u32, condition: ACCEPTED });
        for (i, value) in trial.iter().enumerate().skip(table.arena).take(table.items) {
            case.expect(step::Commit::TO_ARENA, i, *value);
        }
    }
    case
}

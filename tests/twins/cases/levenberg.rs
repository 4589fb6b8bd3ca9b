use super::{Spread, Tables, total};
use crate::harness::{Case, random_state};
use crate::value::{Random, Value};
use leastwise::device::binding::{ARENA, DATA, INDEX, JACOBIAN, PARTIALS, STATE, VECTOR_IN, VECTOR_OUT};
use leastwise::kernel::Fixed;
use leastwise::solve::state::*;

pub fn trial(tables: &Tables, random: &mut Random) -> Case {
    let point = random.vector(tables.arena_len);
    let [scale, gradient, step, residual] = [(); 4].map(|()| random.vector(tables.vector_len));
    let mut case = Case::new(Fixed::Trial, "");
    case.reals(ARENA, point.clone());
    for (slot, values) in [(DATA, &scale), (INDEX, &gradient), (VECTOR_IN, &step), (JACOBIAN, &residual)] {
        case.reals(slot, values.clone());
    }
    case.poisoned(VECTOR_OUT, tables.arena_len);
    case.poisoned(PARTIALS, 5 * tables.distance);
    for table in &tables.list {
        let words = [tables.distance, table.arena, table.vector, table.partial, table.items].map(|word| word as u32);
        case.dispatch(table.spread.lanes(), &words);
        for (group, items) in table.spread.each() {
            let mut sums = [Value::default(); 5];
            for i in items {
                let [s, d, g, r] = [&step, &scale, &gradient, &residual].map(|vector| Value::from(vector[table.vector + i]));
                let x = Value::from(point[table.arena + i]);
                case.expect(VECTOR_OUT, table.arena + i, x + s);
                sums.iter_mut().zip([g * s, s * d * s, s * r, s * s, x * x]).for_each(|(sum, term)| *sum = *sum + term);
            }
            for (kind, sum) in sums.into_iter().enumerate() {
                case.expect(PARTIALS, kind * tables.distance + table.partial + group, sum);
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
    let mut case = Case::new(Fixed::Place, "");
    for (slot, values) in
        [(ARENA, &point), (DATA, &scale), (INDEX, &gradient), (VECTOR_IN, &step), (JACOBIAN, &residual), (STATE, &columns)]
    {
        case.reals(slot, values.clone());
    }
    case.poisoned(VECTOR_OUT, tables.arena_len);
    case.poisoned(PARTIALS, 5 * tables.distance);
    for (number, table) in tables.list.iter().enumerate() {
        let instances = table.items / table.width;
        let tangent = if number == 1 { table.width - 1 } else { table.width };
        let words = [tables.distance, table.arena, table.vector, table.partial, instances * tangent, table.items, table.width, instances];
        case.dispatch(table.spread.lanes(), &words.map(|word| word as u32));
        for (group, items) in table.spread.each() {
            let mut sums = [Value::default(); 5];
            for i in items {
                let x = Value::from(point[table.arena + i]);
                case.expect(VECTOR_OUT, table.arena + i, columns[i % table.width * instances + i / table.width]);
                sums[4] = sums[4] + x * x;
                if i < instances * tangent {
                    let [s, d, g, r] = [&step, &scale, &gradient, &residual].map(|vector| Value::from(vector[table.vector + i]));
                    sums.iter_mut().zip([g * s, s * d * s, s * r, s * s]).for_each(|(sum, term)| *sum = *sum + term);
                }
            }
            for (kind, sum) in sums.into_iter().enumerate() {
                case.expect(PARTIALS, kind * tables.distance + table.partial + group, sum);
            }
        }
    }
    case
}

pub fn model(size: usize, random: &mut Random) -> Case {
    let state = random_state(random, &[]);
    let damping = Value::from(state[DAMPING as usize]);
    let distance = size + 2;
    let mut case = Case::reduction(Fixed::Model, "", &[size as u32, distance as u32], state);
    let mut partials = random.vector(5 * distance);
    // Squares are positive.
    partials[3 * distance..].iter_mut().for_each(|value| *value = value.abs());
    let [slope, damped, unsolved, step, point] = [0, 1, 2, 3, 4].map(|kind| total(&partials[kind * distance..][..size]));
    case.reals(PARTIALS, partials);
    let model = Value::from(0.5) * (damping * damped + unsolved - slope);
    case.expect_state(&[(MODEL, model), (STEP_NORM, step.sqrt()), (POINT_NORM, point.sqrt())]);
    case
}

/// A column in two chunks, whose partials follow one another. The low parts are tested where they matter: in
/// `compensated_sums_survive_the_compiler`.
pub fn sum(size: usize, group: usize, random: &mut Random) -> Case {
    let column = random.vector(size);
    let mut case = Case::new(Fixed::Sum, "");
    let [all, half] = [size, size / 2].map(|elements| (elements, Spread::new(elements, group, random)));
    let distance = all.1.groups + half.1.groups + 3;
    case.reals(VECTOR_IN, column.clone());
    case.poisoned(PARTIALS, 2 * distance);
    for ((elements, spread), first) in [(all, 0), (half, all.1.groups)] {
        case.dispatch(spread.lanes(), &[first as u32, distance as u32, elements as u32]);
        for (group, items) in spread.each() {
            let sum: Value = items.map(|i| Value::from(column[i])).sum();
            case.expect(PARTIALS, first + group, sum);
            case.expect(PARTIALS, distance + first + group, Value { value: 0.0, size: sum.size });
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
    let mut case = Case::reduction(Fixed::Cost, "", &[size as u32, size as u32 + 2], random_state(random, &[]));
    case.reals(PARTIALS, partials);
    case.expect_state(&[(COST, cost)]);
    case
}

pub fn accept(size: usize, random: &mut Random) -> Vec<Case> {
    // The gain ratio that is wanted, the sign of the model, λ and ν.
    let case = |name: &str, gain: f64, sign: f64, damping: f64, growth: f64, epsilon: f64, random: &mut Random| {
        let high: Vec<f64> = random.positive(size).iter().map(|value| -gain.signum() * value).collect();
        let (partials, change) = compensated(&high, random);
        let model = f64::from((sign * change.value.abs().max(0.5) / gain.abs()) as f32);
        let [damping, growth] = [damping, growth].map(|value| f64::from(value as f32));
        let state = random_state(random, &[(MODEL, model), (DAMPING, damping), (GROWTH, growth), (EPSILON, epsilon), (FORCING, 0.05)]);
        let [cost, steps] = [COST, STEPS].map(|element| Value::from(state[element as usize]));
        let mut case = Case::reduction(Fixed::Accept, name, &[size as u32, size as u32 + 2], state);
        case.reals(PARTIALS, partials);

        let ratio = if change.value < 0.0 && model > 0.0 { -change / model.into() } else { Value::default() };
        let ratio = if ratio.value > 10.0 { 10.0.into() } else { ratio };
        let accepted = ratio.value > 1e-3;
        let one = Value::from(1.0);
        let next = if accepted {
            let t = Value::from(2.0) * ratio - one;
            let factor = one - t * t * t;
            case.expect_state(&[(GROWTH, 2.0.into()), (COST, cost + change)]);
            Value::from(damping) * if factor.value > 1.0 / 3.0 { factor } else { (1.0 / 3.0).into() }
        } else if model.abs() <= epsilon * cost.value.abs() {
            case.expect_state(&[(GROWTH, growth.into())]);
            damping.into()
        } else {
            case.expect_state(&[(GROWTH, (2.0 * growth).min(1e6).into())]);
            Value::from(damping) * growth.into()
        };
        let next = Value { value: next.value.clamp(1e-15, 1e15), size: next.size.clamp(1e-15, 1e15) };
        case.expect_state(&[(DAMPING, next), (CHANGE, change), (GAIN, ratio), (STEPS, steps + one)]);
        let forcing = match ratio.value {
            low if low < 0.5 => 0.015,
            high if high > 0.75 => 0.1,
            _ => 0.05,
        };
        case.expect_state(&[(FORCING, forcing.into())]);
        let flag = |set: bool| Value::from(f64::from(u8::from(set)));
        case.expect_state(&[(ACCEPTED, flag(accepted)), (LINEARIZED, flag(!accepted))]);
        case
    };
    let one = |name: &str, gain: f64, sign: f64, damping: f64, growth: f64, random: &mut Random| {
        case(name, gain, sign, damping, growth, 0.0, random)
    };
    vec![
        one("a step as good as the model", 0.97, 1.0, 1e-4, 2.0, random),
        one("a fair step", 0.3, 1.0, 1e-4, 8.0, random),
        one("much better than the model", 50.0, 1.0, 2e-15, 2.0, random),
        one("hardly a gain", 1e-5, 1.0, 1e-4, 4.0, random),
        one("a step uphill", -1.0, 1.0, 1e14, 64.0, random),
        one("a model that promises nothing", 0.9, -1.0, 1e-4, 8e5, random),
        case("at rest", -1e6, 1.0, 1e-4, 8.0, 1e9, random),
    ]
}

pub fn commit(tables: &Tables, random: &mut Random) -> Case {
    let trial = random.vector(tables.arena_len);
    let mut case = Case::new(Fixed::Commit, "");
    case.reals(VECTOR_IN, trial.clone());
    case.reals(VECTOR_OUT, random.vector(tables.arena_len));
    case.reals(STATE, random_state(random, &[(ACCEPTED, 1.0)]));
    case.stop = Some((ACCEPTED, 0.0));
    for table in &tables.list {
        case.dispatch(table.items as u32, &[table.arena as u32]);
        for (i, value) in trial.iter().enumerate().skip(table.arena).take(table.items) {
            case.expect(VECTOR_OUT, i, *value);
        }
    }
    case
}

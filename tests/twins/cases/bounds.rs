use super::{Tables, mask::free, total};
use crate::twins::harness::{Case, random_state};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, bounds};
use leastwise::solve::state::*;

/// Limits on both sides of `at`, none of them so close that rounding decides on which.
fn limits(at: impl IntoIterator<Item = f64>, random: &mut Random) -> [Vec<f64>; 2] {
    let near = |at: f64, random: &mut Random| {
        let [a, b] = [random.signed(), random.signed()].map(|offset| f64::from((at + offset) as f32));
        (a.min(b), a.max(b))
    };
    let (lower, upper): (Vec<f64>, Vec<f64>) = at.into_iter().map(|at| near(at, random)).unzip();
    [lower, upper]
}

pub fn active_set(tables: &Tables, random: &mut Random) -> Case {
    let point = random.vector(tables.arena_len);
    let mut gradient = random.vector(tables.vector_len);
    gradient.iter_mut().step_by(7).for_each(|slope| *slope = 0.0);
    let [mut lower, mut upper] = limits(vec![0.0; tables.vector_len], random);
    let mut case = Case::new(StaticKernel::BoundsActiveSet, "");
    let mut fixed = Vec::new();
    for table in &tables.list {
        case.dispatch(table.items as u32, bounds::ActiveSet { arena: table.arena as u32, vector: table.vector as u32 });
        for i in 0..table.items {
            let (x, v) = (point[table.arena + i], table.vector + i);
            // At either limit, within, beyond or squeezed.
            (lower[v], upper[v]) = match random.below(6) {
                0 => (x, x + 1.0),
                1 => (x - 1.0, x),
                2 => (x + 0.5, x + 1.0),
                3 => (x - 1.0, x - 0.5),
                4 => (x, x),
                _ => (x - 1.0, x + 1.0),
            };
            let outwards = |limit: f64, sign: f64| sign * (x - limit) >= 0.0 && sign * gradient[v] < 0.0;
            if outwards(lower[v], -1.0) || outwards(upper[v], 1.0) || lower[v] == upper[v] {
                fixed.push(v);
            }
        }
    }
    for (slot, values) in [
        (bounds::ActiveSet::POINT, point),
        (bounds::ActiveSet::LOWER, lower),
        (bounds::ActiveSet::UPPER, upper),
        (bounds::ActiveSet::GRADIENT, gradient),
    ] {
        case.reals(slot, values.iter().map(|value| f64::from(*value as f32)).collect());
    }
    case.reals(bounds::ActiveSet::FREE, vec![1.0; tables.vector_len]);
    fixed.into_iter().for_each(|v| case.expect(bounds::ActiveSet::FREE, v, 0.0));
    case
}

pub fn project_point(tables: &Tables, random: &mut Random) -> Case {
    let point = random.vector(tables.arena_len);
    let pins = free(tables.vector_len, random);
    let [lower, upper] = limits(vec![0.0; tables.vector_len], random);
    let mut case = Case::new(StaticKernel::BoundsProjectPoint, "");
    case.reals(bounds::ProjectPoint::POINT, point.clone());
    case.poisoned(bounds::ProjectPoint::PARTIALS, tables.partials + 3);
    for table in &tables.list {
        case.dispatch(
            table.spread.lanes(),
            bounds::ProjectPoint {
                arena: table.arena as u32,
                vector: table.vector as u32,
                partial: table.partial as u32,
                elements: table.items as u32,
            },
        );
        for (group, items) in table.spread.each() {
            let mut moved = 0.0;
            for i in items {
                let (x, v) = (point[table.arena + i], table.vector + i);
                if pins[v] == 1.0 && !(lower[v]..=upper[v]).contains(&x) {
                    moved += 1.0;
                    case.expect(bounds::ProjectPoint::POINT, table.arena + i, if x < lower[v] { lower[v] } else { upper[v] });
                }
            }
            case.expect(bounds::ProjectPoint::PARTIALS, table.partial + group, moved);
        }
    }
    for (slot, values) in [(bounds::ProjectPoint::LOWER, lower), (bounds::ProjectPoint::UPPER, upper), (bounds::ProjectPoint::PINS, pins)] {
        case.reals(slot, values);
    }
    case
}

pub fn moved(size: usize, random: &mut Random) -> Case {
    let partials: Vec<f64> = (0..size).map(|_| f64::from(random.below(50))).collect();
    let state = random_state(random, &[(MOVED, 3.0)]);
    let mut case = Case::reduction(bounds::Moved { partial_count: size as u32 }, "", state);
    case.expect_state(&[(MOVED, Value::from(3.0) + total(&partials))]);
    case.reals(bounds::Moved::PARTIALS, partials);
    case
}

pub fn clip(tables: &Tables, random: &mut Random) -> Case {
    let point = random.vector(tables.arena_len);
    let [mut gradient, mut step] = [(); 2].map(|()| random.vector(tables.vector_len));
    gradient.iter_mut().step_by(5).for_each(|slope| *slope = 0.0);
    step.iter_mut().step_by(3).for_each(|step| *step = 0.0);
    let [mut lower, mut upper] = limits(vec![0.0; tables.vector_len], random);
    let mut case = Case::new(StaticKernel::BoundsClip, "");
    case.reals(bounds::Clip::POINT, point.clone());
    case.reals(bounds::Clip::STEP, step.clone());
    case.reals(bounds::Clip::TRIAL, random.vector(tables.arena_len));
    case.poisoned(bounds::Clip::P, tables.vector_len);
    case.poisoned(bounds::Clip::PARTIALS, 3 * tables.distance);
    for (number, table) in tables.list.iter().enumerate() {
        // The last one has no limits: nothing but p may depend on what stands there.
        let limited = number < 2;
        case.dispatch(
            table.spread.lanes(),
            bounds::Clip {
                distance: tables.distance as u32,
                arena: table.arena as u32,
                vector: table.vector as u32,
                partial: table.partial as u32,
                elements: table.items as u32,
                limited: u32::from(limited),
            },
        );
        for (group, items) in table.spread.each() {
            let [mut slope, mut square, mut largest] = [Value::default(); 3];
            for i in items {
                let (x, v) = (point[table.arena + i], table.vector + i);
                let (g, mut s) = (gradient[v], Value::from(step[v]));
                let [low, high] = limits([x + step[v]], random).map(|limit| limit[0]);
                (lower[v], upper[v]) = (low, high);
                let clipped = (x + step[v]).clamp(low, high);
                let mut projected = Value::from(g);
                if limited {
                    if s.value != 0.0 && clipped != x + s.value {
                        s = Value::from(clipped) - x.into();
                        case.expect(bounds::Clip::STEP, v, s);
                        case.expect(bounds::Clip::TRIAL, table.arena + i, clipped);
                    }
                    if g != 0.0 {
                        projected = Value { value: (x - g).clamp(low, high) - x, size: 2.0 * x.abs() + g.abs() };
                    }
                }
                case.expect(bounds::Clip::P, v, s);
                slope = slope + s * g.into();
                square = square + s * s;
                largest = Value { value: largest.value.max(projected.value.abs()), size: largest.size.max(projected.size) };
            }
            for (kind, sum) in [slope, square, largest].into_iter().enumerate() {
                case.expect(bounds::Clip::PARTIALS, kind * tables.distance + table.partial + group, sum);
            }
        }
    }
    for (slot, values) in [(bounds::Clip::LOWER, lower), (bounds::Clip::UPPER, upper), (bounds::Clip::GRADIENT, gradient)] {
        case.reals(slot, values);
    }
    case
}

pub fn clipped(size: usize, random: &mut Random) -> Vec<Case> {
    let case = |name: &str, gradient: f64, random: &mut Random| {
        let distance = size + 2;
        let mut partials = random.vector(3 * distance);
        partials[distance..].iter_mut().for_each(|value| *value = value.abs());
        let [slope, square] = [0, 1].map(|kind| total(&partials[kind * distance..][..size]));
        let largest = partials[2 * distance..][..size].iter().fold(0.0, |largest: f64, &value| largest.max(value));
        let state = random_state(random, &[(GRADIENT_MAX, gradient), (SOLVED, 1.0)]);
        let mut case = Case::reduction(bounds::Clipped { partial_count: size as u32, distance: distance as u32 }, name, state);
        case.reals(bounds::Clipped::PARTIALS, partials);
        case.expect_state(&[(MODEL, slope), (STEP_NORM, square.sqrt()), (SOLVED, 0.0.into())]);
        if gradient.is_finite() {
            case.expect_state(&[(GRADIENT_MAX, largest.into())]);
        }
        case
    };
    vec![case("a finite gradient", 0.5, random), case("a gradient that is not finite", f64::NAN, random)]
}

pub fn clipped_model(size: usize, random: &mut Random) -> Case {
    let partials = random.vector(size);
    let state = random_state(random, &[]);
    let slope = Value::from(state[MODEL as usize]);
    let mut case = Case::reduction(bounds::ClippedModel { partial_count: size as u32 }, "", state);
    case.expect_state(&[(MODEL, -slope - Value::from(0.5) * total(&partials))]);
    case.reals(bounds::ClippedModel::PARTIALS, partials);
    case
}

//! Kernels over all unknowns of methods that solve no linear system.

use super::mask::free;
use super::{Spread, total};
use crate::twins::harness::{Case, random_state};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, descent, line_search};
use leastwise::solve::state::*;

pub fn stretch(size: usize, random: &mut Random) -> Vec<Case> {
    let with = |name: &str, length: f64, random: &mut Random| {
        let mut case = Case::new(StaticKernel::LineSearchScaleStep, name);
        let direction = random.vector(size);
        // A direction that is not used may hold anything.
        if length == 0.0 {
            case.poisoned(line_search::ScaleStep::DIRECTION, size)
        } else {
            case.reals(line_search::ScaleStep::DIRECTION, direction.clone())
        }
        case.poisoned(line_search::ScaleStep::STEP, size);
        case.reals(line_search::ScaleStep::STATE, random_state(random, &[(LENGTH, length)]));
        case.dispatch(size as u32, line_search::ScaleStep);
        (0..size).for_each(|i| case.expect(line_search::ScaleStep::STEP, i, if length == 0.0 { 0.0 } else { length * direction[i] }));
        case
    };
    vec![with("", 0.375, random), with("no step", 0.0, random)]
}

pub fn changed(size: usize, random: &mut Random) -> Vec<Case> {
    let with = |name: &str, sets_out: bool, is_finite: bool, [cost, takes_all]: [f64; 2], random: &mut Random| {
        let mut partials = random.positive(2 * size + 2);
        partials[size + 2..].iter_mut().for_each(|low| *low = f64::from((*low * 1e-7) as f32));
        let since = total(&partials[..size]) + total(&partials[size + 2..]);
        if !is_finite && size > 0 {
            partials[size / 2] = f64::NAN;
        }
        let is_finite = is_finite || size == 0;
        let known = [(SETTING_OUT, f64::from(u8::from(sets_out))), (CHANGE_KNOWN, 0.25), (COST, cost)];
        let state = random_state(random, &known);
        let mut case = Case::reduction(
            line_search::Changed { partial_count: size as u32, distance: size as u32 + 2, unconditional: takes_all as u32 },
            name,
            state,
        );
        case.reals(line_search::Changed::PARTIALS, partials);
        let sum = since + 0.25.into();
        let change = match (sets_out, is_finite) {
            (true, _) => Value::default(),
            (false, true) => sum,
            (false, false) => f64::NAN.into(),
        };
        let keeps = !sets_out && (!is_finite || (takes_all == 0.0 && sum.value > 10.0 * cost));
        if !keeps {
            case.expect_state(&[(CHANGE_KNOWN, change)]);
        }
        case.expect_state(&[
            (CHANGE, change),
            (LINEARIZED, f64::from(u8::from(keeps)).into()),
            (ANCHORED, f64::from(u8::from(!keeps)).into()),
            (TURNING, 0.0.into()),
        ]);
        case
    };
    vec![
        with("", false, true, [1e6, 0.0], random),
        with("setting out", true, false, [1e6, 0.0], random),
        with("not finite", false, false, [1e6, 0.0], random),
        with("far too high", false, true, [0.0078125, 0.0], random),
        with("far too high, but taken", false, true, [0.0078125, 1.0], random),
    ]
}

pub fn slopes(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let with = |name: &str, masked: bool, bounded: bool, random: &mut Random| {
        let [gradient, direction, trial_gradient] = [(); 3].map(|()| random.vector(size));
        let free = free(size, random);
        let length = 0.5;
        // Some components stay, and with limits some are clipped.
        let clipped: Vec<bool> = (0..size).map(|_| bounded && random.below(3) == 0).collect();
        let step: Vec<f64> = (0..size)
            .map(|i| match random.below(4) {
                0 => 0.0,
                _ if clipped[i] => 0.25 * direction[i],
                _ => length * direction[i],
            })
            .collect();
        let spread = Spread::new(size, group, random);
        let distance = spread.groups + 2;
        let mut case = Case::new(StaticKernel::LineSearchSlopes, name);
        for (slot, values) in [
            (line_search::Slopes::GRADIENT, &gradient),
            (line_search::Slopes::DIRECTION, &direction),
            (line_search::Slopes::FREE, &free),
            (line_search::Slopes::TRIAL_GRADIENT, &trial_gradient),
            (line_search::Slopes::STEP, &step),
        ] {
            case.reals(slot, values.clone());
        }
        case.reals(line_search::Slopes::STATE, random_state(random, &[(LENGTH, length)]));
        case.poisoned(line_search::Slopes::PARTIALS, 5 * distance);
        case.dispatch(
            spread.lanes(),
            line_search::Slopes {
                distance: distance as u32,
                elements: size as u32,
                masked: u32::from(masked),
                limited: u32::from(bounded),
            },
        );
        for (group, items) in spread.each() {
            let mut sums = [Value::default(); 4];
            let mut largest = 0f64;
            for i in items {
                let [d, g, s, before] = [direction[i], trial_gradient[i], step[i], gradient[i]].map(Value::from);
                if step[i] != 0.0 {
                    let ahead = if clipped[i] { Value::default() } else { d * g };
                    sums.iter_mut().zip([ahead, before * s, g * s, s * s]).for_each(|(sum, term)| *sum = *sum + term);
                }
                if !masked || free[i] != 0.0 {
                    largest = largest.max(trial_gradient[i].abs());
                }
            }
            (0..)
                .zip(sums)
                .for_each(|(kind, sum): (usize, Value)| case.expect(line_search::Slopes::PARTIALS, kind * distance + group, sum));
            case.expect(line_search::Slopes::PARTIALS, 4 * distance + group, largest);
        }
        case
    };
    vec![with("", false, false, random), with("masked", true, false, random), with("within limits", true, true, random)]
}

pub fn remember(size: usize, random: &mut Random) -> Vec<Case> {
    let with = |name: &str, pairs: usize, newest: usize, keeps: bool, bounded: bool, random: &mut Random| {
        let stride = size + 3;
        let [step, trial_free, trial_gradient, gradient] = [(); 4].map(|()| random.vector(size));
        let mut case = Case::new(StaticKernel::DescentLbfgsPush, name);
        case.reals(descent::LbfgsPush::STEP, step.clone());
        case.reals(descent::LbfgsPush::TRIAL_FREE, trial_free.clone());
        case.reals(descent::LbfgsPush::GRADIENT, gradient.clone());
        case.reals(descent::LbfgsPush::TRIAL_GRADIENT, trial_gradient.clone());
        case.poisoned(descent::LbfgsPush::HISTORY, 2 * pairs * stride);
        case.poisoned(descent::LbfgsPush::FREE, size);
        let known = [(ACCEPTED, 1.0), (KEPT, f64::from(u8::from(keeps))), (NEWEST, newest as f64)];
        case.reals(descent::LbfgsPush::STATE, random_state(random, &known));
        case.stop = Some((ACCEPTED, 0.0));
        case.dispatch(size as u32, descent::LbfgsPush { distance: stride as u32, pairs: pairs as u32, limited: u32::from(bounded) });
        for i in 0..size {
            if keeps {
                case.expect(descent::LbfgsPush::HISTORY, newest * stride + i, step[i]);
                let y = Value::from(trial_gradient[i]) - gradient[i].into();
                case.expect(descent::LbfgsPush::HISTORY, (pairs + newest) * stride + i, y);
            }
            case.expect(descent::LbfgsPush::GRADIENT, i, trial_gradient[i]);
            if bounded {
                case.expect(descent::LbfgsPush::FREE, i, trial_free[i]);
            }
        }
        case
    };
    vec![
        with("", 3, 1, true, false, random),
        with("within limits", 2, 1, true, true, random),
        with("a pair that is not kept", 1, 0, false, false, random),
    ]
}

pub fn inner_products(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let with = |name: &str, pairs: usize, newest: usize, all: bool, masked: bool, random: &mut Random| {
        let (vectors, stride) = (2 * pairs + 1, size + 5);
        let history = random.vector(2 * pairs * stride);
        let (gradient, free) = (random.vector(size), free(size, random));
        // As many as a whole case may have numbers; runs, of which the last may be empty.
        let runs = 1 + random.below(3) as usize;
        let rows: Vec<usize> = if all { (0..vectors).collect() } else { vec![newest, pairs + newest, 2 * pairs] };
        let mut case = Case::new(StaticKernel::DescentInnerProducts, name);
        let at = |vector: usize, i: usize| if vector == 2 * pairs { gradient[i] } else { history[vector * stride + i] };
        case.poisoned(descent::InnerProducts::PRODUCTS, runs * rows.len() * vectors);
        case.reals(descent::InnerProducts::STATE, random_state(random, &[(TURNING, 1.0), (NEWEST, newest as f64)]));
        case.stop = Some((TURNING, 0.0));
        case.dispatch(
            (runs * vectors * group) as u32,
            descent::InnerProducts {
                runs: runs as u32,
                elements: size as u32,
                distance: stride as u32,
                pairs: pairs as u32,
                all: u32::from(all),
                masked: u32::from(masked),
            },
        );
        let length = size.div_ceil(runs * group) * group;
        for run in 0..runs {
            let items = (run * length).min(size)..((run + 1) * length).min(size);
            for (r, &row) in rows.iter().enumerate() {
                for column in 0..vectors {
                    let used = items.clone().filter(|i| !masked || free[*i] != 0.0);
                    let product: Value = used.map(|i| Value::from(at(row, i)) * at(column, i).into()).sum();
                    case.expect(descent::InnerProducts::PRODUCTS, (run * rows.len() + r) * vectors + column, product);
                }
            }
        }
        case.reals(descent::InnerProducts::FREE, free);
        case.reals(descent::InnerProducts::GRADIENT, gradient);
        case.reals(descent::InnerProducts::HISTORY, history);
        case
    };
    // A history of large vectors would be too large a case.
    let pairs = if size > 10_000 { 1 } else { 3 };
    vec![with("", pairs, pairs - 1, false, false, random), with("within limits", pairs, 0, true, true, random)]
}

pub fn descend(size: usize, random: &mut Random) -> Vec<Case> {
    let with = |name: &str, pairs: usize, masked: bool, random: &mut Random| {
        let stride = size + 1;
        let mut history = random.vector(2 * pairs * stride);
        let mut coefficients = random.vector(2 * pairs + 1);
        // A vector that is not used may hold anything.
        coefficients[0] = 0.0;
        history[..stride].iter_mut().enumerate().for_each(|(i, value)| *value = crate::twins::harness::poison(i));
        let (gradient, free) = (random.vector(size), free(size, random));
        let mut case = Case::new(StaticKernel::DescentDescend, name);
        case.poisoned(descent::Descend::DIRECTION, size);
        case.reals(descent::Descend::STATE, random_state(random, &[(TURNING, 1.0)]));
        case.stop = Some((TURNING, 0.0));
        case.dispatch(size as u32, descent::Descend { distance: stride as u32, pairs: pairs as u32, masked: u32::from(masked) });
        for i in 0..size {
            let mut d = Value::from(coefficients[2 * pairs]) * gradient[i].into();
            for j in 1..2 * pairs {
                d = d + Value::from(coefficients[j]) * history[j * stride + i].into();
            }
            case.expect(descent::Descend::DIRECTION, i, if masked && free[i] == 0.0 { Value::default() } else { d });
        }
        for (slot, values) in [
            (descent::Descend::GRADIENT, gradient),
            (descent::Descend::FREE, free),
            (descent::Descend::HISTORY, history),
            (descent::Descend::COEFFICIENTS, coefficients),
        ] {
            case.reals(slot, values);
        }
        case
    };
    let pairs = if size > 10_000 { 1 } else { 4 };
    vec![with("", pairs, false, random), with("masked", pairs, true, random)]
}

pub fn adam(size: usize, random: &mut Random) -> Vec<Case> {
    let with = |name: &str, starts: bool, masked: bool, random: &mut Random| {
        let stride = size + 2;
        let (gradient, free) = (random.vector(size), free(size, random));
        let mut moments = random.positive(2 * stride);
        if starts {
            moments.iter_mut().enumerate().for_each(|(i, value)| *value = crate::twins::harness::poison(i));
        }
        let [beta_1, beta_2, decay_1, decay_2, rate] = [0.75, 0.875, 0.5, 0.25, 0.125];
        let known = [
            (TURNING, 1.0),
            (PAIRS, if starts { 0.0 } else { 1.0 }),
            (BETA_1, beta_1),
            (BETA_2, beta_2),
            (DECAY_1, decay_1),
            (DECAY_2, decay_2),
            (LEARNING_RATE, rate),
        ];
        let mut case = Case::new(StaticKernel::DescentAdam, name);
        case.reals(descent::Adam::MOMENTS, moments.clone());
        case.poisoned(descent::Adam::DIRECTION, size);
        case.reals(descent::Adam::STATE, random_state(random, &known));
        case.stop = Some((TURNING, 0.0));
        case.dispatch(size as u32, descent::Adam { distance: stride as u32, masked: u32::from(masked) });
        for i in 0..size {
            let g = Value::from(gradient[i]);
            let before = |at: usize, beta: f64| if starts { Value::default() } else { Value::from(beta * moments[at]) };
            let mean = before(i, beta_1) + g * (1.0 - beta_1).into();
            let square = before(stride + i, beta_2) + g * g * (1.0 - beta_2).into();
            let (m, v) = (mean / (1.0 - decay_1).into(), square / (1.0 - decay_2).into());
            let d = m * (-rate).into() / (v.sqrt() + 1e-8.into());
            let moves = !masked || free[i] != 0.0;
            for (slot, at, value) in
                [(descent::Adam::MOMENTS, i, mean), (descent::Adam::MOMENTS, stride + i, square), (descent::Adam::DIRECTION, i, d)]
            {
                case.expect(slot, at, if moves { value } else { Value::default() });
            }
        }
        case.reals(descent::Adam::GRADIENT, gradient);
        case.reals(descent::Adam::FREE, free);
        case
    };
    vec![with("", false, false, random), with("masked", false, true, random), with("the first step", true, false, random)]
}

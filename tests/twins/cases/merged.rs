//! Conjugate gradients whose products are gathered along one list of all batches.

use super::{Spread, Tables, entry, total};
use crate::twins::harness::{Case, poison, random_state};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, merged};
use leastwise::program::NEGATIVE;
use leastwise::solve::state::*;

pub fn diagonal(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |masked: u32, random: &mut Random| {
        let mut case = Case::new(StaticKernel::MergedDiagonal, format!("masked {masked}"));
        let scale = random.positive(size);
        let free: Vec<f64> = (0..size).map(|_| f64::from(random.below(2))).collect();
        let state = random_state(random, &[]);
        case.dispatch(size as u32, merged::Diagonal { masked });
        case.reals(merged::Diagonal::SCALE, scale.clone());
        case.reals(merged::Diagonal::FREE, free.clone());
        case.reals(merged::Diagonal::STATE, state.clone());
        case.poisoned(merged::Diagonal::DIAGONAL, size);
        for i in 0..size {
            let is_fixed = masked != 0 && free[i] == 0.0;
            let damped = Value::from(state[DAMPING as usize]) * scale[i].into();
            case.expect(merged::Diagonal::DIAGONAL, i, if is_fixed { (-1.0).into() } else { damped });
        }
        case
    };
    vec![one(0, random), one(1, random)]
}

/// Words of the tables, as lists begin with them, and their variables in a row: table and number.
fn words(tables: &Tables) -> (Vec<u32>, Vec<(usize, usize)>) {
    let (mut words, mut variables) = (Vec::new(), Vec::new());
    for (number, table) in tables.list.iter().enumerate() {
        let [vector, width, block, _] = table.places();
        words.extend([vector, width, block, variables.len() as u32, 0, table.items as u32]);
        variables.extend((0..table.items).map(|variable| (number, variable)));
    }
    (words, variables)
}

pub fn start(tables: &Tables, group: usize, random: &mut Random) -> Case {
    let (gradient, inverse) = (random.vector(tables.vector_len), random.vector(tables.blocks_len));
    let (words, variables) = words(tables);
    let spread = Spread::new(variables.len(), group, random);
    let distance = spread.groups + 3;
    let mut case = Case::new(StaticKernel::MergedStart, "");
    case.indices(words);
    case.reals(merged::Start::GRADIENT, gradient.clone());
    case.reals(merged::Start::INVERSE, inverse.clone());
    [merged::Start::RESIDUAL, merged::Start::STEP, merged::Start::Z].into_iter().for_each(|slot| case.poisoned(slot, tables.vector_len));
    case.poisoned(merged::Start::PARTIALS, 2 * distance);
    let args = merged::Start { tables: tables.list.len() as u32, variables: variables.len() as u32, distance: distance as u32 };
    case.dispatch(spread.lanes(), args);
    for (group, run) in spread.each() {
        let (mut rz, mut largest) = (Value::default(), 0.0f64);
        for (number, variable) in run.map(|place| variables[place]) {
            let table = &tables.list[number];
            let (vector, block) = (table.vector + variable * table.width, table.block + variable * table.packed());
            for c in 0..table.width {
                let z = (0..table.width).map(|k| Value::from(entry(&inverse, block, c, k)) * (-gradient[vector + k]).into()).sum();
                case.expect(merged::Start::RESIDUAL, vector + c, -gradient[vector + c]);
                case.expect(merged::Start::STEP, vector + c, 0.0);
                case.expect(merged::Start::Z, vector + c, z);
                rz = rz + Value::from(-gradient[vector + c]) * z;
                largest = largest.max(gradient[vector + c].abs());
            }
        }
        case.expect(merged::Start::PARTIALS, group, rz);
        case.expect(merged::Start::PARTIALS, distance + group, largest);
    }
    case
}

/// Elements behind a table that are none of its.
const GAP: usize = 5;

/// What an iteration finds: rᵀz before, if there was one, rᵀz as a part of the first one, its sign, and whether there was no curvature.
struct Found {
    name: &'static str,
    has_before: bool,
    part: f64,
    sign: f64,
    is_flat: bool,
}

/// The first iteration, one in the midst, one that finds the system solved, one that finds no rᵀz, and one behind a direction without
/// curvature.
pub fn accumulate(size: usize, width: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let found = |name, has_before, part, sign| Found { name, has_before, part, sign, is_flat: false };
    [
        found("first", false, 1.0, 1.0),
        found("going on", true, 0.5, 1.0),
        found("solved", true, 0.01, 1.0),
        found("not positive", true, 0.5, -1.0),
        Found { is_flat: true, ..found("no curvature", true, 0.5, 1.0) },
    ]
    .map(|found| accumulate_once(size, width, group, found, random))
    .into()
}

fn accumulate_once(size: usize, width: usize, group: usize, found: Found, random: &mut Random) -> Case {
    let mut case = Case::new(StaticKernel::MergedAccumulate, format!("width {width}, {}", found.name));
    // Tables with gaps behind them: width, variables, and kinds of contributions.
    let tables = [(2, 3, 2), (width, size.div_ceil(width), 3), (1, 66, 1)];
    let (instances, bits, columns) = (size + 3, 2, 9 * (size + 3));
    let values = random.vector(columns);
    let elements: usize = tables.iter().map(|(width, variables, _)| width * variables + GAP).sum();
    let mut words = vec![0; 6 * tables.len()];
    let mut incident: Vec<Vec<(u32, usize)>> = Vec::new();
    // Element and sign of a component's first value, by table, kind and component.
    let mut maps: Vec<Vec<Option<(usize, bool)>>> = Vec::new();
    let (mut vector, mut first) = (0, 0);
    for (number, &(width, variables, kinds)) in tables.iter().enumerate() {
        let map: Vec<Option<(usize, bool)>> = (0..kinds * width)
            .map(|_| (random.below(4) > 0).then(|| (random.below(8) as usize * instances, random.below(2) == 0)))
            .collect();
        let begin = words.len();
        words[6 * number..][..6].copy_from_slice(&[vector, width, 0, first, begin, variables]);
        words.extend(map.iter().map(|code| code.map_or(0, |(at, negative)| at + 1 + if negative { NEGATIVE as usize } else { 0 })));
        maps.push(map);
        let begin = incident.len();
        incident.resize(begin + variables, Vec::new());
        for instance in 0..instances.min(4 * variables) {
            for kind in 0..kinds {
                // One of three variables has none; an instance may use one twice.
                let variable =
                    (random.below(variables as u32) as usize / 3 * 3 + random.below(2) as usize).min(variables.saturating_sub(1));
                if variables > 0 {
                    incident[begin + variable].push((kind as u32, instance));
                }
            }
        }
        (vector, first) = (vector + width * variables + GAP, first + variables);
    }
    let starts = words.len();
    let ends = incident.iter().scan(0, |end, entries| {
        *end += entries.len();
        Some(*end)
    });
    words.extend(std::iter::once(0).chain(ends));
    let entries = words.len();
    words.extend(incident.iter().flatten().map(|(kind, instance)| instance << bits | *kind as usize));
    case.indices(words.into_iter().map(|word| word as u32).collect());

    let length = elements + 5;
    let [z, p, q] = [(); 3].map(|()| random.vector(elements));
    let mut vectors = random.vector(3 * length);
    vectors[..elements].iter_mut().for_each(|damped| *damped = damped.abs());
    (0..elements).step_by(7).for_each(|i| vectors[i] = -1.0);
    let partials: Vec<f64> = random.positive(1 + size % 700).iter().map(|value| found.sign * value).collect();
    let rz = total(&partials);
    let before = if found.has_before { random.within(1.0, 2.0) } else { 0.0 };
    let begun = f64::from((rz.value.abs() / found.part) as f32);
    let inner = 100.0;
    let state = random_state(random, &[(SOLVED, 0.0), (RZ_START, begun), (INNER, inner), (FORCING, 0.125)]);
    let spread = Spread::new(elements, group, random);
    let (control, curvature) = (partials.len() + 2, partials.len() + 6);
    case.reals(merged::Accumulate::VECTORS, vectors.clone());
    case.reals(merged::Accumulate::Z, z.clone());
    case.reals(merged::Accumulate::COLUMNS, values.clone());
    case.reals(merged::Accumulate::STATE, state);
    if found.has_before {
        case.reals(merged::Accumulate::P, p.clone());
        case.reals(merged::Accumulate::Q, q.clone());
    } else {
        case.poisoned(merged::Accumulate::P, elements);
        case.poisoned(merged::Accumulate::Q, elements);
    }
    let mut all: Vec<f64> = partials.iter().copied().chain((partials.len()..curvature + spread.groups + 2).map(poison)).collect();
    (all[control + 1], all[control + 2]) = (before, if found.is_flat { 1.0 } else { 0.0 });
    case.reals(merged::Accumulate::PARTIALS, all);
    let args = merged::Accumulate {
        elements: elements as u32,
        tables: tables.len() as u32,
        starts: starts as u32,
        entries: entries as u32,
        kind_bits: bits as u32,
        vectors: 2,
        length: length as u32,
        partial_count: partials.len() as u32,
        curvature: curvature as u32,
        control: control as u32,
    };
    case.dispatch(spread.lanes(), args);
    let is_solved = found.has_before && rz.value <= 0.125 * 0.125 * begun;
    if rz.value <= 0.0 || is_solved || found.is_flat {
        case.expect(merged::Accumulate::PARTIALS, control, 0.0);
        case.expect_state(&[(SOLVED, 1.0.into())]);
        return case;
    }
    case.expect(merged::Accumulate::PARTIALS, control, rz);
    case.expect_state(&[(RZ, rz), (INNER, (inner + 1.0).into())]);
    let beta = if found.has_before { rz / before.into() } else { Value::default() };
    // Table, variable and component of every element.
    let mut places = Vec::new();
    let mut first = 0;
    for (number, &(width, variables, _)) in tables.iter().enumerate() {
        places.extend((0..variables * width).map(|i| Some((number, first + i / width, i % width))));
        places.extend([None; GAP]);
        first += variables;
    }
    for (group, run) in spread.each() {
        let mut along = Value::default();
        for i in run {
            let old = |vector: &[f64]| if found.has_before { beta * vector[i].into() } else { Value::default() };
            let direction = Value::from(z[i]) + old(&p);
            let sum = places[i].map_or(Value::default(), |(number, variable, component)| {
                let of = |&(kind, instance): &(u32, usize)| match maps[number][kind as usize * tables[number].0 + component] {
                    None => Value::default(),
                    Some((at, true)) => -Value::from(values[at + instance]),
                    Some((at, false)) => Value::from(values[at + instance]),
                };
                let own = Value::from(vectors[length + i]) + vectors[2 * length + i].into();
                own + incident[variable].iter().map(of).sum()
            });
            let product = Value::from(vectors[i]) * z[i].into() + old(&q) + sum;
            let product = if vectors[i] < 0.0 { Value::default() } else { product };
            case.expect(merged::Accumulate::P, i, direction);
            case.expect(merged::Accumulate::Q, i, product);
            along = along + direction * product;
        }
        case.expect(merged::Accumulate::PARTIALS, curvature + group, along);
    }
    case
}

/// With curvature, without, and once solved.
pub fn update(tables: &Tables, group: usize, random: &mut Random) -> Vec<Case> {
    [("", 1.0, 1.5), ("no curvature", -1.0, 1.5), ("solved", 1.0, 0.0)]
        .map(|(name, sign, rz)| update_once(tables, group, (name, sign, rz), random))
        .into()
}

fn update_once(tables: &Tables, group: usize, (name, sign, before): (&str, f64, f64), random: &mut Random) -> Case {
    let [p, q, step, residual] = [(); 4].map(|()| random.vector(tables.vector_len));
    let inverse = random.vector(tables.blocks_len);
    let (words, variables) = words(tables);
    let along: Vec<f64> = random.positive(1 + tables.list[1].items % 700).iter().map(|value| sign * value).collect();
    let alpha = Value::from(before) / total(&along);
    let spread = Spread::new(variables.len(), group, random);
    let control = spread.groups + 2;
    let mut case = Case::new(StaticKernel::MergedUpdate, name);
    case.indices(words);
    case.reals(merged::Update::P, p.clone());
    case.reals(merged::Update::Q, q.clone());
    case.reals(merged::Update::INVERSE, inverse.clone());
    case.reals(merged::Update::STEP, step.clone());
    case.reals(merged::Update::RESIDUAL, residual.clone());
    case.poisoned(merged::Update::Z, tables.vector_len);
    let mut partials: Vec<f64> = (0..control + 4).map(poison).chain(along.iter().copied()).collect();
    partials[control] = before;
    case.reals(merged::Update::PARTIALS, partials);
    let args = merged::Update {
        tables: tables.list.len() as u32,
        variables: variables.len() as u32,
        curvature: control as u32 + 4,
        curvature_count: along.len() as u32,
        control: control as u32,
    };
    case.dispatch(spread.lanes(), args);
    if before <= 0.0 {
        return case;
    }
    case.expect(merged::Update::PARTIALS, control + 1, before);
    case.expect(merged::Update::PARTIALS, control + 2, if sign > 0.0 { 0.0 } else { 1.0 });
    for (group, run) in spread.each() {
        let mut rz = Value::default();
        for (number, variable) in run.filter(|_| sign > 0.0).map(|place| variables[place]) {
            let table = &tables.list[number];
            let (vector, block) = (table.vector + variable * table.width, table.block + variable * table.packed());
            let next = |c: usize| Value::from(residual[vector + c]) - alpha * q[vector + c].into();
            for c in 0..table.width {
                let z = (0..table.width).map(|k| Value::from(entry(&inverse, block, c, k)) * next(k)).sum();
                case.expect(merged::Update::STEP, vector + c, Value::from(step[vector + c]) + alpha * p[vector + c].into());
                case.expect(merged::Update::RESIDUAL, vector + c, next(c));
                case.expect(merged::Update::Z, vector + c, z);
                rz = rz + next(c) * z;
            }
        }
        case.expect(merged::Update::PARTIALS, group, rz);
    }
    case
}

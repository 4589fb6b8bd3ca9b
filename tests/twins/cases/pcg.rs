use super::{Spread, Tables, entry, total};
use crate::twins::harness::{Case, poison, random_state};
use crate::twins::value::{Random, Value};
use leastwise::device::binding::{ARENA, DATA, INDEX, JACOBIAN, PARTIALS, STATE, VECTOR_IN, VECTOR_OUT};
use leastwise::kernel::Fixed;
use leastwise::solve::state::*;

const GUARD: Option<(u32, f64)> = Some((SOLVED, 1.0));

pub fn start(tables: &Tables, random: &mut Random) -> Case {
    let (gradient, inverse) = (random.vector(tables.vector_len), random.vector(tables.blocks_len));
    let mut case = Case::new(Fixed::PcgStart, "");
    case.reals(VECTOR_IN, gradient.clone());
    case.reals(JACOBIAN, inverse.clone());
    [DATA, INDEX, VECTOR_OUT].into_iter().for_each(|slot| case.poisoned(slot, tables.vector_len));
    case.poisoned(PARTIALS, 2 * tables.distance);
    for table in &tables.list {
        let mut words = table.words().to_vec();
        words.extend([tables.distance as u32, table.items as u32]);
        case.dispatch(table.spread.lanes(), &words);
        for (group, variables) in table.spread.each() {
            let mut rz = Value::default();
            let mut largest = 0.0f64;
            for variable in variables {
                let (vector, block) = (table.vector + variable * table.width, table.block + variable * table.packed());
                for c in 0..table.width {
                    let z = (0..table.width).map(|k| Value::from(entry(&inverse, block, c, k)) * (-gradient[vector + k]).into()).sum();
                    case.expect(DATA, vector + c, -gradient[vector + c]);
                    case.expect(INDEX, vector + c, 0.0);
                    case.expect(VECTOR_OUT, vector + c, z);
                    rz = rz + Value::from(-gradient[vector + c]) * z;
                    largest = largest.max(gradient[vector + c].abs());
                }
            }
            case.expect(PARTIALS, table.partial + group, rz);
            case.expect(PARTIALS, tables.distance + table.partial + group, largest);
        }
    }
    case
}

pub fn begin(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |sign: f64, random: &mut Random| {
        let rz: Vec<f64> = random.positive(size).iter().map(|value| sign * value).collect();
        let largest = random.positive(size);
        let state = random_state(random, &[]);
        let mut case = Case::reduction(Fixed::PcgBegin, format!("sign {sign}"), &[size as u32, size as u32 + 2], state);
        let gap = random.vector(2);
        case.reals(PARTIALS, [&rz[..], &gap, &largest].concat());
        let sum = total(&rz);
        let top = largest.iter().fold(0.0f64, |top, value| top.max(*value));
        case.expect_state(&[(RZ, sum), (RZ_START, sum), (GRADIENT_MAX, top.into())]);
        case.expect_state(&[(BETA, 0.0.into()), (INNER, 0.0.into())]);
        case.expect_state(&[(SOLVED, if sum.value > 0.0 { 0.0 } else { 1.0 }.into())]);
        case
    };
    vec![one(1.0, random), one(-1.0, random)]
}

pub fn direction(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |beta: f64, random: &mut Random| {
        let mut case = Case::new(Fixed::PcgDirection, format!("β = {beta}"));
        let (scale, z, p) = (random.positive(size), random.vector(size), random.vector(size));
        case.dispatch(size as u32, &[]);
        case.reals(DATA, scale.clone());
        case.reals(VECTOR_IN, z.clone());
        if beta == 0.0 {
            case.poisoned(VECTOR_OUT, size)
        } else {
            case.reals(VECTOR_OUT, p.clone())
        };
        case.poisoned(JACOBIAN, size);
        let state = random_state(random, &[(SOLVED, 0.0), (BETA, beta)]);
        let damping = state[DAMPING as usize];
        case.reals(STATE, state);
        case.stop = GUARD;
        for i in 0..size {
            let direction = Value::from(z[i]) + Value::from(beta) * p[i].into();
            case.expect(VECTOR_OUT, i, direction);
            case.expect(JACOBIAN, i, Value::from(damping * scale[i]) * direction);
        }
        case
    };
    vec![one(0.0, random), one(0.75, random)]
}

pub fn curvature(size: usize, group: usize, random: &mut Random) -> Case {
    let (p, q) = (random.vector(size), random.vector(size));
    let spread = Spread::new(size, group, random);
    let first = random.below(3) as usize;
    let mut case = Case::new(Fixed::PcgCurvature, "");
    case.dispatch(spread.lanes(), &[size as u32, first as u32]);
    case.reals(DATA, p.clone());
    case.reals(VECTOR_IN, q.clone());
    case.reals(STATE, random_state(random, &[(SOLVED, 0.0)]));
    case.poisoned(PARTIALS, first + spread.groups + 2);
    case.stop = GUARD;
    for (group, items) in spread.each() {
        case.expect(PARTIALS, first + group, items.map(|i| Value::from(p[i]) * q[i].into()).sum::<Value>());
    }
    case
}

/// The first two tables together, and the last one alone: with curvature, and without.
pub fn update(tables: &Tables, group: usize, random: &mut Random) -> Vec<Case> {
    vec![update_along(tables, group, 1.0, random), update_along(tables, group, -1.0, random)]
}

fn update_along(tables: &Tables, group: usize, sign: f64, random: &mut Random) -> Case {
    let [p, q, step, residual] = [(); 4].map(|()| random.vector(tables.vector_len));
    let inverse = random.vector(tables.blocks_len);
    let state = random_state(random, &[(SOLVED, 0.0)]);
    let along: Vec<f64> = random.positive(1 + tables.list[1].items % 700).iter().map(|value| sign * value).collect();
    let alpha = Value::from(state[RZ as usize]) / total(&along);
    let spreads = tables.list.chunks(2).map(|pair| Spread::new(pair.iter().map(|table| table.items).sum(), group, random));
    let spreads: Vec<Spread> = spreads.collect();
    let partials: usize = spreads.iter().map(|spread| spread.groups).sum();
    let mut case = Case::new(Fixed::PcgUpdate, format!("sign {sign}"));
    case.stop = GUARD;
    case.reals(DATA, p.clone());
    case.reals(INDEX, q.clone());
    case.reals(VECTOR_IN, inverse.clone());
    case.reals(VECTOR_OUT, step.clone());
    case.reals(JACOBIAN, residual.clone());
    case.reals(STATE, state);
    // Behind the partials of rᵀz, which are poisoned like z.
    case.reals(PARTIALS, (0..partials + 2).map(poison).chain(along.iter().copied()).collect());
    case.poisoned(ARENA, tables.vector_len);
    let mut first = 0;
    for (pair, spread) in tables.list.chunks(2).zip(&spreads) {
        let of_table = |place: usize| {
            let words = |table: &super::Table| [table.vector, table.width, table.block, table.items].map(|word| word as u32);
            pair.get(place).map_or([0; 4], words)
        };
        let besides = [first as u32, partials as u32 + 2, along.len() as u32];
        case.dispatch(spread.lanes(), &[&of_table(0)[..], &of_table(1), &besides].concat());
        for (group, variables) in spread.each() {
            let mut rz = Value::default();
            for variable in variables.filter(|_| sign > 0.0) {
                let (table, variable) = match variable.checked_sub(pair[0].items) {
                    None => (&pair[0], variable),
                    Some(variable) => (&pair[1], variable),
                };
                let (vector, block) = (table.vector + variable * table.width, table.block + variable * table.packed());
                let next = |c: usize| Value::from(residual[vector + c]) - alpha * q[vector + c].into();
                for c in 0..table.width {
                    let z = (0..table.width).map(|k| Value::from(entry(&inverse, block, c, k)) * next(k)).sum();
                    case.expect(VECTOR_OUT, vector + c, Value::from(step[vector + c]) + alpha * p[vector + c].into());
                    case.expect(JACOBIAN, vector + c, next(c));
                    case.expect(ARENA, vector + c, z);
                    rz = rz + next(c) * z;
                }
            }
            case.expect(PARTIALS, first + group, rz);
        }
        first += spread.groups;
    }
    case
}

pub fn beta(size: usize, random: &mut Random) -> Vec<Case> {
    // What the residual is of the first one, and the inner iterations before.
    let one = |name: &str, sign: f64, along: f64, part: f64, random: &mut Random| {
        let partials: Vec<f64> = random.positive(size).iter().map(|value| sign * value).collect();
        let alongs: Vec<f64> = random.positive(size + 1).iter().map(|value| along * value).collect();
        let rz = total(&partials);
        let (before, inner) = (random.within(1.0, 2.0), 100.0);
        let first = f64::from((rz.value.abs() / part) as f32);
        let set = [(SOLVED, 0.0), (RZ, before), (RZ_START, first), (INNER, inner), (FORCING, 0.125)];
        let words = [size, size + 2, size + 1].map(|word| word as u32);
        let mut case = Case::reduction(Fixed::PcgBeta, name, &words, random_state(random, &set));
        let gap = random.vector(2);
        case.reals(PARTIALS, [&partials[..], &gap, &alongs].concat());
        case.stop = GUARD;
        if along < 0.0 {
            case.expect_state(&[(SOLVED, 1.0.into())]);
            return case;
        }
        let solved = rz.value <= 0.0 || rz.value <= 0.125 * 0.125 * first;
        case.expect_state(&[(INNER, (inner + 1.0).into()), (BETA, rz / before.into()), (RZ, rz)]);
        case.expect_state(&[(SOLVED, if solved { 1.0 } else { 0.0 }.into())]);
        case
    };
    vec![
        one("not solved", 1.0, 1.0, 0.5, random),
        one("solved by its residual", 1.0, 1.0, 0.01, random),
        one("not positive", -1.0, 1.0, 0.5, random),
        one("no curvature", 1.0, -1.0, 0.5, random),
    ]
}

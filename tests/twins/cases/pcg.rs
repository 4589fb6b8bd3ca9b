use super::{Spread, Tables, entry, total};
use crate::twins::harness::{Case, poison, random_state};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, pcg};
use leastwise::solve::state::*;

const GUARD: Option<(u32, f64)> = Some((SOLVED, 1.0));

pub fn start(tables: &Tables, random: &mut Random) -> Case {
    let (gradient, inverse) = (random.vector(tables.vector_len), random.vector(tables.blocks_len));
    let mut case = Case::new(StaticKernel::PcgStart, "");
    case.reals(pcg::Start::GRADIENT, gradient.clone());
    case.reals(pcg::Start::INVERSE, inverse.clone());
    [pcg::Start::RESIDUAL, pcg::Start::STEP, pcg::Start::Z].into_iter().for_each(|slot| case.poisoned(slot, tables.vector_len));
    case.poisoned(pcg::Start::PARTIALS, 2 * tables.distance);
    for table in &tables.list {
        let [vector, width, block, partial] = table.places();
        let (distance, variables) = (tables.distance as u32, table.items as u32);
        case.dispatch(table.spread.lanes(), pcg::Start { vector, width, block, partial, distance, variables });
        for (group, variables) in table.spread.each() {
            let mut rz = Value::default();
            let mut largest = 0.0f64;
            for variable in variables {
                let (vector, block) = (table.vector + variable * table.width, table.block + variable * table.packed());
                for c in 0..table.width {
                    let z = (0..table.width).map(|k| Value::from(entry(&inverse, block, c, k)) * (-gradient[vector + k]).into()).sum();
                    case.expect(pcg::Start::RESIDUAL, vector + c, -gradient[vector + c]);
                    case.expect(pcg::Start::STEP, vector + c, 0.0);
                    case.expect(pcg::Start::Z, vector + c, z);
                    rz = rz + Value::from(-gradient[vector + c]) * z;
                    largest = largest.max(gradient[vector + c].abs());
                }
            }
            case.expect(pcg::Start::PARTIALS, table.partial + group, rz);
            case.expect(pcg::Start::PARTIALS, tables.distance + table.partial + group, largest);
        }
    }
    case
}

pub fn begin(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |sign: f64, random: &mut Random| {
        let rz: Vec<f64> = random.positive(size).iter().map(|value| sign * value).collect();
        let largest = random.positive(size);
        let state = random_state(random, &[]);
        let mut case = Case::reduction(pcg::Begin { partial_count: size as u32, distance: size as u32 + 2 }, format!("sign {sign}"), state);
        let gap = random.vector(2);
        case.reals(pcg::Begin::PARTIALS, [&rz[..], &gap, &largest].concat());
        let sum = total(&rz);
        let top = largest.iter().fold(0.0f64, |top, value| top.max(*value));
        case.expect_state(&[(RZ, sum), (RZ_START, sum), (GRADIENT_MAX, top.into())]);
        case.expect_state(&[(BETA, 0.0.into()), (INNER, 0.0.into()), (HURRIED, 0.0.into())]);
        case.expect_state(&[(SOLVED, if sum.value > 0.0 { 0.0 } else { 1.0 }.into())]);
        case
    };
    vec![one(1.0, random), one(-1.0, random)]
}

pub fn direction(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |beta: f64, random: &mut Random| {
        let mut case = Case::new(StaticKernel::PcgDirection, format!("β = {beta}"));
        let (scale, z, p) = (random.positive(size), random.vector(size), random.vector(size));
        case.dispatch(size as u32, pcg::Direction);
        case.reals(pcg::Direction::SCALE, scale.clone());
        case.reals(pcg::Direction::Z, z.clone());
        if beta == 0.0 {
            case.poisoned(pcg::Direction::P, size)
        } else {
            case.reals(pcg::Direction::P, p.clone())
        };
        case.poisoned(pcg::Direction::Q, size);
        let state = random_state(random, &[(SOLVED, 0.0), (BETA, beta)]);
        let damping = state[DAMPING as usize];
        case.reals(pcg::Direction::STATE, state);
        case.stop = GUARD;
        for i in 0..size {
            let direction = Value::from(z[i]) + Value::from(beta) * p[i].into();
            case.expect(pcg::Direction::P, i, direction);
            case.expect(pcg::Direction::Q, i, Value::from(damping * scale[i]) * direction);
        }
        case
    };
    vec![one(0.0, random), one(0.75, random)]
}

pub fn curvature(size: usize, group: usize, random: &mut Random) -> Case {
    let (p, q) = (random.vector(size), random.vector(size));
    let spread = Spread::new(size, group, random);
    let first = random.below(3) as usize;
    let mut case = Case::new(StaticKernel::PcgCurvature, "");
    case.dispatch(spread.lanes(), pcg::Curvature { elements: size as u32, partial: first as u32 });
    case.reals(pcg::Curvature::P, p.clone());
    case.reals(pcg::Curvature::Q, q.clone());
    case.reals(pcg::Curvature::STATE, random_state(random, &[(SOLVED, 0.0)]));
    case.poisoned(pcg::Curvature::PARTIALS, first + spread.groups + 2);
    case.stop = GUARD;
    for (group, items) in spread.each() {
        case.expect(pcg::Curvature::PARTIALS, first + group, items.map(|i| Value::from(p[i]) * q[i].into()).sum::<Value>());
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
    let mut case = Case::new(StaticKernel::PcgUpdate, format!("sign {sign}"));
    case.stop = GUARD;
    case.reals(pcg::Update::P, p.clone());
    case.reals(pcg::Update::Q, q.clone());
    case.reals(pcg::Update::INVERSE, inverse.clone());
    case.reals(pcg::Update::STEP, step.clone());
    case.reals(pcg::Update::RESIDUAL, residual.clone());
    case.reals(pcg::Update::STATE, state);
    // Behind the partials of rᵀz, which are poisoned like z.
    case.reals(pcg::Update::PARTIALS, (0..partials + 2).map(poison).chain(along.iter().copied()).collect());
    case.poisoned(pcg::Update::Z, tables.vector_len);
    let mut first = 0;
    for (pair, spread) in tables.list.chunks(2).zip(&spreads) {
        let of_table = |place: usize| {
            pair.get(place).map_or(pcg::Table::default(), |table| {
                let [vector, width, block, _] = table.places();
                pcg::Table { vector, width, block, variables: table.items as u32 }
            })
        };
        let args = pcg::Update {
            first: of_table(0),
            second: of_table(1),
            partial: first as u32,
            curvature: partials as u32 + 2,
            curvature_count: along.len() as u32,
        };
        case.dispatch(spread.lanes(), args);
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
                    case.expect(pcg::Update::STEP, vector + c, Value::from(step[vector + c]) + alpha * p[vector + c].into());
                    case.expect(pcg::Update::RESIDUAL, vector + c, next(c));
                    case.expect(pcg::Update::Z, vector + c, z);
                    rz = rz + next(c) * z;
                }
            }
            case.expect(pcg::Update::PARTIALS, first + group, rz);
        }
        first += spread.groups;
    }
    case
}

pub fn beta(size: usize, random: &mut Random) -> Vec<Case> {
    // What the residual is of the first one, and the inner iterations before.
    let one = |name: &str, sign: f64, along: f64, part: f64, hurried: f64, random: &mut Random| {
        let partials: Vec<f64> = random.positive(size).iter().map(|value| sign * value).collect();
        let alongs: Vec<f64> = random.positive(size + 1).iter().map(|value| along * value).collect();
        let rz = total(&partials);
        let (before, inner) = (random.within(1.0, 2.0), 100.0);
        let first = f64::from((rz.value.abs() / part) as f32);
        let set = [(SOLVED, 0.0), (RZ, before), (RZ_START, first), (INNER, inner), (FORCING, 0.125), (HURRIED, hurried)];
        let mut case = Case::reduction(
            pcg::Beta { partial_count: size as u32, curvature: (size + 2) as u32, curvature_count: (size + 1) as u32 },
            name,
            random_state(random, &set),
        );
        let gap = random.vector(2);
        case.reals(pcg::Beta::PARTIALS, [&partials[..], &gap, &alongs].concat());
        case.stop = GUARD;
        if along < 0.0 {
            case.expect_state(&[(SOLVED, 1.0.into())]);
            return case;
        }
        let solved = rz.value <= 0.0 || rz.value <= 0.125 * 0.125 * first || hurried > 0.0;
        case.expect_state(&[(INNER, (inner + 1.0).into()), (BETA, rz / before.into()), (RZ, rz)]);
        case.expect_state(&[(SOLVED, if solved { 1.0 } else { 0.0 }.into())]);
        case
    };
    vec![
        one("not solved", 1.0, 1.0, 0.5, 0.0, random),
        one("hurried", 1.0, 1.0, 0.5, 1.0, random),
        one("solved by its residual", 1.0, 1.0, 0.01, 0.0, random),
        one("not positive", -1.0, 1.0, 0.5, 0.0, random),
        one("no curvature", 1.0, -1.0, 0.5, 0.0, random),
    ]
}

use super::{Tables, entry, total};
use crate::twins::harness::{Case, random_state};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{Arguments, StaticKernel, step, system};
use leastwise::solve::state::{COST, FLOOR, TOO_FAR};

/// Blocks with some entries that are next to nothing, too much, or cannot be.
fn blocks(len: usize, random: &mut Random) -> Vec<f64> {
    let odd = [0.0, 1e-9, 1e33, -1.0];
    let odd_or_usual = |random: &mut Random| match random.below(5) {
        0 => f64::from(odd[random.below(4) as usize] as f32),
        _ => random.signed(),
    };
    (0..len).map(|_| odd_or_usual(random)).collect()
}

/// A case over the tables, of a kernel that reads the diagonal of `blocks` and writes to `out`; `expected` gives what is written, from an
/// element's place and its entry of the diagonal.
fn over_diagonal<K: Arguments>(
    case: &mut Case,
    tables: &Tables,
    blocks: (usize, Vec<f64>),
    out: usize,
    args: impl Fn([u32; 3]) -> K,
    expected: impl Fn(usize, f64) -> Option<f64>,
) {
    let (slot, blocks) = blocks;
    for table in &tables.list {
        let [vector, width, block, _] = table.places();
        case.dispatch(table.items as u32, args([vector, width, block]));
        for i in 0..table.items {
            let (variable, component) = (i / table.width, i % table.width);
            let diagonal = entry(&blocks, table.block + variable * table.packed(), component, component);
            if let Some(value) = expected(table.vector + i, diagonal) {
                case.expect(out, table.vector + i, value);
            }
        }
    }
    case.reals(slot, blocks);
}

pub fn peak(tables: &Tables, random: &mut Random) -> Case {
    let before: Vec<f64> = (0..tables.vector_len).map(|_| if random.below(3) == 0 { 0.0 } else { random.signed().abs() }).collect();
    let mut case = Case::new(StaticKernel::SystemDiagonalMax, "");
    case.reals(system::DiagonalMax::PEAK, before.clone());
    let given = (system::DiagonalMax::BLOCKS, blocks(tables.blocks_len, random));
    let args = |[vector, width, block]: [u32; 3]| system::DiagonalMax { vector, width, block };
    let larger = |place: usize, diagonal: f64| (diagonal > before[place]).then_some(diagonal);
    over_diagonal(&mut case, tables, given, system::DiagonalMax::PEAK, args, larger);
    case
}

pub fn damping(tables: &Tables, random: &mut Random) -> Case {
    let odd = [0.0, 1e-40, 1e-9, 1e34];
    let peak: Vec<f64> = (0..tables.vector_len)
        .map(|_| if random.below(4) == 0 { f64::from(odd[random.below(4) as usize] as f32) } else { random.signed().abs() })
        .collect();
    let (floor, cost) = (0.0078125, [0.5, 1e-4, 16.0][random.below(3) as usize]);
    let cost = f64::from(cost as f32);
    let mut case = Case::new(StaticKernel::SystemDampingDiagonal, "");
    case.reals(system::DampingDiagonal::PEAK, peak.clone());
    case.poisoned(system::DampingDiagonal::SCALE, tables.vector_len);
    case.reals(system::DampingDiagonal::STATE, random_state(random, &[(FLOOR, floor), (COST, cost)]));
    let given = (system::DampingDiagonal::BLOCKS, blocks(tables.blocks_len, random));
    let args = |[vector, width, block]: [u32; 3]| system::DampingDiagonal { vector, width, block };
    over_diagonal(&mut case, tables, given, system::DampingDiagonal::SCALE, args, |place, diagonal| {
        let value = diagonal.max(floor * peak[place]);
        Some(if value < 1e-36 { 1.0 } else { value.max(1e-7 * cost.min(1.0)).min(1e30) })
    });
    case
}

pub fn extent(tables: &Tables, random: &mut Random) -> Case {
    let point = random.vector(tables.arena_len);
    let (scale, step) = (random.positive(tables.vector_len), random.vector(tables.vector_len));
    let mut case = Case::new(StaticKernel::StepStepNorms, "");
    case.poisoned(step::StepNorms::PARTIALS, 2 * tables.distance);
    for table in &tables.list {
        case.dispatch(
            table.spread.lanes(),
            step::StepNorms {
                distance: tables.distance as u32,
                arena: table.arena as u32,
                vector: table.vector as u32,
                partial: table.partial as u32,
                elements: table.items as u32,
            },
        );
        for (group, items) in table.spread.each() {
            let mut sums = [Value::default(); 2];
            for i in items {
                let [d, s] = [&scale, &step].map(|vector| Value::from(vector[table.vector + i]));
                let x = Value::from(point[table.arena + i]);
                sums = [sums[0] + s * d * s, sums[1] + x * d * x];
            }
            for (kind, sum) in sums.into_iter().enumerate() {
                case.expect(step::StepNorms::PARTIALS, kind * tables.distance + table.partial + group, sum);
            }
        }
    }
    for (slot, values) in [(step::StepNorms::POINT, point), (step::StepNorms::SCALE, scale), (step::StepNorms::STEP, step)] {
        case.reals(slot, values);
    }
    case
}

pub fn reach(size: usize, random: &mut Random) -> Vec<Case> {
    // What the step's partials are, as parts of the point's.
    let case = |(name, step, point): (&str, f64, f64)| {
        let of_point: Vec<f64> = random.positive(size).iter().map(|value| point * value).collect();
        let of_step: Vec<f64> = of_point.iter().map(|value| if point == 0.0 { step } else { step * value }).collect();
        let expected = point > 0.0 && total(&of_step).value > 100.0 * total(&of_point).value;
        let distance = size as u32 + 2;
        let mut case = Case::reduction(step::StepTooFar { partial_count: size as u32, distance }, name, random_state(random, &[]));
        case.reals(step::StepTooFar::PARTIALS, [of_step, vec![0.0; 2], of_point].concat());
        case.expect_state(&[(TOO_FAR, f64::from(u8::from(expected)).into())]);
        case
    };
    [("near", 90.0, 1.0), ("far", 128.0, 1.0), ("from nothing", 128.0, 0.0)].map(case).into()
}

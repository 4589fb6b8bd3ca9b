use super::{Tables, entry, total};
use crate::twins::harness::{Case, random_state};
use crate::twins::value::{Random, Value};
use leastwise::device::binding::{ARENA, DATA, PARTIALS, STATE, VECTOR_IN, VECTOR_OUT};
use leastwise::kernel::Fixed;
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

/// A case over the tables; `expected` gives what is written, from an element's place and its entry of the diagonal.
fn over_diagonal(case: &mut Case, tables: &Tables, blocks: Vec<f64>, expected: impl Fn(usize, f64) -> Option<f64>) {
    for table in &tables.list {
        case.dispatch(table.items as u32, &table.words());
        for i in 0..table.items {
            let (variable, component) = (i / table.width, i % table.width);
            let diagonal = entry(&blocks, table.block + variable * table.packed(), component, component);
            if let Some(value) = expected(table.vector + i, diagonal) {
                case.expect(VECTOR_OUT, table.vector + i, value);
            }
        }
    }
    case.reals(VECTOR_IN, blocks);
}

pub fn peak(tables: &Tables, random: &mut Random) -> Case {
    let before: Vec<f64> = (0..tables.vector_len).map(|_| if random.below(3) == 0 { 0.0 } else { random.signed().abs() }).collect();
    let mut case = Case::new(Fixed::Peak, "");
    case.reals(VECTOR_OUT, before.clone());
    over_diagonal(&mut case, tables, blocks(tables.blocks_len, random), |place, diagonal| (diagonal > before[place]).then_some(diagonal));
    case
}

pub fn damping(tables: &Tables, random: &mut Random) -> Case {
    let odd = [0.0, 1e-40, 1e-9, 1e34];
    let peak: Vec<f64> = (0..tables.vector_len)
        .map(|_| if random.below(4) == 0 { f64::from(odd[random.below(4) as usize] as f32) } else { random.signed().abs() })
        .collect();
    let (floor, cost) = (0.0078125, [0.5, 1e-4, 16.0][random.below(3) as usize]);
    let cost = f64::from(cost as f32);
    let mut case = Case::new(Fixed::Damping, "");
    case.reals(DATA, peak.clone());
    case.poisoned(VECTOR_OUT, tables.vector_len);
    case.reals(STATE, random_state(random, &[(FLOOR, floor), (COST, cost)]));
    over_diagonal(&mut case, tables, blocks(tables.blocks_len, random), |place, diagonal| {
        let value = diagonal.max(floor * peak[place]);
        Some(if value < 1e-36 { 1.0 } else { value.max(1e-7 * cost.min(1.0)).min(1e30) })
    });
    case
}

pub fn extent(tables: &Tables, random: &mut Random) -> Case {
    let point = random.vector(tables.arena_len);
    let (scale, step) = (random.positive(tables.vector_len), random.vector(tables.vector_len));
    let mut case = Case::new(Fixed::Extent, "");
    case.poisoned(PARTIALS, 2 * tables.distance);
    for table in &tables.list {
        let words = [tables.distance, table.arena, table.vector, table.partial, table.items].map(|word| word as u32);
        case.dispatch(table.spread.lanes(), &words);
        for (group, items) in table.spread.each() {
            let mut sums = [Value::default(); 2];
            for i in items {
                let [d, s] = [&scale, &step].map(|vector| Value::from(vector[table.vector + i]));
                let x = Value::from(point[table.arena + i]);
                sums = [sums[0] + s * d * s, sums[1] + x * d * x];
            }
            for (kind, sum) in sums.into_iter().enumerate() {
                case.expect(PARTIALS, kind * tables.distance + table.partial + group, sum);
            }
        }
    }
    for (slot, values) in [(ARENA, point), (DATA, scale), (VECTOR_IN, step)] {
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
        let mut case = Case::reduction(Fixed::Reach, name, &[size as u32, distance], random_state(random, &[]));
        case.reals(PARTIALS, [of_step, vec![0.0; 2], of_point].concat());
        case.expect_state(&[(TOO_FAR, f64::from(u8::from(expected)).into())]);
        case
    };
    [("near", 90.0, 1.0), ("far", 128.0, 1.0), ("from nothing", 128.0, 0.0)].map(case).into()
}

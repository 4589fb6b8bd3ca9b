//! The block interpreter: values, what is written, and the same bits however the work is cut.

use super::build::{Builder, cross_product, spring};
use super::play::{Case, Cut, Outputs, POISON, WHOLE, play, play_program};
use super::random::{Random, case, program};
use super::reference::evaluate;
use leastwise::device::Precision;
use leastwise::device::cpu::block::{BlockProgram, Instructions};
use leastwise::program::*;

const COUNTS: [u32; 6] = [0, 1, 63, 64, 65, 1000];

/// What the outputs must hold where no store goes, with NaN where one does.
fn untouched(case: &Case) -> Outputs {
    let mut outputs = Outputs { vector: vec![POISON; case.out as usize], jacobian: case.jacobian.clone() };
    for (store, _) in &case.program.stores {
        let (target, column) = match store {
            Store::Column(column) => (&mut outputs.vector, column),
            Store::Jacobian(column) => (&mut outputs.jacobian, column),
            Store::Tile(_) => unreachable!("only products by owners have tiles"),
        };
        let first = (column * case.count) as usize;
        target[first..first + case.count as usize].fill(f64::NAN);
    }
    outputs
}

/// How many stored values were compared, and how many were not because nothing is known about them.
fn check(case: &Case, precision: Precision, context: &str) -> [usize; 2] {
    let outputs = play(case, precision, WHOLE);
    let around = untouched(case);
    let pairs = around.vector.iter().zip(&outputs.vector).chain(around.jacobian.iter().zip(&outputs.jacobian));
    for (place, (expected, got)) in pairs.enumerate() {
        assert!(expected.is_nan() || expected == got, "{context}: element {place} holds {got} and should still hold {expected}");
    }
    let mut compared = [0; 2];
    for instance in 0..case.count as usize {
        for ((store, _), expected) in case.program.stores.iter().zip(evaluate(case, instance, precision)) {
            let got = match store {
                Store::Column(column) => outputs.vector[(column * case.count) as usize + instance],
                Store::Jacobian(column) => outputs.jacobian[(column * case.count) as usize + instance],
                Store::Tile(_) => unreachable!("only products by owners have tiles"),
            };
            compared[usize::from(!expected.known())] += 1;
            let near = (got - expected.value).abs() <= expected.error;
            assert!(
                !expected.known() || near,
                "{context}: {store:?} of instance {instance} is {got}, not {expected:?}\n{:#?}",
                case.program
            );
        }
    }
    compared
}

#[test]
fn random_programs_agree_with_a_scalar_interpreter() {
    for precision in [Precision::F64, Precision::F32] {
        let mut compared = [0; 2];
        for seed in 0..240 {
            let mut random = Random(seed);
            let program = program(&mut random);
            let count = COUNTS[seed as usize % COUNTS.len()];
            let case = case(&mut random, program, count);
            let context = format!("seed {seed}, {precision:?}, count {count}");
            let [known, unknown] = check(&case, precision, &context);
            compared = [compared[0] + known, compared[1] + unknown];
        }
        assert!(compared[0] > 2 * compared[1], "{precision:?}: too little could be compared: {compared:?}");
    }
}

#[test]
fn bits_do_not_depend_on_how_the_work_is_cut() {
    for seed in 1000..1012 {
        let mut random = Random(seed);
        let program = program(&mut random);
        let case = case(&mut random, program, 17_000 + seed as u32);
        for precision in [Precision::F64, Precision::F32] {
            let whole = play(&case, precision, WHOLE).bits();
            // Slices of 8,192 items, then of 8,160 and 8,190: blocks that begin and end elsewhere.
            for group_size in [256, 96, 7] {
                let cut = play(&case, precision, Cut { group_size, sliced: true }).bits();
                assert!(whole == cut, "seed {seed}, {precision:?}, groups of {group_size}");
            }
        }
    }
}

/// A program that stores the result of every operation.
fn every_operation() -> Program {
    let mut b = Builder::new("every operation");
    let [x, y] = [0, 1].map(|column| b.load(Load::Data(column)));
    let mut values: Vec<Value> = Unary::ALL.into_iter().map(|operation| b.unary(operation, x)).collect();
    values.extend(Binary::ALL.map(|operation| b.binary(operation, x, y)));
    values.push(b.push(Instruction::MulAdd(x, y, x)));
    values.push(b.push(Instruction::Select { condition: y, then: x, otherwise: y }));
    for (column, value) in values.into_iter().enumerate() {
        b.store(Store::Column(column as u32), value);
    }
    b.program
}

/// A case of [`every_operation`], with operands of every kind and size.
pub fn of_every_operation(count: u32) -> Case {
    let program = every_operation();
    let mut random = Random(13);
    let out = program.stores.len() as u32 * count;
    let mut case = Case { out, ..case(&mut random, program, count) };
    let number = |random: &mut Random| match random.below(16) {
        0 => [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310][random.below(8) as usize],
        1 => f64::from_bits(random.next()),
        2..6 => 6.0 * random.unit() - 3.0,
        _ => random.unit(),
    };
    case.data = (0..2 * count).map(|_| number(&mut random)).collect();
    case
}

#[test]
fn bits_do_not_depend_on_how_many_items_there_are() {
    let whole = of_every_operation(200);
    let results = whole.program.stores.len();
    for precision in [Precision::F64, Precision::F32] {
        let all = play(&whole, precision, WHOLE).bits();
        for count in [1usize, 7, 8, 9, 40, 63] {
            // Blocks of eight lanes and more, some of them copies of the last item.
            let data = whole.data.chunks(200).flat_map(|column| &column[..count]).copied().collect();
            let few = Case { count: count as u32, out: (results * count) as u32, data, ..of_every_operation(200) };
            let few = play(&few, precision, WHOLE).bits();
            for result in 0..results {
                assert!(few[result * count..][..count] == all[result * 200..][..count], "{precision:?}, {count} items, result {result}");
            }
        }
    }
}

#[test]
fn bits_do_not_depend_on_the_instructions_of_the_processor() {
    let case = of_every_operation(10_000);
    for precision in [Precision::F64, Precision::F32] {
        let [best, baseline] = [Instructions::best(), Instructions::Baseline]
            .map(|instructions| play_program(BlockProgram::with_instructions(&case.program, instructions), &case, precision, WHOLE).bits());
        assert!(best == baseline, "{precision:?}, {:?}", Instructions::best());
    }
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let mut random = Random(14);
    let program = program(&mut random);
    let cases = [of_every_operation(20_011), case(&mut random, program, 100_003), case(&mut Random(15), spring(), 300_007)];
    for case in &cases {
        for precision in [Precision::F64, Precision::F32] {
            let [one, two, five] = [1, 2, 5].map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| play(case, precision, Cut { group_size: 96, sliced: threads == 2 }).bits())
            });
            assert!(one == two && one == five, "{}, {precision:?}", case.program.name);
        }
    }
}

#[test]
fn a_lane_does_not_see_its_neighbours() {
    let case = of_every_operation(64 * 5);
    let operations = case.program.stores.len();
    for precision in [Precision::F64, Precision::F32] {
        let whole = play(&case, precision, WHOLE).vector;
        // Each item alone, in a block whose other lanes are copies of it.
        for item in 0..case.count as usize {
            let alone =
                Case { count: 1, data: [0, 1].map(|column| case.data[column * case.count as usize + item]).to_vec(), ..case.clone() };
            let single = play(&alone, precision, WHOLE).vector;
            for operation in 0..operations {
                let [together, alone] = [whole[operation * case.count as usize + item], single[operation]];
                let same = together.to_bits() == alone.to_bits() || together.is_nan() && alone.is_nan();
                assert!(same, "{:?} of item {item}", case.program.instructions[operation + 2]);
            }
        }
    }
}

#[test]
fn a_sine_does_not_see_its_neighbours() {
    // An instance beyond the reach of the vector sine among tame ones, then the same instances in another order.
    let mut b = Builder::new("sines");
    let x = b.load(Load::Data(0));
    for (column, operation) in [Unary::Sin, Unary::Cos].into_iter().enumerate() {
        let value = b.unary(operation, x);
        b.store(Store::Column(column as u32), value);
    }
    let mut random = Random(7);
    let mut case = case(&mut random, b.program, 65);
    case.data = (0..65).map(|k| if k % 9 == 4 { 1e12 + f64::from(k) } else { f64::from(k) * 0.37 }).collect();
    for precision in [Precision::F64, Precision::F32] {
        let straight = play(&case, precision, WHOLE).vector;
        let mut turned = case.clone();
        turned.data.rotate_left(30);
        let mut result = play(&turned, precision, WHOLE).vector;
        result[..65].rotate_right(30);
        result[65..130].rotate_right(30);
        assert_eq!(straight[..130], result[..130]);
    }
}

#[test]
fn the_branch_not_taken_leaves_no_trace() {
    let mut b = Builder::new("selection");
    let x = b.load(Load::Data(0));
    let zero = b.constant(0.0);
    let root = b.unary(Unary::Sqrt, x);
    let inverse = b.binary(Binary::Div, x, zero);
    let negative = b.binary(Binary::Lt, x, zero);
    let safe = b.push(Instruction::Select { condition: negative, then: x, otherwise: root });
    let never = b.push(Instruction::Select { condition: zero, then: inverse, otherwise: safe });
    b.store(Store::Column(0), never);
    let mut case = case(&mut Random(3), b.program, 100);
    case.data = (0..100).map(|k| f64::from(k) - 50.0).collect();
    for precision in [Precision::F64, Precision::F32] {
        let outputs = play(&case, precision, WHOLE);
        for (x, y) in case.data.iter().zip(&outputs.vector[..100]) {
            let expected = if *x < 0.0 { *x } else { x.sqrt() };
            assert!((y - expected).abs() <= 1e-6 * expected.abs(), "{x}: {y}");
        }
    }
}

#[test]
fn a_guard_that_is_set_stops_the_kernel() {
    let mut case = case(&mut Random(11), cross_product(), 100);
    let free = play(&case, Precision::F64, WHOLE);
    assert!(free.vector[..300].iter().all(|value| *value != POISON));
    case.state[3] = 1.0;
    let stopped = play(&case, Precision::F64, WHOLE);
    assert!(stopped.vector.iter().all(|value| *value == POISON));
    assert_eq!(stopped.jacobian, case.jacobian);
}

#[test]
#[should_panic(expected = "out of range for slice")]
fn a_column_that_is_too_short_is_refused() {
    let mut case = case(&mut Random(5), spring(), 100);
    case.data.truncate(50);
    play(&case, Precision::F64, WHOLE);
}

#[test]
#[should_panic(expected = "index out of bounds")]
fn an_index_that_leads_out_of_its_table_is_refused() {
    let mut case = case(&mut Random(5), spring(), 100);
    *case.index.last_mut().unwrap() = 5;
    case.index[case.program.header as usize + 99] = u32::MAX / 4;
    play(&case, Precision::F64, WHOLE);
}

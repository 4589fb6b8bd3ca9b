//! Programs as WebAssembly against the block interpreter, to the bit.

use super::blocks::of_every_operation;
use super::modules_support::{Buffers, Ran, run};
use super::play::{Case, Outputs, POISON, WHOLE, play};
use super::random::{Random, case, program};
use leastwise::device::Precision;
use leastwise::program::*;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn module(case: &Case, precision: Precision, items: Range<u32>) -> Ran {
    let poisoned = vec![POISON; case.out as usize];
    let Case { count, arena, data, index, vector, jacobian, .. } = case;
    run(&case.program, precision, &Buffers { count: *count, arena, data, index, vector, jacobian, out: &poisoned }, items)
}

/// What a module leaves of all items is what the interpreter leaves; whether there is a module.
fn same(case: &Case, precision: Precision, context: &str) -> bool {
    match module(case, precision, 0..case.count) {
        Ran::Finished(vector, jacobian) => {
            let found = Outputs { vector, jacobian };
            let expected = play(&Case { program: Program { guard: None, ..case.program.clone() }, ..case.clone() }, precision, WHOLE);
            let differs = found.bits().iter().zip(expected.bits()).position(|(found, expected)| *found != expected);
            assert!(differs.is_none(), "{context}: element {differs:?} of {:#?}", case.program);
            true
        }
        Ran::Refused(_) => false,
        Ran::OutOfTable => panic!("{context}: every index is in its table"),
    }
}

/// Programs with functions, too, which the scalar interpreter does not have.
fn with_functions(random: &mut Random, mut program: Program) -> Program {
    for number in 0..program.instructions.len() {
        let instruction = &mut program.instructions[number];
        *instruction = match *instruction {
            Instruction::Unary(_, a) if random.below(2) == 0 => {
                Instruction::Unary(Unary::ALL[random.below(Unary::ALL.len() as u32) as usize], a)
            }
            Instruction::Binary(_, a, b) if random.below(6) == 0 => {
                Instruction::Binary([Binary::Pow, Binary::Atan2][random.below(2) as usize], a, b)
            }
            other => other,
        };
    }
    program
}

/// A program that does not write the Jacobian, or else does not read it: there are modules of such ones alone.
fn one_way(random: &mut Random, mut program: Program) -> Program {
    if random.below(2) == 0 {
        for instruction in &mut program.instructions {
            if let Instruction::Load(Load::Jacobian(column)) = *instruction {
                *instruction = Instruction::Load(Load::Data(column));
            }
        }
    } else {
        program.stores.retain(|(store, _)| matches!(store, Store::Column(_)));
        if program.stores.is_empty() {
            program.stores.push((Store::Column(3), program.instructions.len() as Value - 1));
        }
    }
    program
}

#[test]
fn modules_give_the_interpreters_bits() {
    for precision in [Precision::F64, Precision::F32] {
        let mut modules = 0;
        for seed in 0..1_200 {
            let mut random = Random(seed);
            let plain = program(&mut random);
            let plain = one_way(&mut random, plain);
            let program = if seed % 2 == 0 { with_functions(&mut random, plain) } else { plain };
            let count = [64, 65, 67, 100, 127, 128, 200, 4][seed as usize % 8];
            let case = case(&mut random, program, count);
            modules += u32::from(same(&case, precision, &format!("seed {seed}, {precision:?}, count {count}")));
        }
        assert!(modules > 1_000, "{precision:?}: only {modules} had a module");
    }
}

#[test]
fn every_operation_has_the_interpreters_bits_for_numbers_of_every_kind() {
    let case = of_every_operation(5_003);
    for precision in [Precision::F64, Precision::F32] {
        assert!(same(&case, precision, "every operation"));
    }
}

#[test]
fn a_module_computes_the_items_that_it_is_told_to_and_no_others() {
    let mut compared = 0;
    for seed in 2_000..2_100 {
        let mut random = Random(seed);
        let plain = program(&mut random);
        let plain = one_way(&mut random, plain);
        let program = with_functions(&mut random, plain);
        let case = case(&mut random, program, 333);
        for precision in [Precision::F64, Precision::F32] {
            let (Ran::Finished(whole, whole_jacobian), Ran::Finished(part, part_jacobian)) =
                (module(&case, precision, 0..333), module(&case, precision, 101..230))
            else {
                continue;
            };
            compared += 1;
            let blank = vec![POISON; whole.len()];
            for (whole, part, blank) in [(&whole, &part, &blank), (&whole_jacobian, &part_jacobian, &case.jacobian)] {
                for (place, value) in part.iter().enumerate() {
                    let inside = place < 4 * 333 && (101..230).contains(&(place % 333));
                    let expected = if inside { whole[place] } else { blank[place] };
                    let expected = if precision == Precision::F32 && !inside { f64::from(expected as f32) } else { expected };
                    assert!(value.to_bits() == expected.to_bits() || value.is_nan() && expected.is_nan(), "seed {seed}, element {place}");
                }
            }
        }
    }
    assert!(compared > 50, "only {compared} had a module");
}

/// Indices of every kind: wherever the interpreter panics the module says so, and reads nothing.
#[test]
fn an_index_that_leads_out_of_its_table_is_left_to_the_interpreter() {
    let (mut left, mut computed) = (0, 0);
    std::panic::set_hook(Box::new(|_| {}));
    for seed in 3_000..3_600 {
        let mut random = Random(seed);
        let plain = program(&mut random);
        let plain = one_way(&mut random, plain);
        let mut case = case(&mut random, Program { guard: None, ..plain }, 70);
        let columns = case.program.header as usize..case.index.len();
        let place = columns.start + random.below(columns.len() as u32) as usize;
        let edge = case.arena.len() as u32 / 4;
        case.index[place] = match random.below(6) {
            0 => u32::MAX,
            1 => random.next() as u32,
            2 => 1 << 30,
            // Wraps to the table's beginning or its neighbourhood.
            3 => (1 << 30) + random.below(8),
            _ => edge - 4 + random.below(8),
        };
        if random.below(8) == 0 {
            case.index[random.below(3) as usize] = random.next() as u32;
        }
        for precision in [Precision::F64, Precision::F32] {
            let expected = catch_unwind(AssertUnwindSafe(|| play(&case, precision, WHOLE)));
            match module(&case, precision, 0..70) {
                Ran::Finished(vector, jacobian) => {
                    let expected = expected.unwrap_or_else(|_| panic!("seed {seed}: the interpreter panics"));
                    assert!(Outputs { vector, jacobian }.bits() == expected.bits(), "seed {seed}");
                    computed += 1;
                }
                Ran::OutOfTable => left += 1,
                Ran::Refused(_) => {}
            }
        }
    }
    let _ = std::panic::take_hook();
    assert!(left > 50 && computed > 50, "{left} were left to the interpreter, {computed} computed");
}

#[test]
fn what_has_no_module_says_why() {
    let refused = |program: Program| match leastwise::device::cpu::wasm::Module::new(&program, Precision::F64) {
        Ok(_) => panic!("a module"),
        Err(why) => why,
    };
    let load = Instruction::Load(Load::Jacobian(0));
    let in_place = Program {
        instructions: vec![load, Instruction::Unary(Unary::Neg, 0)],
        stores: vec![(Store::Jacobian(0), 1)],
        ..Program::default()
    };
    assert_eq!(refused(in_place), "it writes columns that it reads");
    let mut instructions = vec![Instruction::Load(Load::Data(0))];
    instructions.extend((0..16_001).map(|value| Instruction::Unary(Unary::Sqrt, value)));
    let large = Program { instructions, stores: vec![(Store::Column(0), 16_001)], ..Program::default() };
    assert_eq!(refused(large), "it has 16002 steps, and modules have 16000 at most");
}

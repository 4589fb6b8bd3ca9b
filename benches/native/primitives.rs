//! What one lane of each operation costs, loads and stores included.

use crate::harness::{Inputs, seconds};
use crate::mesh;
use leastwise::device::Precision;
use leastwise::program::*;

/// How often the operation is in the program: enough that loads and stores do not count.
const TIMES: u32 = 16;

/// An operation applied to a column several times, the results added up.
fn program(instruction: impl Fn(Value, Value) -> Instruction) -> Program {
    let loads = [0, 1].map(|column| Instruction::Load(Load::Data(column)));
    let mut program = Program { instructions: loads.to_vec(), ..Program::default() };
    let mut sum = 0;
    for _ in 0..TIMES {
        program.instructions.push(instruction(0, 1));
        let value = program.instructions.len() as Value - 1;
        program.instructions.push(Instruction::Binary(Binary::Add, sum, value));
        sum = value + 1;
    }
    program.stores.push((Store::Column(0), sum));
    program
}

/// Nanoseconds a lane, the addition left out.
fn cost(name: &str, precision: Precision, instruction: impl Fn(Value, Value) -> Instruction) -> f64 {
    let count = 16_384;
    let data = mesh::noise(2 * count).map(f64::abs).collect();
    let inputs = Inputs { count, data, columns: 1, ..Inputs::default() };
    let program = Program { name: name.into(), ..program(instruction) };
    seconds(&program, &inputs, precision) * 1e9 / f64::from(count * TIMES)
}

pub fn print() {
    println!("\nns a lane of each operation, one thread   f64     f32");
    let baseline =
        [Precision::F64, Precision::F32].map(|precision| cost("add", precision, |a, b| Instruction::Binary(Binary::Sub, a, b)) / 2.0);
    let row = |name: String, instruction: &dyn Fn(Value, Value) -> Instruction| {
        let [double, single] = [(Precision::F64, baseline[0]), (Precision::F32, baseline[1])]
            .map(|(precision, add)| cost(&name, precision, instruction) - add);
        println!("  {name:38}{double:6.2}  {single:6.2}");
    };
    for operation in Binary::ALL {
        row(format!("{operation:?}"), &move |a, b| Instruction::Binary(operation, a, b));
    }
    row("MulAdd".into(), &|a, b| Instruction::MulAdd(a, b, a));
    row("Select".into(), &|a, b| Instruction::Select { condition: a, then: b, otherwise: a });
    for operation in Unary::ALL {
        row(format!("{operation:?}"), &move |a, _| Instruction::Unary(operation, a));
    }
}

//! Programs as WGSL text: what follows the prelude that every device puts in front.

pub mod double;
pub mod embedded;
mod functions;
mod fused;
mod owner;
mod split;

pub use fused::fused_module;
pub use owner::owner_module;
pub use split::{Cut, columns, is_small, operations};

use super::{Binary, Instruction, Load, Program, Store, Unary};
use crate::{Access, KernelText, binding};
use leastwise_expr::Numerics;
use split::Piece;
use std::collections::HashSet;
use std::fmt::Write;

/// The arguments of kernels that have none: a structure has a member.
const NO_ARGUMENTS: &str = "\nstruct Args {\n    none: u32,\n}\n";

const NAMES: [&str; binding::COUNT] = ["params", "arena", "data", "index", "vector_in", "vector_out", "jacobian", "state", "partials"];

/// The module of a whole program, without the functions that it calls. Its name does not appear in it, so equal programs are equal text.
pub fn write(program: &Program) -> String {
    let reloads = vec![None; program.instructions.len()];
    write_piece(Piece { program: program.clone(), reloads }).wgsl.to_string()
}

/// The modules of a program, in the order in which they must run: one, unless it is too large for that.
pub fn modules(program: &Program, cut: Cut) -> Vec<KernelText> {
    split::pieces(program, cut).into_iter().map(write_piece).collect()
}

fn write_piece(piece: Piece) -> KernelText {
    let Piece { mut program, reloads } = piece;
    program.keep_used_addresses();
    let mut access = program.access();
    if reloads.iter().any(Option::is_some) {
        access[binding::VECTOR_OUT] = Access::ReadWrite;
    }
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_module(&program, &reloads, &access, &mut text);
    KernelText::new(&text, access)
}

fn write_module(program: &Program, reloads: &[Option<u32>], access: &[Access], text: &mut String) -> std::fmt::Result {
    write_declarations(access, |_| false, text)?;
    writeln!(text, "{NO_ARGUMENTS}\n@compute @workgroup_size(group_size)")?;
    writeln!(text, "fn main(@builtin(global_invocation_id) id: vec3<u32>) {{")?;
    if let Some(guard) = program.guard {
        writeln!(text, "    if (state[{guard}] != 0.0) {{\n        return;\n    }}")?;
    }
    writeln!(text, "    let i = item(id);\n    if (i >= params.count) {{\n        return;\n    }}")?;
    write_body(program, reloads, "params.count", "    ", text)?;
    writeln!(text, "}}")
}

/// The bindings, of which some have words though others' are reals.
fn write_declarations(access: &[Access], has_words: impl Fn(usize) -> bool, text: &mut String) -> std::fmt::Result {
    for (slot, access) in access.iter().enumerate() {
        let mode = match access {
            Access::Unused => continue,
            Access::Read => "read",
            Access::ReadWrite => "read_write",
        };
        let element = if slot == binding::INDEX || has_words(slot) { "u32" } else { "real" };
        writeln!(text, "@group(0) @binding({slot}) var<storage, {mode}> {}: array<{element}>;", NAMES[slot])?;
    }
    Ok(())
}

/// What is done for item `i`, whose columns are `count` long.
fn write_body(program: &Program, reloads: &[Option<u32>], count: &str, indent: &str, text: &mut String) -> std::fmt::Result {
    for (number, address) in program.addresses.iter().enumerate() {
        let place = column(address.column, program.header, count);
        writeln!(text, "{indent}let a{number} = index[{}] + index[{place}] * {}u;", address.base, address.stride)?;
    }
    write_values(program, reloads, count, indent, text)?;
    for (store, value) in &program.stores {
        match store {
            Store::Column(k) => writeln!(text, "{indent}vector_out[{}] = v{value};", column(*k, 0, count))?,
            Store::Jacobian(k) => writeln!(text, "{indent}jacobian[{}] = v{value};", column(*k, 0, count))?,
            Store::Tile(k) => writeln!(text, "{indent}tile[{}] = v{value};", owner::tile_element(*k, "lane"))?,
        }
    }
    Ok(())
}

/// The values `v0`, `v1`… of a program's instructions; `reloads` says which an earlier piece stored.
fn write_values(program: &Program, reloads: &[Option<u32>], count: &str, indent: &str, text: &mut String) -> std::fmt::Result {
    let mut turned = HashSet::new();
    for (number, instruction) in program.instructions.iter().enumerate() {
        if let Instruction::Unary(operation, angle) = *instruction
            && let Numerics::OfTurn(_) | Numerics::SinCos(_) = operation.numerics()
            && turned.insert(angle)
        {
            writeln!(text, "{indent}let t{angle} = turn(v{angle});")?;
        }
        write!(text, "{indent}let v{number}: real = ")?;
        match reloads.get(number).copied().flatten() {
            Some(stored) => write!(text, "vector_out[{}]", column(stored, 0, count))?,
            None => write_instruction(program, instruction, count, text)?,
        }
        writeln!(text, ";")?;
    }
    Ok(())
}

/// The right side of an instruction's declaration.
fn write_instruction(program: &Program, instruction: &Instruction, count: &str, text: &mut String) -> std::fmt::Result {
    match *instruction {
        Instruction::Const(value) if value.is_nan() => write!(text, "flagged()"),
        Instruction::Const(value) => write!(text, "{}", literal(value)),
        Instruction::Load(load) => match load {
            Load::Arena { address, component } => write!(text, "arena[a{address} + {component}u]"),
            Load::Vector { address, component } => write!(text, "vector_in[a{address} + {component}u]"),
            Load::Shared(place) => write!(text, "data[{place}]"),
            Load::Data(k) => write!(text, "data[{}]", column(k, program.shared, count)),
            Load::Jacobian(k) => write!(text, "jacobian[{}]", column(k, 0, count)),
            Load::Given(k) => write!(text, "g{k}"),
        },
        Instruction::Unary(operation, a) => match operation.numerics() {
            Numerics::BuiltIn(name) | Numerics::Function(name) => write!(text, "{name}(v{a})"),
            Numerics::OfTurn(name) | Numerics::SinCos(name) => write!(text, "{name}(t{a})"),
            Numerics::Instruction => match operation {
                Unary::Neg => write!(text, "-v{a}"),
                Unary::Not => write!(text, "select(real(0), real(1), v{a} == 0.0)"),
                Unary::Finite => write!(text, "select(real(0), real(1), is_finite(v{a}))"),
                other => unreachable!("{other:?} is left out when a program is written"),
            },
        },
        Instruction::Binary(operation, a, b) => match operation {
            Binary::Add => write!(text, "v{a} + v{b}"),
            Binary::Sub => write!(text, "v{a} - v{b}"),
            Binary::Mul => write!(text, "v{a} * v{b}"),
            Binary::Div => write!(text, "v{a} / v{b}"),
            Binary::Lt => write!(text, "select(real(0), real(1), v{a} < v{b})"),
            Binary::Le => write!(text, "select(real(0), real(1), v{a} <= v{b})"),
            Binary::And => write!(text, "select(real(0), real(1), v{a} != 0.0 && v{b} != 0.0)"),
            Binary::Or => write!(text, "select(real(0), real(1), v{a} != 0.0 || v{b} != 0.0)"),
            function => match function.numerics() {
                Numerics::Function(name) => write!(text, "{name}(v{a}, v{b})"),
                other => unreachable!("{function:?} is no function, but {other:?}"),
            },
        },
        Instruction::MulAdd(a, b, c) => write!(text, "v{a} * v{b} + v{c}"),
        Instruction::Select { condition, then, otherwise } => write!(text, "select(v{otherwise}, v{then}, v{condition} != 0.0)"),
    }
}

/// Element i of a column of `count` that begins after `first` elements.
fn column(number: u32, first: u32, count: &str) -> String {
    match (first, number) {
        (0, 0) => "i".into(),
        (0, 1) => format!("{count} + i"),
        (0, _) => format!("{number}u * {count} + i"),
        (_, 0) => format!("{first}u + i"),
        (_, 1) => format!("{first}u + {count} + i"),
        _ => format!("{first}u + {number}u * {count} + i"),
    }
}

/// A finite number without a suffix, so that it fits f32 and f64.
fn literal(value: f64) -> String {
    let digits = if value != 0.0 && !(1e-5..1e16).contains(&value.abs()) { format!("{value:e}") } else { format!("{value:?}") };
    if value < 0.0 { format!("({digits})") } else { digits }
}

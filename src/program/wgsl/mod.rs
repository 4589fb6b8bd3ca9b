//! Programs as WGSL text, in either [number format](Format): what follows the prelude that every device puts in front.

mod fit;
mod fused;
mod merged;
mod owner;
mod reduced;
mod rows;
mod split;
mod words;
mod writer;

pub use fit::fit_module;
pub use fused::fused_module;
pub use merged::merged_module;
pub use owner::owner_module;
pub use reduced::reduced_module;
pub use split::{Cut, columns, compile_cost, is_small, operations};
pub use writer::Format;

use super::{Binary, Instruction, Load, Program, Store, Unary, Value};
use crate::{Access, KernelText, binding};
use leastwise_expr::Numerics;
use split::Piece;
use std::collections::HashSet;
use std::fmt::Write;
use std::ops::Range;
use writer::{Real, Writer};

/// The arguments of kernels that have none: a structure has a member.
const NO_ARGUMENTS: &str = "\nstruct Args {\n    none: u32,\n}\n";

const NAMES: [&str; binding::COUNT] = ["params", "arena", "data", "index", "vector_in", "vector_out", "jacobian", "state", "partials"];

/// The module of a whole program in `f32`, without the functions that it calls. Its name does not appear in it, so equal programs are
/// equal text.
pub fn write(program: &Program) -> String {
    let (text, access) = written(uncut(program), Format::Single);
    text.single(access).wgsl.to_string()
}

/// The module of a whole program.
///
/// # Errors
/// A constant beyond the range of the format.
pub fn whole(program: &Program, format: Format) -> Result<KernelText, String> {
    let (text, access) = written(uncut(program), format);
    text.finish(access)
}

/// The modules of a program, in the order in which they must run: one, unless it is too large for that.
///
/// # Errors
/// A constant beyond the range of the format.
pub fn modules(program: &Program, format: Format) -> Result<Vec<KernelText>, String> {
    let written = split::pieces(program, Cut::of(format)).into_iter().map(|piece| written(piece, format));
    written.map(|(text, access)| text.finish(access)).collect()
}

fn uncut(program: &Program) -> Piece {
    Piece { program: program.clone(), reloads: vec![None; program.instructions.len()] }
}

/// A piece's text, and what it does with the slots.
fn written(piece: Piece, format: Format) -> (Writer, [Access; binding::COUNT]) {
    let Piece { mut program, reloads } = piece;
    program.keep_used_addresses();
    let mut access = program.access();
    if reloads.iter().any(Option::is_some) {
        access[binding::VECTOR_OUT] = Access::ReadWrite;
    }
    let mut text = Writer::new(format);
    // Writing to a string cannot fail.
    let _ = write_module(&program, &reloads, &access, &mut text);
    (text, access)
}

fn write_module(program: &Program, reloads: &[Option<u32>], access: &[Access], text: &mut Writer) -> std::fmt::Result {
    write_declarations(access, |_| false, text)?;
    writeln!(text, "{NO_ARGUMENTS}\n@compute @workgroup_size(group_size)")?;
    writeln!(text, "fn main(@builtin(global_invocation_id) id: vec3<u32>) {{")?;
    write_guard(program, text)?;
    writeln!(text, "    let i = item(id);\n    if (i >= params.count) {{\n        return;\n    }}")?;
    write_body(program, reloads, "params.count", "    ", text)?;
    writeln!(text, "}}")
}

/// Returns where the program's guard says so.
fn write_guard(program: &Program, text: &mut Writer) -> std::fmt::Result {
    let Some(guard) = program.guard else { return Ok(()) };
    let flag = text.load(binding::STATE, &guard.to_string());
    let is_set = text.compare_to_zero(&flag, "!=");
    writeln!(text, "    if ({is_set}) {{\n        return;\n    }}")
}

/// The bindings, of which some have words though others' are reals.
fn write_declarations(access: &[Access], has_words: impl Fn(usize) -> bool, text: &mut Writer) -> std::fmt::Result {
    for (slot, access) in access.iter().enumerate() {
        let mode = match access {
            Access::Unused => continue,
            Access::Read => "read",
            Access::ReadWrite => "read_write",
        };
        let element = if slot == binding::INDEX || has_words(slot) { "u32" } else { text.element_type() };
        writeln!(text, "@group(0) @binding({slot}) var<storage, {mode}> {}: array<{element}>;", NAMES[slot])?;
    }
    Ok(())
}

/// What is done for item `i`, whose columns are `count` long.
fn write_body(program: &Program, reloads: &[Option<u32>], count: &str, indent: &str, text: &mut Writer) -> std::fmt::Result {
    write_addresses(program, count, indent, text)?;
    write_values(program, reloads, count, indent, text)?;
    for (store, value) in &program.stores {
        let value = Real::name(format!("v{value}"));
        match store {
            Store::Column(k) => text.store(binding::VECTOR_OUT, &column(*k, 0, count), &value, indent)?,
            Store::Jacobian(k) => text.store(binding::JACOBIAN, &column(*k, 0, count), &value, indent)?,
            Store::Tile(k) => writeln!(text, "{indent}tile[{}] = {};", owner::tile_element(*k, "lane"), value.text)?,
        }
    }
    Ok(())
}

/// The places `a0`, `a1`… that a program's addresses lead to.
fn write_addresses(program: &Program, count: &str, indent: &str, text: &mut Writer) -> std::fmt::Result {
    for (number, address) in program.addresses.iter().enumerate() {
        let place = column(address.column, program.header, count);
        let (base, variable) = (text.word(&address.base.to_string()), text.word(&place));
        writeln!(text, "{indent}let a{number} = {base} + {variable} * {}u;", address.stride)?;
    }
    Ok(())
}

/// The values `v0`, `v1`… of a program's instructions; `reloads` says which an earlier piece stored.
fn write_values(program: &Program, reloads: &[Option<u32>], count: &str, indent: &str, text: &mut Writer) -> std::fmt::Result {
    write_some_values(program, 0..program.instructions.len(), reloads, &mut HashSet::new(), count, indent, text)
}

/// Those of some instructions. `turned` are the angles that have been brought within a turn.
fn write_some_values(
    program: &Program,
    some: Range<usize>,
    reloads: &[Option<u32>],
    turned: &mut HashSet<Value>,
    count: &str,
    indent: &str,
    text: &mut Writer,
) -> std::fmt::Result {
    for (number, instruction) in program.instructions.iter().enumerate().take(some.end).skip(some.start) {
        if let Instruction::Unary(operation, angle) = *instruction
            && let Numerics::OfTurn(_) | Numerics::SinCos(_) = operation.numerics()
            && turned.insert(angle)
        {
            let turned = text.call("turn", &[&Real::name(format!("v{angle}"))]);
            writeln!(text, "{indent}let t{angle} = {};", turned.text)?;
        }
        let value = match reloads.get(number).copied().flatten() {
            Some(stored) => text.load(binding::VECTOR_OUT, &column(stored, 0, count)),
            None => value_of(program, instruction, count, text),
        };
        writeln!(text, "{indent}let v{number}: real = {};", value.text)?;
    }
    Ok(())
}

/// The right side of an instruction's declaration.
fn value_of(program: &Program, instruction: &Instruction, count: &str, text: &mut Writer) -> Real {
    let of = |value: u32| Real::name(format!("v{value}"));
    match *instruction {
        Instruction::Const(value) if value.is_nan() => text.call("flagged", &[]),
        Instruction::Const(value) => Real::expression(text.literal(value)),
        Instruction::Load(load) => match load {
            Load::Arena { address, component } => text.load(binding::ARENA, &format!("a{address} + {component}u")),
            Load::Vector { address, component } => text.load(binding::VECTOR_IN, &format!("a{address} + {component}u")),
            Load::Shared(place) => text.load(binding::DATA, &place.to_string()),
            Load::Data(k) => text.load(binding::DATA, &column(k, program.shared, count)),
            Load::Jacobian(k) => text.load(binding::JACOBIAN, &column(k, 0, count)),
            Load::Given(k) => Real::name(format!("g{k}")),
        },
        Instruction::Unary(operation, a) => match operation.numerics() {
            Numerics::BuiltIn(name) => text.call_built_in(name, &of(a)),
            Numerics::Function(name) => text.call(name, &[&of(a)]),
            Numerics::OfTurn(name) | Numerics::SinCos(name) => text.call(name, &[&Real::name(format!("t{a}"))]),
            Numerics::Instruction => match operation {
                Unary::Neg => text.negative(&of(a)),
                Unary::Not => text.truth(&text.compare_to_zero(&of(a), "==")),
                Unary::Finite => {
                    let is_finite = text.call("is_finite", &[&of(a)]);
                    text.truth(&is_finite.text)
                }
                Unary::IsNan => {
                    let is_nan = text.call("is_nan", &[&of(a)]);
                    text.truth(&is_nan.text)
                }
                other => unreachable!("{other:?} is left out when a program is written"),
            },
        },
        Instruction::Binary(operation, a, b) => {
            let (a, b) = (of(a), of(b));
            match operation {
                Binary::Add => text.add(&a, &b),
                Binary::Sub => text.subtract(&a, &b),
                Binary::Mul => text.multiply(&a, &b),
                Binary::Div => text.divide(&a, &b),
                Binary::Lt | Binary::Le => {
                    let condition = text.is_below(&a, &b, operation == Binary::Le);
                    text.truth(&condition)
                }
                Binary::And | Binary::Or => {
                    let [a, b] = [&a, &b].map(|operand| text.compare_to_zero(operand, "!="));
                    // Operators that skip their right side are branches, of which chains take SwiftShader's compiler minutes.
                    text.truth(&format!("({a}) {} ({b})", if operation == Binary::And { "&" } else { "|" }))
                }
                function => match function.numerics() {
                    Numerics::Function(name) => text.call(name, &[&a, &b]),
                    other => unreachable!("{function:?} is no function, but {other:?}"),
                },
            }
        }
        Instruction::MulAdd(a, b, c) => {
            let product = text.multiply(&of(a), &of(b));
            text.add(&product, &of(c))
        }
        Instruction::Select { condition, then, otherwise } => {
            let condition = text.compare_to_zero(&of(condition), "!=");
            text.select(&of(otherwise), &of(then), &condition)
        }
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

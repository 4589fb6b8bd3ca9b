//! The module of a product by owners.

use super::{write_body, write_declarations};
use crate::device::{Access, KernelText, binding};
use crate::kernel::{NEGATIVE, OwnSlot, OwnerProgram};
use std::fmt::Write;
use std::sync::Arc;

/// A workgroup is a tile. words0: the number of instances, and the words of the index buffer with the first tile's first row
/// and the first row's beginning.
pub fn owner_module(owner: &OwnerProgram) -> KernelText {
    let mut owner = owner.clone();
    owner.program.keep_used_addresses();
    let mut access = owner.program.access();
    access[binding::INDEX] = Access::Read;
    access[binding::PARTIALS] = Access::ReadWrite;
    if owner.crossing_columns > 0 {
        access[binding::VECTOR_OUT] = Access::ReadWrite;
    }
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(&owner, &access, &mut text);
    KernelText { wgsl: Arc::from(text), access }
}

/// An element of a column of the tile.
pub(super) fn tile_element(column: u32, lane: &str) -> String {
    match column {
        0 => lane.into(),
        1 => format!("tile_column + {lane}"),
        _ => format!("{column}u * tile_column + {lane}"),
    }
}

fn write(owner: &OwnerProgram, access: &[Access], text: &mut String) -> std::fmt::Result {
    let OwnerProgram { program, tile, slots, crossing_columns, .. } = owner;
    write_declarations(program, access, text)?;
    writeln!(text, "\n// Columns do not begin in the same bank of memory.\nconst tile_column: u32 = group_size + 11u;")?;
    writeln!(text, "var<workgroup> tile: array<real, {tile}u * tile_column>;")?;
    for (number, slot) in slots.iter().enumerate().filter(|(_, slot)| run(&slot.codes).is_none()) {
        write_codes(number, &slot.codes, text)?;
    }
    writeln!(text, "\n@compute @workgroup_size(group_size)")?;
    writeln!(text, "fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {{")?;
    if let Some(guard) = program.guard {
        writeln!(text, "    if (state[{guard}] != 0.0) {{\n        return;\n    }}")?;
    }
    writeln!(text, "    let count = params.words0.x;\n    let number = group_index(group);")?;
    writeln!(text, "    if (number >= params.group_count) {{\n        return;\n    }}")?;
    writeln!(text, "    let first_row = index[params.words0.y + number];")?;
    writeln!(text, "    let rows = index[params.words0.y + number + 1u] - first_row;\n    let starts = params.words0.z + first_row;")?;
    writeln!(text, "    let start = index[starts];\n    let lanes = index[starts + rows] - start;")?;
    writeln!(text, "    let i = start + lane;\n    if (lane < lanes) {{")?;
    let reloads = vec![None; program.instructions.len()];
    write_body(program, &reloads, "count", "        ", text)?;
    writeln!(text, "    }}\n    workgroupBarrier();")?;
    match crossing_columns {
        0 => {}
        1 => writeln!(text, "    if (lane < lanes) {{\n        vector_out[i] = tile[lane];\n    }}")?,
        width => {
            writeln!(text, "    for (var k = lane; k < lanes * {width}u; k += group_size) {{")?;
            writeln!(text, "        vector_out[start * {width}u + k] = tile[k % {width}u * tile_column + k / {width}u];\n    }}")?;
        }
    }
    for (number, slot) in slots.iter().enumerate() {
        write_rows(owner, number, slot, text)?;
    }
    writeln!(text, "}}")
}

/// Adds up the rows of a slot, a lane for each component of each; every other slot begins with the last lanes, which the one
/// before may have left idle.
fn write_rows(owner: &OwnerProgram, number: usize, slot: &OwnSlot, text: &mut String) -> std::fmt::Result {
    let (width, first) = (slot.codes.len(), if number.is_multiple_of(2) { "lane" } else { "group_size - 1u - lane" });
    let owners = format!("{}u + {}u * count + begin", owner.program.header, owner.column);
    writeln!(text, "    for (var k = {first}; k < rows * {width}u; k += group_size) {{")?;
    match width {
        1 => writeln!(text, "        let row = k;\n        let component = 0u;")?,
        _ => writeln!(text, "        let row = k / {width}u;\n        let component = k % {width}u;")?,
    }
    let sign = match run(&slot.codes) {
        Some((first, negative)) => {
            writeln!(text, "        let place = ({first}u + component) * tile_column;")?;
            if negative { "-" } else { "+" }
        }
        None => {
            writeln!(text, "        let code = codes{number}(component);\n        if (code == 0u) {{\n            continue;\n        }}")?;
            writeln!(text, "        let place = ((code & 0x7fffffffu) - 1u) * tile_column;")?;
            "+"
        }
    };
    writeln!(text, "        let begin = index[starts + row];\n        let end = index[starts + row + 1u];\n        var sum: real = 0.0;")?;
    writeln!(text, "        for (var j = begin - start; j < end - start; j++) {{\n            sum += tile[place + j];\n        }}")?;
    if run(&slot.codes).is_none() {
        writeln!(text, "        sum = select(sum, -sum, (code >> 31u) != 0u);")?;
    }
    writeln!(text, "        let owner = index[{owners}];")?;
    writeln!(text, "        partials[index[{}] + owner * {}u + component] {sign}= sum;\n    }}", slot.address.base, slot.address.stride)
}

/// The first of the columns where components are columns next to each other, and whether all are subtracted.
fn run(codes: &[u32]) -> Option<(u32, bool)> {
    let (first, negative) = ((codes[0] & !NEGATIVE).checked_sub(1)?, codes[0] & NEGATIVE);
    (0..).zip(codes).all(|(k, &code)| code == (first + k + 1) | negative).then_some((first, negative != 0))
}

/// A function that gives the code of a component.
fn write_codes(number: usize, codes: &[u32], text: &mut String) -> std::fmt::Result {
    writeln!(text, "\nfn codes{number}(component: u32) -> u32 {{\n    switch component {{")?;
    for (component, code) in codes.iter().enumerate().filter(|(_, code)| **code != 0) {
        writeln!(text, "        case {component}u: {{\n            return {code}u;\n        }}")?;
    }
    writeln!(text, "        default: {{\n            return 0u;\n        }}\n    }}\n}}")
}

//! The module of a product by owners.

use super::{column, write_body, write_declarations};
use crate::device::{Access, KernelText, binding};
use crate::kernel::{NEGATIVE, OwnerProgram};
use std::fmt::Write;
use std::sync::Arc;

/// A workgroup is a tile. words0: the number of instances, and the word of the index buffer with the first tile's
/// beginning.
pub fn owner_module(owner: &OwnerProgram) -> KernelText {
    let mut owner = owner.clone();
    owner.program.keep_used_addresses();
    let mut access = owner.program.access();
    access[binding::INDEX] = Access::Read;
    access[binding::PARTIALS] = Access::ReadWrite;
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(&owner, &access, &mut text);
    KernelText { wgsl: Arc::from(text), access }
}

/// An element of a column of the tile.
pub(super) fn tile_element(column: u32, lane: &str) -> String {
    match column {
        0 => lane.into(),
        1 => format!("group_size + {lane}"),
        _ => format!("{column}u * group_size + {lane}"),
    }
}

fn write(owner: &OwnerProgram, access: &[Access], text: &mut String) -> std::fmt::Result {
    let OwnerProgram { program, tile, slots, .. } = owner;
    write_declarations(program, access, text)?;
    writeln!(text, "\nvar<workgroup> tile: array<real, {tile}u * group_size>;\nvar<workgroup> owners: array<u32, group_size>;")?;
    writeln!(text, "\n@compute @workgroup_size(group_size)")?;
    writeln!(text, "fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {{")?;
    if let Some(guard) = program.guard {
        writeln!(text, "    if (state[{guard}] != 0.0) {{\n        return;\n    }}")?;
    }
    writeln!(text, "    let count = params.words0.x;\n    let number = group_index(group);")?;
    writeln!(text, "    if (number >= params.group_count) {{\n        return;\n    }}")?;
    writeln!(text, "    let start = index[params.words0.y + number];\n    let lanes = index[params.words0.y + number + 1u] - start;")?;
    writeln!(text, "    let i = start + lane;\n    if (lane < lanes) {{")?;
    writeln!(text, "        owners[lane] = index[{}];", column(owner.column, program.header, "count"))?;
    let reloads = vec![None; program.instructions.len()];
    write_body(program, &reloads, "count", "        ", text)?;
    writeln!(text, "    }}\n    workgroupBarrier();\n    if (lane >= lanes) {{\n        return;\n    }}")?;
    writeln!(text, "    // The first lane of a row adds it up.\n    let owner = owners[lane];")?;
    writeln!(text, "    if (lane > 0u && owners[max(lane, 1u) - 1u] == owner) {{\n        return;\n    }}")?;
    for column in 0..*tile {
        writeln!(text, "    var s{column}: real = 0.0;")?;
    }
    writeln!(text, "    for (var k = lane; k < lanes && owners[min(k, group_size - 1u)] == owner; k++) {{")?;
    for column in 0..*tile {
        writeln!(text, "        s{column} += tile[{}];", tile_element(column, "k"))?;
    }
    writeln!(text, "    }}")?;
    for (number, slot) in slots.iter().enumerate() {
        writeln!(text, "    let q{number} = index[{}] + owner * {}u;", slot.address.base, slot.address.stride)?;
        for (component, &code) in slot.codes.iter().enumerate().filter(|(_, code)| **code != 0) {
            let sign = if code & NEGATIVE == 0 { "+" } else { "-" };
            writeln!(text, "    partials[q{number} + {component}u] {sign}= s{};", (code & !NEGATIVE) - 1)?;
        }
    }
    writeln!(text, "}}")
}

//! The module of a product with a Schur complement.

use super::owner::tile_element;
use super::writer::{Format, Real, Writer};
use super::{column, write_addresses, write_declarations, write_guard, write_some_values};
use crate::{KernelText, binding};
use crate::{OwnerProgram, ReducedProgram, Store};
use std::collections::HashSet;
use std::fmt::Write;

/// A workgroup is a tile.
///
/// # Errors
/// A constant beyond the range of the format.
pub fn reduced_module(reduced: &ReducedProgram, format: Format) -> Result<KernelText, String> {
    let mut text = Writer::new(format);
    // Writing to a string cannot fail.
    let _ = write(reduced, &mut text);
    text.finish(reduced.access())
}

fn write(reduced: &ReducedProgram, text: &mut Writer) -> std::fmt::Result {
    let ReducedProgram { program, tile, width, crossing_columns, .. } = reduced;
    write_declarations(&reduced.access(), |slot| slot == binding::ARENA, text)?;
    writeln!(text, "\nstruct Args {{\n    // Instances.\n    instances: u32,")?;
    writeln!(text, "    // Word of the tiles, in the arena's slot, with the first row's beginning.\n    starts: u32,")?;
    writeln!(text, "    // First element of the eliminated variables' inverted blocks, in the slot of partial sums.\n    block: u32,\n}}")?;
    writeln!(
        text,
        "\n// Columns do not begin in the same bank of memory.\nconst tile_column: u32 = group_size + {}u;",
        OwnerProgram::PADDING
    )?;
    writeln!(text, "var<workgroup> tile: array<real, {tile}u * tile_column>;")?;
    writeln!(text, "\n@compute @workgroup_size(group_size)")?;
    writeln!(text, "fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {{")?;
    write_guard(program, text)?;
    writeln!(text, "    let count = params.args.instances;\n    let number = group_index(group);")?;
    writeln!(text, "    if (number >= params.group_count) {{\n        return;\n    }}")?;
    writeln!(text, "    // Two words a tile: its first row and its first instance.")?;
    writeln!(text, "    let first_row = arena[2u * number];\n    let start = arena[2u * number + 1u];")?;
    writeln!(text, "    let rows = arena[2u * number + 2u] - first_row;\n    let lanes = arena[2u * number + 3u] - start;")?;
    writeln!(text, "    // Lanes beyond the last instance compute what it does, and store nothing.")?;
    writeln!(text, "    let i = start + min(lane, lanes - 1u);")?;

    let (reloads, mut turned) = (vec![None; program.instructions.len()], HashSet::new());
    let (before, all) = (reduced.before(), program.instructions.len());
    write_addresses(program, "count", "    ", text)?;
    writeln!(text, "    let owner = index[{}];", column(reduced.column, program.header, "count"))?;
    write_some_values(program, 0..before, &reloads, &mut turned, "count", "    ", text)?;
    let (own, crossing) = program.stores.split_at(*width as usize);
    write_stores(own, text)?;
    writeln!(text, "    workgroupBarrier();")?;

    writeln!(text, "    // Every row is added up, and all of its instances get the sum.")?;
    writeln!(text, "    for (var k = lane; k < rows * {width}u; k += group_size) {{")?;
    writeln!(text, "        let row = params.args.starts + first_row + k / {width}u;\n        let first = k % {width}u * tile_column;")?;
    writeln!(text, "        let begin = first + arena[row] - start;\n        let end = first + arena[row + 1u] - start;")?;
    let zero = text.literal(0.0);
    writeln!(text, "        var sum: real = {zero};\n        for (var j = begin; j < end; j++) {{")?;
    text.accumulate("sum", &Real::expression("tile[j]".into()), "            ")?;
    writeln!(text, "        }}\n        for (var j = begin; j < end; j++) {{\n            tile[j] = sum;\n        }}\n    }}")?;
    writeln!(text, "    workgroupBarrier();")?;

    writeln!(text, "    let inverse = params.args.block + owner * {}u;", width * (width + 1) / 2)?;
    for b in 0..*width {
        writeln!(text, "    let sum{b}: real = tile[{}];", tile_element(b, "lane"))?;
    }
    for a in 0..*width {
        let mut value: Option<Real> = None;
        for b in 0..*width {
            let (high, low) = (a.max(b), a.min(b));
            let entry = text.load(binding::PARTIALS, &format!("inverse + {}u", high * (high + 1) / 2 + low));
            let product = text.multiply(&entry, &Real::name(format!("sum{b}")));
            value = Some(match value {
                Some(value) => text.add(&value, &product),
                None => product,
            });
        }
        let value = value.map_or_else(|| zero.clone(), |value| value.text);
        writeln!(text, "    let g{a}: real = {value};")?;
    }
    write_some_values(program, before..all, &reloads, &mut turned, "count", "    ", text)?;
    write_stores(crossing, text)?;
    writeln!(text, "    workgroupBarrier();")?;
    let columns = crossing_columns;
    writeln!(text, "    for (var k = lane; k < lanes * {columns}u; k += group_size) {{")?;
    let entry = Real::expression(format!("tile[k % {columns}u * tile_column + k / {columns}u]"));
    text.store(binding::VECTOR_OUT, &format!("start * {columns}u + k"), &entry, "        ")?;
    writeln!(text, "    }}\n}}")
}

/// What instances leave in the tile.
fn write_stores(stores: &[(Store, u32)], text: &mut Writer) -> std::fmt::Result {
    writeln!(text, "    if (lane < lanes) {{")?;
    for (store, value) in stores {
        let Store::Tile(column) = store else { continue };
        writeln!(text, "        tile[{}] = v{value};", tile_element(*column, "lane"))?;
    }
    writeln!(text, "    }}")
}

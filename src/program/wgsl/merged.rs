//! The module of several products' first halves.

use super::owner::{self, Names};
use super::writer::{Format, Writer};
use super::{write_body, write_declarations, write_guard};
use crate::{HalfProduct, KernelText, MergedProgram};
use std::fmt::Write;

/// Ranges of workgroups have a program each.
///
/// # Errors
/// A constant beyond the range of the format.
pub fn merged_module(merged: &MergedProgram, format: Format) -> Result<KernelText, String> {
    let mut text = Writer::new(format).with_bases();
    // Writing to a string cannot fail.
    let _ = write(merged, &mut text);
    text.finish(merged.access())
}

fn write(merged: &MergedProgram, text: &mut Writer) -> std::fmt::Result {
    write_declarations(&merged.access(), |_| false, text)?;
    writeln!(text, "\nstruct Args {{\n    none: u32,\n}}")?;
    let owners = |half: &HalfProduct| match half {
        HalfProduct::Owners(owner) => Some(owner.tile),
        HalfProduct::Instances(_) => None,
    };
    if let Some(tile) = merged.programs.iter().filter_map(owners).max() {
        owner::write_tile(tile, text)?;
        owner::write_item(text)?;
    }
    for (number, half) in merged.programs.iter().enumerate() {
        if let HalfProduct::Owners(owner) = half {
            owner::write_all_codes(owner, &names(number), text)?;
            owner::write_locate(owner, &names(number), text)?;
        }
    }
    writeln!(text, "\n@compute @workgroup_size(group_size)")?;
    writeln!(text, "fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {{")?;
    write_guard(merged.programs[0].program(), text)?;
    writeln!(text, "    let workgroup = group_index(group);\n    if (workgroup >= params.group_count) {{\n        return;\n    }}")?;
    writeln!(text, "    // The line of its part.\n    let at = index[workgroup];")?;
    for (place, name) in
        ["first_group", "program", "count", "index_base", "data_base", "jacobian_base", "column_base", "vector_base"].iter().enumerate()
    {
        writeln!(text, "    let {name} = index[at + {place}u];")?;
    }
    writeln!(text, "    let number = workgroup - first_group;")?;
    for (number, half) in merged.programs.iter().enumerate() {
        writeln!(text, "    {}if (program == {number}u) {{", if number == 0 { "" } else { "} else " })?;
        match half {
            HalfProduct::Instances(program) => {
                writeln!(text, "    let i = number * group_size + lane;\n    if (i < count) {{")?;
                let reloads = vec![None; program.instructions.len()];
                write_body(program, &reloads, "count", "        ", text)?;
                writeln!(text, "    }}")?;
            }
            HalfProduct::Owners(owner) => owner::write_rows(owner, &names(number), text)?,
        }
    }
    writeln!(text, "    }}\n}}")
}

fn names(number: usize) -> Names {
    Names { suffix: format!("_{number}"), tiles: "index[at + 8u]".into(), starts: "index[at + 9u]".into(), has_base: true }
}

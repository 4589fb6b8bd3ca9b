//! The module of a product by owners.

use super::writer::{Format, Real, Writer};
use super::{write_body, write_declarations, write_guard};
use crate::{Access, KernelText, binding};
use crate::{NEGATIVE, OwnerProgram};
use std::fmt::Write;

/// A workgroup is a tile.
///
/// # Errors
/// A constant beyond the range of the format.
pub fn owner_module(owner: &OwnerProgram, format: Format) -> Result<KernelText, String> {
    let mut text = Writer::new(format);
    // Writing to a string cannot fail.
    let _ = write(owner, &owner.access(), &mut text);
    text.finish(owner.access())
}

/// An element of a column of the tile.
pub(super) fn tile_element(column: u32, lane: &str) -> String {
    match column {
        0 => lane.into(),
        1 => format!("tile_column + {lane}"),
        _ => format!("{column}u * tile_column + {lane}"),
    }
}

/// What the text of a product is called by, and where its tiles are.
pub(super) struct Names {
    /// Behind the names of its functions.
    pub suffix: String,
    /// Words of the index table with the first tile and the first row's beginning.
    pub tiles: String,
    pub starts: String,
    /// True if the index table begins at `index_base`.
    pub has_base: bool,
}

/// The workgroup's memory, of so many columns.
pub(super) fn write_tile(columns: u32, text: &mut Writer) -> std::fmt::Result {
    writeln!(
        text,
        "\n// Columns do not begin in the same bank of memory.\nconst tile_column: u32 = group_size + {}u;",
        OwnerProgram::PADDING
    )?;
    writeln!(text, "var<workgroup> tile: array<real, {columns}u * tile_column>;")
}

/// The structure of what a lane adds up.
pub(super) fn write_item(text: &mut Writer) -> std::fmt::Result {
    writeln!(text, "\nstruct Item {{\n    begin: u32,\n    end: u32,\n    column: u32,\n    negative: bool,\n    to: u32,\n}}")
}

/// Functions that give codes of components.
pub(super) fn write_all_codes(owner: &OwnerProgram, names: &Names, text: &mut Writer) -> std::fmt::Result {
    let mut coded = owner.slots.iter().enumerate().filter(|(_, slot)| run(&slot.codes).is_none());
    coded.try_for_each(|(number, slot)| write_codes(number, names, &slot.codes, text))
}

fn write(owner: &OwnerProgram, access: &[Access], text: &mut Writer) -> std::fmt::Result {
    write_declarations(access, |_| false, text)?;
    writeln!(text, "\nstruct Args {{\n    // Instances.\n    instances: u32,")?;
    writeln!(text, "    // Word of the index buffer with the first tile's first row and instance, two words a tile.\n    tiles: u32,")?;
    writeln!(text, "    // Word with the first row's beginning.\n    starts: u32,\n}}")?;
    let names = Names { suffix: String::new(), tiles: "params.args.tiles".into(), starts: "params.args.starts".into(), has_base: false };
    write_tile(owner.tile, text)?;
    write_all_codes(owner, &names, text)?;
    write_item(text)?;
    write_locate(owner, &names, text)?;
    writeln!(text, "\n@compute @workgroup_size(group_size)")?;
    writeln!(text, "fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {{")?;
    write_guard(&owner.program, text)?;
    writeln!(text, "    let count = params.args.instances;\n    let number = group_index(group);")?;
    writeln!(text, "    if (number >= params.group_count) {{\n        return;\n    }}")?;
    write_rows(owner, &names, text)?;
    writeln!(text, "}}")
}

/// The instances of tile `number`, of `count` in all, and the sums of its rows.
pub(super) fn write_rows(owner: &OwnerProgram, names: &Names, text: &mut Writer) -> std::fmt::Result {
    let OwnerProgram { program, slots, crossing_columns, adds, .. } = owner;
    let components: usize = slots.iter().map(|slot| slot.codes.len()).sum();
    let [row, start, next_row, next_start] = ["tiles", "tiles + 1u", "tiles + 2u", "tiles + 3u"].map(|place| text.word(place));
    writeln!(text, "    let tiles = {} + 2u * number;\n    let first_row = {row};\n    let start = {start};", names.tiles)?;
    writeln!(text, "    let items = ({next_row} - first_row) * {components}u;\n    let lanes = {next_start} - start;")?;
    writeln!(text, "    let i = start + lane;\n    if (lane < lanes) {{")?;
    let reloads = vec![None; program.instructions.len()];
    write_body(program, &reloads, "count", "        ", text)?;
    writeln!(text, "    }}\n    // Where the rows' sums go is looked up while the tile is on its way.")?;
    let zero = text.literal(0.0);
    writeln!(text, "    var item = Item();")?;
    if *adds {
        writeln!(text, "    var before: real = {zero};")?;
    }
    writeln!(text, "    if (lane < items) {{")?;
    write_lookup("lane", names, *adds, "        ", text)?;
    writeln!(text, "    }}\n    workgroupBarrier();")?;
    match crossing_columns {
        0 => {}
        1 => {
            writeln!(text, "    if (lane < lanes) {{")?;
            text.store(binding::VECTOR_OUT, "i", &Real::expression("tile[lane]".into()), "        ")?;
            writeln!(text, "    }}")?;
        }
        width => {
            writeln!(text, "    for (var k = lane; k < lanes * {width}u; k += group_size) {{")?;
            let entry = Real::expression(format!("tile[k % {width}u * tile_column + k / {width}u]"));
            text.store(binding::VECTOR_OUT, &format!("start * {width}u + k"), &entry, "        ")?;
            writeln!(text, "    }}")?;
        }
    }
    writeln!(text, "    for (var k = lane; k < items; k += group_size) {{\n        if (k != lane) {{")?;
    write_lookup("k", names, *adds, "            ", text)?;
    writeln!(text, "        }}\n        var sum: real = {zero};\n        for (var j = item.begin - start; j < item.end - start; j++) {{")?;
    text.accumulate("sum", &Real::expression("tile[item.column + j]".into()), "            ")?;
    writeln!(text, "        }}")?;
    let sum = Real::name("sum");
    let signed = text.select(&sum, &text.negative(&sum), "item.negative");
    let total = if *adds { text.add(&Real::name("before"), &signed) } else { signed };
    text.store(binding::PARTIALS, "item.to", &total, "        ")?;
    writeln!(text, "    }}")
}

/// Looks up an item and, where its sum is added to that, what stands where it goes.
fn write_lookup(k: &str, names: &Names, adds: bool, indent: &str, text: &mut Writer) -> std::fmt::Result {
    let Names { suffix, starts, has_base, .. } = names;
    let base = if *has_base { ", index_base" } else { "" };
    writeln!(text, "{indent}item = locate{suffix}({k}, items, {starts} + first_row, count{base});")?;
    if !adds {
        return Ok(());
    }
    let before = text.load(binding::PARTIALS, "item.to");
    writeln!(text, "{indent}before = {};", before.text)
}

/// A function that says what a lane adds up, which is a component of a row, and where that goes.
pub(super) fn write_locate(owner: &OwnerProgram, names: &Names, text: &mut Writer) -> std::fmt::Result {
    let components: usize = owner.slots.iter().map(|slot| slot.codes.len()).sum();
    let (suffix, base) = (&names.suffix, if names.has_base { ", index_base: u32" } else { "" });
    writeln!(text, "\nfn locate{suffix}(k: u32, items: u32, starts: u32, count: u32{base}) -> Item {{")?;
    writeln!(text, "    let rows = items / {components}u;")?;
    writeln!(text, "    var item = Item();\n    var row = 0u;\n    var stride = 0u;")?;
    let all_have_columns = owner.slots.iter().all(|slot| run(&slot.codes).is_some());
    if !all_have_columns {
        writeln!(text, "    var has_column = true;")?;
    }
    let mut before = 0;
    for (number, slot) in owner.slots.iter().enumerate() {
        let width = slot.codes.len();
        let is_last = number + 1 == owner.slots.len();
        let end = before + width;
        let opening = if is_last { "{\n".into() } else { format!("if (k < rows * {end}u) {{\n") };
        write!(text, "{}{opening}", if number == 0 { "    " } else { " else " })?;
        let rest = if before == 0 { "k".into() } else { format!("(k - rows * {before}u)") };
        writeln!(
            text,
            "        let component = {rest} % {width}u;\n        row = {rest} / {width}u;\n        stride = {}u;",
            slot.address.stride
        )?;
        writeln!(text, "        item.to = {} + component;", text.word(&slot.address.base.to_string()))?;
        match run(&slot.codes) {
            Some((first, negative)) => {
                writeln!(text, "        item.column = ({first}u + component) * tile_column;\n        item.negative = {negative};")?;
            }
            None => {
                writeln!(
                    text,
                    "        let code = codes{number}{suffix}(component);\n        item.column = (max(code & 0x7fffffffu, 1u) - 1u) * tile_column;"
                )?;
                writeln!(text, "        item.negative = (code >> 31u) != 0u;\n        has_column = code != 0u;")?;
            }
        }
        write!(text, "    }}")?;
        before = end;
    }
    let [begin, end] = ["starts + row", "starts + row + 1u"].map(|place| text.word(place));
    writeln!(text, "\n    item.begin = {begin};")?;
    let owners = text.word(&format!("{}u + {}u * count + item.begin", owner.program.header, owner.column));
    writeln!(text, "    item.to += {owners} * stride;")?;
    match all_have_columns {
        true => writeln!(text, "    item.end = {end};")?,
        // To a component without a column, nothing is added.
        false => writeln!(text, "    item.end = select(item.begin, {end}, has_column);")?,
    }
    writeln!(text, "    return item;\n}}")
}

/// The first of the columns where components are columns next to each other, and whether all are subtracted.
fn run(codes: &[u32]) -> Option<(u32, bool)> {
    let (first, negative) = ((codes[0] & !NEGATIVE).checked_sub(1)?, codes[0] & NEGATIVE);
    (0..).zip(codes).all(|(k, &code)| code == (first + k + 1) | negative).then_some((first, negative != 0))
}

/// A function that gives the code of a component.
fn write_codes(number: usize, names: &Names, codes: &[u32], text: &mut Writer) -> std::fmt::Result {
    writeln!(text, "\nfn codes{number}{}(component: u32) -> u32 {{\n    switch component {{", names.suffix)?;
    for (component, code) in codes.iter().enumerate().filter(|(_, code)| **code != 0) {
        writeln!(text, "        case {component}u: {{\n            return {code}u;\n        }}")?;
    }
    writeln!(text, "        default: {{\n            return 0u;\n        }}\n    }}\n}}")
}

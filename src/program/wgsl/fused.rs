//! The modules of tensors' kernels.

use super::rows::write_rows;
use super::words::write_words;
use super::writer::{Format, Writer};
use super::{NAMES, NO_ARGUMENTS, Store, write_declarations, write_values};
use crate::KernelText;
use crate::fused::{
    Anchor, FactorCode, FactorWords, Fold, Folding, Fused, Product, STRIP, Source, Stage, StageWords, Stride, ViewCode, ViewWords,
};
use std::fmt::{Result, Write};

/// Lanes that one of them adds up, as in `shaders/shared/reduce.wgsl`.
pub(super) const FAN_IN: u32 = 16;

/// Values that a lane reads before it folds the first of them, and instructions of what is repeated that often.
const UNROLLED: u32 = 4;
const MOST_UNROLLED: usize = 24;

/// What follows the prelude, in f32.
pub fn fused_module(fused: &Fused) -> KernelText {
    let mut text = Writer::new(Format::Single);
    // Writing to a string cannot fail.
    let _ = write(fused, &mut text);
    text.single(fused.access())
}

fn write(fused: &Fused, text: &mut Writer) -> Result {
    write_declarations(&fused.access(), |slot| fused.has_words(slot), text)?;
    write!(text, "{NO_ARGUMENTS}")?;
    match &fused.anchor {
        Anchor::None { .. } if fused.halves => write_halves(fused, text),
        Anchor::None { each: 1 } => write_map(fused, text),
        Anchor::None { each } => write_several(fused, *each, text),
        Anchor::Reduce { folding: Folding::Lane, .. } => write_lanes(fused, text),
        Anchor::Reduce { folding: Folding::Group, .. } => write_groups(fused, text),
        Anchor::Reduce { folding: Folding::Strip, .. } => write_strips(fused, text),
        Anchor::Rows(rows) => write_rows(rows, &fused.words().prologue, text),
        Anchor::Product(product) => write_product(fused, product, text),
        Anchor::Words(kernel) => write_words(kernel, &fused.words().prologue, fused.finish.outputs[0], text),
    }
}

fn write_map(fused: &Fused, text: &mut Writer) -> Result {
    writeln!(text, "\n@compute @workgroup_size(group_size)\nfn main(@builtin(global_invocation_id) id: vec3<u32>) {{")?;
    writeln!(text, "    let i = item(id);\n    if (i >= params.count) {{\n        return;\n    }}")?;
    let words = fused.words().finish;
    write_coordinates("c", 0, fused.finish.rank, words.sizes, "i", "    ", text)?;
    write_stage(&fused.finish, &words, "c", "    ", text)?;
    write_stores(&fused.finish, "i", "    ", text)?;
    writeln!(text, "}}")
}

/// A lane several elements, a workgroup's width apart: all are read before any is written, so that reads are on their way together.
fn write_several(fused: &Fused, each: u32, text: &mut Writer) -> Result {
    let Fused { finish, .. } = fused;
    let words = fused.words().finish;
    writeln!(text, "\n@compute @workgroup_size(group_size)\nfn main(@builtin(global_invocation_id) id: vec3<u32>) {{")?;
    writeln!(text, "    let lane = item(id);\n    let first = lane / group_size * ({each}u * group_size) + lane % group_size;")?;
    writeln!(text, "    if (first >= index[0]) {{\n        return;\n    }}")?;
    let stores: Vec<(u32, u32)> = finish
        .program
        .stores
        .iter()
        .filter_map(|(store, value)| if let Store::Column(output) = store { Some((*output, *value)) } else { None })
        .collect();
    for k in 0..each {
        for (output, _) in &stores {
            writeln!(text, "    var x{k}_{output}: real;")?;
        }
        // Behind the last element, that one again.
        writeln!(text, "    {{\n        let i = min(first + {k}u * group_size, index[0] - 1u);")?;
        write_coordinates("c", 0, finish.rank, words.sizes, "i", "        ", text)?;
        write_stage(finish, &words, "c", "        ", text)?;
        for (output, value) in &stores {
            writeln!(text, "        x{k}_{output} = v{value};")?;
        }
        writeln!(text, "    }}")?;
    }
    for k in 0..each {
        writeln!(text, "    if (first + {k}u * group_size < index[0]) {{")?;
        for (output, _) in &stores {
            let name = NAMES[finish.outputs[*output as usize]];
            writeln!(text, "        {name}[first + {k}u * group_size] = x{k}_{output};")?;
        }
        writeln!(text, "    }}")?;
    }
    writeln!(text, "}}")
}

/// A lane two elements, whose halves are a word.
fn write_halves(fused: &Fused, text: &mut Writer) -> Result {
    let Fused { finish, .. } = fused;
    let words = fused.words().finish;
    writeln!(text, "\nfn rounded(i: u32) -> u32 {{")?;
    write_coordinates("c", 0, finish.rank, words.sizes, "i", "    ", text)?;
    write_stage(finish, &words, "c", "    ", text)?;
    writeln!(text, "    return rounded_half(v{});\n}}", result(finish))?;
    writeln!(text, "\n@compute @workgroup_size(group_size)\nfn main(@builtin(global_invocation_id) id: vec3<u32>) {{")?;
    writeln!(text, "    let i = item(id);\n    if (i >= params.count) {{\n        return;\n    }}")?;
    writeln!(text, "    var word = rounded(2u * i);\n    if (2u * i + 1u < index[0]) {{")?;
    writeln!(text, "        word |= rounded(2u * i + 1u) << 16u;\n    }}")?;
    writeln!(text, "    {}[i] = word;\n}}", NAMES[finish.outputs[0]])
}

/// `c0`, `c1`… of the axes from `first` on, of an element's number.
pub(super) fn write_coordinates(
    name: &str,
    first: u32,
    end: u32,
    sizes: u32,
    element: &str,
    indent: &str,
    text: &mut impl Write,
) -> Result {
    if first == end {
        return Ok(());
    }
    let mut rest = element.to_string();
    for axis in (first + 1..end).rev() {
        writeln!(text, "{indent}let {name}{axis} = {rest} % index[{}];", sizes + axis)?;
        let next = format!("{name}r{axis}");
        writeln!(text, "{indent}let {next} = {rest} / index[{}];", sizes + axis)?;
        rest = next;
    }
    writeln!(text, "{indent}let {name}{first} = {rest};")
}

/// What a stride adds for a coordinate; `None` where that is nothing.
fn along(stride: Stride, word: Option<u32>, coordinate: &str) -> Option<String> {
    match (stride, word) {
        (Stride::Zero, _) => None,
        (Stride::Word, Some(word)) => Some(format!("{coordinate} * index[{word}]")),
        _ => Some(coordinate.to_string()),
    }
}

fn sum_of(parts: Vec<String>) -> String {
    if parts.is_empty() { "0u".into() } else { parts.join(" + ") }
}

/// The half that a name for an address says where to find.
pub(super) fn half_of(words: &str, address: &str) -> String {
    format!("half_at({words}[{address} >> 1u], {address})")
}

/// The element of a view of reals, as `g{number}`.
pub(super) fn write_view(view: &ViewCode, words: &ViewWords, number: usize, coordinates: &str, indent: &str, text: &mut Writer) -> Result {
    let row = view.row.zip(words.row).map(|(row, word)| format!("min(u32(max(g{row}, 0.0)), index[{word}] - 1u)"));
    let element = |address: &str| match view.source {
        Source::Slot(slot) => format!("{}[{address}]", NAMES[slot]),
        Source::Half(slot) => half_of(NAMES[slot], address),
        Source::Word(slot) => format!("real(bitcast<i32>({}[{address}]))", NAMES[slot]),
        Source::Address => format!("real({address})"),
        Source::One => "real(1)".into(),
    };
    write_element(view, words, number, coordinates, Element { of: "real", row, at: &element }, indent, text)
}

/// Elements of a view: their type, the number of a row, and the text that reads an address.
pub(super) struct Element<'a> {
    pub of: &'static str,
    pub row: Option<String>,
    pub at: &'a dyn Fn(&str) -> String,
}

/// The element of a view, as `g{number}`.
pub(super) fn write_element(
    view: &ViewCode,
    words: &ViewWords,
    number: usize,
    coordinates: &str,
    Element { of, row, at: element }: Element,
    indent: &str,
    text: &mut impl Write,
) -> Result {
    let offset = words.offset.map(|word| format!("index[{word}]"));
    let strides = view.strides.iter().zip(&words.strides).enumerate();
    let strides = strides.filter_map(|(axis, (stride, word))| along(*stride, *word, &format!("{coordinates}{axis}")));
    let row = row.zip(words.row).map(|(row, word)| format!("{row} * index[{}]", word + 1));
    let address = sum_of(offset.into_iter().chain(strides).chain(row).collect());
    let masks: Vec<String> = words
        .masks
        .iter()
        .enumerate()
        .filter_map(|(axis, word)| word.map(|word| format!("{coordinates}{axis} - index[{word}] < index[{}]", word + 1)))
        .collect();
    if masks.is_empty() {
        if matches!(view.source, Source::Half(_)) {
            writeln!(text, "{indent}let a{number} = {address};")?;
            return writeln!(text, "{indent}let g{number}: {of} = {};", element(&format!("a{number}")));
        }
        return writeln!(text, "{indent}let g{number}: {of} = {};", element(&address));
    }
    writeln!(text, "{indent}let m{number} = {};", masks.join(" && "))?;
    // Nothing is read outside of what is bound.
    writeln!(text, "{indent}let a{number} = select(0u, {address}, m{number});")?;
    writeln!(text, "{indent}let g{number}: {of} = select({of}(0), {}, m{number});", element(&format!("a{number}")))
}

/// The elements of all views, and the program's values `v{number}`.
fn write_stage(stage: &Stage, words: &StageWords, coordinates: &str, indent: &str, text: &mut Writer) -> Result {
    for (number, (view, words)) in stage.views.iter().zip(&words.views).enumerate() {
        write_view(view, words, number, coordinates, indent, text)?;
    }
    write_values(&stage.program, &[], "params.count", indent, text)
}

fn write_stores(stage: &Stage, element: &str, indent: &str, text: &mut Writer) -> Result {
    for (store, value) in &stage.program.stores {
        if let Store::Column(output) = store {
            writeln!(text, "{indent}{}[{element}] = v{value};", NAMES[stage.outputs[*output as usize]])?;
        }
    }
    Ok(())
}

/// The value of a stage's only store.
fn result(stage: &Stage) -> u32 {
    stage.program.stores.first().map_or(0, |(_, value)| *value)
}

/// What folding begins with: extremes with an element, which counts once or twice.
fn start_of(fold: Fold, arguments: &str, first: &str) -> String {
    match fold {
        Fold::Sum => "0.0".into(),
        Fold::Max | Fold::Min => format!("value({arguments}{first})"),
    }
}

pub(super) fn combined(fold: Fold, a: &str, b: &str) -> String {
    match fold {
        Fold::Sum => format!("{a} + {b}"),
        Fold::Max => format!("extreme_max({a}, {b})"),
        Fold::Min => format!("extreme_min({a}, {b})"),
    }
}

/// `fn extreme_max(a, b)`: what WGSL makes of NaN is open, so it is looked for in the bits.
pub(super) fn write_extreme(fold: Fold, text: &mut Writer) -> Result {
    let name = match fold {
        Fold::Sum => return Ok(()),
        Fold::Max => "max",
        Fold::Min => "min",
    };
    writeln!(text, "\nfn extreme_{name}(a: real, b: real) -> real {{")?;
    writeln!(text, "    return select(select({name}(a, b), b, is_nan(b)), a, is_nan(a));\n}}")
}

/// `fn value(o…, t)`: the prologue at an element of the outer axes, whose coordinates are `o0`…, and of the inner ones.
fn write_prologue(prologue: &Stage, words: &StageWords, inner: u32, text: &mut Writer) -> Result {
    let outer = prologue.rank - inner;
    let arguments: String = (0..outer).map(|axis| format!("c{axis}: u32, ")).collect();
    writeln!(text, "\nfn value({arguments}t: u32) -> real {{")?;
    write_coordinates("c", outer, prologue.rank, words.sizes, "t", "    ", text)?;
    write_stage(prologue, words, "c", "    ", text)?;
    writeln!(text, "    return v{};\n}}", result(prologue))
}

/// The stage after an anchor, as a function of the element's number and of what the anchor made.
fn write_finish(stage: &Stage, words: &StageWords, text: &mut Writer) -> Result {
    writeln!(text, "\nfn finish(i: u32, g{}: real) {{", stage.views.len())?;
    write_coordinates("c", 0, stage.rank, words.sizes, "i", "    ", text)?;
    write_stage(stage, words, "c", "    ", text)?;
    write_stores(stage, "i", "    ", text)?;
    writeln!(text, "}}")
}

/// A lane an element of the result: its neighbours read what lies next to it.
fn write_lanes(fused: &Fused, text: &mut Writer) -> Result {
    let Anchor::Reduce { fold, prologue, inner, .. } = &fused.anchor else { return Ok(()) };
    let words = fused.words();
    write_extreme(*fold, text)?;
    write_prologue(prologue, &words.prologue, *inner, text)?;
    write_finish(&fused.finish, &words.finish, text)?;
    let outer = prologue.rank - inner;
    writeln!(text, "\n@compute @workgroup_size(group_size)\nfn main(@builtin(global_invocation_id) id: vec3<u32>) {{")?;
    writeln!(text, "    let i = item(id);\n    if (i >= params.count) {{\n        return;\n    }}")?;
    write_coordinates("o", 0, outer, words.prologue.sizes, "i", "    ", text)?;
    let arguments: String = (0..outer).map(|axis| format!("o{axis}, ")).collect();
    writeln!(text, "    var total: real = {};", start_of(*fold, &arguments, "0u"))?;
    write_loop(*fold, prologue, &arguments, ["0u", "1u"], text)?;
    writeln!(text, "    finish(i, total);\n}}")
}

/// Folds the values of an element into `total`, in order: from the first on, so far apart. Several are on their way together where that
/// is no long text.
fn write_loop(fold: Fold, prologue: &Stage, arguments: &str, [first, step]: [&str; 2], text: &mut Writer) -> Result {
    writeln!(text, "    var t = {first};")?;
    if prologue.program.instructions.len() <= MOST_UNROLLED {
        writeln!(text, "    for (; t + {}u * {step} < index[1]; t += {UNROLLED}u * {step}) {{", UNROLLED - 1)?;
        for k in 0..UNROLLED {
            writeln!(text, "        let x{k} = value({arguments}t + {k}u * {step});")?;
        }
        for k in 0..UNROLLED {
            writeln!(text, "        total = {};", combined(fold, "total", &format!("x{k}")))?;
        }
        writeln!(text, "    }}")?;
    }
    writeln!(text, "    for (; t < index[1]; t += {step}) {{\n        let x = value({arguments}t);")?;
    writeln!(text, "        total = {};\n    }}", combined(fold, "total", "x"))
}

/// A workgroup a strip of the result: `STRIP` lanes in a row, of which those one below the other share an element.
fn write_strips(fused: &Fused, text: &mut Writer) -> Result {
    let Anchor::Reduce { fold, prologue, .. } = &fused.anchor else { return Ok(()) };
    let element = format!("let column = group_number * {STRIP}u + lane % {STRIP}u;\n    let i = min(column, index[0] - 1u);");
    let arguments = write_group_head(fused, &element, text)?;
    writeln!(text, "    let first = lane / {STRIP}u;")?;
    writeln!(text, "    var total: real = {};", start_of(*fold, &arguments, "min(first, index[1] - 1u)"))?;
    write_loop(*fold, prologue, &arguments, ["first", &format!("(group_size / {STRIP}u)")], text)?;
    writeln!(text, "    scratch[lane] = total;\n    workgroupBarrier();")?;
    writeln!(text, "    if (lane < {STRIP}u && column < index[0]) {{")?;
    writeln!(text, "        for (var k = {STRIP}u; k < group_size; k += {STRIP}u) {{\n            let x = scratch[lane + k];")?;
    writeln!(text, "            total = {};\n        }}\n        finish(column, total);\n    }}\n}}", combined(*fold, "total", "x"))
}

/// Head of a kernel whose workgroups fold together, up to the coordinates of a lane's element, which `element` numbers as `i`. Gives these
/// coordinates as arguments.
fn write_group_head(fused: &Fused, element: &str, text: &mut Writer) -> std::result::Result<String, std::fmt::Error> {
    let Anchor::Reduce { fold, prologue, inner, .. } = &fused.anchor else { return Ok(String::new()) };
    let (words, outer) = (fused.words(), prologue.rank - inner);
    writeln!(text, "\nvar<workgroup> scratch: array<real, group_size>;")?;
    write_extreme(*fold, text)?;
    write_prologue(prologue, &words.prologue, *inner, text)?;
    write_finish(&fused.finish, &words.finish, text)?;
    writeln!(text, "\n@compute @workgroup_size(group_size)")?;
    writeln!(text, "fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {{")?;
    writeln!(text, "    let group_number = group_index(group);\n    if (group_number >= params.group_count) {{\n        return;\n    }}")?;
    writeln!(text, "    {element}")?;
    write_coordinates("o", 0, outer, words.prologue.sizes, "i", "    ", text)?;
    Ok((0..outer).map(|axis| format!("o{axis}, ")).collect())
}

/// A workgroup an element of the result.
fn write_groups(fused: &Fused, text: &mut Writer) -> Result {
    let Anchor::Reduce { fold, prologue, .. } = &fused.anchor else { return Ok(()) };
    let arguments = write_group_head(fused, "let i = group_number;", text)?;
    writeln!(text, "    var total: real = {};", start_of(*fold, &arguments, "min(lane, index[1] - 1u)"))?;
    write_loop(*fold, prologue, &arguments, ["lane", "group_size"], text)?;
    // A fixed tree of fan-in 16, as in `shaders/shared/reduce.wgsl`.
    writeln!(text, "    scratch[lane] = total;\n    workgroupBarrier();\n    if (lane % {FAN_IN}u == 0u) {{")?;
    writeln!(text, "        for (var k = 1u; k < {FAN_IN}u; k++) {{\n            let x = scratch[lane + k];")?;
    writeln!(text, "            total = {};\n        }}\n        scratch[lane] = total;\n    }}", combined(*fold, "total", "x"))?;
    writeln!(text, "    workgroupBarrier();\n    if (lane == 0u) {{")?;
    writeln!(text, "        for (var k = {FAN_IN}u; k < group_size; k += {FAN_IN}u) {{\n            let x = scratch[k];")?;
    writeln!(text, "            total = {};\n        }}\n        finish(i, total);\n    }}\n}}", combined(*fold, "total", "x"))
}

/// The part of a factor's address that a group of axes adds.
fn write_part(name: &str, strides: &[Stride], words: &[Option<u32>], sizes: u32, text: &mut Writer) -> Result {
    writeln!(text, "\nfn {name}(e: u32) -> u32 {{")?;
    write_coordinates("c", 0, strides.len() as u32, sizes, "e", "    ", text)?;
    let parts = strides.iter().zip(words).enumerate();
    let parts = parts.filter_map(|(axis, (stride, word))| along(*stride, *word, &format!("c{axis}"))).collect();
    writeln!(text, "    return {};\n}}", sum_of(parts))
}

/// Tiles of the product, 4 or 8 rows and columns a lane; layout words 0 to 4: m, n, k, and tiles along m and n. What a lane adds up
/// has names and no numbers: arrays that are indexed by loops end up in memory with some drivers.
fn write_product(fused: &Fused, product: &Product, text: &mut Writer) -> Result {
    let words = fused.words();
    let [batch, rows, depth, columns] = words.groups;
    let Product { left, right, fours, lanes } = product;
    let mut factor = |name: &str, code: &FactorCode, own: &FactorWords, sizes: [u32; 2]| -> Result {
        write_part(&format!("{name}_batch"), &code.batch, &own.batch, batch, text)?;
        write_part(&format!("{name}_rows"), &code.rows, &own.rows, sizes[0], text)?;
        write_part(&format!("{name}_columns"), &code.columns, &own.columns, sizes[1], text)?;
        let start = own.offset.map_or("0u".into(), |word| format!("index[{word}]"));
        writeln!(text, "\nfn {name}_of(b: u32) -> u32 {{\n    return {start} + {name}_batch(b);\n}}")
    };
    factor("left", left, &words.left, [rows, depth])?;
    factor("right", right, &words.right, [depth, columns])?;
    write_finish(&fused.finish, &words.finish, text)?;
    let [down, across] = *fours;
    let (rows, columns) = product.lanes();
    // Large tiles keep lanes busy for long; of small ones, fewer and larger slabs wait less.
    let slab = if fours == &[2, 2] { 8 } else { 16 };
    let (tile_rows, tile_columns) = (down * rows, across * columns);
    writeln!(text, "\nvar<workgroup> left_tile: array<vec4<real>, {}>;", slab * tile_rows)?;
    writeln!(text, "var<workgroup> right_tile: array<vec4<real>, {}>;", slab * tile_columns)?;
    // Lanes next to each other fetch what lies next to each other.
    let along = [left.columns.last() == Some(&Stride::One), right.columns.last() != Some(&Stride::One)];
    write_fetch(text, ("left", left, "left_columns", "left_rows"), "index[0]", slab, (tile_rows, along[0]))?;
    write_fetch(text, ("right", right, "right_rows", "right_columns"), "index[1]", slab, (tile_columns, along[1]))?;
    writeln!(text, "\n@compute @workgroup_size(group_size)")?;
    writeln!(text, "fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {{")?;
    writeln!(text, "    let number = group_index(group);\n    if (number >= params.group_count) {{\n        return;\n    }}")?;
    writeln!(text, "    let m = index[0];\n    let n = index[1];\n    let depth = index[2];\n    let tiles = index[3] * index[4];")?;
    writeln!(text, "    let b = number / tiles;\n    let tile = number % tiles;")?;
    writeln!(text, "    let first = tile / index[4] * {}u;\n    let start = tile % index[4] * {}u;", 4 * tile_rows, 4 * tile_columns)?;
    writeln!(text, "    let left_start = left_of(b);\n    let right_start = right_of(b);")?;
    writeln!(text, "    let row = lane / {columns}u;\n    let column = lane % {columns}u;")?;
    let sums = || (0..4 * down).flat_map(|r| (0..across).map(move |h| format!("s{r}_{h}")));
    for sum in sums() {
        writeln!(text, "    var {sum} = vec4<real>();")?;
    }
    let sides = [("left", "first", slab * tile_rows / lanes), ("right", "start", slab * tile_columns / lanes)];
    // The next slab is on its way while this one is multiplied.
    let fetch = |text: &mut Writer, indent: &str, new: &str, k0: &str| -> Result {
        for (side, begin, turns) in sides {
            for turn in 0..turns {
                let e = if turn == 0 { "lane".into() } else { format!("lane + {}u", turn * lanes) };
                writeln!(text, "{indent}{new}{side}{turn} = fetch_{side}({e}, {side}_start, {begin}, {k0}, depth);")?;
            }
        }
        Ok(())
    };
    fetch(text, "    ", "var ", "0u")?;
    writeln!(text, "    for (var k0 = 0u; k0 < depth; k0 += {slab}u) {{\n        workgroupBarrier();")?;
    for ((side, _, turns), (tile, along)) in sides.into_iter().zip([(tile_rows, along[0]), (tile_columns, along[1])]) {
        for turn in 0..turns {
            let e = if turn == 0 { "lane".into() } else { format!("(lane + {}u)", turn * lanes) };
            // By entries of the depth.
            let place = if along { format!("{e} % {slab}u * {tile}u + {e} / {slab}u") } else { e };
            writeln!(text, "        {side}_tile[{place}] = {side}{turn};")?;
        }
    }
    writeln!(text, "        workgroupBarrier();\n        if (k0 + {slab}u < depth) {{")?;
    fetch(text, "            ", "", &format!("k0 + {slab}u"))?;
    writeln!(text, "        }}\n        for (var k = 0u; k < {slab}u; k++) {{")?;
    for h in 0..down {
        writeln!(text, "            let x{h} = left_tile[k * {tile_rows}u + {}u + row];", h * rows)?;
    }
    for h in 0..across {
        writeln!(text, "            let y{h} = right_tile[k * {tile_columns}u + {}u + column];", h * columns)?;
    }
    for r in 0..4 * down {
        for h in 0..across {
            writeln!(text, "            s{r}_{h} += x{}.{} * y{h};", r / 4, ["x", "y", "z", "w"][r as usize % 4])?;
        }
    }
    writeln!(text, "        }}\n    }}")?;
    let all: Vec<String> = sums().collect();
    writeln!(text, "    var sums = array<vec4<real>, {}>({});", all.len(), all.join(", "))?;
    writeln!(text, "    for (var r = 0u; r < {}u; r++) {{\n        let p = first + 4u * (r / 4u * {rows}u + row) + r % 4u;", 4 * down)?;
    writeln!(text, "        if (p >= m) {{\n            continue;\n        }}")?;
    writeln!(text, "        for (var h = 0u; h < {across}u; h++) {{\n            let four = sums[r * {across}u + h];")?;
    writeln!(text, "            let q = start + 4u * (h * {columns}u + column);\n            let i = (b * m + p) * n + q;")?;
    writeln!(
        text,
        "            for (var c = 0u; c < min(4u, max(n, q) - q); c++) {{\n                finish(i + c, four[c]);\n            }}"
    )?;
    writeln!(text, "        }}\n    }}\n}}")
}

/// A function that fetches the e-th four rows (or columns) of a slab of a factor, at one entry of the depth.
fn write_fetch(
    text: &mut Writer,
    (side, factor, of_depth, of_place): (&str, &FactorCode, &str, &str),
    count: &str,
    slab: u32,
    (tile, along): (u32, bool),
) -> Result {
    writeln!(text, "\nfn fetch_{side}(e: u32, start: u32, first: u32, k0: u32, depth: u32) -> vec4<real> {{")?;
    match along {
        true => writeln!(text, "    let k = k0 + e % {slab}u;\n    let at = first + 4u * (e / {slab}u);")?,
        false => writeln!(text, "    let k = k0 + e / {tile}u;\n    let at = first + 4u * (e % {tile}u);")?,
    }
    // Rows and columns beyond the last are it once more, which nobody stores; entries beyond the last are 0.
    writeln!(text, "    if (k >= depth) {{\n        return vec4<real>();\n    }}\n    let base = start + {of_depth}(k);")?;
    let address = |c: u32| format!("base + {of_place}(min(at + {c}u, {count} - 1u))");
    let values = NAMES[factor.slot];
    if factor.half {
        for c in 0..4 {
            writeln!(text, "    let a{c} = {};", address(c))?;
        }
    }
    let four = |c: u32| if factor.half { half_of(values, &format!("a{c}")) } else { format!("{values}[{}]", address(c)) };
    let fours: Vec<String> = (0..4).map(four).collect();
    writeln!(text, "    return vec4<real>({});\n}}", fours.join(", "))
}

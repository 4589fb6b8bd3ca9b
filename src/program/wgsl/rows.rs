//! Kernels of rows: some lanes a row, of which each keeps some elements under names of their own. Arrays that are indexed by loops end up
//! in memory with some drivers, so every phase is written once an element of a lane.

use super::fused::{FAN_IN, combined, write_coordinates, write_extreme, write_view};
use super::writer::Writer;
use super::{Instruction, Load, NAMES, Program, write_values};
use crate::fused::{Fold, MADE, Phase, Rows, Scope, StageWords, Stride};
use std::collections::{BTreeSet, HashSet};
use std::fmt::{Result, Write};

/// Layout words 0 and 1: rows, and elements of one. Names: lane's element k is `e{k}` of its row, and `at{k}` behind the last one is that
/// again; `x{view}_{k}` was read and `y{made}_{k}` was made of it, and `x{view}` and `y{made}` are the row's.
pub(super) fn write_rows(rows: &Rows, words: &StageWords, text: &mut Writer) -> Result {
    let Rows { stage, inner, phases, lanes, each, whole, .. } = rows;
    let outer = stage.rank - inner;
    writeln!(text, "\nvar<workgroup> scratch0: array<real, group_size>;\nvar<workgroup> scratch1: array<real, group_size>;")?;
    let folds: Vec<Fold> = phases.iter().filter_map(|phase| if let Scope::Fold(fold) = phase.scope { Some(fold) } else { None }).collect();
    folds.iter().collect::<BTreeSet<_>>().into_iter().try_for_each(|fold| write_extreme(*fold, text))?;
    for (number, fold) in folds.iter().enumerate() {
        write_fold(number, *fold, *lanes, text)?;
    }
    writeln!(text, "\n@compute @workgroup_size(group_size)")?;
    writeln!(text, "fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {{")?;
    writeln!(text, "    let number = group_index(group);\n    if (number >= params.group_count) {{\n        return;\n    }}")?;
    // Lanes behind the last row have it once more, which they do not store.
    writeln!(text, "    let row = number * (group_size / {lanes}u) + lane / {lanes}u;\n    let is_row = row < index[0];")?;
    writeln!(text, "    let length = index[1];\n    let i = min(row, index[0] - 1u);")?;
    write_coordinates("c", 0, outer, words.sizes, "i", "    ", text)?;
    for k in 0..*each {
        let at = if k < *whole { format!("e{k}") } else { format!("min(e{k}, length - 1u)") };
        writeln!(text, "    let e{k} = lane % {lanes}u + {}u;\n    let at{k} = {at};", k * lanes)?;
    }
    let mut writing = Writing { rows, words, read: HashSet::new(), of_rows: Vec::new() };
    let mut folded = 0;
    for phase in phases {
        writing.write_phase(phase, &mut folded, text)?;
    }
    writeln!(text, "}}")
}

/// Parts that the values of so many lanes are folded into first, each by one lane: that many steps one after the other, and not all of
/// them, and only in the first lanes of a row, so that most subgroups of a long one have nothing to do.
fn parts_of(lanes: u32) -> u32 {
    match lanes {
        0..=16 => lanes,
        17..=32 => lanes / 8,
        _ => lanes / FAN_IN,
    }
}

/// `fn fold{number}(lane, x)`: the values of a row's lanes, folded along a fixed tree. Two folds in a row have memory of their own, so that
/// the barriers of the second part the first from the third.
fn write_fold(number: usize, fold: Fold, lanes: u32, text: &mut Writer) -> Result {
    let scratch = format!("scratch{}", number % 2);
    let parts = parts_of(lanes);
    writeln!(text, "\nfn fold{number}(lane: u32, x: real) -> real {{\n    {scratch}[lane] = x;\n    workgroupBarrier();")?;
    writeln!(text, "    var total = x;\n    let first = lane / {lanes}u * {lanes}u;")?;
    if parts < lanes {
        writeln!(text, "    if (lane - first < {parts}u) {{\n        for (var k = {parts}u; k < {lanes}u; k += {parts}u) {{")?;
        writeln!(text, "            let y = {scratch}[lane + k];\n            total = {};\n        }}", combined(fold, "total", "y"))?;
        writeln!(text, "        {scratch}[lane] = total;\n    }}\n    workgroupBarrier();")?;
    }
    writeln!(text, "    total = {scratch}[first];\n    for (var k = 1u; k < {parts}u; k++) {{\n        let y = {scratch}[first + k];")?;
    writeln!(text, "        total = {};\n    }}\n    return total;\n}}", combined(fold, "total", "y"))
}

/// The body of a kernel on its way.
struct Writing<'a> {
    rows: &'a Rows,
    words: &'a StageWords,
    /// Views that have been read.
    read: HashSet<u32>,
    /// Of every made value, true if a row has one.
    of_rows: Vec<bool>,
}

/// Views' elements and made values that a program is given.
fn given(program: &Program) -> BTreeSet<u32> {
    let given = |instruction: &Instruction| if let Instruction::Load(Load::Given(k)) = instruction { Some(*k) } else { None };
    program.instructions.iter().filter_map(given).collect()
}

impl Writing<'_> {
    fn write_phase(&mut self, Phase { scope, program }: &Phase, folded: &mut usize, text: &mut Writer) -> Result {
        let given = given(program);
        // Reads come as late as possible, since they take registers until they are needed.
        for view in given.iter().copied().filter(|&given| given < MADE) {
            if self.read.insert(view) {
                self.write_reading(view as usize, text)?;
            }
        }
        let first = self.of_rows.len();
        let values: Vec<u32> = program.stores.iter().map(|(_, value)| *value).collect();
        let each = if *scope == Scope::Rows { 1 } else { self.rows.each };
        for k in 0..each {
            let suffix = if *scope == Scope::Rows { String::new() } else { format!("_{k}") };
            for place in 0..values.len() {
                writeln!(text, "    var y{}{suffix}: real;", first + place)?;
            }
            writeln!(text, "    {{")?;
            for &number in &given {
                let (name, is_of_row) = match number.checked_sub(MADE) {
                    Some(made) => (format!("y{made}"), self.of_rows[made as usize]),
                    None => (format!("x{number}"), self.is_of_row(number as usize)),
                };
                writeln!(text, "        let g{number}: real = {name}{};", if is_of_row { "" } else { &*suffix })?;
            }
            write_values(program, &[], "params.count", "        ", text)?;
            for (place, value) in values.iter().enumerate() {
                writeln!(text, "        y{}{suffix} = v{value};", first + place)?;
            }
            writeln!(text, "    }}")?;
        }
        if let Scope::Fold(fold) = *scope {
            self.write_folding(first, fold, *folded, text)?;
            *folded += 1;
        }
        self.of_rows.resize(first + values.len(), *scope != Scope::Elements);
        for made in first..first + values.len() {
            self.write_stores(made, text)?;
        }
        Ok(())
    }

    /// Folds a lane's values, of which those behind the last element do not count: they are it again to extremes.
    fn write_folding(&self, made: usize, fold: Fold, number: usize, text: &mut Writer) -> Result {
        let value = |k: u32| match fold {
            Fold::Sum if k >= self.rows.whole => format!("select(real(0), y{made}_{k}, e{k} < length)"),
            Fold::Sum | Fold::Max | Fold::Min => format!("y{made}_{k}"),
        };
        writeln!(text, "    var s{made}: real = {};", value(0))?;
        for k in 1..self.rows.each {
            writeln!(text, "    s{made} = {};", combined(fold, &format!("s{made}"), &value(k)))?;
        }
        writeln!(text, "    let y{made} = fold{number}(lane, s{made});")
    }

    /// True if all elements of a row are the same one.
    fn is_of_row(&self, view: usize) -> bool {
        let (view, outer) = (&self.rows.stage.views[view], (self.rows.stage.rank - self.rows.inner) as usize);
        view.strides[outer..].iter().all(|stride| *stride == Stride::Zero) && !view.masked[outer..].contains(&true)
    }

    fn write_reading(&self, view: usize, text: &mut Writer) -> Result {
        let Rows { stage, inner, each, .. } = self.rows;
        let is_of_row = self.is_of_row(view);
        for k in 0..if is_of_row { 1 } else { *each } {
            let name = if is_of_row { format!("x{view}") } else { format!("x{view}_{k}") };
            writeln!(text, "    var {name}: real;\n    {{")?;
            if !is_of_row {
                write_coordinates("c", stage.rank - inner, stage.rank, self.words.sizes, &format!("at{k}"), "        ", text)?;
            }
            write_view(&stage.views[view], &self.words.views[view], view, "c", "        ", text)?;
            writeln!(text, "        {name} = g{view};\n    }}")?;
        }
        Ok(())
    }

    /// Writes a made value to memory, if that is asked for.
    fn write_stores(&self, made: usize, text: &mut Writer) -> Result {
        let slots = self.rows.stored.iter().zip(&self.rows.stage.outputs).filter(|(number, _)| **number as usize == made);
        for (_, &slot) in slots {
            let name = NAMES[slot];
            if self.of_rows[made] {
                writeln!(text, "    if (is_row && e0 == 0u) {{\n        {name}[row] = y{made};\n    }}")?;
                continue;
            }
            let (each, whole) = (self.rows.each, self.rows.whole);
            if whole > 0 {
                writeln!(text, "    if (is_row) {{")?;
                (0..whole).try_for_each(|k| writeln!(text, "        {name}[row * length + e{k}] = y{made}_{k};"))?;
                writeln!(text, "    }}")?;
            }
            for k in whole..each {
                writeln!(text, "    if (is_row && e{k} < length) {{\n        {name}[row * length + e{k}] = y{made}_{k};\n    }}")?;
            }
        }
        Ok(())
    }
}

//! The modules of kernels of whole numbers: int32s as `u32`, whose arithmetic wraps in every language that texts are translated to.

use super::NAMES;
use super::fused::{Element, half_of, write_coordinates, write_element};
use super::writer::Writer;
use crate::fused::{Fold, Source, StageWords, WordKernel};
use crate::words::{WordBinary, WordStep, WordUnary};
use std::fmt::{Result, Write};

/// Functions by name, callers before what they call: a module has those that it names. They give what `words.rs` does.
const FUNCTIONS: &[(&str, &str)] = &[
    (
        // The whole part, at the ends where it lies beyond; 0 of NaN, of which no comparison holds.
        "word_of",
        "fn word_of(x: real) -> u32 {
    if (x > -2147483648.0 && x < 2147483648.0) {
        return bitcast<u32>(i32(x));
    }
    return select(select(0u, 0x80000000u, x <= -2147483648.0), 0x7fffffffu, x >= 2147483648.0);
}",
    ),
    (
        "word_less",
        "fn word_less(a: u32, b: u32) -> bool {
    return (a ^ 0x80000000u) < (b ^ 0x80000000u);
}",
    ),
    (
        "word_sign",
        "fn word_sign(a: u32) -> u32 {
    return select(select(1u, 0u, a == 0u), 0xffffffffu, a >= 0x80000000u);
}",
    ),
    (
        "word_mod",
        "fn word_mod(a: u32, b: u32) -> u32 {
    return select(a - b * word_floor_divide(a, b), 0u, b == 0u);
}",
    ),
    (
        // Of magnitudes, since −2³¹ has no opposite.
        "word_floor_divide",
        "fn word_floor_divide(a: u32, b: u32) -> u32 {
    if (b == 0u) {
        return 0u;
    }
    let n = word_abs(a);
    let d = word_abs(b);
    let quotient = n / d;
    let below = quotient + select(0u, 1u, n != quotient * d);
    return select(quotient, 0u - below, ((a ^ b) >> 31u) != 0u);
}",
    ),
    (
        "word_abs",
        "fn word_abs(a: u32) -> u32 {
    return select(a, 0u - a, a >= 0x80000000u);
}",
    ),
    (
        "word_power",
        "fn word_power(a: u32, b: u32) -> u32 {
    if (b >= 0x80000000u) {
        let odd = select(1u, a, (b & 1u) != 0u);
        return select(0u, odd, a == 1u || a == 0xffffffffu);
    }
    var square = a;
    var rest = b;
    var power = 1u;
    while (rest != 0u) {
        power *= select(1u, square, (rest & 1u) != 0u);
        square *= square;
        rest = rest >> 1u;
    }
    return power;
}",
    ),
    (
        "word_shift_left",
        "fn word_shift_left(a: u32, b: u32) -> u32 {
    return select(a << (b & 31u), 0u, b > 31u);
}",
    ),
    (
        // The sign fills what becomes free.
        "word_shift_right",
        "fn word_shift_right(a: u32, b: u32) -> u32 {
    let n = min(b, 31u);
    return (a >> n) | select(0u, ~(0xffffffffu >> n), a >= 0x80000000u);
}",
    ),
];

/// A lane an element of the result.
pub(super) fn write_words(kernel: &WordKernel, words: &StageWords, output: usize, text: &mut Writer) -> Result {
    let mut own = String::new();
    write_value(kernel, words, &mut own)?;
    write_main(kernel, output, &mut own)?;
    for (name, function) in FUNCTIONS {
        if own.contains(&format!("{name}(")) {
            write!(own, "\n{function}\n")?;
        }
    }
    write!(text, "{own}")
}

/// `fn value(i, t)`: the program at an element of the outer axes and one of the inner ones.
fn write_value(kernel: &WordKernel, words: &StageWords, text: &mut String) -> Result {
    let WordKernel { stage, program, inner, .. } = kernel;
    let outer = stage.rank - inner;
    writeln!(text, "\nfn value(i: u32, t: u32) -> u32 {{")?;
    write_coordinates("c", 0, outer, words.sizes, "i", "    ", text)?;
    write_coordinates("c", outer, stage.rank, words.sizes, "t", "    ", text)?;
    for (number, (view, own)) in stage.views.iter().zip(&words.views).enumerate() {
        // Numbers below 0 are the first row, as they are where rows are reals.
        let row = view.row.zip(own.row).map(|(row, word)| format!("min(select(g{row}, 0u, g{row} >= 0x80000000u), index[{word}] - 1u)"));
        let element = |address: &str| match view.source {
            Source::Word(slot) => format!("{}[{address}]", NAMES[slot]),
            Source::Slot(slot) => format!("word_of({}[{address}])", NAMES[slot]),
            Source::Half(slot) => format!("word_of({})", half_of(NAMES[slot], address)),
            Source::Address => address.into(),
            Source::One => "1u".into(),
        };
        write_element(view, own, number, "c", Element { of: "u32", row, at: &element }, "    ", text)?;
    }
    for (number, step) in program.steps.iter().enumerate() {
        writeln!(text, "    let v{number} = {};", step_text(step))?;
    }
    writeln!(text, "    return v{};\n}}", program.result)
}

fn step_text(step: &WordStep) -> String {
    match *step {
        WordStep::View(view) => format!("g{view}"),
        WordStep::Constant(value) => format!("{}u", value as u32),
        WordStep::Unary(operation, a) => match operation {
            WordUnary::Neg => format!("0u - v{a}"),
            WordUnary::Abs => format!("word_abs(v{a})"),
            WordUnary::Sign => format!("word_sign(v{a})"),
            WordUnary::Not => format!("~v{a}"),
        },
        WordStep::Binary(operation, a, b) => binary_text(operation, &format!("v{a}"), &format!("v{b}")),
        WordStep::Select(condition, then, otherwise) => format!("select(v{otherwise}, v{then}, v{condition} != 0u)"),
    }
}

fn binary_text(operation: WordBinary, a: &str, b: &str) -> String {
    let call = |name: &str| format!("word_{name}({a}, {b})");
    let truth = |holds: String| format!("select(0u, 1u, {holds})");
    match operation {
        WordBinary::Add => format!("{a} + {b}"),
        WordBinary::Sub => format!("{a} - {b}"),
        WordBinary::Mul => format!("{a} * {b}"),
        WordBinary::FloorDivide => call("floor_divide"),
        WordBinary::Mod => call("mod"),
        WordBinary::Pow => call("power"),
        WordBinary::Min => format!("select({b}, {a}, word_less({a}, {b}))"),
        WordBinary::Max => format!("select({a}, {b}, word_less({a}, {b}))"),
        WordBinary::Lt => truth(call("less")),
        WordBinary::Le => truth(format!("!word_less({b}, {a})")),
        WordBinary::Eq => truth(format!("{a} == {b}")),
        WordBinary::Ne => truth(format!("{a} != {b}")),
        WordBinary::And => format!("{a} & {b}"),
        WordBinary::Or => format!("{a} | {b}"),
        WordBinary::Xor => format!("{a} ^ {b}"),
        WordBinary::ShiftLeft => call("shift_left"),
        WordBinary::ShiftRight => call("shift_right"),
    }
}

fn write_main(kernel: &WordKernel, output: usize, text: &mut String) -> Result {
    writeln!(text, "\n@compute @workgroup_size(group_size)\nfn main(@builtin(global_invocation_id) id: vec3<u32>) {{")?;
    writeln!(text, "    let i = item(id);\n    if (i >= params.count) {{\n        return;\n    }}")?;
    let folded = |fold: Fold| match fold {
        Fold::Sum => binary_text(WordBinary::Add, "total", "x"),
        Fold::Max => binary_text(WordBinary::Max, "total", "x"),
        Fold::Min => binary_text(WordBinary::Min, "total", "x"),
    };
    match kernel.fold {
        None => writeln!(text, "    let total = value(i, 0u);")?,
        Some(fold) => {
            // Of no elements there are sums alone.
            let (start, first) = if fold == Fold::Sum { ("0u", 0) } else { ("value(i, 0u)", 1) };
            writeln!(text, "    var total = {start};\n    for (var t = {first}u; t < index[1]; t++) {{")?;
            writeln!(text, "        let x = value(i, t);\n        total = {};\n    }}", folded(fold))?;
        }
    }
    let stored = if kernel.to_reals { "real(bitcast<i32>(total))" } else { "total" };
    writeln!(text, "    {}[i] = {stored};\n}}", NAMES[output])
}

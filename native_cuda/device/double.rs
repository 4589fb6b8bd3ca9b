//! Kernels in f64: the same text, but for what looks at the bits of a real and the functions that are made for f32.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The library of generated kernels, and what stands in its place.
const SINGLE: [&str; 12] = [
    include_str!("../../shaders/functions/bits.wgsl"),
    include_str!("../../shaders/functions/far_turn.wgsl"),
    include_str!("../../shaders/functions/trigonometry.wgsl"),
    include_str!("../../shaders/functions/inverse_trigonometry.wgsl"),
    include_str!("../../shaders/functions/exponential.wgsl"),
    include_str!("../../shaders/functions/logarithm.wgsl"),
    include_str!("../../shaders/functions/power.wgsl"),
    include_str!("../../shaders/functions/cube_root.wgsl"),
    include_str!("../../shaders/functions/hyperbolic.wgsl"),
    include_str!("../../shaders/functions/inverse_hyperbolic.wgsl"),
    include_str!("../../shaders/functions/error_function.wgsl"),
    include_str!("../../shaders/functions/logistic.wgsl"),
];
const DOUBLE: &str = include_str!("double.wgsl");

/// Of the prelude: nothing reorders f64 arithmetic here (NVRTC keeps C++'s order), so `opaque` has nothing to hold back.
const PRELUDE: [&str; 2] =
    ["fn opaque(x: real) -> real {\n    return x;\n}", "fn is_finite(x: real) -> bool {\n    return abs(x) <= 1.7976931348623157e308;\n}"];

/// Functions of WGSL text that are CUDA's.
pub const CUDA: &[(&str, &str)] = &[("expm1", "expm1"), ("log1p", "log1p"), ("cube_root", "cbrt"), ("error_function", "erf")];

/// By the name of a declaration of the f32 library: its text, and what it is in f64, if it is there at all.
static LIBRARY: LazyLock<HashMap<&str, (&str, Option<&str>)>> = LazyLock::new(|| {
    let double: HashMap<&str, &str> = declarations(DOUBLE).collect();
    let single = SINGLE.iter().flat_map(|file| declarations(file));
    single.map(|(name, text)| (name, (text, double.get(name).copied()))).collect()
});

/// What stands between blank lines is one declaration with its comment.
fn declarations(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("\n\n").filter_map(|paragraph| Some((declared(paragraph)?, paragraph.trim())))
}

fn declared(paragraph: &str) -> Option<&str> {
    let first = paragraph.lines().find(|line| !line.trim_start().starts_with("//") && !line.trim().is_empty())?;
    let after = ["fn ", "struct ", "const "].iter().find_map(|keyword| first.strip_prefix(keyword))?;
    after.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()
}

/// A whole module's text in f64.
pub fn in_double(text: &str) -> String {
    let paragraphs = text.split("\n\n").filter_map(|paragraph| {
        let name = declared(paragraph);
        let of_prelude = PRELUDE.iter().find(|replacement| name.is_some() && declared(replacement) == name);
        // A static kernel may have a function of the same name.
        let of_library = name.and_then(|name| LIBRARY.get(name)).filter(|(single, _)| paragraph.trim() == *single);
        match (of_prelude, of_library) {
            (Some(replacement), _) => Some(*replacement),
            (None, Some((_, double))) => *double,
            (None, None) => Some(paragraph),
        }
    });
    paragraphs.collect::<Vec<_>>().join("\n\n").replacen("alias real = f32;", "alias real = f64;", 1)
}

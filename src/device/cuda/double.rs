//! Kernels in f64: the same text, but for what looks at the bits of a real and the functions that are made for f32.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The library of generated kernels, and what stands in its place.
const SINGLE: [&str; 12] = [
    include_str!("../../../shaders/functions/bits.wgsl"),
    include_str!("../../../shaders/functions/far_turn.wgsl"),
    include_str!("../../../shaders/functions/trigonometry.wgsl"),
    include_str!("../../../shaders/functions/inverse_trigonometry.wgsl"),
    include_str!("../../../shaders/functions/exponential.wgsl"),
    include_str!("../../../shaders/functions/logarithm.wgsl"),
    include_str!("../../../shaders/functions/power.wgsl"),
    include_str!("../../../shaders/functions/cube_root.wgsl"),
    include_str!("../../../shaders/functions/hyperbolic.wgsl"),
    include_str!("../../../shaders/functions/inverse_hyperbolic.wgsl"),
    include_str!("../../../shaders/functions/error_function.wgsl"),
    include_str!("../../../shaders/functions/logistic.wgsl"),
];
const DOUBLE: &str = include_str!("../../../shaders/functions/f64.wgsl");

/// Of the prelude: nothing reorders f64 arithmetic here (NVRTC keeps C++'s order), so `opaque` has nothing to hold back.
const PRELUDE: [&str; 2] = [
    "fn opaque(x: real) -> real {\n    return x;\n}",
    "fn is_finite(x: real) -> bool {\n    return abs(x) <= 1.7976931348623157e308;\n}",
];

/// Functions of WGSL text that are CUDA's.
pub const CUDA: &[(&str, &str)] = &[("expm1", "expm1"), ("log1p", "log1p"), ("cube_root", "cbrt"), ("error_function", "erf")];

/// By the name that a declaration of the f32 text has: what it is in f64, or that it isn't.
static REPLACED: LazyLock<HashMap<&str, Option<&str>>> = LazyLock::new(|| {
    let all = SINGLE.iter().flat_map(|file| declarations(file)).map(|(name, _)| (name, None));
    let double = declarations(DOUBLE).map(|(name, text)| (name, Some(text)));
    let prelude = PRELUDE.iter().flat_map(|text| declarations(text)).map(|(name, text)| (name, Some(text)));
    all.chain(double).chain(prelude).collect()
});

/// What stands between blank lines is one declaration with its comment.
fn declarations<'a>(text: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    text.split("\n\n").filter_map(|paragraph| Some((declared(paragraph)?, paragraph.trim())))
}

fn declared(paragraph: &str) -> Option<&str> {
    let first = paragraph.lines().find(|line| !line.trim_start().starts_with("//") && !line.trim().is_empty())?;
    let after = ["fn ", "struct ", "const "].iter().find_map(|keyword| first.strip_prefix(keyword))?;
    after.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()
}

/// A whole module's text in f64.
pub fn in_double(text: &str) -> String {
    let paragraphs = text.split("\n\n").filter_map(|paragraph| match declared(paragraph).and_then(|name| REPLACED.get(name)) {
        Some(replaced) => *replaced,
        None => Some(paragraph),
    });
    paragraphs.collect::<Vec<_>>().join("\n\n").replacen("alias real = f32;", "alias real = f64;", 1)
}

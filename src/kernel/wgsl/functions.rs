//! WGSL functions for the operations that WGSL lacks, or of whose own it promises too little: `shaders/functions/`.
//!
//! A module has those that its program calls and what they call in turn, always in one order. What stands between two
//! blank lines of a file is one declaration with its comment, or a remark on the file, which no module has.

use super::{Instruction, Program};
use crate::shader;
use leastwise_expr::Numerics;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Each after those that it calls.
const FILES: [&str; 12] = [
    shader!("../../../shaders/functions/bits.wgsl"),
    shader!("../../../shaders/functions/far_turn.wgsl"),
    shader!("../../../shaders/functions/trigonometry.wgsl"),
    shader!("../../../shaders/functions/inverse_trigonometry.wgsl"),
    shader!("../../../shaders/functions/exponential.wgsl"),
    shader!("../../../shaders/functions/logarithm.wgsl"),
    shader!("../../../shaders/functions/power.wgsl"),
    shader!("../../../shaders/functions/cube_root.wgsl"),
    shader!("../../../shaders/functions/hyperbolic.wgsl"),
    shader!("../../../shaders/functions/inverse_hyperbolic.wgsl"),
    shader!("../../../shaders/functions/error_function.wgsl"),
    shader!("../../../shaders/functions/logistic.wgsl"),
];

struct Declaration {
    text: Cow<'static, str>,
    /// The numbers of the declarations that it names.
    uses: Vec<usize>,
}

/// Declarations by name, and what each needs of the others.
pub struct Library {
    declarations: Vec<Declaration>,
    numbers: HashMap<String, usize>,
}

static LIBRARY: LazyLock<Library> = LazyLock::new(|| Library::new(FILES.iter().flat_map(|file| paragraphs(file)).map(Cow::Borrowed)));

/// What stands between blank lines.
pub fn paragraphs(file: &'static str) -> impl Iterator<Item = &'static str> {
    file.split("\n\n").map(str::trim)
}

impl Library {
    /// Of declarations, each after those that it needs, and remarks, which are left out.
    pub fn new(paragraphs: impl Iterator<Item = Cow<'static, str>>) -> Self {
        let named: Vec<(String, Cow<str>)> = paragraphs.filter_map(|text| Some((declared(&text)?.to_string(), text))).collect();
        let numbers: HashMap<_, _> = named.iter().enumerate().map(|(number, (name, _))| (name.clone(), number)).collect();
        let uses = |number: usize, text: &str| {
            let code = text.lines().filter(|line| !is_comment(line));
            let words = code.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
            words.filter_map(|word| numbers.get(word).copied()).filter(|used| *used != number).collect()
        };
        let declarations =
            named.into_iter().enumerate().map(|(number, (_, text))| Declaration { uses: uses(number, &text), text }).collect();
        Self { declarations, numbers }
    }

    pub fn has(&self, name: &str) -> bool {
        self.numbers.contains_key(name)
    }

    /// The functions of these names and what they call in turn.
    pub fn needed<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<&str> {
        let mut open: Vec<usize> = names.filter_map(|name| self.numbers.get(name).copied()).collect();
        let mut needed = vec![false; self.declarations.len()];
        while let Some(number) = open.pop() {
            if !std::mem::replace(&mut needed[number], true) {
                open.extend(&self.declarations[number].uses);
            }
        }
        self.declarations.iter().zip(needed).filter(|(_, needed)| *needed).map(|(declaration, _)| &*declaration.text).collect()
    }
}

/// The declaration of a function in `f32`.
pub fn declaration(name: &str) -> &'static str {
    let all = || FILES.iter().flat_map(|file| paragraphs(file));
    all().find(|text| declared(text) == Some(name)).expect("a function of the library")
}

/// Whether a name is a function of the library, or what these are made of.
pub fn is_of_library(name: &str) -> bool {
    LIBRARY.has(name)
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// The name that a paragraph declares.
fn declared(paragraph: &str) -> Option<&str> {
    let first = paragraph.lines().find(|line| !is_comment(line))?;
    let after = ["fn ", "struct ", "const "].iter().find_map(|keyword| first.strip_prefix(keyword))?;
    after.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()
}

/// What the text of an instruction calls: functions of `shaders/functions/`, or a built-in that is exact (or, as the root, as
/// good as on every adapter that counts; see docs/PRECISION.md).
fn called(instruction: &Instruction) -> [Option<&'static str>; 2] {
    let numerics = match *instruction {
        Instruction::Unary(operation, _) => operation.numerics(),
        Instruction::Binary(operation, ..) => operation.numerics(),
        _ => Numerics::Instruction,
    };
    match numerics {
        Numerics::Instruction => [None; 2],
        Numerics::BuiltIn(name) | Numerics::Function(name) => [Some(name), None],
        Numerics::OfTurn(name) | Numerics::SinCos(name) => [Some("turn"), Some(name)],
    }
}

/// What programs need of the library.
pub fn needed(programs: &[&Program]) -> Vec<&'static str> {
    LIBRARY.needed(programs.iter().flat_map(|program| program.instructions.iter().flat_map(called).flatten()))
}

/// The functions of these names and what they call in turn.
pub fn library(names: &[&str]) -> Vec<&'static str> {
    LIBRARY.needed(names.iter().copied())
}

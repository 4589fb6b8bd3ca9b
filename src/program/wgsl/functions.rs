//! WGSL functions for the operations that WGSL lacks, or of whose own it promises too little: `shaders/functions/`.
//!
//! A module has those that its program calls and what they call in turn, always in one order. What stands between two
//! blank lines of a file is one declaration with its comment, or a remark on the file, which no module has.

use std::borrow::Cow;
use std::collections::HashMap;

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

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// The name that a paragraph declares.
pub fn declared(paragraph: &str) -> Option<&str> {
    let first = paragraph.lines().find(|line| !is_comment(line))?;
    let after = ["fn ", "struct ", "const "].iter().find_map(|keyword| first.strip_prefix(keyword))?;
    after.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()
}

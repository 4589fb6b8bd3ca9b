//! Texts in double-floats: of the library's functions, of static kernels and of what these share.

use crate::double::{Declaration, Globals, rewritten};
use crate::kernel::Kernel;
use crate::library::Library;
use crate::text::{File, name_of, words};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Folders of kernels that are in f32 alone.
const SINGLE: [&str; 6] = ["clustering", "fits", "graph", "measure", "search", "tensor"];

/// A text, and the numbers of the declarations that it needs.
#[derive(PartialEq, Eq)]
struct Text {
    text: String,
    uses: Vec<usize>,
}

pub struct Doubles {
    prelude: String,
    /// Functions that texts call, by number.
    library: Vec<String>,
    /// Those of the library, and declarations that kernels share.
    declarations: Vec<Text>,
    /// By kernel.
    kernels: Vec<Option<Text>>,
    /// The self-check.
    check: Text,
}

impl Doubles {
    /// # Panics
    /// If a text has no form in double-floats.
    pub fn new(read: impl Fn(&str) -> File, library: &Library, kernels: &[Kernel]) -> Self {
        let [prelude, arithmetic, functions, check] =
            ["prelude", "arithmetic", "functions", "check"].map(|name| read(&format!("double/{name}")));
        let texts = [&arithmetic, &functions].into_iter().flat_map(|file| &file.declarations).map(|declaration| &*declaration.text);
        let mut texts: Vec<&str> = texts.collect();
        let own: BTreeSet<String> = texts.iter().map(|text| name_of(text)).collect();
        // Of operations that have no other formula in double-floats: that of f32 is right there too, being made of others.
        texts.extend(library.operations().filter(|name| !own.contains(*name)).map(|name| library.function(name)));
        let mut globals = Globals::default();
        for text in [&*prelude.code()].into_iter().chain(texts.iter().copied()) {
            globals.note(text).unwrap_or_else(|error| panic!("shaders/double: {error}"));
        }
        let names: Vec<String> = texts.iter().map(|text| name_of(text)).collect();
        let numbers: BTreeMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
        let of_library = |text: &&str| {
            let text = all(text, globals.clone(), "shaders/double").remove(0).text;
            let own = name_of(&text);
            let uses = words(&text).iter().filter(|word| **word != own).filter_map(|word| numbers.get(&**word).copied()).collect();
            Text { text, uses }
        };
        let mut declarations: Vec<Text> = texts.iter().map(of_library).collect();
        let check = all(&check.code(), globals.clone(), "shaders/double/check");
        let called = |declarations: &[Declaration]| -> BTreeSet<usize> {
            declarations.iter().flat_map(|declaration| &declaration.called).filter_map(|name| numbers.get(&**name).copied()).collect()
        };
        let check = Text { uses: called(&check).into_iter().collect(), text: joined(&check) };
        globals.library = library.functions().map(String::from).collect();
        let mut shared = Shared { numbers: BTreeMap::new(), first: declarations.len(), texts: Vec::new() };
        let in_doubles = |kernel: &Kernel| {
            let path = &kernel.file.path;
            if SINGLE.contains(&path.split('/').next().unwrap_or_default()) {
                return None;
            }
            let needed = library.shared(&kernel.roots);
            let texts: Vec<&str> = [&*kernel.text].into_iter().chain(needed.iter().map(|number| library.text(*number))).collect();
            let of_others: BTreeMap<&str, usize> = needed.iter().map(|number| (&*library.declarations[*number].name, *number)).collect();
            let (theirs, own): (Vec<_>, Vec<_>) =
                all(&texts.join("\n"), globals.clone(), path).into_iter().partition(|found| of_others.contains_key(&*name_of(&found.text)));
            for declaration in theirs {
                let number = of_others[&*name_of(&declaration.text)];
                let uses = called(std::slice::from_ref(&declaration));
                shared.add(number, declaration.text, uses, path);
            }
            let uses = called(&own).into_iter().chain(needed.iter().map(|number| shared.numbers[number])).collect();
            Some(Text { text: joined(&own), uses })
        };
        let kernels = kernels.iter().map(in_doubles).collect();
        declarations.append(&mut shared.texts);
        Self { prelude: prelude.code(), library: names, declarations, kernels, check }
    }

    /// The Rust that the crate includes.
    pub fn code(&self) -> String {
        let text = |Text { text, uses }: &Text| format!("Text {{ text: {text:?}, uses: &{uses:?} }}");
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "static PRELUDE: &str = {:?};\nstatic LIBRARY: &[&str] = &{:?};", self.prelude, self.library);
        let _ = writeln!(out, "static DECLARATIONS: &[Text] = &[");
        self.declarations.iter().for_each(|declaration| out += &format!("    {},\n", text(declaration)));
        let _ = writeln!(out, "];\nstatic KERNELS: &[Option<Text>] = &[");
        let kernel =
            |kernel: &Option<Text>| kernel.as_ref().map_or("    None,\n".into(), |kernel| format!("    Some({}),\n", text(kernel)));
        self.kernels.iter().for_each(|each| out += &kernel(each));
        let _ = writeln!(out, "];\nstatic CHECK: Text = {};", text(&self.check));
        out
    }
}

/// Declarations that kernels share: of all of them the same text.
struct Shared {
    /// By number in the library of f32.
    numbers: BTreeMap<usize, usize>,
    first: usize,
    texts: Vec<Text>,
}

impl Shared {
    fn add(&mut self, number: usize, text: String, uses: BTreeSet<usize>, path: &str) {
        let text = Text { text, uses: uses.into_iter().collect() };
        if let Some(known) = self.numbers.get(&number) {
            assert!(
                self.texts[known - self.first] == text,
                "`{path}` has another text of a shared declaration in double-floats: {}",
                text.text
            );
            return;
        }
        self.numbers.insert(number, self.first + self.texts.len());
        self.texts.push(text);
    }
}

fn all(text: &str, globals: Globals, path: &str) -> Vec<Declaration> {
    let mut globals = globals;
    let rewritten = globals.note(text).and_then(|()| rewritten(text, globals));
    rewritten.unwrap_or_else(|error| panic!("`{path}` in double-floats: {error}"))
}

fn joined(declarations: &[Declaration]) -> String {
    declarations.iter().map(|declaration| &*declaration.text).collect::<Vec<_>>().join("\n")
}

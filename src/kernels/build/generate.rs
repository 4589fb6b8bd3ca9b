//! The Rust that the crate includes.

use crate::kernel::{Binding, Field, Kernel, WORDS};
use crate::library::Library;
use crate::text::File;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Everything.
pub fn code(library: &Library, states: &[&File], kernels: &[Kernel]) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = declarations(library, &mut out);
    let _ = state_numbers(states, &mut out);
    let _ = table(kernels, &mut out);
    let _ = texts(kernels, &mut out);
    let _ = twin_table(kernels, &mut out);
    let paths: Vec<Vec<&str>> = kernels.iter().map(|kernel| kernel.file.path.split('/').collect()).collect();
    let all: Vec<(&Kernel, &[&str])> = kernels.iter().zip(paths.iter().map(Vec::as_slice)).collect();
    let _ = folder(&all, 0, &mut out);
    out
}

fn declarations(library: &Library, out: &mut String) -> std::fmt::Result {
    let text = |(text, uses): &(String, Vec<usize>)| format!("Text {{ text: {text:?}, uses: &{uses:?} }}");
    writeln!(out, "pub(crate) static DECLARATIONS: &[Declaration] = &[")?;
    for shared in &library.declarations {
        let name = &shared.name;
        let is_open = shared.path.starts_with("functions/") || shared.path == "shared/half";
        let single = shared.single.as_ref().map_or("None".into(), |single| format!("Some({})", text(single)));
        writeln!(out, "    Declaration {{ name: {name:?}, is_open: {is_open}, single: {single} }},")?;
    }
    writeln!(out, "];\n#[cfg(not(target_arch = \"wasm32\"))]\npub(crate) static DOUBLES: &[(u16, Text)] = &[")?;
    for (number, double) in library.declarations.iter().enumerate().filter_map(|(number, shared)| Some((number, shared.double.as_ref()?))) {
        writeln!(out, "    ({number}, {}),", text(double))?;
    }
    writeln!(out, "];\npub(crate) const PRELUDE: &[u16] = &{:?};", library.prelude())
}

fn state_numbers(states: &[&File], out: &mut String) -> std::fmt::Result {
    writeln!(out, "/// The scalars that live on the device, by number.\npub mod state {{")?;
    for file in states {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        document(&file.summary, "    ", out)?;
        writeln!(out, "    pub mod {name} {{")?;
        for declaration in &file.declarations {
            let constant = &declaration.name;
            let number =
                declaration.text.split('=').nth(1).and_then(|value| value.trim().strip_suffix("u;")).expect("`const NAME: u32 = 1u;`");
            document(file.comment(constant), "        ", out)?;
            writeln!(out, "        pub const {constant}: u32 = {number};")?;
        }
        writeln!(out, "    }}")?;
    }
    writeln!(out, "}}")
}

fn document(text: &str, indent: &str, out: &mut String) -> std::fmt::Result {
    text.lines().try_for_each(|line| writeln!(out, "{indent}#[doc = {:?}]", format!(" {line}")))
}

fn camel(path: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    path.split(['/', '_']).map(capital).collect()
}

/// The folder at the top that a kernel lies in.
fn family<'a>(kernel: &'a Kernel) -> &'a str {
    kernel.file.path.split('/').next().unwrap_or_default()
}

fn table(kernels: &[Kernel], out: &mut String) -> std::fmt::Result {
    let families: BTreeSet<&str> = kernels.iter().map(family).collect();
    writeln!(out, "/// A folder of `shaders/` with kernels.\n#[derive(Clone, Copy, PartialEq, Eq, Debug)]\npub enum Family {{")?;
    families.into_iter().try_for_each(|family| writeln!(out, "    /// `shaders/{family}/`\n    {},", camel(family)))?;
    writeln!(out, "}}\n")?;
    writeln!(out, "/// A static kernel.\n#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]\npub enum StaticKernel {{")?;
    for kernel in kernels {
        writeln!(out, "    /// `shaders/{path}.wgsl`\n    {},", camel(&kernel.file.path), path = kernel.file.path)?;
    }
    writeln!(out, "}}\n\nimpl StaticKernel {{\n    /// All static kernels, by path.\n    pub const ALL: &[Self] = &[")?;
    for kernel in kernels {
        writeln!(out, "        Self::{},", camel(&kernel.file.path))?;
    }
    writeln!(
        out,
        "    ];\n\n    /// The folder of `shaders/` that it lies in.\n    pub const fn family(self) -> Family {{\n        match self {{"
    )?;
    for kernel in kernels {
        writeln!(out, "            Self::{} => Family::{},", camel(&kernel.file.path), camel(family(kernel)))?;
    }
    writeln!(out, "        }}\n    }}\n\n    pub(crate) fn module(self) -> &'static Module {{\n        match self {{")?;
    for kernel in kernels {
        let Kernel { file, bindings, .. } = kernel;
        let slots: String = bindings.iter().map(slot).collect();
        writeln!(out, "            Self::{} => &Module {{", camel(&file.path))?;
        writeln!(
            out,
            "                path: {:?}, name: {:?}, slots: &[{slots}],\n            }},",
            file.path,
            file.path.replace('/', "_")
        )?;
    }
    writeln!(out, "        }}\n    }}\n}}")
}

/// Texts of kernels, by a function for each folder: those of one folder belong to one part of the module that pages load.
fn texts(kernels: &[Kernel], out: &mut String) -> std::fmt::Result {
    let families: BTreeSet<&str> = kernels.iter().map(family).collect();
    writeln!(out, "/// What static kernels are in WGSL.\npub(crate) mod texts {{\n    use crate::{{StaticKernel, Text}};")?;
    // By address, so that no optimiser makes one function of all.
    writeln!(out, "    static FOLDERS: [fn(StaticKernel) -> &'static Text; {}] = [", families.len())?;
    families.iter().try_for_each(|family| writeln!(out, "        {family},"))?;
    writeln!(
        out,
        "    ];\n    pub fn of(kernel: StaticKernel) -> &'static Text {{\n        FOLDERS[kernel.family() as usize](kernel)\n    }}"
    )?;
    for of in families {
        writeln!(out, "    fn {of}(kernel: StaticKernel) -> &'static Text {{\n        match kernel {{")?;
        for Kernel { file, text, roots, .. } in kernels.iter().filter(|kernel| family(kernel) == of) {
            writeln!(out, "            StaticKernel::{} => &Text {{ text: {text:?}, uses: &{roots:?} }},", camel(&file.path))?;
        }
        writeln!(out, "            _ => unreachable!(),\n        }}\n    }}")?;
    }
    writeln!(out, "}}")
}

fn slot(Binding { name, slot, writes, words }: &Binding) -> String {
    let access = if *writes { "ReadWrite" } else { "Read" };
    let elements = if *words { "Indices" } else { "Reals" };
    format!("Slot {{ name: {name:?}, slot: {slot}, access: Access::{access}, elements: Elements::{elements} }}, ")
}

fn description(Binding { slot, writes, words, .. }: &Binding) -> String {
    let (elements, access) = (if *words { "indices" } else { "reals" }, if *writes { "read and written" } else { "only read" });
    format!("Slot {slot}: {elements}, {access}.")
}

/// A macro that hands all kernels to another one: variant, path of the twin, types of arguments and slices.
fn twin_table(kernels: &[Kernel], out: &mut String) -> std::fmt::Result {
    writeln!(out, "/// Hands the table of static kernels to a macro: the variant of each, its path, and the types that its twin takes.")?;
    writeln!(out, "#[macro_export]\nmacro_rules! static_kernels {{\n    ($of:ident) => {{\n        $of! {{")?;
    for kernel in kernels {
        let path = kernel.file.path.replace('/', "::");
        let (folder, name) = path.rsplit_once("::").expect("a kernel lies in a folder");
        writeln!(out, "            {} = {path}({folder}::{});", camel(&kernel.file.path), camel(name))?;
    }
    writeln!(out, "        }}\n    }};\n}}")
}

/// The modules of a folder, as deep as they are.
fn folder(kernels: &[(&Kernel, &[&str])], depth: usize, out: &mut String) -> std::fmt::Result {
    let (here, below): (Vec<_>, Vec<_>) = kernels.iter().copied().partition(|(_, path)| path.len() == depth + 1);
    if depth > 0 {
        writeln!(out, "use crate::*;\n/// All kernels of the folder.\npub const ALL: &[StaticKernel] = &[")?;
        kernels.iter().try_for_each(|(kernel, _)| writeln!(out, "    StaticKernel::{},", camel(&kernel.file.path)))?;
        writeln!(out, "];")?;
    }
    for (kernel, path) in here {
        types(kernel, &camel(path[depth]), out)?;
    }
    let names: BTreeSet<&str> = below.iter().map(|(_, path)| path[depth]).collect();
    for name in names {
        let inner: Vec<_> = below.iter().copied().filter(|(_, path)| path[depth] == name).collect();
        let folder = inner[0].1[..=depth].join("/");
        writeln!(out, "/// Kernels of `shaders/{folder}/`.\npub mod {name} {{")?;
        self::folder(&inner, depth + 1, out)?;
        writeln!(out, "}}")?;
    }
    Ok(())
}

/// The types of a kernel's arguments and bindings.
fn types(kernel: &Kernel, name: &str, out: &mut String) -> std::fmt::Result {
    let Kernel { file, arguments, bindings, .. } = kernel;
    let inner: BTreeMap<&String, &Vec<Field>> =
        arguments.iter().filter_map(|field| field.inner.as_ref()).map(|(name, fields)| (name, fields)).collect();
    for (inner, fields) in inner {
        document("A part of arguments.", "", out)?;
        structure(inner, fields, file, out)?;
    }
    document(&file.summary, "", out)?;
    structure(name, arguments, file, out)?;
    writeln!(out, "/// What [`{name}`] is bound to.\n#[derive(Clone, Copy, Debug)]\npub struct {name}Bindings<T> {{")?;
    bindings.iter().try_for_each(|binding| writeln!(out, "    /// {}\n    pub {}: T,", description(binding), binding.name))?;
    writeln!(out, "}}\n/// The slices that the twin of [`{name}`] works on.\npub struct {name}Slices<'a, R> {{")?;
    for binding @ Binding { name, writes, words, .. } in bindings {
        writeln!(out, "    /// {}", description(binding))?;
        let (mutable, element) = (if *writes { "mut " } else { "" }, if *words { "u32" } else { "R" });
        writeln!(out, "    pub {name}: &'a {mutable}[{element}],")?;
    }
    let has_reals = bindings.iter().any(|binding| !binding.words);
    if !has_reals {
        writeln!(out, "    /// There are no reals.\n    pub reals: ::core::marker::PhantomData<R>,")?;
    }
    writeln!(
        out,
        "}}\nimpl<'a, R> FromSlots<'a, R> for {name}Slices<'a, R> {{\n    fn of(slots: &mut impl Slots<'a, R>) -> Self {{\n        Self {{"
    )?;
    for Binding { name, slot, writes, words } in bindings {
        let method = ["read", "write", "words", "words_mut"][usize::from(*writes) + 2 * usize::from(*words)];
        writeln!(out, "            {name}: slots.{method}({slot}),")?;
    }
    if !has_reals {
        writeln!(out, "            reals: ::core::marker::PhantomData,")?;
    }
    writeln!(out, "        }}\n    }}\n}}\n/// The numbers of its bindings.\nimpl {name} {{")?;
    for Binding { name, slot, .. } in bindings {
        writeln!(out, "    /// Slot of `{name}`.\n    pub const {}: usize = {slot};", name.to_uppercase())?;
    }
    writeln!(out, "}}\nimpl Arguments for {name} {{\n    const KERNEL: StaticKernel = StaticKernel::{};", camel(&file.path))?;
    writeln!(out, "    type Bindings<T: ::core::marker::Copy> = {name}Bindings<T>;")?;
    let words: Vec<(String, u32)> = leaves("self", arguments);
    let place = |word| words.iter().find(|(_, at)| *at == word).map_or("0", |(place, _)| place.as_str());
    let places: Vec<&str> = (0..WORDS).map(place).collect();
    writeln!(out, "    fn words(self) -> [u32; ARGUMENT_WORDS] {{\n        [{}]", places.join(", "))?;
    let parameter = if words.is_empty() { "_" } else { "words" };
    writeln!(out, "    }}\n    fn of({parameter}: [u32; ARGUMENT_WORDS]) -> Self {{\n        {}\n    }}", value("Self", arguments))?;
    writeln!(out, "    fn slots<T: ::core::marker::Copy>(bindings: Self::Bindings<T>) -> [Option<T>; binding::COUNT] {{")?;
    writeln!(out, "        let mut slots = [const {{ None }}; binding::COUNT];")?;
    bindings.iter().try_for_each(|Binding { name, slot, .. }| writeln!(out, "        slots[{slot}] = Some(bindings.{name});"))?;
    writeln!(out, "        slots\n    }}\n}}")?;
    match bindings.iter().map(|binding| &*binding.name).collect::<Vec<_>>()[..] {
        ["state"] => {
            writeln!(out, "impl Scalars for {name} {{\n    fn over<T: ::core::marker::Copy>(state: T) -> {name}Bindings<T> {{")?;
            writeln!(out, "        {name}Bindings {{ state }}\n    }}\n}}")
        }
        ["state", "partials"] => {
            writeln!(
                out,
                "impl Reduction for {name} {{\n    fn over<T: ::core::marker::Copy>(state: T, partials: T) -> {name}Bindings<T> {{"
            )?;
            writeln!(out, "        {name}Bindings {{ state, partials }}\n    }}\n}}")
        }
        _ => Ok(()),
    }
}

fn structure(name: &str, fields: &[Field], file: &File, out: &mut String) -> std::fmt::Result {
    writeln!(out, "#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]")?;
    if fields.is_empty() {
        return writeln!(out, "pub struct {name};");
    }
    writeln!(out, "pub struct {name} {{")?;
    for field in fields {
        document(file.comment(&field.name), "    ", out)?;
        writeln!(out, "    pub {}: {},", field.name, field.inner.as_ref().map_or("u32", |(inner, _)| inner.as_str()))?;
    }
    writeln!(out, "}}")
}

/// The `u32`s of fields: where they are, and their words.
fn leaves(of: &str, fields: &[Field]) -> Vec<(String, u32)> {
    let leaf = |field: &Field| {
        let place = format!("{of}.{}", field.name);
        field.inner.as_ref().map_or_else(|| vec![(place.clone(), field.word)], |(_, inner)| leaves(&place, inner))
    };
    fields.iter().flat_map(leaf).collect()
}

/// An expression that makes a structure of words.
fn value(name: &str, fields: &[Field]) -> String {
    let field = |field: &Field| {
        let value = field.inner.as_ref().map_or_else(|| format!("words[{}]", field.word), |(name, inner)| value(name, inner));
        format!("{}: {value}", field.name)
    };
    format!("{name} {{ {} }}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
}

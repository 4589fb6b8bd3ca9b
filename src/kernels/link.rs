//! The linker: a kernel's text, the shared declarations that it needs, and the prelude.
//!
//! A kernel names shared declarations by their numbers; those of static kernels were resolved when this crate was built. Where reals
//! are f64, some declarations are others (`shaders/f64/`).

use crate::{Access, DECLARATIONS, PRELUDE, binding};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

/// A declaration that kernels share.
pub(crate) struct Declaration {
    pub name: &'static str,
    /// True if generated kernels see it.
    pub is_open: bool,
    pub single: Option<Text>,
}

#[derive(Clone, Copy)]
pub(crate) struct Text {
    pub text: &'static str,
    /// The numbers of what it names.
    pub uses: &'static [u16],
}

/// What a real is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Real {
    /// IEEE single precision.
    F32,
    /// On CUDA, which no page has.
    #[cfg(not(target_arch = "wasm32"))]
    F64,
}

impl Real {
    fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            #[cfg(not(target_arch = "wasm32"))]
            Self::F64 => "f64",
        }
    }

    fn text(self, number: u16) -> Option<&'static Text> {
        #[cfg(not(target_arch = "wasm32"))]
        if self == Self::F64
            && let Some((_, double)) = crate::DOUBLES.iter().find(|(of, _)| *of == number)
        {
            return Some(double);
        }
        DECLARATIONS[usize::from(number)].single.as_ref()
    }
}

/// What generated kernels may name, and its number.
static OPEN: LazyLock<HashMap<&str, u16>> = LazyLock::new(|| {
    let open = (0..).zip(DECLARATIONS).filter(|(_, declaration)| declaration.is_open);
    open.map(|(number, declaration)| (declaration.name, number)).collect()
});

/// One kernel's own declarations, with the entry point `main`; what it shares with others, a device [puts in front](KernelText::module).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KernelText {
    /// Text in WGSL.
    pub wgsl: Arc<str>,
    /// Access of each binding.
    pub access: [Access; binding::COUNT],
    /// The shared declarations that it names.
    pub(crate) roots: Arc<[u16]>,
    /// True for a text [in double-floats](crate::doubles).
    pub is_double: bool,
}

impl KernelText {
    /// A text whose names are those of `shaders/functions/`, where it declares no others. It declares `struct Args`.
    pub fn new(wgsl: &str, access: [Access; binding::COUNT]) -> Self {
        let words: Vec<&str> = wgsl.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
        let own: BTreeSet<&str> =
            words.windows(2).filter(|pair| ["fn", "struct", "const"].contains(&pair[0])).map(|pair| pair[1]).collect();
        let named: BTreeSet<&str> = words.into_iter().collect();
        let roots = named.difference(&own).filter_map(|word| OPEN.get(word).copied()).collect();
        Self { wgsl: wgsl.into(), access, roots, is_double: false }
    }

    pub(crate) fn linked(wgsl: &str, access: [Access; binding::COUNT], roots: &[u16]) -> Self {
        Self { wgsl: wgsl.into(), access, roots: roots.into(), is_double: false }
    }

    /// The whole module.
    pub fn module(&self, real: Real, group_size: u32) -> String {
        format!("{}\n{}", Self::head(real, group_size), self.body(real))
    }

    /// What stands before every text: what a real is, the invocations of a workgroup, and the prelude.
    pub fn head(real: Real, group_size: u32) -> String {
        let name = real.name();
        let prelude: Vec<&str> = needed(PRELUDE, |number| real.text(number)).filter_map(|number| Some(real.text(number)?.text)).collect();
        format!("alias real = {name};\nconst group_size: u32 = {group_size}u;\n{}", prelude.join("\n"))
    }

    /// The text and the shared declarations that it needs, without the prelude.
    pub fn body(&self, real: Real) -> String {
        let shared = needed(&self.roots, |number| real.text(number)).filter(|number| !PRELUDE.contains(number));
        let texts: Vec<&str> = [&*self.wgsl].into_iter().chain(shared.filter_map(|number| Some(real.text(number)?.text))).collect();
        texts.join("\n")
    }
}

/// Declarations and what they name in turn.
pub(crate) fn needed(roots: &[u16], text: impl Fn(u16) -> Option<&'static Text>) -> impl Iterator<Item = u16> {
    let (mut needed, mut open) = (BTreeSet::new(), roots.to_vec());
    while let Some(number) = open.pop() {
        if needed.insert(number) {
            open.extend(text(number).map_or(&[][..], |text| text.uses));
        }
    }
    needed.into_iter()
}

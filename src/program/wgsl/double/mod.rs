//! Double-float arithmetic: a module whose reals are `f32` rewritten so that each is the unevaluated sum of two.
//!
//! A number is `high + low` with |low| ≤ ½ ulp(high): 48 bits of significand, with the range of f32 (T. J. Dekker, "A
//! floating-point technique for extending the available precision", Numer. Math. 18, 1971; Hida, Li & Bailey, "Algorithms
//! for quad-double precision floating point arithmetic", 2001). The text of a kernel, static or generated, is one for all
//! precisions: `real` stands for `f32` or, on CUDA, `f64`, where operators do. Double-floats have no operators in WGSL, so
//! what stands between reals becomes calls of `shaders/double/arithmetic.wgsl`, literals become two numbers, and elements of
//! buffers are read from and written to two *planes*: all high parts, then all low parts.
//!
//! This reads the WGSL that kernels are written in, which is not all of WGSL; anything else is refused, with what it was.

mod arithmetic;
mod expressions;
mod statements;
mod tokens;
mod types;

use super::functions::{Library, declared, paragraphs};
use crate::shader;
use leastwise_expr::{Binary, Numerics, Unary};
use leastwise_kernels::{function, is_of_library};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;
use tokens::Tokens;
use types::{Globals, Type};

pub use arithmetic::Products;

/// What stands in front of every module of double-floats, in `f32`.
pub const PRELUDE: &str = shader!("../../../../shaders/double/prelude.wgsl");

const LIBRARY: [&str; 2] = [shader!("../../../../shaders/double/arithmetic.wgsl"), shader!("../../../../shaders/double/functions.wgsl")];

/// Functions of operations that `shaders/double/` does not declare: their formula in `f32` is right in double-floats too, being made
/// of others.
static SHARED: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let own: BTreeSet<&str> = LIBRARY.iter().flat_map(|file| paragraphs(file)).filter_map(declared).collect();
    let numerics = Unary::ALL.map(Unary::numerics).into_iter().chain(Binary::ALL.map(Binary::numerics));
    let named = numerics.filter_map(|numerics| match numerics {
        Numerics::Function(name) | Numerics::OfTurn(name) | Numerics::SinCos(name) => Some(name),
        Numerics::Instruction | Numerics::BuiltIn(_) => None,
    });
    named.filter(|name| !own.contains(name)).collect()
});

/// What every module may use.
fn declaration(name: &str) -> &'static str {
    function(name).expect("a function of the library")
}

static GLOBALS: LazyLock<Globals> = LazyLock::new(|| {
    let mut globals = Globals::default();
    for text in [PRELUDE].into_iter().chain(LIBRARY).chain(SHARED.iter().map(|name| declaration(name))) {
        globals.note(text).expect("our own text");
    }
    globals
});

/// The functions that kernels call, in place of those for `f32`.
static BY_FMA: LazyLock<Library> = LazyLock::new(|| library(Products::Fma));
static BY_HALVES: LazyLock<Library> = LazyLock::new(|| library(Products::Halves));

fn library(products: Products) -> Library {
    let rewrite = |text: &'static str| Writer::new(text, GLOBALS.clone(), products).written(|_| false).expect("our own text").0;
    // A remark is no declaration.
    let texts = LIBRARY.iter().flat_map(|file| paragraphs(file)).chain(SHARED.iter().map(|name| declaration(name)));
    Library::new(texts.map(|text| Cow::Owned(rewrite(text))))
}

/// Rewrites a module, without the prelude. Says what can't be rewritten.
pub fn rewritten(text: &str, products: Products) -> Result<String, String> {
    let mut globals = GLOBALS.clone();
    globals.note_others(text)?;
    let (own, called) = Writer::new(text, globals, products).written(is_of_library)?;
    let library = if products == Products::Fma { &*BY_FMA } else { &*BY_HALVES };
    Ok(format!("{}\n{own}", library.needed(called.iter().map(String::as_str)).join("\n")))
}

struct Writer<'a> {
    tokens: Tokens<'a>,
    globals: Globals,
    /// What names stand for, the innermost block last.
    scopes: Vec<HashMap<String, (Type, Option<f64>)>>,
    /// What the present function gives.
    gives: Type,
    /// Functions that were called.
    called: BTreeSet<String>,
    products: Products,
    /// Whether operations are written out, before the present statement.
    writes_out: bool,
    before: String,
    names: u32,
    out: String,
}

impl<'a> Writer<'a> {
    fn new(text: &'a str, globals: Globals, products: Products) -> Self {
        Self {
            tokens: Tokens::new(text),
            globals,
            scopes: vec![HashMap::new()],
            gives: Type::Nothing,
            called: BTreeSet::new(),
            products,
            writes_out: true,
            before: String::new(),
            names: 0,
            out: String::new(),
        }
    }

    /// The text without the declarations that are to be left out, and the functions that it calls.
    fn written(mut self, leaves_out: impl Fn(&str) -> bool) -> Result<(String, BTreeSet<String>), String> {
        self.module(&leaves_out)?;
        Ok((self.out, self.called))
    }

    fn declare(&mut self, name: &str, of: Type) {
        self.declare_literal(name, of, None);
    }

    fn declare_literal(&mut self, name: &str, of: Type, constant: Option<f64>) {
        self.scopes.last_mut().expect("the module's own").insert(name.into(), (of, constant));
    }

    fn variable(&self, name: &str) -> Result<expressions::Value, String> {
        let local = self.scopes.iter().rev().find_map(|scope| scope.get(name)).cloned();
        let known = local.or_else(|| Some((self.globals.variables.get(name)?.clone(), None)));
        let (of, constant) = match (known, name) {
            (Some(known), _) => known,
            (None, "params") => (Type::Struct("Params".into()), None),
            (None, "group_size") => (Type::Unsigned, None),
            _ => return Err(format!("`{name}` is not declared")),
        };
        Ok(expressions::Value { constant, ..expressions::Value::new(name.into(), of) })
    }

    /// How far a buffer's low parts lie behind its high parts: 0 where it has none, being one of f32s.
    fn plane(&self, buffer: &str) -> Result<&str, String> {
        self.globals.planes.get(buffer).map(String::as_str).ok_or_else(|| format!("`{buffer}` is no buffer of reals"))
    }
}

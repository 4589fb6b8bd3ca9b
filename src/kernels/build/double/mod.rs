//! Double-float arithmetic: a module whose reals are `f32` rewritten so that each is the unevaluated sum of two.
//!
//! A number is `high + low` with |low| ≤ ½ ulp(high): 48 bits of significand, with the range of f32 (T. J. Dekker, "A
//! floating-point technique for extending the available precision", Numer. Math. 18, 1971; Hida, Li & Bailey, "Algorithms
//! for quad-double precision floating point arithmetic", 2001). The text of a static kernel is one for all precisions: `real` stands
//! for `f32` or, on CUDA, `f64`, where operators do. Double-floats have no operators in WGSL, so what stands between reals becomes
//! [operations](crate::operations) and calls of `shaders/double/arithmetic.wgsl`, literals become two numbers, and elements of buffers
//! are read from and written to two *planes*: all high parts, then all low parts.
//!
//! This reads the WGSL that static kernels are written in, which is not all of WGSL; anything else is refused, with what it was. It
//! runs when the crate is built. Programs are written in double-floats to begin with.

mod arithmetic;
mod expressions;
mod statements;
#[cfg(test)]
mod tests;
mod tokens;
mod types;

use crate::operations::Lines;
use std::collections::{BTreeSet, HashMap};
use tokens::Tokens;
use types::Type;

pub use types::Globals;

/// A declaration that was rewritten.
pub struct Declaration {
    pub text: String,
    /// Functions that it calls.
    pub called: BTreeSet<String>,
}

/// The declarations of a module but for those that the library has, in their order.
///
/// # Errors
/// A text that has no form in double-floats.
pub fn rewritten(text: &str, globals: Globals) -> Result<Vec<Declaration>, String> {
    let mut writer = Writer::new(text, globals);
    writer.module()?;
    Ok(writer.declarations)
}

struct Writer<'a> {
    tokens: Tokens<'a>,
    globals: Globals,
    /// Types and constants of names, by block, the innermost last.
    scopes: Vec<HashMap<String, (Type, Option<f64>)>>,
    /// Result type of the present function.
    gives: Type,
    /// Functions that were called.
    called: BTreeSet<String>,
    /// False in the head of a loop: operations are calls there.
    writes_out: bool,
    /// True while the target of an assignment is read: an element of a buffer is not loaded then.
    is_target: bool,
    /// Operations before the present statement.
    lines: Lines,
    out: String,
    declarations: Vec<Declaration>,
}

impl<'a> Writer<'a> {
    fn new(text: &'a str, globals: Globals) -> Self {
        Self {
            tokens: Tokens::new(text),
            globals,
            scopes: vec![HashMap::new()],
            gives: Type::Nothing,
            called: BTreeSet::new(),
            writes_out: true,
            is_target: false,
            lines: Lines::default(),
            out: String::new(),
            declarations: Vec::new(),
        }
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
}

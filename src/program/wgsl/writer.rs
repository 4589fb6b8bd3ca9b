//! The writer of a module's text, for either number format.
//!
//! What is computed of reals goes through here: in `f32` (and `f64`, which has the same text) operators stand between them, in
//! double-floats there are [operations](leastwise_kernels::operations) before the statement, and calls.

use super::{NAMES, literal};
use crate::{Access, KernelText, binding};
use leastwise_kernels::doubles;
use leastwise_kernels::operations::{self, Lines, Parts};
use std::collections::BTreeSet;
use std::fmt;

/// The number format of a text's reals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// One number: `f32` or `f64`.
    Single,
    /// Double-floats.
    Double,
}

/// An expression of a real.
pub(super) struct Real {
    pub text: String,
    /// Its parts in double-floats, where they have names.
    parts: Option<Parts>,
}

/// A text, behind which whatever is written comes after the operations that it needs.
pub(super) struct Writer {
    format: Format,
    text: String,
    lines: Lines,
    /// Functions of the library that the text calls.
    called: BTreeSet<&'static str>,
    /// What can't be written in this format.
    refusal: Option<String>,
    /// True if buffers are shared by several programs, and what is one's begins at `index_base`, `data_base` and so on.
    has_bases: bool,
}

impl fmt::Write for Writer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text += &std::mem::take(&mut self.lines.text);
        self.text += text;
        Ok(())
    }
}

impl Real {
    /// A variable.
    pub fn name(name: impl Into<String>) -> Self {
        Self { text: name.into(), parts: None }
    }

    /// An expression that is no variable.
    pub fn expression(text: String) -> Self {
        Self { text, parts: None }
    }

    fn of_parts(parts: Parts) -> Self {
        Self { text: parts.text(), parts: Some(parts) }
    }
}

impl Writer {
    pub fn new(format: Format) -> Self {
        Self { format, text: String::new(), lines: Lines::default(), called: BTreeSet::new(), refusal: None, has_bases: false }
    }

    /// The same for programs that share buffers.
    pub fn with_bases(self) -> Self {
        Self { has_bases: true, ..self }
    }

    /// A word of the index table.
    pub fn word(&self, place: &str) -> String {
        if self.has_bases { format!("index[index_base + {place}]") } else { format!("index[{place}]") }
    }

    /// Where an element of the buffer in a slot is.
    fn place(&self, slot: usize, index: &str) -> String {
        let base = match slot {
            binding::DATA => "data_base",
            binding::JACOBIAN => "jacobian_base",
            binding::VECTOR_OUT => "column_base",
            binding::PARTIALS => "vector_base",
            _ => return index.into(),
        };
        if self.has_bases { format!("{base} + {index}") } else { index.into() }
    }

    /// The kernel's text in `f32`.
    pub fn single(self, access: [Access; binding::COUNT]) -> KernelText {
        KernelText::new(&self.text, access)
    }

    /// The kernel's text.
    ///
    /// # Errors
    /// What can't be written in this format.
    pub fn finish(self, access: [Access; binding::COUNT]) -> Result<KernelText, String> {
        match (&self.refusal, self.format) {
            (Some(refusal), _) => Err(refusal.clone()),
            (None, Format::Double) => Ok(doubles::generated(&self.text, access, self.called.into_iter())),
            (None, Format::Single) => Ok(self.single(access)),
        }
    }

    fn is_double(&self) -> bool {
        self.format == Format::Double
    }

    /// What elements of buffers of reals are.
    pub fn element_type(&self) -> &'static str {
        if self.is_double() { "f32" } else { "real" }
    }

    /// A finite number.
    pub fn literal(&mut self, value: f64) -> String {
        if !self.is_double() {
            return literal(value);
        }
        operations::literal(value).unwrap_or_else(|refusal| {
            self.refusal.get_or_insert(refusal);
            String::new()
        })
    }

    /// An element of the buffer in a slot.
    pub fn load(&mut self, slot: usize, index: &str) -> Real {
        let (buffer, place) = (NAMES[slot], self.place(slot, index));
        match self.format {
            Format::Single => Real::expression(format!("{buffer}[{place}]")),
            Format::Double => Real::of_parts(self.lines.element(buffer, slot, &place)),
        }
    }

    /// Stores to an element of the buffer in a slot.
    pub fn store(&mut self, slot: usize, index: &str, value: &Real, indent: &str) -> fmt::Result {
        let (buffer, index) = (NAMES[slot], self.place(slot, index));
        if !self.is_double() {
            return fmt::write(self, format_args!("{indent}{buffer}[{index}] = {};\n", value.text));
        }
        let place = self.lines.place(&index);
        let parts = self.parts(value);
        self.lines.store(buffer, slot, &place, &parts);
        Ok(())
    }

    /// The parts of a real in double-floats.
    fn parts(&mut self, real: &Real) -> Parts {
        if let Some(parts) = &real.parts {
            return parts.clone();
        }
        let is_name = real.text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let name = if is_name { real.text.clone() } else { self.lines.named(&real.text) };
        Parts::of_name(&name)
    }

    fn between(&mut self, symbol: char, a: &Parts, b: &Parts) -> Real {
        Real::of_parts(self.lines.operation(symbol, a, b))
    }

    pub fn add(&mut self, a: &Real, b: &Real) -> Real {
        if !self.is_double() {
            return Real::expression(format!("{} + {}", a.text, b.text));
        }
        let (a, b) = (self.parts(a), self.parts(b));
        self.between('+', &a, &b)
    }

    pub fn subtract(&mut self, a: &Real, b: &Real) -> Real {
        if !self.is_double() {
            return Real::expression(format!("{} - {}", a.text, b.text));
        }
        let (a, b) = (self.parts(a), self.parts(b).negative());
        self.between('+', &a, &b)
    }

    pub fn multiply(&mut self, a: &Real, b: &Real) -> Real {
        if !self.is_double() {
            return Real::expression(format!("{} * {}", a.text, b.text));
        }
        let (a, b) = (self.parts(a), self.parts(b));
        self.between('*', &a, &b)
    }

    pub fn divide(&mut self, a: &Real, b: &Real) -> Real {
        match self.format {
            Format::Single => Real::expression(format!("{} / {}", a.text, b.text)),
            Format::Double => self.call("divide", &[a, b]),
        }
    }

    pub fn negative(&self, a: &Real) -> Real {
        Real::expression(if self.is_double() { format!("(-{})", a.text) } else { format!("-{}", a.text) })
    }

    /// A function of the library, or of the prelude.
    pub fn call(&mut self, name: &'static str, operands: &[&Real]) -> Real {
        self.called.insert(name);
        let texts: Vec<&str> = operands.iter().map(|operand| &*operand.text).collect();
        Real::expression(format!("{name}({})", texts.join(", ")))
    }

    /// A function that WGSL has for `f32`.
    pub fn call_built_in(&mut self, name: &'static str, operand: &Real) -> Real {
        let ours = operations::built_in(name).filter(|_| self.is_double());
        self.call(ours.unwrap_or(name), &[operand])
    }

    /// One of two reals.
    pub fn select(&self, otherwise: &Real, then: &Real, condition: &str) -> Real {
        Real::expression(format!("select({}, {}, {condition})", otherwise.text, then.text))
    }

    /// 1 where a condition holds, else 0.
    pub fn truth(&self, condition: &str) -> Real {
        let [no, yes] = if self.is_double() { ["real(0e0, 0e0)", "real(1e0, 0e0)"] } else { ["real(0)", "real(1)"] };
        self.select(&Real::name(no), &Real::name(yes), condition)
    }

    /// The sign of a double-float is that of its high part.
    pub fn compare_to_zero(&self, a: &Real, symbol: &str) -> String {
        match (self.format, &a.parts) {
            (Format::Single, _) => format!("{} {symbol} 0.0", a.text),
            (Format::Double, Some(parts)) => format!("({} {symbol} 0.0)", parts.high),
            (Format::Double, None) => format!("({}.x {symbol} 0.0)", a.text),
        }
    }

    /// a < b, or a ≤ b.
    pub fn is_below(&mut self, a: &Real, b: &Real, or_equal: bool) -> String {
        match (self.format, or_equal) {
            (Format::Single, false) => format!("{} < {}", a.text, b.text),
            (Format::Single, true) => format!("{} <= {}", a.text, b.text),
            (Format::Double, false) => self.call("is_less", &[a, b]).text,
            (Format::Double, true) => self.call("is_at_most", &[a, b]).text,
        }
    }

    /// Adds to a variable.
    pub fn accumulate(&mut self, variable: &str, value: &Real, indent: &str) -> fmt::Result {
        if !self.is_double() {
            return fmt::write(self, format_args!("{indent}{variable} += {};\n", value.text));
        }
        let sum = self.add(&Real::name(variable), value);
        fmt::write(self, format_args!("{indent}{variable} = {};\n", sum.text))
    }
}

//! Notation of operations between double-floats: what the build script and the writer of programs put into a text, and
//! [`written_out`](crate::arithmetic::written_out) makes WGSL of.
//!
//! An operation is a line of its own before the statement that it is in: `$`, a symbol, the number of its result and its operands,
//! between semicolons. So a text is as long as that of f32, and one for both ways to multiply.
//!
//! | line | result |
//! |---|---|
//! | `$+n;a;b`, `$*n;a;b` | sum and product of reals |
//! | `$sn;x;y`, `$qn;x;y`, `$pn;x;y` | sum, sum for \|x\| ≥ \|y\|, and product of `f32`s, with their rounding errors |
//! | `$=n;x` | an `f32` that nothing is known of |
//! | `$<n;buffer;slot;place` | an element of a buffer |
//! | `$>buffer;slot;place;a` | none: it stores |
//!
//! The parts of result n are `d_n` and `e_n`. An operand is `n` for them, a name for its parts `x` and `y`, either with a `-` before it,
//! or both parts with a comma between them.

use std::fmt::Write;

/// The first character of an operation's line. WGSL has none such.
pub const MARK: char = '$';

/// The high and the low part of a number, as texts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    /// The high part.
    pub high: String,
    /// The low part.
    pub low: String,
}

/// The low part of an `f32`.
pub const NONE: &str = "0.0";

impl Parts {
    /// A number of two parts.
    pub fn new(high: impl Into<String>, low: impl Into<String>) -> Self {
        Self { high: high.into(), low: low.into() }
    }

    /// The parts of a variable.
    pub fn of_name(name: &str) -> Self {
        Self::new(format!("{name}.x"), format!("{name}.y"))
    }

    /// The parts of an operation's result.
    pub fn of_number(number: &str) -> Self {
        Self::new(format!("d_{number}"), format!("e_{number}"))
    }

    /// True if there is no low part.
    pub fn is_single(&self) -> bool {
        self.low == NONE || self.low == "0e0"
    }

    /// The number as an expression.
    pub fn text(&self) -> String {
        format!("real({}, {})", self.high, self.low)
    }

    /// The number with its sign turned.
    pub fn negative(&self) -> Self {
        // `--` is another symbol.
        let negative = |text: &str| text.strip_prefix('-').map_or_else(|| format!("(-{text})"), String::from);
        let low = if self.is_single() { NONE.into() } else { negative(&self.low) };
        Self { high: negative(&self.high), low }
    }

    /// It as an operand.
    fn operand(&self) -> String {
        let positive = |text: &str| Some(text.strip_prefix("(-")?.strip_suffix(')')?.to_string());
        let (sign, high, low) = match (positive(&self.high), positive(&self.low)) {
            (Some(high), Some(low)) => ("-", high, low),
            _ => ("", self.high.clone(), self.low.clone()),
        };
        let both = [("d_", "e_", "", ""), ("", "", ".x", ".y")].into_iter().find_map(|(before, before_low, behind, behind_low)| {
            let name = high.strip_prefix(before)?.strip_suffix(behind)?;
            (low.strip_prefix(before_low)?.strip_suffix(behind_low)? == name).then(|| format!("{sign}{name}"))
        });
        both.unwrap_or_else(|| format!("{},{}", self.high, self.low))
    }
}

/// Operations of the present statement, and the number of those of its function.
#[derive(Default)]
pub struct Lines {
    /// Text of the statements.
    pub text: String,
    /// Number of the function's operations.
    pub count: u32,
}

impl Lines {
    fn next(&mut self) -> u32 {
        self.count += 1;
        self.count
    }

    /// A name for an expression.
    pub fn named(&mut self, text: &str) -> String {
        let number = self.next();
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "let d_{number} = {text};");
        format!("d_{number}")
    }

    fn line(&mut self, symbol: char, operands: &str) -> Parts {
        let number = self.next();
        let _ = writeln!(self.text, "{MARK}{symbol}{number};{operands}");
        Parts::of_number(&number.to_string())
    }

    /// `+` or `*` between reals.
    pub fn operation(&mut self, symbol: char, a: &Parts, b: &Parts) -> Parts {
        self.line(symbol, &format!("{};{}", a.operand(), b.operand()))
    }

    /// Sum, sum for |a| ≥ |b|, or product of `f32`s, with its rounding error.
    pub fn exact(&mut self, name: &str, a: &str, b: &str) -> Parts {
        self.line(name.strip_prefix("two_").unwrap_or(name).chars().next().unwrap_or_default(), &format!("{a};{b}"))
    }

    /// An `f32` that nothing is known of.
    pub fn sealed(&mut self, text: &str) -> String {
        self.line('=', text).high
    }

    /// A name for where an element is; literals have none.
    pub fn place(&mut self, index: &str) -> String {
        if index.bytes().all(|byte| byte.is_ascii_digit()) { format!("{index}u") } else { self.named(index) }
    }

    /// An element of the buffer in a slot.
    pub fn element(&mut self, buffer: &str, slot: usize, index: &str) -> Parts {
        let place = self.place(index);
        self.line('<', &format!("{buffer};{slot};{place}"))
    }

    /// Stores to a [place](Self::place) of the buffer in a slot.
    pub fn store(&mut self, buffer: &str, slot: usize, place: &str, value: &Parts) {
        let _ = writeln!(self.text, "{MARK}>{buffer};{slot};{place};{}", value.operand());
    }
}

/// A number as the sum of two f32s.
///
/// # Errors
/// A number beyond the range of f32.
pub fn literal(value: f64) -> Result<String, String> {
    let high = value as f32;
    if !high.is_finite() {
        return Err(format!("{value:e} is beyond the range of f32"));
    }
    let low = (value - f64::from(high)) as f32;
    // Subnormal numbers are flushed anyway.
    let low = if low.abs() < f32::MIN_POSITIVE { 0.0 } else { low };
    Ok(format!("real({high:e}, {low:e})"))
}

/// The function of `shaders/double/arithmetic.wgsl` in place of a built-in one.
pub fn built_in(name: &str) -> Option<&'static str> {
    Some(match name {
        "abs" => "magnitude",
        "min" => "least",
        "max" => "greatest",
        "clamp" => "clamped",
        "sqrt" => "square_root",
        "floor" => "floored",
        "ceil" => "ceiled",
        "round" => "rounded",
        "sign" => "sign_of",
        _ => return None,
    })
}

/// How far the low parts of the buffer in a slot lie behind its high parts: 0 where it has none, being one of f32s.
pub fn plane(slot: usize) -> String {
    format!("params.planes{}.{}", slot / 4, ["x", "y", "z", "w"][slot % 4])
}

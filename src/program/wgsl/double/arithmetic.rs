//! Operations between double-floats, written out where they stand.
//!
//! Calls would be shorter, but compilers of shaders write them out themselves, in time that grows with the square of their
//! number. So every operation is a few `let`s before the statement that it is in, each sealed against reassociation and
//! contraction. In the head of a loop, where nothing can stand before, functions of `shaders/double/arithmetic.wgsl` are called.
//!
//! Errors are those of Hida, Li & Bailey (2001) and of Joldes, Muller & Popescu ("Tight and rigorous error bounds for basic
//! building blocks of double-word arithmetic", ACM Trans. Math. Softw. 44, 2017): a few 2⁻⁴⁸ of the result, of a sum of |a| + |b|.

use super::Writer;
use super::expressions::Value;
use super::types::Type;
use std::fmt::Write;

/// How the rounding error of a product of `f32`s is found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Products {
    /// `fma` rounds once.
    Fma,
    /// By halves of 12 bits, whose products are exact (Dekker 1971; the first half is cut off, which overflows nowhere).
    Halves,
}

/// The high and the low part of a number, as texts.
#[derive(Clone, Debug)]
pub struct Parts {
    pub high: String,
    pub low: String,
}

/// The low part of what is an `f32`.
const NONE: &str = "0.0";

impl Parts {
    pub fn new(high: impl Into<String>, low: impl Into<String>) -> Self {
        Self { high: high.into(), low: low.into() }
    }

    fn is_single(&self) -> bool {
        self.low == NONE || self.low == "0e0"
    }

    pub fn text(&self) -> String {
        format!("real({}, {})", self.high, self.low)
    }

    pub fn negative(&self) -> Self {
        let low = if self.is_single() { NONE.into() } else { format!("(-{})", self.low) };
        Self { high: format!("(-{})", self.high), low }
    }
}

/// An `f32` that nothing is known of.
pub fn sealed(text: &str) -> String {
    format!("bitcast<f32>(bitcast<u32>({text}) ^ params.zero)")
}

impl Writer<'_> {
    /// A name for what this is worth.
    pub fn named(&mut self, text: &str) -> String {
        self.names += 1;
        let name = format!("_{}", self.names);
        let _ = writeln!(self.before, "let d{name} = {text};");
        format!("d{name}")
    }

    /// The parts of a real.
    pub fn parts(&mut self, value: &Value) -> Result<Parts, String> {
        if let Some(parts) = &value.parts {
            return Ok(parts.clone());
        }
        let text = value.real()?;
        if let Some((high, low)) = text
            .strip_prefix("real(")
            .and_then(|text| text.strip_suffix(')')?.split_once(", "))
            .filter(|(_, low)| !low.contains([',', '(']))
        {
            if !high.contains('(') {
                return Ok(Parts::new(high, low));
            }
            return Ok(Parts::new(self.named(high), low));
        }
        let is_name = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let name = if is_name { text } else { self.named(&text) };
        Ok(Parts::new(format!("{name}.x"), format!("{name}.y")))
    }

    /// a + b and its rounding error (Knuth).
    pub fn two_sum(&mut self, a: &str, b: &str) -> Parts {
        let s = self.named(&sealed(&format!("{a} + {b}")));
        let part = self.named(&sealed(&format!("{s} - {a}")));
        let left = sealed(&format!("{a} - {}", sealed(&format!("{s} - {part}"))));
        let right = sealed(&format!("{b} - {part}"));
        Parts::new(s, sealed(&format!("{left} + {right}")))
    }

    /// The same for |a| ≥ |b| (Dekker).
    pub fn quick_sum(&mut self, a: &str, b: &str) -> Parts {
        let b = self.named(b);
        let s = self.named(&sealed(&format!("{a} + {b}")));
        let low = self.named(&sealed(&format!("{b} - {}", sealed(&format!("{s} - {a}")))));
        Parts::new(s, low)
    }

    /// a·b and its rounding error.
    pub fn two_product(&mut self, a: &str, b: &str) -> Parts {
        let p = self.named(&sealed(&format!("{a} * {b}")));
        if self.products == Products::Fma {
            return Parts::new(&p, sealed(&format!("fma({a}, {b}, -{p})")));
        }
        let [(a_first, a_second), (b_first, b_second)] = [a, b].map(|x| {
            let first = self.named(&format!("bitcast<f32>(bitcast<u32>({x}) & (0xfffff000u ^ params.zero))"));
            let second = self.named(&sealed(&format!("{x} - {first}")));
            (first, second)
        });
        let product = |left: &str, right: &str| sealed(&format!("{left} * {right}"));
        let mut error = sealed(&format!("{} - {p}", product(&a_first, &b_first)));
        for (left, right) in [(&a_first, &b_second), (&a_second, &b_first), (&a_second, &b_second)] {
            error = sealed(&format!("{error} + {}", product(left, right)));
        }
        Parts::new(p, error)
    }

    fn add(&mut self, a: &Parts, b: &Parts) -> Parts {
        let s = self.two_sum(&a.high, &b.high);
        let low = match (a.is_single(), b.is_single()) {
            (true, true) => return Parts { low: self.named(&s.low), ..s },
            (false, true) => a.low.clone(),
            (true, false) => b.low.clone(),
            (false, false) => sealed(&format!("{} + {}", a.low, b.low)),
        };
        self.quick_sum(&s.high, &sealed(&format!("{} + {low}", s.low)))
    }

    fn multiply(&mut self, a: &Parts, b: &Parts) -> Parts {
        let p = self.two_product(&a.high, &b.high);
        let cross = |single: bool, x: &str, y: &str| (!single).then(|| sealed(&format!("{x} * {y}")));
        let low = match (cross(b.is_single(), &a.high, &b.low), cross(a.is_single(), &a.low, &b.high)) {
            (None, None) => return Parts { low: self.named(&p.low), ..p },
            (Some(one), None) | (None, Some(one)) => one,
            (Some(left), Some(right)) => sealed(&format!("{left} + {right}")),
        };
        self.quick_sum(&p.high, &sealed(&format!("{} + {low}", p.low)))
    }

    /// What an operator makes of two numbers of which one is real.
    pub fn arithmetic(&mut self, symbol: &str, a: &Value, b: &Value) -> Result<Value, String> {
        let is_power_of_two = |value: f64| value != 0.0 && value.abs().log2().fract() == 0.0;
        let factor = match symbol {
            "*" => a.single().map(|value| (b, value)).or(b.single().map(|value| (a, value))),
            "/" => b.single().map(|value| (a, 1.0 / value)),
            _ => None,
        };
        // Exact, part by part.
        if let Some((value, factor)) = factor.filter(|(_, factor)| is_power_of_two(*factor)) {
            return Ok(Value::new(format!("({} * {factor:e})", value.real()?), Type::Real));
        }
        if !self.writes_out || symbol == "/" {
            let function = match symbol {
                "+" => "add",
                "-" => "subtract",
                "*" => "multiply",
                "/" => "divide",
                _ => return Err(format!("reals have no `{symbol}`")),
            };
            self.called.insert(function.into());
            return Ok(Value::new(format!("{function}({}, {})", a.real()?, b.real()?), Type::Real));
        }
        let (x, y) = (self.parts(a)?, self.parts(b)?);
        Ok(Value::of_parts(match symbol {
            "+" => self.add(&x, &y),
            "-" => self.add(&x, &y.negative()),
            "*" => self.multiply(&x, &y),
            _ => return Err(format!("reals have no `{symbol}`")),
        }))
    }

    /// The sign of a double-float is that of its high part.
    pub fn compare(&mut self, symbol: &str, a: &Value, b: &Value) -> Result<Value, String> {
        let is_zero = |value: &Value| value.single() == Some(0.0);
        let text = if is_zero(b) {
            format!("({} {symbol} 0.0)", self.high(a)?)
        } else if is_zero(a) {
            format!("(0.0 {symbol} {})", self.high(b)?)
        } else if matches!(symbol, "==" | "!=") {
            let all = if symbol == "==" { "all" } else { "any" };
            format!("{all}({} {symbol} {})", a.real()?, b.real()?)
        } else {
            let (less, greater) = if symbol.starts_with('<') { (a, b) } else { (b, a) };
            let function = if symbol.ends_with('=') { "is_at_most" } else { "is_less" };
            self.called.insert(function.into());
            format!("{function}({}, {})", less.real()?, greater.real()?)
        };
        Ok(Value::new(text, Type::Bool))
    }

    /// The high part of a real.
    fn high(&self, value: &Value) -> Result<String, String> {
        match &value.parts {
            Some(parts) => Ok(parts.high.clone()),
            None => Ok(format!("{}.x", value.real()?)),
        }
    }

    /// A name for where an element is; literals have none.
    pub fn place(&mut self, index: &str) -> String {
        if index.bytes().all(|byte| byte.is_ascii_digit()) { format!("{index}u") } else { self.named(index) }
    }

    /// An element of a buffer of reals.
    pub fn element(&mut self, buffer: &str, index: &str) -> Result<Value, String> {
        let plane = self.plane(buffer)?.to_string();
        let value = if self.writes_out {
            let at = self.place(index);
            let high = self.named(&format!("{buffer}[{at}]"));
            let low = self.named(&format!("select({buffer}[{at} + {plane}], 0.0, {plane} == 0u)"));
            Value::of_parts(Parts::new(high, low))
        } else {
            let text = format!("real({buffer}[{index}], select({buffer}[{index} + {plane}], 0.0, {plane} == 0u))");
            Value::new(text, Type::Real)
        };
        Ok(Value { place: Some((buffer.into(), index.into())), ..value })
    }
}

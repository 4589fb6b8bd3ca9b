//! Operations between reals, and elements of buffers of them.

use super::Writer;
use super::expressions::Value;
use super::types::Type;
use crate::operations::{Parts, plane};

impl Writer<'_> {
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
            return Ok(Parts::new(self.lines.named(high), low));
        }
        let is_name = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let name = if is_name { text } else { self.lines.named(&text) };
        Ok(Parts::of_name(&name))
    }

    /// Result of an operator on two numbers, of which one is real.
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
            "+" => self.lines.operation('+', &x, &y),
            "-" => self.lines.operation('+', &x, &y.negative()),
            "*" => self.lines.operation('*', &x, &y),
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

    /// An element of a buffer of reals.
    pub fn element(&mut self, buffer: &str, index: &str) -> Result<Value, String> {
        let slot = self.globals.slot(buffer)?;
        let value = if self.writes_out {
            Value::of_parts(self.lines.element(buffer, slot, index))
        } else {
            let plane = plane(slot);
            let text = format!("real({buffer}[{index}], select({buffer}[{index} + {plane}], 0.0, {plane} == 0u))");
            Value::new(text, Type::Real)
        };
        Ok(Value { place: Some((buffer.into(), index.into())), ..value })
    }
}

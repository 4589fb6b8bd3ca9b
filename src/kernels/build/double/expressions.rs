//! Expressions: what stands between reals is handed to [`arithmetic`](super::arithmetic), everything else stays as it is.

use super::Writer;
use super::tokens::Kind;
use super::types::{Type, read_type};
use crate::operations::{Parts, built_in, literal};

/// An expression that was written.
#[derive(Clone, Debug)]
pub struct Value {
    pub text: String,
    pub of: Type,
    /// What a literal is worth.
    pub constant: Option<f64>,
    /// Where an element of a buffer of reals is: the binding and the index.
    pub place: Option<(String, String)>,
    /// The parts of a real, where they have names.
    pub parts: Option<Parts>,
}

impl Value {
    pub fn new(text: String, of: Type) -> Self {
        Self { text, of, constant: None, place: None, parts: None }
    }

    /// A real of these parts.
    pub fn of_parts(parts: Parts) -> Self {
        Self { parts: Some(parts.clone()), ..Self::new(parts.text(), Type::Real) }
    }

    /// The text of it as a real.
    pub fn real(&self) -> Result<String, String> {
        match (&self.of, self.constant) {
            (Type::Real, _) => Ok(self.text.clone()),
            (Type::Float | Type::Integer, Some(value)) => literal(value),
            (Type::Single, _) => Ok(format!("real({}, 0.0)", self.text)),
            (of, _) => Err(format!("`{}` is no real but {of:?}", self.text)),
        }
    }

    /// The text of it as this type.
    pub fn converted(&self, to: &Type) -> Result<String, String> {
        if *to == Type::Real { self.real() } else { Ok(self.text.clone()) }
    }

    fn is_literal(&self) -> bool {
        matches!(self.of, Type::Float | Type::Integer)
    }

    /// The value of a literal that is an f32.
    pub fn single(&self) -> Option<f64> {
        self.constant.filter(|value| self.is_literal() && f64::from(*value as f32) == *value)
    }
}

/// How tightly binary operators bind.
fn precedence(symbol: &str) -> Option<u32> {
    Some(match symbol {
        "||" => 1,
        "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "==" | "!=" => 6,
        "<" | ">" | "<=" | ">=" => 7,
        "<<" | ">>" => 8,
        "+" | "-" => 9,
        "*" | "/" | "%" => 10,
        _ => return None,
    })
}

impl Writer<'_> {
    pub fn expression(&mut self) -> Result<Value, String> {
        self.binary(1)
    }

    fn binary(&mut self, least: u32) -> Result<Value, String> {
        let mut left = self.unary()?;
        loop {
            let symbol = match self.tokens.peek() {
                ">" if self.tokens.is_joined(">") => ">>",
                ">" if self.tokens.is_joined("=") => ">=",
                other => other,
            };
            let Some(binds) = precedence(symbol).filter(|binds| *binds >= least) else { return Ok(left) };
            self.tokens.at += if matches!(symbol, ">>" | ">=") { 2 } else { 1 };
            let right = self.binary(binds + 1)?;
            left = self.operate(symbol, &left, &right)?;
        }
    }

    fn unary(&mut self) -> Result<Value, String> {
        let symbol = self.tokens.peek();
        if !matches!(symbol, "-" | "!" | "~" | "&") {
            return self.postfix();
        }
        self.tokens.take();
        let operand = self.unary()?;
        let constant = operand.constant.filter(|_| symbol == "-").map(|value| -value);
        let of = if symbol == "&" { Type::Nothing } else { operand.of };
        if let (Some(parts), "-") = (operand.parts, symbol) {
            return Ok(Value::of_parts(parts.negative()));
        }
        Ok(Value { constant, ..Value::new(format!("({symbol}{})", operand.text), of) })
    }

    pub fn postfix(&mut self) -> Result<Value, String> {
        let mut value = self.primary()?;
        loop {
            if self.tokens.takes("[") {
                let is_target = std::mem::take(&mut self.is_target);
                let index = self.expression()?;
                self.tokens.expect("]")?;
                self.is_target = is_target;
                value = match value.of {
                    Type::Buffer(name) if is_target => Value { place: Some((name, index.text)), ..Value::new(String::new(), Type::Real) },
                    Type::Buffer(name) => self.element(&name, &index.text)?,
                    Type::Array(of) | Type::Vector(of) => Value::new(format!("{}[{}]", value.text, index.text), *of),
                    of => return Err(format!("`{}` has no elements: it is {of:?}", value.text)),
                };
            } else if self.tokens.takes(".") {
                let field = self.tokens.name()?;
                let of = match &value.of {
                    // The library looks at the parts themselves.
                    Type::Real => Type::Single,
                    Type::Pair => Type::Real,
                    Type::Vector(of) => {
                        if field.len() == 1 {
                            (**of).clone()
                        } else {
                            value.of.clone()
                        }
                    }
                    Type::Struct(name) => {
                        let fields = self.globals.structs.get(name).ok_or_else(|| format!("no struct `{name}`"))?;
                        let found = fields.iter().find(|(known, _)| known == field);
                        found.ok_or_else(|| format!("`{name}` has no field `{field}`"))?.1.clone()
                    }
                    of => return Err(format!("`{}` has no `{field}`: it is {of:?}", value.text)),
                };
                value = Value::new(format!("{}.{field}", value.text), of);
            } else {
                return Ok(value);
            }
        }
    }

    fn primary(&mut self) -> Result<Value, String> {
        let token = self.tokens.ahead(0);
        match token.kind {
            Kind::Number => {
                self.tokens.take();
                Ok(number(token.text))
            }
            Kind::Symbol if token.text == "(" => {
                self.tokens.take();
                let inner = self.expression()?;
                self.tokens.expect(")")?;
                let text = if inner.text.starts_with('(') || inner.place.is_some() { inner.text } else { format!("({})", inner.text) };
                Ok(Value { text, place: None, ..inner })
            }
            Kind::Name if matches!(token.text, "true" | "false") => {
                self.tokens.take();
                Ok(Value::new(token.text.into(), Type::Bool))
            }
            Kind::Name if matches!(token.text, "vec2" | "vec3" | "vec4" | "array" | "bitcast") && self.tokens.ahead(1).text == "<" => {
                self.template()
            }
            Kind::Name if self.tokens.ahead(1).text == "(" => self.call(),
            Kind::Name => {
                self.tokens.take();
                self.variable(token.text)
            }
            _ => Err(format!("an expression was expected instead of `{}`", token.text)),
        }
    }

    /// A call of something that a type is given to.
    fn template(&mut self) -> Result<Value, String> {
        if self.tokens.peek() == "bitcast" {
            self.tokens.take();
            self.tokens.expect("<")?;
            let (to, of) = read_type(&mut self.tokens)?;
            self.tokens.expect(">")?;
            let arguments = self.arguments()?;
            if of == Type::Real || arguments.iter().any(|argument| argument.of == Type::Real) {
                return Err("the bits of a real are not those of a double-float".into());
            }
            return Ok(Value::new(format!("bitcast<{to}>({})", texts(&arguments)), of));
        }
        let (name, of) = read_type(&mut self.tokens)?;
        let arguments = self.arguments()?;
        let text = match &of {
            Type::Pair => joined(arguments.iter().map(Value::real))?,
            Type::Array(element) => joined(arguments.iter().map(|argument| argument.converted(element)))?,
            _ => texts(&arguments),
        };
        Ok(Value::new(format!("{name}({text})"), of))
    }

    fn arguments(&mut self) -> Result<Vec<Value>, String> {
        self.tokens.expect("(")?;
        let mut arguments = Vec::new();
        while !self.tokens.takes(")") {
            arguments.push(self.expression()?);
            self.tokens.takes(",");
        }
        Ok(arguments)
    }

    fn call(&mut self) -> Result<Value, String> {
        let name = self.tokens.name()?;
        let arguments = self.arguments()?;
        if let Some(value) = self.constructed(name, &arguments)? {
            return Ok(value);
        }
        if self.writes_out && matches!(name, "two_sum" | "quick_sum" | "two_product" | "sealed") {
            let names: Vec<String> = arguments.iter().map(|argument| self.lines.named(&argument.text)).collect();
            return Ok(match name {
                "sealed" => Value::new(self.lines.sealed(&names[0]), Type::Single),
                _ => Value::of_parts(self.lines.exact(name, &names[0], &names[1])),
            });
        }
        if let Some(function) = self.globals.functions.get(name) {
            let given = joined(arguments.iter().zip(&function.takes).map(|(argument, of)| argument.converted(of)))?;
            let value = Value::new(format!("{name}({given})"), function.gives.clone());
            self.called.insert(name.into());
            return Ok(value);
        }
        let plain = |of: Type| Ok(Value::new(format!("{name}({})", texts(&arguments)), of));
        let of_literals = !arguments.is_empty() && arguments.iter().all(|argument| argument.of == Type::Float);
        let of_reals = of_literals || arguments.iter().any(|argument| argument.of == Type::Real);
        match name {
            // What is chosen between literals is a real: it may be no f32.
            "select" if of_reals || arguments[..2].iter().all(|argument| argument.of == Type::Float) => {
                let condition = &arguments[2].text;
                Ok(Value::new(format!("select({}, {}, {condition})", arguments[0].real()?, arguments[1].real()?), Type::Real))
            }
            _ if of_reals => {
                let ours = built_in(name).ok_or_else(|| format!("`{name}` has no double-float form"))?;
                self.called.insert(ours.into());
                Ok(Value::new(format!("{ours}({})", joined(arguments.iter().map(Value::real))?), Type::Real))
            }
            "workgroupBarrier" | "storageBarrier" => plain(Type::Nothing),
            "arrayLength" | "countOneBits" | "firstTrailingBit" | "firstLeadingBit" => plain(Type::Unsigned),
            "any" | "all" => plain(Type::Bool),
            "min" | "max" | "clamp" | "abs" | "sign" | "select" | "sqrt" | "exp2" | "log2" | "log" | "pow" | "atan2" | "round"
            | "floor" => {
                let typed = arguments.iter().take(2).find(|argument| !argument.is_literal());
                let of = typed.map_or_else(|| arguments[0].of.clone(), |argument| argument.of.clone());
                plain(if of == Type::Integer { Type::Signed } else { of })
            }
            _ => Err(format!("`{name}` is no function that is known here")),
        }
    }

    /// A conversion, or a struct of its fields.
    fn constructed(&mut self, name: &str, arguments: &[Value]) -> Result<Option<Value>, String> {
        let first = arguments.first();
        let call = |function: &str, of: Type| Value::new(format!("{function}({})", texts(arguments)), of);
        let is_real = first.is_some_and(|argument| argument.of == Type::Real);
        if is_real {
            let conversion = match name {
                "u32" => "to_unsigned",
                "i32" => "to_signed",
                _ => "",
            };
            self.called.insert(conversion.into());
        }
        Ok(Some(match (name, first.map(|argument| &argument.of)) {
            ("real", Some(Type::Unsigned)) => call("of_unsigned", Type::Real),
            ("real", Some(Type::Signed)) => call("of_signed", Type::Real),
            ("real", Some(Type::Bool)) => call("of_bool", Type::Real),
            // It stays a literal, so that what is made of literals is computed here.
            ("real", Some(Type::Float | Type::Integer)) if arguments[0].constant.is_some() => {
                Value { constant: arguments[0].constant, ..Value::new(arguments[0].text.clone(), Type::Float) }
            }
            // What an f32 was computed by may not be merged with what is done with it: a logarithm, say, is a product to drivers.
            ("real", Some(Type::Single)) if self.writes_out => {
                let high = self.lines.sealed(&arguments[0].text);
                Value::of_parts(Parts::new(high, "0.0"))
            }
            ("real", Some(_)) => Value::new(arguments[0].real()?, Type::Real),
            ("f32", _) if is_real => match &arguments[0].parts {
                Some(parts) => Value::new(parts.high.clone(), Type::Single),
                None => Value::new(format!("{}.x", arguments[0].text), Type::Single),
            },
            ("u32", _) if is_real => call("to_unsigned", Type::Unsigned),
            ("i32", _) if is_real => call("to_signed", Type::Signed),
            ("f32", _) => call(name, Type::Single),
            ("u32", _) => call(name, Type::Unsigned),
            ("i32", _) => call(name, Type::Signed),
            ("bool", _) => call(name, Type::Bool),
            _ => match self.globals.structs.get(name) {
                Some(fields) => {
                    let given = joined(arguments.iter().zip(fields).map(|(argument, (_, of))| argument.converted(of)))?;
                    Value::new(format!("{name}({given})"), Type::Struct(name.into()))
                }
                None => return Ok(None),
            },
        }))
    }
}

fn texts(arguments: &[Value]) -> String {
    arguments.iter().map(|argument| argument.text.as_str()).collect::<Vec<_>>().join(", ")
}

fn joined(texts: impl Iterator<Item = Result<String, String>>) -> Result<String, String> {
    Ok(texts.collect::<Result<Vec<_>, _>>()?.join(", "))
}

fn number(text: &str) -> Value {
    let of = match text.as_bytes().last() {
        Some(b'u') => Type::Unsigned,
        Some(b'i') => Type::Signed,
        Some(b'f') if !text.starts_with("0x") => Type::Single,
        _ if text.contains(['.', 'e']) && !text.starts_with("0x") => Type::Float,
        _ => Type::Integer,
    };
    let constant = if matches!(of, Type::Float | Type::Integer) { text.parse().ok() } else { None };
    Value { constant, ..Value::new(text.into(), of) }
}

impl Writer<'_> {
    /// What an operator makes of two values.
    pub fn operate(&mut self, symbol: &str, a: &Value, b: &Value) -> Result<Value, String> {
        let verbatim = format!("({} {symbol} {})", a.text, b.text);
        let compares = matches!(symbol, "==" | "!=" | "<" | ">" | "<=" | ">=");
        if a.of == Type::Real || b.of == Type::Real {
            return if compares { self.compare(symbol, a, b) } else { self.arithmetic(symbol, a, b) };
        }
        if a.of == Type::Pair {
            let function = match symbol {
                "+" => "add_pairs",
                "-" => "subtract_pairs",
                _ => return Err(format!("pairs of reals have no `{symbol}`")),
            };
            self.called.insert(function.into());
            return Ok(Value::new(format!("{function}({}, {})", a.text, b.text), Type::Pair));
        }
        if compares || matches!(symbol, "&&" | "||") {
            return Ok(Value::new(verbatim, Type::Bool));
        }
        let floats = a.of == Type::Float || b.of == Type::Float;
        if let (Some(x), Some(y), true) = (a.constant, b.constant, floats) {
            let constant = match symbol {
                "+" => x + y,
                "-" => x - y,
                "*" => x * y,
                "/" => x / y,
                _ => return Err(format!("literals have no `{symbol}`")),
            };
            return Ok(Value { constant: Some(constant), ..Value::new(verbatim, Type::Float) });
        }
        let of = if a.is_literal() { b.of.clone() } else { a.of.clone() };
        Ok(Value::new(verbatim, of))
    }
}

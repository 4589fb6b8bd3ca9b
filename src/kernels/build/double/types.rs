//! Types, as far as it takes to know what is a real.

use super::tokens::Tokens;
use std::collections::{BTreeSet, HashMap};

#[derive(Clone, PartialEq, Debug)]
pub enum Type {
    /// A pair of `f32`s whose sum is the number.
    Real,
    /// Two of these: WGSL's `vec2<real>`.
    Pair,
    /// `f32`.
    Single,
    Unsigned,
    Signed,
    Bool,
    /// A literal with a point, or made of such.
    Float,
    /// A literal without.
    Integer,
    Vector(Box<Type>),
    Array(Box<Type>),
    /// Reals in a buffer, by their binding's name.
    Buffer(String),
    Struct(String),
    Nothing,
}

/// What a function takes and gives.
#[derive(Clone, Debug)]
pub struct Function {
    pub takes: Vec<Type>,
    pub gives: Type,
}

/// What is declared outside of functions.
#[derive(Clone, Default)]
pub struct Globals {
    pub functions: HashMap<String, Function>,
    /// The types of fields, by struct, in order.
    pub structs: HashMap<String, Vec<(String, Type)>>,
    /// Variables and constants of the module.
    pub variables: HashMap<String, Type>,
    /// The slots of buffers of reals.
    pub slots: HashMap<String, usize>,
    /// Names that the library declares for f32: in double-floats they are others.
    pub library: BTreeSet<String>,
}

/// A type's name and what it is.
pub fn read_type(tokens: &mut Tokens) -> Result<(String, Type), String> {
    let name = tokens.name()?;
    let mut text = name.to_string();
    let mut inner = Type::Nothing;
    if tokens.takes("<") {
        let (element, of) = read_type(tokens)?;
        text = format!("{name}<{element}");
        inner = of;
        // An array's length, up to what closes the template.
        while !tokens.takes(">") {
            let token = tokens.take();
            if token.text.is_empty() {
                return Err(format!("`{name}<` has no end"));
            }
            text += token.text;
            if token.text == "," {
                text.push(' ');
            }
        }
        text.push('>');
    }
    Ok(match (name, inner) {
        ("real", _) => (text, Type::Real),
        ("f32", _) => (text, Type::Single),
        ("u32", _) => (text, Type::Unsigned),
        ("i32", _) => (text, Type::Signed),
        ("bool", _) => (text, Type::Bool),
        ("vec2", Type::Real) => ("Pair".into(), Type::Pair),
        ("vec3" | "vec4", Type::Real) => return Err(format!("`{text}` has no double-float form")),
        ("vec2" | "vec3" | "vec4", of) => (text, Type::Vector(of.into())),
        ("array", of) => (text, Type::Array(of.into())),
        _ => (text, Type::Struct(name.into())),
    })
}

impl Globals {
    /// The slot of a buffer of reals.
    pub fn slot(&self, buffer: &str) -> Result<usize, String> {
        self.slots.get(buffer).copied().ok_or_else(|| format!("`{buffer}` is no buffer of reals"))
    }

    /// Notes the functions and structs of a text, wherever in it they are, but for those that the library has.
    pub fn note(&mut self, text: &str) -> Result<(), String> {
        let mut tokens = Tokens::new(text);
        let mut slot = 0;
        while !tokens.peek().is_empty() {
            match tokens.take().text {
                "fn" => {
                    let name = tokens.name()?.to_string();
                    tokens.expect("(")?;
                    let takes = read_fields(&mut tokens, ")")?.into_iter().map(|(_, of)| of).collect();
                    let gives = if tokens.takes("->") { read_type(&mut tokens)?.1 } else { Type::Nothing };
                    if !self.library.contains(&name) {
                        self.functions.insert(name, Function { takes, gives });
                    }
                }
                "struct" => {
                    let name = tokens.name()?.to_string();
                    tokens.expect("{")?;
                    let fields = read_fields(&mut tokens, "}")?;
                    if !self.library.contains(&name) {
                        self.structs.insert(name, fields);
                    }
                }
                "binding" if tokens.takes("(") => slot = tokens.take().text.parse().map_err(|_| "a binding without a number")?,
                "var" if tokens.takes("<") => {
                    let is_storage = tokens.peek() == "storage";
                    tokens.skip_past(">");
                    let name = tokens.name()?.to_string();
                    tokens.expect(":")?;
                    let of = match read_type(&mut tokens)?.1 {
                        Type::Array(of) if is_storage && *of == Type::Real => {
                            self.slots.insert(name.clone(), slot);
                            Type::Buffer(name.clone())
                        }
                        other => other,
                    };
                    self.variables.insert(name, of);
                }
                "const" if tokens.ahead(1).text == ":" => {
                    let name = tokens.name()?.to_string();
                    tokens.expect(":")?;
                    self.variables.insert(name, read_type(&mut tokens)?.1);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// `name: type` one after the other, with attributes, up to what closes them.
fn read_fields(tokens: &mut Tokens, end: &str) -> Result<Vec<(String, Type)>, String> {
    let mut fields = Vec::new();
    while !tokens.takes(end) {
        while tokens.takes("@") {
            tokens.name()?;
            if tokens.takes("(") {
                while !tokens.takes(")") {
                    tokens.take();
                }
            }
        }
        let name = tokens.name()?.to_string();
        tokens.expect(":")?;
        fields.push((name, read_type(tokens)?.1));
        tokens.takes(",");
    }
    Ok(fields)
}

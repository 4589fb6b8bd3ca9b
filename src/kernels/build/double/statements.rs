//! Declarations and statements.

use super::expressions::Value;
use super::types::{Type, read_type};
use super::{Declaration, Writer};
use crate::operations::Lines;
use std::collections::HashMap;
use std::fmt::Write;

impl Writer<'_> {
    pub fn module(&mut self) -> Result<(), String> {
        loop {
            let (keyword, name) = (self.tokens.peek(), self.tokens.ahead(1).text);
            let is_left_out = self.globals.library.contains(name);
            match keyword {
                "" => return Ok(()),
                "fn" | "struct" if is_left_out => self.tokens.skip_block(),
                "const" if is_left_out => self.tokens.skip_past(";"),
                "@" => self.attributed()?,
                "var" => self.global()?,
                "const" => self.constant()?,
                "struct" => self.structure()?,
                "fn" => self.function("")?,
                other => return Err(format!("`{other}` begins no declaration that is known here")),
            }
            let text = std::mem::take(&mut self.out).trim_end().to_string();
            if !text.is_empty() {
                self.declarations.push(Declaration { text, called: std::mem::take(&mut self.called) });
            }
        }
    }

    /// A binding or the entry point.
    fn attributed(&mut self) -> Result<(), String> {
        let text = self.attributes()?;
        match self.tokens.peek() {
            "var" => {
                let _ = write!(self.out, "{text}");
                self.global()
            }
            _ => self.function(&text),
        }
    }

    /// Attributes as they are.
    fn attributes(&mut self) -> Result<String, String> {
        let mut text = String::new();
        while self.tokens.takes("@") {
            let name = self.tokens.name()?;
            let _ = write!(text, "@{name}");
            if self.tokens.takes("(") {
                text.push('(');
                while !self.tokens.takes(")") {
                    let token = self.tokens.take();
                    if token.text.is_empty() {
                        return Err(format!("`@{name}(` has no end"));
                    }
                    text += token.text;
                }
                text.push(')');
            }
            text.push(' ');
        }
        Ok(text)
    }

    /// A variable of the module: a binding, or memory of a workgroup or an invocation.
    fn global(&mut self) -> Result<(), String> {
        self.tokens.expect("var")?;
        self.tokens.expect("<")?;
        let mut space = String::new();
        while !self.tokens.takes(">") {
            match self.tokens.take().text {
                "" => return Err("`var<` has no end".into()),
                text => space += text,
            }
        }
        let name = self.tokens.name()?;
        self.tokens.expect(":")?;
        let (text, of) = read_type(&mut self.tokens)?;
        self.tokens.expect(";")?;
        let is_reals = of == Type::Array(Type::Real.into()) && space.starts_with("storage");
        let text = if is_reals { "array<f32>" } else { &text };
        let _ = writeln!(self.out, "var<{space}> {name}: {text};");
        Ok(())
    }

    fn structure(&mut self) -> Result<(), String> {
        self.tokens.expect("struct")?;
        let name = self.tokens.name()?;
        self.tokens.expect("{")?;
        let _ = writeln!(self.out, "struct {name} {{");
        while !self.tokens.takes("}") {
            let field = self.tokens.name()?;
            self.tokens.expect(":")?;
            let (of, _) = read_type(&mut self.tokens)?;
            self.tokens.takes(",");
            let _ = writeln!(self.out, "    {field}: {of},");
        }
        let _ = writeln!(self.out, "}}");
        Ok(())
    }

    fn function(&mut self, attributes: &str) -> Result<(), String> {
        self.tokens.expect("fn")?;
        let name = self.tokens.name()?;
        self.tokens.expect("(")?;
        self.scopes.push(HashMap::new());
        self.lines = Lines::default();
        let mut parameters = Vec::new();
        while !self.tokens.takes(")") {
            let attributes = self.attributes()?;
            let parameter = self.tokens.name()?;
            self.tokens.expect(":")?;
            let (text, of) = read_type(&mut self.tokens)?;
            self.tokens.takes(",");
            parameters.push(format!("{attributes}{parameter}: {text}"));
            self.declare(parameter, of);
        }
        let mut gives = String::new();
        self.gives = Type::Nothing;
        if self.tokens.takes("->") {
            let (text, of) = read_type(&mut self.tokens)?;
            (gives, self.gives) = (format!(" -> {text}"), of);
        }
        let _ = write!(self.out, "{attributes}fn {name}({}){gives} ", parameters.join(", "));
        self.block()?;
        self.out.push('\n');
        self.scopes.pop();
        Ok(())
    }

    fn block(&mut self) -> Result<(), String> {
        self.tokens.expect("{")?;
        self.scopes.push(HashMap::new());
        self.out += "{\n";
        while !self.tokens.takes("}") {
            self.statement()?;
            if !self.out.ends_with('\n') {
                self.out.push('\n');
            }
        }
        self.out += "}";
        self.scopes.pop();
        Ok(())
    }

    fn statement(&mut self) -> Result<(), String> {
        let start = self.out.len();
        self.written_statement(start)?;
        self.put_before(start);
        Ok(())
    }

    /// Puts what the expressions of a statement need before it.
    fn put_before(&mut self, start: usize) {
        let before = std::mem::take(&mut self.lines.text);
        self.out.insert_str(start, &before);
    }

    /// An expression in the head of a loop.
    fn again(&mut self, read: impl FnOnce(&mut Self) -> Result<(), String>) -> Result<(), String> {
        let writes_out = std::mem::replace(&mut self.writes_out, false);
        read(self)?;
        self.writes_out = writes_out;
        Ok(())
    }

    fn written_statement(&mut self, start: usize) -> Result<(), String> {
        match self.tokens.peek() {
            "{" => return self.block(),
            ";" => {
                self.tokens.take();
                return Ok(());
            }
            "if" => return self.choice(start),
            "for" => return self.counted(),
            "switch" => return self.cases(start),
            "loop" => {
                self.tokens.take();
                self.out += "loop ";
                return self.block();
            }
            "while" => {
                self.tokens.take();
                self.again(|writer| {
                    let condition = writer.expression()?;
                    let _ = write!(writer.out, "while {} ", bracketed(&condition));
                    Ok(())
                })?;
                return self.block();
            }
            "const" => return self.constant(),
            "return" => {
                self.tokens.take();
                if self.tokens.peek() == ";" {
                    self.out += "return";
                } else {
                    let value = self.expression()?.converted(&self.gives)?;
                    let _ = write!(self.out, "return {value}");
                }
            }
            "break" | "continue" => self.out += self.tokens.take().text,
            _ => self.simple()?,
        }
        self.tokens.expect(";")?;
        // A store is a line of its own.
        if self.out.len() > start {
            self.out.push(';');
        }
        Ok(())
    }

    /// What may also stand in the head of a `for`: a declaration, an assignment or a call.
    fn simple(&mut self) -> Result<(), String> {
        let keyword = self.tokens.peek();
        if matches!(keyword, "let" | "var") {
            self.tokens.take();
            let name = self.tokens.name()?;
            let declared = if self.tokens.takes(":") { Some(read_type(&mut self.tokens)?) } else { None };
            let value = if self.tokens.takes("=") { Some(self.expression()?) } else { None };
            let (of, text) = match (&declared, &value) {
                (Some((_, of)), Some(value)) => (of.clone(), value.converted(of)?),
                (Some((_, of)), None) => (of.clone(), String::new()),
                // Without a type it would be an f32.
                (None, Some(value)) if value.of == Type::Float => (Type::Real, value.real()?),
                (None, Some(value)) if value.of == Type::Integer => (Type::Signed, value.text.clone()),
                (None, Some(value)) => (value.of.clone(), value.text.clone()),
                (None, None) => return Err(format!("`{name}` has neither a type nor a value")),
            };
            let annotation = declared.map_or(String::new(), |(text, _)| format!(": {text}"));
            let assigned = if value.is_some() { format!(" = {text}") } else { String::new() };
            let _ = write!(self.out, "{keyword} {name}{annotation}{assigned}");
            self.declare(name, of);
            return Ok(());
        }
        if self.tokens.takes("_") {
            self.tokens.expect("=")?;
            let value = self.expression()?;
            let _ = write!(self.out, "_ = {}", value.text);
            return Ok(());
        }
        self.is_target = true;
        let target = self.postfix()?;
        self.is_target = false;
        match self.tokens.peek() {
            "++" | "--" => {
                let _ = write!(self.out, "{}{}", target.text, self.tokens.take().text);
            }
            "=" => {
                self.tokens.take();
                let value = self.expression()?;
                self.assign(&target, &value)?;
            }
            symbol if symbol.len() > 1 && symbol.ends_with('=') && !matches!(symbol, "==" | "!=" | "<=") => {
                self.tokens.take();
                let target = match &target.place {
                    Some((buffer, index)) => self.element(buffer, index)?,
                    None => target,
                };
                let value = self.expression()?;
                if matches!(target.of, Type::Real | Type::Pair) {
                    let value = self.operate(&symbol[..symbol.len() - 1], &target, &value)?;
                    self.assign(&target, &value)?;
                } else {
                    let _ = write!(self.out, "{} {symbol} {}", target.text, value.text);
                }
            }
            _ => {
                let _ = write!(self.out, "{}", target.text);
            }
        }
        Ok(())
    }

    fn assign(&mut self, target: &Value, value: &Value) -> Result<(), String> {
        let text = value.converted(&target.of)?;
        match &target.place {
            Some(_) if !self.writes_out => return Err("the head of a loop stores to a buffer".into()),
            Some((buffer, index)) => {
                let slot = self.globals.slot(buffer)?;
                let at = self.lines.place(index);
                let parts = self.parts(&Value { of: Type::Real, text, parts: value.parts.clone(), ..value.clone() })?;
                self.lines.store(buffer, slot, &at, &parts);
            }
            None => {
                let _ = write!(self.out, "{} = {text}", target.text);
            }
        }
        Ok(())
    }

    /// `const`, in a module or a function.
    fn constant(&mut self) -> Result<(), String> {
        self.tokens.expect("const")?;
        let name = self.tokens.name()?;
        let declared = if self.tokens.takes(":") { Some(read_type(&mut self.tokens)?) } else { None };
        self.tokens.expect("=")?;
        let mut value = None;
        self.again(|writer| {
            value = Some(writer.expression()?);
            Ok(())
        })?;
        let value = value.expect("what was read");
        self.tokens.expect(";")?;
        let of = declared.as_ref().map_or(value.of.clone(), |(_, of)| of.clone());
        let annotation = declared.map_or(String::new(), |(text, _)| format!(": {text}"));
        let _ = write!(self.out, "const {name}{annotation} = {};", value.converted(&of)?);
        let constant = value.constant.filter(|_| matches!(of, Type::Float | Type::Integer));
        self.declare_literal(name, of, constant);
        Ok(())
    }

    fn choice(&mut self, start: usize) -> Result<(), String> {
        self.tokens.expect("if")?;
        let condition = self.expression()?;
        let _ = write!(self.out, "if {} ", bracketed(&condition));
        self.put_before(start);
        self.block()?;
        if !self.tokens.takes("else") {
            return Ok(());
        }
        self.out += " else ";
        if self.tokens.peek() != "if" {
            return self.block();
        }
        // What its condition needs stands within.
        self.out += "{\n";
        let start = self.out.len();
        self.choice(start)?;
        self.out += "\n}";
        Ok(())
    }

    fn counted(&mut self) -> Result<(), String> {
        self.tokens.expect("for")?;
        self.tokens.expect("(")?;
        self.scopes.push(HashMap::new());
        self.again(|writer| {
            writer.out += "for (";
            if writer.tokens.peek() != ";" {
                writer.simple()?;
            }
            writer.tokens.expect(";")?;
            writer.out += "; ";
            if writer.tokens.peek() != ";" {
                let condition = writer.expression()?;
                writer.out += &condition.text;
            }
            writer.tokens.expect(";")?;
            writer.out += "; ";
            if writer.tokens.peek() != ")" {
                writer.simple()?;
            }
            writer.tokens.expect(")")?;
            writer.out += ") ";
            Ok(())
        })?;
        self.block()?;
        self.scopes.pop();
        Ok(())
    }

    fn cases(&mut self, start: usize) -> Result<(), String> {
        self.tokens.expect("switch")?;
        let of = self.expression()?;
        let _ = writeln!(self.out, "switch {} {{", bracketed(&of));
        self.put_before(start);
        self.tokens.expect("{")?;
        while !self.tokens.takes("}") {
            if self.tokens.takes("default") {
                self.out += "default";
            } else {
                self.tokens.expect("case")?;
                let mut values = vec![self.expression()?.text];
                while self.tokens.takes(",") && self.tokens.peek() != ":" {
                    values.push(self.expression()?.text);
                }
                let _ = write!(self.out, "case {}", values.join(", "));
            }
            self.tokens.takes(":");
            self.out += ": ";
            self.block()?;
            self.out.push('\n');
        }
        self.out += "}";
        Ok(())
    }
}

fn bracketed(value: &Value) -> String {
    format!("({})", value.text)
}

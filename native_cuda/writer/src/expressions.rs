//! Expressions of a function: values, and places in memory.

use crate::types::scalar;
use crate::{WriteError, Writer, named, unsupported};
use naga::valid::FunctionInfo;
use naga::{
    AddressSpace, Arena, ArraySize, BinaryOperator as B, Expression as E, Function, Handle, Literal, LocalVariable, MathFunction as M,
    RelationalFunction, ScalarKind, Type, TypeInner, UnaryOperator,
};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// A function being written, or the constants of the module.
pub(crate) struct Scope<'w, 'a> {
    pub writer: &'w Writer<'a>,
    pub(crate) function: Option<(&'a Function, &'a FunctionInfo)>,
    /// For messages.
    pub place: String,
    /// Expressions that have a name of their own by now.
    named: HashMap<Handle<naga::Expression>, String>,
    /// What the body of a loop will compute, while the block between its rounds is being written, which stands before the body: whether
    /// that block uses it.
    awaited: HashMap<Handle<naga::Expression>, Cell<bool>>,
    /// What has been declared before the loop that computes it.
    declared: HashSet<Handle<naga::Expression>>,
    pub out: String,
    pub depth: usize,
}

type Expr = Handle<naga::Expression>;

impl<'w, 'a> Scope<'w, 'a> {
    pub fn of_module(writer: &'w Writer<'a>) -> Self {
        Self::new(writer, None, "a constant".into(), 0)
    }

    pub fn of_function(writer: &'w Writer<'a>, function: &'a Function, info: &'a FunctionInfo, place: String) -> Self {
        Self::new(writer, Some((function, info)), place, 1)
    }

    fn new(writer: &'w Writer<'a>, function: Option<(&'a Function, &'a FunctionInfo)>, place: String, depth: usize) -> Self {
        let (named, awaited, declared) = (HashMap::new(), HashMap::new(), HashSet::new());
        Self { writer, function, place, named, awaited, declared, out: String::new(), depth }
    }

    pub fn finish(self) -> String {
        self.out
    }

    pub fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:width$}{text}", "", width = 4 * self.depth);
    }

    fn expressions(&self) -> &'a Arena<naga::Expression> {
        self.function.map_or(&self.writer.module.global_expressions, |(function, _)| &function.expressions)
    }

    pub fn inner(&self, expr: Expr) -> &'a TypeInner {
        let types = &self.writer.module.types;
        match self.function {
            Some((_, info)) => info[expr].ty.inner_with(types),
            None => self.writer.info[expr].inner_with(types),
        }
    }

    /// The type of a value as C++ has it.
    pub fn type_name(&self, expr: Expr) -> Result<String, WriteError> {
        match self.function.and_then(|(_, info)| info[expr].ty.handle()) {
            Some(ty) => self.writer.types.name(ty),
            None => self.writer.types.inner(self.inner(expr)),
        }
    }

    fn unsupported(&self, what: impl Into<String>) -> WriteError {
        unsupported(what.into(), &self.place)
    }

    pub fn local(&self, handle: Handle<LocalVariable>) -> String {
        let name = self.function.and_then(|(function, _)| function.local_variables[handle].name.as_ref());
        named('l', handle.index(), name)
    }

    /// Declares local variables, which begin as 0.
    pub fn locals(&mut self) -> Result<(), WriteError> {
        let Some((function, _)) = self.function else { return Ok(()) };
        for (handle, variable) in function.local_variables.iter() {
            let value = match variable.init {
                Some(init) => self.value(init)?,
                None => "{}".into(),
            };
            let text = format!("{} {} = {value};", self.writer.types.name(variable.ty)?, self.local(handle));
            self.line(&text);
        }
        Ok(())
    }

    /// Declares a private variable of the module, of which every invocation has its own.
    pub fn private(&mut self, handle: Handle<naga::GlobalVariable>) -> Result<(), WriteError> {
        let variable = &self.writer.module.global_variables[handle];
        let value = variable.init.map_or(Ok("{}".into()), |init| Scope::of_module(self.writer).constant_expression(init))?;
        let text = format!("{} {} = {value};", self.writer.types.name(variable.ty)?, self.writer.global(handle));
        self.line(&text);
        Ok(())
    }

    pub fn constant_expression(&self, expr: Expr) -> Result<String, WriteError> {
        self.value(expr)
    }

    /// Evaluates an expression where naga says so.
    pub fn emit(&mut self, expr: Expr) -> Result<(), WriteError> {
        if self.is_written_where_used(expr) {
            return Ok(());
        }
        let value = self.value(expr)?;
        self.define(expr, &value)
    }

    /// What is a place, or as short as a name for it.
    fn is_written_where_used(&self, expr: Expr) -> bool {
        matches!(self.inner(expr), TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. })
            || matches!(self.expressions()[expr], E::ArrayLength(_) | E::ZeroValue(_) | E::Literal(_) | E::Constant(_))
    }

    /// Gives an expression, or the result of a statement, its value and the name that it is known by from here on.
    pub fn define(&mut self, expr: Expr, value: &str) -> Result<(), WriteError> {
        let name = name_of(expr);
        if self.declared.contains(&expr) {
            self.line(&format!("{name} = {value};"));
        } else {
            let ty = self.type_name(expr)?;
            self.line(&format!("const {ty} {name} = {value};"));
        }
        self.named.insert(expr, name);
        Ok(())
    }

    /// From here on, what is written may use these values, which are computed later.
    pub fn await_values(&mut self, values: &[Expr]) {
        let awaited: Vec<Expr> = values.iter().copied().filter(|&expr| !self.is_written_where_used(expr)).collect();
        self.awaited.extend(awaited.into_iter().map(|expr| (expr, Cell::new(false))));
    }

    /// Declares those awaited values that were used, at `at` in the text: ahead of both their computation and their use.
    pub fn declare_awaited(&mut self, values: &[Expr], at: usize) -> Result<(), WriteError> {
        let mut declarations = String::new();
        for &expr in values {
            if self.awaited.remove(&expr).is_some_and(|used| used.get()) {
                let _ = writeln!(declarations, "{:width$}{} {}{{}};", "", self.type_name(expr)?, name_of(expr), width = 4 * self.depth);
                self.declared.insert(expr);
            }
        }
        self.out.insert_str(at, &declarations);
        Ok(())
    }

    /// An expression that names what lies in memory.
    pub fn place(&self, expr: Expr) -> Result<String, WriteError> {
        Ok(match self.expressions()[expr] {
            E::GlobalVariable(handle) => {
                let name = self.writer.global(handle);
                match self.writer.module.global_variables[handle].space {
                    // A buffer that is no array of any length is one element.
                    AddressSpace::Storage { .. } if !self.is_dynamic(expr) => format!("{name}[0]"),
                    _ => name,
                }
            }
            E::LocalVariable(handle) => self.local(handle),
            E::FunctionArgument(number) => self.argument(number),
            E::Access { base, index } => {
                let (of, index) = (self.place(base)?, self.index(base, index)?);
                self.component(&of, self.pointee(base)?, &index)?
            }
            E::AccessIndex { base, index } => {
                let of = self.place(base)?;
                match self.pointee(base)? {
                    Pointee::Type(ty) if matches!(self.writer.module.types[ty].inner, TypeInner::Struct { .. }) => {
                        format!("{of}.{}", self.writer.types.member(ty, index))
                    }
                    pointee => self.component(&of, pointee, &self.literal_index(base, index)?)?,
                }
            }
            ref other => return Err(self.unsupported(format!("a pointer made by {other:?}"))),
        })
    }

    fn is_dynamic(&self, expr: Expr) -> bool {
        let TypeInner::Pointer { base, .. } = *self.inner(expr) else { return false };
        matches!(self.writer.module.types[base].inner, TypeInner::Array { size: ArraySize::Dynamic, .. })
    }

    fn pointee(&self, expr: Expr) -> Result<Pointee, WriteError> {
        match *self.inner(expr) {
            TypeInner::Pointer { base, .. } => Ok(Pointee::Type(base)),
            TypeInner::ValuePointer { size: Some(_), .. } => Ok(Pointee::Vector),
            ref other => Err(self.unsupported(format!("an access to {other:?}"))),
        }
    }

    fn component(&self, of: &str, pointee: Pointee, index: &str) -> Result<String, WriteError> {
        let Pointee::Type(ty) = pointee else { return Ok(format!("{of}.v[{index}]")) };
        self.component_of(of, &self.writer.module.types[ty].inner, index)
    }

    fn component_of(&self, of: &str, inner: &TypeInner, index: &str) -> Result<String, WriteError> {
        Ok(match inner {
            TypeInner::Array { size: ArraySize::Dynamic, .. } => format!("{of}[{index}]"),
            TypeInner::Array { .. } => format!("{of}.e[{index}]"),
            TypeInner::Vector { .. } => format!("{of}.v[{index}]"),
            TypeInner::Matrix { .. } => format!("{of}.c[{index}]"),
            other => return Err(self.unsupported(format!("an index into {other:?}"))),
        })
    }

    /// How many elements an index may choose from, as C++.
    fn bound(&self, base: Expr) -> Result<String, WriteError> {
        let inner = match *self.inner(base) {
            TypeInner::Pointer { base, .. } => &self.writer.module.types[base].inner,
            TypeInner::ValuePointer { size: Some(size), .. } => return Ok(format!("{}u", size as u32)),
            ref inner => inner,
        };
        Ok(match *inner {
            TypeInner::Array { size: ArraySize::Constant(count), .. } => format!("{count}u"),
            TypeInner::Array { .. } => format!("{}_count", self.place(base)?),
            TypeInner::Vector { size, .. } => format!("{}u", size as u32),
            TypeInner::Matrix { columns, .. } => format!("{}u", columns as u32),
            ref other => return Err(self.unsupported(format!("an index into {other:?}"))),
        })
    }

    fn index(&self, base: Expr, index: Expr) -> Result<String, WriteError> {
        let value = self.value(index)?;
        Ok(if self.writer.options.bounds_checks { format!("within({value}, {})", self.bound(base)?) } else { value })
    }

    /// An index that is known: only an array of any length may be shorter.
    fn literal_index(&self, base: Expr, index: u32) -> Result<String, WriteError> {
        let checked = self.writer.options.bounds_checks && self.is_dynamic(base);
        Ok(if checked { format!("within({index}u, {})", self.bound(base)?) } else { format!("{index}") })
    }

    fn argument(&self, number: u32) -> String {
        let name = self.function.and_then(|(function, _)| function.arguments[number as usize].name.as_ref());
        named('a', number as usize, name)
    }

    pub fn value(&self, expr: Expr) -> Result<String, WriteError> {
        if let Some(name) = self.named.get(&expr) {
            return Ok(name.clone());
        }
        if let Some(used) = self.awaited.get(&expr) {
            used.set(true);
            return Ok(name_of(expr));
        }
        let types = &self.writer.types;
        Ok(match self.expressions()[expr] {
            E::Literal(literal) => self.literal(literal)?,
            E::Constant(handle) => named('c', handle.index(), self.writer.module.constants[handle].name.as_ref()),
            E::ZeroValue(ty) => format!("{}{{}}", types.name(ty)?),
            E::Compose { ty, ref components } => self.compose(ty, components)?,
            E::Splat { size, value } => {
                let of = self.inner(value).scalar().ok_or_else(|| self.unsupported("a splat of no scalar"))?;
                format!("splat<{}, {}>({})", scalar(of)?, size as u32, self.value(value)?)
            }
            E::Swizzle { size, vector, pattern } => {
                let of = self.value(vector)?;
                let parts: Vec<String> = pattern[..size as usize].iter().map(|&part| format!("{of}.v[{}]", part as u32)).collect();
                format!("{}{{{{{}}}}}", self.type_name(expr)?, parts.join(", "))
            }
            E::FunctionArgument(number) => self.argument(number),
            E::Load { pointer } => {
                let place = self.place(pointer)?;
                if self.is_atomic(pointer) { format!("atomic_load(&{place})") } else { place }
            }
            E::Access { base, index } => self.component_of(&self.value(base)?, self.inner(base), &self.index(base, index)?)?,
            E::AccessIndex { base, index } => match (self.inner(base), self.handle(base)) {
                (TypeInner::Struct { .. }, Some(ty)) => format!("{}.{}", self.value(base)?, types.member(ty, index)),
                (inner, _) => self.component_of(&self.value(base)?, inner, &index.to_string())?,
            },
            E::Unary { op, expr } => {
                let name = match op {
                    UnaryOperator::Negate => "op_neg",
                    UnaryOperator::LogicalNot => "op_not",
                    UnaryOperator::BitwiseNot => "op_flip",
                };
                format!("{name}({})", self.value(expr)?)
            }
            E::Binary { op, left, right } => self.binary(op, left, right)?,
            E::Select { condition, accept, reject } => {
                format!("choose({}, {}, {})", self.value(condition)?, self.value(accept)?, self.value(reject)?)
            }
            E::Relational { fun, argument } => {
                let name = match fun {
                    RelationalFunction::All => "rel_all",
                    RelationalFunction::Any => "rel_any",
                    other => return Err(self.unsupported(format!("{other:?}"))),
                };
                format!("{name}({})", self.value(argument)?)
            }
            E::Math { fun, arg, arg1, arg2, arg3 } => self.mathematics(fun, [Some(arg), arg1, arg2, arg3])?,
            E::As { expr: from, kind, convert } => self.conversion(from, kind, convert)?,
            E::ArrayLength(pointer) => format!("{}_count", self.place(pointer)?),
            // A reference, where a function takes a pointer.
            E::GlobalVariable(_) | E::LocalVariable(_) => self.place(expr)?,
            ref other => return Err(self.unsupported(format!("{other:?}"))),
        })
    }

    fn handle(&self, expr: Expr) -> Option<Handle<Type>> {
        match self.function {
            Some((_, info)) => info[expr].ty.handle(),
            None => self.writer.info[expr].handle(),
        }
    }

    pub fn is_atomic(&self, pointer: Expr) -> bool {
        let TypeInner::Pointer { base, .. } = *self.inner(pointer) else { return false };
        matches!(self.writer.module.types[base].inner, TypeInner::Atomic(_))
    }

    /// Vectors may be composed of vectors: their components, one by one.
    fn compose(&self, ty: Handle<Type>, components: &[Expr]) -> Result<String, WriteError> {
        let is_vector = matches!(self.writer.module.types[ty].inner, TypeInner::Vector { .. });
        let mut parts = Vec::new();
        for &component in components {
            let value = self.value(component)?;
            match *self.inner(component) {
                TypeInner::Vector { size, .. } if is_vector => parts.extend((0..size as u32).map(|k| format!("{value}.v[{k}]"))),
                _ => parts.push(value),
            }
        }
        self.writer.types.composed(ty, &parts)
    }

    fn literal(&self, literal: Literal) -> Result<String, WriteError> {
        Ok(match literal {
            // With an exponent C++ sees a real number, whatever its digits.
            Literal::F64(value) => format!("{value:e}"),
            Literal::F32(value) => format!("{value:e}f"),
            Literal::U32(value) => format!("{value}u"),
            Literal::I32(i32::MIN) => "i32(0x80000000u)".into(),
            Literal::I32(value) => format!("{value}"),
            Literal::U64(value) => format!("{value}ull"),
            Literal::I64(i64::MIN) => "i64(1ull << 63)".into(),
            Literal::I64(value) => format!("{value}ll"),
            Literal::Bool(value) => format!("{value}"),
            other => return Err(self.unsupported(format!("the literal {other:?}"))),
        })
    }

    fn binary(&self, op: B, left: Expr, right: Expr) -> Result<String, WriteError> {
        let (a, b) = (self.value(left)?, self.value(right)?);
        let is_vector = matches!(self.inner(left), TypeInner::Vector { .. });
        let name = match op {
            B::Add => "op_add",
            B::Subtract => "op_sub",
            B::Multiply => "op_mul",
            B::Divide => "op_div",
            B::Modulo => "op_rem",
            B::Equal => "op_eq",
            B::NotEqual => "op_ne",
            B::Less => "op_lt",
            B::LessEqual => "op_le",
            B::Greater => "op_gt",
            B::GreaterEqual => "op_ge",
            B::And => "op_and",
            B::ExclusiveOr => "op_xor",
            B::InclusiveOr => "op_or",
            B::LogicalAnd if !is_vector => return Ok(format!("({a} && {b})")),
            B::LogicalOr if !is_vector => return Ok(format!("({a} || {b})")),
            B::LogicalAnd => "op_and",
            B::LogicalOr => "op_or",
            B::ShiftLeft => "op_shl",
            B::ShiftRight => "op_shr",
        };
        Ok(format!("{name}({a}, {b})"))
    }

    fn mathematics(&self, fun: M, arguments: [Option<Expr>; 4]) -> Result<String, WriteError> {
        let name = match fun {
            M::Abs => "abs",
            M::Min => "min",
            M::Max => "max",
            M::Clamp => "clamp",
            M::Saturate => "saturate",
            M::Cos => "cos",
            M::Cosh => "cosh",
            M::Sin => "sin",
            M::Sinh => "sinh",
            M::Tan => "tan",
            M::Tanh => "tanh",
            M::Acos => "acos",
            M::Asin => "asin",
            M::Atan => "atan",
            M::Atan2 => "atan2",
            M::Asinh => "asinh",
            M::Acosh => "acosh",
            M::Atanh => "atanh",
            M::Radians => "radians",
            M::Degrees => "degrees",
            M::Ceil => "ceil",
            M::Floor => "floor",
            M::Round => "round",
            M::Fract => "fract",
            M::Trunc => "trunc",
            M::Exp => "exp",
            M::Exp2 => "exp2",
            M::Log => "log",
            M::Log2 => "log2",
            M::Pow => "pow",
            M::Dot => "dot",
            M::Cross => "cross",
            M::Distance => "distance",
            M::Length => "length",
            M::Normalize => "normalize",
            M::Sign => "sign",
            M::Fma => "fma",
            M::Mix => "mix",
            M::Step => "step",
            M::SmoothStep => "smoothstep",
            M::Sqrt => "sqrt",
            M::InverseSqrt => "rsqrt",
            M::Transpose => "transpose",
            M::Determinant => "determinant",
            M::QuantizeToF16 => "quantize_f16",
            M::CountTrailingZeros => "count_trailing_zeros",
            M::CountLeadingZeros => "count_leading_zeros",
            M::CountOneBits => "count_one_bits",
            M::ReverseBits => "reverse_bits",
            M::ExtractBits => "extract_bits",
            M::InsertBits => "insert_bits",
            M::FirstTrailingBit => "first_trailing_bit",
            M::FirstLeadingBit => "first_leading_bit",
            M::Pack2x16float => "pack2x16float",
            M::Unpack2x16float => "unpack2x16float",
            other => return Err(self.unsupported(format!("the function {other:?}"))),
        };
        let values: Result<Vec<String>, WriteError> = arguments.into_iter().flatten().map(|argument| self.value(argument)).collect();
        Ok(format!("m_{name}({})", values?.join(", ")))
    }

    fn conversion(&self, from: Expr, kind: ScalarKind, width: Option<u8>) -> Result<String, WriteError> {
        let value = self.value(from)?;
        let (size, of) = match *self.inner(from) {
            TypeInner::Scalar(of) => (None, of),
            TypeInner::Vector { size, scalar: of } => (Some(size as u32), of),
            TypeInner::Matrix { .. } => return Err(self.unsupported("a conversion of matrices")),
            ref other => return Err(self.unsupported(format!("a conversion of {other:?}"))),
        };
        let to = scalar(naga::Scalar { kind, width: width.unwrap_or(of.width) })?;
        Ok(match (width, size) {
            (Some(_), _) => format!("convert<{to}>({value})"),
            (None, None) => format!("bit_cast<{to}>({value})"),
            (None, Some(size)) => format!("bit_cast<Vec<{to}, {size}>>({value})"),
        })
    }
}

pub(crate) fn name_of(expr: Expr) -> String {
    format!("e{}", expr.index())
}

enum Pointee {
    Type(Handle<Type>),
    Vector,
}

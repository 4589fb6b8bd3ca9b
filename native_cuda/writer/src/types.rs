//! Types: WGSL's names, sizes and layouts in C++.

use crate::{WriteError, named, unsupported};
use naga::proc::Layouter;
use naga::{ArraySize, Handle, Module, Scalar, ScalarKind, Type, TypeInner};
use std::fmt::Write;

pub(crate) struct Types<'a> {
    module: &'a Module,
    layouter: Layouter,
}

/// A scalar's name, which is its length in bytes as well.
pub(crate) fn scalar(of: Scalar) -> Result<&'static str, WriteError> {
    Ok(match (of.kind, of.width) {
        (ScalarKind::Float, 4) => "f32",
        (ScalarKind::Float, 8) => "f64",
        (ScalarKind::Uint, 4) => "u32",
        (ScalarKind::Sint, 4) => "i32",
        (ScalarKind::Uint, 8) => "u64",
        (ScalarKind::Sint, 8) => "i64",
        (ScalarKind::Bool, _) => "bool",
        _ => return Err(unsupported(format!("the scalar type {of:?}"), "a type")),
    })
}

impl<'a> Types<'a> {
    pub fn new(module: &'a Module) -> Result<Self, WriteError> {
        let mut layouter = Layouter::default();
        layouter.update(module.to_ctx()).map_err(|error| unsupported(error.to_string(), "a type"))?;
        Ok(Self { module, layouter })
    }

    pub fn size(&self, ty: Handle<Type>) -> u32 {
        self.layouter[ty].size
    }

    pub fn name(&self, ty: Handle<Type>) -> Result<String, WriteError> {
        match &self.module.types[ty].inner {
            TypeInner::Struct { .. } => Ok(self.structure(ty)),
            inner => self.inner(inner),
        }
    }

    fn structure(&self, ty: Handle<Type>) -> String {
        named('S', ty.index(), self.module.types[ty].name.as_ref())
    }

    pub fn member(&self, ty: Handle<Type>, number: u32) -> String {
        let TypeInner::Struct { members, .. } = &self.module.types[ty].inner else { return String::new() };
        named('m', number as usize, members[number as usize].name.as_ref())
    }

    /// The name of a type that is no structure.
    pub fn inner(&self, inner: &TypeInner) -> Result<String, WriteError> {
        Ok(match *inner {
            TypeInner::Scalar(of) | TypeInner::Atomic(of) => scalar(of)?.into(),
            TypeInner::Vector { size, scalar: of } => format!("Vec<{}, {}>", scalar(of)?, size as u32),
            TypeInner::Matrix { columns, rows, scalar: of } => format!("Mat<{}, {}, {}>", scalar(of)?, columns as u32, rows as u32),
            TypeInner::Array { base, size: ArraySize::Constant(count), .. } => format!("Array<{}, {count}u>", self.name(base)?),
            TypeInner::Pointer { base, .. } => format!("{}*", self.name(base)?),
            TypeInner::ValuePointer { size: None, scalar: of, .. } => format!("{}*", scalar(of)?),
            TypeInner::ValuePointer { size: Some(size), scalar: of, .. } => format!("Vec<{}, {}>*", scalar(of)?, size as u32),
            ref other => return Err(unsupported(format!("{other:?}"), "a type")),
        })
    }

    /// How a function takes an argument: pointers as references.
    pub fn argument(&self, ty: Handle<Type>) -> Result<String, WriteError> {
        match self.module.types[ty].inner {
            TypeInner::Pointer { base, .. } => Ok(format!("{}&", self.name(base)?)),
            _ => Ok(format!("const {}", self.name(ty)?)),
        }
    }

    /// The element of a storage buffer, and its length in bytes: that of its runtime-sized array, or all of it.
    pub fn stored_element(&self, ty: Handle<Type>, place: &str) -> Result<(String, u32), WriteError> {
        let TypeInner::Array { base, size, stride } = self.module.types[ty].inner else { return Ok((self.name(ty)?, self.size(ty))) };
        if size != ArraySize::Dynamic {
            return Ok((self.name(ty)?, self.size(ty)));
        }
        self.dense(base, stride, place)?;
        Ok((self.name(base)?, stride))
    }

    /// Refuses elements with a gap after them, which an array of C++ doesn't have.
    fn dense(&self, base: Handle<Type>, stride: u32, place: &str) -> Result<(), WriteError> {
        if self.size(base) == stride {
            return Ok(());
        }
        Err(WriteError::Layout { what: format!("an array of {} every {stride} bytes", self.name(base)?), place: place.into() })
    }

    /// Structures with their gaps written out, and proof that C++ lays them out alike.
    pub fn declarations(&self) -> Result<String, WriteError> {
        let mut text = String::new();
        for (handle, ty) in self.module.types.iter() {
            match &ty.inner {
                TypeInner::Array { base, size: ArraySize::Constant(_), stride } => self.dense(*base, *stride, "an array")?,
                TypeInner::Struct { members, span } => {
                    let name = self.structure(handle);
                    let dynamic =
                        |ty: Handle<Type>| matches!(self.module.types[ty].inner, TypeInner::Array { size: ArraySize::Dynamic, .. });
                    if members.iter().any(|member| dynamic(member.ty)) {
                        return Err(unsupported("a structure that ends in an array of any length".into(), &name));
                    }
                    // Inputs of an entry point have no layout: they never lie in memory that the host sees.
                    let inputs = members.iter().any(|member| member.binding.is_some());
                    let _ = writeln!(text, "struct {name} {{");
                    let mut end = 0;
                    for (number, member) in (0..).zip(members) {
                        if !inputs && member.offset > end {
                            let _ = writeln!(text, "    unsigned char gap{number}[{}];", member.offset - end);
                        }
                        let _ = writeln!(text, "    {} {};", self.name(member.ty)?, self.member(handle, number));
                        end = member.offset + self.size(member.ty);
                    }
                    if !inputs && *span > end {
                        let _ = writeln!(text, "    unsigned char gap_at_end[{}];", span - end);
                    }
                    let _ = writeln!(text, "}};");
                    let has_bool = members.iter().any(|member| self.module.types[member.ty].inner.scalar_kind() == Some(ScalarKind::Bool));
                    if !inputs && !has_bool {
                        let _ = writeln!(text, "static_assert(sizeof({name}) == {span}, \"layout of {name}\");");
                    }
                }
                _ => {}
            }
        }
        Ok(text)
    }

    /// A value of a type from its parts.
    pub fn composed(&self, ty: Handle<Type>, parts: &[String]) -> Result<String, WriteError> {
        let name = self.name(ty)?;
        Ok(match &self.module.types[ty].inner {
            TypeInner::Struct { .. } => {
                let fields: Vec<String> = (0..).zip(parts).map(|(number, part)| format!(".{} = {part}", self.member(ty, number))).collect();
                format!("{name}{{{}}}", fields.join(", "))
            }
            TypeInner::Vector { .. } | TypeInner::Matrix { .. } | TypeInner::Array { .. } => format!("{name}{{{{{}}}}}", parts.join(", ")),
            _ => parts.join(", "),
        })
    }
}

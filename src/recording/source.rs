//! Kernels as devices are asked for them: what they are made of. A GPU makes text of it when it compiles them, and the CPU a body that it runs.

use super::{Access, DeviceError, Elements, KernelText, Reals, binding};
use leastwise_kernels::{StaticKernel, doubles};
use leastwise_program::wgsl::{self, Cut, Format};
use leastwise_program::{FitProgram, Fused, HalfProduct, MergedProgram, OwnerProgram, Program, ReducedProgram};
use std::sync::Arc;

/// The structure that a kernel's text is written of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Structure {
    /// A static kernel.
    Static(StaticKernel),
    /// A program of scalars; several modules where one would be too large.
    Program(Arc<Program>),
    /// A product by owners.
    Owner(Arc<OwnerProgram>),
    /// A product with a Schur complement.
    Reduced(Arc<ReducedProgram>),
    /// First halves of products of several batches.
    Merged(Arc<MergedProgram>),
    /// A kernel of tensors.
    Fused(Arc<Fused>),
    /// Many small fits.
    Fit(Arc<FitProgram>),
    /// A module that is there already. The CPU has no use for it.
    Text(KernelText),
}

/// The identity of a kernel: equal ones are compiled once, whatever their names.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KernelKey {
    structure: Structure,
    doubles: bool,
}

/// One kernel for every device.
#[derive(Clone)]
pub struct KernelSource {
    /// For messages, labels and statistics.
    pub name: String,
    /// What it is made of.
    pub structure: Structure,
    /// True if its reals are double-floats, whatever the device's are.
    pub doubles: bool,
    /// In what precision it is.
    pub grade: Grade,
}

/// In what precision a kernel is, where reals are not `f32`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Grade {
    /// As the device's reals are.
    #[default]
    Outer,
    /// Of inner iterations, which [in mixed precision](Reals::Mixed) are in `f32`.
    Inner,
    /// In `f32` on WebGPU, whatever else is in.
    Single,
}

impl Grade {
    /// True if kernels of this grade compute in double-floats, where reals are `reals`.
    pub fn is_double(self, reals: Reals) -> bool {
        match reals {
            Reals::Single => false,
            Reals::Double => self != Self::Single,
            Reals::Mixed => self == Self::Outer,
        }
    }
}

impl KernelSource {
    /// A kernel of one module.
    pub fn new(name: &str, wgsl: &str, access: [Access; binding::COUNT]) -> Self {
        Self::made_of(name, Structure::Text(KernelText::new(wgsl, access)))
    }

    /// The kernel of a structure.
    pub fn made_of(name: &str, structure: Structure) -> Self {
        Self { name: name.into(), structure, doubles: false, grade: Grade::Outer }
    }

    /// The kernel of a program.
    pub fn of(program: &Program) -> Self {
        let mut program = program.clone();
        program.keep_used_addresses();
        Self::made_of(&program.name.clone(), Structure::Program(program.into()))
    }

    /// The kernel of a product by owners.
    pub fn of_owner(owner: &OwnerProgram) -> Self {
        let mut owner = owner.clone();
        owner.program.keep_used_addresses();
        Self::made_of(&owner.program.name.clone(), Structure::Owner(owner.into()))
    }

    /// The kernel of a product with a Schur complement.
    pub fn of_reduced(reduced: &ReducedProgram) -> Self {
        Self::made_of(&reduced.program.name.clone(), Structure::Reduced(reduced.clone().into()))
    }

    /// The kernel of several products.
    pub fn of_merged(merged: &MergedProgram) -> Self {
        let mut merged = merged.clone();
        merged.programs.iter_mut().for_each(HalfProduct::keep_used_addresses);
        Self::made_of("merged products", Structure::Merged(merged.into()))
    }

    /// The kernel of a stage of tensors.
    pub fn of_fused(fused: &Fused) -> Self {
        Self::made_of(&fused.name, Structure::Fused(fused.clone().into()))
    }

    /// The kernel of many small fits: in `f32` on WebGPU, whatever else is computed in.
    pub fn of_fit(fit: &FitProgram) -> Self {
        Self { grade: Grade::Single, ..Self::made_of(&fit.program.name, Structure::Fit(fit.clone().into())) }
    }

    /// A static kernel.
    pub fn of_static(kernel: StaticKernel) -> Self {
        let source = Self::made_of(kernel.name(), Structure::Static(kernel));
        match kernel {
            _ if kernel.is_single() => Self { grade: Grade::Single, ..source },
            _ if kernel.is_inner() => source.of_inner(),
            _ => source,
        }
    }

    /// The same kernel where reals are double-floats ([`leastwise_kernels::doubles`]). It may be bound to buffers of either
    /// kind: what it reads of [`Kind::Real`](super::Kind::Real) has no low part, what it writes there is rounded. In pieces that are no larger to compilers.
    pub fn in_doubles(self) -> Self {
        Self { doubles: true, ..self }
    }

    /// The same kernel as one of inner iterations. What it writes must be of [`Kind::Inner`](super::Kind::Inner).
    pub fn of_inner(self) -> Self {
        Self { grade: Grade::Inner, ..self }
    }

    /// Its identity.
    pub fn key(&self) -> KernelKey {
        KernelKey { structure: self.structure.clone(), doubles: self.doubles }
    }

    fn format(&self) -> Format {
        if self.doubles { Format::Double } else { Format::Single }
    }

    /// True if it is one module.
    pub fn is_whole(&self) -> bool {
        if let Structure::Program(program) = &self.structure { wgsl::is_small(program, Cut::of(self.format())) } else { true }
    }

    /// The modules to run one after the other, with the same bindings. They are written at every call.
    ///
    /// # Errors
    /// A kernel without a text in double-floats, where its reals are these; a constant beyond their range.
    pub fn texts(&self) -> Result<Vec<KernelText>, DeviceError> {
        let format = self.format();
        let none = || format!("`{}` has no double-float form", self.name);
        let texts = match (&self.structure, format) {
            (Structure::Static(kernel), Format::Single) => Ok(vec![kernel.text()]),
            (Structure::Static(kernel), Format::Double) => doubles::text_of(*kernel).map(|text| vec![text]).ok_or_else(none),
            (Structure::Program(program), _) => wgsl::modules(program, format),
            (Structure::Owner(owner), _) => wgsl::owner_module(owner, format).map(|text| vec![text]),
            (Structure::Reduced(reduced), _) => wgsl::reduced_module(reduced, format).map(|text| vec![text]),
            (Structure::Merged(merged), _) => wgsl::merged_module(merged, format).map(|text| vec![text]),
            (Structure::Fused(fused), Format::Single) => Ok(vec![wgsl::fused_module(fused)]),
            (Structure::Fit(fit), Format::Single) => Ok(vec![wgsl::fit_module(fit)]),
            (Structure::Text(text), _) if text.is_double == self.doubles => Ok(vec![text.clone()]),
            (Structure::Fused(_) | Structure::Fit(_) | Structure::Text(_), _) => Err(none()),
        };
        let texts = texts.map_err(|message| DeviceError::Kernel { kernel: self.name.clone(), message })?;
        debug_assert!(self.declares(&texts), "`{}` is said to use other slots than its text does", self.name);
        Ok(texts)
    }

    /// Whether all of these together use the slots that the structure says, for the elements that it says.
    fn declares(&self, texts: &[KernelText]) -> bool {
        let used = |slot: usize| texts.iter().map(|text| text.access[slot]).max().unwrap_or(Access::Unused);
        let elements = |slot: usize| texts.iter().find_map(|text| declared(&text.wgsl)[slot]);
        let (access, said) = (self.access(), self.elements());
        (1..binding::COUNT).all(|slot| used(slot) == access[slot] && elements(slot) == said[slot]) && self.is_whole() == (texts.len() == 1)
    }

    /// The elements of each slot in use. All but indices, halves and int32s are reals.
    pub fn elements(&self) -> [Option<Elements>; binding::COUNT] {
        match &self.structure {
            Structure::Static(kernel) => kernel.elements(),
            Structure::Text(text) => declared(&text.wgsl),
            Structure::Program(_) | Structure::Owner(_) | Structure::Merged(_) => self.elements_but(|_| false),
            Structure::Reduced(_) | Structure::Fit(_) => self.elements_but(|slot| slot == binding::ARENA),
            Structure::Fused(fused) => self.elements_but(|slot| fused.has_words(slot)),
        }
    }

    fn elements_but(&self, has_words: impl Fn(usize) -> bool) -> [Option<Elements>; binding::COUNT] {
        let access = self.access();
        std::array::from_fn(|slot| match access[slot] {
            Access::Unused => None,
            _ if slot == binding::INDEX || has_words(slot) => Some(Elements::Indices),
            _ => Some(Elements::Reals),
        })
    }

    /// What the whole kernel does with each slot.
    pub fn access(&self) -> [Access; binding::COUNT] {
        match &self.structure {
            Structure::Static(kernel) => kernel.access(),
            Structure::Program(program) => {
                let mut access = program.access();
                // What a later module needs, an earlier one leaves behind the program's own columns.
                if !self.is_whole() {
                    access[binding::VECTOR_OUT] = Access::ReadWrite;
                }
                access
            }
            Structure::Owner(owner) => owner.access(),
            Structure::Reduced(reduced) => reduced.access(),
            Structure::Merged(merged) => merged.access(),
            Structure::Fused(fused) => fused.access(),
            Structure::Fit(fit) => fit.access(),
            Structure::Text(text) => text.access,
        }
    }
}

/// The elements of each slot, by the declarations of a text: `@binding(3) var<storage, read> table: array<u32>;`.
fn declared(wgsl: &str) -> [Option<Elements>; binding::COUNT] {
    let mut elements = [None; binding::COUNT];
    for declaration in wgsl.split("@binding(").skip(1) {
        let Some((slot, rest)) = declaration.split_once(')') else { continue };
        let ty = rest.split_once(';').and_then(|(variable, _)| variable.split_once(": array<")).map(|(_, ty)| ty);
        if let (Some(place), Some(ty)) = (slot.parse().ok().and_then(|slot: usize| elements.get_mut(slot)), ty) {
            *place = Some(if ty.starts_with("u32") { Elements::Indices } else { Elements::Reals });
        }
    }
    elements
}

#[cfg(test)]
mod tests {
    use super::*;
    use leastwise_program::{Binary, Instruction, Load, Store};
    use std::collections::HashSet;

    #[test]
    fn every_static_kernel_declares_the_elements_of_what_it_uses() {
        let mut words = 0;
        for kernel in StaticKernel::ALL {
            let source = KernelSource::of_static(*kernel);
            assert!(source.declares(&source.texts().unwrap()), "`{}`", source.name);
            for (slot, (access, elements)) in source.access().iter().zip(source.elements()).enumerate().skip(1) {
                assert_eq!(*access != Access::Unused, elements.is_some(), "`{}`, binding {slot}", source.name);
                words += usize::from(elements == Some(Elements::Indices));
            }
        }
        assert!(words > 30, "{words} bindings of indices");
    }

    /// Stores c + data to the one column, so often that `length` instructions are made.
    fn program(name: &str, c: f64, length: u32) -> Program {
        let mut instructions = vec![Instruction::Load(Load::Data(0)), Instruction::Const(c)];
        (0..length).for_each(|last| instructions.push(Instruction::Binary(Binary::Add, last + 1, 0)));
        let stores = vec![(Store::Jacobian(0), length + 1)];
        Program { name: name.into(), instructions, stores, ..Program::default() }
    }

    #[test]
    fn kernels_of_equal_structure_are_one_whatever_they_are_called() {
        let programs = [("a", 1.0), ("b", 1.0), ("a", 2.0), ("a", 0.0), ("a", -0.0), ("a", f64::NAN), ("b", f64::NAN)];
        let sources: Vec<_> = programs.map(|(name, c)| KernelSource::of(&program(name, c, 1))).to_vec();
        let keys: Vec<_> = sources.iter().map(KernelSource::key).collect();
        assert_eq!((&keys[0], &keys[5]), (&keys[1], &keys[6]));
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 5);
        assert_ne!(keys[0], sources[0].clone().in_doubles().key());
    }

    #[test]
    fn a_program_too_large_for_one_module_says_that_its_modules_use_the_columns_between_them() {
        for (length, pieces) in [(10, [1, 1]), (900, [1, 5]), (1500, [2, 8])] {
            let source = KernelSource::of(&program("long", 1.0, length));
            for (source, pieces) in [source.clone(), source.in_doubles()].into_iter().zip(pieces) {
                let texts = source.texts().unwrap();
                assert!(source.declares(&texts) && texts.len() >= pieces, "{length}: {} modules", texts.len());
                let spills = source.access()[binding::VECTOR_OUT] == Access::ReadWrite;
                assert_eq!((spills, source.is_whole()), (pieces > 1, pieces == 1), "{length}");
            }
        }
    }
}

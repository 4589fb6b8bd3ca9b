//! Kernels as devices are asked for them: text for GPUs, and what a CPU runs instead.

use super::{Access, Elements, Reals, binding, cpu};
use crate::kernel::wgsl::Cut;

/// One module: the text *after* the prelude that the device puts in front (`alias real`, `group_size`, `Params`, helpers:
/// `shaders/prelude.wgsl`), with the entry point `main`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KernelText {
    pub wgsl: std::sync::Arc<str>,
    pub access: [Access; binding::COUNT],
    /// Whether its reals are double-floats, whatever the device's are.
    pub doubles: bool,
}

/// One kernel for every device: WGSL text for those that compile, a CPU body for the one that does not.
#[derive(Clone)]
pub struct KernelSource {
    /// For messages, labels and statistics.
    pub name: String,
    /// Modules to run one after the other, with the same bindings; one, unless that would be too large.
    pub texts: Vec<KernelText>,
    pub cpu: cpu::Body,
    pub grade: Grade,
    /// The program that it was written of, if it was, for who wants smaller pieces of it.
    pub program: Option<std::sync::Arc<crate::kernel::Program>>,
}

/// In what precision a kernel is, where reals are not `f32`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Grade {
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
    pub fn new(name: &str, wgsl: &str, access: [Access; binding::COUNT], cpu: cpu::Body) -> Self {
        Self {
            name: name.into(),
            texts: vec![KernelText { wgsl: wgsl.into(), access, doubles: false }],
            cpu,
            grade: Grade::Outer,
            program: None,
        }
    }

    /// The kernel of a program.
    pub fn of(program: &crate::kernel::Program) -> Self {
        let body = crate::kernel::block::BlockProgram::new(program);
        Self {
            name: program.name.clone(),
            texts: crate::kernel::wgsl::modules(program, Cut::Coarse),
            cpu: cpu::Body::Program(std::sync::Arc::new(body)),
            grade: Grade::Outer,
            program: Some(std::sync::Arc::new(program.clone())),
        }
    }

    /// The kernel of a product by owners.
    pub fn of_owner(owner: &crate::kernel::OwnerProgram) -> Self {
        Self {
            name: owner.program.name.clone(),
            texts: vec![crate::kernel::wgsl::owner_module(owner)],
            cpu: cpu::Body::Tiles(std::sync::Arc::new(crate::kernel::block::TileProgram::new(owner))),
            grade: Grade::Outer,
            program: None,
        }
    }

    /// The same kernel where reals are double-floats ([`crate::kernel::wgsl::double`]). It may be bound to buffers of either
    /// kind: what it reads of [`Kind::Real`] has no low part, what it writes there is rounded. In pieces that are no larger to compilers.
    pub fn in_doubles(mut self) -> Self {
        if let Some(program) = &self.program {
            self.texts = crate::kernel::wgsl::modules(program, Cut::Fine);
        }
        self.texts.iter_mut().for_each(|text| text.doubles = true);
        self
    }

    /// The same kernel as one of inner iterations. What it writes must be of [`Kind::Inner`].
    pub fn of_inner(self) -> Self {
        Self { grade: Grade::Inner, ..self }
    }

    /// The elements of each slot, by the declarations of the text: `@binding(3) var<storage, read> table: array<u32>;`.
    pub fn elements(&self) -> [Option<Elements>; binding::COUNT] {
        let mut elements = [None; binding::COUNT];
        for declaration in self.texts.iter().flat_map(|text| text.wgsl.split("@binding(").skip(1)) {
            let Some((slot, rest)) = declaration.split_once(')') else { continue };
            let ty = rest.split_once(';').and_then(|(variable, _)| variable.split_once(": array<")).map(|(_, ty)| ty);
            if let (Some(place), Some(ty)) = (slot.parse().ok().and_then(|slot: usize| elements.get_mut(slot)), ty) {
                *place = Some(if ty.starts_with("u32") { Elements::Indices } else { Elements::Reals });
            }
        }
        elements
    }

    /// What the whole kernel does with each slot.
    pub fn access(&self) -> [Access; binding::COUNT] {
        std::array::from_fn(|slot| {
            let used = self.texts.iter().map(|text| text.access[slot]);
            used.reduce(|a, b| match (a, b) {
                (Access::ReadWrite, _) | (_, Access::ReadWrite) => Access::ReadWrite,
                (Access::Read, _) | (_, Access::Read) => Access::Read,
                _ => Access::Unused,
            })
            .unwrap_or(Access::Unused)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Fixed;

    #[test]
    fn every_static_kernel_declares_the_elements_of_what_it_uses() {
        let mut words = 0;
        for kernel in Fixed::ALL {
            let source = kernel.source();
            for (slot, (access, elements)) in source.access().iter().zip(source.elements()).enumerate().skip(1) {
                assert_eq!(*access != Access::Unused, elements.is_some(), "`{}`, binding {slot}", source.name);
                words += usize::from(elements == Some(Elements::Indices));
            }
        }
        assert!(words > 30, "{words} bindings of indices");
    }
}

//! Kernels as devices are asked for them: text for GPUs, and what a CPU runs instead.

use super::{Access, binding, cpu};
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

//! What a CPU kernel sees: the same binding slots as its WGSL twin, as slices.

use crate::block::{BlockProgram, FitBlocks, FusedProgram, MergedTiles, ReducedTiles, TileProgram};
use crate::real::Real;
use crate::twins;
use leastwise_kernels::Slots;
use leastwise_recording::{Params, Structure, binding};
use std::{ops::Range, sync::Arc};

/// The slices bound to one dispatch. A kernel takes each slot it uses once, and so may hold several at a time.
pub struct Bindings<'a, R> {
    pub(super) slots: [Slot<'a, R>; binding::COUNT],
}

pub(super) enum Slot<'a, R> {
    Empty,
    Index(&'a [u32]),
    IndexWrite(&'a mut [u32]),
    Read(&'a [R]),
    Write(&'a mut [R]),
}

impl<'a, R: Real> Bindings<'a, R> {
    /// The reals of a slot that is only read. Empty when nothing is bound.
    pub fn read(&mut self, slot: usize) -> &'a [R] {
        match std::mem::replace(&mut self.slots[slot], Slot::Empty) {
            Slot::Read(values) => values,
            Slot::Write(values) => values,
            _ => &[],
        }
    }

    /// The reals of a slot that is written.
    pub fn write(&mut self, slot: usize) -> &'a mut [R] {
        match std::mem::replace(&mut self.slots[slot], Slot::Empty) {
            Slot::Write(values) => values,
            _ => &mut [],
        }
    }

    /// The `u32`s of a slot that is only read.
    pub fn words(&mut self, slot: usize) -> &'a [u32] {
        match std::mem::replace(&mut self.slots[slot], Slot::Empty) {
            Slot::Index(values) => values,
            Slot::IndexWrite(values) => values,
            _ => &[],
        }
    }

    /// The `u32`s of a slot that is written.
    pub fn words_mut(&mut self, slot: usize) -> &'a mut [u32] {
        match std::mem::replace(&mut self.slots[slot], Slot::Empty) {
            Slot::IndexWrite(values) => values,
            _ => &mut [],
        }
    }
}

impl<'a, R: Real> Slots<'a, R> for Bindings<'a, R> {
    fn read(&mut self, slot: usize) -> &'a [R] {
        self.read(slot)
    }

    fn write(&mut self, slot: usize) -> &'a mut [R] {
        self.write(slot)
    }

    fn words(&mut self, slot: usize) -> &'a [u32] {
        self.words(slot)
    }

    fn words_mut(&mut self, slot: usize) -> &'a mut [u32] {
        self.words_mut(slot)
    }
}

/// The part of a dispatch that one call does.
pub struct Workgroups {
    /// Parameters of the dispatch, as the shader's uniform has them.
    pub params: Params,
    /// Items of a workgroup.
    pub group_size: u32,
    /// Workgroups to do now.
    pub groups: Range<u32>,
}

impl Workgroups {
    /// The items of the workgroups to do.
    pub fn items(&self) -> Range<usize> {
        let item = |group: u32| (u64::from(group) * u64::from(self.group_size)).min(self.params.count.into()) as usize;
        item(self.groups.start)..item(self.groups.end)
    }

    /// The lanes of a workgroup that a run of so many elements reaches; one at least.
    pub fn lanes_of(&self, elements: usize) -> usize {
        elements.clamp(1, self.group_size as usize)
    }
}

/// A twin of a static shader, in both precisions.
#[derive(Clone, Copy)]
pub struct Twin {
    /// Whether an item may be a lot of work: then time slices begin with one workgroup.
    pub heavy: bool,
    /// The function on `f32` buffers.
    pub f32: fn(&Workgroups, Bindings<f32>),
    /// The function on `f64` buffers.
    pub f64: fn(&Workgroups, Bindings<f64>),
}

/// How the CPU runs a kernel.
#[derive(Clone)]
pub enum Body {
    /// Function of a static kernel.
    Twin(Twin),
    /// Block interpreter of a generated program, an item a lane.
    Program(Arc<BlockProgram>),
    /// Product JᵀWJ·p by owners, tile by tile.
    Tiles(Arc<TileProgram>),
    /// Product with a Schur complement, tile by tile.
    Reduced(Arc<ReducedTiles>),
    /// First halves of several products.
    Merged(Arc<MergedTiles>),
    /// Fused kernel of tensors.
    Fused(Arc<FusedProgram>),
    /// Many small fits, a fit a lane.
    Fit(Arc<FitBlocks>),
}

impl Body {
    /// What runs kernels of a structure; nothing runs the text of a module.
    pub fn of(structure: &Structure) -> Option<Self> {
        Some(match structure {
            Structure::Static(kernel) => Self::Twin(twins::of(*kernel)),
            Structure::Program(program) => Self::Program(BlockProgram::new(program).into()),
            Structure::Owner(owner) => Self::Tiles(TileProgram::new(owner).into()),
            Structure::Reduced(reduced) => Self::Reduced(ReducedTiles::new(reduced).into()),
            Structure::Merged(merged) => Self::Merged(MergedTiles::new(merged).into()),
            Structure::Fused(fused) => Self::Fused(FusedProgram::new(fused).into()),
            Structure::Fit(fit) => Self::Fit(FitBlocks::new(fit).into()),
            Structure::Text(_) => return None,
        })
    }
}

//! First halves of products JᵀWJ·p of several batches, in one kernel.
//!
//! Every batch has a range of the workgroups, its *part*, and one of the kernel's programs. Where everything of a part begins in
//! buffers that all share is a line of a directory, in front of the index tables: for every workgroup the word of its part's line, then
//! the lines.

use super::{OwnerArguments, OwnerProgram, Program};
use crate::{Access, binding};
use leastwise_kernels::ARGUMENT_WORDS;

/// The kernel of several products.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MergedProgram {
    /// Programs of its parts, each different.
    pub programs: Vec<HalfProduct>,
}

/// The first half of a product.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum HalfProduct {
    /// Every instance stores its contributions, which are gathered later.
    Instances(Program),
    /// The owners' sums are stored, and what crosses to other variables.
    Owners(OwnerProgram),
}

impl HalfProduct {
    /// What computes an instance.
    pub fn program(&self) -> &Program {
        match self {
            Self::Instances(program) => program,
            Self::Owners(owner) => &owner.program,
        }
    }

    /// Drops the addresses that no load uses.
    pub fn keep_used_addresses(&mut self) {
        match self {
            Self::Instances(program) => program.keep_used_addresses(),
            Self::Owners(owner) => owner.program.keep_used_addresses(),
        }
    }

    /// What it does with each slot.
    pub fn access(&self) -> [Access; binding::COUNT] {
        match self {
            Self::Instances(program) => program.access(),
            Self::Owners(owner) => owner.access(),
        }
    }
}

/// A line of the directory.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MergedPart {
    /// First workgroup.
    pub first: u32,
    /// Number of the program.
    pub program: u32,
    /// Instances.
    pub instances: u32,
    /// First word of its index table.
    pub index: u32,
    /// First element of its data.
    pub data: u32,
    /// First element of its Jacobian.
    pub jacobian: u32,
    /// First element of the columns that it stores into.
    pub columns: u32,
    /// First element of the vector that owners' sums go to.
    pub vector: u32,
    /// Of a product by owners, the word of its index table with the first tile, and with the first row's beginning.
    pub tiles: u32,
    /// Word of its index table with the first row's beginning.
    pub starts: u32,
}

impl MergedPart {
    /// Words of a line.
    pub const WORDS: usize = 10;

    /// The line of words.
    pub fn of(words: &[u32]) -> Self {
        let [first, program, instances, index, data, jacobian, columns, vector, tiles, starts] = std::array::from_fn(|k| words[k]);
        Self { first, program, instances, index, data, jacobian, columns, vector, tiles, starts }
    }

    /// The words of a line.
    pub fn words(self) -> [u32; Self::WORDS] {
        let Self { first, program, instances, index, data, jacobian, columns, vector, tiles, starts } = self;
        [first, program, instances, index, data, jacobian, columns, vector, tiles, starts]
    }

    /// The arguments that a product by owners would have by itself.
    pub fn owner_arguments(self) -> [u32; ARGUMENT_WORDS] {
        OwnerArguments { instances: self.instances, tiles: self.tiles, starts: self.starts }.words()
    }
}

/// The directory's words: a line for every part, each of so many workgroups.
pub fn directory(parts: &[(MergedPart, u32)]) -> Vec<u32> {
    let groups: u32 = parts.iter().map(|part| part.1).sum();
    let line = |number: usize| groups + (number * MergedPart::WORDS) as u32;
    let of_groups = parts.iter().enumerate().flat_map(|(number, part)| std::iter::repeat_n(line(number), part.1 as usize));
    of_groups.chain(parts.iter().flat_map(|part| part.0.words())).collect()
}

impl MergedProgram {
    /// What its kernel does with each slot.
    pub fn access(&self) -> [Access; binding::COUNT] {
        let mut access = [Access::Unused; binding::COUNT];
        for of_part in self.programs.iter().map(HalfProduct::access) {
            access.iter_mut().zip(of_part).for_each(|(all, one)| *all = (*all).max(one));
        }
        access[binding::INDEX] = Access::Read;
        access
    }
}

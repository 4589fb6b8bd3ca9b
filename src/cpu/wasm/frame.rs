//! What a call of a module's function is told: a block of words, with where everything begins in memory, in bytes.

use super::module::{Gather, Module};

/// Where numbers of a buffer begin, and how many there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Address of the first number, in bytes.
    pub at: u32,
    /// Number of elements.
    pub len: u32,
}

/// What a program is bound to. Columns begin with the first item to be computed.
pub struct Frame<'a> {
    /// The arena: values of all tables.
    pub arena: Span,
    /// The input vector over all unknowns.
    pub vector: Span,
    /// The data buffer, which begins with what all items share.
    pub data: u32,
    /// Where each address's table begins in its buffer, and its column of indices.
    pub bases: &'a [u32],
    /// For each of the program's addresses, where its index column begins in memory, in bytes.
    pub indices: &'a [u32],
    /// Address of every column that is read ([`Module::views`]), in bytes.
    pub views: &'a [u32],
    /// Address of every column that is written ([`Module::targets`]), in bytes.
    pub targets: &'a [u32],
    /// [`Module::scratch`] bytes.
    pub scratch: u32,
}

/// The words before those of columns.
pub(super) mod word {
    pub const SCRATCH: u32 = 0;
    pub const DATA: u32 = 1;
    pub const FIRST: u32 = 2;
}

impl Frame<'_> {
    /// The words, or `None` where some table does not reach into its buffer at all.
    ///
    /// An index is compared with the largest that every gather by its column allows. That is what the interpreter allows,
    /// but for sums that exceed 32 bits and wrap to a place inside: those are the interpreter's.
    pub fn words(&self, module: &Module) -> Option<Vec<u32>> {
        let real = module.real;
        let mut words = vec![self.scratch, self.data];
        let source = |gather: &Gather| if gather.vector { self.vector } else { self.arena };
        for column in &module.columns {
            let mut limit = u32::MAX;
            for gather in module.gathers.iter().filter(|gather| gather.column == *column) {
                let first = self.bases[gather.address as usize].checked_add(gather.last)?;
                let after = source(gather).len.checked_sub(1)?.checked_sub(first)?;
                limit = limit.min(after.checked_div(gather.stride).unwrap_or(u32::MAX));
            }
            let address = module.gathers.iter().find(|gather| gather.column == *column)?.address;
            words.extend([self.indices[address as usize], limit]);
        }
        words.extend(module.gathers.iter().map(|gather| source(gather).at + self.bases[gather.address as usize] * real));
        words.extend(self.views);
        words.extend(self.targets);
        Some(words)
    }
}

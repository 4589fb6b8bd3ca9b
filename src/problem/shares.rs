//! A problem that is one rank's part of a larger one.
//!
//! Each rank's problem has the variables that its own instances touch. Of those that several ranks touch, one rank is the owner; on
//! the others they are *copies*. In every table owned instances come first and copies behind them, so that sums over variables
//! can leave copies out: they are over [`Problem::counted`], and all else is done to the [copies](Problem::copies) too.

use super::retraction::Trials;
use super::{Problem, Registry, Table};
use leastwise_collective::Communicator;
use leastwise_device::{ABSENT, Device};
use leastwise_error::Error;
use std::sync::Arc;

/// One rank's part of a problem.
pub struct Shares {
    /// The ranks.
    pub communicator: Arc<dyn Communicator>,
    /// Instances of each table that this rank owns: its first ones.
    pub owned: Vec<u32>,
    /// Variables that several ranks touch, in an order that all ranks have: table, and instance here or [`ABSENT`].
    pub shared: Vec<(u32, u32)>,
    /// Degrees of freedom of all ranks, each once.
    pub unknowns: u32,
    /// Numbers of this problem's terms among those of all ranks, and the names of these.
    pub terms: Vec<u32>,
    /// Names of the terms of all ranks.
    pub names: Vec<String>,
    /// Partial sums of a kind on any rank at most; 0 until ranks have agreed on it.
    pub partials: u32,
}

/// Shares, and the parts of the moving tables once they are laid out.
pub(super) struct Divided {
    shares: Shares,
    counted: Vec<Table>,
    copies: Vec<Table>,
}

impl Problem {
    /// Makes it one rank's part of a problem: its tables and terms are this rank's alone.
    pub fn set_shares(&mut self, shares: Shares) {
        self.divided = Some(Box::new(Divided { shares, counted: Vec::new(), copies: Vec::new() }));
        self.structure += 1;
    }

    /// Its part in a problem of several ranks, if it is one.
    pub fn shares(&self) -> Option<&Shares> {
        self.divided.as_ref().map(|divided| &divided.shares)
    }

    /// Notes how many partial sums of a kind any rank has at most.
    pub fn set_partials(&mut self, partials: u32) {
        self.divided.iter_mut().for_each(|divided| divided.shares.partials = partials);
    }

    /// Moving tables, without the copies of variables that other ranks own. Only after [`lay_out`](Self::lay_out).
    pub fn counted(&self) -> impl Iterator<Item = &Table> {
        self.divided.as_ref().map_or(&self.tables, |divided| &divided.counted).iter().filter(|table| table.moving)
    }

    /// The parts of moving tables that are copies. Only after [`lay_out`](Self::lay_out).
    pub fn copies(&self) -> impl Iterator<Item = &Table> {
        self.divided.iter().flat_map(|divided| &divided.copies)
    }

    /// True if a moving table has limits, or the table that it is a part of.
    pub fn is_limited(&self, part: &Table) -> bool {
        let is_whole = |table: &&Table| (table.vector..table.vector + table.unknowns()).contains(&part.vector);
        self.moving().find(is_whole).is_some_and(Table::is_bounded)
    }

    /// Places of the shared variables in a vector over all unknowns, or among the packed diagonal blocks.
    pub fn shared_places(&self, in_blocks: bool) -> Result<Arc<Vec<u32>>, Error> {
        let mut places = Vec::new();
        for &(number, row) in self.shares().iter().flat_map(|shares| &shares.shared) {
            let table = self.table(number)?;
            let (first, each) = if in_blocks { (table.block, table.packed()) } else { (table.vector, table.tangent) };
            places.extend((0..each).map(|element| if row == ABSENT { ABSENT } else { first + row * each + element }));
        }
        Ok(Arc::new(places))
    }

    /// Cuts the moving tables into owned instances and copies. It goes on where an error ended it: what is made is kept.
    pub(super) fn lay_out_shares(&mut self, device: &mut Device, registry: &mut Registry) -> Result<(), Error> {
        let Some(divided) = &mut self.divided else { return Ok(()) };
        let Divided { shares, counted, copies } = &mut **divided;
        let mut made = counted.len() + copies.len();
        for (table, &owned) in self.tables.iter().zip(&shares.owned).filter(|(table, _)| table.moving) {
            for (first, count, list) in [(0, owned, &mut *counted), (owned, table.count - owned, &mut *copies)] {
                if count == 0 {
                    continue;
                }
                if made > 0 {
                    made -= 1;
                    continue;
                }
                let mut part = Table::of_sums(&table.name, table.width, count, true);
                (part.tangent, part.manifold) = (table.tangent, table.manifold.clone());
                part.arena = table.arena + first * table.width;
                part.vector = table.vector + first * table.tangent;
                part.block = table.block + first * table.packed();
                if let Some(manifold) = part.moves_on() {
                    let made = registry.retraction(device, manifold)?;
                    part.trials = Some(Trials::new(device, &part, &made, &mut self.uploads)?);
                }
                list.push(part);
            }
        }
        Ok(())
    }

    /// Destroys what the parts of its tables have on the device.
    pub(super) fn free_shares(&mut self, device: &mut Device) {
        let Some(divided) = self.divided.take() else { return };
        divided.counted.iter().chain(&divided.copies).flat_map(Table::buffers).for_each(|buffer| device.free(buffer));
    }
}

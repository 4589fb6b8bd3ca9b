//! The product JᵀWJ·p in the schedule *owner-computes*.
//!
//! Instances that lie next to each other and use the same variables in one column of the index table — the edges out of
//! a vertex, say — are a *row*, and these variables own them. A workgroup takes whole rows, a *tile*: its lanes form
//! u = WJp and Jᵀu as in the two passes, but leave them in the workgroup's memory, where each row is added up for its
//! owner. Only what belongs to the variables of other columns is stored and gathered: for an edge whose other block
//! is −1, that is u. So J is read once, and the owners' part of Jᵀu is never written. What crosses is stored instance by
//! instance, not in columns: whoever gathers it needs all components of an instance, and finds them next to each other.

use super::wgsl::Cut;
use super::{Address, ColumnMap, NEGATIVE, Program, ResidualPrograms, Signature, Store, wgsl};
use crate::{Access, binding};
use leastwise_base::task::{Pace, Stopped};
use leastwise_kernels::ARGUMENT_WORDS;

/// The kernel of a product whose rows are owned by the variables of one column of the index table.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OwnerProgram {
    /// Stores all in the tile.
    pub program: Program,
    /// First column of the tile.
    pub column: u32,
    /// Columns of the tile, and how many of the first cross to other variables.
    pub tile: u32,
    /// Columns whose values cross to other variables.
    pub crossing_columns: u32,
    /// Slots of the owner.
    pub slots: Vec<OwnSlot>,
    /// For every slot whose part crosses, where it is.
    pub crossing: Vec<ColumnMap>,
    /// True if the owners' sums are added to what is there; else they take its place.
    pub adds: bool,
}

/// An owner's place in a vector, and for each of its components 0, or the column of the tile + 1 with the sign in the
/// highest bit.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OwnSlot {
    /// Address of the variable.
    pub address: Address,
    /// Codes of its entries.
    pub codes: Vec<u32>,
}

/// The arguments of a product by owners: `struct Args` of its text.
#[derive(Clone, Copy, Debug)]
pub struct OwnerArguments {
    /// Instances.
    pub instances: u32,
    /// Word of the index buffer with the first tile's first row and instance, two words a tile.
    pub tiles: u32,
    /// Word with the first row's beginning.
    pub starts: u32,
}

impl OwnerArguments {
    /// The words of a dispatch.
    pub fn words(self) -> [u32; ARGUMENT_WORDS] {
        let mut words = [0; ARGUMENT_WORDS];
        words[..3].copy_from_slice(&[self.instances, self.tiles, self.starts]);
        words
    }

    /// The arguments that words are.
    pub fn of(words: [u32; ARGUMENT_WORDS]) -> Self {
        let [instances, tiles, starts, ..] = words;
        Self { instances, tiles, starts }
    }
}

impl OwnerProgram {
    /// What its kernel does with each slot.
    pub fn access(&self) -> [Access; binding::COUNT] {
        let mut access = self.program.access();
        access[binding::INDEX] = Access::Read;
        access[binding::PARTIALS] = Access::ReadWrite;
        if self.crossing_columns > 0 {
            access[binding::VECTOR_OUT] = Access::ReadWrite;
        }
        access
    }

    /// Elements of a column of a tile beyond the workgroup's: columns do not begin in the same bank of memory.
    pub const PADDING: u32 = 11;

    /// Columns of a tile at most: with workgroups of 256 they fit the 16 KiB that WebGPU has, and in f64 the 48 KiB of CUDA.
    pub const MOST_COLUMNS: u32 = 15;

    /// `None` where nothing that moves is reached by the column, or the kernel would be too large.
    pub fn new(product: &Program, programs: &ResidualPrograms, signature: &Signature, column: u32) -> Option<Self> {
        let value = |wanted: u32| product.stores.iter().find(|(store, _)| *store == Store::Column(wanted)).map(|(_, value)| *value);
        let mut tile = Vec::new();
        let mut crossing = vec![ColumnMap::default(); signature.slots.len()];
        let moving = || signature.slots.iter().zip(&programs.gradient_maps).zip(0..).filter(|((shape, _), _)| shape.vector.is_some());
        for ((_, map), number) in moving().filter(|((shape, _), _)| shape.arena.column != column) {
            let codes = map.codes.iter().map(|&code| renumbered(code, &mut tile)).collect();
            crossing[number as usize] = ColumnMap { width: map.width, codes };
        }
        let crossing_columns = tile.len() as u32;
        let mut slots = Vec::new();
        for ((shape, map), _) in moving().filter(|((shape, _), _)| shape.arena.column == column) {
            let codes: Vec<u32> = map.codes.iter().map(|&code| renumbered(code, &mut tile)).collect();
            slots.extend(shape.vector.map(|address| OwnSlot { address, codes }));
        }
        let is_owned = slots.iter().any(|slot| slot.codes.iter().any(|&code| code != 0));
        if !is_owned || tile.len() as u32 > Self::MOST_COLUMNS {
            return None;
        }
        let stores = (0..).zip(&tile).map(|(number, &known)| Some((Store::Tile(number), value(known)?)));
        let stores = stores.collect::<Option<Vec<_>>>()?;
        let name = product.name.replace("product", "product by owners");
        let program = Program { stores, name, ..product.clone() };
        let tile = tile.len() as u32;
        wgsl::is_small(&program, Cut::Coarse).then_some(Self { program, column, tile, crossing_columns, slots, crossing, adds: true })
    }
}

/// The code of a column among those in the list.
fn renumbered(code: u32, list: &mut Vec<u32>) -> u32 {
    if code == 0 {
        return 0;
    }
    let column = (code & !NEGATIVE) - 1;
    let place = list.iter().position(|&known| known == column).unwrap_or_else(|| {
        list.push(column);
        list.len() - 1
    });
    (place as u32 + 1) | code & NEGATIVE
}

/// The rows of instances that lie in the order of their owners, and the tiles that they make.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rows {
    /// Where rows begin among the instances, and the end.
    pub starts: Vec<u32>,
    /// Which row every tile begins with, and the number of rows: as many whole rows each as fit a workgroup.
    pub tiles: Vec<u32>,
}

/// Instances between two counts of what was done.
const RUN: u32 = 1 << 14;

impl Rows {
    /// `None` where owners are not in ascending order, or a row is longer than a workgroup.
    pub async fn new(owners: &[u32], group_size: u32, pace: &Pace) -> Result<Option<Self>, Stopped> {
        let (mut starts, mut tiles) = (vec![0], vec![0]);
        let mut tile = 0;
        for end in 1..=owners.len() as u32 {
            if end.is_multiple_of(RUN) {
                pace.spend(4 * RUN as usize).await?;
            }
            let is_last = end as usize == owners.len();
            if !is_last && owners[end as usize] == owners[end as usize - 1] {
                continue;
            }
            let row = starts[starts.len() - 1];
            if end - row > group_size || !is_last && owners[end as usize] < owners[end as usize - 1] {
                return Ok(None);
            }
            if end - tile > group_size {
                tiles.push(starts.len() as u32 - 1);
                tile = row;
            }
            starts.push(end);
        }
        tiles.push(starts.len() as u32 - 1);
        Ok(Some(Self { starts, tiles }))
    }
}

#[cfg(test)]
mod tests {
    use super::Rows;
    use leastwise_base::task::Task;

    fn rows(owners: &[u32], group_size: u32) -> Option<(Vec<u32>, Vec<u32>)> {
        let rows = Task::new(|pace| async move { Rows::new(owners, group_size, &pace).await }).finish();
        rows.expect("nobody stops it").map(|Rows { starts, tiles }| (starts, tiles))
    }

    #[test]
    fn tiles_are_whole_rows_that_fit_a_workgroup() {
        assert_eq!(rows(&[0, 0, 1, 3, 3, 3, 7], 4), Some((vec![0, 2, 3, 6, 7], vec![0, 2, 4])));
        assert_eq!(rows(&[0, 0, 1, 3, 3, 3, 7], 3), Some((vec![0, 2, 3, 6, 7], vec![0, 2, 3, 4])));
        assert_eq!(rows(&[5], 1), Some((vec![0, 1], vec![0, 1])));
    }

    #[test]
    fn rows_that_are_too_long_or_out_of_order_make_no_tiles() {
        assert_eq!(rows(&[0, 0, 0], 2), None);
        assert_eq!(rows(&[1, 0], 4), None);
        assert_eq!(rows(&[0, 1, 0], 4), None);
    }
}

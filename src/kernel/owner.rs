//! The product JᵀWJ·p in the schedule *owner-computes*.
//!
//! Instances that lie next to each other and use the same variables in one column of the index table — the edges out of
//! a vertex, say — are a *row*, and these variables own them. A workgroup takes whole rows, a *tile*: its lanes form
//! u = WJp and Jᵀu as in the two passes, but what belongs to the owners stays in the workgroup's memory, where each row is
//! added up. Only what belongs to the variables of other columns is stored and gathered: for an edge whose other block
//! is −1, that is u. So J is read once, and the owners' part of Jᵀu is never written.

use super::{Address, ColumnMap, NEGATIVE, Program, ResidualPrograms, Signature, Store, wgsl};

/// The kernel of a product whose rows are owned by the variables of one column of the index table.
#[derive(Clone, PartialEq, Debug)]
pub struct OwnerProgram {
    /// Stores in columns what crosses to other variables, and in the tile what stays.
    pub program: Program,
    pub column: u32,
    /// Columns of the tile.
    pub tile: u32,
    pub slots: Vec<OwnSlot>,
    /// For every slot whose part crosses, where it is.
    pub crossing: Vec<ColumnMap>,
}

/// An owner's place in a vector, and for each of its components 0, or the column of the tile + 1 with the sign in the
/// highest bit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnSlot {
    pub address: Address,
    pub codes: Vec<u32>,
}

/// Columns of a tile at most: in f64, and with workgroups of 256, they still fit the memory that every device has.
const MOST_COLUMNS: u32 = 7;

impl OwnerProgram {
    /// `None` where nothing that moves is reached by the column, or the kernel would be too large.
    pub fn new(product: &Program, programs: &ResidualPrograms, signature: &Signature, column: u32) -> Option<Self> {
        let value = |wanted: u32| product.stores.iter().find(|(store, _)| *store == Store::Column(wanted)).map(|(_, value)| *value);
        let (mut tile, mut columns): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        let mut slots = Vec::new();
        let mut crossing = vec![ColumnMap::default(); signature.slots.len()];
        for ((shape, map), crossing) in signature.slots.iter().zip(&programs.gradient_maps).zip(&mut crossing) {
            let Some(address) = shape.vector else { continue };
            let to = if shape.arena.column == column { &mut tile } else { &mut columns };
            let codes = map.codes.iter().map(|&code| renumbered(code, to)).collect();
            match shape.arena.column == column {
                true => slots.push(OwnSlot { address, codes }),
                false => *crossing = ColumnMap { width: map.width, codes },
            }
        }
        if slots.is_empty() || tile.is_empty() || tile.len() as u32 > MOST_COLUMNS {
            return None;
        }
        let stores = |list: &[u32], store: fn(u32) -> Store| -> Option<Vec<_>> {
            (0..).zip(list).map(|(number, &known)| Some((store(number), value(known)?))).collect()
        };
        let stores = [stores(&tile, Store::Tile)?, stores(&columns, Store::Column)?].concat();
        let name = product.name.replace("product", "product by owners");
        let program = Program { stores, name, ..product.clone() };
        wgsl::is_small(&program).then_some(Self { program, column, tile: tile.len() as u32, slots, crossing })
    }

    /// Columns that the kernel stores for variables of other columns.
    pub fn crossing_columns(&self) -> u32 {
        self.program.stores.iter().filter(|(store, _)| matches!(store, Store::Column(_))).count() as u32
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

/// Where tiles begin among instances whose owners are in ascending order, and the end: as many whole rows each as fit a
/// workgroup. `None` where owners are not in order, or a row is longer than a workgroup.
pub fn tiles(owners: &[u32], group_size: u32) -> Option<Vec<u32>> {
    let mut starts = vec![0];
    let (mut row, mut tile) = (0, 0);
    for i in 1..=owners.len() {
        if i < owners.len() && owners[i] == owners[i - 1] {
            continue;
        }
        if i - row > group_size as usize || i < owners.len() && owners[i] < owners[i - 1] {
            return None;
        }
        if i - tile > group_size as usize {
            starts.push(row as u32);
            tile = row;
        }
        row = i;
    }
    starts.push(owners.len() as u32);
    Some(starts)
}

#[cfg(test)]
mod tests {
    use super::tiles;

    #[test]
    fn tiles_are_whole_rows_that_fit_a_workgroup() {
        assert_eq!(tiles(&[0, 0, 1, 3, 3, 3, 7], 4), Some(vec![0, 3, 7]));
        assert_eq!(tiles(&[0, 0, 1, 3, 3, 3, 7], 3), Some(vec![0, 3, 6, 7]));
        assert_eq!(tiles(&[5], 1), Some(vec![0, 1]));
    }

    #[test]
    fn rows_that_are_too_long_or_out_of_order_make_no_tiles() {
        assert_eq!(tiles(&[0, 0, 0], 2), None);
        assert_eq!(tiles(&[1, 0], 4), None);
        assert_eq!(tiles(&[0, 1, 0], 4), None);
    }
}

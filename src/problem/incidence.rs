//! Incidence lists: for every variable of a table, the instances and slots in which a chunk uses it.
//!
//! Accumulation gathers along these lists in ascending order of the instances, so sums have one order and no atomics.
//! The list is one index buffer: the column maps, then row starts, row ids (variables that the chunk touches) and
//! entries (`instance << bits | slot`).

use super::Table;
use crate::device::BufferId;
use crate::kernel::ColumnMap;

/// Where the parts of a list begin in its buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Incidence {
    /// Degrees of freedom of a variable, and where the table begins in vectors and among the diagonal blocks.
    pub width: u32,
    pub vector: u32,
    pub block: u32,
    pub buffer: BufferId,
    pub rows: u32,
    /// Bits of a slot number.
    pub bits: u32,
    pub gradient_map: u32,
    pub diagonal_map: u32,
    pub starts: u32,
    pub ids: u32,
    pub entries: u32,
    pub len: u32,
}

/// A slot of the table: its index column within the chunk and where its contributions are.
pub struct IncidentSlot<'a> {
    pub indices: &'a [u32],
    pub gradient: &'a ColumnMap,
    pub diagonal: &'a ColumnMap,
}

/// Bits that number `slots` slots.
pub fn slot_bits(slots: usize) -> u32 {
    usize::BITS - slots.saturating_sub(1).leading_zeros()
}

/// Sorts by counting: linear in the chunk's instances and the table's variables.
pub fn build(table: &Table, slots: &[IncidentSlot]) -> (Incidence, Vec<u32>) {
    let &Table { count, tangent: width, vector, block, .. } = table;
    let bits = slot_bits(slots.len());
    let mut words = Vec::new();
    let map = |words: &mut Vec<u32>, of: &dyn Fn(&IncidentSlot) -> Vec<u32>| {
        let start = words.len() as u32;
        slots.iter().for_each(|slot| words.extend(of(slot)));
        start
    };
    let gradient_map = map(&mut words, &|slot| slot.gradient.codes.clone());
    let diagonal_map = map(&mut words, &|slot| slot.diagonal.codes.clone());

    let mut ends = vec![0u32; count as usize + 1];
    for slot in slots {
        slot.indices.iter().for_each(|&index| ends[index as usize + 1] += 1);
    }
    let ids: Vec<u32> = (0..count).filter(|&id| ends[id as usize + 1] > 0).collect();
    for id in 0..count as usize {
        ends[id + 1] += ends[id];
    }
    let starts = words.len() as u32;
    words.extend(ids.iter().map(|&id| ends[id as usize]));
    words.push(ends[count as usize]);
    let ids_start = words.len() as u32;
    words.extend(&ids);
    let entries = words.len() as u32;
    words.resize(words.len() + ends[count as usize] as usize, 0);
    let mut next = ends;
    let instances = slots.first().map_or(0, |slot| slot.indices.len());
    for instance in 0..instances {
        for (number, slot) in slots.iter().enumerate() {
            let place = &mut next[slot.indices[instance] as usize];
            words[(entries + *place) as usize] = (instance as u32) << bits | number as u32;
            *place += 1;
        }
    }
    let incidence = Incidence {
        width,
        vector,
        block,
        buffer: BufferId(u32::MAX),
        rows: ids.len() as u32,
        bits,
        gradient_map,
        diagonal_map,
        starts,
        ids: ids_start,
        entries,
        len: words.len() as u32,
    };
    (incidence, words)
}

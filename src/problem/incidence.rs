//! Incidence lists: for every variable of a table, the instances and slots in which a chunk uses it.
//!
//! Accumulation gathers along these lists in ascending order of the instances, so sums have one order and no atomics.
//! The list is one index buffer: the column maps, then row starts, row ids (variables that the chunk touches) and
//! entries (`place << bits | slot`, where the instance's contributions are: its number, unless they lie next to each other).
//!
//! A variable that very many instances share, a camera's focal length or one scale in every residual, would keep a lane
//! busy while all others wait: such *hubs* are summed along a tree.

use super::segment_tree::{Leaves, SegmentTree};
use super::table::Site;
use leastwise_base::parallel;
use leastwise_base::task::{Pace, Stopped};
use leastwise_device::BufferId;
use leastwise_program::ColumnMap;
use std::ops::Range;

/// Where the parts of a list begin in its buffer.
pub struct Incidence {
    /// Degrees of freedom of a variable, and where the table begins in vectors and among the diagonal blocks.
    pub width: u32,
    /// First element of the table in vectors over all unknowns.
    pub vector: u32,
    /// First element of the table among the packed diagonal blocks.
    pub block: u32,
    /// Index buffer that holds the list.
    pub buffer: BufferId,
    /// Number of rows: variables with instances, hubs excluded.
    pub rows: u32,
    /// Bits of a slot number.
    pub bits: u32,
    /// First word of the column maps of gradients.
    pub gradient_map: u32,
    /// First word of the column maps of diagonal blocks.
    pub diagonal_map: u32,
    /// First word of the row starts.
    pub starts: u32,
    /// First word of the row ids.
    pub ids: u32,
    /// First word of the entries.
    pub entries: u32,
    /// Words of the list.
    pub len: u32,
    /// The variables with more entries than [`LONGEST`], which are not in the list.
    pub hubs: Option<SegmentTree>,
}

/// Instances or variables between two counts of what was done, and operations that one takes.
const RUN: usize = 1 << 14;
const EACH: usize = 8;

/// Variables of all threads together that are counted, for each entry at most.
const MOST_COUNTERS: usize = 4;

/// Entries that one lane adds up at most.
const LONGEST: u32 = 64;

/// The words of a list, and of the tree of its hubs.
pub struct Words {
    pub list: Vec<u32>,
    pub hubs: Vec<u32>,
}

/// A slot of the table: its index column within the chunk and where its contributions are.
pub struct IncidentSlot<'a> {
    pub indices: &'a [u32],
    /// Another slot's: only instances that name the same variable there take part.
    pub same_as: Option<&'a [u32]>,
    pub gradient: &'a ColumnMap,
    pub diagonal: &'a ColumnMap,
}

impl IncidentSlot<'_> {
    /// The variable that an instance names, if it takes part.
    fn variable(&self, instance: usize) -> Option<u32> {
        let id = self.indices[instance];
        self.same_as.is_none_or(|other| other[instance] == id).then_some(id)
    }
}

/// Bits that number `slots` slots.
pub fn slot_bits(slots: usize) -> u32 {
    usize::BITS - slots.saturating_sub(1).leading_zeros()
}

/// Entries of some instances, variable by variable.
struct Sorted {
    /// First variable that they name.
    first: u32,
    /// Entries of each variable from the first on, to the last.
    lens: Vec<u32>,
    /// One past the last entry of each.
    ends: Vec<u32>,
    entries: Vec<u32>,
}

impl Sorted {
    /// Sorts by counting; entries have so many `bits` of the slot, behind places so far from each other.
    async fn new(slots: &[IncidentSlot<'_>], instances: Range<u32>, [bits, distance]: [u32; 2], pace: &Pace) -> Result<Self, Stopped> {
        let runs = || (instances.start..instances.end).step_by(RUN).map(|start| start..instances.end.min(start + RUN as u32));
        let (mut first, mut last) = (u32::MAX, 0);
        for slot in slots {
            for run in runs() {
                pace.spend(run.len()).await?;
                for id in run.filter_map(|instance| slot.variable(instance as usize)) {
                    (first, last) = (first.min(id), last.max(id));
                }
            }
        }
        let mut lens = vec![0u32; if first <= last { (last - first + 1) as usize } else { 0 }];
        for slot in slots {
            for run in runs() {
                pace.spend(EACH * run.len()).await?;
                run.filter_map(|instance| slot.variable(instance as usize)).for_each(|id| lens[(id - first) as usize] += 1);
            }
        }
        let mut total = 0;
        let starts = lens.iter().map(|len| {
            total += len;
            total - len
        });
        // Beginnings, which become ends.
        let mut ends: Vec<u32> = starts.collect();
        let mut entries = vec![0; total as usize];
        for run in runs() {
            pace.spend(EACH * slots.len() * run.len()).await?;
            for instance in run {
                for (number, slot) in slots.iter().enumerate() {
                    let Some(id) = slot.variable(instance as usize) else { continue };
                    let place = &mut ends[(id - first) as usize];
                    entries[*place as usize] = (instance * distance) << bits | number as u32;
                    *place += 1;
                }
            }
        }
        Ok(Self { first: first.min(last), lens, ends, entries })
    }

    /// Entries of a variable.
    fn of(&self, id: u32) -> Option<&[u32]> {
        let place = id.checked_sub(self.first)? as usize;
        let (end, len) = (*self.ends.get(place)? as usize, self.lens[place] as usize);
        Some(&self.entries[end - len..end])
    }
}

/// Sorts by counting: linear in the chunk's instances and the table's variables. An instance's contributions begin `distance`
/// elements after those of the one before.
pub async fn build(site: Site, slots: &[IncidentSlot<'_>], distance: u32, pace: &Pace) -> Result<(Incidence, Words), Stopped> {
    let Site { count, tangent: width, vector, block, .. } = site;
    let bits = slot_bits(slots.len());
    let codes = |of: &dyn Fn(&IncidentSlot) -> Vec<u32>| slots.iter().flat_map(of).collect::<Vec<u32>>();
    let maps = [codes(&|slot| slot.gradient.codes.clone()), codes(&|slot| slot.diagonal.codes.clone())];
    let of_maps = maps.concat();
    let diagonal_map = maps[0].len() as u32;

    let instances = slots.first().map_or(0, |slot| slot.indices.len());
    // Each thread sorts a run of instances; then each joins what all have of its variables.
    let most = MOST_COUNTERS * slots.len() * instances / count.max(1) as usize;
    let shares = parallel::few_shares(instances as u32, EACH * slots.len() * instances, most);
    let sorted = parallel::ranges(
        shares.into_iter().map(|range| (range, ())).collect(),
        |range, (), pace| async move { Sorted::new(slots, range, [bits, distance], &pace).await },
        pace,
    );
    let sorted = sorted.await?;
    let mut lens = vec![0u32; count as usize];
    for part in &sorted {
        let lens = &mut lens[part.first as usize..][..part.lens.len()];
        for run in runs(lens.len()) {
            pace.spend(run.len()).await?;
            lens[run.clone()].iter_mut().zip(&part.lens[run]).for_each(|(len, own)| *len += own);
        }
    }
    let is_hub = |id: &u32| lens[*id as usize] > LONGEST;
    let (mut hubs, mut ids) = (Vec::new(), Vec::new());
    for run in runs(count as usize) {
        pace.spend(EACH * run.len()).await?;
        for id in (run.start as u32..run.end as u32).filter(|&id| lens[id as usize] > 0) {
            if is_hub(&id) { hubs.push(id) } else { ids.push(id) }
        }
    }
    // First entry of every variable, and one past the last: among those of rows, or of hubs.
    let place = |ids: &[u32]| {
        let ends = ids.iter().scan(0, |end, &id| {
            *end += lens[id as usize];
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect::<Vec<u32>>()
    };
    let (of_rows, of_hubs) = (place(&ids), place(&hubs));
    pace.spend(EACH * ids.len()).await?;
    // Untouched pages of zeros: each thread's first write places its memory.
    let [starts, ids_start] = [of_maps.len(), of_maps.len() + of_rows.len()];
    let entries = ids_start + ids.len();
    let mut words = vec![0; entries + of_rows[ids.len()] as usize];
    words[..starts].copy_from_slice(&of_maps);
    words[starts..ids_start].copy_from_slice(&of_rows);
    words[ids_start..entries].copy_from_slice(&ids);
    let mut hub_entries = vec![0; of_hubs[hubs.len()] as usize];
    let ranges = parallel::shares(count, EACH * slots.len() * instances);
    let first_of = |ids: &[u32], starts: &[u32], id: u32| starts[ids.partition_point(|other| *other < id)];
    let rows_of = parallel::parts(&mut words[entries..], &ranges, |id| first_of(&ids, &of_rows, id));
    let hubs_of = parallel::parts(&mut hub_entries, &ranges, |id| first_of(&hubs, &of_hubs, id));
    let items = ranges.iter().cloned().zip(rows_of.into_iter().zip(hubs_of));
    let (sorted, lens) = (&sorted[..], &lens[..]);
    let fill = parallel::ranges(
        items.collect(),
        |range, (mut rows, mut hub_rows), pace| async move {
            let mut spent = 0;
            for id in range {
                let len = lens[id as usize];
                let to = if is_hub(&id) { &mut hub_rows } else { &mut rows };
                let mut own = to.split_off_mut(..len as usize).unwrap_or_default();
                for of_id in sorted.iter().filter_map(|part| part.of(id)) {
                    own.split_off_mut(..of_id.len()).unwrap_or_default().copy_from_slice(of_id);
                }
                spent += sorted.len() + len as usize;
                if spent >= RUN {
                    pace.spend(std::mem::take(&mut spent)).await?;
                }
            }
            Ok(())
        },
        pace,
    );
    fill.await?;
    let (hubs, hub_words) = if hubs.is_empty() {
        (None, None)
    } else {
        let rows = hubs.iter().map(|&id| (id, lens[id as usize])).collect();
        let leaves = Leaves { entries: &hub_entries, bits, maps };
        let (tree, words) = SegmentTree::new(rows, [width, site.packed()], Some(leaves), pace).await?;
        (Some(tree), Some(words))
    };
    let incidence = Incidence {
        width,
        vector,
        block,
        buffer: BufferId(u32::MAX),
        rows: ids.len() as u32,
        bits,
        gradient_map: 0,
        diagonal_map,
        starts: starts as u32,
        ids: ids_start as u32,
        entries: entries as u32,
        len: words.len() as u32,
        hubs,
    };
    Ok((incidence, Words { list: words, hubs: hub_words.unwrap_or_default() }))
}

/// Numbers below `all`, in runs of [`RUN`].
pub fn runs(all: usize) -> impl Iterator<Item = Range<usize>> {
    (0..all).step_by(RUN).map(move |start| start..(start + RUN).min(all))
}

impl Incidence {
    /// Every buffer that it owns.
    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        std::iter::once(self.buffer).chain(self.hubs.iter().flat_map(SegmentTree::buffers))
    }

    /// Words that are read when something is gathered.
    pub fn words(&self) -> u32 {
        self.len + self.hubs.as_ref().map_or(0, |tree| tree.len)
    }
}

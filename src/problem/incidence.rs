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
use leastwise_base::counting_sort::{Runs, sort_parts};
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
pub(super) const EACH: usize = 8;

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

/// Entries of all instances by their variables.
struct Entries<'a> {
    slots: &'a [IncidentSlot<'a>],
    instances: u32,
    /// Bits of the slot.
    bits: u32,
    /// Places of an instance's contributions behind those of the one before.
    distance: u32,
}

impl Entries<'_> {
    fn run(&self, run: u32) -> Range<u32> {
        let start = run * RUN as u32;
        start..self.instances.min(start + RUN as u32)
    }
}

impl Runs for Entries<'_> {
    type Item = u32;

    fn count(&self) -> u32 {
        self.instances.div_ceil(RUN as u32)
    }

    fn len(&self, run: u32) -> usize {
        self.slots.len() * self.run(run).len()
    }

    fn visit(&self, run: u32, mut visit: impl FnMut(u32, u32)) {
        for instance in self.run(run) {
            for (number, slot) in (0..).zip(self.slots) {
                if let Some(id) = slot.variable(instance as usize) {
                    visit(id, (instance * self.distance) << self.bits | number);
                }
            }
        }
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
    let sorted = sort_parts(&Entries { slots, instances: instances as u32, bits, distance }, count, pace).await?;
    let mut lens = vec![0u32; count as usize];
    for part in &sorted {
        for run in runs(part.keys.len()) {
            pace.spend(EACH * run.len()).await?;
            let ids = part.keys.start + run.start as u32..part.keys.start + run.end as u32;
            ids.for_each(|id| lens[id as usize] += part.of(id).map_or(0, |own| own.len() as u32));
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
            let of_range: Vec<_> = sorted.iter().filter(|part| part.keys.start < range.end && range.start < part.keys.end).collect();
            let mut spent = 0;
            for id in range {
                let len = lens[id as usize];
                let to = if is_hub(&id) { &mut hub_rows } else { &mut rows };
                let mut own = to.split_off_mut(..len as usize).unwrap_or_default();
                for of_id in of_range.iter().filter_map(|part| part.of(id)) {
                    own.split_off_mut(..of_id.len()).unwrap_or_default().copy_from_slice(of_id);
                }
                spent += of_range.len() + len as usize;
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

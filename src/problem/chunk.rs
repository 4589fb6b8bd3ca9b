//! Chunks: runs of instances whose buffers fit the device's bindings.

use super::incidence::{self, EACH, Incidence, IncidentSlot};
use super::table::Site;
use super::term::Values;
use leastwise_base::parallel;
use leastwise_base::task::{Pace, Stopped};
use leastwise_device::{BufferId, Command, Device, DeviceError, Kind, Slice, binding};
use leastwise_error::Error;
use leastwise_program::{ColumnMap, OwnerProgram, RepeatedSlotsProgram, Rows, Signature};
use std::ops::Range;

/// Instances `first .. first + count` of a batch.
pub struct Chunk {
    /// First instance, numbered within the batch.
    pub first: u32,
    /// Number of instances.
    pub count: u32,
    /// Data buffer: what all instances share, then the columns of weight and data.
    pub data: BufferId,
    /// Elements of `data`.
    pub data_len: u32,
    /// Index buffer: the tables' places, the index columns and, with owners, tiles and rows.
    pub index: BufferId,
    /// Elements of `index`.
    pub index_len: u32,
    /// r and the stored entries of J.
    pub jacobian: BufferId,
    /// Elements of `jacobian`.
    pub jacobian_len: u32,
    /// One list for every moving table that the chunk reaches.
    pub incidence: Vec<Incidence>,
    /// The same for what is added to diagonal blocks where an instance names a variable twice.
    pub repeated_slots: Vec<Incidence>,
    /// Where products are computed by owners, their tiles.
    pub tiles: Option<Tiles>,
}

/// The tiles of a chunk, and the lists of what crosses to other variables than the owners.
pub struct Tiles {
    /// Number of tiles: workgroups of the product's kernel.
    pub count: u32,
    /// The words of the index buffer with the first one's first row and instance, and with the beginning of the first row.
    pub first: u32,
    /// Word of the index buffer with the beginning of the first row.
    pub starts: u32,
    /// Incidence lists over the contributions to variables of other columns.
    pub crossing: Vec<Incidence>,
}

impl Chunk {
    /// Its own buffers in the slots where kernels expect them.
    pub fn bindings(&self) -> [(usize, Slice); 3] {
        let whole = |buffer, len| Slice { buffer, offset: 0, len };
        [
            (binding::DATA, whole(self.data, self.data_len)),
            (binding::INDEX, whole(self.index, self.index_len)),
            (binding::JACOBIAN, whole(self.jacobian, self.jacobian_len)),
        ]
    }

    /// Every buffer that it owns.
    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        let lists = self.incidence.iter().chain(&self.repeated_slots).chain(self.tiles.iter().flat_map(|tiles| &tiles.crossing));
        [self.data, self.index, self.jacobian].into_iter().chain(lists.flat_map(Incidence::buffers))
    }
}

/// What programs need of their chunks' buffers.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    pub name: &'a str,
    pub signature: &'a Signature,
    /// Columns of the Jacobian buffer.
    pub stored: u32,
    /// Words that lists need for an instance at most, and besides.
    pub list_words: u32,
    pub list_maps: u32,
    /// For every slot, where its contributions are.
    pub gradient_maps: &'a [ColumnMap],
    pub diagonal_maps: &'a [ColumnMap],
}

/// Lists that not every chunk has.
#[derive(Clone, Copy, Default)]
pub(super) struct Besides<'a> {
    /// Where products are computed by owners, and their rows.
    pub owners: Option<(&'a OwnerProgram, &'a Rows)>,
    /// Pairs of slots that are one variable in some instances.
    pub repeated_slots: Option<(&'a [(u32, u32)], &'a RepeatedSlotsProgram)>,
}

/// A chunk before it has buffers.
pub(super) struct ChunkDraft {
    pub first: u32,
    pub count: u32,
    /// Those of the index buffer.
    words: Vec<u32>,
    lists: Vec<ListDraft>,
    /// Without the lists of what crosses, which are beside.
    tiles: Option<(Tiles, Vec<ListDraft>)>,
    repeated_slots: Vec<ListDraft>,
}

/// A list before it has a buffer, and the widths of its hubs' nodes.
struct ListDraft {
    list: Incidence,
    words: incidence::Words,
    widths: [u32; 2],
}

/// Data of a drafted chunk, from an element on.
pub(super) struct Filled {
    pub chunk: usize,
    offset: u32,
    values: Vec<f64>,
}

/// Allocates buffers, all or none.
pub(super) struct Allocation<'a> {
    pub device: &'a mut Device,
    made: Vec<BufferId>,
}

impl<'a> Allocation<'a> {
    pub fn new(device: &'a mut Device) -> Self {
        Self { device, made: Vec::new() }
    }

    pub fn buffer(&mut self, kind: Kind, len: u32, label: &str) -> Result<BufferId, DeviceError> {
        let buffer = self.device.allocate(kind, len.max(1), label);
        match buffer {
            Ok(buffer) => self.made.push(buffer),
            Err(_) => self.made.iter().for_each(|buffer| self.device.free(*buffer)),
        }
        buffer
    }
}

impl Frame<'_> {
    /// The most instances of which every buffer, so many columns of scratch too, still fits a binding.
    pub fn largest_chunk(&self, device: &Device, scratch: u32) -> Result<u32, Error> {
        let (signature, limits, real) = (self.signature, device.limits(), device.precision().bytes());
        let slots = signature.slots.len() as u64;
        // Two more for rows and tiles.
        let columns = signature.slots.iter().map(|slot| slot.arena.column + 3).max().unwrap_or(0);
        let reals = [self.stored, scratch, signature.each()];
        let words = [columns, self.list_words];
        let bytes = |columns: &[u32], each: u64| columns.iter().map(|&n| u64::from(n) * each).max().unwrap_or(0);
        let widest = bytes(&reals, real).max(bytes(&words, 4)).max(4);
        let maps = self.gradient_maps.iter().chain(self.diagonal_maps).map(|map| map.codes.len() as u64);
        let maps = maps.sum::<u64>() + u64::from(self.list_maps);
        let fixed = 4 * (maps + slots * 2 + 64) + u64::from(signature.shared) * real;
        let bytes = limits.binding_bytes.min(limits.buffer_bytes).saturating_sub(fixed);
        let most = (bytes / widest).min(limits.max_items() / 1024).min(u64::from(u32::MAX) / 8 / (widest / 4)).min(1 << 26);
        // An entry of a list has the place of what an instance hands on, and a slot's number.
        let most = most.min(u64::from((u32::MAX >> incidence::slot_bits(signature.slots.len())) / OwnerProgram::MOST_COLUMNS));
        let whole = most / u64::from(limits.group_size) * u64::from(limits.group_size);
        if whole == 0 {
            return Err(Error::Limits(format!(
                "term \"{}\": one workgroup's instances need more than a buffer binding ({} bytes): split the residual",
                self.name, limits.binding_bytes
            )));
        }
        Ok(whole as u32)
    }

    /// The words of the chunk of these instances; `sites` are those of the slots' tables, `indices` the index columns of all instances.
    pub async fn draft(
        &self,
        sites: &[Site],
        indices: &[Vec<u32>],
        range: Range<usize>,
        Besides { owners, repeated_slots }: Besides<'_>,
        pace: &Pace,
    ) -> Result<ChunkDraft, Stopped> {
        let (first, count) = (range.start as u32, range.len() as u32);
        // Where each slot's table begins, in the arena and in vectors.
        let of_owners = owners.map_or(0, |(_, rows)| 2 * rows.tiles.len() + rows.starts.len());
        let mut words = Vec::with_capacity(2 * sites.len() + indices.len() * range.len() + of_owners);
        words.extend(sites.iter().map(|site| site.arena).chain(sites.iter().map(|site| site.vector)));
        debug_assert_eq!(words.len(), self.signature.header as usize);
        for column in indices {
            let column = &column[range.clone()];
            parallel::extend(&mut words, 0..count, |instance| column[instance as usize]);
            pace.spend(range.len()).await?;
        }
        let first_tile = words.len() as u32;
        words.extend(owners.iter().flat_map(|(_, rows)| rows.tiles.iter().flat_map(|&row| [row, rows.starts[row as usize]])));
        let row_starts = words.len() as u32;
        words.extend(owners.iter().flat_map(|(_, rows)| &rows.starts));
        let none = vec![ColumnMap::default(); sites.len()];
        // Of contributions to vectors and diagonal blocks, and of those that owners hand on.
        let gathered = [
            Some(((self.gradient_maps, self.diagonal_maps), 1)),
            owners.map(|(owner, _)| ((&owner.crossing[..], &none[..]), owner.crossing_columns)),
        ];
        let operations = EACH * sites.len() * range.len();
        let of_range = &range;
        let lists = parallel::together(
            gathered.into_iter().flatten().collect(),
            operations,
            |(maps, distance), pace| async move { self.lists(sites, indices, of_range, maps, distance, &pace).await },
            pace,
        );
        let mut lists = lists.await?.into_iter();
        let (lists, crossing) = (lists.next().unwrap_or_default(), lists.next());
        let tiles = owners.zip(crossing).map(|((_, rows), crossing)| {
            let count = rows.tiles.len() as u32 - 1;
            (Tiles { count, first: first_tile, starts: row_starts, crossing: Vec::new() }, crossing)
        });
        let repeated_slots = match repeated_slots {
            None => Vec::new(),
            Some((pairs, program)) => self.lists_of_pairs(sites, indices, &range, pairs, &program.maps, pace).await?,
        };
        Ok(ChunkDraft { first, count, words, lists, tiles, repeated_slots })
    }

    /// Makes the buffers of a chunk.
    pub fn place(&self, device: &mut Device, draft: ChunkDraft, uploads: &mut Vec<Command>) -> Result<Chunk, Error> {
        let ChunkDraft { first, count, words, lists, tiles, repeated_slots } = draft;
        let mut allocation = Allocation::new(device);
        let label = |what: &str| format!("{}: {what}", self.name);
        let data_len = self.signature.shared + self.signature.each() * count;
        let jacobian_len = self.stored * count;
        let index_len = words.len() as u32;
        let data = allocation.buffer(Kind::Real, data_len, &label("data"))?;
        let index = allocation.buffer(Kind::Index, index_len, &label("index table"))?;
        let jacobian = allocation.buffer(Kind::Real, jacobian_len, &label("Jacobian"))?;
        uploads.push(Command::UploadIndices { buffer: index, offset: 0, data: words });
        let mut placed = |lists: Vec<ListDraft>| -> Result<Vec<Incidence>, Error> {
            lists.into_iter().map(|list| self.list(&mut allocation, list, uploads)).collect()
        };
        let incidence = placed(lists)?;
        let tiles = match tiles {
            None => None,
            Some((tiles, crossing)) => Some(Tiles { crossing: placed(crossing)?, ..tiles }),
        };
        let repeated_slots = placed(repeated_slots)?;
        Ok(Chunk { first, count, data, data_len, index, index_len, jacobian, jacobian_len, incidence, repeated_slots, tiles })
    }

    /// A list for every table that slots with contributions belong to. An instance's contributions begin `distance` elements
    /// after those of the one before.
    async fn lists(
        &self,
        sites: &[Site],
        indices: &[Vec<u32>],
        range: &Range<usize>,
        (gradient, diagonal): (&[ColumnMap], &[ColumnMap]),
        distance: u32,
        pace: &Pace,
    ) -> Result<Vec<ListDraft>, Stopped> {
        let moves = |slot: usize| self.signature.slots[slot].vector.is_some() && gradient[slot].width > 0;
        // No two moving tables begin at the same element of a vector.
        let mut reached: Vec<(u32, usize)> =
            sites.iter().enumerate().filter(|(slot, _)| moves(*slot)).map(|(slot, site)| (site.vector, slot)).collect();
        reached.sort_unstable();
        reached.dedup_by_key(|(vector, _)| *vector);
        let list = |site: Site, pace: Pace| async move {
            let mine = (0..sites.len()).filter(|&slot| moves(slot) && sites[slot].vector == site.vector);
            let slots: Vec<IncidentSlot> = mine
                .map(|slot| IncidentSlot {
                    indices: self.indices(indices, slot as u32, range),
                    same_as: None,
                    gradient: &gradient[slot],
                    diagonal: &diagonal[slot],
                })
                .collect();
            ListDraft::new(site, &slots, distance, &pace).await
        };
        let tables: Vec<Site> = reached.into_iter().map(|(_, slot)| sites[slot]).collect();
        parallel::together(tables, EACH * sites.len() * range.len(), list, pace).await
    }

    /// A list for every table of which pairs of slots may name one variable.
    async fn lists_of_pairs(
        &self,
        sites: &[Site],
        indices: &[Vec<u32>],
        range: &Range<usize>,
        pairs: &[(u32, u32)],
        maps: &[ColumnMap],
        pace: &Pace,
    ) -> Result<Vec<ListDraft>, Stopped> {
        let none = ColumnMap::default();
        let site = |pair: &(u32, u32)| sites[pair.0 as usize];
        let mut reached: Vec<(u32, u32)> = pairs.iter().map(|pair| (site(pair).vector, pair.0)).collect();
        reached.sort_unstable();
        reached.dedup_by_key(|(vector, _)| *vector);
        let mut lists = Vec::new();
        for of in reached.into_iter().map(|(_, slot)| sites[slot as usize]) {
            let mine = pairs.iter().zip(maps).filter(|(pair, _)| site(pair).vector == of.vector);
            let slots: Vec<IncidentSlot> = mine
                .map(|(&(a, b), diagonal)| IncidentSlot {
                    indices: self.indices(indices, a, range),
                    same_as: Some(self.indices(indices, b, range)),
                    gradient: &none,
                    diagonal,
                })
                .collect();
            lists.push(ListDraft::new(of, &slots, 1, pace).await?);
        }
        Ok(lists)
    }

    /// The indices of a slot.
    fn indices<'i>(&self, indices: &'i [Vec<u32>], slot: u32, range: &Range<usize>) -> &'i [u32] {
        &indices[self.signature.slots[slot as usize].arena.column as usize][range.clone()]
    }

    fn list(&self, allocation: &mut Allocation, draft: ListDraft, uploads: &mut Vec<Command>) -> Result<Incidence, Error> {
        let ListDraft { mut list, words, widths } = draft;
        list.buffer = allocation.buffer(Kind::Index, list.len, &format!("{}: incidence", self.name))?;
        uploads.push(Command::UploadIndices { buffer: list.buffer, offset: 0, data: words.list });
        if let Some(tree) = &mut list.hubs {
            tree.allocate(allocation, widths, &format!("{}: shared variables", self.name))?;
            uploads.push(Command::UploadIndices { buffer: tree.buffer, offset: 0, data: words.hubs });
        }
        Ok(list)
    }

    /// What replaces a scalar of data of `count` instances from `first` on.
    pub fn upload<'c>(
        &self,
        chunks: impl Iterator<Item = &'c Chunk>,
        scalar: usize,
        first: u32,
        count: u32,
        values: &Values,
        uploads: &mut Vec<Command>,
    ) {
        let shape = self.signature.columns[scalar];
        self.upload_column(chunks, shape.shared, shape.offset, first, count, values, uploads);
    }

    pub fn upload_weight<'c>(
        &self,
        chunks: impl Iterator<Item = &'c Chunk>,
        first: u32,
        count: u32,
        values: &Values,
        uploads: &mut Vec<Command>,
    ) {
        self.upload_column(chunks, self.signature.weight_shared, 0, first, count, values, uploads);
    }

    /// Copies of elements of the device into a scalar of data, or the weight, of as many instances from `first` on.
    pub fn copy<'c>(
        &self,
        chunks: impl Iterator<Item = &'c Chunk>,
        scalar: Option<usize>,
        first: u32,
        from: Slice,
        uploads: &mut Vec<Command>,
    ) {
        for chunk in chunks {
            if let Some((offset, cells)) = self.cells((chunk.first, chunk.count), self.cell_of(scalar), first..first + from.len) {
                let (at, len) = (from.offset + (cells.start - first), cells.len() as u32);
                let (from, to) = (Slice { offset: at, len, ..from }, Slice { buffer: chunk.data, offset, len });
                uploads.push(Command::Copy { from, to });
            }
        }
    }

    /// Sharing of a scalar of data (or the weight) by all instances, and its place.
    fn cell_of(&self, scalar: Option<usize>) -> (bool, u32) {
        match scalar {
            Some(scalar) => (self.signature.columns[scalar].shared, self.signature.columns[scalar].offset),
            None => (self.signature.weight_shared, 0),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn upload_column<'c>(
        &self,
        chunks: impl Iterator<Item = &'c Chunk>,
        shared: bool,
        column: u32,
        first: u32,
        count: u32,
        values: &Values,
        uploads: &mut Vec<Command>,
    ) {
        for chunk in chunks {
            if let Some((offset, cells)) = self.cells((chunk.first, chunk.count), (shared, column), first..first + count) {
                append(uploads, chunk.data, offset, cells.map(|at| values.at((at - first) as usize)).collect());
            }
        }
    }

    /// The part of a chunk's data that a column has for these instances of the batch: its first element, and the instances that it is of.
    fn cells(&self, (first, count): (u32, u32), (shared, column): (bool, u32), instances: Range<u32>) -> Option<(u32, Range<u32>)> {
        if shared {
            return Some((column, instances.start..instances.start + 1));
        }
        let range = instances.start.max(first)..instances.end.min(first + count);
        let offset = self.signature.shared + column * count + range.start.saturating_sub(first);
        (!range.is_empty()).then_some((offset, range))
    }

    /// The same in the data of drafted chunks, which are noted.
    pub fn fill<'c>(
        &self,
        chunks: impl Iterator<Item = &'c ChunkDraft>,
        scalar: Option<usize>,
        instances: Range<u32>,
        value: impl Fn(u32) -> f64 + Sync,
        filled: &mut Vec<Filled>,
    ) {
        let column = self.cell_of(scalar);
        for (number, chunk) in chunks.enumerate() {
            let Some((offset, cells)) = self.cells((chunk.first, chunk.count), column, instances.clone()) else { continue };
            let is_next = |known: &Filled| known.chunk == number && known.offset + known.values.len() as u32 == offset;
            let place = filled.iter().rposition(is_next).unwrap_or_else(|| {
                filled.push(Filled { chunk: number, offset, values: Vec::new() });
                filled.len() - 1
            });
            let last = &mut filled[place];
            // Room for a whole column at once.
            if last.values.capacity() - last.values.len() < cells.len() {
                last.values.reserve_exact(if column.0 { 1 } else { (chunk.first + chunk.count - cells.start) as usize });
            }
            parallel::extend(&mut last.values, cells, &value);
        }
    }
}

impl Filled {
    /// The upload into the data of its chunk.
    pub fn upload(self, buffer: BufferId) -> Command {
        Command::UploadReals { buffer, offset: self.offset, data: self.values }
    }
}

impl ListDraft {
    async fn new(site: Site, slots: &[IncidentSlot<'_>], distance: u32, pace: &Pace) -> Result<Self, Stopped> {
        let (list, words) = incidence::build(site, slots, distance, pace).await?;
        Ok(Self { list, words, widths: [site.tangent, site.packed()] })
    }
}

/// Forgets what was to be uploaded into buffers, and destroys them.
pub(super) fn free(buffers: impl Iterator<Item = BufferId>, device: &mut Device, uploads: &mut Vec<Command>) {
    let buffers: std::collections::HashSet<BufferId> = buffers.collect();
    uploads.retain(|upload| match upload {
        Command::UploadReals { buffer, .. } | Command::UploadIndices { buffer, .. } => !buffers.contains(buffer),
        // Combinations of tables.
        Command::Dispatch(dispatch) => !dispatch.bindings.iter().flatten().any(|slice| buffers.contains(&slice.buffer)),
        Command::Copy { from, to } => !buffers.contains(&from.buffer) && !buffers.contains(&to.buffer),
        _ => true,
    });
    buffers.into_iter().for_each(|buffer| device.free(buffer));
}

/// An upload, as one with the one before it where they are next to each other.
fn append(uploads: &mut Vec<Command>, to: BufferId, at: u32, mut values: Vec<f64>) {
    if let Some(Command::UploadReals { buffer, offset, data }) = uploads.last_mut()
        && *buffer == to
        && *offset + data.len() as u32 == at
    {
        data.append(&mut values);
        return;
    }
    uploads.push(Command::UploadReals { buffer: to, offset: at, data: values });
}

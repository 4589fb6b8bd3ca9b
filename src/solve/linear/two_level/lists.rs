//! Lists in index buffers: which unknowns, points and variables are in which patch, and along which lists the blocks of pairs of slots are
//! added up.

use super::aggregate::NONE;
use super::buffers::List;
use super::hierarchy::{Product, Rows};
use super::pairs::PairList;
use super::patches::Patches;
use super::space::{Role, Space};
use leastwise_base::task::{Pace, Stopped};
use leastwise_device::{BufferId, Command, Device, KernelId, Kind, Slice};
use leastwise_error::Error;
use leastwise_problem::{Batch, Links, OffDiagonalKernels, Problem, Registry};
use leastwise_program::{OffDiagonalPass, SlotPair, wgsl};

/// Members between two counts of what was done.
const RUN: usize = 1 << 14;

/// Words of lists, to be uploaded.
#[derive(Default)]
pub(super) struct Words(pub(super) Vec<u32>);

impl Words {
    pub(super) fn push(&mut self, words: impl IntoIterator<Item = u32>) -> u32 {
        let first = self.0.len() as u32;
        self.0.extend(words);
        first
    }

    pub(super) fn list(&mut self, rows: &Rows) -> List {
        let starts = self.push(rows.starts.iter().copied());
        let entries = self.push(rows.entries.as_flattened().iter().copied());
        List { starts, entries, rows: rows.count(), count: rows.entries.len() as u32, bases: 0 }
    }

    pub(super) fn product(&mut self, product: &Product) -> List {
        List { bases: self.push(product.bases.iter().copied()), ..self.list(&product.rows) }
    }

    /// Numbers by owner, those of no owner left out: starts, and `step` times the numbers in their order.
    pub(super) async fn by_owner(&mut self, owners: u32, of: &[u32], step: u32, pace: &Pace) -> Result<[u32; 2], Stopped> {
        let mut next = vec![0u32; owners as usize];
        for of in of.chunks(RUN) {
            pace.spend(4 * of.len()).await?;
            for &owner in of {
                if let Some(count) = next.get_mut(owner as usize) {
                    *count += 1;
                }
            }
        }
        let starts = self.starts(next.iter().copied());
        next.copy_from_slice(&self.0[starts as usize..][..owners as usize]);
        let first = self.zeros(self.0[(starts + owners) as usize]);
        let members = &mut self.0[first as usize..];
        for (run, of) in (0..).step_by(RUN).zip(of.chunks(RUN)) {
            pace.spend(8 * of.len()).await?;
            for (number, &owner) in (run..).zip(of) {
                if let Some(next) = next.get_mut(owner as usize) {
                    members[*next as usize] = number * step;
                    *next += 1;
                }
            }
        }
        Ok([starts, first])
    }

    /// Starts of rows of so many words, and the end of the last.
    fn starts(&mut self, lens: impl Iterator<Item = u32>) -> u32 {
        let ends = lens.scan(0, |end, len| {
            *end += len;
            Some(*end)
        });
        self.push(std::iter::once(0).chain(ends))
    }

    fn zeros(&mut self, count: u32) -> u32 {
        let first = self.0.len();
        self.0.resize(first + count as usize, 0);
        first as u32
    }

    /// Elements of several tables' variables by owner: starts, and elements. The variables are listed by owner already.
    async fn elements(&mut self, owners: u32, tables: &[Elements], pace: &Pace) -> Result<[u32; 2], Stopped> {
        let len = |words: &[u32], owner: usize| -> u32 {
            let of_table = |table: &Elements| {
                let starts = &words[table.variables[0] as usize + owner..][..2];
                table.each * (starts[1] - starts[0])
            };
            tables.iter().map(of_table).sum()
        };
        let lens: Vec<u32> = (0..owners as usize).map(|owner| len(&self.0, owner)).collect();
        let starts = self.starts(lens.iter().copied());
        let first = self.zeros(lens.iter().sum());
        let (words, mut elements) = self.0.split_at_mut(first as usize);
        for (owner, &len) in lens.iter().enumerate() {
            pace.spend(2 * len as usize + 4 * tables.len()).await?;
            for table in tables {
                let [starts, members] = table.variables.map(|first| first as usize);
                for &variable in &words[members..][words[starts + owner] as usize..words[starts + owner + 1] as usize] {
                    let own = elements.split_off_mut(..table.each as usize).unwrap_or_default();
                    let element = table.first + variable * table.step;
                    own.iter_mut().zip(element..).for_each(|(own, element)| *own = element);
                }
            }
        }
        Ok([starts, first])
    }
}

/// Elements of a table's variables: those of one after the other are so many words apart.
struct Elements {
    /// Starts and members of the list of variables by owner.
    variables: [u32; 2],
    first: u32,
    step: u32,
    each: u32,
}

/// Buffers that are being made: freed again where one of them can't be.
pub(super) struct Making<'a> {
    pub(super) device: &'a mut Device,
    pub(super) buffers: Vec<BufferId>,
    pub(super) uploads: Vec<Command>,
}

impl Making<'_> {
    pub(super) fn reals(&mut self, len: u32, label: &str) -> Result<Slice, Error> {
        self.allocate(Kind::Inner, len, label)
    }

    pub(super) fn allocate(&mut self, kind: Kind, len: u32, label: &str) -> Result<Slice, Error> {
        let limits = self.device.limits();
        let bytes = u64::from(len) * if kind == Kind::Index { 4 } else { self.device.precision().bytes() };
        if bytes > limits.binding_bytes.min(limits.buffer_bytes) {
            return Err(Error::Limits(format!(
                "preconditioner \"two-level\": {label} need {bytes} bytes, more than a buffer of this device holds: use \"block-jacobi\""
            )));
        }
        let buffer = self.device.allocate(kind, len.max(1), label)?;
        self.buffers.push(buffer);
        Ok(Slice { buffer, offset: 0, len: len.max(1) })
    }

    pub(super) fn words(&mut self, words: Words, label: &str) -> Result<Slice, Error> {
        let slice = self.allocate(Kind::Index, words.0.len() as u32, label)?;
        self.uploads.push(Command::UploadIndices { buffer: slice.buffer, offset: 0, data: words.0 });
        Ok(slice)
    }
}

/// Where the parts of the patches' lists begin.
#[derive(Default)]
pub(super) struct Places {
    /// The patch of every unknown.
    pub(super) unknowns: u32,
    /// The unknowns of every patch: starts and members; the first elements of its points in the arena.
    pub(super) members: [u32; 2],
    pub(super) points: [u32; 2],
    /// For every table of the problem the patch of each variable, and the variables of each patch.
    pub(super) tables: Vec<Option<(u32, [u32; 2])>>,
}

/// The lists of what is in which patch.
pub(super) async fn places(links: &Links, space: &Space, patches: &Patches, pace: &Pace) -> Result<(Words, Places), Stopped> {
    let (mut words, mut places) = (Words::default(), Places::default());
    let taking = links.tables.iter().zip(&patches.owners).zip(&space.roles);
    let variables: usize = patches.owners.iter().flatten().map(Vec::len).sum();
    words.0.reserve(3 * variables + 2 * links.vector_len as usize + (links.tables.len() + 2) * (patches.count as usize + 1));
    let (mut unknowns, mut points) = (Vec::new(), Vec::new());
    for ((table, owners), role) in taking.clone() {
        let table = table.site;
        let (Some(owners), Some(role)) = (owners, role) else {
            places.tables.push(None);
            continue;
        };
        let of_variables = words.push(owners.iter().copied());
        let variables = words.by_owner(patches.count, owners, 1, pace).await?;
        places.tables.push(Some((of_variables, variables)));
        unknowns.push(Elements { variables, first: table.vector, step: table.tangent, each: table.tangent });
        if *role == Role::Point {
            points.push(Elements { variables, first: table.arena, step: table.width, each: 1 });
        }
    }
    places.unknowns = words.push(std::iter::repeat_n(NONE, links.vector_len as usize));
    for ((table, owners), role) in taking {
        let (Some(owners), true) = (owners, role.is_some()) else { continue };
        let tangent = table.site.tangent as usize;
        let of_table = words.0[(places.unknowns + table.site.vector) as usize..].chunks_mut(tangent.max(1));
        of_table.zip(owners).for_each(|(unknowns, &owner)| unknowns.fill(owner));
        pace.spend(2 * tangent * owners.len()).await?;
    }
    places.members = words.elements(patches.count, &unknowns, pace).await?;
    places.points = words.elements(patches.count, &points, pace).await?;
    Ok((words, places))
}

/// A pass of a batch's pairs over one of its chunks, and the pieces of the list that it is gathered along.
pub(super) struct Pass {
    pub(super) batch: usize,
    pub(super) chunk: usize,
    pub(super) kernel: KernelId,
    pub(super) pieces: Vec<Piece>,
}

pub(super) struct Piece {
    pub(super) list: Slice,
    pub(super) rows: u32,
    /// Number of entries.
    pub(super) count: u32,
    /// The pairs' shapes and codes, row starts and ids, entries.
    pub(super) shapes: u32,
    pub(super) starts: u32,
    pub(super) ids: u32,
    pub(super) entries: u32,
    pub(super) bits: u32,
}

/// Before a list is on the device.
pub(super) const NOWHERE: Slice = Slice { buffer: BufferId(u32::MAX), offset: 0, len: 0 };

/// The passes over pairs of slots, and the elements that their columns take, if those are more than a workspace has.
pub(super) fn passes(
    making: &mut Making,
    registry: &mut Registry,
    problem: &Problem,
    lists: Vec<PairList>,
) -> Result<(Vec<Pass>, Option<u32>), Error> {
    let limits = making.device.limits();
    let bytes = limits.binding_bytes.min(limits.buffer_bytes);
    let elements = bytes / making.device.precision().bytes();
    let (mut passes, mut scratch) = (Vec::new(), 1);
    for mut list in lists {
        let batch = &problem.batches()[list.batch];
        let longest = batch.chunks.iter().map(|chunk| chunk.count).max().unwrap_or(1);
        let most = (elements / u64::from(longest)).min(1 << 16) as u32;
        let OffDiagonalKernels { programs, kernels } = problem.offdiagonal(making.device, registry, batch, most)?;
        let cut = making.device.cut();
        let (of_batch, of_chunk) = (list.batch, list.chunk);
        for (number, (pass, &kernel)) in (1..).zip(programs.passes.iter().zip(&kernels)) {
            let columns = cut.map_or(pass.columns, |cut| wgsl::columns(&pass.program, cut));
            let needed = u64::from(columns) * u64::from(longest);
            if needed > elements {
                return Err(Error::Limits(format!(
                    "preconditioner \"two-level\": the products of the columns of term \"{}\" need more than a buffer binding ({bytes} bytes): use \"block-jacobi\"",
                    batch.name
                )));
            }
            scratch = scratch.max(needed as u32);
            let head = head(&programs.pairs, pass);
            let mut pieces = Vec::new();
            // The last pass may have the list itself.
            let list = if number == programs.passes.len() { std::mem::take(&mut list) } else { list.clone() };
            for (mut piece, words) in pieces_of(list, &head, (bytes / 4) as usize) {
                piece.list = making.words(words, "pairs of patches")?;
                pieces.push(piece);
            }
            passes.push(Pass { batch: of_batch, chunk: of_chunk, kernel, pieces });
        }
    }
    let known = problem.batches().iter().map(Batch::longest_scratch).max().unwrap_or(0);
    Ok((passes, (scratch > known).then_some(scratch)))
}

/// The pairs' shapes, and the codes of their entries.
pub(super) fn head(pairs: &[SlotPair], pass: &OffDiagonalPass) -> Vec<u32> {
    let mut words = Vec::new();
    let mut first = 3 * pairs.len() as u32;
    for pair in pairs {
        // Relative to the shapes.
        words.extend([pair.rows, pair.columns, first]);
        first += pair.rows * pair.columns;
    }
    words.extend(pass.maps.iter().flat_map(|map| &map.codes));
    words
}

/// A list as index buffers of so many words at most.
pub(super) fn pieces_of(list: PairList, head: &[u32], most: usize) -> Vec<(Piece, Words)> {
    let all = list.ids.len() as u32;
    if list.entries.len() + 2 * list.ids.len() + 1 + head.len() > most {
        return cut(&list, head, most);
    }
    let count = list.entries.len() as u32 / 3;
    let mut words = Words(list.entries);
    let shapes = words.push(head.iter().copied());
    let [starts, ids] = [words.push(list.starts), words.push(list.ids)];
    vec![(Piece { list: NOWHERE, rows: all, count, shapes, starts, ids, entries: 0, bits: list.bits }, words)]
}

/// The same in pieces. A row's entries may be in several: what they add is added up.
pub(super) fn cut(list: &PairList, head: &[u32], most: usize) -> Vec<(Piece, Words)> {
    let room = most.saturating_sub(head.len() + 1).max(5);
    let (mut pieces, mut row, mut entry) = (Vec::new(), 0, 0);
    while row < list.ids.len() {
        let (mut ids, mut starts, first) = (Vec::new(), vec![0u32], entry);
        // A row takes two words, an entry three.
        while row < list.ids.len() && 2 * (ids.len() + 1) + 3 * (entry - first) + 3 <= room {
            ids.push(list.ids[row]);
            let end = list.starts[row + 1] as usize;
            entry += (end - entry).min((room - 2 * ids.len()) / 3 - (entry - first));
            starts.push((entry - first) as u32);
            if entry < end {
                break;
            }
            row += 1;
        }
        let (mut words, rows) = (Words(list.entries[3 * first..3 * entry].to_vec()), ids.len() as u32);
        let shapes = words.push(head.iter().copied());
        let [starts, ids] = [words.push(starts), words.push(ids)];
        pieces
            .push((Piece { list: NOWHERE, rows, count: (entry - first) as u32, shapes, starts, ids, entries: 0, bits: list.bits }, words));
    }
    pieces
}

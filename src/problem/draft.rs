//! Drafts: batches on their way, made in time slices of plain memory. Buffers are made at the end, all at once: a draft that is dropped
//! leaves nothing behind.

use super::batch::{Batch, Member, frame, layout, named_twice};
use super::chunk::{self, Besides, ChunkDraft, Filled};
use super::lending::Lending;
use super::psd_projection::PsdProjection;
use super::registry::{Compiled, Registry, RepeatedSlotsKernel, TermKernels};
use super::schedule::{self, Owners, Product, Sizes};
use super::segment_sum_batch::{Outline as SumOutline, SegmentSumBatch, SumDraft};
use super::table::Site;
use super::term::{Contents, Part};
use super::{Table, Term};
use leastwise_base::clock::now_ms;
use leastwise_base::parallel;
use leastwise_base::task::{Pace, Stopped, Task, UNIT};
use leastwise_device::{Command, Device};
use leastwise_error::Error;
use leastwise_program::{ProjectedHessian, ResidualPrograms, Signature, wgsl};
use std::ops::Range;
use std::sync::Arc;

/// A batch on its way.
pub(super) struct Draft {
    outline: Arc<Outline>,
    members: Vec<Member>,
    /// None after the end.
    stage: Option<Stage>,
    /// The most operations between two looks at the clock.
    pub largest: usize,
}

/// Parts of a draft that follow from its structure and its tables.
struct Outline {
    name: String,
    signature: Signature,
    programs: Arc<ResidualPrograms>,
    kernels: TermKernels,
    sites: Vec<Site>,
}

enum Stage {
    Naming(Task<'static, Result<Named, Stopped>>),
    Owning(Cut, Task<'static, Result<Vec<Owners>, Stopped>>),
    Listing(Cut, Product, Task<'static, Result<Lists, Stopped>>),
    Filling(Box<Filling>),
}

/// The index columns of all instances, and the pairs of slots that are one variable in some of them.
struct Named {
    indices: Arc<Vec<Vec<u32>>>,
    pairs: Vec<(u32, u32)>,
}

/// How the instances are cut into chunks.
struct Cut {
    indices: Arc<Vec<Vec<u32>>>,
    pairs: Vec<(u32, u32)>,
    repeated_slots: Option<RepeatedSlotsKernel>,
    ranges: Vec<Range<usize>>,
    scratch: u32,
}

struct Lists {
    chunks: Vec<ChunkDraft>,
    sums: Option<Vec<SumDraft>>,
}

/// Data that is being copied, column by column, so that what is next to each other goes up together.
struct Filling {
    cut: Cut,
    product: Product,
    lists: Lists,
    filled: Vec<Filled>,
    of_entries: Vec<Filled>,
    /// Number of the next column of a member, and its instances that are done. After those of the members come those of the entries.
    next: usize,
    done: u32,
    /// Revision of the problem that all of it is of.
    revision: u64,
    /// True after an edit has made the copies worthless: then they are made in one piece, so that an end is reached whatever is edited.
    again: bool,
}

/// Values of which copies are one unit of work.
const RUN: u32 = (UNIT / 8) as u32;

/// Values that all threads copy at once.
fn run_of_all() -> u32 {
    RUN.saturating_mul(parallel::threads() as u32)
}

/// Origin of a draft: tables and terms as they are.
pub(super) struct Origin<'a> {
    pub tables: &'a [Table],
    pub terms: &'a [Option<Term>],
    pub revision: u64,
    pub lending: &'a Lending,
}

impl<'a> Origin<'a> {
    fn term(&self, number: u32) -> &'a Term {
        self.terms[number as usize].as_ref().expect("a batch is made of terms that are there")
    }

    fn part(&self, member: &Member) -> &'a Part {
        &self.term(member.term).parts[member.part as usize]
    }

    fn contents(&self, members: &[Member]) -> Vec<&'a Contents> {
        members.iter().map(|member| &self.part(member).contents).collect()
    }

    /// Looks at the programs of a batch of these members.
    fn compiled<T>(&self, registry: &mut Registry, members: &[Member], look: impl FnOnce(&mut Compiled) -> T) -> T {
        let first = self.term(members[0].term);
        match &first.entries {
            Some(entries) => look(&mut entries.compiled.borrow_mut()),
            None => {
                let part = self.part(&members[0]);
                look(registry.compiled(&part.reading.structure, &layout(part, &self.contents(members)), &first.name))
            }
        }
    }
}

impl Draft {
    /// The draft of a batch of these parts, given as term and number of the part.
    pub fn new(device: &mut Device, registry: &mut Registry, origin: &Origin, parts: &[(u32, u32)]) -> Result<Self, Error> {
        let members = parts.iter().scan(0, |first, &(term, part)| {
            let count = origin.term(term).parts[part as usize].count;
            *first += count;
            Some(Member { term, part, first: *first - count, count })
        });
        let members: Vec<Member> = members.collect();
        let first = origin.term(members[0].term);
        registry.count_layout();
        let (kernels, programs, signature) = origin.compiled(registry, &members, |compiled| {
            Ok::<_, Error>((compiled.kernels(device)?, compiled.programs.clone(), compiled.signature.clone()))
        })?;
        let sites = origin.part(&members[0]).tables.iter().map(|&number| first.table(origin.tables, number).site()).collect();
        let outline = Arc::new(Outline { name: first.name.clone(), signature, programs, kernels, sites });
        let columns: Vec<Arc<Vec<Vec<u32>>>> = origin.contents(&members).iter().map(|contents| contents.indices.clone()).collect();
        let shape = outline.clone();
        let task = Task::new(move |pace| async move { Named::new(&shape, columns, &pace).await });
        Ok(Self { outline, members, stage: Some(Stage::Naming(task)), largest: 0 })
    }

    /// Goes on until the deadline; gives the batch and what is to be uploaded for it at the end. Not to be called again after that.
    pub fn resume(
        &mut self,
        device: &mut Device,
        registry: &mut Registry,
        origin: &Origin,
        deadline_ms: f64,
    ) -> Result<Option<(Batch, Vec<Command>)>, Error> {
        // Nobody stops the work of a draft: it is dropped.
        let gone = |_: Stopped| Error::Internal("a batch that is being laid out has no stage");
        loop {
            let next = match self.stage.take().ok_or(Error::Internal("a batch that is being laid out has no stage"))? {
                Stage::Naming(mut task) => match task.resume(deadline_ms) {
                    None => return Ok(self.rest(Stage::Naming(task))),
                    Some(named) => {
                        self.largest = self.largest.max(task.largest_unit());
                        self.cut(device, registry, origin, named.map_err(gone)?)?
                    }
                },
                Stage::Owning(cut, mut task) => match task.resume(deadline_ms) {
                    None => return Ok(self.rest(Stage::Owning(cut, task))),
                    Some(owners) => {
                        self.largest = self.largest.max(task.largest_unit());
                        self.schedule(device, registry, origin, cut, owners.map_err(gone)?)?
                    }
                },
                Stage::Listing(cut, product, mut task) => match task.resume(deadline_ms) {
                    None => return Ok(self.rest(Stage::Listing(cut, product, task))),
                    Some(lists) => {
                        self.largest = self.largest.max(task.largest_unit());
                        Stage::Filling(Box::new(Filling::new(cut, product, lists.map_err(gone)?, origin.revision)))
                    }
                },
                Stage::Filling(mut filling) => {
                    if !filling.go_on(&self.outline, &self.members, origin, deadline_ms) {
                        return Ok(self.rest(Stage::Filling(filling)));
                    }
                    return self.place(device, origin, *filling).map(Some);
                }
            };
            self.stage = Some(next);
        }
    }

    fn rest(&mut self, stage: Stage) -> Option<(Batch, Vec<Command>)> {
        self.stage = Some(stage);
        None
    }

    /// Decides on the chunks, and begins to look for owners of their instances.
    fn cut(&self, device: &mut Device, registry: &mut Registry, origin: &Origin, named: Named) -> Result<Stage, Error> {
        let Named { indices, pairs } = named;
        let Outline { name, signature, programs, .. } = &*self.outline;
        let repeated_slots = match &pairs[..] {
            [] => None,
            pairs => Some(origin.compiled(registry, &self.members, |compiled| compiled.repeated_slots(device, name, pairs))?),
        };
        let mut scratch = programs.scratch(device.cut());
        if let Some(RepeatedSlotsKernel { program, .. }) = &repeated_slots {
            scratch = scratch.max(program.columns).max(device.cut().map_or(0, |cut| wgsl::columns(&program.program, cut)));
        }
        let mut of_chunks = frame(name, programs, signature);
        of_chunks.list_words = of_chunks.list_words.max(3 * pairs.len() as u32);
        // Scratch for projecting is the solver's.
        let projecting = programs.curvature.as_ref().map_or(0, ProjectedHessian::work);
        let largest = of_chunks.largest_chunk(device, scratch.max(projecting))? as usize;
        let count = self.count() as usize;
        let ranges: Vec<Range<usize>> = (0..count).step_by(largest).map(|start| start..(start + largest).min(count)).collect();
        // Sums over entries put a pass before and one after the product's own, between which u must be stored.
        let has_owners = origin.term(self.members[0].term).entries.is_none();
        let (outline, columns, cuts, group_size) = (self.outline.clone(), indices.clone(), ranges.clone(), device.limits().group_size);
        let task = Task::new(move |pace| async move {
            if !has_owners {
                return Ok(Vec::new());
            }
            schedule::owners(&outline.signature, &columns, &cuts, group_size, &pace).await
        });
        Ok(Stage::Owning(Cut { indices, pairs, repeated_slots, ranges, scratch }, task))
    }

    /// Decides on the schedule of products, and begins to make the lists.
    fn schedule(
        &self,
        device: &mut Device,
        registry: &mut Registry,
        origin: &Origin,
        cut: Cut,
        mut owners: Vec<Owners>,
    ) -> Result<Stage, Error> {
        let tuning = registry.tuning.clone();
        let sizes = Sizes { instances: self.count(), sites: &self.outline.sites };
        let chosen = origin.compiled(registry, &self.members, |compiled| schedule::choose(device, compiled, &tuning, &owners, &sizes));
        let (product, place) = chosen?;
        let owners = product.owner.clone().zip(place.map(|place| owners.swap_remove(place).rows));
        let term = origin.term(self.members[0].term);
        let sums = term.entries.as_ref().map(|entries| SumOutline::new(device, &self.outline.name, entries, origin.tables));
        let (outline, sums) = (self.outline.clone(), sums.transpose()?);
        let (indices, ranges, pairs) = (cut.indices.clone(), cut.ranges.clone(), cut.pairs.clone());
        let repeated_slots = cut.repeated_slots.as_ref().map(|known| known.program.clone());
        let task = Task::new(move |pace| async move {
            let frame = frame(&outline.name, &outline.programs, &outline.signature);
            let mut chunks = Vec::new();
            for (number, range) in ranges.into_iter().enumerate() {
                let owners = owners.as_ref().map(|(owner, rows)| (&**owner, &rows[number]));
                let besides = Besides { owners, repeated_slots: repeated_slots.as_deref().map(|program| (&pairs[..], program)) };
                chunks.push(frame.draft(&outline.sites, &indices, range, besides, &pace).await?);
            }
            let sums = match sums {
                Some(sums) => Some(sums.drafts(&pace).await?),
                None => None,
            };
            Ok(Lists { chunks, sums })
        });
        Ok(Stage::Listing(cut, product, task))
    }

    fn count(&self) -> u32 {
        self.members.last().map_or(0, |last| last.first + last.count)
    }

    /// Makes the batch, with its buffers.
    fn place(&mut self, device: &mut Device, origin: &Origin, filling: Filling) -> Result<(Batch, Vec<Command>), Error> {
        let Filling { cut, product, lists, filled, of_entries, .. } = filling;
        let Outline { name, signature, programs, kernels, .. } = &*self.outline;
        let first = origin.term(self.members[0].term);
        let mut batch = Batch {
            name: name.clone(),
            enabled: first.enabled,
            kernels: *kernels,
            product,
            programs: programs.clone(),
            signature: signature.clone(),
            indices: cut.indices,
            members: std::mem::take(&mut self.members),
            chunks: Vec::new(),
            repeated_slots: cut.repeated_slots.as_ref().map(|known| known.kernel),
            sums: None,
            projection: None,
            scratch: cut.scratch,
        };
        let mut uploads = Vec::new();
        let frame = frame(name, programs, signature);
        let make = || {
            for draft in lists.chunks {
                batch.chunks.push(frame.place(device, draft, &mut uploads)?);
            }
            uploads.extend(filled.into_iter().map(|filled| {
                let buffer = batch.chunks[filled.chunk].data;
                filled.upload(buffer)
            }));
            if let (Some(curvature), Some(kernels)) = (&programs.curvature, kernels.curvature) {
                batch.projection = Some(PsdProjection::new(device, kernels, curvature, &mut uploads)?);
            }
            if let (Some(entries), Some(sums)) = (&first.entries, lists.sums) {
                batch.sums = Some(SegmentSumBatch::new(device, name, entries, (sums, of_entries), &mut uploads)?);
            }
            Ok(())
        };
        match make() {
            Ok(()) => Ok((batch, uploads)),
            Err(error) => {
                // No buffers of a refused batch stay behind; its uploads go with this.
                chunk::free(batch.buffers(), device, &mut uploads);
                Err(error)
            }
        }
    }
}

impl Named {
    async fn new(outline: &Outline, mut columns: Vec<Arc<Vec<Vec<u32>>>>, pace: &Pace) -> Result<Self, Stopped> {
        let indices = if columns.len() == 1 {
            columns.remove(0)
        } else {
            let mut joined: Vec<Vec<u32>> = vec![Vec::new(); columns[0].len()];
            for of_part in columns {
                for (column, part) in joined.iter_mut().zip(&*of_part) {
                    column.extend(part);
                    pace.spend(part.len() + 1).await?;
                }
            }
            Arc::new(joined)
        };
        let pairs = named_twice(&outline.signature, &outline.sites, &indices, pace).await?;
        Ok(Self { indices, pairs })
    }
}

impl Filling {
    fn new(cut: Cut, product: Product, lists: Lists, revision: u64) -> Self {
        Self { cut, product, lists, filled: Vec::new(), of_entries: Vec::new(), next: 0, done: 0, revision, again: false }
    }

    /// Goes on until the deadline; true at the end.
    fn go_on(&mut self, outline: &Outline, members: &[Member], origin: &Origin, deadline_ms: f64) -> bool {
        if self.revision != origin.revision {
            (self.filled, self.of_entries, self.next, self.done) = (Vec::new(), Vec::new(), 0, 0);
            (self.revision, self.again) = (origin.revision, true);
        }
        let mut spent = 0;
        while let Some(copied) = self.copy(outline, members, origin) {
            spent += if copied >= RUN { RUN } else { copied };
            if spent >= RUN {
                spent = 0;
                if !self.again && now_ms() >= deadline_ms {
                    return false;
                }
            }
        }
        true
    }

    /// Copies some of the next values; gives about how many, and nothing at the end.
    fn copy(&mut self, outline: &Outline, members: &[Member], origin: &Origin) -> Option<u32> {
        let of_members = (1 + outline.signature.columns.len()) * members.len();
        let entries = origin.term(members[0].term).entries.as_deref();
        let (number, signature, contents, first, count) = match self.next.checked_sub(of_members) {
            None => {
                let member = &members[self.next % members.len()];
                let scalar = (self.next / members.len()).checked_sub(1);
                // Elements on loan are copied on the device.
                if origin.lending.is_active() && origin.lending.has(origin.term(member.term), (member.term, member.part), scalar) {
                    (self.next, self.done) = (self.next + 1, 0);
                    return Some(1);
                }
                (self.next / members.len(), &outline.signature, &origin.part(member).contents, member.first, member.count)
            }
            Some(number) => {
                let entries = entries.filter(|entries| number <= entries.signature.columns.len())?;
                (number, &entries.signature, &entries.contents, 0, entries.count)
            }
        };
        let (shared, values) = match number.checked_sub(1) {
            Some(scalar) => (signature.columns[scalar].shared, &contents.data[scalar]),
            None => (signature.weight_shared, &contents.weight),
        };
        let run = self.done..if shared { count } else { count.min(self.done.saturating_add(run_of_all())) };
        let (scalar, instances) = (number.checked_sub(1), first + run.start..first + run.end);
        let value = |at: u32| values.at((at - first) as usize);
        match entries.filter(|_| self.next >= of_members) {
            None => {
                let frame = frame(&outline.name, &outline.programs, signature);
                frame.fill(self.lists.chunks.iter(), scalar, instances, value, &mut self.filled);
            }
            Some(entries) => {
                let chunks = self.lists.sums.iter().flatten().map(|draft| &draft.chunk);
                entries.frame(&outline.name).fill(chunks, scalar, instances, value, &mut self.of_entries);
            }
        }
        (self.next, self.done) = if run.end == count { (self.next + 1, 0) } else { (self.next, run.end) };
        Some(1 + if shared { 0 } else { run.len() as u32 })
    }
}

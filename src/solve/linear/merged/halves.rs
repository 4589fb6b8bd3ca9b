//! First halves of products: those of several batches in one dispatch, where that fits.

use super::MOST;
use super::plan::{Making, Part, owner_of};
use crate::Workspace;
use crate::workspace::launch;
use leastwise_device::{Access, Command, Dispatch, KernelId, KernelSource, Kind, Slice, binding::*};
use leastwise_error::Error;
use leastwise_problem::{Batch, Chunk, Problem};
use leastwise_program::wgsl::{self, Cut};
use leastwise_program::{HalfProduct, MergedPart, MergedProgram, OwnerArguments, OwnerProgram, directory};

/// What a kernel of several programs may cost to compile, in instructions.
const MOST_INSTRUCTIONS: usize = 1024;

/// A dispatch of first halves.
pub(super) enum Half {
    /// That of one chunk.
    Alone(Part, KernelId),
    /// Those of several.
    Together(Together),
}

/// First halves of several chunks. What chunks have in buffers of their own is copied into shared ones.
pub(super) struct Together {
    kernel: KernelId,
    groups: u32,
    index: Slice,
    data: Slice,
    jacobian: Slice,
    copies: Vec<Copies>,
}

/// Where a chunk's data and Jacobian begin in the shared buffers, if its program reads them.
struct Copies {
    batch: usize,
    chunk: usize,
    data: Option<u32>,
    jacobian: Option<u32>,
}

/// The first half of a batch's product.
fn half_of(batch: &Batch) -> HalfProduct {
    let programs = &batch.programs;
    let mut half = match (owner_of(batch), &programs.recompute) {
        (Some(owner), _) => HalfProduct::Owners(OwnerProgram { adds: false, ..OwnerProgram::clone(&owner) }),
        (None, Some(recompute)) if batch.product.recomputes() => HalfProduct::Instances(recompute.clone()),
        (None, _) => HalfProduct::Instances(programs.product.clone()),
    };
    half.keep_used_addresses();
    half
}

/// The kernels of a problem: programs of each, and for every batch its kernel and the number of its program. They are made for all
/// batches, so that no term that is switched on or off compiles another one.
struct Kernels {
    programs: Vec<Vec<HalfProduct>>,
    of_batches: Vec<Option<(usize, usize)>>,
}

impl Kernels {
    fn new(problem: &Problem, cut: Cut) -> Self {
        let mut programs: Vec<Vec<HalfProduct>> = Vec::new();
        let mut instructions = 0;
        let of_batch = |batch: &Batch| {
            let half = half_of(batch);
            if batch.sums.is_some() || !wgsl::is_small(half.program(), cut) {
                return None;
            }
            let known = programs
                .iter()
                .enumerate()
                .find_map(|(kernel, programs)| programs.iter().position(|program| *program == half).map(|number| (kernel, number)));
            known.or_else(|| {
                let more = wgsl::compile_cost(half.program());
                if programs.is_empty() || instructions + more > MOST_INSTRUCTIONS {
                    programs.push(Vec::new());
                    instructions = 0;
                }
                instructions += more;
                let kernel = programs.len() - 1;
                programs[kernel].push(half);
                Some((kernel, programs[kernel].len() - 1))
            })
        };
        let of_batches = problem.batches().iter().map(of_batch).collect();
        Self { programs, of_batches }
    }
}

/// Parts that are one dispatch, with the number of each one's program.
struct Group {
    kernel: usize,
    parts: Vec<(Part, usize)>,
    elements: usize,
}

/// First halves of all parts, in as few dispatches as fit. Vectors begin `length` elements after each other.
pub(super) fn make(making: &mut Making, problem: &Problem, parts: Vec<Part>, length: u32) -> Result<Vec<Half>, Error> {
    let kernels = Kernels::new(problem, making.device.cut().unwrap_or(Cut::Coarse));
    let (mut groups, mut halves) = (Vec::<Group>::new(), Vec::new());
    for part in parts {
        let batch = &problem.batches()[part.batch];
        let chunk = &batch.chunks[part.chunk];
        let elements = chunk.jacobian_len.max(chunk.data_len).max(chunk.index_len) as usize;
        match kernels.of_batches[part.batch].filter(|_| elements <= MOST) {
            None => {
                let kernel = match half_of(batch) {
                    HalfProduct::Instances(_) => batch.product.kernel,
                    HalfProduct::Owners(owner) => making.device.kernels(&[KernelSource::of_owner(&owner).of_inner()])?[0],
                };
                halves.push(Half::Alone(part, kernel));
            }
            Some((kernel, number)) => {
                let fitting = groups.iter_mut().find(|group| group.kernel == kernel && group.elements + elements <= MOST);
                match fitting {
                    Some(group) => {
                        group.parts.push((part, number));
                        group.elements += elements;
                    }
                    None => groups.push(Group { kernel, parts: vec![(part, number)], elements }),
                }
            }
        }
    }
    for group in groups {
        let programs = &kernels.programs[group.kernel];
        halves.push(Half::Together(Together::new(making, problem, programs, &group.parts, length)?));
    }
    Ok(halves)
}

/// Workgroups of a chunk's first half.
fn groups(chunk: &Chunk, half: &HalfProduct, group_size: u32) -> u32 {
    match (half, &chunk.tiles) {
        (HalfProduct::Owners(_), Some(tiles)) => tiles.count,
        _ => chunk.count.div_ceil(group_size),
    }
}

impl Together {
    fn new(
        making: &mut Making,
        problem: &Problem,
        programs: &[HalfProduct],
        members: &[(Part, usize)],
        length: u32,
    ) -> Result<Self, Error> {
        let group_size = making.device.limits().group_size;
        let (mut parts, mut copies) = (Vec::new(), Vec::new());
        let (mut first, mut data, mut jacobian) = (0, 0, 0);
        for (part, number) in members {
            let (chunk, half) = (&problem.batches()[part.batch].chunks[part.chunk], &programs[*number]);
            let access = half.access();
            let place =
                |slot: usize, next: &mut u32, len: u32| (access[slot] != Access::Unused).then(|| std::mem::replace(next, *next + len));
            let [of_data, of_jacobian] = [place(DATA, &mut data, chunk.data_len), place(JACOBIAN, &mut jacobian, chunk.jacobian_len)];
            let line = MergedPart {
                first,
                program: *number as u32,
                instances: chunk.count,
                index: 0,
                data: of_data.unwrap_or(0),
                jacobian: of_jacobian.unwrap_or(0),
                columns: part.columns.start,
                vector: part.owner.as_ref().map_or(0, |owner| owner.1 * length),
                tiles: chunk.tiles.as_ref().map_or(0, |tiles| tiles.first),
                starts: chunk.tiles.as_ref().map_or(0, |tiles| tiles.starts),
            };
            let workgroups = groups(chunk, half, group_size);
            parts.push((line, workgroups));
            first += workgroups;
            copies.push(Copies { batch: part.batch, chunk: part.chunk, data: of_data, jacobian: of_jacobian });
        }
        // Index tables follow the directory.
        let mut end = directory(&parts).len() as u32;
        for ((line, _), (part, _)) in parts.iter_mut().zip(members) {
            line.index = end;
            end += problem.batches()[part.batch].chunks[part.chunk].index_len;
        }
        let index = making.slice(Kind::Index, end, "index tables of merged products")?;
        making.uploads.push(Command::UploadIndices { buffer: index.buffer, offset: 0, data: directory(&parts) });
        for ((line, _), (part, _)) in parts.iter().zip(members) {
            let chunk = &problem.batches()[part.batch].chunks[part.chunk];
            let from = Slice { buffer: chunk.index, offset: 0, len: chunk.index_len };
            making.uploads.push(Command::Copy { from, to: Slice { offset: line.index, len: chunk.index_len, ..index } });
        }
        let source = KernelSource::of_merged(&MergedProgram { programs: programs.to_vec() });
        Ok(Self {
            kernel: making.device.kernels(&[source.of_inner()])?[0],
            groups: first,
            index,
            data: making.slice(Kind::Real, data, "data of merged products")?,
            jacobian: making.slice(Kind::Real, jacobian, "Jacobians of merged products")?,
            copies,
        })
    }
}

impl Half {
    /// Copies what other commands may have changed since the last solve.
    pub fn set_up(&self, problem: &Problem, commands: &mut Vec<Command>) {
        let Self::Together(together) = self else { return };
        for copies in &together.copies {
            let chunk = &problem.batches()[copies.batch].chunks[copies.chunk];
            let of_data = copies.data.map(|offset| (chunk.data, together.data, offset, chunk.data_len));
            let of_jacobian = copies.jacobian.map(|offset| (chunk.jacobian, together.jacobian, offset, chunk.jacobian_len));
            for (buffer, to, offset, len) in [of_data, of_jacobian].into_iter().flatten().filter(|copy| copy.3 > 0) {
                commands.push(Command::Copy { from: Slice { buffer, offset: 0, len }, to: Slice { offset, len, ..to } });
            }
        }
    }

    /// Appends the products with z, which go to columns and vectors of so many elements.
    pub fn multiply(&self, work: &Workspace, problem: &Problem, [all, vectors]: [Slice; 2], length: u32, body: &mut Vec<Command>) {
        let of_work = |out: Slice| [(ARENA, work.point), (VECTOR_IN, work.z), (VECTOR_OUT, out), (STATE, work.state)];
        match self {
            Self::Together(Together { kernel, groups, index, data, jacobian, .. }) => {
                let mut bindings = vec![(INDEX, *index), (DATA, *data), (JACOBIAN, *jacobian), (PARTIALS, vectors)];
                bindings.extend(of_work(all));
                body.push(Command::Dispatch(launch(*kernel, groups * work.group_size(), &bindings)));
            }
            Self::Alone(part, kernel) => {
                let chunk = &problem.batches()[part.batch].chunks[part.chunk];
                let len = part.columns.len() as u32;
                let columns = Slice { offset: if len == 0 { 0 } else { part.columns.start }, len: len.max(1), ..all };
                let mut bindings = chunk.bindings().to_vec();
                bindings.extend(of_work(columns));
                match (&part.owner, &chunk.tiles) {
                    (Some((_, vector)), Some(tiles)) => {
                        bindings.push((PARTIALS, Slice { offset: vector * length, len: length, ..vectors }));
                        let args = OwnerArguments { instances: chunk.count, tiles: tiles.first, starts: tiles.starts };
                        // A workgroup is a tile.
                        let product = launch(*kernel, tiles.count * work.group_size(), &bindings);
                        body.push(Command::Dispatch(Dispatch { words: args.words(), ..product }));
                    }
                    _ => body.push(Command::Dispatch(launch(*kernel, chunk.count, &bindings))),
                }
            }
        }
    }
}

//! The two-level preconditioner of conjugate gradients: M⁻¹ = B⁻¹ + T C Tᵀ, where B are the diagonal blocks, the columns of T the
//! motions of patches of some 64 variables, and C is one symmetric multigrid cycle on the patches' matrix A = Tᵀ(JᵀWJ + λD)T.
//!
//! Block Jacobi sees each variable by itself, so what is wrong along the whole mesh is mended from neighbour to neighbour. The
//! coarse part moves patches as bodies, and patches of patches. Added to B⁻¹ (Dryja & Widlund 1990) it takes no further product
//! with J. The fine motions T are not smoothed, which would; those of the levels above are (see [`hierarchy`]).
//!
//! With S = 8/(5ρ) D⁻¹, where D are the diagonal blocks of A and ρ the spectral radius of D⁻¹A, a cycle with one step of damped
//! block Jacobi before and after is
//!
//!   C r = S̄ r + G C′ Gᵀr,  S̄ = 2S − SAS,  G = (I − SA)P,
//!
//! C′ being the cycle of the level above; on the coarsest it is D⁻¹. S̄ and G are made once a linearisation, so that a cycle is one dispatch
//! a level down and one up. Of a level with few nodes, C is made itself: one dispatch for all levels from there on, each of which
//! would wait for the one before. All is made anew for every λ on the device: nothing comes back.
//!
//! - [`space`]: which motions patches have; [`aggregate`]: patches; [`patches`]: those of a problem; [`pairs`] and [`met`]: the blocks
//!   of A; [`hierarchy`]: the structure of the levels; [`lists`] and [`buffers`]: what of that is on the device; [`parts`]: what is
//!   made at the same time; [`levels`]: numbers of the levels.

pub mod aggregate;
mod buffers;
pub mod hierarchy;
mod levels;
mod lists;
mod met;
mod pairs;
mod parts;
mod patches;
pub(in crate::linear) mod space;

use super::super::workspace::evaluate;
use super::super::{Workspace, state};
use super::direct::is_of_room;
use super::merged::{self, MergedProducts};
use super::{Correction, DeviceSolver, Planning, pcg};
use buffers::{LevelBuffers, LevelWords, List, Matrix, diagonal};
use hierarchy::Level;
use leastwise_base::parallel;
use leastwise_base::task::{Pace, Stopped, Task};
use leastwise_device::{Arguments, BufferId, Command, Device, KernelSource, Slice, StaticKernels, binding::*};
use leastwise_error::Error;
use leastwise_kernels::two_level;
use leastwise_problem::{Links, Problem, Registry, Table};
use lists::{Making, Pass, Places, Words, passes};
use pairs::{PairList, couplings};
use parts::{Basis, Parts};
use patches::Patches;
use space::{Role, Space};

/// Steps of the power method that finds ρ.
const POWER_STEPS: u32 = 6;

/// The preconditioner of a problem, while its structure stays.
pub struct TwoLevel {
    space: Space,
    /// Patches, then the nodes of the levels above.
    nodes: Vec<u32>,
    kernels: StaticKernels,
    places: Places,
    lists: Slice,
    /// T, and the centres of patches.
    modes: Slice,
    centers: Slice,
    passes: Vec<Pass>,
    /// Where the workspace's own is too short.
    scratch: Option<Slice>,
    levels: Vec<LevelBuffers>,
    last: Matrix,
    /// What the power method begins with.
    noise: Slice,
    /// Iterations in few dispatches, where there are such.
    merged: Option<MergedProducts>,
    uploads: Vec<Command>,
    buffers: Vec<BufferId>,
}

/// α and β of `shaders/two_level/multiply_blocks.wgsl`.
const PLAIN: u32 = 0;
const SMOOTH: u32 = 1;
const RELAX: u32 = 2;
const TWICE: u32 = 3;
const ADD: u32 = 4;

/// Lanes of workgroups that share the sums of a list's rows (`shaders/shared/rows.wgsl`).
struct Share {
    /// Lanes that an element's entries are divided among.
    slots: u32,
    /// Lanes of all workgroups.
    lanes: u32,
}

/// Rows of a list at most, so that lanes can be numbered where each has a workgroup.
const MOST_ROWS: usize = 1 << 24;

/// Entries that a lane adds up, about: fewer make no kernel faster, more are loads that wait for each other.
const ENTRIES: u32 = 2;

impl Share {
    /// Shares of rows of `width` elements, with `entries` in all.
    fn new(work: &Workspace, rows: u32, entries: u32, width: u32) -> Self {
        let group = work.group_size();
        let slots = entries.div_ceil(rows.max(1)).div_ceil(ENTRIES).clamp(1, group / width);
        Self { slots, lanes: rows.div_ceil(group / (width * slots)) * group }
    }
}

/// All of it that takes no device: patches, lists and levels.
pub struct Plan {
    space: Space,
    /// Patches, then the nodes of the levels above.
    nodes: Vec<u32>,
    words: Words,
    places: Places,
    lists: Vec<PairList>,
    levels: Vec<LevelWords>,
    /// Blocks of the coarsest matrix.
    last: u32,
    merged: Option<merged::Plan>,
}

/// Why sums have no two levels.
pub const OF_SUMS: &str = "a term sums over entries (sumOver), whose pairs of variables are never stored";

/// Begins the plan for a problem's links.
pub fn plan(device: &Device, problem: &Problem, space: Space) -> Planning {
    let (links, sources) = (Links::new(problem), merged::sources(device, problem));
    Task::new(move |pace| async move {
        let (links, sources) = (&links, sources.as_ref());
        let own = |pace: Pace| async move { Plan::new(links, space, &pace).await };
        let (plan, merged) = match sources {
            Some(sources) if parallel::fits_at_once(EACH * uses(links)) => {
                parallel::both(own, |pace: Pace| async move { merged::Plan::new(sources, &pace).await }, &pace).await?
            }
            // Where there are no two levels, products are not merged for them.
            _ => match (own(pace.clone()).await?, sources) {
                (Ok(plan), Some(sources)) => (Ok(plan), merged::Plan::new(sources, &pace).await?),
                (plan, _) => return Ok(plan.map(|plan| Box::new(plan) as Box<dyn super::Plan>)),
            },
        };
        Ok(plan.map(|plan| Box::new(Plan { merged: merged.ok(), ..plan }) as Box<dyn super::Plan>))
    })
}

/// Operations that a use of a variable by an instance takes, about.
const EACH: usize = 8;

/// Uses of variables by instances.
fn uses(links: &Links) -> usize {
    links.batches.iter().flat_map(|batch| batch.moving_slots()).map(|(_, _, variables)| variables.len()).sum()
}

/// Why there is no such preconditioner.
pub fn refused(why: &str) -> Error {
    Error::InvalidOption(format!("preconditioner \"two-level\": {why}: use \"block-jacobi\""))
}

impl Plan {
    /// The plan for a problem's links, or why there is none.
    pub async fn new(links: &Links, space: Space, pace: &Pace) -> Result<Result<Self, Error>, Stopped> {
        let patches = Patches::new(links, &space, pace).await?;
        if patches.count == 0 {
            return Ok(Err(refused("every variable is in too many residuals to be in a patch")));
        }
        let (matrix, coupled) = match couplings(links, &patches, pace).await? {
            Ok(found) => found,
            Err(why) => return Ok(Err(refused(&why))),
        };
        let basis = Basis { links, space: &space, patches: &patches, matrix: &matrix };
        let Parts { lists, words, places, hierarchy, levels } = Parts::new(basis, coupled, pace).await?;
        let most = lists.iter().map(|list| list.ids.len()).chain(hierarchy.levels.iter().map(Level::most_rows)).max();
        if most.is_some_and(|rows| rows > MOST_ROWS) {
            return Ok(Err(refused("patches of variables have more blocks than a dispatch has workgroups for")));
        }
        let nodes = hierarchy.nodes().collect();
        Ok(Ok(Self { space, nodes, words, places, lists, levels, last: hierarchy.last[1], merged: None }))
    }
}

impl TwoLevel {
    /// The preconditioner of a plan; `Error::Limits` says that it does not fit.
    pub fn new(device: &mut Device, registry: &mut Registry, problem: &Problem, plan: Plan) -> Result<Self, Error> {
        let mut making = Making { device, buffers: Vec::new(), uploads: Vec::new() };
        match Self::make(&mut making, registry, problem, plan) {
            Ok(made) => Ok(Self { uploads: making.uploads, buffers: making.buffers, ..made }),
            Err(error) => {
                making.buffers.into_iter().for_each(|buffer| making.device.free(buffer));
                Err(error)
            }
        }
    }

    fn make(making: &mut Making, registry: &mut Registry, problem: &Problem, plan: Plan) -> Result<Self, Error> {
        let Plan { space, nodes, words, places, lists, levels: words_of_levels, last: blocks, merged } = plan;
        let (group, area) = (making.device.limits().group_size, space.motions * space.motions);
        if group < area {
            return Err(Error::Limits(format!(
                "preconditioner \"two-level\": a block of {area} entries does not fit a workgroup of {group} lanes: use \"block-jacobi\""
            )));
        }
        let kernels = StaticKernels::request(making.device, two_level::ALL, KernelSource::of_inner)?;
        let (passes, scratch) = passes(making, registry, problem, lists)?;
        let (patches, count) = (nodes[0], nodes[nodes.len() - 1]);
        let centers = making.reals(patches * space.coordinates, "centres of patches")?;
        let mut levels = Vec::new();
        for words in words_of_levels {
            let made = LevelBuffers::new(making, &space, words)?;
            levels.push(made);
        }
        let mut own = Words::default();
        let list = own.list(&diagonal(count));
        let own = making.words(own, "coarsest level")?;
        let noise = making.reals(patches * space.motions, "start of the power method")?;
        // Deterministic, and no eigenvector of anything: multiples of the golden ratio, modulo 1.
        let start = (0..u64::from(noise.len)).map(|i| ((i + 1) as f64 * 0.618_033_988_749_894_9).fract() - 0.5);
        making.uploads.push(Command::UploadReals { buffer: noise.buffer, offset: 0, data: start.collect() });
        let mut merged = match merged.map(|plan| plan.merge(making.device, problem)).transpose() {
            Err(error) if is_of_room(&error) => None,
            made => made?,
        };
        if let Some(merged) = &mut merged {
            making.buffers.extend(merged.buffers());
            making.uploads.extend(merged.take_uploads());
        }
        Ok(Self {
            merged,
            lists: making.words(words, "patches")?,
            modes: making.reals(problem.vector_len() * space.motions, "motions of patches")?,
            scratch: scratch.map(|len| making.reals(len, "columns of pairs")).transpose()?,
            last: Matrix::new(making, &space, count, blocks, list, own)?,
            places,
            space,
            nodes,
            kernels,
            centers,
            passes,
            levels,
            noise,
            uploads: Vec::new(),
            buffers: Vec::new(),
        })
    }

    /// Patches, and the nodes of every level above.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// Motions of a patch, and whether they are those of points.
    pub fn motions(&self) -> (u32, bool) {
        (self.space.motions, self.space.coordinates > 0)
    }

    fn fixed<K: Arguments>(&self, args: K, count: u32, bindings: K::Bindings<Slice>) -> Command {
        Command::Dispatch(self.kernels.dispatch(args, count, bindings))
    }

    fn matrices(&self) -> impl Iterator<Item = &Matrix> {
        self.levels.iter().map(|level| &level.matrix).chain([&self.last])
    }

    /// T: the motions of points, and of what follows them.
    fn set_up_modes(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) {
        let (motions, coordinates) = (self.space.motions, self.space.coordinates);
        if coordinates > 0 {
            let [starts, members] = self.places.points;
            commands.push(self.fixed(
                two_level::PatchCenters { coordinates, starts, members },
                self.nodes[0] * coordinates,
                two_level::PatchCentersBindings { table: self.lists, points: work.point, centers: self.centers },
            ));
        }
        let free = work.free();
        for (table, role, owners) in self.tables(problem) {
            let (first, of_points) = match role {
                Role::Point => (0, coordinates),
                Role::Constant(first) => (first, 0),
                Role::Follower => continue,
            };
            commands.push(self.fixed(
                two_level::PatchModes {
                    arena: table.arena,
                    vector: table.vector,
                    width: table.tangent,
                    modes: motions,
                    column: first,
                    coordinates: of_points,
                    masked: u32::from(free.is_some()),
                    patches: owners,
                },
                table.unknowns(),
                two_level::PatchModesBindings {
                    arena: work.point,
                    centers: self.centers,
                    table: self.lists,
                    free: free.unwrap_or(work.scale),
                    modes: self.modes,
                },
            ));
        }
        if !self.tables(problem).any(|(_, role, _)| role == Role::Follower) {
            return;
        }
        let vector = problem.vector_len();
        for axis in 0..motions - coordinates {
            commands.extend([work.p, work.q].map(|slice| Command::Clear { slice: Slice { len: vector, ..slice } }));
            for (table, ..) in self.tables(problem).filter(|(_, role, _)| *role == Role::Point) {
                commands.push(self.fixed(
                    two_level::PatchSpin { arena: table.arena, vector: table.vector, coordinates: table.tangent, axis },
                    table.unknowns(),
                    two_level::PatchSpinBindings { arena: work.point, motion: work.p },
                ));
            }
            // What is fixed does not turn.
            work.mask(work.p, state::ALWAYS, problem, commands);
            work.multiply(problem, commands);
            for (table, _, owners) in self.tables(problem).filter(|(_, role, _)| *role == Role::Follower) {
                commands.push(self.fixed(
                    two_level::PatchFollow {
                        vector: table.vector,
                        width: table.tangent,
                        block: table.block,
                        modes: motions,
                        column: coordinates + axis,
                        patches: owners,
                    },
                    table.count,
                    two_level::PatchFollowBindings { inverse: work.inverse, table: self.lists, product: work.q, modes: self.modes },
                ));
            }
        }
    }

    /// The tables that take part, and where the patches of their variables are.
    fn tables<'a>(&'a self, problem: &'a Problem) -> impl Iterator<Item = (&'a Table, Role, u32)> {
        let places = problem.tables().iter().zip(&self.space.roles).zip(&self.places.tables);
        places.filter_map(|((table, role), place)| Some((table, (*role)?, place.as_ref()?.0)))
    }

    /// The patches' matrix.
    fn assemble(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        let point = problem.arenas()?.0;
        let (motions, first) = (self.space.motions, self.matrices().next().unwrap_or(&self.last));
        commands.push(Command::Clear { slice: first.values });
        for (table, place) in problem.tables().iter().zip(&self.places.tables) {
            let Some((_, [starts, members])) = place else { continue };
            let share = Share::new(work, first.nodes, table.count, motions * motions);
            commands.push(self.fixed(
                two_level::CoarseDiagonal {
                    vector: table.vector,
                    width: table.tangent,
                    block: table.block,
                    modes: motions,
                    starts: *starts,
                    members: *members,
                    patches: first.nodes,
                    slots: share.slots,
                },
                share.lanes,
                two_level::CoarseDiagonalBindings {
                    scale: work.scale,
                    modes: self.modes,
                    table: self.lists,
                    blocks: work.blocks,
                    coarse: first.values,
                    state: work.state,
                },
            ));
        }
        let scratch = self.scratch.unwrap_or(work.inner_scratch);
        for pass in &self.passes {
            let chunk = &problem.batches()[pass.batch].chunks[pass.chunk];
            let bindings = [(ARENA, point), (VECTOR_IN, work.step), (VECTOR_OUT, scratch), (STATE, work.state)];
            commands.push(evaluate(pass.kernel, chunk, &bindings));
            for piece in &pass.pieces {
                let share = Share::new(work, piece.rows, piece.count, motions * motions);
                commands.push(self.fixed(
                    two_level::CoarsePairs {
                        modes: motions,
                        pairs: piece.shapes,
                        starts: piece.starts,
                        ids: piece.ids,
                        entries: piece.entries,
                        pair_bits: piece.bits,
                        length: chunk.count,
                        diagonal: first.nodes,
                        rows: piece.rows,
                        slots: share.slots,
                    },
                    share.lanes,
                    two_level::CoarsePairsBindings { modes: self.modes, table: piece.list, columns: scratch, coarse: first.values },
                ));
            }
        }
        Ok(())
    }
}

impl super::Plan for Plan {
    fn make(self: Box<Self>, device: &mut Device, registry: &mut Registry, problem: &Problem) -> Result<Box<dyn DeviceSolver>, Error> {
        Ok(Box::new(TwoLevel::new(device, registry, problem, *self)?))
    }
}

impl DeviceSolver for TwoLevel {
    fn buffers(&self) -> &[BufferId] {
        &self.buffers
    }

    fn take_uploads(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.uploads)
    }

    fn solve(&self, work: &Workspace, problem: &Problem, most: u32, commands: &mut Vec<Command>) -> Result<(), Error> {
        let Some(merged) = &self.merged else { return pcg::solve(work, problem, Some(self), most, commands) };
        pcg::invert(work, problem, commands);
        self.set_up(work, problem, commands)?;
        merged.solve_preconditioned(work, problem, Some(self), most, commands);
        Ok(())
    }
}

impl Correction for TwoLevel {
    fn set_up(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        commands.push(Command::Clear { slice: Slice { offset: state::SOLVED, len: 1, ..work.state } });
        self.set_up_modes(work, problem, commands);
        self.assemble(work, problem, commands)?;
        for (level, above) in self.levels.iter().zip(self.matrices().skip(1)) {
            self.set_up_level(work, level, above, commands);
        }
        self.invert(work, &self.last, commands);
        self.set_up_full(work, commands);
        Ok(())
    }

    fn apply(&self, work: &Workspace, problem: &Problem, partial: u32, maxima: u32, commands: &mut Vec<Command>) -> u32 {
        let size = self.space.motions;
        let matrices: Vec<&Matrix> = self.matrices().collect();
        let [starts, members] = self.places.members;
        let patches = self.nodes[0];
        let Share { slots, lanes } = Share::new(work, patches, problem.vector_len(), size);
        commands.push(self.fixed(
            two_level::PatchRestrict { modes: size, starts, members, patches, slots },
            lanes,
            two_level::PatchRestrictBindings {
                modes: self.modes,
                table: self.lists,
                residual: work.residual,
                coarse: matrices[0].right,
                state: work.state,
            },
        ));
        let mut couple = |lists: Slice, first: (List, Slice, Slice), second: Option<(List, Slice, Slice)>, to: Slice| {
            let (list, values, from) = first;
            let (other, others, along) = second.unwrap_or(first);
            let share = Share::new(work, list.rows, list.count.max(other.count), size);
            commands.push(self.fixed(
                two_level::Couple {
                    rows: size,
                    guard: state::SOLVED,
                    starts: list.starts,
                    entries: list.entries,
                    other_starts: other.starts,
                    other_entries: other.entries,
                    has_other: u32::from(second.is_some()),
                    nodes: list.rows,
                    slots: share.slots,
                },
                share.lanes,
                two_level::CoupleBindings { left: values, x: from, table: lists, right: others, y: to, z: along, state: work.state },
            ));
        };
        let pairs: Vec<_> = self.levels.iter().zip(matrices.windows(2)).take_while(|(level, _)| level.full.is_none()).collect();
        for (level, pair) in &pairs {
            couple(pair[0].lists, (level.lists.down, level.relaxed, pair[0].right), None, pair[1].right);
        }
        let top = matrices[pairs.len()];
        let (list, cycle) = match self.levels.get(pairs.len()).and_then(|level| level.full.as_ref()) {
            Some(full) => (full.lists.whole, full.cycle),
            None => (top.own, top.inverse),
        };
        couple(top.lists, (list, cycle, top.right), None, top.solution);
        for (level, pair) in pairs.iter().rev() {
            let own = (level.lists.whole, level.twice, pair[0].right);
            let up = (level.lists.up, level.relaxed, pair[1].solution);
            couple(pair[0].lists, own, Some(up), pair[0].solution);
        }
        let vector = problem.vector_len();
        let groups = work.groups(vector);
        commands.push(self.fixed(
            two_level::PatchProlong { unknowns: vector, modes: size, partial, patches: self.places.unknowns, maxima },
            groups * work.group_size(),
            two_level::PatchProlongBindings {
                residual: work.residual,
                modes: self.modes,
                table: self.lists,
                coarse: matrices[0].solution,
                z: work.z,
                state: work.state,
                partials: work.inner_partials,
            },
        ));
        groups
    }
}

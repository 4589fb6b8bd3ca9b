//! What a clustering has on a device: its buffers and kernels. What these do is in [`dispatches`].

mod dispatches;

pub use dispatches::{Soft, Sort, Sums};

use super::points::Points;
use super::{Mean, Settings, state};
use crate::buffers::Buffers;
use leastwise_cpu::twins::{POTENTIALS_ABREAST, SHARE, runs_for};
use leastwise_device::{Arguments, BufferId, Command, Device, Limits, Profile, Slice, StaticKernels};
use leastwise_error::Error;
use leastwise_kernels::{clustering, step};

/// Points that lie in one buffer.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    pub first: u32,
    pub count: u32,
    pub points: Slice,
}

/// Anchors that lie in one buffer.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub first: u32,
    pub count: u32,
    pub anchors: Slice,
    pub velocity: Slice,
    pub norms: Slice,
}

/// Where the table of indices has what. All but the last are of so many points, or of so many keys.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    pub labels: u32,
    /// Labels before, and in between those of the pieces so far.
    pub before: u32,
    pub members: u32,
    /// What else points are sorted by: their distances' order, or sides of their clusters.
    pub keys: u32,
    /// Members by another order, in the midst of a sort.
    pub aside: u32,
    pub counts: u32,
    pub begins: u32,
    pub map: u32,
    /// Points that were picked.
    pub choice: u32,
    /// Counts of blocks.
    pub blocks: u32,
}

/// Buffers and kernels of a clustering.
pub struct Workspace {
    kernels: StaticKernels,
    limits: Limits,
    profile: Profile,
    pub count: u32,
    pub dimensions: u32,
    /// Anchors that there is room for.
    pub capacity: u32,
    /// Squared differences, rather than products.
    pub direct: bool,
    by_fours: bool,
    pub chunks: Vec<Chunk>,
    /// Whether all chunks lie on the device at once.
    pub resident: bool,
    pub pieces: Vec<Piece>,
    /// Two candidates a cluster, or the other of two sets of pairs.
    pub candidates: Slice,
    /// The anchors that were best so far.
    pub kept: Slice,
    /// The same of all attempts.
    pub elite: Slice,
    pub sums: Slice,
    pub table: Slice,
    pub places: Places,
    /// Distances to the nearest and to the second nearest anchor.
    pub nearest: Slice,
    /// The same to the nearer candidate.
    pub divided: Slice,
    pub squares: Slice,
    pub weights: Slice,
    pub totals: Slice,
    pub uniforms: Slice,
    pub state: Slice,
    pub partials: Slice,
    /// Buffers of others that go with it.
    pub extra: Vec<BufferId>,
    /// Partial sums that are combined with those of other ranks, if there are any.
    #[cfg(not(target_arch = "wasm32"))]
    pub combined: Option<super::ranked::Combined>,
    block: u32,
    blocks: u32,
}

/// What a dispatch of a workgroup a cluster can have.
const MOST_CLUSTERS: u32 = 1 << 22;
/// Points of a block of a sort, at least.
const BLOCK: u32 = 256;
/// Counts of all blocks of a sort, about.
const BLOCK_COUNTS: u32 = 1 << 21;
/// Workgroups of what goes over all points in runs.
const RUNS: u32 = 256;

/// Candidates of k-means++ for an anchor of so many: twice as many as Arthur & Vassilvitskii's greedy variant has in scikit-learn.
fn trials_for(clusters: u32) -> u32 {
    2 * (2 + libm::log(clusters.max(1).into()) as u32)
}

impl Workspace {
    /// Buffers for these points, and for as many anchors.
    pub fn new(device: &mut Device, points: &Points, settings: &Settings, capacity: u32) -> Result<Self, Error> {
        Self::with(device, points, settings, capacity, None)
    }

    /// The same with room for more anchors; points stay where they are.
    pub fn grown(device: &mut Device, points: &Points, settings: &Settings, old: &Self, capacity: u32) -> Result<Self, Error> {
        Self::with(device, points, settings, capacity, Some(old.chunks.clone()))
    }

    /// Copies what is known from a smaller workspace.
    pub fn copies_of(&self, old: &Self, clusters: u32) -> Vec<Command> {
        let same = |from: Slice, to: Slice, len: u32| Command::Copy { from: Self::part(from, 0, len), to: Self::part(to, 0, len) };
        let (from, to) = (old.pieces[0], self.pieces[0]);
        let labels = |of: &Self| Self::part(of.table, of.places.labels, self.count);
        vec![
            same(old.state, self.state, state::STATE_LEN),
            same(old.squares, self.squares, self.squares.len),
            same(from.anchors, to.anchors, clusters * self.dimensions),
            same(from.velocity, to.velocity, if from.velocity.len > 1 { clusters * self.dimensions } else { 1 }),
            Command::Copy { from: labels(old), to: labels(self) },
        ]
    }

    fn with(device: &mut Device, points: &Points, settings: &Settings, capacity: u32, known: Option<Vec<Chunk>>) -> Result<Self, Error> {
        let limits = device.limits();
        let (count, dimensions) = (points.count(), settings.dimensions);
        let most = (limits.binding_bytes.min(limits.buffer_bytes) / 4).min(1 << 30) as u32;
        let too_large = |what: &str, needed: u64| {
            Error::Limits(format!("cluster(): {what} takes {needed} numbers, and a buffer of this device has room for {most}"))
        };
        if dimensions > most {
            return Err(too_large("a point", dimensions.into()));
        }
        let mut buffers = Buffers::new(device);
        // Points: chunks of whole tiles.
        let row_budget = settings.device_bytes.map_or(u64::MAX, |bytes| bytes / 4);
        let resident = u64::from(count) * u64::from(dimensions) <= row_budget;
        let in_chunk = u64::from(most).min(row_budget) / u64::from(dimensions);
        if capacity > MOST_CLUSTERS {
            return Err(Error::Limits(format!("cluster(): {capacity} clusters, {MOST_CLUSTERS} are possible")));
        }
        let rows = (in_chunk.min(u64::from(count)).max(1) as u32).min(limits.max_items().min(1 << 30) as u32);
        let rows = if rows < count && rows > 256 { rows / 256 * 256 } else { rows };
        let mut chunks: Vec<Chunk> = Vec::new();
        chunks.extend(known.iter().flatten());
        for first in (0..count).step_by(rows as usize).filter(|_| known.is_none()) {
            let here = rows.min(count - first);
            let points = match chunks.first() {
                Some(chunk) if !resident => Slice { len: here * dimensions, ..chunk.points },
                _ => buffers.real(here * dimensions, "points")?,
            };
            chunks.push(Chunk { first, count: here, points });
        }
        // Anchors, and twice as many candidates, whose sums have a column more.
        let in_piece = (most / (2 * (dimensions + 1))).min(capacity).max(1);
        let mut pieces = Vec::new();
        for first in (0..capacity).step_by(in_piece as usize) {
            let here = in_piece.min(capacity - first);
            pieces.push(Piece {
                first,
                count: here,
                anchors: buffers.real(here * dimensions, "anchors")?,
                velocity: buffers.real(if settings.momentum > 0.0 { here * dimensions } else { 1 }, "velocities")?,
                norms: buffers.real(2 * here, "norms of anchors")?,
            });
        }
        let keys = (2 * capacity).max(256);
        // Counts of blocks get what labels and members leave.
        let trials = trials_for(capacity);
        let others = 5 * u64::from(count) + 3 * u64::from(keys) + 2 + u64::from(trials);
        if others + u64::from(keys) > u64::from(most) {
            return Err(too_large("the table of labels and members", others + u64::from(keys)));
        }
        let room = (u64::from(most) - others).min(BLOCK_COUNTS.into()) as u32;
        let blocks = count.div_ceil(BLOCK).min((room / keys).max(1)).max(1);
        let block = count.div_ceil(blocks).max(1);
        let blocks = count.div_ceil(block).max(1);
        let mut end = 0u32;
        let mut place = |len: u32| {
            end += len;
            end - len
        };
        let places = Places {
            labels: place(count),
            before: place(count),
            members: place(count),
            keys: place(count),
            aside: place(count),
            counts: place(keys),
            begins: place(keys + 1),
            map: place(keys + 1),
            choice: place(trials),
            blocks: place(blocks * keys),
        };
        let share_rows = (2 * in_piece).max(shares_of(buffers.device.profile(), in_piece, count) * in_piece);
        let sums = u64::from(share_rows) * u64::from(dimensions + 1);
        let sums = sums.min(u64::from(most)) as u32;
        let group = limits.group_size;
        // Of each run when anchors are chosen the farthest point and a sum, or the candidates' potentials; else sums of runs and tiles.
        let slots = group / SHARE;
        let of_start = (2 * runs_for(rows, slots)).max(trials * runs_for(rows, POTENTIALS_ABREAST * slots));
        let of_start = u64::from(of_start) * chunks.len() as u64;
        let partials = of_start.max(2 * u64::from(count.div_ceil(group)) + u64::from(4 * RUNS) + 2 * u64::from(capacity));
        if partials > most.into() {
            return Err(too_large("partial sums of so many chunks of points (allow more deviceBytes)", partials));
        }
        let partials = partials as u32;
        let workspace = Self {
            kernels: StaticKernels::default(),
            limits,
            profile: buffers.device.profile(),
            count,
            dimensions,
            capacity,
            direct: settings.method == super::Method::Vlc || dimensions <= 16,
            by_fours: settings.method == super::Method::Vlc,
            chunks,
            resident,
            pieces,
            kept: buffers.real(in_piece * dimensions, "best anchors")?,
            elite: buffers.real(in_piece * dimensions, "best anchors of all attempts")?,
            candidates: buffers.real((2 * in_piece).max(trials).min(most / dimensions) * dimensions, "candidates")?,
            sums: buffers.real(sums, "sums of clusters")?,
            table: buffers.index(end, "labels and members")?,
            places,
            nearest: buffers.real(2 * count.max(1), "distances")?,
            divided: buffers.real(2 * count.max(1), "distances to candidates")?,
            squares: buffers.real(count.max(1), "norms of points")?,
            weights: buffers.real(if settings.mean == Mean::Plain { 1 } else { count.max(1) }, "weights")?,
            totals: buffers.real(2 * limits.align(2 * capacity), "totals of clusters")?,
            uniforms: buffers.real((trials.max(2) * capacity.max(1)).min(most), "random numbers")?,
            state: buffers.real(state::STATE_LEN, "state of a clustering")?,
            partials: buffers.real(partials, "partial sums")?,
            extra: Vec::new(),
            #[cfg(not(target_arch = "wasm32"))]
            combined: None,
            block,
            blocks,
        };
        let kernels = [&[step::Sum::KERNEL][..], clustering::ALL].concat();
        let kernels = StaticKernels::request(buffers.device, &kernels, |source| source)?;
        buffers.keep();
        Ok(Self { kernels, ..workspace })
    }

    /// Everything that it has on the device.
    pub fn buffers(&self) -> Vec<BufferId> {
        let single = [
            self.candidates,
            self.kept,
            self.elite,
            self.sums,
            self.table,
            self.nearest,
            self.divided,
            self.squares,
            self.weights,
            self.totals,
            self.uniforms,
            self.state,
            self.partials,
        ];
        let pieces = self.pieces.iter().flat_map(|piece| [piece.anchors, piece.velocity, piece.norms]);
        let mut all: Vec<BufferId> =
            single.into_iter().chain(pieces).chain(self.chunks.iter().map(|chunk| chunk.points)).map(|slice| slice.buffer).collect();
        all.extend(&self.extra);
        all.sort();
        all.dedup();
        all
    }

    /// How many workgroups share the members of a cluster: what fills a GPU. A CPU has one add all, in order.
    pub fn shares(&self, clusters: u32) -> u32 {
        let own = shares_of(self.profile, clusters, self.count).min((self.sums.len / (self.dimensions + 1) / clusters.max(1)).max(1));
        #[cfg(not(target_arch = "wasm32"))]
        let own = self.combined.map_or(own, |combined| own.min(combined.shares()));
        own
    }

    /// A part of a buffer of indices or reals, to be cleared, copied or read.
    pub fn part(of: Slice, offset: u32, len: u32) -> Slice {
        Slice { offset: of.offset + offset, len, ..of }
    }

    pub fn set(&self, element: u32, value: f64) -> Command {
        Command::UploadReals { buffer: self.state.buffer, offset: element, data: vec![value] }
    }
}

fn shares_of(profile: Profile, clusters: u32, points: u32) -> u32 {
    match profile {
        Profile::Cpu | Profile::Software => 1,
        Profile::Gpu => (8192 / clusters.max(1)).clamp(1, 64).min(points.div_ceil(clusters.max(1) * 4)).max(1),
    }
}

//! The list of commands between the mathematics and the device.
//!
//! Solvers are written once, against a [`Recording`]; a device only plays it. A few commands suffice: what runs
//! where, with which buffers, how often, and what comes back. Everything is counted in *elements* (reals or
//! `u32`s), never bytes, so a recording does not know the precision it is played in.
//!
//! Buffers hold either reals or indices, never both: the CUDA f64 build replaces `alias real` in the shaders, and
//! a mixed buffer would change its layout.

use super::{Arguments, DeviceError, Elements, Limits, Multiply, PARAM_WORDS, Reals, binding};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A buffer of one device. Never reused after `Device::free`, so a stale id is an error, not another buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BufferId(pub u32);

/// A kernel of one device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct KernelId(pub u32);

/// Kinds of buffers. `validation` says which may be mixed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// `f32`, `f64` or double-floats, as the device's precision says. Double-floats are two planes, of all high parts and of all
    /// low parts, of which kernels in `f32` know the first alone.
    Real,
    /// The same, but `f32` where a device computes [in mixed precision](super::Reals::Mixed).
    Inner,
    /// `f32` on WebGPU, whatever else is there.
    Single,
    /// Double-floats on a device that [has them](super::Device::has_doubles), elsewhere the same as `Real`.
    Double,
    /// `u32`.
    Index,
}

impl Kind {
    /// What its elements are.
    pub fn elements(self) -> Elements {
        if self == Self::Index { Elements::Indices } else { Elements::Reals }
    }

    /// True if buffers of this kind hold double-floats, where reals are `reals`.
    pub fn is_double(self, reals: Reals) -> bool {
        match self {
            Self::Index | Self::Single => false,
            Self::Double => true,
            Self::Real => reals != Reals::Single,
            Self::Inner => reals == Reals::Double,
        }
    }
}

/// Elements `offset .. offset + len` of a buffer.
///
/// In a binding, `offset` must be a multiple of [`Limits::offset_alignment`] elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slice {
    /// The buffer.
    pub buffer: BufferId,
    /// First element.
    pub offset: u32,
    /// Number of elements.
    pub len: u32,
}

/// The uniform block of a dispatch, as the kernels see it (all `u32`, 64 bytes):
/// `count`, `grid_width` (invocations a grid row), `zero` (always 0: the opaque barrier of compensated sums),
/// `group_count` (workgroups of this dispatch), then twelve words, the kernel's own arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Params {
    /// Items.
    pub count: u32,
    /// Invocations of a row of the grid.
    pub grid_width: u32,
    /// 0.
    pub zero: u32,
    /// Workgroups of the dispatch.
    pub group_count: u32,
    /// Words of the kernel's own.
    pub words: [u32; PARAM_WORDS],
}

/// One launch of a kernel over `count` items (threads, rounded up to whole workgroups by the device).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Dispatch {
    /// The kernel.
    pub kernel: KernelId,
    /// Slots 1 … 8; slot 0 is made from `count` and `words`.
    pub bindings: [Option<Slice>; binding::COUNT],
    /// Items; `Params::count`.
    pub count: u32,
    /// Whether one workgroup does all items (the last step of a reduction).
    pub single_group: bool,
    /// The kernel's own part of [`Params`].
    pub words: [u32; PARAM_WORDS],
}

/// The workgroups of a dispatch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    /// Workgroups of a row.
    pub x: u32,
    /// Rows.
    pub y: u32,
    /// The uniform block.
    pub params: Params,
}

/// A dispatch over more items than fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyItems;

impl From<TooManyItems> for DeviceError {
    fn from(_: TooManyItems) -> Self {
        Self::Invalid("a dispatch over more items than fit".into())
    }
}

impl Dispatch {
    /// A launch of a static kernel, which has this number.
    pub fn of<K: Arguments>(kernel: KernelId, args: K, count: u32, bindings: K::Bindings<Slice>) -> Self {
        Self { kernel, bindings: K::slots(bindings), count, single_group: false, words: args.words() }
    }

    /// The workgroups; none over no items.
    pub fn grid(&self, limits: &Limits) -> Result<Option<Grid>, TooManyItems> {
        let Limits { group_size, groups_per_dimension, .. } = *limits;
        let groups = if self.single_group { 1 } else { self.count.div_ceil(group_size) };
        if groups == 0 {
            return Ok(None);
        }
        let x = groups.min(groups_per_dimension);
        let y = groups.div_ceil(x);
        // The last row may be longer than needed: its items must still be numbers that do not wrap.
        let last_item = u64::from(x) * u64::from(y) * u64::from(group_size) - 1;
        if y > groups_per_dimension || last_item > u64::from(u32::MAX) {
            return Err(TooManyItems);
        }
        let params = Params { count: self.count, grid_width: x * group_size, zero: 0, group_count: groups, words: self.words };
        Ok(Some(Grid { x, y, params }))
    }
}

/// One step of a [`Recording`].
#[derive(Clone, PartialEq, Debug)]
pub enum Command {
    /// Writes reals (given in f64, rounded to the device's precision).
    UploadReals {
        /// Where to.
        buffer: BufferId,
        /// First element.
        offset: u32,
        /// The numbers.
        data: Vec<f64>,
    },
    /// Writes reals of which there are many, and which stay where they are: those of `data` from `first` on.
    UploadSingles {
        /// Where to.
        buffer: BufferId,
        /// First element.
        offset: u32,
        /// All numbers.
        data: Arc<Vec<f32>>,
        /// The first of them that is written.
        first: usize,
        /// How many are written.
        len: u32,
    },
    /// Writes indices.
    UploadIndices {
        /// Where to.
        buffer: BufferId,
        /// First element.
        offset: u32,
        /// The indices.
        data: Vec<u32>,
    },
    /// Fills with zeros.
    Clear {
        /// What is filled.
        slice: Slice,
    },
    /// Copies between two *different* buffers, both of reals or both of indices.
    Copy {
        /// What is copied.
        from: Slice,
        /// Where to, as many elements.
        to: Slice,
    },
    /// Launches a kernel.
    Dispatch(Dispatch),
    /// By a library, on devices that have one; everywhere else it is refused.
    Multiply(Multiply),
    /// Plays `body` until the real at `until` (buffer, element) is not 0, at most `max` times.
    ///
    /// Every kernel of the body must do nothing once that flag is set: a device may play the body further. The body has dispatches,
    /// copies, clears, products and exchanges only.
    Repeat {
        /// One round.
        body: Vec<Command>,
        /// Most rounds.
        max: u32,
        /// Buffer and element of the flag.
        until: (BufferId, u32),
    },
    /// Brings reals or indices back. At most one in a recording, and last.
    Read {
        /// What is read.
        slice: Slice,
    },
    /// Commands of a step that repeats, on the CPU: recorded once, and validated once.
    Sequence(Arc<Sequence>),
    /// An exchange with other ranks, on devices that are one of several; everywhere else it is refused.
    #[cfg(not(target_arch = "wasm32"))]
    Collective(Arc<super::Collective>),
    /// The end of an exchange [in the background](super::Collective::in_background): commands after it see what it wrote.
    #[cfg(not(target_arch = "wasm32"))]
    Await(Arc<super::Collective>),
}

/// Commands that many recordings share.
#[derive(Debug, Default)]
pub struct Sequence {
    commands: Vec<Command>,
    /// Identity of the device that has validated them; 0 before.
    validated_by: AtomicU64,
}

impl Sequence {
    /// Commands that are not validated yet.
    pub fn new(commands: Vec<Command>) -> Self {
        Self { commands, validated_by: AtomicU64::new(0) }
    }

    /// The commands, in order.
    pub fn commands(&self) -> &[Command] {
        &self.commands
    }

    /// True if this device has validated them. Buffers and kernels stay what they are, so that holds for good; a buffer that was freed
    /// since is refused by the device as always.
    pub fn is_validated_by(&self, device: u64) -> bool {
        self.validated_by.load(Relaxed) == device
    }

    pub(super) fn validated(&self, device: u64) {
        self.validated_by.store(device, Relaxed);
    }
}

impl PartialEq for Sequence {
    fn eq(&self, other: &Self) -> bool {
        self.commands == other.commands
    }
}

/// A list of commands, played in order.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Recording {
    /// The commands, in order.
    pub commands: Vec<Command>,
}

impl Command {
    /// The buffers that it names, some of them more than once.
    pub fn name_buffers(&self, names: &mut Vec<BufferId>) {
        match self {
            Self::UploadReals { buffer, .. } | Self::UploadSingles { buffer, .. } | Self::UploadIndices { buffer, .. } => {
                names.push(*buffer)
            }
            Self::Clear { slice } | Self::Read { slice } => names.push(slice.buffer),
            Self::Copy { from, to } => names.extend([from.buffer, to.buffer]),
            Self::Dispatch(dispatch) => names.extend(dispatch.bindings.iter().flatten().map(|slice| slice.buffer)),
            Self::Multiply(multiply) => names.extend(multiply.slices().map(|slice| slice.buffer)),
            Self::Repeat { body, until, .. } => {
                names.push(until.0);
                body.iter().for_each(|command| command.name_buffers(names));
            }
            Self::Sequence(sequence) => sequence.commands.iter().for_each(|command| command.name_buffers(names)),
            #[cfg(not(target_arch = "wasm32"))]
            Self::Collective(collective) | Self::Await(collective) => {
                names.extend(collective.parts.iter().map(super::Exchange::buffer));
            }
        }
    }
}

impl Recording {
    /// The kernels that its commands name, each once.
    pub fn kernels(&self) -> BTreeSet<KernelId> {
        let mut named = BTreeSet::new();
        let mut left: Vec<&Command> = self.commands.iter().collect();
        while let Some(command) = left.pop() {
            match command {
                Command::Dispatch(dispatch) => drop(named.insert(dispatch.kernel)),
                Command::Repeat { body, .. } => left.extend(body),
                Command::Sequence(sequence) => left.extend(&sequence.commands),
                _ => {}
            }
        }
        named
    }

    /// The buffers that its commands name, some of them more than once.
    pub fn buffers(&self) -> Vec<BufferId> {
        let mut names = Vec::new();
        self.commands.iter().for_each(|command| command.name_buffers(&mut names));
        names
    }

    /// The uploads, clears and copies that it begins with: what is left of one that nobody plays, since the host gives its values once.
    pub fn into_prelude(mut self) -> Self {
        let writes = |command: &Command| {
            matches!(
                command,
                Command::UploadReals { .. }
                    | Command::UploadSingles { .. }
                    | Command::UploadIndices { .. }
                    | Command::Clear { .. }
                    | Command::Copy { .. }
            )
        };
        let end = self.commands.iter().position(|command| !writes(command)).unwrap_or(self.commands.len());
        self.commands.truncate(end);
        self
    }

    /// A recording of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a command at the end.
    pub fn push(&mut self, command: Command) -> &mut Self {
        self.commands.push(command);
        self
    }
}

/// What a device has done since it was made: the cost model of a GPU solver is in these counts, so tests assert them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counters {
    /// Submissions to the device.
    pub submissions: u64,
    /// Launches of kernels.
    pub dispatches: u64,
    /// Bodies of `Repeat` that were played.
    pub rounds: u64,
    /// Dispatches of these bodies.
    pub round_dispatches: u64,
    /// Readbacks.
    pub readbacks: u64,
    /// Bytes that were read back.
    pub bytes_read_back: u64,
    /// In reports: systems that came back to be solved on the host. They are not among the readbacks above.
    pub matrix_readbacks: u64,
    /// Bytes of these systems.
    pub matrix_bytes_read_back: u64,
    /// Bytes that were uploaded.
    pub bytes_uploaded: u64,
    /// Buffers that were made.
    pub buffers_created: u64,
    /// Buffers that were freed.
    pub buffers_destroyed: u64,
    /// Kernels that were made.
    pub kernels_created: u64,
    /// Bytes of buffers that exist now.
    pub bytes_live: u64,
    /// Most bytes of buffers that existed at a time.
    pub bytes_peak: u64,
}

impl Counters {
    /// With what another device has done.
    pub fn with(&self, other: &Self) -> Self {
        Self {
            submissions: self.submissions + other.submissions,
            dispatches: self.dispatches + other.dispatches,
            rounds: self.rounds + other.rounds,
            round_dispatches: self.round_dispatches + other.round_dispatches,
            readbacks: self.readbacks + other.readbacks,
            bytes_read_back: self.bytes_read_back + other.bytes_read_back,
            matrix_readbacks: self.matrix_readbacks + other.matrix_readbacks,
            matrix_bytes_read_back: self.matrix_bytes_read_back + other.matrix_bytes_read_back,
            bytes_uploaded: self.bytes_uploaded + other.bytes_uploaded,
            buffers_created: self.buffers_created + other.buffers_created,
            buffers_destroyed: self.buffers_destroyed + other.buffers_destroyed,
            kernels_created: self.kernels_created + other.kernels_created,
            bytes_live: self.bytes_live + other.bytes_live,
            bytes_peak: self.bytes_peak + other.bytes_peak,
        }
    }

    /// What was done since an earlier reading; live and peak bytes are as they are now.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            submissions: self.submissions - earlier.submissions,
            dispatches: self.dispatches - earlier.dispatches,
            rounds: self.rounds - earlier.rounds,
            round_dispatches: self.round_dispatches - earlier.round_dispatches,
            readbacks: self.readbacks - earlier.readbacks,
            bytes_read_back: self.bytes_read_back - earlier.bytes_read_back,
            matrix_readbacks: self.matrix_readbacks - earlier.matrix_readbacks,
            matrix_bytes_read_back: self.matrix_bytes_read_back - earlier.matrix_bytes_read_back,
            bytes_uploaded: self.bytes_uploaded - earlier.bytes_uploaded,
            buffers_created: self.buffers_created - earlier.buffers_created,
            buffers_destroyed: self.buffers_destroyed - earlier.buffers_destroyed,
            kernels_created: self.kernels_created - earlier.kernels_created,
            ..*self
        }
    }
}

//! What evaluates tensors: storages, plans that were made, and the recordings that play them.

#[cfg(not(target_arch = "wasm32"))]
mod exchanges;
mod play;
mod prepare;

pub use play::{Evaluation, Next};
pub use prepare::Preparation;

use super::graph::{Graph, Node, Op, Storage};
use super::plan::Plan;
use super::pool::{Block, Pool, PoolStatistics};
use super::routing::{Place, Route, Router};
use leastwise_device::{Device, KernelId, Kind, Slice};
use leastwise_error::Error;
use std::collections::HashMap;

/// Plans that are kept.
const MOST_PLANS: usize = 128;

/// The devices that tensors are on: the first, and the CPU beside it where that is another.
pub struct Devices<'a> {
    /// The session's device.
    pub main: &'a mut Device,
    /// The CPU beside it, unless the session's device is one.
    pub cpu: Option<&'a mut Device>,
}

impl Devices<'_> {
    /// The device of a place; the session's where there is no other.
    pub fn at(&mut self, place: Place) -> &mut Device {
        match (place, &mut self.cpu) {
            (Place::Cpu, Some(cpu)) => cpu,
            _ => self.main,
        }
    }
}

/// Elements of a tensor: where they are.
struct Stored {
    blocks: [Option<Block>; 2],
    /// Elements of such a block that are the tensor's: words, where it is kept as halves.
    len: u32,
    /// Tensors that have them.
    users: u32,
}

/// A plan, and what devices have of it.
struct Compiled {
    plan: Plan,
    route: Route,
    kernels: Vec<Option<KernelId>>,
    /// Layout tables and constants of the places that it uses.
    tables: [Option<Block>; 2],
    constants: [Option<Block>; 2],
    used: u64,
}

/// Numbers of plans and what they came to.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Statistics {
    /// Evaluations so far.
    pub evaluations: u64,
    /// Plans that were made.
    pub plans_made: u64,
    /// Plans that were found again.
    pub plans_reused: u64,
    /// Of the last evaluation: kernels that ran, and elementwise operations that ran within others.
    pub kernels: u32,
    /// Elementwise operations of the last evaluation that ran within other kernels.
    pub fused: u32,
    /// Copies between the devices in the last evaluation.
    pub transfers: u32,
    /// Tensors in the graph at the last evaluation.
    pub nodes: u32,
}

impl Statistics {
    /// With those of other tensors; of last evaluations, the larger ones.
    pub fn with(&self, other: &Self) -> Self {
        Self {
            evaluations: self.evaluations + other.evaluations,
            plans_made: self.plans_made + other.plans_made,
            plans_reused: self.plans_reused + other.plans_reused,
            kernels: self.kernels.max(other.kernels),
            fused: self.fused.max(other.fused),
            transfers: self.transfers + other.transfers,
            nodes: self.nodes + other.nodes,
        }
    }
}

/// One step of the last evaluation, for people.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Traced {
    /// Operations of the step.
    pub what: String,
    /// `"cpu"` or the backend that ran it.
    pub place: &'static str,
    /// Reason for the place.
    pub reason: String,
    /// Elements that it reads and writes.
    pub elements: f64,
    /// What it moves.
    pub bytes: f64,
    /// Operations that it computes.
    pub operations: f64,
}

/// Who multiplies matrices on a device that comes with a library for that (cuBLASLt); elsewhere it is always our kernels.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Products {
    /// The device's library.
    #[default]
    Library,
    /// The library, and factors of f32 may be rounded to 10 bits.
    Tf32,
    /// Our kernels, the same as on WebGPU.
    Own,
}

/// Everything about tensors of one precision.
pub struct Tensors {
    /// Operations and their results.
    pub graph: Graph,
    storages: HashMap<Storage, Stored>,
    next: u32,
    pools: [Pool; 2],
    plans: HashMap<Vec<u64>, Compiled>,
    /// Leaves that a recording writes, where, which has not been played yet; with the node whose host's copy it uploads.
    unplayed: Vec<(Option<Node>, Storage, Place)>,
    clock: u64,
    /// Places of steps.
    pub router: Router,
    /// Counts so far.
    pub statistics: Statistics,
    /// Steps of the last evaluation.
    pub trace: Vec<Traced>,
    /// True if no kernel takes several elementwise operations, for comparisons.
    pub unfused: bool,
    /// Multiplier of matrices.
    pub products: Products,
}

impl Tensors {
    /// No tensors, of reals of so many bytes.
    pub fn new(bytes_of_real: u64) -> Self {
        Self {
            graph: Graph::new(bytes_of_real),
            storages: HashMap::new(),
            next: 0,
            pools: [Pool::new(bytes_of_real), Pool::new(bytes_of_real)],
            plans: HashMap::new(),
            unplayed: Vec::new(),
            clock: 0,
            router: Router::default(),
            statistics: Statistics::default(),
            trace: Vec::new(),
            unfused: false,
            products: Products::default(),
        }
    }

    /// Statistics of a place's pool.
    pub fn pool(&self, place: Place) -> PoolStatistics {
        self.pools[place as usize].statistics()
    }

    /// Sets the bytes that each pool keeps at most.
    pub fn set_cap(&mut self, bytes: u64) {
        self.pools.iter_mut().for_each(|pool| pool.cap = bytes);
    }

    /// Takes another's settings.
    pub fn set_like(&mut self, other: &Self) {
        self.router.set(other.router.mode(), other.router.model());
        self.router.set_advantage(other.router.advantage());
        (self.unfused, self.products) = (other.unfused, other.products);
        self.graph.slopes = other.graph.slopes;
        self.set_cap(other.pools[0].cap);
    }

    /// Destroys what is kept for later, and forgets plans.
    pub fn trim(&mut self, devices: &mut Devices) {
        for (_, compiled) in std::mem::take(&mut self.plans) {
            self.drop_plan(compiled);
        }
        for place in Place::ALL {
            self.pools[place as usize].trim(devices.at(place), 0);
        }
    }

    /// Destroys what is kept beyond the cap.
    pub fn trim_to_cap(&mut self, devices: &mut Devices) {
        for place in Place::ALL {
            let pool = &mut self.pools[place as usize];
            pool.trim(devices.at(place), pool.cap);
        }
    }

    fn drop_plan(&mut self, compiled: Compiled) {
        for place in Place::ALL {
            for block in [compiled.tables[place as usize], compiled.constants[place as usize]].into_iter().flatten() {
                self.pools[place as usize].give_back(block);
            }
        }
    }

    /// Gives back what no tensor has any more.
    pub fn collect(&mut self) {
        for storage in std::mem::take(&mut self.graph.released) {
            self.unuse(storage);
        }
    }

    fn unuse(&mut self, storage: Storage) {
        let Some(stored) = self.storages.get_mut(&storage) else { return };
        stored.users -= 1;
        if stored.users > 0 {
            return;
        }
        let stored = self.storages.remove(&storage).map(|stored| stored.blocks).unwrap_or_default();
        for place in Place::ALL {
            if let Some(block) = stored[place as usize] {
                self.pools[place as usize].give_back(block);
            }
        }
    }

    /// A buffer of the main device.
    pub(crate) fn take(&mut self, devices: &mut Devices, kind: Kind, len: u32) -> Result<Block, Error> {
        Ok(self.pools[Place::Device as usize].take(devices.main, kind, len)?)
    }

    /// Gives back a buffer of the main device.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn give_back_taken(&mut self, block: Block) {
        self.pools[Place::Device as usize].give_back(block);
    }

    /// A tensor of what is in a buffer of the main device.
    pub(crate) fn keep_block(&mut self, block: Block, len: u32, shape: Vec<u32>) -> Node {
        let storage = self.storage_in(block, len);
        let node = self.graph.add(Op::Stored, Vec::new(), shape);
        self.graph.change(node, |entry| entry.storage = Some(storage));
        node
    }

    /// Storage of one tensor, in a buffer of the main device.
    pub(crate) fn storage_in(&mut self, block: Block, len: u32) -> Storage {
        self.next += 1;
        let storage = Storage(self.next);
        self.storages.insert(storage, Stored { blocks: [Some(block), None], len, users: 1 });
        storage
    }

    /// Where a tensor's elements are on the main device, if they are there, and whether they are halves.
    pub fn view(&self, node: Node) -> Option<(Slice, bool)> {
        self.view_at(node, Place::Device)
    }

    /// The same on either device.
    pub fn view_at(&self, node: Node, place: Place) -> Option<(Slice, bool)> {
        let entry = self.graph.get(node)?;
        let stored = self.storages.get(&entry.storage?)?;
        let block = stored.blocks[place as usize]?;
        Some((Slice { buffer: block.buffer, offset: 0, len: stored.len }, entry.half))
    }
}

//! Schedules of the product JᵀWJ·p, and which one a batch's products are computed in.
//!
//! The choice is a pure function of the kernels, the sizes, what kind of device it is, and a tuning table that
//! measurements may have filled: the same problem on the same device is computed in the same way.

use super::registry::Compiled;
use super::table::Site;
use leastwise_base::task::{Pace, Stopped};
use leastwise_cpu::{Evaluator, Evaluators};
use leastwise_device::{Device, KernelId, KernelSource, Profile, Reals};
use leastwise_error::Error;
use leastwise_program::wgsl::Cut;
use leastwise_program::{Instruction, Load, OwnerProgram, Program, ResidualPrograms, Rows, Signature, fnv, wgsl};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// How products are computed. See `program/owner.rs` for owners.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// Every instance stores its contributions Jᵀu, which every variable gathers.
    TwoPass,
    /// The same, but J's entries are computed from the variables instead of loaded.
    Recompute,
    /// The variables of one column add up their own part in the pass that forms u; only what belongs to others is stored.
    OwnerComputes,
    /// `OwnerComputes` with J's entries computed from the variables instead of loaded.
    OwnerRecomputes,
}

impl Schedule {
    /// All schedules.
    pub const ALL: [Self; 4] = [Self::TwoPass, Self::Recompute, Self::OwnerComputes, Self::OwnerRecomputes];

    /// Name of the schedule in tuning tables and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::TwoPass => "two-pass",
            Self::Recompute => "recompute",
            Self::OwnerComputes => "owner-computes",
            Self::OwnerRecomputes => "owner-recomputes",
        }
    }

    fn recomputes(self) -> bool {
        matches!(self, Self::Recompute | Self::OwnerRecomputes)
    }

    fn has_owners(self) -> bool {
        matches!(self, Self::OwnerComputes | Self::OwnerRecomputes)
    }
}

/// What is the fastest, by the key of a kernel and its size: the schedule of a product, and the evaluator of a program where
/// the engine is WebAssembly. [`Tuning::ANY`] stands for every one.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Tuning {
    /// Schedule of products, by hash and size: `hash/⌊log₂ instances⌋`.
    pub products: BTreeMap<String, Schedule>,
    /// Evaluator of programs, by hash and size: `hash/⌊log₂ items⌋`.
    pub evaluators: BTreeMap<String, Evaluator>,
}

impl Tuning {
    /// The key that stands for all products, or for all programs.
    pub const ANY: &str = "*";

    /// The schedule for a product of so many instances.
    pub fn schedule(&self, key: &str) -> Option<Schedule> {
        self.products.get(key).or_else(|| self.products.get(Self::ANY)).copied()
    }

    /// What the CPU makes of it.
    pub fn evaluators(&self) -> Evaluators {
        Evaluators::new(&self.evaluators, Self::ANY)
    }

    /// Refuses keys that nothing can have: those are the hash of a kernel in sixteen hexadecimal digits, a slash, and
    /// the power of two that its instances reach; or [`Tuning::ANY`].
    pub fn check(&self) -> Result<(), Error> {
        let is_hash = |hash: &str| hash.len() == 16 && hash.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        let is_key = |key: &str| {
            let parts = key.split_once('/');
            key == Self::ANY || parts.is_some_and(|(hash, power)| is_hash(hash) && power.parse::<u8>().is_ok_and(|power| power < 32))
        };
        let unknown = |what: &str, key: &String| {
            Error::InvalidOption(format!("tuning table: no {what} can be called {key:?}; it must be one that tune() made"))
        };
        let product = self.products.keys().find(|key| !is_key(key)).map(|key| unknown("product", key));
        let program = || self.evaluators.keys().find(|key| !is_key(key)).map(|key| unknown("program", key));
        product.or_else(program).map_or(Ok(()), Err)
    }

    /// A table from keys and names of schedules and evaluators, as they are stored.
    pub fn of_names(keys: Vec<String>, names: &[String]) -> Result<Self, Error> {
        let mut tuning = Self::default();
        for (key, name) in keys.into_iter().zip(names) {
            let schedule = Schedule::ALL.into_iter().find(|schedule| schedule.name() == name);
            let evaluator = Evaluator::ALL.into_iter().find(|evaluator| evaluator.name() == name);
            match (schedule, evaluator) {
                (Some(schedule), _) => drop(tuning.products.insert(key, schedule)),
                (None, Some(evaluator)) => drop(tuning.evaluators.insert(key, evaluator)),
                (None, None) => {
                    return Err(Error::InvalidOption(format!("tuning table: there is no schedule or evaluator {name:?}")));
                }
            }
        }
        tuning.check().map(|()| tuning)
    }

    /// The opposite: keys and names.
    pub fn names(&self) -> impl Iterator<Item = (&String, &'static str)> {
        let products = self.products.iter().map(|(key, schedule)| (key, schedule.name()));
        products.chain(self.evaluators.iter().map(|(key, evaluator)| (key, evaluator.name())))
    }
}

/// The products of a batch.
#[derive(Clone, Debug)]
pub struct Product {
    /// Schedule that was chosen.
    pub schedule: Schedule,
    /// Kernel that computes products in it.
    pub kernel: KernelId,
    /// What the kernel is, where it has owners.
    pub owner: Option<Arc<OwnerProgram>>,
    /// By what the tuning table knows it.
    pub key: String,
    /// Why it is this schedule.
    pub why: String,
}

/// A column of the index table whose variables may own their instances: the rows of every chunk.
pub(super) struct Owners {
    pub column: u32,
    pub rows: Vec<Rows>,
}

/// What there is, once each, ascending. (Trees for so few things would be more code than all else here.)
pub fn distinct<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items.dedup();
    items
}

/// The columns whose variables may own the instances of these chunks.
pub(super) async fn owners(
    signature: &Signature,
    indices: &[Vec<u32>],
    chunks: &[Range<usize>],
    group_size: u32,
    pace: &Pace,
) -> Result<Vec<Owners>, Stopped> {
    let columns = distinct(signature.slots.iter().filter(|slot| slot.vector.is_some()).map(|slot| slot.arena.column));
    let mut owners = Vec::new();
    for column in columns {
        let mut rows = Vec::new();
        for chunk in chunks {
            match Rows::new(&indices[column as usize][chunk.clone()], group_size, pace).await? {
                Some(found) => rows.push(found),
                None => break,
            }
        }
        if rows.len() == chunks.len() {
            owners.push(Owners { column, rows });
        }
    }
    Ok(owners)
}

/// What decides besides the kernels: instances, and the variables and constants that they reach.
pub(super) struct Sizes<'a> {
    pub instances: u32,
    pub sites: &'a [Site],
}

/// The best schedule for a product, and the place of its column among `owners`.
pub(super) fn choose(
    device: &mut Device,
    compiled: &mut Compiled,
    tuning: &Tuning,
    owners: &[Owners],
    sizes: &Sizes,
) -> Result<(Product, Option<usize>), Error> {
    let key = format!("{:016x}/{}", compiled.key(), sizes.instances.max(1).ilog2());
    let mut found = Vec::new();
    let profile = device.profile();
    let wanted = tuning.schedule(&key);
    let mut best: Option<(f64, Schedule, Option<usize>)> = None;
    for schedule in Schedule::ALL {
        let forced = wanted == Some(schedule);
        if !forced && !suits(profile, schedule) {
            continue;
        }
        let columns: Vec<Option<usize>> = if schedule.has_owners() { (0..owners.len()).map(Some).collect() } else { vec![None] };
        for column in columns {
            let Some(costs) = costs(compiled, schedule, column.map(|place| owners[place].column), sizes, device) else { continue };
            found.push(format!("{} {costs:.0}", schedule.name()));
            // What was measured is the first choice, where it can be had.
            let costs = if forced { -1.0 / (1.0 + costs) } else { costs };
            if best.is_none_or(|(least, ..)| costs < least) {
                best = Some((costs, schedule, column));
            }
        }
    }
    let (_, schedule, place) = best.unwrap_or((0.0, Schedule::TwoPass, None));
    let column = place.map(|place| owners[place].column);
    let why = match wanted {
        Some(wanted) if wanted == schedule => "the tuning table says so".to_string(),
        wanted => {
            let lacking = wanted.map_or(String::new(), |wanted| format!("the tuning table's {} can't be had here; ", wanted.name()));
            format!("{lacking}least bytes an instance, operations included: {}", found.join(", "))
        }
    };
    let (kernel, owner) = compiled.product(device, schedule, column)?;
    Ok((Product { schedule, kernel, owner, key, why }, place))
}

/// Whether a schedule is a choice at all without having been measured: where barriers are emulated, tiles are not.
fn suits(profile: Profile, schedule: Schedule) -> bool {
    profile != Profile::Software || schedule == Schedule::TwoPass
}

/// Bytes that could be moved in the time of an operation on reals of so many bytes. A GPU's were measured on products that
/// an H200 recomputed, for which the ratio of its arithmetic to its bandwidth alone would be half as much.
fn bytes_an_operation(profile: Profile, real: f64) -> f64 {
    match profile {
        Profile::Cpu => 2.0,
        Profile::Software => 8.0,
        Profile::Gpu => 0.05 * real,
    }
}

/// Bytes of an instance, operations included as the bytes that could be moved meanwhile. `None` where there is no such
/// kernel.
fn costs(compiled: &mut Compiled, schedule: Schedule, column: Option<u32>, sizes: &Sizes, device: &Device) -> Option<f64> {
    let (profile, real) = (device.profile(), device.inner_precision().bytes() as f64);
    let owner = match column {
        Some(column) => Some(compiled.owner(schedule.recomputes(), column)?),
        None => None,
    };
    let (programs, signature) = (&compiled.programs, &compiled.signature);
    let program = program(programs, schedule, owner.as_deref())?;
    // Products by owners, and those that recompute J, are one module each.
    let is_whole = schedule == Schedule::TwoPass || device.reals() != Reals::Double || wgsl::is_small(program, Cut::Fine);
    if !is_whole || owner.as_deref().is_some_and(|owner| !device.holds_tile(owner.tile)) {
        return None;
    }
    let (handed, gathered) = handed_on(programs, signature, owner.as_deref());
    let read = arena_bytes(program, signature, sizes, real) / f64::from(sizes.instances.max(1));
    // Rows go through the workgroup's memory and meet at a barrier.
    let rows = if owner.is_some() && profile == Profile::Gpu { 2.0 * real } else { 0.0 };
    let bytes = columns_bytes(program, real) + 2.0 * f64::from(handed) * real + 4.0 * f64::from(gathered) + read + rows;
    Some(bytes + bytes_an_operation(profile, real) * wgsl::operations(program) as f64)
}

/// The program that runs in a schedule.
fn program<'a>(programs: &'a ResidualPrograms, schedule: Schedule, owner: Option<&'a OwnerProgram>) -> Option<&'a Program> {
    match (schedule, owner) {
        (_, Some(owner)) => Some(&owner.program),
        (Schedule::TwoPass, None) => Some(&programs.product),
        (Schedule::Recompute, None) => programs.recompute.as_ref(),
        _ => None,
    }
}

/// Columns that a product's kernel stores, and how many slots gather them.
fn handed_on(programs: &ResidualPrograms, signature: &Signature, owner: Option<&OwnerProgram>) -> (u32, u32) {
    let moving = signature.slots.iter().filter(|slot| slot.vector.is_some());
    match owner {
        None => (programs.contributions, moving.count() as u32),
        Some(owner) => (owner.crossing_columns, moving.filter(|slot| slot.arena.column != owner.column).count() as u32),
    }
}

/// Bytes of the columns that a program loads for an instance: of J and the data, and of the index table.
fn columns_bytes(program: &Program, real: f64) -> f64 {
    let columns = program.instructions.iter().filter_map(|instruction| match instruction {
        Instruction::Load(Load::Jacobian(column)) => Some((true, *column)),
        Instruction::Load(Load::Data(column)) => Some((false, *column)),
        _ => None,
    });
    let columns = distinct(columns);
    let used = program.instructions.iter().filter_map(|instruction| match instruction {
        Instruction::Load(Load::Arena { address, .. } | Load::Vector { address, .. }) => Some(program.addresses[*address as usize].column),
        _ => None,
    });
    let indices = distinct(used);
    columns.len() as f64 * real + indices.len() as f64 * 4.0
}

/// Bytes of the tables that a program reads, each once.
fn arena_bytes(program: &Program, signature: &Signature, sizes: &Sizes, real: f64) -> f64 {
    let used = program.instructions.iter().filter_map(|instruction| match instruction {
        Instruction::Load(Load::Arena { address, .. }) => Some(program.addresses[*address as usize]),
        _ => None,
    });
    let bases = distinct(used.map(|address| address.base));
    let tables = (0..signature.slots.len()).filter(|&slot| bases.contains(&signature.slots[slot].arena.base));
    let places = distinct(tables.map(|slot| sizes.sites[slot].arena));
    let bytes = places.iter().map(|place| {
        let site = sizes.sites.iter().find(|site| site.arena == *place);
        site.map_or(0.0, |site| f64::from(site.elements().min(sizes.instances.saturating_mul(site.width))) * real)
    });
    bytes.sum()
}

impl Product {
    /// Bytes that a product must move for a chunk, apart from vectors: what its kernel loads, and what is handed on both
    /// ways. Lists come on top.
    pub fn bytes(&self, programs: &ResidualPrograms, signature: &Signature, instances: u32, real: f64) -> f64 {
        let Some(program) = program(programs, self.schedule, self.owner.as_deref()) else { return 0.0 };
        let (handed, _) = handed_on(programs, signature, self.owner.as_deref());
        f64::from(instances) * (columns_bytes(program, real) + 2.0 * f64::from(handed) * real)
    }

    /// Whether its kernel reads the variables.
    pub fn recomputes(&self) -> bool {
        self.schedule.recomputes()
    }
}

impl Compiled {
    /// What names the product's kernel in tuning tables: it is the same on every machine.
    fn key(&self) -> u64 {
        fnv(&format!("{:?}{:?}", self.programs.product.instructions, self.programs.gradient_maps))
    }

    /// The product by the owners of a column; `None` where there is none.
    fn owner(&mut self, recompute: bool, column: u32) -> Option<Arc<OwnerProgram>> {
        let Self { programs, signature, owners, .. } = self;
        let made = owners.entry((recompute, column)).or_insert_with(|| {
            let product = if recompute { programs.recompute.as_ref()? } else { &programs.product };
            OwnerProgram::new(product, programs, signature, column).map(Arc::new)
        });
        made.clone()
    }

    fn product(
        &mut self,
        device: &mut Device,
        schedule: Schedule,
        column: Option<u32>,
    ) -> Result<(KernelId, Option<Arc<OwnerProgram>>), Error> {
        let owner = column.and_then(|column| self.owner(schedule.recomputes(), column));
        if let Some(&kernel) = self.products.get(&(schedule, column)) {
            return Ok((kernel, owner));
        }
        let source = match &owner {
            Some(owner) => KernelSource::of_owner(owner),
            None => KernelSource::of(program(&self.programs, schedule, None).unwrap_or(&self.programs.product)),
        };
        let kernel = device.kernels(&[source.of_inner()])?[0];
        self.products.insert((schedule, column), kernel);
        Ok((kernel, owner))
    }
}

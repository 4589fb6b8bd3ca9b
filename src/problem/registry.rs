//! The residuals that an engine knows, shared by all of its problems.
//!
//! A tape that was read before is known by its words; another one that comes to the same structure is known by that.
//! Either way nothing is differentiated or compiled again.

use super::spec::TermSpec;
use super::{GUARDS, Loss, Schedule, Table, Tuning};
use leastwise_base::clock::now_ms;
use leastwise_device::{Device, KernelId, KernelSource};
use leastwise_error::Error;
use leastwise_expr::{Expr, Graph, Leaf, Manifold, ManifoldError, Part, manifold, tape};
use leastwise_kernels::StaticKernel;
use leastwise_program::{
    CrossDerivativeProgram, EnergyPrograms, Layout, LossKind, Objective, OffDiagonalPrograms, OwnerProgram, RepeatedSlotsProgram,
    ResidualPrograms, Retraction, Signature, SlotKind, Structure,
};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, atomic::AtomicBool};

/// Where a scalar of data comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Datum {
    Column {
        column: u32,
        component: u32,
    },
    Literal(u32),
    /// A parameter of the loss.
    Loss(u32),
}

/// What a tape comes to: a structure, and which of the term's slots and data stand where.
pub struct Reading {
    pub structure: Arc<Structure>,
    /// For every slot of the structure, the term's.
    pub slots: Vec<u32>,
    /// For every scalar of data of the structure, the term's.
    pub data: Vec<Datum>,
    /// Whether a term of it was found to fit the device.
    pub fits: AtomicBool,
}

impl Reading {
    /// `data` are those of the residual: the loss's parameters come after them.
    pub fn new(structure: Arc<Structure>, slots: Vec<u32>, mut data: Vec<Datum>) -> Self {
        let parameters = structure.loss.as_ref().map_or(0, |kind| kind.parameters());
        data.extend((0..parameters as u32).map(Datum::Loss));
        Self { structure, slots, data, fits: AtomicBool::new(false) }
    }
}

/// The kernels of a residual.
#[derive(Clone, Copy, Debug)]
pub struct TermKernels {
    /// Stores r and the entries of J.
    pub linearize: KernelId,
    /// Cost ½ w ρ(‖r‖²) of every instance.
    pub energy: KernelId,
    /// Difference of the costs at two points, of every instance.
    pub change: KernelId,
    /// Contributions to the gradient Jᵀwρ′r.
    pub gradient: KernelId,
    /// Contributions to the packed diagonal blocks of JᵀWJ.
    pub diagonal: KernelId,
    /// Of an energy, what stores its second derivatives, and what makes them semidefinite.
    pub curvature: Option<[KernelId; 2]>,
}

/// A structure with one layout of its data: its programs and, once a device has them, its kernels.
pub struct Compiled {
    pub signature: Signature,
    pub programs: Arc<ResidualPrograms>,
    pub kernels: Option<TermKernels>,
    /// Products by owners, by whether they recompute J and by column; `None` where that can't be.
    pub(super) owners: HashMap<(bool, u32), Option<Arc<OwnerProgram>>>,
    /// The kernels of products that were chosen, by schedule and column.
    pub(super) products: HashMap<(Schedule, Option<u32>), KernelId>,
    /// Kernel of second derivatives, once it was requested.
    hessian: Option<HessianKernel>,
    /// Kernel of mixed derivatives, likewise.
    cross_derivative: Option<CrossDerivativeKernel>,
    /// Kernels of the blocks off the diagonal of JᵀWJ, once a solver assembled it, and the columns that each may store.
    offdiagonal: Option<(u32, OffDiagonalKernels)>,
    /// Kernels of what pairs of slots add to diagonal blocks where they are one variable.
    repeated_slots: HashMap<Vec<(u32, u32)>, RepeatedSlotsKernel>,
}

/// Programs that store the blocks off the diagonal, of pairs of slots, and their kernels.
#[derive(Clone)]
pub struct OffDiagonalKernels {
    /// Programs: a pass stores as many blocks as its columns allow.
    pub programs: Arc<OffDiagonalPrograms>,
    /// Kernel of every pass.
    pub kernels: Vec<KernelId>,
}

/// Program for pairs of slots that are one variable in some instances, and its kernel.
#[derive(Clone)]
pub struct RepeatedSlotsKernel {
    pub program: Arc<RepeatedSlotsProgram>,
    pub kernel: KernelId,
}

/// Programs of the Hessians of ½ w ρ(‖r‖²), and their kernel.
#[derive(Clone)]
pub struct HessianKernel {
    /// Programs of the Hessian.
    pub programs: Arc<EnergyPrograms>,
    /// Kernel that stores the Hessians of all instances.
    pub kernel: KernelId,
}

/// Program of mixed derivatives, and its kernel.
#[derive(Clone)]
pub struct CrossDerivativeKernel {
    /// Program of ∂²(½ w ρ(‖r‖²))/∂x∂data.
    pub program: Arc<CrossDerivativeProgram>,
    /// Its kernel.
    pub kernel: KernelId,
}

/// The kernel that makes trial points on a manifold, and what it stores.
#[derive(Clone)]
pub(super) struct RetractionKernel {
    pub retraction: Arc<Retraction>,
    pub kernel: KernelId,
}

/// What an engine has compiled and found again.
#[derive(serde::Serialize, Clone, Copy, PartialEq, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Terms (or parts of ragged ones) that were made.
    pub terms: u64,
    /// Those of them whose structure was known.
    pub hits: u64,
    /// Residuals of different structure.
    pub structures: u64,
    /// Structures with different layouts of their data: six programs each.
    pub compiled: u64,
    /// Batches that were laid out: their index tables, incidence lists and data.
    pub layouts: u64,
    /// Milliseconds of reading, differentiating and writing programs.
    pub compile_ms: f64,
}

/// FNV-1a over words: short keys, looked up a hundred thousand times.
#[derive(Default)]
pub struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = (self.0.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }
}

type Known<K, V> = HashMap<K, V, BuildHasherDefault<WordHasher>>;

/// Everything that an engine has read and compiled: tapes, structures, programs, kernels and manifolds, each once.
#[derive(Default)]
pub struct Registry {
    /// The key being looked up; its memory is used again.
    key: Vec<u32>,
    tapes: Known<Vec<u32>, Arc<Reading>>,
    structures: Known<Vec<u32>, Arc<Structure>>,
    compiled: HashMap<(usize, Layout), Compiled>,
    /// By number, from 1 on.
    manifolds: Vec<(Arc<Manifold>, Option<RetractionKernel>)>,
    stats: Stats,
    /// What was measured on this device, or given.
    pub tuning: Tuning,
}

impl Registry {
    /// Counters since the engine was opened.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The width of instances made of these parts, and the manifold that they lie on if their scalars are not free; one
    /// that is equal to another is that one.
    pub fn manifold(&mut self, parts: Vec<Part>) -> Result<(u32, Option<Arc<Manifold>>), ManifoldError> {
        let width = manifold::width(&parts)?;
        let Some(mut new) = Manifold::new(parts)? else { return Ok((width, None)) };
        let known = self.manifolds.iter().find(|known| *known.0 == new);
        let manifold = known.map(|known| known.0.clone()).unwrap_or_else(|| {
            new.number = self.manifolds.len() as u32 + 1;
            self.manifolds.push((Arc::new(new), None));
            self.manifolds[self.manifolds.len() - 1].0.clone()
        });
        Ok((width, Some(manifold)))
    }

    /// Knows the manifolds of another registry by their numbers there, for snapshots of problems that it has.
    pub fn adopt_manifolds(&mut self, other: &Self) {
        let known = self.manifolds.len();
        self.manifolds.extend(other.manifolds.iter().skip(known).map(|(manifold, _)| (manifold.clone(), None)));
    }

    /// The kernel that makes trial points on a manifold; a GPU begins to compile it.
    pub(super) fn retraction(&mut self, device: &mut Device, manifold: &Arc<Manifold>) -> Result<RetractionKernel, Error> {
        let (_, known) = &mut self.manifolds[manifold.number as usize - 1];
        if let Some(known) = known {
            return Ok(known.clone());
        }
        let retraction = Arc::new(Retraction::new(manifold));
        let kernel = device.kernels(&[KernelSource::of(&retraction.program)])?[0];
        Ok(known.insert(RetractionKernel { retraction, kernel }).clone())
    }

    /// Reads a term's tape, unless it is known; gives its literals, too.
    pub fn read(&mut self, spec: &TermSpec, tables: &[Table]) -> Result<(Arc<Reading>, Vec<f64>), Error> {
        let (mut key, mut literals) = (std::mem::take(&mut self.key), Vec::new());
        key.clear();
        tape::lift_into(spec.tape, &mut key, &mut literals);
        key.extend(spec.outputs);
        for (number, slot) in spec.slots.iter().enumerate() {
            let table = &tables[slot.table as usize];
            let manifold = table.moves_on().map_or(0, |manifold| manifold.number);
            key.extend([slot.column, spec.first_alike(number) as u32, manifold << 12 | table.width << 1 | u32::from(table.moving)]);
        }
        key.extend(spec.columns.iter().map(|column| column.width));
        let end = key.len();
        if let Some(kind) = robust(spec) {
            kind.write_words(&mut key);
        }
        let objective = spec.objective as u32;
        key.extend([objective, (key.len() - end) as u32, spec.outputs.len() as u32, spec.slots.len() as u32, spec.columns.len() as u32]);
        self.stats.terms += 1;
        let is_finite = literals.iter().all(|value| value.is_finite());
        let known = self.tapes.get(&key[..]).filter(|_| is_finite).cloned();
        self.key = key;
        if let Some(reading) = known {
            self.stats.hits += 1;
            return Ok((reading, literals));
        }
        let started = now_ms();
        // A slot that repeats an earlier one is that one: its derivatives add up there.
        let slots = (0..spec.slots.len()).map(|slot| tape::Source {
            leaf: Leaf::Slot { slot: spec.first_alike(slot) as u32, component: 0 },
            width: tables[spec.slots[slot].table as usize].width,
        });
        let data =
            (0..).zip(&spec.columns).map(|(column, given)| tape::Source { leaf: Leaf::Data { column, component: 0 }, width: given.width });
        let sources: Vec<tape::Source> = slots.chain(data).collect();
        let mut graph = Graph::new();
        let (residual, literals) = tape::read_lifted(&mut graph, spec.tape, spec.outputs, &sources)
            .map_err(|error| Error::Tape { term: spec.name.clone(), error })?;
        let reading = self.recognised(spec, tables, &graph, &residual)?;
        self.tapes.insert(self.key.clone(), reading.clone());
        self.stats.compile_ms += now_ms() - started;
        Ok((reading, literals))
    }

    /// Reads the trace of a ragged term's rows, whose sources are given; with masks where some entries may be missing.
    pub(super) fn read_ragged(
        &mut self,
        spec: &TermSpec,
        tables: &[Table],
        sources: &[tape::Source],
        optional: Option<tape::Optional>,
    ) -> Result<Arc<Reading>, Error> {
        let started = now_ms();
        self.stats.terms += 1;
        let mut graph = Graph::new();
        let read = match optional {
            None => tape::read_lifted(&mut graph, spec.tape, spec.outputs, sources).map(Some),
            Some(optional) => tape::read_masked(&mut graph, spec.tape, spec.outputs, sources, optional),
        };
        let read = read.and_then(|read| read.ok_or(tape::TapeError::Individual));
        let (residual, _) = read.map_err(|error| Error::Tape { term: spec.name.clone(), error })?;
        let reading = self.recognised(spec, tables, &graph, &residual)?;
        self.stats.compile_ms += now_ms() - started;
        Ok(reading)
    }

    /// The structure of a residual, known or new.
    fn recognised(&mut self, spec: &TermSpec, tables: &[Table], graph: &Graph, residual: &[Expr]) -> Result<Arc<Reading>, Error> {
        let table = |slot: u32| &tables[spec.slots[slot as usize].table as usize];
        if residual.is_empty() {
            return Err(Error::NoResidual(spec.name.clone()));
        }
        if spec.objective == Objective::Energy && residual.len() != 1 {
            let message = format!("an energy is one scalar, not {}: use residuals for ½‖r‖², or add the parts up", residual.len());
            return Err(Error::Shape { name: spec.name.clone(), message });
        }
        // A width is at most 1024.
        let canonical = graph.canonical(residual, |leaf| match leaf {
            Leaf::Slot { slot, component } => 1 << 31 | u32::from(table(slot).moving) << 30 | table(slot).width << 12 | component,
            _ => 0,
        });
        let (mut slots, mut columns, mut kinds, mut data) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let leaves = canonical.leaves.iter().map(|&leaf| match leaf {
            Leaf::Slot { slot, component } => {
                let place = place(&mut slots, slot);
                if place == kinds.len() {
                    let column = self::place(&mut columns, spec.slots[slot as usize].column) as u32;
                    let &Table { width, moving, .. } = table(slot);
                    kinds.push(SlotKind { width, moving, manifold: table(slot).moves_on().cloned(), column });
                }
                Leaf::Slot { slot: place as u32, component }
            }
            other => {
                data.push(match other {
                    Leaf::Data { column, component } => Datum::Column { column, component },
                    Leaf::Literal(number) => Datum::Literal(number),
                    _ => unreachable!("a tape has no other leaves"),
                });
                Leaf::Data { column: data.len() as u32 - 1, component: 0 }
            }
        });
        let leaves: Vec<Leaf> = leaves.collect();
        let mut key = canonical.words.clone();
        for leaf in &leaves {
            if let Leaf::Slot { slot, .. } = *leaf {
                let kind = &kinds[slot as usize];
                key.extend([slot, kind.column, kind.manifold.as_ref().map_or(0, |manifold| manifold.number)]);
            }
        }
        let loss = robust(spec);
        let end = key.len();
        if let Some(kind) = loss {
            kind.write_words(&mut key);
        }
        key.extend([spec.objective as u32, (key.len() - end) as u32, residual.len() as u32]);
        let known = self.structures.get(&key).cloned();
        self.stats.hits += u64::from(known.is_some());
        let structure = known.unwrap_or_else(|| {
            self.stats.structures += 1;
            let structure = Arc::new(Structure::new(
                canonical,
                (spec.objective, residual.len() as u32),
                kinds,
                leaves,
                data.len() as u32,
                loss.cloned(),
            ));
            self.structures.insert(key, structure.clone());
            structure
        });
        Ok(Arc::new(Reading::new(structure, slots, data)))
    }

    pub(super) fn count_layout(&mut self) {
        self.stats.layouts += 1;
    }

    /// The programs of a structure with its data laid out like this.
    pub fn compiled(&mut self, structure: &Arc<Structure>, layout: &Layout, name: &str) -> &mut Compiled {
        let Self { compiled, stats, .. } = self;
        // Structures live as long as the registry, so their addresses are names.
        compiled.entry((Arc::as_ptr(structure) as usize, layout.clone())).or_insert_with(|| {
            let started = now_ms();
            let signature = structure.signature(layout);
            let programs = Arc::new(structure.programs(name, &signature, GUARDS));
            stats.compiled += 1;
            stats.compile_ms += now_ms() - started;
            Compiled::new(signature, programs)
        })
    }
}

impl Compiled {
    pub fn new(signature: Signature, programs: Arc<ResidualPrograms>) -> Self {
        Self {
            signature,
            programs,
            kernels: None,
            owners: HashMap::new(),
            products: HashMap::new(),
            hessian: None,
            cross_derivative: None,
            offdiagonal: None,
            repeated_slots: HashMap::new(),
        }
    }

    /// The kernels of all programs; a GPU begins to compile them.
    pub fn kernels(&mut self, device: &mut Device) -> Result<TermKernels, Error> {
        if let Some(kernels) = self.kernels {
            return Ok(kernels);
        }
        let programs = &self.programs;
        let all = [&programs.linearize, &programs.energy, &programs.change, &programs.gradient, &programs.diagonal];
        let mut sources = all.map(KernelSource::of).to_vec();
        if let Some(curvature) = &programs.curvature {
            sources.extend([KernelSource::of(&curvature.program), KernelSource::of_static(StaticKernel::SystemPsdBlocks)]);
        }
        let ids = device.kernels(&sources)?;
        let curvature = programs.curvature.as_ref().map(|_| [ids[5], ids[6]]);
        let kernels = TermKernels { linearize: ids[0], energy: ids[1], change: ids[2], gradient: ids[3], diagonal: ids[4], curvature };
        self.kernels = Some(kernels);
        Ok(kernels)
    }

    /// Kernels of the blocks off the diagonal, each of which stores `most` columns at most; only assembling solvers request them.
    pub fn offdiagonal(&mut self, device: &mut Device, name: &str, most: u32) -> Result<OffDiagonalKernels, Error> {
        if let Some((limit, known)) = &self.offdiagonal
            && (*limit == most || known.programs.passes.len() == 1 && known.programs.passes[0].columns <= most)
        {
            return Ok(known.clone());
        }
        let programs = Arc::new(OffDiagonalPrograms::new(name, &self.programs, &self.signature, most));
        let sources: Vec<_> = programs.passes.iter().map(|pass| KernelSource::of(&pass.program)).collect();
        let kernels = device.kernels(&sources)?;
        Ok(self.offdiagonal.insert((most, OffDiagonalKernels { programs, kernels })).1.clone())
    }

    /// Kernel of what these pairs of slots add to diagonal blocks where they are one variable.
    pub(super) fn repeated_slots(&mut self, device: &mut Device, name: &str, pairs: &[(u32, u32)]) -> Result<RepeatedSlotsKernel, Error> {
        if let Some(known) = self.repeated_slots.get(pairs) {
            return Ok(known.clone());
        }
        let program = Arc::new(RepeatedSlotsProgram::new(name, &self.programs, &self.signature, pairs));
        let kernel = device.kernels(&[KernelSource::of(&program.program)])?[0];
        let made = RepeatedSlotsKernel { program, kernel };
        self.repeated_slots.insert(pairs.to_vec(), made.clone());
        Ok(made)
    }

    /// The kernel of second derivatives, which ordinary solves do without.
    pub fn hessian(&mut self, device: &mut Device, structure: &Structure, name: &str) -> Result<HessianKernel, Error> {
        if let Some(hessian) = &self.hessian {
            return Ok(hessian.clone());
        }
        let programs = Arc::new(structure.energy_programs(name, &self.signature));
        let kernel = device.kernels(&[KernelSource::of(&programs.hessian)])?[0];
        Ok(self.hessian.insert(HessianKernel { programs, kernel }).clone())
    }

    /// Kernel of mixed derivatives, which gradients through a solve need.
    pub fn cross_derivative(&mut self, device: &mut Device, structure: &Structure, name: &str) -> Result<CrossDerivativeKernel, Error> {
        if let Some(known) = &self.cross_derivative {
            return Ok(known.clone());
        }
        let program = Arc::new(structure.cross_derivative_program(name, &self.signature));
        let kernel = device.kernels(&[KernelSource::of(&program.program)])?[0];
        Ok(self.cross_derivative.insert(CrossDerivativeKernel { program, kernel }).clone())
    }
}

/// The kind of the term's loss, if it makes a difference.
fn robust<'a>(spec: &'a TermSpec) -> Option<&'a Arc<LossKind>> {
    spec.loss.as_ref().and_then(Loss::robust)
}

fn place<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

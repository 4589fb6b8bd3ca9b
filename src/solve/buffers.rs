//! Buffers of a solver, each declared once: its name, the precision that it is kept in, its label, and its length.

use super::reduction::Reduction;
use super::{Needs, state};
use leastwise_device::{BufferId, Device, Kind, Profile, Reals, Slice};
use leastwise_error::Error;
use leastwise_problem::{Batch, Problem, Table, Trials};

/// Kinds of partial sums that one kernel writes at most.
const PARTIAL_KINDS: u32 = 6;

/// A slice of no buffer.
pub(super) const NOWHERE: Slice = Slice { buffer: BufferId(u32::MAX), offset: 0, len: 0 };

/// Lengths that buffers are made of, by the problem and the needs of a method.
pub(super) struct Lengths {
    needs: Needs,
    /// Elements of an arena.
    arena: u32,
    /// Degrees of freedom, and those with sums over entries; packed diagonal blocks likewise.
    vector: u32,
    with_sums: u32,
    blocks: u32,
    total_blocks: u32,
    scratch: u32,
    /// Elements between the kinds of partial sums.
    pub partial_distance: u32,
    /// Costs of the instances of shared batches.
    shared: u32,
    bounded: bool,
    /// True where inner iterations have another precision.
    mixed: bool,
    /// Elements of the working memory of projections, where there are energies.
    projecting: Option<u32>,
    alignment: u32,
}

impl Lengths {
    pub fn new(device: &Device, problem: &Problem, needs: Needs, reduction: Reduction) -> Result<Self, Error> {
        let limits = device.limits();
        let vector = problem.vector_len();
        let of_trials = problem.moving().filter_map(|table| table.trials.as_ref()).map(Trials::longest_scratch);
        let scratch = problem.batches().iter().map(Batch::longest_scratch).chain(of_trials).max();
        let over_terms: u32 = problem.batches().iter().flat_map(|batch| &batch.chunks).map(|chunk| reduction.groups(chunk.count)).sum();
        let over_table = |table: &Table| match &table.trials {
            None => reduction.groups(table.elements()),
            Some(trials) => trials.chunks.iter().map(|chunk| reduction.groups(chunk.count * table.width)).sum(),
        };
        let over_tables: u32 = problem.counted().chain(problem.copies()).map(over_table).sum();
        let shared = problem.batches().iter().filter(|batch| batch.members.len() > 1).flat_map(|batch| &batch.chunks);
        let of_energies = problem.batches().iter().filter_map(|batch| Some((batch.programs.curvature.as_ref()?.work(), batch)));
        let projecting = of_energies
            .filter(|_| !needs.descends)
            .flat_map(|(columns, batch)| batch.chunks.iter().map(move |chunk| columns * chunk.count))
            .max();
        Ok(Self {
            needs,
            arena: problem.arenas()?.0.len,
            vector,
            with_sums: problem.total_vector_len(),
            blocks: problem.blocks_len(),
            total_blocks: problem.total_blocks_len(),
            scratch: scratch.unwrap_or(1),
            // A preconditioner of two levels has partial sums over all unknowns behind those over tables, a Schur complement others over
            // what is kept.
            partial_distance: over_terms.max(over_tables + over_tables.max(reduction.groups(vector))),
            shared: shared.map(|chunk| limits.align(chunk.count)).sum(),
            bounded: problem.bounds().is_some_and(|known| known.bounds.is_some()),
            mixed: device.reals() == Reals::Mixed && !needs.descends,
            // The kernel's twin has working memory of its own.
            projecting: projecting.map(|len| if device.profile() == Profile::Cpu { 1 } else { len }),
            alignment: limits.offset_alignment,
        })
    }

    /// A length that methods without linear systems have no use for.
    fn of_systems(&self, len: u32) -> u32 {
        if self.needs.descends { 1 } else { len }
    }

    fn partials(&self) -> u32 {
        self.partial_distance * PARTIAL_KINDS
    }

    /// A step that is clipped needs p and q itself.
    fn has_steepest(&self) -> bool {
        self.needs.keeps_solution && self.bounded
    }
}

/// Declares buffers: those that every solver has, then those that some have, with the condition.
macro_rules! buffers {
    (
        always { $($(#[$doc:meta])* $name:ident: $kind:ident $label:literal [$len:expr];)* }
        optional { $($(#[$optional_doc:meta])* $optional:ident: $optional_kind:ident $optional_label:literal [$optional_len:expr] if $wanted:expr;)* }
    ) => {
        /// Vectors over all unknowns, packed diagonal blocks, scratch columns, partial sums and the state.
        pub struct Buffers {
            $($(#[$doc])* pub $name: Slice,)*
            $($(#[$optional_doc])* pub(super) $optional: Option<Slice>,)*
        }

        impl Buffers {
            /// Buffers of a solver that is not set up.
            pub(super) const NONE: Self = Self { $($name: NOWHERE,)* $($optional: None,)* };

            /// Allocates all of them, or none.
            pub(super) fn allocate(device: &mut Device, lengths: &Lengths) -> Result<Self, Error> {
                let mut made = Self::NONE;
                made.fill(device, lengths).inspect_err(|_| made.ids().for_each(|buffer| device.free(buffer)))?;
                Ok(made)
            }

            fn fill(&mut self, device: &mut Device, lengths: &Lengths) -> Result<(), Error> {
                let mut slice = |kind: Kind, len: u32, label: &str| -> Result<Slice, Error> {
                    // Methods without linear systems have vectors of their own in place of inner iterations'.
                    let kind = if lengths.needs.descends { Kind::Real } else { kind };
                    Ok(Slice { buffer: device.allocate(kind, len, label)?, offset: 0, len })
                };
                $({
                    let len: fn(&Lengths) -> u32 = $len;
                    self.$name = slice(Kind::$kind, len(lengths), $label)?;
                })*
                $({
                    let (wanted, len): (fn(&Lengths) -> bool, fn(&Lengths) -> u32) = ($wanted, $optional_len);
                    if wanted(lengths) {
                        self.$optional = Some(slice(Kind::$optional_kind, len(lengths), $optional_label)?);
                    }
                })*
                Ok(())
            }

            /// The buffers that there are.
            pub(super) fn ids(&self) -> impl Iterator<Item = BufferId> + use<> {
                let all = [$(Some(self.$name),)* $(self.$optional,)*];
                all.into_iter().flatten().filter(|slice| *slice != NOWHERE).map(|slice| slice.buffer)
            }
        }
    };
}

buffers! {
    always {
        gradient: Real "gradient" [|n| n.with_sums];
        /// s, the step.
        step: Inner "step" [|n| n.vector];
        /// r = −g − (JᵀWJ + λD)s.
        residual: Inner "residual" [|n| n.of_systems(n.vector)];
        z: Inner "z" [|n| n.vector];
        p: Inner "p" [|n| n.with_sums];
        q: Inner "q" [|n| n.with_sums];
        /// D.
        scale: Real "scale" [|n| n.of_systems(n.vector)];
        /// The diagonal blocks of JᵀWJ, and of the preconditioner.
        blocks: Real "diagonal blocks" [|n| n.of_systems(n.total_blocks)];
        inverse: Inner "preconditioner" [|n| n.of_systems(n.blocks)];
        scratch: Real "scratch columns" [|n| n.scratch];
        partials: Real "partial sums" [|n| n.partials()];
        state: Real "state" [|_| state::STATE_LEN];
        /// The largest values that the diagonal of JᵀWJ has had.
        peak: Real "largest diagonal" [|n| n.of_systems(n.vector)];
        /// An arena with the point before the last step that was accepted.
        previous: Real "previous point" [|n| n.arena];
        /// An arena with the point that a solve began at.
        start: Real "starting point" [|n| n.arena];
    }

    optional {
        /// For reports, where terms share a batch: a copy of the partial sums, and the costs of the shared batches' instances.
        instance_costs: Real "instance costs" [|n| n.shared + n.partials().next_multiple_of(n.alignment)] if |n| n.shared > 0;
        /// For methods that keep it: the solution of the linear system, and its residual.
        newton_step: Real "Gauss–Newton step" [|n| n.vector] if |n| n.needs.keeps_solution;
        newton_residual: Real "Gauss–Newton residual" [|n| n.vector] if |n| n.needs.keeps_solution;
        /// d = −D⁻¹g and its product, where clipping the step takes what they were made in.
        steepest_direction: Real "steepest descent" [|n| n.vector] if Lengths::has_steepest;
        steepest_product: Real "product of the steepest descent" [|n| n.vector] if Lengths::has_steepest;
        /// For steps that may go uphill: an arena with the best point, while the accepted one is another.
        best: Real "best point" [|n| n.arena] if |n| n.needs.keeps_best;
        /// Unknowns that may move in a step, where there are bounds.
        active: Real "active set" [|n| n.vector] if |n| n.bounded;
        /// For energies: eigenvectors of their Hessians.
        eigenvectors: Real "eigenvectors" [|n| n.projecting.unwrap_or(0)] if |n| n.projecting.is_some();
        /// For inner iterations of another precision: scratch columns and partial sums.
        own_inner_scratch: Inner "scratch columns of inner iterations" [|n| n.scratch] if |n| n.mixed;
        own_inner_partials: Inner "partial sums of inner iterations" [|n| n.partials()] if |n| n.mixed;
    }
}

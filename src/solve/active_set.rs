//! Active set: steps leave fixed components where they are, and bounded ones within their limits.
//!
//! A component that may not move is taken out of the linear system by a *mask* (1 free, 0 not) over all unknowns: its
//! gradient and its part of every product are 0, and its row and column of the diagonal blocks those of the identity.
//! Then r = z = p = s = 0 there in every iteration of conjugate gradients, and x′ = x + 0 to the bit.
//!
//! A linear solver that assembles the matrix has to do the same: `work.gradient` and `work.blocks` are masked already when
//! it begins, and what it assembles itself gets the rows and columns of all i with [`Workspace::free`]ᵢ = 0 replaced by
//! those of the identity. (λD may be added to these, too: their right-hand side is 0.) Where there are bounds the mask is
//! another one in every step, so a solver on the host reads it back with the system.
//!
//! Bounds are held by projection with an active set (Bertsekas, *Projected Newton Methods for Optimization Problems with
//! Simple Constraints*, SIAM J. Control Optim. 20, 1982; Kanzow, Yamashita & Fukushima, *Levenberg–Marquardt methods with
//! strong local convergence properties …*, J. Comput. Appl. Math. 172, 2004):
//!
//! 1. A component at a limit that the gradient pushes outwards is masked like a fixed one, for this step.
//! 2. Whatever the method makes of the rest, its step is clipped: s = P(x + s) − x, where P is the projection on the box.
//! 3. The model is evaluated for the clipped step, −gᵀs − ½ sᵀ(JᵀWJ)s, by one more product: the gain ratio would mean
//!    nothing if the promise were that of a step which was not made. A clipped step may even promise to go uphill. Then it
//!    is rejected, and with more damping it turns towards −D⁻¹g, whose projection always goes downhill since D is diagonal.
//! 4. The gradient that is reported and tested is the projected one, max |P(x − g) − x|, as in Ceres.
//!
//! A point outside of its limits, at the start or after an edit, is first moved to the nearest one inside, and
//! `state[MOVED]` counts the components.

use super::ranks::Fold;
use super::{Workspace, state};
use leastwise_device::{Command, Slice};
use leastwise_error::Error;
use leastwise_kernels::{bounds, pcg, system};
use leastwise_problem::{Problem, Table};

impl Workspace {
    /// For every unknown, 1 where it may move in this step and else 0; none where all may. It is right after
    /// [`differentiate`](Self::differentiate).
    pub fn free(&self) -> Option<Slice> {
        self.free
    }

    /// Lower and upper limits of all unknowns.
    pub(super) fn bounds(&self) -> Option<[Slice; 2]> {
        self.bounds.and_then(|known| known.bounds)
    }

    /// Finds the active set, and takes what may not move out of g and the diagonal blocks.
    pub(super) fn constrain(&self, problem: &Problem, point: Slice, commands: &mut Vec<Command>) {
        let (Some(free), Some(known)) = (self.free, self.bounds) else { return };
        if let Some([lower, upper]) = known.bounds {
            commands.push(Command::Copy { from: known.pins, to: free });
            for table in problem.moving().filter(|table| table.is_bounded()) {
                commands.push(self.fixed(
                    bounds::ActiveSet { arena: table.arena, vector: table.vector },
                    table.unknowns(),
                    bounds::ActiveSetBindings { point, lower, upper, gradient: self.gradient, free },
                ));
            }
        }
        self.mask(self.gradient, state::ALWAYS, problem, commands);
        let args = |table: &Table| (table.count, system::MaskBlocks { vector: table.vector, width: table.tangent, block: table.block });
        self.over_tables(problem, args, system::MaskBlocksBindings { free, blocks: self.blocks }, commands);
    }

    /// Takes what may not move out of a vector over all unknowns.
    pub fn mask(&self, vector: Slice, guard: u32, problem: &Problem, commands: &mut Vec<Command>) {
        if let Some(free) = self.free {
            commands.push(self.fixed(
                system::Mask { guard },
                problem.vector_len(),
                system::MaskBindings { free, vector, state: self.state },
            ));
        }
    }

    /// Moves the accepted point into its limits, after something outside of the solver has changed either.
    pub(super) fn clamp_to_bounds(&self, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        let (Some([lower, upper]), Some(known)) = (self.bounds(), self.bounds) else { return Ok(()) };
        let mut first = 0;
        let point = problem.arenas()?.0;
        let mut project = |table: &Table| {
            let (command, partials) = self.partial(
                bounds::ProjectPoint { arena: table.arena, vector: table.vector, partial: first, elements: table.unknowns() },
                table.unknowns(),
                bounds::ProjectPointBindings { lower, upper, pins: known.pins, point, partials: self.partials },
            );
            commands.push(command);
            first += partials;
            first
        };
        let counted = problem.counted().filter(|table| problem.is_limited(table)).map(&mut project).last().unwrap_or(0);
        // Copies are moved, too; their partial sums lie behind those that are added up.
        #[cfg(not(target_arch = "wasm32"))]
        for table in problem.copies().filter(|table| problem.is_limited(table)) {
            project(table);
        }
        let partials = self.combine("components that were moved", &[Fold::Sum], counted, commands);
        commands.push(self.reduce(bounds::Moved { partial_count: partials }));
        Ok(())
    }

    /// Clips the step of which `trial` is made: s = P(x + s) − x, which p is as well. Gives the number of partials of what is
    /// known of it; none where there are no limits.
    pub(super) fn clip(&self, problem: &Problem, point: Slice, trial: Slice, commands: &mut Vec<Command>) -> Option<u32> {
        let [lower, upper] = self.bounds()?;
        let bindings = bounds::ClipBindings {
            point,
            lower,
            upper,
            gradient: self.gradient,
            step: self.step,
            trial,
            p: self.p,
            partials: self.partials,
        };
        let args = |table: &Table, partial: u32| {
            let elements = table.unknowns();
            let limited = u32::from(problem.is_limited(table));
            let distance = self.partial_distance;
            (elements, bounds::Clip { distance, arena: table.arena, vector: table.vector, partial, elements, limited })
        };
        Some(self.partial_over_tables(problem, args, bindings, commands))
    }

    /// Clips the step of which `trial` is made, and promises what the model makes of the clipped one. Uses p and q.
    pub(super) fn clip_with_model(&self, problem: &Problem, point: Slice, trial: Slice, commands: &mut Vec<Command>) {
        let Some(partials) = self.clip(problem, point, trial, commands) else { return };
        let partials = self.combine("clipped step", &[Fold::Sum, Fold::Sum, Fold::Largest], partials, commands);
        commands.push(self.reduce(bounds::Clipped { partial_count: partials, distance: self.partial_distance }));
        let vector = problem.vector_len();
        commands.push(Command::Clear { slice: Slice { len: vector, ..self.q } });
        self.multiply(problem, commands);
        let (curvature, partials) = self.partial(
            pcg::Curvature { elements: vector, partial: 0 },
            vector,
            pcg::CurvatureBindings { p: self.p, q: self.q, state: self.state, partials: self.inner_partials },
        );
        commands.push(curvature);
        // Of shared variables q is this rank's part, as for pᵀq: the sum over ranks needs no other.
        let partials = self.combine_inner("model of the clipped step", &[Fold::Sum], partials, commands);
        commands.push(self.reduce_inner(bounds::ClippedModel { partial_count: partials }));
    }
}

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

use super::{Workspace, state};
use leastwise_device::{Command, Slice, binding::*};
use leastwise_error::Error;
use leastwise_kernel::Fixed;
use leastwise_problem::{Problem, Table};

impl Workspace {
    /// For every unknown, 1 where it may move in this step and else 0; none where all may. It is right after
    /// [`differentiate`](Self::differentiate).
    pub fn free(&self) -> Option<Slice> {
        self.free
    }

    /// Lower and upper limits of all unknowns.
    pub(super) fn bounds(&self) -> Option<[Slice; 2]> {
        self.constraints.and_then(|known| known.bounds)
    }

    /// Finds the active set, and takes what may not move out of g and the diagonal blocks.
    pub(super) fn constrain(&self, problem: &Problem, point: Slice, commands: &mut Vec<Command>) {
        let (Some(free), Some(known)) = (self.free, self.constraints) else { return };
        if let Some([lower, upper]) = known.bounds {
            commands.push(Command::Copy { from: known.pins, to: free });
            let bindings = [(ARENA, point), (DATA, lower), (INDEX, upper), (VECTOR_IN, self.gradient), (VECTOR_OUT, free)];
            for table in problem.moving().filter(|table| table.is_bounded()) {
                commands.push(self.fixed(Fixed::ActiveSet, table.unknowns(), &[table.arena, table.vector], &bindings));
            }
        }
        self.mask(self.gradient, state::ALWAYS, problem, commands);
        let variables = |table: &Table| (table.count, vec![table.vector, table.tangent, table.block]);
        self.over_tables(Fixed::MaskBlocks, problem, variables, &[(VECTOR_IN, free), (VECTOR_OUT, self.blocks)], commands);
    }

    /// Takes what may not move out of a vector over all unknowns.
    pub fn mask(&self, vector: Slice, guard: u32, problem: &Problem, commands: &mut Vec<Command>) {
        if let Some(free) = self.free {
            let bindings = [(VECTOR_IN, free), (VECTOR_OUT, vector), (STATE, self.state)];
            commands.push(self.fixed(Fixed::Mask, problem.vector_len(), &[guard], &bindings));
        }
    }

    /// Moves the accepted point into its limits, after something outside of the solver has changed either.
    pub(super) fn clamp_to_bounds(&self, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        let (Some([lower, upper]), Some(known)) = (self.bounds(), self.constraints) else { return Ok(()) };
        let bindings =
            [(DATA, lower), (INDEX, upper), (VECTOR_IN, known.pins), (VECTOR_OUT, problem.arenas()?.0), (PARTIALS, self.partials)];
        let mut first = 0;
        for table in problem.moving().filter(|table| table.is_bounded()) {
            let words = [table.arena, table.vector, first, table.unknowns()];
            let (command, partials) = self.partial(Fixed::ProjectPoint, table.unknowns(), &words, &bindings);
            commands.push(command);
            first += partials;
        }
        commands.push(self.reduce(Fixed::Moved, &[first]));
        Ok(())
    }

    /// Clips the step of which `trial` is made: s = P(x + s) − x, which p is as well. Gives the number of partials of what is
    /// known of it; none where there are no limits.
    pub(super) fn clip(&self, problem: &Problem, point: Slice, trial: Slice, commands: &mut Vec<Command>) -> Option<u32> {
        let [lower, upper] = self.bounds()?;
        let bindings = [
            (ARENA, point),
            (DATA, lower),
            (INDEX, upper),
            (VECTOR_IN, self.gradient),
            (VECTOR_OUT, self.step),
            (JACOBIAN, trial),
            (STATE, self.p),
            (PARTIALS, self.partials),
        ];
        let words = |table: &Table, partial: u32| {
            let unknowns = table.unknowns();
            (unknowns, vec![self.partial_distance, table.arena, table.vector, partial, unknowns, u32::from(table.is_bounded())])
        };
        Some(self.partial_over_tables(Fixed::Clip, problem, words, &bindings, commands))
    }

    /// Clips the step of which `trial` is made, and promises what the model makes of the clipped one. Uses p and q.
    pub(super) fn clip_with_model(&self, problem: &Problem, point: Slice, trial: Slice, commands: &mut Vec<Command>) {
        let Some(partials) = self.clip(problem, point, trial, commands) else { return };
        commands.push(self.reduce(Fixed::Clipped, &[partials, self.partial_distance]));
        let vector = problem.vector_len();
        commands.push(Command::Clear { slice: Slice { len: vector, ..self.q } });
        self.multiply(problem, commands);
        let bindings = [(DATA, self.p), (VECTOR_IN, self.q), (STATE, self.state), (PARTIALS, self.inner_partials)];
        let (curvature, partials) = self.partial(Fixed::PcgCurvature, vector, &[vector, 0], &bindings);
        commands.push(curvature);
        commands.push(self.reduce_inner(Fixed::ClippedModel, &[partials]));
    }
}

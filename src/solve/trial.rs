//! The trial point: x ⊕ s of every variable, and what the model of the step is made of.

use super::Workspace;
use leastwise_device::{Command, Slice, binding::*};
use leastwise_kernel::Fixed;
use leastwise_problem::Problem;

impl Workspace {
    /// Appends what makes the trial point, with partial sums of gᵀs, sᵀDs, sᵀr, sᵀs and xᵀx; gives the number of partials.
    /// (Where no system is solved there are no D and r, and nobody looks at these sums.)
    pub fn trial(&self, problem: &Problem, point: Slice, trial: Slice, commands: &mut Vec<Command>) -> u32 {
        let [scale, residual] = if self.solves_systems { [self.scale, self.residual] } else { [self.gradient; 2] };
        let bindings = [
            (ARENA, point),
            (DATA, scale),
            (INDEX, self.gradient),
            (VECTOR_IN, self.step),
            (VECTOR_OUT, trial),
            (JACOBIAN, residual),
            (PARTIALS, self.partials),
        ];
        let mut first = 0;
        for table in problem.moving() {
            let Some(trials) = &table.trials else {
                let words = [self.partial_distance, table.arena, table.vector, first, table.elements()];
                let (command, partials) = self.partial(Fixed::Trial, table.elements(), &words, &bindings);
                commands.push(command);
                first += partials;
                continue;
            };
            for chunk in &trials.chunks {
                commands.push(self.retraction(trials.kernel, chunk, point));
                let (arena, vector) = (table.arena + chunk.first * table.width, table.vector + chunk.first * table.tangent);
                let (unknowns, elements) = (chunk.count * table.tangent, chunk.count * table.width);
                let words = [self.partial_distance, arena, vector, first, unknowns, elements, table.width, chunk.count];
                let mut bindings = bindings.to_vec();
                bindings.push((STATE, self.scratch));
                let (command, partials) = self.partial(Fixed::Place, elements, &words, &bindings);
                commands.push(command);
                first += partials;
            }
        }
        first
    }
}

//! The trial point: x ⊕ s of every variable, and what the model of the step is made of.

use super::Workspace;
use leastwise_device::{Command, Slice};
use leastwise_kernels::step;
use leastwise_problem::{Problem, Table};

impl Workspace {
    /// Appends what makes the trial point, with partial sums of gᵀs, sᵀDs, sᵀr, sᵀs and xᵀx; gives the number of partials, without
    /// those of copies, which lie behind.
    /// (Where no system is solved there are no D and r, and nobody looks at these sums.)
    pub fn trial(&self, problem: &Problem, point: Slice, trial: Slice, commands: &mut Vec<Command>) -> u32 {
        let [scale, residual] = if self.solves_systems { [self.scale, self.residual] } else { [self.gradient; 2] };
        let mut first = 0;
        problem.counted().for_each(|table| self.trial_of(table, (point, trial), [scale, residual], &mut first, commands));
        let counted = first;
        problem.copies().for_each(|table| self.trial_of(table, (point, trial), [scale, residual], &mut first, commands));
        counted
    }

    /// The same of a table, whose first partial sum comes behind so many.
    fn trial_of(
        &self,
        table: &Table,
        (point, trial): (Slice, Slice),
        [scale, residual]: [Slice; 2],
        first: &mut u32,
        commands: &mut Vec<Command>,
    ) {
        let Some(trials) = &table.trials else {
            let (command, partials) = self.partial(
                step::Trial {
                    distance: self.partial_distance,
                    arena: table.arena,
                    vector: table.vector,
                    partial: *first,
                    elements: table.elements(),
                },
                table.elements(),
                step::TrialBindings { point, scale, gradient: self.gradient, step: self.step, trial, residual, partials: self.partials },
            );
            commands.push(command);
            *first += partials;
            return;
        };
        for chunk in &trials.chunks {
            commands.push(self.retraction(trials.kernel, chunk, point));
            let (arena, vector) = (table.arena + chunk.first * table.width, table.vector + chunk.first * table.tangent);
            let (unknowns, elements) = (chunk.count * table.tangent, chunk.count * table.width);
            let (command, partials) = self.partial(
                step::TrialManifold {
                    distance: self.partial_distance,
                    arena,
                    vector,
                    partial: *first,
                    unknowns,
                    elements,
                    width: table.width,
                    instances: chunk.count,
                },
                elements,
                step::TrialManifoldBindings {
                    point,
                    scale,
                    gradient: self.gradient,
                    step: self.step,
                    trial,
                    residual,
                    columns: self.scratch,
                    partials: self.partials,
                },
            );
            commands.push(command);
            *first += partials;
        }
    }
}

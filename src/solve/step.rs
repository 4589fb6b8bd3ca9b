//! The parts of a step that are the same for every method and linear solver, as commands.

use super::ranks::Fold;
use super::workspace::Gathered;
use super::{Method, Workspace, state};
use leastwise_device::{Command, Slice};
use leastwise_error::Error;
use leastwise_kernels::{step, system};
use leastwise_problem::{Problem, Table};

impl Workspace {
    /// r and J (of energies their values, gradients and projected Hessians) where the point moved, the cost, g = JᵀWr and the
    /// diagonal blocks of JᵀWJ, without what is fixed.
    pub fn differentiate(&self, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        let point = problem.arenas()?.0;
        problem.enabled_batches().for_each(|batch| {
            self.linearize(batch, point, commands);
            self.curve(batch, point, commands);
        });
        let sums = self.sum_batches(problem, |batch| batch.kernels.energy, point, commands);
        let sums = self.combine("cost", &[Fold::Exact], sums, commands);
        commands.push(self.reduce(step::Cost { partial_count: sums, distance: self.partial_distance, element: state::COST }));
        // g and the diagonal blocks are made anew also after a rejected step: a rejection is rare, a guard is not free.
        self.gather_gradient(problem, point, self.gradient, commands);
        commands.push(Command::Clear { slice: self.blocks });
        for batch in problem.enabled_batches() {
            for chunk in &batch.chunks {
                commands.push(self.generated(batch.kernels.diagonal, chunk, point, self.step));
                self.gather(chunk, Gathered::Blocks, state::ALWAYS, commands);
                if let Some(kernel) = batch.repeated_slots {
                    commands.push(self.generated(kernel, chunk, point, self.step));
                    self.gather_lists(&chunk.repeated_slots, chunk.count, Gathered::Blocks, state::ALWAYS, commands);
                }
            }
            self.diagonal_of_entries(batch, commands);
        }
        self.complete_derivatives(commands);
        let args =
            |table: &Table| (table.unknowns(), system::DiagonalMax { vector: table.vector, width: table.tangent, block: table.block });
        let bindings = system::DiagonalMaxBindings { blocks: self.blocks, peak: self.peak };
        self.over_tables(problem, args, bindings, commands);
        self.constrain(problem, point, commands);
        Ok(())
    }

    /// g = JᵀWr of what was differentiated at a point. The vector has room for the sums' part.
    pub fn gather_gradient(&self, problem: &Problem, point: Slice, to: Slice, commands: &mut Vec<Command>) {
        commands.push(Command::Clear { slice: to });
        for batch in problem.enabled_batches() {
            for chunk in &batch.chunks {
                commands.push(self.generated(batch.kernels.gradient, chunk, point, self.step));
                self.gather(chunk, Gathered::Vector(to), state::ALWAYS, commands);
            }
            self.backward(batch, to, state::ALWAYS, commands);
        }
    }

    /// D, for the φ of the state.
    pub fn scale_damping(&self, problem: &Problem, commands: &mut Vec<Command>) {
        let args =
            |table: &Table| (table.unknowns(), system::DampingDiagonal { vector: table.vector, width: table.tangent, block: table.block });
        let bindings = system::DampingDiagonalBindings { peak: self.peak, blocks: self.blocks, scale: self.scale, state: self.state };
        self.over_tables(problem, args, bindings, commands);
        self.own_scale(problem, commands);
    }

    /// Whether the step of a first trial goes too far, as far as that can be said: degrees of freedom on manifolds have no
    /// size of their own to be compared with.
    pub fn measure_reach(&self, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        let mut first = 0;
        for table in problem.counted().filter(|table| table.tangent == table.width) {
            let (command, partials) = self.partial(
                step::StepNorms {
                    distance: self.partial_distance,
                    arena: table.arena,
                    vector: table.vector,
                    partial: first,
                    elements: table.unknowns(),
                },
                table.unknowns(),
                step::StepNormsBindings { point: problem.arenas()?.0, scale: self.scale, step: self.step, partials: self.partials },
            );
            commands.push(command);
            first += partials;
        }
        let first = self.combine("reach", &[Fold::Sum; 2], first, commands);
        commands.push(self.reduce(step::StepTooFar { partial_count: first, distance: self.partial_distance }));
        Ok(())
    }

    /// The trial point x ⊕ s, the decrease that the model predicts for it.
    pub fn attempt(&self, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        let (point, trial) = problem.arenas()?;
        let partials = self.trial(problem, point, trial, commands);
        let partials = self.combine("model", &[Fold::Sum; 5], partials, commands);
        commands.push(self.reduce(step::Model { partial_count: partials, distance: self.partial_distance }));
        self.clip_with_model(problem, point, trial, commands);
        self.evaluate_sums(problem, trial, commands);
        Ok(())
    }

    /// Whether the trial point is taken, and what follows for the next step; then the best and the accepted point.
    pub fn decide(&self, method: Method, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        let (point, trial) = problem.arenas()?;
        let sums = self.sum_batches(problem, |batch| batch.kernels.change, trial, commands);
        let sums = self.combine("change of the cost", &[Fold::Exact], sums, commands);
        commands.push(self.reduce(step::Accept { partial_count: sums, distance: self.partial_distance }));
        method.learn(self, commands);
        if let Some(best) = self.best {
            self.commit(problem, point, best, state::LEAVING, commands);
        }
        self.commit(problem, point, self.previous, state::ACCEPTED, commands);
        self.commit(problem, trial, point, state::ACCEPTED, commands);
        Ok(())
    }

    /// Copies every variable from one arena to another where an element of the state is not 0.
    pub(super) fn commit(&self, problem: &Problem, from: Slice, to: Slice, flag: u32, commands: &mut Vec<Command>) {
        let args = |table: &Table| (table.elements(), step::Commit { arena: table.arena, condition: flag });
        let bindings = step::CommitBindings { from_arena: from, to_arena: to, state: self.state };
        self.over_tables(problem, args, bindings, commands);
    }

    /// Goes back to the best point, if steps went uphill from there. What was known of the point is forgotten.
    pub fn return_to_best(&self, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        let Some(best) = self.best else { return Ok(()) };
        self.commit(problem, best, problem.arenas()?.0, state::ABOVE_BEST, commands);
        commands.push(Command::Clear { slice: Slice { offset: state::LINEARIZED, len: 1, ..self.state } });
        self.forget_history(commands);
        Ok(())
    }

    /// Goes back to the point before the last step that was accepted, with what the next step is to be made with.
    pub fn retreat(&self, problem: &Problem, with: &[(u32, f64)], commands: &mut Vec<Command>) -> Result<(), Error> {
        let known = [(state::RETREAT, 1.0), (state::LINEARIZED, 0.0)];
        let upload =
            |&(element, value): &(u32, f64)| Command::UploadReals { buffer: self.state.buffer, offset: element, data: vec![value] };
        commands.extend(known.iter().chain(with).map(upload));
        self.commit(problem, self.previous, problem.arenas()?.0, state::RETREAT, commands);
        if self.best.is_some() {
            self.forget_history(commands);
        }
        Ok(())
    }

    /// Makes the present point the best and the reference, as after an edit, when costs before it say nothing.
    pub fn forget_history(&self, commands: &mut Vec<Command>) {
        commands.push(Command::Clear { slice: Slice { offset: state::UPHILL, len: state::LEAVING + 1 - state::UPHILL, ..self.state } });
    }
}

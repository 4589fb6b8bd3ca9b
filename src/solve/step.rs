//! The parts of a step that are the same for every method and linear solver, as commands.

use super::workspace::Gathered;
use super::{Method, Workspace, state};
use leastwise_device::{Command, Slice, binding::*};
use leastwise_error::Error;
use leastwise_kernel::Fixed;
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
        commands.push(self.reduce(Fixed::Cost, &[sums, self.partial_distance]));
        // g and the diagonal blocks are made anew also after a rejected step: a rejection is rare, a guard is not free.
        self.gather_gradient(problem, point, self.gradient, commands);
        commands.push(Command::Clear { slice: self.blocks });
        for batch in problem.enabled_batches() {
            for chunk in &batch.chunks {
                commands.push(self.generated(batch.kernels.diagonal, chunk, point, self.step));
                self.gather(chunk, Gathered::Blocks, state::ALWAYS, commands);
                if let Some(kernel) = batch.twice {
                    commands.push(self.generated(kernel, chunk, point, self.step));
                    self.gather_lists(&chunk.twice, chunk.count, Gathered::Blocks, state::ALWAYS, commands);
                }
            }
            self.diagonal_of_entries(batch, commands);
        }
        self.over_diagonal(Fixed::Peak, problem, &[(VECTOR_OUT, self.peak)], commands);
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
        self.over_diagonal(Fixed::Damping, problem, &[(DATA, self.peak), (VECTOR_OUT, self.scale), (STATE, self.state)], commands);
    }

    /// A kernel over all unknowns that reads the diagonal of JᵀWJ.
    fn over_diagonal(&self, kernel: Fixed, problem: &Problem, given: &[(usize, Slice)], commands: &mut Vec<Command>) {
        let elements = |table: &Table| (table.unknowns(), vec![table.vector, table.tangent, table.block]);
        self.over_tables(kernel, problem, elements, &[&[(VECTOR_IN, self.blocks)], given].concat(), commands);
    }

    /// Whether the step of a first trial goes too far, as far as that can be said: degrees of freedom on manifolds have no
    /// size of their own to be compared with.
    pub fn measure_reach(&self, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        let bindings = [(ARENA, problem.arenas()?.0), (DATA, self.scale), (VECTOR_IN, self.step), (PARTIALS, self.partials)];
        let mut first = 0;
        for table in problem.moving().filter(|table| table.tangent == table.width) {
            let words = [self.partial_distance, table.arena, table.vector, first, table.unknowns()];
            let (command, partials) = self.partial(Fixed::Extent, table.unknowns(), &words, &bindings);
            commands.push(command);
            first += partials;
        }
        commands.push(self.reduce(Fixed::Reach, &[first, self.partial_distance]));
        Ok(())
    }

    /// The trial point x ⊕ s, the decrease that the model predicts for it.
    pub fn attempt(&self, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        let (point, trial) = problem.arenas()?;
        let partials = self.trial(problem, point, trial, commands);
        commands.push(self.reduce(Fixed::Model, &[partials, self.partial_distance]));
        self.clip_with_model(problem, point, trial, commands);
        self.evaluate_sums(problem, trial, commands);
        Ok(())
    }

    /// Whether the trial point is taken, and what follows for the next step; then the best and the accepted point.
    pub fn decide(&self, method: Method, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        let (point, trial) = problem.arenas()?;
        let sums = self.sum_batches(problem, |batch| batch.kernels.change, trial, commands);
        commands.push(self.reduce(Fixed::Accept, &[sums, self.partial_distance]));
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
        let words = |table: &Table| (table.elements(), vec![table.arena, flag]);
        let bindings = [(VECTOR_IN, from), (VECTOR_OUT, to), (STATE, self.state)];
        self.over_tables(Fixed::Commit, problem, words, &bindings, commands);
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

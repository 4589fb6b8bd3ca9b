//! One trial of a line search, as commands.

use super::super::{Workspace, state};
use super::{Descent, Rule};
use leastwise_device::{Command, Slice, binding::*};
use leastwise_error::Error;
use leastwise_kernel::Fixed;
use leastwise_problem::{Problem, Table};

impl Descent {
    /// The point itself as a trial: what is known of it, and the first direction. After an edit, or at the start.
    pub fn set_out(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        let known = [(state::SETTING_OUT, 1.0), (state::LENGTH, 0.0)];
        let upload = |(element, value)| Command::UploadReals { buffer: work.state.buffer, offset: element, data: vec![value] };
        commands.extend(known.map(upload));
        self.trial(work, problem, commands)
    }

    /// Tries x ⊕ αd; where it is taken, makes the next direction.
    pub fn trial(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        let (point, trial) = problem.arenas()?;
        self.reach(work, problem, (point, trial), commands);
        self.differentiate(work, problem, trial, commands);
        self.decide(work, problem, commands);
        work.commit(problem, trial, point, state::ACCEPTED, commands);
        self.turn(work, problem, commands);
        Ok(())
    }

    /// The trial point, and how much its cost differs.
    fn reach(&self, work: &Workspace, problem: &Problem, (point, trial): (Slice, Slice), commands: &mut Vec<Command>) {
        let bindings = [(VECTOR_IN, work.z), (VECTOR_OUT, work.step), (STATE, work.state)];
        commands.push(work.fixed(Fixed::Stretch, problem.vector_len(), &[], &bindings));
        let partials = work.trial(problem, point, trial, commands);
        commands.push(work.reduce(Fixed::Model, &[partials, work.partial_distance]));
        work.clip(problem, point, trial, commands);
        work.evaluate_sums(problem, trial, commands);
        let sums = work.sum_batches(problem, |batch| batch.kernels.change, trial, commands);
        let takes_all = u32::from(matches!(self.rule, Rule::Adam(_)));
        commands.push(work.reduce(Fixed::Changed, &[sums, work.partial_distance, takes_all]));
    }

    /// r and J at the trial point, unless it is not finite, its cost and its gradient. Where r and J are is kept: checkpoints have it.
    fn differentiate(&self, work: &Workspace, problem: &Problem, trial: Slice, commands: &mut Vec<Command>) {
        problem.enabled_batches().for_each(|batch| work.linearize(batch, trial, commands));
        work.commit(problem, trial, work.previous, state::ANCHORED, commands);
        let sums = work.sum_batches(problem, |batch| batch.kernels.energy, trial, commands);
        commands.push(work.reduce(Fixed::Cost, &[sums, work.partial_distance, state::TRIAL_COST]));
        work.gather_gradient(problem, trial, work.q, commands);
        let Some(known) = work.constraints else { return };
        if let Some([lower, upper]) = known.bounds {
            // What may move from the trial point, if it is taken; p was the clipped step, of which there is another copy.
            commands.push(Command::Copy { from: known.pins, to: Slice { len: known.pins.len, ..work.p } });
            let bindings = [(ARENA, trial), (DATA, lower), (INDEX, upper), (VECTOR_IN, work.q), (VECTOR_OUT, work.p)];
            for table in problem.moving().filter(|table: &&Table| table.is_bounded()) {
                commands.push(work.fixed(Fixed::ActiveSet, table.unknowns(), &[table.arena, table.vector], &bindings));
            }
        }
    }

    /// Whether the trial point is taken, and which α is next.
    fn decide(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) {
        let elements = problem.vector_len();
        let (masked, bounded) = (u32::from(work.free().is_some()), u32::from(work.bounds().is_some()));
        let free = if bounded == 1 { work.p } else { work.free().unwrap_or(work.q) };
        let bindings = [
            (ARENA, work.gradient),
            (DATA, work.z),
            (INDEX, free),
            (VECTOR_IN, work.q),
            (JACOBIAN, work.step),
            (STATE, work.state),
            (PARTIALS, work.partials),
        ];
        let (slopes, partials) = work.partial(Fixed::Slopes, elements, &[work.partial_distance, elements, masked, bounded], &bindings);
        commands.push(slopes);
        let words = [partials, work.partial_distance, bounded, self.rule.number(), self.pairs];
        commands.push(work.reduce(Fixed::LineSearch, &words));
    }

    /// The history with the step that was taken, and the next direction.
    fn turn(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) {
        let (elements, stride, pairs) = (problem.vector_len(), self.stride, self.pairs);
        let (masked, bounded) = (u32::from(work.free().is_some()), u32::from(work.bounds().is_some()));
        // Where nothing is masked, what stands for the mask is not looked at.
        let free = work.free().unwrap_or(work.p);
        let state = (STATE, work.state);
        let bindings = [
            (ARENA, work.step),
            (DATA, work.p),
            (INDEX, work.gradient),
            (VECTOR_IN, work.q),
            (VECTOR_OUT, self.history),
            (JACOBIAN, if bounded == 1 { free } else { self.coefficients }),
            state,
        ];
        commands.push(work.fixed(Fixed::Remember, elements, &[stride, pairs, bounded], &bindings));
        if let Rule::Adam(_) = self.rule {
            let bindings = [(ARENA, work.gradient), (DATA, free), (INDEX, self.history), (VECTOR_OUT, work.z), state];
            commands.push(work.fixed(Fixed::Adam, elements, &[stride, masked], &bindings));
            return;
        }
        let vectors = 2 * pairs + 1;
        let bindings = [(DATA, free), (INDEX, work.gradient), (VECTOR_IN, self.history), (VECTOR_OUT, self.products), state];
        let words = [self.runs, elements, stride, pairs, bounded, masked];
        commands.push(work.fixed(Fixed::InnerProducts, self.runs * vectors * work.group_size(), &words, &bindings));
        let bindings = [(VECTOR_IN, self.products), (VECTOR_OUT, self.gram), (JACOBIAN, self.coefficients), state];
        commands.push(work.single(Fixed::TwoLoop, &[self.runs, pairs, self.rule.number(), bounded], &bindings));
        let bindings =
            [(ARENA, work.gradient), (DATA, free), (INDEX, self.history), (VECTOR_IN, self.coefficients), (VECTOR_OUT, work.z), state];
        commands.push(work.fixed(Fixed::Descend, elements, &[stride, pairs, masked], &bindings));
    }
}

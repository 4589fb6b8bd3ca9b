//! One trial of a line search, as commands.

use super::super::{Workspace, state};
use super::Descent;
use super::rule::Turn;
use leastwise_device::{Command, Slice};
use leastwise_error::Error;
use leastwise_kernels::{bounds, descent, line_search, step};
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
        commands.push(work.fixed(
            line_search::ScaleStep,
            problem.vector_len(),
            line_search::ScaleStepBindings { direction: work.z, step: work.step, state: work.state },
        ));
        let partials = work.trial(problem, point, trial, commands);
        commands.push(work.reduce(step::Model { partial_count: partials, distance: work.partial_distance }));
        work.clip(problem, point, trial, commands);
        work.evaluate_sums(problem, trial, commands);
        let sums = work.sum_batches(problem, |batch| batch.kernels.change, trial, commands);
        let takes_all = u32::from(!self.rule.searches());
        commands.push(work.reduce(line_search::Changed { partial_count: sums, distance: work.partial_distance, unconditional: takes_all }));
    }

    /// r and J at the trial point, unless it is not finite, its cost and its gradient. Where r and J are is kept: checkpoints have it.
    fn differentiate(&self, work: &Workspace, problem: &Problem, trial: Slice, commands: &mut Vec<Command>) {
        problem.enabled_batches().for_each(|batch| work.linearize(batch, trial, commands));
        work.commit(problem, trial, work.previous, state::ANCHORED, commands);
        let sums = work.sum_batches(problem, |batch| batch.kernels.energy, trial, commands);
        commands.push(work.reduce(step::Cost { partial_count: sums, distance: work.partial_distance, element: state::TRIAL_COST }));
        work.gather_gradient(problem, trial, work.q, commands);
        let Some(known) = work.bounds else { return };
        if let Some([lower, upper]) = known.bounds {
            // What may move from the trial point, if it is taken; p was the clipped step, of which there is another copy.
            commands.push(Command::Copy { from: known.pins, to: Slice { len: known.pins.len, ..work.p } });
            for table in problem.moving().filter(|table: &&Table| table.is_bounded()) {
                commands.push(work.fixed(
                    bounds::ActiveSet { arena: table.arena, vector: table.vector },
                    table.unknowns(),
                    bounds::ActiveSetBindings { point: trial, lower, upper, gradient: work.q, free: work.p },
                ));
            }
        }
    }

    /// Whether the trial point is taken, and which α is next.
    fn decide(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) {
        let elements = problem.vector_len();
        let (masked, bounded) = (u32::from(work.free().is_some()), u32::from(work.bounds().is_some()));
        let free = if bounded == 1 { work.p } else { work.free().unwrap_or(work.q) };
        let (slopes, partials) = work.partial(
            line_search::Slopes { distance: work.partial_distance, elements, masked, limited: bounded },
            elements,
            line_search::SlopesBindings {
                gradient: work.gradient,
                direction: work.z,
                free,
                trial_gradient: work.q,
                step: work.step,
                state: work.state,
                partials: work.partials,
            },
        );
        commands.push(slopes);
        commands.push(work.reduce(line_search::LineSearch {
            partial_count: partials,
            distance: work.partial_distance,
            limited: bounded,
            rule: self.rule.search(),
            pairs: self.pairs,
        }));
    }

    /// The history with the step that was taken, and the next direction.
    fn turn(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) {
        let (elements, stride, pairs) = (problem.vector_len(), self.stride, self.pairs);
        let (masked, bounded) = (u32::from(work.free().is_some()), u32::from(work.bounds().is_some()));
        // Where nothing is masked, what stands for the mask is not looked at.
        let free = work.free().unwrap_or(work.p);
        commands.push(work.fixed(
            descent::LbfgsPush { distance: stride, pairs, limited: bounded },
            elements,
            descent::LbfgsPushBindings {
                step: work.step,
                trial_free: work.p,
                gradient: work.gradient,
                trial_gradient: work.q,
                history: self.history,
                free: if bounded == 1 { free } else { self.coefficients },
                state: work.state,
            },
        ));
        let turn = Turn { history: self.history, stride, free, is_masked: masked == 1 };
        if let Some(direction) = self.rule.direction(&turn, work, problem) {
            commands.push(direction);
            return;
        }
        let vectors = 2 * pairs + 1;
        commands.push(work.fixed(
            descent::InnerProducts { runs: self.runs, elements, distance: stride, pairs, all: bounded, masked },
            self.runs * vectors * work.group_size(),
            descent::InnerProductsBindings {
                free,
                gradient: work.gradient,
                history: self.history,
                products: self.products,
                state: work.state,
            },
        ));
        commands.push(work.single(
            descent::TwoLoop { runs: self.runs, pairs, rule: self.rule.number(), all: bounded },
            descent::TwoLoopBindings { products: self.products, gram: self.gram, coefficients: self.coefficients, state: work.state },
        ));
        commands.push(work.fixed(
            descent::Descend { distance: stride, pairs, masked },
            elements,
            descent::DescendBindings {
                gradient: work.gradient,
                free,
                history: self.history,
                coefficients: self.coefficients,
                direction: work.z,
                state: work.state,
            },
        ));
    }
}

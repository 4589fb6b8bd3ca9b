//! The report of a solve: the last recording, and the account that is made of what it reads back.

use super::super::{EvaluatorReport, ProductReport, Refinement, Report, Termination, state};
use super::Solver;
use super::history::{Returned, Unreported};
use super::stepping::Phase;
use leastwise_base::clock::now_ms;
use leastwise_device::{Command, Counters, Device, Recording};
use leastwise_error::Error;
use leastwise_problem::Problem;

impl Solver {
    /// The commands of the report alone, for a solver that was advanced without readbacks.
    pub fn report_now(&mut self, problem: &mut Problem) -> Result<Recording, Error> {
        self.phase = Phase::Reporting(Termination::Stopped, "a report was asked for between live steps".into());
        self.stopping.started_ms.get_or_insert_with(now_ms);
        self.report_recording(problem)
    }

    /// Before a solve: its report tells of it alone.
    pub fn begin_call(&mut self, device: &Device) {
        let is_first = std::mem::take(&mut self.history.is_fresh);
        if !is_first && !self.stopping.resumes {
            self.forget_past(device);
        }
    }

    /// Before a step by itself, of which the next report tells.
    pub fn begin_step(&mut self, device: &Device) {
        self.history.is_fresh = false;
        if self.history.is_concluded {
            self.forget_past(device);
        }
    }

    /// Forgets what earlier calls did, and reported.
    fn forget_past(&mut self, device: &Device) {
        let returned = self.returned_so_far();
        self.history.forget(device.counters(), returned);
        self.compile_ms = 0.0;
    }

    /// Systems that came back to be solved.
    fn returned_so_far(&self) -> Returned {
        self.history.returned.plus(self.resources.host.as_ref().map_or((0, 0), |host| (host.readbacks, host.elements)))
    }

    /// The cost of every enabled term at the accepted point, as partial sums.
    pub(super) fn report_recording(&mut self, problem: &mut Problem) -> Result<Recording, Error> {
        let mut commands = problem.take_uploads();
        let (point, _) = problem.arenas()?;
        self.refresh_state(problem, &mut commands)?;
        self.go_back(problem, &mut commands)?;
        self.iterate.step_reused = false;
        self.resources.work.return_to_best(problem, &mut commands)?;
        if self.resources.descent.is_some() {
            // Between two trials, r and J are those of the last one; now they become those of the point.
            let known = Command::UploadReals { buffer: self.resources.work.state.buffer, offset: state::CHANGE_KNOWN, data: vec![0.0] };
            commands.push(known);
            commands.push(Command::Copy { from: point, to: self.resources.work.previous });
        }
        problem.enabled_batches().for_each(|batch| self.resources.work.linearize(batch, point, &mut commands));
        self.costs = self.resources.work.sum_by_term(problem, point, &mut commands);
        Ok(Recording { commands })
    }

    pub(super) fn report(
        &mut self,
        device: &Device,
        problem: &Problem,
        (termination, reason): (Termination, String),
        cost_by_term: Vec<(String, f64)>,
        started: f64,
    ) -> Report {
        let cost = cost_by_term.iter().map(|term| term.1).sum();
        let Unreported { iterations, initial_cost, moved, non_finite } = self.history.conclude();
        let steps_ms = iterations.iter().map(|step| step.ms).sum();
        Report {
            termination,
            converged: termination == Termination::Converged,
            reason,
            initial_cost: initial_cost.unwrap_or(cost),
            cost,
            iterations,
            cost_by_term,
            feasibility: None,
            moved_into_bounds: moved,
            compile_ms: self.compile_ms,
            // Steps made one by one have their time, too.
            solve_ms: (now_ms() - started).max(steps_ms),
            non_finite: non_finite.count,
            first_non_finite: non_finite.first,
            idle_dispatches: self.history.repeats.dispatches,
            backend: self.backend,
            precision: device.precision_name(),
            refinement: Refinement::not_needed(device.precision_name()),
            method: self.settings.method.name(),
            linear: self.resources.choice.linear.name(),
            linear_reason: self.resources.choice.why.clone(),
            preconditioner: self.resources.choice.preconditioner.as_ref().map(|(preconditioner, _)| preconditioner.name()),
            preconditioner_reason: self.resources.choice.preconditioner.as_ref().map(|(_, why)| why.clone()),
            factorizations: self.resources.host.as_ref().and_then(|host| host.factorizations()),
            gauge: problem.freedoms(),
            products: self.products(problem),
            evaluators: self.evaluators(device, problem),
            counters: self.counters(device),
        }
    }

    /// Schedules of products, where there are any.
    fn products(&self, problem: &Problem) -> Vec<ProductReport> {
        let batches = problem.enabled_batches().filter(|_| self.resources.choice.linear.multiplies());
        batches.map(ProductReport::of).collect()
    }

    /// Evaluators of programs, where there is a choice.
    fn evaluators(&self, device: &Device, problem: &Problem) -> Vec<EvaluatorReport> {
        let product = self.resources.choice.linear.multiplies();
        problem.enabled_batches().flat_map(|batch| EvaluatorReport::of(device, batch, product)).collect()
    }

    /// Counters of the device in the present call; the systems that came back to be solved are counted apart.
    fn counters(&self, device: &Device) -> Counters {
        let mut counters = device.counters().since(&self.history.counters);
        let (so_far, before) = (self.returned_so_far(), self.history.returned_before);
        let (readbacks, elements) = (so_far.systems - before.systems, so_far.elements - before.elements);
        let bytes = elements * self.precision.bytes();
        (counters.matrix_readbacks, counters.matrix_bytes_read_back) = (readbacks, bytes);
        (counters.readbacks, counters.bytes_read_back) = (counters.readbacks - readbacks, counters.bytes_read_back - bytes);
        counters
    }
}

//! What a solve comes to: the last recording, and the report that is made of what it brings back.

use super::super::linear::Linear;
use super::super::offender::Offenders;
use super::super::{EvaluatorReport, ProductReport, Refinement, Report, Termination, state};
use super::{Phase, Solver};
use leastwise_base::clock::now_ms;
use leastwise_device::{Command, Counters, Device, Recording};
use leastwise_error::Error;
use leastwise_problem::Problem;

impl Solver {
    /// The commands of the report alone, for a solver that was advanced without readbacks.
    pub fn report_now(&mut self, problem: &mut Problem) -> Result<Recording, Error> {
        self.phase = Phase::Reporting(Termination::Stopped, "a report was asked for between live steps".into());
        self.started_ms.get_or_insert_with(now_ms);
        self.report_recording(problem)
    }

    /// Before a solve: its report tells of it alone.
    pub fn begin_call(&mut self, device: &Device) {
        let is_first = std::mem::take(&mut self.fresh);
        if !is_first && !self.resuming {
            self.forget_past(device);
        }
    }

    /// Before a step by itself, of which the next report tells.
    pub fn begin_step(&mut self, device: &Device) {
        self.fresh = false;
        if self.concluded {
            self.forget_past(device);
        }
    }

    /// Forgets what earlier calls did, and were told of.
    fn forget_past(&mut self, device: &Device) {
        self.iterations.clear();
        (self.first_iteration, self.initial_cost, self.moved[1]) = (0, None, self.moved[0]);
        (self.offenders, self.waste.dispatches, self.compile_ms) = (Offenders::default(), 0, 0.0);
        (self.before, self.returned_before) = (device.counters(), self.returned_so_far());
        self.concluded = false;
    }

    /// How often systems came back to be solved, and how many elements.
    fn returned_so_far(&self) -> (u64, u64) {
        let (readbacks, elements) = self.host.as_ref().map_or((0, 0), |host| (host.readbacks, host.elements));
        (self.returned.0 + readbacks, self.returned.1 + elements)
    }

    /// The cost of every enabled term at the accepted point, as partial sums.
    pub(super) fn report_recording(&mut self, problem: &mut Problem) -> Result<Recording, Error> {
        let mut commands = problem.take_uploads();
        let (point, _) = problem.arenas()?;
        self.refresh_state(problem, &mut commands)?;
        self.go_back(problem, &mut commands)?;
        self.again = false;
        self.work.return_to_best(problem, &mut commands)?;
        if self.descent.is_some() {
            // Between two trials, r and J are those of the last one; now they become those of the point.
            let known = Command::UploadReals { buffer: self.work.state.buffer, offset: state::CHANGE_KNOWN, data: vec![0.0] };
            commands.push(known);
            commands.push(Command::Copy { from: point, to: self.work.previous });
        }
        problem.enabled_batches().for_each(|batch| self.work.linearize(batch, point, &mut commands));
        self.costs = self.work.sum_by_term(problem, point, &mut commands);
        Ok(Recording { commands })
    }

    pub(super) fn report(
        &mut self,
        device: &Device,
        problem: &Problem,
        (termination, reason): (Termination, String),
        readback: &[f64],
        started: f64,
    ) -> Report {
        let cost_by_term = self.costs.read(readback);
        let Offenders { count: non_finite, first: first_non_finite, .. } = std::mem::take(&mut self.offenders);
        let moved = self.moved[0];
        let cost = cost_by_term.iter().map(|term| term.1).sum();
        self.concluded = true;
        let first_iteration = std::mem::replace(&mut self.first_iteration, self.iterations.len() as u32);
        let steps_ms = self.iterations[first_iteration as usize..].iter().map(|step| step.ms).sum();
        Report {
            termination,
            converged: termination == Termination::Converged,
            reason,
            initial_cost: self.initial_cost.take().unwrap_or(cost),
            cost,
            iterations: self.iterations[first_iteration as usize..].to_vec(),
            cost_by_term,
            feasibility: None,
            moved_into_bounds: moved.saturating_sub(std::mem::replace(&mut self.moved[1], moved)),
            compile_ms: self.compile_ms,
            // Steps made one by one have their time, too.
            solve_ms: (now_ms() - started).max(steps_ms),
            non_finite,
            first_non_finite,
            idle_dispatches: self.waste.dispatches,
            backend: self.backend,
            precision: device.precision_name(),
            refinement: Refinement::not_needed(device.precision_name()),
            method: self.settings.method.name(),
            linear: self.choice.linear.name(),
            linear_reason: self.choice.why.clone(),
            preconditioner: self.choice.preconditioner.as_ref().map(|(preconditioner, _)| preconditioner.name()),
            preconditioner_reason: self.choice.preconditioner.as_ref().map(|(_, why)| why.clone()),
            factorizations: self.host.as_ref().and_then(|host| host.factorizations()),
            gauge: problem.freedoms(),
            products: self.products(problem),
            evaluators: self.evaluators(device, problem),
            counters: self.counters(device),
        }
    }

    /// How products are computed, where there are any.
    fn products(&self, problem: &Problem) -> Vec<ProductReport> {
        let batches = problem.enabled_batches().filter(|_| self.choice.linear == Linear::Pcg);
        batches.map(ProductReport::of).collect()
    }

    /// How programs are run, where there is a choice.
    fn evaluators(&self, device: &Device, problem: &Problem) -> Vec<EvaluatorReport> {
        let product = self.choice.linear == Linear::Pcg;
        problem.enabled_batches().flat_map(|batch| EvaluatorReport::of(device, batch, product)).collect()
    }

    /// What the device did in the present call; the systems that came back to be solved are counted apart.
    fn counters(&self, device: &Device) -> Counters {
        let mut counters = device.counters().since(&self.before);
        let (so_far, before) = (self.returned_so_far(), self.returned_before);
        let (readbacks, elements) = (so_far.0 - before.0, so_far.1 - before.1);
        let bytes = elements * self.precision.bytes();
        (counters.matrix_readbacks, counters.matrix_bytes_read_back) = (readbacks, bytes);
        (counters.readbacks, counters.bytes_read_back) = (counters.readbacks - readbacks, counters.bytes_read_back - bytes);
        counters
    }
}

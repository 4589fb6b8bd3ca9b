//! Evaluations of terms, measurements and tuning as jobs.

use super::Session;
use super::job::{Ended, Job, Progress, Step};
use leastwise_device::Play;
use leastwise_error::Error;
use leastwise_outer::evaluation::{InstanceCosts, TermEvaluation, Wanted};
use leastwise_outer::{HessianForm, Measured, Measurement, Traffic, TuningRun, measure_copy};
use leastwise_problem::Tuning;

/// Costs of a term's instances.
struct CostsJob {
    problem: u32,
    costs: InstanceCosts,
}

impl Job for CostsJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        let (devices, problem) = session.site(self.problem)?;
        Ok(Progress::of(self.costs.resume(&mut devices.main, problem, deadline)?, Progress::Values).into())
    }

    fn free(self: Box<Self>, session: &mut Session, _: u32) {
        self.costs.free(&mut session.devices.main);
    }

    fn problem(&self) -> Option<u32> {
        Some(self.problem)
    }

    fn playing(&mut self) -> Option<&mut Play> {
        self.costs.playing()
    }
}

/// An evaluation or a check of a term.
struct EvaluationJob {
    problem: u32,
    evaluation: Box<TermEvaluation>,
}

impl Job for EvaluationJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        let (devices, problem) = session.site(self.problem)?;
        Ok(Progress::of(self.evaluation.resume(&mut devices.main, problem, deadline)?, Progress::Values).into())
    }

    fn free(self: Box<Self>, session: &mut Session, _: u32) {
        self.evaluation.free(&mut session.devices.main);
    }

    fn problem(&self) -> Option<u32> {
        Some(self.problem)
    }
}

/// A measurement, of a problem's or of the device's own.
struct MeasurementJob {
    problem: Option<u32>,
    measurement: Measurement,
}

impl Job for MeasurementJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        let turn = self.measurement.resume(&mut session.devices.main, deadline)?;
        Ok(Progress::of(turn, |ms| Progress::Values(vec![ms])).into())
    }

    fn free(self: Box<Self>, session: &mut Session, _: u32) {
        self.measurement.free(&mut session.devices.main);
    }

    fn problem(&self) -> Option<u32> {
        self.problem
    }
}

struct TuningJob {
    problem: u32,
    run: Box<TuningRun>,
}

impl Job for TuningJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        let (devices, problem) = session.site(self.problem)?;
        Ok(Progress::of(self.run.resume(devices, problem, deadline)?, |()| Progress::Values(Vec::new())).into())
    }

    fn free(self: Box<Self>, session: &mut Session, _: u32) {
        let problem = session.problems.get_mut(self.problem).map(|entry| &mut entry.problem);
        self.run.free(&mut session.devices, problem);
    }

    fn problem(&self) -> Option<u32> {
        Some(self.problem)
    }
}

impl Session {
    /// A task that evaluates ½ w ‖r‖² of every instance of a term at the accepted values.
    pub fn term_costs(&mut self, problem: u32, term: u32) -> Result<u32, Error> {
        self.idle(problem)?.0.problem.term(term)?;
        self.once_laid_out(problem, move |session| {
            let (devices, of) = session.site(problem)?;
            Ok(CostsJob { problem, costs: InstanceCosts::of_term(&mut devices.main, of, term)? })
        })
    }

    /// A task: r and J of every instance of a term at the accepted values, as the device has them. First all residuals,
    /// then all Jacobians, instance by instance and row by row; columns are the scalars of the term's variables, slot by
    /// slot. Last the Hessians of ½ w ‖r‖², whole, if they are wanted.
    pub fn evaluate_term(&mut self, problem: u32, term: u32, hessian: Option<HessianForm>) -> Result<u32, Error> {
        self.evaluation(problem, term, Wanted::Values(hessian))
    }

    /// A task: the entry of J that is furthest from differences of r, as error, instance, row, slot, component,
    /// derivative, difference.
    pub fn check_term(&mut self, problem: u32, term: u32) -> Result<u32, Error> {
        self.evaluation(problem, term, Wanted::Check)
    }

    fn evaluation(&mut self, problem: u32, term: u32, wanted: Wanted) -> Result<u32, Error> {
        self.idle(problem)?.0.problem.term(term)?;
        self.once_laid_out(problem, move |session| {
            let (devices, of) = session.site(problem)?;
            let evaluation = TermEvaluation::new(&mut devices.main, &mut devices.registry, of, term, wanted)?;
            // It linearises at the accepted point whatever the solvers know of it.
            of.linearized_by = None;
            Ok(EvaluationJob { problem, evaluation: Box::new(evaluation) })
        })
    }

    /// λ of all rows of a constraint, as the last solve left them.
    pub fn multipliers(&mut self, problem: u32, term: u32) -> Result<Vec<f64>, Error> {
        let term = self.entry(problem)?.0.problem.term(term)?;
        let refused = || Error::InvalidOption(format!("term \"{}\" is not a constraint, so it has no multipliers", term.name));
        Ok(term.constraint.as_ref().ok_or_else(refused)?.multipliers())
    }

    /// A task that gives λ of all rows of a constraint.
    pub fn read_multipliers(&mut self, problem: u32, term: u32) -> Result<u32, Error> {
        let multipliers = self.multipliers(problem, term)?;
        Ok(self.add_task(Ended::with(multipliers)))
    }

    /// A task whose one value is the milliseconds of one repetition. The solver can go on afterwards as if nothing had been.
    pub fn measure(&mut self, solver: u32, what: Measured, repeats: u32) -> Result<u32, Error> {
        let problem = self.solver_entry(solver)?.problem;
        let context = self.prepare(solver)?;
        let measurement = Measurement::of_operation(context.problem, &mut context.driven.solver, what, repeats)?;
        self.start_task(problem, MeasurementJob { problem: Some(problem), measurement })
    }

    /// A task whose one value is the milliseconds of a copy of `bytes` bytes by our own kernel, which reads and writes as many.
    pub fn measure_copy(&mut self, bytes: f64, repeats: u32) -> Result<u32, Error> {
        let measurement = measure_copy(&mut self.devices.main, bytes, repeats)?;
        Ok(self.add_task(MeasurementJob { problem: None, measurement }))
    }

    /// Bytes that the solver's operations must move.
    pub fn traffic(&mut self, solver: u32) -> Result<Traffic, Error> {
        let problem = self.solver_entry(solver)?.problem;
        let (devices, problem) = self.site(problem)?;
        Traffic::of(&devices.main, problem)
    }

    /// The tuning table: what was measured on this device, or given.
    pub fn tuning(&self) -> &Tuning {
        &self.devices.registry.tuning
    }

    /// Sets the schedules of products and the evaluators of programs, where something was measured. Those of problems that are
    /// laid out already are chosen anew. Error `busy` while something runs.
    pub fn set_tuning(&mut self, tuning: Tuning) -> Result<(), Error> {
        tuning.check()?;
        if tuning == self.devices.registry.tuning {
            return Ok(());
        }
        for problem in self.problems.handles() {
            self.idle(problem)?;
        }
        #[cfg(not(target_arch = "wasm32"))]
        self.followers.iter().for_each(|followers| followers.set_tuning(&tuning));
        let Self { problems, devices, .. } = self;
        devices.main.set_evaluators(tuning.evaluators());
        devices.registry.tuning = tuning;
        problems.values_mut().for_each(|entry| entry.problem.forget_batches(&mut devices.main));
        Ok(())
    }

    /// A task that measures the products of a problem in every schedule, its programs by every evaluator, and puts the fastest
    /// ones in the tuning table.
    pub fn tune(&mut self, problem: u32) -> Result<u32, Error> {
        self.refuse_ranks("tune()")?;
        if !self.idle(problem)?.0.problem.has_enabled_terms() {
            return Err(Error::EmptyProblem("enabled residual terms"));
        }
        let run = Box::new(TuningRun::new(self.devices.registry.tuning.clone()));
        self.start_task(problem, TuningJob { problem, run })
    }
}

//! Solving with constraints: minimisations of the augmented Lagrangian, one after the other, and a look at the constraints
//! between two of them.

use super::Session;
use super::inspect::{Inspection, Wanted};
use super::task::{Progress, SolveMode, Task};
use leastwise_device::{Play, Precision};
use leastwise_error::Error;
use leastwise_solve::{Iteration, Lagrangian, Report, Termination};

/// A constrained solve on its way.
pub(super) struct Constrained {
    pub problem: u32,
    pub solver: u32,
    lagrangian: Lagrangian,
    /// The minimisation, or the look at a constraint.
    inner: Box<Task>,
    /// The report of the last minimisation, while constraints are looked at: which term is being looked at, and r of those before it.
    ended: Option<Box<Report>>,
    looking_at: u32,
    residuals: Vec<(u32, Vec<f64>)>,
    /// What all minimisations did.
    iterations: Vec<Iteration>,
    initial_cost: Option<f64>,
    solve_ms: f64,
}

impl Constrained {
    /// Whether it has no step on its way.
    pub fn is_between_steps(&self) -> bool {
        self.inner.is_between_steps()
    }

    /// What is being played.
    pub fn playing(&mut self) -> Option<&mut Play> {
        if let Task::Solve { play, .. } = &mut *self.inner { play.as_mut() } else { None }
    }

    pub fn into_inner(self) -> Task {
        *self.inner
    }
}

impl Session {
    /// A task that solves with constraints.
    pub(super) fn constrained_solve(&mut self, problem: u32, solver: u32) -> Result<Task, Error> {
        let is_single = self.device.precision() == Precision::F32;
        let entry = self.solver_entry(solver)?;
        let lagrangian = Lagrangian::new(entry.solver.outer_settings(), is_single);
        entry.solver.loosen(lagrangian.slack());
        let inner = Box::new(Task::solve(problem, solver, SolveMode::Solve));
        // Multipliers of the last solve are kept: they are the best guess. Penalties begin anew.
        let owner = self.problems.get_mut(problem).ok_or(Error::Disposed("problem"))?;
        let all: Vec<(u32, Vec<f64>)> = owner
            .problem
            .enabled_constraints()
            .map(|(number, _, constraint)| {
                let part = constraint.penalty / lagrangian.penalty;
                (number, constraint.shifts.iter().map(|shift| part * shift).collect())
            })
            .collect();
        for (number, shifts) in all {
            owner.problem.set_multipliers(&self.device, number, lagrangian.penalty, shifts)?;
        }
        Ok(Task::Constrained(Box::new(Constrained {
            problem,
            solver,
            lagrangian,
            inner,
            ended: None,
            looking_at: 0,
            residuals: Vec::new(),
            iterations: Vec::new(),
            initial_cost: None,
            solve_ms: 0.0,
        })))
    }

    pub(super) fn resume_constrained(&mut self, task: &mut Constrained, deadline: f64) -> Result<Progress, Error> {
        loop {
            let progress = match &mut *task.inner {
                Task::Inspect(inspection) => self.resume_inspection(inspection, deadline)?,
                Task::Costs(costs) => self.resume_costs(costs, deadline)?,
                inner => self.resume_solve(inner, deadline)?,
            };
            match progress {
                Progress::Report(report) => {
                    task.iterations.extend(report.iterations.iter().copied());
                    task.initial_cost.get_or_insert(report.initial_cost);
                    task.solve_ms += report.solve_ms;
                    task.ended = Some(report);
                    self.inspect_constraint(task, 0)?;
                }
                Progress::Values(residuals) => {
                    let inspected = std::mem::replace(&mut *task.inner, Task::Values(Vec::new()));
                    if let Task::Inspect(inspection) = inspected {
                        inspection.buffers().into_iter().for_each(|buffer| self.device.free(buffer));
                    }
                    let owner = self.problems.get_mut(task.problem).ok_or(Error::Disposed("problem"))?;
                    let term = owner.problem.term(task.looking_at)?;
                    if let Some(constraint) = &term.constraint {
                        task.lagrangian.look(&term.name, constraint, &residuals);
                    }
                    task.residuals.push((task.looking_at, residuals));
                    let next = task.looking_at + 1;
                    if !self.inspect_constraint(task, next)?
                        && let Some(report) = self.go_on(task)?
                    {
                        return Ok(Progress::Report(report));
                    }
                }
                other => return Ok(other),
            }
        }
    }

    /// Begins to look at the first constraint from a term on; whether there is one.
    fn inspect_constraint(&mut self, task: &mut Constrained, from: u32) -> Result<bool, Error> {
        let owner = self.problems.get_mut(task.problem).ok_or(Error::Disposed("problem"))?;
        let next = owner.problem.enabled_constraints().map(|(number, ..)| number).find(|number| *number >= from);
        let Some(number) = next else { return Ok(false) };
        let inspection = Inspection::new(&mut self.device, &mut self.registry, &owner.problem, task.problem, number, Wanted::Residuals)?;
        // It linearises at the accepted point whatever the solver knows of it.
        owner.problem.linearized_by = None;
        task.looking_at = number;
        *task.inner = Task::Inspect(Box::new(inspection));
        Ok(true)
    }

    /// After all constraints were looked at: the report, or the next minimisation.
    fn go_on(&mut self, task: &mut Constrained) -> Result<Option<Box<Report>>, Error> {
        let Some(mut report) = task.ended.take() else { return Err(Error::Disposed("task")) };
        let is_exact = !self.solver_entry(task.solver)?.solver.is_loosened();
        let mut ending = task.lagrangian.judge(&report, is_exact);
        let falls = report.termination == Termination::Unbounded;
        if falls || task.residuals.iter().any(|(_, residuals)| task.lagrangian.is_unbounded(residuals)) {
            let reason = "the augmented Lagrangian seems to be unbounded below: bound the variables, or begin with a larger penalty";
            ending = Some((Termination::Unbounded, reason.into()));
        }
        let owner = self.problems.get_mut(task.problem).ok_or(Error::Disposed("problem"))?;
        for (number, residuals) in task.residuals.drain(..) {
            let term = owner.problem.term(number)?;
            let Some(constraint) = &term.constraint else { continue };
            let shifts = match ending.as_ref().map(|ending| ending.0) {
                // What was cut short says nothing of λ.
                Some(Termination::Stopped | Termination::TimeLimit | Termination::Singular) => continue,
                // λ grew with what can't be met: the next solve is not to begin with it.
                Some(Termination::Infeasible | Termination::NoProgress | Termination::Unbounded) => vec![0.0; residuals.len()],
                _ => task.lagrangian.shifts(constraint, &residuals),
            };
            owner.problem.set_multipliers(&self.device, number, task.lagrangian.penalty, shifts)?;
        }
        let Some((termination, reason)) = ending else {
            let entry = self.solver_entry(task.solver)?;
            entry.solver.continue_with(task.lagrangian.slack());
            *task.inner = Task::solve(task.problem, task.solver, SolveMode::Solve);
            return Ok(None);
        };
        report.converged = termination == Termination::Converged;
        (report.termination, report.reason) = (termination, reason);
        report.iterations = std::mem::take(&mut task.iterations);
        report.initial_cost = task.initial_cost.unwrap_or(report.initial_cost);
        report.solve_ms = task.solve_ms;
        let empty = Lagrangian::new(Default::default(), false);
        std::mem::replace(&mut task.lagrangian, empty).conclude(&mut report);
        if let Some(refusal) = self.refusal(task.problem, task.solver, &report)? {
            report.refinement = refusal;
        }
        Ok(Some(report))
    }

    /// λ of all rows of a constraint, as the last solve left them.
    pub fn multipliers(&mut self, problem: u32, term: u32) -> Result<Vec<f64>, Error> {
        let (entry, ..) = self.entry(problem)?;
        let constraint = entry.problem.term(term)?.constraint.as_ref().ok_or(Error::Disposed("constraint"))?;
        Ok(constraint.multipliers())
    }

    /// A task that gives them.
    pub fn read_multipliers(&mut self, problem: u32, term: u32) -> Result<u32, Error> {
        let multipliers = self.multipliers(problem, term)?;
        Ok(self.add_task(Task::Values(multipliers)))
    }
}

//! Continuation of a solve with another solver: time and steps spent so far, and an account of both as one.

use super::super::options::Settings;
use super::super::{Iteration, Report, Termination};
use super::Solver;

/// Time and steps that count against the limits of a solve, and the cost that it began with.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    started_ms: Option<f64>,
    tried: u32,
    initial_cost: Option<f64>,
}

impl Solver {
    /// Settings that it was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Time and steps of this solve.
    pub fn spent(&self) -> Spent {
        Spent { started_ms: self.stopping.started_ms, tried: self.stopping.tried, initial_cost: self.history.initial_cost }
    }

    /// Time and steps that a solver in more precision begins with after a report: where no number of steps was given, there are as many again.
    pub fn handed_on(&self, report: &Report) -> Spent {
        let tried = if self.settings.max_iterations.is_some() { self.stopping.tried } else { 0 };
        Spent { tried, initial_cost: Some(report.initial_cost), ..self.spent() }
    }

    /// Goes on where another's solve ended.
    pub fn succeed(&mut self, Spent { started_ms, tried, initial_cost }: Spent) {
        (self.stopping.started_ms, self.stopping.tried, self.history.initial_cost) = (started_ms, tried, initial_cost);
    }

    /// Limit that ends a solve that has spent so much.
    pub fn limit_of(&self, spent: Spent) -> Option<(Termination, String)> {
        self.limit(spent.started_ms?, spent.tried)
    }

    /// Takes a report back, since the solve goes on elsewhere. The iterate is stale from now on.
    pub fn withdraw(&mut self, report: &Report) {
        self.history.withdraw(report);
        self.end_as(report.termination, report.reason.clone());
        self.iterate.forget();
    }

    /// Sets the ending for a checkpoint: a solve that goes on from it ends at once, in the same way.
    pub fn end_as(&mut self, termination: Termination, reason: String) {
        self.stopping.verdict = Some((termination, reason));
    }

    /// Steps that were reported since the present call began.
    pub fn reported(&self) -> &[Iteration] {
        &self.history.iterations[..self.history.unreported as usize]
    }

    /// Number of steps of all solves.
    pub fn steps(&self) -> u32 {
        self.history.len()
    }

    /// Takes a step that was made elsewhere for its own; gives it with its number among them.
    pub fn note(&mut self, step: Iteration) -> Iteration {
        let step = Iteration { index: self.steps(), ..step };
        self.history.iterations.push(step);
        self.stopping.tried += 1;
        step
    }

    /// All steps since the last report, after which the next begins.
    pub fn conclude(&mut self) -> Vec<Iteration> {
        self.history.conclude().iterations
    }
}

//! A solve that goes on with another solver: what was spent already, and an account of both as one.

use super::super::offender::Offenders;
use super::super::options::Settings;
use super::super::{Iteration, Report, Termination};
use super::Solver;

/// What counts against the limits of a solve, and the cost that it began with.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    started_ms: Option<f64>,
    tried: u32,
    initial_cost: Option<f64>,
}

impl Solver {
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What this solve has spent.
    pub fn spent(&self) -> Spent {
        Spent { started_ms: self.started_ms, tried: self.tried, initial_cost: self.initial_cost }
    }

    /// What a solver in more precision is to begin with after a report: where no number of steps was given, there are as many again.
    pub fn handed_on(&self, report: &Report) -> Spent {
        let tried = if self.settings.max_iterations.is_some() { self.tried } else { 0 };
        Spent { tried, initial_cost: Some(report.initial_cost), ..self.spent() }
    }

    /// Goes on where another's solve ended.
    pub fn succeed(&mut self, Spent { started_ms, tried, initial_cost }: Spent) {
        (self.started_ms, self.tried, self.initial_cost) = (started_ms, tried, initial_cost);
    }

    /// Why a solve that has spent so much may not go on.
    pub fn limit_of(&self, spent: Spent) -> Option<(Termination, String)> {
        self.limit(spent.started_ms?, spent.tried)
    }

    /// Takes a report back, since the solve goes on elsewhere: what it was made of belongs to a later one. What is known of the
    /// point is stale from now on.
    pub fn withdraw(&mut self, report: &Report) {
        self.concluded = false;
        self.first_iteration = self.iterations.len() as u32 - report.iterations.len() as u32;
        self.initial_cost = Some(report.initial_cost);
        self.moved[1] = self.moved[0].saturating_sub(report.moved_into_bounds);
        (self.offenders.count, self.offenders.first) = (report.non_finite, report.first_non_finite.clone());
        self.end_as(report.termination, report.reason.clone());
        self.revision = u64::MAX;
    }

    /// How this solve ended, for a checkpoint: whoever goes on from it ends at once, in the same way.
    pub fn end_as(&mut self, termination: Termination, reason: String) {
        self.ending = Some((termination, reason));
    }

    /// How many steps there are, of all solves.
    pub fn steps(&self) -> u32 {
        self.iterations.len() as u32
    }

    /// Takes a step that was made elsewhere for its own; gives it with its number among them.
    pub fn note(&mut self, step: Iteration) -> Iteration {
        let step = Iteration { index: self.steps(), ..step };
        self.iterations.push(step);
        self.tried += 1;
        step
    }

    /// All steps since the last report, after which the next begins.
    pub fn conclude(&mut self) -> Vec<Iteration> {
        let steps = self.steps();
        self.concluded = true;
        let first = std::mem::replace(&mut self.first_iteration, steps);
        (self.initial_cost, self.moved[1], self.offenders) = (None, self.moved[0], Offenders::default());
        self.iterations[first as usize..].to_vec()
    }
}

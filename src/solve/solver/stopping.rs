//! Stopping criteria of a solve: tests on its steps, limits of steps and time, and requests from outside.

use super::super::Termination;
use super::super::termination::Tests;
use leastwise_base::FileError;
use leastwise_base::clock::now_ms;
use leastwise_problem::file::bytes::{Reader, Writer};
use leastwise_problem::file::malformed;

#[derive(Default)]
pub(super) struct Stopping {
    /// Tests on how the last steps went.
    pub tests: Tests,
    /// Steps tried since the solver was (re)opened, and when that was.
    pub tried: u32,
    pub started_ms: Option<f64>,
    /// Reason to stop, once it was asked to.
    pub request: Option<String>,
    /// The ending, once a test has decided it.
    pub verdict: Option<(Termination, String)>,
    /// Least cost tolerance of this solve, if it is one of several.
    pub tolerance_floor: f64,
    /// True if it is not the first of several solves: what the first began with is kept.
    pub is_later: bool,
    /// True if the inner iterations of the step that is being played were cut short.
    pub truncated: bool,
    /// True if a checkpoint left it in the midst of a solve, within which the next call goes on.
    pub resumes: bool,
}

impl Stopping {
    /// Begins a solve; false if the solve of a checkpoint goes on instead.
    pub fn reopen(&mut self) -> bool {
        if std::mem::take(&mut self.resumes) {
            return false;
        }
        *self = Self::default();
        true
    }

    /// Begins the next of several solves; the time of all counts, and that one of them was to stop.
    pub fn continue_with(&mut self, tolerance_floor: f64) {
        (self.verdict, self.tests, self.tried) = (None, Tests::default(), 0);
        (self.truncated, self.tolerance_floor, self.is_later) = (false, tolerance_floor, true);
    }

    /// True if the solve is to end as soon as it can.
    pub fn is_late(&self, time_limit_ms: f64) -> bool {
        self.request.is_some() || self.started_ms.is_some_and(|started| now_ms() - started >= time_limit_ms)
    }

    /// Limit that ends a solve between steps, which began at a time and has tried so many.
    pub fn limit(&self, started: f64, tried: u32, most: u32, time_limit_ms: f64) -> Option<(Termination, String)> {
        if let Some(reason) = &self.request {
            return Some((Termination::Stopped, reason.clone()));
        }
        if tried >= most {
            return Some((Termination::MaxIterations, format!("maxIterations = {most} steps were tried")));
        }
        let elapsed = now_ms() - started;
        (elapsed >= time_limit_ms).then(|| (Termination::TimeLimit, format!("timeLimitMs = {time_limit_ms} ms are over")))
    }

    /// Writes the steps and the time so far.
    pub fn write(&self, to: &mut Writer) {
        self.tests.write(to);
        to.u32(self.tried);
        to.f64(self.started_ms.map_or(0.0, |started| now_ms() - started));
        to.flag(self.is_later);
    }

    pub fn write_verdict(&self, to: &mut Writer) {
        to.option(self.verdict.as_ref(), |to, (termination, reason)| {
            to.u32(*termination as u32);
            to.text(reason);
        });
    }

    /// The criteria of a solve that goes on.
    pub fn read(from: &mut Reader) -> Result<Self, FileError> {
        let (tests, tried, elapsed_ms, is_later) = (Tests::read(from)?, from.u32()?, from.f64()?, from.flag()?);
        Ok(Self { tests, tried, is_later, started_ms: Some(now_ms() - elapsed_ms), resumes: true, ..Self::default() })
    }

    pub fn read_verdict(&mut self, from: &mut Reader) -> Result<(), FileError> {
        self.verdict = from.option(|from| {
            let number = from.u32()?;
            let known = Termination::ALL.into_iter().find(|known| *known as u32 == number);
            Ok((known.ok_or_else(|| malformed("it ends for no reason that is known"))?, from.text()?))
        })?;
        Ok(())
    }
}

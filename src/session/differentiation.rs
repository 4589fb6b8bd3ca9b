//! Gradients through a solve, and graduated solves, as jobs.

use super::Session;
use super::job::{Job, Progress, Step};
use leastwise_device::Play;
use leastwise_error::Error;
use leastwise_outer::{BackwardOptions, GradientRequest, GradientRun, Graduation, Suspect};
use leastwise_solve::Options;
use leastwise_solve::graduated::Schedule;

struct GradientJob {
    problem: u32,
    run: Box<GradientRun>,
}

impl Job for GradientJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        let (devices, problem) = session.site(self.problem)?;
        Ok(Progress::of(self.run.resume(devices, problem, deadline)?, Progress::Gradients).into())
    }

    fn free(self: Box<Self>, session: &mut Session, _: u32) {
        self.run.free(&mut session.devices);
    }

    fn problem(&self) -> Option<u32> {
        Some(self.problem)
    }

    fn playing(&mut self) -> Option<&mut Play> {
        self.run.playing()
    }
}

struct GraduationJob {
    problem: u32,
    graduation: Box<Graduation>,
}

impl Job for GraduationJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        let (devices, problem) = session.site(self.problem)?;
        let turn = self.graduation.resume(devices, problem, deadline)?;
        Ok(Progress::of(turn, |graduated| Progress::Graduated(Box::new(graduated))).into())
    }

    fn stop(&mut self, _: &mut Session, reason: &str) {
        self.graduation.stop(reason);
    }

    fn free(self: Box<Self>, session: &mut Session, _: u32) {
        let problem = session.problems.get_mut(self.problem).map(|entry| &mut entry.problem);
        self.graduation.free(&mut session.devices, problem);
    }

    fn problem(&self) -> Option<u32> {
        Some(self.problem)
    }

    fn playing(&mut self) -> Option<&mut Play> {
        self.graduation.playing()
    }
}

impl Session {
    /// A task: dL/dθ with respect to data columns, weights, constants and what is held, for a function L of the solution of
    /// which ∂L/∂x is given: tables and how many values they have, and the values one after the other, with respect to stored
    /// scalars or (`tangent`) degrees of freedom.
    pub fn backward(
        &mut self,
        problem: u32,
        tables: &[u32],
        values: &[f64],
        tangent: bool,
        options: BackwardOptions,
    ) -> Result<u32, Error> {
        options.validate()?;
        let request = GradientRequest::new(&self.idle(problem)?.0.problem, tables, values, tangent, options)?;
        self.once_laid_out(problem, move |session| {
            let (devices, of) = session.site(problem)?;
            Ok(GradientJob { problem, run: Box::new(request.start(&mut devices.main, of)?) })
        })
    }

    /// A task: solves with the instances of these terms weighted by graduated non-convexity.
    pub fn graduated(&mut self, problem: u32, suspects: &[Suspect], schedule: Schedule, options: &Options) -> Result<u32, Error> {
        schedule.validate()?;
        let settings = options.settings()?;
        self.idle(problem)?.0.moves += 1;
        let (devices, of) = self.site(problem)?;
        let graduation = Graduation::new(devices, of, suspects, schedule, settings)?;
        self.start_task(problem, GraduationJob { problem, graduation: Box::new(graduation) })
    }
}

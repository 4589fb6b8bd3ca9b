//! Covariances and their blocks as jobs.

use super::Session;
use super::job::{Job, Progress, Step};
use leastwise_base::task::{Stopped, Task};
use leastwise_device::Play;
use leastwise_error::Error;
use leastwise_outer::CovarianceRun;
use leastwise_solve::covariance::{Blocks, Covariance, CovarianceOptions, Form, Summary};
use std::sync::Arc;

/// A covariance, and the problem that it is of.
pub(super) struct Entry {
    pub problem: u32,
    covariance: Arc<Covariance>,
}

/// A covariance on its way.
struct CovarianceJob {
    problem: u32,
    run: Box<CovarianceRun>,
}

impl Job for CovarianceJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        let (devices, problem) = session.site(self.problem)?;
        let covariance = match self.run.resume(devices, problem, deadline)?.outcome() {
            Ok(covariance) => covariance,
            Err(turn) => return Ok(Progress::of(turn, Progress::Values).into()),
        };
        let summary = covariance.summary.clone();
        let handle = session.next_covariance;
        session.next_covariance += 1;
        session.covariances.insert(handle, Entry { problem: self.problem, covariance: Arc::new(covariance) });
        Ok(Progress::Covariance(Box::new(Covaried { handle, summary })).into())
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

/// Blocks on their way.
struct BlocksJob {
    covariance: u32,
    task: Task<'static, Result<Vec<f64>, Stopped>>,
}

impl Job for BlocksJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        if !session.covariances.contains_key(&self.covariance) {
            return Err(Error::Disposed("covariance"));
        }
        Ok(Step::Progress(match self.task.resume(deadline) {
            Some(values) => Progress::Values(values?),
            None => Progress::Partly { done: self.task.done(), total: 1.0 },
        }))
    }

    fn free(self: Box<Self>, _: &mut Session, _: u32) {}
}

/// A new covariance: its handle, and what is known of it.
#[derive(serde::Serialize)]
pub struct Covaried {
    /// Handle of the covariance.
    pub handle: u32,
    /// Facts about the covariance as a whole.
    pub summary: Summary,
}

impl Session {
    /// A task: the covariance of a problem's variables at the accepted values.
    pub fn covariance(&mut self, problem: u32, options: CovarianceOptions) -> Result<u32, Error> {
        options.validate()?;
        CovarianceRun::check(&self.idle(problem)?.0.problem)?;
        self.once_laid_out(problem, move |session| {
            let (devices, of) = session.site(problem)?;
            Ok(CovarianceJob { problem, run: Box::new(CovarianceRun::new(&mut devices.main, of, options)?) })
        })
    }

    /// A task: blocks of a covariance, of instances that are given as table and instance one after the other; with
    /// themselves, with others, or with each other.
    pub fn covariance_blocks(
        &mut self,
        covariance: u32,
        of: &[u32],
        others: Option<&[u32]>,
        form: &str,
        lifted: bool,
    ) -> Result<u32, Error> {
        let pairs = |words: &[u32]| words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect::<Vec<(u32, u32)>>();
        let others = others.map(pairs);
        let known = self.covariances.get(&covariance).ok_or(Error::Disposed("covariance"))?.covariance.clone();
        let blocks = Blocks::new(&known, &pairs(of), others.as_deref(), Form::of_name(form)?, lifted)?;
        let task = Task::new(move |pace| async move { blocks.values(&known, &pace).await });
        Ok(self.add_task(BlocksJob { covariance, task }))
    }

    /// Frees a covariance. Tasks on its way keep what they need.
    pub fn free_covariance(&mut self, covariance: u32) {
        self.covariances.remove(&covariance);
    }
}

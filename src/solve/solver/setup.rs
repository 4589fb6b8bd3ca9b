//! The set-up of a solver in time slices: which linear solver there is, and the structure of its matrices. Until the end it is plain memory.

use super::super::assembly::Structure;
use super::super::descent::Descent;
use super::super::linear::host::Host;
use super::super::linear::two_level::{Plan, TwoLevel};
use super::super::linear::{Choice, Preconditioner, auto};
use super::super::{Needs, Workspace};
use super::{Settings, needs};
use leastwise_base::work::{Stopped, Work};
use leastwise_device::Device;
use leastwise_error::Error;
use leastwise_problem::{Links, Problem, Registry};

/// All that a solver has on the device and for its linear systems.
pub(super) struct Made {
    pub work: Workspace,
    pub choice: Choice,
    pub host: Option<Box<Host>>,
    pub two_level: Option<TwoLevel>,
    pub descent: Option<Descent>,
}

/// What is found out for a problem that is laid out, while its structure and the selection of its terms stay.
pub(super) struct SetUp {
    structure: u64,
    selection: u64,
    /// None where nothing is to be found out, and after the end.
    stage: Option<Stage>,
}

enum Stage {
    Choosing(Work<'static, Result<(Choice, Option<Structure>), Stopped>>),
    Patching(Choice, (Preconditioner, String), Work<'static, Result<Result<Plan, Error>, Stopped>>),
}

impl SetUp {
    pub fn new(settings: &Settings, device: &Device, problem: &Problem) -> Self {
        let stage = settings.method.descent().is_none().then(|| {
            let (wanted, links, facts) = (settings.linear.clone(), Links::new(problem), auto::Facts::new(device, problem));
            Stage::Choosing(Work::new(move |pace| async move { auto::choose(&wanted, &links, facts, &pace).await }))
        });
        Self { structure: problem.structure, selection: problem.selection, stage }
    }

    pub fn is_of(&self, problem: &Problem) -> bool {
        (self.structure, self.selection) == (problem.structure, problem.selection)
    }

    /// Goes on until the deadline, and makes all at the end; nothing is left behind when that fails.
    pub fn resume(
        &mut self,
        settings: &Settings,
        (device, registry, problem): (&mut Device, &mut Registry, &Problem),
        deadline_ms: f64,
    ) -> Result<Option<Made>, Error> {
        if let Some(rule) = settings.method.descent() {
            return with_workspace(device, problem, needs(settings), |device, work| {
                let descent = Descent::new(device, problem, rule, work)?;
                Ok((auto::Made { choice: descent.choice(), host: None, two_level: None }, Some(descent)))
            })
            .map(Some);
        }
        let (choice, preconditioner, plan) = match self.stage.take().ok_or(Error::Disposed("solver"))? {
            Stage::Choosing(mut work) => {
                let Some(found) = work.resume(deadline_ms) else {
                    self.stage = Some(Stage::Choosing(work));
                    return Ok(None);
                };
                let (mut choice, found) = found?;
                if choice.linear.is_on_host() {
                    let mut instead = None;
                    let made = with_workspace(device, problem, needs(settings), |device, _| {
                        match auto::on_host(&settings.linear, (choice, found), device, registry, problem)? {
                            Ok(made) => Ok((made, None)),
                            Err(choice) => {
                                let why = choice.why.clone();
                                instead = Some(choice);
                                Err(Error::Limits(why))
                            }
                        }
                    });
                    match instead {
                        None => return made.map(Some),
                        Some(other) => choice = other,
                    }
                }
                let (preconditioner, space) = auto::precondition(&settings.linear, problem, device.profile())?;
                if let Some(space) = space {
                    let links = Links::new(problem);
                    let work = Work::new(move |pace| async move { Plan::new(&links, space, &pace).await });
                    self.stage = Some(Stage::Patching(choice, preconditioner, work));
                    return self.resume(settings, (device, registry, problem), deadline_ms);
                }
                (choice, preconditioner, None)
            }
            Stage::Patching(choice, preconditioner, mut work) => match work.resume(deadline_ms) {
                Some(plan) => (choice, preconditioner, Some(plan?)),
                None => {
                    self.stage = Some(Stage::Patching(choice, preconditioner, work));
                    return Ok(None);
                }
            },
        };
        with_workspace(device, problem, needs(settings), |device, _| {
            auto::on_device(&settings.linear, choice, preconditioner, plan, (device, registry, problem)).map(|made| (made, None))
        })
        .map(Some)
    }
}

/// Makes a workspace and what goes with it.
fn with_workspace(
    device: &mut Device,
    problem: &Problem,
    needs: Needs,
    make: impl FnOnce(&mut Device, &Workspace) -> Result<(auto::Made, Option<Descent>), Error>,
) -> Result<Made, Error> {
    let work = Workspace::new(device, problem, needs)?;
    match make(device, &work) {
        Ok((auto::Made { choice, host, two_level }, descent)) => Ok(Made { work, choice, host, two_level, descent }),
        Err(error) => {
            work.buffers().into_iter().for_each(|buffer| device.free(buffer));
            Err(error)
        }
    }
}

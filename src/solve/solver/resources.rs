//! Resources of a solver, and their set-up in time slices: the choice of a linear solver, and the structure of its matrices.
//! Until its end a set-up is plain memory.

use super::super::descent::Descent;
use super::super::linear::direct::{Direct, Found};
use super::super::linear::{Choice, DeviceSolver, Linear, Planning, Preconditioner, choose};
use super::super::{Needs, Workspace};
use super::{Settings, needs};
use leastwise_base::task::{Stopped, Task};
use leastwise_device::{BufferId, Device};
use leastwise_error::Error;
use leastwise_problem::{Links, Problem, Registry};

/// Buffers and the linear solver of a solver, made for one structure of its problem.
pub(super) struct Resources {
    pub work: Workspace,
    pub choice: Choice,
    /// The linear solver, if it is on the host.
    pub host: Option<Box<Direct>>,
    /// The linear solver, if it is on the device and more than conjugate gradients with diagonal blocks.
    pub on_device: Option<Box<dyn DeviceSolver>>,
    /// Memory of a method that solves no linear system.
    pub descent: Option<Descent>,
}

impl Resources {
    /// Resources of a solver that is not set up yet.
    pub fn none(device: &Device) -> Self {
        let choice = Choice { linear: Linear::None, why: String::new(), preconditioner: None };
        Self { work: Workspace::empty(device), choice, host: None, on_device: None, descent: None }
    }

    pub fn buffers(&self) -> Vec<BufferId> {
        let of_descent = self.descent.iter().flat_map(Descent::buffers);
        let on_device = self.on_device.iter().flat_map(|solver| solver.buffers().to_vec());
        let of_host = self.host.iter().flat_map(|host| host.buffers());
        self.work.buffers().into_iter().chain(of_host).chain(on_device).chain(of_descent).collect()
    }

    /// True if something was made for the terms that are enabled.
    pub fn has_lists(&self) -> bool {
        self.host.is_some() || self.on_device.is_some()
    }
}

/// The set-up for a problem that is laid out, while its structure and the selection of its terms stay.
pub(super) struct SetUp {
    structure: u64,
    selection: u64,
    /// None where nothing is to be found out, and after the end.
    stage: Option<Stage>,
}

type Chosen = (Choice, Option<Found>);

/// The choice of a linear solver.
enum Choosing {
    /// It took no structure.
    AtOnce(Choice),
    ByCounts(Task<'static, Result<Choice, Stopped>>),
    ByStructure(Task<'static, Result<Chosen, Stopped>>),
}

impl Choosing {
    fn new(settings: &Settings, device: &Device, problem: &Problem) -> Self {
        let (wanted, links, facts) = (settings.linear.clone(), Links::new(problem), choose::Facts::new(device, problem));
        if let Some(choice) = choose::at_once(&wanted, &links, facts) {
            return Self::AtOnce(choice);
        }
        match choose::by_counts(&wanted, links, facts) {
            Ok(weighing) => Self::ByCounts(weighing),
            Err(links) => Self::ByStructure(Task::new(move |pace| async move { choose::choose(&wanted, &links, facts, &pace).await })),
        }
    }

    /// Goes on until the deadline; what is left to be done where that is not all.
    fn resume(self, deadline_ms: f64) -> Result<Result<Chosen, Stopped>, Self> {
        match self {
            Self::AtOnce(choice) => Ok(Ok((choice, None))),
            Self::ByCounts(mut task) => {
                task.resume(deadline_ms).map(|chosen| chosen.map(|choice| (choice, None))).ok_or(Self::ByCounts(task))
            }
            Self::ByStructure(mut task) => task.resume(deadline_ms).ok_or(Self::ByStructure(task)),
        }
    }
}

enum Stage {
    Choosing(Choosing),
    Planning(Choice, (Preconditioner, String), Planning),
}

impl SetUp {
    pub fn new(settings: &Settings, device: &Device, problem: &Problem) -> Self {
        let stage = settings.method.descent().is_none().then(|| Stage::Choosing(Choosing::new(settings, device, problem)));
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
    ) -> Result<Option<Resources>, Error> {
        if let Some(rule) = settings.method.descent() {
            return with_workspace(device, problem, needs(settings), |device, work| {
                let descent = Descent::new(device, problem, rule, work)?;
                Ok((choose::Made { choice: descent.choice(), host: None, on_device: None }, Some(descent)))
            })
            .map(Some);
        }
        let (choice, preconditioner, plan) = match self.stage.take().ok_or(Error::Internal("a solver was not set up"))? {
            Stage::Choosing(choosing) => {
                let (mut choice, found) = match choosing.resume(deadline_ms) {
                    Ok(chosen) => chosen?,
                    Err(left) => {
                        self.stage = Some(Stage::Choosing(left));
                        return Ok(None);
                    }
                };
                if choice.linear.is_on_host() {
                    let mut instead = None;
                    let made = with_workspace(device, problem, needs(settings), |device, _| {
                        match choose::on_host(&settings.linear, (choice, found), device, registry, problem)? {
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
                let (preconditioner, planning) = choose::precondition((&settings.linear, choice.linear), problem, device)?;
                if let Some(planning) = planning {
                    self.stage = Some(Stage::Planning(choice, preconditioner, planning));
                    return self.resume(settings, (device, registry, problem), deadline_ms);
                }
                (choice, preconditioner, None)
            }
            Stage::Planning(choice, preconditioner, mut task) => match task.resume(deadline_ms) {
                Some(plan) => (choice, preconditioner, Some(plan?)),
                None => {
                    self.stage = Some(Stage::Planning(choice, preconditioner, task));
                    return Ok(None);
                }
            },
        };
        with_workspace(device, problem, needs(settings), |device, _| {
            choose::on_device(&settings.linear, choice, preconditioner, plan, (device, registry, problem)).map(|made| (made, None))
        })
        .map(Some)
    }
}

/// Makes a workspace and what goes with it.
fn with_workspace(
    device: &mut Device,
    problem: &Problem,
    needs: Needs,
    make: impl FnOnce(&mut Device, &Workspace) -> Result<(choose::Made, Option<Descent>), Error>,
) -> Result<Resources, Error> {
    let work = Workspace::new(device, problem, needs)?;
    match make(device, &work) {
        Ok((choose::Made { choice, host, on_device }, descent)) => Ok(Resources { work, choice, host, on_device, descent }),
        Err(error) => {
            work.buffers().into_iter().for_each(|buffer| device.free(buffer));
            Err(error)
        }
    }
}

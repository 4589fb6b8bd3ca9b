//! Tuning: which schedule is the fastest for a problem's products on this device, and which evaluator for its programs
//! where there are two, measured.
//!
//! One schedule after the other is forced on all batches that it can be had for, and each batch's product is timed alone;
//! then, with the fastest ones, every program by one evaluator and by the other. The tuning table that comes of it is the only trace of the clock: from then on, choices are a pure function of it.

use super::Session;
use super::measure::Measure;
use super::task::Progress;
use leastwise_cpu::Evaluator;
use leastwise_device::{Command, Device, Dispatch};
use leastwise_error::Error;
use leastwise_problem::{Problem, Schedule, Tuning};
use leastwise_solve::{Needs, Workspace, state};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Products of a sample, until it is known how long they take; how long a sample should take, and how many there are.
const FIRST_REPEATS: u32 = 2;
const SAMPLE_MS: f64 = 10.0;
const SAMPLES: usize = 4;

pub(super) struct Tune {
    pub problem: u32,
    /// The table that was there before, which comes back if this one is not finished.
    before: Option<Tuning>,
    left: VecDeque<Schedule>,
    stage: Option<Stage>,
    /// Whether the problem is being laid out for what comes next.
    is_laying_out: bool,
    /// Milliseconds, by the key of a product.
    times: BTreeMap<String, BTreeMap<Schedule, f64>>,
    programs: Option<Programs>,
}

/// Times of one thing, the first of which only says how often the others repeat it.
struct Samples {
    repeats: u32,
    taken: Vec<f64>,
}

impl Samples {
    fn new() -> Self {
        Self { repeats: FIRST_REPEATS, taken: Vec::new() }
    }

    fn took(&mut self, ms: f64) {
        if self.repeats == FIRST_REPEATS {
            self.repeats = (SAMPLE_MS / ms.max(1e-3)).clamp(f64::from(FIRST_REPEATS + 1), 500.0) as u32;
        } else {
            self.taken.push(ms);
        }
    }

    /// The least, once there are enough. (What others do meanwhile only ever makes it slower.)
    fn least(&self) -> Option<f64> {
        (self.taken.len() >= SAMPLES).then(|| self.taken.iter().copied().fold(f64::INFINITY, f64::min))
    }
}

/// The programs that are measured by every evaluator.
struct Programs {
    work: Workspace,
    /// What comes before a measurement: all of them, once.
    prepare: Vec<Command>,
    /// Keys, dispatches and evaluators to do.
    left: VecDeque<(String, Command, Evaluator)>,
    measure: Option<Measure>,
    samples: Samples,
    times: BTreeMap<String, BTreeMap<Evaluator, f64>>,
}

/// A schedule that is being measured.
struct Stage {
    schedule: Schedule,
    work: Workspace,
    /// Batches to do.
    batches: VecDeque<usize>,
    measure: Option<Measure>,
    samples: Samples,
}

impl Session {
    /// The tuning table: what was measured on this device, or given.
    pub fn tuning(&self) -> &Tuning {
        &self.registry.tuning
    }

    /// Which schedules products are computed in and which evaluators programs are run by, where something was measured. Those of problems that are laid out
    /// already are chosen anew. Error `busy` while something runs.
    pub fn set_tuning(&mut self, tuning: Tuning) -> Result<(), Error> {
        tuning.check()?;
        if tuning == self.registry.tuning {
            return Ok(());
        }
        for problem in self.problems.handles() {
            self.idle(problem)?;
        }
        let Self { problems, device, registry, .. } = self;
        device.set_evaluators(tuning.evaluators());
        registry.tuning = tuning;
        problems.values_mut().for_each(|entry| entry.problem.forget_batches(device));
        Ok(())
    }

    /// A task that measures the products of a problem in every schedule, its programs by every evaluator, and puts the fastest
    /// ones in the tuning table.
    pub fn tune(&mut self, problem: u32) -> Result<u32, Error> {
        let (entry, ..) = self.idle(problem)?;
        if !entry.problem.has_enabled_terms() {
            return Err(Error::EmptyProblem("enabled residual terms"));
        }
        let before = Some(self.registry.tuning.clone());
        let tune =
            Tune { problem, before, left: Schedule::ALL.into(), stage: None, is_laying_out: false, times: BTreeMap::new(), programs: None };
        self.start_task(problem, super::task::Task::Tune(Box::new(tune)))
    }

    pub(super) fn resume_tune(&mut self, tune: &mut Tune, deadline: f64) -> Result<Progress, Error> {
        loop {
            let entry = self.problems.get_mut(tune.problem).ok_or(Error::Disposed("problem"))?;
            let Some(stage) = &mut tune.stage else {
                let Some(&schedule) = tune.left.front() else {
                    if let Some(progress) = self.resume_programs(tune, deadline)? {
                        return Ok(progress);
                    }
                    self.finish_tune(tune);
                    return Ok(Progress::Values(Vec::new()));
                };
                if !std::mem::replace(&mut tune.is_laying_out, true) {
                    self.registry.tuning = Tuning { products: [(Tuning::ANY.to_string(), schedule)].into(), ..Tuning::default() };
                    entry.problem.forget_batches(&mut self.device);
                }
                if !entry.problem.lay_out_until(&mut self.device, &mut self.registry, deadline)? {
                    return Ok(Progress::Yielded);
                }
                tune.is_laying_out = false;
                tune.left.pop_front();
                let work = Workspace::new(&mut self.device, &entry.problem, Needs::default())?;
                tune.stage = Some(Stage::new(schedule, work, &entry.problem));
                continue;
            };
            if let Some(measure) = &mut stage.measure {
                match self.resume_measure(measure, deadline)? {
                    Progress::Values(values) => {
                        stage.measure = None;
                        stage.samples.took(values[0]);
                    }
                    other => return Ok(other),
                }
                continue;
            }
            let Some(&number) = stage.batches.front() else {
                tune.stage.take().into_iter().for_each(|stage| stage.free(&mut self.device));
                continue;
            };
            let Some(least) = stage.samples.least() else {
                stage.sample(number, tune.problem, &mut entry.problem)?;
                continue;
            };
            let key = entry.problem.batches()[number].product.key.clone();
            tune.times.entry(key).or_default().insert(stage.schedule, least);
            stage.batches.pop_front();
            stage.samples = Samples::new();
        }
    }

    /// Measures programs, once products are; `None` when that is done.
    fn resume_programs(&mut self, tune: &mut Tune, deadline: f64) -> Result<Option<Progress>, Error> {
        if tune.programs.is_none() {
            if !std::mem::replace(&mut tune.is_laying_out, true) {
                let mut tuning = tune.before.clone().unwrap_or_default();
                tuning.products.extend(fastest(std::mem::take(&mut tune.times)));
                // From now on the products that were measured are the table's, whatever becomes of the rest.
                tune.before = Some(tuning.clone());
                self.retune(tune.problem, tuning);
            }
            let entry = self.problems.get_mut(tune.problem).ok_or(Error::Disposed("problem"))?;
            if !entry.problem.lay_out_until(&mut self.device, &mut self.registry, deadline)? {
                return Ok(Some(Progress::Yielded));
            }
            let work = Workspace::new(&mut self.device, &entry.problem, Needs::default())?;
            tune.programs = Some(Programs::new(work, &mut entry.problem, &self.device)?);
        }
        let Some(programs) = &mut tune.programs else { return Ok(None) };
        loop {
            if let Some(measure) = &mut programs.measure {
                match self.resume_measure(measure, deadline)? {
                    Progress::Values(values) => {
                        programs.measure = None;
                        programs.samples.took(values[0]);
                    }
                    other => return Ok(Some(other)),
                }
            }
            let Some((key, dispatch, evaluator)) = programs.left.front().cloned() else { return Ok(None) };
            if let Some(least) = programs.samples.least() {
                let ran = dispatched(&dispatch).and_then(|dispatch| self.device.evaluation_of(dispatch)).map(|ran| ran.evaluator);
                if ran == Some(evaluator) {
                    programs.times.entry(key).or_default().insert(evaluator, least);
                } else {
                    // There is no choice: it can't be compiled, or is too short.
                    programs.times.remove(&key);
                }
                programs.samples = Samples::new();
                programs.left.pop_front();
                continue;
            }
            let forced = Tuning { evaluators: [(Tuning::ANY.to_string(), evaluator)].into(), ..Tuning::default() };
            self.device.set_evaluators(forced.evaluators());
            let (prepare, repeats) = (programs.prepare.clone(), programs.samples.repeats);
            programs.measure = Some(Measure::new(Some(tune.problem), prepare, vec![dispatch], repeats, programs.work.state));
        }
    }

    /// The fastest join the table.
    fn finish_tune(&mut self, tune: &mut Tune) {
        let mut tuning = tune.before.take().unwrap_or_default();
        if let Some(programs) = tune.programs.take() {
            programs.work.buffers().into_iter().for_each(|buffer| self.device.free(buffer));
            tuning.evaluators.extend(fastest(programs.times));
        }
        self.retune(tune.problem, tuning);
    }

    /// Frees what a tuning that ends has left, and puts the table back if it did not come to its end.
    pub(super) fn end_tune(&mut self, mut tune: Tune) {
        if let Some(stage) = tune.stage.take() {
            stage.free(&mut self.device);
        }
        if let Some(programs) = tune.programs.take() {
            programs.work.buffers().into_iter().for_each(|buffer| self.device.free(buffer));
        }
        if let Some(before) = tune.before.take() {
            self.retune(tune.problem, before);
        }
    }

    fn retune(&mut self, problem: u32, tuning: Tuning) {
        self.device.set_evaluators(tuning.evaluators());
        self.registry.tuning = tuning;
        if let Some(entry) = self.problems.get_mut(problem) {
            entry.problem.forget_batches(&mut self.device);
        }
    }
}

/// For every key what took least; the first of equals.
fn fastest<T: Copy + Ord>(times: BTreeMap<String, BTreeMap<T, f64>>) -> impl Iterator<Item = (String, T)> {
    times.into_iter().filter_map(|(key, times)| {
        let fastest = times.iter().min_by(|a, b| a.1.total_cmp(b.1)).map(|(choice, _)| *choice);
        Some((key, fastest?))
    })
}

fn dispatched(command: &Command) -> Option<&Dispatch> {
    if let Command::Dispatch(dispatch) = command { Some(dispatch) } else { None }
}

impl Programs {
    fn new(work: Workspace, problem: &mut Problem, device: &Device) -> Result<Self, Error> {
        let mut prepare = problem.take_uploads();
        for (element, value) in [(state::LINEARIZED, 0.0), (state::SOLVED, 0.0)] {
            prepare.push(Command::UploadReals { buffer: work.state.buffer, offset: element, data: vec![value] });
        }
        work.differentiate(problem, &mut prepare)?;
        work.sum_batches(problem, |batch| batch.kernels.change, problem.arenas()?.1, &mut prepare);
        problem.enabled_batches().for_each(|batch| work.multiply_batch(batch, &mut prepare));
        let mut known = BTreeSet::new();
        let programs = prepare.iter().filter_map(|command| {
            let key = device.evaluation_of(dispatched(command)?)?.key;
            known.insert(key.clone()).then(|| Evaluator::ALL.map(|evaluator| (key.clone(), command.clone(), evaluator)))
        });
        let left = programs.flatten().collect();
        Ok(Self { work, prepare, left, measure: None, samples: Samples::new(), times: BTreeMap::new() })
    }
}

impl Stage {
    fn new(schedule: Schedule, work: Workspace, problem: &Problem) -> Self {
        // One batch of every kind, if the schedule can be had for it.
        let mut known = BTreeSet::new();
        let batches = problem
            .batches()
            .iter()
            .enumerate()
            .filter(|(_, batch)| batch.enabled && batch.product.schedule == schedule && known.insert(batch.product.key.clone()));
        let batches = batches.map(|(number, _)| number).collect();
        Self { schedule, work, batches, measure: None, samples: Samples::new() }
    }

    /// Begins to time the product of a batch.
    fn sample(&mut self, number: usize, id: u32, problem: &mut Problem) -> Result<(), Error> {
        let mut prepare = problem.take_uploads();
        for (element, value) in [(state::LINEARIZED, 0.0), (state::SOLVED, 0.0)] {
            prepare.push(Command::UploadReals { buffer: self.work.state.buffer, offset: element, data: vec![value] });
        }
        let batch = &problem.batches()[number];
        self.work.linearize(batch, problem.arenas()?.0, &mut prepare);
        let mut body = Vec::new();
        self.work.multiply_batch(batch, &mut body);
        prepare.extend(body.iter().cloned());
        self.measure = Some(Measure::new(Some(id), prepare, body, self.samples.repeats, self.work.state));
        Ok(())
    }

    fn free(self, device: &mut Device) {
        self.work.buffers().into_iter().for_each(|buffer| device.free(buffer));
    }
}

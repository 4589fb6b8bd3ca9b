//! Many small fits as jobs.

use super::Session;
use super::job::{Job, Progress, Step};
use super::wire;
use leastwise_device::{Device, Playing};
use leastwise_error::Error;
use leastwise_expr::{Expr, Graph, Leaf, tape};
use leastwise_fits::{Candidates, FitData, FitSet, Fitting, From, Options, Values};
use leastwise_problem::{Loss, Reals};
use leastwise_program::fit::{fit_parameter, fit_variable};
use leastwise_program::{FitLayout, FitModel, FitWeights, Likelihood, LossKind};

/// A model of fits, as it crosses.
pub struct FitSpec<'a> {
    /// Parameters of the model.
    pub parameters: u32,
    /// Numbers of those that are fitted, in ascending order.
    pub free: &'a [u32],
    /// Numbers of those that all fits share, which are fitted as well.
    pub common: &'a [u32],
    /// For each independent variable, 1 if all fits share its values, else 0.
    pub shared: &'a [u32],
    /// Weights.
    pub weights: FitWeights,
    /// True if fits differ in how many points they have.
    pub ragged: bool,
    /// True if free parameters have bounds.
    pub bounded: bool,
    /// True for Poisson's likelihood, which has no loss.
    pub poisson: bool,
    /// Loss of least squares.
    pub loss: Option<Loss>,
    /// Function of parameters, then variables.
    pub tape: &'a [u32],
    /// Its result.
    pub output: u32,
}

/// Compiles a model.
fn fitting(spec: &FitSpec, largest: f64) -> Result<Fitting, Error> {
    let refused = |error: tape::TapeError| Error::Tape { term: "fit".into(), error };
    let variables = spec.shared.len() as u32;
    // A source is a slot or a column of its own, whose components follow its first.
    let slots = (0..spec.parameters).map(|slot| Leaf::Slot { slot, component: 0 });
    let leaves = slots.chain((0..variables).map(fit_variable));
    let sources: Vec<tape::Source> = leaves.map(|leaf| tape::Source { leaf, width: 1 }).collect();
    let mut graph = Graph::new();
    tape::check_literals(spec.tape, largest).map_err(refused)?;
    let values = tape::read(&mut graph, spec.tape, &[spec.output], &sources).map_err(refused)?;
    let &[value] = &values[..] else {
        return Err(Error::InvalidOption(format!("fit(): the model gives {} scalars, but a datum is one", values.len())));
    };
    let parameters: Vec<Expr> = (0..spec.parameters).map(|number| graph.leaf(fit_parameter(number))).collect();
    let value = graph.substitute(&[value], |leaf| match leaf {
        Leaf::Slot { slot, .. } => Some(parameters[slot as usize]),
        _ => None,
    })[0];
    let likelihood = match &spec.loss {
        Some(_) if spec.poisson => {
            return Err(Error::InvalidOption("fit(): a loss is for least squares, and Poisson's likelihood has none".into()));
        }
        None if spec.poisson => Likelihood::Poisson,
        Some(loss) if *loss.kind != LossKind::Trivial => Likelihood::LeastSquares(Some((loss.kind.clone(), loss.parameters.clone()))),
        _ => Likelihood::LeastSquares(None),
    };
    if spec.free.windows(2).any(|pair| pair[0] >= pair[1]) || spec.free.last().is_some_and(|last| *last >= spec.parameters) {
        return Err(Error::InvalidOption("fit(): free parameters must be in ascending order, and there".into()));
    }
    let layout = FitLayout {
        parameters: spec.parameters,
        free: spec.free.to_vec(),
        variables: spec.shared.iter().map(|shared| *shared != 0).collect(),
        weights: spec.weights,
        ragged: spec.ragged,
        bounded: spec.bounded,
    };
    Fitting::with_shared(&FitModel { graph: &graph, value, likelihood: &likelihood }, layout, spec.common)
}

/// State of a set of fits.
struct FitJob(u32);

impl Job for FitJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        let Session { fit_sets, devices, .. } = session;
        let set = fit_sets.get_mut(self.0).ok_or(Error::Disposed("fits"))?;
        let progress = match set.resume(&mut devices.main, deadline)? {
            Some(Playing::Yielded) => Progress::Yielded,
            Some(Playing::Waiting(signal)) => Progress::Waiting(signal),
            Some(Playing::Finished(values)) => Progress::Values(values),
            None => {
                let (done, total) = set.progress();
                Progress::Partly { done, total }
            }
        };
        Ok(progress.into())
    }

    fn free(self: Box<Self>, session: &mut Session, _: u32) {
        let Session { fit_sets, devices, .. } = session;
        if let Some(set) = fit_sets.get_mut(self.0) {
            set.abandon(&mut devices.main);
        }
    }
}

/// Numbers of either precision.
fn values(reals: Reals<'_>) -> Values<'_> {
    match reals {
        Reals::F32(values) => Values::Singles(values),
        Reals::F64(values) => Values::Doubles(values),
    }
}

impl Session {
    /// A model of many small fits, as `packFitModel` of `ts/src/packed.ts` packs it.
    pub fn new_fit(&mut self, words: &[u32], reals: &[f64]) -> Result<u32, Error> {
        let largest = self.devices.main.precision().largest();
        let fitting = fitting(&wire::fit(words, reals)?, largest)?;
        Ok(self.fits.insert(Box::new(fitting)))
    }

    /// The same of a model that did not cross.
    pub fn add_fit(&mut self, spec: &FitSpec) -> Result<u32, Error> {
        let fitting = fitting(spec, self.devices.main.precision().largest())?;
        Ok(self.fits.insert(Box::new(fitting)))
    }

    /// Fits of so many points each that one set may have.
    pub fn fit_capacity(&self, fit: u32, points: u32) -> Result<u32, Error> {
        let fitting = self.fits.get(fit).ok_or(Error::Disposed("fit"))?;
        Ok(fitting.capacity(&self.devices.main, points))
    }

    /// Fits with data of their own on the device, which go there with the first task.
    #[expect(clippy::too_many_arguments, reason = "they cross one by one")]
    pub fn new_fits(
        &mut self,
        fit: u32,
        count: u32,
        points: u32,
        data: Reals,
        start: &[f64],
        bounds: &[f64],
        offsets: &[u32],
    ) -> Result<u32, Error> {
        let Self { fits, fit_sets, devices, .. } = self;
        let fitting = fits.get(fit).ok_or(Error::Disposed("fit"))?;
        let set = fitting.set(&mut devices.main, &FitData { count, points, data: values(data), start, bounds, offsets })?;
        Ok(fit_sets.insert(Box::new(set)))
    }

    /// A task of a set of fits, once it is begun.
    fn fits_task(&mut self, set: u32, begin: impl FnOnce(&mut FitSet, &mut Device) -> Result<(), Error>) -> Result<u32, Error> {
        let Self { fit_sets, devices, .. } = self;
        begin(fit_sets.get_mut(set).ok_or(Error::Disposed("fits"))?, &mut devices.main)?;
        Ok(self.add_task(FitJob(set)))
    }

    /// A task: uploads what is not on the device yet.
    pub fn upload_fits(&mut self, set: u32) -> Result<u32, Error> {
        self.fits_task(set, FitSet::upload)
    }

    /// A task: other data of as many points.
    pub fn write_fits(&mut self, set: u32, data: Reals) -> Result<u32, Error> {
        self.fits_task(set, |set, device| {
            set.write(values(data))?;
            set.upload(device)
        })
    }

    /// A task: fits, from starting values or (`keeps`) from the parameters that there are. `candidates` are rows of all parameters, of
    /// which those with bits in `given` are taken; fits are made from each and the best kept (`fitted`), or from the lowest objective.
    pub fn run_fits(
        &mut self,
        set: u32,
        keeps: bool,
        candidates: &[f64],
        given: u32,
        fitted: bool,
        options: &Options,
    ) -> Result<u32, Error> {
        let from = if keeps { From::Values } else { From::Start };
        let candidates = Candidates { rows: candidates, given, fitted };
        self.fits_task(set, |set, device| set.begin(device, from, &candidates, options))
    }

    /// A task: fits with other values of shared parameters ([`FitSet::begin_trial`]).
    pub fn try_fits(&mut self, set: u32, values: &[f64], keeps: bool, restores: bool, options: &Options) -> Result<u32, Error> {
        self.fits_task(set, |set, device| set.begin_trial(device, values, keeps, restores, options))
    }

    /// A task: sums over fits ([`FitSet::reduce`]).
    pub fn reduce_fits(&mut self, set: u32) -> Result<u32, Error> {
        self.fits_task(set, FitSet::reduce)
    }

    /// A task: standard errors ([`FitSet::spread`]).
    pub fn spread_fits(&mut self, set: u32, covariance: &[f64], restores: bool) -> Result<u32, Error> {
        self.fits_task(set, |set, device| set.spread(device, covariance, restores))
    }

    /// A task: fields of all fits, a column each ([`FitLayout`]).
    pub fn read_fits(&mut self, set: u32, first: u32, fields: u32) -> Result<u32, Error> {
        self.fits_task(set, |set, device| set.read(device, first, fields))
    }

    /// Frees fits and their data.
    pub fn free_fits(&mut self, set: u32) {
        if let Some(set) = self.fit_sets.remove(set) {
            set.free(&mut self.devices.main);
        }
    }

    /// Frees a model.
    pub fn free_fit(&mut self, fit: u32) {
        self.fits.remove(fit);
    }
}

//! The session, one to one, for Node-API. `ts/src/native.ts` is the interface that this is held to.

use crate::indices::answered;
use crate::objects::{from_js, to_js};
use crate::values::{Numbers, Weights, fail};
use leastwise::problem::{Loss, Reals, Tuning, unpack_shapes};
use leastwise::session::crossing::{self, Packed, State, Unpacked};
use leastwise::session::{BackwardOptions, Progress, Session, Suspect, Threaded};
use leastwise::solve::Options;
use leastwise::solve::covariance::CovarianceOptions;
use napi::bindgen_prelude::{
    Env, Float32ArraySlice, Float64ArraySlice, FromNapiValue, JsObjectValue, Object, Result, ToNapiValue, Uint32ArraySlice, Unknown,
};
use napi_derive::napi;

type Words<'a> = Option<Uint32ArraySlice<'a>>;
type Floats<'a> = Option<Float64ArraySlice<'a>>;

/// An engine: what it is asked for is done on the calling thread, what it is given time for on a thread of its own.
#[napi]
pub struct Engine {
    session: Threaded,
    adapter: String,
}

impl Engine {
    pub fn new(session: Threaded, adapter: String) -> Self {
        Self { session, adapter }
    }

    pub(crate) fn post(&self, work: impl FnOnce(&mut Session) + Send + 'static) {
        self.session.post(work);
    }

    pub(crate) fn call<T>(&self, env: &Env, work: impl FnOnce(&mut Session) -> std::result::Result<T, leastwise::Error>) -> Result<T> {
        self.session.call(work).map_err(|failure| fail(env, failure))
    }
}

#[napi]
impl Engine {
    #[napi(getter)]
    pub fn counters<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        to_js(env, &self.call(env, |session| Ok(session.counters()))?)
    }

    #[napi(getter)]
    pub fn adapter(&self) -> String {
        self.adapter.clone()
    }

    /// Why there are no double-floats.
    #[napi(getter)]
    pub fn doubles(&self) -> String {
        leastwise::device::NO_NEED_OF_DOUBLES.into()
    }

    #[napi]
    pub fn problem(&self, env: &Env) -> Result<u32> {
        self.call(env, |session| Ok(session.problem()))
    }

    #[napi]
    pub fn free_problem(&self, problem: u32) {
        self.session.post(move |session| session.free_problem(problem));
    }

    /// `shape` is as `ts/src/shape.ts` packs it.
    #[napi]
    pub fn table(&self, env: &Env, problem: u32, name: String, shape: &[u32], values: Unknown, moving: bool) -> Result<u32> {
        let values = Numbers::read(env, values)?;
        self.call(env, |session| session.table_of(problem, &name, unpack_shapes(shape)?, values.reals(), moving))
    }

    #[napi]
    pub fn write_table(&self, env: &Env, problem: u32, table: u32, values: Unknown, at: Words) -> Result<()> {
        let values = Numbers::read(env, values)?;
        self.call(env, |session| session.write_table(problem, table, values.reals(), at.as_deref()))
    }

    #[napi]
    pub fn fix_table(&self, env: &Env, problem: u32, table: u32, at: Words, components: Words) -> Result<()> {
        self.call(env, |session| session.fix_table(problem, table, at.as_deref(), components.as_deref()))
    }

    #[napi]
    pub fn unfix_table(&self, env: &Env, problem: u32, table: u32, at: Words) -> Result<()> {
        self.call(env, |session| session.unfix_table(problem, table, at.as_deref()))
    }

    #[napi]
    pub fn bound_table(&self, env: &Env, problem: u32, table: u32, lower: Floats, upper: Floats) -> Result<()> {
        let [lower, upper] = [&lower, &upper].map(|given| given.as_deref().map(Reals::F64));
        self.call(env, |session| session.bound_table(problem, table, lower, upper))
    }

    #[napi]
    pub fn read_table(&self, env: &Env, problem: u32, table: u32) -> Result<u32> {
        self.call(env, |session| session.read_table(problem, table))
    }

    /// The last values that the host knows; also where the device is gone.
    #[napi]
    pub fn known_table<'env>(&self, env: &'env Env, problem: u32, table: u32) -> Result<Float64ArraySlice<'env>> {
        Float64ArraySlice::from_data(env, self.call(env, |session| session.known_table(problem, table))?)
    }

    /// Nothing that JavaScript could draw from lies here.
    #[napi]
    pub fn view_table(&self, _problem: u32, _table: u32, _width: u32) {}

    /// `words` and `reals` are as `ts/src/crossing.ts` packs them.
    #[napi]
    pub fn term(&self, env: &Env, problem: u32, name: String, columns: String, words: &[u32], reals: &[f64]) -> Result<u32> {
        let packed = Packed { name: &name, columns: &columns, words, reals };
        self.call(env, |session| match packed.read()? {
            Unpacked::Plain(spec) => session.term(problem, spec),
            Unpacked::Constraint(spec, relation) => session.constraint(problem, spec, relation),
            Unpacked::Summed(spec) => session.summed_term(problem, spec),
            Unpacked::Ragged(spec) => session.ragged_term(problem, spec),
        })
    }

    /// A task: clusters of points.
    #[napi]
    pub fn cluster(&self, env: &Env, points: Unknown, options: Unknown) -> Result<u32> {
        let points = Numbers::read(env, points)?;
        let options = from_js(options)?;
        self.call(env, |session| session.cluster(leastwise::session::singles(points.reals())?, &options))
    }

    #[napi]
    pub fn set_column(&self, env: &Env, problem: u32, term: u32, column: u32, values: Unknown) -> Result<()> {
        let values = Numbers::read(env, values)?;
        self.call(env, |session| session.set_column(problem, term, column, values.reals()))
    }

    #[napi]
    pub fn set_weight(&self, env: &Env, problem: u32, term: u32, weight: Unknown) -> Result<()> {
        let weight = Weights::read(env, weight)?;
        self.call(env, |session| session.set_weight(problem, term, weight.weight()))
    }

    /// A loss as `ts/src/loss.ts` packs it.
    #[napi]
    pub fn set_loss(&self, env: &Env, problem: u32, term: u32, words: &[u32], reals: &[f64]) -> Result<()> {
        self.call(env, |session| session.set_loss(problem, term, &Loss::unpack(words, reals)?))
    }

    #[napi]
    pub fn set_enabled(&self, env: &Env, problem: u32, term: u32, enabled: bool) -> Result<()> {
        self.call(env, |session| session.set_enabled(problem, term, enabled))
    }

    #[napi]
    pub fn free_term(&self, env: &Env, problem: u32, term: u32) -> Result<()> {
        self.call(env, |session| session.free_term(problem, term))
    }

    #[napi]
    pub fn term_costs(&self, env: &Env, problem: u32, term: u32) -> Result<u32> {
        self.call(env, |session| session.term_costs(problem, term))
    }

    #[napi]
    pub fn evaluate_term(&self, env: &Env, problem: u32, term: u32, hessian: Option<String>) -> Result<u32> {
        self.call(env, |session| session.evaluate_term(problem, term, crossing::hessian(hessian.as_deref())?))
    }

    #[napi]
    pub fn check_term(&self, env: &Env, problem: u32, term: u32) -> Result<u32> {
        self.call(env, |session| session.check_term(problem, term))
    }

    #[napi]
    pub fn multipliers(&self, env: &Env, problem: u32, term: u32) -> Result<u32> {
        self.call(env, |session| session.read_multipliers(problem, term))
    }

    #[napi]
    pub fn describe_term<'env>(&self, env: &'env Env, problem: u32, term: u32) -> Result<Unknown<'env>> {
        to_js(env, &self.call(env, |session| session.describe_term(problem, term))?)
    }

    #[napi]
    pub fn stats<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        to_js(env, &self.call(env, |session| Ok(session.stats()))?)
    }

    #[napi]
    pub fn tune(&self, env: &Env, problem: u32) -> Result<u32> {
        self.call(env, |session| session.tune(problem))
    }

    #[napi]
    pub fn tuning(&self, env: &Env) -> Result<Vec<String>> {
        self.call(env, |session| Ok(crossing::tuning(session.tuning())))
    }

    #[napi]
    pub fn set_tuning(&self, env: &Env, keys: Vec<String>, choices: Vec<String>) -> Result<()> {
        self.call(env, |session| session.set_tuning(Tuning::of_names(keys, &choices)?))
    }

    #[napi]
    pub fn solver(&self, env: &Env, problem: u32, options: Unknown) -> Result<u32> {
        let options = from_js::<Options>(options).map_err(|error| leastwise::Error::InvalidOption(error.reason.clone()));
        self.call(env, |session| session.solver(problem, &options?))
    }

    #[napi]
    pub fn solve(&self, env: &Env, solver: u32, mode: String) -> Result<u32> {
        self.call(env, |session| session.solve(solver, crossing::mode(&mode)))
    }

    #[napi]
    pub fn advance(&self, env: &Env, solver: u32, iterations: u32, budget_ms: f64) -> Result<Option<Vec<u32>>> {
        let advanced = self.call(env, |session| session.advance(solver, iterations, budget_ms))?;
        Ok(advanced.map(|steps| vec![steps.accepted, steps.rejected, steps.unfinished]))
    }

    #[napi]
    pub fn report(&self, env: &Env, solver: u32) -> Result<u32> {
        self.call(env, |session| session.report(solver))
    }

    /// A task whose answer is a checkpoint.
    #[napi]
    pub fn save_solver(&self, env: &Env, solver: u32) -> Result<u32> {
        self.call(env, |session| session.save(solver))
    }

    #[napi]
    pub fn restore_solver(&self, env: &Env, solver: u32, file: &[u8]) -> Result<()> {
        self.call(env, |session| session.restore(solver, file))
    }

    #[napi]
    pub fn free_solver(&self, solver: u32) {
        self.session.post(move |session| session.free_solver(solver));
    }

    /// A task that lays a problem out, where that takes long.
    #[napi]
    pub fn lay_out(&self, env: &Env, problem: u32) -> Result<Option<u32>> {
        self.call(env, |session| session.lay_out(problem))
    }

    /// A task: the covariance of a problem's variables.
    #[napi]
    pub fn covariance(
        &self,
        env: &Env,
        problem: u32,
        variance: Option<f64>,
        pseudo_inverse: bool,
        rank_tolerance: Option<f64>,
    ) -> Result<u32> {
        let options = CovarianceOptions { variance, pseudo_inverse, rank_tolerance };
        self.call(env, |session| session.covariance(problem, options))
    }

    /// A task: blocks of a covariance.
    #[napi]
    pub fn covariance_blocks(&self, env: &Env, covariance: u32, of: &[u32], others: Words, form: String, lifted: bool) -> Result<u32> {
        self.call(env, |session| session.covariance_blocks(covariance, of, others.as_deref(), &form, lifted))
    }

    #[napi]
    pub fn free_covariance(&self, covariance: u32) {
        self.session.post(move |session| session.free_covariance(covariance));
    }

    /// A task: the gradient of a function of the solution with respect to what the solution depends on.
    #[napi]
    #[allow(clippy::too_many_arguments)]
    pub fn backward(
        &self,
        env: &Env,
        problem: u32,
        tables: &[u32],
        values: &[f64],
        tangent: bool,
        least_norm: bool,
        rank_tolerance: Option<f64>,
        stationary_tolerance: Option<f64>,
    ) -> Result<u32> {
        let options = BackwardOptions { least_norm, rank_tolerance, stationary_tolerance };
        self.call(env, |session| session.backward(problem, tables, values, tangent, options))
    }

    /// A task: a solve with weights by graduated non-convexity.
    #[napi]
    #[allow(clippy::too_many_arguments)]
    pub fn graduated(
        &self,
        env: &Env,
        problem: u32,
        terms: &[u32],
        thresholds: &[f64],
        known: &[u32],
        cost: String,
        step: Option<f64>,
        max_rounds: Option<f64>,
        cost_tolerance: Option<f64>,
        options: Unknown,
    ) -> Result<u32> {
        let options = from_js::<Options>(options).map_err(|error| leastwise::Error::InvalidOption(error.reason.clone()));
        self.call(env, |session| {
            let suspects = Suspect::unpack(terms, thresholds, known)?;
            session.graduated(problem, &suspects, crossing::graduation(&cost, step, max_rounds, cost_tolerance)?, &options?)
        })
    }

    #[napi]
    pub fn measure(&self, env: &Env, solver: u32, what: String, repeats: u32) -> Result<u32> {
        self.call(env, |session| session.measure(solver, crossing::measured(&what), repeats))
    }

    #[napi]
    pub fn measure_copy(&self, env: &Env, bytes: f64, repeats: u32) -> Result<u32> {
        self.call(env, |session| session.measure_copy(bytes, repeats))
    }

    #[napi]
    pub fn traffic<'env>(&self, env: &'env Env, solver: u32) -> Result<Unknown<'env>> {
        to_js(env, &self.call(env, |session| session.traffic(solver))?)
    }

    /// Either what the task has come to since it was resumed last, or a promise of that.
    #[napi]
    pub fn resume<'env>(&self, env: &'env Env, task: u32, budget_ms: f64) -> Result<Unknown<'env>> {
        let Some(outcome) = self.session.outcome(task) else {
            let (deferred, promise) = env.create_deferred()?;
            self.session.resume(task, budget_ms, move || deferred.resolve(|_| Ok(())));
            return with(env, State::Waiting, "ready", promise);
        };
        match outcome.map_err(|failure| fail(env, failure))? {
            Progress::Yielded | Progress::Waiting(_) => to_js(env, &State::Yielded),
            Progress::Iteration(iteration) => to_js(env, &State::Iteration { iteration }),
            Progress::Report(report) => to_js(env, &State::Done { report: Some(&report) }),
            Progress::Stepped => to_js(env, &State::Done { report: None }),
            Progress::Partly { done, total } => to_js(env, &State::Progress { done, total }),
            Progress::Answer(answer) => {
                let (key, value) = answered(env, answer)?;
                with(env, State::Done { report: None }, key, value)
            }
            Progress::Covariance(made) => with(env, State::Done { report: None }, "covariance", to_js(env, &made)?),
            Progress::Gradients(mut made) => {
                let values = std::mem::take(&mut made.values);
                let mut object = Object::from_unknown(to_js(env, &made)?)?;
                object.set_named_property("values", Float64ArraySlice::from_data(env, values)?)?;
                with(env, State::Done { report: None }, "gradients", object)
            }
            Progress::Graduated(mut made) => {
                let weights = std::mem::take(&mut made.weights);
                let mut object = Object::from_unknown(to_js(env, &made)?)?;
                object.set_named_property("weights", Float64ArraySlice::from_data(env, weights)?)?;
                with(env, State::Done { report: None }, "graduated", object)
            }
            Progress::Clustering(outcome) => {
                let mut object = Object::from_unknown(to_js(env, &outcome)?)?;
                object.set_named_property("centroids", Float32ArraySlice::from_data(env, outcome.centroids)?)?;
                object.set_named_property("labels", Uint32ArraySlice::from_data(env, outcome.labels)?)?;
                object.set_named_property("counts", Uint32ArraySlice::from_data(env, outcome.counts)?)?;
                with(env, State::Done { report: None }, "clustering", object)
            }
            Progress::Values(values) => with(env, State::Done { report: None }, "values", Float64ArraySlice::from_data(env, values)?),
        }
    }

    /// Whether a solve waits for kernels, or it can't be told.
    #[napi]
    pub fn awaits_kernels(&self, env: &Env, task: u32) -> Result<bool> {
        self.call(env, move |session| Ok(session.awaits_kernels(task)))
    }

    #[napi]
    pub fn stop(&self, task: u32, reason: String) {
        self.session.post(move |session| session.stop(task, &reason));
    }

    #[napi]
    pub fn abort(&self, task: u32) {
        self.session.abort(task);
    }

    #[napi]
    pub fn cancel(&self, task: u32) {
        self.session.cancel(task);
    }

    #[napi]
    pub fn dispose(&self) {
        self.session.dispose();
    }
}

fn with<'env>(env: &'env Env, state: State, key: &str, value: impl ToNapiValue) -> Result<Unknown<'env>> {
    let mut object = Object::from_unknown(to_js(env, &state)?)?;
    object.set_named_property(key, value)?;
    object.into_unknown(env)
}

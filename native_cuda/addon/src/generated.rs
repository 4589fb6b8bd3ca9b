// Written by `npm run generate` from src/session/surface.idl. Do not edit.
//! Methods of the engine that are the same on every host.
#![allow(clippy::too_many_arguments)]

use crate::engine::Engine;
use crate::objects::to_js;
use crate::values::{read_reals, read_record, read_vectors, read_weight};
use leastwise::session::surface::*;
use napi::bindgen_prelude::{Env, Float32ArraySlice, Float64ArraySlice, Result, Uint8ArraySlice, Uint32ArraySlice, Unknown};
use napi_derive::napi;

#[napi]
impl Engine {
    #[napi(getter)]
    pub fn counters<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        to_js(env, &self.call(env, |session| Ok(session.counters()))?)
    }

    #[napi]
    pub fn problem(&self, env: &Env) -> Result<u32> {
        self.call(env, |session| Ok(session.problem()))
    }

    #[napi]
    pub fn free_problem(&self, problem: u32) {
        self.post(move |session| session.free_problem(problem));
    }

    /// A table of instances of a shape, as `packed.ts` packs its parts. `moving` tells variables from constants.
    #[napi]
    pub fn table(&self, env: &Env, problem: u32, name: String, shape: &[u32], values: Unknown, moving: bool) -> Result<u32> {
        let name = name.as_str();
        let values = read_reals(env, values)?;
        let values = values.reals();
        self.call(env, |session| session.table_of(problem, name, wire::shapes(shape)?, values, moving))
    }

    /// Overwrites instances (all, or those in `at`).
    #[napi]
    pub fn write_table(&self, env: &Env, problem: u32, table: u32, values: Unknown, at: Option<Uint32ArraySlice>) -> Result<()> {
        let values = read_reals(env, values)?;
        let values = values.reals();
        let at = at.as_deref();
        self.call(env, |session| session.write_table(problem, table, values, at))
    }

    /// Overwrites a table by a linear combination of tables, on the device, with the values that the next step begins with.
    #[napi]
    pub fn combine_tables(&self, env: &Env, problem: u32, table: u32, sources: &[u32], factors: &[f64]) -> Result<()> {
        self.call(env, |session| session.combine_tables(problem, table, sources, factors))
    }

    /// Fixes instances (all, or those in `at`), whole or some components. Edits cost one upload.
    #[napi]
    pub fn fix_table(
        &self,
        env: &Env,
        problem: u32,
        table: u32,
        at: Option<Uint32ArraySlice>,
        components: Option<Uint32ArraySlice>,
    ) -> Result<()> {
        let at = at.as_deref();
        let components = components.as_deref();
        self.call(env, |session| session.fix_table(problem, table, at, components))
    }

    #[napi]
    pub fn unfix_table(&self, env: &Env, problem: u32, table: u32, at: Option<Uint32ArraySlice>) -> Result<()> {
        let at = at.as_deref();
        self.call(env, |session| session.unfix_table(problem, table, at))
    }

    /// Limits: one, one a component, or one a component of every instance. What is undefined stays as it was.
    #[napi]
    pub fn bound_table(
        &self,
        env: &Env,
        problem: u32,
        table: u32,
        lower: Option<Float64ArraySlice>,
        upper: Option<Float64ArraySlice>,
    ) -> Result<()> {
        let lower = lower.as_deref();
        let upper = upper.as_deref();
        self.call(env, |session| session.bound_table(problem, table, lower.map(Reals::F64), upper.map(Reals::F64)))
    }

    /// A task whose `done` carries the table's accepted values.
    #[napi]
    pub fn read_table(&self, env: &Env, problem: u32, table: u32) -> Result<u32> {
        self.call(env, |session| session.read_table(problem, table))
    }

    /// True if a solve waits for kernels to be compiled, or if that is unknown.
    #[napi]
    pub fn awaits_kernels(&self, env: &Env, task: u32) -> Result<bool> {
        self.call(env, |session| Ok(session.awaits_kernels(task)))
    }

    /// The last values that the host knows; also where the device is gone.
    #[napi]
    pub fn known_table<'env>(&self, env: &'env Env, problem: u32, table: u32) -> Result<Float64ArraySlice<'env>> {
        Float64ArraySlice::from_data(env, self.call(env, |session| session.known_table(problem, table))?)
    }

    /// Normals of a table's instances, which are the vertices of triangles, in a buffer of their own.
    #[napi]
    pub fn normals(&self, env: &Env, problem: u32, table: u32, triangles: &[u32]) -> Result<u32> {
        self.call(env, |session| session.normals(problem, table, triangles))
    }

    /// A task: the normals at the accepted values, which are its `values` if they are read.
    #[napi]
    pub fn compute_normals(&self, env: &Env, normals: u32, read: bool) -> Result<u32> {
        self.call(env, |session| session.compute_normals(normals, read))
    }

    /// Computes them without waiting. On a GPU their kernel has to be compiled, by a task that computed them before.
    #[napi]
    pub fn update_normals(&self, env: &Env, normals: u32) -> Result<()> {
        self.call(env, |session| session.update_normals(normals))
    }

    #[napi]
    pub fn free_normals(&self, normals: u32) {
        self.post(move |session| session.free_normals(normals));
    }

    /// Validates, reads, differentiates what is new. `wire.ts` says how a term is packed; `columns` are names, with a NUL after each.
    /// Large arrays cross by themselves, uncopied where the host allows it: the index table `over`, row by row, and the first of the longest lists of reals.
    #[napi]
    pub fn term(
        &self,
        env: &Env,
        problem: u32,
        name: String,
        columns: String,
        words: &[u32],
        reals: &[f64],
        over: Option<Uint32ArraySlice>,
        longest: Option<Float64ArraySlice>,
    ) -> Result<u32> {
        let name = name.as_str();
        let columns = columns.as_str();
        let over = over.as_deref();
        let longest = longest.as_deref();
        self.call(env, |session| session.packed_term(problem, name, &wire::CrossedTerm { columns, words, reals, over, longest }))
    }

    /// Replaces one column's values (same length), recompiling nothing.
    #[napi]
    pub fn set_column(&self, env: &Env, problem: u32, term: u32, column: u32, values: Unknown) -> Result<()> {
        let values = read_reals(env, values)?;
        let values = values.reals();
        self.call(env, |session| session.set_column(problem, term, column, values))
    }

    #[napi]
    pub fn set_weight(&self, env: &Env, problem: u32, term: u32, weight: Unknown) -> Result<()> {
        let weight = read_weight(env, weight)?;
        let weight = weight.weight();
        self.call(env, |session| session.set_weight(problem, term, weight))
    }

    /// Replaces the parameters of a term's loss, of the same kind; it is packed as `packed.ts` packs one.
    #[napi]
    pub fn set_loss(&self, env: &Env, problem: u32, term: u32, words: &[u32], reals: &[f64]) -> Result<()> {
        self.call(env, |session| session.set_loss(problem, term, &wire::loss(words, reals)?))
    }

    #[napi]
    pub fn set_enabled(&self, env: &Env, problem: u32, term: u32, enabled: bool) -> Result<()> {
        self.call(env, |session| session.set_enabled(problem, term, enabled))
    }

    #[napi]
    pub fn free_term(&self, env: &Env, problem: u32, term: u32) -> Result<()> {
        self.call(env, |session| session.free_term(problem, term))
    }

    /// A task: the cost of every instance, ½ w ρ(‖r‖²), at the accepted values.
    #[napi]
    pub fn term_costs(&self, env: &Env, problem: u32, term: u32) -> Result<u32> {
        self.call(env, |session| session.term_costs(problem, term))
    }

    /// A task: r, then J, then the Hessian if it is wanted, of every instance at the accepted values, row by row.
    #[napi]
    pub fn evaluate_term(&self, env: &Env, problem: u32, term: u32, hessian: Option<String>) -> Result<u32> {
        self.call(env, |session| {
            let hessian = hessian.as_deref().map(wire::hessian).transpose()?;
            session.evaluate_term(problem, term, hessian)
        })
    }

    /// A task: error, instance, row, slot, component, derivative and difference of the worst entry of J.
    #[napi]
    pub fn check_term(&self, env: &Env, problem: u32, term: u32) -> Result<u32> {
        self.call(env, |session| session.check_term(problem, term))
    }

    /// A task: λ of all rows of a constraint.
    #[napi]
    pub fn multipliers(&self, env: &Env, problem: u32, term: u32) -> Result<u32> {
        self.call(env, |session| session.read_multipliers(problem, term))
    }

    /// The statistics of a term's kernels. For benchmarks and tests.
    #[napi]
    pub fn describe_term<'env>(&self, env: &'env Env, problem: u32, term: u32) -> Result<Unknown<'env>> {
        to_js(env, &self.call(env, |session| session.describe_term(problem, term))?)
    }

    #[napi]
    pub fn stats<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        to_js(env, &self.call(env, |session| Ok(session.stats()))?)
    }

    /// A task: measures the products of a problem in every schedule and its programs by every evaluator, and puts the fastest in the tuning table.
    #[napi]
    pub fn tune(&self, env: &Env, problem: u32) -> Result<u32> {
        self.call(env, |session| session.tune(problem))
    }

    /// The tuning table: keys, and after all of these their schedules and evaluators.
    #[napi]
    pub fn tuning(&self, env: &Env) -> Result<Vec<String>> {
        self.call(env, |session| Ok(wire::tuning(session.tuning())))
    }

    /// Gives a table back; `choices` are those of `keys`.
    #[napi]
    pub fn set_tuning(&self, env: &Env, keys: Vec<String>, choices: Vec<String>) -> Result<()> {
        self.call(env, |session| session.set_tuning(Tuning::of_names(keys, &choices)?))
    }

    /// Solver of a problem. Error `busy` while another task of the problem runs.
    #[napi]
    pub fn solver(&self, env: &Env, problem: u32, options: Unknown) -> Result<u32> {
        let options: leastwise::solve::Options = read_record(env, options)?;
        let options = &options;
        self.call(env, |session| session.solver(problem, options))
    }

    /// A solver that is set up by its first task.
    #[napi]
    pub fn later_solver(&self, env: &Env, problem: u32, options: Unknown) -> Result<u32> {
        let options: leastwise::solve::Options = read_record(env, options)?;
        let options = &options;
        self.call(env, |session| session.later_solver(problem, options))
    }

    /// Features that a solve may use: solvers on the host, two levels, methods without a linear system, and constraints; each 0 or 1.
    #[napi]
    pub fn reach<'env>(&self, env: &'env Env, problem: u32, options: Unknown) -> Result<Uint32ArraySlice<'env>> {
        let options: leastwise::solve::Options = read_record(env, options)?;
        let options = &options;
        Uint32ArraySlice::from_data(env, self.call(env, |session| session.reach(problem, options))?)
    }

    /// A task. `step`: stops (state `done`, no report) after one iteration.
    #[napi]
    pub fn solve(&self, env: &Env, solver: u32, mode: String) -> Result<u32> {
        self.call(env, |session| {
            let mode = wire::mode(&mode)?;
            session.solve(solver, mode)
        })
    }

    /// Live use: at most `iterations` more steps, none of them waited for. On the CPU works until `budgetMs`. Gives the steps accepted, rejected and
    /// unfinished, once they are known.
    #[napi]
    pub fn advance<'env>(&self, env: &'env Env, solver: u32, iterations: u32, budget_ms: f64) -> Result<Option<Uint32ArraySlice<'env>>> {
        self.call(env, |session| {
            Ok(session.advance(solver, iterations, budget_ms)?.map(|steps| vec![steps.accepted, steps.rejected, steps.unfinished]))
        })?
        .map(|made| Uint32ArraySlice::from_data(env, made))
        .transpose()
    }

    /// A task: brings the state back; its `done` carries the report.
    #[napi]
    pub fn report(&self, env: &Env, solver: u32) -> Result<u32> {
        self.call(env, |session| session.report(solver))
    }

    /// A task whose `done` carries a checkpoint's bytes. Also between two iterations of a solve of this solver.
    #[napi]
    pub fn save_solver(&self, env: &Env, solver: u32) -> Result<u32> {
        self.call(env, |session| session.save(solver))
    }

    #[napi]
    pub fn restore_solver(&self, env: &Env, solver: u32, file: &[u8]) -> Result<()> {
        self.call(env, |session| session.restore(solver, file))
    }

    /// Forgets damping, trust radius and histories: the next step is made as the first one.
    #[napi]
    pub fn reset_solver(&self, env: &Env, solver: u32) -> Result<()> {
        self.call(env, |session| session.reset_solver(solver))
    }

    #[napi]
    pub fn free_solver(&self, solver: u32) {
        self.post(move |session| session.free_solver(solver));
    }

    /// A task: solves with weights by graduated non-convexity; iterations of all solves are told. `terms`: term and number of known inliers, one after the
    /// other; `known`: these. `cost`: "tls" or "gm".
    #[napi]
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
        let cost = cost.as_str();
        let options: leastwise::solve::Options = read_record(env, options)?;
        let options = &options;
        self.call(env, |session| {
            session.graduated(
                problem,
                &Suspect::unpack(terms, thresholds, known)?,
                wire::graduation(cost, step, max_rounds, cost_tolerance)?,
                options,
            )
        })
    }

    /// A task, where laying the problem out takes long.
    #[napi]
    pub fn lay_out(&self, env: &Env, problem: u32) -> Result<Option<u32>> {
        self.call(env, |session| session.lay_out(problem))
    }

    /// A task whose `done` carries a new covariance of the problem's variables at the accepted values.
    #[napi]
    pub fn covariance(
        &self,
        env: &Env,
        problem: u32,
        variance: Option<f64>,
        pseudo_inverse: bool,
        rank_tolerance: Option<f64>,
    ) -> Result<u32> {
        self.call(env, |session| session.covariance(problem, CovarianceOptions { variance, pseudo_inverse, rank_tolerance }))
    }

    /// A task: blocks of a covariance. `of` is table and instance, one after the other; `others` likewise, to be paired with them.
    /// `form`: "covariance", "errors", "correlation", "joint" or "joint-correlation". `lifted`: of stored scalars.
    #[napi]
    pub fn covariance_blocks(
        &self,
        env: &Env,
        covariance: u32,
        of: &[u32],
        others: Option<Uint32ArraySlice>,
        form: String,
        lifted: bool,
    ) -> Result<u32> {
        let others = others.as_deref();
        let form = form.as_str();
        self.call(env, |session| session.covariance_blocks(covariance, of, others, form, lifted))
    }

    #[napi]
    pub fn free_covariance(&self, covariance: u32) {
        self.post(move |session| session.free_covariance(covariance));
    }

    /// A task whose `done` carries dL/dθ of a function L of the solution. `tables`: a table and how many values its ∂L/∂x has, one after the other;
    /// `values`: these, by stored scalars or (`tangent`) degrees of freedom.
    #[napi]
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
        self.call(env, |session| {
            session.backward(problem, tables, values, tangent, BackwardOptions { least_norm, rank_tolerance, stationary_tolerance })
        })
    }

    /// For benchmarks. A task: its one value is the milliseconds of one of `repeats` evaluations of r and J, or of products
    /// (JᵀWJ + λD)p, in one submission, less those of an empty submission. The solver can go on afterwards.
    #[napi]
    pub fn measure(&self, env: &Env, solver: u32, what: String, repeats: u32) -> Result<u32> {
        self.call(env, |session| {
            let what = wire::measured(&what)?;
            session.measure(solver, what, repeats)
        })
    }

    /// The same for our own kernel copying `bytes` bytes: the bandwidth to compare with.
    #[napi]
    pub fn measure_copy(&self, env: &Env, bytes: f64, repeats: u32) -> Result<u32> {
        self.call(env, |session| session.measure_copy(bytes, repeats))
    }

    /// The bytes that operations must move: each buffer that one reads counts once, and once more if it writes it.
    #[napi]
    pub fn traffic<'env>(&self, env: &'env Env, solver: u32) -> Result<Unknown<'env>> {
        to_js(env, &self.call(env, |session| session.traffic(solver))?)
    }

    /// A model of many small fits, as `packed.ts` packs it.
    #[napi]
    pub fn new_fit(&self, env: &Env, words: &[u32], reals: &[f64]) -> Result<u32> {
        self.call(env, |session| session.new_fit(words, reals))
    }

    /// Fits of so many points each that one set may have.
    #[napi]
    pub fn fit_capacity(&self, env: &Env, fit: u32, points: u32) -> Result<u32> {
        self.call(env, |session| session.fit_capacity(fit, points))
    }

    #[napi]
    pub fn free_fit(&self, fit: u32) {
        self.post(move |session| session.free_fit(fit));
    }

    /// A set of fits, whose data go to the device with its first task, and stay. `start` has one value for each parameter, or a column for each; `bounds` lower
    /// ones, then upper ones.
    #[napi]
    pub fn new_fits(
        &self,
        env: &Env,
        fit: u32,
        count: u32,
        points: u32,
        data: Unknown,
        start: &[f64],
        bounds: &[f64],
        offsets: &[u32],
    ) -> Result<u32> {
        let data = read_reals(env, data)?;
        let data = data.reals();
        self.call(env, |session| session.new_fits(fit, count, points, data, start, bounds, offsets))
    }

    /// A task: uploads what is not on the device yet.
    #[napi]
    pub fn upload_fits(&self, env: &Env, set: u32) -> Result<u32> {
        self.call(env, |session| session.upload_fits(set))
    }

    /// A task: other data of as many points.
    #[napi]
    pub fn write_fits(&self, env: &Env, set: u32, data: Unknown) -> Result<u32> {
        let data = read_reals(env, data)?;
        let data = data.reals();
        self.call(env, |session| session.write_fits(set, data))
    }

    /// A task: fits, from starting values, or from the parameters that there are (`keeps`). `candidates` has rows of all parameters, of which those with bits in
    /// `given` are taken; fits are made from every one and the best is kept (`fitted`), or from the one with the lowest objective.
    #[napi]
    pub fn run_fits(
        &self,
        env: &Env,
        set: u32,
        keeps: bool,
        candidates: &[f64],
        given: u32,
        fitted: bool,
        options: Unknown,
    ) -> Result<u32> {
        let options: leastwise::fits::Options = read_record(env, options)?;
        let options = &options;
        self.call(env, |session| session.run_fits(set, keeps, candidates, given, fitted, options))
    }

    /// A task whose `values` are fields of all fits, a column each: of parameters, standard errors of the free ones (0 where there are none), F, iterations, state.
    #[napi]
    pub fn read_fits(&self, env: &Env, set: u32, first: u32, fields: u32) -> Result<u32> {
        self.call(env, |session| session.read_fits(set, first, fields))
    }

    /// A task: fits from where they are, with other values of the parameters that all share, among `values` of all. Before that what fits came to is kept, or what
    /// was kept last is restored.
    #[napi]
    pub fn try_fits(&self, env: &Env, set: u32, values: &[f64], keeps: bool, restores: bool, options: Unknown) -> Result<u32> {
        let options: leastwise::fits::Options = read_record(env, options)?;
        let options = &options;
        self.call(env, |session| session.try_fits(set, values, keeps, restores, options))
    }

    /// A task whose `values` are sums over fits, each in two parts: the lower triangle of the reduced matrix of shared parameters, the reduced gradient, F, and the
    /// number of fits that are not finite.
    #[napi]
    pub fn reduce_fits(&self, env: &Env, set: u32) -> Result<u32> {
        self.call(env, |session| session.reduce_fits(set))
    }

    /// A task: standard errors, where shared parameters have this covariance; before that, what was kept last is restored (`restores`).
    #[napi]
    pub fn spread_fits(&self, env: &Env, set: u32, covariance: &[f64], restores: bool) -> Result<u32> {
        self.call(env, |session| session.spread_fits(set, covariance, restores))
    }

    #[napi]
    pub fn free_fits(&self, set: u32) {
        self.post(move |session| session.free_fits(set));
    }

    /// A task whose `done` carries the clustering, which begins with the centroids of `start` where there are some.
    #[napi]
    pub fn cluster(&self, env: &Env, points: Unknown, start: Option<Float64ArraySlice>, options: Unknown) -> Result<u32> {
        let points = read_vectors(env, points)?;
        let start = start.as_deref();
        let options: leastwise::anneal::cluster::Options = read_record(env, options)?;
        let options = &options;
        self.call(env, |session| session.cluster(points, start, options))
    }

    /// A task whose `done` carries a new index: clusters, then codes.
    #[napi]
    pub fn compress(&self, env: &Env, points: Unknown, options: Unknown) -> Result<u32> {
        let points = read_vectors(env, points)?;
        let options: leastwise::session::CompressOptions = read_record(env, options)?;
        let options = &options;
        self.call(env, |session| session.compress(points, options))
    }

    /// An index of a file's bytes, or of the published format's files.
    #[napi]
    pub fn open_index(&self, env: &Env, file: &[u8]) -> Result<u32> {
        self.call(env, |session| session.open_index(file))
    }

    #[napi]
    pub fn open_published(
        &self,
        env: &Env,
        idx: &[u8],
        anchors: &[u8],
        assign: &[u8],
        jacobians: Option<Uint8ArraySlice>,
        residuals: Option<Uint8ArraySlice>,
    ) -> Result<u32> {
        let jacobians = jacobians.as_deref();
        let residuals = residuals.as_deref();
        self.call(env, |session| session.open_published(Files { idx, anchors, assign, jacobians, residuals }))
    }

    /// A reader of a file that comes in pieces, which it checks as they come; the index is what `finishIndexReader` gives.
    #[napi]
    pub fn index_reader(&self, env: &Env) -> Result<u32> {
        self.call(env, |session| Ok(session.index_reader()))
    }

    #[napi]
    pub fn feed_index_reader(&self, env: &Env, reader: u32, piece: &[u8]) -> Result<()> {
        self.call(env, |session| session.feed_index_reader(reader, piece))
    }

    #[napi]
    pub fn finish_index_reader(&self, env: &Env, reader: u32) -> Result<u32> {
        self.call(env, |session| session.finish_index_reader(reader))
    }

    #[napi]
    pub fn free_index_reader(&self, reader: u32) {
        self.post(move |session| session.free_index_reader(reader));
    }

    /// Description of an index, as JSON: `vector-index.ts` has its type.
    #[napi]
    pub fn index_info(&self, env: &Env, index: u32) -> Result<String> {
        self.call(env, |session| session.index_info(index))
    }

    /// Components, vectors, and the id that comes next; and bytes of the file.
    #[napi]
    pub fn index_sizes<'env>(&self, env: &'env Env, index: u32) -> Result<Uint32ArraySlice<'env>> {
        Uint32ArraySlice::from_data(env, self.call(env, |session| session.index_sizes(index).map(Vec::from))?)
    }

    #[napi]
    pub fn index_bytes(&self, env: &Env, index: u32) -> Result<f64> {
        self.call(env, |session| session.index_bytes(index).map(|bytes| bytes as f64))
    }

    #[napi]
    pub fn set_index_searching(&self, env: &Env, index: u32, place: String) -> Result<()> {
        let place = place.as_str();
        self.call(env, |session| session.set_index_searching(index, place))
    }

    /// Bits a component of the sketches that searches through lists may keep: 0, 1 or 8.
    #[napi]
    pub fn set_index_sketching(&self, env: &Env, index: u32, bits: u32) -> Result<()> {
        self.call(env, |session| session.set_index_sketching(index, bits))
    }

    /// A task whose `done` carries hits. `filter` has a byte for each id; `effort` is the beam of a walk in the graph.
    #[napi]
    pub fn search_index(
        &self,
        env: &Env,
        index: u32,
        queries: Unknown,
        k: u32,
        probes: Option<u32>,
        effort: Option<u32>,
        filter: Option<Uint8ArraySlice>,
    ) -> Result<u32> {
        let queries = read_vectors(env, queries)?;
        let filter = filter.map(|filter| filter.to_vec());
        self.call(env, |session| session.search_index(index, queries, k, probes, effort, filter))
    }

    /// A task that makes the graph, or goes on with it: neighbours of a vector, and the beam of the searches for them.
    #[napi]
    pub fn build_index_graph(&self, env: &Env, index: u32, degree: Option<u32>, effort: Option<u32>) -> Result<u32> {
        self.call(env, |session| session.build_index_graph(index, degree, effort))
    }

    /// A task whose `done` carries an evaluation. Row i of `points` is the vector of id i; removed ones are left out.
    #[napi]
    pub fn evaluate_index(
        &self,
        env: &Env,
        index: u32,
        queries: Unknown,
        points: Unknown,
        k: u32,
        probes: Option<u32>,
        effort: Option<u32>,
    ) -> Result<u32> {
        let queries = read_vectors(env, queries)?;
        let points = read_vectors(env, points)?;
        self.call(env, |session| session.evaluate_index(index, queries, points, k, probes, effort))
    }

    /// A task whose `done` carries the new ids.
    #[napi]
    pub fn add_to_index(&self, env: &Env, index: u32, points: Unknown) -> Result<u32> {
        let points = read_vectors(env, points)?;
        self.call(env, |session| session.add_to_index(index, points))
    }

    /// How many of them were in it.
    #[napi]
    pub fn remove_from_index(&self, env: &Env, index: u32, ids: &[u32]) -> Result<u32> {
        self.call(env, |session| session.remove_from_index(index, ids).map(|removed| removed as u32))
    }

    #[napi]
    pub fn reconstruct_from_index<'env>(&self, env: &'env Env, index: u32, ids: &[u32]) -> Result<Float32ArraySlice<'env>> {
        Float32ArraySlice::from_data(env, self.call(env, |session| session.reconstruct_from_index(index, ids))?)
    }

    /// A task whose `done` carries the file's bytes; by lists, if its codes are to be read when searches need them.
    #[napi]
    pub fn save_index(&self, env: &Env, index: u32, by_lists: bool) -> Result<u32> {
        self.call(env, |session| session.save_index(index, by_lists))
    }

    #[napi]
    pub fn free_index(&self, index: u32) {
        self.post(move |session| session.free_index(index));
    }

    /// Where the codes begin in a file that begins like this, how many bytes they take, and how many the file.
    #[napi]
    pub fn place_of_lazy_codes<'env>(&self, env: &'env Env, start: &[u8]) -> Result<Float64ArraySlice<'env>> {
        Float64ArraySlice::from_data(env, self.call(env, |session| session.place_of_lazy_codes(start))?)
    }

    /// An index without its codes: of what the file has before and behind them.
    #[napi]
    pub fn open_lazy_index(&self, env: &Env, before: &[u8], behind: &[u8]) -> Result<u32> {
        self.call(env, |session| session.open_lazy_index(before, behind))
    }

    #[napi]
    pub fn lazy_index_info(&self, env: &Env, index: u32) -> Result<String> {
        self.call(env, |session| session.lazy_index_info(index))
    }

    /// Components, vectors, and the id that comes next.
    #[napi]
    pub fn lazy_index_sizes<'env>(&self, env: &'env Env, index: u32) -> Result<Uint32ArraySlice<'env>> {
        Uint32ArraySlice::from_data(env, self.call(env, |session| session.lazy_index_sizes(index).map(Vec::from))?)
    }

    /// Where the codes of every list begin, in vectors, and where the last end.
    #[napi]
    pub fn lazy_index_starts<'env>(&self, env: &'env Env, index: u32) -> Result<Uint32ArraySlice<'env>> {
        Uint32ArraySlice::from_data(env, self.call(env, |session| session.lazy_index_starts(index))?)
    }

    /// A search that is given the codes of lists, one after the other, and the lists whose codes it needs.
    #[napi]
    pub fn begin_lazy_search(
        &self,
        env: &Env,
        index: u32,
        queries: Unknown,
        k: u32,
        probes: Option<u32>,
        effort: Option<u32>,
        filter: Option<Uint8ArraySlice>,
    ) -> Result<u32> {
        let queries = read_vectors(env, queries)?;
        let filter = filter.map(|filter| filter.to_vec());
        self.call(env, |session| session.begin_lazy_search(index, queries, k, probes, effort, filter))
    }

    #[napi]
    pub fn lazy_search_lists<'env>(&self, env: &'env Env, search: u32) -> Result<Uint32ArraySlice<'env>> {
        Uint32ArraySlice::from_data(env, self.call(env, |session| session.lazy_search_lists(search))?)
    }

    #[napi]
    pub fn scan_lazy_list(&self, env: &Env, search: u32, list: u32, codes: &[u8]) -> Result<()> {
        self.call(env, |session| session.scan_lazy_list(search, list, codes))
    }

    /// A task whose `done` carries what a search found; the search is gone.
    #[napi]
    pub fn end_lazy_search(&self, env: &Env, search: u32) -> Result<u32> {
        self.call(env, |session| session.end_lazy_search(search))
    }

    #[napi]
    pub fn free_lazy_search(&self, search: u32) {
        self.post(move |session| session.free_lazy_search(search));
    }

    #[napi]
    pub fn free_lazy_index(&self, index: u32) {
        self.post(move |session| session.free_lazy_index(index));
    }

    /// A task whose `done` carries the new ids of the other index's vectors, in order of their ids there.
    #[napi]
    pub fn merge_index(&self, env: &Env, index: u32, other: u32) -> Result<u32> {
        self.call(env, |session| session.merge_index(index, other))
    }

    /// A task whose `done` carries a file of what changed since another: that one's checksum, number of vectors and next id; `removed` are ids that were taken out.
    #[napi]
    pub fn save_index_changes(&self, env: &Env, index: u32, file: u32, count: u32, next_id: u32, removed: &[u32]) -> Result<u32> {
        self.call(env, |session| session.save_index_changes(index, file, count, next_id, removed))
    }

    /// Makes the changes of a file that follows on the one with this checksum.
    #[napi]
    pub fn apply_index_changes(&self, env: &Env, index: u32, changes: &[u8], follows: u32) -> Result<()> {
        self.call(env, |session| session.apply_index_changes(index, changes, follows))
    }

    /// Vectors of bits, packed in bytes.
    #[napi]
    pub fn new_bit_index(&self, env: &Env, dim: u32) -> Result<u32> {
        self.call(env, |session| session.new_bit_index(dim))
    }

    #[napi]
    pub fn open_bit_index(&self, env: &Env, file: &[u8]) -> Result<u32> {
        self.call(env, |session| session.open_bit_index(file))
    }

    /// Bits of a vector, vectors, the id that comes next, and bytes of memory.
    #[napi]
    pub fn bit_index_sizes<'env>(&self, env: &'env Env, index: u32) -> Result<Uint32ArraySlice<'env>> {
        Uint32ArraySlice::from_data(env, self.call(env, |session| session.bit_index_sizes(index))?)
    }

    /// The id of the first; the others follow.
    #[napi]
    pub fn add_to_bit_index(&self, env: &Env, index: u32, vectors: &[u8]) -> Result<u32> {
        self.call(env, |session| session.add_to_bit_index(index, vectors))
    }

    #[napi]
    pub fn remove_from_bit_index(&self, env: &Env, index: u32, ids: &[u32]) -> Result<u32> {
        self.call(env, |session| session.remove_from_bit_index(index, ids))
    }

    /// Hits of each query, where they begin and where the last end; then ids, then distances. With `within` all that are so near, and not `k`.
    #[napi]
    pub fn search_bit_index<'env>(
        &self,
        env: &'env Env,
        index: u32,
        queries: &[u8],
        k: u32,
        within: Option<u32>,
        filter: Option<Uint8ArraySlice>,
    ) -> Result<Uint32ArraySlice<'env>> {
        let filter = filter.map(|filter| filter.to_vec());
        Uint32ArraySlice::from_data(env, self.call(env, |session| session.search_bit_index(index, queries, k, within, filter))?)
    }

    /// A task whose `done` carries the packed vectors of ids.
    #[napi]
    pub fn bit_index_vectors(&self, env: &Env, index: u32, ids: &[u32]) -> Result<u32> {
        self.call(env, |session| session.bit_index_vectors(index, ids))
    }

    /// A task whose `done` carries the file's bytes.
    #[napi]
    pub fn save_bit_index(&self, env: &Env, index: u32) -> Result<u32> {
        self.call(env, |session| session.save_bit_index(index))
    }

    #[napi]
    pub fn free_bit_index(&self, index: u32) {
        self.post(move |session| session.free_bit_index(index));
    }

    /// Tensors. Ids are small integers that the façade holds one handle to each; `packed` results are, one after the other: id, rank (and from bit 16 on
    /// 1 for int32, 2 for bool), sizes. `double`: f64 (CPU and CUDA), else f32.
    #[napi]
    pub fn tensor_store<'env>(&self, env: &'env Env, values: Unknown, shape: &[u32], double: bool) -> Result<Uint32ArraySlice<'env>> {
        let values = read_reals(env, values)?;
        let values = values.reals();
        Uint32ArraySlice::from_data(env, self.call(env, |session| session.tensor(values, shape, double))?)
    }

    /// Rounded to halves, and kept as such; ids are those of f32, as are results of operations but `f16`.
    #[napi]
    pub fn tensor_store_halves<'env>(&self, env: &'env Env, values: Unknown, shape: &[u32]) -> Result<Uint32ArraySlice<'env>> {
        let values = read_reals(env, values)?;
        let values = values.reals();
        Uint32ArraySlice::from_data(env, self.call(env, |session| session.tensor_halves(values, shape))?)
    }

    /// The bits of int32s.
    #[napi]
    pub fn tensor_integers<'env>(&self, env: &'env Env, values: &[u32], shape: &[u32], double: bool) -> Result<Uint32ArraySlice<'env>> {
        Uint32ArraySlice::from_data(env, self.call(env, |session| session.tensor_integers(values, shape, double))?)
    }

    /// Whole numbers that rows are gathered by: gradients of gather need these.
    #[napi]
    pub fn tensor_numbers<'env>(&self, env: &'env Env, values: &[u32], shape: &[u32], double: bool) -> Result<Uint32ArraySlice<'env>> {
        Uint32ArraySlice::from_data(env, self.call(env, |session| session.tensor_numbers(values, shape, double))?)
    }

    #[napi]
    pub fn tensor_op<'env>(
        &self,
        env: &'env Env,
        name: String,
        inputs: &[u32],
        numbers: &[f64],
        double: bool,
    ) -> Result<Uint32ArraySlice<'env>> {
        let name = name.as_str();
        Uint32ArraySlice::from_data(env, self.call(env, |session| session.tensor_operation(name, inputs, numbers, double))?)
    }

    /// A traced function of one scalar each.
    #[napi]
    pub fn tensor_map<'env>(&self, env: &'env Env, words: &[u32], outputs: &[u32], inputs: &[u32]) -> Result<Uint32ArraySlice<'env>> {
        Uint32ArraySlice::from_data(env, self.call(env, |session| session.tensor_map(words, outputs, inputs))?)
    }

    #[napi]
    pub fn tensor_gradient<'env>(&self, env: &'env Env, loss: u32, of: &[u32]) -> Result<Uint32ArraySlice<'env>> {
        Uint32ArraySlice::from_data(env, self.call(env, |session| session.tensor_gradient(loss, of))?)
    }

    #[napi]
    pub fn tensor_release(&self, ids: &[u32]) {
        let ids = ids.to_vec();
        self.post(move |session| {
            let ids = &ids[..];
            session.release_tensors(ids)
        });
    }

    /// A task: its `values` are all that were read, one after the other (in one submission and one readback).
    #[napi]
    pub fn tensor_evaluate(&self, env: &Env, outputs: &[u32], read: &[u32]) -> Result<u32> {
        self.call(env, |session| session.evaluate_tensors(outputs, read))
    }

    /// Steps by which tensors and problems meet, in one method: `src/session/lending.rs` says what each is given and gives.
    #[napi]
    pub fn tensor_meet<'env>(
        &self,
        env: &'env Env,
        step: String,
        problem: u32,
        words: &[u32],
        values: &[f64],
    ) -> Result<Uint32ArraySlice<'env>> {
        Uint32ArraySlice::from_data(
            env,
            self.call(env, |session| {
                let step = wire::meeting(&step)?;
                session.meet(step, problem, words, values)
            })?,
        )
    }

    #[napi]
    pub fn tensor_settings(&self, env: &Env, settings: Unknown) -> Result<()> {
        let settings: leastwise::session::TensorSettings = read_record(env, settings)?;
        let settings = &settings;
        self.call(env, |session| session.set_tensors(settings))
    }

    #[napi]
    pub fn tensor_trace<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        to_js(env, &self.call(env, |session| Ok(session.tensor_trace().to_vec()))?)
    }

    #[napi]
    pub fn tensor_statistics<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        to_js(env, &self.call(env, |session| Ok(session.tensor_statistics()))?)
    }

    #[napi]
    pub fn tensor_trim(&self, env: &Env) -> Result<()> {
        self.call(env, |session| session.trim_tensors())
    }

    /// A task whose `values` are the model's numbers: those of `device`, of `cpu`, and the two of transfers.
    #[napi]
    pub fn tensor_measure(&self, env: &Env) -> Result<u32> {
        self.call(env, |session| session.measure_tensors())
    }

    /// Ends a running solve after the current iteration, with this termination ("stopped") and reason.
    #[napi]
    pub fn stop(&self, task: u32, reason: String) {
        self.post(move |session| {
            let reason = reason.as_str();
            session.stop(task, reason)
        });
    }
}

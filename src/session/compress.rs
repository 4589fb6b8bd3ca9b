//! Compression of vectors: a clustering, and then an index of what it found.

use super::Session;
use super::clusters::ClusterRun;
use super::indices::Answer;
use super::job::{Job, Progress, Step};
use leastwise_anneal::cluster::{self, Method};
use leastwise_anneal::code::Code;
use leastwise_anneal::index::{Coarse, Index, Options, clusters_for, sample};
use leastwise_anneal::rows;
use leastwise_base::memory;
use leastwise_base::task::Task;
use leastwise_error::Error;
use leastwise_outer::Turn;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Options of a compression; those that are absent are chosen.
#[derive(Deserialize, Clone, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompressOptions {
    /// Components of a vector.
    pub dim: u32,
    /// Inverted lists.
    #[serde(default)]
    pub clusters: Option<u32>,
    /// Method that finds them; default: a few rounds of Lloyd's iteration.
    #[serde(default)]
    pub method: Option<Method>,
    /// Seed of the clustering and of the code's training; default: 0.
    #[serde(default)]
    pub seed: u32,
    /// Vectors that clusters are made of; default: enough of them.
    #[serde(default)]
    pub sample: Option<u32>,
    /// The points are a sample of so many vectors, which are to be added.
    #[serde(default)]
    pub train_for: Option<u32>,
    /// Name of the code of the residuals ([`Code::name`]).
    pub code: String,
    /// Bits a component, of codes that take any number.
    #[serde(default)]
    pub bits: Option<f64>,
    /// Size of the file as a part of the vectors' f32, for the codes that take any.
    #[serde(default)]
    pub ratio: Option<f64>,
}

/// Rounds of Lloyd's iteration: recall gains nothing from more of them.
const ROUNDS: u32 = 10;

/// Name under which an index tells the number of vectors that its clusters are made of.
const TRAINED_ON: &str = "trainedOn";

/// The share of the work that is clustering, as progress has it.
const CLUSTERING: f64 = 0.25;

impl CompressOptions {
    fn code(&self) -> Result<Code, Error> {
        let unknown = || Error::InvalidOption(format!("code \"{}\" is not one of none, int8, int4, bits, f32, f16", self.code));
        Code::from_name(&self.code).ok_or_else(unknown)
    }

    /// Options that were given and can't be seen from the index.
    fn asked(&self) -> Map<String, Value> {
        let clusters = self.is_clustered();
        let rounds = (clusters && self.method.is_none()).then_some(ROUNDS);
        let given = [
            ("clusters", self.clusters.map(Value::from)),
            ("bits", self.bits.map(Value::from)),
            ("ratio", self.ratio.map(Value::from)),
            ("seed", Some(self.seed.into())),
            ("method", clusters.then(|| json!(self.method.unwrap_or(Method::Lloyd)))),
            ("maxIterations", rounds.map(Value::from)),
        ];
        given.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))).collect()
    }

    /// Options of an index without vectors, whose model is to be made of the first.
    pub(super) fn of_blank(index: &Index) -> Option<Self> {
        let about = index.about();
        if index.next_id() > 0 || about.contains_key(TRAINED_ON) || !about.contains_key("seed") {
            return None;
        }
        let given = ["clusters", "bits", "ratio", "seed"].into_iter().filter_map(|name| Some((name.to_string(), about.get(name)?.clone())));
        let mut options: Map<String, Value> = given.collect();
        options.insert("dim".into(), index.dim().into());
        options.insert("code".into(), index.code().name().into());
        if !about.contains_key("maxIterations")
            && let Some(method) = about.get("method")
        {
            options.insert("method".into(), method.clone());
        }
        serde_json::from_value(Value::Object(options)).ok()
    }

    /// False for codes that keep vectors themselves, unless clusters are asked for: these have one anchor, at the origin.
    fn is_clustered(&self) -> bool {
        self.clusters.is_some() || self.code().is_ok_and(|code| !code.is_whole())
    }

    /// Size of the sample that clusters are made of, out of so many vectors.
    fn sample_of(&self, count: usize, clusters: u32) -> Result<usize, Error> {
        let invalid = |message: String| Err(Error::InvalidOption(message));
        let sample = self.sample.map_or(sample::enough(count, clusters as usize), |sample| count.min(sample as usize));
        match self.clusters {
            Some(clusters) if clusters as usize > count => {
                invalid(format!("clusters: there can't be {clusters} clusters of {}", counted(count, "vector")))
            }
            Some(clusters) if clusters as usize > sample => {
                invalid(format!("sample: there can't be {clusters} clusters of a sample of {}", counted(sample, "vector")))
            }
            _ => Ok(sample),
        }
    }

    /// Inverted lists of so many vectors, by the ratio that the code comes to.
    fn clusters_of(&self, code: Code, count: usize) -> u32 {
        let nominal = match code {
            Code::None => 1.0,
            Code::Int8 => 8.0 / 32.0,
            Code::Int4 => 4.0 / 32.0,
            Code::Bits => self.bits.unwrap_or(4.0) / 32.0,
            // These have clusters only where so many are asked for.
            Code::F32 | Code::F16 => 1.0,
        };
        self.clusters.unwrap_or_else(|| clusters_for(count, self.dim as usize, self.ratio.unwrap_or(nominal)) as u32)
    }
}

/// A compression on its way.
pub(super) enum Compress {
    /// The clustering, and what is made of it.
    Clustering { run: Box<ClusterRun>, points: Vec<f32>, dim: usize, options: Options },
    /// Of what it found, or of nothing where there was nothing to cluster: the index then waits for its first vectors. `from` is the share that
    /// was done before.
    Building { task: Task<'static, Result<Index, Error>>, from: f64 },
}

fn building(points: Vec<f32>, dim: usize, coarse: Coarse, options: Options, from: f64) -> Compress {
    Compress::Building { task: Index::building(points, dim, coarse, options), from }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

impl Compress {
    pub fn resume(&mut self, session: &mut Session, deadline: f64) -> Result<Progress, Error> {
        match self {
            Self::Clustering { run, points, dim, options } => {
                let found = match run.resume(&mut session.devices, deadline)?.outcome() {
                    Ok(found) => found,
                    Err(Turn::Partly { done, total }) => return Ok(Progress::Partly { done: CLUSTERING * done / total, total: 1.0 }),
                    Err(turn) => return Ok(Progress::of(turn, Progress::Values)),
                };
                let about = json!({ "energy": found.energy, "iterations": found.iterations.len(), "termination": found.termination, "reason": found.reason });
                options.about.insert("clustering".into(), about);
                // Of a sample, the labels of all are still to be found.
                let is_sample = found.labels.len() * *dim < points.len();
                let labels = if is_sample { Vec::new() } else { found.labels };
                let coarse = Coarse { centroids: found.centroids, labels };
                let next = building(std::mem::take(points), *dim, coarse, std::mem::take(options), CLUSTERING);
                std::mem::replace(self, next).free(session);
                Ok(Progress::Partly { done: CLUSTERING, total: 1.0 })
            }
            Self::Building { task, from } => Ok(match task.resume(deadline) {
                Some(index) => Progress::Answer(Answer::Index(session.add_index(index?))),
                None => Progress::Partly { done: *from + (1.0 - *from) * task.done(), total: 1.0 },
            }),
        }
    }

    /// Frees what it has on the device.
    pub fn free(self, session: &mut Session) {
        if let Self::Clustering { run, .. } = self {
            run.free(&mut session.devices);
        }
    }
}

struct CompressJob(Box<Compress>);

impl Job for CompressJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        self.0.resume(session, deadline).map(Step::from)
    }

    fn free(self: Box<Self>, session: &mut Session, _: u32) {
        self.0.free(session);
    }
}

impl Session {
    /// A task: clusters points, then codes them.
    pub fn compress(&mut self, points: Vec<f32>, options: &CompressOptions) -> Result<u32, Error> {
        let compress = self.compressing(points, options)?;
        Ok(self.add_task(CompressJob(Box::new(compress))))
    }

    pub(super) fn compressing(&mut self, points: Vec<f32>, asked: &CompressOptions) -> Result<Compress, Error> {
        let (code, dim) = (asked.code()?, asked.dim as usize);
        let count = rows::count("points", points.len(), dim)?;
        let mut about = asked.asked();
        if count == 0 {
            if asked.train_for.is_some() {
                return Err(Error::InvalidOption("trainFor: there are no vectors to make the model of".into()));
            }
            // Of nothing, any size is right.
            let options = Options { code, about, ..Options::default() };
            return Ok(building(points, dim, Coarse::default(), options, 0.0));
        }
        if !asked.is_clustered() {
            if asked.train_for.is_some() {
                about.insert(TRAINED_ON.into(), count.into());
            }
            let options = Options { code, train_for: asked.train_for, about, ..Options::default() };
            return Ok(building(points, dim, Coarse::default(), options, 0.0));
        }
        let clusters = asked.clusters_of(code, asked.train_for.map_or(count, |count| count as usize)).min(count as u32);
        let sample = asked.sample_of(count, clusters)?;
        if sample < count {
            // The rows of the sample have other numbers.
            rows::all_finite("points", &points, dim)?;
        }
        about.insert(TRAINED_ON.into(), sample.into());
        let mut of_sample = memory::room(sample * dim, "clustering the points")?;
        for row in sample::rows(count, sample, asked.seed) {
            of_sample.extend_from_slice(&points[row * dim..][..dim]);
        }
        let mut clusters = cluster::Options::new(asked.dim, clusters);
        clusters.method = Some(asked.method.unwrap_or(Method::Lloyd));
        clusters.max_iterations = asked.method.is_none().then_some(ROUNDS);
        clusters.seed = Some(asked.seed);
        let options = Options { code, bits: asked.bits, ratio: asked.ratio, train_for: asked.train_for, about };
        let run = Box::new(ClusterRun::new(&mut self.devices, of_sample, &clusters)?);
        Ok(Compress::Clustering { run, points, dim, options })
    }
}

//! Compressing vectors: a clustering, which is a task of its own, and then an index of what it found.

use super::Session;
use super::indices::Answer;
use super::task::{Progress, Task};
use crate::anneal::cluster::{self, Method};
use crate::anneal::code::Code;
use crate::anneal::index::{Coarse, Index, Options, clusters_for};
use crate::anneal::memory;
use crate::clock::now_ms;
use crate::error::Error;
use crate::work::Work;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// How to compress; what is not there is chosen.
#[derive(Deserialize, Clone, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompressOptions {
    pub dim: u32,
    /// Inverted lists.
    #[serde(default)]
    pub clusters: Option<u32>,
    /// How they are found; a few rounds of Lloyd's iteration unless told.
    #[serde(default)]
    pub method: Option<Method>,
    #[serde(default)]
    pub seed: u32,
    pub code: String,
    #[serde(default)]
    pub bits: Option<f64>,
    #[serde(default)]
    pub ratio: Option<f64>,
}

/// Rounds of Lloyd's iteration: recall gains nothing from more of them.
const ROUNDS: u32 = 10;

/// The share of the work that is clustering, as progress has it.
const CLUSTERING: f64 = 0.25;

impl CompressOptions {
    fn code(&self) -> Result<Code, Error> {
        let unknown = || Error::InvalidOption(format!("code \"{}\" is not one of none, int8, int4, pq, bits", self.code));
        Code::from_name(&self.code).ok_or_else(unknown)
    }

    /// What was given of it and can't be seen from the index.
    fn asked(&self) -> Map<String, Value> {
        let given =
            [("clusters", self.clusters.map(Value::from)), ("bits", self.bits.map(Value::from)), ("ratio", self.ratio.map(Value::from))];
        given.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))).collect()
    }

    /// Inverted lists of so many vectors, by the ratio that the code comes to.
    fn clusters_of(&self, code: Code, count: usize) -> u32 {
        let nominal = match code {
            Code::None => 1.0,
            Code::Int8 => 8.0 / 32.0,
            Code::Int4 => 4.0 / 32.0,
            Code::Product => self.bits.unwrap_or(2.0) / 32.0,
            Code::Bits => self.bits.unwrap_or(4.0) / 32.0,
        };
        self.clusters.unwrap_or_else(|| clusters_for(count, self.dim as usize, self.ratio.unwrap_or(nominal)) as u32)
    }
}

/// A compression on its way.
pub(super) enum Compress {
    /// The task of the clustering, and what is made of it.
    Clustering { task: u32, points: Vec<f32>, dim: usize, options: Options },
    /// Of what it found, or of nothing where there was nothing to cluster. `from` is the share that was done before.
    Building { work: Work<'static, Result<Index, Error>>, from: f64 },
}

fn building(points: Vec<f32>, dim: usize, coarse: Coarse, options: Options, from: f64) -> Compress {
    Compress::Building { work: Index::building(points, dim, coarse, options), from }
}

impl Session {
    /// A task: clusters points, then codes them.
    pub fn compress(&mut self, points: Vec<f32>, options: &CompressOptions) -> Result<u32, Error> {
        let code = options.code()?;
        let mut clusters = cluster::Options::new(options.dim, options.clusters_of(code, points.len() / options.dim.max(1) as usize));
        clusters.method = Some(options.method.unwrap_or(Method::Lloyd));
        clusters.max_iterations = options.method.is_none().then_some(ROUNDS);
        clusters.seed = Some(options.seed);
        let dim = clusters.dim as usize;
        let mut about = options.asked();
        about.insert("seed".into(), options.seed.into());
        about.insert("method".into(), json!(options.method.unwrap_or(Method::Lloyd)));
        let options = Options { code, bits: options.bits, ratio: options.ratio, seed: u64::from(options.seed), about };
        let compress = if points.is_empty() {
            building(points, dim, Coarse::default(), options, 0.0)
        } else {
            Compress::Clustering { task: self.cluster(memory::copy(&points, "clustering the points")?, &clusters)?, points, dim, options }
        };
        Ok(self.add_task(Task::Compress(Box::new(compress))))
    }

    pub(super) fn resume_compress(&mut self, compress: &mut Compress, budget_ms: f64) -> Result<Progress, Error> {
        match compress {
            Compress::Clustering { task, points, dim, options } => Ok(match self.resume(*task, budget_ms)? {
                Progress::Clustering(found) => {
                    let about = json!({ "energy": found.energy, "iterations": found.iterations.len(), "termination": found.termination, "reason": found.reason });
                    options.about.insert("clustering".into(), about);
                    let coarse = Coarse { centroids: found.centroids, labels: found.labels };
                    *compress = building(std::mem::take(points), *dim, coarse, std::mem::take(options), CLUSTERING);
                    Progress::Partly { done: CLUSTERING, total: 1.0 }
                }
                Progress::Partly { done, total } => Progress::Partly { done: CLUSTERING * done / total, total: 1.0 },
                other => other,
            }),
            Compress::Building { work, from } => Ok(match work.resume(now_ms() + budget_ms) {
                Some(index) => Progress::Answer(Answer::Index(self.add_index(index?))),
                None => Progress::Partly { done: *from + (1.0 - *from) * work.done(), total: 1.0 },
            }),
        }
    }

    pub(super) fn end_compress(&mut self, compress: &Compress) {
        if let Compress::Clustering { task, .. } = compress {
            self.cancel(*task);
        }
    }
}

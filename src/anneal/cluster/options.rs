//! What is asked of a clustering.

use leastwise_error::Error;
use serde::{Deserialize, Serialize};

/// How anchors are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Deterministic annealing (Rose 1998), then Lloyd's iterations with anchors merged and split where that lowers the energy.
    Anneal,
    /// Lloyd's iterations.
    Lloyd,
    /// The published annealed compressor, step for step.
    Vlc,
}

/// Where anchors start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub enum Start {
    /// Of a few candidates at random, as probable as their squared distances from those before, the one that leaves the least energy
    /// (Arthur & Vassilvitskii 2007, section 5).
    #[serde(rename = "k-means++")]
    PlusPlus,
    /// Each where the point is that is farthest from those before; the first at the first point.
    #[serde(rename = "farthest")]
    Farthest,
}

/// What an anchor is drawn to.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mean {
    /// Arithmetic mean of the cluster's points.
    Plain,
    /// Without this part of the members at either end, by distance.
    Trim(f64),
    /// Members farther than this weigh less, as far as they are farther.
    Huber(f64),
}

/// The options as they cross; what is not there has a default that depends on the method.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Options {
    /// Components of a point.
    pub dim: u32,
    /// Number of anchors requested; a clustering has at most one a point.
    pub clusters: u32,
    /// Algorithm; default: [`Method::Anneal`].
    #[serde(default)]
    pub method: Option<Method>,
    /// Initialisation; default: farthest points for [`Method::Vlc`], k-means++ otherwise. Annealing needs none.
    #[serde(default)]
    pub start: Option<Start>,
    /// Estimator of a cluster's centre; default: `Trim(0.1)` for [`Method::Vlc`], plain otherwise.
    #[serde(default)]
    pub mean: Option<Mean>,
    /// Greatest number of iterations; default: 800 for [`Method::Anneal`], 300 for [`Method::Lloyd`], 1000 for [`Method::Vlc`].
    #[serde(default)]
    pub max_iterations: Option<u32>,
    /// Convergence tolerance of the energy, in the sense of [`Settings::tolerance`]; default: 10⁻⁵, and 10⁻⁴ for [`Method::Vlc`].
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// Changed labels below which an iteration may converge; default: no condition, and 10 for [`Method::Vlc`].
    #[serde(default)]
    pub min_changes: Option<u32>,
    /// Initial temperature of [`Method::Vlc`]; default: 1.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// Share of the temperature that an iteration (of `Vlc`) or a step (of `Anneal`) removes; default: 0.01 and 0.1.
    #[serde(default)]
    pub cooling: Option<f64>,
    /// Learning rate of [`Method::Vlc`], in the sense of [`Settings::rate`]; default: 0.1.
    #[serde(default)]
    pub learning_rate: Option<f64>,
    /// Share of its last move that an anchor of [`Method::Vlc`] repeats; default: 0.
    #[serde(default)]
    pub momentum: Option<f64>,
    /// Iterations between two rounds of merging and splitting of [`Method::Vlc`]; default: 50.
    #[serde(default)]
    pub maintenance_interval: Option<u32>,
    /// Seed of all random numbers; default: 0.
    #[serde(default)]
    pub seed: Option<u32>,
    /// Bytes of points that may be on the device at a time; all of them, if there is room.
    #[serde(default)]
    pub device_bytes: Option<f64>,
    /// Anchors where [`Method::Lloyd`] starts, row by row, in place of [`start`](Self::start); none: these are found.
    #[serde(skip)]
    pub centroids: Vec<f64>,
}

impl Options {
    /// So many clusters of points of so many components, and all else by default.
    pub fn new(dim: u32, clusters: u32) -> Self {
        Self {
            dim,
            clusters,
            method: None,
            start: None,
            mean: None,
            max_iterations: None,
            tolerance: None,
            min_changes: None,
            temperature: None,
            cooling: None,
            learning_rate: None,
            momentum: None,
            maintenance_interval: None,
            seed: None,
            device_bytes: None,
            centroids: Vec::new(),
        }
    }
}

/// Options that were checked, with nothing left open.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Components of a point.
    pub dimensions: u32,
    /// Number of anchors requested.
    pub clusters: u32,
    /// Algorithm.
    pub method: Method,
    /// Initialisation; annealing uses none.
    pub start: Start,
    /// Estimator of a cluster's centre.
    pub mean: Mean,
    /// Greatest number of iterations of assignment and means.
    pub max_iterations: u32,
    /// Of the energy: absolute for `Vlc`, else a part of the points' variance.
    pub tolerance: f64,
    /// Convergence needs an iteration that changes fewer labels than this; `u32::MAX`: no condition.
    pub fewest_changes: u32,
    /// Consecutive iterations that must meet the tests for convergence.
    pub streak: u32,
    /// Initial temperature of [`Method::Vlc`].
    pub temperature: f64,
    /// Share of the temperature that an iteration (of `Vlc`) or a step (of `Anneal`, 0.01 at least) removes, in [0, 1).
    pub cooling: f64,
    /// Learning rate η₀ of [`Method::Vlc`]: an anchor moves by η₀·T/(1 + T) times its distance from the mean.
    pub rate: f64,
    /// Momentum of [`Method::Vlc`]: share of its last move that an anchor repeats, in [0, 0.999].
    pub momentum: f64,
    /// Iterations between two rounds of merging and splitting of [`Method::Vlc`].
    pub interval: u32,
    /// Seed of all random numbers.
    pub seed: u32,
    /// Bytes of points on the device at a time: more points are streamed in every iteration. `None`: no limit.
    pub device_bytes: Option<u64>,
}

/// How far a component of an anchor may move in a step of the published compressor.
pub const STEP_LIMIT: f64 = 0.1;

impl Options {
    /// The options with every default filled in.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for a value out of its range, and for a robust mean with [`Method::Anneal`].
    pub fn settings(&self) -> Result<Settings, Error> {
        let method = self.method.unwrap_or(Method::Anneal);
        let published = method == Method::Vlc;
        let settings = Settings {
            dimensions: self.dim,
            clusters: self.clusters,
            method,
            start: self.start.unwrap_or(if published { Start::Farthest } else { Start::PlusPlus }),
            mean: self.mean.unwrap_or(if published { Mean::Trim(0.1) } else { Mean::Plain }),
            max_iterations: self.max_iterations.unwrap_or(match method {
                Method::Anneal => 800,
                Method::Lloyd => 300,
                Method::Vlc => 1000,
            }),
            tolerance: self.tolerance.unwrap_or(if published { 1e-4 } else { 1e-5 }),
            fewest_changes: self.min_changes.unwrap_or(if published { 10 } else { u32::MAX }),
            streak: if published { 3 } else { 1 },
            temperature: self.temperature.unwrap_or(1.0),
            cooling: self.cooling.unwrap_or(if published { 0.01 } else { 0.1 }),
            rate: self.learning_rate.unwrap_or(0.1),
            momentum: self.momentum.unwrap_or(0.0),
            interval: self.maintenance_interval.unwrap_or(50),
            seed: self.seed.unwrap_or(0),
            device_bytes: self.device_bytes.map(|bytes| bytes as u64),
        };
        let refuse = |what: &str| Err(Error::InvalidOption(format!("cluster(): {what}")));
        let within = |value: f64, low: f64, high: f64| value >= low && value <= high;
        let trims = matches!(settings.mean, Mean::Trim(part) if !within(part, 0.0, 0.49));
        let hubers = matches!(settings.mean, Mean::Huber(delta) if !(delta > 0.0 && delta.is_finite()));
        let given = self.centroids.len();
        match settings {
            _ if given > 0 && (method != Method::Lloyd || self.start.is_some()) => {
                refuse("centroids to start from are for method \"lloyd\" alone")
            }
            _ if given > 0 && given as u64 != u64::from(self.clusters) * u64::from(self.dim) => {
                refuse(&format!("start has {given} numbers, where {} centroids of {} components have others", self.clusters, self.dim))
            }
            _ if self.centroids.iter().any(|value| !value.is_finite()) => refuse("start: a centroid has a component that is not finite"),
            _ if settings.dimensions == 0 => refuse("dim must be a positive integer"),
            _ if settings.clusters == 0 => refuse("clusters must be a positive integer"),
            _ if settings.max_iterations == 0 => refuse("maxIterations must be a positive integer"),
            _ if trims => refuse("mean: { trim } must be from 0 to 0.49, the part of a cluster that is left out at either end"),
            _ if hubers => refuse("mean: { huber } must be a positive distance"),
            _ if !within(settings.tolerance, 0.0, f64::MAX) => refuse("tolerance must be a number from 0 on"),
            _ if !(settings.temperature > 0.0 && settings.temperature < 1e30) => refuse("temperature must be a positive number"),
            _ if !(settings.cooling >= 0.0 && settings.cooling < 1.0) => refuse("cooling must be from 0 to less than 1"),
            _ if !(settings.rate > 0.0 && settings.rate < 1e6) => refuse("learningRate must be a positive number below a million"),
            _ if !within(settings.momentum, 0.0, 0.999) => refuse("momentum must be from 0 to 0.999"),
            _ if settings.interval == 0 => refuse("maintenanceInterval must be a positive integer"),
            _ if method == Method::Anneal && !matches!(settings.mean, Mean::Plain) => {
                refuse("method \"anneal\" finds plain means: for { trim } or { huber } use method \"lloyd\"")
            }
            _ => Ok(settings),
        }
    }
}

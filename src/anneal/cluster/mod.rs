//! Codebooks: the anchors of clusters, and which of them every point belongs to.
//!
//! A [`Clustering`] is a state machine like a solver: it gives recordings, which a device plays, and looks at what few numbers they
//! bring back. Three methods: Lloyd's iterations (`lloyd.rs`), the published annealed compressor (`vlc.rs`), and deterministic annealing
//! (`soft.rs`) followed by Lloyd's iterations between which anchors are moved from where they help least to where they help most
//! (`moves.rs`). What all do on the device is in `workspace.rs`.
//!
//! The energy is the mean of the points' squared distances to their anchors.

mod lloyd;
mod moves;
mod options;
mod points;
#[cfg(not(target_arch = "wasm32"))]
mod ranked;
mod script;
#[cfg(not(target_arch = "wasm32"))]
mod slices;
mod soft;
mod vlc;
mod workspace;

pub use leastwise_program::state::cluster as state;
pub use options::{Mean, Method, Options, STEP_LIMIT, Settings, Start};
pub use points::Points;
#[cfg(not(target_arch = "wasm32"))]
pub use ranked::{RankedClustering, RankedNext, over_ranks};

use leastwise_base::clock::now_ms;
use leastwise_device::{Device, Recording};
use leastwise_error::Error;
use lloyd::Lloyd;
use script::{Script, Step};
use serde::Serialize;
use soft::Annealing;
use vlc::Published;
use workspace::Workspace;

/// One iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Iteration {
    /// In the points' units, squared.
    pub energy: f64,
    /// How many labels it changed.
    pub changed: f64,
    /// Temperature of the iteration; no meaning for [`Method::Lloyd`].
    pub temperature: f64,
    /// Number of anchors after the iteration.
    pub clusters: u32,
}

/// Why it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Termination {
    /// The method's tests for convergence were met.
    Converged,
    /// The greatest number of iterations was reached.
    MaxIterations,
    /// [`Clustering::stop`] ended it.
    Stopped,
}

/// What a clustering came to.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Row by row.
    #[serde(skip)]
    pub centroids: Vec<f32>,
    /// Anchor of every point: its row in `centroids`.
    #[serde(skip)]
    pub labels: Vec<u32>,
    /// Points of every anchor.
    #[serde(skip)]
    pub counts: Vec<u32>,
    /// Number of anchors: rows of `centroids`.
    pub clusters: u32,
    /// Mean squared distance of the points to their anchors, in the points' units.
    pub energy: f64,
    /// History, one entry an iteration.
    pub iterations: Vec<Iteration>,
    /// Reason of the end, for programs.
    pub termination: Termination,
    /// Reason of the end, in words.
    pub reason: String,
    /// Milliseconds from the start to the end.
    pub ms: f64,
}

/// What comes next.
pub enum Next {
    /// To be played; what it reads goes to the next [`Clustering::advance`].
    Run(Recording),
    /// The result; the clustering is over.
    Done(Box<Outcome>),
}

/// What runs.
enum Phase {
    Anneal(Annealing),
    Lloyd(Lloyd),
    Published(Published),
    /// It was stopped, and labels are made those of the anchors.
    Settled,
    /// Anchors, labels and counts come back, one after the other.
    Closing {
        anchors: Vec<f64>,
        pieces: usize,
        labels: Vec<u32>,
    },
}

/// A clustering on its way.
pub struct Clustering {
    settings: Settings,
    points: Points,
    script: Script,
    phase: Phase,
    log: Log,
    stop: Option<String>,
}

/// What was seen so far.
pub(super) struct Log {
    pub iterations: Vec<Iteration>,
    pub termination: Termination,
    pub reason: String,
    /// Anchors now.
    pub clusters: u32,
    /// Iterations that the state on the device has counted and this log has.
    pub seen: u32,
    begun_ms: f64,
    /// From 0 to 1.
    pub progress: f64,
}

impl Log {
    fn new(clusters: u32) -> Self {
        Self {
            iterations: Vec::new(),
            termination: Termination::Converged,
            reason: String::new(),
            clusters,
            seen: 0,
            begun_ms: now_ms(),
            progress: 0.0,
        }
    }

    fn stopped(&mut self, reason: Option<String>) {
        (self.termination, self.reason) = (Termination::Stopped, reason.unwrap_or_default());
    }
}

impl Clustering {
    /// A clustering of `points` (row-major, [`Options::dim`] values a row), with buffers on the device.
    /// It runs by [`advance`](Self::advance).
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for refused options, those of [`Points::new`], and [`Error::Device`] if the buffers do not fit.
    pub fn new(device: &mut Device, points: Vec<f32>, options: &Options) -> Result<Self, Error> {
        let settings = options.settings()?;
        let points = Points::new(points, settings.dimensions, settings.method == Method::Vlc)?;
        if !options.centroids.is_empty() && settings.clusters > points.count() {
            let (clusters, count) = (settings.clusters, points.count());
            return Err(Error::InvalidOption(format!("cluster(): start has {clusters} centroids, but there are {count} points only")));
        }
        let settings = Settings { clusters: settings.clusters.min(points.count().max(1)), ..settings };
        let log = Log::new(settings.clusters);
        let anneals = settings.method == Method::Anneal && points.count() > 1;
        let (work, phase);
        if anneals {
            let annealing = Annealing::new(device, &points, &settings)?;
            (work, phase) = (annealing.1, Phase::Anneal(annealing.0));
        } else {
            let capacity = if settings.method == Method::Vlc { 2 * settings.clusters } else { settings.clusters };
            work = Workspace::new(device, &points, &settings, capacity)?;
            phase = match settings.method {
                Method::Vlc => Phase::Published(Published::new()),
                _ => Phase::Lloyd(Lloyd::starting(points.stored(&options.centroids))),
            };
        }
        Ok(Self { settings, points, script: Script::new(work), phase, log, stop: None })
    }

    /// Has it end with what it has.
    pub fn stop(&mut self, reason: &str) {
        self.stop.get_or_insert_with(|| reason.into());
    }

    /// Whether it was stopped and not yet heeded that: what is being played can be cut short.
    pub fn is_urged(&self) -> bool {
        self.stop.is_some() && matches!(self.phase, Phase::Lloyd(_) | Phase::Published(_))
    }

    /// Has iterations that are being played end.
    pub fn hurry(&self, device: &mut Device) -> Result<(), Error> {
        Ok(device.interject(Recording { commands: vec![self.script.work.set(state::DONE, 1.0)] })?)
    }

    /// # Errors
    /// [`Error::Stopped`] where it was stopped before there was a codebook, so that there is nothing to go on for.
    pub fn check_stop(&self) -> Result<(), Error> {
        let has_anchors = match &self.phase {
            Phase::Anneal(annealing) => annealing.has_anchors(),
            Phase::Lloyd(lloyd) => lloyd.has_anchors || self.log.seen > 0,
            Phase::Published(_) => self.log.seen > 0,
            Phase::Settled | Phase::Closing { .. } => true,
        };
        match &self.stop {
            Some(reason) if !has_anchors => Err(Error::Stopped(reason.clone())),
            _ => Ok(()),
        }
    }

    /// From 0 to 1, about.
    pub fn progress(&self) -> f64 {
        self.log.progress
    }

    /// Frees what it has on the device.
    pub fn dispose(&mut self, device: &mut Device) {
        self.script.buffers().for_each(|buffer| device.free(buffer));
    }

    /// Goes on, with what the last recording brought back.
    pub fn advance(&mut self, device: &mut Device, readback: &[f64]) -> Result<Next, Error> {
        loop {
            self.check_stop()?;
            // Points that anchors were found among before may still have to be brought.
            let is_brought = self.log.seen > 0 || self.script.is_empty();
            if self.stop.is_some()
                && is_brought
                && let Phase::Lloyd(lloyd) = &self.phase
            {
                self.script.clear();
                lloyd.settle(&mut self.script, &mut self.log);
                self.phase = Phase::Settled;
                self.log.stopped(self.stop.take());
            }
            let points = if let Phase::Anneal(annealing) = &self.phase { annealing.points() } else { &self.points };
            if let Some(recording) = self.script.next(points) {
                return Ok(Next::Run(recording));
            }
            if self.stop.is_some() && matches!(self.phase, Phase::Published(_)) {
                self.log.stopped(self.stop.take());
                self.close();
                continue;
            }
            match &mut self.phase {
                Phase::Anneal(annealing) => {
                    if let Step::Finished = annealing.step(&mut self.script, &mut self.log, readback, self.stop.is_some())? {
                        let anchors = readback.to_vec();
                        self.dispose(device);
                        let work = Workspace::new(device, &self.points, &self.settings, self.settings.clusters)?;
                        self.script = Script::new(work);
                        let (script, log) = (&mut self.script, &mut self.log);
                        Lloyd::bring(script, log, &self.settings, &self.points, anchors);
                        self.phase = if self.stop.is_some() {
                            Lloyd::label(script, log);
                            log.stopped(self.stop.take());
                            Phase::Settled
                        } else {
                            Phase::Lloyd(Lloyd::moving(script, log, &self.settings))
                        };
                    }
                }
                Phase::Lloyd(lloyd) => {
                    if let Step::Finished = lloyd.step(&mut self.script, &mut self.log, &self.settings, &self.points, readback)? {
                        self.close();
                    }
                }
                Phase::Published(published) => {
                    if let Step::Finished =
                        published.step(device, &mut self.script, &mut self.log, &self.settings, &self.points, readback)?
                    {
                        self.close();
                    }
                }
                Phase::Settled => {
                    self.log.take(readback);
                    self.close();
                }
                Phase::Closing { anchors, pieces, labels } => {
                    if *pieces == usize::MAX {
                        *labels = readback.iter().map(|label| *label as u32).collect();
                        return Ok(Next::Done(Box::new(self.outcome())));
                    }
                    anchors.extend(readback);
                    *pieces += 1;
                    if !self.script.read_anchors(self.log.clusters, *pieces) {
                        *pieces = usize::MAX;
                        self.script.read_labels();
                    }
                }
            }
        }
    }

    fn close(&mut self) {
        self.phase = Phase::Closing { anchors: Vec::new(), pieces: 0, labels: Vec::new() };
        self.script.read_anchors(self.log.clusters, 0);
    }

    fn outcome(&mut self) -> Outcome {
        let (anchors, labels) = match &mut self.phase {
            Phase::Closing { anchors, labels, .. } => (std::mem::take(anchors), std::mem::take(labels)),
            _ => Default::default(),
        };
        let mut counts = vec![0; self.log.clusters as usize];
        labels.iter().for_each(|label| counts[*label as usize] += 1);
        let log = std::mem::replace(&mut self.log, Log::new(0));
        outcome(&self.points, &self.settings, log, &anchors, labels, counts)
    }
}

/// Outcome of a clustering, of anchors, labels, and the points of every anchor.
fn outcome(points: &Points, settings: &Settings, log: Log, anchors: &[f64], mut labels: Vec<u32>, mut counts: Vec<u32>) -> Outcome {
    let mut centroids = points.restored(anchors);
    // Of a codebook nothing is kept that no point belongs to; the published one keeps what it merged.
    if settings.method != Method::Vlc {
        let numbers: Vec<u32> = counts
            .iter()
            .scan(0, |next, count| {
                *next += u32::from(*count > 0);
                Some(next.wrapping_sub(1))
            })
            .collect();
        labels.iter_mut().for_each(|label| *label = numbers[*label as usize]);
        let width = points.dimensions;
        let kept = centroids.chunks(width).zip(&counts).filter(|(_, count)| **count > 0);
        centroids = kept.flat_map(|(row, _)| row.to_vec()).collect();
        counts.retain(|count| *count > 0);
    }
    let iterations: Vec<_> = log.iterations.into_iter().map(|it| Iteration { energy: points.restored_energy(it.energy), ..it }).collect();
    Outcome {
        clusters: counts.len() as u32,
        energy: iterations.last().map_or(0.0, |last| last.energy),
        centroids,
        labels,
        counts,
        iterations,
        termination: log.termination,
        reason: log.reason,
        ms: now_ms() - log.begun_ms,
    }
}

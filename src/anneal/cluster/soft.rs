//! Deterministic annealing (Rose 1998, "Deterministic annealing for clustering, compression, classification, regression, and related
//! optimization problems", section III): at a temperature T, a point belongs to anchor a by p e^(−‖x − a‖²/T), and anchors go to the
//! means weighted so. From above on, there is one cluster; where T falls below 2λ, λ the largest eigenvalue of a cluster's covariance,
//! the cluster falls apart in two along the eigenvector.
//!
//! Anchors stand in pairs, a short way from each other, which is multiplied by 2λ/T in an iteration along the eigenvector: that is a power
//! iteration, and says when a cluster is due. Temperatures fall by a factor; when all anchors are there, pairs are joined and the rest
//! of the way down goes without. At high temperatures a part of the points will do.

use super::lloyd::{in_one_piece, prepare, sample};
use super::points::Points;
use super::script::{Script, Step};
use super::workspace::{Soft, Workspace};
use super::{Log, Settings, state};
use leastwise_device::{Command, Device, Kind, Slice};
use leastwise_error::Error;

/// Points a cluster that annealing looks at, and points in all, at least.
const POINTS_PER_CLUSTER: u32 = 96;
const FEWEST_POINTS: u32 = 8192;
/// Iterations at a temperature.
const INNER: u32 = 3;
/// Iterations to find the first critical temperature.
const FIRST: u32 = 12;
/// A critical temperature is met from a bit below.
const BELOW: f64 = 0.98;
/// Where annealing ends, of the temperature that all anchors are there at; and without all, of the first critical temperature.
const COLD: f64 = 0.4;
const COLDEST: f64 = 1e-5;
/// The least part of a temperature that the next one may be.
const FARTHEST: f64 = 0.3;
/// Temperatures after which what pairs grow by can be relied on.
const QUIET: u32 = 2;
/// How far pairs are apart, of √T; and halves of a cluster that falls apart, of √λ.
const NUDGE: f64 = 0.02;
const STEP: f64 = 0.3;
/// Responsibilities of a block of points, about.
const SCORES: u32 = 1 << 22;

enum Stage {
    Begin,
    /// Looks for the first critical temperature.
    Measuring,
    /// Anchors stand in pairs.
    Growing,
    /// All are there.
    Cooling,
    Reading,
}

/// An annealing on its way.
pub struct Annealing {
    stage: Stage,
    points: Points,
    settings: Settings,
    scores: Slice,
    /// Points of a block.
    block: u32,
    temperature: f64,
    /// The first critical temperature, and the one that all anchors were there at.
    critical: f64,
    complete: f64,
    /// Clusters so far, and temperatures since one fell apart.
    clusters: u32,
    quiet: u32,
    seed: u32,
}

impl Annealing {
    /// With a workspace of its own, for the points that it looks at.
    pub fn new(device: &mut Device, points: &Points, settings: &Settings) -> Result<(Self, Workspace), Error> {
        let wanted = (settings.clusters.saturating_mul(POINTS_PER_CLUSTER)).max(FEWEST_POINTS).min(points.count());
        let rows = sample(points.count(), wanted, settings.seed);
        let points = points.rows(&rows);
        let settings = Settings { device_bytes: None, ..*settings };
        let mut work = Workspace::new(device, &points, &settings, 2 * settings.clusters)?;
        // Norms are those of products, whatever assignment does.
        work.direct = false;
        if let Err(error) = in_one_piece(&work, 2 * settings.clusters, "anneal") {
            work.buffers().into_iter().for_each(|buffer| device.free(buffer));
            return Err(error);
        }
        let most = (device.limits().binding_bytes.min(device.limits().buffer_bytes) / 4).min(u64::from(SCORES)) as u32;
        let block = (most / (2 * settings.clusters)).clamp(1, points.count());
        let block = if block < points.count() && block > 256 { block / 256 * 256 } else { block };
        let scores = match device.allocate(Kind::Real, block * 2 * settings.clusters, "responsibilities") {
            Ok(buffer) => Slice { buffer, offset: 0, len: block * 2 * settings.clusters },
            Err(error) => {
                work.buffers().into_iter().for_each(|buffer| device.free(buffer));
                return Err(error.into());
            }
        };
        work.extra.push(scores.buffer);
        let annealing = Self {
            stage: Stage::Begin,
            points,
            settings,
            scores,
            block,
            temperature: 0.0,
            critical: 0.0,
            complete: 0.0,
            clusters: 1,
            quiet: 0,
            seed: settings.seed,
        };
        Ok((annealing, work))
    }

    /// Whether it has found any anchor yet.
    pub fn has_anchors(&self) -> bool {
        !matches!(self.stage, Stage::Begin | Stage::Measuring)
    }

    pub fn points(&self) -> &Points {
        &self.points
    }

    /// Goes on; when it is over, the anchors were read.
    pub fn step(&mut self, script: &mut Script, log: &mut Log, readback: &[f64], stopped: bool) -> Result<Step, Error> {
        match self.stage {
            Stage::Begin => {
                prepare(script, &self.settings, &self.points);
                // What is called hot: nothing is due.
                self.temperature = 4.0 * self.points.variance.max(f64::from(f32::MIN_POSITIVE));
                // Both at the mean; the first measure moves them apart.
                let anchors = script.work.pieces[0].anchors;
                script.push(Command::Clear { slice: Slice { len: 2 * script.work.dimensions, ..anchors } });
                self.cool(script);
                self.measure(script);
                self.iterate(script, FIRST, true);
                self.read_measures(script);
                self.stage = Stage::Measuring;
            }
            Stage::Measuring => {
                let measured = readback.first().copied().unwrap_or(0.0);
                self.critical = measured * self.temperature;
                let is_flat = self.critical.is_nan() || self.critical <= 1e-9 * self.points.variance;
                if is_flat || self.settings.clusters < 2 {
                    self.join(script);
                } else {
                    let measured_at = std::mem::replace(&mut self.temperature, self.critical * BELOW);
                    self.cool(script);
                    self.split(script, readback, measured_at);
                    self.descend(script);
                }
            }
            Stage::Growing => {
                self.note(log);
                let measured_at = self.temperature;
                let next = readback.iter().fold(0.0, |most: f64, measure| most.max(*measure)) * measured_at * BELOW;
                let cooled = measured_at * (1.0 - self.settings.cooling.max(0.01));
                // Between two critical temperatures nothing happens. But what measures say of new pairs is too low for a while.
                self.temperature = if self.quiet >= QUIET { next.clamp(cooled.min(measured_at * FARTHEST), cooled) } else { cooled };
                self.quiet += 1;
                if stopped || self.temperature < COLDEST * self.critical {
                    self.join(script);
                } else {
                    self.split(script, readback, measured_at);
                    self.descend(script);
                }
            }
            Stage::Cooling => {
                self.note(log);
                self.temperature *= 1.0 - self.settings.cooling.max(0.01);
                if stopped || self.temperature < COLD * self.complete {
                    self.read(script);
                } else {
                    self.cool(script);
                    self.iterate(script, INNER, false);
                    script.read(Slice { len: 1, ..script.work.state });
                }
            }
            Stage::Reading => return Ok(Step::Finished),
        }
        Ok(Step::Going)
    }

    fn note(&self, log: &mut Log) {
        let grown = f64::from(self.clusters) / f64::from(self.settings.clusters);
        log.progress = (0.5 * grown).max(log.progress);
    }

    /// Says the temperature, and how far pairs are apart.
    fn cool(&self, script: &mut Script) {
        let work = &script.work;
        let set = [(state::TEMPERATURE, self.temperature), (state::NUDGE, NUDGE * self.temperature.sqrt())];
        let commands = set.map(|(element, value)| work.set(element, value));
        commands.into_iter().for_each(|command| script.push(command));
    }

    /// At the next temperature, with pairs or without.
    fn descend(&mut self, script: &mut Script) {
        self.cool(script);
        if self.clusters < self.settings.clusters {
            self.stage = Stage::Growing;
            self.iterate(script, INNER, true);
            self.read_measures(script);
        } else {
            self.gather(script);
            self.complete = self.temperature;
            self.stage = Stage::Cooling;
            self.iterate(script, INNER, false);
            script.read(Slice { len: 1, ..script.work.state });
        }
    }

    /// Iterations of soft assignment and weighted means.
    fn iterate(&self, script: &mut Script, times: u32, in_pairs: bool) {
        let anchors = self.clusters * (1 + u32::from(in_pairs));
        for time in 0..times {
            script.with(|work, commands| {
                let shares = work.shares(anchors);
                // What the masses are is known once there are sums of these very anchors.
                let masses = if time == 0 { 0 } else { shares };
                commands.push(work.norms(work.pieces[0], anchors, masses));
                let soft = Soft { clusters: anchors, shares, scores: self.scores };
                for chunk in &work.chunks {
                    for first in (0..chunk.count).step_by(self.block as usize) {
                        work.soft(soft, *chunk, first, self.block.min(chunk.count - first), commands);
                    }
                }
                work.update(work.pieces[0].anchors, work.pieces[0].velocity, anchors, 0, commands);
            });
            if in_pairs {
                self.measure(script);
            }
        }
    }

    /// How far pairs moved apart; then they are as far as before.
    fn measure(&self, script: &mut Script) {
        let (pairs, seed) = (self.clusters, self.seed);
        script.with(|work, commands| {
            work.pairs(pairs, 0, seed, commands);
            commands.push(work.copy_rows(work.candidates, 0, work.pieces[0].anchors, 0, 2 * pairs));
        });
    }

    fn read_measures(&self, script: &mut Script) {
        script.read(Slice { len: self.clusters, ..script.work.totals });
    }

    /// Splits the clusters that are due at this temperature, those first whose variance is largest.
    fn split(&mut self, script: &mut Script, measures: &[f64], measured_at: f64) {
        // What pairs grew by, 2λ/T, times the T that it was at, is where they are due.
        let mut due: Vec<(f64, u32)> = measures.iter().zip(0..).map(|(measure, pair)| (measure * measured_at, pair)).collect();
        due.retain(|(critical, _)| *critical > self.temperature);
        due.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        due.truncate((self.settings.clusters - self.clusters) as usize);
        if due.is_empty() {
            return;
        }
        self.quiet = 0;
        let pairs = self.clusters;
        let (mut steps, mut others) = (vec![0.0; pairs as usize], vec![0; pairs as usize]);
        for (critical, pair) in due {
            steps[pair as usize] = STEP * (critical / 2.0).sqrt();
            others[pair as usize] = self.clusters;
            self.clusters += 1;
        }
        self.seed = self.seed.wrapping_add(1);
        let (work, seed, clusters) = (&script.work, self.seed, self.clusters);
        let steps = Command::UploadReals { buffer: work.uniforms.buffer, offset: 0, data: steps };
        let others = Command::UploadIndices { buffer: work.table.buffer, offset: 0, data: others };
        script.push(steps);
        script.push(others);
        script.with(|work, commands| {
            work.pairs(pairs, 1, seed, commands);
            commands.push(work.copy_rows(work.candidates, 0, work.pieces[0].anchors, 0, 2 * clusters));
        });
    }

    /// Pairs become single anchors.
    fn gather(&self, script: &mut Script) {
        let (clusters, seed) = (self.clusters, self.seed);
        script.with(|work, commands| {
            work.pairs(clusters, 2, seed, commands);
            commands.push(work.copy_rows(work.candidates, 0, work.pieces[0].anchors, 0, clusters));
        });
    }

    fn join(&mut self, script: &mut Script) {
        self.gather(script);
        self.read(script);
    }

    fn read(&mut self, script: &mut Script) {
        let anchors = script.work.pieces[0].anchors;
        script.read(Slice { len: self.clusters * script.work.dimensions, ..anchors });
        self.stage = Stage::Reading;
    }
}

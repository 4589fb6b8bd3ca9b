//! Lloyd's iterations (Lloyd 1982): every point to its nearest anchor, every anchor to the mean of its points, until the energy
//! does not fall any more.

use super::moves::Moves;
use super::points::Points;
use super::script::{Script, Step};
use super::workspace::{Sums, Workspace};
use super::{Log, Mean, Settings, Start, Termination, state};
use leastwise_base::random::SplitMix64;
use leastwise_device::Command;
use leastwise_error::Error;

/// How many iterations a submission has.
const BATCH: u32 = 8;
/// What changes by nothing is still with a tolerance of 0, too.
const LEAST_CHANGE: f64 = f32::MIN_POSITIVE as f64;
/// Where the energy is less than this part of the points' variance, ‖x‖² + ‖a‖² − 2x·a has lost what tells anchors apart.
const CANCELLED: f64 = 1e-3;

/// What all is drawn from.
fn random(seed: u32) -> SplitMix64 {
    SplitMix64(u64::from(seed) ^ 0x9e37_79b9_7f4a_7c15)
}

enum Stage {
    /// Anchors to begin with, row by row, or none.
    Begin(Vec<f64>),
    Iterating,
    /// Anchors are moved between the iterations.
    Moving(Moves),
}

/// Lloyd's iterations.
pub struct Lloyd {
    stage: Stage,
    /// True once it has anchors that were given to it.
    pub has_anchors: bool,
}

/// Brings points, their norms, and the state's settings.
pub fn prepare(script: &mut Script, settings: &Settings, points: &Points) {
    script.upload_all();
    let huber = if let Mean::Huber(delta) = settings.mean { points.stored_distance(delta) } else { 0.0 };
    let trim = if let Mean::Trim(part) = settings.mean { part } else { 0.0 };
    let published = settings.streak > 1;
    // Else it is a part of an energy that is not known yet.
    let tolerance = if published { settings.tolerance } else { 0.0 };
    let mut values = vec![0.0; state::STATE_LEN as usize];
    for (element, value) in [
        (state::ENERGY, 3e38),
        (state::TEMPERATURE, settings.temperature),
        (state::KEPT_HEAT, f64::from(1.0f32 - settings.cooling as f32)),
        (state::RATE, settings.rate),
        (state::STEP_LIMIT, super::STEP_LIMIT),
        (state::MOMENTUM, settings.momentum),
        (state::TOLERANCE, tolerance.max(LEAST_CHANGE)),
        (state::FEWEST_CHANGES, if settings.fewest_changes == u32::MAX { 3e38 } else { f64::from(settings.fewest_changes) }),
        (state::STREAK_NEEDED, f64::from(settings.streak)),
        (state::POINTS, f64::from(points.count())),
        (state::TRIM, trim),
        (state::HUBER, huber),
    ] {
        values[element as usize] = value;
    }
    script.push(Command::UploadReals { buffer: script.work.state.buffer, offset: 0, data: values });
    if !script.work.direct {
        script.each_chunk(|work, chunk, commands| commands.push(work.squares(chunk)));
    }
}

/// Chooses where anchors start: one after the other, at the farthest point or, of a few at random, at the one that leaves the least sum
/// of squared distances (Arthur & Vassilvitskii 2007, section 5: greedy k-means++).
pub fn start(script: &mut Script, settings: &Settings, points: &Points) {
    let mut random = random(settings.seed);
    let trials = if settings.start == Start::PlusPlus { script.work.trials(settings.clusters) } else { 0 };
    let first = if trials > 0 { (random.unit() * f64::from(points.count())) as u32 } else { 0 };
    let uniforms: Vec<f64> = (0..trials * settings.clusters).map(|_| random.unit()).collect();
    script.push(Command::UploadReals { buffer: script.work.uniforms.buffer, offset: 0, data: uniforms });
    script.push(Command::UploadIndices { buffer: script.work.table.buffer, offset: script.work.places.choice, data: vec![first] });
    for anchor in 0..settings.clusters {
        let chooses = trials > 1 && anchor > 0;
        let Some(rows) = script.work.starts(anchor, chooses) else { return };
        if anchor > 0 {
            script.each_chunk(|work, chunk, commands| work.farthest(chunk, anchor - 1, commands));
            let at_random = (trials > 0).then_some((trials * anchor, trials));
            script.with(|work, commands| work.pick(rows, at_random, commands));
        }
        if anchor == 0 || script.work.chunks.len() > 1 {
            let picks = if chooses { trials } else { 1 };
            script.each_chunk(|work, chunk, commands| work.adopt(chunk, rows, picks, commands));
        }
        if chooses {
            script.each_chunk(|work, chunk, commands| work.potentials(chunk, trials, commands));
            script.with(|work, commands| work.elect(anchor, trials, commands));
        }
    }
}

/// Puts anchors where they start.
fn place(script: &mut Script, settings: &Settings, anchors: &[f64]) {
    let width = anchors.len() / settings.clusters as usize;
    for (piece, here) in script.work.pieces_of(settings.clusters).collect::<Vec<_>>() {
        let data = anchors[piece.first as usize * width..][..here as usize * width].to_vec();
        script.push(Command::UploadReals { buffer: piece.anchors.buffer, offset: piece.anchors.offset, data });
    }
}

/// Heeds an energy: what counts as still is a part of it; and where it is next to nothing, distances are summed from differences.
pub fn heed(script: &mut Script, settings: &Settings, points: &Points, values: &[f64]) {
    let energy = values[state::ENERGY as usize];
    script.push(script.work.set(state::TOLERANCE, (settings.tolerance * energy).max(LEAST_CHANGE)));
    script.work.direct |= energy < CANCELLED * points.variance;
}

/// One iteration: nothing moves once it is found that nothing changes any more.
pub fn iterate(script: &mut Script, settings: &Settings, clusters: u32) {
    assign(script, clusters);
    script.with(|work, commands| work.converge(false, commands));
    let weighted = settings.mean != Mean::Plain;
    let mut members = script.work.places.members;
    script.with(|work, commands| match settings.mean {
        Mean::Trim(_) => work.members_by_distance(clusters, commands),
        _ => work.members(clusters, commands),
    });
    match settings.mean {
        Mean::Plain => {}
        Mean::Huber(_) => script.with(|work, commands| work.weigh(members, false, commands)),
        Mean::Trim(_) if script.work.chunks.len() == 1 => members = script.work.places.aside,
        // Where points are in several chunks, members stand in ascending order.
        Mean::Trim(_) => script.with(|work, commands| work.members(clusters, commands)),
    }
    means(script, clusters, members, weighted, 0);
}

/// Every point to its nearest anchor.
pub fn assign(script: &mut Script, clusters: u32) {
    if !script.work.direct {
        script.with(|work, commands| {
            let norms = work.pieces_of(clusters).map(|(piece, here)| work.norms(piece, here, 0));
            commands.extend(norms);
        });
    }
    script.each_chunk(|work, chunk, commands| work.assign(chunk, clusters, commands));
}

/// Every anchor to the mean of its members, or a step there.
pub fn means(script: &mut Script, clusters: u32, members: u32, weighted: bool, flags: u32) {
    for (piece, here) in script.work.pieces_of(clusters).collect::<Vec<_>>() {
        let sums = Sums { clusters: here, first: piece.first, members, weighted };
        script.each_chunk(|work, chunk, commands| work.centroid_sums(chunk, sums, commands));
        #[cfg(not(target_arch = "wasm32"))]
        script.with(|work, commands| commands.extend(work.combined_sums(here)));
        script.with(|work, commands| work.update(piece.anchors, piece.velocity, here, flags, commands));
    }
}

impl Lloyd {
    /// Iterations from these anchors, or from a start of their own where there are none.
    pub fn starting(anchors: Vec<f64>) -> Self {
        Self { has_anchors: false, stage: Stage::Begin(anchors) }
    }

    /// Brings points and anchors.
    pub fn bring(script: &mut Script, log: &mut Log, settings: &Settings, points: &Points, anchors: Vec<f64>) {
        prepare(script, settings, points);
        log.clusters = (anchors.len() / points.dimensions).max(1) as u32;
        let buffer = script.work.pieces[0].anchors.buffer;
        script.push(Command::UploadReals { buffer, offset: 0, data: anchors });
    }

    /// From the anchors that there are, which are moved where that helps and there are iterations for it.
    pub fn moving(script: &mut Script, log: &mut Log, settings: &Settings) -> Self {
        let mut lloyd = Self { stage: Stage::Iterating, has_anchors: true };
        match Moves::new(script, log, settings) {
            Some(moves) => lloyd.stage = Stage::Moving(moves),
            None => lloyd.batch(script, log, settings, true),
        }
        lloyd
    }

    /// From the anchors that there are.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn going(script: &mut Script, log: &mut Log, settings: &Settings) -> Self {
        let mut lloyd = Self { stage: Stage::Iterating, has_anchors: true };
        lloyd.batch(script, log, settings, true);
        lloyd
    }

    pub fn step(
        &mut self,
        script: &mut Script,
        log: &mut Log,
        settings: &Settings,
        points: &Points,
        readback: &[f64],
    ) -> Result<Step, Error> {
        match &mut self.stage {
            Stage::Begin(anchors) => {
                let anchors = std::mem::take(anchors);
                prepare(script, settings, points);
                if anchors.is_empty() {
                    start(script, settings, points);
                } else {
                    place(script, settings, &anchors);
                    self.has_anchors = true;
                }
                self.batch(script, log, settings, true);
            }
            Stage::Iterating => {
                let done = log.take(readback);
                heed(script, settings, points, readback);
                if done || log.seen >= settings.max_iterations {
                    end(log, done, settings);
                    return Ok(Step::Finished);
                }
                self.batch(script, log, settings, false);
            }
            Stage::Moving(moves) => {
                if let Step::Finished = moves.step(script, log, settings, points, readback) {
                    self.batch(script, log, settings, false);
                }
            }
        }
        Ok(Step::Going)
    }

    /// What a clustering ends with that is stopped: the best anchors so far, and their labels.
    pub fn settle(&self, script: &mut Script, log: &mut Log) {
        if let Stage::Moving(moves) = &self.stage {
            moves.restore(script, log);
        }
        Self::label(script, log);
    }

    /// Labels of the anchors as they are.
    pub fn label(script: &mut Script, log: &Log) {
        script.push(script.work.set(state::DONE, 0.0));
        assign(script, log.clusters);
        script.with(|work, commands| work.converge(false, commands));
        script.read_state();
    }

    /// Several iterations; the last one that there may be only assigns, so that labels are those of the anchors.
    fn batch(&mut self, script: &mut Script, log: &mut Log, settings: &Settings, first: bool) {
        self.stage = Stage::Iterating;
        let left = settings.max_iterations.saturating_sub(log.seen);
        log.progress = log.progress.max(1.0 - f64::from(left) / f64::from(settings.max_iterations));
        if left > 1 {
            let times = if first { 1 } else { BATCH.min(left - 1) };
            let clusters = log.clusters;
            script.repeat(times, |script| iterate(script, settings, clusters));
        } else {
            assign(script, log.clusters);
            script.with(|work, commands| work.converge(false, commands));
        }
        script.read_state();
    }
}

/// Says why iterations ended.
pub fn end(log: &mut Log, done: bool, settings: &Settings) {
    log.progress = 1.0;
    let number = log.seen;
    (log.termination, log.reason) = if done {
        (Termination::Converged, format!("the energy changed by less than the tolerance after {number} iterations"))
    } else {
        (Termination::MaxIterations, format!("maxIterations, {}, were made", settings.max_iterations))
    };
}

/// A fixed share of rows, spread over all: which they are depends on the seed alone (Knuth, TAOCP 2, algorithm S).
pub fn sample(count: u32, wanted: u32, seed: u32) -> Vec<u32> {
    let mut random = random(seed ^ 0x5a5a_5a5a);
    let mut chosen = Vec::with_capacity(wanted as usize);
    for row in 0..count {
        let needed = wanted - chosen.len() as u32;
        if random.unit() * f64::from(count - row) < f64::from(needed) {
            chosen.push(row);
        }
    }
    chosen
}

/// The workspace's first piece is all of it: what needs all anchors in one buffer says so where they are not.
pub fn in_one_piece(work: &Workspace, clusters: u32, method: &str) -> Result<(), Error> {
    if work.pieces_of(clusters).count() > 1 {
        let (dimensions, most) = (work.dimensions, work.pieces[0].count);
        return Err(Error::Limits(format!(
            "cluster(): {clusters} clusters of {dimensions} components do not fit into one buffer of this device, {most} do: use method \"lloyd\" instead of \"{method}\""
        )));
    }
    Ok(())
}

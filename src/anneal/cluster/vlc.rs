//! The published annealed compressor ("vector-lattice compression"), step for step: anchors from farthest first, in half precision; then
//! assignment, trimmed means in the order of distances, a clamped step that gets shorter as the temperature falls, and at intervals its
//! maintenance, which merges anchors that are close and splits those with many members or a large variance.
//!
//! Of its arithmetic: all is f32, nothing fused. Squared distances of assignment, trimming and energy are added up by fours, those of the start and
//! of maintenance one after the other. The energy has the anchors of after maintenance, and labels of before the step but for what maintenance
//! changed. Merged anchors stay in the list without members.

use super::lloyd::{assign, end, means, prepare, start};
use super::moves::divide;
use super::points::Points;
use super::script::{Script, Step};
use super::workspace::Workspace;
use super::{Log, Mean, Settings, state};
use leastwise_device::{BufferId, Command, Device};
use leastwise_error::Error;

/// Iterations in a submission at most.
const BATCH: u32 = 16;
/// What says to `update` that anchors are of half precision.
const HALVES: u32 = 4;

enum Stage {
    Begin,
    Iterating,
    /// After merging: variances come back, then counts.
    Merged,
    Counting {
        variances: Vec<f64>,
    },
}

/// The published algorithm.
pub struct Published {
    stage: Stage,
    temperature: f64,
}

impl Published {
    pub fn new() -> Self {
        Self { stage: Stage::Begin, temperature: 0.0 }
    }

    /// Maintenance may double the anchors.
    fn make_room(device: &mut Device, script: &mut Script, log: &Log, settings: &Settings, points: &Points) -> Result<(), Error> {
        if 2 * log.clusters > script.work.capacity {
            let larger = Workspace::grown(device, points, settings, &script.work, 2 * log.clusters)?;
            let kept: Vec<BufferId> = larger.chunks.iter().map(|chunk| chunk.points.buffer).collect();
            script.retired = script.work.buffers().into_iter().filter(|buffer| !kept.contains(buffer)).collect();
            let copies = larger.copies_of(&script.work, log.clusters);
            script.work = larger;
            copies.into_iter().for_each(|copy| script.push(copy));
            super::lloyd::in_one_piece(&script.work, 2 * log.clusters, "vlc")?;
        }
        Ok(())
    }

    pub fn step(
        &mut self,
        device: &mut Device,
        script: &mut Script,
        log: &mut Log,
        settings: &Settings,
        points: &Points,
        readback: &[f64],
    ) -> Result<Step, Error> {
        match &mut self.stage {
            Stage::Begin => {
                super::lloyd::in_one_piece(&script.work, 2 * settings.clusters, "vlc")?;
                prepare(script, settings, points);
                start(script, settings, points);
                self.batch(script, log, settings);
            }
            Stage::Iterating => {
                let done = log.take(readback);
                self.temperature = readback[state::TEMPERATURE as usize];
                if done || log.seen >= settings.max_iterations {
                    end(log, done, settings);
                    return Ok(Step::Finished);
                }
                script.retired.drain(..).for_each(|buffer| device.free(buffer));
                if log.seen > 0 && log.seen.is_multiple_of(settings.interval) {
                    Self::make_room(device, script, log, settings, points)?;
                    self.maintain(script, log, settings);
                } else {
                    self.batch(script, log, settings);
                }
            }
            Stage::Merged => {
                let variances = readback.iter().step_by(2).take(log.clusters as usize).copied().collect();
                script.read(Workspace::part(script.work.table, script.work.places.counts, log.clusters));
                self.stage = Stage::Counting { variances };
            }
            Stage::Counting { variances } => {
                let sums = std::mem::take(variances);
                let due = self.due(&sums, readback, log, points);
                Self::split(script, log, &due);
                Self::energy(script, log.clusters, true);
                script.read_state();
                self.stage = Stage::Iterating;
            }
        }
        Ok(Step::Going)
    }

    /// Iterations up to the next maintenance.
    fn batch(&mut self, script: &mut Script, log: &mut Log, settings: &Settings) {
        let next = (log.seen / settings.interval + 1) * settings.interval;
        let times = BATCH.min(next - log.seen).min(settings.max_iterations - log.seen);
        log.progress = f64::from(log.seen) / f64::from(settings.max_iterations);
        let clusters = log.clusters;
        script.repeat(times, |script| {
            Self::anneal(script, settings, clusters);
            Self::energy(script, clusters, false);
        });
        script.read_state();
        self.stage = Stage::Iterating;
    }

    /// Assignment, robust means, a step.
    fn anneal(script: &mut Script, settings: &Settings, clusters: u32) {
        assign(script, clusters);
        let (mut members, mut weighted) = (script.work.places.members, false);
        match settings.mean {
            Mean::Trim(part) if part > 0.0 => {
                script.with(|work, commands| work.members_by_distance(clusters, commands));
                weighted = true;
                if script.work.chunks.len() == 1 {
                    members = script.work.places.aside;
                } else {
                    script.with(|work, commands| work.members(clusters, commands));
                }
            }
            Mean::Huber(_) => {
                script.with(|work, commands| {
                    work.members(clusters, commands);
                    work.weigh(members, false, commands);
                });
                weighted = true;
            }
            _ => script.with(|work, commands| work.members(clusters, commands)),
        }
        means(script, clusters, members, weighted, Self::flags(settings));
    }

    fn flags(settings: &Settings) -> u32 {
        1 | u32::from(settings.momentum > 0.0) << 1 | HALVES
    }

    fn energy(script: &mut Script, clusters: u32, relabelled: bool) {
        script.each_chunk(|work, chunk, commands| work.distances(chunk, clusters, true, commands));
        script.with(|work, commands| work.converge(relabelled, commands));
    }

    /// An iteration with maintenance, up to what is needed to know what to split.
    fn maintain(&mut self, script: &mut Script, log: &Log, settings: &Settings) {
        let clusters = log.clusters;
        Self::anneal(script, settings, clusters);
        script.with(|work, commands| {
            work.merge(clusters, true, commands);
            work.relabel(work.places.labels, commands);
            work.members(clusters, commands);
        });
        script.each_chunk(|work, chunk, commands| work.distances(chunk, clusters, false, commands));
        script.with(|work, commands| work.totals(work.nearest, clusters, false, commands));
        script.read(script.work.totals);
        self.stage = Stage::Merged;
    }

    /// Clusters that have too many members, or too large a variance.
    fn due(&self, sums: &[f64], counts: &[f64], log: &Log, points: &Points) -> Vec<u32> {
        let expected = f64::from(points.count() / log.clusters);
        let largest = self.temperature as f32 * 2.0;
        let is_due = |(sum, count): (&f64, &f64)| {
            let variance = if *count > 0.0 { *sum as f32 / *count as f32 } else { 0.0 };
            *count >= 2.0 && (*count > 2.0 * expected || variance > largest)
        };
        sums.iter().zip(counts).map(is_due).zip(0..).filter(|(due, _)| *due).map(|(_, k)| k).collect()
    }

    /// 2-means from a cluster's first and last member; the second centre becomes the last anchor.
    fn split(script: &mut Script, log: &mut Log, due: &[u32]) {
        if due.is_empty() {
            return;
        }
        let clusters = log.clusters;
        script.each_chunk(|work, chunk, commands| work.seed(chunk, clusters, [0, 65535], commands));
        divide(script, clusters, HALVES);
        let mut map: Vec<u32> = (0..2 * clusters).map(|side| side / 2).collect();
        for (number, k) in due.iter().enumerate() {
            map[2 * *k as usize + 1] = clusters + number as u32;
        }
        log.clusters += due.len() as u32;
        let work = &script.work;
        let anchors = work.pieces[0].anchors;
        let copies: Vec<_> = due
            .iter()
            .enumerate()
            .flat_map(|(number, &k)| {
                [(2 * k, k), (2 * k + 1, clusters + number as u32)]
                    .map(|(candidate, anchor)| work.copy_rows(work.candidates, candidate, anchors, anchor, 1))
            })
            .collect();
        let upload = Command::UploadIndices { buffer: work.table.buffer, offset: work.places.map, data: map };
        script.push(upload);
        copies.into_iter().for_each(|copy| script.push(copy));
        script.with(|work, commands| work.relabel(work.places.keys, commands));
    }
}

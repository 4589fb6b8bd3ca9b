//! Anchors are moved from where they help least to where they help most, between Lloyd's iterations.
//!
//! What an anchor is worth is what the energy rises by when its points go to their second nearest anchors; what a second one would
//! be worth in a cluster is what 2-means within it gain (after Patanè & Russo 2001, "The enhanced LBG algorithm": there, one
//! at a time). Both are estimates: the first is too high, since anchors then move. So moves are made in batches, a few iterations
//! follow, and what did not lower the energy is taken back.

use super::lloyd::{assign, heed, iterate, start};
use super::points::Points;
use super::script::{Script, Step};
use super::workspace::{Sort, Sums};
use super::{Log, Settings, Start, state};
use leastwise_device::Slice;

/// Iterations after moves, before it is seen whether they helped: the more, the less an iteration is.
const SETTLING: [u32; 2] = [4, 8];
/// Of 2-means.
const DIVISIONS: u32 = 5;
/// What a move must gain, as a part of what it seems to cost.
const MARGIN: f64 = 0.5;
/// So many batches in a row that did not help, and no more are tried; again where an iteration is little.
const FAILURES: [u32; 2] = [3, 10];
/// Products of an iteration that is little.
const LITTLE: f64 = 1e8;
/// Batches at most.
const ROUNDS: u32 = 60;
/// After so many failures, moves are tried one by one, each another.
const PATIENCE: u32 = 2;
/// Where an iteration is little, it is tried again from k-means++, so often at most and while there are fewer iterations than ten
/// restarts would have had, each with a start that takes as long as fifteen.
const ATTEMPTS: [u32; 2] = [1, 10];
const RESTARTS: u32 = 400;
/// Of so many anchors that help least, and clusters that need another most.
const CANDIDATES: usize = 8;
/// A batch that lowers the energy by less than this part of it has not helped.
const HELPFUL: f64 = 1e-6;

enum Stage {
    Settling,
    Weighing,
}

/// Moves on their way.
pub struct Moves {
    stage: Stage,
    round: u32,
    failures: u32,
    /// How many anchors a batch may move.
    most: usize,
    best: Option<(f64, u32)>,
    seen_before: u32,
    settling: u32,
    most_failures: u32,
    /// The best of the attempts so far, and how many more there may be.
    elite: Option<(f64, u32)>,
    attempts: u32,
}

/// A number from the first to the second: that many times the first, if that is between.
fn between([least, most]: [u32; 2], times: f64) -> u32 {
    (f64::from(least) * times).clamp(least.into(), most.into()) as u32
}

impl Moves {
    /// None where there are too few iterations for moves to settle.
    pub fn new(script: &mut Script, log: &mut Log, settings: &Settings) -> Option<Self> {
        let products = f64::from(script.work.count) * f64::from(script.work.dimensions) * f64::from(settings.clusters);
        let mut moves = Self {
            stage: Stage::Settling,
            round: 0,
            failures: 0,
            most: (settings.clusters as usize / 2).max(1),
            best: None,
            seen_before: log.seen,
            settling: between(SETTLING, LITTLE / products),
            // Few clusters have few ways to be wrong.
            most_failures: between(FAILURES, LITTLE / products).min(settings.clusters),
            elite: None,
            attempts: (between(ATTEMPTS, LITTLE / products) - 1).min(settings.clusters / 8),
        };
        if moves.is_spent(log, settings) {
            return None;
        }
        moves.settle(script, log, settings);
        Some(moves)
    }

    /// Whether another batch would take more than half of the iterations that there may be.
    fn is_spent(&self, log: &Log, settings: &Settings) -> bool {
        log.seen - self.seen_before + self.settling > settings.max_iterations / 2
    }

    /// Takes moves back that were not seen to help, unless there was nothing before them.
    pub fn restore(&self, script: &mut Script, log: &mut Log) {
        let work = &script.work;
        let best = [(self.best, work.kept), (self.elite, work.elite)];
        let best = best.into_iter().filter_map(|(best, place)| best.map(|(energy, clusters)| (energy, clusters, place)));
        if let Some((_, clusters, place)) = best.min_by(|a, b| a.0.total_cmp(&b.0)) {
            log.clusters = clusters;
            let back = work.copy_rows(place, 0, work.pieces[0].anchors, 0, clusters);
            script.push(back);
        }
    }

    /// A few iterations, and the energy after them.
    fn settle(&mut self, script: &mut Script, log: &Log, settings: &Settings) {
        let clusters = log.clusters;
        script.repeat(self.settling, |script| iterate(script, settings, clusters));
        if !script.work.resident {
            (1..self.settling).for_each(|_| iterate(script, settings, clusters));
        }
        // What is judged is the energy of the anchors as they are now.
        assign(script, clusters);
        script.with(|work, commands| work.converge(false, commands));
        script.read_state();
        self.stage = Stage::Settling;
    }

    pub fn step(&mut self, script: &mut Script, log: &mut Log, settings: &Settings, points: &Points, readback: &[f64]) -> Step {
        match self.stage {
            Stage::Settling => {
                log.take(readback);
                heed(script, settings, points, readback);
                // Being still is no end here.
                script.push(script.work.set(state::DONE, 0.0));
                script.push(script.work.set(state::STREAK, 0.0));
                let energy = readback[state::ENERGY as usize];
                let work = &script.work;
                let all = |from: Slice, to: Slice, rows: u32| work.copy_rows(from, 0, to, 0, rows);
                match self.best {
                    Some((best, clusters)) if energy >= best * (1.0 - HELPFUL) => {
                        self.failures += 1;
                        self.most = (self.most / 3).max(1);
                        let back = all(work.kept, work.pieces[0].anchors, clusters);
                        log.clusters = clusters;
                        script.push(back);
                    }
                    _ => {
                        self.failures = 0;
                        self.best = Some((energy, log.clusters));
                        let keep = all(work.pieces[0].anchors, work.kept, log.clusters);
                        script.push(keep);
                    }
                }
                self.round += 1;
                log.progress = log.progress.max(0.5 + 0.4 * f64::from(self.round) / f64::from(ROUNDS));
                if self.failures >= self.most_failures || self.round > ROUNDS || self.is_spent(log, settings) || settings.clusters < 2 {
                    return self.end(script, log, settings, points);
                }
                self.weigh(script, log);
            }
            Stage::Weighing => {
                let moved = self.choose(script, log, settings, readback);
                if moved == 0 {
                    return self.end(script, log, settings, points);
                }
                self.settle(script, log, settings);
            }
        }
        Step::Going
    }

    /// Ends an attempt: the best that there was stays, or there is another one.
    fn end(&mut self, script: &mut Script, log: &mut Log, settings: &Settings, points: &Points) -> Step {
        let work = &script.work;
        let (anchors, kept, elite) = (work.pieces[0].anchors, work.kept, work.elite);
        if let Some((energy, clusters)) = self.best.take_if(|best| self.elite.is_none_or(|elite| best.0 < elite.0)) {
            self.elite = Some((energy, clusters));
            let keep = work.copy_rows(kept, 0, elite, 0, clusters);
            script.push(keep);
        }
        if self.attempts > 0 && log.seen - self.seen_before < RESTARTS && !self.is_spent(log, settings) {
            self.attempts -= 1;
            (self.best, self.failures, self.round) = (None, 0, 0);
            self.most = (settings.clusters as usize / 2).max(1);
            log.clusters = settings.clusters;
            let seed = settings.seed.wrapping_add(self.attempts + 1);
            start(script, &Settings { seed, start: Start::PlusPlus, ..*settings }, points);
            self.settle(script, log, settings);
            return Step::Going;
        }
        if let Some((_, clusters)) = self.elite {
            log.clusters = clusters;
            let back = script.work.copy_rows(elite, 0, anchors, 0, clusters);
            script.push(back);
        }
        Step::Finished
    }

    /// What anchors are worth, and what second ones would be.
    fn weigh(&mut self, script: &mut Script, log: &Log) {
        let clusters = log.clusters;
        assign(script, clusters);
        script.with(|work, commands| {
            work.members(clusters, commands);
            work.totals(work.nearest, clusters, false, commands);
        });
        // Other members every time.
        let part = (f64::from(self.round) * 0.618_033_988_75).fract();
        let parts = [part, (part + 0.5).fract()].map(|part| (part * 65535.0) as u32);
        script.each_chunk(|work, chunk, commands| work.seed(chunk, clusters, parts, commands));
        divide(script, clusters, 0);
        script.with(|work, commands| {
            work.members(clusters, commands);
            work.totals(work.divided, clusters, true, commands);
        });
        let totals = script.work.totals;
        script.read(totals);
        self.stage = Stage::Weighing;
    }

    /// Makes the best moves.
    fn choose(&mut self, script: &mut Script, log: &mut Log, settings: &Settings, totals: &[f64]) -> usize {
        let (clusters, second) = (log.clusters as usize, script.work.totals_at(true) as usize);
        let worth: Vec<f64> = (0..clusters).map(|k| totals[2 * k + 1] - totals[2 * k]).collect();
        let gain: Vec<f64> = (0..clusters).map(|k| totals[2 * k] - totals[second + 2 * k]).collect();
        let mut cheapest: Vec<usize> = (0..clusters).collect();
        let mut dearest = cheapest.clone();
        cheapest.sort_by(|a, b| worth[*a].total_cmp(&worth[*b]).then(a.cmp(b)));
        dearest.sort_by(|a, b| gain[*b].total_cmp(&gain[*a]).then(a.cmp(b)));
        let mut used = vec![false; clusters];
        let wanted: Vec<usize> = dearest.into_iter().filter(|k| gain[*k] > 0.0).collect();
        let mut splits = wanted.into_iter().peekable();
        let (work, mut moved) = (&script.work, 0);
        let anchors = work.pieces[0].anchors;
        let mut copies = Vec::new();
        let mut split = |k: usize, to: u32| {
            copies.push(work.copy_rows(work.candidates, 2 * k as u32, anchors, k as u32, 1));
            copies.push(work.copy_rows(work.candidates, 2 * k as u32 + 1, anchors, to, 1));
        };
        // Anchors that there are none of yet cost nothing.
        while log.clusters < settings.clusters
            && let Some(k) = splits.next()
        {
            split(k, log.clusters);
            used[k] = true;
            log.clusters += 1;
            moved += 1;
        }
        let has_gone_well = self.failures < PATIENCE;
        let is_clear = |a: usize, b: usize| gain[b] > worth[a] * MARGIN;
        let any_is_clear = splits.peek().is_some_and(|b| cheapest.iter().any(|a| a != b && is_clear(*a, *b)));
        if moved == 0 && !(has_gone_well && any_is_clear) {
            let most_wanted = || splits.clone().take(CANDIDATES);
            let pairs = cheapest.iter().take(CANDIDATES).flat_map(|&a| most_wanted().map(move |b| (a, b)));
            let mut pairs: Vec<(usize, usize)> = pairs.filter(|(a, b)| a != b).collect();
            pairs.sort_by(|x, y| (worth[x.0] - gain[x.1]).total_cmp(&(worth[y.0] - gain[y.1])).then(x.cmp(y)));
            self.failures = self.failures.max(PATIENCE);
            // The best that has not been tried since the last that helped.
            if let Some(&(a, b)) = pairs.get((self.failures - PATIENCE) as usize) {
                split(b, a as u32);
                moved = 1;
            }
            cheapest.clear();
        }
        for &a in &cheapest {
            if moved >= self.most || used[a] {
                continue;
            }
            while splits.next_if(|k| used[*k] || *k == a).is_some() {}
            let Some(&b) = splits.peek() else { break };
            if !is_clear(a, b) {
                break;
            }
            splits.next();
            (used[a], used[b]) = (true, true);
            split(b, a as u32);
            moved += 1;
        }
        copies.into_iter().for_each(|copy| script.push(copy));
        moved
    }
}

/// 2-means within all clusters, from the candidates that there are; `flags` are of the last `update`.
pub fn divide(script: &mut Script, clusters: u32, flags: u32) {
    let places = script.work.places;
    for round in 0..DIVISIONS {
        script.each_chunk(|work, chunk, commands| work.divide(chunk, commands));
        script.with(|work, commands| {
            let sides = Sort { keys_at: places.keys, keys: 2 * clusters, shift: 0, mask: u32::MAX, from: None, to: places.aside };
            work.sort(sides, commands);
        });
        let sums = Sums { clusters: 2 * clusters, first: 0, members: places.aside, weighted: false };
        script.each_chunk(|work, chunk, commands| work.centroid_sums(chunk, sums, commands));
        script.with(|work, commands| {
            let flags = if round + 1 == DIVISIONS { flags } else { 0 };
            work.update(work.candidates, work.pieces[0].velocity, 2 * clusters, flags, commands);
        });
    }
}

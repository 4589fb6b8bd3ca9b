//! Lloyd's iterations over several ranks: points are split, and every rank has the same anchors.
//!
//! Each rank assigns its own points. Before anchors move, Σ w x and Σ w of every cluster are summed over ranks, k(d + 1) numbers;
//! before an iteration ends, so are the partial sums of the energy and of the labels that changed. Centre and scale of the points are
//! those of all. Anchors start by k-means++ or at farthest points, among the points of a sample that every rank gets: of all points
//! where there are few, else of some 64 an anchor, which are the same however points are split.

use super::lloyd::{self, Lloyd};
use super::points::Points;
use super::script::{Script, Step};
use super::workspace::Workspace;
use super::{Log, Mean, Method, Options, Outcome, Settings, outcome, state};
use crate::rows;
use leastwise_collective::{Communicator, Fault, Fingerprint, everybody, failed_elsewhere};
use leastwise_device::{Collective, Command, Device, Exchange, Fold, Kind, Slice};
use leastwise_error::Error;
use std::sync::Arc;

/// Points of the sample that anchors start among: so many an anchor, and so many at least.
const SAMPLED: [u32; 2] = [64, 4096];

/// Partial sums that ranks combine, on any rank at most.
#[derive(Clone, Copy)]
pub struct Combined {
    runs: u32,
    changes: u32,
    /// Sums of a cluster, which are added up in shares of its points; on any rank at least.
    shares: u32,
}

impl Combined {
    /// Exchange of the partial sums that are on this rank.
    pub fn exchange(self, partials: Slice, distance: u32, [runs, changes]: [u32; 2]) -> Command {
        let buffer = partials.buffer;
        let energy = Exchange::Partials { buffer, first: 0, distance, folds: &[Fold::Exact], count: runs, each: self.runs };
        let changed =
            Exchange::Partials { buffer, first: 2 * distance, distance: 0, folds: &[Fold::Sum], count: changes, each: self.changes };
        Command::Collective(Arc::new(Collective { label: "energy and changes", parts: vec![energy, changed] }))
    }

    /// Partial sums of the energy, and of the changes, once they are combined.
    pub fn counts(self) -> [u32; 2] {
        [self.runs, self.changes]
    }

    /// Shares of a cluster's points at most.
    pub fn shares(self) -> u32 {
        self.shares
    }

    /// The exchange of the clusters' sums.
    pub fn sums(sums: Slice) -> Command {
        Command::Collective(Arc::new(Collective { label: "sums of clusters", parts: vec![Exchange::total(sums)] }))
    }
}

/// Points and clusterings of a rank; [`Outcome::labels`] are those of its own points, all else is of all ranks, and the same on each.
///
/// Every rank calls it with its part of the points, in the order of ranks, and with the same options.
///
/// # Errors
/// [`Error::InvalidOption`] for methods and means that ranks do not have, [`Fault::Differs`] where a rank has other options,
/// [`Fault::Refused`] where a rank has no points, or failed in what it alone does, which says why; those of
/// [`Clustering::new`](super::Clustering::new), and any other [`Fault`]. The device has the communicator that it had before.
pub fn over_ranks(device: &mut Device, ranks: Arc<dyn Communicator>, points: Vec<f32>, options: &Options) -> Result<Outcome, Error> {
    // Options are compared as they came: what one rank alone would refuse is told to all.
    let mut fingerprint = Fingerprint::default();
    fingerprint.add(format!("{options:?}").as_bytes());
    // Kernels of other backends have other bits.
    fingerprint.add(device.backend().as_bytes());
    ranks.agree("options", fingerprint.0)?;
    let settings = options.settings()?;
    let refuse = |what: &str| Err(Error::InvalidOption(format!("cluster(): {what}")));
    match settings {
        _ if !options.centroids.is_empty() => return refuse("ranks find a start of their own"),
        Settings { method: Method::Anneal | Method::Vlc, .. } => return refuse("ranks have method \"lloyd\" alone"),
        Settings { mean: Mean::Trim(_), .. } => return refuse("ranks have no mean: { trim }, which sorts the points of all"),
        _ => {}
    }
    let joined = device.join(Some(ranks.clone()));
    let others = failed_elsewhere(&*ranks, &joined);
    let before = joined?;
    let found = match others {
        Ok(()) => joined_ranks(device, &*ranks, points, &settings),
        Err(fault) => Err(fault.into()),
    };
    device.join(before)?;
    found
}

/// The same on a device that is one of the ranks.
fn joined_ranks(device: &mut Device, ranks: &dyn Communicator, points: Vec<f32>, settings: &Settings) -> Result<Outcome, Error> {
    // Rows that are not whole are told to all by their number.
    let own = points.len() as f64 / f64::from(settings.dimensions);
    let counts: Vec<f64> = ranks.gather("numbers of points", &[own])?.concat();
    rows::count("points", points.len(), settings.dimensions as usize)?;
    if let Some(rank) = counts.iter().position(|count| count.fract() != 0.0) {
        return Err(Fault::Refused(format!("cluster(): rank {rank} has points that are not whole rows")).into());
    }
    if let Some(rank) = counts.iter().position(|count| *count == 0.0) {
        return Err(Fault::Refused(format!("cluster(): rank {rank} has no points")).into());
    }
    let (first, total) = (counts[..ranks.rank() as usize].iter().sum::<f64>(), counts.iter().sum::<f64>());
    if total > f64::from(u32::MAX / 2) {
        return Err(Error::Limits(format!("{total} points, where 2147483647 can be clustered at once")));
    }
    let points = Points::over_ranks(points, settings.dimensions, (ranks, total as usize))?;
    let settings = Settings { clusters: settings.clusters.min(total as u32), ..*settings };
    let started = start(device, ranks, &settings, &points, [first as u32, total as u32]);
    let anchors = everybody(ranks, started)?;
    let made = Workspace::new(device, &points, &settings, settings.clusters).map(Script::new);
    let others = failed_elsewhere(ranks, &made);
    let mut script = made?;
    let found = match others {
        Ok(()) => iterate(device, ranks, &mut script, &settings, &points, anchors, total),
        Err(fault) => Err(fault.into()),
    };
    script.buffers().for_each(|buffer| device.free(buffer));
    let (log, anchors, labels) = found?;
    let mut counts = vec![0.0; log.clusters as usize];
    labels.iter().for_each(|label| counts[*label as usize] += 1.0);
    let counts = ranks.sum("points of clusters", &counts)?.into_iter().map(|count| count as u32).collect();
    Ok(outcome(&points, &settings, log, &anchors, labels, counts))
}

/// Plays a script to its end; what the last recording brought back.
fn play(device: &mut Device, script: &mut Script, points: &Points) -> Result<Vec<f64>, Error> {
    let mut readback = Vec::new();
    while let Some(recording) = script.next(points) {
        readback = device.run(recording)?;
    }
    Ok(readback)
}

/// Anchors that iterations start from, found by every rank among the same points.
fn start(
    device: &mut Device,
    ranks: &dyn Communicator,
    settings: &Settings,
    points: &Points,
    [first, total]: [u32; 2],
) -> Result<Vec<f64>, Error> {
    let [each, least] = SAMPLED;
    let wanted = (u64::from(settings.clusters) * u64::from(each)).max(least.into()).min(total.into()) as u32;
    let rows = lloyd::sample(total, wanted, settings.seed).into_iter();
    let own: Vec<u32> = rows.filter_map(|row| row.checked_sub(first)).filter(|row| *row < points.count()).collect();
    let own: Vec<f64> = points.rows(&own).values.iter().map(|value| f64::from(*value)).collect();
    let all = ranks.gather_varying("sample of points", &own)?.concat();
    let sample = points.with_values(all.into_iter().map(|value| value as f32).collect());
    // All of them are there, whatever was said of points.
    let settings = Settings { device_bytes: None, ..*settings };
    let mut script = Script::new(Workspace::new(device, &sample, &settings, settings.clusters)?);
    let found = lloyd::in_one_piece(&script.work, settings.clusters, "lloyd, over ranks").and_then(|()| {
        lloyd::prepare(&mut script, &settings, &sample);
        lloyd::start(&mut script, &settings, &sample);
        script.read_anchors(settings.clusters, 0);
        play(device, &mut script, &sample)
    });
    script.buffers().for_each(|buffer| device.free(buffer));
    found
}

/// Iterations from anchors: what became of them, anchors and labels.
fn iterate(
    device: &mut Device,
    ranks: &dyn Communicator,
    script: &mut Script,
    settings: &Settings,
    points: &Points,
    anchors: Vec<f64>,
    total: f64,
) -> Result<(Log, Vec<f64>, Vec<u32>), Error> {
    join(device, ranks, &mut script.work, settings.clusters)?;
    let mut log = Log::new(settings.clusters);
    Lloyd::bring(script, &mut log, settings, points, anchors);
    script.push(script.work.set(state::POINTS, total));
    let mut lloyd = Lloyd::going(script, &mut log, settings);
    let mut readback = play(device, script, points)?;
    while let Step::Going = lloyd.step(script, &mut log, settings, points, &readback)? {
        readback = play(device, script, points)?;
    }
    script.read_anchors(log.clusters, 0);
    let anchors = play(device, script, points)?;
    script.read_labels();
    let labels = play(device, script, points)?.into_iter().map(|label| label as u32).collect();
    Ok((log, anchors, labels))
}

/// Has a workspace combine its sums with those of other ranks.
fn join(device: &mut Device, ranks: &dyn Communicator, work: &mut Workspace, clusters: u32) -> Result<(), Error> {
    let [runs, changes] = work.partial_counts();
    let [streamed, shares] = [u32::from(!work.resident), work.shares(clusters)].map(f64::from);
    let most = ranks.largest("partial sums", &[runs.into(), changes.into(), streamed, -shares])?;
    let combined = Combined { runs: most[0] as u32, changes: most[1] as u32, shares: -most[3] as u32 };
    // Where one brings points anew in every iteration, all do: they make as many iterations between two looks at the state.
    work.resident &= most[2] == 0.0;
    let needed = work.first_change() + combined.changes;
    let mut longer = Ok(());
    if work.partials.len < needed {
        longer = device.allocate(Kind::Real, needed, "partial sums").map(|buffer| {
            device.free(work.partials.buffer);
            work.partials = Slice { buffer, offset: 0, len: needed };
        });
    }
    everybody(ranks, longer.map_err(Error::from))?;
    work.combined = Some(combined);
    Ok(())
}

//! Lloyd's iterations over several ranks: points are split, and every rank has the same anchors.
//!
//! Each rank assigns its own points. Before anchors move, Σ w x and Σ w of every cluster are summed over ranks, k(d + 1) numbers;
//! before an iteration ends, so are the partial sums of the energy and of the labels that changed. Centre and scale of the points are
//! those of all. Anchors start by k-means++ or at farthest points, among the points of a sample that every rank gets: of all points
//! where there are few, else of some 64 an anchor, which are the same however points are split.
//!
//! A [`RankedClustering`] is a state machine as a [`Clustering`](super::Clustering) is. Ranks exchange sums within its recordings.
//! Between two of them they tell each other if one wants to stop, and how long an iteration took: the slowest decides how many
//! iterations are played at a time, so all ranks stop after the same one. Before they do, they come to a [`RankedNext::Rest`]: no rank
//! waits for another there.

use super::lloyd::{self, Lloyd};
use super::points::Points;
use super::script::{Script, Step};
use super::slices::{cut, rounds};
use super::workspace::Workspace;
use super::{Log, Mean, Method, Options, Outcome, Settings, outcome, state};
use crate::rows;
use leastwise_base::clock::now_ms;
use leastwise_collective::{Communicator, Fault, Fingerprint, everybody, failed_elsewhere};
use leastwise_device::{Collective, Command, Device, DeviceError, Exchange, Fold, Kind, Recording, Slice};
use leastwise_error::Error;
use std::collections::VecDeque;
use std::sync::Arc;

/// Points of the sample that anchors start among: so many an anchor, and so many at least.
const SAMPLED: [u32; 2] = [64, 4096];

/// Milliseconds of iterations between two questions if a rank wants to stop, unless one iteration takes longer.
const SLICE_MS: f64 = 10.0;

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
        Command::Collective(Arc::new(Collective::new("energy and changes", vec![energy, changed])))
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
        Command::Collective(Arc::new(Collective::new("sums of clusters", vec![Exchange::total(sums)])))
    }
}

/// Next part of a clustering by ranks.
pub enum RankedNext {
    /// To be played; what it reads goes to the next [`RankedClustering::advance`].
    Run(Recording),
    /// All ranks come here after the same calls, and none waits for another before the next [`RankedClustering::advance`], which is given
    /// nothing.
    Rest,
    /// The result; the clustering is over.
    Done(Box<Outcome>),
}

/// Clustering of the points of all ranks, on its way. Every rank makes one of its part of the points, in the order of ranks, and with
/// the same options; all of them go on to the end.
///
/// [`Outcome::labels`] are those of a rank's own points, all else is of all ranks, and the same on each.
pub struct RankedClustering {
    ranks: Arc<dyn Communicator>,
    options: Options,
    metric: String,
    stage: Stage,
    /// Reason to end it that this rank was given.
    stop: Option<String>,
}

enum Stage {
    /// Points as they came.
    Fresh(Vec<f32>),
    Starting(Box<Starting>),
    Iterating(Box<Iterating>),
    Over,
}

impl RankedClustering {
    /// A clustering that has made no call yet. `metric` names the metric for which points were prepared: ranks agree on it as they do
    /// on the options.
    pub fn new(ranks: Arc<dyn Communicator>, points: Vec<f32>, options: Options, metric: &str) -> Self {
        Self { ranks, options, metric: metric.into(), stage: Stage::Fresh(points), stop: None }
    }

    /// Refuses options that ranks do not have.
    ///
    /// # Errors
    /// [`Error::InvalidOption`], which [`advance`](Self::advance) gives, too, once all ranks were told.
    pub fn check(options: &Options) -> Result<(), Error> {
        supported(options).map(drop)
    }

    /// True if it makes no call of other ranks, and plays no exchange, before the next [`RankedNext::Rest`].
    pub fn is_by_itself(&self) -> bool {
        matches!(&self.stage, Stage::Starting(starting) if starting.found.is_none())
    }

    /// Has all ranks end with what they have, before the next iterations.
    pub fn stop(&mut self, reason: &str) {
        self.stop.get_or_insert_with(|| reason.into());
    }

    /// From 0 to 1, about.
    pub fn progress(&self) -> f64 {
        if let Stage::Iterating(iterating) = &self.stage { iterating.log.progress } else { 0.0 }
    }

    /// Goes on, with what the last recording brought back, or failed with; at first with nothing. The device is one of the ranks. After
    /// the outcome or an error nothing of it is on the device.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for methods and means that ranks do not have, [`Fault::Differs`] where a rank has other options,
    /// [`Fault::Refused`] where a rank has no points, or failed in what it alone does, which says why; [`Error::Stopped`] where a rank
    /// wanted to stop before there was a codebook; those of [`Clustering::new`](super::Clustering::new). After these all ranks can go
    /// on. What a device fails with in the midst of iterations is [`Fault::Broken`] for all others; and any other [`Fault`].
    pub fn advance(&mut self, device: &mut Device, played: Result<Vec<f64>, DeviceError>) -> Result<RankedNext, Error> {
        let next = self.next(device, played);
        if let Err(error) = &next
            && matches!(self.stage, Stage::Iterating(_))
            && !matches!(error, Error::Device(DeviceError::Ranks(_)))
        {
            // Iterations have no call in which others would hear of it.
            self.end_for_others(error.to_string());
        }
        if matches!(next, Ok(RankedNext::Done(_)) | Err(_)) {
            self.dispose(device);
        }
        next
    }

    /// Tells the others that this rank does not go on, unless it is over.
    pub fn give_up(&self) {
        if !matches!(self.stage, Stage::Over) {
            self.end_for_others("its clustering was given up".into());
        }
    }

    fn end_for_others(&self, message: String) {
        self.ranks.give_up(Fault::Broken { rank: self.ranks.rank(), size: self.ranks.size(), message });
    }

    /// Frees what it has on the device, and ends it.
    pub fn dispose(&mut self, device: &mut Device) {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Starting(starting) => starting.script.iter().for_each(|script| free(device, script)),
            Stage::Iterating(iterating) => free(device, &iterating.script),
            Stage::Fresh(_) | Stage::Over => {}
        }
    }

    fn next(&mut self, device: &mut Device, played: Result<Vec<f64>, DeviceError>) -> Result<RankedNext, Error> {
        if let Stage::Fresh(points) = &mut self.stage {
            let points = std::mem::take(points);
            self.stage = Stage::Starting(Box::new(self.begin(device, points)?));
            return Ok(RankedNext::Rest);
        }
        if let Stage::Starting(starting) = &mut self.stage {
            let Some(found) = starting.found.take() else { return Ok(starting.search(played)) };
            let anchors = everybody(&*self.ranks, found)?;
            self.check_stop()?;
            self.stage = match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Starting(starting) => Stage::Iterating(Box::new(starting.iterating(device, &*self.ranks, anchors)?)),
                other => other,
            };
        }
        match &mut self.stage {
            Stage::Iterating(iterating) => iterating.next(&*self.ranks, self.stop.as_deref(), played?),
            _ => Err(Error::Internal("a clustering that is over was resumed")),
        }
    }

    /// Compares options, gathers the sample, and sets up the search for anchors to start from.
    fn begin(&self, device: &mut Device, points: Vec<f32>) -> Result<Starting, Error> {
        let ranks = &*self.ranks;
        // Options are compared as they came: what one rank alone would refuse is told to all. Kernels of other backends have other bits.
        let mut fingerprint = Fingerprint::default();
        let options = format!("{:?}", self.options);
        [options.as_str(), self.metric.as_str(), device.backend()].into_iter().for_each(|part| fingerprint.add(part.as_bytes()));
        ranks.agree("options", fingerprint.0)?;
        let settings = supported(&self.options)?;
        self.check_stop()?;
        let (share, first) = Share::of(ranks, points, settings)?;
        let sample = share.sample(ranks, first)?;
        let script = share.starting(device, &sample);
        Ok(Starting { share, sample, script, found: None })
    }

    /// Asks all ranks if one wants to stop, where there is no codebook yet.
    fn check_stop(&self) -> Result<(), Error> {
        match wishes(&*self.ranks, self.stop.as_deref(), 0.0)?.0 {
            Some(reason) => Err(Error::Stopped(reason)),
            None => Ok(()),
        }
    }
}

/// The clustering as one blocking call, on a device that becomes one of the ranks for its time.
///
/// # Errors
/// Those of [`RankedClustering::advance`]. The device has the communicator that it had before.
pub fn over_ranks(device: &mut Device, ranks: Arc<dyn Communicator>, points: Vec<f32>, options: &Options) -> Result<Outcome, Error> {
    let joined = device.join(Some(ranks.clone()));
    let others = failed_elsewhere(&*ranks, &joined);
    let before = joined?;
    let found = match others {
        Ok(()) => to_its_end(device, RankedClustering::new(ranks, points, options.clone(), "l2")),
        Err(fault) => Err(fault.into()),
    };
    device.join(before)?;
    found
}

fn to_its_end(device: &mut Device, mut clustering: RankedClustering) -> Result<Outcome, Error> {
    let mut played = Ok(Vec::new());
    loop {
        match clustering.advance(device, played)? {
            RankedNext::Run(recording) => played = device.run(recording),
            RankedNext::Rest => played = Ok(Vec::new()),
            RankedNext::Done(outcome) => return Ok(*outcome),
        }
    }
}

/// Options with every default filled in, of a clustering that ranks have.
fn supported(options: &Options) -> Result<Settings, Error> {
    let settings = options.settings()?;
    let refuse = |what: &str| Err(Error::InvalidOption(format!("cluster(): {what}")));
    match settings {
        _ if !options.centroids.is_empty() => refuse("ranks find a start of their own: leave out the centroids of `start`"),
        Settings { method: Method::Anneal | Method::Vlc, .. } => refuse("ranks have method \"lloyd\" alone"),
        Settings { mean: Mean::Trim(_), .. } => refuse("ranks have no mean: { trim }, which sorts the points of all: use { huber }"),
        _ => Ok(settings),
    }
}

/// Wishes of all ranks: the reason to stop, where one wants to; and the longest of their times.
fn wishes(ranks: &dyn Communicator, stop: Option<&str>, ms: f64) -> Result<(Option<String>, f64), Fault> {
    let all = ranks.gather("wishes to stop", &[f64::from(u8::from(stop.is_some())), ms])?;
    let slowest = all.iter().fold(0.0, |most: f64, of_rank| most.max(of_rank[1]));
    let is_wanted = all.iter().any(|of_rank| of_rank[0] != 0.0);
    Ok((is_wanted.then(|| stop.unwrap_or("another rank was told to stop").into()), slowest))
}

fn free(device: &mut Device, script: &Script) {
    script.buffers().for_each(|buffer| device.free(buffer));
}

/// Points of a rank, and number of those of all.
struct Share {
    settings: Settings,
    points: Points,
    total: f64,
}

impl Share {
    /// Points of this rank, centred and scaled as those of all; and how many there are on the ranks before it.
    fn of(ranks: &dyn Communicator, points: Vec<f32>, settings: Settings) -> Result<(Self, u32), Error> {
        // Rows that are not whole are told to all by their number.
        let own = points.len() as f64 / f64::from(settings.dimensions);
        let counts: Vec<f64> = ranks.gather("numbers of points", &[own])?.concat();
        rows::count("points", points.len(), settings.dimensions as usize)?;
        if let Some(rank) = counts.iter().position(|count| count.fract() != 0.0) {
            return Err(Fault::Refused(format!("cluster(): rank {rank} has points that are not whole rows")).into());
        }
        if let Some(rank) = counts.iter().position(|count| *count == 0.0) {
            return Err(Fault::Refused(format!("cluster(): rank {rank} has no points that can be clustered")).into());
        }
        let (first, total) = (counts[..ranks.rank() as usize].iter().sum::<f64>(), counts.iter().sum::<f64>());
        if total > f64::from(u32::MAX / 2) {
            return Err(Error::Limits(format!("{total} points, where 2147483647 can be clustered at once")));
        }
        let points = Points::over_ranks(points, settings.dimensions, (ranks, total as usize))?;
        let settings = Settings { clusters: settings.clusters.min(total as u32), ..settings };
        Ok((Self { settings, points, total }, first as u32))
    }

    /// Points of all ranks that anchors start among; `first` is the number of this rank's first point.
    fn sample(&self, ranks: &dyn Communicator, first: u32) -> Result<Points, Fault> {
        let ([each, least], total) = (SAMPLED, self.total as u32);
        let wanted = (u64::from(self.settings.clusters) * u64::from(each)).max(least.into()).min(total.into()) as u32;
        let rows = lloyd::sample(total, wanted, self.settings.seed).into_iter();
        let own: Vec<u32> = rows.filter_map(|row| row.checked_sub(first)).filter(|row| *row < self.points.count()).collect();
        let own: Vec<f64> = self.points.rows(&own).values.iter().map(|value| f64::from(*value)).collect();
        let all = ranks.gather_varying("sample of points", &own)?.concat();
        Ok(self.points.with_values(all.into_iter().map(|value| value as f32).collect()))
    }

    /// Script that finds anchors in the sample; its last recording reads them.
    fn starting(&self, device: &mut Device, sample: &Points) -> Result<Script, Error> {
        // All of them are there, whatever was said of points.
        let settings = Settings { device_bytes: None, ..self.settings };
        let mut script = Script::new(Workspace::new(device, sample, &settings, settings.clusters)?);
        if let Err(error) = lloyd::in_one_piece(&script.work, settings.clusters, "lloyd, over ranks") {
            free(device, &script);
            return Err(error);
        }
        lloyd::prepare(&mut script, &settings, sample);
        lloyd::start(&mut script, &settings, sample);
        script.read_anchors(settings.clusters, 0);
        Ok(script)
    }
}

/// Search for anchors that iterations start from: every rank makes the same one, among the same points.
struct Starting {
    share: Share,
    sample: Points,
    /// None where it could not be set up, of which others hear when they have their anchors.
    script: Result<Script, Error>,
    /// Anchors that it came to, or its failure, once it is over.
    found: Option<Result<Vec<f64>, Error>>,
}

impl Starting {
    /// Goes on with the search, by itself.
    fn search(&mut self, played: Result<Vec<f64>, DeviceError>) -> RankedNext {
        let Self { script, sample, found, .. } = self;
        *found = Some(match script {
            Err(error) => Err(error.clone()),
            Ok(script) => match (script.next(sample), played) {
                (Some(recording), Ok(_)) => return RankedNext::Run(recording),
                (_, played) => played.map_err(Error::from),
            },
        });
        RankedNext::Rest
    }

    /// Iterations from the anchors that were found.
    fn iterating(self, device: &mut Device, ranks: &dyn Communicator, anchors: Vec<f64>) -> Result<Iterating, Error> {
        let Self { share, script, .. } = self;
        script.iter().for_each(|script| free(device, script));
        let Share { settings, points, total } = &share;
        let made = Workspace::new(device, points, settings, settings.clusters).map(Script::new);
        let others = failed_elsewhere(ranks, &made);
        let mut script = made?;
        if let Err(error) = others.map_err(Error::from).and_then(|()| join(device, ranks, &mut script.work, settings.clusters)) {
            free(device, &script);
            return Err(error);
        }
        let mut log = Log::new(settings.clusters);
        Lloyd::bring(&mut script, &mut log, settings, points, anchors);
        script.push(script.work.set(state::POINTS, *total));
        let phase = Phase::Lloyd(Lloyd::going(&mut script, &mut log, settings));
        Ok(Iterating {
            share,
            script,
            log,
            phase,
            slices: VecDeque::new(),
            rests: false,
            rounds: 1,
            played: 0,
            begun_ms: now_ms(),
            each_ms: 0.0,
        })
    }
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

/// Activity that a script is of.
enum Phase {
    Lloyd(Lloyd),
    /// A rank wanted to stop, and labels are made those of the anchors.
    Settled,
    /// Anchors come back, and then labels.
    Anchors,
    Labels(Vec<f64>),
}

/// Iterations of this rank.
struct Iterating {
    share: Share,
    script: Script,
    log: Log,
    phase: Phase,
    /// Rest of a recording that was cut.
    slices: VecDeque<Recording>,
    /// True at a rest, after which ranks ask each other if one wants to stop.
    rests: bool,
    /// Iterations of a slice.
    rounds: u32,
    /// Iterations that were given to be played since ranks were asked, and the time then.
    played: u32,
    begun_ms: f64,
    /// Milliseconds of one of them, as of the last rest.
    each_ms: f64,
}

impl Iterating {
    fn next(&mut self, ranks: &dyn Communicator, stop: Option<&str>, mut readback: Vec<f64>) -> Result<RankedNext, Error> {
        if std::mem::take(&mut self.rests) {
            self.heed(ranks, stop)?;
        } else if !self.slices.is_empty() {
            return Ok(self.rest());
        }
        loop {
            if let Some(slice) = self.slices.pop_front() {
                return Ok(self.run(slice));
            }
            // Uploads are as many as a rank's points need, so nobody is asked between recordings of a script.
            if let Some(recording) = self.script.next(&self.share.points) {
                let (first, rest) = cut(recording, self.rounds);
                self.slices = rest;
                return Ok(self.run(first));
            }
            let Share { settings, points, .. } = &self.share;
            match &mut self.phase {
                Phase::Lloyd(lloyd) => match lloyd.step(&mut self.script, &mut self.log, settings, points, &readback)? {
                    Step::Finished => self.close(),
                    Step::Going => return Ok(self.rest()),
                },
                Phase::Settled => {
                    self.log.take(&readback);
                    self.close();
                }
                Phase::Anchors => {
                    self.phase = Phase::Labels(std::mem::take(&mut readback));
                    self.script.read_labels();
                }
                Phase::Labels(anchors) => {
                    let labels: Vec<u32> = readback.into_iter().map(|label| label as u32).collect();
                    let mut counts = vec![0.0; self.log.clusters as usize];
                    labels.iter().for_each(|label| counts[*label as usize] += 1.0);
                    let counts = ranks.sum("points of clusters", &counts)?.into_iter().map(|count| count as u32).collect();
                    let log = std::mem::replace(&mut self.log, Log::new(0));
                    return Ok(RankedNext::Done(Box::new(outcome(points, settings, log, anchors, labels, counts))));
                }
            }
        }
    }

    fn run(&mut self, recording: Recording) -> RankedNext {
        self.played += rounds(&recording);
        RankedNext::Run(recording)
    }

    fn rest(&mut self) -> RankedNext {
        self.rests = true;
        self.each_ms = (now_ms() - self.begun_ms) / f64::from(self.played.max(1));
        RankedNext::Rest
    }

    fn close(&mut self) {
        self.phase = Phase::Anchors;
        self.script.read_anchors(self.log.clusters, 0);
    }

    /// Asks all ranks if one wants to stop, and ends the iterations where one does. All ranks call it after the same iteration.
    fn heed(&mut self, ranks: &dyn Communicator, stop: Option<&str>) -> Result<(), Error> {
        let (reason, slowest_ms) = wishes(ranks, stop, self.each_ms)?;
        (self.begun_ms, self.played, self.rounds) = (now_ms(), 0, ((SLICE_MS / slowest_ms) as u32).max(1));
        if let (Some(reason), Phase::Lloyd(lloyd)) = (reason, &self.phase) {
            self.slices.clear();
            self.script.clear();
            lloyd.settle(&mut self.script, &mut self.log);
            self.log.stopped(Some(reason));
            self.phase = Phase::Settled;
        }
        Ok(())
    }
}

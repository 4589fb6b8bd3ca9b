//! From points and their coarse clustering to an index: the model of the code, chosen for a number of bits or bytes.

use super::ids::Ids;
use super::storage::{MOST_ABOUT, json_of};
use super::{Assigning, Encoding, Index, MOST_CLUSTERS, Stored, Turn, power_of_two, rows_together};
use crate::code::columns::transpose;
use crate::code::packed::Packed;
use crate::code::scalar::Scalar;
use crate::code::transform::{Budget, Bytes, Transform};
use crate::code::whole::{Precision, Whole};
use crate::code::{Code, Coder, MOST_BITS, words};
use crate::rows;
use half::f16;
use leastwise_base::container;
use leastwise_base::memory;
use leastwise_base::task::{Pace, Task};
use leastwise_cpu::block::Instructions;
use leastwise_error::Error;
use serde_json::{Map, Value};

/// Rows that models are trained on, and the numbers they may have together.
const SAMPLE_ROWS: usize = 8192;
const SAMPLE_NUMBERS: usize = 1 << 24;

/// Anchors that are turned between two looks at the clock.
const TURNED: usize = 64;

/// The share of the work that finding clusters is, where that is to be done.
const ASSIGNING: f64 = 0.4;

/// The largest value is brought below two to this power.
const LARGEST: i32 = 11;

/// Bytes beside the sections that are counted one by one: the header, padding, and what says how the index was made.
const BESIDE: usize = container::most_overhead(12) + 1024;

/// Anchors, and which of them each point belongs to.
#[derive(Clone, Debug, Default)]
pub struct Coarse {
    /// Row-major. None at all is one anchor at the origin, by which the codes `f32` and `f16` keep vectors themselves.
    pub centroids: Vec<f32>,
    /// None at all: the nearest ones are to be found.
    pub labels: Vec<u32>,
}

/// How residuals are coded.
///
/// With the code `bits` and 20,000 vectors of 384 dimensions (sentence embeddings), `ratio: 0.125` finds 98 %, `ratio: 0.066` 94 % and
/// `ratio: 0.252` 99.8 % of the ten nearest.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Code of the residuals; default: [`Code::Bits`].
    pub code: Code,
    /// Bits a dimension, up to 12, of the code `bits`; 4 unless given. Not to be given with the others.
    pub bits: Option<f64>,
    /// Share of the vectors' f32 bytes that the whole file may take; of the code `bits`, in place of `bits`.
    pub ratio: Option<f64>,
    /// Points are a sample of so many vectors that come later: the index has the model for these, and is empty.
    pub train_for: Option<u32>,
    /// Kept in the file as it is: how points were clustered, say.
    pub about: Map<String, Value>,
}

/// How many anchors suit so many vectors at a ratio: those that take a fiftieth of the bytes, but no more than √n.
pub fn clusters_for(count: usize, dim: usize, ratio: f64) -> usize {
    let bytes = ratio.clamp(0.0, 1.0) * 0.02 * count as f64 * dim as f64 * 4.0;
    let most = (bytes / (2.0 * dim as f64)).min((count as f64).sqrt());
    1 << (most.max(1.0) as usize).ilog2()
}

impl Index {
    /// Codes `points` (row-major), which were clustered already.
    pub fn build(points: &[f32], dim: usize, coarse: Coarse, options: &Options) -> Result<Self, Error> {
        Self::building(points, dim, coarse, options.clone()).finish()
    }

    /// The same in time slices. All that takes time is cut into pieces of a few milliseconds, but for what goes once through all numbers
    /// (their check, and the largest of them).
    pub fn building<'a>(
        points: impl AsRef<[f32]> + Send + Sync + 'a,
        dim: usize,
        coarse: Coarse,
        options: Options,
    ) -> Task<'a, Result<Self, Error>> {
        Task::new(move |pace| async move { build(points.as_ref(), dim, coarse, &options, &pace).await })
    }
}

async fn build(points: &[f32], dim: usize, coarse: Coarse, options: &Options, pace: &Pace) -> Result<Index, Error> {
    check_options(options)?;
    let count = rows::check("points", points, dim)?;
    pace.rest(0, 1).await;
    rows::check("centroids", &coarse.centroids, dim)?;
    let Coarse { mut centroids, mut labels } = coarse;
    if centroids.is_empty() {
        centroids.resize(dim, 0.0);
    }
    let clusters = centroids.len() / dim;
    if clusters > MOST_CLUSTERS {
        return Err(Error::Limits(format!("{clusters} clusters, where an index has at most {MOST_CLUSTERS}")));
    }
    if clusters == 1 && labels.is_empty() {
        labels = memory::zeros(count, "the clusters of the vectors")?;
    }
    let is_assigned = labels.len() == count;
    if !is_assigned && !labels.is_empty() {
        return Err(Error::DataLength { term: None, what: "labels".into(), got: labels.len(), expected: format!("{count}, one a point") });
    }
    if let Some(row) = labels.iter().position(|&label| label as usize >= clusters) {
        let message = format!("row {row} belongs to cluster {}, but there are {clusters} centroids", labels[row]);
        return Err(Error::InvalidOption(message));
    }
    let next_id = u32::try_from(count)
        .ok()
        .filter(|&count| count < u32::MAX)
        .ok_or_else(|| Error::Limits(format!("an index holds at most {} vectors", u32::MAX - 1)))?;
    let exponent = exponent_of(points.iter().chain(&centroids));
    pace.rest(0, 1).await;
    let scale = power_of_two(-exponent);
    let anchors: Vec<f16> = centroids.iter().map(|value| f16::from_f32(value * scale)).collect();
    let centroids: Vec<f32> = anchors.iter().map(|value| value.to_f32()).collect();
    let start = if is_assigned { 0.0 } else { ASSIGNING };
    if !is_assigned {
        labels = memory::zeros(count, "the clusters of the vectors")?;
        let mut columns = vec![0.0; centroids.len()];
        transpose(&centroids, dim, &mut columns);
        let assigning = Assigning { coder: &Coder::None, columns: &columns, scale, dim };
        for first in (0..count).step_by(rows_together()) {
            let rows = first..count.min(first + rows_together());
            assigning.rows(&points[rows.start * dim..rows.end * dim], &mut labels[rows.clone()]);
            pace.part(0.0..start).rest(rows.end, count).await;
        }
    }
    let trained = start + (1.0 - start) * training_share(options.code);
    let sample = if options.code.is_whole() { Vec::new() } else { sample(points, dim, scale, &centroids, &labels) };
    let coming = options.train_for.map_or(count, |count| count as usize);
    let coder = train(&sample, dim, coming, clusters, options, &pace.part(start..trained)).await?;
    drop(sample);
    let mut turned = vec![0.0; centroids.len()];
    for (rows, turned) in centroids.chunks(TURNED * dim).zip(turned.chunks_mut(TURNED * dim)) {
        Instructions::best().run(Turn { coder: &coder, dim, rows, turned });
        pace.part(trained..1.0).rest(0, 1).await;
    }
    let (points, labels, next_id) = if options.train_for.is_some() { (&points[..0], Vec::new(), 0) } else { (points, labels, next_id) };
    let (width, count) = (coder.row_bytes(), labels.len());
    let mut codes = memory::zeros(count * width, "the codes")?;
    let encoding = Encoding { coder: &coder, turned_centroids: &turned, scale, points, dim, reach: None };
    for first in (0..count).step_by(rows_together()) {
        let rows = first..count.min(first + rows_together());
        encoding.rows(rows.clone(), &labels[rows.clone()], &mut codes[rows.start * width..rows.end * width])?;
        pace.part(trained..1.0).rest(rows.end, count).await;
    }
    let labels = Packed::of(labels.into_iter(), words::width(clusters));
    let (ids, about) = (Ids::whole(next_id as usize), json_of(&options.about));
    let stored = Stored { dim, exponent, anchors, coder, labels, ids, codes, next_id, about };
    Ok(Index::with_turned(stored, turned))
}

/// Which share of the work training is, about.
fn training_share(code: Code) -> f64 {
    match code {
        Code::Bits => 0.35,
        Code::F32 | Code::F16 => 0.0,
        _ => 0.5,
    }
}

fn check_options(options: &Options) -> Result<(), Error> {
    let invalid = |message: String| Err(Error::InvalidOption(message));
    let name = options.code.name();
    if options.code != Code::Bits && (options.bits.is_some() || options.ratio.is_some()) {
        return invalid(format!("the code \"{name}\" has a fixed size: bits and ratio belong to \"bits\""));
    }
    let about = serde_json::to_string(&options.about).map_or(0, |text| text.len());
    if about > MOST_ABOUT {
        return invalid(format!("what is to be kept with the index takes {about} bytes as JSON, where {MOST_ABOUT} are the most"));
    }
    match (options.bits, options.ratio) {
        (Some(_), Some(_)) => invalid("give either bits or ratio, not both: each is found from the other".into()),
        (Some(bits), _) if !(bits > 0.0 && bits <= f64::from(MOST_BITS)) => {
            invalid(format!("bits must be above 0 and at most {MOST_BITS} a dimension, not {bits}"))
        }
        (_, Some(ratio)) if !(ratio > 0.0 && ratio <= 1.0) => invalid(format!("ratio must be above 0 and at most 1, not {ratio}")),
        _ => Ok(()),
    }
}

/// The power of two that brings all values below 2^[`LARGEST`].
fn exponent_of<'a>(values: impl Iterator<Item = &'a f32>) -> i32 {
    let largest = values.fold(0.0, |largest: f32, value| largest.max(value.abs()));
    if largest == 0.0 {
        return 0;
    }
    let exponent = (largest.to_bits() >> 23) as i32 - 126;
    // Both this power and its reciprocal have to be normal numbers.
    (exponent - LARGEST).clamp(-126, 126)
}

/// Residuals of points at equal distances.
fn sample(points: &[f32], dim: usize, scale: f32, centroids: &[f32], labels: &[u32]) -> Vec<f32> {
    let most = (SAMPLE_NUMBERS / dim).clamp(1024, SAMPLE_ROWS);
    let stride = labels.len().div_ceil(most).max(1);
    let mut sample = Vec::with_capacity(labels.len().div_ceil(stride) * dim);
    for (point, &label) in points.chunks_exact(dim).zip(labels).step_by(stride) {
        let centroid = &centroids[label as usize * dim..][..dim];
        sample.extend(point.iter().zip(centroid).map(|(value, centroid)| value * scale - centroid));
    }
    sample
}

async fn train(sample: &[f32], dim: usize, count: usize, clusters: usize, options: &Options, pace: &Pace) -> Result<Coder, Error> {
    // What rows and models may take together, where a ratio is asked for.
    let budget = |ratio: f64, clusters: usize| {
        let labels = (count * words::width(clusters) as usize).div_ceil(8);
        let about = serde_json::to_string(&options.about).map_or(0, |text| text.len());
        let fixed = BESIDE + about + labels + clusters * dim * 2;
        ((ratio * count as f64 * dim as f64 * 4.0) as usize).saturating_sub(fixed)
    };
    let too_small = |ratio: f64| {
        let larger = match smallest_ratio(count, dim, |ratio| budget(ratio, clusters.max(clusters_for(count, dim, ratio)))) {
            Some(smallest) if clusters == 1 => format!("ask for {smallest} or more"),
            Some(smallest) => format!("ask for {smallest} or more, or for fewer clusters"),
            None => "so few take more than they do as they are; ask for bits instead".into(),
        };
        let plural = if clusters == 1 { "" } else { "s" };
        Error::InvalidOption(format!(
            "{count} vectors of {dim} dimensions with {clusters} cluster{plural} don't fit into a ratio of {ratio}: {larger}"
        ))
    };
    let budget = |ratio: f64| budget(ratio, clusters);
    Ok(match options.code {
        Code::None => Coder::None,
        Code::Int8 => Coder::Scalar(Scalar::train(sample, dim, 8, pace).await),
        Code::Int4 => Coder::Scalar(Scalar::train(sample, dim, 4, pace).await),
        Code::F32 | Code::F16 => {
            Coder::Whole(Whole { dim, precision: if options.code == Code::F32 { Precision::Single } else { Precision::Half } })
        }
        Code::Bits => {
            let bytes = match options.ratio {
                None => Bytes::Row((options.bits.unwrap_or(4.0) * dim as f64 / 8.0).ceil() as usize),
                Some(ratio) => Bytes::Total(budget(ratio)),
            };
            let model = Transform::train(sample, dim, &Budget { count, bytes }, pace).await;
            Coder::Transform(Box::new(model.ok_or_else(|| too_small(options.ratio.unwrap_or(0.0)))?))
        }
    })
}

/// The smallest ratio of three digits whose bytes so many vectors fit into, if one does.
fn smallest_ratio(count: usize, dim: usize, budget: impl Fn(f64) -> usize) -> Option<f64> {
    let fits = |ratio: f64| Transform::row_of(dim, count, &Bytes::Total(budget(ratio))).is_some();
    // By a hundredth from one to the next, as far as numbers are written.
    let mut digits = (0..4).rev().flat_map(|power| (100..1000).map(move |digits| (digits, power)));
    let ratio = |(digits, power): (u32, i32)| f64::from(digits) / f64::from(1000 * 10_u32.pow(power as u32));
    digits.find(|&candidate| fits(ratio(candidate))).map(ratio).or_else(|| fits(1.0).then_some(1.0))
}

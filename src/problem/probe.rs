//! Residuals at points that no one chose: whether their values stay the same under a translation.
//!
//! Coordinates are drawn as multiples of 1/256 of a scale, and shifts are multiples of it, so that differences of
//! coordinates, and polynomials of few of them, have the same bits before and after; what remains are roundings of the
//! numbers that the residual has, which the comparison allows for. The points are the same ones every time. Three scales
//! make it unlikely that a bound far away, such as max(x − 500, 0), is missed.

use super::registry::Datum;
use super::term::{Term, Values};
use super::{Batch, Part};
use leastwise_expr::{Expr, Graph, Leaf};

/// Sizes of coordinates, and points tried at each.
const SCALES: [f64; 3] = [1.0, 64.0, 4096.0];
const POINTS: u64 = 8;

/// Points at which the residual has to be defined, or nothing is said.
const LEAST_POINTS: usize = 3;

/// Shifts, in units of the scale.
const SHIFTS: [f64; 3] = [0.5, -1.0, 4.0];

/// Differences that roundings may make between equal values, relative to their size; and between values that cancel, relative to a row's largest.
const ROUNDING: f64 = 1.5e-11;
const CANCELLATION: f64 = 1e-14;

/// Sets of numbers that terms of a batch differ in, at most; beyond, a number may be any.
const MOST_LITERALS: usize = 32;

/// Words of a structure, at most: the probe of a larger one would take long.
const MOST_WORDS: usize = 1 << 16;

/// The residual of a batch, in f64.
pub(super) struct Probe {
    graph: Graph,
    roots: Vec<Expr>,
    /// Findings for every set of numbers that its terms have.
    sets: Vec<Set>,
}

/// A residual with a set of numbers: the scalars of data that are one of them, others may be any; and where it is defined.
struct Set {
    literals: Vec<Option<f64>>,
    /// Points, and the rows there.
    defined: Vec<(u64, Vec<f64>)>,
    /// Of every row the largest size; none where nothing is said.
    largest: Option<Vec<f64>>,
}

impl Probe {
    /// None of a residual that is large.
    pub fn new(terms: &[Option<Term>], batch: &Batch) -> Option<Self> {
        let parts = batch.members.iter().filter_map(|member| Some(&terms[member.term as usize].as_ref()?.parts[member.part as usize]));
        let structure = &parts.clone().next()?.reading.structure;
        if structure.words() > MOST_WORDS {
            return None;
        }
        let mut distinct: Vec<Vec<Option<u64>>> = Vec::new();
        for part in parts {
            let own = literals(part);
            if !distinct.contains(&own) {
                distinct.push(own);
            }
            if distinct.len() > MOST_LITERALS {
                let any = vec![None; part.contents.data.len()];
                distinct = vec![any];
                break;
            }
        }
        let (graph, roots) = structure.residual();
        let mut probe = Self { graph, roots, sets: Vec::new() };
        let sets = distinct.into_iter().map(|set| probe.set(set.into_iter().map(|bits| bits.map(f64::from_bits)).collect()));
        probe.sets = sets.collect();
        Some(probe)
    }

    /// The rows at a point where some slots' components are moved.
    fn at(&self, literals: &[Option<f64>], point: u64, moved: impl Fn(u32, u32) -> f64, values: &mut Vec<f64>) -> Vec<f64> {
        let scale = scale_of(point);
        self.graph.evaluate(&self.roots, values, |leaf| match leaf {
            Leaf::Slot { slot, component } => scale * dyadic(point, 1 + slot, component) + moved(slot, component),
            // Data are often lengths and areas: at every other point they are positive.
            Leaf::Data { column, .. } => literals[column as usize].unwrap_or_else(|| {
                let value = dyadic(point, 0, column);
                if point.is_multiple_of(2) { value.abs() + 1.0 / 256.0 } else { value }
            }),
            _ => f64::NAN,
        })
    }

    /// Values of the residual at all points.
    fn set(&self, literals: Vec<Option<f64>>) -> Set {
        let mut values = Vec::new();
        let points = (0..POINTS * SCALES.len() as u64).map(|point| (point, self.at(&literals, point, |_, _| 0.0, &mut values)));
        let defined: Vec<(u64, Vec<f64>)> = points.filter(|(_, values)| values.iter().all(|value| value.is_finite())).collect();
        // A row that is the same everywhere says nothing: what it depends on may be too small to be met.
        let varies =
            |row: usize| self.graph.value(self.roots[row]).is_some() || defined.iter().any(|(_, values)| values[row] != defined[0].1[row]);
        let says = defined.len() >= LEAST_POINTS && (0..self.roots.len()).all(varies);
        let size = |row: usize| defined.iter().map(|(_, values)| values[row].abs()).fold(0.0, f64::max);
        let largest = says.then(|| (0..self.roots.len()).map(size).collect());
        Set { literals, defined, largest }
    }

    /// True where no row changes when a component of all slots that are `mine` moves by the same.
    pub fn is_unmoved(&self, mine: impl Fn(u32) -> bool, component: u32) -> bool {
        self.sets.iter().all(|set| self.is_unmoved_with(set, &mine, component))
    }

    fn is_unmoved_with(&self, set: &Set, mine: &impl Fn(u32) -> bool, component: u32) -> bool {
        let Set { literals, defined, largest: Some(largest) } = set else { return false };
        let mut values = Vec::new();
        defined.iter().all(|(point, before)| {
            let shift = SHIFTS[*point as usize / SCALES.len() % SHIFTS.len()] * scale_of(*point);
            let moved = |slot, of| if of == component && mine(slot) { shift } else { 0.0 };
            let after = self.at(literals, *point, moved, &mut values);
            // Written so that a value that is not defined any more counts as another.
            let same =
                |((a, b), largest): ((&f64, &f64), &f64)| (a - b).abs() <= (ROUNDING * (a.abs() + b.abs())).max(CANCELLATION * largest);
            before.iter().zip(&after).zip(largest).all(same)
        })
    }
}

fn scale_of(point: u64) -> f64 {
    SCALES[point as usize % SCALES.len()]
}

/// The bits of the numbers of a part's function, where all of its instances have the same.
fn literals(part: &Part) -> Vec<Option<u64>> {
    let of = |(datum, values): (&Datum, &Values)| match (datum, values) {
        (Datum::Literal(_), Values::Shared(value)) => Some(value.to_bits()),
        _ => None,
    };
    part.reading.data.iter().zip(&part.contents.data).map(of).collect()
}

/// A multiple of 1/256 in [−1, 1), the same one every time (SplitMix64's finaliser).
fn dyadic(point: u64, source: u32, component: u32) -> f64 {
    let mut z = (point << 40 ^ u64::from(source) << 20 ^ u64::from(component)).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 55) as f64 / 256.0 - 1.0
}

//! Sketches: what a list's codes decode to, a byte a coordinate, so that a query passes over whole vectors with integer products, and
//! decodes only those that can be among its nearest.
//!
//! A residual r is unit·c + e with whole numbers |cⱼ| ≤ 127, and a query seen from an anchor q = step·p + f in 16 bits. Then
//! ⟨q, r⟩ = step·unit·⟨p, c⟩ but for ‖f‖·‖r‖ + (‖q‖ + ‖f‖)·‖e‖ at most (Cauchy and Schwarz), and a distance lies between two bounds.
//! Whatever has its lower bound above the k-th least upper bound is left out; the few that remain are decoded and *rescored*. Nothing of
//! this is seen in the hits: they have the bits of a search that decodes everything.

use super::fetched::Codes;
use super::lists::Lists;
use super::nearest::{Candidate, Nearest};
use super::search::{BLOCK, Blocks};
use super::{Index, Sketching, retain_rows};
use crate::code::columns::{dot, paired_distances, paired_products, squared_lengths};
use leastwise_base::clock::now_ms;
use leastwise_cpu::block::{Instructions, SimdKernel};
use leastwise_cpu::threads;

/// Dimensions below which decoding is as fast.
const FEWEST_DIMENSIONS: usize = 32;

/// Vectors for each that is looked for, below which bounds leave too little out.
const FEWEST_VECTORS: usize = 16;

/// Candidates of a query beyond a multiple of k, after which bounds are held to say nothing about its vectors (as of equal ones).
const MOST_CANDIDATES: usize = 512;

/// Vectors of a list that are drawn between two looks at the clock, of so many numbers together.
const DRAWN_NUMBERS: usize = 1 << 21;

/// The largest number of a vector.
const LARGEST: f32 = 127.0;

/// Sketches of the vectors of a list, in its order.
#[derive(Default)]
pub(super) struct Sketch {
    numbers: Vec<i8>,
    rows: Vec<Row>,
}

#[derive(Clone, Copy)]
struct Row {
    unit: f32,
    /// κ‖r‖²
    length: f32,
    /// ‖r‖ and ‖e‖, or a little more.
    radius: f32,
    error: f32,
}

/// What computed lengths may be too short by.
const ROUNDED: f32 = 1.0001;

impl Index {
    /// Makes the sketches that searches for k go by, or goes on with it until the time is up: false while there are some to be made. They
    /// are kept, [`sketch_bytes`](Self::sketch_bytes) of them, unless [told otherwise](Self::set_sketching).
    pub fn sketch(&mut self, k: usize, deadline: f64) -> bool {
        if self.sketched || self.sketching != Sketching::Bytes || !self.suits_sketches(k) {
            return true;
        }
        let mut sketches = std::mem::take(&mut self.sketches);
        sketches.resize_with(self.clusters(), Sketch::default);
        let slots = self.lists();
        let is_short = |list: usize, sketch: &Sketch| sketch.rows.len() < slots.of_list(list).len();
        let most = (DRAWN_NUMBERS / self.stored.dim).max(BLOCK);
        let mut lists: Vec<usize> = (0..self.clusters()).rev().filter(|&list| is_short(list, &sketches[list])).collect();
        let mut is_first = true;
        while !lists.is_empty() && (std::mem::take(&mut is_first) || now_ms() < deadline) {
            let some = lists[lists.len().saturating_sub(threads::count())..].to_vec();
            let tasks = sketches.iter_mut().enumerate().filter(|(list, _)| some.contains(list)).collect();
            threads::each(tasks, BLOCK * self.stored.dim, |(list, sketch)| {
                let slots = slots.of_list(list);
                let end = slots.len().min(sketch.rows.len() + most);
                // All of the list at once, so that nothing moves while it is drawn.
                sketch.rows.reserve_exact(slots.len() - sketch.rows.len());
                sketch.numbers.reserve_exact(slots.len() * self.stored.dim - sketch.numbers.len());
                Instructions::best().run(Draw { index: self, slots: &slots[..end], sketch });
            });
            let unfinished: Vec<usize> = some.iter().copied().filter(|&list| is_short(list, &sketches[list])).collect();
            lists.truncate(lists.len() - some.len());
            lists.extend(unfinished);
        }
        self.sketches = sketches;
        self.sketched = lists.is_empty();
        self.sketched
    }

    /// Sets the sketches that searches through lists may keep. Others that there are are freed, but for those that walks in a graph go by.
    pub fn set_sketching(&mut self, sketching: impl Into<Sketching>) {
        self.sketching = sketching.into();
        if self.sketching != Sketching::Bytes {
            self.drop_sketches();
        }
        if self.sketching != Sketching::Bits && self.graph.is_none() {
            self.drawn = None;
        }
    }

    /// Sketches that searches through lists may keep.
    pub fn sketching(&self) -> Sketching {
        self.sketching
    }

    /// Memory that sketches take now: about a byte a number, and a bit a number of those that walks in a graph go by.
    pub fn sketch_bytes(&self) -> usize {
        let bits = self.drawn.as_ref().map_or(0, |drawn| drawn.bytes());
        self.sketches.iter().map(|sketch| sketch.numbers.len() + sketch.rows.len() * size_of::<Row>()).sum::<usize>() + bits
    }

    pub(super) fn drop_sketches(&mut self) {
        self.sketches = Vec::new();
        self.sketched = false;
    }

    /// Keeps the sketches of some slots, which are still in their lists.
    pub(super) fn retain_sketches(&mut self, kept: &[bool]) {
        if self.sketches.is_empty() {
            return;
        }
        let dim = self.stored.dim;
        let lists = Lists::of(&self.stored.labels, self.clusters());
        for (list, sketch) in self.sketches.iter_mut().enumerate() {
            let kept: Vec<bool> = lists.of_list(list)[..sketch.rows.len()].iter().map(|&slot| kept[slot as usize]).collect();
            retain_rows(&mut sketch.numbers, &kept, dim);
            retain_rows(&mut sketch.rows, &kept, 1);
        }
    }

    /// Whether a search for k would be faster by sketches.
    pub(super) fn suits_sketches(&self, k: usize) -> bool {
        self.stored.coder.row_bytes() > 0 && self.stored.dim >= FEWEST_DIMENSIONS && k.saturating_mul(FEWEST_VECTORS) <= self.count()
    }

    pub(super) fn goes_by_sketches(&self, k: usize) -> bool {
        self.sketched && self.suits_sketches(k)
    }

    /// The nearest of every query, or nothing of one that bounds say too little about.
    pub(super) fn search_sketches(
        &self,
        turned: &[f32],
        k: usize,
        blocks: Vec<Blocks>,
        probing: &[Vec<u32>],
        filter: Option<&[u8]>,
    ) -> Vec<Option<Nearest>> {
        let dim = self.stored.dim;
        let queries = turned.len() / dim;
        let parts = threads::map(blocks, self.count() * dim, |blocks| {
            let mut shortlists: Vec<Shortlist> = (0..queries).map(|_| Shortlist::new(k)).collect();
            Instructions::best().run(Screen { index: self, turned, blocks, probing, filter, shortlists: &mut shortlists });
            shortlists
        });
        let mut shortlists: Vec<Shortlist> = (0..queries).map(|_| Shortlist::new(k)).collect();
        for part in parts {
            for (all, part) in shortlists.iter_mut().zip(part) {
                all.merge(part);
            }
        }
        let tasks: Vec<_> = turned.chunks_exact(dim).zip(shortlists).collect();
        threads::map(tasks, queries * k * dim, |(query, shortlist)| {
            let slots = shortlist.into_slots()?;
            let mut nearest = Nearest::new(k);
            Instructions::best().run(Rescore { index: self, codes: Codes::Here, query, slots: &slots, nearest: &mut nearest });
            Some(nearest)
        })
    }
}

/// Vectors that may be among the k nearest of a query.
struct Shortlist {
    /// Their upper bounds.
    upper: Nearest,
    /// Lower bounds and slots.
    candidates: Vec<Candidate>,
    most: usize,
    /// Too many to keep.
    is_wide: bool,
}

impl Shortlist {
    fn new(k: usize) -> Self {
        Self { upper: Nearest::new(k), candidates: Vec::new(), most: MOST_CANDIDATES + 8 * k, is_wide: false }
    }

    #[inline(always)]
    fn offer(&mut self, lower: f32, upper: f32, slot: u32) {
        if lower <= self.upper.reach() && !self.is_wide {
            self.upper.offer(Candidate { distance: upper, id: slot });
            self.candidates.push(Candidate { distance: lower, id: slot });
            self.limit();
        }
    }

    fn merge(&mut self, other: Self) {
        self.upper.merge(other.upper);
        self.candidates.extend(other.candidates);
        self.is_wide |= other.is_wide;
        self.limit();
    }

    /// Of too many candidates only those that still are some; at most half as many, so that this is seldom done.
    fn limit(&mut self) {
        if self.candidates.len() > self.most {
            self.prune();
            if self.candidates.len() > self.most / 2 {
                self.candidates = Vec::new();
                self.is_wide = true;
            }
        }
    }

    fn prune(&mut self) {
        let reach = self.upper.reach();
        self.candidates.retain(|candidate| candidate.distance <= reach);
    }

    /// Nothing where there were too many.
    fn into_slots(mut self) -> Option<Vec<u32>> {
        self.prune();
        if self.is_wide { None } else { Some(self.candidates.into_iter().map(|candidate| candidate.id).collect()) }
    }
}

/// Sketches of the slots of a list that have none yet.
struct Draw<'a> {
    index: &'a Index,
    slots: &'a [u32],
    sketch: &'a mut Sketch,
}

impl SimdKernel for Draw<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { index, slots, sketch } = self;
        let (dim, shrink) = (index.stored.dim, index.stored.coder.shrink());
        let (mut rows, mut columns, mut lengths) = (Vec::new(), vec![0.0; BLOCK * dim], [0.0; BLOCK]);
        let mut row = vec![0.0; dim];
        for slots in slots[sketch.rows.len()..].chunks(BLOCK) {
            let (columns, lengths) = (&mut columns[..slots.len() * dim], &mut lengths[..slots.len()]);
            index.padded_rows(slots, &mut rows);
            index.stored.coder.decode(&rows, columns);
            squared_lengths(columns, lengths);
            for (number, length) in lengths.iter().enumerate() {
                for (value, column) in row.iter_mut().zip(columns.chunks_exact(slots.len())) {
                    *value = column[number];
                }
                let largest = row.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
                let (unit, per_unit) = unit_of(largest / LARGEST);
                let mut squares = 0.0;
                for value in &row {
                    let whole = (value * per_unit).round_ties_even().clamp(-LARGEST, LARGEST);
                    let error = value - whole * unit;
                    squares += error * error;
                    sketch.numbers.push(whole as i8);
                }
                let row = Row { unit, length: shrink * length, radius: length.sqrt() * ROUNDED, error: squares.sqrt() * ROUNDED };
                sketch.rows.push(row);
            }
        }
    }
}

/// A unit and its reciprocal; 0 and 0 where that would not be finite: all of a row is error then.
#[inline(always)]
fn unit_of(unit: f32) -> (f32, f32) {
    if unit >= f32::MIN_POSITIVE { (unit, unit.recip()) } else { (0.0, 0.0) }
}

/// A query as an anchor sees it.
struct Seen {
    /// Squared length, and the length or a little more.
    squares: f32,
    length: f32,
    step: f32,
    /// ‖f‖ or a little more.
    error: f32,
}

/// Some blocks of sketches against all queries that probe their lists.
struct Screen<'a> {
    index: &'a Index,
    turned: &'a [f32],
    blocks: Blocks<'a>,
    probing: &'a [Vec<u32>],
    filter: Option<&'a [u8]>,
    shortlists: &'a mut [Shortlist],
}

impl SimdKernel for Screen<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { index, turned, blocks, probing, filter, shortlists } = self;
        let dim = index.stored.dim;
        // So that no sum of products exceeds 32 bits.
        let most = (i32::MAX as f32 / 128.0 / dim as f32).floor().clamp(1.0, 32_000.0);
        // What rounding adds, of (‖q‖ + ‖r‖)².
        let rounding = (dim as f32 + 64.0) * f32::EPSILON;
        let (mut seen, mut whole, mut row) = (Vec::new(), Vec::new(), vec![0.0; dim]);
        let mut products = [0; BLOCK];
        let is_allowed = |slot: u32| filter.is_none_or(|filter| filter[slot as usize] != 0);
        let (lists, mut seen_from) = (index.lists(), None);
        for (list, range) in blocks {
            let asking = &probing[*list];
            if asking.is_empty() {
                continue;
            }
            if seen_from != Some(*list) {
                seen_from = Some(*list);
                seen.clear();
                whole.resize(asking.len() * dim, 0);
                let centroid = &index.turned_centroids[*list * dim..][..dim];
                for (&query, whole) in asking.iter().zip(whole.chunks_exact_mut(dim)) {
                    for ((value, query), centroid) in row.iter_mut().zip(&turned[query as usize * dim..]).zip(centroid) {
                        *value = query - centroid;
                    }
                    seen.push(see(&row, most, whole));
                }
            }
            let (slots, sketch) = (lists.of_list(*list), &index.sketches[*list]);
            if !slots[range.clone()].iter().any(|&slot| is_allowed(slot)) {
                continue;
            }
            let rows = &sketch.rows[range.clone()];
            let numbers = &sketch.numbers[range.start * dim..range.end * dim];
            for ((&query, seen), whole) in asking.iter().zip(&seen).zip(whole.chunks_exact(dim)) {
                let shortlist = &mut shortlists[query as usize];
                let products = &mut products[..rows.len()];
                whole_products(numbers, whole, products);
                for ((row, &product), &slot) in rows.iter().zip(&*products).zip(&slots[range.clone()]) {
                    let distance = seen.squares - 2.0 * (seen.step * row.unit * product as f32) + row.length;
                    let both = seen.length + row.radius;
                    let bound = 2.0 * (seen.error * row.radius + (seen.length + seen.error) * row.error) + rounding * both * both;
                    if distance - bound <= shortlist.upper.reach() && is_allowed(slot) {
                        shortlist.offer(distance - bound, distance + bound, slot);
                    }
                }
            }
        }
    }
}

/// A row in whole numbers up to `most`.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
fn see(row: &[f32], most: f32, whole: &mut [i16]) -> Seen {
    let largest = row.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
    let (step, per_step) = unit_of(largest / most);
    let mut errors = [0.0; 4];
    for (place, (value, whole)) in row.iter().zip(whole).enumerate() {
        let number = (value * per_step).round_ties_even().clamp(-most, most);
        let error = value - number * step;
        errors[place % 4] += error * error;
        *whole = number as i32 as i16;
    }
    let squares = dot(row, row);
    let error = errors.iter().sum::<f32>().sqrt() * ROUNDED;
    Seen { squares, length: squares.sqrt() * ROUNDED, step, error }
}

/// ⟨row, whole⟩ of some rows.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
fn whole_products(rows: &[i8], whole: &[i16], products: &mut [i32]) {
    for (row, product) in rows.chunks_exact(whole.len()).zip(products) {
        *product = whole_product(row, whole);
    }
}

/// ⟨a, b⟩
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
#[inline(always)]
fn whole_product(a: &[i8], b: &[i16]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

/// The same by `dot`, which the compiler doesn't find by itself.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[inline(always)]
fn whole_product(a: &[i8], b: &[i16]) -> i32 {
    use std::arch::wasm32::{
        i16x8, i16x8_extend_high_i8x16, i16x8_extend_low_i8x16, i32x4_add, i32x4_dot_i16x8, i32x4_extract_lane, i32x4_splat, u64x2,
    };
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    let half = |bytes: &[i8; 16], at: usize| u64::from_le_bytes(std::array::from_fn(|lane| bytes[at + lane] as u8));
    let eight = |b: &[i16; 16], at: usize| i16x8(b[at], b[at + 1], b[at + 2], b[at + 3], b[at + 4], b[at + 5], b[at + 6], b[at + 7]);
    let mut sums = [i32x4_splat(0); 2];
    for (a, b) in a.iter().zip(b) {
        let a = u64x2(half(a, 0), half(a, 8));
        sums[0] = i32x4_add(sums[0], i32x4_dot_i16x8(i16x8_extend_low_i8x16(a), eight(b, 0)));
        sums[1] = i32x4_add(sums[1], i32x4_dot_i16x8(i16x8_extend_high_i8x16(a), eight(b, 8)));
    }
    let sum = i32x4_add(sums[0], sums[1]);
    let lanes = i32x4_extract_lane::<0>(sum) + i32x4_extract_lane::<1>(sum) + i32x4_extract_lane::<2>(sum) + i32x4_extract_lane::<3>(sum);
    lanes + a_rest.iter().zip(b_rest).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>()
}

/// The distances of some slots from their codes, as a search without sketches has them.
pub(super) struct Rescore<'a> {
    pub index: &'a Index,
    pub codes: Codes<'a>,
    pub query: &'a [f32],
    pub slots: &'a [u32],
    pub nearest: &'a mut Nearest,
}

impl SimdKernel for Rescore<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { index, codes, query, slots, nearest } = self;
        let (dim, shrink) = (index.stored.dim, index.stored.coder.shrink());
        let (mut rows, mut row) = (Vec::new(), vec![0.0; dim]);
        let (mut decoded, mut seen) = (vec![0.0; BLOCK * dim], vec![0.0; BLOCK * dim]);
        let (mut lengths, mut products, mut seen_lengths) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
        for slots in slots.chunks(BLOCK) {
            let count = slots.len();
            let (decoded, seen) = (&mut decoded[..count * dim], &mut seen[..count * dim]);
            let (lengths, products) = (&mut lengths[..count], &mut products[..count]);
            index.padded_rows_of(codes, slots, &mut rows);
            index.stored.coder.decode(&rows, decoded);
            let is_whole = index.stored.coder.is_whole();
            if !is_whole {
                squared_lengths(decoded, lengths);
            }
            for (place, &slot) in slots.iter().enumerate() {
                let centroid = &index.turned_centroids[index.stored.labels.get(slot as usize) as usize * dim..][..dim];
                for ((value, column), (query, centroid)) in row.iter_mut().zip(seen.chunks_exact_mut(count)).zip(query.iter().zip(centroid))
                {
                    *value = query - centroid;
                    column[place] = *value;
                }
                if !is_whole {
                    seen_lengths[place] = dot(&row, &row);
                }
            }
            if is_whole {
                paired_distances(seen, decoded, products);
                slots.iter().zip(&*products).for_each(|(&slot, &distance)| nearest.offer(Candidate { distance, id: slot }));
                continue;
            }
            paired_products(seen, decoded, products);
            for (place, &slot) in slots.iter().enumerate() {
                let distance = seen_lengths[place] - 2.0 * products[place] + shrink * lengths[place];
                nearest.offer(Candidate { distance, id: slot });
            }
        }
    }
}

//! One-bit sketches (Gao and Long, *RaBitQ*, 2024): of a residual r, rotated at random to z, the signs s of its components and two numbers.
//!
//! ‖q − x‖² = ‖q − c‖² + ‖r‖² − 2⟨q − c, r⟩ for x = c + r with the anchor c, and ⟨v, r⟩ ≈ γ⟨v′, s⟩ with v′ the rotated v and γ = ‖r‖²/‖z‖₁, without
//! bias. What does not depend on the query is one number, a = ‖r‖² + 2γ⟨c′, s⟩; then the estimate is ‖q − c‖² + a − 2γ⟨q′, s⟩. A query's q′ is
//! rounded to a few bits, whose planes make ⟨q′, s⟩ a sum of counts of bits. A vector takes a bit a component and 4 bytes.

/// Bits of a query's components.
const PLANES: usize = 4;

/// Largest of a query's numbers.
const LARGEST: f32 = ((1 << (PLANES - 1)) - 1) as f32;

/// Components together in a word.
const WORD: usize = 64;

/// Random rotation of `dim` components, zeros appended up to whole words: signs are flipped and a Hadamard transform applied to the first, then to the
/// last components, a power of two of them, and all that once more.
pub struct Mixer {
    width: usize,
    span: usize,
    /// Signs of each round.
    signs: Vec<f32>,
}

/// Components after the rotation of so many.
pub fn width_of(dim: usize) -> usize {
    dim.next_multiple_of(WORD)
}

/// Bytes of a sketch of so many rotated components.
pub fn stride_of(width: usize) -> usize {
    NUMBERS + width / 8
}

/// Rounds of a rotation.
const ROUNDS: usize = 4;

impl Mixer {
    pub fn new(dim: usize) -> Self {
        let width = width_of(dim);
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut sign = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if state >> 63 == 0 { 1.0 } else { -1.0 }
        };
        Self { width, span: 1 << width.ilog2(), signs: (0..ROUNDS * width).map(|_| sign()).collect() }
    }

    /// Components after the rotation.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rotates; lengths stay.
    #[inline(always)]
    pub fn mix(&self, vector: &[f32], out: &mut [f32]) {
        out[..vector.len()].copy_from_slice(vector);
        out[vector.len()..].fill(0.0);
        let scale = (self.span as f32).sqrt().recip();
        for (round, signs) in self.signs.chunks_exact(self.width).enumerate() {
            out.iter_mut().zip(signs).for_each(|(value, sign)| *value *= sign);
            let from = if round % 2 == 0 { 0 } else { self.width - self.span };
            hadamard(&mut out[from..from + self.span], scale);
        }
    }
}

/// Hadamard transform of a power of two of values, times `scale`.
#[inline(always)]
fn hadamard(values: &mut [f32], scale: f32) {
    let mut half = 1;
    while half < values.len() {
        for pair in values.chunks_exact_mut(2 * half) {
            let (a, b) = pair.split_at_mut(half);
            for (a, b) in a.iter_mut().zip(b) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    values.iter_mut().for_each(|value| *value *= scale);
}

/// Sketches of vectors, one after the other: two numbers of 16 bits, and signs.
pub struct Bits {
    stride: usize,
    rows: Vec<u8>,
}

/// Bytes of the two numbers.
const NUMBERS: usize = 4;

/// A query, rotated and rounded to whole numbers u times a step.
pub struct Asked {
    /// Bits of u, of the highest place last, which counts negative.
    planes: Vec<[u64; PLANES]>,
    step: f32,
    /// Σ u
    sum: i32,
}

impl Asked {
    /// A query that was rotated.
    #[inline(always)]
    pub fn new(mixed: &[f32]) -> Self {
        let largest = mixed.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
        let step = largest / LARGEST;
        let per_step = if step >= f32::MIN_POSITIVE { step.recip() } else { 0.0 };
        let (mut planes, mut sum) = (Vec::with_capacity(mixed.len() / WORD), 0);
        for values in mixed.chunks_exact(WORD) {
            let mut word = [0; PLANES];
            for (bit, value) in values.iter().enumerate() {
                let number = (value * per_step).round_ties_even().clamp(-LARGEST, LARGEST) as i32;
                sum += number;
                for (place, plane) in word.iter_mut().enumerate() {
                    *plane |= (number as u32 as u64 >> place & 1) << bit;
                }
            }
            planes.push(word);
        }
        Self { planes, step, sum }
    }
}

/// The upper half of a number, rounded to nearest; the exponent stays.
#[inline(always)]
fn short(value: f32) -> u16 {
    let bits = value.to_bits();
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

#[inline(always)]
fn long(half: u16) -> f32 {
    f32::from_bits(u32::from(half) << 16)
}

impl Bits {
    /// None yet, of vectors that have so many components once they are rotated.
    pub fn new(width: usize) -> Self {
        Self { stride: stride_of(width), rows: Vec::new() }
    }

    /// Vectors that have one.
    pub fn count(&self) -> usize {
        self.rows.len() / self.stride
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.rows.capacity()
    }

    /// Rows as files have them.
    pub fn stored(&self) -> &[u8] {
        &self.rows
    }

    /// Rows from a file.
    pub fn from_stored(width: usize, rows: Vec<u8>) -> Self {
        Self { stride: stride_of(width), rows }
    }

    /// Room for so many more, and no others.
    pub fn reserve(&mut self, more: usize) {
        self.rows.reserve_exact(more * self.stride);
    }

    /// Appends the sketch of a rotated residual r′ and of its anchor, rotated as well. Distances have κ‖r′‖² in place of ‖r‖².
    #[inline(always)]
    pub fn push(&mut self, mixed: &[f32], anchor: &[f32], square: f32, shrink: f32) {
        let from = self.rows.len();
        self.rows.extend_from_slice(&[0; NUMBERS]);
        let (mut sum, mut seen) = (0.0, 0.0);
        for (values, anchors) in mixed.chunks_exact(WORD).zip(anchor.chunks_exact(WORD)) {
            let mut word = 0_u64;
            for (bit, (value, anchor)) in values.iter().zip(anchors).enumerate() {
                let is_positive = *value >= 0.0;
                word |= u64::from(is_positive) << bit;
                sum += value.abs();
                seen += if is_positive { *anchor } else { -*anchor };
            }
            self.rows.extend_from_slice(&word.to_le_bytes());
        }
        let slope = if sum > 0.0 { square / sum } else { 0.0 };
        // As it is kept, so that its rounding cancels.
        let slope = long(short(slope));
        let numbers = &mut self.rows[from..from + NUMBERS];
        numbers[..2].copy_from_slice(&short(shrink * square + 2.0 * slope * seen).to_le_bytes());
        numbers[2..].copy_from_slice(&short(slope).to_le_bytes());
    }

    /// Keeps the sketches that a mask says.
    pub fn retain(&mut self, kept: &[bool]) {
        let (count, stride) = (self.count(), self.stride);
        let mut end = 0;
        for row in (0..count).filter(|&row| kept[row]) {
            self.rows.copy_within(row * stride..(row + 1) * stride, end);
            end += stride;
        }
        self.rows.truncate(end);
    }

    /// ‖q − x‖² − ‖q − c‖², about, of a vector and its anchor.
    #[inline(always)]
    pub fn estimate(&self, asked: &Asked, at: u32) -> f32 {
        let row = &self.rows[at as usize * self.stride..][..self.stride];
        let (numbers, words) = row.split_at(NUMBERS);
        let constant = long(u16::from_le_bytes([numbers[0], numbers[1]]));
        let slope = long(u16::from_le_bytes([numbers[2], numbers[3]]));
        let mut counts = [0; PLANES];
        for (word, planes) in words.chunks_exact(8).zip(&asked.planes) {
            let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
            for (count, plane) in counts.iter_mut().zip(planes) {
                *count += (word & plane).count_ones() as i32;
            }
        }
        let mut product = -(counts[PLANES - 1] << (PLANES - 1));
        for (place, count) in counts[..PLANES - 1].iter().enumerate() {
            product += count << place;
        }
        constant - 2.0 * slope * asked.step * (2 * product - asked.sum) as f32
    }
}

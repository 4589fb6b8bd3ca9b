//! Halves (IEEE 754 binary16): how numbers are kept, two in a word, the first of them in its low bits. Nothing is computed with them.
//!
//! Rounding is on the bits, and gives those that `shaders/shared/half.wgsl` gives: the same on every device.

use crate::real::Real;
use std::cmp::Ordering;

/// The nearest half, of two the one whose last bit is 0: infinity beyond the largest, and of a NaN the bits that there is room for.
#[inline(always)]
pub fn rounded(x: f32) -> u16 {
    let bits = x.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    // All that it may be, of which one is chosen: lanes of a vector do the same.
    let normal = magnitude.wrapping_sub(0x3800_0000).wrapping_add(0xfff + (magnitude >> 13 & 1)) >> 13;
    // Below 2⁻¹⁴ halves are 2⁻²⁴ apart, as numbers from ½ on are: a sum with ½ rounds to that.
    let small = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let nan = 0x7e00 | magnitude >> 13 & 0x3ff;
    let half = if magnitude < 0x3880_0000 { small } else { normal };
    // From 65520 on, which is as near to infinity as to the largest.
    let half = if magnitude >= 0x477f_f000 { 0x7c00 } else { half };
    let half = if magnitude > 0x7f80_0000 { nan } else { half };
    (half | bits >> 16 & 0x8000) as u16
}

/// The same of f64, rounded once: by way of f32, where what is lost goes into the last bit, so that no tie is made.
pub fn rounded_double(x: f64) -> u16 {
    let near = x as f32;
    let bits = near.to_bits();
    rounded(f32::from_bits(match f64::from(near).abs().partial_cmp(&x.abs()) {
        Some(Ordering::Less) => bits | 1,
        Some(Ordering::Greater) if bits & 1 == 0 => bits - 1,
        _ => bits,
    }))
}

/// What a half stands for.
#[inline(always)]
pub fn value(half: u16) -> f32 {
    let bits = u32::from(half);
    let magnitude = (bits & 0x7fff) << 13;
    let rebased = magnitude + if magnitude >= 0x0f80_0000 { 0x7000_0000 } else { 0x3800_0000 };
    let small = ((bits & 0x3ff) as i32 as f32 * (1.0 / 16_777_216.0)).to_bits();
    f32::from_bits(if magnitude < 0x0080_0000 { small } else { rebased } | (bits & 0x8000) << 16)
}

/// Words that so many halves take.
pub const fn words(halves: u32) -> u32 {
    halves.div_ceil(2)
}

/// Halves in words; beside the last of an odd number of them there is a 0.
pub fn packed(halves: impl ExactSizeIterator<Item = u16>) -> Vec<u32> {
    let mut words = vec![0; halves.len().div_ceil(2)];
    for (place, half) in halves.enumerate() {
        words[place / 2] |= u32::from(half) << (16 * (place % 2));
    }
    words
}

/// The same of numbers, rounded.
pub fn pack<R: Real>(numbers: &[R], words: &mut [u32]) {
    let half = |number: &R| u32::from(rounded(number.to_f64() as f32));
    let (pairs, last) = numbers.as_chunks::<2>();
    for (word, [first, second]) in words.iter_mut().zip(pairs) {
        *word = half(first) | half(second) << 16;
    }
    if let ([number], Some(word)) = (last, words.get_mut(pairs.len())) {
        *word = half(number);
    }
}

/// The half at an address, as a number.
#[inline(always)]
pub fn at<R: Real>(words: &[u32], address: u32) -> Option<R> {
    let word = words.get(address as usize / 2)?;
    Some(R::from_f64(f64::from(value((word >> (16 * (address % 2))) as u16))))
}

/// Numbers of halves from an address on, where all are there.
#[inline(always)]
pub fn widen<R: Real>(words: &[u32], start: u32, out: &mut [R]) {
    let number = |half: u32| R::from_f64(f64::from(value(half as u16)));
    let mut rest = out;
    let mut place = start as usize / 2;
    if start % 2 == 1
        && let Some((first, others)) = std::mem::take(&mut rest).split_first_mut()
    {
        *first = number(words[place] >> 16);
        (rest, place) = (others, place + 1);
    }
    let (pairs, last) = rest.as_chunks_mut::<2>();
    for (pair, word) in pairs.iter_mut().zip(&words[place..]) {
        *pair = [number(*word), number(word >> 16)];
    }
    place += pairs.len();
    if let [last] = last {
        *last = number(words[place]);
    }
}

//! Halves (IEEE 754 binary16): how numbers are kept, two in a word, the first of them in its low bits. Nothing is computed with them.
//!
//! Rounding is on the bits, by integers alone, as in `shaders/half.wgsl`: the same bits on every device.

use crate::real::Real;
use std::cmp::Ordering;

/// The nearest half, of two the one whose last bit is 0: infinity beyond the largest, and of a NaN the bits that there is room for.
#[inline(always)]
pub fn rounded(x: f32) -> u16 {
    let bits = x.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let half = if magnitude > 0x7f80_0000 {
        0x7e00 | magnitude >> 13 & 0x3ff
    } else if magnitude >= 0x477f_f000 {
        // From 65520 on, which is as near to infinity as to the largest.
        0x7c00
    } else if magnitude >= 0x3880_0000 {
        (magnitude - 0x3800_0000 + 0xfff + (magnitude >> 13 & 1)) >> 13
    } else {
        // Below 2⁻¹⁴ halves are 2⁻²⁴ apart.
        let shift = (126 - (magnitude >> 23)).min(25);
        let significand = magnitude & 0x7f_ffff | 0x80_0000;
        (significand + (1 << (shift - 1)) - 1 + (significand >> shift & 1)) >> shift
    };
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
    let small = ((bits & 0x3ff) as f32 * (1.0 / 16_777_216.0)).to_bits();
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

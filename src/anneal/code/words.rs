//! Numbers of a few bits each, one after the other, the first in the lowest bits of the first byte.

/// Bits that tell `count` things apart; one at least.
pub fn width(count: usize) -> u32 {
    count.saturating_sub(1).max(1).ilog2() + 1
}

pub fn pack(numbers: &[u32], width: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity((numbers.len() * width as usize).div_ceil(8));
    let (mut held, mut bits) = (0_u64, 0);
    for &number in numbers {
        held |= u64::from(number) << bits;
        bits += width;
        while bits >= 8 {
            bytes.push(held as u8);
            held >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        bytes.push(held as u8);
    }
    bytes
}

/// The first `count` numbers, as far as there are bytes.
pub fn unpack(bytes: &[u8], width: u32, count: usize) -> Vec<u32> {
    let mut bytes = bytes.iter();
    let (mut held, mut bits) = (0_u64, 0);
    let next = || {
        while bits < width {
            held |= u64::from(*bytes.next()?) << bits;
            bits += 8;
        }
        let number = held & ((1_u64 << width) - 1);
        held >>= width;
        bits -= width;
        Some(number as u32)
    };
    std::iter::from_fn(next).take(count).collect()
}

/// Writes the lowest `width` bits of a number at a bit of a row that was zero there.
pub fn put(row: &mut [u8], bit: usize, number: u32, width: u32) {
    let mut held = u64::from(number & ((1_u64 << width) - 1) as u32) << (bit % 8);
    for byte in &mut row[bit / 8..] {
        if held == 0 {
            break;
        }
        *byte |= held as u8;
        held >>= 8;
    }
}

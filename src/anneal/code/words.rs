//! Numbers of a few bits each, one after the other, the first in the lowest bits of the first byte.

/// Bits that tell `count` things apart; one at least.
pub fn width(count: usize) -> u32 {
    count.saturating_sub(1).max(1).ilog2() + 1
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

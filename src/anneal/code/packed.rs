//! Numbers of a few bits each, one after the other as [`words`](super::words) has them, any of which is read at once.

use super::words;
use leastwise_base::memory::{self, OutOfMemory};

/// Bytes after the last number, so that eight can be read anywhere.
const PADDING: usize = 8;

/// A list of numbers below 2^width, `width` bits each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    width: u32,
    count: usize,
    bytes: Vec<u8>,
}

impl Packed {
    /// No numbers yet, of `width` bits, 32 at most.
    pub fn new(width: u32) -> Self {
        Self { width, count: 0, bytes: vec![0; PADDING] }
    }

    /// Numbers in their order.
    pub fn of(numbers: impl ExactSizeIterator<Item = u32>, width: u32) -> Self {
        let mut packed = Self::new(width);
        packed.bytes.reserve_exact((numbers.len() * width as usize).div_ceil(8));
        numbers.for_each(|number| packed.push(number));
        packed
    }

    /// Numbers from the bytes of a file, ⌈count · width / 8⌉ of them.
    pub fn from_stored(bytes: &[u8], width: u32, count: usize) -> Result<Self, OutOfMemory> {
        let mut own = memory::room(bytes.len() + PADDING, "packed numbers")?;
        own.extend_from_slice(bytes);
        own.resize(bytes.len() + PADDING, 0);
        // Bits behind the last number are none of it.
        let used = count * width as usize;
        if !used.is_multiple_of(8) {
            own[used / 8] &= (1 << (used % 8)) - 1;
        }
        Ok(Self { width, count, bytes: own })
    }

    /// Number at a place.
    #[inline(always)]
    pub fn get(&self, at: usize) -> u32 {
        let bit = at * self.width as usize;
        let eight = u64::from_le_bytes(self.bytes[bit / 8..bit / 8 + 8].try_into().expect("eight bytes"));
        (eight >> (bit % 8) & ((1 << self.width) - 1)) as u32
    }

    /// Appends a number.
    pub fn push(&mut self, number: u32) {
        let bit = self.count * self.width as usize;
        self.count += 1;
        let needed = (bit + self.width as usize).div_ceil(8) + PADDING;
        let more = needed - self.bytes.len();
        // Whoever makes room for many says what can't be had.
        let _ = memory::grow(&mut self.bytes, more, "a number");
        self.bytes.resize(needed, 0);
        words::put(&mut self.bytes, bit, number, self.width);
    }

    /// Room for so many more numbers.
    pub fn reserve(&mut self, more: usize, what: &str) -> Result<(), OutOfMemory> {
        memory::grow(&mut self.bytes, (more * self.width as usize).div_ceil(8) + 1, what)
    }

    /// How many numbers there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// All numbers in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        (0..self.count).map(|at| self.get(at))
    }

    /// Keeps the numbers that a mask says.
    pub fn retain(&mut self, kept: &[bool]) {
        let numbers: Vec<u32> = self.iter().zip(kept).filter(|(_, kept)| **kept).map(|(number, _)| number).collect();
        *self = Self::of(numbers.into_iter(), self.width);
    }

    /// Bytes as a file has them.
    pub fn stored(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - PADDING]
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::Packed;

    #[test]
    fn numbers_of_any_width_come_back() {
        for width in [0, 1, 3, 7, 8, 13, 24, 31, 32] {
            let mask = ((1_u64 << width) - 1) as u32;
            let numbers: Vec<u32> = (0..100_u32).map(|at| at.wrapping_mul(2_654_435_761) & mask).collect();
            let mut packed = Packed::of(numbers.iter().copied(), width);
            assert_eq!(packed.iter().collect::<Vec<_>>(), numbers);
            assert_eq!(packed.stored().len(), (100 * width as usize).div_ceil(8));
            let mut stored = packed.stored().to_vec();
            // Bits behind the last number are passed over.
            if 100 * width % 8 > 0 {
                *stored.last_mut().expect("a byte") |= 128;
            }
            assert_eq!(Packed::from_stored(&stored, width, 100).expect("memory"), packed);
            let kept: Vec<bool> = (0..100).map(|at| at % 3 == 0).collect();
            packed.retain(&kept);
            packed.push(mask);
            let left: Vec<u32> = numbers.iter().copied().step_by(3).chain([mask]).collect();
            assert_eq!(packed.iter().collect::<Vec<_>>(), left);
        }
    }
}

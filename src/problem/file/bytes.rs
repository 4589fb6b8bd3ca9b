//! Numbers and names, little-endian, one after the other.

use super::malformed;
use leastwise_base::FileError;
use leastwise_device::Precision;

/// Writer of a section's numbers and names.
#[derive(Default)]
pub struct Writer {
    /// Bytes that are written so far.
    pub bytes: Vec<u8>,
}

impl Writer {
    /// Appends four bytes.
    pub fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }

    /// Appends eight bytes.
    pub fn u64(&mut self, value: u64) {
        self.bytes.extend(value.to_le_bytes());
    }

    /// Appends eight bytes.
    pub fn f64(&mut self, value: f64) {
        self.bytes.extend(value.to_le_bytes());
    }

    /// Appends a byte: 1 or 0.
    pub fn flag(&mut self, value: bool) {
        self.bytes.push(u8::from(value));
    }

    /// Appends the length in bytes, and the UTF-8.
    pub fn text(&mut self, text: &str) {
        self.u32(text.len() as u32);
        self.bytes.extend(text.as_bytes());
    }

    /// Their number, and all of them.
    pub fn numbers(&mut self, values: &[f64]) {
        self.u32(values.len() as u32);
        values.iter().for_each(|value| self.f64(*value));
    }

    /// Their number, and a byte for each.
    pub fn flags(&mut self, values: &[bool]) {
        self.u32(values.len() as u32);
        self.bytes.extend(values.iter().map(|value| u8::from(*value)));
    }

    /// Appends a flag and, for `Some`, what `write` appends.
    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    /// Values of a device of this precision, to the bit.
    pub fn reals(&mut self, values: &[f64], precision: Precision) {
        match precision {
            Precision::F32 => values.iter().for_each(|value| self.bytes.extend((*value as f32).to_le_bytes())),
            Precision::F32x2 | Precision::F64 => values.iter().for_each(|value| self.f64(*value)),
        }
    }
}

/// Reads what may be anything: nothing is allocated for what is not there.
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader of a section from its beginning.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], FileError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(|| malformed("a section of it ends too early"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FileError> {
        Ok(self.take(N)?.try_into().expect("as many bytes as were taken"))
    }

    /// Reads four bytes.
    pub fn u32(&mut self) -> Result<u32, FileError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads eight bytes.
    pub fn u64(&mut self) -> Result<u64, FileError> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads eight bytes.
    pub fn f64(&mut self) -> Result<f64, FileError> {
        self.array().map(f64::from_le_bytes)
    }

    /// Reads a byte that must be 0 or 1.
    pub fn flag(&mut self) -> Result<bool, FileError> {
        flag(self.take(1)?[0])
    }

    /// Reads a length, and as many bytes of UTF-8.
    pub fn text(&mut self) -> Result<String, FileError> {
        let length = self.u32()? as usize;
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map(Into::into).map_err(|_| malformed("a name in it isn't text"))
    }

    /// Reads a number, and as many values: the opposite of [`Writer::numbers`].
    pub fn numbers(&mut self) -> Result<Vec<f64>, FileError> {
        let count = self.u32()? as usize;
        let bytes = self.take(count.checked_mul(8).ok_or_else(|| malformed("a section of it ends too early"))?)?;
        Ok(bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    }

    /// Reads a number, and as many flags: the opposite of [`Writer::flags`].
    pub fn flags(&mut self) -> Result<Vec<bool>, FileError> {
        let count = self.u32()? as usize;
        self.take(count)?.iter().map(|byte| flag(*byte)).collect()
    }

    /// Reads a flag and, if it is set, what `read` reads.
    pub fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, FileError>) -> Result<Option<T>, FileError> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    /// A list whose length was read: every item takes bytes, so a false length ends with them.
    pub fn list<T>(&mut self, count: u32, mut read: impl FnMut(&mut Self) -> Result<T, FileError>) -> Result<Vec<T>, FileError> {
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(read(self)?);
        }
        Ok(list)
    }

    /// Refuses bytes that were not read.
    pub fn end(&self) -> Result<(), FileError> {
        if self.rest.is_empty() { Ok(()) } else { Err(malformed(format!("{} bytes of a section mean nothing", self.rest.len()))) }
    }
}

fn flag(byte: u8) -> Result<bool, FileError> {
    match byte {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(malformed(format!("{other} is neither yes nor no"))),
    }
}

/// Values of a device of this precision; none where there aren't `count`.
pub fn reals(bytes: &[u8], precision: Precision, count: usize) -> Option<Vec<f64>> {
    if bytes.len() as u64 != count as u64 * precision.bytes() {
        return None;
    }
    Some(match precision {
        Precision::F32 => bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes).into()).collect(),
        Precision::F32x2 | Precision::F64 => bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect(),
    })
}

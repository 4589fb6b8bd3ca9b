//! Memory that may not be there: what is large is asked for first, so that its lack is an error and not the end.

/// Memory that could not be had.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
#[error("out of memory: {needed} bytes for {what} can't be had")]
pub struct OutOfMemory {
    /// What it was for.
    pub what: String,
    /// Bytes that were asked for.
    pub needed: u64,
}

/// An empty vector with room for so many.
pub fn room<T>(len: usize, what: &str) -> Result<Vec<T>, OutOfMemory> {
    let mut values = Vec::new();
    reserve(&mut values, len, what)?;
    Ok(values)
}

/// Room for so many more.
pub fn reserve<T>(values: &mut Vec<T>, more: usize, what: &str) -> Result<(), OutOfMemory> {
    let needed = (more as u64).saturating_mul(size_of::<T>() as u64);
    values.try_reserve(more).map_err(|_| OutOfMemory { what: what.into(), needed })
}

/// Room for so many more, and no others.
pub fn reserve_exact<T>(values: &mut Vec<T>, more: usize, what: &str) -> Result<(), OutOfMemory> {
    let needed = (more as u64).saturating_mul(size_of::<T>() as u64);
    values.try_reserve_exact(more).map_err(|_| OutOfMemory { what: what.into(), needed })
}

/// Room for so many more, and for an eighth of what there is already, so that little is taken in vain and values are seldom moved.
pub fn grow<T>(values: &mut Vec<T>, more: usize, what: &str) -> Result<(), OutOfMemory> {
    if values.capacity() - values.len() >= more {
        return Ok(());
    }
    reserve_exact(values, more.max(values.len() / 8), what)
}

/// So many zeros.
pub fn zeros<T: Clone + Default>(len: usize, what: &str) -> Result<Vec<T>, OutOfMemory> {
    let mut values = room(len, what)?;
    values.resize(len, T::default());
    Ok(values)
}

/// A copy.
pub fn copy<T: Copy>(of: &[T], what: &str) -> Result<Vec<T>, OutOfMemory> {
    let mut values = room(of.len(), what)?;
    values.extend_from_slice(of);
    Ok(values)
}

/// Whether so many bytes can be had: what has many parts is counted before any of them is made.
pub fn probe(bytes: u128, what: &str) -> Result<(), OutOfMemory> {
    let refused = || OutOfMemory { what: what.into(), needed: u64::try_from(bytes).unwrap_or(u64::MAX) };
    room::<u8>(usize::try_from(bytes).map_err(|_| refused())?, what).map(drop)
}

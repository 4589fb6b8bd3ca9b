//! Vectors as they come: row after row, all components finite.

use leastwise_error::Error;

/// Most components of a vector.
pub const MOST_DIMENSIONS: usize = 1 << 20;

/// How many rows so many numbers are.
pub fn count(what: &str, numbers: usize, dim: usize) -> Result<usize, Error> {
    if !(1..=MOST_DIMENSIONS).contains(&dim) {
        return Err(Error::InvalidOption(format!("dim must be from 1 to {MOST_DIMENSIONS}, not {dim}")));
    }
    if !numbers.is_multiple_of(dim) {
        let expected = format!("a multiple of dim = {dim}");
        return Err(Error::DataLength { term: None, what: what.into(), got: numbers, expected });
    }
    Ok(numbers / dim)
}

/// The first number that is not finite, as an error.
pub fn all_finite(what: &str, values: &[f32], dim: usize) -> Result<(), Error> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(place) => {
            let (what, value) = (what.into(), values[place].to_string());
            Err(Error::NonFiniteRow { what, row: place / dim, component: place % dim, value })
        }
    }
}

/// How many rows there are, all of them finite.
pub fn check(what: &str, values: &[f32], dim: usize) -> Result<usize, Error> {
    let count = count(what, values.len(), dim)?;
    all_finite(what, values, dim)?;
    Ok(count)
}

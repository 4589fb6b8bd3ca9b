//! Shapes as they cross from TypeScript: parts one after the other, in words.

use super::Shape;
use leastwise_error::Error;

/// Reads what `ts/src/shape.ts` packs. What no instance could be is the table's to refuse.
pub fn unpack_shapes(words: &[u32]) -> Result<Vec<Shape>, Error> {
    let mut rest = words;
    let mut shapes = Vec::new();
    while !rest.is_empty() {
        shapes.push(part(&mut rest)?);
    }
    Ok(shapes)
}

fn part(rest: &mut &[u32]) -> Result<Shape, Error> {
    let kind = word(rest)?;
    Ok(match kind {
        0 => Shape::Euclidean(word(rest)?),
        1 => Shape::Subset { width: word(rest)?, constant: list(rest)? },
        2 => Shape::Sphere(word(rest)?),
        3 => Shape::Quaternion,
        4 => Shape::So2,
        5 => Shape::Se2,
        6 => Shape::Se3,
        7 => Shape::Sim3,
        8 => Shape::Traced { ambient: word(rest)?, tangent: word(rest)?, tape: list(rest)?, outputs: list(rest)? },
        _ => return Err(incomplete()),
    })
}

fn word(rest: &mut &[u32]) -> Result<u32, Error> {
    let (&word, after) = rest.split_first().ok_or_else(incomplete)?;
    *rest = after;
    Ok(word)
}

/// As many words as the first one says.
fn list(rest: &mut &[u32]) -> Result<Vec<u32>, Error> {
    let length = word(rest)? as usize;
    let (list, after) = rest.split_at_checked(length).ok_or_else(incomplete)?;
    *rest = after;
    Ok(list.to_vec())
}

fn incomplete() -> Error {
    Error::InvalidOption("a shape crossed incompletely".into())
}

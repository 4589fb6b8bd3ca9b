//! Data of fits as kernels read them, and as they come.

use super::{FitData, Values};
use leastwise_device::{BufferId, Command, Limits};
use leastwise_error::Error;
use leastwise_program::{FitLayout, FitTolerances, FitWeights};
use std::sync::Arc;

/// Fits of the list that one lane counts.
pub(crate) const RUN: u32 = 64;

/// Beginnings of the table's parts, and its length: two lists, and the counts of runs.
pub(crate) struct Places {
    pub lists: [u32; 2],
    pub counts: u32,
    pub len: u32,
}

impl Places {
    pub fn new(count: u32, limits: &Limits) -> Self {
        let list = limits.align(count);
        Self { lists: [0, list], counts: 2 * list, len: 2 * list + count.div_ceil(RUN) }
    }
}

/// Refuses a wrong number of values.
pub(crate) fn counted(what: &str, got: usize, expected: u64) -> Result<(), Error> {
    if got as u64 == expected {
        return Ok(());
    }
    Err(Error::DataLength { term: None, what: format!("fit(): {what}"), got, expected: expected.to_string() })
}

/// Points of all fits, once the lengths of all that was given are right.
pub(crate) fn total(layout: &FitLayout, data: &FitData) -> Result<u64, Error> {
    let FitData { count, points, offsets, .. } = *data;
    let total = if layout.ragged {
        counted("offsets", offsets.len(), u64::from(count) + 1)?;
        if offsets[0] != 0 || offsets.windows(2).any(|pair| pair[0] > pair[1] || pair[1] - pair[0] > points) {
            return Err(Error::InvalidOption("fit(): offsets must begin at 0 and ascend".into()));
        }
        u64::from(offsets[count as usize])
    } else {
        u64::from(count) * u64::from(points)
    };
    let (fits, parameters, free) = (u64::from(count), u64::from(layout.parameters), u64::from(layout.free_count()));
    counted("values of data, weights and variables", data.data.len(), layout.data(points.into(), total) - FitTolerances::COUNT)?;
    if data.start.len() as u64 != parameters {
        counted("starting values", data.start.len(), fits * parameters)?;
    }
    match layout.bounded {
        true if data.bounds.len() as u64 != 2 * free => counted("bounds", data.bounds.len(), 2 * free * fits)?,
        true => {}
        false => counted("bounds", data.bounds.len(), 0)?,
    }
    Ok(total)
}

/// A part of the data's buffer, and where it is among what came; true if it has a number for each point of each fit.
struct Column {
    from: usize,
    len: usize,
    each: bool,
}

/// The parts of the data, in the order of [`FitLayout::places`].
fn columns(layout: &FitLayout, points: u64, total: u64) -> Vec<Column> {
    let shared = layout.variables.iter().filter(|shared| **shared).map(|_| false);
    let weights = match layout.weights {
        FitWeights::None => None,
        FitWeights::Shared => Some(false),
        FitWeights::Each => Some(true),
    };
    let each = layout.variables.iter().filter(|shared| !**shared).map(|_| true);
    let mut from = 0;
    let column = |each: bool| {
        let len = if each { total } else { points } as usize;
        from += len;
        Column { from: from - len, len, each }
    };
    shared.chain([true]).chain(weights).chain(each).map(column).collect()
}

/// Fits that are turned round at once: as many rows as a cache has room for.
const TOGETHER: usize = 64;

/// Adds fits × points as points × fits.
fn push_transposed<T: Copy + Default>(to: &mut Vec<T>, values: &[T], points: usize) {
    let (begin, fits) = (to.len(), values.len().checked_div(points).unwrap_or(0));
    to.resize(begin + values.len(), T::default());
    let to = &mut to[begin..];
    for first in (0..fits).step_by(TOGETHER) {
        let rows = &values[first * points..(first + TOGETHER).min(fits) * points];
        for point in 0..points {
            let column = &mut to[point * fits + first..];
            for (place, row) in column.iter_mut().zip(rows.chunks_exact(points)) {
                *place = row[point];
            }
        }
    }
}

/// Uploads what came, from a place on.
pub(crate) fn upload(layout: &FitLayout, (points, total): (u32, u64), buffer: BufferId, values: Values) -> Command {
    let columns = columns(layout, points.into(), total);
    upload_columns(!layout.ragged, points, &columns, buffer, FitTolerances::COUNT as u32, values)
}

/// Uploads data alone.
pub(crate) fn upload_data(layout: &FitLayout, (points, total): (u32, u64), buffer: BufferId, values: Values) -> Command {
    let column = Column { from: 0, len: total as usize, each: true };
    let place = layout.places(points.into(), total).data as u32;
    upload_columns(!layout.ragged, points, &[column], buffer, place, values)
}

fn upload_columns(turns: bool, points: u32, columns: &[Column], buffer: BufferId, offset: u32, values: Values) -> Command {
    fn all<T: Copy + Default>(turns: bool, points: u32, columns: &[Column], values: &[T]) -> Vec<T> {
        let mut all = Vec::with_capacity(values.len());
        for Column { from, len, each } in columns {
            let column = &values[*from..from + len];
            match turns && *each {
                true => push_transposed(&mut all, column, points as usize),
                false => all.extend_from_slice(column),
            }
        }
        all
    }
    match values {
        Values::Singles(values) => {
            let data = all(turns, points, columns, values);
            Command::UploadSingles { buffer, offset, first: 0, len: data.len() as u32, data: Arc::new(data) }
        }
        Values::Doubles(values) => Command::UploadReals { buffer, offset, data: all(turns, points, columns, values) },
    }
}

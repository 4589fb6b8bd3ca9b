//! Work on the host that threads may share, in time slices. Every item has a result of its own, so results do not depend on threads.
//!
//! [`map`] has many items of work that can't be interrupted. [`ranges`] has one item for each thread, of work that goes over all of its
//! input and keeps what is in its range: sorting by counting, of which only results are divided.

use crate::task::{Pace, Stopped, Task, UNIT};
use std::future::Future;
use std::ops::Range;

/// Operations for which it is not worth while to ask other threads.
const SMALL: usize = 4 * UNIT;
/// Rows or instances between two looks at the clock.
const RUN: u32 = 1 << 14;

/// The results of all items, in their order. `operations` says how many an item takes; a thread makes its state once a slice.
pub async fn map<I: Send, S, T: Send>(
    items: Vec<I>,
    operations: impl Fn(&I) -> usize,
    state: impl Fn() -> S + Sync + Send,
    work: impl Fn(&mut S, I) -> T + Sync + Send,
    pace: &Pace,
) -> Result<Vec<T>, Stopped> {
    let most = threads() * UNIT;
    let mut results = Vec::with_capacity(items.len());
    let (mut together, mut spent) = (Vec::new(), 0);
    for item in items {
        spent += operations(&item);
        together.push(item);
        if spent >= most {
            results.extend(at_once(std::mem::take(&mut together), &state, &work));
            pace.spend(std::mem::take(&mut spent) / threads()).await?;
        }
    }
    results.extend(at_once(together, &state, &work));
    Ok(results)
}

/// Numbers below `count` in ranges for [`ranges`], which take so many operations together: one range, or one for each thread.
pub fn shares(count: u32, operations: usize) -> Vec<Range<u32>> {
    let shares = if operations < SMALL { 1 } else { threads().min(count.max(1) as usize) } as u64;
    let end = |share: u64| (u64::from(count) * share / shares) as u32;
    (0..shares).map(|share| end(share)..end(share + 1)).collect()
}

/// The results of ranges with what belongs to them. A single one rests when its time slice is over; several are done at once.
///
/// # Errors
/// [`Stopped`] where the work is to end.
pub async fn ranges<S: Send, T: Send, F: Future<Output = Result<T, Stopped>> + Send>(
    mut items: Vec<(Range<u32>, S)>,
    work: impl Fn(Range<u32>, S, Pace) -> F + Sync,
    pace: &Pace,
) -> Result<Vec<T>, Stopped> {
    if items.len() == 1 {
        let (range, state) = items.remove(0);
        return Ok(vec![work(range, state, pace.clone()).await?]);
    }
    let results = all_at_once(items, &work);
    pace.spend(UNIT).await?;
    results.into_iter().collect()
}

fn finished<S, T, F: Future<Output = Result<T, Stopped>> + Send>(
    (range, state): (Range<u32>, S),
    work: impl Fn(Range<u32>, S, Pace) -> F,
) -> Result<T, Stopped> {
    Task::new(|pace| work(range, state, pace)).finish()
}

#[cfg(not(target_arch = "wasm32"))]
fn all_at_once<S: Send, T: Send, F: Future<Output = Result<T, Stopped>> + Send>(
    items: Vec<(Range<u32>, S)>,
    work: &(impl Fn(Range<u32>, S, Pace) -> F + Sync),
) -> Vec<Result<T, Stopped>> {
    use rayon::prelude::*;
    items.into_par_iter().map(|item| finished(item, work)).collect()
}

#[cfg(target_arch = "wasm32")]
fn all_at_once<S, T, F: Future<Output = Result<T, Stopped>> + Send>(
    items: Vec<(Range<u32>, S)>,
    work: &impl Fn(Range<u32>, S, Pace) -> F,
) -> Vec<Result<T, Stopped>> {
    items.into_iter().map(|item| finished(item, work)).collect()
}

/// Rows or instances below `count` in runs, between which work may rest.
pub fn runs(count: u32) -> impl Iterator<Item = Range<u32>> {
    (0..count).step_by(RUN as usize).map(move |start| start..start.saturating_add(RUN).min(count))
}

/// Pieces behind each other, with a number added to all of a piece's elements; threads copy what is in several.
pub fn joined(mut pieces: Vec<(Vec<u32>, u32)>) -> Vec<u32> {
    pieces.retain(|(piece, _)| !piece.is_empty());
    if let [(piece, 0)] = &mut pieces[..] {
        return std::mem::take(piece);
    }
    let mut all = vec![0; pieces.iter().map(|(piece, _)| piece.len()).sum()];
    let mut rest = &mut all[..];
    let part = |(piece, add): (Vec<u32>, u32)| (rest.split_off_mut(..piece.len()).expect("there is room for all"), piece, add);
    let parts: Vec<_> = pieces.into_iter().map(part).collect();
    let copy = |_: &mut (), (to, from, add): (&mut [u32], Vec<u32>, u32)| to.iter_mut().zip(from).for_each(|(to, from)| *to = from + add);
    at_once(parts, &|| (), &copy);
    all
}

/// The parts of a slice that belong to ranges of rows, which follow each other; `start` gives the first element of each.
pub fn parts<'a, T>(mut all: &'a mut [T], ranges: &[Range<u32>], start: impl Fn(u32) -> u32) -> Vec<&'a mut [T]> {
    let part = |range: &Range<u32>| {
        let len = start(range.end) - start(range.start);
        all.split_off_mut(..len as usize).expect("the slice has all rows")
    };
    ranges.iter().map(part).collect()
}

#[cfg(not(target_arch = "wasm32"))]
fn threads() -> usize {
    rayon::current_num_threads()
}

#[cfg(target_arch = "wasm32")]
fn threads() -> usize {
    1
}

#[cfg(not(target_arch = "wasm32"))]
fn at_once<I: Send, S, T: Send>(
    items: Vec<I>,
    state: &(impl Fn() -> S + Sync + Send),
    work: &(impl Fn(&mut S, I) -> T + Sync + Send),
) -> Vec<T> {
    use rayon::prelude::*;
    if items.len() < 2 || threads() == 1 {
        let mut state = state();
        return items.into_iter().map(|item| work(&mut state, item)).collect();
    }
    items.into_par_iter().map_init(state, work).collect()
}

#[cfg(target_arch = "wasm32")]
fn at_once<I: Send, S, T: Send>(
    items: Vec<I>,
    state: &(impl Fn() -> S + Sync + Send),
    work: &(impl Fn(&mut S, I) -> T + Sync + Send),
) -> Vec<T> {
    let mut state = state();
    items.into_iter().map(|item| work(&mut state, item)).collect()
}

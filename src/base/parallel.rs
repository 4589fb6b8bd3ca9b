//! Work on the host that threads may share, in time slices. Every item has a result of its own, so results do not depend on threads.
//!
//! [`map`] has many items of work that can't be interrupted. [`ranges`] has one item for each thread, of work that goes over all of its
//! input and keeps what is in its range: sorting by counting, of which only results are divided.

use crate::task::{Pace, Stopped, Task, UNIT};
use std::future::Future;
use std::ops::Range;
use std::sync::Mutex;

/// Operations that are not worth sharing among threads.
const SMALL: usize = UNIT;

/// Operations from which on work is not done in one go: some 60 ms of one thread.
const LARGE: usize = 64 * UNIT;

/// Values of which copies are worth sharing.
#[cfg(not(target_arch = "wasm32"))]
const MANY: usize = 1 << 17;

/// Values of which a thread looks at all before it looks at others.
#[cfg(not(target_arch = "wasm32"))]
const PIECE: usize = 1 << 14;

/// Values that a thread converts at a time.
#[cfg(not(target_arch = "wasm32"))]
const STRETCH: usize = 1 << 16;

/// The results of all items, in their order. `operations` says how many an item takes; there are as many states as threads at most.
pub async fn map<I: Send, S: Send, T: Send>(
    items: Vec<I>,
    operations: impl Fn(&I) -> usize,
    state: impl Fn() -> S + Sync + Send,
    work: impl Fn(&mut S, I) -> T + Sync + Send,
    pace: &Pace,
) -> Result<Vec<T>, Stopped> {
    let idle = Mutex::new(Vec::new());
    let taken = || idle.lock().ok()?.pop();
    let with_state = |item| {
        let mut mine = taken().unwrap_or_else(&state);
        let result = work(&mut mine, item);
        if let Ok(mut idle) = idle.lock() {
            idle.push(mine);
        }
        result
    };
    let most = threads() * UNIT;
    let mut results = Vec::with_capacity(items.len());
    let (mut together, mut spent) = (Vec::new(), 0);
    for item in items {
        spent += operations(&item);
        together.push(item);
        if spent >= most {
            results.extend(at_once(std::mem::take(&mut together), &with_state));
            pace.spend(std::mem::take(&mut spent) / threads()).await?;
        }
    }
    results.extend(at_once(together, &with_state));
    Ok(results)
}

/// Numbers below `count` in ranges for [`ranges`], which take so many operations together: one range, or one for each thread. Callers
/// join what ranges make, so that no result depends on how many there are.
pub fn shares(count: u32, operations: usize) -> Vec<Range<u32>> {
    few_shares(count, operations, usize::MAX)
}

/// The same, of so many ranges at most.
pub fn few_shares(count: u32, operations: usize, most: usize) -> Vec<Range<u32>> {
    let shares = if operations < SMALL { 1 } else { threads().min(count as usize).min(most).max(1) } as u64;
    let end = |share: u64| (u64::from(count) * share / shares) as u32;
    (0..shares).map(|share| end(share)..end(share + 1)).collect()
}

/// The results of ranges with what belongs to them. A single range yields when its time slice is over; several are done in one go, and
/// not stopped in between.
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
    let results = at_once(items, &|(range, state)| Task::new(|pace| work(range, state, pace)).finish());
    pace.spend(UNIT).await?;
    results.into_iter().collect()
}

/// True if works that take so many operations together are worth threads, and few enough that they may be done in one go. Larger ones share
/// their own ranges among threads, and rest between them.
pub fn fits_at_once(operations: usize) -> bool {
    threads() > 1 && (SMALL..LARGE).contains(&operations)
}

/// The results of a few works, none of which needs another one, in the order of what each is given: at the same time where they
/// [fit](fits_at_once), else one after the other.
///
/// # Errors
/// [`Stopped`] where the work is to end.
pub async fn together<I: Send, T: Send, F: Future<Output = Result<T, Stopped>> + Send>(
    items: Vec<I>,
    operations: usize,
    work: impl Fn(I, Pace) -> F + Sync + Send,
    pace: &Pace,
) -> Result<Vec<T>, Stopped> {
    if items.len() > 1 && fits_at_once(operations) {
        let results = at_once(items, &|item| Task::new(|pace| work(item, pace)).finish());
        pace.spend(UNIT).await?;
        return results.into_iter().collect();
    }
    let mut results = Vec::with_capacity(items.len());
    for item in items {
        results.push(work(item, pace.clone()).await?);
    }
    Ok(results)
}

/// The results of two works, neither of which needs the other: at the same time and in one go, if there is more than one thread.
///
/// # Errors
/// [`Stopped`] where the work is to end.
pub async fn both<A: Send, B: Send, F: Future<Output = Result<A, Stopped>> + Send, G: Future<Output = Result<B, Stopped>> + Send>(
    first: impl FnOnce(Pace) -> F + Send,
    second: impl FnOnce(Pace) -> G + Send,
    pace: &Pace,
) -> Result<(A, B), Stopped> {
    #[cfg(not(target_arch = "wasm32"))]
    if threads() > 1 {
        let (first, second) = rayon::join(|| Task::new(first).finish(), || Task::new(second).finish());
        pace.spend(UNIT).await?;
        return Ok((first?, second?));
    }
    Ok((first(pace.clone()).await?, second(pace.clone()).await?))
}

/// Does all items, in no order, without a look at the clock: for parts of an item of [`map`] that is worth all threads.
#[cfg(not(target_arch = "wasm32"))]
pub fn each<I: Send>(items: Vec<I>, work: &(impl Fn(I) + Sync + Send)) {
    at_once(items, work);
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
    at_once(parts, &|(to, from, add): (&mut [u32], Vec<u32>, u32)| to.iter_mut().zip(from).for_each(|(to, from)| *to = from + add));
    all
}

/// Appends a value for each number of a range; threads share many.
pub fn extend<T: Send>(values: &mut Vec<T>, numbers: Range<u32>, value: impl Fn(u32) -> T + Sync + Send) {
    #[cfg(not(target_arch = "wasm32"))]
    if numbers.len() >= MANY && threads() > 1 {
        use rayon::prelude::*;
        values.par_extend(numbers.into_par_iter().map(value));
        return;
    }
    values.extend(numbers.map(value));
}

/// A copy; threads share that of many.
pub fn copy<T: Copy + Send + Sync>(values: &[T]) -> Vec<T> {
    #[cfg(not(target_arch = "wasm32"))]
    if values.len() >= MANY && threads() > 1 {
        use rayon::prelude::*;
        return values.par_iter().copied().collect();
    }
    values.to_vec()
}

/// Values that are made of others, one of each; threads share many.
pub fn converted<T: Sync, U: Copy + Default + Send>(values: &[T], to: impl Fn(&T) -> U + Sync + Send) -> Vec<U> {
    #[cfg(not(target_arch = "wasm32"))]
    if values.len() >= MANY && threads() > 1 {
        use rayon::prelude::*;
        let mut all = vec![U::default(); values.len()];
        let convert = |(all, values): (&mut [U], &[T])| all.iter_mut().zip(values).for_each(|(made, value)| *made = to(value));
        all.par_chunks_mut(STRETCH).zip(values.par_chunks(STRETCH)).for_each(convert);
        return all;
    }
    values.iter().map(to).collect()
}

/// Place of the first value for which something holds; threads share many.
pub fn position<T: Sync>(values: &[T], is: impl Fn(&T) -> bool + Sync + Send) -> Option<usize> {
    #[cfg(not(target_arch = "wasm32"))]
    if values.len() >= MANY && threads() > 1 {
        use rayon::prelude::*;
        // A loop over all of a piece has vector instructions, and rayon's own search looks at what others have found after every value.
        let first = |(number, piece): (usize, &[T])| {
            let is_here = piece.iter().fold(false, |found, value| found | is(value));
            is_here.then(|| piece.iter().position(&is).map(|place| number * PIECE + place))?
        };
        return values.par_chunks(PIECE).enumerate().find_map_first(first);
    }
    values.iter().position(is)
}

/// The parts of a slice that belong to ranges of rows, which follow each other; `start` gives the first element of each.
pub fn parts<'a, T>(mut all: &'a mut [T], ranges: &[Range<u32>], start: impl Fn(u32) -> u32) -> Vec<&'a mut [T]> {
    let part = |range: &Range<u32>| {
        let len = start(range.end) - start(range.start);
        all.split_off_mut(..len as usize).expect("the slice has all rows")
    };
    ranges.iter().map(part).collect()
}

/// Number of threads.
#[cfg(not(target_arch = "wasm32"))]
pub fn threads() -> usize {
    rayon::current_num_threads()
}

/// Number of threads.
#[cfg(target_arch = "wasm32")]
pub fn threads() -> usize {
    1
}

#[cfg(not(target_arch = "wasm32"))]
fn at_once<I: Send, T: Send>(items: Vec<I>, work: &(impl Fn(I) -> T + Sync + Send)) -> Vec<T> {
    use rayon::prelude::*;
    if items.len() < 2 || threads() == 1 {
        return items.into_iter().map(work).collect();
    }
    items.into_par_iter().map(work).collect()
}

#[cfg(target_arch = "wasm32")]
fn at_once<I: Send, T: Send>(items: Vec<I>, work: &(impl Fn(I) -> T + Sync + Send)) -> Vec<T> {
    items.into_iter().map(work).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_joined_in_their_order() {
        assert_eq!(joined(vec![(vec![], 5), (vec![1, 2], 0), (vec![], 1)]), [1, 2]);
        assert_eq!(joined(vec![(vec![1, 2], 10), (vec![], 3), (vec![3], 100), (vec![4, 5], 0)]), [11, 12, 103, 4, 5]);
        assert_eq!(joined(Vec::new()), []);
    }

    #[test]
    fn works_have_the_results_of_one_after_the_other() {
        let work = |item: u32, pace: Pace| async move {
            pace.spend(item as usize).await?;
            if item == 13 { Err(Stopped) } else { Ok(2 * item) }
        };
        for operations in [0, SMALL, usize::MAX] {
            let made = |items: Vec<u32>| Task::new(|pace| async move { together(items, operations, work, &pace).await }).finish();
            assert_eq!(made(vec![5, 3, 9]), Ok(vec![10, 6, 18]));
            assert_eq!(made(vec![5, 13, 9]), Err(Stopped));
            assert_eq!(made(Vec::new()), Ok(Vec::new()));
        }
    }

    #[test]
    fn two_works_have_the_results_of_one_after_the_other() {
        let sum = |to: u32| {
            move |pace: Pace| async move {
                pace.spend(to as usize).await?;
                Ok((0..to).map(u64::from).sum::<u64>())
            }
        };
        let made = Task::new(|pace| async move { both(sum(10), sum(100), &pace).await }).finish();
        assert_eq!(made, Ok((45, 4950)));
        let stopped = |_: Pace| async { Err::<u64, _>(Stopped) };
        let made = Task::new(|pace| async move { both(sum(10), stopped, &pace).await }).finish();
        assert_eq!(made, Err(Stopped));
    }

    #[test]
    fn shares_are_all_numbers_once() {
        for (count, operations) in [(0, 0), (7, 0), (1, usize::MAX), (1000, usize::MAX), (u32::MAX, usize::MAX)] {
            let shares = shares(count, operations);
            assert_eq!((shares[0].start, shares[shares.len() - 1].end), (0, count));
            assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert!(operations > 0 || shares.len() == 1);
        }
    }

    #[test]
    fn many_values_are_those_of_one_thread() {
        for count in [0u32, 5, 300_000] {
            let mut values = vec![7];
            extend(&mut values, 3..3 + count, |number| number * 2);
            assert_eq!(copy(&values), values);
            let halves = converted(&values, |value| f64::from(*value) / 2.0);
            assert!(halves.len() == values.len() && halves.iter().zip(&values).all(|(half, value)| 2.0 * half == f64::from(*value)));
            assert!(values[0] == 7 && values[1..].iter().copied().eq((3..3 + count).map(|number| number * 2)), "{count}");
            assert_eq!(position(&values, |value| *value % 2 == 0 && *value > 8), if count > 2 { Some(3) } else { None });
            assert_eq!(position(&values, |value| *value == 1), None);
            let last = values.len() - 1;
            assert_eq!(position(&values, |value| *value == values[last]), Some(last));
        }
        let few = few_shares(100, usize::MAX, 1);
        assert!(few.len() == 1 && few[0] == (0..100));
    }

    #[test]
    fn results_come_in_the_order_of_items() {
        let items: Vec<u32> = (0..1000).collect();
        let doubled = Task::new(|pace| async move { map(items, |_| UNIT / 4, || 2, |two, item| *two * item, &pace).await }).finish();
        assert_eq!(doubled.unwrap(), (0..1000).map(|item| 2 * item).collect::<Vec<u32>>());
        let items = vec![(0..3, 'a'), (3..3, 'b'), (3..9, 'c')];
        let work = |pace| async move { ranges(items, |range, state, _| async move { Ok((range.len(), state)) }, &pace).await };
        assert_eq!(Task::new(work).finish().unwrap(), [(3, 'a'), (0, 'b'), (6, 'c')]);
    }
}

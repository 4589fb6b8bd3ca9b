//! Sorting by counting, which threads share. It is stable, so results do not depend on the number of threads.
//!
//! Items come in runs. Each thread divides the items of its runs among ranges of keys; then each thread sorts the items of a range. So every
//! item is looked at a constant number of times, and there are as many counters as keys, besides one for each pair of threads. Two threads
//! look at all items instead, and keep those of a range, which takes less.

#[cfg(not(target_arch = "wasm32"))]
use crate::parallel;
use crate::task::{Pace, Stopped};
use std::ops::Range;

/// Operations that an item takes.
const EACH: usize = 8;

/// Keys of which every thread may have counters of its own: those stay in its cache.
#[cfg(not(target_arch = "wasm32"))]
const FEW: u32 = 1 << 13;

/// Items with keys, in runs that are not interrupted.
pub trait Runs: Sync {
    /// Copied to where it belongs.
    type Item: Copy + Default + Send + Sync;

    /// Number of runs.
    fn count(&self) -> u32;

    /// Items of a run at most.
    fn len(&self, run: u32) -> usize;

    /// Visits the items of a run with their keys, in the same order every time.
    fn visit(&self, run: u32, visit: impl FnMut(u32, Self::Item));
}

/// Items of a range of keys, ascending by key; items of one key are in the order of runs.
pub struct Sorted<T> {
    /// The keys.
    pub keys: Range<u32>,
    /// For every key, the end of its items among these.
    pub ends: Vec<u32>,
    /// Items of all keys.
    pub items: Vec<T>,
}

impl<T> Sorted<T> {
    /// Items of a key, if it is one of these.
    pub fn of(&self, key: u32) -> Option<&[T]> {
        let place = key.checked_sub(self.keys.start)? as usize;
        let end = *self.ends.get(place)?;
        let first = if place == 0 { 0 } else { self.ends[place - 1] };
        Some(&self.items[first as usize..end as usize])
    }
}

/// Items of all runs, with keys below `keys`, in ranges of keys that follow each other.
///
/// # Errors
/// [`Stopped`] where the work is to end.
pub async fn sort<R: Runs>(runs: &R, keys: u32, pace: &Pace) -> Result<Vec<Sorted<R::Item>>, Stopped> {
    #[cfg(not(target_arch = "wasm32"))]
    {
        let operations = operations(runs);
        let ranges = parallel::shares(keys, operations);
        if ranges.len() == 2 {
            let items = ranges.into_iter().map(|keys| (keys, ())).collect();
            let work = |keys: Range<u32>, (), pace| async move {
                let within = divided::Within { runs, keys: keys.clone() };
                sort_runs(&within, 0..runs.count(), keys, &pace).await
            };
            return parallel::ranges(items, work, pace).await;
        }
        if ranges.len() > 1 {
            let pieces = divided::divide(runs, divided::Ranges::new(keys, ranges.len() as u32), operations, pace).await?;
            let work =
                |keys, pieces: divided::Pieces<R::Item>, pace| async move { sort_runs(&pieces, 0..pieces.count(), keys, &pace).await };
            return parallel::ranges(pieces, work, pace).await;
        }
    }
    Ok(vec![sort_runs(runs, 0..runs.count(), 0..keys, pace).await?])
}

/// The same in parts that may share keys: few keys are sorted by each thread for its own runs, so that one with many items is not the
/// work of a single thread. Of each key, items of earlier parts come first.
///
/// # Errors
/// [`Stopped`] where the work is to end.
pub async fn sort_parts<R: Runs>(runs: &R, keys: u32, pace: &Pace) -> Result<Vec<Sorted<R::Item>>, Stopped> {
    #[cfg(not(target_arch = "wasm32"))]
    if keys <= FEW {
        let shares = parallel::shares(runs.count(), operations(runs)).into_iter().map(|range| (range, ())).collect();
        return parallel::ranges(shares, |mine, (), pace| async move { sort_runs(runs, mine, 0..keys, &pace).await }, pace).await;
    }
    sort(runs, keys, pace).await
}

/// Operations that all items take.
#[cfg(not(target_arch = "wasm32"))]
fn operations(runs: &impl Runs) -> usize {
    EACH * (0..runs.count()).map(|run| runs.len(run)).sum::<usize>()
}

async fn sort_runs<R: Runs>(runs: &R, mine: Range<u32>, keys: Range<u32>, pace: &Pace) -> Result<Sorted<R::Item>, Stopped> {
    let mut ends = vec![0u32; keys.len()];
    for run in mine.clone() {
        pace.spend(EACH * runs.len(run)).await?;
        runs.visit(run, |key, _| ends[(key - keys.start) as usize] += 1);
    }
    // Beginnings, which become ends.
    let mut total = 0;
    for end in &mut ends {
        (*end, total) = (total, total + *end);
    }
    let mut items = vec![R::Item::default(); total as usize];
    for run in mine {
        pace.spend(EACH * runs.len(run)).await?;
        runs.visit(run, |key, item| {
            let end = &mut ends[(key - keys.start) as usize];
            items[*end as usize] = item;
            *end += 1;
        });
    }
    Ok(Sorted { keys, ends, items })
}

/// Division of items among ranges of keys, which only several threads need.
#[cfg(not(target_arch = "wasm32"))]
mod divided {
    use super::*;

    /// Binary digits behind the point of [`Ranges::factor`].
    const DIGITS: u32 = 48;

    /// Keys in ranges of about one length. A key's range is found by a multiplication.
    pub struct Ranges {
        keys: u32,
        count: u32,
        factor: u64,
    }

    impl Ranges {
        /// So many ranges, at least one and at most as many as keys, of fewer than 2¹⁶.
        pub fn new(keys: u32, count: u32) -> Self {
            let count = count.min(u32::from(u16::MAX));
            Self { keys, count, factor: (u64::from(count) << DIGITS) / u64::from(keys) }
        }

        /// Number of a key's range.
        pub fn of(&self, key: u32) -> usize {
            ((u64::from(key) * self.factor) >> DIGITS) as usize
        }

        /// All ranges.
        pub fn all(&self) -> impl Iterator<Item = Range<u32>> {
            let first = |range: u32| (u64::from(range) << DIGITS).div_ceil(self.factor) as u32;
            (0..self.count).map(move |range| first(range)..if range + 1 < self.count { first(range + 1) } else { self.keys })
        }
    }

    /// Items of a range of keys, among all.
    pub struct Within<'a, R> {
        pub runs: &'a R,
        pub keys: Range<u32>,
    }

    impl<R: Runs> Runs for Within<'_, R> {
        type Item = R::Item;

        fn count(&self) -> u32 {
            self.runs.count()
        }

        fn len(&self, run: u32) -> usize {
            self.runs.len(run)
        }

        fn visit(&self, run: u32, mut visit: impl FnMut(u32, R::Item)) {
            self.runs.visit(run, |key, item| {
                if self.keys.contains(&key) {
                    visit(key, item);
                }
            });
        }
    }

    /// Items of a range of keys: a piece for each thread that found some, in the order of runs.
    pub struct Pieces<T>(Vec<Vec<(u32, T)>>);

    impl<T: Copy + Default + Send + Sync> Runs for Pieces<T> {
        type Item = T;

        fn count(&self) -> u32 {
            self.0.len() as u32
        }

        fn len(&self, run: u32) -> usize {
            self.0[run as usize].len()
        }

        fn visit(&self, run: u32, mut visit: impl FnMut(u32, T)) {
            self.0[run as usize].iter().for_each(|&(key, item)| visit(key, item));
        }
    }

    /// The items of every range, which take so many operations together.
    pub async fn divide<R: Runs>(
        runs: &R,
        ranges: Ranges,
        operations: usize,
        pace: &Pace,
    ) -> Result<Vec<(Range<u32>, Pieces<R::Item>)>, Stopped> {
        let shares = parallel::shares(runs.count(), operations).into_iter().map(|range| (range, ())).collect();
        let ranges = &ranges;
        let found = parallel::ranges(
            shares,
            |mine, (), _| async move {
                let mut lens = vec![0; ranges.count as usize];
                mine.clone().for_each(|run| runs.visit(run, |key, _| lens[ranges.of(key)] += 1));
                let mut pieces: Vec<Vec<_>> = lens.into_iter().map(Vec::with_capacity).collect();
                mine.for_each(|run| runs.visit(run, |key, item| pieces[ranges.of(key)].push((key, item))));
                Ok(pieces)
            },
            pace,
        );
        let mut found: Vec<_> = found.await?.into_iter().map(Vec::into_iter).collect();
        Ok(ranges.all().map(|keys| (keys, Pieces(found.iter_mut().filter_map(Iterator::next).collect()))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use crate::task::Task;

    /// Items numbered in order, in runs of several lengths.
    struct Numbered {
        keys: Vec<u32>,
        ends: Vec<usize>,
    }

    impl Runs for Numbered {
        type Item = u32;

        fn count(&self) -> u32 {
            self.ends.len() as u32
        }

        fn len(&self, run: u32) -> usize {
            let first = if run == 0 { 0 } else { self.ends[run as usize - 1] };
            self.ends[run as usize] - first
        }

        fn visit(&self, run: u32, mut visit: impl FnMut(u32, u32)) {
            let end = self.ends[run as usize];
            (end - self.len(run)..end).for_each(|item| visit(self.keys[item], item as u32));
        }
    }

    /// So many items, with random keys below `keys`.
    fn numbered(count: usize, keys: u32) -> Numbered {
        let mut random = SplitMix64(7);
        let keys = (0..count).map(|_| (random.next_u64() % u64::from(keys)) as u32).collect();
        let mut ends: Vec<usize> = (0..20).map(|_| (random.unit() * count as f64) as usize).chain([count]).collect();
        ends.sort_unstable();
        Numbered { keys, ends }
    }

    fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(work)
    }

    /// Items behind each other, of each key those of all parts.
    fn by_keys(parts: &[Sorted<u32>], keys: u32) -> Vec<u32> {
        (0..keys).flat_map(|key| parts.iter().filter_map(move |part| part.of(key))).flatten().copied().collect()
    }

    #[test]
    fn items_of_a_key_stay_in_order_for_every_number_of_threads() {
        for (count, keys) in [(0, 1), (9, 4), (600_000, 1), (600_000, 3), (600_000, 1000), (600_000, 1_000_000)] {
            let runs = &numbered(count, keys);
            let mut expected: Vec<u32> = (0..count as u32).collect();
            expected.sort_by_key(|item| runs.keys[*item as usize]);
            for threads in [1, 2, 5, 16] {
                let ranges = with_threads(threads, || Task::new(|pace| async move { sort(runs, keys, &pace).await }).finish()).unwrap();
                assert!(ranges.iter().flat_map(|range| &range.items).eq(&expected), "{count} {keys} {threads}");
                assert!(by_keys(&ranges, keys) == expected, "{count} {keys} {threads}");
                assert!(ranges[0].keys.start == 0 && ranges[ranges.len() - 1].keys.end == keys);
                assert!(ranges.windows(2).all(|pair| pair[0].keys.end == pair[1].keys.start));
                let parts =
                    with_threads(threads, || Task::new(|pace| async move { sort_parts(runs, keys, &pace).await }).finish()).unwrap();
                assert!(by_keys(&parts, keys) == expected, "{count} {keys} {threads}");
            }
        }
    }

    #[test]
    fn every_key_is_in_its_range() {
        for (keys, count) in [(2, 2), (61, 61), (62, 61), (1000, 7), (65_536, 3), (u32::MAX, 61), (u32::MAX, 65_535)] {
            let ranges = divided::Ranges::new(keys, count);
            let all: Vec<Range<u32>> = ranges.all().collect();
            assert!(all.len() == count as usize && all[0].start == 0 && all[all.len() - 1].end == keys);
            assert!(all.windows(2).all(|pair| pair[0].end == pair[1].start));
            for (number, range) in all.iter().enumerate().filter(|(_, range)| !range.is_empty()) {
                assert_eq!([ranges.of(range.start), ranges.of(range.end - 1)], [number; 2], "{keys} {count}");
            }
        }
    }
}

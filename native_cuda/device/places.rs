//! Places of what ranks exchange: which elements of buffers a message has, and what becomes of those that come.

use cudarc::driver::{DriverError, result, sys};
use leastwise_recording::{ABSENT, Collective, Exchange, Fold};
use std::ops::Range;
use std::sync::Arc;

/// Folds of the kernel that takes a message (`shaders/cuda/ranks.cu`).
const SUM: u32 = 0;
const LARGEST: u32 = 1;
const EXACT: u32 = 2;
const LOW: u32 = 3;

/// Elements of an exchange.
pub struct Plan {
    pub collective: Arc<Collective>,
    pub layout: Layout,
    pub len: u32,
    /// Elements of each message: a sum and its low part are never apart.
    pub pieces: Vec<Range<u32>>,
    /// Recorded behind its last exchange in the background, which had this number.
    pub over: sys::CUevent,
    pub number: u64,
}

/// Places of an exchange's elements.
#[derive(Clone, Copy)]
pub enum Layout {
    /// Sums of elements that follow each other, from this address on.
    Row(sys::CUdeviceptr),
    /// Lists on the GPU: addresses that are given, addresses that are written, and folds, one behind the other.
    Listed(sys::CUdeviceptr),
}

impl Plan {
    /// Frees what it has, once all is over that the stream has before.
    ///
    /// # Safety
    /// No other stream uses it.
    pub unsafe fn free(&self, stream: sys::CUstream) -> Result<(), DriverError> {
        // SAFETY: lists came from this stream's pool, which keeps order; an event that is destroyed is recorded nevertheless.
        unsafe {
            if let Layout::Listed(memory) = self.layout {
                result::free_async(memory, stream)?;
            }
            result::event::destroy(self.over)
        }
    }
}

/// First element and number of those of an exchange that is the sum of elements in a row.
pub fn in_a_row(parts: &[Exchange]) -> Option<(u32, u32)> {
    match parts {
        [Exchange::Partials { first, folds: [Fold::Sum], count, each, .. }] if count == each => Some((*first, *each)),
        _ => None,
    }
}

/// Where an exchange's elements are given from and written to, by addresses of buffers; and how they are combined.
#[derive(Default)]
pub struct Places {
    pub give: Vec<u64>,
    pub take: Vec<u64>,
    pub folds: Vec<u32>,
}

impl Places {
    /// Adds a part whose buffer begins at `base`, with reals of so many bytes.
    pub fn add(&mut self, part: &Exchange, base: u64, bytes: u64) {
        let at = |place: u32| base + u64::from(place) * bytes;
        match part {
            Exchange::Elements { places, .. } => {
                let places = places.iter().map(|&place| if place == ABSENT { 0 } else { at(place) });
                self.give.extend(places.clone());
                self.take.extend(places);
                self.folds.resize(self.give.len(), SUM);
            }
            Exchange::Partials { first, distance, folds, count, each, .. } => {
                let mut kind = *first;
                for fold in *folds {
                    for place in 0..*each {
                        let mut element = |first: u32, fold: u32| {
                            self.give.push(if place < *count { at(first + place) } else { 0 });
                            self.take.push(at(first + place));
                            self.folds.push(fold);
                        };
                        match fold {
                            Fold::Sum => element(kind, SUM),
                            Fold::Largest => element(kind, LARGEST),
                            Fold::Exact => {
                                element(kind, EXACT);
                                element(kind + distance, LOW);
                            }
                        }
                    }
                    kind += fold.kinds() * distance;
                }
            }
        }
    }

    /// Messages of at most so many elements.
    pub fn pieces(&self, most: usize) -> Vec<Range<u32>> {
        let (mut pieces, mut begin) = (Vec::new(), 0);
        while begin < self.folds.len() {
            let mut end = self.folds.len().min(begin + most);
            if self.folds[end - 1] == EXACT {
                end -= 1;
            }
            pieces.push(begin as u32..end as u32);
            begin = end;
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leastwise_recording::{BufferId, Slice};

    const BUFFER: BufferId = BufferId(0);

    #[test]
    fn elements_lie_where_the_buffer_has_them() {
        let mut places = Places::default();
        places.add(&Exchange::Elements { buffer: BUFFER, places: Arc::new(vec![2, ABSENT, 0]) }, 1000, 8);
        const FOLDS: &[Fold] = &[Fold::Sum, Fold::Exact, Fold::Largest];
        places.add(&Exchange::Partials { buffer: BUFFER, first: 10, distance: 4, folds: FOLDS, count: 1, each: 2 }, 1000, 8);
        let at = |place: u64| 1000 + 8 * place;
        assert_eq!(places.give, [at(2), 0, at(0), at(10), 0, at(14), at(18), 0, 0, at(22), 0]);
        assert_eq!(places.take, [at(2), 0, at(0), at(10), at(11), at(14), at(18), at(15), at(19), at(22), at(23)]);
        assert_eq!(places.folds, [SUM, SUM, SUM, SUM, SUM, EXACT, LOW, EXACT, LOW, LARGEST, LARGEST]);
        assert_eq!(places.pieces(100), std::slice::from_ref(&(0..11)));
        // The sixth element's low part is the seventh: both come with the next message.
        assert_eq!(places.pieces(6), [0..5, 5..11]);
        assert_eq!(Places::default().pieces(6), []);
    }

    #[test]
    fn sums_of_all_elements_in_a_row_need_no_lists() {
        let partials = |folds, count| Exchange::Partials { buffer: BUFFER, first: 10, distance: 4, folds, count, each: 2 };
        let total = Exchange::total(Slice { buffer: BUFFER, offset: 7, len: 5 });
        assert_eq!(in_a_row(std::slice::from_ref(&total)), Some((7, 5)));
        assert_eq!(in_a_row(&[partials(&[Fold::Sum], 2)]), Some((10, 2)));
        // A rank with less gives zeros for the rest; others have kinds that lie apart, or folds that need more.
        let others =
            [partials(&[Fold::Sum], 1), partials(&[Fold::Sum, Fold::Sum], 2), partials(&[Fold::Exact], 2), partials(&[Fold::Largest], 2)];
        for other in others {
            assert_eq!(in_a_row(&[other]), None);
        }
        let elements = Exchange::Elements { buffer: BUFFER, places: Arc::new(vec![0, 1]) };
        assert_eq!([in_a_row(&[elements]), in_a_row(&[total.clone(), total]), in_a_row(&[])], [None; 3]);
    }
}

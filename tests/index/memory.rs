//! Memory as these tests see it: how much a thread takes, and how it is when there is little.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counted;

#[global_allocator]
static MEMORY: Counted = Counted;

thread_local! {
    /// What one allocation may take.
    static MOST: Cell<usize> = const { Cell::new(usize::MAX) };
    /// Taken and not given back, and the most that ever was.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    /// Taken in all, in bytes and in allocations.
    static TAKEN: Cell<usize> = const { Cell::new(0) };
    static TIMES: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: all memory is the system's; what is refused is refused as it may.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > MOST.get() {
            return std::ptr::null_mut();
        }
        count(layout.size() as isize);
        // SAFETY: the caller's layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's place and layout.
        unsafe { System.dealloc(place, layout) }
    }
}

fn count(bytes: isize) {
    LIVE.set(LIVE.get() + bytes);
    PEAK.set(PEAK.get().max(LIVE.get()));
    TAKEN.set(TAKEN.get() + bytes.max(0) as usize);
    TIMES.set(TIMES.get() + u64::from(bytes > 0));
}

/// How often this thread took memory so far.
pub fn times() -> u64 {
    TIMES.get()
}

/// Does something while no allocation of this thread may take more than so many bytes.
pub fn scarcely<T>(most: usize, work: impl FnOnce() -> T) -> T {
    MOST.set(most);
    let result = work();
    MOST.set(usize::MAX);
    result
}

/// What this thread has, taken and not given back.
pub fn live() -> isize {
    LIVE.get()
}

/// The most that this thread had at once meanwhile, beyond what it had before.
pub fn peak(work: impl FnOnce()) -> usize {
    let before = LIVE.get();
    PEAK.set(before);
    work();
    (PEAK.get() - before) as usize
}

/// What this thread took meanwhile.
pub fn taken(work: impl FnOnce()) -> usize {
    let before = TAKEN.get();
    work();
    TAKEN.get() - before
}

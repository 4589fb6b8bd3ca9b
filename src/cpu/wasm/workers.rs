//! Modules on the engine's other threads, each of which has a table of functions of its own.
//!
//! The engine's thread publishes the bytes of a module that has a place in its table. A thread looks between jobs for what has
//! changed, has JavaScript compile it for the same place in its own table, and comes back; until then it runs the
//! interpreter, to the same bits, and the others take the parts that it is too late for.

use crate::block::forget_tile;
use crate::pool;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// What is at a place as of a change: a module's bytes, or nothing any more.
struct Entry {
    change: u32,
    bytes: Option<Arc<[u8]>>,
    /// The place of the function that it imports.
    apply: u32,
}

static PLACES: Mutex<BTreeMap<u32, Entry>> = Mutex::new(BTreeMap::new());

/// Changes so far; the last one's entry is there.
static CHANGES: AtomicU32 = AtomicU32::new(0);

/// Parts that threads other than the engine's ran by modules.
static PARTS: AtomicU32 = AtomicU32::new(0);

/// Nobody sleeps for it: a page's own thread may not, and it is held for moments only.
fn places() -> MutexGuard<'static, BTreeMap<u32, Entry>> {
    loop {
        match PLACES.try_lock() {
            Ok(places) => return places,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
        }
    }
}

fn change(place: u32, bytes: Option<Arc<[u8]>>, apply: u32) -> u32 {
    let mut places = places();
    let change = CHANGES.load(SeqCst) + 1;
    places.insert(place, Entry { change, bytes, apply });
    CHANGES.store(change, SeqCst);
    change
}

/// A module that other threads may have at the same place, as long as this is there.
pub struct Published {
    place: u32,
    change: u32,
}

/// Tells the other threads of a module, and of the place in the table of the function that it imports. For the engine's thread,
/// between its jobs.
pub fn publish(place: u32, bytes: Vec<u8>, apply: u32) -> Published {
    let change = change(place, Some(bytes.into()), apply);
    pool::tell();
    Published { place, change }
}

impl Published {
    /// Whether the calling thread's table has it.
    pub fn is_here(&self) -> bool {
        if !pool::is_worker() {
            return true;
        }
        let here = HERE.with_borrow(|here| here.changes.get(&self.place) == Some(&self.change));
        PARTS.fetch_add(u32::from(here), SeqCst);
        here
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        change(self.place, None, 0);
    }
}

/// A worker's table.
#[derive(Default)]
struct Here {
    /// The last change that it was told of.
    seen: u32,
    /// For each place that it has a function at, as of which change.
    changes: BTreeMap<u32, u32>,
    /// What JavaScript is to do, which is told as the place, where the module's bytes begin and how many they are, and the place of
    /// the function that it imports.
    due: Option<(u32, Entry)>,
    told: [u32; 4],
}

thread_local! {
    static HERE: RefCell<Here> = RefCell::default();
}

/// Whether there are changes that this thread was not told of.
fn is_behind() -> bool {
    HERE.with_borrow(|here| here.seen) != CHANGES.load(SeqCst)
}

/// The address of the place that is to be changed, of that of the module's bytes and of their number; no bytes where the place
/// is to be empty. 0 where nothing is to be changed.
fn next() -> u32 {
    HERE.with_borrow_mut(|here| {
        loop {
            let due = places()
                .iter()
                .filter(|(_, entry)| entry.change > here.seen)
                .min_by_key(|(_, entry)| entry.change)
                .map(|(place, entry)| (*place, Entry { change: entry.change, bytes: entry.bytes.clone(), apply: entry.apply }));
            let Some((place, entry)) = due else { return 0 };
            here.seen = entry.change;
            if entry.bytes.is_none() && here.changes.remove(&place).is_none() {
                continue;
            }
            let bytes: &[u8] = entry.bytes.as_deref().unwrap_or_default();
            here.told = [place, bytes.as_ptr() as u32, bytes.len() as u32, entry.apply];
            here.due = Some((place, entry));
            return here.told.as_ptr() as u32;
        }
    })
}

/// What JavaScript was told is done, or could not be.
pub fn placed(done: bool) {
    HERE.with_borrow_mut(|here| {
        let Some((place, entry)) = here.due.take() else { return };
        here.changes.remove(&place);
        if done && entry.bytes.is_some() {
            here.changes.insert(place, entry.change);
        }
    });
}

/// A thread's life. Gives 0 at its end; before that, what [`next`] says is to be put into its table. To be called again after
/// [`placed`].
///
/// It is compiled with the pool, for speed: a worker then makes no call through its table between jobs, so that one whose table is
/// broken fails within a job, where the engine's thread is told.
pub fn work(generation: u32) -> u32 {
    while pool::serve(generation, is_behind) {
        let told = next();
        if told != 0 {
            return told;
        }
    }
    leave();
    forget_tile();
    0
}

/// Gives back what this thread holds, which ends.
fn leave() {
    HERE.take();
}

/// Parts that threads other than the engine's ran by modules, as of a counter that begins anew after 2³².
pub fn parts() -> u32 {
    PARTS.load(SeqCst)
}

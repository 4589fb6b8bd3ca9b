//! Threads in a browser: workers that share the module's memory, and take parts of what the engine's thread has to do.
//!
//! Nothing is handed over by messages. A job lies in memory; its parts are taken by counting them off, the engine's thread
//! taking its share like any other, so that it loses nothing where a worker wakes late or never. Workers spin for a moment
//! after a job, since the next one is near, and then sleep. Only one thread gives jobs: the one that engines are called on.

use leastwise_base::clock::now_ms;
use std::arch::wasm32::{memory_atomic_notify, memory_atomic_wait32};
use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

/// A word of its own cache line: what one thread spins on, others do not write beside.
#[repr(align(64))]
struct Word(AtomicU32);

type Job<'a> = &'a (dyn Fn(usize) + Sync);

struct Pool {
    /// Odd while a job is open. Workers sleep on it.
    state: Word,
    /// Workers that are at the job, or looking whether there is one. The engine's thread may sleep on it.
    inside: Word,
    /// The part that is taken next.
    next: Word,
    /// Workers that sleep, or are about to.
    asleep: Word,
    /// Whether the engine's thread sleeps.
    engine_asleep: AtomicBool,
    /// Whether it may: a page's own may not.
    may_sleep: AtomicBool,
    /// Workers of another generation leave.
    generation: AtomicU32,
    /// Parts that workers did so far.
    helped: AtomicU32,
    failed: AtomicBool,
    job: UnsafeCell<Option<(Job<'static>, usize)>>,
}

// The job is written while it is closed and nobody is inside, and read inside alone.
unsafe impl Sync for Pool {}

static POOL: Pool = Pool {
    state: Word(AtomicU32::new(0)),
    inside: Word(AtomicU32::new(0)),
    next: Word(AtomicU32::new(0)),
    asleep: Word(AtomicU32::new(0)),
    engine_asleep: AtomicBool::new(false),
    may_sleep: AtomicBool::new(false),
    generation: AtomicU32::new(0),
    helped: AtomicU32::new(0),
    failed: AtomicBool::new(false),
    job: UnsafeCell::new(None),
};

/// Threads that the engine that is called now works on, its own among them.
static COUNT: AtomicU32 = AtomicU32::new(1);

/// Looks at the state before a worker sleeps: some 70 µs, more than lies between most dispatches of a solve.
const SPINS: u32 = 100_000;

/// Looks before the engine's thread sleeps, where it may, or else looks at the clock: longer than a part takes.
const ENGINE_SPINS: u32 = 70_000;

/// What a worker that was ended from outside is given, since it can't tell. No part takes a hundredth of it.
const PATIENCE_MS: f64 = 30_000.0;
const MOST_OF_A_LOOK_MS: f64 = 200.0;

thread_local! {
    /// Whether this thread is at a job: what it does there, it does alone.
    static BUSY: Cell<bool> = const { Cell::new(false) };
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is none that engines are called on.
pub fn is_worker() -> bool {
    IS_WORKER.get()
}

/// Threads for what is done next.
pub fn count() -> usize {
    if BUSY.get() { 1 } else { COUNT.load(SeqCst) as usize }
}

/// Those of the engine that is called now.
pub fn set_count(count: u32) {
    COUNT.store(count.max(1), SeqCst);
}

/// Does the parts `0 .. parts` of some work, each once, in no order; returns when all are done.
///
/// # Panics
/// When a worker failed.
pub fn run(parts: usize, work: Job) {
    if parts < 2 || count() == 1 {
        return (0..parts).for_each(work);
    }
    BUSY.set(true);
    let pool = &POOL;
    // It is not read after the end of this function.
    let job = unsafe { std::mem::transmute::<Job, Job<'static>>(work) };
    unsafe { *pool.job.get() = Some((job, parts)) };
    pool.next.0.store(0, SeqCst);
    let open = pool.state.0.fetch_add(1, SeqCst) + 1;
    let helpers = COUNT.load(SeqCst).min(parts as u32) - 1;
    if pool.asleep.0.load(SeqCst) > 0 {
        unsafe { memory_atomic_notify(pool.state.0.as_ptr().cast(), helpers) };
    }
    take(pool, job, parts);
    pool.state.0.store(open.wrapping_add(1), SeqCst);
    wait_for_workers(pool);
    BUSY.set(false);
}

/// Takes parts until there are no more; gives how many it got.
fn take(pool: &Pool, job: Job, parts: usize) -> u32 {
    let mut taken = 0;
    loop {
        let part = pool.next.0.fetch_add(1, SeqCst) as usize;
        if part >= parts {
            return taken;
        }
        job(part);
        taken += 1;
    }
}

/// Until the last of them has left the job.
fn wait_for_workers(pool: &Pool) {
    let (mut spins, mut waited, mut looked) = (0, 0.0, now_ms());
    loop {
        let inside = pool.inside.0.load(SeqCst);
        if inside == 0 {
            return;
        }
        assert!(!pool.failed.load(SeqCst), "a thread of the engine failed");
        spins += 1;
        if spins < ENGINE_SPINS {
            std::hint::spin_loop();
            continue;
        }
        spins = 0;
        if pool.may_sleep.load(SeqCst) {
            pool.engine_asleep.store(true, SeqCst);
            unsafe { memory_atomic_wait32(pool.inside.0.as_ptr().cast(), inside as i32, 100_000_000) };
            pool.engine_asleep.store(false, SeqCst);
        }
        // Where the whole process stood still, its clock went on: a look counts as little.
        let now = now_ms();
        waited += (now - looked).min(MOST_OF_A_LOOK_MS);
        looked = now;
        assert!(waited < PATIENCE_MS, "a thread of the engine was ended in the middle of its work");
    }
}

/// A worker's life, until there is something else for it to do, which it looks for between jobs, or its generation is dismissed:
/// then this gives false.
pub fn serve(generation: u32, has_else_to_do: impl Fn() -> bool) -> bool {
    BUSY.set(true);
    IS_WORKER.set(true);
    let pool = &POOL;
    let mut seen = 0;
    while pool.generation.load(SeqCst) == generation {
        if has_else_to_do() {
            return true;
        }
        let state = next_state(pool, seen);
        seen = state;
        if state % 2 == 0 {
            continue;
        }
        let others = pool.inside.0.fetch_add(1, SeqCst);
        // Whether it is still open, or another one is: as long as this thread is inside, it will not be replaced. More workers than
        // the engine has asked for were started for another one.
        if others + 1 < COUNT.load(SeqCst)
            && pool.state.0.load(SeqCst) % 2 == 1
            && let Some((job, parts)) = unsafe { *pool.job.get() }
        {
            pool.helped.fetch_add(take(pool, job, parts), SeqCst);
        }
        leave(pool);
    }
    false
}

/// The state when it is no longer the one that was seen.
fn next_state(pool: &Pool, seen: u32) -> u32 {
    for _ in 0..SPINS {
        let state = pool.state.0.load(SeqCst);
        if state != seen {
            return state;
        }
        std::hint::spin_loop();
    }
    pool.asleep.0.fetch_add(1, SeqCst);
    unsafe { memory_atomic_wait32(pool.state.0.as_ptr().cast(), seen as i32, -1) };
    pool.asleep.0.fetch_sub(1, SeqCst);
    pool.state.0.load(SeqCst)
}

fn leave(pool: &Pool) {
    pool.inside.0.fetch_sub(1, SeqCst);
    wake_engine(pool);
}

fn wake_engine(pool: &Pool) {
    if pool.engine_asleep.load(SeqCst) {
        unsafe { memory_atomic_notify(pool.inside.0.as_ptr().cast(), 1) };
    }
}

/// Says that this worker trapped: it never leaves its job.
pub fn fail() {
    POOL.failed.store(true, SeqCst);
    wake_engine(&POOL);
}

/// Parts of all engines' work that workers did, as of a counter that begins anew after 2³².
pub fn helped() -> u32 {
    POOL.helped.load(SeqCst)
}

/// Has workers look for what else there is to do, also those that sleep. For the engine's thread, between its jobs.
pub fn tell() {
    POOL.state.0.fetch_add(2, SeqCst);
    unsafe { memory_atomic_notify(POOL.state.0.as_ptr().cast(), u32::MAX) };
}

/// Sends the generation home; gives the number of the next one. `may_sleep`: whether the calling thread may wait for workers asleep.
pub fn hire(may_sleep: bool) -> u32 {
    POOL.may_sleep.store(may_sleep, SeqCst);
    let generation = POOL.generation.fetch_add(1, SeqCst) + 1;
    tell();
    generation
}

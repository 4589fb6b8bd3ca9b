//! What workers of the module with threads are started with. They never call into JavaScript: what a module imports is not there.

use super::Engine;
use crate::device::cpu::pool;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
impl Engine {
    /// How many threads work for this engine, the calling one among them.
    #[wasm_bindgen(js_name = setThreads)]
    pub fn set_threads(&mut self, count: u32) {
        self.threads = count;
    }
}

/// Parts of all engines' work that workers did, for tests.
#[wasm_bindgen(js_name = partsByWorkers)]
pub fn parts_by_workers() -> u32 {
    pool::helped()
}

/// Sends all workers home, and gives the number that those to come are started with. `may_sleep`: whether the calling thread may
/// wait for them asleep, as a page's own may not.
#[wasm_bindgen(js_name = hireThreads)]
pub fn hire_threads(may_sleep: bool) -> u32 {
    pool::hire(may_sleep)
}

/// A worker's life. Called by its name in the module, without the glue.
#[unsafe(no_mangle)]
pub extern "C" fn thread_serve(crew: u32) {
    pool::serve(crew);
}

/// What a worker calls when it trapped.
#[unsafe(no_mangle)]
pub extern "C" fn thread_fail() {
    pool::fail();
}

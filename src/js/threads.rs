//! What workers of the module with threads are started with. They never call into JavaScript: what a module imports is not there.

use super::engine::Engine;
use leastwise_cpu::pool;
use leastwise_cpu::wasm::workers as modules;
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

/// Dismisses all workers; gives the generation number of those that are started from now on. `may_sleep`: true where the calling thread may
/// block until they are gone, which a page's own may not.
#[wasm_bindgen(js_name = resizePool)]
pub fn resize_pool(may_sleep: bool) -> u32 {
    pool::hire(may_sleep)
}

/// How many of them by modules that were compiled for programs, for tests.
#[wasm_bindgen(js_name = partsByModulesOfWorkers)]
pub fn parts_by_modules_of_workers() -> u32 {
    modules::parts()
}

/// A worker's life. Called by its name in the module, without the glue. Gives 0 at its end. Before that, the address of four words:
/// a place in the worker's table of functions; where the bytes of the module begin whose function is to be there, and how many
/// there are, none where it is to be empty; and the place of the function that the module imports. To be called again after
/// [`thread_placed`].
#[unsafe(no_mangle)]
pub extern "C" fn thread_serve(generation: u32) -> u32 {
    modules::work(generation)
}

/// Whether what [`thread_serve`] told is done; it could not be where this is 0.
#[unsafe(no_mangle)]
pub extern "C" fn thread_placed(done: u32) {
    modules::placed(done != 0);
}

/// What a worker calls when it trapped.
#[unsafe(no_mangle)]
pub extern "C" fn thread_fail() {
    pool::fail();
}

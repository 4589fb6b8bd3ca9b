//! Work on the host that threads may share. Every item has a result of its own, so results do not depend on threads.

/// The results of all items, in their order. A thread makes its state once.
#[cfg(not(target_arch = "wasm32"))]
pub fn map<I: Send, S, T: Send>(items: Vec<I>, state: impl Fn() -> S + Sync + Send, work: impl Fn(&mut S, I) -> T + Sync + Send) -> Vec<T> {
    use rayon::prelude::*;
    if items.len() < 2 || rayon::current_num_threads() == 1 {
        let mut state = state();
        return items.into_iter().map(|item| work(&mut state, item)).collect();
    }
    items.into_par_iter().map_init(state, work).collect()
}

#[cfg(target_arch = "wasm32")]
pub fn map<I: Send, S, T: Send>(items: Vec<I>, state: impl Fn() -> S + Sync + Send, work: impl Fn(&mut S, I) -> T + Sync + Send) -> Vec<T> {
    let mut state = state();
    items.into_iter().map(|item| work(&mut state, item)).collect()
}

//! Task on the host that threads may share, in time slices. Every item has a result of its own, so results do not depend on threads.

use leastwise_base::task::{Pace, Stopped, UNIT};

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

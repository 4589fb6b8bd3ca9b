//! Wall-clock milliseconds, in a browser too (where `std::time::Instant` panics).

/// Milliseconds since some fixed moment; only differences mean anything.
#[cfg(not(target_arch = "wasm32"))]
pub fn now_ms() -> f64 {
    use std::{sync::OnceLock, time::Instant};
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64() * 1e3
}

/// Milliseconds since some fixed moment; only differences mean anything.
#[cfg(target_arch = "wasm32")]
pub fn now_ms() -> f64 {
    use wasm_bindgen::prelude::*;
    #[wasm_bindgen]
    extern "C" {
        #[wasm_bindgen(js_namespace = performance)]
        fn now() -> f64;
    }
    now()
}

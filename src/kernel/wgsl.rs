//! Programs as WGSL text.

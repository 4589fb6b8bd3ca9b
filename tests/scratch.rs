//! Scratch.
#[path = "lagrangian/main.rs"]
mod lagrangian;
mod support;

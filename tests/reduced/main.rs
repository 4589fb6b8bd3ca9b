//! Schur complements on the device: solves by conjugate gradients on them, and when they are chosen.

mod choice;
mod formed;
mod scene;
mod solves;

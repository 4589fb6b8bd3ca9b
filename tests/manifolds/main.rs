//! Manifolds: every retraction against matrices, its derivative against differences, and whole solves over them.

mod fixing;
mod jacobians;
mod reference;
mod refusals;
mod retractions;
mod solves;

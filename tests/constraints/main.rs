//! What may not move, or only so far: fixed components and bounds, on every backend.

mod bounds;
mod fixed;
mod net;

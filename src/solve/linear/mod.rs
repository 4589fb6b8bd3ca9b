//! Linear solvers: each appends commands that solve (JᵀWJ + λD) s = −g on the device.

pub mod pcg;

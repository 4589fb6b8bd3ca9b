//! The tests of the engine but for those on CUDA and the long fuzzing: one program, so that one link and one set of adapters serve all.
//! `cargo test --test suite two_level::` runs those of one file.

mod attention;
#[path = "backward/main.rs"]
mod backward;
mod batches;
#[path = "checkpoints/main.rs"]
mod checkpoints;
#[path = "clusters/main.rs"]
mod clusters;
mod combinations;
#[path = "constraints/main.rs"]
mod constraints;
#[path = "covariance/main.rs"]
mod covariance;
#[cfg(feature = "cuda")]
mod cuda_text;
mod cycles;
mod declared;
#[path = "descents/main.rs"]
mod descents;
mod doubles;
#[path = "energies/main.rs"]
mod energies;
#[path = "equalities/main.rs"]
mod equalities;
mod expressions;
mod fit_modules;
mod fits;
#[path = "functions/main.rs"]
mod functions;
mod generated;
mod graduated;
#[path = "hessians/main.rs"]
mod hessians;
#[path = "index/main.rs"]
mod index;
#[path = "kernels/main.rs"]
mod kernels;
#[path = "lagrangian/main.rs"]
mod lagrangian;
mod large;
mod lending;
#[path = "linear/main.rs"]
mod linear;
mod live;
#[path = "losses/main.rs"]
mod losses;
#[path = "manifolds/main.rs"]
mod manifolds;
mod measure;
mod methods;
mod normals;
mod planning;
mod products;
#[path = "ranks/main.rs"]
mod ranks;
#[path = "reduced/main.rs"]
mod reduced;
#[path = "refined/main.rs"]
mod refined;
mod reports;
mod rules;
#[path = "schedules/main.rs"]
mod schedules;
mod sessions;
mod shaders;
mod shared_fits;
mod slices;
mod small;
mod solve;
mod sum_over;
mod support;
#[path = "tensors/main.rs"]
mod tensors;
mod threaded;
#[path = "twins/main.rs"]
mod twins;
mod two_level;
mod wgpu_device;
mod wide_fits;

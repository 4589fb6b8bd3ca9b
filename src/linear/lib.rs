//! Linear systems on the host: factorisations, eliminations, and conjugate gradients on an assembled matrix.
//!
//! A system is (A + λD) x = b of a symmetric block matrix A ([`matrix`]). [`sparse`] orders it ([`minimum_degree`]) and factorises it, by panels of
//! dense blocks ([`panels`]) that are looked up to the left ([`left_looking`]) or, beside WebAssembly, by fronts on all threads
//! ([`multifrontal`]), its wide variables as scalars where these hardly meet ([`unblocked`]); [`dense`] and [`qr`] are for
//! small ones, [`schur`] eliminates what [`elimination`] finds, [`conjugate`] iterates, and [`frozen`] does so with an older factor. Everything
//! goes in time slices, and a sum is added up in one order whatever the threads.
//!
//! It knows no device, and not what an unknown means: which system is solved, and when, is told by the crate of solvers.
//!
//! ```
//! use leastwise_linear::qr::Triangle;
//!
//! // The least squares of 2x = 6 and x = 3.
//! let mut triangle = Triangle::new(1)?;
//! triangle.push([(0, 2.0)].into_iter(), 6.0);
//! triangle.push([(0, 1.0)].into_iter(), 3.0);
//! let x = triangle.solve(&[0.0]).unwrap();
//! assert!((x[0] - 3.0).abs() < 1e-12);
//! # Ok::<(), leastwise_base::memory::OutOfMemory>(())
//! ```

use std::pin::Pin;

/// A computation of this crate. The body of an `async fn` is compiled where it is awaited; a box is made here, at this crate's optimisation
/// level, which is that of loops over a matrix.
pub type Computed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

mod by_columns;
pub mod conjugate;
pub mod dense;
pub mod elimination;
pub mod frozen;
pub mod left_looking;
pub mod matrix;
mod minimum_degree;
#[cfg(not(target_arch = "wasm32"))]
pub mod multifrontal;
mod neighbours;
pub mod panels;
#[cfg(not(target_arch = "wasm32"))]
mod products;
pub mod qr;
pub mod schur;
pub mod sparse;
pub mod unblocked;

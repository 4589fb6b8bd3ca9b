//! The CPU's twins of the static shaders: same names, same bindings, same order of additions.
//!
//! A twin does whole workgroups, whose reductions are the same fixed trees as on a GPU, so a result depends neither on
//! time slices nor on how the work was divided.

use crate::{Bindings, Twin, Work};
use leastwise_kernel::{Fixed, static_kernels};

mod blocks;
mod bounds;
mod clusters;
pub use clusters::{POTENTIALS_ABREAST, SHARE, runs_for, tile};
mod copy;
mod damping;
mod descent;
mod dogleg;
mod gather;
mod levenberg;
mod line_search;
mod mask;
mod patches;
mod pcg;
mod project;
mod reduce;
mod search;
mod tensors;
pub use tensors::{STRETCH, tall};

pub use blocks::invert_blocks;
pub use bounds::{active_set, clip, clipped, clipped_model, moved, project_point};
pub use clusters::{
    adopt, assign, blend, centroid_sums, converge, distances, divide, elect, farthest, keys, merge, norms, offsets, pairs, pick,
    potentials, relabel, scatter, scores, seed, soften, spread, tally, totals, update, weigh,
};
pub use copy::copy;
pub use damping::{damping, extent, peak, reach};
pub use descent::{adam, changed, descend, inner_products, remember, slopes, stretch};
pub use dogleg::{combine, dogleg, dogleg_plane, dogleg_subspace, dogleg_sums, steepest, trust_region};
pub use gather::gather;
pub use levenberg::{accept, commit, cost, model, nielsen, place, step_length, sum, trial, wake};
pub use line_search::{line_search, two_loop};
pub use mask::{mask, mask_blocks};
pub use patches::{
    coarse_diagonal, coarse_frames, coarse_pairs, couple, invert_nodes, multiply_blocks, patch_centers, patch_follow, patch_modes,
    patch_prolong, patch_restrict, patch_spin, spectral_radius,
};
pub use pcg::{pcg_begin, pcg_beta, pcg_curvature, pcg_direction, pcg_start, pcg_update};
pub use project::project_blocks;
pub use search::{decode, estimate, pairwise, probe, shortlist};
pub use tensors::{attend, attend_keys, attend_queries, fold, sum_rows};

macro_rules! twins {
    ($($kernel:ident = $twin:ident [$($slot:ident: $access:ident),*];)*) => {
        /// The twin of a static kernel.
        pub fn of(kernel: Fixed) -> Twin {
            let heavy = kernel.is_heavy();
            match kernel {
                $(Fixed::$kernel => Twin { heavy, f32: $twin::<f32>, f64: if is_single(Fixed::$kernel) { single } else { $twin::<f64> } }),*
            }
        }
    };
}

static_kernels!(twins);

/// Whether this build has it in f32 alone: WebAssembly crosses the network, and clusterings are f32; in f64 only tests run them.
const fn is_single(kernel: Fixed) -> bool {
    cfg!(target_arch = "wasm32") && kernel.is_of_points()
}

/// Stands for twins in f64 where there are none.
///
/// # Panics
/// Always: clusterings run on a device in f32.
fn single(_: &Work, _: Bindings<f64>) {
    unreachable!("kernels of clusterings are f32");
}

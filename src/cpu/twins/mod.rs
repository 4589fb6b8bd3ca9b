//! The CPU's twins of the static shaders: same names, same bindings, same order of additions.
//!
//! A twin does whole workgroups, whose reductions are the same fixed trees as on a GPU, so a result depends neither on
//! time slices nor on how the work was divided.

use crate::{Bindings, Twin, Workgroups};
use leastwise_kernels::{Arguments, FromSlots, StaticKernel, static_kernels};

pub mod bounds;
pub mod clustering;
pub mod descent;
pub mod fits;
pub mod graph;
pub mod line_search;
pub mod measure;
pub mod merged;
pub mod mesh;
pub mod pcg;
mod reduce;
pub mod reduced;
pub mod search;
pub mod step;
pub mod system;
pub mod tensor;
pub mod trust_region;
pub mod two_level;

pub use clustering::init::{POTENTIALS_ABREAST, SHARE, runs_for};
pub use clustering::tile;
pub use tensor::{STRETCH, tall};

/// The function of a twin in one precision. It has the kernel's name, by which WebAssembly is split into parts.
macro_rules! played {
    ($kernel:ident, $real:ty, $($twin:ident)::+, $($arguments:ident)::+) => {{
        #[allow(non_snake_case)]
        fn $kernel(work: &Workgroups, mut bindings: Bindings<$real>) {
            let arguments = leastwise_kernels::$($arguments)::+::of(work.params.words);
            $($twin)::+::<$real>(work, arguments, FromSlots::of(&mut bindings))
        }
        $kernel
    }};
}

macro_rules! twins {
    ($($kernel:ident = $($twin:ident)::+ ($($arguments:ident)::+);)*) => {
        /// The twin of a static kernel.
        pub fn of(kernel: StaticKernel) -> Twin {
            let (heavy, f32) = (kernel.is_heavy(), in_single(kernel));
            match kernel {
                $(StaticKernel::$kernel => Twin {
                    heavy,
                    f32,
                    f64: if is_single(StaticKernel::$kernel) { single } else { played!($kernel, f64, $($twin)::+, $($arguments)::+) },
                }),*
            }
        }

        /// The twin in f32, under a name of its own: a page whose engine computes in f64 does not load it.
        fn in_single(kernel: StaticKernel) -> fn(&Workgroups, Bindings<f32>) {
            match kernel {
                $(StaticKernel::$kernel => played!($kernel, f32, $($twin)::+, $($arguments)::+)),*
            }
        }
    };
}

static_kernels!(twins);

/// True if this build has it in f32 alone: WebAssembly crosses the network, and clusterings are f32; in f64 only tests run them.
const fn is_single(kernel: StaticKernel) -> bool {
    cfg!(target_arch = "wasm32") && kernel.is_of_points()
}

/// Stands for twins in f64 where there are none.
///
/// # Panics
/// Always: clusterings run on a device in f32.
fn single(_: &Workgroups, _: Bindings<f64>) {
    unreachable!("kernels of clusterings are f32");
}

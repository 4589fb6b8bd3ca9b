//! The static kernels: every shader of `shaders/` with its CPU twin, its bindings and its place in the table tests.

use crate::device::cpu::{Body, Twin, twins};
use crate::device::{Access, KernelSource, binding::*};
use crate::kernel::wgsl::embedded::shader;
use crate::solve::state;

const R: Access = Access::Read;
const W: Access = Access::ReadWrite;

macro_rules! fixed {
    ($($variant:ident = $twin:ident [$($slot:ident: $access:ident),*];)*) => {
        /// A static kernel.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Fixed { $(#[doc = concat!("`shaders/", stringify!($twin), ".wgsl`")] $variant),* }

        impl Fixed {
            pub const ALL: &[Fixed] = &[$(Self::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($twin)),* }
            }

            fn text(self) -> &'static str {
                match self { $(Self::$variant => shader!(concat!("../../shaders/", stringify!($twin), ".wgsl"))),* }
            }

            fn twin(self) -> Twin {
                match self { $(Self::$variant => Twin { f32: twins::$twin::<f32>, f64: twins::$twin::<f64> }),* }
            }

            fn slots(self) -> &'static [(usize, Access)] {
                match self { $(Self::$variant => &[$(($slot, $access)),*]),* }
            }
        }
    };
}

fixed! {
    Gather = gather [INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, STATE: R];
    Peak = peak [VECTOR_IN: R, VECTOR_OUT: W];
    Damping = damping [DATA: R, VECTOR_IN: R, VECTOR_OUT: W, STATE: R];
    Mask = mask [VECTOR_IN: R, VECTOR_OUT: W, STATE: R];
    MaskBlocks = mask_blocks [VECTOR_IN: R, VECTOR_OUT: W];
    ActiveSet = active_set [ARENA: R, DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W];
    ProjectPoint = project_point [DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, PARTIALS: W];
    Moved = moved [STATE: W, PARTIALS: R];
    Clip = clip [ARENA: R, DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, JACOBIAN: W, STATE: W, PARTIALS: W];
    Clipped = clipped [STATE: W, PARTIALS: R];
    ClippedModel = clipped_model [STATE: W, PARTIALS: R];
    InvertBlocks = invert_blocks [ARENA: R, VECTOR_IN: R, VECTOR_OUT: W, STATE: R];
    PcgStart = pcg_start [DATA: W, INDEX: W, VECTOR_IN: R, VECTOR_OUT: W, JACOBIAN: R, PARTIALS: W];
    PcgBegin = pcg_begin [STATE: W, PARTIALS: R];
    PcgDirection = pcg_direction [DATA: R, VECTOR_IN: R, VECTOR_OUT: W, JACOBIAN: W, STATE: R];
    PcgCurvature = pcg_curvature [DATA: R, VECTOR_IN: R, STATE: R, PARTIALS: W];
    PcgUpdate = pcg_update [ARENA: W, DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, JACOBIAN: W, STATE: R, PARTIALS: W];
    PcgBeta = pcg_beta [STATE: W, PARTIALS: R];
    Trial = trial [ARENA: R, DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, JACOBIAN: R, PARTIALS: W];
    Place = place [ARENA: R, DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, JACOBIAN: R, STATE: R, PARTIALS: W];
    Model = model [STATE: W, PARTIALS: R];
    Sum = sum [VECTOR_IN: R, PARTIALS: W];
    Cost = cost [STATE: W, PARTIALS: R];
    Extent = extent [ARENA: R, DATA: R, VECTOR_IN: R, PARTIALS: W];
    Reach = reach [STATE: W, PARTIALS: R];
    Accept = accept [STATE: W, PARTIALS: R];
    Commit = commit [VECTOR_IN: R, VECTOR_OUT: W, STATE: R];
    Nielsen = nielsen [STATE: W];
    Wake = wake [STATE: W];
    StepLength = step_length [STATE: W];
    Steepest = steepest [DATA: R, VECTOR_IN: R, VECTOR_OUT: W];
    DoglegSums = dogleg_sums [ARENA: R, DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: R, JACOBIAN: R, PARTIALS: W];
    DoglegPlane = dogleg_plane [STATE: W, PARTIALS: R];
    Dogleg = dogleg [STATE: W];
    DoglegSubspace = dogleg_subspace [STATE: W];
    TrustRegion = trust_region [STATE: W];
    Combine = combine [ARENA: R, DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, JACOBIAN: W, STATE: R, PARTIALS: R];
    Copy = copy [VECTOR_IN: R, VECTOR_OUT: W];
    ProjectBlocks = project_blocks [ARENA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, JACOBIAN: W];
}

impl Fixed {
    /// What every solver has: all but what second derivatives alone need, which is last.
    pub const OF_SOLVERS: &[Fixed] = Self::ALL.split_at(Self::ProjectBlocks as usize).0;

    pub fn source(self) -> KernelSource {
        let mut access = [Access::Unused; COUNT];
        for &(slot, how) in self.slots() {
            access[slot] = how;
        }
        KernelSource::new(self.name(), &self.wgsl(), access, Body::Twin(self.twin()))
    }

    /// The module after the prelude: the state's numbers and the reductions only where they are used.
    fn wgsl(self) -> String {
        let text = self.text();
        let uses_state = self.slots().iter().any(|(slot, _)| *slot == STATE);
        let uses_groups = text.contains("group_sum") || text.contains("group_max");
        let constants = if uses_state { state::wgsl_constants() } else { String::new() };
        let reduce = if uses_groups { shader!("../../shaders/reduce.wgsl") } else { "" };
        format!("{constants}{reduce}\n{text}")
    }
}

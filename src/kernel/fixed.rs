//! The static kernels: every shader of `shaders/` with its bindings and its place in the table tests.

use crate::shader;
use crate::state;
use crate::wgsl::library;
use crate::{Access, binding::*};

const R: Access = Access::Read;
const W: Access = Access::ReadWrite;

/// Hands the table of static kernels to a macro: for each one its name in [`Fixed`], that of its file in `shaders/` and of its twin on
/// the CPU, and what it does with each slot.
#[macro_export]
macro_rules! static_kernels {
    ($of:ident) => {
        $of! {
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
            Stretch = stretch [VECTOR_IN: R, VECTOR_OUT: W, STATE: R];
            Changed = changed [STATE: W, PARTIALS: R];
            Slopes = slopes [ARENA: R, DATA: R, INDEX: R, VECTOR_IN: R, JACOBIAN: R, STATE: R, PARTIALS: W];
            LineSearch = line_search [STATE: W, PARTIALS: R];
            Remember = remember [ARENA: R, DATA: R, INDEX: W, VECTOR_IN: R, VECTOR_OUT: W, JACOBIAN: W, STATE: R];
            InnerProducts = inner_products [DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, STATE: R];
            TwoLoop = two_loop [VECTOR_IN: R, VECTOR_OUT: W, JACOBIAN: W, STATE: W];
            Descend = descend [ARENA: R, DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, STATE: R];
            Adam = adam [ARENA: R, DATA: R, INDEX: W, VECTOR_OUT: W, STATE: R];
            ProjectBlocks = project_blocks [ARENA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, JACOBIAN: W];
            PatchCenters = patch_centers [INDEX: R, VECTOR_IN: R, VECTOR_OUT: W];
            PatchModes = patch_modes [ARENA: R, DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W];
            PatchSpin = patch_spin [ARENA: R, VECTOR_OUT: W];
            PatchFollow = patch_follow [DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W];
            CoarseDiagonal = coarse_diagonal [ARENA: R, DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, STATE: R];
            CoarsePairs = coarse_pairs [DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W];
            CoarseFrames = coarse_frames [DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W];
            MultiplyBlocks = multiply_blocks [ARENA: R, DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, JACOBIAN: R];
            InvertNodes = invert_nodes [VECTOR_IN: R, VECTOR_OUT: W, STATE: R];
            SpectralRadius = spectral_radius [ARENA: R, DATA: R, VECTOR_IN: R, VECTOR_OUT: W];
            Couple = couple [ARENA: R, DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, JACOBIAN: R, STATE: R];
            PatchRestrict = patch_restrict [DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, STATE: R];
            PatchProlong = patch_prolong [ARENA: R, DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, STATE: R, PARTIALS: W];
            Assign = assign [ARENA: R, DATA: R, INDEX: W, VECTOR_IN: R, VECTOR_OUT: W, JACOBIAN: R, STATE: R, PARTIALS: W];
            Tally = tally [INDEX: W, STATE: R];
            Spread = spread [INDEX: W, STATE: R];
            Offsets = offsets [INDEX: W, STATE: R];
            Scatter = scatter [INDEX: W, STATE: R];
            Keys = keys [INDEX: W, VECTOR_IN: R, STATE: R];
            Weigh = weigh [INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, STATE: R];
            CentroidSums = centroid_sums [ARENA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, STATE: R];
            Update = update [VECTOR_IN: R, VECTOR_OUT: W, JACOBIAN: W, STATE: R];
            Distances = distances [ARENA: R, DATA: R, INDEX: R, VECTOR_OUT: W, STATE: R];
            Converge = converge [STATE: W, PARTIALS: R];
            Farthest = farthest [ARENA: R, DATA: R, VECTOR_OUT: W, PARTIALS: W];
            Pick = pick [ARENA: R, DATA: R, INDEX: W, VECTOR_IN: R, VECTOR_OUT: W, PARTIALS: R];
            Adopt = adopt [ARENA: R, INDEX: R, VECTOR_OUT: W];
            Potentials = potentials [ARENA: R, DATA: R, VECTOR_IN: R, PARTIALS: W];
            Elect = elect [DATA: R, VECTOR_OUT: W, PARTIALS: R];
            Seed = seed [ARENA: R, INDEX: R, VECTOR_OUT: W];
            Merge = merge [INDEX: W, VECTOR_OUT: W, JACOBIAN: W, STATE: W];
            Relabel = relabel [INDEX: W, PARTIALS: W];
            Divide = divide [ARENA: R, DATA: R, INDEX: W, VECTOR_OUT: W];
            Totals = totals [INDEX: R, VECTOR_IN: R, VECTOR_OUT: W];
            Norms = norms [ARENA: R, VECTOR_IN: R, VECTOR_OUT: W, STATE: R];
            Scores = scores [ARENA: R, DATA: R, VECTOR_IN: R, VECTOR_OUT: W];
            Soften = soften [VECTOR_IN: R, VECTOR_OUT: W, STATE: R, PARTIALS: W];
            Blend = blend [ARENA: R, VECTOR_IN: R, VECTOR_OUT: W];
            Pairs = pairs [DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, STATE: R, PARTIALS: W];
            Pairwise = pairwise [ARENA: R, DATA: R, VECTOR_OUT: W];
            Probe = probe [VECTOR_OUT: W];
            Decode = decode [ARENA: R, DATA: R, INDEX: R, VECTOR_OUT: W, PARTIALS: W];
            Estimate = estimate [ARENA: R, DATA: R, INDEX: R, VECTOR_IN: R, VECTOR_OUT: W, JACOBIAN: R];
            Shortlist = shortlist [INDEX: W, VECTOR_IN: R];
            Attend = attend [ARENA: R, DATA: R, VECTOR_IN: R, VECTOR_OUT: W, PARTIALS: W];
            AttendQueries = attend_queries [ARENA: R, DATA: R, VECTOR_IN: R, VECTOR_OUT: W, JACOBIAN: R, STATE: R];
            AttendKeys = attend_keys [ARENA: R, DATA: R, VECTOR_IN: R, VECTOR_OUT: W, JACOBIAN: R, STATE: R, PARTIALS: W];
            Fold = fold [VECTOR_IN: R, VECTOR_OUT: W];
            SumRows = sum_rows [INDEX: R, VECTOR_IN: R, VECTOR_OUT: W];
            Copy = copy [VECTOR_IN: R, VECTOR_OUT: W];
        }
    };
}

macro_rules! fixed {
    ($($variant:ident = $file:ident [$($slot:ident: $access:ident),*];)*) => {
        /// A static kernel.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Fixed { $(#[doc = concat!("`shaders/", stringify!($file), ".wgsl`")] $variant),* }

        impl Fixed {
            pub const ALL: &[Fixed] = &[$(Self::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($file)),* }
            }

            /// The file's text, in which all of its bindings are declared.
            pub fn text(self) -> &'static str {
                match self { $(Self::$variant => shader!(concat!("../../shaders/", stringify!($file), ".wgsl"))),* }
            }

            fn slots(self) -> &'static [(usize, Access)] {
                match self { $(Self::$variant => &[$(($slot, $access)),*]),* }
            }
        }
    };
}

static_kernels!(fixed);

impl Fixed {
    /// What every solver has: all but what is for one kind of methods, for second derivatives, clusterings and searches.
    pub const OF_SOLVERS: &[Fixed] = Self::ALL.split_at(Self::Stretch as usize).0;
    /// What solvers have that solve no linear system.
    pub const OF_DESCENTS: &[Fixed] = Self::ALL.split_at(Self::ProjectBlocks as usize).0;
    /// What the two-level preconditioner has.
    pub const OF_PATCHES: &[Fixed] = Self::ALL.split_at(Self::Assign as usize).0.split_at(Self::PatchCenters as usize).1;
    /// What clusterings have besides `sum`.
    pub const OF_CLUSTERINGS: &[Fixed] = Self::ALL.split_at(Self::Pairwise as usize).0.split_at(Self::Assign as usize).1;
    /// What searches among compressed vectors have.
    pub const OF_SEARCHES: &[Fixed] = Self::ALL.split_at(Self::Attend as usize).0.split_at(Self::Pairwise as usize).1;
    /// What tensors have besides what their expressions compile to.
    pub const OF_TENSORS: &[Fixed] = Self::ALL.split_at(Self::Copy as usize).0.split_at(Self::Attend as usize).1;

    /// Whether there is one for double-floats: there is for all that solvers have.
    pub fn has_doubles(self) -> bool {
        self < Self::Assign
    }

    /// What it does with each slot.
    pub fn access(self) -> [Access; COUNT] {
        let mut access = [Access::Unused; COUNT];
        for &(slot, how) in self.slots() {
            access[slot] = how;
        }
        access
    }

    /// Whether it is of clusterings or searches.
    pub const fn is_of_points(self) -> bool {
        self as u32 >= Self::Assign as u32 && (self as u32) < Self::Attend as u32
    }

    /// The module after the prelude: the state's numbers and the reductions only where they are used.
    pub fn wgsl(self) -> String {
        let text = self.text();
        let uses_state = self.slots().iter().any(|(slot, _)| *slot == STATE);
        let uses_groups = ["group_sum", "group_max", "exact_total", "total_of"].iter().any(|function| text.contains(function));
        // The slot of the state is any other matrix to kernels of tensors.
        let constants = match self {
            _ if !uses_state || self >= Self::Attend => String::new(),
            _ if self.is_of_points() => state::cluster::wgsl_constants(),
            _ => state::solver::wgsl_constants(),
        };
        let reduce = if uses_groups { shader!("../../shaders/reduce.wgsl") } else { "" };
        // What several kernels have in common, by a function of it.
        let common = [
            ("exact_total", shader!("../../shaders/exact_total.wgsl")),
            ("total_of", shader!("../../shaders/total_of.wgsl")),
            ("multiply_tile", shader!("../../shaders/tile.wgsl")),
            ("multiply_rows", shader!("../../shaders/attention.wgsl")),
            ("rank_of", shader!("../../shaders/rank.wgsl")),
            ("row_distance", shader!("../../shaders/row_distance.wgsl")),
            ("rows_of", shader!("../../shaders/share_rows.wgsl")),
        ];
        let common: String = common.into_iter().filter(|(function, _)| text.contains(function)).map(|(_, text)| text).collect();
        let functions = library(self.calls());
        format!("{constants}{reduce}\n{common}\n{}\n\n{text}", functions.join("\n\n"))
    }

    /// Whether conjugate gradients are made of it, but for what writes the solver's scalars.
    pub fn is_inner(self) -> bool {
        matches!(self, Self::InvertBlocks | Self::PcgStart | Self::PcgDirection | Self::PcgCurvature | Self::PcgUpdate)
    }

    /// Whether an item is more than a few operations.
    pub fn is_heavy(self) -> bool {
        use Fixed::*;
        let of_points = matches!(
            self,
            Assign | CentroidSums | Distances | Farthest | Potentials | Divide | Scores | Soften | Blend | Pairwise | Estimate
        );
        of_points || (Attend..Copy).contains(&self)
    }

    /// The functions of `shaders/functions/` that its text calls.
    fn calls(self) -> &'static [&'static str] {
        match self {
            Self::Keys | Self::Probe => &["order_of"],
            Self::Shortlist => &["signed_order_of"],
            Self::Update | Self::Merge => &["nearest_half"],
            Self::Norms => &["logarithm"],
            Self::Soften | Self::Attend => &["exponential", "logarithm"],
            Self::AttendQueries | Self::AttendKeys => &["exponential"],
            _ => &[],
        }
    }
}

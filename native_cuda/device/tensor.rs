//! Kernels of CUDA's own, for tensor cores: what stands in for a static kernel of the same bindings, words and grid, where that is much
//! faster. `tests/cuda` holds them to the CPU's twins like all others.
//!
//! There is one, for `assign` in f32 (`shaders/cuda/assign_*.cu`): one that keeps a tile of the points in shared memory, on Hopper by
//! warpgroups, and one that brings points in slabs, for more dimensions. Sums of squared differences have none: products are what tensor
//! cores do.

use leastwise_kernels::clustering::lloyd::Assign;
use leastwise_recording::{Arguments, PARAM_WORDS, Precision};

/// The first architecture whose tensor cores multiply 16×8×16 halves, and the one whose warpgroups multiply 64×128×16.
const AMPERE: (i32, i32) = (8, 0);
const HOPPER: (i32, i32) = (9, 0);

/// What may stand in for a kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Variant {
    pub text: String,
    /// Whether it is for one architecture only, and no later one.
    pub is_specific: bool,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Warpgroups,
    Resident,
    Slabs,
}

/// What may stand in for a static kernel, the best first.
pub fn variants(kernel: &str, precision: Precision, group_size: u32, architecture: (i32, i32)) -> Vec<Variant> {
    if (kernel, precision, group_size) != (Assign::KERNEL.name(), Precision::F32, assign::LANES) || architecture < AMPERE {
        return Vec::new();
    }
    let common = include_str!("../../shaders/cuda/assign_common.cu");
    let variant = |kind| {
        let own = match kind {
            Kind::Warpgroups => include_str!("../../shaders/cuda/assign_hopper.cu"),
            Kind::Resident | Kind::Slabs => include_str!("../../shaders/cuda/assign_ampere.cu"),
        };
        let resident = format!("constexpr bool RESIDENT = {};", kind != Kind::Slabs);
        Variant { text: format!("{resident}\n{common}\n{own}"), is_specific: kind == Kind::Warpgroups, kind }
    };
    [if architecture == HOPPER { Kind::Warpgroups } else { Kind::Resident }, Kind::Slabs].map(variant).into()
}

impl Variant {
    /// The bytes of dynamic shared memory that a dispatch needs, if this is for it and a workgroup can have them.
    pub fn shared_bytes(&self, words: &[u32; PARAM_WORDS], most: u32) -> Option<u32> {
        let Assign { dimensions, flags, .. } = Assign::of(*words);
        if flags & assign::DIFFERENCES != 0 {
            return None;
        }
        assign::bytes(self.kind, dimensions).filter(|bytes| *bytes <= most)
    }
}

/// The layout that the texts have.
mod assign {
    use super::Kind;

    pub const LANES: u32 = 256;
    /// Of the word of flags.
    pub const DIFFERENCES: u32 = 1;
    const TILE: u32 = 128;
    const SLAB: u32 = 32;
    const PAD: u32 = 8;

    /// A tile's rows of so many halves, twice: what is above and what is below.
    const fn halves(columns: u32) -> u32 {
        2 * 2 * TILE * columns
    }

    /// Two slabs of anchors, and either all of the points or two slabs of them.
    pub fn bytes(kind: Kind, dimensions: u32) -> Option<u32> {
        let columns = dimensions.checked_next_multiple_of(SLAB).filter(|columns| *columns <= 1 << 16);
        Some(match kind {
            Kind::Warpgroups => 2 * halves(SLAB) + halves(columns?),
            Kind::Resident => 2 * halves(SLAB + PAD) + halves(columns? + PAD),
            Kind::Slabs => 4 * halves(SLAB + PAD),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which variant of an architecture is taken where a workgroup has so much shared memory, and how much it takes.
    fn chosen(architecture: (i32, i32), most: u32, dimensions: u32, flags: u32) -> Option<(Kind, u32)> {
        let words = Assign { dimensions, flags, ..Assign::default() }.words();
        let variants = variants(Assign::KERNEL.name(), Precision::F32, 256, architecture);
        variants.into_iter().find_map(|variant| Some((variant.kind, variant.shared_bytes(&words, most)?)))
    }

    #[test]
    fn a_variant_is_chosen_by_the_room_that_there_is() {
        let (h200, ada, small) = (((9, 0), 232_448), ((8, 9), 101_376), ((8, 0), 65_536));
        for ((architecture, most), dimensions, expected) in [
            (h200, 128, Some((Kind::Warpgroups, 98_304))),
            (h200, 384, Some((Kind::Warpgroups, 229_376))),
            (h200, 385, Some((Kind::Slabs, 81_920))),
            (h200, u32::MAX, Some((Kind::Slabs, 81_920))),
            (ada, 96, Some((Kind::Resident, 94_208))),
            (ada, 128, Some((Kind::Slabs, 81_920))),
            (small, 1, Some((Kind::Resident, 61_440))),
            (small, 128, None),
        ] {
            assert_eq!(chosen(architecture, most, dimensions, 6), expected, "{architecture:?}, {dimensions}");
            assert_eq!(chosen(architecture, most, dimensions, 7), None, "sums of differences");
        }
    }

    /// The compiler asks for a function by the kernel's name (`compile.rs`).
    #[test]
    fn a_variant_has_the_name_that_is_asked_for() {
        let entry = format!(" leastwise_{}_tensor(", Assign::KERNEL.name());
        for architecture in [(8, 0), (9, 0)] {
            let variants = variants(Assign::KERNEL.name(), Precision::F32, 256, architecture);
            assert!(variants.iter().all(|variant| variant.text.matches(&entry).count() == 1), "{architecture:?}");
        }
    }

    #[test]
    fn nothing_stands_in_where_it_would_not_run() {
        assert_eq!(variants(Assign::KERNEL.name(), Precision::F32, 256, (9, 0)).len(), 2);
        for (kernel, precision, group_size, architecture) in [
            ("update", Precision::F32, 256, (9, 0)),
            (Assign::KERNEL.name(), Precision::F64, 256, (9, 0)),
            (Assign::KERNEL.name(), Precision::F32, 64, (9, 0)),
            (Assign::KERNEL.name(), Precision::F32, 256, (7, 5)),
        ] {
            assert!(variants(kernel, precision, group_size, architecture).is_empty());
        }
        // Code for warpgroups runs on that architecture alone.
        assert!(variants(Assign::KERNEL.name(), Precision::F32, 256, (10, 0)).iter().all(|variant| !variant.is_specific));
    }
}

use crate::twins::harness::Case;
use crate::twins::value::Random;
use leastwise::device::binding::{VECTOR_IN, VECTOR_OUT};
use leastwise::kernel::Fixed;

pub fn copy(size: usize, random: &mut Random) -> Case {
    // The last elements are nobody's.
    let source = random.vector(4 * size + 4);
    let mut case = Case::new(Fixed::Copy, "");
    case.dispatch(size as u32, &[]);
    case.poisoned(VECTOR_OUT, source.len());
    for (i, value) in source.iter().enumerate().take(4 * size) {
        case.expect(VECTOR_OUT, i, *value);
    }
    case.reals(VECTOR_IN, source);
    case
}

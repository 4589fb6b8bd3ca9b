use crate::twins::harness::Case;
use crate::twins::value::Random;
use leastwise::kernels::{StaticKernel, measure};

pub fn copy(size: usize, random: &mut Random) -> Case {
    // The last elements are nobody's.
    let source = random.vector(4 * size + 4);
    let mut case = Case::new(StaticKernel::MeasureCopy, "");
    case.dispatch(size as u32, measure::Copy);
    case.poisoned(measure::Copy::COPIED, source.len());
    for (i, value) in source.iter().enumerate().take(4 * size) {
        case.expect(measure::Copy::COPIED, i, *value);
    }
    case.reals(measure::Copy::SOURCE, source);
    case
}

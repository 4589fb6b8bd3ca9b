use super::Tables;
use crate::twins::harness::{Case, random_state};
use crate::twins::value::Random;
use leastwise::kernels::{StaticKernel, system};
use leastwise::solve::state::SOLVED;

/// 1 where it is free, 0 where it is not.
pub fn free(len: usize, random: &mut Random) -> Vec<f64> {
    (0..len).map(|_| f64::from(random.below(3).min(1))).collect()
}

pub fn mask(size: usize, random: &mut Random) -> Case {
    let free = free(size, random);
    let mut case = Case::new(StaticKernel::SystemMask, "");
    case.reals(system::Mask::FREE, free.clone());
    case.reals(system::Mask::VECTOR, random.vector(size));
    case.reals(system::Mask::STATE, random_state(random, &[(SOLVED, 0.0)]));
    case.stop = Some((SOLVED, 1.0));
    case.dispatch(size as u32, system::Mask { guard: SOLVED });
    for (i, _) in free.iter().enumerate().filter(|(_, free)| **free == 0.0) {
        case.expect(system::Mask::VECTOR, i, 0.0);
    }
    // Where nothing is fixed, nothing is written.
    if !free.contains(&0.0) {
        case.scratch(system::Mask::VECTOR, size);
    }
    case
}

pub fn mask_blocks(tables: &Tables, random: &mut Random) -> Case {
    let free = free(tables.vector_len, random);
    let mut case = Case::new(StaticKernel::SystemMaskBlocks, "");
    case.reals(system::MaskBlocks::FREE, free.clone());
    case.reals(system::MaskBlocks::BLOCKS, random.vector(tables.blocks_len));
    for table in &tables.list {
        case.dispatch(
            table.items as u32,
            system::MaskBlocks { vector: table.vector as u32, width: table.width as u32, block: table.block as u32 },
        );
        for variable in 0..table.items {
            let is_free = |component: usize| free[table.vector + variable * table.width + component] == 1.0;
            let block = table.block + variable * table.packed();
            for (r, c) in (0..table.width).flat_map(|r| (0..=r).map(move |c| (r, c))) {
                if !(is_free(r) && is_free(c)) {
                    case.expect(system::MaskBlocks::BLOCKS, block + r * (r + 1) / 2 + c, f64::from(u8::from(r == c)));
                }
            }
        }
    }
    case
}

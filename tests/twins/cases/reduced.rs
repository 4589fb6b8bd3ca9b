use super::blocks::{LAMBDA, definite, gauss_jordan};
use super::mask::free;
use super::{Tables, entry};
use crate::twins::harness::{Case, random_state};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, reduced};
use leastwise::solve::state::{ALWAYS, DAMPING, INNER_EPSILON, SOLVED};

/// Relative spacing of the numbers that pivots are compared with.
const EPSILON: f64 = 1.25e-7;

/// Blocks that are definite, in part with unknowns that may not move; those of width 1 are also below what pivots are at least.
pub fn invert(tables: &Tables, random: &mut Random) -> Vec<Case> {
    let one = |masked: bool, random: &mut Random| {
        let mut case = Case::new(StaticKernel::ReducedInvert, format!("width {}, masked {masked}", tables.list[1].width));
        let (mut blocks, mut floors) = (random.vector(tables.blocks_len), random.positive(tables.blocks_len));
        let scale = random.positive(tables.vector_len);
        let free = free(tables.vector_len, random);
        for table in &tables.list {
            for variable in 0..table.items {
                let block = &mut blocks[table.block + variable * table.packed()..][..table.packed()];
                definite(block, table.width, random);
                // Nothing is left of a block, but for a part of what there was.
                if table.width == 1 && variable % 3 == 1 {
                    block[0] = -1000.0;
                    floors[table.block + variable] = 3e5;
                }
            }
        }
        case.reals(reduced::Invert::BLOCKS, blocks.clone());
        case.reals(reduced::Invert::FLOORS, floors.clone());
        case.reals(reduced::Invert::SCALE, scale.clone());
        case.reals(reduced::Invert::FREE, free.clone());
        case.poisoned(reduced::Invert::INVERSE, tables.blocks_len);
        case.reals(reduced::Invert::STATE, random_state(random, &[(DAMPING, LAMBDA), (INNER_EPSILON, EPSILON)]));
        case.bound = 2e-6;
        for table in &tables.list {
            let [vector, width, block, _] = table.places();
            case.dispatch(table.items as u32, reduced::Invert { vector, width, block, masked: u32::from(masked) });
            for variable in 0..table.items {
                let (unknown, at) = (table.vector + variable * table.width, table.block + variable * table.packed());
                let moves: Vec<usize> = (0..table.width).filter(|&r| !masked || free[unknown + r] != 0.0).collect();
                let damping = |r: usize| LAMBDA * scale[unknown + r];
                let damped = |r: usize, c: usize| {
                    let (r, c) = (moves[r], moves[c]);
                    let value = entry(&blocks, at, r, c) + if r == c { damping(r) } else { 0.0 };
                    if table.width == 1 { value.max(8.0 * EPSILON * (floors[at] + damping(0))) } else { value }
                };
                let inverse = gauss_jordan(moves.len(), damped);
                let place = |r: usize| moves.iter().position(|&moving| moving == r);
                for (i, (r, c)) in (0..table.width).flat_map(|r| (0..=r).map(move |c| (r, c))).enumerate() {
                    let value = place(r).zip(place(c)).map_or(Value::default(), |(r, c)| inverse[r * (r + 1) / 2 + c]);
                    case.expect(reduced::Invert::INVERSE, at + i, value);
                }
            }
        }
        case
    };
    vec![one(false, random), one(true, random)]
}

pub fn substitute(tables: &Tables, random: &mut Random) -> Vec<Case> {
    let one = |whole: bool, random: &mut Random| {
        let mut case = Case::new(StaticKernel::ReducedSubstitute, format!("width {}, whole {whole}", tables.list[1].width));
        let [product, gradient] = [(); 2].map(|()| random.vector(tables.vector_len));
        let inverse = random.vector(tables.blocks_len);
        case.reals(reduced::Substitute::PRODUCT, product.clone());
        case.reals(reduced::Substitute::GRADIENT, gradient.clone());
        case.reals(reduced::Substitute::INVERSE, inverse.clone());
        case.poisoned(reduced::Substitute::X, tables.vector_len);
        case.reals(reduced::Substitute::STATE, random_state(random, &[(SOLVED, 0.0), (ALWAYS, 0.0)]));
        let guard = if whole { ALWAYS } else { SOLVED };
        case.stop = (!whole).then_some((SOLVED, 1.0));
        for table in &tables.list {
            let [vector, width, block, _] = table.places();
            case.dispatch(table.items as u32, reduced::Substitute { vector, width, block, whole: u32::from(whole), guard });
            for variable in 0..table.items {
                let (unknown, at) = (table.vector + variable * table.width, table.block + variable * table.packed());
                for c in 0..table.width {
                    let value: Value = (0..table.width)
                        .map(|k| {
                            let right = Value::from(product[unknown + k]) + Value::from(if whole { gradient[unknown + k] } else { 0.0 });
                            Value::from(-entry(&inverse, at, c, k)) * right
                        })
                        .sum();
                    case.expect(reduced::Substitute::X, unknown + c, value);
                }
            }
        }
        case
    };
    vec![one(false, random), one(true, random)]
}

use super::{Table, Tables, entry};
use crate::twins::harness::{Case, random_state};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, pcg};
use leastwise::solve::state::DAMPING;

/// λ of the cases below.
pub const LAMBDA: f64 = 0.0625;

pub fn invert_blocks(tables: &Tables, random: &mut Random) -> Case {
    let mut case = Case::new(StaticKernel::PcgBlockJacobi, "");
    let mut blocks = random.vector(tables.blocks_len);
    let scale = random.positive(tables.vector_len);
    for table in &tables.list {
        for variable in 0..table.items {
            let block = &mut blocks[table.block + variable * table.packed()..][..table.packed()];
            // Every fifth is far from definite.
            if variable % 5 == 2 { indefinite(block, table.width, random) } else { definite(block, table.width, random) }
        }
    }
    case.reals(pcg::BlockJacobi::BLOCKS, blocks.clone());
    case.reals(pcg::BlockJacobi::SCALE, scale.clone());
    case.poisoned(pcg::BlockJacobi::INVERSE, tables.blocks_len);
    case.reals(pcg::BlockJacobi::STATE, random_state(random, &[(DAMPING, LAMBDA)]));
    case.bound = 2e-6;
    for table in &tables.list {
        case.dispatch(
            table.items as u32,
            pcg::BlockJacobi { vector: table.vector as u32, width: table.width as u32, block: table.block as u32 },
        );
        for variable in 0..table.items {
            let block = table.block + variable * table.packed();
            for (i, value) in inverse(table, variable, &blocks, &scale).into_iter().enumerate() {
                case.expect(pcg::BlockJacobi::INVERSE, block + i, value);
            }
        }
    }
    case
}

/// BᵀB + I/4.
pub fn definite(block: &mut [f64], width: usize, random: &mut Random) {
    let b: Vec<Vec<f64>> = (0..width).map(|_| random.vector(width)).collect();
    for r in 0..width {
        for c in 0..=r {
            let product: f64 = b.iter().map(|row| row[r] * row[c]).sum();
            block[r * (r + 1) / 2 + c] = f64::from((product + if r == c { 0.25 } else { 0.0 }) as f32);
        }
    }
}

/// Off the diagonal it is larger than on it. A width of 1 has only the sign to be wrong in.
fn indefinite(block: &mut [f64], width: usize, random: &mut Random) {
    for r in 0..width {
        for c in 0..=r {
            block[r * (r + 1) / 2 + c] = match (width, r == c) {
                (1, _) => random.within(-2.0, -1.0),
                (_, true) => random.within(0.5, 1.0),
                (_, false) => random.within(3.0, 4.0),
            };
        }
    }
}

/// The inverse of a block, or of its diagonal.
fn inverse(table: &Table, variable: usize, blocks: &[f64], scale: &[f64]) -> Vec<Value> {
    let width = table.width;
    let block = table.block + variable * table.packed();
    let damped = |r: usize, c: usize| {
        let diagonal = if r == c { LAMBDA * scale[table.vector + variable * width + r] } else { 0.0 };
        entry(blocks, block, r, c) + diagonal
    };
    let packed = || (0..width).flat_map(|r| (0..=r).map(move |c| (r, c)));
    if variable % 5 == 2 {
        let diagonal = |(r, c)| if r == c && damped(r, r) > 0.0 { (1.0 / damped(r, r)).into() } else { Value::default() };
        return packed().map(diagonal).collect();
    }
    gauss_jordan(width, damped)
}

/// By Gauss and Jordan with pivots, which has nothing in common with the kernels but the result: the packed inverse of a symmetric matrix.
pub fn gauss_jordan(width: usize, damped: impl Fn(usize, usize) -> f64) -> Vec<Value> {
    let packed = || (0..width).flat_map(|r| (0..=r).map(move |c| (r, c)));
    let mut rows: Vec<Vec<f64>> =
        (0..width).map(|r| (0..width).map(|c| damped(r, c)).chain((0..width).map(|c| f64::from(u8::from(r == c)))).collect()).collect();
    for c in 0..width {
        let pivot = (c..width).max_by(|a, b| rows[*a][c].abs().total_cmp(&rows[*b][c].abs())).expect("a row");
        rows.swap(c, pivot);
        let top = rows[c][c];
        rows[c].iter_mut().for_each(|value| *value /= top);
        let pivot = rows[c].clone();
        for (r, row) in rows.iter_mut().enumerate() {
            let factor = row[c];
            if r != c {
                row.iter_mut().zip(&pivot).for_each(|(value, pivot)| *value -= factor * pivot);
            }
        }
    }
    // Rounding is relative to the largest entry and to the condition.
    let norm = |entries: &mut dyn Iterator<Item = f64>| entries.map(|value| value * value).sum::<f64>().sqrt();
    let inverse_norm = norm(&mut rows.iter().flat_map(|row| row[width..].iter().copied()));
    let block_norm = norm(&mut packed().map(|(r, c)| damped(r, c)));
    let size = inverse_norm * (inverse_norm * block_norm).max(1.0);
    packed().map(|(r, c)| Value { value: rows[r][width + c], size }).collect()
}

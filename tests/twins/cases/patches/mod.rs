//! The coarse space of patches: its motions, its matrices, and the cycle.

mod cycle;
mod matrices;
mod motions;

pub use cycle::{couple, prolong, radius, restrict};
pub use matrices::{diagonal, frames, invert, multiply, pairs};
pub use motions::{centers, follow, modes, spins};

use crate::twins::value::{Random, Value};
use leastwise::program::NEGATIVE;
use leastwise::solve::state::SOLVED;

const NONE: u32 = u32::MAX;
const TURNED: u32 = 1 << 31;
const GUARD: Option<(u32, f64)> = Some((SOLVED, 1.0));
/// Rows of blocks.
const SIZES: [usize; 3] = [1, 3, 6];

/// Words with something in front that must not be read as a list.
struct Words(Vec<u32>);

impl Words {
    fn new() -> Self {
        Self(vec![NEGATIVE | 1; 3])
    }

    fn push(&mut self, words: &[u32]) -> u32 {
        self.0.extend(words);
        (self.0.len() - words.len()) as u32
    }

    /// Rows of entries: where their starts and they are.
    fn rows<const N: usize>(&mut self, rows: &[Vec<[u32; N]>]) -> [u32; 2] {
        let mut starts = vec![0];
        rows.iter().for_each(|row| starts.push(starts[starts.len() - 1] + row.len() as u32));
        let starts = self.push(&starts);
        let entries: Vec<u32> = rows.iter().flatten().flatten().copied().collect();
        [starts, self.push(&entries)]
    }
}

/// Rows of random entries, some of which are empty.
fn rows<const N: usize>(
    count: usize,
    most: u32,
    random: &mut Random,
    mut entry: impl FnMut(&mut Random) -> [u32; N],
) -> Vec<Vec<[u32; N]>> {
    (0..count).map(|_| (0..random.below(most + 1)).map(|_| entry(random)).collect()).collect()
}

/// Lanes for rows that workgroups share, and how many of these an element of a row has.
fn shared(count: usize, width: usize, group: usize, random: &mut Random) -> (u32, u32) {
    let most = group / width;
    let slots = if random.below(3) == 0 { most } else { 1 + random.below(most as u32) as usize };
    ((count.div_ceil(group / (width * slots)) * group) as u32, slots as u32)
}

/// The patch of each of `count`, or none.
fn owners(count: usize, patches: u32, random: &mut Random) -> Vec<u32> {
    (0..count).map(|_| if random.below(5) == 0 { NONE } else { random.below(patches) }).collect()
}

/// An entry of a block, which may be meant transposed.
fn of_block(blocks: &[f64], number: u32, size: usize, r: usize, c: usize) -> Value {
    let (r, c) = if number & TURNED == 0 { (r, c) } else { (c, r) };
    blocks[(number & !TURNED) as usize * size * size + r * size + c].into()
}

/// Displacement along a coordinate by a turn about an axis: e × arm, written out.
fn spin(arm: &[Value], component: usize, axis: usize) -> Value {
    match (arm.len(), component, axis) {
        (2, 0, _) => -arm[1],
        (2, ..) => arm[0],
        (_, 0, 1) => arm[2],
        (_, 0, 2) => -arm[1],
        (_, 1, 0) => -arm[2],
        (_, 1, 2) => arm[0],
        (_, 2, 0) => arm[1],
        (_, 2, 1) => -arm[0],
        _ => Value::default(),
    }
}

//! Trellis-coded quantisation with a shift register (Tseng et al., "QTIP", 2024; Marcellin and Fischer, 1990).
//!
//! A sequence of normal values becomes a sequence of bits, k for a value, where k may differ from value to value. What a
//! value is decoded to is looked up by the last [`window`](Trellis) bits, so that neighbouring values share bits, and the
//! encoder looks for the best of all sequences (Viterbi's algorithm over 2^window states). With 10 bits this comes within
//! 0.6 (k = 1) to 1.6 dB (k = 6) of the rate-distortion bound 6.02·k dB, 1 to 2.7 dB better than Lloyd and Max's
//! scalar quantiser; decoding stays one look-up a value.
//!
//! Of a state's bits the newest k choose among 2^k levels spread over the whole distribution, and the older ones by how
//! much these are shifted: every state has a good scalar quantiser of its own.

use super::normal::quantile;

/// Most bits a value: beyond, the gain over scalar levels is not worth the states.
pub const MOST_BITS: u32 = 6;

/// How wide the levels are spread, in standard deviations, by bits a value: found by search on normal samples.
const SPREAD: [f64; MOST_BITS as usize + 1] = [0.0, 0.9, 1.05, 1.15, 1.15, 1.25, 1.25];

/// What a state costs that no sequence has come to.
const UNREACHABLE: f32 = 1e30;

/// Levels of all states of one window, by bits a value.
pub struct Trellis {
    window: u32,
    levels: Vec<Vec<f32>>,
}

/// One value of a sequence: its bits, and what an error of it (in standard deviations) costs, as a root.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Bits of the value.
    pub bits: u32,
    /// Factor of the value's level in the error.
    pub weight: f32,
}

/// What the encoder works in; kept from sequence to sequence.
#[derive(Default)]
pub struct Workspace {
    /// As bits.
    costs: Vec<u32>,
    next: Vec<u32>,
    best: Vec<u32>,
    /// For every step and every group of states that share their predecessors, which of these it was.
    from: Vec<u8>,
}

impl Trellis {
    /// The trellis with states of `window` bits.
    pub fn new(window: u32) -> Self {
        let levels = (0..=MOST_BITS).map(|bits| if bits == 0 { Vec::new() } else { levels(window, bits) }).collect();
        Self { window, levels }
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.levels.iter().map(|levels| 4 * levels.capacity()).sum()
    }

    /// What each of the 2^window states decodes to, in standard deviations, at a value of so many bits.
    pub fn levels(&self, bits: u32) -> &[f32] {
        &self.levels[bits as usize]
    }

    /// The states of the sequence that decodes nearest to `values`, Σ(valueᵢ − weightᵢ·level)², from state 0, or
    /// from whatever state is best where the start is `free`.
    #[inline(always)]
    pub fn encode(
        &self,
        steps: impl DoubleEndedIterator<Item = Step> + Clone,
        values: &[f32],
        free: bool,
        space: &mut Workspace,
        states: &mut [u32],
    ) {
        let count = 1_usize << self.window;
        let Workspace { costs, next, best, from } = space;
        costs.clear();
        costs.resize(count, if free { 0 } else { UNREACHABLE.to_bits() });
        costs[0] = 0;
        next.resize(count, 0);
        best.resize(count, 0);
        from.resize(steps.clone().map(|step| count >> step.bits).sum(), 0);
        let mut start = 0;
        for (step, &value) in steps.clone().zip(values) {
            let (levels, from) = (self.levels(step.bits), &mut from[start..]);
            match step.bits {
                1 => advance::<2>(value, step.weight, levels, costs, next, best, from),
                2 => advance::<4>(value, step.weight, levels, costs, next, best, from),
                3 => advance::<8>(value, step.weight, levels, costs, next, best, from),
                4 => advance::<16>(value, step.weight, levels, costs, next, best, from),
                5 => advance::<32>(value, step.weight, levels, costs, next, best, from),
                _ => advance::<64>(value, step.weight, levels, costs, next, best, from),
            }
            std::mem::swap(costs, next);
            start += count >> step.bits;
        }
        let mut state = 0;
        for (candidate, &cost) in costs.iter().enumerate() {
            if cost < costs[state] {
                state = candidate;
            }
        }
        for (step, place) in steps.rev().zip(states.iter_mut().rev()) {
            *place = state as u32;
            start -= count >> step.bits;
            let older = state >> step.bits;
            state = usize::from(from[start + older]) << (self.window - step.bits) | older;
        }
    }
}

/// One step of Viterbi's algorithm. The newest bits are a state's lowest: state s comes from those whose lower bits are
/// s >> K, one for each value of the K bits that drop out. Costs are not negative, so that their bits are ordered as they are,
/// and the lowest K can tell the predecessor.
// Apart in WebAssembly, as `columns` are.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
fn advance<const BRANCHES: usize>(
    value: f32,
    weight: f32,
    levels: &[f32],
    costs: &[u32],
    next: &mut [u32],
    best: &mut [u32],
    from: &mut [u8],
) {
    let groups = costs.len() / BRANCHES;
    let (best, from) = (&mut best[..groups], &mut from[..groups]);
    let kept = !(BRANCHES as u32 - 1);
    best.fill(u32::MAX);
    for (pair, costs) in costs.chunks_exact(2 * groups).enumerate() {
        let (even, odd) = costs.split_at(groups);
        let branch = 2 * pair as u32;
        for ((best, even), odd) in best.iter_mut().zip(even).zip(odd) {
            *best = (*best).min((even & kept | branch).min(odd & kept | (branch + 1)));
        }
    }
    for (from, best) in from.iter_mut().zip(&*best) {
        *from = (best & !kept) as u8;
    }
    for (next, best) in next.as_chunks_mut::<BRANCHES>().0.iter_mut().zip(&*best) {
        *next = [best & kept; BRANCHES];
    }
    for (next, level) in next.iter_mut().zip(levels) {
        let error = value - level * weight;
        *next = (f32::from_bits(*next) + error * error).to_bits();
    }
}

fn levels(window: u32, bits: u32) -> Vec<f32> {
    let count = 1_u32 << window;
    let shift_bits = window - bits;
    let level = |state: u32| {
        let (newest, older) = (state & ((1 << bits) - 1), state >> bits);
        let rank = (newest ^ older.wrapping_mul(0xC2B2_AE35) >> 7 & ((1 << bits) - 1)) << shift_bits | scramble(older, shift_bits);
        (SPREAD[bits as usize] * quantile((f64::from(rank) + 0.5) / f64::from(count))) as f32
    };
    (0..count).map(level).collect()
}

/// A permutation of the numbers of so many bits, which takes 0, where sequences start, to the middle.
fn scramble(number: u32, bits: u32) -> u32 {
    if bits == 0 {
        return 0;
    }
    let mask = (1 << bits) - 1;
    let mut mixed = number;
    for factor in [0x9E37_79B1_u32, 0x85EB_CA6B] {
        mixed = mixed.wrapping_mul(factor) & mask;
        mixed ^= mixed >> bits.div_ceil(2);
    }
    mixed ^ 1 << (bits - 1)
}

//! Tapes that nobody wrote: whatever the words are, reading, differentiating and writing programs ends, soon, without a
//! panic and within bounds.

use super::engine::GUARDS;
use super::generate::sample;
use super::traced::{Input, Origin, Traced};
use crate::support::Random;
use leastwise::device::cpu::block::BlockProgram;
use leastwise::expr::tape::{self, Entries, Optional};
use leastwise::expr::{Graph, Opcode};
use leastwise::program::ResidualPrograms;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// No tape of this length may take longer, in seconds.
const PATIENCE: f64 = 10.0;

struct Tape {
    traced: Traced,
    words: Vec<u32>,
    outputs: Vec<u32>,
}

/// How many tapes were read, of how many.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub tapes: u64,
    pub read: u64,
}

/// Tries the tape of a seed.
///
/// # Panics
/// When the engine does, or takes too long; the message has the words.
pub fn attack(seed: u64, tally: &mut Tally) {
    let tape = tape(&mut Random::new(seed));
    let start = Instant::now();
    let read = catch_unwind(AssertUnwindSafe(|| swallow(&tape)));
    let Tape { words, outputs, traced } = &tape;
    let context = || format!("seed {seed}: words {words:?}, outputs {outputs:?}, inputs {:?}", traced.inputs);
    let Ok(read) = read else { panic!("{}", context()) };
    assert!(start.elapsed().as_secs_f64() < PATIENCE, "{:?}: {}", start.elapsed(), context());
    tally.tapes += 1;
    tally.read += u64::from(read);
}

/// All that becomes of a tape before a device sees it. Whether it is one.
fn swallow(tape: &Tape) -> bool {
    let Tape { traced, words, outputs } = tape;
    let sources = traced.sources();
    // Some sources taken for entries that may be missing.
    let optional = Optional { first: 1, each: 1, required: 0, mask: 0 };
    // What they give is the same as of `read`, or refused as well.
    let _ = tape::lift(words);
    let _ = tape::read_masked(&mut Graph::new(), words, outputs, &sources, optional);
    let entries = Entries { sum: sources.len() as u32, slot: 1, column: 0 };
    let _ = tape::read_summed(&mut Graph::new(), words, outputs, &sources, entries);
    let _ = tape::read_lifted(&mut Graph::new(), words, outputs, &sources);
    let mut graph = Graph::new();
    let Ok(residual) = tape::read(&mut graph, words, outputs, &sources) else { return false };
    let canonical = graph.canonical(&residual, |_| 0);
    let (rebuilt, rows) = canonical.rebuild(residual.len(), |leaf| canonical.leaves[leaf as usize]);
    let programs = ResidualPrograms::new("hostile", rebuilt, &rows, &super::engine::signature(traced, true), GUARDS);
    let ResidualPrograms { linearize, energy, change, gradient, product, diagonal, .. } = &programs;
    for program in [linearize, energy, change, gradient, product, diagonal] {
        BlockProgram::new(program);
    }
    true
}

fn tape(random: &mut Random) -> Tape {
    match random.below(3) {
        0 => random_words(random),
        _ => damaged(random),
    }
}

/// Heads that mostly exist, references that mostly lead back.
fn random_words(random: &mut Random) -> Tape {
    let inputs = [1, 3, 9, 4].map(|width| Input { origin: Origin::Variable, width }).to_vec();
    let mut words = Vec::new();
    let mut values = 0;
    for _ in 0..random.below(24) {
        let opcode = random.below(Opcode::TABLE.len() as u64 + 1) as u32;
        let count = [1, 2, 2, 3, 4, 9][random.below(6) as usize];
        words.push(opcode | count << 16);
        let count = if random.below(60) == 0 { random.below(5) as u32 } else { count };
        words.extend((0..count).map(|_| match random.below(40) {
            0 => random.next() as u32,
            1 => u32::MAX,
            2 => values + 1,
            _ => random.below(u64::from(values.max(1))) as u32,
        }));
        values += 1;
    }
    let outputs = (0..random.below(4)).map(|_| random.below(u64::from(values) + 1) as u32).collect();
    Tape { traced: Traced { inputs, ..Traced::default() }, words, outputs }
}

/// A valid tape with bits, words or ends that are not.
fn damaged(random: &mut Random) -> Tape {
    let traced = sample(random, 1, 10).traced;
    let mut words = traced.words();
    let mut outputs = traced.outputs.clone();
    for _ in 0..random.below(4) {
        let place = random.below(words.len() as u64) as usize;
        match random.below(8) {
            0 => words.truncate(place.max(1)),
            1 => words[place] ^= 1 << random.below(32),
            2 => words[place] = random.next() as u32,
            3 => words[place] = words[random.below(words.len() as u64) as usize],
            4 => drop(words.remove(place)),
            5 => words.insert(place, random.below(100) as u32),
            6 => words[place] = (words[place] & !0xffff) | random.below(Opcode::TABLE.len() as u64) as u32,
            _ => words.extend_from_within(..),
        }
        if words.is_empty() {
            words.push(0);
        }
    }
    if random.below(4) == 0 {
        outputs.push(random.below(words.len() as u64) as u32);
    }
    Tape { traced, words, outputs }
}

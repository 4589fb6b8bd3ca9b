use super::{DIMENSIONS, row};
use crate::twins::harness::{Case, POISONED_WORD, random_state};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, clustering::anneal};
use leastwise::program::state::cluster::NUDGE;

/// "pcg" (Jarzynski & Olano 2020) modulo 2³², as a number between −1 and 1.
fn noise(seed: u32, pair: usize, k: usize) -> f64 {
    const WORDS: u64 = 1 << 32;
    let word = (pair as u64 * 2_654_435_769 % WORDS) ^ ((u64::from(seed) * 747_796_405 + k as u64) % WORDS);
    let state = (word * 747_796_405 + 2_891_336_453) % WORDS;
    let word = ((state >> ((state >> 28) + 4)) ^ state) * 277_803_737 % WORDS;
    ((word >> 22) ^ word) as f64 / (WORDS / 2) as f64 - 1.0
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum What {
    Measure,
    Split,
    Join,
}

pub fn pairs(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    [What::Measure, What::Split, What::Join].map(|what| one(size, what, group, random)).into()
}

fn one(size: usize, what: What, group: usize, random: &mut Random) -> Case {
    // A workgroup each.
    let pairs = size.min(140);
    let dimensions = if size <= 65 && random.below(4) == 0 { group + 3 } else { DIMENSIONS[random.below(5) as usize] };
    let mut anchors = random.vector(2 * pairs * dimensions);
    for pair in (0..pairs).filter(|pair| pair % 3 == 1) {
        // One place.
        let first = 2 * pair * dimensions;
        anchors.copy_within(first..first + dimensions, first + dimensions);
    }
    let first_step = 4;
    let steps: Vec<f64> = random.vector(first_step + pairs);
    let splits: Vec<usize> = (0..pairs).filter(|pair| steps[first_step + pair] > 0.0).collect();
    // Behind all others, in any order.
    let mut places: Vec<u32> = (pairs..pairs + splits.len()).map(|place| place as u32).collect();
    random.shuffle(&mut places);
    let mut others = vec![POISONED_WORD; pairs];
    splits.iter().zip(places).for_each(|(pair, place)| others[*pair] = place);
    let seed = random.below(u32::MAX);
    let nudge = random.within(1e-3, 0.1);
    let mut case = Case::new(StaticKernel::ClusteringAnnealPairs, format!("{what:?} {pairs} pairs, dimension {dimensions}"));
    case.bound = 3e-6;
    case.dispatch(
        (pairs * group) as u32,
        anneal::Pairs { dimensions: dimensions as u32, mode: what as u32, seed, step: first_step as u32 },
    );
    case.reals(anneal::Pairs::STATE, random_state(random, &[(NUDGE, nudge)]));
    case.reals(anneal::Pairs::STEPS, steps.clone());
    case.poisoned(anneal::Pairs::PAIRS, 2 * (pairs + splits.len()) * dimensions);
    case.poisoned(anneal::Pairs::MEASURES, pairs + 2);
    case.indices(others.clone());
    let spread = nudge * (3.0 / dimensions as f64).sqrt();
    let anew = |pair: usize, k: usize| Value { value: spread * noise(seed, pair, k), size: spread };
    for pair in 0..pairs {
        let [a, b] = [2 * pair, 2 * pair + 1].map(|number| row(&anchors, number, dimensions));
        let half = |k: usize| Value::from((a[k] - b[k]) / 2.0);
        let length = (0..dimensions).map(|k| half(k) * half(k)).sum::<Value>().sqrt();
        let place = |case: &mut Case, pair: usize, k: usize, middle: Value, step: Value| {
            case.expect(anneal::Pairs::PAIRS, 2 * pair * dimensions + k, middle + step);
            case.expect(anneal::Pairs::PAIRS, (2 * pair + 1) * dimensions + k, middle - step);
        };
        for k in 0..dimensions {
            let middle = (Value::from(a[k]) + b[k].into()) / 2.0.into();
            let along = if length.value > 0.0 { half(k) / length } else { Value::default() };
            match what {
                What::Join => case.expect(anneal::Pairs::PAIRS, pair * dimensions + k, middle),
                What::Measure => {
                    let step = if length.value > 0.0 { along * nudge.into() } else { anew(pair, k) };
                    place(&mut case, pair, k, middle, step);
                }
                What::Split if steps[first_step + pair] > 0.0 => {
                    let (step, other) = (along * steps[first_step + pair].into(), others[pair] as usize);
                    place(&mut case, pair, k, middle + step, anew(pair, k));
                    place(&mut case, other, k, middle - step, anew(other, k));
                }
                What::Split => place(&mut case, pair, k, middle, half(k)),
            }
        }
        if what == What::Measure {
            case.expect(anneal::Pairs::MEASURES, pair, length / nudge.into());
        }
    }
    case.reals(anneal::Pairs::ANCHORS, anchors);
    case
}

//! The cycle: smoothing on the coarse level, its spectral radius, restriction and prolongation.

use super::super::Spread;
use super::{GUARD, NONE, SIZES, TURNED, Words, of_block, owners, rows, shared};
use crate::twins::harness::{Case, random_state};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, two_level};
use leastwise::solve::state::{ALWAYS, SOLVED};

pub fn couple(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let one = |rows_of_block: usize, both: bool, random: &mut Random| {
        let (area, known, count) = (rows_of_block * rows_of_block, 20, size.div_ceil(rows_of_block));
        let [left, right] = [(); 2].map(|()| random.vector(known * area));
        let [x, z] = [(); 2].map(|()| random.vector(30 * rows_of_block));
        let list = |random: &mut Random| {
            rows(count, 5, random, |random| [random.below(known as u32) | if random.below(2) == 0 { TURNED } else { 0 }, random.below(30)])
        };
        let (first, second) = (list(random), list(random));
        let mut words = Words::new();
        let [starts, entries] = words.rows(&first);
        let [other_starts, other_entries] = words.rows(&second);
        let guard = if both { SOLVED } else { ALWAYS };
        let mut case = Case::new(StaticKernel::TwoLevelCouple, format!("{rows_of_block} rows, both {both}"));
        case.stop = Some((guard, 1.0));
        case.reals(two_level::Couple::LEFT, left.clone());
        case.reals(two_level::Couple::X, x.clone());
        case.reals(two_level::Couple::RIGHT, right.clone());
        case.reals(two_level::Couple::Z, z.clone());
        case.reals(two_level::Couple::STATE, random_state(random, &[(guard, 0.0)]));
        case.poisoned(two_level::Couple::Y, count * rows_of_block);
        case.indices(words.0);
        let (lanes, slots) = shared(count, rows_of_block, group, random);
        case.dispatch(
            lanes,
            two_level::Couple {
                rows: rows_of_block as u32,
                guard,
                starts,
                entries,
                other_starts,
                other_entries,
                has_other: u32::from(both),
                nodes: count as u32,
                slots,
            },
        );
        for place in 0..count {
            for r in 0..rows_of_block {
                let of = |list: &[[u32; 2]], blocks: &[f64], vector: &[f64]| {
                    let term = |&[block, column]: &[u32; 2]| {
                        let entry =
                            |k: usize| of_block(blocks, block, rows_of_block, r, k) * vector[column as usize * rows_of_block + k].into();
                        (0..rows_of_block).map(entry).sum::<Value>()
                    };
                    list.iter().map(term).sum::<Value>()
                };
                let mut value = of(&first[place], &left, &x);
                if both {
                    value = value + of(&second[place], &right, &z);
                }
                case.expect(two_level::Couple::Y, place * rows_of_block + r, value);
            }
        }
        case
    };
    vec![one(6, true, random), one(3, false, random), one(1, true, random), one(6, false, random)]
}

pub fn radius(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |along: f64, across: f64, random: &mut Random| {
        let v = random.vector(size.max(1));
        let part =
            |sign: f64, random: &mut Random| v.iter().map(|v| f64::from((sign * v * random.within(0.5, 1.0)) as f32)).collect::<Vec<_>>();
        let (product, u) = (part(along, random), part(across, random));
        let mut case = Case::of_one_group(StaticKernel::TwoLevelSpectralRadius, format!("along {along}, across {across}"));
        case.dispatch(1, two_level::SpectralRadius { elements: size as u32 });
        let dot = |other: &[f64]| v.iter().zip(other).take(size).map(|(a, b)| Value::from(*a) * (*b).into()).sum::<Value>();
        let (above, below) = (dot(&product), dot(&u));
        let known = above.value > 0.0 && below.value > 0.0;
        let value = if known { above / below } else { 2.0.into() };
        case.reals(two_level::SpectralRadius::V, v.clone());
        case.reals(two_level::SpectralRadius::PRODUCT, product);
        case.reals(two_level::SpectralRadius::U, u);
        case.poisoned(two_level::SpectralRadius::RADIUS, 1);
        case.expect(two_level::SpectralRadius::RADIUS, 0, if value.value < 1.0 { 1.0.into() } else { value });
        case
    };
    vec![one(4.0, 1.0, random), one(0.25, 1.0, random), one(-1.0, 1.0, random), one(1.0, 0.0, random)]
}

pub fn restrict(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let one = |columns: usize, random: &mut Random| {
        let (unknowns, patches) = (120, size.div_ceil(columns));
        let (modes, residual) = (random.vector(unknowns * columns), random.vector(unknowns));
        let members = rows(patches, 8, random, |random| [random.below(unknowns as u32)]);
        let mut words = Words::new();
        let [starts, entries] = words.rows(&members);
        let mut case = Case::new(StaticKernel::TwoLevelPatchRestrict, format!("{columns} motions"));
        case.stop = GUARD;
        case.reals(two_level::PatchRestrict::MODES, modes.clone());
        case.reals(two_level::PatchRestrict::RESIDUAL, residual.clone());
        case.reals(two_level::PatchRestrict::STATE, random_state(random, &[(SOLVED, 0.0)]));
        case.poisoned(two_level::PatchRestrict::COARSE, patches * columns);
        case.indices(words.0);
        let (lanes, slots) = shared(patches, columns, group, random);
        let args = two_level::PatchRestrict { modes: columns as u32, starts, members: entries, patches: patches as u32, slots };
        case.dispatch(lanes, args);
        for (place, row) in members.iter().enumerate() {
            for column in 0..columns {
                let of =
                    |[unknown]: &[u32; 1]| Value::from(modes[*unknown as usize * columns + column]) * residual[*unknown as usize].into();
                case.expect(two_level::PatchRestrict::COARSE, place * columns + column, row.iter().map(of).sum::<Value>());
            }
        }
        case
    };
    SIZES.map(|columns| one(columns, random)).to_vec()
}

pub fn prolong(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let one = |columns: usize, starts: bool, random: &mut Random| {
        let patches = 12;
        let [residual, z] = [(); 2].map(|()| random.vector(size));
        let (modes, coarse) = (random.vector(size * columns), random.vector(patches * columns));
        let owners = owners(size, patches as u32, random);
        let mut words = Words::new();
        let place = words.push(&owners);
        let spread = Spread::new(size, group, random);
        let (first, maxima) = (2, if starts { 2 + spread.groups + 3 } else { 0 });
        let mut case = Case::new(StaticKernel::TwoLevelPatchProlong, format!("{columns} motions, at the start {starts}"));
        case.stop = GUARD;
        case.reals(two_level::PatchProlong::RESIDUAL, residual.clone());
        case.reals(two_level::PatchProlong::MODES, modes.clone());
        case.reals(two_level::PatchProlong::COARSE, coarse.clone());
        case.reals(two_level::PatchProlong::Z, z.clone());
        case.reals(two_level::PatchProlong::STATE, random_state(random, &[(SOLVED, 0.0)]));
        case.poisoned(two_level::PatchProlong::PARTIALS, 2 * spread.groups + 8);
        case.indices(words.0);
        case.dispatch(
            spread.lanes(),
            two_level::PatchProlong {
                unknowns: size as u32,
                modes: columns as u32,
                partial: first as u32,
                patches: place,
                maxima: maxima as u32,
            },
        );
        for (group, elements) in spread.each() {
            let mut rz = Value::default();
            for i in elements.filter(|i| owners[*i] != NONE) {
                let of = |k: usize| Value::from(modes[i * columns + k]) * coarse[owners[i] as usize * columns + k].into();
                let value: Value = (0..columns).map(of).sum();
                case.expect(two_level::PatchProlong::Z, i, Value::from(z[i]) + value);
                rz = rz + Value::from(residual[i]) * value;
            }
            case.expect(two_level::PatchProlong::PARTIALS, first + group, rz);
            if starts {
                case.expect(two_level::PatchProlong::PARTIALS, maxima + group, 0.0);
            }
        }
        case
    };
    vec![one(6, false, random), one(3, true, random), one(1, false, random)]
}

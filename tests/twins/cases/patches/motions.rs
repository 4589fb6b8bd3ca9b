//! Motions of patches: centers, modes, spins, and what follows a step.

use super::super::entry;
use super::super::mask::free;
use super::{NONE, Words, owners, rows, spin};
use crate::twins::harness::Case;
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, two_level};

pub fn centers(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |width: usize, random: &mut Random| {
        let points = random.vector(200);
        let members = rows(size.div_ceil(width), 9, random, |random| [random.below(200 - width as u32)]);
        let mut words = Words::new();
        let [starts, entries] = words.rows(&members);
        let mut case = Case::new(StaticKernel::TwoLevelPatchCenters, format!("{width} coordinates"));
        case.reals(two_level::PatchCenters::POINTS, points.clone());
        case.poisoned(two_level::PatchCenters::CENTERS, members.len() * width);
        case.indices(words.0);
        case.dispatch((members.len() * width) as u32, two_level::PatchCenters { coordinates: width as u32, starts, members: entries });
        for (number, row) in members.iter().enumerate() {
            for k in 0..width {
                let sum: Value = row.iter().map(|[point]| Value::from(points[*point as usize + k])).sum();
                case.expect(two_level::PatchCenters::CENTERS, number * width + k, sum / (row.len().max(1) as f64).into());
            }
        }
        case
    };
    vec![one(2, random), one(3, random)]
}

pub fn modes(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |coordinates: usize, width: usize, masked: bool, random: &mut Random| {
        let (variables, patches) = (size.div_ceil(width), 7);
        let (columns, first) = if coordinates == 0 { (6, 6 - width) } else { (coordinates * (coordinates + 1) / 2, 0) };
        let (arena, vector) = (5, 4);
        let points = random.vector(arena + variables * width);
        let centers = random.vector(patches * coordinates.max(1));
        let free = free(vector + variables * width, random);
        let owners = owners(variables, patches as u32, random);
        let mut words = Words::new();
        let place = words.push(&owners);
        let mut case = Case::new(StaticKernel::TwoLevelPatchModes, format!("{coordinates} coordinates, width {width}, masked {masked}"));
        case.reals(two_level::PatchModes::ARENA, points.clone());
        case.reals(two_level::PatchModes::CENTERS, centers.clone());
        case.reals(two_level::PatchModes::FREE, free.clone());
        case.poisoned(two_level::PatchModes::MODES, (vector + variables * width + 2) * columns);
        case.indices(words.0);
        let args = two_level::PatchModes {
            arena: arena as u32,
            vector: vector as u32,
            width: width as u32,
            modes: columns as u32,
            column: first as u32,
            coordinates: coordinates as u32,
            masked: u32::from(masked),
            patches: place,
        };
        case.dispatch((variables * width) as u32, args);
        for i in 0..variables * width {
            let (variable, component) = (i / width, i % width);
            let moves = owners[variable] != NONE && !(masked && free[vector + i] == 0.0);
            for column in 0..columns {
                let value = match column.checked_sub(coordinates) {
                    _ if !moves => Value::default(),
                    Some(axis) if coordinates > 0 => {
                        let arm = |k: usize| {
                            Value::from(points[arena + variable * width + k]) - centers[owners[variable] as usize * coordinates + k].into()
                        };
                        spin(&(0..coordinates).map(arm).collect::<Vec<_>>(), component, axis)
                    }
                    _ => f64::from(u8::from(column == first + component)).into(),
                };
                case.expect(two_level::PatchModes::MODES, (vector + i) * columns + column, value);
            }
        }
        case
    };
    vec![one(3, 3, false, random), one(2, 2, true, random), one(0, 4, false, random), one(3, 3, true, random)]
}

pub fn spins(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |width: usize, axis: usize, random: &mut Random| {
        let (unknowns, arena, vector) = (size.div_ceil(width) * width, 3, 6);
        let points = random.vector(arena + unknowns);
        let mut case = Case::new(StaticKernel::TwoLevelPatchSpin, format!("axis {axis} of {width} coordinates"));
        case.reals(two_level::PatchSpin::ARENA, points.clone());
        case.poisoned(two_level::PatchSpin::MOTION, vector + unknowns);
        case.dispatch(
            unknowns as u32,
            two_level::PatchSpin { arena: arena as u32, vector: vector as u32, coordinates: width as u32, axis: axis as u32 },
        );
        for i in 0..unknowns {
            let arm: Vec<Value> = (0..width).map(|k| points[arena + i / width * width + k].into()).collect();
            case.expect(two_level::PatchSpin::MOTION, vector + i, spin(&arm, i % width, axis));
        }
        case
    };
    vec![one(2, 0, random), one(3, 0, random), one(3, 1, random), one(3, 2, random)]
}

pub fn follow(size: usize, random: &mut Random) -> Vec<Case> {
    let one = |width: usize, random: &mut Random| {
        let (vector, block, columns, column, packed) = (3, 2, 6, 4, width * (width + 1) / 2);
        let variables = size.min(5000);
        let (inverse, product) = (random.vector(block + variables * packed), random.vector(vector + variables * width));
        let owners = owners(variables, 9, random);
        let mut words = Words::new();
        let place = words.push(&owners);
        let mut case = Case::new(StaticKernel::TwoLevelPatchFollow, format!("width {width}"));
        case.reals(two_level::PatchFollow::INVERSE, inverse.clone());
        case.reals(two_level::PatchFollow::PRODUCT, product.clone());
        case.poisoned(two_level::PatchFollow::MODES, (vector + variables * width) * columns);
        case.indices(words.0);
        let args = two_level::PatchFollow {
            vector: vector as u32,
            width: width as u32,
            block: block as u32,
            modes: columns as u32,
            column: column as u32,
            patches: place,
        };
        case.dispatch(variables as u32, args);
        for i in 0..variables {
            for c in 0..width {
                let of = |k: usize| Value::from(entry(&inverse, block + i * packed, c, k)) * product[vector + i * width + k].into();
                let value = if owners[i] == NONE { Value::default() } else { -(0..width).map(of).sum::<Value>() };
                case.expect(two_level::PatchFollow::MODES, (vector + i * width + c) * columns + column, value);
            }
        }
        case
    };
    vec![one(1, random), one(3, random)]
}

//! First halves of products of several batches, on the CPU: each part as it would be by itself.

use super::{BlockProgram, TileProgram};
use crate::bindings::Slot;
use crate::real::Real;
use crate::{Bindings, Evaluator, Workgroups};
use leastwise_program::{HalfProduct, MergedPart, MergedProgram};
use leastwise_recording::{Access, Params, binding::*};

/// The products of a [`MergedProgram`].
pub struct MergedTiles {
    programs: Vec<Half>,
}

/// The first half of a product, and what it does with each slot.
enum Half {
    Instances(BlockProgram, [Access; COUNT]),
    Owners(TileProgram, [Access; COUNT]),
}

impl MergedTiles {
    /// The interpreter's forms of all programs.
    pub fn new(merged: &MergedProgram) -> Self {
        let half = |half: &HalfProduct| match half {
            HalfProduct::Instances(program) => Half::Instances(BlockProgram::new(program), half.access()),
            HalfProduct::Owners(owner) => Half::Owners(TileProgram::new(owner), half.access()),
        };
        Self { programs: merged.programs.iter().map(half).collect() }
    }

    /// Computes the workgroups of `work`, part by part.
    pub fn run<R: Real>(&self, work: &Workgroups, mut bindings: Bindings<R>) {
        let words = bindings.words(INDEX);
        let [arena, data, vector_in, jacobian, state] = [ARENA, DATA, VECTOR_IN, JACOBIAN, STATE].map(|slot| bindings.read(slot));
        let [out, vectors] = [VECTOR_OUT, PARTIALS].map(|slot| bindings.write(slot));
        let mut group = work.groups.start;
        while group < work.groups.end {
            let line = words[group as usize];
            let part = MergedPart::of(&words[line as usize..]);
            let same = words[group as usize..work.groups.end as usize].iter().take_while(|of| **of == line).count() as u32;
            let (access, arguments) = match &self.programs[part.program as usize] {
                Half::Instances(_, access) => (access, work.params.words),
                Half::Owners(_, access) => (access, part.owner_arguments()),
            };
            let slots = std::array::from_fn(|slot| match slot {
                _ if access[slot] == Access::Unused => Slot::Empty,
                INDEX => Slot::Index(&words[part.index as usize..]),
                ARENA => Slot::Read(arena),
                DATA => Slot::Read(&data[part.data as usize..]),
                VECTOR_IN => Slot::Read(vector_in),
                JACOBIAN => Slot::Read(&jacobian[part.jacobian as usize..]),
                STATE => Slot::Read(state),
                _ => Slot::Empty,
            });
            let mut bindings = Bindings { slots };
            if access[VECTOR_OUT] != Access::Unused {
                bindings.slots[VECTOR_OUT] = Slot::Write(&mut out[part.columns as usize..]);
            }
            if access[PARTIALS] != Access::Unused {
                bindings.slots[PARTIALS] = Slot::Write(&mut vectors[part.vector as usize..]);
            }
            let first = group - part.first;
            let params = Params { count: part.instances, words: arguments, ..work.params };
            let of_part = Workgroups { params, group_size: work.group_size, groups: first..first + same };
            match &self.programs[part.program as usize] {
                Half::Instances(program, _) => program.run(&of_part, bindings, Evaluator::Interpreted),
                Half::Owners(program, _) => program.run(&of_part, bindings, Evaluator::Interpreted),
            }
            group += same;
        }
    }
}

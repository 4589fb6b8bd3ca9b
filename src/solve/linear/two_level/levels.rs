//! Numbers of the levels above the patches: their matrices, their smoothers, their spectral radii, and cycles as one matrix.

use super::buffers::{FullBuffers, LevelBuffers, List, Matrix};
use super::{ADD, PLAIN, POWER_STEPS, RELAX, SMOOTH, Share, TWICE, TwoLevel};
use crate::{Workspace, state};
use leastwise_device::{Command, Dispatch, Slice};
use leastwise_kernels::two_level;

impl TwoLevel {
    pub(super) fn invert(&self, work: &Workspace, matrix: &Matrix, commands: &mut Vec<Command>) {
        commands.push(self.fixed(
            two_level::InvertNodes { rows: self.space.motions },
            matrix.nodes,
            two_level::InvertNodesBindings { blocks: matrix.values, inverse: matrix.inverse, state: work.state },
        ));
    }

    /// The cycle's matrices of a level, and the matrix of the one above.
    pub(super) fn set_up_level(&self, work: &Workspace, level: &LevelBuffers, above: &Matrix, commands: &mut Vec<Command>) {
        let (size, coordinates) = (self.space.motions, self.space.coordinates);
        let (matrix, lists, own) = (&level.matrix, &level.lists, level.matrix.lists);
        self.invert(work, matrix, commands);
        let below = self.levels.iter().position(|other| std::ptr::eq(other, level)).and_then(|place| place.checked_sub(1));
        let centers = below.map_or(self.centers, |place| self.levels[place].centers);
        if coordinates > 0 {
            commands.push(self.fixed(
                two_level::PatchCenters { coordinates, starts: level.children.starts, members: level.children.entries },
                above.nodes * coordinates,
                two_level::PatchCentersBindings { table: own, points: centers, centers: level.centers },
            ));
        }
        commands.push(self.fixed(
            two_level::CoarseFrames { rows: size, coordinates, parents: level.parents },
            matrix.nodes * size * size,
            two_level::CoarseFramesBindings { centers, table: own, above: level.centers, frames: level.frames },
        ));
        let multiply = |list: &List, blocks: [Slice; 4], mode: u32| self.multiply(work, level, list, blocks, mode);
        let (a, inverse) = (matrix.values, matrix.inverse);
        commands.push(multiply(&lists.scaled, [inverse, a, a, level.scaled], PLAIN));
        commands.push(multiply(&lists.moved, [a, level.frames, a, level.moved], PLAIN));
        self.measure(work, level, commands);
        commands.extend([
            multiply(&lists.smoothed, [inverse, level.moved, level.frames, level.smoothed], SMOOTH),
            multiply(&lists.image, [a, level.smoothed, a, level.image], PLAIN),
            multiply(&lists.relaxed, [inverse, level.image, level.smoothed, level.relaxed], RELAX),
            multiply(&lists.twice, [level.scaled, inverse, inverse, level.twice], TWICE),
            multiply(&lists.above, [level.smoothed, level.image, a, above.values], PLAIN),
        ]);
    }

    /// A product along a list of a level: of the left and the right blocks, with a base, to where it goes.
    fn multiply(&self, work: &Workspace, level: &LevelBuffers, list: &List, [left, right, base, to]: [Slice; 4], mode: u32) -> Command {
        let size = self.space.motions;
        let Share { slots, lanes } = Share::new(work, list.rows, list.count, size * size);
        let List { starts, entries, bases, rows: blocks, .. } = *list;
        self.fixed(
            two_level::MultiplyBlocks { rows: size, starts, entries, bases, mode, blocks, slots },
            lanes,
            two_level::MultiplyBlocksBindings { left, right, table: level.matrix.lists, base, product: to, radius: level.radius },
        )
    }

    /// ρ of a level, by the power method with D⁻¹A.
    fn measure(&self, work: &Workspace, level: &LevelBuffers, commands: &mut Vec<Command>) {
        let [first, second, before, after] = level.vectors;
        let own = level.matrix.lists;
        let couple = |list: &List, values: Slice, from: Slice, to: Slice| {
            let share = Share::new(work, list.rows, list.count, self.space.motions);
            self.fixed(
                two_level::Couple {
                    rows: self.space.motions,
                    guard: state::ALWAYS,
                    starts: list.starts,
                    entries: list.entries,
                    other_starts: 0,
                    other_entries: 0,
                    has_other: 0,
                    nodes: list.rows,
                    slots: share.slots,
                },
                share.lanes,
                two_level::CoupleBindings { left: values, x: from, table: own, right: values, y: to, z: from, state: work.state },
            )
        };
        let (mut from, mut to) = (Slice { len: first.len, ..self.noise }, first);
        for step in 1..=POWER_STEPS {
            if step == POWER_STEPS {
                commands.push(couple(&level.lists.whole, level.matrix.values, from, before));
            }
            commands.push(couple(&level.lists.scaled_rows, level.scaled, from, to));
            (from, to) = (to, if to == first { second } else { first });
        }
        commands.push(couple(&level.lists.whole, level.matrix.values, from, after));
        let reduction = self.kernels.dispatch(
            two_level::SpectralRadius { elements: first.len },
            1,
            two_level::SpectralRadiusBindings { v: from, product: after, u: before, radius: level.radius },
        );
        commands.push(Command::Dispatch(Dispatch { single_group: true, ..reduction }));
    }

    /// The cycles of levels with few nodes, from the coarsest one on.
    pub(super) fn set_up_full(&self, work: &Workspace, commands: &mut Vec<Command>) {
        let mut above = self.last.inverse;
        for level in self.levels.iter().rev() {
            let Some(FullBuffers { lists, through, cycle }) = &level.full else { break };
            let (cycle, through) = (*cycle, *through);
            commands.extend([
                self.multiply(work, level, &lists.through, [above, level.relaxed, above, through], PLAIN),
                self.multiply(work, level, &lists.sums, [level.relaxed, through, level.twice, cycle], ADD),
            ]);
            above = cycle;
        }
    }
}

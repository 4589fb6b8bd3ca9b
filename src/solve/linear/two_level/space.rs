//! The coarse space: which motions a patch of variables has.
//!
//! Where variables are *points* a patch moves as a rigid body, to first order, and what is no point — angles, scales — follows with least
//! energy. Points are known by the structure: tables of two or three free components that residuals see as differences, so that
//! moving all of them changes nothing. Without points a patch's motions are its degrees of freedom.

use leastwise_problem::{Batch, Problem, Table};
use leastwise_program::Entry;

/// What a table's variables do when their patch moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// They are points of it.
    Point,
    /// They follow the points.
    Follower,
    /// Their degrees of freedom are motions of the patch, from this one on.
    Constant(u32),
}

/// The motions of patches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Space {
    /// Motions of a patch, one of [`MOTIONS`]: what there are fewer of is filled up with motions that move nothing.
    pub motions: u32,
    /// Coordinates of a point; 0 where there are none.
    pub coordinates: u32,
    /// Whether residuals hold the shape of patches: those that link points have others that follow, or are linear. What
    /// only knows lengths, as springs do, may bend and shear, and a coarse space of rigid motions says little of that.
    pub holds_shape: bool,
    /// For every table of the problem; none for constants, and for what takes no part.
    pub roles: Vec<Option<Role>>,
}

/// How many motions there may be: points in a plane have 3, in space 6.
pub const MOTIONS: [u32; 3] = [1, 3, 6];

impl Space {
    /// The space of a problem, or why there is none.
    pub fn new(problem: &Problem) -> Result<Self, String> {
        let tables = problem.tables();
        let points: Vec<bool> = (0..).zip(tables).map(|(number, table)| is_of_points(problem, number, table)).collect();
        let dimensions = |wanted: u32| tables.iter().zip(&points).filter(|(table, point)| **point && table.width == wanted).count();
        let coordinates = if dimensions(3) > 0 {
            3
        } else if dimensions(2) > 0 {
            2
        } else {
            0
        };
        if coordinates == 0 {
            let mut wanted = 0;
            let role = |table: &Table| {
                table.moving.then(|| {
                    wanted += table.tangent;
                    Role::Constant(wanted - table.tangent)
                })
            };
            let roles = tables.iter().map(role).collect();
            let [.., most] = MOTIONS;
            let found = MOTIONS.into_iter().find(|&motions| wanted <= motions);
            let refused =
                || format!("no variables are points, and an instance of each has {wanted} degrees of freedom together, more than {most}");
            let motions = found.ok_or_else(refused)?;
            return Ok(Self { motions, coordinates, holds_shape: false, roles });
        }
        let role = |(table, point): (&Table, &bool)| match (table.moving, *point && table.width == coordinates) {
            (false, _) => None,
            (true, true) => Some(Role::Point),
            (true, false) => Some(Role::Follower),
        };
        let roles: Vec<Option<Role>> = tables.iter().zip(&points).map(role).collect();
        let holds_shape = problem.enabled_batches().all(|batch| holds_shape(problem, batch, &roles));
        Ok(Self { motions: coordinates * (coordinates + 1) / 2, coordinates, holds_shape, roles })
    }

    /// The tables whose variables patches are made of; the others join them.
    pub fn leads(&self, table: u32) -> bool {
        matches!(self.roles[table as usize], Some(Role::Point | Role::Constant(_)))
    }
}

/// Whether a batch links no points, or has followers, or is linear.
fn holds_shape(problem: &Problem, batch: &Batch, roles: &[Option<Role>]) -> bool {
    let of_slots = (0..batch.signature().slots.len() as u32).map(|slot| roles[problem.slot_of(batch, slot).0 as usize]);
    let of_slots: Vec<Role> = of_slots.flatten().collect();
    let is_linear = batch.programs.entries.iter().all(|entry| !matches!(entry, Entry::Stored { .. }));
    of_slots.iter().filter(|role| **role == Role::Point).count() < 2 || of_slots.contains(&Role::Follower) || is_linear
}

/// Whether all residuals that link instances of a table see no more than differences of them.
fn is_of_points(problem: &Problem, number: u32, table: &Table) -> bool {
    if !table.moving || table.manifold.is_some() || !matches!(table.width, 2 | 3) {
        return false;
    }
    let mut is_linked = false;
    for batch in problem.enabled_batches() {
        let slots = || (0..batch.signature().slots.len() as u32).filter(|slot| batch.signature().slots[*slot as usize].vector.is_some());
        let mine = slots().filter(|&slot| problem.slot_of(batch, slot).0 == number).count();
        if mine == 0 || slots().count() == 1 {
            continue;
        }
        is_linked |= mine > 1;
        if !(0..table.width).all(|component| problem.is_unmoved(batch, number, component)) {
            return false;
        }
    }
    is_linked
}

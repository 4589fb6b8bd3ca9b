//! Matrix-free conjugate gradients on (JᵀWJ + λD) s = −g, preconditioned by the inverted diagonal blocks, to
//! which [`TwoLevel`] may add the motions of patches
//! (Saad, *Iterative Methods for Sparse Linear Systems*, 2nd ed., algorithm 9.1).
//!
//! How products JᵀWJ·p are computed, `product.rs` has.
//! α, β and the test for convergence stay on the device; nothing here waits for a readback.

use super::super::{Workspace, state};
use super::two_level::TwoLevel;
use leastwise_device::{Command, binding::*};
use leastwise_error::Error;
use leastwise_kernel::Fixed;
use leastwise_problem::{Problem, Table};

/// Inner iterations that a step may take at most.
pub fn max_iterations(problem: &Problem) -> u32 {
    (2 * problem.vector_len()).clamp(10, 500)
}

/// Appends the whole solve; the step ends up in `work.step`, the remaining residual in `work.residual`.
pub fn solve(
    work: &Workspace,
    problem: &Problem,
    two_level: Option<&TwoLevel>,
    max: u32,
    commands: &mut Vec<Command>,
) -> Result<(), Error> {
    let bindings = [(ARENA, work.scale), (VECTOR_IN, work.blocks), (VECTOR_OUT, work.inverse), (STATE, work.state)];
    let per_variable = |table: &Table| (table.count, vec![table.vector, table.tangent, table.block]);
    work.over_tables(Fixed::InvertBlocks, problem, per_variable, &bindings, commands);
    if let Some(two_level) = two_level {
        two_level.set_up(work, problem, commands)?;
    }

    let bindings = [
        (DATA, work.residual),
        (INDEX, work.step),
        (VECTOR_IN, work.gradient),
        (VECTOR_OUT, work.z),
        (JACOBIAN, work.inverse),
        (PARTIALS, work.inner_partials),
    ];
    let words = |table: &Table, partial: u32| {
        let words = vec![table.vector, table.tangent, table.block, partial, work.partial_distance, table.count];
        (table.count, words)
    };
    let mut partials = work.partial_over_tables(Fixed::PcgStart, problem, words, &bindings, commands);
    if let Some(two_level) = two_level {
        partials += two_level.apply(work, problem, partials, work.partial_distance + partials, commands);
    }
    commands.push(work.reduce_inner(Fixed::PcgBegin, &[partials, work.partial_distance]));
    commands.push(Command::Repeat { body: iteration(work, problem, two_level), max, until: (work.state.buffer, state::SOLVED) });
    Ok(())
}

/// q = (JᵀWJ + λD) p, where p = z + βp.
pub fn product(work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) {
    let bindings = [(DATA, work.scale), (VECTOR_IN, work.z), (VECTOR_OUT, work.p), (JACOBIAN, work.q), (STATE, work.state)];
    commands.push(work.fixed(Fixed::PcgDirection, problem.vector_len(), &[], &bindings));
    work.multiply(problem, commands);
}

fn iteration(work: &Workspace, problem: &Problem, two_level: Option<&TwoLevel>) -> Vec<Command> {
    let mut body = Vec::new();
    product(work, problem, &mut body);
    let bindings = [(DATA, work.p), (VECTOR_IN, work.q), (STATE, work.state), (PARTIALS, work.inner_partials)];
    let vector = problem.vector_len();
    let along = work.partial_distance;
    let (curvature, alongs) = work.partial(Fixed::PcgCurvature, vector, &[vector, along], &bindings);
    body.push(curvature);
    let bindings = [
        (ARENA, work.z),
        (DATA, work.p),
        (INDEX, work.q),
        (VECTOR_IN, work.inverse),
        (VECTOR_OUT, work.step),
        (JACOBIAN, work.residual),
        (STATE, work.state),
        (PARTIALS, work.inner_partials),
    ];
    let mut partials = 0;
    let tables: Vec<&Table> = problem.moving().collect();
    for pair in tables.chunks(2) {
        let of_table = |place: usize| pair.get(place).map_or([0; 4], |table| [table.vector, table.tangent, table.block, table.count]);
        let words = [&of_table(0)[..], &of_table(1), &[partials, along, alongs]].concat();
        let variables = pair.iter().map(|table| table.count).sum();
        let (update, more) = work.partial(Fixed::PcgUpdate, variables, &words, &bindings);
        body.push(update);
        partials += more;
    }
    if let Some(two_level) = two_level {
        partials += two_level.apply(work, problem, partials, 0, &mut body);
    }
    body.push(work.reduce_inner(Fixed::PcgBeta, &[partials, along, alongs]));
    body
}

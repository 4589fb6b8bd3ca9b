//! Matrix-free conjugate gradients on (JᵀWJ + λD) s = −g, preconditioned by the inverted diagonal blocks and a
//! [`Correction`], if there is one (Saad, *Iterative Methods for Sparse Linear Systems*, 2nd ed., algorithm 9.1).
//!
//! How products JᵀWJ·p are computed, `product.rs` has.
//! α, β and the test for convergence stay on the device; nothing here waits for a readback.

use super::super::ranks::{self, Fold};
use super::super::{Workspace, state};
use super::Correction;
use leastwise_device::Command;
use leastwise_error::Error;
use leastwise_kernels::pcg;
use leastwise_problem::{Problem, Table};

/// Inner iterations that a step may take at most.
pub fn max_iterations(problem: &Problem) -> u32 {
    (2 * ranks::unknowns(problem)).clamp(10, 500)
}

/// Appends what inverts the diagonal blocks.
pub(super) fn invert(work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) {
    let bindings = pcg::BlockJacobiBindings { scale: work.scale, blocks: work.blocks, inverse: work.inverse, state: work.state };
    let args = |table: &Table| (table.count, pcg::BlockJacobi { vector: table.vector, width: table.tangent, block: table.block });
    work.over_tables(problem, args, bindings, commands);
}

/// Appends the whole solve; the step ends up in `work.step`, the remaining residual in `work.residual`.
pub fn solve(
    work: &Workspace,
    problem: &Problem,
    correction: Option<&dyn Correction>,
    max: u32,
    commands: &mut Vec<Command>,
) -> Result<(), Error> {
    invert(work, problem, commands);
    if let Some(correction) = correction {
        correction.set_up(work, problem, commands)?;
    }

    let bindings = pcg::StartBindings {
        residual: work.residual,
        step: work.step,
        gradient: work.gradient,
        z: work.z,
        inverse: work.inverse,
        partials: work.inner_partials,
    };
    let args = |table: &Table, partial: u32| {
        let Table { vector, tangent, block, count, .. } = *table;
        (count, pcg::Start { vector, width: tangent, block, partial, distance: work.partial_distance, variables: count })
    };
    let mut partials = work.partial_over_tables(problem, args, bindings, commands);
    if let Some(correction) = correction {
        partials += correction.apply(work, problem, partials, work.partial_distance + partials, commands);
    }
    let partials = work.combine_inner("start of conjugate gradients", &[Fold::Sum, Fold::Largest], partials, commands);
    commands.push(work.reduce_inner(pcg::Begin { partial_count: partials, distance: work.partial_distance }));
    commands.push(Command::Repeat { body: iteration(work, problem, correction), max, until: (work.state.buffer, state::SOLVED) });
    Ok(())
}

/// q = (JᵀWJ + λD) p, where p = z + βp.
pub fn product(work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) {
    commands.push(work.fixed(
        pcg::Direction,
        problem.vector_len(),
        pcg::DirectionBindings { scale: work.product_scale(), z: work.z, p: work.p, q: work.q, state: work.state },
    ));
    work.multiply(problem, commands);
}

fn iteration(work: &Workspace, problem: &Problem, correction: Option<&dyn Correction>) -> Vec<Command> {
    let mut body = Vec::new();
    product(work, problem, &mut body);
    let vector = problem.vector_len();
    let along = work.partial_distance;
    let (curvature, alongs) = work.partial(
        pcg::Curvature { elements: vector, partial: along },
        vector,
        pcg::CurvatureBindings { p: work.p, q: work.q, state: work.state, partials: work.inner_partials },
    );
    body.push(curvature);
    let alongs = work.complete_product(along, alongs, &mut body);
    let mut partials = update(work, &problem.counted().collect::<Vec<_>>(), (0, alongs), &mut body);
    // Partial sums of copies lie behind, where nobody looks at them.
    #[cfg(not(target_arch = "wasm32"))]
    update(work, &problem.copies().collect::<Vec<_>>(), (partials, alongs), &mut body);
    if let Some(correction) = correction {
        partials += correction.apply(work, problem, partials, 0, &mut body);
    }
    let partials = work.combine_inner("residual", &[Fold::Sum], partials, &mut body);
    body.push(work.reduce_inner(pcg::Beta { partial_count: partials, curvature: along, curvature_count: alongs }));
    body
}

/// s += αp, r −= αq and z = M⁻¹r for these tables, of so many partial sums of pᵀq; gives the number of those of rᵀz, which begin at
/// `start`.
pub(super) fn update(work: &Workspace, tables: &[&Table], (start, alongs): (u32, u32), body: &mut Vec<Command>) -> u32 {
    let mut partials = start;
    for pair in tables.chunks(2) {
        let of_table = |place: usize| {
            pair.get(place).map_or(pcg::Table::default(), |table| pcg::Table {
                vector: table.vector,
                width: table.tangent,
                block: table.block,
                variables: table.count,
            })
        };
        let (first, second) = (of_table(0), of_table(1));
        let args = pcg::Update { first, second, partial: partials, curvature: work.partial_distance, curvature_count: alongs };
        let bindings = pcg::UpdateBindings {
            z: work.z,
            p: work.p,
            q: work.q,
            inverse: work.inverse,
            step: work.step,
            residual: work.residual,
            state: work.state,
            partials: work.inner_partials,
        };
        let (update, more) = work.partial(args, first.variables + second.variables, bindings);
        body.push(update);
        partials += more;
    }
    partials - start
}

//! As-rigid-as-possible blocks: (x_i − x_j) − R(angles_i)·(x̂_i − x̂_j), residual and Jacobian.

use crate::harness::Inputs;
use crate::mesh;
use leastwise::expr::{Expr, Graph, Leaf, Unary};
use leastwise::program::{Address, Guards, Program, ResidualPrograms, Signature, SlotShape};

/// The vector turned in the plane of two axes.
fn turn(graph: &mut Graph, angle: Expr, vector: [Expr; 3], from: usize, to: usize) -> [Expr; 3] {
    let (sine, cosine) = (graph.unary(Unary::Sin, angle), graph.unary(Unary::Cos, angle));
    let minus = graph.neg(sine);
    let mut turned = vector;
    turned[from] = graph.dot(&[cosine, minus], &[vector[from], vector[to]]);
    turned[to] = graph.dot(&[sine, cosine], &[vector[from], vector[to]]);
    turned
}

/// The program that stores r and J, and its columns.
pub fn linearize() -> (Program, u32) {
    let mut graph = Graph::new();
    let [xi, xj, angles, rest_i, rest_j] =
        [0, 1, 2, 3, 4].map(|slot| [0, 1, 2].map(|component| graph.leaf(Leaf::Slot { slot, component })));
    let rest = [0, 1, 2].map(|k| graph.sub(rest_i[k], rest_j[k]));
    let about_x = turn(&mut graph, angles[0], rest, 1, 2);
    let about_y = turn(&mut graph, angles[1], about_x, 2, 0);
    let rotated = turn(&mut graph, angles[2], about_y, 0, 1);
    let residual = [0, 1, 2].map(|k| {
        let edge = graph.sub(xi[k], xj[k]);
        graph.sub(edge, rotated[k])
    });
    let slot = |base, column, moves: bool| {
        let address = Address { base, column, stride: 3 };
        SlotShape { arena: address, vector: moves.then_some(address), manifold: None }
    };
    let signature = Signature {
        slots: vec![slot(0, 0, true), slot(0, 1, true), slot(1, 0, true), slot(2, 0, false), slot(2, 1, false)],
        columns: Vec::new(),
        weight_shared: true,
        shared: 1,
        header: 3,
        loss: None,
    };
    let programs = ResidualPrograms::new("arap", graph, &residual, &signature, Guards { linearized: 0, solved: 1 });
    (programs.linearize, programs.stored)
}

pub fn inputs(columns: u32) -> Inputs {
    let [from, to] = mesh::half_edges();
    let scalars = 3 * mesh::VERTICES;
    Inputs {
        count: from.len() as u32,
        arena: mesh::noise(3 * scalars).collect(),
        data: vec![1.0],
        index: [vec![0, scalars, 2 * scalars], from, to].concat(),
        columns,
    }
}

//! The symmetric Dirichlet energy of a triangle, area·(‖J‖² + ‖J⁻¹‖²), and its gradient in the six unknowns.

use crate::harness::Inputs;
use crate::mesh;
use leastwise::expr::{Expr, Graph, Leaf};
use leastwise::program::{Address, Load, Program, Store, lower};

pub fn programs() -> [Program; 2] {
    let mut graph = Graph::new();
    let corners: [[Expr; 2]; 3] = [0, 1, 2].map(|slot| [0, 1].map(|component| graph.leaf(Leaf::Slot { slot, component })));
    let data: [Expr; 5] = [0, 1, 2, 3, 4].map(|column| graph.leaf(Leaf::Data { column, component: 0 }));
    let [a, b, c] = corners;
    let edges = [0, 1].map(|row| [graph.sub(b[row], a[row]), graph.sub(c[row], a[row])]);
    let j = [0, 1].map(|row| [0, 1].map(|column| graph.dot(&edges[row], &[data[column], data[2 + column]])));
    let (left, right) = (graph.mul(j[0][0], j[1][1]), graph.mul(j[0][1], j[1][0]));
    let determinant = graph.sub(left, right);
    let entries = [j[0][0], j[0][1], j[1][0], j[1][1]];
    let squared = graph.dot(&entries, &entries);
    // The entries of J⁻¹ are those of J in another order and with other signs, divided by the determinant.
    let inverse = entries.map(|entry| graph.div(entry, determinant));
    let inverse_squared = graph.dot(&inverse, &inverse);
    let sum = graph.add(squared, inverse_squared);
    let energy = graph.mul(data[4], sum);
    let gradient = graph.gradient(energy, corners.as_flattened());
    let program = |name: &str, outputs: &[Expr]| {
        let mut program = Program {
            name: name.into(),
            addresses: (0..3).map(|column| Address { base: 0, column, stride: 2 }).collect(),
            header: 1,
            ..Program::default()
        };
        let stores: Vec<(Store, Expr)> = (0..).map(Store::Column).zip(outputs.iter().copied()).collect();
        let load = |leaf| match leaf {
            Leaf::Slot { slot, component } => Load::Arena { address: slot, component },
            Leaf::Data { column, .. } => Load::Data(column),
            _ => unreachable!("no other leaves were made"),
        };
        lower(&graph, &stores, load, &mut program);
        program
    };
    [program("value", &[energy]), program("value and gradient", &[&[energy], &gradient[..]].concat())]
}

pub fn inputs() -> Inputs {
    let corners = mesh::triangles();
    let count = corners[0].len() as u32;
    let mut noise = mesh::noise(2 * mesh::VERTICES);
    let mut arena = Vec::new();
    for y in 0..mesh::HEIGHT {
        for x in 0..mesh::WIDTH {
            arena.extend([x, y].map(|at| f64::from(at) + 0.2 * noise.next().expect("enough")));
        }
    }
    // Half of the triangles are the other half turned round.
    let sign = |k: u32| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
    let columns: [Box<dyn Fn(u32) -> f64>; 5] = [Box::new(sign), Box::new(|_| 0.0), Box::new(|_| 0.0), Box::new(sign), Box::new(|_| 0.5)];
    let data = columns.iter().flat_map(|column| (0..count).map(column)).collect();
    Inputs { count, arena, data, index: [vec![0], corners.concat()].concat(), columns: 7 }
}

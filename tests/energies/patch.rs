//! A square of triangles in the plane with the symmetric Dirichlet energy A(‖F‖² + ‖F⁻¹‖²) (Smith & Schaefer, *Bijective
//! Parameterization with Free Boundaries*, 2015): infinite where one is flat, undefined where it is turned over, and 4A where
//! none is distorted.

use crate::support::*;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Reals, Slot, TermSpec, Weight};
use leastwise::program::Objective;
use leastwise::session::Session;

/// The square before it is distorted, of so many points a side.
pub struct Patch {
    side: usize,
    points: Vec<[f64; 2]>,
    corners: [Vec<u32>; 3],
}

impl Patch {
    pub fn new(side: usize) -> Self {
        let points = (0..side * side).map(|i| [(i % side) as f64, (i / side) as f64]).collect();
        let mut corners: [Vec<u32>; 3] = Default::default();
        for cell in (0..side * side).filter(|i| i % side + 1 < side && i / side + 1 < side) {
            let [a, b, c, d] = [cell, cell + 1, cell + side, cell + side + 1].map(|i| i as u32);
            for triangle in [[a, b, d], [a, d, c]] {
                corners.iter_mut().zip(triangle).for_each(|(list, corner)| list.push(corner));
            }
        }
        Self { side, points, corners }
    }

    pub fn triangles(&self) -> usize {
        self.corners[0].len()
    }

    /// Squeezed, sheared and shaken, but no triangle turned over.
    pub fn shaken(&self, random: &mut Random) -> Vec<f64> {
        let shake = |&[u, v]: &[f64; 2]| {
            let [du, dv] = [0, 1].map(|_| random.between(-0.2, 0.2));
            let (u, v) = (u + du, v + dv);
            [0.4 * u + 0.3 * v, 0.15 * v + 0.02 * u * u / self.side as f64]
        };
        self.points.iter().flat_map(shake).collect()
    }

    /// The energy with points that begin anywhere.
    pub fn make(&self, session: &mut Session, values: &[f64]) -> (u32, u32) {
        let problem = session.problem();
        let x = session.table(problem, "uv", 2, Reals::F64(values), true).unwrap();
        let mut inverses = Vec::new();
        let mut areas = Vec::new();
        for k in 0..self.triangles() {
            let [a, b, c] = [0, 1, 2].map(|corner: usize| self.points[self.corners[corner][k] as usize]);
            let [[p, q], [r, s]] = [[b[0] - a[0], c[0] - a[0]], [b[1] - a[1], c[1] - a[1]]];
            let determinant = p * s - q * r;
            inverses.extend([s, -q, -r, p].map(|entry| entry / determinant));
            areas.push(determinant / 2.0);
        }
        let mut tape = Tape::default();
        let [a, b, c, inverse] = [0, 1, 2, 3].map(|source| tape.input(source));
        let edges = [tape.op(Sub, &[b, a]), tape.op(Sub, &[c, a])];
        let columns = [0, 1].map(|column| {
            let entries = [0, 1].map(|row| tape.op(Component, &[inverse, 2 * row + column]));
            let parts = [tape.op(Mul, &[edges[0], entries[0]]), tape.op(Mul, &[edges[1], entries[1]])];
            tape.op(Add, &parts)
        });
        let squares = columns.map(|column| tape.op(NormSq, &[column]));
        let squared = tape.op(Add, &squares);
        let determinant = tape.op(Cross, &columns);
        // 1/det², where det is positive: ‖F⁻¹‖² = ‖F‖²/det² of 2×2 matrices.
        let root = tape.op(Rsqrt, &[determinant]);
        let inverse = tape.op(Square, &[root]);
        let inverse_squared = tape.op(Square, &[inverse]);
        let one = tape.literal(1.0);
        let factor = tape.op(Add, &[one, inverse_squared]);
        let outputs = [tape.op(Mul, &[squared, factor])];
        let spec = TermSpec {
            name: "symmetric Dirichlet".into(),
            count: areas.len() as u32,
            indices: self.corners.to_vec(),
            slots: (0..3).map(|column| Slot { table: x, column }).collect(),
            columns: vec![Column { name: "inverse".into(), width: 4, shared: false, values: Reals::F64(&inverses) }],
            weight: Weight::Each(Reals::F64(&areas)),
            loss: None,
            objective: Objective::Energy,
            tape: &tape.words,
            outputs: &outputs,
        };
        session.term(problem, spec).unwrap();
        (problem, x)
    }
}

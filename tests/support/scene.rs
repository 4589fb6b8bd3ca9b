//! A problem with something of everything, far from its minimum, so that steps are rejected on the way.

use super::*;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, EntryColumn, Loss, RaggedSlot, Reals, Shape, Slot, SummedSpec, TermSpec, Weight};
use leastwise::program::Objective;
use leastwise::session::Session;

/// What a scene has besides springs and pulls.
#[derive(Clone, Copy, Default, Debug)]
pub struct With {
    pub bounds: bool,
    pub fixed: bool,
    pub rotations: bool,
    pub energy: bool,
    pub sums: bool,
}

pub const POINTS: u32 = 40;
const TURNS: u32 = 6;

pub struct Scene {
    pub problem: u32,
    pub points: u32,
    pub tables: Vec<u32>,
    pub springs: u32,
    pub pulls: u32,
    pub centre: u32,
    /// Rotations and their term.
    pub turns: Option<[u32; 2]>,
    pub wells: Option<u32>,
}

/// The same in every process.
pub struct Numbers {
    points: Vec<f64>,
    pub rest: Vec<f64>,
    pub weights: Vec<f64>,
    pub targets: Vec<f64>,
    turns: Vec<f64>,
    pub arrows: Vec<f64>,
}

impl Numbers {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        // f32 has these numbers.
        let mut vector = |len: u32, size: f64| (0..len).map(|_| f64::from(random.between(-size, size) as f32)).collect::<Vec<f64>>();
        let positive = |values: Vec<f64>| values.iter().map(|value| 0.2 + value.abs()).collect::<Vec<f64>>();
        let edges = 3 * POINTS;
        let turns = vector(4 * TURNS, 1.0);
        let lengths: Vec<f64> = turns.chunks(4).map(|q| q.iter().map(|c| c * c).sum::<f64>().sqrt()).collect();
        Self {
            points: vector(2 * POINTS, 4.0),
            rest: positive(vector(edges, 2.0)),
            weights: positive(vector(edges, 2.0)),
            targets: vector(2 * POINTS, 2.0),
            turns: turns.iter().enumerate().map(|(k, q)| q / lengths[k / 4]).collect(),
            // Two for every rotation: one would leave it a turn about itself.
            arrows: vector(12 * TURNS, 1.0),
        }
    }
}

fn column<'a>(name: &str, width: u32, values: &'a [f64]) -> Column<'a> {
    Column { name: name.into(), width, shared: false, values: Reals::F64(values) }
}

pub fn scene(session: &mut Session, numbers: &Numbers, with: With) -> Scene {
    let problem = session.problem();
    let points = session.table(problem, "points", 2, Reals::F64(&numbers.points), true).unwrap();
    let centre = session.table(problem, "centre", 2, Reals::F64(&[0.25, -0.5]), false).unwrap();
    let mut tables = vec![points];
    let plain = |name: &str, indices: Vec<Vec<u32>>, slots: Vec<Slot>| TermSpec {
        name: name.into(),
        count: indices[0].len() as u32,
        indices,
        slots,
        columns: Vec::new(),
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Objective::LeastSquares,
        tape: &[],
        outputs: &[],
    };
    let at = |table: u32, column: u32| Slot { table, column };

    let ends = [1, 3, 7].map(|step| (0..POINTS).map(|k| (k, (k * step + step) % POINTS)).collect::<Vec<_>>()).concat();
    let [a, b]: [Vec<u32>; 2] = [ends.iter().map(|end| end.0).collect(), ends.iter().map(|end| end.1).collect()];
    let mut tape = Tape::default();
    let [p, q, rest] = [0, 1, 2].map(|source| tape.input(source));
    let difference = tape.op(Sub, &[p, q]);
    let length = tape.op(Norm, &[difference]);
    let outputs = [tape.op(Sub, &[length, rest])];
    let spec = TermSpec {
        columns: vec![column("rest", 1, &numbers.rest)],
        weight: Weight::Each(Reals::F64(&numbers.weights)),
        loss: Some(Loss::cauchy(0.5).unwrap()),
        tape: &tape.words,
        outputs: &outputs,
        ..plain("springs", vec![a, b], vec![at(points, 0), at(points, 1)])
    };
    let springs = session.term(problem, spec).unwrap();

    // (x − target)(1 + ‖x − centre‖²), which goes up steeply.
    let mut tape = Tape::default();
    let [p, c, target] = [0, 1, 2].map(|source| tape.input(source));
    let [off, far] = [tape.op(Sub, &[p, target]), tape.op(Sub, &[p, c])];
    let (squared, one) = (tape.op(NormSq, &[far]), tape.literal(1.0));
    let factor = tape.op(Add, &[squared, one]);
    let outputs = [tape.op(Mul, &[off, factor])];
    let all: Vec<u32> = (0..POINTS).collect();
    let spec = TermSpec {
        columns: vec![column("target", 2, &numbers.targets)],
        weight: Weight::Shared(0.3),
        tape: &tape.words,
        outputs: &outputs,
        ..plain("pulls", vec![all.clone(), vec![0; POINTS as usize]], vec![at(points, 0), at(centre, 1)])
    };
    let pulls = session.term(problem, spec).unwrap();

    let (mut turning, mut wells) = (None, None);
    if with.rotations {
        let turns = session.table_of(problem, "turns", vec![Shape::Quaternion], Reals::F64(&numbers.turns), true).unwrap();
        tables.push(turns);
        let mut tape = Tape::default();
        let [q, from, to] = [0, 1, 2].map(|source| tape.input(source));
        let turned = tape.op(QuatRotate, &[q, from]);
        let outputs = [tape.op(Sub, &[turned, to])];
        let (from, to) = numbers.arrows.split_at(6 * TURNS as usize);
        let spec = TermSpec {
            columns: vec![column("from", 3, from), column("to", 3, to)],
            tape: &tape.words,
            outputs: &outputs,
            ..plain("turning", vec![(0..2 * TURNS).map(|k| k % TURNS).collect()], vec![at(turns, 0)])
        };
        turning = Some([turns, session.term(problem, spec).unwrap()]);
    }
    if with.energy {
        // A double well along x.
        let mut tape = Tape::default();
        let (p, one) = (tape.input(0), tape.literal(1.0));
        let x = tape.op(Component, &[p, 0]);
        let square = tape.op(Square, &[x]);
        let well = tape.op(Sub, &[square, one]);
        let outputs = [tape.op(Square, &[well])];
        let every = (0..POINTS).step_by(3).collect();
        let spec = TermSpec {
            objective: Objective::Energy,
            weight: Weight::Shared(0.2),
            tape: &tape.words,
            outputs: &outputs,
            ..plain("wells", vec![every], vec![at(points, 0)])
        };
        wells = Some(session.term(problem, spec).unwrap());
    }
    if with.sums {
        // ‖Σ w (q − c)‖ − 0.7 over rows of entries.
        let mut tape = Tape::default();
        let [c, q, w] = [0, 1, 2].map(|source| tape.input(source));
        let difference = tape.op(Sub, &[q, c]);
        let weighed = tape.op(Mul, &[difference, w]);
        let sum = tape.op(SumOver, &[weighed]);
        let (length, rest) = (tape.op(Norm, &[sum]), tape.literal(0.7));
        let outputs = [tape.op(Sub, &[length, rest])];
        let lengths = [3, 1, 9, 0, 30];
        let offsets: Vec<u32> = std::iter::once(0)
            .chain(lengths.iter().scan(0, |end, length| {
                *end += length;
                Some(*end)
            }))
            .collect();
        let entries: Vec<u32> = (0..offsets[lengths.len()]).map(|k| (11 * k + 5) % POINTS).collect();
        let spec = SummedSpec {
            plain: TermSpec { tape: &tape.words, outputs: &outputs, ..plain("rows", vec![vec![0, 9, 18, 27, 36]], vec![at(points, 0)]) },
            offsets,
            columns: vec![EntryColumn { name: "w".into(), values: Reals::F64(&numbers.weights[..entries.len()]) }],
            slots: vec![RaggedSlot { table: points, indices: entries }],
        };
        session.summed_term(problem, spec).unwrap();
    }
    if with.fixed {
        session.fix_table(problem, points, Some(&[2, 17]), None).unwrap();
        session.fix_table(problem, points, Some(&[5]), Some(&[1])).unwrap();
    }
    if with.bounds {
        session.bound_table(problem, points, Some(Reals::F64(&[-0.9, -2.0])), Some(Reals::F64(&[0.9, 2.0]))).unwrap();
    }
    Scene { problem, points, tables, springs, pulls, centre, turns: turning, wells }
}

//! Problems that one device or several ranks are given, by the same calls.

use crate::support::*;
use leastwise::collective::Communicator;
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, Precision};
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Loss, Reals, Shape, Slot, TermSpec, Weight};
use leastwise::ranks::RankedProblem;
use leastwise::session::Session;
use leastwise::solve::Options;
use std::sync::Arc;

/// Whatever takes tables and terms.
pub trait Declare {
    fn table(&mut self, name: &str, shapes: Vec<Shape>, values: &[f64], moving: bool) -> u32;
    fn term(&mut self, spec: &TermSpec) -> u32;
    fn fix(&mut self, table: u32, at: &[u32]);
}

/// A problem of a session.
pub struct Alone {
    pub session: Session,
    pub problem: u32,
}

impl Alone {
    pub fn new(precision: Precision) -> Self {
        let mut session = cpu(precision);
        let problem = session.problem();
        Self { session, problem }
    }
}

impl Declare for Alone {
    fn table(&mut self, name: &str, shapes: Vec<Shape>, values: &[f64], moving: bool) -> u32 {
        self.session.table_of(self.problem, name, shapes, Reals::F64(values), moving).unwrap()
    }

    fn term(&mut self, spec: &TermSpec) -> u32 {
        self.session.term(self.problem, copy(spec)).unwrap()
    }

    fn fix(&mut self, table: u32, at: &[u32]) {
        self.session.fix_table(self.problem, table, Some(at), None).unwrap();
    }
}

impl Declare for RankedProblem {
    fn table(&mut self, name: &str, shapes: Vec<Shape>, values: &[f64], moving: bool) -> u32 {
        Self::table(self, name, shapes, values, moving).unwrap()
    }

    fn term(&mut self, spec: &TermSpec) -> u32 {
        Self::term(self, spec).unwrap()
    }

    fn fix(&mut self, table: u32, at: &[u32]) {
        Self::fix(self, table, at).unwrap();
    }
}

fn copy<'a>(spec: &TermSpec<'a>) -> TermSpec<'a> {
    let column = |column: &Column<'a>| Column { name: column.name.clone(), ..*column };
    TermSpec {
        name: spec.name.clone(),
        indices: spec.indices.clone(),
        slots: spec.slots.clone(),
        columns: spec.columns.iter().map(column).collect(),
        loss: spec.loss.clone(),
        ..*spec
    }
}

/// A rank's problem on a CPU of its own.
pub fn ranked(precision: Precision, ranks: Arc<dyn Communicator>) -> RankedProblem {
    RankedProblem::new(Device::Cpu(CpuDevice::new(precision, CpuDevice::default_limits())), ranks).unwrap()
}

/// Options of all solves here.
pub fn options() -> Options {
    Options {
        linear: Some("pcg".into()),
        preconditioner: Some("block-jacobi".into()),
        max_iterations: Some(60.0),
        cost_tolerance: Some(1e-12),
        step_tolerance: Some(1e-12),
        forcing: Some(1e-3),
        ..Options::default()
    }
}

fn column<'a>(name: &str, width: u32, values: &'a [f64]) -> Column<'a> {
    Column { name: name.into(), width, shared: false, values: Reals::F64(values) }
}

fn at(table: u32, column: u32) -> Slot {
    Slot { table, column }
}

/// Tables that are solved for, and the term whose first column may be edited.
pub struct Made {
    pub tables: Vec<u32>,
    pub edited: u32,
    /// Values of that column.
    pub data: Vec<f64>,
}

/// A closed mesh of springs, one part of it fixed, pulled elsewhere: positions and constants of rest.
pub fn mesh(to: &mut impl Declare) -> Made {
    let mesh = Mesh::icosphere(2).normalized();
    let [starts, ends] = mesh.directed_edges();
    let positions = to.table("position", vec![Shape::Euclidean(3)], &mesh.positions, true);
    let rest = to.table("rest", vec![Shape::Euclidean(3)], &mesh.positions, false);
    let mut tape = Tape::default();
    let [a, b, a0, b0] = [0, 1, 2, 3].map(|source| tape.input(source));
    let [now, before] = [[a, b], [a0, b0]].map(|ends| {
        let difference = tape.op(Sub, &ends);
        tape.op(Norm, &[difference])
    });
    let outputs = [tape.op(Sub, &[now, before])];
    let spec = TermSpec {
        indices: vec![starts.clone(), ends],
        slots: vec![at(positions, 0), at(positions, 1), at(rest, 0), at(rest, 1)],
        tape: &tape.words,
        outputs: &outputs,
        ..plain("springs", starts.len() as u32)
    };
    to.term(&spec);
    let count = mesh.positions.len() as u32 / 3;
    let targets: Vec<f64> = mesh.positions.chunks(3).flat_map(|p| [p[0] + 0.4 * p[1], 0.8 * p[1], p[2] - 0.3 * p[1] * p[1]]).collect();
    let weights: Vec<f64> = (0..count).map(|row| 0.05 + 0.01 * f64::from(row % 7)).collect();
    let mut tape = Tape::default();
    let [p, goal] = [0, 1].map(|source| tape.input(source));
    let outputs = [tape.op(Sub, &[p, goal])];
    let spec = TermSpec {
        indices: vec![(0..count).collect()],
        slots: vec![at(positions, 0)],
        columns: vec![column("target", 3, &targets)],
        weight: Weight::Each(Reals::F64(&weights)),
        loss: Some(Loss::huber(0.2).unwrap()),
        tape: &tape.words,
        outputs: &outputs,
        ..plain("pulls", count)
    };
    let edited = to.term(&spec);
    let fixed: Vec<u32> = (0..count).filter(|row| mesh.positions[3 * *row as usize + 1] < 0.1).collect();
    to.fix(positions, &fixed);
    Made { tables: vec![positions], edited, data: targets }
}

/// Views of points by poses with a focal length, by columns of both; gives the term's number.
pub fn views(to: &mut impl Declare, [pose, point, focal]: [u32; 3], [cameras, points]: [Vec<u32>; 2], pixels: &[f64]) -> u32 {
    let mut tape = Tape::default();
    let [q, at_point, length, pixel] = [0, 1, 2, 3].map(|source| tape.input(source));
    let part = |tape: &mut Tape, range: std::ops::Range<u32>| {
        let parts: Vec<u32> = range.map(|component| tape.op(Component, &[q, component])).collect();
        tape.op(Pack, &parts)
    };
    let (turn, shift) = (part(&mut tape, 0..4), part(&mut tape, 4..7));
    let turned = tape.op(QuatRotate, &[turn, at_point]);
    let there = tape.op(Add, &[turned, shift]);
    let depth = tape.op(Component, &[there, 2]);
    let outputs = [0, 1].map(|component| {
        let side = tape.op(Component, &[there, component]);
        let ratio = tape.op(Div, &[side, depth]);
        let (scaled, wanted) = (tape.op(Mul, &[ratio, length]), tape.op(Component, &[pixel, component]));
        tape.op(Sub, &[scaled, wanted])
    });
    let count = cameras.len() as u32;
    let spec = TermSpec {
        indices: vec![cameras, points, vec![0; count as usize]],
        slots: vec![at(pose, 0), at(point, 1), at(focal, 2)],
        columns: vec![column("pixel", 2, pixels)],
        weight: Weight::Shared(100.0),
        loss: Some(Loss::cauchy(0.02).unwrap()),
        tape: &tape.words,
        outputs: &outputs,
        ..plain("views", count)
    };
    to.term(&spec)
}

/// A small bundle: poses on a manifold, points, a focal length that is known, outliers under a loss.
pub fn bundle(to: &mut impl Declare) -> Made {
    let (cameras, points) = (6usize, 90usize);
    let mut random = Random::new(7);
    let mut within = |spread: f64| random.between(-spread, spread);
    let places: Vec<f64> = (0..3 * points).map(|_| within(0.9)).collect();
    let angle = |camera: usize| 0.25 * (camera as f64 - 2.5);
    let (mut views_of, mut pixels) = ([Vec::new(), Vec::new()], Vec::new());
    for (number, point) in places.chunks(3).enumerate() {
        // A point is seen by the three cameras that come next to each other.
        for camera in (0..cameras).filter(|camera| camera.abs_diff(number * cameras / points) <= 1) {
            let (sin, cos) = angle(camera).sin_cos();
            let turned = [cos * point[0] + sin * point[2], point[1], cos * point[2] - sin * point[0] + 4.0];
            let off = if (number + camera) % 19 == 0 { 0.3 } else { 0.0 };
            pixels.extend([1.1 * turned[0] / turned[2] + within(0.004) + off, 1.1 * turned[1] / turned[2] + within(0.004)]);
            views_of[0].push(camera as u32);
            views_of[1].push(number as u32);
        }
    }
    let poses: Vec<f64> = (0..cameras)
        .flat_map(|camera| {
            let half = 0.5 * (angle(camera) + within(0.02));
            [half.cos(), 0.0, half.sin(), 0.0, within(0.03), within(0.03), 4.0 + within(0.03)]
        })
        .collect();
    let starts: Vec<f64> = places.iter().map(|place| place + within(0.04)).collect();
    let focal = to.table("focal", vec![Shape::Euclidean(1)], &[1.1], false);
    let pose = to.table("pose", vec![Shape::Quaternion, Shape::Euclidean(3)], &poses, true);
    let point = to.table("point", vec![Shape::Euclidean(3)], &starts, true);
    let edited = views(to, [pose, point, focal], views_of, &pixels);
    // Priors of points, which hold what two fixed poses leave.
    let mut tape = Tape::default();
    let [p, goal] = [0, 1].map(|source| tape.input(source));
    let outputs = [tape.op(Sub, &[p, goal])];
    let spec = TermSpec {
        indices: vec![(0..points as u32).collect()],
        slots: vec![at(point, 0)],
        columns: vec![column("goal", 3, &starts)],
        weight: Weight::Shared(0.1),
        tape: &tape.words,
        outputs: &outputs,
        ..plain("priors", points as u32)
    };
    to.term(&spec);
    to.fix(pose, &[2]);
    Made { tables: vec![pose, point], edited, data: pixels }
}

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
    fn fix_components(&mut self, table: u32, at: Option<&[u32]>, components: &[u32]);
    fn bound(&mut self, table: u32, lower: Option<&[f64]>, upper: Option<&[f64]>);
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

    fn fix_components(&mut self, table: u32, at: Option<&[u32]>, components: &[u32]) {
        self.session.fix_table(self.problem, table, at, Some(components)).unwrap();
    }

    fn bound(&mut self, table: u32, lower: Option<&[f64]>, upper: Option<&[f64]>) {
        self.session.bound_table(self.problem, table, lower.map(Reals::F64), upper.map(Reals::F64)).unwrap();
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
        Self::fix(self, table, Some(at), None).unwrap();
    }

    fn fix_components(&mut self, table: u32, at: Option<&[u32]>, components: &[u32]) {
        Self::fix(self, table, at, Some(components)).unwrap();
    }

    fn bound(&mut self, table: u32, lower: Option<&[f64]>, upper: Option<&[f64]>) {
        Self::bound(self, table, lower, upper).unwrap();
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
    let ([pose, point, _], edited, data) = bundle_of(to, false, false);
    Made { tables: vec![pose, point], edited, data }
}

/// The bundle with its views in the order of their cameras, and shifts between cameras that are held to what they are at first.
pub fn bundle_by_cameras(to: &mut impl Declare) -> Made {
    let ([pose, point, _], edited, data) = bundle_of(to, false, true);
    let mut tape = Tape::default();
    let [a, b] = [0, 1].map(|source| tape.input(source));
    let outputs = [4, 5, 6].map(|component| {
        let [to_end, from] = [b, a].map(|pose| tape.op(Component, &[pose, component]));
        tape.op(Sub, &[to_end, from])
    });
    let (starts, ends): (Vec<u32>, Vec<u32>) = (0..CAMERAS as u32 - 1).map(|camera| (camera, camera + 1)).unzip();
    to.term(&TermSpec {
        indices: vec![starts, ends],
        slots: vec![at(pose, 0), at(pose, 1)],
        weight: Weight::Shared(0.3),
        tape: &tape.words,
        outputs: &outputs,
        ..plain("drift", CAMERAS as u32 - 1)
    });
    Made { tables: vec![pose, point], edited, data }
}

const CAMERAS: usize = 6;

/// Tables of poses, points and the focal length, the term of views, and its pixels.
fn bundle_of(to: &mut impl Declare, solves_focal: bool, by_cameras: bool) -> ([u32; 3], u32, Vec<f64>) {
    let (cameras, points) = (CAMERAS, 90usize);
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
    if by_cameras {
        let mut order: Vec<usize> = (0..views_of[0].len()).collect();
        order.sort_by_key(|view| views_of[0][*view]);
        views_of = views_of.map(|column| order.iter().map(|view| column[*view]).collect());
        pixels = order.iter().flat_map(|view| [pixels[2 * view], pixels[2 * view + 1]]).collect();
    }
    let poses: Vec<f64> = (0..cameras)
        .flat_map(|camera| {
            let half = 0.5 * (angle(camera) + within(0.02));
            [half.cos(), 0.0, half.sin(), 0.0, within(0.03), within(0.03), 4.0 + within(0.03)]
        })
        .collect();
    let starts: Vec<f64> = places.iter().map(|place| place + within(0.04)).collect();
    let focal = to.table("focal", vec![Shape::Euclidean(1)], &[1.1], solves_focal);
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
    ([pose, point, focal], edited, pixels)
}

/// The bundle with a focal length that all ranks share, below the best one, points within a box that some begin outside of, and fixed
/// components of poses and points.
pub fn limited_bundle(to: &mut impl Declare) -> Made {
    let ([pose, point, focal], edited, data) = bundle_of(to, true, false);
    to.bound(point, Some(&[-0.6]), Some(&[0.6, 0.55, 0.6]));
    to.bound(focal, None, Some(&[1.08]));
    to.fix_components(pose, Some(&[0, 4]), &[5]);
    to.fix_components(point, Some(&[3, 10, 40]), &[1]);
    Made { tables: vec![pose, point, focal], edited, data }
}

/// Rows of a net that no term touches.
pub const IDLE: u32 = 3;

/// Points in the plane with goals, and springs between neighbours of a row; a box around every component as in `tests/constraints`: some
/// that bind, some on one side, some without width, some that points begin outside of. Second components of some rows are fixed. A
/// variable by itself begins below its limits and ends at the upper one.
pub fn net(to: &mut impl Declare) -> Made {
    let made = free_net(to);
    let (lower, upper) = boxes();
    to.bound(made.tables[0], Some(&lower), Some(&upper));
    to.bound(made.tables[1], Some(&[0.25]), Some(&[1.5]));
    made
}

const NET: u32 = 150;

/// The net without limits.
pub fn free_net(to: &mut impl Declare) -> Made {
    let made = loose_net(to);
    to.fix_components(made.tables[0], Some(&[7, 75, 149]), &[1]);
    made
}

/// The net without limits and fixed components.
pub fn loose_net(to: &mut impl Declare) -> Made {
    let mut random = Random::new(23);
    let goals: Vec<f64> = (0..2 * NET).map(|number| 0.3 * f64::from(number / 2 % 12) + random.between(-0.3, 0.3)).collect();
    let starts = starts(NET + IDLE);
    let x = to.table("x", vec![Shape::Euclidean(2)], &starts, true);
    let mut tape = Tape::default();
    let [p, goal] = [0, 1].map(|source| tape.input(source));
    let outputs = [tape.op(Sub, &[p, goal])];
    let spec = TermSpec {
        indices: vec![(0..NET).collect()],
        slots: vec![at(x, 0)],
        columns: vec![column("goal", 2, &goals)],
        weight: Weight::Shared(0.3),
        tape: &tape.words,
        outputs: &outputs,
        ..plain("goals", NET)
    };
    let edited = to.term(&spec);
    let ends = (0..3 * NET).map(|number| (number / 3, number / 3 + 1 + random.below(4) as u32)).filter(|(_, end)| *end < NET);
    let (a, b): (Vec<u32>, Vec<u32>) = ends.unzip();
    let lengths: Vec<f64> = a.iter().map(|_| random.between(0.2, 0.6)).collect();
    let mut tape = Tape::default();
    let [from, to_end, length] = [0, 1, 2].map(|source| tape.input(source));
    let between = tape.op(Sub, &[from, to_end]);
    let distance = tape.op(Norm, &[between]);
    let outputs = [tape.op(Sub, &[distance, length])];
    let spec = TermSpec {
        indices: vec![a.clone(), b],
        slots: vec![at(x, 0), at(x, 1)],
        columns: vec![column("length", 1, &lengths)],
        tape: &tape.words,
        outputs: &outputs,
        ..plain("springs", a.len() as u32)
    };
    to.term(&spec);
    // A variable of one instance, which all ranks but one lack.
    let y = to.table("y", vec![Shape::Euclidean(1)], &[0.0], true);
    let mut tape = Tape::default();
    let [value, goal] = [tape.input(0), tape.literal(2.0)];
    let outputs = [tape.op(Sub, &[value, goal])];
    to.term(&TermSpec { indices: vec![vec![0]], slots: vec![at(y, 0)], tape: &tape.words, outputs: &outputs, ..plain("height", 1) });
    Made { tables: vec![x, y], edited, data: goals }
}

fn starts(count: u32) -> Vec<f64> {
    let mut random = Random::new(29);
    (0..2 * count).map(|number| f64::from((0.3 * f64::from(number / 2 % 12) + random.between(-0.4, 0.4)) as f32)).collect()
}

/// Limits of the net, which f32 has.
pub fn boxes() -> (Vec<f64>, Vec<f64>) {
    let mut random = Random::new(31);
    let one = |x: f64| match random.below(6) {
        0 => (x - 0.0625, x + 0.125),
        1 => (x, f64::INFINITY),
        2 => (f64::NEG_INFINITY, x - 0.03125),
        3 => (x + 0.0625, x + 0.0625),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let in_f32 = |(lower, upper): (f64, f64)| (f64::from(lower as f32), f64::from(upper as f32));
    let mut limits: Vec<(f64, f64)> = starts(NET + IDLE).into_iter().map(one).map(in_f32).collect();
    // Rows that no term touches begin outside of theirs.
    limits[2 * NET as usize..].fill((10.0, 11.0));
    limits.into_iter().unzip()
}

//! Bundles that tests of Schur complements solve, and what they are held by.

use crate::support::*;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Loss, Reals, Slot, TermSpec, Weight};
use leastwise::session::Session;
use leastwise::solve::{Options, Report};

/// A bundle. Cameras stand on a ring around a cloud of points, each seen by some of them, or along a corridor, where a camera sees
/// what is near.
#[derive(Clone)]
pub struct Scene {
    pub cameras: usize,
    pub points: usize,
    pub is_corridor: bool,
    /// A focal length that all cameras share; else it is known.
    pub shares_focal: bool,
    /// Weak priors of points, without which nothing is held but the scale of the steps.
    pub has_priors: bool,
    /// Views in no order of points.
    pub is_shuffled: bool,
    /// The table of points is made before that of cameras.
    pub points_first: bool,
    /// So many of a corridor's points are seen by all cameras.
    pub hubs: usize,
    pub loss: Option<Loss>,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            cameras: 5,
            points: 80,
            is_corridor: false,
            shares_focal: false,
            has_priors: false,
            is_shuffled: false,
            points_first: false,
            hubs: 0,
            loss: None,
        }
    }
}

/// The problem and its tables.
pub struct Bundle {
    pub problem: u32,
    pub camera: u32,
    pub point: u32,
}

impl Scene {
    fn view(&self, camera: usize, number: usize, point: &[f64]) -> Option<[f64; 6]> {
        let count = self.cameras as f64;
        if self.is_corridor {
            let at = camera as f64 * 0.8;
            return (number < self.hubs || (point[0] - at).abs() < 1.5).then_some([0.0, 0.0, 0.0, -at, 0.0, 0.0]);
        }
        Some([0.0, std::f64::consts::TAU * camera as f64 / count, 0.0, 0.0, 0.0, 0.0])
    }

    pub fn add(&self, session: &mut Session, seed: u64) -> Bundle {
        let mut random = Random::new(seed);
        let mut within = |spread: f64| random.between(-spread, spread);
        let length = if self.is_corridor { 0.8 * (self.cameras - 1) as f64 } else { 0.0 };
        let points: Vec<f64> = (0..self.points)
            .flat_map(|number| {
                let along = if self.is_corridor { length * (number as f64 + 0.5) / self.points as f64 } else { within(0.8) };
                [along, within(0.8), within(0.8)]
            })
            .collect();
        let (mut views, mut pixels, mut poses) = (Vec::new(), Vec::new(), vec![0.0; 6 * self.cameras]);
        for (number, point) in points.chunks(3).enumerate() {
            for camera in 0..self.cameras {
                // On the ring a point is seen by four fifths of the cameras.
                let Some(pose) = self.view(camera, number, point).filter(|_| self.is_corridor || (7 * number + 3 * camera) % 5 != 0) else {
                    continue;
                };
                poses[6 * camera..][..6].copy_from_slice(&pose);
                let (sin, cos) = pose[1].sin_cos();
                let turned = [cos * point[0] + sin * point[2] + pose[3], point[1] + pose[4], cos * point[2] - sin * point[0] + pose[5]];
                // A few are far off.
                let off = if self.loss.is_some() && (number + camera) % 17 == 0 { 0.4 } else { 0.0 };
                let depth = turned[2] + 4.0;
                pixels.push([turned[0] / depth + within(0.005) + off, turned[1] / depth + within(0.005)]);
                views.push([camera as u32, number as u32]);
            }
        }
        if self.is_shuffled {
            for k in (1..views.len()).rev() {
                let other = (within(0.5) * 1e6).abs() as usize % (k + 1);
                views.swap(k, other);
                pixels.swap(k, other);
            }
        }
        let mut moved = |values: &[f64], by: f64| -> Vec<f64> { values.iter().map(|value| value + within(by)).collect() };
        let (poses, places) = (moved(&poses, 0.02), moved(&points, 0.05));
        let problem = session.problem();
        let mut table = |name: &str, width: u32, values: &[f64]| session.table(problem, name, width, Reals::F64(values), true).unwrap();
        let first = self.points_first.then(|| table("point", 3, &places));
        let camera = table("camera", 6, &poses);
        let point = first.unwrap_or_else(|| table("point", 3, &places));
        let focal = self.shares_focal.then(|| table("focal", 1, &[1.05]));
        let mut tape = Tape::default();
        let [pose, at] = [0, 1].map(|source| tape.input(source));
        let length = focal.map(|_| tape.input(2));
        let pixel = tape.input(2 + u32::from(focal.is_some()));
        let part = |tape: &mut Tape, of: u32, first: u32| {
            let parts: Vec<u32> = (first..first + 3).map(|component| tape.op(Component, &[of, component])).collect();
            tape.op(Pack, &parts)
        };
        let [angles, shift] = [0, 3].map(|first| part(&mut tape, pose, first));
        let turned = tape.op(RotateXYZ, &[angles, at]);
        let there = tape.op(Add, &[turned, shift]);
        let [x, y, z] = [0, 1, 2].map(|component| tape.op(Component, &[there, component]));
        let four = tape.literal(4.0);
        let depth = tape.op(Add, &[z, four]);
        let rows = [x, y].into_iter().zip(0..).map(|(side, component)| {
            let ratio = tape.op(Div, &[side, depth]);
            let scaled = length.map_or(ratio, |length| tape.op(Mul, &[ratio, length]));
            let wanted = tape.op(Component, &[pixel, component]);
            tape.op(Sub, &[scaled, wanted])
        });
        let outputs: Vec<u32> = rows.collect();
        let pixels = pixels.concat();
        let slot = |table, column| Slot { table, column };
        let column = |k: usize| views.iter().map(|view| view[k]).collect::<Vec<u32>>();
        let spec = TermSpec {
            name: "views".into(),
            count: views.len() as u32,
            indices: [column(0), column(1)].into_iter().chain(focal.map(|_| vec![0; views.len()])).collect(),
            slots: [slot(camera, 0), slot(point, 1)].into_iter().chain(focal.map(|focal| slot(focal, 2))).collect(),
            columns: vec![Column { name: "pixel".into(), width: 2, shared: false, values: Reals::F64(&pixels) }],
            weight: Weight::Shared(2.0),
            tape: &tape.words,
            outputs: &outputs,
            loss: self.loss.clone(),
            objective: Default::default(),
        };
        session.term(problem, spec).unwrap();
        if self.has_priors {
            prior(session, problem, (point, 3), &places);
            prior(session, problem, (camera, 6), &poses);
        }
        Bundle { problem, camera, point }
    }
}

pub fn prior(session: &mut Session, problem: u32, (table, width): (u32, u32), values: &[f64]) {
    let mut tape = Tape::default();
    let [x, start] = [0, 1].map(|source| tape.input(source));
    let apart = tape.op(Sub, &[x, start]);
    let count = values.len() as u32 / width;
    let spec = TermSpec {
        name: format!("prior of {table}"),
        count,
        indices: vec![(0..count).collect()],
        slots: vec![Slot { table, column: 0 }],
        columns: vec![Column { name: "start".into(), width, shared: false, values: Reals::F64(values) }],
        weight: Weight::Shared(0.02),
        tape: &tape.words,
        outputs: &[apart],
        loss: None,
        objective: Default::default(),
    };
    session.term(problem, spec).unwrap();
}

pub fn options(linear: &str) -> Options {
    Options {
        linear: Some(linear.into()),
        cost_tolerance: Some(1e-13),
        gradient_tolerance: Some(1e-13),
        step_tolerance: Some(1e-13),
        max_iterations: Some(200.0),
        forcing: linear.ends_with("pcg").then_some(1e-8),
        max_inner_iterations: linear.ends_with("pcg").then_some(3000.0),
        ..Options::default()
    }
}

pub fn scenes() -> Vec<(&'static str, Scene)> {
    let usual = Scene::default();
    vec![
        ("few cameras, a free gauge", Scene { cameras: 3, points: 150, ..usual.clone() }),
        ("a corridor", Scene { cameras: 16, points: 240, is_corridor: true, ..usual.clone() }),
        ("a loss", Scene { loss: Some(Loss::cauchy(0.02).unwrap()), ..usual.clone() }),
        ("a focal length that all share, and priors", Scene { shares_focal: true, has_priors: true, ..usual.clone() }),
        ("tables in another order", Scene { shares_focal: true, points_first: true, ..usual.clone() }),
        ("views in no order", Scene { is_shuffled: true, shares_focal: true, ..usual }),
    ]
}

/// Additions that each scene is solved with: nothing, fixed cameras, bounds.
pub fn held(session: &mut Session, bundle: &Bundle, how: usize) {
    match how {
        1 => {
            session.fix_table(bundle.problem, bundle.camera, Some(&[0, 1]), None).unwrap();
            session.fix_table(bundle.problem, bundle.point, Some(&[3, 10]), None).unwrap();
        }
        2 => {
            session.bound_table(bundle.problem, bundle.point, Some(Reals::F64(&[-0.6])), Some(Reals::F64(&[0.6]))).unwrap();
            session.fix_table(bundle.problem, bundle.camera, None, Some(&[4])).unwrap();
        }
        _ => {}
    }
}

pub fn solved(session: &mut Session, scene: &Scene, how: usize, options: &Options) -> Report {
    let bundle = scene.add(session, 3);
    held(session, &bundle, how);
    solve(session, bundle.problem, options)
}

pub fn agree(costs: &[(&str, f64)], tolerance: f64, what: &str) {
    let (_, first) = costs[0];
    assert!(costs.iter().all(|(_, cost)| (cost - first).abs() <= tolerance * first), "{what}: {costs:?}");
}

//! Bundle adjustment of the BAL collection: cameras of nine numbers (rotation vector, translation, focal length, two
//! coefficients of distortion), points of three.

use crate::armadillo::unpacked;
use crate::support::Tape;
use leastwise::expr::Opcode;
use leastwise::problem::{Column, Reals, Slot, TermSpec, Weight};
use leastwise::session::Session;

pub struct Scene {
    cameras: Vec<f64>,
    points: Vec<f64>,
    /// The camera and the point of every view.
    pairs: [Vec<u32>; 2],
    seen: Vec<f64>,
}

/// A gzipped file of the collection.
pub fn read(path: &str) -> Scene {
    let text = unpacked(path);
    let mut words = text.split_whitespace();
    let mut number = || words.next().and_then(|word| word.parse::<f64>().ok()).unwrap_or_else(|| panic!("{path} ends too early"));
    let [cameras, points, views] = [(); 3].map(|()| number() as usize);
    let mut scene = Scene { cameras: Vec::new(), points: Vec::new(), pairs: Default::default(), seen: Vec::new() };
    for _ in 0..views {
        scene.pairs.iter_mut().for_each(|list| list.push(number() as u32));
        scene.seen.extend([(); 2].map(|()| number()));
    }
    scene.cameras.extend((0..9 * cameras).map(|_| number()));
    scene.points.extend((0..3 * points).map(|_| number()));
    scene
}

/// f(1 + k₁‖p‖² + k₂‖p‖⁴)p − seen, where p = −(P.x, P.y)/P.z and P is the point in the camera's frame.
fn residual(tape: &mut Tape) -> u32 {
    let [camera, point, seen] = [0, 1, 2].map(|source| tape.input(source));
    let numbers: Vec<u32> = (0..9).map(|k| tape.op(Opcode::Component, &[camera, k])).collect();
    let turn = tape.op(Opcode::Pack, &numbers[..3]);
    let turn = tape.op(Opcode::QuatFromAngleAxis, &[turn]);
    let turned = tape.op(Opcode::QuatRotate, &[turn, point]);
    let shift = tape.op(Opcode::Pack, &numbers[3..6]);
    let inside = tape.op(Opcode::Add, &[turned, shift]);
    let [x, y, z] = [0, 1, 2].map(|k| tape.op(Opcode::Component, &[inside, k]));
    let across = tape.op(Opcode::Pack, &[x, y]);
    let depth = tape.op(Opcode::Neg, &[z]);
    let image = tape.op(Opcode::Div, &[across, depth]);
    let square = tape.op(Opcode::NormSq, &[image]);
    let fourth = tape.op(Opcode::Mul, &[numbers[8], square]);
    let both = tape.op(Opcode::Add, &[numbers[7], fourth]);
    let bent = tape.op(Opcode::Mul, &[both, square]);
    let one = tape.literal(1.0);
    let factor = tape.op(Opcode::Add, &[one, bent]);
    let scale = tape.op(Opcode::Mul, &[numbers[6], factor]);
    let predicted = tape.op(Opcode::Mul, &[image, scale]);
    tape.op(Opcode::Sub, &[predicted, seen])
}

pub fn problem(session: &mut Session, scene: &Scene) -> u32 {
    let problem = session.problem();
    let cameras = session.table(problem, "camera", 9, Reals::F64(&scene.cameras), true).expect("cameras");
    let points = session.table(problem, "point", 3, Reals::F64(&scene.points), true).expect("points");
    let mut tape = Tape::default();
    let output = residual(&mut tape);
    let spec = TermSpec {
        name: "views".into(),
        count: scene.pairs[0].len() as u32,
        indices: scene.pairs.to_vec(),
        slots: vec![Slot { table: cameras, column: 0 }, Slot { table: points, column: 1 }],
        columns: vec![Column { name: "seen".into(), width: 2, shared: false, values: Reals::F64(&scene.seen) }],
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &[output],
    };
    session.term(problem, spec).expect("a term");
    problem
}

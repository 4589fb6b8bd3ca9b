//! The programs of a residual as WebAssembly, against the block interpreter, to the bit.

use super::check::Outcome;
use super::engine::{self, Memory, Term, play};
use super::modules_support::{Buffers, Ran, run};
use super::traced::{Point, Traced};
use leastwise::device::Precision;

/// Instances: a strip of lanes, and a few that the last one shares with it.
const INSTANCES: usize = 67;

/// How many numbers were compared.
pub fn check(traced: &Traced, points: &[Point], precision: Precision) -> Result<u64, Outcome> {
    let points: Vec<Point> = points.iter().cycle().take(INSTANCES).cloned().collect();
    let Term { programs, mut memory } = engine::term(traced, &points, &[0.75], true).map_err(|_| Outcome::Refused)?;
    memory.vector = (0..memory.arena.len()).map(|k| [0.5, -1.0, 0.25, 2.0, -0.75][k % 5]).collect();
    let all = [
        (&programs.linearize, 0),
        (&programs.energy, 1),
        (&programs.change, 1),
        (&programs.gradient, programs.contributions),
        (&programs.product, programs.contributions),
        (&programs.diagonal, programs.diagonals),
    ];
    let mut compared = 0;
    for (program, columns) in all {
        let bound = Memory { out: columns * memory.count, ..memory.clone() };
        let expected = play(&mut engine::cpu(precision), program, &bound);
        let Memory { count, arena, data, index, vector, jacobian, out } = &bound;
        let out = vec![0.0; *out as usize];
        match run(program, precision, &Buffers { count: *count, arena, data, index, vector, jacobian, out: &out }, 0..*count) {
            Ran::Finished(vector, jacobian) => {
                // Where nothing is written or bound, the engine's buffers have one number.
                let pairs = vector.iter().zip(&expected.vector).chain(jacobian.iter().zip(&expected.jacobian));
                for (place, (found, expected)) in pairs.enumerate() {
                    // One NaN is as good as another.
                    if found.to_bits() != expected.to_bits() && !(found.is_nan() && expected.is_nan()) {
                        return Err(Outcome::Differs(format!("{}: element {place} is {found:e}, not {expected:e}", program.name)));
                    }
                    compared += 1;
                }
            }
            // Some are too large for a module: rotations within rotations.
            Ran::Refused(why) if why.contains("steps") => {}
            Ran::Refused(why) => return Err(Outcome::Differs(format!("{}: {why}", program.name))),
            Ran::OutOfTable => return Err(Outcome::Differs(format!("{}: every index is in its table", program.name))),
        }
        if program.name == programs.linearize.name {
            memory.jacobian = expected.jacobian;
        }
    }
    Ok(compared)
}

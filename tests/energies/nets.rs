//! Energies that are residuals squared: where these are linear, both make the same steps.

use super::{LINEAR, sessions};
use crate::support::*;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, RaggedSlot, RaggedSpec, Reals, Slot, TermSpec, Trace, Weight};
use leastwise::program::Objective;
use leastwise::session::Session;
use leastwise::solve::{Options, Report};

const COUNT: u32 = 300;

/// Springs with a rest vector, each with its own weight, between points that some of them join with themselves; a pull on
/// the first point; and what rows of one to three points have in the middle.
struct Net {
    values: Vec<f64>,
    ends: [Vec<u32>; 2],
    rest: Vec<f64>,
    weights: Vec<f64>,
    rows: Vec<Vec<u32>>,
}

impl Net {
    fn new(random: &mut Random) -> Self {
        let mut point = |_| random.below(u64::from(COUNT)) as u32;
        let mut ends = [(0..COUNT - 1).collect::<Vec<u32>>(), (1..COUNT).collect()];
        (0..200).for_each(|k| ends.iter_mut().for_each(|end| end.push(point(k))));
        // One in a row names a point twice.
        ends.iter_mut().for_each(|end| end.push(7));
        let rows = (0..60).map(|k| (0..1 + k % 3).map(|_| point(0)).collect()).collect();
        let many = ends[0].len();
        Self {
            values: (0..2 * COUNT).map(|_| random.between(-1.0, 1.0)).collect(),
            ends,
            rest: (0..2 * many).map(|_| random.between(-1.0, 1.0)).collect(),
            weights: (0..many).map(|_| random.between(0.1, 2.0)).collect(),
            rows,
        }
    }

    fn make(&self, session: &mut Session, objective: Objective) -> u32 {
        let problem = session.problem();
        let x = session.table(problem, "x", 2, Reals::F64(&self.values), true).unwrap();
        // ½‖v‖² where it is to be written out.
        let outcome = |tape: &mut Tape, v: u32| {
            if objective == Objective::LeastSquares {
                return v;
            }
            let (half, squared) = (tape.literal(0.5), tape.op(NormSq, &[v]));
            tape.op(Mul, &[half, squared])
        };
        let plain = |name: &str, indices: Vec<Vec<u32>>| TermSpec {
            name: name.into(),
            count: indices.first().map_or(0, Vec::len) as u32,
            slots: (0..indices.len() as u32).map(|column| Slot { table: x, column }).collect(),
            indices,
            columns: Vec::new(),
            weight: Weight::Shared(1.0),
            loss: None,
            objective,
            tape: &[],
            outputs: &[],
        };
        let mut tape = Tape::default();
        let [a, b, rest] = [0, 1, 2].map(|source| tape.input(source));
        let edge = tape.op(Sub, &[a, b]);
        let stretch = tape.op(Sub, &[edge, rest]);
        let outputs = [outcome(&mut tape, stretch)];
        let springs = TermSpec {
            columns: vec![Column { name: "rest".into(), width: 2, shared: false, values: Reals::F64(&self.rest) }],
            weight: Weight::Each(Reals::F64(&self.weights)),
            tape: &tape.words,
            outputs: &outputs,
            ..plain("springs", self.ends.to_vec())
        };
        session.term(problem, springs).unwrap();
        let mut tape = Tape::default();
        let pulled = tape.input(0);
        let outputs = [outcome(&mut tape, pulled)];
        session.term(problem, TermSpec { tape: &tape.words, outputs: &outputs, ..plain("pull", vec![vec![0]]) }).unwrap();
        let traces: Vec<(u32, Tape, [u32; 1])> = (1..=3)
            .map(|length| {
                let mut tape = Tape::default();
                let entries: Vec<u32> = (0..length).map(|source| tape.input(source)).collect();
                let middle = tape.op(Mean, &entries);
                let outputs = [outcome(&mut tape, middle)];
                (length, tape, outputs)
            })
            .collect();
        let starts = self.rows.iter().scan(0, |end, row| {
            *end += row.len() as u32;
            Some(*end)
        });
        let rows = RaggedSpec {
            plain: TermSpec { count: self.rows.len() as u32, ..plain("middles", Vec::new()) },
            offsets: std::iter::once(0).chain(starts).collect(),
            slots: vec![RaggedSlot { table: x, indices: self.rows.concat() }],
            columns: Vec::new(),
            traces: traces.iter().map(|(length, tape, outputs)| Trace { length: *length, tape: &tape.words, outputs }).collect(),
        };
        session.ragged_term(problem, rows).unwrap();
        // What may not move, and what may only a little.
        session.fix_table(problem, x, Some(&[3, 40]), None).unwrap();
        session.bound_table(problem, x, Some(Reals::F64(&[-0.8])), Some(Reals::F64(&[0.8]))).unwrap();
        problem
    }
}

fn costs(report: &Report) -> Vec<f64> {
    report.iterations.iter().map(|iteration| iteration.cost).collect()
}

#[test]
fn squares_of_what_is_linear_make_the_same_steps_as_residuals() {
    let seed = fresh_seed();
    for (name, exactness, mut session) in sessions() {
        let net = Net::new(&mut Random::new(seed));
        for linear in LINEAR.into_iter().filter(|linear| *linear != "dense") {
            let options = Options { linear: Some(linear.into()), forcing: Some(1e-6), max_iterations: Some(5.0), ..Options::default() };
            let [residual, energy] = [Objective::LeastSquares, Objective::Energy].map(|objective| {
                let problem = net.make(&mut session, objective);
                let report = solve(&mut session, problem, &options);
                session.free_problem(problem);
                report
            });
            let what = format!("LEASTWISE_TEST_SEED={seed}, {name}, {linear}: {:?} and {:?}", costs(&residual), costs(&energy));
            assert!((residual.initial_cost - energy.initial_cost).abs() <= exactness * residual.initial_cost, "{what}");
            assert_eq!(residual.iterations.len(), energy.iterations.len(), "{what}");
            // A factor leaves rounding alone, conjugate gradients what they were told they may.
            let bound = if linear == "sparse-cholesky" { 10.0 * exactness } else { 10.0 * exactness.max(1e-6) };
            for (a, b) in costs(&residual).into_iter().zip(costs(&energy)) {
                assert!((a - b).abs() <= bound * residual.initial_cost, "{what}");
            }
            assert!(energy.cost < 0.7 * energy.initial_cost, "{what}");
            assert_eq!(energy.gauge, residual.gauge, "{what}");
        }
        let counters = session.device().counters();
        assert_eq!(counters.buffers_created, counters.buffers_destroyed, "{name}: nothing stays behind");
    }
}

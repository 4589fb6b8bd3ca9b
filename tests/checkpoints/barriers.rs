//! Searches that are saved where they met what is not defined, and solvers that are saved after their report.

use super::support::*;
use super::{bits, save};
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Reals, Slot, TermSpec, Weight};
use leastwise::program::Objective;
use leastwise::session::{Progress, Session, SolveMode};
use leastwise::solve::Options;

const COUNT: u32 = 12;

/// Σ ½‖x − t‖² − 0.1 ln(x + 1): steps along the gradient lead where there is no logarithm.
fn barrier(session: &mut Session, seed: u64) -> (u32, u32) {
    let mut random = Random::new(seed);
    let targets: Vec<f64> = (0..COUNT).map(|_| random.between(-6.0, 2.0)).collect();
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(&[0.0; COUNT as usize]), true).unwrap();
    let mut own = |name: &str, objective: Objective, columns: Vec<Column>, tape: &Tape, output: u32| {
        let spec = TermSpec {
            name: name.into(),
            count: COUNT,
            indices: vec![(0..COUNT).collect()],
            slots: vec![Slot { table: x, column: 0 }],
            columns,
            weight: Weight::Shared(1.0),
            loss: None,
            objective,
            tape: &tape.words,
            outputs: &[output],
        };
        session.term(problem, spec).unwrap();
    };
    let mut tape = Tape::default();
    let [value, target] = [0, 1].map(|source| tape.input(source));
    let away = tape.op(Sub, &[value, target]);
    let column = Column { name: "target".into(), width: 1, shared: false, values: Reals::F64(&targets) };
    own("data", Objective::LeastSquares, vec![column], &tape, away);
    let mut tape = Tape::default();
    let value = tape.input(0);
    let [one, factor] = [tape.literal(1.0), tape.literal(-0.1)];
    let inside = tape.op(Add, &[value, one]);
    let logarithm = tape.op(Log, &[inside]);
    let energy = tape.op(Mul, &[factor, logarithm]);
    own("barrier", Objective::Energy, Vec::new(), &tape, energy);
    (problem, x)
}

/// In the midst of a search r and J are those of its last trial that was defined, which need not be the last one.
#[test]
fn a_search_that_met_what_is_not_defined_goes_on_to_the_bit() {
    const STEPS: usize = 8;
    for precision in [Precision::F64, Precision::F32] {
        for method in ["lbfgs", "nonlinear-cg", "gradient-descent", "adam", "lm"] {
            let rate = (method == "adam").then_some(2.0);
            let options = Options { method: Some(method.into()), learning_rate: rate, ..Options::default() };
            let mut left = 0;
            for seed in 0..6 {
                let mut session = cpu(precision);
                let (problem, x) = barrier(&mut session, seed);
                let solver = session.solver(problem, &options).unwrap();
                let (mut files, mut steps) = (Vec::new(), Vec::new());
                for _ in 0..STEPS {
                    files.push(save(&mut session, solver));
                    steps.push(step(&mut session, solver));
                }
                left += steps.iter().filter(|step| !step.cost_change.is_finite()).count();
                let ended = read(&mut session, problem, x);
                for (made, file) in files.iter().enumerate() {
                    let (problem, x) = barrier(&mut session, seed);
                    let solver = session.solver(problem, &options).unwrap();
                    session.restore(solver, file).unwrap_or_else(|error| panic!("{method}, after {made}: {error}"));
                    // The file of a solver that was just restored is as good.
                    let again = save(&mut session, solver);
                    session.restore(solver, &again).unwrap();
                    for (k, expected) in steps.iter().enumerate().skip(made) {
                        let found = step(&mut session, solver);
                        assert_eq!(
                            bits(&found),
                            bits(expected),
                            "{method}, seed {seed}, after {made}, step {k}: {found:?} and {expected:?}"
                        );
                    }
                    assert_eq!(read(&mut session, problem, x), ended, "{method}, seed {seed}, after {made}");
                }
            }
            assert!(left > 0 || method == "lm", "{method}: no step led where there is no logarithm");
        }
    }
}

/// What a report told of is over: the next step is the first of its call. Before the first step there is a report, too.
#[test]
fn steps_after_a_report_are_those_of_the_solver_that_was_saved() {
    for method in ["lm", "gauss-newton", "lbfgs", "nonlinear-cg", "gradient-descent", "adam"] {
        for solves in [true, false] {
            let mut session = cpu(Precision::F64);
            let options = Options { method: Some(method.into()), max_iterations: Some(5.0), ..Options::default() };
            let (problem, _) = barrier(&mut session, 1);
            let solver = session.solver(problem, &options).unwrap();
            let task = if solves { session.solve(solver, SolveMode::Solve) } else { session.report(solver) }.unwrap();
            assert!(matches!(finish(&mut session, task, |_| {}), Progress::Report(_)));
            let file = save(&mut session, solver);
            let (other, _) = barrier(&mut session, 1);
            let restored = session.solver(other, &options).unwrap();
            session.restore(restored, &file).unwrap();
            for k in 0..3 {
                let [here, there] = [solver, restored].map(|solver| step(&mut session, solver));
                assert_eq!((here.index, bits(&here)), (k, bits(&there)), "{method}, {solves}: {here:?} and {there:?}");
            }
        }
    }
}

/// Limits are in the file: those that were set since it was made go, and those that it has come.
#[test]
fn limits_of_the_file_replace_those_of_the_problem() {
    for method in ["lbfgs", "gradient-descent", "lm"] {
        let options = Options { method: Some(method.into()), ..Options::default() };
        let mut session = cpu(Precision::F64);
        for limited in [false, true] {
            let (problem, x) = barrier(&mut session, 2);
            let limit = |session: &mut Session, problem, x| session.bound_table(problem, x, Some(Reals::F64(&[-0.5])), None).unwrap();
            if limited {
                limit(&mut session, problem, x);
            }
            let solver = session.solver(problem, &options).unwrap();
            for _ in 0..3 {
                step(&mut session, solver);
            }
            let file = save(&mut session, solver);
            let expected: Vec<_> = (0..4).map(|_| bits(&step(&mut session, solver))).collect();
            let ended = read(&mut session, problem, x);
            let (other, y) = barrier(&mut session, 2);
            let restored = session.solver(other, &options).unwrap();
            step(&mut session, restored);
            if !limited {
                limit(&mut session, other, y);
                step(&mut session, restored);
            }
            session.restore(restored, &file).unwrap_or_else(|error| panic!("{method}, {limited}: {error}"));
            let found: Vec<_> = (0..4).map(|_| bits(&step(&mut session, restored))).collect();
            assert_eq!(found, expected, "{method}, {limited}");
            assert_eq!(read(&mut session, other, y), ended, "{method}, {limited}");
        }
    }
}

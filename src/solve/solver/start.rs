//! Starting point of a solve: it never ends above the cost there.
//!
//! Steps are judged by differences of costs without cancellation, in which they go downhill. The cost itself is a sum of residuals that
//! are rounded where they are evaluated, and where they are small differences of large numbers, what rounding adds to it may be more
//! than what steps take away.

use super::Solver;
use super::stepping::{Next, Phase};
use crate::Report;
use leastwise_device::{Command, Recording};
use leastwise_error::Error;
use leastwise_problem::Problem;

/// Values that a solve began with.
#[derive(Default)]
pub(super) struct Start {
    /// The problem's revision when they were kept; none where they were not.
    pub revision: Option<u64>,
    /// True if the next recording is the first of a step, which may be the solve's first.
    pub is_due: bool,
    /// True once the solve is over and may end there.
    pub may_return: bool,
    /// True once it has returned there.
    pub returned: bool,
}

/// Two sums of the same costs may differ by so many roundings of their magnitudes.
const ROUNDINGS: f64 = 4.0;

impl Solver {
    /// Keeps the values, before the first step of a solve.
    pub(super) fn keep_start(&mut self, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        if self.history.initial_cost.is_none() && !self.stopping.is_later {
            commands.push(Command::Copy { from: problem.arenas()?.0, to: self.resources.work.start });
            self.start = Start { revision: Some(problem.revision), ..Start::default() };
        }
        Ok(())
    }

    /// Goes back to where the first of several solves began, with what the first step knew: a damping that a fall without end has driven to
    /// its least would hide the next fall.
    ///
    /// # Errors
    /// [`Error`] if the problem has no buffers.
    pub fn begin_anew(&mut self, problem: &Problem) -> Result<Recording, Error> {
        self.rollback.forget();
        self.rollback.cancel();
        self.reset();
        Ok(Recording { commands: vec![Command::Copy { from: self.resources.work.start, to: problem.arenas()?.0 }] })
    }

    /// True if they are kept, and nothing was edited since.
    pub(super) fn has_start(&self, problem: &Problem) -> bool {
        self.history.initial_cost.is_some() && self.start.revision == Some(problem.revision)
    }

    /// The report of a solve that is over, or where it ended above the cost that it began with, what goes back there.
    pub(super) fn settle(&mut self, problem: &mut Problem, mut report: Report) -> Result<Next, Error> {
        let start = std::mem::take(&mut self.start);
        let magnitude: f64 = report.cost_by_term.iter().map(|term| term.1.abs()).sum();
        let rise = report.cost - report.initial_cost;
        let goes_downhill = self.settings.method.descent().is_none_or(|rule| rule.searches());
        if start.returned {
            report.initial_cost = report.cost;
            report
                .reason
                .push_str("; but rounding left the cost above the one that it began with, so the values are those that it began with");
        } else if rise > 0.0 && rise <= ROUNDINGS * self.precision.epsilon() * magnitude {
            // The same cost, summed in two ways.
            report.initial_cost = report.cost;
        } else if rise > 0.0 && start.may_return && goes_downhill && start.revision == Some(problem.revision) {
            self.start.returned = true;
            return self.return_to_start(problem, report);
        }
        Ok(Next::Done(Box::new(report)))
    }

    /// Goes back, and sums the costs there for another report.
    fn return_to_start(&mut self, problem: &mut Problem, report: Report) -> Result<Next, Error> {
        self.withdraw(&report);
        self.rollback.cancel();
        self.phase = Phase::Reporting(report.termination, report.reason);
        let mut commands = vec![Command::Copy { from: self.resources.work.start, to: problem.arenas()?.0 }];
        commands.extend(self.report_recording(problem)?.commands);
        Ok(Next::Run(Recording { commands }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use leastwise_cpu::CpuDevice;
    use leastwise_device::{Device, Precision, Slice};
    use leastwise_expr::Opcode;
    use leastwise_problem::{Reals, Registry, Shape, Slot, TermSpec, Weight};

    #[test]
    fn a_solve_that_ended_above_the_cost_that_it_began_with_goes_back() {
        for method in ["lm", "lbfgs"] {
            let mut device = Device::Cpu(CpuDevice::new(Precision::F64, CpuDevice::default_limits()));
            let (mut registry, mut problem) = (Registry::default(), Problem::new());
            let shape = vec![Shape::Euclidean(1)];
            let table = problem.add_table(&device, &mut registry, "x", shape, Reals::F64(&[3.0]), true).unwrap();
            let spec = TermSpec {
                name: "r".into(),
                count: 1,
                indices: vec![vec![0]],
                slots: vec![Slot { table, column: 0 }],
                columns: Vec::new(),
                weight: Weight::Shared(1.0),
                loss: None,
                objective: Default::default(),
                tape: &[Opcode::Input as u32 | 1 << 16, 0],
                outputs: &[0],
            };
            problem.add_term(&device, &mut registry, spec).unwrap();
            let options = Options { method: Some(method.into()), ..Options::default() };
            let mut solver = Solver::new(&mut device, &mut registry, &mut problem, options.settings().unwrap()).unwrap();
            let mut readback = Vec::new();
            let report = loop {
                match solver.advance(&mut problem, &device, &mut readback, f64::INFINITY).unwrap() {
                    Next::Run(recording) => readback = device.run(recording).unwrap(),
                    // As if rounding had made the first sum smaller than it is.
                    Next::Iteration(_) => solver.history.initial_cost = Some(-1.0),
                    Next::Done(report) => break report,
                    Next::Yielded => {}
                    Next::NonFinite => panic!("it is finite"),
                }
            };
            assert_eq!((report.initial_cost, report.cost), (4.5, 4.5), "{method}");
            assert!(report.reason.contains("the values are those that it began with"), "{}", report.reason);
            let slice = Slice { len: 1, ..problem.arenas().unwrap().0 };
            assert_eq!(device.run(Recording { commands: vec![Command::Read { slice }] }).unwrap(), [3.0]);
        }
    }
}

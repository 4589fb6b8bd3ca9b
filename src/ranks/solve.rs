//! A solve by all ranks, step by step.

use super::parts::RankedParts;
use leastwise_base::clock::now_ms;
use leastwise_collective::{Communicator, Count, Fault};
use leastwise_device::{Device, DeviceError, Precision};
use leastwise_error::Error;
use leastwise_problem::file::bytes::Writer;
use leastwise_problem::{Problem, Registry};
use leastwise_solve::linear::{Linear, Preconditioner};
use leastwise_solve::{Exchanged, Iteration, Next, Options, Report, Solver};

/// Report of a solve, and of what ranks had to do with it. Costs, iterations and the end are the same on all ranks; counters and
/// times are a rank's own.
#[derive(Debug)]
pub struct RankedReport {
    /// The report, as of one device.
    pub report: Report,
    /// Number of ranks.
    pub ranks: u32,
    /// Variables that several ranks touch.
    pub cut_variables: u32,
    /// Instances of this rank.
    pub instances: u32,
    /// Sizes of what a step exchanges.
    pub exchanged: Exchanged,
    /// Bytes that this rank gives in an iteration of conjugate gradients.
    pub bytes_per_inner_iteration: u64,
    /// Calls of the whole solve, and their bytes.
    pub traffic: Count,
}

/// A solve that was begun. It is freed whether it came to its end or not.
pub struct RankedSolve {
    pub(super) solver: Solver,
    readback: Vec<f64>,
    /// Limit of time, of which ranks tell each other; the solver itself has none.
    time_limit_ms: f64,
    began: Beginning,
}

/// Place in time at which a solve began.
pub(super) struct Beginning {
    /// Calls until then.
    pub traffic: Count,
    pub ms: f64,
}

impl RankedSolve {
    pub(super) fn new(solver: Solver, time_limit_ms: f64, began: Beginning) -> Self {
        Self { solver, readback: Vec::new(), time_limit_ms, began }
    }

    /// Another solve by the same solver.
    pub(super) fn again(
        mut self,
        (device, registry): (&mut Device, &mut Registry),
        problem: &mut Problem,
        began: Beginning,
    ) -> Result<Self, Error> {
        match self.solver.prepare(device, registry, problem) {
            Ok(()) => Ok(Self { began, ..self }),
            Err(error) => {
                self.free(device);
                Err(error)
            }
        }
    }

    /// Begins it: its report tells of it alone, or of the solve that was saved in its midst, too.
    pub(super) fn open(&mut self, device: &Device) {
        self.solver.begin_call(device);
        self.solver.reopen();
    }

    /// True if it ends after a time.
    pub fn has_time_limit(&self) -> bool {
        self.time_limit_ms.is_finite()
    }

    /// Asks all ranks if one wants to stop, for a reason that it was given, and if the time is over by the clock of one: then all end
    /// before the next step. All make this call before the same call of [`advance`](Self::advance).
    ///
    /// # Errors
    /// A [`Fault`].
    pub fn heed(&mut self, communicator: &dyn Communicator, stop: Option<&str>) -> Result<(), Fault> {
        let is_late = (now_ms() - self.began.ms).max(self.solver.elapsed_ms()) >= self.time_limit_ms;
        let wishes = [stop.is_some(), is_late].map(|wish| f64::from(u8::from(wish)));
        let all = communicator.largest("wishes to stop", &wishes)?;
        if all[0] > 0.0 {
            self.solver.stop(stop.unwrap_or("another rank was told to stop"));
        }
        if all[1] > 0.0 {
            self.solver.end_at_time_limit(self.time_limit_ms);
        }
        Ok(())
    }

    /// Writes what steps are made with, where the tables to eliminate have these numbers.
    pub fn write_ways(&self, eliminate: Option<Vec<u32>>, to: &mut Writer) {
        self.solver.write_ways_of(eliminate, to);
    }

    /// Goes on to the next iteration; none at the end, when [`finish`](Self::finish) has the report.
    ///
    /// # Errors
    /// Those of [`RankedProblem::solve`](super::RankedProblem::solve). What this device alone failed with is told to all others.
    pub fn advance(&mut self, parts: &mut RankedParts, device: &mut Device) -> Result<Result<Iteration, Box<Report>>, Error> {
        let outcome = self.next(parts, device);
        if let Err(error) = &outcome
            && !matches!(error, Error::Device(DeviceError::Ranks(_)) | Error::NonFinite { .. })
        {
            let communicator = &parts.communicator;
            communicator.give_up(Fault::Broken { rank: communicator.rank(), size: communicator.size(), message: error.to_string() });
        }
        outcome
    }

    fn next(&mut self, parts: &mut RankedParts, device: &mut Device) -> Result<Result<Iteration, Box<Report>>, Error> {
        let local = parts.local.as_mut().ok_or(Error::Internal("a problem is not divided"))?;
        loop {
            match self.solver.advance(&mut local.problem, device, &mut self.readback, f64::INFINITY)? {
                Next::Run(recording) => self.readback = device.run(recording)?,
                Next::Iteration(iteration) => return Ok(Ok(iteration)),
                Next::Done(report) => return Ok(Err(report)),
                Next::Yielded => {}
                Next::NonFinite => {
                    let what = "the cost at the values that the solve began with".into();
                    return Err(Error::NonFinite { term: None, instance: None, what, position: 0, value: "NaN".into() });
                }
            }
        }
    }

    /// The report of ranks.
    pub fn finish(&self, parts: &mut RankedParts, device: &Device, report: Report) -> RankedReport {
        let exchanged = self.solver.exchanged().unwrap_or_default();
        // A part of a problem is freer than the whole.
        let report = Report { gauge: Vec::new(), ..report };
        let (before, after) = (self.began.traffic, parts.communicator.traffic().total());
        // Later writes go over values that all ranks have.
        parts.declared.note("solve", &[report.iterations.len() as u32], &[report.cost]);
        let bytes = if device.precision() == Precision::F32 { 4 } else { 8 };
        let (cut, instances) = parts.local.as_ref().map_or((0, 0), |local| (local.cut, local.instances));
        RankedReport {
            report,
            ranks: parts.communicator.size(),
            cut_variables: cut,
            instances,
            exchanged,
            bytes_per_inner_iteration: exchanged.inner_iteration() * bytes,
            traffic: Count {
                calls: after.calls - before.calls,
                given: after.given - before.given,
                received: after.received - before.received,
            },
        }
    }

    /// Frees what it has on the device.
    pub fn free(self, device: &mut Device) {
        self.solver.buffers().into_iter().for_each(|buffer| device.free(buffer));
    }
}

/// Options that ranks have, with what is left open filled in.
pub fn supported(options: &Options) -> Result<Options, Error> {
    let refuse = |what: &str, instead: &str| Err(Error::InvalidOption(format!("{what}: ranks have {instead}")));
    let given = |given: &Option<String>| given.clone().filter(|name| name != "auto");
    let (linear, preconditioner) = (given(&options.linear), given(&options.preconditioner));
    let is = |given: &Option<String>, names: &[&str]| given.as_deref().is_none_or(|given| names.contains(&given));
    let [pcg, reduced] = [Linear::Pcg, Linear::SchurPcg].map(Linear::name);
    let [blocks, of_reduced] = [Preconditioner::BlockJacobi, Preconditioner::SchurJacobi].map(Preconditioner::name);
    let eliminates = options.eliminate.is_some() || preconditioner.as_deref() == Some(of_reduced);
    match options {
        _ if !is(&options.method, &["lm"]) => refuse("method", "\"lm\" alone"),
        _ if !is(&linear, &[pcg, reduced]) => refuse("linear", "\"pcg\" and \"schur-pcg\" alone"),
        _ if !is(&preconditioner, &[blocks, of_reduced]) => refuse("preconditioner", "\"block-jacobi\" and \"schur-jacobi\" alone"),
        _ => {
            let linear = linear.unwrap_or_else(|| if eliminates { reduced.into() } else { pcg.into() });
            let preconditioner = preconditioner.unwrap_or_else(|| blocks.into());
            Ok(Options { method: Some("lm".into()), linear: Some(linear), preconditioner: Some(preconditioner), ..options.clone() })
        }
    }
}

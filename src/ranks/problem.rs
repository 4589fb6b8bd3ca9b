//! A problem over ranks: declared by all, solved by parts.

use super::declared::{Declared, rows};
use super::local::{Local, LocalTable};
use super::partition::Partition;
use leastwise_collective::{Communicator, Count, Fault, everybody, failed_elsewhere};
use leastwise_device::{ABSENT, Command, Device, Precision, Recording, Slice};
use leastwise_error::Error;
use leastwise_problem::{Reals, Registry, Shape, TermSpec};
use leastwise_solve::{Exchanged, Iteration, Next, Options, Report, Solver, agree_on_partials};
use std::sync::Arc;

/// A problem that all ranks of a group declare alike, and solve together.
///
/// All ranks make the same calls in the same order; [`read_own`](Self::read_own) alone is a rank's own.
///
/// # Errors
/// Of every call that ranks make together: [`Fault`] as [`leastwise_error::Error::Device`], on all ranks that are left.
pub struct RankedProblem {
    device: Device,
    registry: Registry,
    communicator: Arc<dyn Communicator>,
    declared: Declared,
    local: Option<Local>,
}

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

impl RankedProblem {
    /// A problem without tables and terms, of one of the ranks.
    ///
    /// # Errors
    /// [`Fault::Refused`] on WebGPU, which can't be one of several ranks, and for a communicator over NCCL that another device made.
    pub fn new(mut device: Device, communicator: Arc<dyn Communicator>) -> Result<Self, Error> {
        device.join(Some(communicator.clone()))?;
        Ok(Self { device, registry: Registry::default(), communicator, declared: Declared::default(), local: None })
    }

    /// A table of instances that are made of these shapes; gives its number.
    ///
    /// # Errors
    /// [`Error`] for values that do not fit the shapes, and after the first solve.
    pub fn table(&mut self, name: &str, shapes: Vec<Shape>, values: &[f64], moving: bool) -> Result<u32, Error> {
        self.undivided()?;
        // A table by itself finds what is wrong with it.
        let mut trial = leastwise_problem::Problem::new();
        let number = trial.add_table(&self.device, &mut self.registry, name, shapes.clone(), Reals::F64(values), moving)?;
        let width = trial.table(number)?.width;
        Ok(self.declared.add_table(name, shapes, width, values, moving))
    }

    /// A term; gives its number.
    ///
    /// # Errors
    /// [`Error`] for indices and data that do not fit the tables, and after the first solve.
    pub fn term(&mut self, spec: &TermSpec) -> Result<u32, Error> {
        self.undivided()?;
        self.declared.add_term(spec)
    }

    /// Fixes rows of a variable: they keep their values.
    ///
    /// # Errors
    /// [`Error::RowOutOfRange`], and after the first solve.
    pub fn fix(&mut self, table: u32, at: &[u32]) -> Result<(), Error> {
        self.undivided()?;
        let entry = self.declared.table(table)?;
        if let Some(&index) = at.iter().find(|row| **row >= entry.count) {
            return Err(Error::RowOutOfRange { table: entry.name.clone(), index, count: entry.count });
        }
        self.declared.note("fix", &[&[table], at].concat(), &[]);
        self.declared.tables[table as usize].fixed.extend(at);
        Ok(())
    }

    /// Overwrites values of a table: all rows, or those in `at`.
    ///
    /// # Errors
    /// [`Error::DataLength`] and [`Error::RowOutOfRange`], and values that do not fit the table.
    pub fn write(&mut self, table: u32, values: &[f64], at: Option<&[u32]>) -> Result<(), Error> {
        let entry = self.declared.table(table)?;
        let all: Vec<u32>;
        let at = match at {
            Some(at) => at,
            None => {
                all = (0..entry.count).collect();
                &all
            }
        };
        let expected = at.len() * entry.width as usize;
        if values.len() != expected {
            let what = format!("\"{}\": values", entry.name);
            return Err(Error::DataLength { term: None, what, got: values.len(), expected: expected.to_string() });
        }
        if let Some(&index) = at.iter().find(|row| **row >= entry.count) {
            return Err(Error::RowOutOfRange { table: entry.name.clone(), index, count: entry.count });
        }
        let width = entry.width;
        if at.is_empty() {
            return Ok(());
        }
        // Every rank checks all values, also of rows that it does not have: all refuse the same.
        let mut trial = leastwise_problem::Problem::new();
        let row = Reals::F64(&entry.values[..width as usize]);
        let number = trial.add_table(&self.device, &mut self.registry, &entry.name, entry.shapes.clone(), row, entry.moving)?;
        trial.table(number)?.check(Reals::F64(values), Some(at))?;
        if let Some(local) = &mut self.local {
            let of = &local.tables[table as usize];
            let (places, kept): (Vec<u32>, Vec<u32>) =
                (0..).zip(at).map(|(number, row)| (of.places[*row as usize], number)).filter(|(place, _)| *place != ABSENT).unzip();
            if let (Some(number), false) = (of.number, places.is_empty()) {
                local.problem.write_table(number, Reals::F64(&rows(values, width, &kept)), Some(&places))?;
            }
        }
        self.declared.note("write", &[&[table], at].concat(), values);
        let known = &mut self.declared.tables[table as usize].values;
        for (row, values) in at.iter().zip(values.chunks(width as usize)) {
            known[(row * width) as usize..][..width as usize].copy_from_slice(values);
        }
        Ok(())
    }

    /// Replaces the values of a term's data column.
    ///
    /// # Errors
    /// [`Error::DataLength`], and values that the device does not have.
    pub fn set_column(&mut self, term: u32, column: u32, values: &[f64]) -> Result<(), Error> {
        let entry = self.declared.term(term)?;
        let known = entry.columns.get(column as usize).ok_or(Error::Internal("a handle names no data column"))?;
        if values.len() != known.values.len() {
            let (what, expected) = (format!("term \"{}\": \"{}\"", entry.name, known.name), known.values.len().to_string());
            return Err(Error::DataLength { term: Some(entry.name.clone()), what, got: values.len(), expected });
        }
        let (width, shared) = (known.width, known.shared);
        // Every rank checks all values, also of instances that it does not have: all refuse the same.
        Reals::F64(values).finite(self.device.precision().largest()).map_err(|(position, value)| {
            let what = format!("term \"{}\": data column \"{}\"", entry.name, known.name);
            let instance = if shared { None } else { Some(position as u32 / width) };
            Error::not_finite(Some(entry.name.clone()), instance, what, (position, value))
        })?;
        if let Some(local) = &mut self.local
            && let Some(of) = &local.terms[term as usize]
        {
            let own = if shared { values.to_vec() } else { rows(values, width, &of.instances) };
            local.problem.set_column(of.number, column, Reals::F64(&own))?;
        }
        self.declared.note("column", &[term, column], values);
        self.declared.terms[term as usize].columns[column as usize].values = values.to_vec();
        Ok(())
    }

    /// All values of a table, from the ranks that own them: on every rank the same.
    ///
    /// # Errors
    /// A [`Fault`]: then [`read_own`](Self::read_own) has what this rank owns.
    pub fn read(&mut self, table: u32) -> Result<Vec<f64>, Error> {
        let width = self.declared.table(table)?.width;
        if self.local.is_none() || !self.declared.table(table)?.moving {
            return Ok(self.declared.table(table)?.values.clone());
        }
        let own = self.read_own(table);
        let (owned, values) = everybody(&*self.communicator, own)?;
        let numbers: Vec<f64> = owned.iter().map(|row| f64::from(*row)).collect();
        let all_rows = self.communicator.gather_varying("rows that are read", &numbers)?;
        let all_values = self.communicator.gather_varying("values that are read", &values)?;
        let known = &mut self.declared.tables[table as usize].values;
        for (row, values) in all_rows.concat().into_iter().zip(all_values.concat().chunks(width as usize)) {
            known[row as usize * width as usize..][..width as usize].copy_from_slice(values);
        }
        Ok(known.clone())
    }

    /// Rows of a table that this rank owns, and their values as of the last accepted step. No other rank is asked, so it works after a
    /// fault, too.
    ///
    /// # Errors
    /// [`Error::Internal`] for a table that is not there.
    pub fn read_own(&mut self, table: u32) -> Result<(Vec<u32>, Vec<f64>), Error> {
        self.read_first(table, |of| of.owned as usize)
    }

    /// The same of all rows that this rank has, with copies of those that other ranks own, behind its own: they have the owner's bits.
    /// After a fault they are values of rows that are lost else.
    ///
    /// # Errors
    /// [`Error::Internal`] for a table that is not there.
    pub fn read_present(&mut self, table: u32) -> Result<(Vec<u32>, Vec<f64>), Error> {
        self.read_first(table, |of| of.rows.iter().filter(|row| of.places[**row as usize] != ABSENT).count())
    }

    fn read_first(&mut self, table: u32, count: impl Fn(&LocalTable) -> usize) -> Result<(Vec<u32>, Vec<f64>), Error> {
        let entry = self.declared.table(table)?;
        let Some(local) = &mut self.local else { return Ok(((0..entry.count).collect(), entry.values.clone())) };
        let of = &local.tables[table as usize];
        let rows = of.rows[..count(of)].to_vec();
        let Some(number) = of.number.filter(|_| !rows.is_empty()) else { return Ok(Default::default()) };
        local.problem.lay_out_values(&mut self.device)?;
        let mut commands = local.problem.take_uploads();
        let (arena, ..) = local.problem.arenas()?;
        let offset = local.problem.table(number)?.arena;
        commands.push(Command::Read { slice: Slice { offset, len: rows.len() as u32 * entry.width, ..arena } });
        Ok((rows, self.device.run(Recording { commands })?))
    }

    /// Solves the problem by all ranks together.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for methods and linear solvers that ranks do not have, [`Fault::Differs`] where a rank was given other
    /// terms, data or options, [`Error::NonFinite`] for residuals that are not finite, and any other [`Fault`].
    pub fn solve(&mut self, options: &Options) -> Result<RankedReport, Error> {
        self.solve_with(options, |_| {})
    }

    /// The same; each iteration is told.
    ///
    /// # Errors
    /// Those of [`solve`](Self::solve).
    pub fn solve_with(&mut self, options: &Options, mut each: impl FnMut(&Iteration)) -> Result<RankedReport, Error> {
        let before = self.communicator.traffic().total();
        // Options are compared as they came: what one rank alone would refuse is told to all.
        let mut of_options = self.declared.fingerprint;
        of_options.add(format!("{options:?}").as_bytes());
        // Kernels of other backends and precisions have other bits.
        of_options.add(format!("{} {:?}", self.device.backend(), self.device.precision()).as_bytes());
        self.communicator.agree("terms, data or options", of_options.0)?;
        let settings = supported(options)?.settings()?;
        self.divide()?;
        let Self { device, registry, communicator, local, declared } = self;
        let local = local.as_mut().ok_or(Error::Internal("a problem is not divided"))?;
        let laid_out = local.problem.lay_out(device, registry);
        everybody(&**communicator, laid_out)?;
        agree_on_partials(device, &mut local.problem)?;
        let made = Solver::new(device, registry, &mut local.problem, settings);
        let others = failed_elsewhere(&**communicator, &made);
        let mut solver = made?;
        let result = match others {
            Ok(()) => drive(device, local, &mut solver, &mut each),
            Err(fault) => Err(fault.into()),
        };
        let exchanged = solver.workspace().exchanged().unwrap_or_default();
        solver.buffers().into_iter().for_each(|buffer| device.free(buffer));
        // A part of a problem is freer than the whole.
        let report = Report { gauge: Vec::new(), ..result? };
        let after = communicator.traffic().total();
        // What is written next is written over values that all ranks have.
        declared.note("solve", &[report.iterations.len() as u32], &[report.cost]);
        let bytes = if device.precision() == Precision::F32 { 4 } else { 8 };
        Ok(RankedReport {
            report,
            ranks: communicator.size(),
            cut_variables: local.cut,
            instances: local.instances,
            exchanged,
            bytes_per_inner_iteration: exchanged.inner_iteration() * bytes,
            traffic: Count {
                calls: after.calls - before.calls,
                given: after.given - before.given,
                received: after.received - before.received,
            },
        })
    }

    /// Frees the problem's memory on the device, and gives the device back, alone. No other rank is asked.
    ///
    /// # Errors
    /// Those of [`Device::join`].
    pub fn close(mut self) -> Result<Device, Error> {
        if let Some(local) = &mut self.local {
            local.problem.dispose(&mut self.device);
        }
        self.device.join(None)?;
        Ok(self.device)
    }

    /// Tables and terms can be declared until they are divided among ranks.
    fn undivided(&self) -> Result<(), Error> {
        match self.local {
            None => Ok(()),
            Some(_) => {
                Err(Fault::Refused("tables, terms and fixed rows are declared before the first solve, which divides them".into()).into())
            }
        }
    }

    /// Makes this rank's part, unless it is there.
    fn divide(&mut self) -> Result<(), Error> {
        if self.local.is_some() {
            return Ok(());
        }
        if self.declared.terms.is_empty() {
            return Err(Error::EmptyProblem("enabled residual terms"));
        }
        let (links, ranks) = (self.declared.links(), self.communicator.size());
        let counts: Vec<u32> = self.declared.tables.iter().map(|table| if table.moving { table.count } else { 0 }).collect();
        let partition = Partition::new(ranks, &counts, &links);
        if let Some(rank) = partition.loads(ranks).iter().position(|load| *load == 0) {
            let instances = links.iter().map(|term| term.count).sum::<u32>();
            let message =
                format!("{instances} instances can't be divided among {ranks} ranks: rank {rank} would have none. Use fewer ranks");
            return Err(Fault::Refused(message).into());
        }
        let made = Local::new((&self.device, &mut self.registry), &self.declared, &partition, self.communicator.clone());
        self.local = Some(everybody(&*self.communicator, made)?);
        Ok(())
    }
}

/// Plays a solve to its end.
fn drive(device: &mut Device, local: &mut Local, solver: &mut Solver, each: &mut dyn FnMut(&Iteration)) -> Result<Report, Error> {
    let mut readback = Vec::new();
    loop {
        match solver.advance(&mut local.problem, device, &mut readback, f64::INFINITY)? {
            Next::Run(recording) => readback = device.run(recording)?,
            Next::Iteration(iteration) => each(&iteration),
            Next::Done(report) => return Ok(*report),
            Next::Yielded => {}
            Next::NonFinite => {
                let what = "the cost at the values that the solve began with".into();
                return Err(Error::NonFinite { term: None, instance: None, what, position: 0, value: "NaN".into() });
            }
        }
    }
}

/// Options that ranks have, with what is left open filled in.
fn supported(options: &Options) -> Result<Options, Error> {
    let refuse = |what: &str, instead: &str| Err(Error::InvalidOption(format!("{what}: ranks have {instead}")));
    let is = |given: &Option<String>, names: &[&str]| given.as_deref().is_none_or(|given| names.contains(&given));
    match options {
        _ if !is(&options.method, &["lm"]) => refuse("method", "\"lm\" alone"),
        _ if !is(&options.linear, &["auto", "pcg"]) => refuse("linear", "\"pcg\" alone"),
        _ if !is(&options.preconditioner, &["auto", "block-jacobi"]) => refuse("preconditioner", "\"block-jacobi\" alone"),
        _ if options.time_limit_ms.is_some() => {
            refuse("timeLimitMs", "no limit of time, which each would reach at another step: use maxIterations")
        }
        _ => Ok(Options {
            method: Some("lm".into()),
            linear: Some("pcg".into()),
            preconditioner: Some("block-jacobi".into()),
            ..options.clone()
        }),
    }
}

//! A declared problem, and this rank's part of it, on a device that somebody else has.

use super::checkpoint::Restored;
use super::declared::{Declared, in_f64, rows};
use super::local::{Local, LocalTable};
use super::partition::Partition;
use super::solve::{Beginning, RankedSolve};
use leastwise_base::clock::now_ms;
use leastwise_collective::{Communicator, Fault, everybody, failed_elsewhere};
use leastwise_device::{ABSENT, Command, Device, Recording, Slice};
use leastwise_error::Error;
use leastwise_problem::{Loss, Problem, Reals, Registry, Shape, TermSpec, Weight};
use leastwise_solve::{Options, Solver, agree_on_partials};
use std::sync::Arc;

/// All of a [`RankedProblem`](super::RankedProblem) but its device, which is given to every call and is always the same.
///
/// # Errors
/// Of every call that ranks make together: [`Fault`] as [`leastwise_error::Error::Device`], on all ranks that are left.
pub struct RankedParts {
    pub(super) communicator: Arc<dyn Communicator>,
    pub(super) declared: Declared,
    pub(super) local: Option<Local>,
    /// Fingerprint of the values that were restored last.
    pub(super) restored: u64,
}

impl RankedParts {
    /// A problem without tables and terms, of one of the ranks. Its device has joined them ([`Device::join`]).
    pub fn new(communicator: Arc<dyn Communicator>) -> Self {
        Self { communicator, declared: Declared::default(), local: None, restored: 0 }
    }

    /// The ranks.
    pub fn communicator(&self) -> &Arc<dyn Communicator> {
        &self.communicator
    }

    /// Checks that tables and terms can be declared: until the first solve divides them among ranks.
    ///
    /// # Errors
    /// [`Fault::Refused`] after it.
    pub fn may_declare(&self) -> Result<(), Error> {
        match self.local {
            None => Ok(()),
            Some(_) => Err(Fault::Refused("tables and terms are declared before the first solve, which divides them".into()).into()),
        }
    }

    /// A table of instances that are made of these shapes; gives its number.
    ///
    /// # Errors
    /// [`Error`] for values that do not fit the shapes, and after the first solve.
    pub fn table(
        &mut self,
        (device, registry): (&Device, &mut Registry),
        name: &str,
        shapes: Vec<Shape>,
        values: Reals,
        moving: bool,
    ) -> Result<u32, Error> {
        self.may_declare()?;
        // A table by itself finds what is wrong with it.
        let mut trial = Problem::new();
        let number = trial.add_table(device, registry, name, shapes.clone(), values, moving)?;
        let made = trial.table(number)?;
        Ok(self.declared.add_table(name, shapes, [made.width, made.tangent], &in_f64(values), moving))
    }

    /// A term; gives its number.
    ///
    /// # Errors
    /// [`Error`] for indices and data that do not fit the tables, and after the first solve.
    pub fn term(&mut self, spec: &TermSpec) -> Result<u32, Error> {
        self.may_declare()?;
        self.declared.add_term(spec)
    }

    /// True if nothing can be fixed in the midst of a solve: the vectors of fixed components are made before one.
    pub fn lacks_pins(&self) -> bool {
        self.local.as_ref().is_none_or(|local| local.problem.lacks_bounds(0, false))
    }

    /// Fixes components (all, or those given) of the rows in `at` (or of all): they keep their values to the bit.
    ///
    /// # Errors
    /// [`Error::RowOutOfRange`], and those of [`Problem::fix`].
    pub fn fix(&mut self, on: (&Device, &mut Registry), table: u32, at: Option<&[u32]>, components: Option<&[u32]>) -> Result<(), Error> {
        self.set_free(on, table, at, components, false)
    }

    /// Lets every component of the rows in `at` (or of all) move again.
    ///
    /// # Errors
    /// [`Error::RowOutOfRange`], and those of [`Problem::unfix`].
    pub fn unfix(&mut self, on: (&Device, &mut Registry), table: u32, at: Option<&[u32]>) -> Result<(), Error> {
        self.set_free(on, table, at, None, true)
    }

    fn set_free(
        &mut self,
        (device, registry): (&Device, &mut Registry),
        table: u32,
        at: Option<&[u32]>,
        components: Option<&[u32]>,
        free: bool,
    ) -> Result<(), Error> {
        let entry = self.declared.table(table)?;
        if let Some(&index) = at.unwrap_or_default().iter().find(|row| **row >= entry.count) {
            return Err(Error::RowOutOfRange { table: entry.name.clone(), index, count: entry.count });
        }
        // A row by itself finds what is wrong with components, and which degrees of freedom they are.
        let (mut trial, number) = entry.rows_alone((device, registry), 1)?;
        trial.fix(number, None, components)?;
        let row = trial.table(number)?;
        let named: Vec<u32> = (0..entry.tangent).filter(|unknown| !row.is_free(*unknown)).collect();
        if free && entry.free.is_none() {
            return Ok(());
        }
        let (count, tangent) = (entry.count, entry.tangent);
        let rows = at.map_or_else(|| (0..count).collect(), <[u32]>::to_vec);
        if let Some(local) = &mut self.local {
            local.set_free(table, &rows, components, free)?;
        }
        self.declared.note(if free { "free" } else { "fix" }, &[&[table], &rows[..]].concat(), &[]);
        if let Some(components) = components {
            self.declared.note("components", components, &[]);
        }
        let known = self.declared.tables[table as usize].free.get_or_insert_with(|| vec![true; (count * tangent) as usize]);
        for row in rows {
            named.iter().for_each(|unknown| known[(row * tangent + unknown) as usize] = free);
        }
        Ok(())
    }

    /// Bounds the components of a table: limits are one for all, one a component, or one a component of each row. Infinite ones bound
    /// nothing, and what is not given stays as it was. Copies have the limits of their owner.
    ///
    /// # Errors
    /// Those of [`Problem::bound`].
    pub fn bound(
        &mut self,
        (device, registry): (&Device, &mut Registry),
        table: u32,
        lower: Option<Reals>,
        upper: Option<Reals>,
    ) -> Result<(), Error> {
        let entry = self.declared.table(table)?;
        let precision = device.precision();
        // Every rank checks all limits, also of rows that it does not have: all refuse the same.
        let (mut trial, number) = entry.rows_alone((device, registry), entry.count)?;
        if let Some([lower, upper]) = &entry.limits {
            trial.bound(number, precision, Some(Reals::F64(lower)), Some(Reals::F64(upper)))?;
        }
        trial.bound(number, precision, lower, upper)?;
        let limits = trial.table(number)?.given_limits().cloned().ok_or(Error::Internal("a bounded table has no limits"))?;
        if let Some(local) = &mut self.local {
            local.bound(table, precision, entry.width, &limits)?;
        }
        let given = [lower, upper].map(|given| given.map(in_f64));
        let which = given.each_ref().map(|given| given.as_ref().map_or(0, |given| given.len() as u32));
        self.declared.note("limits", &[table, which[0], which[1]], &given.into_iter().flatten().flatten().collect::<Vec<_>>());
        self.declared.tables[table as usize].limits = Some(limits);
        Ok(())
    }

    /// Overwrites values of a table: all rows, or those in `at`.
    ///
    /// # Errors
    /// [`Error::DataLength`] and [`Error::RowOutOfRange`], and values that do not fit the table.
    pub fn write(
        &mut self,
        (device, registry): (&Device, &mut Registry),
        table: u32,
        values: Reals,
        at: Option<&[u32]>,
    ) -> Result<(), Error> {
        let values = &in_f64(values)[..];
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
        let (trial, number) = entry.rows_alone((device, registry), 1)?;
        trial.table(number)?.check(Reals::F64(values), Some(at))?;
        if let Some(local) = &mut self.local {
            // A solve that is under way starts from the edit on all ranks, also on those that have none of the rows.
            local.problem.revision += 1;
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
    pub fn set_column(&mut self, device: &Device, term: u32, column: u32, values: Reals) -> Result<(), Error> {
        let values = &in_f64(values)[..];
        let entry = self.declared.term(term)?;
        let known = entry.columns.get(column as usize).ok_or(Error::Internal("a handle names no data column"))?;
        if values.len() != known.values.len() {
            let (what, expected) = (format!("term \"{}\": \"{}\"", entry.name, known.name), known.values.len().to_string());
            return Err(Error::DataLength { term: Some(entry.name.clone()), what, got: values.len(), expected });
        }
        let (width, shared) = (known.width, known.shared);
        // Every rank checks all values, also of instances that it does not have: all refuse the same.
        Reals::F64(values).finite(device.precision().largest()).map_err(|(position, value)| {
            let what = format!("term \"{}\": data column \"{}\"", entry.name, known.name);
            let instance = if shared { None } else { Some(position as u32 / width) };
            Error::not_finite(Some(entry.name.clone()), instance, what, (position, value))
        })?;
        if let Some((problem, of)) = self.local.as_mut().and_then(|local| local.edit(term)) {
            let own = if shared { values.to_vec() } else { rows(values, width, &of.instances) };
            problem.set_column(of.number, column, Reals::F64(&own))?;
        }
        self.declared.note("column", &[term, column], values);
        self.declared.terms[term as usize].columns[column as usize].values = values.to_vec();
        Ok(())
    }

    /// Replaces a term's weight: one for all instances, or one each, as it was declared.
    ///
    /// # Errors
    /// [`Error::DataLength`], and weights that a term does not have.
    pub fn set_weight(&mut self, term: u32, weight: Weight) -> Result<(), Error> {
        let entry = self.declared.term(term)?;
        let (values, is_shared) = super::declared::weights(&weight);
        if is_shared != entry.shares_weight {
            let had = if entry.shares_weight { "one weight" } else { "a weight for each instance" };
            let message = format!("term \"{}\" was declared with {had}, and ranks divide it so: give as many", entry.name);
            return Err(Fault::Refused(message).into());
        }
        if values.len() != entry.weight.len() {
            let (what, expected) = (format!("term \"{}\": weights", entry.name), entry.weight.len().to_string());
            return Err(Error::DataLength { term: Some(entry.name.clone()), what, got: values.len(), expected });
        }
        if let Some((problem, of)) = self.local.as_mut().and_then(|local| local.edit(term)) {
            let own = if is_shared { Vec::new() } else { rows(&values, 1, &of.instances) };
            let weight = if is_shared { Weight::Shared(values[0]) } else { Weight::Each(Reals::F64(&own)) };
            problem.set_weight(of.number, weight)?;
        }
        self.declared.note("new weight", &[term], &values);
        self.declared.terms[term as usize].weight = values;
        Ok(())
    }

    /// Replaces the parameters of a term's loss.
    ///
    /// # Errors
    /// [`Error`] for a loss of another kind.
    pub fn set_loss(&mut self, term: u32, loss: &Loss) -> Result<(), Error> {
        self.declared.term(term)?;
        if let Some((problem, of)) = self.local.as_mut().and_then(|local| local.edit(term)) {
            problem.set_loss(of.number, loss)?;
        }
        self.declared.note(&format!("loss {loss:?}"), &[term], &[]);
        self.declared.terms[term as usize].loss = Some(loss.clone());
        Ok(())
    }

    /// All values of a table, from the ranks that own them: on every rank the same.
    ///
    /// # Errors
    /// A [`Fault`]: then [`read_own`](Self::read_own) has what this rank owns.
    pub fn read(&mut self, device: &mut Device, table: u32) -> Result<Vec<f64>, Error> {
        let width = self.declared.table(table)?.width;
        if self.local.is_none() || !self.declared.table(table)?.moving {
            return Ok(self.declared.table(table)?.values.clone());
        }
        let own = self.read_own(device, table);
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
    pub fn read_own(&mut self, device: &mut Device, table: u32) -> Result<(Vec<u32>, Vec<f64>), Error> {
        self.read_first(device, table, |of| of.owned as usize)
    }

    /// The same of all rows that this rank has, with copies of those that other ranks own, behind its own: they have the owner's bits.
    /// After a fault they are values of rows that are lost else.
    ///
    /// # Errors
    /// [`Error::Internal`] for a table that is not there.
    pub fn read_present(&mut self, device: &mut Device, table: u32) -> Result<(Vec<u32>, Vec<f64>), Error> {
        self.read_first(device, table, |of| of.rows.iter().filter(|row| of.places[**row as usize] != ABSENT).count())
    }

    fn read_first(&mut self, device: &mut Device, table: u32, count: impl Fn(&LocalTable) -> usize) -> Result<(Vec<u32>, Vec<f64>), Error> {
        let entry = self.declared.table(table)?;
        let Some(local) = &mut self.local else { return Ok(((0..entry.count).collect(), entry.values.clone())) };
        let of = &local.tables[table as usize];
        let rows = of.rows[..count(of)].to_vec();
        let Some(number) = of.number.filter(|_| !rows.is_empty()) else { return Ok(Default::default()) };
        local.problem.lay_out_values(device)?;
        let mut commands = local.problem.take_uploads();
        let (arena, ..) = local.problem.arenas()?;
        let offset = local.problem.table(number)?.arena;
        commands.push(Command::Read { slice: Slice { offset, len: rows.len() as u32 * entry.width, ..arena } });
        Ok((rows, device.run(Recording { commands })?))
    }

    /// Begins a solve by all ranks together. A last solve is taken where it was this one's solver that made it, `again`, and its damping
    /// goes on; of a file, the solve that was saved does. Another solver's is freed once the solve is not refused any more.
    ///
    /// # Errors
    /// Those of [`RankedProblem::solve`](super::RankedProblem::solve).
    pub fn begin(
        &mut self,
        (device, registry): (&mut Device, &mut Registry),
        options: &Options,
        restored: Option<&Restored>,
        (last, again): (&mut Option<RankedSolve>, bool),
    ) -> Result<RankedSolve, Error> {
        let before = self.communicator.traffic().total();
        // Options are compared as they came: what one rank alone would refuse is told to all.
        let mut of_options = self.declared.fingerprint;
        of_options.add(format!("{options:?}").as_bytes());
        // Kernels of other backends and precisions have other bits.
        of_options.add(format!("{} {:?} {}", device.backend(), device.precision(), again).as_bytes());
        of_options.add(&self.restored.to_le_bytes());
        restored.iter().for_each(|restored| restored.note(&mut of_options));
        self.communicator.agree("terms, data or options", of_options.0)?;
        let began = Beginning { traffic: before, ms: now_ms() };
        let mut settings = super::solve::supported(options)?.settings()?;
        let time_limit_ms = std::mem::replace(&mut settings.time_limit_ms, f64::INFINITY);
        let gone = match settings.linear.linear {
            Some(linear) if linear.eliminates() => self.declared.eliminated(settings.linear.eliminate.as_deref())?,
            _ => Vec::new(),
        };
        let divided = self.divide(device, registry, &gone);
        let keeps = match &divided {
            Ok(is_new) => again && !is_new,
            Err(_) => self.local.is_some(),
        };
        if !keeps {
            last.take().into_iter().for_each(|last| last.free(device));
        }
        divided?;
        let Self { communicator, local, .. } = self;
        let local = local.as_mut().ok_or(Error::Internal("a problem is not divided"))?;
        if !gone.is_empty() {
            settings.linear.eliminate = Some(gone.iter().filter_map(|table| local.tables[*table as usize].number).collect());
        }
        let laid_out = local.problem.lay_out(device, registry);
        everybody(&**communicator, laid_out)?;
        agree_on_partials(device, &mut local.problem)?;
        let made = match last.take() {
            Some(last) => last.again((device, registry), &mut local.problem, began),
            None => {
                let made = Solver::new(device, registry, &mut local.problem, settings);
                made.map(|solver| RankedSolve::new(solver, time_limit_ms, began))
            }
        };
        let others = failed_elsewhere(&**communicator, &made);
        let mut solve = made?;
        if let Err(fault) = others {
            solve.free(device);
            return Err(fault.into());
        }
        if let Some(restored) = restored {
            let taken = self.restore(device, &mut solve, restored);
            if let Err(error) = everybody(&*self.communicator, taken) {
                solve.free(device);
                return Err(error);
            }
        }
        solve.open(device);
        // Values are no longer those that were written or restored, whatever becomes of the solve.
        self.declared.note("solve", &[], &[]);
        Ok(solve)
    }

    /// Frees what it has on the device. No other rank is asked.
    pub fn dispose(&mut self, device: &mut Device) {
        if let Some(local) = &mut self.local {
            local.problem.dispose(device);
        }
    }

    /// Makes this rank's part, in which each row of some tables has all of its instances or none; false if it is there.
    fn divide(&mut self, device: &mut Device, registry: &mut Registry, whole: &[u32]) -> Result<bool, Error> {
        if self.local.as_ref().is_some_and(|local| whole.iter().all(|table| !local.cut_tables.contains(table))) {
            return Ok(false);
        }
        if self.declared.terms.is_empty() {
            return Err(Error::EmptyProblem("enabled residual terms"));
        }
        let (links, ranks) = (self.declared.links(), self.communicator.size());
        let counts: Vec<u32> = self.declared.tables.iter().map(|table| if table.moving { table.count } else { 0 }).collect();
        let partition = Partition::new(ranks, &counts, &links, whole);
        if let Some(rank) = partition.loads(ranks).iter().position(|load| *load == 0) {
            let instances = links.iter().map(|term| term.count).sum::<u32>();
            let message =
                format!("{instances} instances can't be divided among {ranks} ranks: rank {rank} would have none. Use fewer ranks");
            return Err(Fault::Refused(message).into());
        }
        if self.local.is_some() {
            // Parts that are made anew begin with the values of all ranks.
            for table in 0..self.declared.tables.len() as u32 {
                self.read(device, table)?;
            }
            self.dispose(device);
            self.local = None;
        }
        let made = Local::new((device, registry), &self.declared, &partition, self.communicator.clone());
        self.local = Some(everybody(&*self.communicator, made)?);
        Ok(true)
    }
}

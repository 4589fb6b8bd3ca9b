//! Checkpoints that ranks write together: the sections of one device's file, so that any number of ranks, or one device, goes on from it.
//!
//! Rows of a section are gathered from the ranks that own them, and stand in the order of the declared tables. A rank that restores takes
//! those that it has. The host's section, with the times of steps, is the first rank's, so all ranks have the same bytes.

use super::declared::{DeclaredTable, rows};
use super::local::{Local, LocalTable};
use super::parts::RankedParts;
use super::solve::RankedSolve;
use leastwise_base::container::Section;
use leastwise_collective::{Fingerprint, everybody};
use leastwise_device::{Command, Device, Precision, Recording, Slice};
use leastwise_error::Error;
use leastwise_problem::file::bytes::{Writer, reals};
use leastwise_problem::file::{malformed, section};
use leastwise_solve::Over;
use std::borrow::Cow;

/// Sections of a file that a solve is to go on from, and the names of the linear solver that they were made by.
pub struct Restored {
    /// Sections of the host and of values.
    pub sections: Vec<Section<'static>>,
    /// Linear solver and preconditioner ([`leastwise_solve::Choice::named`]).
    pub linear: String,
    /// Fingerprint of what was declared when its values were taken ([`RankedParts::restore_values`]).
    pub unedited: u64,
}

impl Restored {
    /// Adds them to what ranks compare.
    pub(super) fn note(&self, to: &mut Fingerprint) {
        for section in &self.sections {
            to.add(&section.kind.to_le_bytes());
            to.add(&section.bytes);
        }
    }
}

/// Elements of a table's row in a section; none where the section has nothing of it.
fn of_rows(over: Over, moving: bool, [width, tangent]: [u32; 2]) -> Option<u32> {
    match over {
        Over::Scalars { moving: alone } => (moving || !alone).then_some(width),
        Over::Unknowns => moving.then_some(tangent),
        Over::State | Over::All => None,
    }
}

impl RankedParts {
    /// Sections of a solve as it is, of all ranks together; `running` in its midst.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] where limits were given, or rows fixed for the first time, since the solve, a [`leastwise_collective::Fault`], and those of [`RankedProblem::solve`](super::RankedProblem::solve).
    pub fn save(&mut self, device: &mut Device, solve: &RankedSolve, running: bool) -> Result<Vec<Section<'static>>, Error> {
        let local = self.local.as_mut().ok_or(Error::Internal("a problem is not divided"))?;
        if !solve.solver.is_ready(&local.problem) {
            return Err(Error::InvalidOption(
                "save(): limits were given, or rows fixed for the first time, since the last solve: solve before".into(),
            ));
        }
        let (host, parts) = solve.solver.save(&local.problem, running)?;
        let host: Vec<f64> = host.bytes.iter().map(|byte| f64::from(*byte)).collect();
        let host = self.communicator.broadcast("the host's section", &host)?.into_iter().map(|byte| byte as u8).collect();
        let mut owned_rows = Vec::new();
        for table in &local.tables {
            let owned: Vec<f64> = table.rows[..table.owned as usize].iter().map(|row| f64::from(*row)).collect();
            owned_rows.push(self.communicator.gather_varying("rows that are saved", &owned)?.concat());
        }
        let mut sections = vec![Section { kind: section::HOST, bytes: Cow::Owned(host) }];
        for part in parts {
            let own = self.read_slice(device, part.slice);
            let own = everybody(&*self.communicator, own)?;
            let values = match part.over {
                Over::State | Over::All => own,
                over => self.gathered(over, &own, &owned_rows)?,
            };
            let mut writer = Writer::default();
            writer.reals(&values, device.precision());
            sections.push(Section { kind: part.section, bytes: Cow::Owned(writer.bytes) });
        }
        Ok(sections)
    }

    /// All of a buffer of this rank.
    fn read_slice(&mut self, device: &mut Device, slice: Slice) -> Result<Vec<f64>, Error> {
        let mut commands = self.local.as_mut().map(|local| local.problem.take_uploads()).unwrap_or_default();
        commands.push(Command::Read { slice });
        Ok(device.run(Recording { commands })?)
    }

    /// Values of all declared rows, of what this rank has in a buffer, and of which rows the ranks own in turn.
    fn gathered(&self, over: Over, own: &[f64], owned_rows: &[Vec<f64>]) -> Result<Vec<f64>, Error> {
        let local = self.local.as_ref().ok_or(Error::Internal("a problem is not divided"))?;
        let mut all = Vec::new();
        for ((declared, here), numbers) in self.declared.tables.iter().zip(&local.tables).zip(owned_rows) {
            let Some(width) = of_rows(over, declared.moving, [declared.width, declared.tangent]) else { continue };
            if !declared.moving {
                all.extend(&declared.values);
                continue;
            }
            let first = local.first(here, over)?;
            let own = &own[first..first + (here.owned * width) as usize];
            let values = self.communicator.gather_varying("values that are saved", own)?.concat();
            let begin = all.len();
            all.resize(begin + (declared.count * width) as usize, 0.0);
            for (row, values) in numbers.iter().zip(values.chunks(width as usize)) {
                all[begin + *row as usize * width as usize..][..width as usize].copy_from_slice(values);
            }
        }
        Ok(all)
    }

    /// Takes values of all tables, one after the other, to the bit; gives the fingerprint of what is declared then, which edits change.
    ///
    /// # Errors
    /// [`Error`] for values that a table can't have.
    pub fn restore_values(&mut self, values: &[f64]) -> Result<u64, Error> {
        let mut rest = values;
        for table in &mut self.declared.tables {
            let (own, others) = rest.split_at(table.values.len());
            table.values.copy_from_slice(own);
            rest = others;
        }
        // Not among what was declared so far: ranks that took other files by mistake are alike once all take the same.
        let mut restored = Fingerprint::default();
        values.iter().for_each(|value| restored.add(&value.to_bits().to_le_bytes()));
        self.restored = restored.0;
        let unedited = self.declared.fingerprint.0;
        let Some(local) = &mut self.local else { return Ok(unedited) };
        let mut here = Vec::new();
        for (declared, table) in self.declared.tables.iter().zip(&local.tables).filter(|(_, table)| table.number.is_some()) {
            here.extend(rows(&declared.values, declared.width, &table.rows));
        }
        local.problem.check_restored(&here, false)?;
        local.problem.restore_values(&here);
        Ok(unedited)
    }

    /// Has a solve that was just begun go on from a file.
    pub(super) fn restore(&mut self, device: &mut Device, solve: &mut RankedSolve, restored: &Restored) -> Result<(), Error> {
        let local = self.local.as_mut().ok_or(Error::Internal("a problem is not divided"))?;
        solve.solver.compare_linear(&restored.linear)?;
        let mut sections = Vec::new();
        let expected = solve.solver.sections_of(&local.problem, &restored.sections)?;
        for section in &restored.sections {
            let bytes = match expected.iter().find(|(kind, _)| *kind == section.kind) {
                Some((_, over @ (Over::Scalars { .. } | Over::Unknowns))) => {
                    let mut writer = Writer::default();
                    writer.reals(&here(&self.declared.tables, local, *over, (section, device.precision()))?, device.precision());
                    Cow::Owned(writer.bytes)
                }
                _ => section.bytes.clone(),
            };
            sections.push(Section { kind: section.kind, bytes });
        }
        let (saved, values) = solve.solver.read_saved(&local.problem, &sections)?;
        let is_edited = self.declared.fingerprint.0 != restored.unedited;
        if !is_edited {
            // A part that was made since has brought its values onto their manifolds.
            local.problem.check_restored(&values, false)?;
            local.problem.restore_values(&values);
        }
        let uploads = solve.solver.restore(&mut local.problem, saved)?;
        // The state knows the point as it was before the edit.
        local.problem.revision += u64::from(is_edited);
        let mut commands = local.problem.take_uploads();
        commands.extend(uploads);
        device.run(Recording { commands })?;
        Ok(())
    }
}

/// Values of a section that this rank has, table by table.
fn here(declared: &[DeclaredTable], local: &Local, over: Over, (section, precision): (&Section, Precision)) -> Result<Vec<f64>, Error> {
    let widths = declared.iter().map(|table| of_rows(over, table.moving, [table.width, table.tangent]));
    let counts = declared.iter().zip(widths.clone()).map(|(table, width)| (table.count * width.unwrap_or(0)) as usize);
    let values = reals(&section.bytes, precision, counts.clone().sum());
    let values = values.ok_or_else(|| malformed(format!("section {} of it has another length", section.kind)))?;
    let mut rest = &values[..];
    let mut here = Vec::new();
    for ((table, width), count) in local.tables.iter().zip(widths).zip(counts) {
        let (own, others) = rest.split_at(count);
        rest = others;
        if let (Some(width), Some(_)) = (width, table.number) {
            here.extend(rows(own, width, &table.rows));
        }
    }
    Ok(here)
}

impl Local {
    /// First element of a table that moves, in a buffer of values or of degrees of freedom.
    fn first(&self, of: &LocalTable, over: Over) -> Result<usize, Error> {
        let table = self.problem.table(of.number.ok_or(Error::Internal("a rank lacks a variable"))?)?;
        Ok(if over == Over::Unknowns { table.vector } else { table.arena } as usize)
    }
}

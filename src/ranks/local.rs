//! One rank's part of a declared problem, as a problem of its own.

use super::declared::{Declared, DeclaredColumn, DeclaredTerm, rows};
use super::partition::{NOBODY, Partition};
use leastwise_base::task::Task;
use leastwise_collective::Communicator;
use leastwise_device::{ABSENT, Device, Precision};
use leastwise_error::Error;
use leastwise_problem::{Column, Problem, Reals, Registry, Shares, Slot, TermSpec, Weight, distinct};
use leastwise_program::Rows;
use std::sync::Arc;

/// A table here: owned rows, then copies, by their numbers in the declared table.
pub struct LocalTable {
    /// Number of the table in the problem; none of constants that no instance here uses.
    pub number: Option<u32>,
    /// Declared row of each row here.
    pub rows: Vec<u32>,
    /// Rows that this rank owns: the first ones.
    pub owned: u32,
    /// Row here of each declared row, or [`ABSENT`].
    pub places: Vec<u32>,
}

/// A term here.
pub struct LocalTerm {
    /// Number of the term in the problem.
    pub number: u32,
    /// Declared number of each instance here, in the order that they have here.
    pub instances: Vec<u32>,
}

/// One rank's problem, and where its parts are in the declared one.
pub struct Local {
    pub problem: Problem,
    pub tables: Vec<LocalTable>,
    /// By declared number; none where this rank has no instance.
    pub terms: Vec<Option<LocalTerm>>,
    /// Variables that several ranks touch, their tables, and instances here.
    pub cut: u32,
    pub cut_tables: Vec<u32>,
    pub instances: u32,
}

impl Local {
    /// The part of a rank.
    ///
    /// # Errors
    /// [`Error`] of tables and terms.
    pub fn new(
        (device, registry): (&Device, &mut Registry),
        declared: &Declared,
        partition: &Partition,
        communicator: Arc<dyn Communicator>,
    ) -> Result<Self, Error> {
        let rank = communicator.rank();
        let instances: Vec<Vec<u32>> = partition.instances.iter().map(|ranks| of_rank(ranks, rank)).collect();
        let mut problem = Problem::new();
        let mut tables = Vec::new();
        let (mut owned, mut unknowns) = (Vec::new(), 0);
        for (number, table) in (0..).zip(&declared.tables) {
            // Rows that no instance touches are the first rank's: what is done to all rows is done to them, too.
            let owners = &partition.owners[number as usize];
            let is_idle = |row: u32| table.moving && rank == 0 && owners[row as usize] == NOBODY;
            let mut used: Vec<bool> = (0..table.count).map(is_idle).collect();
            for (term, instances) in declared.terms.iter().zip(&instances) {
                for slot in term.slots.iter().filter(|slot| slot.table == number) {
                    let column = &term.indices[slot.column as usize];
                    instances.iter().for_each(|instance| used[column[*instance as usize] as usize] = true);
                }
            }
            let owner = |row: &u32| table.moving && (owners[*row as usize] == rank || is_idle(*row));
            let (mut here, copies): (Vec<u32>, Vec<u32>) = (0..table.count).filter(|row| used[*row as usize]).partition(owner);
            let own = if table.moving { here.len() as u32 } else { 0 };
            here.extend(copies);
            let mut places = vec![ABSENT; table.count as usize];
            (0..).zip(&here).for_each(|(place, row)| places[*row as usize] = place);
            // Every rank has every variable's shape, be it of a row that nothing here touches: it does not move.
            if here.is_empty() && table.moving {
                here.push(0);
            }
            let mut local = LocalTable { number: None, rows: here, owned: own, places };
            if !local.rows.is_empty() {
                let values = rows(&table.values, table.width, &local.rows);
                let added = problem.add_table(device, registry, &table.name, table.shapes.clone(), Reals::F64(&values), table.moving)?;
                local.number = Some(added);
                owned.push(own);
                if table.moving {
                    unknowns += problem.table(added)?.tangent * table.count;
                }
                // Also where all rows here may move: ranks make the vectors of fixed components, or none of them does.
                if let Some(free) = &table.free {
                    problem.begin_with_free(added, rows(free, table.tangent, &local.rows))?;
                }
                if let Some(limits) = &table.limits {
                    bound(&mut problem, (added, &local.rows), device.precision(), table.width, limits)?;
                }
            }
            tables.push(local);
        }
        let (mut terms, mut numbers) = (Vec::new(), Vec::new());
        for ((number, term), mut instances) in (0..).zip(&declared.terms).zip(instances) {
            if instances.is_empty() {
                terms.push(None);
                continue;
            }
            let moving = term.slots.iter().filter(|slot| declared.tables[slot.table as usize].moving);
            let columns = moving.map(|slot| (&term.indices[slot.column as usize][..], &tables[slot.table as usize].places[..]));
            keep_runs(&columns.collect::<Vec<_>>(), device.limits().group_size, &mut instances);
            let added = add_term(&mut problem, device, registry, term, &tables, &instances)?;
            numbers.push(number);
            terms.push(Some(LocalTerm { number: added, instances }));
        }
        let place = |&(table, row): &(u32, u32)| {
            let local: &LocalTable = &tables[table as usize];
            (local.number.unwrap_or_default(), local.places[row as usize])
        };
        let shared = partition.cut.iter().map(place).collect();
        let names = declared.terms.iter().map(|term| term.name.clone()).collect();
        problem.set_shares(Shares { communicator, owned, shared, unknowns, terms: numbers, names, partials: 0 });
        let instances = terms.iter().flatten().map(|term| term.instances.len() as u32).sum();
        let cut_tables = distinct(partition.cut.iter().map(|(table, _)| *table));
        Ok(Self { problem, tables, terms, cut: partition.cut.len() as u32, cut_tables, instances })
    }

    /// The problem and a declared term's part, to be edited; none where this rank has no instance. The edit counts there, too: a solve
    /// that is under way starts from it on all ranks.
    pub fn edit(&mut self, term: u32) -> Option<(&mut Problem, &LocalTerm)> {
        self.problem.revision += 1;
        self.terms[term as usize].as_ref().map(|of| (&mut self.problem, of))
    }

    /// Fixes components (all, or those given) of these rows of a declared table, or lets rows move again.
    ///
    /// # Errors
    /// Those of [`Problem::fix`].
    pub fn set_free(&mut self, table: u32, rows: &[u32], components: Option<&[u32]>, free: bool) -> Result<(), Error> {
        let of = &self.tables[table as usize];
        let number = of.number.ok_or(Error::Internal("a rank lacks a variable"))?;
        let here: Vec<u32> = rows.iter().map(|row| of.places[*row as usize]).filter(|place| *place != ABSENT).collect();
        let problem = &mut self.problem;
        if here.is_empty() && !rows.is_empty() {
            // A solve starts from the edit, and a solver is set up anew for the first one, on all ranks alike.
            problem.revision += 1;
            problem.structure += u64::from(problem.lacks_bounds(number, false));
        }
        if free { problem.unfix(number, Some(&here)) } else { problem.fix(number, Some(&here), components) }
    }

    /// Bounds a declared table, whose rows are so wide and have these limits.
    ///
    /// # Errors
    /// Those of [`Problem::bound`].
    pub fn bound(&mut self, table: u32, precision: Precision, width: u32, limits: &[Vec<f64>; 2]) -> Result<(), Error> {
        let of = &self.tables[table as usize];
        // Every rank has all variables, if only a row of them: all take the same steps.
        let number = of.number.ok_or(Error::Internal("a rank lacks a variable"))?;
        bound(&mut self.problem, (number, &of.rows), precision, width, limits)
    }
}

/// Bounds these rows of a table of so many scalars a row.
fn bound(
    problem: &mut Problem,
    (number, here): (u32, &[u32]),
    precision: Precision,
    width: u32,
    limits: &[Vec<f64>; 2],
) -> Result<(), Error> {
    let [lower, upper] = limits.each_ref().map(|limits| rows(limits, width, here));
    problem.bound(number, precision, Some(Reals::F64(&lower)), Some(Reals::F64(&upper)))
}

fn add_term(
    problem: &mut Problem,
    device: &Device,
    registry: &mut Registry,
    term: &DeclaredTerm,
    tables: &[LocalTable],
    instances: &[u32],
) -> Result<u32, Error> {
    // An index column may lead to several tables, whose rows have other places: each pair has a column of its own.
    let mut columns: Vec<(u32, u32)> = term.slots.iter().map(|slot| (slot.column, slot.table)).collect();
    columns.sort_unstable();
    columns.dedup();
    let index = |&(column, table): &(u32, u32)| {
        let rows = &term.indices[column as usize];
        instances.iter().map(|instance| tables[table as usize].places[rows[*instance as usize] as usize]).collect()
    };
    let slot = |slot: &Slot| {
        let column = columns.iter().position(|column| *column == (slot.column, slot.table)).unwrap_or_default() as u32;
        Slot { table: tables[slot.table as usize].number.unwrap_or_default(), column }
    };
    let data: Vec<Vec<f64>> = term
        .columns
        .iter()
        .map(|column| if column.shared { column.values.clone() } else { rows(&column.values, column.width, instances) })
        .collect();
    fn described<'a>((column, values): (&DeclaredColumn, &'a Vec<f64>)) -> Column<'a> {
        Column { name: column.name.clone(), width: column.width, shared: column.shared, values: Reals::F64(values) }
    }
    let weights = if term.shares_weight { Vec::new() } else { rows(&term.weight, 1, instances) };
    let spec = TermSpec {
        name: term.name.clone(),
        count: instances.len() as u32,
        indices: columns.iter().map(index).collect(),
        slots: term.slots.iter().map(slot).collect(),
        columns: term.columns.iter().zip(&data).map(described).collect(),
        weight: if term.shares_weight { Weight::Shared(term.weight[0]) } else { Weight::Each(Reals::F64(&weights)) },
        loss: term.loss.clone(),
        objective: term.objective,
        tape: &term.tape,
        outputs: &term.outputs,
    };
    problem.add_term(device, registry, spec)
}

/// Orders instances so that variables of one column own runs of them (`OwnerProgram`) if they did as declared: by the places that its rows
/// have here, where copies come last. Columns are rows of all instances, and the places of rows.
fn keep_runs(columns: &[(&[u32], &[u32])], group_size: u32, instances: &mut [u32]) {
    let row = |rows: &[u32], instance: &u32| rows[*instance as usize];
    let own_runs = |numbers: Vec<u32>| {
        let found = Task::new(|pace| async move { Rows::new(&numbers, group_size, &pace).await }).finish();
        matches!(found, Ok(Some(_)))
    };
    let has_runs = |(rows, places): &(&[u32], &[u32])| own_runs(instances.iter().map(|at| places[row(rows, at) as usize]).collect());
    let had_runs = |(rows, _): &&(&[u32], &[u32])| own_runs(instances.iter().map(|at| row(rows, at)).collect());
    if columns.iter().any(has_runs) {
        return;
    }
    let chosen = columns.iter().find(had_runs).copied();
    if let Some((rows, places)) = chosen {
        // Equal rows keep their order.
        instances.sort_by_key(|at| places[row(rows, at) as usize]);
    }
}

/// Numbers of the instances that a rank has.
fn of_rank(ranks: &[u32], rank: u32) -> Vec<u32> {
    (0..).zip(ranks).filter(|(_, other)| **other == rank).map(|(instance, _)| instance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places of rows of which 1 and 4 are copies, behind the others.
    const PLACES: [u32; 6] = [ABSENT, 3, 0, 1, 4, 2];
    const ROWS: [u32; 7] = [1, 1, 2, 2, 3, 4, 5];

    fn kept(columns: &[(&[u32], &[u32])], group_size: u32, instances: &[u32]) -> Vec<u32> {
        let mut instances = instances.to_vec();
        keep_runs(columns, group_size, &mut instances);
        instances
    }

    #[test]
    fn instances_follow_the_places_of_rows_that_had_runs() {
        let all = [0, 1, 2, 3, 4, 5, 6];
        assert_eq!(kept(&[(&ROWS, &PLACES)], 64, &all), [2, 3, 4, 6, 0, 1, 5]);
        // A variable that all share has a run too long for a workgroup, so the other column is followed.
        assert_eq!(kept(&[(&[0; 7], &[0]), (&ROWS, &PLACES)], 4, &all), [2, 3, 4, 6, 0, 1, 5]);
    }

    #[test]
    fn instances_stay_where_nothing_is_gained() {
        assert_eq!(kept(&[(&ROWS, &PLACES)], 64, &[0, 2, 1]), [0, 2, 1], "rows that do not ascend");
        assert_eq!(kept(&[(&ROWS, &PLACES)], 1, &[0, 1, 2]), [0, 1, 2], "runs longer than a workgroup");
        let all = [0, 1, 2, 3, 4, 5, 6];
        assert_eq!(kept(&[(&ROWS, &PLACES), (&all, &all)], 64, &all), all, "a column whose places have runs already");
    }
}

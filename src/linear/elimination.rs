//! What a Schur complement eliminates, and what is left: all that does not depend on values.
//!
//! A table can be eliminated when no instance touches two of its variables: then its part of JᵀWJ is block-diagonal. So
//! can several tables between whose variables there are no blocks either. What is left — cameras, in bundle adjustment —
//! has blocks where two variables share an eliminated neighbour, besides those that it had.

use crate::neighbours::{borders, incident, neighbours};
use crate::schur::Refused;
use leastwise_base::parallel;
use leastwise_base::task::{Pace, Stopped, UNIT};
use leastwise_problem::{BlockRows, Pattern, PatternPart};
use std::ops::Range;

pub use crate::neighbours::{Border, Neighbour};

/// An eliminated table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// The pattern's number of it.
    pub table: u32,
    /// Degrees of freedom of a variable.
    pub width: u32,
    /// Variables of the table.
    pub count: u32,
    /// Its first variable among all that are eliminated, and the first element of its factors and of its scalars.
    pub first: u32,
    /// First element of its factors.
    pub factor: usize,
    /// First of its scalars.
    pub scalar: usize,
}

/// Structure of an elimination: which variables go, their neighbours, and the pattern of the reduced system.
pub struct Elimination {
    /// Tables that are eliminated.
    pub groups: Vec<Group>,
    /// Parts that neighbours are in, in the order of the kept tables.
    pub borders: Vec<Border>,
    /// For every eliminated variable, its neighbours: ascending by kept variable.
    pub starts: Vec<u32>,
    /// Neighbours of all eliminated variables, one variable after the other.
    pub neighbours: Vec<Neighbour>,
    /// For every kept variable, the neighbours that are it: eliminated variable (over all groups), place in `neighbours`.
    pub incident_starts: Vec<u32>,
    /// Pairs of eliminated variable and place in `neighbours`, one kept variable after the other.
    pub incident: Vec<(u32, u32)>,
    /// For every kept variable, the neighbours of the eliminated ones of all before it; and of all.
    met: Vec<u64>,
    /// Elements of all factors, of all eliminated scalars, of Y.
    pub factors: usize,
    /// Eliminated scalars.
    pub scalars: usize,
    /// Elements of Y.
    pub y: usize,
    /// The tables that are kept, and their structure after the elimination.
    pub kept: Vec<u32>,
    /// Pattern of the reduced system.
    pub reduced: Pattern,
    /// For every part of `reduced`, the part it continues; for every block of it, that part's block.
    pub origins: Vec<(Option<u32>, Vec<Option<u32>>)>,
}

/// Why tables cannot be eliminated together: an instance touches variables of both (or two of one).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Linked(pub u32, pub u32);

/// The tables whose elimination leaves the fewest unknowns: by size, as long as they are not linked to those before.
pub fn detect(pattern: &Pattern) -> Vec<u32> {
    let unknowns = |table: u32| {
        let BlockRows { count, width, .. } = pattern.tables[table as usize];
        count * width
    };
    let mut order: Vec<(u32, u32)> = (0..pattern.tables.len() as u32).map(|table| (u32::MAX - unknowns(table), table)).collect();
    order.sort_unstable();
    let mut chosen: Vec<u32> = Vec::new();
    for (_, table) in order {
        chosen.push(table);
        if check(pattern, &chosen).is_err() {
            chosen.pop();
        }
    }
    // Something is to be left: the smallest, where nothing is linked at all.
    if chosen.len() == pattern.tables.len() {
        chosen.pop();
    }
    chosen.sort_unstable();
    chosen
}

/// Whether these tables can be eliminated together.
pub fn check(pattern: &Pattern, tables: &[u32]) -> Result<(), Linked> {
    let links = |part: &&PatternPart| tables.contains(&part.row) && tables.contains(&part.column) && part.blocks() > 0;
    pattern.parts.iter().find(links).map_or(Ok(()), |part| Err(Linked(part.row, part.column)))
}

/// Products of two blocks that eliminating these tables takes: half the sum of squares of the numbers of neighbours.
pub fn work(pattern: &Pattern, tables: &[u32]) -> f64 {
    let mut total = 0.0;
    for &table in tables {
        let mut neighbours = vec![0u32; pattern.tables[table as usize].count as usize];
        for part in &pattern.parts {
            if part.row == table {
                neighbours.iter_mut().zip(part.starts.windows(2)).for_each(|(count, starts)| *count += starts[1] - starts[0]);
            } else if part.column == table {
                part.columns.iter().for_each(|&column| neighbours[column as usize] += 1);
            }
        }
        total += neighbours.iter().map(|&count| f64::from(count) * (f64::from(count) + 1.0) / 2.0).sum::<f64>();
    }
    total
}

impl Elimination {
    /// `tables` are numbers of the pattern's tables.
    pub async fn new(pattern: &Pattern, tables: &[u32], pace: &Pace) -> Result<Self, Refused> {
        check(pattern, tables)?;
        let kept: Vec<u32> = (0..pattern.tables.len() as u32).filter(|table| !tables.contains(table)).collect();
        let mut reduced = Pattern::default();
        // For every table of the pattern, its first variable among those that are kept.
        let mut first_kept = vec![None; pattern.tables.len()];
        for &table in &kept {
            let of = &pattern.tables[table as usize];
            first_kept[table as usize] = Some(reduced.variables());
            reduced.push(&of.name, of.table, of.count, of.width);
        }
        let mut groups: Vec<Group> = Vec::new();
        let (mut eliminated, mut factors, mut scalars) = (0, 0, 0);
        for &table in tables {
            let BlockRows { width, count, .. } = pattern.tables[table as usize];
            groups.push(Group { table, width, count, first: eliminated, factor: factors, scalar: scalars });
            eliminated += count;
            factors += count as usize * (width * (width + 1) / 2) as usize;
            scalars += (count * width) as usize;
        }
        let borders = borders(pattern, &first_kept);
        let (starts, neighbours, y) = neighbours(pattern, &groups, eliminated, &borders, pace).await?;
        let (incident_starts, incident, met) = incident(&starts, &neighbours, reduced.variables(), pace).await?;
        let mut elimination = Self {
            groups,
            borders,
            starts,
            neighbours,
            incident_starts,
            incident,
            met,
            factors,
            scalars,
            y,
            kept,
            reduced,
            origins: Vec::new(),
        };
        elimination.fill_in(pattern, pace).await?;
        Ok(elimination)
    }

    /// The structure of what is left: blocks that were there, and those of two neighbours of an eliminated variable.
    async fn fill_in(&mut self, pattern: &Pattern, pace: &Pace) -> Result<(), Stopped> {
        let variables = self.reduced.variables();
        let seen = || vec![u32::MAX; variables as usize];
        let met = |seen: &mut Vec<u32>, rows: Range<u32>| rows.map(|row| self.met(pattern, row, seen)).collect();
        let rows = self.runs_of_rows(UNIT / 4);
        let columns: Vec<Vec<Vec<u32>>> = parallel::map(rows, |rows| self.operations(rows), seen, met, pace).await?;
        let columns: Vec<Vec<u32>> = columns.into_iter().flatten().collect();
        let place = |table: u32| self.kept.iter().position(|&kept| kept == table);
        for row in 0..self.kept.len() {
            for column in 0..=row {
                let [rows, others] = [row, column].map(|number| self.reduced.tables[number].clone());
                let origin = (0..).zip(&pattern.parts).find(|(_, part)| place(part.row) == Some(row) && place(part.column) == Some(column));
                let mut part = PatternPart {
                    row: row as u32,
                    column: column as u32,
                    starts: vec![0],
                    columns: Vec::new(),
                    base: self.reduced.values,
                    rows: rows.width,
                    width: others.width,
                };
                let mut blocks = Vec::new();
                for variable in 0..rows.count {
                    let of_row = &columns[(rows.first + variable) as usize];
                    let range = others.first..others.first + others.count;
                    let mine = of_row.iter().filter(|column| range.contains(column)).map(|column| column - others.first);
                    let mut known = origin.map(|(_, part)| part.row(variable).peekable());
                    for column in mine {
                        part.columns.push(column);
                        let same = known.as_mut().and_then(|known| known.next_if(|(_, other)| *other == column));
                        blocks.push(same.map(|(block, _)| block));
                    }
                    part.starts.push(part.columns.len() as u32);
                    pace.spend(4 * of_row.len() + 16).await?;
                }
                if !part.columns.is_empty() {
                    self.reduced.values += u64::from(part.blocks()) * u64::from(part.size());
                    self.reduced.parts.push(part);
                    self.origins.push((origin.map(|(number, _)| number), blocks));
                }
            }
        }
        Ok(())
    }

    /// The kept variables before this one that it meets in S, ascending. `seen` has for every kept variable the last row that met it,
    /// `u32::MAX` at first.
    fn met(&self, pattern: &Pattern, row: u32, seen: &mut [u32]) -> Vec<u32> {
        let mut columns = Vec::new();
        let mut meet = |column: u32| {
            if column < row && seen[column as usize] != row {
                seen[column as usize] = row;
                columns.push(column);
            }
        };
        for &(variable, _) in self.incident(row) {
            self.neighbours_of(variable).iter().for_each(|neighbour| meet(neighbour.variable));
        }
        let place = |table: u32| self.kept.iter().position(|&kept| kept == table);
        let number = self.reduced.table_of(row);
        for part in pattern.parts.iter().filter(|part| place(part.row) == Some(number)) {
            let Some(other) = place(part.column) else { continue };
            let first = self.reduced.tables[other].first;
            part.row(row - self.reduced.tables[number].first).for_each(|(_, column)| meet(first + column));
        }
        columns.sort_unstable();
        columns
    }

    /// Rows of S in runs, each of which takes about so many operations for every pair of neighbours in it.
    pub fn runs_of_rows(&self, operations: usize) -> Vec<Range<u32>> {
        let (variables, mut runs, mut first) = (self.reduced.variables(), Vec::new(), 0);
        for row in 0..variables {
            if row + 1 == variables || self.operations(&(first..row + 1)) >= operations {
                runs.push(first..row + 1);
                first = row + 1;
            }
        }
        runs
    }

    /// Operations that rows of S take about, for every pair of neighbours.
    pub fn operations(&self, rows: &Range<u32>) -> usize {
        let [first, last] = [rows.start, rows.end].map(|row| self.met[row as usize]);
        2 * (last - first) as usize + 16 * rows.len()
    }

    /// The group of an eliminated variable.
    pub fn group_of(&self, variable: u32) -> &Group {
        &self.groups[self.groups.partition_point(|group| group.first + group.count <= variable)]
    }

    /// The neighbours of an eliminated variable.
    pub fn neighbours_of(&self, variable: u32) -> &[Neighbour] {
        &self.neighbours[self.starts[variable as usize] as usize..self.starts[variable as usize + 1] as usize]
    }

    /// Degrees of freedom of a neighbour.
    pub fn width_of(&self, neighbour: &Neighbour) -> usize {
        self.borders[neighbour.border as usize].width as usize
    }

    /// The eliminated neighbours of a kept variable.
    pub fn incident(&self, variable: u32) -> &[(u32, u32)] {
        &self.incident[self.incident_starts[variable as usize] as usize..self.incident_starts[variable as usize + 1] as usize]
    }
}

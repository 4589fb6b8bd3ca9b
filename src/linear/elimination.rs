//! What a Schur complement eliminates, and what is left: all that does not depend on values.
//!
//! A table can be eliminated when no instance touches two of its variables: then its part of JᵀWJ is block-diagonal. So
//! can several tables between whose variables there are no blocks either. What is left — cameras, in bundle adjustment —
//! has blocks where two variables share an eliminated neighbour, besides those that it had.

use crate::schur::Refused;
use leastwise_base::task::{Pace, Stopped, UNIT};
use leastwise_problem::{BlockRows, Pattern, PatternPart};

/// A block between an eliminated variable and one that is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbour {
    /// The kept variable, among all that are kept.
    pub variable: u32,
    /// Degrees of freedom of it.
    pub width: u32,
    /// Part and number of the block, and whether its rows are those of the kept variable.
    pub part: u32,
    /// Number of the block within its part.
    pub block: u32,
    /// True if the rows of the block are those of the kept variable.
    pub turned: bool,
    /// Its place among the values of Y.
    pub y: usize,
}

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
    /// For every eliminated variable, its neighbours: ascending by kept variable.
    pub starts: Vec<u32>,
    /// Neighbours of all eliminated variables, one variable after the other.
    pub neighbours: Vec<Neighbour>,
    /// For every kept variable, the neighbours that are it: eliminated variable (over all groups), place in `neighbours`.
    pub incident_starts: Vec<u32>,
    /// Pairs of eliminated variable and place in `neighbours`, one kept variable after the other.
    pub incident: Vec<(u32, u32)>,
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
        let (starts, neighbours, y) = neighbours(pattern, &groups, eliminated, &first_kept);
        pace.spend(UNIT).await?;
        let mut incident_starts = vec![0u32; reduced.variables() as usize + 1];
        neighbours.iter().for_each(|neighbour| incident_starts[neighbour.variable as usize + 1] += 1);
        for place in 0..reduced.variables() as usize {
            incident_starts[place + 1] += incident_starts[place];
        }
        let mut next = incident_starts.clone();
        let mut incident = vec![(0, 0); neighbours.len()];
        for variable in 0..eliminated {
            for place in starts[variable as usize]..starts[variable as usize + 1] {
                let to = &mut next[neighbours[place as usize].variable as usize];
                incident[*to as usize] = (variable, place);
                *to += 1;
            }
        }
        let mut elimination =
            Self { groups, starts, neighbours, incident_starts, incident, factors, scalars, y, kept, reduced, origins: Vec::new() };
        elimination.fill_in(pattern, pace).await?;
        Ok(elimination)
    }

    /// The structure of what is left: blocks that were there, and those of two neighbours of an eliminated variable.
    async fn fill_in(&mut self, pattern: &Pattern, pace: &Pace) -> Result<(), Stopped> {
        let variables = self.reduced.variables() as usize;
        let mut columns: Vec<Vec<u32>> = vec![Vec::new(); variables];
        let mut seen = vec![u32::MAX; variables];
        let place = |table: u32| self.kept.iter().position(|&kept| kept == table);
        for (row, columns) in (0..).zip(&mut columns) {
            let mut meet = |column: u32| {
                if column < row && seen[column as usize] != row {
                    seen[column as usize] = row;
                    columns.push(column);
                }
            };
            for &(variable, _) in self.incident(row) {
                self.neighbours_of(variable).iter().for_each(|neighbour| meet(neighbour.variable));
            }
            let number = self.reduced.table_of(row);
            let table = &self.reduced.tables[number];
            for part in pattern.parts.iter().filter(|part| place(part.row) == Some(number)) {
                let Some(other) = place(part.column) else { continue };
                let first = self.reduced.tables[other].first;
                part.row(row - table.first).for_each(|(_, column)| meet(first + column));
            }
            columns.sort_unstable();
            let met: usize = self.incident(row).iter().map(|&(variable, _)| self.neighbours_of(variable).len()).sum();
            pace.spend(4 * met + 16 * columns.len()).await?;
        }
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

    /// The group of an eliminated variable.
    pub fn group_of(&self, variable: u32) -> &Group {
        &self.groups[self.groups.partition_point(|group| group.first + group.count <= variable)]
    }

    /// The neighbours of an eliminated variable.
    pub fn neighbours_of(&self, variable: u32) -> &[Neighbour] {
        &self.neighbours[self.starts[variable as usize] as usize..self.starts[variable as usize + 1] as usize]
    }

    /// The eliminated neighbours of a kept variable.
    pub fn incident(&self, variable: u32) -> &[(u32, u32)] {
        &self.incident[self.incident_starts[variable as usize] as usize..self.incident_starts[variable as usize + 1] as usize]
    }
}

type Neighbours = (Vec<u32>, Vec<Neighbour>, usize);

/// The neighbours of every eliminated variable, sorted by counting.
fn neighbours(pattern: &Pattern, groups: &[Group], eliminated: u32, first_kept: &[Option<u32>]) -> Neighbours {
    let group = |table: u32| groups.iter().find(|group| group.table == table);
    let mut starts = vec![0u32; eliminated as usize + 1];
    // Parts in the order of the kept tables, so that the neighbours of a variable ascend.
    let mut parts: Vec<(u32, u32, bool)> = Vec::new();
    for (number, part) in (0..).zip(&pattern.parts) {
        match (first_kept[part.row as usize], first_kept[part.column as usize]) {
            (None, Some(first)) => parts.push((first, number, false)),
            (Some(first), None) => parts.push((first, number, true)),
            _ => {}
        }
    }
    parts.sort_unstable();
    let each = |visit: &mut dyn FnMut(usize, Neighbour)| {
        for &(first, number, turned) in &parts {
            let part = &pattern.parts[number as usize];
            let of = group(if turned { part.column } else { part.row }).expect("one of the two tables is eliminated");
            let width = if turned { part.rows } else { part.width };
            for row in 0..part.starts.len() as u32 - 1 {
                for (block, column) in part.row(row) {
                    let (own, other) = if turned { (column, row) } else { (row, column) };
                    let neighbour = Neighbour { variable: first + other, width, part: number, block, turned, y: 0 };
                    visit((of.first + own) as usize, neighbour);
                }
            }
        }
    };
    each(&mut |variable, _| starts[variable + 1] += 1);
    for place in 0..eliminated as usize {
        starts[place + 1] += starts[place];
    }
    let mut next = starts.clone();
    let none = Neighbour { variable: 0, width: 0, part: 0, block: 0, turned: false, y: 0 };
    let mut neighbours = vec![none; starts[eliminated as usize] as usize];
    each(&mut |variable, neighbour| {
        neighbours[next[variable] as usize] = neighbour;
        next[variable] += 1;
    });
    let mut y = 0;
    for group in groups {
        for variable in group.first..group.first + group.count {
            for place in starts[variable as usize]..starts[variable as usize + 1] {
                let neighbour = &mut neighbours[place as usize];
                neighbour.y = y;
                y += (group.width * neighbour.width) as usize;
            }
        }
    }
    (starts, neighbours, y)
}

//! What a Schur complement eliminates, and what is left: all that does not depend on values.
//!
//! A table can be eliminated when no instance touches two of its variables: then its part of JᵀWJ is block-diagonal. So
//! can several tables between whose variables there are no blocks either. What is left — cameras, in bundle adjustment —
//! has blocks where two variables share an eliminated neighbour, besides those that it had.

use crate::schur::Refused;
use leastwise_base::parallel;
use leastwise_base::task::{Pace, Stopped, UNIT};
use leastwise_problem::{BlockRows, Pattern, PatternPart};
use std::ops::Range;

/// Blocks between two looks at the clock.
const RUN: u32 = 1 << 14;

/// Kept variables of all threads that are counted, for each neighbour at most.
const MOST_COUNTERS: usize = 2;

/// A block between an eliminated variable and one that is kept. There are millions of them, so it is small.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbour {
    /// The kept variable, among all that are kept.
    pub variable: u32,
    /// Number in [`Elimination::borders`].
    pub border: u32,
    /// Number of the block within its part.
    pub block: u32,
    /// Its place among the values of Y.
    pub y: u32,
}

/// A part of the pattern between an eliminated table and one that is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Border {
    /// Number of the part.
    pub part: u32,
    /// First variable of the kept table, among all that are kept.
    pub first: u32,
    /// Degrees of freedom of a kept variable.
    pub width: u32,
    /// True if the rows of blocks are those of the kept variables.
    pub turned: bool,
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

/// Rows in runs of about [`RUN`] blocks, between which work may rest. `starts` has each row's first block.
fn runs(starts: &[u32], rows: Range<u32>) -> impl Iterator<Item = Range<u32>> {
    let mut first = rows.start;
    std::iter::from_fn(move || {
        let end = starts[first as usize..=rows.end as usize].partition_point(|start| *start <= starts[first as usize].saturating_add(RUN));
        let run = first..(first + end as u32 - 1).clamp(rows.end.min(first + 1), rows.end);
        first = run.end;
        (!run.is_empty()).then_some(run)
    })
}

/// Parts between eliminated tables and kept ones, in the order of the latter, so that the neighbours of a variable ascend.
fn borders(pattern: &Pattern, first_kept: &[Option<u32>]) -> Vec<Border> {
    let border = |(number, part): (u32, &PatternPart)| match (first_kept[part.row as usize], first_kept[part.column as usize]) {
        (None, Some(first)) => Some(Border { part: number, first, width: part.width, turned: false }),
        (Some(first), None) => Some(Border { part: number, first, width: part.rows, turned: true }),
        _ => None,
    };
    let mut borders: Vec<Border> = (0..).zip(&pattern.parts).filter_map(border).collect();
    borders.sort_by_key(|border| border.first);
    borders
}

type Incident = (Vec<u32>, Vec<(u32, u32)>, Vec<u64>);

/// Neighbours of some eliminated variables by the kept variable that they are.
struct Met {
    /// For every kept variable, one past its last; what is met; the neighbours of what is.
    ends: Vec<u32>,
    incident: Vec<(u32, u32)>,
    met: Vec<u64>,
}

impl Met {
    fn of(&self, kept: u32) -> &[(u32, u32)] {
        let first = if kept == 0 { 0 } else { self.ends[kept as usize - 1] };
        &self.incident[first as usize..self.ends[kept as usize] as usize]
    }
}

/// For every kept variable, first of its neighbours and one past all; these; and the neighbours of the eliminated ones of all before it.
async fn incident(starts: &[u32], neighbours: &[Neighbour], kept: u32, pace: &Pace) -> Result<Incident, Stopped> {
    let eliminated = starts.len() as u32 - 1;
    // Each thread sorts the neighbours of its eliminated variables; then each joins what all have of its kept ones.
    let most = MOST_COUNTERS * neighbours.len() / kept.max(1) as usize;
    let shares = parallel::few_shares(eliminated, 8 * neighbours.len(), most);
    let sorted = parallel::ranges(
        shares.into_iter().map(|range| (range, ())).collect(),
        |range, (), pace| async move {
            let [first, last] = [range.start, range.end].map(|variable| starts[variable as usize] as usize);
            let mut ends = vec![0u32; kept as usize];
            for run in neighbours[first..last].chunks(RUN as usize) {
                pace.spend(2 * run.len()).await?;
                run.iter().for_each(|neighbour| ends[neighbour.variable as usize] += 1);
            }
            // Beginnings, which become ends.
            let mut total = 0;
            for end in &mut ends {
                (*end, total) = (total, total + *end);
            }
            let (mut incident, mut met) = (vec![(0, 0); last - first], vec![0u64; kept as usize]);
            for run in runs(starts, range) {
                pace.spend(8 * (starts[run.end as usize] - starts[run.start as usize]) as usize).await?;
                for variable in run {
                    let [first, last] = [variable, variable + 1].map(|variable| starts[variable as usize]);
                    for place in first..last {
                        let kept = neighbours[place as usize].variable as usize;
                        incident[ends[kept] as usize] = (variable, place);
                        ends[kept] += 1;
                        met[kept] += u64::from(last - first);
                    }
                }
            }
            Ok(Met { ends, incident, met })
        },
        pace,
    );
    let mut sorted = sorted.await?;
    let (mut incident_starts, mut met) = (vec![0u32; kept as usize + 1], vec![0u64; kept as usize + 1]);
    for variable in 0..kept {
        let place = variable as usize;
        incident_starts[place + 1] = incident_starts[place] + sorted.iter().map(|part| part.of(variable).len() as u32).sum::<u32>();
        met[place + 1] = met[place] + sorted.iter().map(|part| part.met[place]).sum::<u64>();
    }
    pace.spend(4 * sorted.len() * kept as usize).await?;
    if let [only] = &mut sorted[..] {
        return Ok((incident_starts, std::mem::take(&mut only.incident), met));
    }
    let mut incident = vec![(0, 0); neighbours.len()];
    let ranges = parallel::shares(kept, 8 * neighbours.len());
    let parts = parallel::parts(&mut incident, &ranges, |variable| incident_starts[variable as usize]);
    let items = ranges.iter().cloned().zip(parts).collect();
    let sorted = &sorted[..];
    let joined = parallel::ranges(
        items,
        |range, mut incident, pace| async move {
            for variable in range {
                for of_part in sorted.iter().map(|part| part.of(variable)) {
                    incident.split_off_mut(..of_part.len()).unwrap_or_default().copy_from_slice(of_part);
                    pace.spend(4 + of_part.len()).await?;
                }
            }
            Ok(())
        },
        pace,
    );
    joined.await?;
    Ok((incident_starts, incident, met))
}

type Neighbours = (Vec<u32>, Vec<Neighbour>, usize);

/// The neighbours of every eliminated variable, sorted by counting.
async fn neighbours(pattern: &Pattern, groups: &[Group], eliminated: u32, borders: &[Border], pace: &Pace) -> Result<Neighbours, Refused> {
    let group = |table: u32| groups.iter().find(|group| group.table == table).expect("one of the two tables is eliminated");
    // First eliminated variable of a border's part.
    let first_of = |border: &Border, part: &PatternPart| group(if border.turned { part.column } else { part.row }).first;
    let mut starts = vec![0u32; eliminated as usize + 1];
    for border in borders {
        let part = &pattern.parts[border.part as usize];
        let counts = &mut starts[first_of(border, part) as usize + 1..];
        if border.turned {
            part.columns.iter().for_each(|column| counts[*column as usize] += 1);
        } else {
            counts.iter_mut().zip(part.starts.windows(2)).for_each(|(count, ends)| *count += ends[1] - ends[0]);
        }
        pace.spend(part.columns.len()).await?;
    }
    for place in 0..eliminated as usize {
        starts[place + 1] += starts[place];
    }
    let none = Neighbour { variable: 0, border: 0, block: 0, y: 0 };
    let mut neighbours = vec![none; starts[eliminated as usize] as usize];
    let ranges = parallel::shares(eliminated, 8 * neighbours.len());
    let parts = parallel::parts(&mut neighbours, &ranges, |variable| starts[variable as usize]);
    let starts_of = &starts;
    let items = ranges.iter().cloned().zip(parts).collect();
    let placed = parallel::ranges(
        items,
        |range, neighbours, pace| async move {
            let before = starts_of[range.start as usize];
            let mut next: Vec<u32> = range.clone().map(|variable| starts_of[variable as usize] - before).collect();
            for (number, border) in (0..).zip(borders) {
                let part = &pattern.parts[border.part as usize];
                let first = first_of(border, part);
                let mut visit = |own: u32, other: u32, block: u32| {
                    let place = &mut next[(first + own - range.start) as usize];
                    neighbours[*place as usize] = Neighbour { variable: border.first + other, border: number, block, y: 0 };
                    *place += 1;
                };
                let rows = part.starts.len() as u32 - 1;
                // Rows of the part are eliminated variables, of which some are in the range, or kept ones: then columns are looked through.
                let mine = if border.turned {
                    0..rows
                } else {
                    range.start.saturating_sub(first).min(rows)..range.end.saturating_sub(first).min(rows)
                };
                for run in runs(&part.starts, mine) {
                    pace.spend(8 * (part.starts[run.end as usize] - part.starts[run.start as usize]) as usize).await?;
                    for row in run {
                        for (block, column) in part.row(row) {
                            if !border.turned {
                                visit(row, column, block);
                            } else if range.contains(&(first + column)) {
                                visit(column, row, block);
                            }
                        }
                    }
                }
            }
            // Places in Y, from the range's first on.
            let mut y = 0u64;
            for group in groups {
                let mine =
                    [group.first, group.first + group.count].map(|variable| starts_of[variable.clamp(range.start, range.end) as usize]);
                let [first, last] = mine.map(|place| (place - before) as usize);
                for run in neighbours[first..last].chunks_mut(RUN as usize) {
                    pace.spend(2 * run.len()).await?;
                    for neighbour in run {
                        neighbour.y = y as u32;
                        y += u64::from(group.width * borders[neighbour.border as usize].width);
                    }
                }
            }
            Ok(y)
        },
        pace,
    );
    let sizes = placed.await?;
    let y = sizes.iter().sum::<u64>();
    if y > u64::from(u32::MAX) {
        return Err(Refused::TooLarge);
    }
    if ranges.len() == 1 {
        return Ok((starts, neighbours, y as usize));
    }
    let before = sizes.iter().scan(0, |sum, size| Some(std::mem::replace(sum, *sum + *size as u32)));
    let parts = parallel::parts(&mut neighbours, &ranges, |variable| starts[variable as usize]);
    let items = ranges.iter().cloned().zip(parts.into_iter().zip(before)).collect();
    let moved = parallel::ranges(
        items,
        |_, (neighbours, before), pace| async move {
            for run in neighbours.chunks_mut(RUN as usize) {
                pace.spend(run.len()).await?;
                run.iter_mut().for_each(|neighbour| neighbour.y += before);
            }
            Ok(())
        },
        pace,
    );
    moved.await?;
    Ok((starts, neighbours, y as usize))
}

//! Neighbours of eliminated variables: the kept variables that they share blocks with, sorted by either.

use crate::elimination::Group;
use crate::schur::Refused;
use leastwise_base::counting_sort::{Runs, Sorted, sort};
use leastwise_base::parallel;
use leastwise_base::task::{Pace, Stopped};
use leastwise_problem::{Pattern, PatternPart};
use std::ops::Range;

/// Blocks between two looks at the clock.
const RUN: u32 = 1 << 14;

/// Kept variables of all threads that are counted, for each neighbour at most.
const MOST_COUNTERS: usize = 2;

/// A block between an eliminated variable and one that is kept. There are millions of them, so it is small.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
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

/// Parts between eliminated tables and kept ones, in the order of the latter, so that the neighbours of a variable ascend.
pub fn borders(pattern: &Pattern, first_kept: &[Option<u32>]) -> Vec<Border> {
    let border = |(number, part): (u32, &PatternPart)| match (first_kept[part.row as usize], first_kept[part.column as usize]) {
        (None, Some(first)) => Some(Border { part: number, first, width: part.width, turned: false }),
        (Some(first), None) => Some(Border { part: number, first, width: part.rows, turned: true }),
        _ => None,
    };
    let mut borders: Vec<Border> = (0..).zip(&pattern.parts).filter_map(border).collect();
    borders.sort_by_key(|border| border.first);
    borders
}

/// Blocks of all borders, by their eliminated variables.
struct Blocks<'a> {
    borders: &'a [Border],
    /// For every border its part, and the first eliminated variable of that.
    parts: Vec<(&'a PatternPart, u32)>,
    /// Numbers of borders, and rows of their parts.
    runs: Vec<(u32, Range<u32>)>,
}

impl<'a> Blocks<'a> {
    fn new(pattern: &'a Pattern, groups: &[Group], borders: &'a [Border]) -> Self {
        let first = |table: u32| groups.iter().find(|group| group.table == table).expect("one of the two tables is eliminated").first;
        let part = |border: &Border| {
            let part = &pattern.parts[border.part as usize];
            (part, first(if border.turned { part.column } else { part.row }))
        };
        let parts: Vec<_> = borders.iter().map(part).collect();
        let runs_of = |(number, (part, _)): (u32, &(&PatternPart, u32))| {
            let rows = 0..part.starts.len() as u32 - 1;
            runs(&part.starts, rows).map(|run| (number, run)).collect::<Vec<_>>()
        };
        let runs = (0..).zip(&parts).flat_map(runs_of).collect();
        Self { borders, parts, runs }
    }
}

impl Runs for Blocks<'_> {
    type Item = Neighbour;

    fn count(&self) -> u32 {
        self.runs.len() as u32
    }

    fn len(&self, run: u32) -> usize {
        let (border, rows) = &self.runs[run as usize];
        let starts = &self.parts[*border as usize].0.starts;
        (starts[rows.end as usize] - starts[rows.start as usize]) as usize
    }

    fn visit(&self, run: u32, mut visit: impl FnMut(u32, Neighbour)) {
        let (border, ref rows) = self.runs[run as usize];
        let (part, eliminated) = self.parts[border as usize];
        let Border { first, turned, .. } = self.borders[border as usize];
        for row in rows.clone() {
            for (block, column) in part.row(row) {
                let (own, other) = if turned { (column, row) } else { (row, column) };
                visit(eliminated + own, Neighbour { variable: first + other, border, block, y: 0 });
            }
        }
    }
}

type Neighbours = (Vec<u32>, Vec<Neighbour>, usize);

/// For every eliminated variable, first of its neighbours and one past all; these; and elements of Y.
pub async fn neighbours(
    pattern: &Pattern,
    groups: &[Group],
    eliminated: u32,
    borders: &[Border],
    pace: &Pace,
) -> Result<Neighbours, Refused> {
    let sorted = sort(&Blocks::new(pattern, groups, borders), eliminated, pace).await?;
    let items = sorted.into_iter().map(|of_range| (of_range.keys.clone(), of_range)).collect();
    // Places in Y, from the range's first on.
    let placed = parallel::ranges(
        items,
        |range, Sorted { ends, mut items, .. }, pace| async move {
            let first = |variable: u32| match variable.clamp(range.start, range.end) - range.start {
                0 => 0,
                place => ends[place as usize - 1] as usize,
            };
            let mut y = 0u64;
            for group in groups {
                for run in items[first(group.first)..first(group.first + group.count)].chunks_mut(RUN as usize) {
                    pace.spend(2 * run.len()).await?;
                    for neighbour in run {
                        neighbour.y = y as u32;
                        y += u64::from(group.width * borders[neighbour.border as usize].width);
                    }
                }
            }
            Ok((ends, items, y))
        },
        pace,
    );
    let (mut starts, mut pieces, mut count, mut all_y) = (vec![(vec![0], 0)], Vec::new(), 0, 0u64);
    for (ends, items, y) in placed.await? {
        starts.push((ends, count));
        count += items.len() as u32;
        pieces.push((count, items, all_y as u32));
        all_y += y;
    }
    if all_y > u64::from(u32::MAX) {
        return Err(Refused::TooLarge);
    }
    let starts = parallel::joined(starts);
    if let [(_, items, _)] = &mut pieces[..] {
        return Ok((starts, std::mem::take(items), all_y as usize));
    }
    let mut neighbours = Vec::new();
    parallel::extend(&mut neighbours, 0..count, |place| {
        let (end, items, before) = &pieces[pieces.partition_point(|(end, ..)| *end <= place)];
        let neighbour = items[items.len() - (end - place) as usize];
        Neighbour { y: neighbour.y + before, ..neighbour }
    });
    Ok((starts, neighbours, all_y as usize))
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
pub async fn incident(starts: &[u32], neighbours: &[Neighbour], kept: u32, pace: &Pace) -> Result<Incident, Stopped> {
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

//! Ragged terms: every instance has a row of entries of its own length ("all neighbours of a vertex").
//!
//! The residual was traced once a length. Where there are at most [`MAX_KERNELS`] lengths, each is a part of the term
//! with a structure of its own and nothing is padded. Where there are more, neighbouring lengths share the structure of
//! their longest: entries that a row does not have are masked out of the sums (`sum`, `mean`) they appear in. That
//! is only done where it is proven to be the same: with the masks set, the longer trace must simplify to the shorter
//! one, node by node. Numbers that depend on the length (`around.length`) are literals, and those are data.

use super::registry::{Reading, Registry};
use super::spec::{Column, EntryColumn, RaggedSlot, RaggedSpec, Slot, TermSpec, Trace, Weight};
use super::{Reals, Table};
use leastwise_error::Error;
use leastwise_expr::{Graph, Leaf, tape};
use std::sync::Arc;

/// Kernels of each kind that one ragged term may need.
pub const MAX_KERNELS: usize = 16;
/// Entries of a row that a trace may have.
pub const MAX_LENGTH: u32 = 64;

/// The data column whose component k says whether a row has entry k. It is made here, not given.
pub(super) const PRESENT: u32 = u32::MAX;

/// Rows that share a structure: lengths, the last of them the structure's own, and the literals of each.
pub(super) struct Bucket {
    pub lengths: Vec<u32>,
    pub literals: Vec<Vec<f64>>,
}

/// Rows that begin and end where they should, with entries that are there.
pub(super) fn check_rows(
    plain: &TermSpec,
    offsets: &[u32],
    slots: &[RaggedSlot],
    columns: &[EntryColumn],
    tables: &[Table],
) -> Result<(), Error> {
    let shape = |message: String| Error::Shape { name: plain.name.clone(), message };
    let ordered = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
    if offsets.len() != plain.count as usize + 1 || offsets.first() != Some(&0) || !ordered {
        return Err(shape("the offsets of a ragged slot begin with 0, never fall, and are one more than the instances".into()));
    }
    let entries = offsets[offsets.len() - 1] as usize;
    if let Some((number, slot)) = slots.iter().enumerate().find(|(_, slot)| slot.indices.len() != entries) {
        let what = format!("term \"{}\": the indices of ragged slot {number}", plain.name);
        let expected = format!("{entries} (the last offset)");
        return Err(Error::DataLength { term: Some(plain.name.clone()), what, got: slot.indices.len(), expected });
    }
    if let Some(column) = columns.iter().find(|column| column.values.len() != entries) {
        let what = format!("term \"{}\": data column \"{}\"", plain.name, column.name);
        let expected = format!("{entries} (one an entry)");
        return Err(Error::DataLength { term: Some(plain.name.clone()), what, got: column.values.len(), expected });
    }
    plain.check_indices(tables)?;
    for (number, slot) in (plain.slots.len() as u32..).zip(slots) {
        let table = tables.get(slot.table as usize).ok_or(Error::Internal("a handle names no variable"))?;
        if let Some(entry) = slot.indices.iter().position(|index| *index >= table.count) {
            return Err(Error::IndexOutOfRange {
                term: plain.name.clone(),
                slot: number,
                instance: offsets.partition_point(|&start| start as usize <= entry) as u32 - 1,
                index: slot.indices[entry],
                table: table.name.clone(),
                count: table.count,
            });
        }
    }
    Ok(())
}

impl RaggedSpec<'_> {
    pub(super) fn validate(&self, tables: &[Table]) -> Result<(), Error> {
        self.plain.validate_with(tables, &self.slots)?;
        check_rows(&self.plain, &self.offsets, &self.slots, &self.columns, tables)?;
        let shape = |message: String| Error::Shape { name: self.plain.name.clone(), message };
        let lengths = self.lengths();
        if let Some(instance) = lengths.iter().position(|&length| length > MAX_LENGTH) {
            return Err(Error::Limits(format!(
                "term \"{}\": the row of instance {instance} has {} entries, but a residual is traced for at most {MAX_LENGTH}: take its entries by .each(…) and sum over them with sumOver()",
                self.plain.name, lengths[instance]
            )));
        }
        match lengths.iter().find(|length| !self.traces.iter().any(|trace| trace.length == **length)) {
            Some(length) => Err(shape(format!("the residual was not traced for rows of {length} entries"))),
            None => Ok(()),
        }
    }

    /// Numbers of its tapes are within the device's range.
    pub(super) fn check_literals(&self, largest: f64) -> Result<(), Error> {
        let checked = self.traces.iter().try_for_each(|trace| tape::check_literals(trace.tape, largest));
        checked.map_err(|error| Error::Tape { term: self.plain.name.clone(), error })
    }

    pub(super) fn lengths(&self) -> Vec<u32> {
        self.offsets.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    fn trace(&self, length: u32) -> &Trace<'_> {
        self.traces.iter().find(|trace| trace.length == length).expect("every length was traced")
    }

    /// The first source of an entry, and how many each has: plain slots and columns come first.
    fn entry_sources(&self) -> (usize, usize) {
        (self.plain.slots.len() + self.plain.columns.len(), self.slots.len() + self.columns.len())
    }

    /// How lengths go together.
    pub(super) fn buckets(&self, tables: &[Table]) -> Result<Vec<Bucket>, Error> {
        let lengths = self.lengths();
        let mut counts: Vec<(u32, u64)> = Vec::new();
        let mut sorted = lengths.clone();
        sorted.sort_unstable();
        for length in sorted {
            match counts.last_mut() {
                Some((last, count)) if *last == length => *count += 1,
                _ => counts.push((length, 1)),
            }
        }
        let alone = |length: u32| Ok::<Bucket, Error>(Bucket { lengths: vec![length], literals: vec![self.literals(length)] });
        if counts.len() <= MAX_KERNELS {
            return counts.iter().map(|&(length, _)| alone(length)).collect();
        }
        let mut buckets: Vec<Bucket> = Vec::new();
        let mut add = |bucket: Bucket| buckets.insert(buckets.partition_point(|before| before.lengths[0] <= bucket.lengths[0]), bucket);
        // A few are left for lengths that refuse company.
        for group in least_padding(&counts, MAX_KERNELS - 4) {
            let (joined, refused) = self.joined(&group, tables)?;
            add(joined);
            for length in refused {
                add(alone(length)?);
            }
        }
        if buckets.len() > MAX_KERNELS {
            return Err(Error::Limits(format!(
                "term \"{}\": its rows have {} different lengths, and what is done with their entries can't be padded: {MAX_KERNELS} kernels are the limit. \
                 Combine entries by sum() or mean() alone, or make rows of equal length",
                self.plain.name,
                counts.len()
            )));
        }
        Ok(buckets)
    }

    fn literals(&self, length: u32) -> Vec<f64> {
        tape::lift(self.trace(length).tape).1
    }

    /// The lengths that the longest one's structure covers, and those that it does not.
    fn joined(&self, lengths: &[u32], tables: &[Table]) -> Result<(Bucket, Vec<u32>), Error> {
        let longest = lengths[lengths.len() - 1];
        let mut bucket = Bucket { lengths: Vec::new(), literals: Vec::new() };
        let mut refused = Vec::new();
        for &length in lengths {
            let literals = self.covers(longest, lengths[0], length, tables)?;
            match literals {
                Some(literals) => {
                    bucket.lengths.push(length);
                    bucket.literals.push(literals);
                }
                None => refused.push(length),
            }
        }
        if !bucket.lengths.contains(&longest) {
            // Not even its own: its entries are not only summed.
            refused.retain(|&length| length != longest);
            refused.append(&mut bucket.lengths);
            bucket = Bucket { lengths: vec![longest], literals: vec![self.literals(longest)] };
        }
        Ok((bucket, refused))
    }

    /// The literals of `length` if the trace of `longest`, masked, is that of `length`.
    fn covers(&self, longest: u32, shortest: u32, length: u32, tables: &[Table]) -> Result<Option<Vec<f64>>, Error> {
        let refused = |error| Error::Tape { term: self.plain.name.clone(), error };
        let sources = self.sources(longest, tables);
        let (first, each) = self.entry_sources();
        let optional = tape::Optional { first, each, required: shortest as usize, mask: PRESENT };
        let mut graph = Graph::new();
        let trace = self.trace(longest);
        let Some((masked, literals)) = tape::read_masked(&mut graph, trace.tape, trace.outputs, &sources, optional).map_err(refused)?
        else {
            return Ok(None);
        };
        let [absent, present] = [0.0, 1.0].map(|value| graph.constant(value));
        let set = graph.substitute(&masked, |leaf| match leaf {
            Leaf::Data { column, component } if column == PRESENT => Some(if component < length { present } else { absent }),
            _ => None,
        });
        let trace = self.trace(length);
        let (exact, own) = tape::read_lifted(&mut graph, trace.tape, trace.outputs, &sources).map_err(refused)?;
        Ok((set == exact && literals.len() == own.len()).then_some(own))
    }

    /// The sources of a trace, the leaves numbered as in [`plain`](Self::plain).
    pub(super) fn sources(&self, longest: u32, tables: &[Table]) -> Vec<tape::Source> {
        let slot = |slot: usize, table: u32| tape::Source {
            leaf: Leaf::Slot { slot: slot as u32, component: 0 },
            width: tables.get(table as usize).map_or(0, |table| table.width),
        };
        let data = |column: usize, width: u32| tape::Source { leaf: Leaf::Data { column: column as u32, component: 0 }, width };
        let mut sources: Vec<tape::Source> = self.plain.slots.iter().enumerate().map(|(number, of)| slot(number, of.table)).collect();
        sources.extend(self.plain.columns.iter().enumerate().map(|(number, column)| data(number, column.width)));
        for entry in 0..longest as usize {
            let (slots, columns) =
                (self.plain.slots.len() + entry * self.slots.len(), self.plain.columns.len() + entry * self.columns.len());
            sources.extend(self.slots.iter().enumerate().map(|(number, of)| slot(slots + number, of.table)));
            sources.extend((0..self.columns.len()).map(|number| data(columns + number, 1)));
        }
        sources
    }

    /// The rows of a bucket as a plain term with a slot an entry. Its values are filled in by the term.
    pub(super) fn plain(&self, bucket: &Bucket, instances: &[u32]) -> TermSpec<'_> {
        let longest = bucket.lengths[bucket.lengths.len() - 1];
        let trace = self.trace(longest);
        let pick = |column: &Vec<u32>| instances.iter().map(|&instance| column[instance as usize]).collect::<Vec<u32>>();
        let mut indices: Vec<Vec<u32>> = self.plain.indices.iter().map(pick).collect();
        let mut slots = self.plain.slots.clone();
        let mut columns: Vec<Column> = Vec::new();
        let column = |name: &str, width: u32, shared: bool| Column { name: name.into(), width, shared, values: Reals::F64(&[]) };
        columns.extend(self.plain.columns.iter().map(|given| column(&given.name, given.width, given.shared)));
        for entry in 0..longest {
            for slot in &self.slots {
                let index = instances.iter().map(|&instance| {
                    let (start, end) = (self.offsets[instance as usize], self.offsets[instance as usize + 1]);
                    // A masked entry repeats the row's last one, or any variable if there is none.
                    let at = (start + entry).min(end.saturating_sub(1).max(start));
                    slot.indices.get(at as usize).copied().unwrap_or(0)
                });
                indices.push(index.collect());
                slots.push(Slot { table: slot.table, column: indices.len() as u32 - 1 });
            }
            columns.extend(self.columns.iter().map(|given| column(&given.name, 1, false)));
        }
        TermSpec {
            name: self.plain.name.clone(),
            count: instances.len() as u32,
            indices,
            slots,
            columns,
            weight: Weight::Shared(1.0),
            loss: self.plain.loss.clone(),
            objective: self.plain.objective,
            tape: trace.tape,
            outputs: trace.outputs,
        }
    }

    /// Reads a bucket's trace, with masks where it has several lengths.
    pub(super) fn read(&self, registry: &mut Registry, tables: &[Table], bucket: &Bucket, spec: &TermSpec) -> Result<Arc<Reading>, Error> {
        let (first, each) = self.entry_sources();
        let longest = bucket.lengths[bucket.lengths.len() - 1];
        let several = bucket.lengths.len() > 1;
        let optional = several.then(|| tape::Optional { first, each, required: bucket.lengths[0] as usize, mask: PRESENT });
        registry.read_ragged(spec, tables, &self.sources(longest, tables), optional)
    }
}

/// At most `most` runs of neighbouring lengths with the least padding in all (by dynamic programming).
fn least_padding(counts: &[(u32, u64)], most: usize) -> Vec<Vec<u32>> {
    let n = counts.len();
    let padding = |from: usize, to: usize| -> u64 {
        let longest = u64::from(counts[to - 1].0);
        counts[from..to].iter().map(|&(length, count)| (longest - u64::from(length)) * count).sum()
    };
    // best[k][j]: the first j lengths in at most k runs; and where the last run begins.
    let mut best = vec![vec![(u64::MAX, 0); n + 1]; most + 1];
    best[0][0] = (0, 0);
    for runs in 1..=most {
        for end in 0..=n {
            let mut entry = best[runs - 1][end];
            for (start, &(before, _)) in best[runs - 1][..end].iter().enumerate() {
                if before < u64::MAX && before + padding(start, end) < entry.0 {
                    entry = (before + padding(start, end), start);
                }
            }
            best[runs][end] = entry;
        }
    }
    let (mut runs, mut end, mut groups) = (most, n, Vec::new());
    while end > 0 {
        while runs > 1 && best[runs - 1][end].0 == best[runs][end].0 {
            runs -= 1;
        }
        let start = best[runs][end].1;
        groups.push(counts[start..end].iter().map(|count| count.0).collect());
        (end, runs) = (start, runs - 1);
    }
    groups.reverse();
    groups
}

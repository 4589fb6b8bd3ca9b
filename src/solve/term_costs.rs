//! The cost of every term, for reports.
//!
//! A batch of one term leaves a few partial sums. Where terms share a batch, the costs of its instances are read and
//! added up here: a kernel for each of a hundred thousand terms would cost more than the numbers.

use super::Workspace;
use leastwise_device::{Command, Slice};
use leastwise_problem::Problem;
use std::collections::BTreeMap;

/// Elements of a readback that belong to terms.
struct Part {
    /// The element of the first cost or partial sum.
    first: u32,
    /// For every term, how many elements are its.
    terms: Vec<(u32, u32)>,
    /// Whether each element has a low part, a fixed distance away.
    partial: bool,
}

/// What the report's readback holds.
#[derive(Default)]
pub struct TermCosts {
    names: BTreeMap<u32, String>,
    parts: Vec<Part>,
    low: u32,
}

impl TermCosts {
    /// The costs by name, in the order of the terms.
    pub fn read(&self, readback: &[f64]) -> Vec<(String, f64)> {
        let at = |place: u32| readback.get(place as usize).copied().unwrap_or(f64::NAN);
        // One by one: a collection would sort them first, with code of its own.
        let mut costs = BTreeMap::new();
        for &term in self.names.keys() {
            costs.insert(term, 0.0);
        }
        for part in &self.parts {
            let mut place = part.first;
            for &(term, count) in &part.terms {
                let low = |place: u32| if part.partial { at(place + self.low) } else { 0.0 };
                let cost: f64 = (place..place + count).map(|place| at(place) + low(place)).sum();
                *costs.entry(term).or_default() += cost;
                place += count;
            }
        }
        costs.into_iter().map(|(term, cost)| (self.names[&term].clone(), cost)).collect()
    }
}

impl Workspace {
    /// Appends what computes the cost of every term at r as it is stored, and its readback.
    pub fn sum_by_term(&self, problem: &Problem, point: Slice, commands: &mut Vec<Command>) -> TermCosts {
        self.sum_batches(problem, |batch| batch.kernels.energy, point, commands);
        let mut costs = TermCosts { low: self.partial_distance, ..TermCosts::default() };
        let mut first = 0;
        for batch in problem.enabled_batches() {
            let partials = self.batch_partials(batch);
            if let [member] = batch.members[..] {
                costs.parts.push(Part { first, terms: vec![(member.term, partials)], partial: true });
            }
            first += partials;
        }
        costs.names = problem.enabled_names();
        let Some(all) = self.instance_costs else {
            commands.push(Command::Read { slice: self.partials });
            return costs;
        };
        commands.push(Command::Copy { from: self.partials, to: Slice { len: self.partials.len, ..all } });
        let mut offset = self.aligned(self.partials.len);
        for batch in problem.enabled_batches().filter(|batch| batch.members.len() > 1) {
            for chunk in &batch.chunks {
                commands.push(self.generated(batch.kernels.energy, chunk, point, self.step));
                let from = Slice { len: chunk.count, ..self.scratch };
                commands.push(Command::Copy { from, to: Slice { offset, len: chunk.count, ..all } });
                let within = |first: u32, count: u32| {
                    let (start, end) = (first.max(chunk.first), (first + count).min(chunk.first + chunk.count));
                    end.saturating_sub(start)
                };
                let terms = batch.members.iter().map(|member| (member.term, within(member.first, member.count)));
                costs.parts.push(Part { first: offset, terms: terms.filter(|(_, count)| *count > 0).collect(), partial: false });
                offset += self.aligned(chunk.count);
            }
        }
        commands.push(Command::Read { slice: Slice { len: offset, ..all } });
        costs
    }
}

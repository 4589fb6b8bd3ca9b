//! Tables that `"auto"` may eliminate: by terms alone, by counts, and by the structure of the matrix.

use super::thresholds::Thresholds;
use leastwise_linear::elimination;
use leastwise_problem::{Links, Pattern, Problem};

/// Tables that may be eliminated as far as terms tell, which name no two of their variables: the largest, and those that no term links with
/// them. None where they are too few of all unknowns for `"auto"` to eliminate them.
fn eliminable(tables: &[(u32, u32)], terms: &[Vec<u32>]) -> Vec<u32> {
    let mut left = tables.to_vec();
    let (mut gone, mut eliminated): (Vec<u32>, u32) = (Vec::new(), 0);
    // The largest first, and the first of equals.
    while let Some(place) = (0..left.len()).max_by_key(|&place| (left[place].1, u32::MAX - left[place].0)) {
        let (number, unknowns) = left.swap_remove(place);
        gone.push(number);
        if terms.iter().any(|term| term.iter().filter(|table| gone.contains(table)).count() > 1) || gone.len() == tables.len() {
            gone.pop();
        } else {
            eliminated += unknowns;
        }
    }
    let all: u32 = tables.iter().map(|(_, unknowns)| unknowns).sum();
    let limits = Thresholds::default();
    let is_worth = all > limits.dense && f64::from(eliminated) >= limits.eliminated * f64::from(all);
    if is_worth { gone } else { Vec::new() }
}

/// The same of a problem's links.
pub(super) fn eliminable_of(links: &Links) -> Vec<u32> {
    let tables: Vec<(u32, u32)> = links.moving().map(|(number, table)| (number, table.site.unknowns())).collect();
    let terms = links.batches.iter().map(|batch| batch.moving_slots().into_iter().map(|(_, table, _)| table).collect());
    eliminable(&tables, &terms.collect::<Vec<_>>())
}

/// True where it may be one of a problem that is not laid out yet.
pub(super) fn may_eliminate(problem: &Problem) -> bool {
    let tables: Vec<(u32, u32)> =
        (0..).zip(problem.tables()).filter(|(_, table)| table.moving).map(|(number, table)| (number, table.unknowns())).collect();
    let moves = |table: &u32| tables.iter().any(|(number, _)| number == table);
    let enabled = problem.terms().filter(|term| term.enabled);
    let terms = enabled.flat_map(|term| &term.parts).map(|part| part.tables.iter().copied().filter(moves).collect());
    !eliminable(&tables, &terms.collect::<Vec<_>>()).is_empty()
}

/// Why a Schur complement is what a structure is for, if it is: it eliminates most of the unknowns, and leaves few.
pub(super) fn why_schur(pattern: &Pattern, unknowns: u32) -> Option<String> {
    let limits = Thresholds::default();
    let groups = elimination::detect(pattern);
    let eliminated: u32 = groups.iter().map(|&table| pattern.tables[table as usize].count * pattern.tables[table as usize].width).sum();
    let is_most = f64::from(eliminated) >= limits.eliminated * f64::from(unknowns);
    let is_worth = is_most && unknowns - eliminated <= limits.reduced && elimination::work(pattern, &groups) <= limits.products;
    is_worth.then(|| {
        let names: Vec<String> = groups.iter().map(|&table| format!("\"{}\"", pattern.tables[table as usize].name)).collect();
        format!("{} ({eliminated} of {unknowns} unknowns) is block-diagonal", names.join(" and "))
    })
}

//! Gradients through a solve, and their parts.

use leastwise::session::{BackwardOptions, Gradients, Progress, Session};

/// Gradients of Σ cᵀx over tables and cotangents, by a task in slices as short as can be.
pub fn backward(
    session: &mut Session,
    problem: u32,
    cotangents: &[(u32, &[f64])],
    tangent: bool,
    options: BackwardOptions,
) -> Result<Gradients, leastwise::Error> {
    let tables: Vec<u32> = cotangents.iter().flat_map(|cotangent| [cotangent.0, cotangent.1.len() as u32]).collect();
    let values: Vec<f64> = cotangents.iter().flat_map(|cotangent| cotangent.1).copied().collect();
    let task = session.backward(problem, &tables, &values, tangent, options)?;
    loop {
        match session.resume(task, 0.0)? {
            Progress::Yielded | Progress::Partly { .. } => {}
            Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
            Progress::Gradients(gradients) => return Ok(*gradients),
            _ => panic!("no gradients"),
        }
    }
}

/// The gradient with respect to a column of a term, or (`None`) its weight.
pub fn of_term(gradients: &Gradients, term: u32, column: Option<usize>) -> Vec<f64> {
    let mut first = 0;
    for of in &gradients.terms {
        for (number, &len) in of.columns.iter().enumerate() {
            if of.term == term && column == Some(number) {
                return gradients.values[first..first + len].to_vec();
            }
            first += len;
        }
        if of.term == term && column.is_none() {
            return gradients.values[first..first + of.weight].to_vec();
        }
        first += of.weight;
    }
    panic!("no such term")
}

/// The gradient with respect to the values of a table.
pub fn of_table(gradients: &Gradients, table: u32) -> Vec<f64> {
    let mut first = gradients.terms.iter().map(|of| of.columns.iter().sum::<usize>() + of.weight).sum();
    for of in &gradients.tables {
        if of.table == table {
            return gradients.values[first..first + of.values].to_vec();
        }
        first += of.values;
    }
    panic!("no such table")
}

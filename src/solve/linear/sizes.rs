//! Sizes of what linear solvers on the host keep, found before anything is allocated: what has no place is an error of the solve.

use super::thresholds::Thresholds;
use leastwise_base::memory;
use leastwise_base::task::{Pace, Stopped};
use leastwise_error::Error;
use leastwise_linear::elimination;
use leastwise_problem::{BlockRows, LinkedBatch, Links, Pattern, runs};

/// Bytes that a linear solver may take: in WebAssembly those of the largest array there can be.
pub const MOST_BYTES: u64 = if cfg!(target_arch = "wasm32") { i32::MAX as u64 } else { 16 << 30 };

/// Unknowns that an elimination may leave even if they are more than it eliminates.
const FEW: u64 = 1500;

/// Bytes of a block that elimination makes, besides its values: places in the reduced matrix and in the structure of its factor.
const BYTES_PER_BLOCK: f64 = 24.0;

/// Refuses a whole matrix of more unknowns than there is memory for.
pub fn dense(unknowns: u64) -> Result<(), Error> {
    let bytes = u128::from(unknowns).pow(2).saturating_mul(8);
    if bytes > MOST_BYTES.into() {
        return Err(Error::Limits(format!(
            "linear \"dense\": the matrix of {unknowns} unknowns takes {bytes} bytes, and {MOST_BYTES} are possible here: use \"sparse-cholesky\" or \"pcg\""
        )));
    }
    Ok(memory::probe(bytes, "the matrix of linear \"dense\"")?)
}

/// Refuses to eliminate these tables where what is left is too large: of those that were only found, also where they are fewer
/// unknowns than they leave. A hub, one variable that all others meet in residuals, leaves a matrix without a zero. `planned` is the structure
/// of what is left, where that is known: without it, the most that it can be counts.
pub fn schur(pattern: &Pattern, tables: &[u32], is_asked_for: bool, planned: Option<&Pattern>) -> Result<(), Error> {
    let of = |table: &u32| &pattern.tables[*table as usize];
    let unknowns = |rows: &BlockRows| u64::from(rows.count) * u64::from(rows.width);
    let eliminated: u64 = tables.iter().map(|table| unknowns(of(table))).sum();
    let left = u64::from(pattern.scalars) - eliminated;
    let variables = f64::from(pattern.variables()) - tables.iter().map(|table| f64::from(of(table).count)).sum::<f64>();
    let most = || elimination::work(pattern, tables).min(variables * (variables + 1.0) / 2.0);
    let known = |left: &Pattern| variables + left.parts.iter().map(|part| f64::from(part.blocks())).sum::<f64>();
    let (blocks, width) = (planned.map_or_else(most, known), left as f64 / variables.max(1.0));
    // Twice its values: the matrix itself, and its factor.
    let bytes = blocks * (16.0 * width * width + BYTES_PER_BLOCK) + 8.0 * pattern.values as f64;
    let names: Vec<String> = tables.iter().map(|table| format!("\"{}\"", of(table).name)).collect();
    let names = names.join(" and ");
    if !is_asked_for && left > eliminated && left > FEW {
        return Err(Error::Limits(format!(
            "linear \"schur\": only {names} can be eliminated, {eliminated} unknowns, which leaves {left} and a matrix with up to {bytes:.1e} bytes: use \"sparse-cholesky\" or \"pcg\""
        )));
    }
    if bytes > MOST_BYTES as f64 {
        return Err(Error::Limits(format!(
            "linear \"schur\": eliminating {names} leaves {left} unknowns, whose matrix and factor take up to {bytes:.1e} bytes, and {MOST_BYTES} are possible here: use \"sparse-cholesky\" or \"pcg\""
        )));
    }
    Ok(memory::probe(bytes as u128, "the matrix that linear \"schur\" leaves")?)
}

/// Values of J.
pub fn of_jacobian(links: &Links) -> f64 {
    let values = |batch: &LinkedBatch| f64::from(batch.count) * f64::from(batch.programs.rows) * batch.programs.inputs.len() as f64;
    links.batches.iter().map(values).sum()
}

/// Why a factor is too large whatever the order of elimination, where that can be told without the structure: from how many blocks there are
/// at least, one in the row of every variable that meets one before it.
pub async fn too_full(links: &Links, on_gpu: bool, pace: &Pace) -> Result<Option<String>, Stopped> {
    let limits = Thresholds::default();
    let tables = &links.tables;
    let mut first = vec![0u32; tables.len() + 1];
    for (number, table) in tables.iter().enumerate() {
        first[number + 1] = first[number] + if table.moving { table.site.count } else { 0 };
    }
    // Of every variable the smallest block; of every table, whether its variables meet.
    let mut least = vec![0u32; first[tables.len()] as usize];
    let mut is_linked = vec![false; tables.len()];
    for batch in &links.batches {
        let slots = batch.moving_slots();
        let Some(((_, table, own), others)) = slots.split_first() else { continue };
        for (_, other, variables) in others {
            let [a, b] = [*table, *other].map(|number| (first[number as usize], tables[number as usize].site.tangent));
            let size = a.1 * b.1;
            for run in runs(own.len().min(variables.len())) {
                pace.spend(8 * run.len()).await?;
                for (&i, &j) in own[run.clone()].iter().zip(&variables[run]) {
                    let (i, j) = (a.0 + i, b.0 + j);
                    if i != j {
                        is_linked[*table as usize] |= table == other;
                        let row = &mut least[i.max(j) as usize];
                        *row = if *row == 0 { size } else { size.min(*row) };
                    }
                }
            }
        }
    }
    let values: u64 = least.iter().map(|&size| u64::from(size)).sum();
    let unknowns = links.unknowns();
    let linked: u32 = tables.iter().zip(&is_linked).filter(|(_, linked)| **linked).map(|(table, _)| table.site.unknowns()).sum();
    let entries = values as f64 + f64::from(unknowns);
    let may_be_redundant = !on_gpu && of_jacobian(links) > limits.redundancy * (values + u64::from(links.blocks_len)) as f64;
    Ok((entries > limits.fill && linked > limits.reduced && !may_be_redundant)
        .then(|| format!("at least {entries:.1e} entries in a factor, more than {:.0e}", limits.fill)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_matrix_is_refused_with_its_bytes_and_those_that_are_possible() {
        assert_eq!(dense(1000), Ok(()));
        let refused = dense(1 << 20).unwrap_err();
        assert_eq!(refused.code(), "limits");
        let text = refused.to_string();
        assert!(text.contains("8796093022208 bytes") && text.contains(&MOST_BYTES.to_string()) && text.contains("pcg"), "{text}");
        assert_eq!(dense(u64::MAX).unwrap_err().code(), "limits");
    }
}

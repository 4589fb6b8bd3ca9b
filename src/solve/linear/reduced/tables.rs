//! Choice of the tables that a Schur complement eliminates, by which tables residuals link.

use super::refused;
use leastwise_error::Error;
use leastwise_problem::distinct;

/// A table of variables, which may be eliminated.
#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    /// Number of the table.
    pub number: u32,
    /// Name of the table.
    pub name: &'a str,
    /// Degrees of freedom.
    pub unknowns: u32,
}

/// The tables to eliminate, ascending: those that were given, else the largest that no residual links with those before. `linked` are the
/// pairs of tables of which variables meet in a residual, the lower number first; a table of which two variables do is a pair with itself.
///
/// # Errors
/// [`Error::InvalidOption`], with the tables in the way.
pub fn choose_tables(all: &[Candidate], linked: &[[u32; 2]], given: Option<&[u32]>) -> Result<Vec<u32>, Error> {
    let links_any = |tables: &[u32]| linked.iter().find(|pair| pair.iter().all(|table| tables.contains(table))).copied();
    let name = |number: u32| all.iter().find(|table| table.number == number).map_or("", |table| table.name);
    let tables = match given {
        Some(given) => distinct(given.iter().copied()),
        None => {
            let mut order: Vec<(u32, u32)> = all.iter().map(|table| (u32::MAX - table.unknowns, table.number)).collect();
            order.sort_unstable();
            let mut tables: Vec<u32> = Vec::new();
            for (_, table) in order {
                tables.push(table);
                if links_any(&tables).is_some() {
                    tables.pop();
                }
            }
            // Something is to be left: the smallest, where nothing is linked at all.
            if tables.len() == all.len() {
                tables.pop();
            }
            distinct(tables.into_iter())
        }
    };
    if all.len() < 2 {
        return Err(refused("nothing would be left: fewer than two variables move, of which one is eliminated and one kept"));
    }
    if tables.is_empty() {
        return Err(refused("nothing can be eliminated: residuals touch two instances of every variable"));
    }
    if tables.len() == all.len() || tables.iter().any(|number| all.iter().all(|table| table.number != *number)) {
        return Err(Error::InvalidOption("eliminate: name some of the problem's variables, but not all".into()));
    }
    match links_any(&tables) {
        Some([a, b]) if a == b => Err(refused(&format!("\"{}\" can't be eliminated: a residual touches two instances of it", name(a)))),
        Some([a, b]) => Err(refused(&format!("\"{}\" and \"{}\" can't be eliminated together: a residual touches both", name(a), name(b)))),
        None => Ok(tables),
    }
}

/// Refusal of a term that names an eliminated variable twice.
pub fn in_two_slots(term: &str) -> Error {
    refused(&format!("term \"{term}\" has an eliminated variable in two of its slots"))
}

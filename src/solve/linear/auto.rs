//! Which linear solver a problem gets: a pure function of its structure, its sizes and a table of thresholds.

use super::super::assembly::{Structure, structure};
use super::elimination;
use super::host::Host;
use super::sparse::{Ordering, TooLarge};
use super::two_level::TwoLevel;
use super::two_level::space::Space;
use super::{Choice, Linear, Preconditioner, Wanted};
use crate::device::{BufferId, Device, Profile};
use crate::error::Error;
use crate::problem::{Batch, Pattern, Problem, Registry};

/// Thresholds between linear solvers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Thresholds {
    /// Unknowns of a whole matrix.
    pub dense: u32,
    /// Unknowns and rows of a QR factorisation of J.
    pub qr: u32,
    pub qr_rows: u32,
    /// Unknowns of which a matrix is thought of at all, where the residuals are on the CPU and on a GPU.
    pub host: u32,
    pub host_of_gpu: u32,
    /// Entries of a sparse factor, and multiplications that it takes.
    pub fill: f64,
    pub work: f64,
    /// Unknowns that a Schur complement leaves, the least part of all that it eliminates, and products of blocks.
    pub reduced: u32,
    pub eliminated: f64,
    pub products: f64,
    /// Unknowns of which conjugate gradients are worth a coarse space, where an iteration costs what it computes and where it costs its
    /// launches.
    pub two_level: u32,
    pub two_level_of_gpu: u32,
    /// Values of J for each of JᵀWJ that make it worth while to assemble a matrix for its products alone.
    pub redundancy: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            dense: 200,
            qr: 64,
            qr_rows: 100_000,
            host: 2_000_000,
            host_of_gpu: 20_000,
            // A page has one thread, which a factorisation keeps from all else, and little memory (docs/SOLVERS.md).
            fill: if cfg!(target_arch = "wasm32") { 2e6 } else { 1e8 },
            work: if cfg!(target_arch = "wasm32") { 1e9 } else { 3e10 },
            reduced: 3000,
            eliminated: 0.6,
            products: 2e7,
            two_level: 20_000,
            two_level_of_gpu: 200_000,
            redundancy: 10.0,
        }
    }
}

impl Thresholds {
    /// Unknowns from which on a step with two levels costs less on such a device, and why there.
    ///
    /// On a CPU, and on an adapter that is a program on one, a step costs what it computes: an iteration with two levels twice that of
    /// block Jacobi, of which there are several times as many. On a GPU the cost up to some 10⁵ unknowns is that of launches and of
    /// chains of loads, of which two levels have more, both in the set-up and in every iteration: on an H200 a step takes 9 to 16 ms
    /// whatever the size, 300 to 500 iterations with block Jacobi, and steps of such problems take no more of them.
    fn two_level_on(&self, profile: Profile) -> (u32, &'static str) {
        match profile {
            Profile::Cpu | Profile::Software => (self.two_level, "from which on fewer iterations are worth two levels"),
            Profile::Gpu => (self.two_level_of_gpu, "from which on fewer iterations are worth the launches of two levels on a GPU"),
        }
    }
}

/// Whether √W J can be brought back row by row: none of the rows goes through sums over entries, no loss bends W, and
/// nothing is an energy.
pub fn has_rows(problem: &Problem) -> bool {
    let rows: u64 = problem.enabled_batches().map(|batch| u64::from(batch.count()) * u64::from(batch.programs.rows)).sum();
    let unknowns: u32 = problem.moving().map(|table| table.unknowns()).sum();
    let thresholds = Thresholds::default();
    unknowns <= thresholds.qr && rows <= thresholds.qr_rows.into() && problem.enabled_batches().all(Batch::is_plain)
}

/// The tables to eliminate, by their numbers in the pattern: those that were given, else those that are found.
pub fn eliminated(pattern: &Pattern, wanted: &Wanted) -> Result<Vec<u32>, Error> {
    let Some(given) = &wanted.eliminate else {
        let found = elimination::detect(pattern);
        if found.is_empty() {
            let message = "linear \"schur\": nothing can be eliminated: residuals touch two instances of every variable. Use \"sparse-cholesky\" or \"pcg\"";
            return Err(Error::InvalidOption(message.into()));
        }
        return Ok(found);
    };
    let mut tables = Vec::new();
    for &number in given {
        let place = pattern.tables.iter().position(|rows| rows.table == number);
        let message = "eliminate: only variables of this problem can be eliminated, not constants";
        tables.push(place.ok_or_else(|| Error::InvalidOption(message.into()))? as u32);
    }
    tables.sort_unstable();
    tables.dedup();
    if tables.is_empty() || tables.len() == pattern.tables.len() {
        return Err(Error::InvalidOption("eliminate: name some of the problem's variables, but not all".into()));
    }
    Ok(tables)
}

/// A problem's linear solver.
pub struct Made {
    pub choice: Choice,
    /// Where the system is solved on the host.
    pub host: Option<Box<Host>>,
    /// Where conjugate gradients have two levels.
    pub two_level: Option<TwoLevel>,
}

impl Made {
    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        let of_host = self.host.iter().flat_map(|host| host.buffers());
        of_host.chain(self.two_level.iter().flat_map(|two_level| two_level.buffers().to_vec()))
    }
}

/// The problem's linear solver: where none was asked for and the best does not fit the device, the one that always does.
pub fn make(wanted: &Wanted, device: &mut Device, registry: &mut Registry, problem: &Problem) -> Result<Made, Error> {
    let (mut choice, found) = choose(wanted, problem, device);
    if choice.linear.is_on_host() {
        match Host::new(device, registry, problem, choice.linear, wanted, found) {
            Ok(host) => {
                let usual = || (Preconditioner::BlockJacobi, "a factor is asked for by name".into());
                let asked = wanted.preconditioner.map(|preconditioner| (preconditioner, "it was asked for".into()));
                choice.preconditioner = (choice.linear == Linear::AssembledPcg).then(|| asked.unwrap_or_else(usual));
                return Ok(Made { choice, host: Some(Box::new(host)), two_level: None });
            }
            Err(Error::Limits(why)) if wanted.linear.is_none() && wanted.preconditioner.is_none() => {
                choice = Choice { linear: Linear::Pcg, why, preconditioner: None }
            }
            Err(error) => return Err(error),
        }
    }
    let (preconditioner, why) = precondition(wanted, problem, device.profile());
    let made = match preconditioner {
        Preconditioner::BlockJacobi | Preconditioner::FrozenFactor => Ok(None),
        Preconditioner::TwoLevel => TwoLevel::new(device, registry, problem).map(Some),
    };
    let (preconditioner, why, two_level) = match made {
        Ok(two_level) => (preconditioner, why, two_level),
        Err(Error::Limits(why) | Error::InvalidOption(why)) if wanted.preconditioner.is_none() => (Preconditioner::BlockJacobi, why, None),
        Err(error) => return Err(error),
    };
    choice.preconditioner = Some((preconditioner, why));
    Ok(Made { choice, host: None, two_level })
}

/// What conjugate gradients of this problem are preconditioned by, and why.
fn precondition(wanted: &Wanted, problem: &Problem, profile: Profile) -> (Preconditioner, String) {
    if let Some(preconditioner) = wanted.preconditioner {
        return (preconditioner, "it was asked for".into());
    }
    let unknowns: u32 = problem.moving().map(|table| table.unknowns()).sum();
    let (least, why) = Thresholds::default().two_level_on(profile);
    if unknowns < least {
        return (Preconditioner::BlockJacobi, format!("{unknowns} unknowns, fewer than {least}, {why}"));
    }
    if problem.enabled_batches().any(|batch| batch.sums.is_some()) {
        return (Preconditioner::BlockJacobi, "a term sums over entries, so there are no pairs of variables".into());
    }
    match Space::new(problem) {
        Ok(space) if space.coordinates > 0 && !space.holds_shape => {
            (Preconditioner::BlockJacobi, "residuals that link points know lengths alone, which hold no shape".into())
        }
        Ok(space) if space.coordinates > 0 => (
            Preconditioner::TwoLevel,
            format!("{unknowns} unknowns, at least {least}, and patches of points that move as bodies in {} dimensions", space.coordinates),
        ),
        Ok(_) => (Preconditioner::BlockJacobi, "no variables are points, of which residuals see differences".into()),
        Err(why) => (Preconditioner::BlockJacobi, why),
    }
}

/// Values of J.
fn of_jacobian(problem: &Problem) -> f64 {
    let values = |batch: &Batch| f64::from(batch.count()) * f64::from(batch.programs.rows) * batch.programs.inputs.len() as f64;
    problem.enabled_batches().map(values).sum()
}

/// What solves this problem's systems: what was asked for, else the best for its structure and size. With the structure, where that had
/// to be found.
fn choose(wanted: &Wanted, problem: &Problem, device: &Device) -> (Choice, Option<Structure>) {
    let chosen = |linear: Linear, why: String| (Choice { linear, why, preconditioner: None }, None);
    if let Some(linear) = wanted.linear {
        return chosen(linear, "it was asked for".into());
    }
    if let Some(preconditioner) = wanted.preconditioner {
        return chosen(preconditioner.linears()[0], format!("it is what \"{}\" is for", preconditioner.name()));
    }
    let limits = Thresholds::default();
    let unknowns: u32 = problem.moving().map(|table| table.unknowns()).sum();
    if problem.enabled_batches().any(|batch| batch.sums.is_some()) {
        return chosen(Linear::Pcg, "a term sums over entries, so JᵀWJ can't be assembled".into());
    }
    if unknowns <= limits.dense {
        return chosen(Linear::Dense, format!("{unknowns} unknowns"));
    }
    let on_gpu = device.profile() != Profile::Cpu;
    let most = if on_gpu { limits.host_of_gpu } else { limits.host };
    if unknowns > most {
        return chosen(Linear::Pcg, format!("{unknowns} unknowns, more than {most}"));
    }
    if let Some(why) = too_full(problem, on_gpu) {
        return chosen(Linear::Pcg, why);
    }
    let Some(found) = structure(problem) else {
        return chosen(Linear::Pcg, "JᵀWJ can't be assembled".into());
    };
    let (linear, why) = choose_for(&found.0, problem, device);
    (chosen(linear, why).0, linear.is_on_host().then_some(found))
}

/// Why a factor is too large whatever the order of elimination, where that can be told without the structure: from how many blocks there are
/// at least, one in the row of every variable that meets one before it.
fn too_full(problem: &Problem, on_gpu: bool) -> Option<String> {
    let limits = Thresholds::default();
    let tables = problem.tables();
    let mut first = vec![0u32; tables.len() + 1];
    for (number, table) in tables.iter().enumerate() {
        first[number + 1] = first[number] + if table.moving { table.count } else { 0 };
    }
    // Of every variable the smallest block; of every table, whether its variables meet.
    let mut least = vec![0u32; first[tables.len()] as usize];
    let mut is_linked = vec![false; tables.len()];
    for batch in problem.enabled_batches() {
        let moving = (0..).zip(&batch.signature().slots).filter(|(_, slot)| slot.vector.is_some());
        let slots: Vec<(u32, &[u32])> = moving.map(|(slot, _)| problem.slot_of(batch, slot)).collect();
        let Some(((table, own), others)) = slots.split_first() else { continue };
        for (other, variables) in others {
            let [a, b] = [*table, *other].map(|number| (first[number as usize], tables[number as usize].tangent));
            let size = a.1 * b.1;
            for (&i, &j) in own.iter().zip(*variables) {
                let (i, j) = (a.0 + i, b.0 + j);
                if i != j {
                    is_linked[*table as usize] |= table == other;
                    let row = &mut least[i.max(j) as usize];
                    *row = if *row == 0 { size } else { size.min(*row) };
                }
            }
        }
    }
    let values: u64 = least.iter().map(|&size| u64::from(size)).sum();
    let unknowns: u32 = problem.moving().map(|table| table.unknowns()).sum();
    let linked: u32 = tables.iter().zip(&is_linked).filter(|(_, linked)| **linked).map(|(table, _)| table.unknowns()).sum();
    let entries = values as f64 + f64::from(unknowns);
    let may_be_redundant = !on_gpu && of_jacobian(problem) > limits.redundancy * (values + u64::from(problem.blocks_len())) as f64;
    (entries > limits.fill && linked > limits.reduced && !may_be_redundant)
        .then(|| format!("at least {entries:.1e} entries in a factor, more than {:.0e}", limits.fill))
}

/// The best solver for a structure.
fn choose_for(pattern: &Pattern, problem: &Problem, device: &Device) -> (Linear, String) {
    let chosen = |linear: Linear, why: String| (linear, why);
    let limits = Thresholds::default();
    let on_gpu = device.profile() != Profile::Cpu;
    let unknowns: u32 = problem.moving().map(|table| table.unknowns()).sum();
    let elements = device.limits().binding_bytes / device.precision().bytes();
    if pattern.values > elements / 2 {
        return chosen(Linear::Pcg, format!("JᵀWJ has {:.1e} values off its diagonal", pattern.values as f64));
    }
    let groups = elimination::detect(pattern);
    let of_groups: u32 = groups.iter().map(|&table| pattern.tables[table as usize].count * pattern.tables[table as usize].width).sum();
    let left = unknowns - of_groups;
    let worth = f64::from(of_groups) >= limits.eliminated * f64::from(unknowns) && left <= limits.reduced;
    if worth && elimination::work(pattern, &groups) <= limits.products {
        let names: Vec<String> = groups.iter().map(|&table| format!("\"{}\"", pattern.tables[table as usize].name)).collect();
        return chosen(Linear::Schur, format!("{} ({of_groups} of {unknowns} unknowns) is block-diagonal", names.join(" and ")));
    }
    let is_redundant = !on_gpu && of_jacobian(problem) > limits.redundancy * (pattern.values + u64::from(pattern.blocks_len)) as f64;
    // A factor has the matrix's entries at least: where they are too many, no order of elimination has to be found.
    let least = pattern.values as f64 + f64::from(pattern.scalars);
    if least > limits.fill && !is_redundant {
        return chosen(Linear::Pcg, format!("at least {least:.1e} entries in a factor, more than {:.0e}", limits.fill));
    }
    let ordering = if least > limits.fill { Err(TooLarge) } else { Ordering::new(pattern) };
    match ordering {
        Ok(ordering) if ordering.fill <= limits.fill && ordering.work <= limits.work => {
            chosen(Linear::SparseCholesky, format!("about {:.1e} entries in the factor", ordering.fill))
        }
        _ if is_redundant => chosen(Linear::AssembledPcg, "a factor would be too large, and J has many more values than JᵀWJ".into()),
        Ok(ordering) if ordering.fill > limits.fill => {
            chosen(Linear::Pcg, format!("about {:.1e} entries in a factor, more than {:.0e}", ordering.fill, limits.fill))
        }
        Ok(ordering) => chosen(Linear::Pcg, format!("about {:.1e} multiplications a factor, more than {:.0e}", ordering.work, limits.work)),
        Err(_) => chosen(Linear::Pcg, "a factor would be too large".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_levels_are_taken_later_where_launches_are_what_a_step_costs() {
        let thresholds = Thresholds::default();
        let least = [Profile::Cpu, Profile::Software, Profile::Gpu].map(|profile| thresholds.two_level_on(profile).0);
        assert_eq!(least, [20_000, 20_000, 200_000]);
        assert!(thresholds.two_level_on(Profile::Gpu).1.ends_with("on a GPU"));
    }
}

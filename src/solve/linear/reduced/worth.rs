//! Cost model by which `"auto"` takes conjugate gradients on a Schur complement, from counts that are known before a solve.
//!
//! An iteration costs the values that it moves, and on a GPU its launches, in values that could be moved meanwhile:
//!
//! | on | J | vectors | besides |
//! |---|---|---|---|
//! | the whole matrix | J | 12 (kept + eliminated unknowns) | launches |
//! | the Schur complement | J, or 2 J where instances lie in no order | 12 (kept unknowns) | C⁻¹, launches |
//!
//! and to one accuracy of both there are half as many of the second kind (Reid 1972; Saad, section 14.2).

use super::super::{Choice, Linear};
use leastwise_base::task::{Pace, Stopped, Task};
use leastwise_device::Profile;
use leastwise_problem::{LinkedBatch, Links, runs};

/// Values of vectors that an iteration moves for each unknown: p, q, z, r, s, M⁻¹.
const VECTORS: f64 = 12.0;
/// Values that a GPU moves while it launches a kernel.
const LAUNCH: f64 = 1e6;
/// Instances of a variable up to which products are merged into an iteration of few launches, and these.
const MERGED: (u32, f64) = (64, 3.0);
/// Launches of an iteration on the whole matrix, and on the Schur complement: where its product is one kernel, and where it is not.
const LAUNCHES: (f64, [f64; 2]) = (7.0, [7.0, 12.0]);
/// Iterations on the Schur complement for one on the whole matrix.
const ITERATIONS: f64 = 0.5;
/// Part of the cost on the whole matrix that has to be left for the Schur complement to be taken.
const MARGIN: f64 = 0.75;

/// Counts that decide.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Counts {
    /// Values of J.
    pub jacobian: f64,
    /// Unknowns that are kept, and those that are eliminated.
    pub kept: u32,
    /// Unknowns that are eliminated.
    pub eliminated: u32,
    /// Values of C⁻¹.
    pub inverse: u32,
    /// Instances of the kept variable that has most of them.
    pub most: u32,
    /// True if a product reads J once: instances lie in the order of the eliminated variables.
    pub in_order: bool,
}

impl Counts {
    /// Cost of an iteration on the whole matrix, and that of what stands for one on the Schur complement.
    pub fn costs(&self, profile: Profile) -> [f64; 2] {
        let launch = if profile == Profile::Cpu { 0.0 } else { LAUNCH };
        let (kept, eliminated) = (f64::from(self.kept), f64::from(self.eliminated));
        let launches = if self.most <= MERGED.0 { MERGED.1 } else { LAUNCHES.0 };
        let whole = self.jacobian + VECTORS * (kept + eliminated) + launch * launches;
        let [products, launches] = if self.in_order { [1.0, LAUNCHES.1[0]] } else { [2.0, LAUNCHES.1[1]] };
        let reduced = products * self.jacobian + VECTORS * kept + f64::from(self.inverse) + launch * launches;
        [whole, ITERATIONS * reduced]
    }

    /// Counts of a problem of which these tables go.
    pub async fn of(links: &Links, gone: &[u32], jacobian: f64, pace: &Pace) -> Result<Self, Stopped> {
        let site = |table: &u32| links.tables[*table as usize].site;
        let eliminated: u32 = gone.iter().map(|table| site(table).unknowns()).sum();
        let mut counts = Self {
            jacobian,
            kept: links.unknowns() - eliminated,
            eliminated,
            inverse: gone.iter().map(|table| site(table).count * site(table).packed()).sum(),
            most: 0,
            in_order: true,
        };
        let mut instances: Vec<Vec<u32>> =
            links.tables.iter().map(|table| if table.moving { vec![0; table.site.count as usize] } else { Vec::new() }).collect();
        let mut batches_of = vec![0u32; links.tables.len()];
        for batch in &links.batches {
            let (own, kept): (Vec<_>, Vec<_>) = batch.moving_slots().into_iter().partition(|(_, table, _)| gone.contains(table));
            for (_, table, variables) in &kept {
                let of = &mut instances[*table as usize];
                for run in runs(variables.len()) {
                    pace.spend(4 * run.len()).await?;
                    variables[run].iter().for_each(|&variable| of[variable as usize] += 1);
                }
            }
            for (_, table, variables) in own.iter().filter(|_| !kept.is_empty()) {
                batches_of[*table as usize] += 1;
                counts.in_order &= batch.programs.curvature.is_none() && batches_of[*table as usize] == 1;
                counts.in_order &= counts.in_order && ascends(batch, variables, pace).await?;
            }
        }
        counts.most = instances.iter().flatten().copied().max().unwrap_or(0);
        Ok(counts)
    }
}

async fn ascends(batch: &LinkedBatch, variables: &[u32], pace: &Pace) -> Result<bool, Stopped> {
    for run in runs((batch.count as usize).saturating_sub(1)) {
        pace.spend(2 * run.len()).await?;
        if run.into_iter().any(|k| variables[k] > variables[k + 1]) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Conjugate gradients on a Schur complement that eliminates these tables, where they cost less than those on the whole matrix, which are
/// taken otherwise; `jacobian` is the number of values of J.
pub async fn weighed(
    whole_matrix: Choice,
    links: &Links,
    gone: &[u32],
    (jacobian, profile): (f64, Profile),
    pace: &Pace,
) -> Result<Choice, Stopped> {
    let counts = Counts::of(links, gone, jacobian, pace).await?;
    let unknowns = counts.kept + counts.eliminated;
    let [whole, reduced] = counts.costs(profile);
    let names: Vec<String> = gone.iter().map(|&table| format!("\"{}\"", links.tables[table as usize].name)).collect();
    let (names, eliminated, passes) = (names.join(" and "), counts.eliminated, reduced / whole);
    Ok(if reduced <= MARGIN * whole {
        let why = format!("{names} ({eliminated} of {unknowns} unknowns) can be eliminated, which costs about {passes:.2} of \"pcg\"");
        Choice { linear: Linear::SchurPcg, why, preconditioner: None }
    } else {
        Choice { why: format!("{}; eliminating {names} would cost about {passes:.2} of it", whole_matrix.why), ..whole_matrix }
    })
}

/// The same as a task.
pub fn weighing(whole_matrix: Choice, links: Links, gone: Vec<u32>, facts: (f64, Profile)) -> Task<'static, Result<Choice, Stopped>> {
    Task::new(move |pace| async move { weighed(whole_matrix, &links, &gone, facts, &pace).await })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bundle of cameras of nine numbers, each point seen by five.
    fn bundle(cameras: u32, points: u32) -> Counts {
        let views = 5 * points;
        let jacobian = 24.0 * f64::from(views);
        Counts { jacobian, kept: 9 * cameras, eliminated: 3 * points, inverse: 6 * points, most: views / cameras, in_order: true }
    }

    fn ratio(counts: Counts, profile: Profile) -> f64 {
        let [whole, reduced] = counts.costs(profile);
        reduced / whole
    }

    #[test]
    fn bundles_of_five_views_are_worth_it_in_order_alone() {
        for profile in [Profile::Cpu, Profile::Software, Profile::Gpu] {
            for counts in [bundle(200, 50_000), bundle(1778, 993_923)] {
                assert!(ratio(counts, profile) < 0.5, "{profile:?}: {counts:?}");
                assert!(ratio(Counts { in_order: false, ..counts }, profile) > MARGIN, "{profile:?}: {counts:?}");
            }
        }
    }

    #[test]
    fn few_instances_of_each_variable_keep_the_iteration_of_few_launches() {
        let small = Counts { most: 60, ..bundle(200, 2400) };
        assert!(ratio(small, Profile::Gpu) > MARGIN && ratio(Counts { most: 65, ..small }, Profile::Gpu) < MARGIN);
        assert!(ratio(small, Profile::Cpu) < MARGIN, "a CPU has no launches");
    }
}

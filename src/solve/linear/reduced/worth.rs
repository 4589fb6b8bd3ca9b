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
//!
//! A Schur complement that is formed is weighed by whole solves, with costs as they were measured on an H200 beside 16 cores of a host
//! (benches/results/2026-11-29-h200-auto.txt): planning and lists once, and in each of 8 steps the way to the host, a factor, products. The
//! iterations that it spares grow with the kept variables that lie between the farthest ones, by as many at a time as an eliminated variable
//! joins.

use super::super::{Choice, Linear};
use super::formed::MOST_PAIRS;
use leastwise_base::parallel;
use leastwise_base::task::{Pace, Stopped, Task};
use leastwise_device::Profile;
use leastwise_problem::Links;

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

/// Iterations of a solve on the Schur complement for every kept variable that is as far away as an eliminated one reaches, and the fewest
/// and the most.
const OF_REACH: f64 = 20.0;
const SOLVED: (f64, f64) = (100.0, 3000.0);
/// Values that could be moved during an iteration, for each that it is said to move: sums go through lists.
const GATHERED: f64 = 3.3;
/// Steps of a solve with S.
const STEPS: f64 = 8.0;
/// Values that a GPU moves while the host plans at all, and while it lists an instance or a pair.
const PLANNED: f64 = 6e9;
const LISTED: f64 = 7e3;
/// Values that it moves during a step's way to the host and back, and there for each unknown, and for each multiplication of a factor.
const ROUND_TRIP: f64 = 1e9;
const UNKNOWN: f64 = 5e5;
const MULTIPLICATION: f64 = 20.0;
/// Passes over J of a step that forms S, and values for each pair's product.
const PASSES: f64 = 4.0;
const PRODUCT: f64 = 250.0;

/// Instances between two looks at the clock.
const RUN: usize = 1 << 14;

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
    /// Kept variables that eliminated ones meet. As long as no structure tells: of two tables as often as a term has instances, the one that
    /// has most of them.
    pub links: f64,
    /// Variables that are kept, and those that are eliminated.
    pub variables: [u32; 2],
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

    /// Kept variables that an eliminated one meets.
    fn each(&self) -> f64 {
        self.links / f64::from(self.variables[1].max(1))
    }

    /// Reason why S is not formed that counts tell without a structure, if there is one.
    pub fn why_not_formed(&self, profile: Profile) -> Option<String> {
        // There are the fewest pairs where all variables meet as many, and a quarter of them where two instances are one link.
        let pairs = self.links * (self.each() + 1.0) / 2.0;
        if pairs / 4.0 > MOST_PAIRS {
            return Some(format!("about {pairs:.1e} pairs of blocks, more than {MOST_PAIRS:.1e}"));
        }
        let refused = self.most_work(profile, pairs.min(MOST_PAIRS)).err()?;
        Some(if self.links > 0.0 { format!("about {refused}") } else { refused })
    }

    /// Multiplications up to which a factor of S costs less than the iterations of a solve, where S is formed of so many pairs of blocks; or
    /// why there are none.
    pub fn most_work(&self, profile: Profile, pairs: f64) -> Result<f64, String> {
        if self.links == 0.0 {
            return Err("nothing links what can be eliminated".into());
        }
        let [whole, reduced] = self.costs(profile);
        let iterations = (OF_REACH * f64::from(self.variables[0]) / self.each().max(1.0)).clamp(SOLVED.0, SOLVED.1);
        let iterated = iterations * GATHERED * whole.min(reduced) / ITERATIONS;
        let planned = PLANNED + LISTED * (self.links + pairs);
        let step = ROUND_TRIP + UNKNOWN * f64::from(self.kept) + PASSES * self.jacobian + PRODUCT * pairs;
        let left = (iterated - planned) / STEPS - step;
        if left > 0.0 { Ok(left / MULTIPLICATION) } else { Err(format!("{pairs:.1e} products would cost more than iterations")) }
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
            links: 0.0,
            variables: [false, true]
                .map(|goes| links.moving().filter(|(table, _)| gone.contains(table) == goes).map(|(_, table)| table.site.count).sum()),
        };
        let mut instances: Vec<Vec<u32>> =
            links.tables.iter().map(|table| if table.moving { vec![0; table.site.count as usize] } else { Vec::new() }).collect();
        let mut batches_of = vec![0u32; links.tables.len()];
        // Of an eliminated and a kept table the most links of a batch: several terms may link the same variables.
        let mut met: Vec<((u32, u32), f64)> = Vec::new();
        for batch in &links.batches {
            let (own, kept): (Vec<_>, Vec<_>) = batch.moving_slots().into_iter().partition(|(_, table, _)| gone.contains(table));
            for (_, table, variables) in &kept {
                count(variables, &mut instances[*table as usize], pace).await?;
            }
            for (_, table, variables) in own.iter().filter(|_| !kept.is_empty()) {
                batches_of[*table as usize] += 1;
                for (_, other, _) in &kept {
                    let [count, others] = [*table, *other].map(|table| f64::from(site(&table).count));
                    let (pair, of_batch) = ((*table, *other), f64::from(batch.count).min(count * others));
                    match met.iter_mut().find(|(known, _)| *known == pair) {
                        Some((_, most)) => *most = most.max(of_batch),
                        None => met.push((pair, of_batch)),
                    }
                }
                counts.in_order &= batch.programs.curvature.is_none() && batches_of[*table as usize] == 1;
                counts.in_order &= counts.in_order && ascends(variables, pace).await?;
            }
        }
        counts.links = met.iter().map(|(_, links)| links).sum();
        counts.most = instances.iter().flatten().copied().max().unwrap_or(0);
        Ok(counts)
    }
}

/// Adds to the instances of every variable those that name it in a slot.
async fn count(slot: &[u32], instances: &mut [u32], pace: &Pace) -> Result<(), Stopped> {
    let shares = parallel::few_shares(slot.len() as u32, 4 * slot.len(), slot.len() / instances.len().max(1));
    let variables = instances.len();
    let counted = parallel::ranges(
        shares.into_iter().map(|range| (range, ())).collect(),
        |range, (), pace| async move {
            let mut counts = vec![0; variables];
            for run in slot[range.start as usize..range.end as usize].chunks(RUN) {
                pace.spend(4 * run.len()).await?;
                run.iter().for_each(|&variable| counts[variable as usize] += 1);
            }
            Ok(counts)
        },
        pace,
    );
    for counts in counted.await? {
        instances.iter_mut().zip(counts).for_each(|(all, count): (_, u32)| *all += count);
    }
    Ok(())
}

async fn ascends(slot: &[u32], pace: &Pace) -> Result<bool, Stopped> {
    let shares = parallel::shares(slot.len() as u32, 2 * slot.len());
    let ascend = parallel::ranges(
        shares.into_iter().map(|range| (range, ())).collect(),
        |range, (), pace| async move {
            // With the first of those behind.
            let mine = &slot[range.start as usize..slot.len().min(range.end as usize + 1)];
            for first in (0..mine.len()).step_by(RUN) {
                let run = &mine[first..mine.len().min(first + RUN + 1)];
                pace.spend(2 * run.len()).await?;
                if !run.is_sorted() {
                    return Ok(false);
                }
            }
            Ok(true)
        },
        pace,
    );
    Ok(ascend.await?.into_iter().all(|ascends| ascends))
}

/// A choice by counts.
pub struct Weighed {
    /// The choice between iterations on the whole matrix and on S.
    pub choice: Choice,
    /// Tables that may be eliminated, and their unknowns of all.
    pub named: String,
    /// Counts that it was made by.
    pub counts: Counts,
}

/// Conjugate gradients on a Schur complement that eliminates these tables, where they cost less than those on the whole matrix, which are
/// taken otherwise; `jacobian` is the number of values of J.
pub async fn weighed(
    whole_matrix: Choice,
    links: &Links,
    gone: &[u32],
    (jacobian, profile): (f64, Profile),
    pace: &Pace,
) -> Result<Weighed, Stopped> {
    let counts = Counts::of(links, gone, jacobian, pace).await?;
    let unknowns = counts.kept + counts.eliminated;
    let [whole, reduced] = counts.costs(profile);
    let names: Vec<String> = gone.iter().map(|&table| format!("\"{}\"", links.tables[table as usize].name)).collect();
    let (names, passes) = (names.join(" and "), reduced / whole);
    let named = format!("{names} ({} of {unknowns} unknowns)", counts.eliminated);
    let choice = if reduced <= MARGIN * whole {
        let why = format!("{named} can be eliminated, which costs about {passes:.2} of \"pcg\"");
        Choice { linear: Linear::SchurPcg, why, preconditioner: None }
    } else {
        Choice { why: format!("{}; eliminating {names} would cost about {passes:.2} of it", whole_matrix.why), ..whole_matrix }
    };
    Ok(Weighed { choice, named, counts })
}

/// The same as a task.
pub fn weighing(whole_matrix: Choice, links: Links, gone: Vec<u32>, facts: (f64, Profile)) -> Task<'static, Result<Choice, Stopped>> {
    Task::new(move |pace| async move { Ok(weighed(whole_matrix, &links, &gone, facts, &pace).await?.choice) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bundle of cameras of nine numbers, each point seen by five.
    fn bundle(cameras: u32, points: u32) -> Counts {
        let views = 5 * points;
        let jacobian = 24.0 * f64::from(views);
        Counts {
            jacobian,
            kept: 9 * cameras,
            eliminated: 3 * points,
            inverse: 6 * points,
            most: views / cameras,
            in_order: true,
            links: views.into(),
            variables: [cameras, points],
        }
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

    #[test]
    fn schur_complements_of_many_cameras_are_formed_unless_pairs_or_factors_are_large() {
        let work = |counts: Counts| match counts.why_not_formed(Profile::Gpu) {
            None => counts.most_work(Profile::Gpu, 3.0 * counts.links).unwrap(),
            Some(_) => 0.0,
        };
        // 40 and more cameras from end to end: multiplications of sparse factors, and of a full one.
        for (cameras, points) in [(200, 50_000), (500, 150_000), (1000, 300_000), (1778, 993_923)] {
            let most = work(bundle(cameras, points));
            let full = (9.0 * f64::from(cameras)).powi(3) / 3.0;
            assert!(most > 1e4 * f64::from(cameras) && most < full, "{cameras} cameras: {most:.1e} of {full:.1e}");
        }
        assert_eq!(work(bundle(50, 12_000)), 0.0, "few iterations");
        let views = |each: f64, bundle: Counts| {
            let links = each * f64::from(bundle.variables[1]);
            Counts { jacobian: 24.0 * links, links, ..bundle }
        };
        assert_eq!(work(views(15.0, bundle(200, 50_000))), 0.0, "many pairs, and few iterations");
        assert!(work(views(5.0, bundle(10_000, 1_000_000))) > 0.0);
        let why = |each: f64| views(each, bundle(10_000, 1_000_000)).why_not_formed(Profile::Gpu);
        assert_eq!(why(10.0), None, "two instances for each of five links");
        assert_eq!(why(12.0).as_deref(), Some("about 7.8e7 pairs of blocks, more than 1.7e7"));
        assert_eq!(why(0.0).as_deref(), Some("nothing links what can be eliminated"));
    }

    #[test]
    fn counts_of_a_structure_decide_however_terms_divide_their_instances() {
        // 15 views of each point, in three terms of which each is five.
        let of_term = bundle(200, 50_000);
        let counts = Counts { jacobian: 3.0 * of_term.jacobian, most: 3 * of_term.most, ..of_term };
        assert_eq!(counts.why_not_formed(Profile::Gpu), None);
        let of_structure = Counts { links: 3.0 * of_term.links, ..counts };
        assert!(of_structure.most_work(Profile::Gpu, 6e6).unwrap_err().starts_with("6.0e6 products"));
    }
}

//! Derivatives by differences, where a function has them: what J is checked against.
//!
//! Central differences of falling widths, extrapolated twice (Richardson), of which the most certain result counts. A width is
//! too large where the function has features that are narrower: its second difference does not fall with the width then.
//! It is too small where rounding drowns the difference. Where the function is not defined on both sides there is no
//! difference, and so nothing to compare with: derivatives at the edge of a domain are what the table of operations says.

use leastwise_problem::Table;

/// The first width, in units of max(1, |x|), and how much narrower each is than the one before.
const WIDEST: f64 = 1e-2;
const NARROWING: f64 = 4.0;

/// Beyond this relative uncertainty a difference is none; below the second one no better one is looked for.
const UNSETTLED: f64 = 1e-6;
const SETTLED: f64 = 1e-10;

/// Differences of all rows at one width.
struct Level {
    width: f64,
    /// (f(x + h) − f(x − h))/2h.
    first: Vec<f64>,
    /// f(x + h) − 2f(x) + f(x − h), and what rounding may make of it.
    second: Vec<f64>,
    noise: Vec<f64>,
}

impl Level {
    fn new(width: f64, here: &[f64], above: &[f64], below: &[f64]) -> Self {
        let pairs = || here.iter().zip(above.iter().zip(below));
        Self {
            width,
            first: pairs().map(|(_, (above, below))| (above - below) / (2.0 * width)).collect(),
            second: pairs().map(|(here, (above, below))| above - 2.0 * here + below).collect(),
            noise: pairs().map(|(here, (above, below))| f64::EPSILON * (above.abs() + 2.0 * here.abs() + below.abs())).collect(),
        }
    }

    /// True where a row looks alike at this width and the next: second differences of smooth functions fall by 16, those at
    /// a kink by 4, those across a feature that is narrower hardly at all.
    fn leads_to(&self, next: &Self, row: usize) -> bool {
        next.second[row].abs() <= self.second[row].abs() / 3.0 + 64.0 * next.noise[row]
    }
}

/// ∂f/∂δ of every row for a step δ along a degree of freedom of a table's instance x; none where f has no difference there.
/// `at` evaluates f with x moved.
pub fn differences(table: &Table, x: &[f64], along: u32, mut at: impl FnMut(&[f64]) -> Vec<f64>) -> Vec<Option<f64>> {
    let size = if table.manifold.is_some() { 1.0 } else { x[along as usize].abs() };
    let least = (size / 1024.0).min(1e-8 * size.max(1.0)).max(1e-17);
    let here = at(x);
    let mut best: Vec<Option<(f64, f64)>> = vec![None; here.len()];
    let mut levels: Vec<Level> = Vec::new();
    let mut width = WIDEST * size.max(1.0);
    while width >= least {
        let (above, below) = (at(&table.displaced(x, along, width)), at(&table.displaced(x, along, -width)));
        levels.push(Level::new(width, &here, &above, &below));
        width /= NARROWING;
        let [.., wide, middle, narrow] = &levels[..] else { continue };
        for (row, best) in best.iter_mut().enumerate() {
            let [a, b, c] = [wide, middle, narrow].map(|level| level.first[row]);
            let (ab, bc) = (b + (b - a) / 15.0, c + (c - b) / 15.0);
            let value = bc + (bc - ab) / 255.0;
            let error = (value - bc).abs() + narrow.noise[row] / narrow.width;
            let is_alike = wide.leads_to(middle, row) && middle.leads_to(narrow, row);
            if error.is_finite() && is_alike && best.is_none_or(|(known, _)| error < known) {
                *best = Some((error, value));
            }
        }
        let is_settled = |best: &Option<(f64, f64)>| best.is_some_and(|(error, value)| error <= SETTLED * value.abs().max(1.0));
        if best.iter().all(is_settled) {
            break;
        }
    }
    let settled = |best: Option<(f64, f64)>| best.filter(|(error, value)| *error <= UNSETTLED * value.abs().max(1.0)).map(|best| best.1);
    best.into_iter().map(settled).collect()
}

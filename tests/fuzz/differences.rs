//! Derivatives by differences, with an estimate of their error.

/// A derivative and how far it may be off.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub slope: f64,
    pub error: f64,
}

/// Steps, each half of the one before.
const LEVELS: usize = 4;
const STEP: f64 = 2e-3;

/// Central differences of every component of `f` at x, extrapolated to the step 0 (Richardson; Ridders, "Accurate
/// computation of F′(x) and F′(x)F″(x)", 1982). None where f cannot be evaluated, or is not smooth, within the step.
/// `noise` is the rounding error of each component.
pub fn derivatives(x: f64, noise: &[f64], mut f: impl FnMut(f64) -> Option<Vec<f64>>) -> Option<Vec<Estimate>> {
    let mut table: Vec<Vec<Vec<f64>>> = Vec::new();
    let mut step = STEP * x.abs().max(1.0);
    for level in 0..LEVELS {
        let (above, below) = (x + step, x - step);
        let (high, low) = (f(above)?, f(below)?);
        let mut row = vec![high.iter().zip(&low).map(|(a, b)| (a - b) / (above - below)).collect::<Vec<f64>>()];
        for order in 0..level {
            // Errors of order h², h⁴, … go one after the other.
            let weight = 4f64.powi(order as i32 + 1);
            let better = row[order].iter().zip(&table[level - 1][order]).map(|(fine, coarse)| (weight * fine - coarse) / (weight - 1.0));
            row.push(better.collect());
        }
        table.push(row);
        step *= 0.5;
    }
    let (best, before) = (&table[LEVELS - 1][LEVELS - 1], &table[LEVELS - 2][LEVELS - 2]);
    let estimate =
        |((&slope, &other), &noise): ((&f64, &f64), &f64)| Estimate { slope, error: 4.0 * (slope - other).abs() + 8.0 * noise / step };
    Some(best.iter().zip(before).zip(noise).map(estimate).collect())
}

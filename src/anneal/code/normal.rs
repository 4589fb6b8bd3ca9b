//! Quantiles of the normal distribution, from which all levels are made.

/// Φ⁻¹(p) for 0 < p < 1 to a relative error of 1.2e-9 (P. J. Acklam's rational approximation).
pub fn quantile(p: f64) -> f64 {
    const A: [f64; 6] =
        [-3.969683028665376e1, 2.209460984245205e2, -2.759285104469687e2, 1.38357751867269e2, -3.066479806614716e1, 2.506628277459239];
    const B: [f64; 6] = [-5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1, -1.328068155288572e1, 1.0];
    const C: [f64; 6] =
        [-7.784894002430293e-3, -3.223964580411365e-1, -2.400758277161838, -2.549732539343734, 4.374664141464968, 2.938163982698783];
    const D: [f64; 5] = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1.0];
    const TAIL: f64 = 0.02425;
    let horner = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    if p > 0.5 {
        return -quantile(1.0 - p);
    }
    if p < TAIL {
        let q = (-2.0 * libm::log(p)).sqrt();
        return horner(&C, q) / horner(&D, q);
    }
    let q = p - 0.5;
    let r = q * q;
    horner(&A, r) * q / horner(&B, r)
}

/// The 2^`bits` levels of the scalar quantiser that is best for a standard normal at many bits: their density goes as
/// the cube root of its density, which is a normal √3 as wide (Panter and Dite, 1951).
pub fn levels(bits: u32) -> Vec<f32> {
    let count = 1_u32 << bits;
    (0..count).map(|level| (3.0_f64.sqrt() * quantile((f64::from(level) + 0.5) / f64::from(count))) as f32).collect()
}

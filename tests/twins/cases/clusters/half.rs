//! Half precision (IEEE 754 binary16), as a list.

use std::sync::LazyLock;

/// All numbers that are neither negative nor infinite, ascending: their places are their bits.
pub fn halves() -> &'static [f64] {
    static HALVES: LazyLock<Vec<f64>> = LazyLock::new(|| {
        let normal = |bits: u32| f64::from(1024 + bits % 1024) * 2f64.powi((bits / 1024) as i32 - 25);
        (0..0x7c00).map(|bits| if bits < 1024 { f64::from(bits) * 2f64.powi(-24) } else { normal(bits) }).collect()
    });
    &HALVES
}

/// The nearest of them, of two the one with even bits; at most the largest.
pub fn nearest_half(x: f64) -> f64 {
    let (halves, size) = (halves(), x.abs());
    let above = halves.partition_point(|half| *half <= size);
    let Some(&high) = halves.get(above) else { return halves[above - 1].copysign(x) };
    let low = halves[above - 1];
    let rounds_down = size - low < high - size || size - low == high - size && !above.is_multiple_of(2);
    (if rounds_down { low } else { high }).copysign(x)
}

//! Operands that f32 holds exactly: of every magnitude, and where functions are hard.

use std::f64::consts::FRAC_PI_2;

/// xorshift64*
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Of either sign, with the logarithm of its size evenly spread.
    pub fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        let size = self.between(low, high).exp2();
        if self.unit() < 0.5 { -size } else { size }
    }
}

/// Rounds to f32, and leaves out what is not normal there.
fn normal(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let rounded = values.into_iter().map(|value| value as f32);
    rounded.filter(|value| *value == 0.0 || value.is_normal()).map(f64::from).collect()
}

/// Where functions change their method, end, or have a root or a pole.
const KINKS: [f64; 28] = [
    0.0,
    0.2928,
    0.4142,
    0.5,
    0.5f64 * std::f64::consts::LN_2,
    std::f64::consts::FRAC_1_SQRT_2,
    0.55,
    0.92,
    1.0,
    std::f64::consts::SQRT_2,
    2.0,
    3.95,
    4.0,
    9.0,
    15.9,
    17.4,
    24.0,
    87.34,
    88.72283,
    89.41598,
    104.0,
    126.0,
    127.0,
    128.0,
    150.0,
    3216.0,
    67_108_864.0,
    1e38,
];

/// Some 160,000 operands for functions of one.
pub fn one() -> Vec<f64> {
    let mut random = Random::new(1);
    let mut values = Vec::new();
    values.extend((0..30_000).map(|_| random.magnitude(-126.0, 128.0)));
    for size in [1.0, 1.0, 5.0, 20.0, 100.0, 3500.0, 1e6] {
        values.extend((0..10_000).map(|_| random.between(-size, size)));
    }
    // Next to 1 and −1, where logarithms and inverse functions are steep or vanish.
    values.extend((0..10_000).flat_map(|_| [1.0, -1.0].map(|one| one + random.magnitude(-24.0, -1.0))));
    // Next to multiples of π/2 nearly all digits cancel.
    values.extend((0..20_000).map(|k| f64::from(k - 4000) * FRAC_PI_2));
    values.extend((0..20_000).map(|_| random.magnitude(12.0, 126.0).floor() * FRAC_PI_2));
    // The f32 number that is closest of all to a multiple of π/2.
    values.push(16_367_173.0 * 2f64.powi(72));
    for kink in KINKS {
        let bits = (kink as f32).to_bits();
        let around = (bits.saturating_sub(40)..=bits.saturating_add(40)).map(|bits| f64::from(f32::from_bits(bits)));
        values.extend(around.flat_map(|value| [value, -value]));
    }
    normal(values)
}

/// Pairs as two columns.
fn columns(pairs: impl IntoIterator<Item = [f64; 2]>) -> [Vec<f64>; 2] {
    let rounded = pairs.into_iter().map(|pair| pair.map(|value| value as f32));
    let normal = rounded.filter(|pair| pair.iter().all(|value| *value == 0.0 || value.is_normal()));
    let (left, right) = normal.map(|[a, b]| (f64::from(a), f64::from(b))).unzip();
    [left, right]
}

/// Bases and exponents.
pub fn powers() -> [Vec<f64>; 2] {
    let mut random = Random::new(2);
    let mut pairs = Vec::new();
    for _ in 0..60_000 {
        // Powers of every size, by a base of every size or one next to 1.
        let far = random.magnitude(-126.0, 128.0).abs() as f32;
        let near = (1.0 + random.magnitude(-24.0, -1.0)) as f32;
        for base in [f64::from(far), f64::from(near)].into_iter().filter(|base| *base != 1.0) {
            pairs.push([base, random.between(-151.0, 130.0) / base.log2()]);
        }
        pairs.push([random.between(0.0, 10.0), random.between(-4.0, 4.0)]);
    }
    pairs.extend((0..200).flat_map(|k| [[f64::from(k), 3.0], [f64::from(k), 0.5], [2.0, f64::from(k - 126)]]));
    // Below 0 a power is that of the magnitude, with a sign; between whole exponents there is none.
    pairs.extend((1..200).flat_map(|k| {
        let base = -0.37 * f64::from(k);
        [[base, 3.0], [base, -2.0], [base, f64::from(k % 23 - 11)], [base, 0.5], [base, -1.75]]
    }));
    columns(pairs)
}

/// Points in the plane, by any scale of either coordinate.
pub fn points() -> [Vec<f64>; 2] {
    let mut random = Random::new(3);
    let mut pairs = Vec::new();
    for _ in 0..50_000 {
        pairs.push([random.magnitude(-126.0, 128.0), random.magnitude(-126.0, 128.0)]);
        let size = random.magnitude(-120.0, 126.0);
        pairs.push([size * random.between(-1.0, 1.0), size * random.between(-1.0, 1.0)]);
        // Next to a diagonal.
        pairs.push([size, size * (1.0 + random.magnitude(-24.0, -2.0))]);
    }
    columns(pairs)
}

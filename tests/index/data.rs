//! Points, and a coarse clustering of them.

use leastwise::anneal::index::Coarse;

pub struct Random(pub u64);

/// New in every run, unless `LEASTWISE_TEST_SEED` is given.
pub fn fresh() -> u64 {
    let given = std::env::var("LEASTWISE_TEST_SEED").ok().map(|seed| seed.parse().expect("LEASTWISE_TEST_SEED is a number"));
    given.unwrap_or_else(|| {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock after 1970").as_nanos() as u64
    })
}

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// In [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn normal(&mut self) -> f32 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        (radius * (std::f64::consts::TAU * self.uniform()).cos()) as f32
    }
}

/// A mixture of normal distributions around centres as far from each other as they are wide. All have the axes of one random rotation and
/// variances that decay along them, as those of embeddings do: 1/(1 + 16·i/dim).
pub fn mixture(count: usize, dim: usize, components: usize, seed: u64) -> Vec<f32> {
    let mut model = Random(0x5EED ^ dim as u64);
    let spread: Vec<f32> = (0..dim).map(|axis| (1.0 + 16.0 * axis as f32 / dim as f32).sqrt().recip()).collect();
    // Reflections whose product mixes all axes.
    let mirrors: Vec<Vec<f32>> = (0..3)
        .map(|_| {
            let normal: Vec<f32> = (0..dim).map(|_| model.normal()).collect();
            let length = normal.iter().map(|v| v * v).sum::<f32>().sqrt();
            normal.iter().map(|v| v / length).collect()
        })
        .collect();
    let centres: Vec<f32> = (0..components * dim).map(|place| model.normal() * spread[place % dim]).collect();
    let mut random = Random(seed);
    let mut points = Vec::with_capacity(count * dim);
    for _ in 0..count {
        let centre = random.below(components) * dim;
        let mut point: Vec<f32> = (0..dim).map(|axis| centres[centre + axis] + random.normal() * spread[axis]).collect();
        for mirror in &mirrors {
            let part = 2.0 * point.iter().zip(mirror).map(|(a, b)| a * b).sum::<f32>();
            point.iter_mut().zip(mirror).for_each(|(value, normal)| *value -= part * normal);
        }
        points.extend(point);
    }
    points
}

/// Lloyd's iteration from random points.
pub fn kmeans(points: &[f32], dim: usize, clusters: usize, iterations: usize) -> Coarse {
    let count = points.len() / dim;
    let mut random = Random(11);
    let mut centroids: Vec<f32> = Vec::new();
    for _ in 0..clusters {
        let row = random.below(count.max(1));
        centroids.extend(points[row * dim..].iter().take(dim));
    }
    let mut labels = vec![0; count];
    for iteration in 0..=iterations {
        let squares: Vec<f32> = centroids.chunks_exact(dim).map(|c| dot(c, c)).collect();
        for (point, label) in points.chunks_exact(dim).zip(&mut labels) {
            let distance = |c: usize| squares[c] - 2.0 * dot(point, &centroids[c * dim..][..dim]);
            *label = (0..clusters).map(|c| (distance(c), c as u32)).min_by(|a, b| a.0.total_cmp(&b.0)).expect("a cluster").1;
        }
        if iteration == iterations {
            break;
        }
        let (mut sums, mut counts) = (vec![0.0_f64; clusters * dim], vec![0.0_f64; clusters]);
        for (point, &label) in points.chunks_exact(dim).zip(&labels) {
            counts[label as usize] += 1.0;
            for (sum, value) in sums[label as usize * dim..][..dim].iter_mut().zip(point) {
                *sum += f64::from(*value);
            }
        }
        for (place, value) in centroids.iter_mut().enumerate() {
            if counts[place / dim] > 0.0 {
                *value = (sums[place] / counts[place / dim]) as f32;
            }
        }
    }
    Coarse { centroids, labels }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    let whole = a.len() / 8 * 8;
    for (a, b) in a[..whole].chunks_exact(8).zip(b[..whole].chunks_exact(8)) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + a[whole..].iter().zip(&b[whole..]).map(|(a, b)| a * b).sum::<f32>()
}

//! Vectors whose components are mostly small and now and then large, beside two quantisers of other libraries.

use super::data::Random;
use super::{kmeans, of_bits};
use leastwise::anneal::index::{Index, Options, exact};

const DIM: usize = 48;
const COUNT: usize = 1600;
const QUERIES: usize = 120;
const K: usize = 10;

/// One vector of each kind.
fn sparse(random: &mut Random) -> Vec<f32> {
    (0..DIM).map(|_| 0.05 * random.normal() + if random.uniform() < 0.08 { random.normal() } else { 0.0 }).collect()
}

/// A few topics, the first of them frequent, as unit vectors: what a truncated singular value decomposition makes of short texts.
fn topics(random: &mut Random) -> Vec<f32> {
    let mut row: Vec<f32> = (0..DIM).map(|topic| 0.02 * random.normal() / (1.0 + topic as f32 / 4.0).sqrt()).collect();
    for _ in 0..1 + random.below(3) {
        let topic = (random.uniform() * random.uniform() * DIM as f64) as usize;
        row[topic] += 0.3 + random.uniform() as f32;
    }
    let length = row.iter().map(|value| value * value).sum::<f32>().sqrt();
    row.iter().map(|value| value / length).collect()
}

fn lognormal(random: &mut Random) -> Vec<f32> {
    let length = random.normal().exp();
    (0..DIM).map(|_| length * random.normal()).collect()
}

/// Student's distribution of three degrees of freedom.
fn student(random: &mut Random) -> Vec<f32> {
    (0..DIM)
        .map(|_| {
            let squares: f32 = (0..3).map(|_| random.normal().powi(2)).sum();
            random.normal() / (squares / 3.0).sqrt()
        })
        .collect()
}

/// Points, queries, and the nearest of these.
struct Data {
    name: &'static str,
    points: Vec<f32>,
    queries: Vec<f32>,
    nearest: Vec<u32>,
}

/// A kind of rows: its name, and one of them.
type Rows = (&'static str, fn(&mut Random) -> Vec<f32>);

fn all() -> Vec<Data> {
    let kinds: [Rows; 4] = [("sparse", sparse), ("topics", topics), ("lognormal", lognormal), ("student", student)];
    kinds
        .into_iter()
        .map(|(name, row)| {
            let mut random = Random(41);
            let mut rows = |count: usize| -> Vec<f32> { (0..count).flat_map(|_| row(&mut random)).collect() };
            let (points, queries) = (rows(COUNT), rows(QUERIES));
            let nearest = exact(&points, &queries, DIM, K, None).expect("hits").ids;
            Data { name, points, queries, nearest }
        })
        .collect()
}

fn squared_distance(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum()
}

impl Data {
    /// The share of the nearest that are among the nearest by these distances.
    fn recall(&self, distance: impl Fn(&[f32], usize) -> f64) -> f64 {
        let mut found = 0;
        for (query, nearest) in self.queries.chunks_exact(DIM).zip(self.nearest.chunks_exact(K)) {
            let mut all: Vec<(f64, u32)> = (0..COUNT).map(|row| (distance(query, row), row as u32)).collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            found += all[..K].iter().filter(|hit| nearest.contains(&hit.1)).count();
        }
        found as f64 / (K * QUERIES) as f64
    }

    fn recall_of(&self, index: &Index) -> f64 {
        let hits = index.search(&self.queries, K, None, None).expect("hits");
        let found = hits
            .ids
            .chunks_exact(K)
            .zip(self.nearest.chunks_exact(K))
            .map(|(ids, nearest)| ids.iter().filter(|id| nearest.contains(id)).count());
        found.sum::<usize>() as f64 / (K * QUERIES) as f64
    }

    /// FAISS' `SQ8`: 256 equal steps between the least and the largest value of every component.
    fn scalar(&self) -> Vec<f32> {
        let mut decoded = self.points.clone();
        for axis in 0..DIM {
            let values = || self.points.iter().skip(axis).step_by(DIM);
            let (low, high) = values().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)));
            let step = (high - low) / 255.0;
            for value in decoded.iter_mut().skip(axis).step_by(DIM) {
                *value = low + step * ((*value - low) / step).round();
            }
        }
        decoded
    }

    /// RaBitQ (Gao and Long, 2024; Gao et al., 2025): differences to the mean, rotated at random, in equal steps whose number a component is
    /// 2^bits and whose width is the one that brings the direction nearest; ⟨q, x⟩ is estimated by ⟨q, z⟩·‖x‖²/⟨x, z⟩.
    fn rabitq(&self, bits: u32) -> f64 {
        let mut random = Random(7);
        let mean: Vec<f32> = (0..DIM).map(|axis| self.points.iter().skip(axis).step_by(DIM).sum::<f32>() / COUNT as f32).collect();
        let mirrors: Vec<Vec<f32>> = (0..DIM).map(|_| (0..DIM).map(|_| random.normal()).collect()).collect();
        let turn = |row: &[f32]| {
            let mut row: Vec<f32> = row.iter().zip(&mean).map(|(value, mean)| value - mean).collect();
            for mirror in &mirrors {
                let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
                let part = 2.0 * dot(&row, mirror) / dot(mirror, mirror);
                row.iter_mut().zip(mirror).for_each(|(value, normal)| *value -= part * normal);
            }
            row
        };
        let most = (1 << bits) as f32 / 2.0 - 0.5;
        let coded: Vec<(Vec<f32>, f32)> = self
            .points
            .chunks_exact(DIM)
            .map(|row| {
                let row = turn(row);
                let squares: f32 = row.iter().map(|v| v * v).sum();
                let largest = row.iter().fold(0.0, |most: f32, v| most.max(v.abs()));
                let candidates = (0..24).map(|cut| largest * (1.0 - 0.03 * cut as f32) / most);
                let coded = candidates.map(|step| {
                    let z: Vec<f32> = row.iter().map(|v| ((v / step - 0.5).round() + 0.5).clamp(-most, most)).collect();
                    let along: f32 = row.iter().zip(&z).map(|(v, z)| v * z).sum();
                    let length: f32 = z.iter().map(|z| z * z).sum();
                    (along * along / length, z.iter().map(|z| z * squares / along).collect::<Vec<f32>>())
                });
                (coded.max_by(|a, b| a.0.total_cmp(&b.0)).expect("a candidate").1, squares)
            })
            .collect();
        let turned: Vec<Vec<f32>> = self.queries.chunks_exact(DIM).map(turn).collect();
        self.recall(|query, row| {
            let number = (query.as_ptr() as usize - self.queries.as_ptr() as usize) / size_of::<f32>() / DIM;
            let (z, squares) = &coded[row];
            f64::from(squares - 2.0 * turned[number].iter().zip(z).map(|(q, z)| q * z).sum::<f32>())
        })
    }
}

#[test]
fn bits_find_as_much_as_other_quantisers_of_their_size() {
    for data in all() {
        let options = Options { ratio: Some(0.25), ..Options::default() };
        let index = Index::build(&data.points, DIM, kmeans(&data.points, DIM, 8, 5), &options).expect("an index");
        assert!(index.ratio() <= 0.25);
        let (found, scalar) = (data.recall_of(&index), data.scalar());
        // 25 %, and 29 % as FAISS stores it: six bits a component and 20 bytes of factors.
        let of_scalar = data.recall(|query, row| squared_distance(query, &scalar[row * DIM..][..DIM]));
        let of_rabitq = data.rabitq(6);
        assert!(found >= of_scalar && found >= of_rabitq, "{}: {found}, SQ8 {of_scalar}, RaBitQ {of_rabitq}", data.name);
    }
}

#[test]
fn vectors_are_not_cut_off() {
    for data in all() {
        // Of their squared lengths: the largest error, and that which one of a hundred exceeds.
        for (bits, rank, most) in [(8.0, COUNT - 1, 0.004), (4.0, COUNT * 99 / 100, 0.05)] {
            let index = Index::build(&data.points, DIM, kmeans(&data.points, DIM, 8, 5), &of_bits(bits)).expect("an index");
            let back = index.reconstruct(&index.ids()).expect("vectors");
            let rows = data.points.chunks_exact(DIM).zip(back.chunks_exact(DIM));
            let mut errors: Vec<f64> =
                rows.map(|(point, back)| squared_distance(point, back) / squared_distance(point, &[0.0; DIM])).collect();
            errors.sort_by(f64::total_cmp);
            assert!(errors[rank] < most, "{}, {bits} bits: {}", data.name, errors[rank]);
        }
    }
}

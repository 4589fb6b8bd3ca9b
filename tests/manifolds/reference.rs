//! What a step does, worked out with dense matrices: products of groups' elements and exponentials by their series.

use crate::support::Random;
use leastwise::problem::Shape;

/// A square matrix, row by row.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub n: usize,
    pub entries: Vec<f64>,
}

impl Matrix {
    pub fn new(n: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        Self { n, entries: (0..n * n).map(|k| entry(k / n, k % n)).collect() }
    }

    pub fn at(&self, r: usize, c: usize) -> f64 {
        self.entries[r * self.n + c]
    }

    pub fn times(&self, other: &Self) -> Self {
        Self::new(self.n, |r, c| (0..self.n).map(|k| self.at(r, k) * other.at(k, c)).sum())
    }

    /// By scaling and squaring.
    pub fn exponential(&self) -> Self {
        let scale = 2f64.powi(-10);
        let small = Self::new(self.n, |r, c| scale * self.at(r, c));
        let one = Self::new(self.n, |r, c| f64::from(u8::from(r == c)));
        let mut sum = one.clone();
        for k in (1..=12).rev() {
            let next = small.times(&sum);
            sum = Self::new(self.n, |r, c| one.at(r, c) + next.at(r, c) / f64::from(k));
        }
        (0..10).fold(sum, |power, _| power.times(&power))
    }
}

/// The rotation matrix of a quaternion x, y, z, w: v + 2w u × v + 2 u × (u × v).
fn rotation(q: &[f64]) -> Matrix {
    let k = cross(&q[..3]);
    let squared = k.times(&k);
    Matrix::new(3, |r, c| f64::from(u8::from(r == c)) + 2.0 * q[3] * k.at(r, c) + 2.0 * squared.at(r, c))
}

/// [v]ₓ
fn cross(v: &[f64]) -> Matrix {
    let [x, y, z] = [v[0], v[1], v[2]];
    Matrix { n: 3, entries: vec![0.0, -z, y, z, 0.0, -x, -y, x, 0.0] }
}

/// Linear part and translation as one matrix, with this in the corner.
fn affine(linear: &Matrix, translation: &[f64], corner: f64) -> Matrix {
    let n = linear.n;
    Matrix::new(n + 1, |r, c| match (r == n, c == n) {
        (true, true) => corner,
        (true, false) => 0.0,
        (false, true) => translation[r],
        _ => linear.at(r, c),
    })
}

fn scaled(matrix: &Matrix, factor: f64) -> Matrix {
    Matrix::new(matrix.n, |r, c| factor * matrix.at(r, c))
}

/// An element of the group as a matrix.
pub fn element(shape: &Shape, x: &[f64]) -> Matrix {
    let turn = |c: f64, s: f64| Matrix { n: 2, entries: vec![c, -s, s, c] };
    match shape {
        Shape::Quaternion => rotation(x),
        Shape::So2 => turn(x[0], x[1]),
        Shape::Se2 => affine(&turn(x[0], x[1]), &x[2..], 1.0),
        Shape::Se3 => affine(&rotation(&x[..4]), &x[4..], 1.0),
        Shape::Sim3 => affine(&scaled(&rotation(&x[..4]), x[7]), &x[4..7], 1.0),
        other => panic!("{other:?} is no group of matrices here"),
    }
}

/// An element of its Lie algebra.
pub fn generator(shape: &Shape, d: &[f64]) -> Matrix {
    let turn = |angle: f64| Matrix { n: 2, entries: vec![0.0, -angle, angle, 0.0] };
    match shape {
        Shape::Quaternion => cross(d),
        Shape::So2 => turn(d[0]),
        Shape::Se2 => affine(&turn(d[0]), &d[1..], 0.0),
        Shape::Se3 => affine(&cross(&d[..3]), &d[3..], 0.0),
        Shape::Sim3 => {
            let k = cross(&d[..3]);
            let linear = Matrix::new(3, |r, c| k.at(r, c) + if r == c { d[6] } else { 0.0 });
            affine(&linear, &d[3..6], 0.0)
        }
        other => panic!("{other:?} is no group of matrices here"),
    }
}

/// A point of the unit sphere moved, by a Householder matrix (Hertzberg et al. 2013).
pub fn on_sphere(x: &[f64], d: &[f64]) -> Vec<f64> {
    let n = x.len();
    let sign = if x[n - 1] < 0.0 { -1.0 } else { 1.0 };
    let mut v = x.to_vec();
    v[n - 1] += sign;
    let squared: f64 = v.iter().map(|v| v * v).sum();
    let reflection = Matrix::new(n, |r, c| f64::from(u8::from(r == c)) - 2.0 * v[r] * v[c] / squared);
    let length = d.iter().map(|d| d * d).sum::<f64>().sqrt();
    let sinc = if length == 0.0 { 1.0 } else { length.sin() / length };
    let mut y: Vec<f64> = d.iter().map(|d| sinc * d).collect();
    y.push(-sign * length.cos());
    (0..n).map(|r| (0..n).map(|c| reflection.at(r, c) * y[c]).sum()).collect()
}

pub fn unit(mut v: Vec<f64>) -> Vec<f64> {
    let length = v.iter().map(|v| v * v).sum::<f64>().sqrt();
    v.iter_mut().for_each(|v| *v /= length);
    v
}

/// Any point of a manifold; those in f32 are exact.
pub fn point(shape: &Shape, random: &mut Random) -> Vec<f64> {
    let mut numbers = |count: u32, low: f64, high: f64| -> Vec<f64> { (0..count).map(|_| random.between(low, high)).collect() };
    let mut all = match shape.unit() {
        Some((range, _)) => unit(numbers(range.len() as u32, -1.0, 1.0)),
        None => Vec::new(),
    };
    all.extend(numbers(shape.ambient() - all.len() as u32, -2.0, 2.0));
    if let Some(place) = shape.positive() {
        all[place] = 0.3 + all[place].abs();
    }
    all
}

/// A step of about this length.
pub fn step(shape: &Shape, length: f64, random: &mut Random) -> Vec<f64> {
    unit((0..shape.tangent()).map(|_| random.between(-1.0, 1.0)).collect()).into_iter().map(|d| length * d).collect()
}

/// x ⊕ δ, from the matrices alone where there is a group: the scalars whose matrix is the product.
pub fn moved(shape: &Shape, x: &[f64], d: &[f64]) -> Vec<f64> {
    match shape {
        Shape::Euclidean(_) => x.iter().zip(d).map(|(x, d)| x + d).collect(),
        Shape::Subset { constant, .. } => {
            let mut steps = d.iter();
            let free = |place: usize| !constant.contains(&(place as u32));
            x.iter().enumerate().map(|(place, &x)| if free(place) { x + steps.next().unwrap() } else { x }).collect()
        }
        Shape::Sphere(_) => on_sphere(x, d),
        Shape::Quaternion => near(quaternion_of(&product(shape, x, d)), x),
        Shape::So2 | Shape::Se2 => {
            let m = product(shape, x, d);
            let mut all = vec![m.at(0, 0), m.at(1, 0)];
            all.extend((0..m.n - 2).flat_map(|_| [m.at(0, 2), m.at(1, 2)]));
            all
        }
        Shape::Se3 | Shape::Sim3 => {
            let m = product(shape, x, d);
            let scale = (0..3).map(|r| m.at(r, 0) * m.at(r, 0)).sum::<f64>().sqrt();
            let linear = Matrix::new(3, |r, c| m.at(r, c) / scale);
            let mut all = near(quaternion_of(&linear), x);
            all.extend((0..3).map(|r| m.at(r, 3)));
            all.extend((*shape == Shape::Sim3).then_some(scale));
            all
        }
        Shape::Traced { .. } => panic!("a retraction of one's own has a reference of its own"),
    }
}

fn product(shape: &Shape, x: &[f64], d: &[f64]) -> Matrix {
    element(shape, x).times(&generator(shape, d).exponential())
}

/// By the largest of four candidates.
fn quaternion_of(m: &Matrix) -> Vec<f64> {
    let signs = [[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0], [1.0, 1.0, 1.0]];
    let squares = signs.map(|signs| 1.0 + signs.iter().enumerate().map(|(k, sign)| sign * m.at(k, k)).sum::<f64>());
    let largest = (0..4).max_by(|&a, &b| squares[a].total_cmp(&squares[b])).unwrap();
    let even = |i: usize, j: usize| m.at(i, j) + m.at(j, i);
    let odd = |i: usize, j: usize| m.at(j, i) - m.at(i, j);
    let row = match largest {
        0 => [squares[0], even(0, 1), even(0, 2), odd(1, 2)],
        1 => [even(0, 1), squares[1], even(1, 2), odd(2, 0)],
        2 => [even(0, 2), even(1, 2), squares[2], odd(0, 1)],
        _ => [odd(1, 2), odd(2, 0), odd(0, 1), squares[3]],
    };
    unit(row.to_vec())
}

/// Of q and −q the one on the side of x.
fn near(q: Vec<f64>, x: &[f64]) -> Vec<f64> {
    let along: f64 = q.iter().zip(x).map(|(q, x)| q * x).sum();
    if along < 0.0 { q.into_iter().map(|q| -q).collect() } else { q }
}

/// Every shape that the engine brings along.
pub fn shapes() -> Vec<Shape> {
    vec![
        Shape::Euclidean(3),
        Shape::Subset { width: 4, constant: vec![1, 3] },
        Shape::Sphere(2),
        Shape::Sphere(3),
        Shape::Sphere(6),
        Shape::Quaternion,
        Shape::So2,
        Shape::Se2,
        Shape::Se3,
        Shape::Sim3,
    ]
}

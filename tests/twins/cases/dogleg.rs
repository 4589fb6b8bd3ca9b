use super::{Spread, total};
use crate::twins::harness::{Case, random_state};
use crate::twins::value::{Random, Value};
use leastwise::device::binding::STATE;
use leastwise::kernels::{Arguments, StaticKernel, trust_region};
use leastwise::solve::state::*;

pub fn steepest(size: usize, random: &mut Random) -> Case {
    let (gradient, mut scale) = (random.vector(size), random.positive(size));
    // Between tables.
    scale.iter_mut().skip(3).step_by(7).for_each(|d| *d = 0.0);
    let mut case = Case::new(StaticKernel::TrustRegionSteepest, "");
    case.reals(trust_region::Steepest::SCALE, scale.clone());
    case.reals(trust_region::Steepest::GRADIENT, gradient.clone());
    case.poisoned(trust_region::Steepest::Z, size);
    case.dispatch(size as u32, trust_region::Steepest);
    for i in 0..size {
        case.expect(trust_region::Steepest::Z, i, if scale[i] > 0.0 { -gradient[i] / scale[i] } else { 0.0 });
    }
    case
}

pub fn sums(size: usize, group: usize, random: &mut Random) -> Case {
    let vectors: Vec<Vec<f64>> = (0..6).map(|_| random.vector(size)).collect();
    let spread = Spread::new(size, group, random);
    let distance = spread.groups + 2;
    let mut case = Case::new(StaticKernel::TrustRegionDoglegSums, "");
    for (slot, values) in [
        trust_region::DoglegSums::GRADIENT,
        trust_region::DoglegSums::SCALE,
        trust_region::DoglegSums::D,
        trust_region::DoglegSums::Q,
        trust_region::DoglegSums::N,
        trust_region::DoglegSums::RESIDUAL,
    ]
    .into_iter()
    .zip(&vectors)
    {
        case.reals(slot, values.clone());
    }
    case.poisoned(trust_region::DoglegSums::PARTIALS, 6 * distance);
    case.dispatch(spread.lanes(), trust_region::DoglegSums { distance: distance as u32, elements: size as u32 });
    for (group, items) in spread.each() {
        let mut sums = [Value::default(); 6];
        for i in items {
            let [g, scale, d, q, n, r] = [0, 1, 2, 3, 4, 5].map(|vector: usize| Value::from(vectors[vector][i]));
            sums.iter_mut().zip([d * scale * d, d * q, g * n, n * scale * n, d * r, n * r]).for_each(|(sum, term)| *sum = *sum + term);
        }
        sums.into_iter().enumerate().for_each(|(kind, sum)| case.expect(trust_region::DoglegSums::PARTIALS, kind * distance + group, sum));
    }
    case
}

pub fn plane(size: usize, random: &mut Random) -> Case {
    let distance = size + 2;
    let partials = random.vector(6 * distance);
    let state = random_state(random, &[]);
    let damping = Value::from(state[DAMPING as usize]);
    let mut case = Case::reduction(trust_region::DoglegPlane { partial_count: size as u32, distance: distance as u32 }, "", state);
    let [dd, dq, gn, nn, dr, nr] = [0, 1, 2, 3, 4, 5].map(|kind| total(&partials[kind * distance..][..size]));
    case.reals(trust_region::DoglegPlane::PARTIALS, partials);
    case.expect_state(&[
        (STEEPEST_SQUARED, dd),
        (NEWTON_SQUARED, nn),
        (NEWTON_SLOPE, gn),
        (STEEPEST_CURVATURE, dq - damping * dd),
        (MIXED_CURVATURE, dd - dr + damping * gn),
        (NEWTON_CURVATURE, -gn - nr - damping * nn),
    ]);
    case
}

/// A plane with the metric D = 1 and H = (h₁₁, h₁₂, h₂₂): d = −g, n = −H⁻¹g.
struct Plane {
    d: [f64; 2],
    n: [f64; 2],
    h: [f64; 3],
}

impl Plane {
    fn new(random: &mut Random) -> Self {
        // Where d and n are nearly parallel the plane is a line, which has a case of its own.
        let area = |plane: &Self| plane.d[0] * plane.n[1] - plane.d[1] * plane.n[0];
        let is_plane = |plane: &Self| area(plane).powi(2) > 0.01 * dot(plane.d, plane.d) * dot(plane.n, plane.n);
        loop {
            let plane = Self::any(random);
            if is_plane(&plane) {
                return plane;
            }
        }
    }

    fn any(random: &mut Random) -> Self {
        let [p, q] = [random.within(0.5, 2.0), random.within(0.5, 2.0)];
        let h = [p, random.within(0.2, 0.6) * (p * q).sqrt() * if random.below(2) == 0 { 1.0 } else { -1.0 }, q];
        let d = [random.within(0.5, 1.0), random.within(-1.0, 1.0)];
        let determinant = h[0] * h[2] - h[1] * h[1];
        let n = [(h[2] * d[0] - h[1] * d[1]) / determinant, (h[0] * d[1] - h[1] * d[0]) / determinant];
        Self { d, n, h }
    }

    fn product(&self, x: [f64; 2]) -> [f64; 2] {
        [self.h[0] * x[0] + self.h[1] * x[1], self.h[1] * x[0] + self.h[2] * x[1]]
    }

    /// (H + μ)⁻¹d.
    fn shifted(&self, shift: f64) -> [f64; 2] {
        let [p, o, q] = [self.h[0] + shift, self.h[1], self.h[2] + shift];
        let determinant = p * q - o * o;
        [(q * self.d[0] - o * self.d[1]) / determinant, (p * self.d[1] - o * self.d[0]) / determinant]
    }

    fn state(&self, radius: f64, random: &mut Random) -> Vec<f64> {
        let (hd, hn) = (self.product(self.d), self.product(self.n));
        let known = [
            (STEEPEST_SQUARED, dot(self.d, self.d)),
            (NEWTON_SQUARED, dot(self.n, self.n)),
            (NEWTON_SLOPE, -dot(self.d, self.n)),
            (STEEPEST_CURVATURE, dot(self.d, hd)),
            (MIXED_CURVATURE, dot(self.d, hn)),
            (NEWTON_CURVATURE, dot(self.n, hn)),
            (RADIUS, radius),
            (EPSILON, f64::from(f32::EPSILON)),
        ];
        random_state(random, &known)
    }

    /// The a and b of a point of the plane.
    fn coordinates(&self, x: [f64; 2]) -> [f64; 2] {
        let ([p, q], [r, s]) = (self.d, self.n);
        let determinant = p * s - q * r;
        [(x[0] * s - x[1] * r) / determinant, (p * x[1] - q * x[0]) / determinant]
    }
}

fn dot(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}

fn combination(a: [f64; 2], x: f64, b: [f64; 2], y: f64) -> [f64; 2] {
    [x * a[0] + y * b[0], x * a[1] + y * b[1]]
}

/// Where `inside` ends to be true, between 0 and 1 of `end`.
fn bisect(end: f64, inside: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, end);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if inside(middle) { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Steps in a random plane, at radii for which each branch is taken; the same ones by bisection.
fn in_a_plane<K: Arguments>(args: K, random: &mut Random, best: impl Fn(&Plane, f64) -> [f64; 2]) -> Vec<Case> {
    let mut case = |name: &str, share: f64| {
        let plane = Plane::new(random);
        let (newton, steepest) = (dot(plane.n, plane.n).sqrt(), dot(plane.d, plane.d));
        let cauchy = steepest.powf(1.5) / dot(plane.d, plane.product(plane.d));
        let radius = if share <= 1.0 { share * cauchy } else { cauchy + (share - 1.0) * (newton - cauchy) };
        let mut case = Case::new(K::KERNEL, name);
        case.dispatch(1, args);
        case.reals(STATE, plane.state(radius, random));
        // f32 devices have these rounded.
        for element in [STEEPEST_SQUARED, NEWTON_SQUARED, NEWTON_SLOPE, STEEPEST_CURVATURE, MIXED_CURVATURE, NEWTON_CURVATURE, RADIUS] {
            case.expect(STATE, element as usize, case.before(STATE, element as usize));
        }
        let x = if newton <= radius { plane.n } else { best(&plane, radius) };
        let [a, b] = plane.coordinates(x);
        // The plane's numbers are squares and cancel in it; what is compared is an angle.
        let sized = |value: f64| Value { value, size: value.abs() + 10.0 };
        case.expect_state(&[(ALONG_STEEPEST, sized(a)), (ALONG_NEWTON, sized(b)), (SCALED_NORM, sized(dot(x, x).sqrt()))]);
        case.bound = 1e-4;
        case
    };
    let mut cases = vec![case("within", 2.5), case("short of the Cauchy point", 0.4), case("between", 1.5), case("nearly there", 1.95)];
    for (name, slope, newton) in [("a Gauss–Newton step uphill", 0.25, 2.0), ("one that is not finite", -0.25, f64::NAN)] {
        let known = [
            (STEEPEST_SQUARED, 0.25),
            (STEEPEST_CURVATURE, 0.125),
            (NEWTON_SLOPE, slope),
            (NEWTON_SQUARED, newton),
            (RADIUS, 0.75),
            (EPSILON, f64::from(f32::EPSILON)),
        ];
        let mut case = Case::new(K::KERNEL, name);
        case.dispatch(1, args);
        case.reals(STATE, random_state(random, &known));
        case.expect_state(&[(ALONG_STEEPEST, 1.5.into()), (ALONG_NEWTON, 0.0.into()), (SCALED_NORM, 0.75.into())]);
        cases.push(case);
    }
    cases
}

pub fn traditional(random: &mut Random) -> Vec<Case> {
    in_a_plane(trust_region::Dogleg, random, |plane, radius| {
        let steepest = dot(plane.d, plane.d);
        let cauchy = steepest / dot(plane.d, plane.product(plane.d));
        let fits = |x: [f64; 2]| dot(x, x).sqrt() <= radius;
        if !fits(combination(plane.d, cauchy, plane.n, 0.0)) {
            return combination(plane.d, radius / steepest.sqrt(), plane.n, 0.0);
        }
        let path = |t: f64| combination(plane.d, cauchy * (1.0 - t), plane.n, t);
        path(bisect(1.0, |t| fits(path(t))))
    })
}

pub fn subspace(random: &mut Random) -> Vec<Case> {
    let mut cases = in_a_plane(trust_region::DoglegSubspace, random, |plane, radius| {
        let outside = |shift: f64| dot(plane.shifted(shift), plane.shifted(shift)).sqrt() > radius;
        plane.shifted(bisect(1e3, outside))
    });
    // n along d: the plane is a line.
    let mut case = Case::new(StaticKernel::TrustRegionDoglegSubspace, "a line");
    case.dispatch(1, trust_region::DoglegSubspace);
    let known = [(STEEPEST_SQUARED, 0.25), (STEEPEST_CURVATURE, 0.125), (NEWTON_SLOPE, -0.5), (NEWTON_SQUARED, 1.0)];
    case.reals(
        trust_region::DoglegSubspace::STATE,
        random_state(random, &[&known[..], &[(RADIUS, 0.75), (EPSILON, f64::from(f32::EPSILON))]].concat()),
    );
    case.expect_state(&[(ALONG_STEEPEST, 1.5.into()), (ALONG_NEWTON, 0.0.into()), (SCALED_NORM, 0.75.into())]);
    cases.push(case);
    cases
}

pub fn trust_region(random: &mut Random) -> Vec<Case> {
    // The outcome, whether it tells, its gain ratio, the step's length, and what becomes of a radius of 8.
    let outcomes = [
        ("rejected", 0.0, 1.0, -2.0, 3.0, 1.5),
        ("rejected, and not finite", 0.0, 1.0, 0.0, f64::NAN, 4.0),
        ("accepted with a small gain", 1.0, 1.0, 0.1875, 8.0, 4.0),
        ("accepted with a fair gain", 1.0, 1.0, 0.5, 8.0, 8.0),
        ("as good as the model, at the edge", 1.0, 1.0, 0.875, 8.0, 24.0),
        ("as good as the model, far from the edge", 1.0, 1.0, 0.875, 0.5, 8.0),
        ("at rest", 0.0, 0.0, -2.0, 0.5, 8.0),
        ("too short to tell", 0.0, 0.0, -2.0, 8.0, 80.0),
    ];
    let case = |(name, accepted, telling, gain, length, radius): (&str, f64, f64, f64, f64, f64)| {
        let known = [(TELLING, telling), (ACCEPTED, accepted), (GAIN, gain), (SCALED_NORM, length), (RADIUS, 8.0)];
        let mut case = Case::new(StaticKernel::TrustRegionTrustRegion, name);
        case.dispatch(1, trust_region::TrustRegion);
        case.reals(trust_region::TrustRegion::STATE, random_state(random, &known));
        case.expect_state(&[(RADIUS, radius.into())]);
        if accepted != 0.0 {
            case.expect_state(&[(RADIUS_TAKEN, radius.into())]);
        }
        case
    };
    outcomes.map(case).into()
}

pub fn combine(size: usize, random: &mut Random) -> Vec<Case> {
    let case = |(name, a, b): (&str, f64, f64)| {
        let [gradient, d, q, n, residual] = [(); 5].map(|()| random.vector(size));
        let mut case = Case::new(StaticKernel::TrustRegionCombine, name);
        let unused = |used: bool, values: &Vec<f64>| if used { values.clone() } else { vec![f64::NAN; size] };
        case.reals(trust_region::Combine::GRADIENT, gradient.clone());
        case.reals(trust_region::Combine::D, unused(a != 0.0, &d));
        case.reals(trust_region::Combine::Q, unused(a != 0.0, &q));
        case.reals(trust_region::Combine::N, unused(b != 0.0, &n));
        case.reals(trust_region::Combine::NEWTON_RESIDUAL, unused(b != 0.0, &residual));
        case.poisoned(trust_region::Combine::STEP, size);
        case.poisoned(trust_region::Combine::RESIDUAL, size);
        case.reals(trust_region::Combine::STATE, random_state(random, &[(ALONG_STEEPEST, a), (ALONG_NEWTON, b)]));
        case.dispatch(size as u32, trust_region::Combine);
        let (a, b) = (Value::from(a), Value::from(b));
        for i in 0..size {
            let [g, d, q, n, r] = [&gradient, &d, &q, &n, &residual].map(|vector| Value::from(vector[i]));
            case.expect(trust_region::Combine::STEP, i, a * d + b * n);
            case.expect(trust_region::Combine::RESIDUAL, i, (b - 1.0.into()) * g - a * q + b * r);
        }
        case
    };
    [("both", 0.25, 0.5), ("along d", 0.75, 0.0), ("along n", 0.0, 0.25)].map(case).into()
}

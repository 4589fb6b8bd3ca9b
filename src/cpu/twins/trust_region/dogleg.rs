//! Twins of the shaders of the dogleg methods: `steepest`, `dogleg_sums`, `dogleg_plane`, `dogleg`, `dogleg_subspace`,
//! `trust_region`, `combine`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use crate::twins::reduce::{Lanes, MAX_GROUP, clamp, group_sum, larger, run_elements, runs, smaller, strided_sum};
use leastwise_kernels as kernels;
use leastwise_kernels::state::solver::*;

/// z = −D⁻¹g.
pub fn steepest<R: Real>(work: &Workgroups, _: kernels::trust_region::Steepest, bindings: kernels::trust_region::SteepestSlices<R>) {
    let (scale, gradient, items) = (bindings.scale, bindings.gradient, work.items());
    let mut z = Pieces::new(bindings.z);
    let tasks = threads::cut(items.clone()).map(|range| (z.take(range.clone()), range));
    threads::each(tasks.collect(), items.len(), |(z, range)| {
        for (z, i) in z.iter_mut().zip(range) {
            *z = if scale[i] > R::ZERO { -gradient[i] / scale[i] } else { R::ZERO };
        }
    });
}

/// Partial sums of dᵀDd, dᵀq, gᵀn, nᵀDn, dᵀr and nᵀr.
pub fn dogleg_sums<R: Real>(
    work: &Workgroups,
    args: kernels::trust_region::DoglegSums,
    bindings: kernels::trust_region::DoglegSumsSlices<R>,
) {
    let [distance, elements] = [args.distance, args.elements].map(|word| word as usize);
    let (gradient, scale, d, q) = (bindings.gradient, bindings.scale, bindings.d, bindings.q);
    let (n, residual, partials) = (bindings.n, bindings.residual, bindings.partials);
    let group_size = work.group_size as usize;
    let sums = threads::map(runs(work, elements).collect(), run_elements(work, elements), |run| {
        let mut sums: [Lanes<R>; 6] = [[R::ZERO; MAX_GROUP]; 6];
        for (place, i) in run.enumerate() {
            let kinds =
                [d[i] * scale[i] * d[i], d[i] * q[i], gradient[i] * n[i], n[i] * scale[i] * n[i], d[i] * residual[i], n[i] * residual[i]];
            sums.iter_mut().zip(kinds).for_each(|(sum, value)| sum[place % group_size] += value);
        }
        sums.map(|lanes| group_sum(&lanes, group_size))
    });
    for (group, sums) in (work.groups.start as usize..).zip(sums) {
        (0..).zip(sums).for_each(|(kind, sum): (usize, R)| partials[kind * distance + group] = sum);
    }
}

/// Lengths, slopes and curvatures in the plane of d and n.
pub fn dogleg_plane<R: Real>(
    work: &Workgroups,
    args: kernels::trust_region::DoglegPlane,
    bindings: kernels::trust_region::DoglegPlaneSlices<R>,
) {
    let (count, distance) = (args.partial_count, args.distance);
    let (state, partials) = (bindings.state, bindings.partials);
    let [steepest, curvature, slope, newton, unsolved_steepest, unsolved_newton] =
        [0, 1, 2, 3, 4, 5].map(|kind| strided_sum(work, count, |i| partials[kind * distance as usize + i]));
    let damping = state[DAMPING as usize];
    state[STEEPEST_SQUARED as usize] = steepest;
    state[NEWTON_SQUARED as usize] = newton;
    state[NEWTON_SLOPE as usize] = slope;
    state[STEEPEST_CURVATURE as usize] = curvature - damping * steepest;
    state[MIXED_CURVATURE as usize] = steepest - unsolved_steepest + damping * slope;
    state[NEWTON_CURVATURE as usize] = -slope - unsolved_newton - damping * newton;
}

/// As far along the path from 0 to the Cauchy point to the Gauss–Newton step as the trust region lets one go (Powell 1970).
pub fn dogleg<R: Real>(_: &Workgroups, _: kernels::trust_region::Dogleg, bindings: kernels::trust_region::DoglegSlices<R>) {
    let state = bindings.state;
    let at = |element: u32| state[element as usize];
    let (radius, dd, nn, dn) = (at(RADIUS), at(STEEPEST_SQUARED), at(NEWTON_SQUARED), -at(NEWTON_SLOPE));
    let curvature = at(STEEPEST_CURVATURE);
    let usable = nn.is_finite() && dn > R::ZERO;
    let (mut a, mut b) = (R::ZERO, R::ZERO);
    if usable && nn <= radius * radius {
        b = R::ONE;
    } else if dd > R::ZERO {
        a = to_the_edge(radius, dd, curvature);
        if usable && a * a * dd < radius * radius {
            // ‖c + t(n − c)‖² = Δ² for the Cauchy point c; the form of the root that does not cancel.
            let outward = a * (dn - a * dd);
            let across = larger(R::ZERO, nn - (a + a) * dn + a * a * dd);
            let room = radius * radius - a * a * dd;
            let root = (outward * outward + across * room).sqrt();
            if outward > R::ZERO {
                b = room / (root + outward);
            } else if across > R::ZERO {
                b = (root - outward) / across;
            }
            b = clamp(b, R::ZERO, R::ONE);
            a = a * (R::ONE - b);
        }
    }
    combination(state, a, b);
}

/// How far along d: to the edge of the trust region, or only to the Cauchy point.
fn to_the_edge<R: Real>(radius: R, dd: R, curvature: R) -> R {
    let edge = radius / dd.sqrt();
    if curvature > R::ZERO { smaller(edge, dd / curvature) } else { edge }
}

fn combination<R: Real>(state: &mut [R], a: R, b: R) {
    let (dd, nn, dn) = (state[STEEPEST_SQUARED as usize], state[NEWTON_SQUARED as usize], -state[NEWTON_SLOPE as usize]);
    state[ALONG_STEEPEST as usize] = a;
    state[ALONG_NEWTON as usize] = b;
    let mut squared = a * a * dd;
    if b != R::ZERO {
        squared += (a + a) * b * dn + b * b * nn;
    }
    state[SCALED_NORM as usize] = larger(R::ZERO, squared).sqrt();
}

/// Turns of Newton's method at most, as in the shader.
const TURNS: usize = 40;

/// The best step in the plane of d and n within the trust region (Byrd, Schnabel & Shultz 1988).
pub fn dogleg_subspace<R: Real>(
    _: &Workgroups,
    _: kernels::trust_region::DoglegSubspace,
    bindings: kernels::trust_region::DoglegSubspaceSlices<R>,
) {
    let state = bindings.state;
    let at = |element: u32| state[element as usize];
    let (radius, dd, nn, dn) = (at(RADIUS), at(STEEPEST_SQUARED), at(NEWTON_SQUARED), -at(NEWTON_SLOPE));
    let dhd = at(STEEPEST_CURVATURE);
    let usable = nn.is_finite() && dn > R::ZERO;
    let (mut a, mut b) = (R::ZERO, R::ZERO);
    if usable && nn <= radius * radius {
        b = R::ONE;
    } else if dd > R::ZERO {
        // The basis: e₁ = d/‖d‖ and e₂ = (n − c·e₁)/w.
        let length = dd.sqrt();
        let c = dn / length;
        let w2 = nn - c * c;
        if !usable || w2 <= at(EPSILON).sqrt() * nn {
            // As good as one direction.
            a = to_the_edge(radius, dd, dhd);
        } else {
            let (w, t) = (w2.sqrt(), c / length);
            let mixed = at(MIXED_CURVATURE);
            let b11 = dhd / dd;
            let b12 = (mixed - t * dhd) / (length * w);
            let b22 = (at(NEWTON_CURVATURE) - t * (mixed + mixed - t * dhd)) / w2;
            let [along, across] = on_the_edge([b11, b12, b22], length, radius);
            b = across / w;
            a = along / length - b * t;
        }
    }
    combination(state, a, b);
}

/// The y with ‖y‖ ≤ `radius` that minimises ½yᵀBy − `slope`·y₁, for B = (b₁₁, b₁₂, b₂₂) without negative curvature.
fn on_the_edge<R: Real>([b11, b12, b22]: [R; 3], slope: R, radius: R) -> [R; 2] {
    let half = R::from_f64(0.5);
    // Eigenvalues and the eigenvector (x, y) of the larger one; the smaller one's is (−y, x).
    let middle = half * (b11 - b22);
    let spread = (middle * middle + b12 * b12).sqrt();
    let large = larger(R::ZERO, half * (b11 + b22) + spread);
    let small = if large > R::ZERO { larger(R::ZERO, (b11 * b22 - b12 * b12) / large) } else { R::ZERO };
    let (mut x, mut y) = (R::ONE, R::ZERO);
    if spread > R::ZERO {
        (x, y) = if middle >= R::ZERO { (middle + spread, b12) } else { (b12, spread - middle) };
        let norm = (x * x + y * y).sqrt();
        (x, y) = (x / norm, y / norm);
    }
    let (f1, f2) = (-slope * y, slope * x);
    let mut shift = larger(R::ZERO, larger(f1.abs() / radius - small, f2.abs() / radius - large));
    let (mut y1, mut y2) = (R::ZERO, R::ZERO);
    for _ in 0..TURNS {
        let mut descent = R::ZERO;
        let mut part = |force: R, stiffness: R| {
            let moved = if stiffness > R::ZERO { force / stiffness } else { R::ZERO };
            if stiffness > R::ZERO {
                descent += moved * moved / stiffness;
            }
            moved
        };
        y1 = part(f1, small + shift);
        y2 = part(f2, large + shift);
        let norm = (y1 * y1 + y2 * y2).sqrt();
        if norm <= radius || descent <= R::ZERO {
            break;
        }
        shift += (norm / radius - R::ONE) * norm * norm / descent;
    }
    let norm = (y1 * y1 + y2 * y2).sqrt();
    if norm > radius {
        (y1, y2) = (y1 * (radius / norm), y2 * (radius / norm));
    }
    [y2 * x - y1 * y, y2 * y + y1 * x]
}

/// The next radius of the trust region.
pub fn trust_region<R: Real>(_: &Workgroups, _: kernels::trust_region::TrustRegion, bindings: kernels::trust_region::TrustRegionSlices<R>) {
    let state = bindings.state;
    let (length, gain, mut radius) = (state[SCALED_NORM as usize], state[GAIN as usize], state[RADIUS as usize]);
    if state[TELLING as usize] == R::ZERO {
        // Nothing to be learnt, unless it is the radius that makes the promise so small.
        if length > R::from_f64(0.99) * radius {
            state[RADIUS as usize] = smaller(R::from_f64(10.0) * radius, R::from_f64(1e15));
        }
        return;
    }
    if state[ACCEPTED as usize] == R::ZERO || gain < R::from_f64(0.25) {
        // What was tried and found too long may be much shorter than the radius.
        if length.is_finite() {
            radius = smaller(radius, length);
        }
        radius = R::from_f64(0.5) * radius;
    } else if gain > R::from_f64(0.75) {
        radius = larger(radius, R::from_f64(3.0) * length);
    }
    state[RADIUS as usize] = clamp(radius, R::from_f64(1e-15), R::from_f64(1e15));
    if state[ACCEPTED as usize] != R::ZERO {
        state[RADIUS_TAKEN as usize] = state[RADIUS as usize];
    }
}

/// s = a·d + b·n, and what it leaves of the system: (b − 1)g − a·q + b·r.
pub fn combine<R: Real>(work: &Workgroups, _: kernels::trust_region::Combine, bindings: kernels::trust_region::CombineSlices<R>) {
    let (gradient, d, q, n) = (bindings.gradient, bindings.d, bindings.q, bindings.n);
    let (mut step, mut residual) = (Pieces::new(bindings.step), Pieces::new(bindings.residual));
    let (state, newton_residual, items) = (bindings.state, bindings.newton_residual, work.items());
    let (a, b) = (state[ALONG_STEEPEST as usize], state[ALONG_NEWTON as usize]);
    let tasks = threads::cut(items.clone()).map(|range| (step.take(range.clone()), residual.take(range.clone()), range));
    threads::each(tasks.collect(), items.len(), |(step, residual, range)| {
        for ((step, residual), i) in step.iter_mut().zip(residual).zip(range) {
            let (mut s, mut left) = (R::ZERO, (b - R::ONE) * gradient[i]);
            // A direction that is not used may hold anything.
            if b != R::ZERO {
                s += b * n[i];
                left += b * newton_residual[i];
            }
            if a != R::ZERO {
                s += a * d[i];
                left -= a * q[i];
            }
            (*step, *residual) = (s, left);
        }
    });
}

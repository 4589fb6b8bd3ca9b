// The best step a·d + b·n in the plane of d = −D⁻¹g and the Gauss–Newton step n within the trust region (Byrd, Schnabel &
// Shultz 1988): in a basis that is orthonormal in √(sᵀDs), (B + μ)y = −ĝ with ‖y‖ = Δ is solved for μ by Newton's method on
// the secular equation (Moré & Sorensen 1983), from the left, where it converges monotonically. One invocation.

#import state/solver

@group(0) @binding(7) var<storage, read_write> state: array<real>;

// Newton's method doubles the digits at every turn; where it starts it may need some turns to get near.
const TURNS: u32 = 40u;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    if (lane != 0u) {
        return;
    }
    let radius = state[RADIUS];
    let dd = state[STEEPEST_SQUARED];
    let nn = state[NEWTON_SQUARED];
    // dᵀDn
    let dn = -state[NEWTON_SLOPE];
    let dhd = state[STEEPEST_CURVATURE];
    let usable = is_finite(nn) && dn > 0.0;
    var a: real = 0.0;
    var b: real = 0.0;
    if (usable && nn <= radius * radius) {
        b = 1.0;
    } else if (dd > 0.0) {
        // The basis: e₁ = d/‖d‖ and e₂ = (n − c·e₁)/w.
        let length = sqrt(dd);
        let c = dn / length;
        let w2 = nn - c * c;
        if (!usable || w2 <= sqrt(state[EPSILON]) * nn) {
            // As good as one direction.
            a = radius / length;
            if (dhd > 0.0) {
                a = min(a, dd / dhd);
            }
        } else {
            let w = sqrt(w2);
            let t = c / length;
            let b11 = dhd / dd;
            let b12 = (state[MIXED_CURVATURE] - t * dhd) / (length * w);
            let b22 = (state[NEWTON_CURVATURE] - t * (2.0 * state[MIXED_CURVATURE] - t * dhd)) / w2;
            // Eigenvalues and the eigenvector (x, y) of the larger one; the smaller one's is (−y, x).
            let half = 0.5 * (b11 - b22);
            let spread = sqrt(half * half + b12 * b12);
            let large = max(0.5 * (b11 + b22) + spread, real(0.0));
            var small: real = 0.0;
            if (large > 0.0) {
                small = max((b11 * b22 - b12 * b12) / large, real(0.0));
            }
            var x: real = 1.0;
            var y: real = 0.0;
            if (spread > 0.0) {
                if (half >= 0.0) {
                    x = half + spread;
                    y = b12;
                } else {
                    x = b12;
                    y = spread - half;
                }
                let norm = sqrt(x * x + y * y);
                x /= norm;
                y /= norm;
            }
            // −ĝ = (‖d‖, 0), in eigenvectors.
            let f2 = length * x;
            let f1 = -length * y;
            var shift = max(max(abs(f1) / radius - small, abs(f2) / radius - large), real(0.0));
            var y1: real = 0.0;
            var y2: real = 0.0;
            for (var turn = 0u; turn < TURNS; turn++) {
                y1 = 0.0;
                y2 = 0.0;
                var slope: real = 0.0;
                if (small + shift > 0.0) {
                    y1 = f1 / (small + shift);
                    slope += y1 * y1 / (small + shift);
                }
                if (large + shift > 0.0) {
                    y2 = f2 / (large + shift);
                    slope += y2 * y2 / (large + shift);
                }
                let norm = sqrt(y1 * y1 + y2 * y2);
                if (norm <= radius || slope <= 0.0) {
                    break;
                }
                shift += (norm / radius - 1.0) * norm * norm / slope;
            }
            let norm = sqrt(y1 * y1 + y2 * y2);
            if (norm > radius) {
                y1 *= radius / norm;
                y2 *= radius / norm;
            }
            let along = y2 * x - y1 * y;
            let across = y2 * y + y1 * x;
            b = across / w;
            a = along / length - b * t;
        }
    }
    state[ALONG_STEEPEST] = a;
    state[ALONG_NEWTON] = b;
    var squared = a * a * dd;
    if (b != 0.0) {
        squared += 2.0 * a * b * dn + b * b * nn;
    }
    state[SCALED_NORM] = sqrt(max(squared, real(0.0)));
}

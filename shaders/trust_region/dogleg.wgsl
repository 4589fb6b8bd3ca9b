// The dogleg step: as far as the trust region lets one go along the path from 0 to the Cauchy point to the Gauss–Newton
// step (Powell 1970; Nocedal & Wright, Numerical Optimization, 2nd ed., section 4.1), as a combination a·d + b·n of
// d = −D⁻¹g and n. Lengths are √(sᵀDs). One invocation.

#import state/solver

@group(0) @binding(7) var<storage, read_write> state: array<real>;

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
    let curvature = state[STEEPEST_CURVATURE];
    let usable = is_finite(nn) && dn > 0.0;
    var a: real = 0.0;
    var b: real = 0.0;
    if (usable && nn <= radius * radius) {
        b = 1.0;
    } else if (dd > 0.0) {
        // To the edge along d, or only to the Cauchy point.
        a = radius / sqrt(dd);
        if (curvature > 0.0) {
            a = min(a, dd / curvature);
        }
        if (usable && a * a * dd < radius * radius) {
            // ‖c + t(n − c)‖² = Δ² for the Cauchy point c; the form of the root that does not cancel.
            let outward = a * (dn - a * dd);
            let across = max(nn - 2.0 * a * dn + a * a * dd, real(0.0));
            let room = radius * radius - a * a * dd;
            let root = sqrt(outward * outward + across * room);
            if (outward > 0.0) {
                b = room / (root + outward);
            } else if (across > 0.0) {
                b = (root - outward) / across;
            }
            b = clamp(b, real(0.0), real(1.0));
            a *= 1.0 - b;
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

// s = a·d + b·n, and what it leaves of the system: −g − (JᵀWJ + λD)s = (b − 1)g − a·q + b·r, where q = (JᵀWJ + λD)d and
// r = −g − (JᵀWJ + λD)n. One item is one element.

#import state/solver

@group(0) @binding(1) var<storage, read> gradient: array<real>;
@group(0) @binding(2) var<storage, read> d: array<real>;
@group(0) @binding(3) var<storage, read> q: array<real>;
@group(0) @binding(4) var<storage, read> n: array<real>;
@group(0) @binding(5) var<storage, read_write> step: array<real>;
@group(0) @binding(6) var<storage, read_write> residual: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;
@group(0) @binding(8) var<storage, read> newton_residual: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let a = state[ALONG_STEEPEST];
    let b = state[ALONG_NEWTON];
    var s: real = 0.0;
    var left = (b - 1.0) * gradient[i];
    // A direction that is not used may hold anything.
    if (b != 0.0) {
        s += b * n[i];
        left += b * newton_residual[i];
    }
    if (a != 0.0) {
        s += a * d[i];
        left -= a * q[i];
    }
    step[i] = s;
    residual[i] = left;
}

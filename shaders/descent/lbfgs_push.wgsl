// What a step that was taken leaves behind: the pair s, y = g′ − g in the place of the oldest one, g′ instead of g, and what may
// move from there. One item is one element.

#import state/solver

struct Args {
    // Elements between the vectors of the history.
    distance: u32,
    // Pairs that the history keeps.
    pairs: u32,
    // 1 if there are limits.
    limited: u32,
}

@group(0) @binding(1) var<storage, read> step: array<real>;
@group(0) @binding(2) var<storage, read> trial_free: array<real>;
@group(0) @binding(3) var<storage, read_write> gradient: array<real>;
@group(0) @binding(4) var<storage, read> trial_gradient: array<real>;
@group(0) @binding(5) var<storage, read_write> history: array<real>;
@group(0) @binding(6) var<storage, read_write> free: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count || state[ACCEPTED] == 0.0) {
        return;
    }
    let g = trial_gradient[i];
    if (state[KEPT] != 0.0) {
        let newest = u32(state[NEWEST]);
        history[newest * params.args.distance + i] = step[i];
        history[(params.args.pairs + newest) * params.args.distance + i] = g - gradient[i];
    }
    gradient[i] = g;
    if (params.args.limited != 0u) {
        free[i] = trial_free[i];
    }
}

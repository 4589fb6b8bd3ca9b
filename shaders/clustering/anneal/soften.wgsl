// Scores s of a block become responsibilities p = e^(−s/T)/Z, Z = Σ e^(−s/T); those below e⁻¹⁶ of the largest are 0. Partial sums of
// the free energy ‖x‖² − T ln Z. One item is one point.

#import functions/exponential
#import functions/logarithm
#import shared/reduce
#import state/cluster

struct Args {
    // Anchors.
    anchors: u32,
    // Number of the block's first point.
    first_point: u32,
    // First partial.
    partial: u32,
}

@group(0) @binding(4) var<storage, read> squares: array<real>;
@group(0) @binding(5) var<storage, read_write> scores: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(global_invocation_id) id: vec3<u32>,
) {
    let point = item(id);
    let temperature = state[TEMPERATURE];
    var free: real = 0.0;
    if (point < params.count) {
        var least = scores[point];
        for (var a = 1u; a < params.args.anchors; a++) {
            least = min(least, scores[a * params.count + point]);
        }
        var whole: real = 0.0;
        for (var a = 0u; a < params.args.anchors; a++) {
            let exponent = (least - scores[a * params.count + point]) / temperature;
            var part: real = 0.0;
            if (exponent > -16.0) {
                part = exponential(exponent);
            }
            scores[a * params.count + point] = part;
            whole += part;
        }
        for (var a = 0u; a < params.args.anchors; a++) {
            scores[a * params.count + point] /= whole;
        }
        free = squares[params.args.first_point + point] + least - temperature * logarithm(whole);
    }
    let total = group_sum(lane, free);
    let g = group_index(group);
    if (lane == 0u && g < params.group_count) {
        partials[params.args.partial + g] = total;
    }
}

// Anchors stand in pairs m ± δ (rows 2q and 2q + 1): where a cluster is stable, an iteration makes δ shorter, and above its
// critical temperature by 2λ/T, λ the largest eigenvalue of the cluster's covariance (Rose 1998, section III). A workgroup has a pair.
//
// Measure: δ becomes ε long again; what it was, over ε, is the measure. Split: where there is a step s, the pair becomes two pairs about m + sδ/‖δ‖
// and m − sδ/‖δ‖, the second of which is the one that the table says; new δ are at random. Join: row q becomes m.

#import shared/reduce
#import state/cluster

struct Args {
    // Components of a point.
    dimensions: u32,
    // 0 to measure, 1 to split, 2 to join.
    mode: u32,
    // Seed.
    seed: u32,
    // First step.
    step: u32,
}

@group(0) @binding(2) var<storage, read> anchors: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> steps: array<real>;
@group(0) @binding(5) var<storage, read_write> pairs: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;
@group(0) @binding(8) var<storage, read_write> measures: array<real>;

// −1 … 1 (Jarzynski & Olano 2020: "pcg").
fn random(pair: u32, k: u32) -> real {
    let word = (pair * 2654435769u) ^ (params.args.seed * 747796405u + k);
    let mixed = word * 747796405u + 2891336453u;
    let shifted = ((mixed >> ((mixed >> 28u) + 4u)) ^ mixed) * 277803737u;
    return real((shifted >> 22u) ^ shifted) / 2147483648.0 - 1.0;
}

fn place(pair: u32, k: u32, middle: real, step: real) {
    pairs[2u * pair * params.args.dimensions + k] = middle + step;
    pairs[(2u * pair + 1u) * params.args.dimensions + k] = middle - step;
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let pair = group_index(group);
    let dimensions = params.args.dimensions;
    var squared: real = 0.0;
    for (var k = lane; k < dimensions && pair < params.group_count; k += group_size) {
        let half = (anchors[2u * pair * dimensions + k] - anchors[(2u * pair + 1u) * dimensions + k]) * 0.5;
        squared += half * half;
    }
    let length = sqrt(group_sum(lane, squared));
    if (pair >= params.group_count) {
        return;
    }
    let nudge = state[NUDGE];
    let spread = nudge * sqrt(3.0 / real(dimensions));
    for (var k = lane; k < dimensions; k += group_size) {
        let a = anchors[2u * pair * dimensions + k];
        let b = anchors[(2u * pair + 1u) * dimensions + k];
        let middle = (a + b) * 0.5;
        var along: real = 0.0;
        if (length > 0.0) {
            along = (a - b) * 0.5 / length;
        }
        if (params.args.mode == 2u) {
            pairs[pair * dimensions + k] = middle;
        } else if (params.args.mode == 0u) {
            place(pair, k, middle, select(spread * random(pair, k), nudge * along, length > 0.0));
        } else {
            let step = steps[params.args.step + pair];
            if (step > 0.0) {
                let other = table[pair];
                place(pair, k, middle + step * along, spread * random(pair, k));
                place(other, k, middle - step * along, spread * random(other, k));
            } else {
                place(pair, k, middle, (a - b) * 0.5);
            }
        }
    }
    if (lane == 0u && params.args.mode == 0u) {
        measures[pair] = length / nudge;
    }
}

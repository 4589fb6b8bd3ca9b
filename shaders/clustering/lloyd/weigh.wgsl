// Weights of a robust mean. Trimmed: 0 for the ⌊ct⌋ members of a cluster of c that come first in its list, which is by distance,
// and for as many that come last. Huber's: min(1, δ/‖x − a‖), which makes of the mean a step of Weiszfeld's. One item is one place
// in the lists.

#import state/cluster

struct Args {
    // Place of the clusters' members in the table.
    members: u32,
    // Place of the beginnings of the clusters' members in the table.
    beginnings: u32,
    // Place of the labels in the table.
    labels: u32,
    // State element that stops the kernel.
    guard: u32,
    // 1 to trim.
    trims: u32,
}

@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> nearest: array<real>;
@group(0) @binding(5) var<storage, read_write> weights: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = item(id);
    if (state[params.args.guard] != 0.0 || place >= params.count) {
        return;
    }
    let number = table[params.args.members + place];
    let cluster = table[params.args.labels + number];
    let begin = table[params.args.beginnings + cluster];
    let count = table[params.args.beginnings + cluster + 1u] - begin;
    var weight: real = 1.0;
    if (params.args.trims != 0u) {
        let cut = u32(real(count) * state[TRIM]);
        weight = select(real(0.0), real(1.0), place >= begin + cut && place + cut < begin + count);
    } else {
        let distance = sqrt(nearest[number]);
        if (distance > state[HUBER]) {
            weight = state[HUBER] / distance;
        }
    }
    weights[number] = weight;
}

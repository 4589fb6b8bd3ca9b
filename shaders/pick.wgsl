// The point that becomes the next anchor: the farthest from those that there are, of equals the last; or one at random, as probable
// as its squared distance (Arthur & Vassilvitskii 2007): the first up to which the sums exceed u of the whole. One workgroup.
//
// words0: workgroups' runs in a chunk, points of a chunk, points in all, 1 for at random
// words1: the number of the anchor, whose u there is; the table's place of the choice

@group(0) @binding(2) var<storage, read> uniforms: array<real>;
@group(0) @binding(3) var<storage, read_write> table: array<u32>;
@group(0) @binding(4) var<storage, read> nearest: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

var<workgroup> scratch: array<real, group_size>;
var<workgroup> places: array<u32, group_size>;
var<workgroup> chosen: u32;
var<workgroup> rest: real;

struct Run {
    start: u32,
    end: u32,
}

// The points of a run, as `run_of` cuts a chunk.
fn run_at(number: u32) -> Run {
    let chunk = number / params.words0.x;
    let begin = chunk * params.words0.y;
    let elements = min(params.words0.y, params.words0.z - begin);
    let length = (elements + params.words0.x - 1u) / params.words0.x;
    // Whole rounds of lanes.
    let rounds = (length + group_size - 1u) / group_size * group_size;
    let start = min((number % params.words0.x) * rounds, elements);
    return Run(begin + start, begin + min(start + rounds, elements));
}

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    let chunks = (params.words0.z + params.words0.y - 1u) / params.words0.y;
    let runs = chunks * params.words0.x;
    if (params.words0.w == 0u) {
        var peak: real = -1.0;
        var where_it_is = 0u;
        for (var i = lane; i < runs; i += group_size) {
            if (partials[2u * i] >= peak) {
                peak = partials[2u * i];
                where_it_is = i;
            }
        }
        scratch[lane] = peak;
        places[lane] = where_it_is;
        for (var half = group_size / 2u; half > 0u; half /= 2u) {
            workgroupBarrier();
            if (lane < half) {
                let other = scratch[lane + half];
                if (other > scratch[lane] || (other == scratch[lane] && places[lane + half] > places[lane])) {
                    scratch[lane] = other;
                    places[lane] = places[lane + half];
                }
            }
        }
        workgroupBarrier();
        let run = run_at(places[0]);
        let largest = scratch[0];
        var last = run.start;
        for (var i = run.start + lane; i < run.end; i += group_size) {
            if (nearest[i] >= largest) {
                last = i;
            }
        }
        workgroupBarrier();
        places[lane] = last;
        for (var half = group_size / 2u; half > 0u; half /= 2u) {
            workgroupBarrier();
            if (lane < half) {
                places[lane] = max(places[lane], places[lane + half]);
            }
        }
        if (lane == 0u) {
            table[params.words1.y] = places[0];
        }
        return;
    }
    if (lane == 0u) {
        var total: real = 0.0;
        for (var i = 0u; i < runs; i++) {
            total += partials[2u * i + 1u];
        }
        var left = total * uniforms[params.words1.x];
        var at = 0u;
        for (var i = 0u; i < runs; i++) {
            let sum = partials[2u * i + 1u];
            if (sum > 0.0) {
                at = i;
                if (left < sum) {
                    break;
                }
                left -= sum;
            }
        }
        chosen = at;
        rest = left;
    }
    workgroupBarrier();
    let run = run_at(chosen);
    // Lanes add up pieces of the run, then the piece is searched.
    let piece = (run.end - run.start + group_size - 1u) / group_size;
    let begin = min(run.start + lane * piece, run.end);
    let end = min(begin + piece, run.end);
    var sum: real = 0.0;
    for (var i = begin; i < end; i++) {
        sum += nearest[i];
    }
    scratch[lane] = sum;
    workgroupBarrier();
    if (lane == 0u) {
        var left = rest;
        var at = 0u;
        for (var i = 0u; i < group_size; i++) {
            if (scratch[i] > 0.0) {
                at = i;
                if (left < scratch[i]) {
                    break;
                }
                left -= scratch[i];
            }
        }
        var number = min(run.start + at * piece, run.end - 1u);
        for (var i = number; i < min(run.start + (at + 1u) * piece, run.end); i++) {
            if (nearest[i] > 0.0) {
                number = i;
                if (left < nearest[i]) {
                    break;
                }
                left -= nearest[i];
            }
        }
        table[params.words1.y] = number;
    }
}

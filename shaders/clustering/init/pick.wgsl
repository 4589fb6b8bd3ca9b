// The point that becomes the next anchor: the farthest from those that there are, of equals the last; or one at random, as probable
// as its squared distance (Arthur & Vassilvitskii 2007): the first up to which the sums exceed u of the whole. Every workgroup picks
// one, with a u of its own, and the next row starts there where all points are at hand.

#import clustering/shared/share_rows

struct Args {
    // Runs of workgroups in a chunk.
    runs: u32,
    // Points of a chunk.
    chunk_points: u32,
    // Points in all.
    points: u32,
    // 1 to choose at random.
    random: u32,
    // Place of the first u.
    uniform: u32,
    // Place of the first choice in the table.
    choice: u32,
    // Components of a point.
    dimensions: u32,
    // First row.
    row: u32,
    // 1 where all points are at hand.
    whole: u32,
}

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(2) var<storage, read> uniforms: array<real>;
@group(0) @binding(3) var<storage, read_write> table: array<u32>;
@group(0) @binding(4) var<storage, read> nearest: array<real>;
@group(0) @binding(5) var<storage, read_write> rows: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

// Lanes go together in bundles, for a barrier is dearer than a few additions.
const bundle: u32 = 16u;
const bundles: u32 = (group_size + bundle - 1u) / bundle;
var<workgroup> scratch: array<real, group_size>;
var<workgroup> places: array<u32, group_size>;
var<workgroup> bundled: array<real, bundles>;
var<workgroup> chosen: u32;
var<workgroup> picked: u32;
var<workgroup> rest: real;

// The points of a run of any chunk.
fn run_at(number: u32) -> Rows {
    let begin = number / params.args.runs * params.args.chunk_points;
    let rows = min(params.args.chunk_points, params.args.points - begin);
    let run = rows_of(number % params.args.runs, params.args.runs, rows, slots);
    return Rows(begin + run.start, begin + run.end);
}

// The largest of the lanes' values, of equals the last place.
fn last_of_largest(lane: u32, value: real, place: u32) -> u32 {
    workgroupBarrier();
    scratch[lane] = value;
    places[lane] = place;
    for (var width = bundle; width / bundle < group_size; width *= bundle) {
        let step = width / bundle;
        workgroupBarrier();
        if (lane % width == 0u) {
            for (var other = lane + step; other < min(lane + width, group_size); other += step) {
                if (scratch[other] > scratch[lane] || (scratch[other] == scratch[lane] && places[other] > places[lane])) {
                    scratch[lane] = scratch[other];
                    places[lane] = places[other];
                }
            }
        }
    }
    workgroupBarrier();
    return places[0];
}

// Which lane has the place where sums exceed what is left of them, or u of the whole where `part` says so; what is left then is less
// by the lanes before.
fn lane_of(lane: u32, sum: real, part: bool) -> u32 {
    scratch[lane] = sum;
    workgroupBarrier();
    if (lane % bundle == 0u) {
        var total: real = 0.0;
        for (var i = 0u; i < bundle; i++) {
            total += scratch[lane + i];
        }
        bundled[lane / bundle] = total;
    }
    workgroupBarrier();
    if (lane == 0u) {
        var left = rest;
        if (part) {
            var total: real = 0.0;
            for (var i = 0u; i < bundles; i++) {
                total += bundled[i];
            }
            left *= total;
        }
        var at = 0u;
        for (var i = 0u; i < bundles; i++) {
            if (bundled[i] > 0.0) {
                at = i;
                if (left < bundled[i]) {
                    break;
                }
                left -= bundled[i];
            }
        }
        let first = at * bundle;
        at = first;
        for (var i = first; i < first + bundle; i++) {
            if (scratch[i] > 0.0) {
                at = i;
                if (left < scratch[i]) {
                    break;
                }
                left -= scratch[i];
            }
        }
        chosen = at;
        rest = left;
    }
    workgroupBarrier();
    return chosen;
}

// A lane's piece of so many.
fn piece_of(lane: u32, count: u32) -> Rows {
    let length = (count + group_size - 1u) / group_size;
    return Rows(min(lane * length, count), min((lane + 1u) * length, count));
}

fn farthest_point(lane: u32, runs: u32) -> u32 {
    var peak: real = -1.0;
    var which = 0u;
    for (var i = lane; i < runs; i += group_size) {
        if (partials[2u * i] >= peak) {
            peak = partials[2u * i];
            which = i;
        }
    }
    let run = run_at(last_of_largest(lane, peak, which));
    var largest: real = -1.0;
    var last = run.start;
    for (var i = run.start + lane; i < run.end; i += group_size) {
        if (nearest[i] >= largest) {
            largest = nearest[i];
            last = i;
        }
    }
    return last_of_largest(lane, largest, last);
}

fn random_point(lane: u32, runs: u32, u: real) -> u32 {
    var piece = piece_of(lane, runs);
    var sum: real = 0.0;
    for (var i = piece.start; i < piece.end; i++) {
        sum += partials[2u * i + 1u];
    }
    if (lane == 0u) {
        rest = u;
    }
    piece = piece_of(lane_of(lane, sum, true), runs);
    if (lane == 0u) {
        var left = rest;
        var at = min(piece.start, runs - 1u);
        for (var i = piece.start; i < piece.end; i++) {
            let of_run = partials[2u * i + 1u];
            if (of_run > 0.0) {
                at = i;
                if (left < of_run) {
                    break;
                }
                left -= of_run;
            }
        }
        picked = at;
        rest = left;
    }
    workgroupBarrier();
    let run = run_at(picked);
    piece = piece_of(lane, run.end - run.start);
    sum = 0.0;
    for (var i = run.start + piece.start; i < run.start + piece.end; i++) {
        sum += nearest[i];
    }
    piece = piece_of(lane_of(lane, sum, false), run.end - run.start);
    if (lane == 0u) {
        var left = rest;
        var at = min(run.start + piece.start, run.end - 1u);
        for (var i = run.start + piece.start; i < run.start + piece.end; i++) {
            if (nearest[i] > 0.0) {
                at = i;
                if (left < nearest[i]) {
                    break;
                }
                left -= nearest[i];
            }
        }
        picked = at;
    }
    workgroupBarrier();
    return picked;
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let g = group_index(group);
    if (g >= params.group_count) {
        return;
    }
    let runs = (params.args.points + params.args.chunk_points - 1u) / params.args.chunk_points * params.args.runs;
    var point = 0u;
    if (params.args.random == 0u) {
        point = farthest_point(lane, runs);
    } else {
        point = random_point(lane, runs, uniforms[params.args.uniform + g]);
    }
    if (lane == 0u) {
        table[params.args.choice + g] = point;
    }
    if (params.args.whole != 0u) {
        let dimensions = params.args.dimensions;
        for (var k = lane; k < dimensions; k += group_size) {
            rows[(params.args.row + g) * dimensions + k] = points[point * dimensions + k];
        }
    }
}

// The nearest anchor of every point of a chunk, and how far the nearest and the second nearest are: as squared distances
// Σ(x − a)², or as ‖x‖² + ‖a‖² − 2x·a, which takes two thirds of the operations. A workgroup has a tile of points and goes through
// all anchors, a tile of them at a time; a lane has 8×8 pairs of a tile. Distances are never stored. Ties go to the lowest anchor.

#import clustering/shared/tile
#import shared/reduce

struct Args {
    // Points of the chunk.
    points: u32,
    // Components of a point.
    dimensions: u32,
    // Anchors of the piece.
    anchors: u32,
    // First anchor of the piece.
    first_anchor: u32,
    // First point of the chunk.
    first_point: u32,
    // Place of the labels in the table.
    labels: u32,
    // Place of the candidates in the table; in the end, of the labels before.
    candidates: u32,
    // 1 for sums of squared differences + 2 in the first piece + 4 in the last + 8 where a twin adds four squares at a time.
    flags: u32,
    // State element that stops the kernel.
    guard: u32,
    // First partial.
    partial: u32,
    // Points in all.
    all_points: u32,
}

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(2) var<storage, read> anchors: array<real>;
@group(0) @binding(3) var<storage, read_write> table: array<u32>;
@group(0) @binding(4) var<storage, read> squares: array<real>;
@group(0) @binding(5) var<storage, read_write> nearest: array<real>;
@group(0) @binding(6) var<storage, read> norms: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

fn left_at(row: u32, k: u32) -> real {
    if (row < params.args.points && k < params.args.dimensions) {
        return points[row * params.args.dimensions + k];
    }
    return 0.0;
}

fn right_at(row: u32, k: u32) -> real {
    if (row < params.args.anchors && k < params.args.dimensions) {
        return anchors[row * params.args.dimensions + k];
    }
    return 0.0;
}

var<workgroup> best_of: array<real, group_size>;
var<workgroup> second_of: array<real, group_size>;
var<workgroup> which_of: array<u32, group_size>;

struct Candidate {
    best: real,
    second: real,
    which: u32,
}

fn better(a: Candidate, b: Candidate) -> Candidate {
    if (b.best < a.best || (b.best == a.best && b.which < a.which)) {
        return Candidate(b.best, min(a.best, b.second), b.which);
    }
    return Candidate(a.best, min(a.second, b.best), a.which);
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    if (state[params.args.guard] != 0.0) {
        return;
    }
    let column = lane % columns;
    let g = group_index(group);
    let first = g * 8u * rows;
    let differences = (params.args.flags & 1u) != 0u;
    var best: array<real, 8>;
    var second: array<real, 8>;
    var which: array<u32, 8>;
    for (var i = 0u; i < 8u; i++) {
        best[i] = 3e38;
        second[i] = 3e38;
        which[i] = 0u;
    }
    for (var start = 0u; start < params.args.anchors; start += 8u * columns) {
        multiply_tile(lane, first, start, 0u, params.args.dimensions, differences);
        for (var c = 0u; c < 8u; c++) {
            // Ascending, so that the first of equals stays.
            let a = start + tile_column(lane, c);
            if (a < params.args.anchors) {
                let norm = norms[a];
                for (var i = 0u; i < 8u; i++) {
                    let sum = tile_value(i, c);
                    let score = select(norm - 2.0 * sum, sum, differences);
                    if (score < best[i]) {
                        second[i] = best[i];
                        best[i] = score;
                        which[i] = a;
                    } else if (score < second[i]) {
                        second[i] = score;
                    }
                }
            }
        }
    }
    var changed: real = 0.0;
    for (var i = 0u; i < 8u; i++) {
        workgroupBarrier();
        best_of[lane] = best[i];
        second_of[lane] = second[i];
        which_of[lane] = which[i];
        workgroupBarrier();
        let p = first + tile_row(lane, i);
        if (column == 0u && p < params.args.points) {
            var found = Candidate(best[i], second[i], which[i]);
            for (var c = 1u; c < columns; c++) {
                found = better(found, Candidate(best_of[lane + c], second_of[lane + c], which_of[lane + c]));
            }
            let number = params.args.first_point + p;
            let square = select(squares[number], real(0.0), differences);
            found = Candidate(max(found.best + square, 0.0), max(found.second + square, 0.0), found.which + params.args.first_anchor);
            if ((params.args.flags & 2u) == 0u) {
                found = better(Candidate(nearest[number], nearest[params.args.all_points + number], table[params.args.candidates + number]), found);
            }
            nearest[number] = found.best;
            nearest[params.args.all_points + number] = found.second;
            if ((params.args.flags & 4u) == 0u) {
                table[params.args.candidates + number] = found.which;
            } else {
                let before = table[params.args.labels + number];
                changed += select(real(0.0), real(1.0), before != found.which);
                table[params.args.candidates + number] = before;
                table[params.args.labels + number] = found.which;
            }
        }
    }
    let total = group_sum(lane, changed);
    if (lane == 0u && g < params.group_count) {
        partials[params.args.partial + g] = total;
    }
}

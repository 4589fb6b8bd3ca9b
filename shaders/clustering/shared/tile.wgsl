// What is common to the kernels that multiply: Σ_k l(p, k)·r(a, k), or Σ_k (l(p, k) − r(a, k))², for a tile of rows p and columns a,
// where a kernel says what `left_at(p, k)` and `right_at(a, k)` are (0 outside). A lane has 8×8 of a tile: rows
// first + 4(row + i·rows) + c and columns start + 4(column + i·columns) + c, for i of 0 and 1 and c below 4.

// Lanes of a workgroup stand in rows, which have points, and columns, which have anchors.
const columns: u32 = 1u << (countOneBits(group_size - 1u) / 2u);
const rows: u32 = group_size / columns;
const slab: u32 = 8u;

var<workgroup> left: array<vec4<real>, 2u * rows * slab>;
var<workgroup> right: array<vec4<real>, 2u * columns * slab>;
// By rows, the first and the second four columns.
var<private> low: array<vec4<real>, 8>;
var<private> high: array<vec4<real>, 8>;

// What a lane brings of a slab: so many fours of each side.
const left_turns: u32 = 2u * slab / columns;
const right_turns: u32 = 2u * slab / rows;
var<private> left_next: array<vec4<real>, left_turns>;
var<private> right_next: array<vec4<real>, right_turns>;

fn fetch_slab(lane: u32, first: u32, start: u32, k0: u32, end: u32) {
    for (var turn = 0u; turn < left_turns; turn++) {
        let e = lane + turn * group_size;
        let k = k0 + e % slab;
        let p = first + 4u * (e / slab);
        var four = vec4<real>(0.0);
        if (k < end) {
            four = vec4<real>(left_at(p, k), left_at(p + 1u, k), left_at(p + 2u, k), left_at(p + 3u, k));
        }
        left_next[turn] = four;
    }
    for (var turn = 0u; turn < right_turns; turn++) {
        let e = lane + turn * group_size;
        let k = k0 + e % slab;
        let a = start + 4u * (e / slab);
        var four = vec4<real>(0.0);
        if (k < end) {
            four = vec4<real>(right_at(a, k), right_at(a + 1u, k), right_at(a + 2u, k), right_at(a + 3u, k));
        }
        right_next[turn] = four;
    }
}

fn multiply_tile(lane: u32, first: u32, start: u32, begin: u32, end: u32, differences: bool) {
    let column = lane % columns;
    let row = lane / columns;
    for (var i = 0u; i < 8u; i++) {
        low[i] = vec4<real>(0.0);
        high[i] = vec4<real>(0.0);
    }
    // The next slab is on its way while this one is multiplied.
    fetch_slab(lane, first, start, begin, end);
    for (var k0 = begin; k0 < end; k0 += slab) {
        workgroupBarrier();
        for (var turn = 0u; turn < left_turns; turn++) {
            let e = lane + turn * group_size;
            left[(e % slab) * 2u * rows + e / slab] = left_next[turn];
        }
        for (var turn = 0u; turn < right_turns; turn++) {
            let e = lane + turn * group_size;
            right[(e % slab) * 2u * columns + e / slab] = right_next[turn];
        }
        workgroupBarrier();
        if (k0 + slab < end) {
            fetch_slab(lane, first, start, k0 + slab, end);
        }
        if (differences) {
            for (var k = 0u; k < slab; k++) {
                let x0 = left[k * 2u * rows + row];
                let x1 = left[k * 2u * rows + rows + row];
                let a0 = right[k * 2u * columns + column];
                let a1 = right[k * 2u * columns + columns + column];
                for (var i = 0u; i < 4u; i++) {
                    let d0 = vec4<real>(x0[i]) - a0;
                    let d1 = vec4<real>(x0[i]) - a1;
                    let d2 = vec4<real>(x1[i]) - a0;
                    let d3 = vec4<real>(x1[i]) - a1;
                    low[i] += d0 * d0;
                    high[i] += d1 * d1;
                    low[i + 4u] += d2 * d2;
                    high[i + 4u] += d3 * d3;
                }
            }
        } else {
            for (var k = 0u; k < slab; k++) {
                let x0 = left[k * 2u * rows + row];
                let x1 = left[k * 2u * rows + rows + row];
                let a0 = right[k * 2u * columns + column];
                let a1 = right[k * 2u * columns + columns + column];
                for (var i = 0u; i < 4u; i++) {
                    low[i] += x0[i] * a0;
                    high[i] += x0[i] * a1;
                    low[i + 4u] += x1[i] * a0;
                    high[i + 4u] += x1[i] * a1;
                }
            }
        }
    }
}

fn tile_row(lane: u32, i: u32) -> u32 {
    return 4u * (lane / columns + select(0u, rows, i >= 4u)) + i % 4u;
}

fn tile_column(lane: u32, c: u32) -> u32 {
    return 4u * (lane % columns + select(0u, columns, c >= 4u)) + c % 4u;
}

fn tile_value(i: u32, c: u32) -> real {
    return select(low[i][c % 4u], high[i][c % 4u], c >= 4u);
}

// What is common to the kernels of attention: products of a tile of rows with a tile of columns, Σ_k l(p, k)·r(a, k), and sums of the
// columns' own rows of a matrix, weighted with what became of the products. A kernel says what `left_at(which, p, k)`,
// `right_at(which, a, k)` and `entry_at(which, a, c)` are (0 outside). A lane has 4×4 of a tile, rows first + 4 row + r and columns
// start + 4 column + c, and of a row's sums the entries `stretch`·chunk + 4(column + w·columns) + c.

#import functions/exponential

const columns: u32 = 1u << (countOneBits(group_size - 1u) / 2u);
const rows: u32 = group_size / columns;

// Entries of rows and columns that are multiplied from workgroup memory at a time. Between two of them stands a place that nobody
// uses: lanes that write side by side find different banks.
const slab: u32 = 8u;
const pitch: u32 = rows + columns + 1u;
const fetches: u32 = (slab * (rows + columns) + group_size - 1u) / group_size;

// Entries of a sum that a workgroup makes, and how many fours of them a lane has.
const stretch: u32 = 64u;
const wide: u32 = stretch / 4u / columns;

// Columns of which weights and rows are in workgroup memory at a time: with all of them, large tiles would not fit into 16 KiB.
const parts: u32 = (group_size + 127u) / 128u;
const held: u32 = 4u * columns / parts;

var<workgroup> weights: array<vec4<real>, held * rows>;
var<workgroup> slabs: array<vec4<real>, held * stretch / 4u>;

// Four rows of every column of a lane, and, entry by entry, four entries of every row.
var<private> product: array<vec4<real>, 4>;
var<private> sums: array<vec4<real>, 4u * wide>;
var<private> next: array<vec4<real>, fetches>;

fn fetch_slab(lane: u32, which: u32, first: u32, start: u32, k0: u32, end: u32) {
    for (var turn = 0u; turn < fetches; turn++) {
        let place = lane + turn * group_size;
        let k = k0 + place % slab;
        var four = vec4<real>(0.0);
        if (k < end) {
            if (place / slab < rows) {
                let p = first + 4u * (place / slab);
                four = vec4<real>(left_at(which, p, k), left_at(which, p + 1u, k), left_at(which, p + 2u, k), left_at(which, p + 3u, k));
            } else if (place / slab < rows + columns) {
                let a = start + 4u * (place / slab - rows);
                four = vec4<real>(right_at(which, a, k), right_at(which, a + 1u, k), right_at(which, a + 2u, k), right_at(which, a + 3u, k));
            }
        }
        next[turn] = four;
    }
}

fn multiply_rows(lane: u32, which: u32, first: u32, start: u32, end: u32) {
    for (var c = 0u; c < 4u; c++) {
        product[c] = vec4<real>(0.0);
    }
    // The next slab is on its way while this one is multiplied.
    fetch_slab(lane, which, first, start, 0u, end);
    for (var k0 = 0u; k0 < end; k0 += slab) {
        workgroupBarrier();
        for (var turn = 0u; turn < fetches; turn++) {
            let place = lane + turn * group_size;
            if (place < slab * (rows + columns)) {
                slabs[place % slab * pitch + place / slab] = next[turn];
            }
        }
        workgroupBarrier();
        if (k0 + slab < end) {
            fetch_slab(lane, which, first, start, k0 + slab, end);
        }
        for (var k = 0u; k < slab; k++) {
            let x = slabs[k * pitch + lane / columns];
            let a = slabs[k * pitch + rows + lane % columns];
            for (var c = 0u; c < 4u; c++) {
                product[c] += x * a[c];
            }
        }
    }
}

// Adds Σ_a w(p, a)·entry(a, c) to the sums, w being what `product` holds.
fn add_weighted(lane: u32, which: u32, start: u32, chunk: u32) {
    let column = lane % columns;
    let row = lane / columns;
    for (var part = 0u; part < parts; part++) {
        workgroupBarrier();
        if (4u * column / held == part) {
            for (var c = 0u; c < 4u; c++) {
                weights[(4u * column % held + c) * rows + row] = product[c];
            }
        }
        for (var place = lane; place < held * stretch / 4u; place += group_size) {
            let a = start + part * held + place / (stretch / 4u);
            let c = chunk * stretch + 4u * (place % (stretch / 4u));
            slabs[place] =
                vec4<real>(entry_at(which, a, c), entry_at(which, a, c + 1u), entry_at(which, a, c + 2u), entry_at(which, a, c + 3u));
        }
        workgroupBarrier();
        for (var a = 0u; a < held; a++) {
            let weight = weights[a * rows + row];
            for (var w = 0u; w < wide; w++) {
                let entries = slabs[a * (stretch / 4u) + column + w * columns];
                for (var r = 0u; r < 4u; r++) {
                    sums[4u * w + r] += weight[r] * entries;
                }
            }
        }
    }
}

// The entry that a lane's sum 4w + r has at c.
fn sum_column(lane: u32, chunk: u32, w: u32, c: u32) -> u32 {
    return chunk * stretch + 4u * (lane % columns + w * columns) + c;
}

// eˣ for x ≤ 0, where −1000 and less is 0; what is no number stays none.
fn powers(x: vec4<real>) -> vec4<real> {
    let above = select(x, vec4<real>(-1000.0), x < vec4<real>(-1000.0));
    return vec4<real>(exponential(above.x), exponential(above.y), exponential(above.z), exponential(above.w));
}

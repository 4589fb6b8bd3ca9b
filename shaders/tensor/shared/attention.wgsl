// What is common to the kernels of attention: products of a tile of rows with a tile of columns, Σ_k l(p, k)·r(a, k), and sums of the
// columns' own rows of a matrix, weighted with what became of the products. A kernel says what `left_at(which, p, k)`,
// `right_at(which, a, k)` and `entry_at(which, a, c)` are (0 outside), and where an entry goes: `store(which, p, c, sum)`. A lane has
// 4×4 of a tile, rows first + 4 row + r and columns start + 4 column + c, and of a row's sums the entries `stretch`·chunk + 4 column + c
// and, where a lane has two fours of them, the same 4·`columns` further.
//
// Private arrays are indexed with numbers only. Vulkan's compilers keep one in memory as soon as a loop counts an index of it.

#import functions/exponential

const columns: u32 = 1u << (countOneBits(group_size - 1u) / 2u);
const rows: u32 = group_size / columns;

// Entries of rows and columns that are multiplied from workgroup memory at a time. Between two of them stands a place that nobody
// uses: lanes that write side by side find different banks.
const slab: u32 = 8u;
const pitch: u32 = rows + columns + 1u;
// A lane brings one or two fours of them.
const has_second: bool = slab * (rows + columns) > group_size;

// Entries of a sum that a workgroup makes. Four or eight of them are a lane's.
const stretch: u32 = 64u;
const is_wide: bool = stretch > 4u * columns;

// Columns of which weights and rows are in workgroup memory at a time: with all of them, large tiles would not fit into 16 KiB.
const parts: u32 = (group_size + 127u) / 128u;
const held: u32 = 4u * columns / parts;

var<workgroup> weights: array<vec4<real>, held * rows>;
var<workgroup> slabs: array<vec4<real>, held * stretch / 4u>;

// Four rows of every column of a lane.
var<private> product: array<vec4<real>, 4>;

// Four entries of every row, and four more where a lane has eight.
struct Sums {
    near: array<vec4<real>, 4>,
    far: array<vec4<real>, 4>,
}
var<private> sums: Sums;

var<private> next: array<vec4<real>, 2>;

fn fetched(place: u32, which: u32, first: u32, start: u32, k0: u32, end: u32) -> vec4<real> {
    let k = k0 + place % slab;
    if (k < end) {
        if (place / slab < rows) {
            let p = first + 4u * (place / slab);
            return vec4<real>(left_at(which, p, k), left_at(which, p + 1u, k), left_at(which, p + 2u, k), left_at(which, p + 3u, k));
        }
        if (place / slab < rows + columns) {
            let a = start + 4u * (place / slab - rows);
            return vec4<real>(right_at(which, a, k), right_at(which, a + 1u, k), right_at(which, a + 2u, k), right_at(which, a + 3u, k));
        }
    }
    return vec4<real>(0.0);
}

fn fetch_slab(lane: u32, which: u32, first: u32, start: u32, k0: u32, end: u32) {
    next[0] = fetched(lane, which, first, start, k0, end);
    if (has_second) {
        next[1] = fetched(lane + group_size, which, first, start, k0, end);
    }
}

fn hold(place: u32, four: vec4<real>) {
    if (place < slab * (rows + columns)) {
        slabs[place % slab * pitch + place / slab] = four;
    }
}

fn multiply_rows(lane: u32, which: u32, first: u32, start: u32, end: u32) {
    product[0] = vec4<real>(0.0);
    product[1] = vec4<real>(0.0);
    product[2] = vec4<real>(0.0);
    product[3] = vec4<real>(0.0);
    // The next slab is on its way while this one is multiplied.
    fetch_slab(lane, which, first, start, 0u, end);
    for (var k0 = 0u; k0 < end; k0 += slab) {
        workgroupBarrier();
        hold(lane, next[0]);
        if (has_second) {
            hold(lane + group_size, next[1]);
        }
        workgroupBarrier();
        if (k0 + slab < end) {
            fetch_slab(lane, which, first, start, k0 + slab, end);
        }
        for (var k = 0u; k < slab; k++) {
            let x = slabs[k * pitch + lane / columns];
            let a = slabs[k * pitch + rows + lane % columns];
            product[0] += x * a.x;
            product[1] += x * a.y;
            product[2] += x * a.z;
            product[3] += x * a.w;
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
            let place = 4u * column % held * rows + row;
            weights[place] = product[0];
            weights[place + rows] = product[1];
            weights[place + 2u * rows] = product[2];
            weights[place + 3u * rows] = product[3];
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
            let entries = slabs[a * (stretch / 4u) + column];
            sums.near[0] += weight.x * entries;
            sums.near[1] += weight.y * entries;
            sums.near[2] += weight.z * entries;
            sums.near[3] += weight.w * entries;
            if (is_wide) {
                let further = slabs[a * (stretch / 4u) + column + columns];
                sums.far[0] += weight.x * further;
                sums.far[1] += weight.y * further;
                sums.far[2] += weight.z * further;
                sums.far[3] += weight.w * further;
            }
        }
    }
}

// Stores what a lane has of a row's sums.
fn store_row(lane: u32, which: u32, chunk: u32, p: u32, near: vec4<real>, far: vec4<real>) {
    let c = chunk * stretch + 4u * (lane % columns);
    store_four(which, p, c, near);
    if (is_wide) {
        store_four(which, p, c + 4u * columns, far);
    }
}

fn store_four(which: u32, p: u32, c: u32, four: vec4<real>) {
    store(which, p, c, four.x);
    store(which, p, c + 1u, four.y);
    store(which, p, c + 2u, four.z);
    store(which, p, c + 3u, four.w);
}

// eˣ for x ≤ 0, where −1000 and less is 0; what is no number stays none.
fn powers(x: vec4<real>) -> vec4<real> {
    let above = select(x, vec4<real>(-1000.0), x < vec4<real>(-1000.0));
    return vec4<real>(exponential(above.x), exponential(above.y), exponential(above.z), exponential(above.w));
}

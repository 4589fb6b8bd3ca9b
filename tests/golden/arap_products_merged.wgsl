@group(0) @binding(2) var<storage, read> data: array<real>;
@group(0) @binding(3) var<storage, read> index: array<u32>;
@group(0) @binding(4) var<storage, read> vector_in: array<real>;
@group(0) @binding(5) var<storage, read_write> vector_out: array<real>;
@group(0) @binding(6) var<storage, read> jacobian: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

struct Args {
    none: u32,
}

// Columns do not begin in the same bank of memory.
const tile_column: u32 = group_size + 11u;
var<workgroup> tile: array<real, 6u * tile_column>;

struct Item {
    begin: u32,
    end: u32,
    column: u32,
    negative: bool,
    to: u32,
}

fn locate_0(k: u32, items: u32, starts: u32, count: u32, index_base: u32) -> Item {
    let rows = items / 6u;
    var item = Item();
    var row = 0u;
    var stride = 0u;
    if (k < rows * 3u) {
        let component = k % 3u;
        row = k / 3u;
        stride = 3u;
        item.to = index[index_base + 5] + component;
        item.column = (0u + component) * tile_column;
        item.negative = false;
    } else {
        let component = (k - rows * 3u) % 3u;
        row = (k - rows * 3u) / 3u;
        stride = 3u;
        item.to = index[index_base + 7] + component;
        item.column = (3u + component) * tile_column;
        item.negative = false;
    }
    item.begin = index[index_base + starts + row];
    item.to += index[index_base + 10u + 0u * count + item.begin] * stride;
    item.end = index[index_base + starts + row + 1u];
    return item;
}

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    if (state[11] != 0.0) {
        return;
    }
    let workgroup = group_index(group);
    if (workgroup >= params.group_count) {
        return;
    }
    // The line of its part.
    let at = index[workgroup];
    let first_group = index[at + 0u];
    let program = index[at + 1u];
    let count = index[at + 2u];
    let index_base = index[at + 3u];
    let data_base = index[at + 4u];
    let jacobian_base = index[at + 5u];
    let column_base = index[at + 6u];
    let vector_base = index[at + 7u];
    let number = workgroup - first_group;
    if (program == 0u) {
    let tiles = index[at + 8u] + 2u * number;
    let first_row = index[index_base + tiles];
    let start = index[index_base + tiles + 1u];
    let items = (index[index_base + tiles + 2u] - first_row) * 6u;
    let lanes = index[index_base + tiles + 3u] - start;
    let i = start + lane;
    if (lane < lanes) {
        let a0 = index[index_base + 7] + index[index_base + 10u + i] * 3u;
        let a1 = index[index_base + 6] + index[index_base + 10u + count + i] * 3u;
        let a2 = index[index_base + 5] + index[index_base + 10u + i] * 3u;
        let v0: real = vector_in[a0 + 0u];
        let v1: real = jacobian[jacobian_base + 3u * count + i];
        let v2: real = v1 * v0;
        let v3: real = vector_in[a1 + 0u];
        let v4: real = vector_in[a2 + 0u];
        let v5: real = v4 - v3;
        let v6: real = v5 - v2;
        let v7: real = vector_in[a0 + 1u];
        let v8: real = jacobian[jacobian_base + 4u * count + i];
        let v9: real = v8 * v7 + v6;
        let v10: real = vector_in[a0 + 2u];
        let v11: real = jacobian[jacobian_base + 5u * count + i];
        let v12: real = v11 * v10 + v9;
        let v13: real = data[data_base + 0];
        let v14: real = v13 * v12;
        let v15: real = vector_in[a1 + 1u];
        let v16: real = vector_in[a2 + 1u];
        let v17: real = v16 - v15;
        let v18: real = jacobian[jacobian_base + 6u * count + i];
        let v19: real = v18 * v0 + v17;
        let v20: real = jacobian[jacobian_base + 7u * count + i];
        let v21: real = v20 * v7 + v19;
        let v22: real = jacobian[jacobian_base + 8u * count + i];
        let v23: real = v22 * v10;
        let v24: real = v21 - v23;
        let v25: real = v13 * v24;
        let v26: real = vector_in[a1 + 2u];
        let v27: real = vector_in[a2 + 2u];
        let v28: real = v27 - v26;
        let v29: real = jacobian[jacobian_base + 9u * count + i];
        let v30: real = v29 * v0 + v28;
        let v31: real = jacobian[jacobian_base + 10u * count + i];
        let v32: real = v31 * v7 + v30;
        let v33: real = v13 * v32;
        let v34: real = v1 * v14;
        let v35: real = v18 * v25;
        let v36: real = v35 - v34;
        let v37: real = v29 * v33 + v36;
        let v38: real = v20 * v25;
        let v39: real = v8 * v14 + v38;
        let v40: real = v31 * v33 + v39;
        let v41: real = v22 * v25;
        let v42: real = v11 * v14;
        let v43: real = v42 - v41;
        tile[lane] = v14;
        tile[tile_column + lane] = v25;
        tile[2u * tile_column + lane] = v33;
        tile[3u * tile_column + lane] = v37;
        tile[4u * tile_column + lane] = v40;
        tile[5u * tile_column + lane] = v43;
    }
    // Where the rows' sums go is looked up while the tile is on its way.
    var item = Item();
    if (lane < items) {
        item = locate_0(lane, items, index[at + 9u] + first_row, count, index_base);
    }
    workgroupBarrier();
    for (var k = lane; k < lanes * 3u; k += group_size) {
        vector_out[column_base + start * 3u + k] = tile[k % 3u * tile_column + k / 3u];
    }
    for (var k = lane; k < items; k += group_size) {
        if (k != lane) {
            item = locate_0(k, items, index[at + 9u] + first_row, count, index_base);
        }
        var sum: real = 0.0;
        for (var j = item.begin - start; j < item.end - start; j++) {
            sum += tile[item.column + j];
        }
        partials[vector_base + item.to] = select(sum, -sum, item.negative);
    }
    } else if (program == 1u) {
    let i = number * group_size + lane;
    if (i < count) {
        let a0 = index[index_base + 7] + index[index_base + 10u + i] * 3u;
        let a1 = index[index_base + 6] + index[index_base + 10u + count + i] * 3u;
        let a2 = index[index_base + 5] + index[index_base + 10u + i] * 3u;
        let v0: real = vector_in[a0 + 0u];
        let v1: real = jacobian[jacobian_base + 3u * count + i];
        let v2: real = v1 * v0;
        let v3: real = vector_in[a1 + 0u];
        let v4: real = vector_in[a2 + 0u];
        let v5: real = v4 - v3;
        let v6: real = v5 - v2;
        let v7: real = vector_in[a0 + 1u];
        let v8: real = jacobian[jacobian_base + 4u * count + i];
        let v9: real = v8 * v7 + v6;
        let v10: real = vector_in[a0 + 2u];
        let v11: real = jacobian[jacobian_base + 5u * count + i];
        let v12: real = v11 * v10 + v9;
        let v13: real = data[data_base + 0];
        let v14: real = v13 * v12;
        let v15: real = vector_in[a1 + 1u];
        let v16: real = vector_in[a2 + 1u];
        let v17: real = v16 - v15;
        let v18: real = jacobian[jacobian_base + 6u * count + i];
        let v19: real = v18 * v0 + v17;
        let v20: real = jacobian[jacobian_base + 7u * count + i];
        let v21: real = v20 * v7 + v19;
        let v22: real = jacobian[jacobian_base + 8u * count + i];
        let v23: real = v22 * v10;
        let v24: real = v21 - v23;
        let v25: real = v13 * v24;
        let v26: real = vector_in[a1 + 2u];
        let v27: real = vector_in[a2 + 2u];
        let v28: real = v27 - v26;
        let v29: real = jacobian[jacobian_base + 9u * count + i];
        let v30: real = v29 * v0 + v28;
        let v31: real = jacobian[jacobian_base + 10u * count + i];
        let v32: real = v31 * v7 + v30;
        let v33: real = v13 * v32;
        let v34: real = v1 * v14;
        let v35: real = v18 * v25;
        let v36: real = v35 - v34;
        let v37: real = v29 * v33 + v36;
        let v38: real = v20 * v25;
        let v39: real = v8 * v14 + v38;
        let v40: real = v31 * v33 + v39;
        let v41: real = v22 * v25;
        let v42: real = v11 * v14;
        let v43: real = v42 - v41;
        vector_out[column_base + i] = v14;
        vector_out[column_base + count + i] = v25;
        vector_out[column_base + 2u * count + i] = v33;
        vector_out[column_base + 3u * count + i] = v37;
        vector_out[column_base + 4u * count + i] = v40;
        vector_out[column_base + 5u * count + i] = v43;
    }
    }
}

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
var<workgroup> tile: array<real, 4u * tile_column>;

struct Item {
    begin: u32,
    end: u32,
    column: u32,
    negative: bool,
    to: u32,
}

fn codes0_0(component: u32) -> u32 {
    switch component {
        case 0u: {
            return 2147483651u;
        }
        case 1u: {
            return 4u;
        }
        default: {
            return 0u;
        }
    }
}

fn locate_0(k: u32, items: u32, starts: u32, count: u32, index_base: u32) -> Item {
    let rows = items / 3u;
    var item = Item();
    var row = 0u;
    var stride = 0u;
    var has_column = true;
    {
        let component = k % 3u;
        row = k / 3u;
        stride = 3u;
        item.to = index[index_base + 2] + component;
        let code = codes0_0(component);
        item.column = (max(code & 0x7fffffffu, 1u) - 1u) * tile_column;
        item.negative = (code >> 31u) != 0u;
        has_column = code != 0u;
    }
    item.begin = index[index_base + starts + row];
    item.to += index[index_base + 4u + 0u * count + item.begin] * stride;
    item.end = select(item.begin, index[index_base + starts + row + 1u], has_column);
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
    let items = (index[index_base + tiles + 2u] - first_row) * 3u;
    let lanes = index[index_base + tiles + 3u] - start;
    let i = start + lane;
    if (lane < lanes) {
        let a0 = index[index_base + 2] + index[index_base + 4u + i] * 3u;
        let a1 = index[index_base + 3] + index[index_base + 4u + count + i] * 3u;
        let v0: real = vector_in[a0 + 0u];
        let v1: real = jacobian[jacobian_base + count + i];
        let v2: real = v1 * v0;
        let v3: real = vector_in[a0 + 1u];
        let v4: real = jacobian[jacobian_base + 2u * count + i];
        let v5: real = v4 * v3;
        let v6: real = v5 - v2;
        let v7: real = vector_in[a1 + 0u];
        let v8: real = jacobian[jacobian_base + 3u * count + i];
        let v9: real = v8 * v7 + v6;
        let v10: real = vector_in[a1 + 1u];
        let v11: real = jacobian[jacobian_base + 4u * count + i];
        let v12: real = v11 * v10 + v9;
        let v13: real = data[data_base + 0];
        let v14: real = v13 * v12;
        let v15: real = v1 * v14;
        let v16: real = v4 * v14;
        let v17: real = v8 * v14;
        let v18: real = v11 * v14;
        tile[lane] = v17;
        tile[tile_column + lane] = v18;
        tile[2u * tile_column + lane] = v15;
        tile[3u * tile_column + lane] = v16;
    }
    // Where the rows' sums go is looked up while the tile is on its way.
    var item = Item();
    if (lane < items) {
        item = locate_0(lane, items, index[at + 9u] + first_row, count, index_base);
    }
    workgroupBarrier();
    for (var k = lane; k < lanes * 2u; k += group_size) {
        vector_out[column_base + start * 2u + k] = tile[k % 2u * tile_column + k / 2u];
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
        let a0 = index[index_base + 2] + index[index_base + 4u + i] * 3u;
        let a1 = index[index_base + 3] + index[index_base + 4u + count + i] * 3u;
        let v0: real = vector_in[a0 + 0u];
        let v1: real = jacobian[jacobian_base + count + i];
        let v2: real = v1 * v0;
        let v3: real = vector_in[a0 + 1u];
        let v4: real = jacobian[jacobian_base + 2u * count + i];
        let v5: real = v4 * v3;
        let v6: real = v5 - v2;
        let v7: real = vector_in[a1 + 0u];
        let v8: real = jacobian[jacobian_base + 3u * count + i];
        let v9: real = v8 * v7 + v6;
        let v10: real = vector_in[a1 + 1u];
        let v11: real = jacobian[jacobian_base + 4u * count + i];
        let v12: real = v11 * v10 + v9;
        let v13: real = data[data_base + 0];
        let v14: real = v13 * v12;
        let v15: real = v1 * v14;
        let v16: real = v4 * v14;
        let v17: real = v8 * v14;
        let v18: real = v11 * v14;
        vector_out[column_base + i] = v15;
        vector_out[column_base + count + i] = v16;
        vector_out[column_base + 2u * count + i] = v17;
        vector_out[column_base + 3u * count + i] = v18;
    }
    }
}

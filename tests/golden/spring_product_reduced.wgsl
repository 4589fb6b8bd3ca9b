@group(0) @binding(1) var<storage, read> arena: array<u32>;
@group(0) @binding(2) var<storage, read> data: array<real>;
@group(0) @binding(3) var<storage, read> index: array<u32>;
@group(0) @binding(4) var<storage, read> vector_in: array<real>;
@group(0) @binding(5) var<storage, read_write> vector_out: array<real>;
@group(0) @binding(6) var<storage, read> jacobian: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

struct Args {
    // Instances.
    instances: u32,
    // Word of the tiles, in the arena's slot, with the first row's beginning.
    starts: u32,
    // First element of the eliminated variables' inverted blocks, in the slot of partial sums.
    block: u32,
}

// Columns do not begin in the same bank of memory.
const tile_column: u32 = group_size + 11u;
var<workgroup> tile: array<real, 3u * tile_column>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    if (state[11] != 0.0) {
        return;
    }
    let count = params.args.instances;
    let number = group_index(group);
    if (number >= params.group_count) {
        return;
    }
    // Two words a tile: its first row and its first instance.
    let first_row = arena[2u * number];
    let start = arena[2u * number + 1u];
    let rows = arena[2u * number + 2u] - first_row;
    let lanes = arena[2u * number + 3u] - start;
    // Lanes beyond the last instance compute what it does, and store nothing.
    let i = start + min(lane, lanes - 1u);
    let a0 = index[2] + index[4u + i] * 3u;
    let owner = index[4u + count + i];
    let v0: real = vector_in[a0 + 1u];
    let v1: real = jacobian[2u * count + i];
    let v2: real = v1 * v0;
    let v3: real = vector_in[a0 + 0u];
    let v4: real = jacobian[count + i];
    let v5: real = v4 * v3 + v2;
    let v6: real = vector_in[a0 + 2u];
    let v7: real = jacobian[3u * count + i];
    let v8: real = v7 * v6 + v5;
    let v9: real = data[0];
    let v10: real = v9 * v8;
    let v11: real = v4 * v10;
    let v12: real = -v11;
    let v13: real = v1 * v10;
    let v14: real = -v13;
    let v15: real = v7 * v10;
    let v16: real = -v15;
    if (lane < lanes) {
        tile[lane] = v12;
        tile[tile_column + lane] = v14;
        tile[2u * tile_column + lane] = v16;
    }
    workgroupBarrier();
    // Every row is added up, and all of its instances get the sum.
    for (var k = lane; k < rows * 3u; k += group_size) {
        let row = params.args.starts + first_row + k / 3u;
        let first = k % 3u * tile_column;
        let begin = first + arena[row] - start;
        let end = first + arena[row + 1u] - start;
        var sum: real = 0.0;
        for (var j = begin; j < end; j++) {
            sum += tile[j];
        }
        for (var j = begin; j < end; j++) {
            tile[j] = sum;
        }
    }
    workgroupBarrier();
    let inverse = params.args.block + owner * 6u;
    let sum0: real = tile[lane];
    let sum1: real = tile[tile_column + lane];
    let sum2: real = tile[2u * tile_column + lane];
    let g0: real = partials[inverse + 0u] * sum0 + partials[inverse + 1u] * sum1 + partials[inverse + 3u] * sum2;
    let g1: real = partials[inverse + 1u] * sum0 + partials[inverse + 2u] * sum1 + partials[inverse + 4u] * sum2;
    let g2: real = partials[inverse + 3u] * sum0 + partials[inverse + 4u] * sum1 + partials[inverse + 5u] * sum2;
    let v17: real = g1;
    let v18: real = v1 * v17;
    let v19: real = g0;
    let v20: real = v4 * v19 + v18;
    let v21: real = g2;
    let v22: real = v7 * v21 + v20;
    let v23: real = v9 * v22 + v10;
    let v24: real = v4 * v23;
    let v25: real = v1 * v23;
    let v26: real = v7 * v23;
    if (lane < lanes) {
        tile[lane] = v24;
        tile[tile_column + lane] = v25;
        tile[2u * tile_column + lane] = v26;
    }
    workgroupBarrier();
    for (var k = lane; k < lanes * 3u; k += group_size) {
        vector_out[start * 3u + k] = tile[k % 3u * tile_column + k / 3u];
    }
}

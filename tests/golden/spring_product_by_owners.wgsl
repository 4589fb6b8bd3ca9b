@group(0) @binding(2) var<storage, read> data: array<real>;
@group(0) @binding(3) var<storage, read> index: array<u32>;
@group(0) @binding(4) var<storage, read> vector_in: array<real>;
@group(0) @binding(5) var<storage, read_write> vector_out: array<real>;
@group(0) @binding(6) var<storage, read> jacobian: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

var<workgroup> tile: array<real, 3u * group_size>;
var<workgroup> owners: array<u32, group_size>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    if (state[11] != 0.0) {
        return;
    }
    let count = params.words0.x;
    let number = group_index(group);
    if (number >= params.group_count) {
        return;
    }
    let start = index[params.words0.y + number];
    let lanes = index[params.words0.y + number + 1u] - start;
    let i = start + lane;
    if (lane < lanes) {
        owners[lane] = index[4u + i];
        let a0 = index[2] + index[4u + i] * 3u;
        let a1 = index[3] + index[4u + count + i] * 3u;
        let v0: real = vector_in[a0 + 1u];
        let v1: real = jacobian[2u * count + i];
        let v2: real = v1 * v0;
        let v3: real = vector_in[a0 + 0u];
        let v4: real = jacobian[count + i];
        let v5: real = v4 * v3 + v2;
        let v6: real = vector_in[a0 + 2u];
        let v7: real = jacobian[3u * count + i];
        let v8: real = v7 * v6 + v5;
        let v9: real = vector_in[a1 + 0u];
        let v10: real = v4 * v9;
        let v11: real = v8 - v10;
        let v12: real = vector_in[a1 + 1u];
        let v13: real = v1 * v12;
        let v14: real = v11 - v13;
        let v15: real = vector_in[a1 + 2u];
        let v16: real = v7 * v15;
        let v17: real = v14 - v16;
        let v18: real = data[0];
        let v19: real = v18 * v17;
        let v20: real = v4 * v19;
        let v21: real = v1 * v19;
        let v22: real = v7 * v19;
        tile[lane] = v20;
        tile[group_size + lane] = v21;
        tile[2u * group_size + lane] = v22;
        vector_out[i] = v20;
        vector_out[count + i] = v21;
        vector_out[2u * count + i] = v22;
    }
    workgroupBarrier();
    if (lane >= lanes) {
        return;
    }
    // The first lane of a row adds it up.
    let owner = owners[lane];
    if (lane > 0u && owners[max(lane, 1u) - 1u] == owner) {
        return;
    }
    var s0: real = 0.0;
    var s1: real = 0.0;
    var s2: real = 0.0;
    for (var k = lane; k < lanes && owners[min(k, group_size - 1u)] == owner; k++) {
        s0 += tile[k];
        s1 += tile[group_size + k];
        s2 += tile[2u * group_size + k];
    }
    let q0 = index[2] + owner * 3u;
    partials[q0 + 0u] += s0;
    partials[q0 + 1u] += s1;
    partials[q0 + 2u] += s2;
}

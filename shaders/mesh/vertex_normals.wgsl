// Unit normals of a triangle mesh's vertices: the sum of the cross products of their faces' edges, which weighs faces by area. One item
// is one vertex, which adds up its own faces in their order.

struct Args {
    // First elements of the normals and of the vertices in the arena.
    normals: u32,
    vertices: u32,
}

// For every vertex and one more where its pairs begin; then the pairs: the next and the last corner of each of its faces.
@group(0) @binding(3) var<storage, read> around: array<u32>;
@group(0) @binding(5) var<storage, read_write> values: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let vertex = item(id);
    if (vertex >= params.count) {
        return;
    }
    let p = params.args.vertices + 3u * vertex;
    let px = values[p];
    let py = values[p + 1u];
    let pz = values[p + 2u];
    var nx: real = 0.0;
    var ny: real = 0.0;
    var nz: real = 0.0;
    let end = around[vertex + 1u];
    for (var k = around[vertex]; k < end; k += 2u) {
        let q = params.args.vertices + 3u * around[k];
        let r = params.args.vertices + 3u * around[k + 1u];
        let ux = values[q] - px;
        let uy = values[q + 1u] - py;
        let uz = values[q + 2u] - pz;
        let vx = values[r] - px;
        let vy = values[r + 1u] - py;
        let vz = values[r + 2u] - pz;
        nx += uy * vz - uz * vy;
        ny += uz * vx - ux * vz;
        nz += ux * vy - uy * vx;
    }
    // Scaled before they are squared: squares of small areas would be 0.
    let size = max(max(abs(nx), abs(ny)), abs(nz));
    let scale = select(size, 1.0, size == 0.0);
    nx = nx / scale;
    ny = ny / scale;
    nz = nz / scale;
    let norm = sqrt(nx * nx + ny * ny + nz * nz);
    let length = select(norm, 1.0, size == 0.0);
    let n = params.args.normals + 3u * vertex;
    values[n] = nx / length;
    values[n + 1u] = ny / length;
    values[n + 2u] = nz / length;
}

// Unit normals of vertices: the sum of the cross products of the incident faces, each twice a face's area along its normal, divided
// by its length. One item is one vertex, which gathers its faces in their order.

struct Args {
    // First element of the positions in the arena.
    arena: u32,
    // First word of the other corners in the table. Before them are the starts of the vertices' faces, and the end of the last one.
    corners: u32,
}

@group(0) @binding(1) var<storage, read> arena: array<real>;
// For every face of a vertex its other two corners, counter-clockwise.
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(5) var<storage, read_write> normals: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let p = params.args.arena + 3u * i;
    let px = arena[p];
    let py = arena[p + 1u];
    let pz = arena[p + 2u];
    var x: real = 0.0;
    var y: real = 0.0;
    var z: real = 0.0;
    let end = table[i + 1u];
    for (var face = table[i]; face < end; face++) {
        let q = params.args.arena + 3u * table[params.args.corners + 2u * face];
        let r = params.args.arena + 3u * table[params.args.corners + 2u * face + 1u];
        let ux = arena[q] - px;
        let uy = arena[q + 1u] - py;
        let uz = arena[q + 2u] - pz;
        let vx = arena[r] - px;
        let vy = arena[r + 1u] - py;
        let vz = arena[r + 2u] - pz;
        // Not contracted: corners that coincide have a product of exactly 0.
        x += opaque(uy * vz) - opaque(uz * vy);
        y += opaque(uz * vx) - opaque(ux * vz);
        z += opaque(ux * vy) - opaque(uy * vx);
    }
    var length: real = 1.0;
    let finite = is_finite(x) && is_finite(y) && is_finite(z);
    let largest = max(max(abs(x), abs(y)), abs(z));
    if (finite && largest >= 1.2e-38) {
        // Squares neither overflow nor vanish.
        x = x / largest;
        y = y / largest;
        z = z / largest;
        length = sqrt(x * x + y * y + z * z);
    } else {
        x = 0.0;
        y = 0.0;
        z = 0.0;
    }
    normals[3u * i] = x / length;
    normals[3u * i + 1u] = y / length;
    normals[3u * i + 2u] = z / length;
}

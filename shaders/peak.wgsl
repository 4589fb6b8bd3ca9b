// The largest that the diagonal of JᵀWJ has been: the scale that D remembers of an unknown.
//
// words0: first element of the table's vectors, width of a variable, first element of its packed blocks

@group(0) @binding(4) var<storage, read> blocks: array<real>;
@group(0) @binding(5) var<storage, read_write> peak: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let width = params.words0.y;
    let component = i % width;
    let packed = width * (width + 1u) / 2u;
    let diagonal = blocks[params.words0.z + (i / width) * packed + component * (component + 3u) / 2u];
    if (diagonal > peak[params.words0.x + i]) {
        peak[params.words0.x + i] = diagonal;
    }
}

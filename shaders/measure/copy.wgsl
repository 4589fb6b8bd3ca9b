// to = from, four elements an item: the bandwidth that kernels are measured against.

@group(0) @binding(4) var<storage, read> source: array<vec4<real>>;
@group(0) @binding(5) var<storage, read_write> copied: array<vec4<real>>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i < params.count) {
        copied[i] = source[i];
    }
}

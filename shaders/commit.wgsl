// x = x′ where the step was accepted. One item is one element.
//
// words0: first element of the table in the arena

@group(0) @binding(4) var<storage, read> trial: array<real>;
@group(0) @binding(5) var<storage, read_write> point: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (state[ACCEPTED] == 0.0) {
        return;
    }
    let i = item(id);
    if (i < params.count) {
        point[params.words0.x + i] = trial[params.words0.x + i];
    }
}

// What the self-check of double-floats asks of an adapter (`src/webgpu/exactness.rs`): for every pair of numbers their sum
// and product without rounding, their quotient, a root, and a chain of operations whose errors must stay small.

struct Args {
    none: u32,
}

@group(0) @binding(4) var<storage, read> numbers: array<real>;
@group(0) @binding(5) var<storage, read_write> found: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let a = numbers[2u * i];
    let b = numbers[2u * i + 1u];
    found[5u * i] = two_sum(f32(a), f32(b));
    found[5u * i + 1u] = two_product(f32(a), f32(b));
    found[5u * i + 2u] = a / b;
    found[5u * i + 3u] = sqrt(abs(a));
    var x = a;
    for (var k = 0u; k < 16u; k++) {
        x = x * 0.7 + b;
        x = x * 1.3 - a;
    }
    found[5u * i + 4u] = x;
}

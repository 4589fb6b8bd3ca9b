// Put in front of every kernel whose reals are double-floats: pairs of f32s, x.x + x.y with |x.y| at most half a unit in the
// last place of x.x. What stands between them is written by `src/kernels/build/double/` and `src/program/wgsl/writer.rs`. The device
// adds before this
//   alias real = vec2<f32>;
//   const group_size: u32 = 256u;
//
// Subnormal numbers may be flushed to 0: below 10⁻²⁵ low parts lose bits.

struct Params {
    count: u32,
    grid_width: u32,
    zero: u32,
    group_count: u32,
    @size(48) args: Args,
    // For every binding how far its low parts lie behind its high parts; 0 where it has none.
    planes0: vec4<u32>,
    planes1: vec4<u32>,
    planes2: vec4<u32>,
}

@group(0) @binding(0) var<uniform> params: Params;

fn item(id: vec3<u32>) -> u32 {
    return id.y * params.grid_width + id.x;
}

fn group_index(group: vec3<u32>) -> u32 {
    return group.y * (params.grid_width / group_size) + group.x;
}

// Drivers reassociate and contract f32 arithmetic; not through here.
fn sealed(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ params.zero);
}

fn opaque(x: real) -> real {
    return real(sealed(x.x), sealed(x.y));
}

// Chosen bit by bit: an NVIDIA driver (580) took x where it should have taken −x, when it saw select(x, −x, …) of several such numbers.
fn negated_if(x: real, negative: bool) -> real {
    let sign = select(0u, 0x80000000u, negative) ^ params.zero;
    return real(bitcast<f32>(bitcast<u32>(x.x) ^ sign), bitcast<f32>(bitcast<u32>(x.y) ^ sign));
}

fn is_finite(x: real) -> bool {
    return ((bitcast<u32>(x.x) ^ params.zero) & 0x7f800000u) != 0x7f800000u;
}

fn is_nan(x: real) -> bool {
    return ((bitcast<u32>(x.x) ^ params.zero) & 0x7fffffffu) > 0x7f800000u;
}

fn flagged() -> real {
    return real(bitcast<f32>(0x7fc00000u ^ params.zero), 0.0);
}

fn infinity() -> real {
    return real(bitcast<f32>(0x7f800000u ^ params.zero), 0.0);
}

struct Pair {
    x: real,
    y: real,
}

fn of_unsigned(n: u32) -> real {
    let high = f32(n);
    // Both are whole, and differ by 128 at most.
    let upper = f32(n >> 16u) * 65536.0;
    return real(high, f32(n & 0xffffu) - sealed(high - upper));
}

fn of_signed(n: i32) -> real {
    let x = of_unsigned(u32(abs(n)));
    return select(x, -x, n < 0);
}

fn of_bool(b: bool) -> real {
    return real(select(0.0, 1.0, b), 0.0);
}

// 2ⁿ for −126 ≤ n ≤ 127.
fn single_power_of_two(n: i32) -> f32 {
    return bitcast<f32>(u32(n + 127) << 23u);
}

fn power_of_two(n: i32) -> real {
    return real(single_power_of_two(n), 0.0);
}

// x·2ⁿ for −252 ≤ n ≤ 254, in two steps.
fn scale_by_power_of_two(x: real, n: i32) -> real {
    let half = n >> 1u;
    return opaque(x * single_power_of_two(half)) * single_power_of_two(n - half);
}

// The n with √½ ≤ x·2⁻ⁿ < √2 or so, for x > 0.
fn exponent_of(x: real) -> i32 {
    let subnormal = x.x < 1.2e-38;
    let bits = bitcast<u32>(select(x.x, x.x * 16777216.0, subnormal));
    return (bitcast<i32>(bits - 0x3f3504f3u) >> 23u) - select(0, 24, subnormal);
}

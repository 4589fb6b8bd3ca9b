// Put in front of every kernel whose reals are double-floats: pairs of f32s, high.x + low.y with |low| at most half a unit in
// the last place of high. What calls of these functions stand for is written by `src/kernel/wgsl/double`. The device adds before this
//   alias real = vec2<f32>;
//   const group_size: u32 = 256u;
//   fn product_error(…): shaders/double/fused.wgsl or halves.wgsl, as the adapter's self-check decides
//
// Errors are those of Hida, Li & Bailey (2001) and of Joldes, Muller & Popescu ("Tight and rigorous error bounds for basic
// building blocks of double-word arithmetic", ACM Trans. Math. Softw. 44, 2017): a few 2⁻⁴⁸ of the result, of a sum of |a| + |b|.
// Subnormal numbers may be flushed to 0: below 10⁻²⁵ low parts lose bits, and above 10³⁰ products of halves overflow.

struct Params {
    count: u32,
    grid_width: u32,
    zero: u32,
    group_count: u32,
    words0: vec4<u32>,
    words1: vec4<u32>,
    words2: vec4<u32>,
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

fn is_finite(x: real) -> bool {
    return ((bitcast<u32>(x.x) ^ params.zero) & 0x7f800000u) != 0x7f800000u;
}

fn flagged() -> real {
    return real(bitcast<f32>(0x7fc00000u ^ params.zero), 0.0);
}

fn infinity() -> real {
    return real(bitcast<f32>(0x7f800000u ^ params.zero), 0.0);
}

// a + b and its rounding error (Knuth).
fn two_sum(a: f32, b: f32) -> real {
    let s = sealed(a + b);
    let part = sealed(s - a);
    let rest = sealed(a - sealed(s - part)) + sealed(b - part);
    return real(s, sealed(rest));
}

// The same for |a| ≥ |b| (Dekker).
fn quick_sum(a: f32, b: f32) -> real {
    let s = sealed(a + b);
    return real(s, sealed(b - sealed(s - a)));
}

// a·b and its rounding error.
fn two_product(a: f32, b: f32) -> real {
    let p = sealed(a * b);
    return real(p, product_error(a, b, p));
}

fn add(a: real, b: real) -> real {
    let s = two_sum(a.x, b.x);
    return quick_sum(s.x, sealed(s.y + sealed(a.y + b.y)));
}

fn add_single(a: real, b: f32) -> real {
    let s = two_sum(a.x, b);
    return quick_sum(s.x, sealed(s.y + a.y));
}

fn multiply(a: real, b: real) -> real {
    let p = two_product(a.x, b.x);
    return quick_sum(p.x, sealed(p.y + sealed(sealed(a.x * b.y) + sealed(a.y * b.x))));
}

fn multiply_single(a: real, b: f32) -> real {
    let p = two_product(a.x, b);
    return quick_sum(p.x, sealed(p.y + sealed(a.y * b)));
}

// What is left after a first quotient is divided again.
fn divide(a: real, b: real) -> real {
    let first = sealed(a.x / b.x);
    let rest = add(a, -multiply_single(b, first));
    let second = sealed(rest.x / b.x);
    let left = add(rest, -multiply_single(b, second));
    return add_single(quick_sum(first, second), sealed(left.x / b.x));
}

// One step of Newton's method from the root in f32 (Karp & Markstein 1997).
fn square_root(x: real) -> real {
    let root = sealed(sqrt(x.x));
    let square = two_product(root, root);
    let rest = add(x, -square);
    let y = quick_sum(root, sealed(rest.x / sealed(2.0 * root)));
    return select(y, real(root, 0.0), x.x <= 0.0);
}

fn add_pairs(a: Pair, b: Pair) -> Pair {
    return Pair(add(a.x, b.x), add(a.y, b.y));
}

fn subtract_pairs(a: Pair, b: Pair) -> Pair {
    return Pair(add(a.x, -b.x), add(a.y, -b.y));
}

struct Pair {
    x: real,
    y: real,
}

fn is_less(a: real, b: real) -> bool {
    return a.x < b.x || (a.x == b.x && a.y < b.y);
}

fn is_at_most(a: real, b: real) -> bool {
    return a.x < b.x || (a.x == b.x && a.y <= b.y);
}

fn magnitude(x: real) -> real {
    return select(x, -x, x.x < 0.0);
}

fn least(a: real, b: real) -> real {
    return select(a, b, is_less(b, a));
}

fn greatest(a: real, b: real) -> real {
    return select(a, b, is_less(a, b));
}

fn clamped(x: real, low: real, high: real) -> real {
    return least(greatest(x, low), high);
}

fn sign_of(x: real) -> real {
    return real(sign(x.x), 0.0);
}

// Where the high part is whole, the low part decides.
fn floored(x: real) -> real {
    let high = floor(x.x);
    return select(real(high, 0.0), quick_sum(high, floor(x.y)), high == x.x);
}

fn ceiled(x: real) -> real {
    return -floored(-x);
}

// To the nearest integer, of two the even one.
fn rounded(x: real) -> real {
    let below = floored(x);
    let rest = add(x, -below);
    let half = 0.5 * below.x;
    let odd = select(floor(half) != half, floor(0.5 * below.y) != 0.5 * below.y, below.y != 0.0);
    let up = rest.x > 0.5 || (rest.x == 0.5 && (rest.y > 0.0 || (rest.y == 0.0 && odd)));
    return select(below, add_single(below, 1.0), up);
}

fn of_unsigned(n: u32) -> real {
    return quick_sum(f32(n >> 16u) * 65536.0, f32(n & 0xffffu));
}

fn of_signed(n: i32) -> real {
    let x = of_unsigned(u32(abs(n)));
    return select(x, -x, n < 0);
}

fn of_bool(b: bool) -> real {
    return real(select(0.0, 1.0, b), 0.0);
}

// Towards 0.
fn to_signed(x: real) -> i32 {
    let whole = floored(magnitude(x));
    let n = i32(whole.x) + i32(whole.y);
    return select(n, -n, x.x < 0.0);
}

fn to_unsigned(x: real) -> u32 {
    return u32(max(to_signed(x), 0));
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

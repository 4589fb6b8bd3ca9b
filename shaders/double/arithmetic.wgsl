// Operations on double-floats that are too long to be written out each time, and those that loops need in their heads.
// `sealed`, `two_sum`, `quick_sum` and `two_product` of f32s are written out: `src/kernels/arithmetic.rs`.

fn add(a: real, b: real) -> real {
    return a + b;
}

fn subtract(a: real, b: real) -> real {
    return a - b;
}

fn multiply(a: real, b: real) -> real {
    return a * b;
}

// What is left after a first quotient is divided again, twice: WGSL lets a quotient be off by 2.5 units. Quotients of constants are wrong on an
// NVIDIA driver (580) if it sees that they are constant: it must not.
fn divide(dividend: real, divisor: real) -> real {
    let a = opaque(dividend);
    let b = opaque(divisor);
    let first = sealed(f32(a) / f32(b));
    let rest = a - b * real(first);
    let second = sealed(f32(rest) / f32(b));
    let left = rest - b * real(second);
    let third = sealed(f32(left) / f32(b));
    return quick_sum(first, second) + real(third);
}

// One step of Newton's method from the root in f32 (Karp & Markstein 1997).
fn square_root(square: real) -> real {
    let x = opaque(square);
    let root = sealed(sqrt(f32(x)));
    let rest = x - two_product(root, root);
    let y = quick_sum(root, sealed(f32(rest) / sealed(2.0 * root)));
    return select(y, real(root), x <= 0.0);
}

fn is_less(a: real, b: real) -> bool {
    return a.x < b.x || (a.x == b.x && a.y < b.y);
}

fn is_at_most(a: real, b: real) -> bool {
    return a.x < b.x || (a.x == b.x && a.y <= b.y);
}

fn magnitude(x: real) -> real {
    return negated_if(x, x < 0.0);
}

fn least(a: real, b: real) -> real {
    return select(a, b, b < a);
}

fn greatest(a: real, b: real) -> real {
    return select(a, b, a < b);
}

fn clamped(x: real, low: real, high: real) -> real {
    return least(greatest(x, low), high);
}

fn sign_of(x: real) -> real {
    return real(sign(f32(x)));
}

// Where the high part is whole, the low part decides.
fn floored(x: real) -> real {
    let high = floor(x.x);
    return select(real(high), quick_sum(high, floor(x.y)), high == x.x);
}

fn ceiled(x: real) -> real {
    return -floored(-x);
}

// To the nearest integer, of two the even one.
fn rounded(x: real) -> real {
    let below = floored(x);
    let rest = x - below;
    let last = select(below.x, below.y, below.y != 0.0);
    let odd = floor(0.5 * last) != 0.5 * last;
    let up = rest > 0.5 || (rest == 0.5 && odd);
    return select(below, below + 1.0, up);
}

// Towards 0.
fn to_signed(x: real) -> i32 {
    let whole = floored(magnitude(x));
    let n = i32(whole.x) + i32(whole.y);
    return select(n, -n, x < 0.0);
}

fn to_unsigned(x: real) -> u32 {
    return u32(max(to_signed(x), 0));
}

fn add_pairs(a: Pair, b: Pair) -> Pair {
    return Pair(a.x + b.x, a.y + b.y);
}

fn subtract_pairs(a: Pair, b: Pair) -> Pair {
    return Pair(a.x - b.x, a.y - b.y);
}

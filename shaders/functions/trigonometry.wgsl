// Sine, cosine and tangent of every number. WGSL's own may be off by 2⁻¹¹, and are on some adapters: enough to move
// the minimum of a solve.
//
// Up to 3216, x is reduced by π/2 in parts (Cody & Waite 1980): three parts of 13 bits, whose multiples are exact, and
// what remains of π/2 to 2⁻⁶². Next to a multiple of π/2 nearly all digits of x cancel, and those of the last part
// are what is left. Sine and cosine are polynomials of the Cephes library; the tangent's is a minimax fit (Remez, in
// 40 digits; every fit of these files) of (tan r − r)/r³ in r².

// x = r + q·π/2 with |r| ≤ π/4, q modulo 4.
struct Turn {
    r: real,
    q: i32,
}

fn near_turn(x: real) -> Turn {
    let k = round(x * 0.63661977236758134);
    // Products and differences are exact as long as nothing merges the parts again, but for the third difference,
    // whose error is kept.
    let first = opaque(x - k * 1.570556640625);
    let second = opaque(first - k * 2.396702766418457e-4);
    let third = opaque(second - k * 1.5890691429376602e-8);
    let rest = opaque(opaque(second - third) - k * 1.5890691429376602e-8) - k * 2.5633440682571e-12;
    return Turn(third + opaque(rest), i32(k));
}

fn turn(x: real) -> Turn {
    var t = near_turn(x);
    if (abs(x) > 3216.0) {
        t = far_turn(x);
    }
    return t;
}

fn sine_part(r: real) -> real {
    let z = r * r;
    return r + r * z * (-1.6666654611e-1 + z * (8.3321608736e-3 - z * 1.9515295891e-4));
}

fn cosine_part(r: real) -> real {
    let z = r * r;
    return 1.0 - 0.5 * z + z * z * (4.166664568298827e-2 + z * (-1.388731625493765e-3 + z * 2.443315711809948e-5));
}

fn turned(r: real, q: i32) -> real {
    let part = select(sine_part(r), cosine_part(r), (q & 1) != 0);
    return select(part, -part, (q & 2) != 0);
}

fn sine(x: Turn) -> real {
    return turned(x.r, x.q);
}

fn cosine(x: Turn) -> real {
    return turned(x.r, x.q + 1);
}

fn tangent(x: Turn) -> real {
    let z = x.r * x.r;
    let y = x.r + x.r * z * (0.333331555 + z * (0.133388340 + z * (0.0534083582 + z * (0.0244407710 + z * (0.00310256309 + z * 0.00939584337)))));
    let odd = (x.q & 1) != 0;
    return select(y, -1.0, odd) / select(1.0, y, odd);
}

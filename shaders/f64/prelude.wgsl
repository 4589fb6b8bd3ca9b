// Parts of the prelude where a real is an f64: nothing reorders its arithmetic (NVRTC keeps C++'s order), so `opaque` has
// nothing to hold back.

fn opaque(x: real) -> real {
    return x;
}

fn is_finite(x: real) -> bool {
    return abs(x) <= 1.7976931348623157e308;
}

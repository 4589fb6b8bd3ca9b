// Halves (IEEE 754 binary16), two in a word, the first of them in its low bits. By integers: adapters round `pack2x16float` as they
// like, and may flush what is subnormal as a half. The same bits as `src/cpu/half.rs`. There is no f64 of this.

// The half of a word that an address names, as a number.
fn half_at(word: u32, address: u32) -> real {
    let bits = word >> ((address & 1u) << 4u);
    let magnitude = (bits & 0x7fffu) << 13u;
    let rebased = magnitude + select(0x38000000u, 0x70000000u, magnitude >= 0x0f800000u);
    let small = bitcast<u32>(f32(bits & 0x3ffu) * 5.9604644775390625e-8);
    return bitcast<f32>((select(rebased, small, magnitude < 0x00800000u) | ((bits & 0x8000u) << 16u)) ^ params.zero);
}

// The nearest half, of two the one whose last bit is 0: infinity beyond the largest, and of a NaN the bits that there is room for.
fn rounded_half(x: real) -> u32 {
    let bits = bitcast<u32>(x) ^ params.zero;
    let magnitude = bits & 0x7fffffffu;
    var half = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13u) & 1u)) >> 13u;
    if (magnitude < 0x38800000u) {
        // Below 2⁻¹⁴ halves are 2⁻²⁴ apart.
        let shift = min(126u - (magnitude >> 23u), 25u);
        let significand = (magnitude & 0x7fffffu) | 0x800000u;
        half = (significand + (1u << (shift - 1u)) - 1u + ((significand >> shift) & 1u)) >> shift;
    }
    // From 65520 on, which is as near to infinity as to the largest.
    half = select(half, 0x7c00u, magnitude >= 0x477ff000u);
    half = select(half, 0x7e00u | ((magnitude >> 13u) & 0x3ffu), magnitude > 0x7f800000u);
    return half | ((bits >> 16u) & 0x8000u);
}

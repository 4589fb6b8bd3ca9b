// Where it does not: products of halves of 12 bits are exact (Dekker 1971; the first half is cut off, which overflows nowhere).
fn product_error(a: f32, b: f32, p: f32) -> f32 {
    let a_first = bitcast<f32>(bitcast<u32>(a) & (0xfffff000u ^ params.zero));
    let b_first = bitcast<f32>(bitcast<u32>(b) & (0xfffff000u ^ params.zero));
    let a_second = sealed(a - a_first);
    let b_second = sealed(b - b_first);
    let first = sealed(sealed(a_first * b_first) - p);
    let middle = sealed(sealed(first + sealed(a_first * b_second)) + sealed(a_second * b_first));
    return sealed(middle + sealed(a_second * b_second));
}

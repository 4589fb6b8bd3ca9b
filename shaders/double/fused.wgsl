// Where `fma` rounds once.
fn product_error(a: f32, b: f32, p: f32) -> f32 {
    return sealed(fma(a, b, -p));
}

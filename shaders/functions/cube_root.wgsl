// ∛x: a minimax polynomial for √½ ≤ f < √2 (2⁻¹⁶ off), times the root of what the exponent leaves when divided by 3,
// then one step of Newton's method.

fn cube_root(x: real) -> real {
    let size = abs(x);
    let n = exponent_of(size);
    let third = (n + 300) / 3 - 100;
    let rest = n - 3 * third;
    let f = scale_by_power_of_two(size, -n);
    let factor = select(select(real(1), 1.25992107, rest == 1), 1.58740103, rest == 2);
    let t = factor * (0.451667190 + f * (0.904817581 + f * (-0.535629332 + f * (0.216936857 - f * 0.0377880446))));
    let y = scale_by_power_of_two(t - (t - f * power_of_two(rest) / (t * t)) / 3.0, third);
    return select(select(y, -y, x < 0.0), x, x == 0.0 || !is_finite(x));
}

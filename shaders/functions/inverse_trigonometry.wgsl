// arcsin, arccos, arctan and the angle of a point. Polynomials are minimax fits, for relative error, of
// (arcsin x − x)/x³ for |x| ≤ ½ and of (arctan x − x)/x³ for |x| ≤ 1, in x². π/2 and π have two parts.

fn arcsine_part(x: real, z: real) -> real {
    return x + x * z * (0.166667521 + z * (0.0749529749 + z * (0.0454703756 + z * (0.0241794959 + z * 0.0421663597))));
}

// Beyond ½, of half the angle from the pole: arccos x = 2 arcsin √((1 − x)/2).
fn arcsine(x: real) -> real {
    let size = abs(x);
    let steep = size > 0.5;
    let half = 0.5 * (1.0 - size);
    let part = arcsine_part(select(size, sqrt(max(half, 0.0)), steep), select(size * size, half, steep));
    let y = select(part, 1.57079637 - (2.0 * part + 4.37113883e-8), steep);
    return select(flagged(), select(y, -y, x < 0.0), size <= 1.0);
}

fn arccosine(x: real) -> real {
    let size = abs(x);
    let steep = size > 0.5;
    let half = 0.5 * (1.0 - size);
    let part = arcsine_part(select(x, sqrt(max(half, 0.0)), steep), select(size * size, half, steep));
    let y = select(1.57079637 - (part + 4.37113883e-8), select(2.0 * part, 3.14159274 - (2.0 * part + 8.74227766e-8), x < 0.0), steep);
    return select(flagged(), y, size <= 1.0);
}

fn arctangent_part(x: real) -> real {
    let z = x * x;
    return x + x * z * (-0.333331525 + z * (0.199937731 + z * (-0.142110527 + z * (0.106659956 + z * (-0.0755219534 + z * (0.0432116389 + z * (-0.0163677931 + z * 0.00292065903)))))));
}

fn arctangent(x: real) -> real {
    let size = abs(x);
    let steep = size > 1.0;
    let part = arctangent_part(select(size, 1.0, steep) / select(1.0, size, steep));
    let y = select(part, 1.57079637 - (part + 4.37113883e-8), steep);
    return select(y, -y, x < 0.0);
}

// In [−π, π], 0 at the origin. Zeros have no sign here.
fn arctangent2(y: real, x: real) -> real {
    let steep = abs(y) > abs(x);
    let larger = select(abs(x), abs(y), steep);
    let smaller = select(abs(y), abs(x), steep);
    // Division promises nothing beyond 2¹²⁶.
    let factor = select(real(1), 0.25, larger > 4e37);
    let part = arctangent_part(factor * smaller / select(factor * larger, 1.0, larger == 0.0));
    let acute = select(part, 1.57079637 - (part + 4.37113883e-8), steep);
    let angle = select(acute, 3.14159274 - (acute + 8.74227766e-8), x < 0.0);
    return select(angle, -angle, y < 0.0);
}

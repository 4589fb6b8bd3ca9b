//! The module of parameters that fits share: a workgroup takes the own parameters out of one fit's normal equations.
//!
//! With the blocks A of own parameters, C of shared ones and B between them, and the gradients a and c, a fit gives its part of the
//! reduced equations: S = C − Bᵀ A⁻¹ B and c − Bᵀ A⁻¹ a. These are what Cholesky's factorization leaves behind the own columns. In the
//! second mode it has the covariance Σ of the shared parameters, and gives the standard errors √diag(A⁻¹ + A⁻¹ B Σ Bᵀ A⁻¹).

use super::wide::{EVALUATED, ROW_OF, write_evaluation, write_tile};
use super::{field, write_declarations, write_places, write_tolerances};
use crate::binding;
use crate::fit::{FitProgram, fit_sums};
use crate::wgsl::NAMES;
use crate::wgsl::writer::Writer;
use std::fmt::{Result, Write};

pub(super) fn write(fit: &FitProgram, text: &mut Writer) -> Result {
    let (layout, own, shared) = (&fit.layout, fit.layout.free.len(), fit.shared.len());
    write_declarations(fit, text)?;
    write_tile(own + shared, text)?;
    writeln!(text, "// Own parameters, which come before the shared ones, and these.")?;
    writeln!(text, "const own_count: u32 = {own}u;\nconst shared_count: u32 = {shared}u;")?;
    write!(text, "{EVALUATED}{MEMORY}{ROW_OF}")?;
    writeln!(text, "@compute @workgroup_size(group_size)")?;
    writeln!(text, "fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {{")?;
    writeln!(text, "    let fit = group_index(group);\n    if (fit >= params.group_count) {{\n        return;\n    }}")?;
    writeln!(text, "    let fits = params.args.fits;")?;
    match layout.ragged {
        true => writeln!(text, "    let first = arena[fit];\n    let points = arena[fit + 1u] - first;")?,
        false => writeln!(text, "    let points = params.args.points;\n    let first = fit;")?,
    }
    write_tolerances(text)?;
    let weights = write_places(fit, text)?;
    if layout.bounded {
        writeln!(text, "    let bound_stride = select(1u, fits, params.args.each != 0u);\n    let bound = fit * params.args.each;")?;
    }
    writeln!(text, "    // Compilers must not unroll what runs over it.\n    let size = unknowns + params.zero;")?;
    write_evaluation(fit, weights, |number| field(&format!("{number}u")), text)?;
    write!(text, "{}", USABLE.replace("$SUMS", &fit_sums::count(shared as u32).to_string()))?;
    for (j, number) in layout.free.iter().enumerate() {
        let stays = match layout.bounded {
            true => {
                let vector = NAMES[binding::VECTOR_IN];
                let [lower, upper] = [j, own + j].map(|place| format!("{vector}[{place}u * bound_stride + bound]"));
                writeln!(text, "    if (lane == {j}u % group_size) {{\n        let value = {};", field(&format!("{number}u")))?;
                format!("(value <= {lower} && total[{j}] > 0.0) || (value >= {upper} && total[{j}] < 0.0)")
            }
            false => continue,
        };
        writeln!(text, "        held[{j}] = select(0u, 1u, {stays});\n    }}")?;
    }
    write!(text, "{ELIMINATION}")?;
    write!(text, "{}", SUMS.replace("$CLASS", &fit_sums::cost(shared as u32).to_string()))?;
    write!(text, "{}", ERRORS.replace("$ERROR", &field(&format!("({}u + j)", layout.errors()))))
}

const MEMORY: &str = r"// Scales to a diagonal of 1, 0 for parameters that stay; 1 for shared ones.
var<workgroup> scale: array<real, unknowns>;
// 1 for a parameter that is at a bound, and would go through it; 1 for one that the data determine.
var<workgroup> held: array<u32, own_count>;
var<workgroup> known: array<real, own_count>;
// 1 for a shared parameter that own ones do not make up for.
var<workgroup> seen: array<u32, shared_count>;
// The gradient, of which the solved own part is taken.
var<workgroup> rest: array<real, unknowns>;
var<workgroup> usable: u32;
";

const USABLE: &str = r"    if (lane == 0u) {
        usable = select(0u, 1u, total[unknowns + 1u] != 0.0 && is_finite(total[unknowns]));
        for (var j = 0u; j < size; j++) {
            if (!is_finite(total[j]) || !is_finite(factor[j * (j + 3u) / 2u])) {
                usable = 0u;
            }
        }
    }
    for (var j = lane; j < own_count; j += group_size) {
        held[j] = 0u;
    }
    if (workgroupUniformLoad(&usable) == 0u) {
        // It gives nothing but that it is one of these.
        if (params.args.rounds == 0u) {
            for (var q = lane; q < $SUMSu; q += group_size) {
                partials[q * fits + fit] = select(real(0.0), real(1.0), q == $SUMSu - 1u);
            }
        }
        return;
    }
";

const ELIMINATION: &str = r"    workgroupBarrier();
    for (var j = lane; j < unknowns; j += group_size) {
        scale[j] = 1.0;
        if (j < own_count) {
            let curvature = factor[j * (j + 3u) / 2u];
            let moves = curvature > least_curvature && held[j] == 0u;
            scale[j] = select(real(0.0), 1.0 / sqrt(max(curvature, least_curvature)), moves);
        }
        rest[j] = total[j] * scale[j];
    }
    workgroupBarrier();
    // Cholesky's factor of the own columns. A parameter that is not determined stays.
    for (var j = 0u; j < own_count + params.zero; j++) {
        let top = j * (j + 1u) / 2u;
        for (var i = j + lane; i < unknowns; i += group_size) {
            let row = i * (i + 1u) / 2u;
            var pivot = select(real(0.0), real(1.0), scale[j] != 0.0);
            var entry = factor[row + j] * scale[i] * scale[j];
            for (var k = 0u; k < j; k++) {
                let l = factor[top + k];
                pivot -= l * l;
                entry -= factor[row + k] * l;
            }
            let above = pivot > rank;
            let root = sqrt(select(real(1.0), pivot, above));
            if (i == j) {
                factor[row + j] = root;
                known[j] = select(real(0.0), real(1.0), above);
            } else {
                factor[row + j] = select(real(0.0), entry / root, above);
            }
        }
        workgroupBarrier();
    }
";

const SUMS: &str = r"    if (params.args.rounds == 0u) {
        for (var j = 0u; j < own_count + params.zero; j++) {
            let y = known[j] * rest[j] / factor[j * (j + 3u) / 2u];
            for (var i = j + 1u + lane; i < unknowns; i += group_size) {
                rest[i] -= factor[i * (i + 1u) / 2u + j] * y;
            }
            workgroupBarrier();
        }
        for (var k = lane; k < shared_count; k += group_size) {
            let row = (own_count + k) * (own_count + k + 1u) / 2u;
            let whole = factor[row + own_count + k];
            var left = whole;
            for (var j = 0u; j < own_count; j++) {
                left -= factor[row + j] * factor[row + j];
            }
            // Otherwise what is left is rounding.
            seen[k] = select(0u, 1u, left > rank * whole);
        }
        workgroupBarrier();
        for (var q = lane; q < $CLASSu; q += group_size) {
            let k = row_of(q);
            if (k < shared_count) {
                let row = (own_count + k) * (own_count + k + 1u) / 2u;
                let other = own_count + q - k * (k + 1u) / 2u;
                let column = other * (other + 1u) / 2u;
                var sum = factor[row + other];
                for (var j = 0u; j < own_count; j++) {
                    sum -= factor[row + j] * factor[column + j];
                }
                partials[q * fits + fit] = select(real(0.0), sum, (seen[k] & seen[other - own_count]) == 1u);
            } else {
                let number = q - shared_count * (shared_count + 1u) / 2u;
                partials[q * fits + fit] = select(real(0.0), rest[own_count + number], seen[number] == 1u);
            }
        }
        if (lane == 0u) {
            var freedom = real(points);
            for (var j = 0u; j < own_count; j++) {
                freedom -= select(real(0.0), real(1.0), known[j] != 0.0 || held[j] == 1u);
            }
            partials[$CLASSu * fits + fit] = total[unknowns];
            partials[($CLASSu + 1u) * fits + fit] = freedom;
            partials[($CLASSu + 2u) * fits + fit] = 0.0;
        }
        return;
    }
";

const ERRORS: &str = r"    // Columns of the factor's inverse; behind them A⁻¹ B, a shared parameter after the other.
    for (var c = lane; c < unknowns; c += group_size) {
        if (c < own_count) {
            for (var i = c; i < own_count; i++) {
                let row = i * (i + 1u) / 2u;
                var left = select(real(0.0), real(1.0), i == c);
                for (var k = c; k < i; k++) {
                    left -= factor[row + k] * tile[k * own_count + c];
                }
                tile[i * own_count + c] = left / factor[row + i];
            }
        } else {
            let row = c * (c + 1u) / 2u;
            for (var turn = 0u; turn < own_count; turn++) {
                let j = own_count - 1u - turn;
                var left = factor[row + j];
                for (var i = j + 1u; i < own_count; i++) {
                    left -= factor[i * (i + 1u) / 2u + j] * tile[c * own_count + i];
                }
                tile[c * own_count + j] = left / factor[j * (j + 3u) / 2u];
            }
        }
    }
    workgroupBarrier();
    for (var j = lane; j < own_count; j += group_size) {
        var variance: real = 0.0;
        for (var i = j; i < own_count; i++) {
            variance += tile[i * own_count + j] * tile[i * own_count + j];
        }
        for (var k = own_count; k < unknowns; k++) {
            for (var l = own_count; l < unknowns; l++) {
                variance += tile[k * own_count + j] * state[(k - own_count) * shared_count + l - own_count] * tile[l * own_count + j];
            }
        }
        $ERROR = known[j] * scale[j] * sqrt(max(variance, real(0.0)));
    }
}
";

//! The module of fits of many parameters: a workgroup has a fit, and its memory the normal matrix, the factor, and a tile of points.
//!
//! Lanes evaluate the points of a tile, then each adds up entries of the sums over the tile's points, in their order: so the sums are
//! those of one thread, whatever the number of lanes. Columns of the factor, of its inverse, and of the triangular systems follow
//! each other with barriers between, and lanes have their rows. What a step is judged by is the first lane's.

use super::{field, stored, write_declarations, write_given, write_places, write_tolerances};
use crate::binding;
use crate::fit::{FitProgram, fit_state};
use crate::wgsl::writer::Writer;
use crate::wgsl::{NAMES, write_values};
use std::fmt::{Result, Write};

/// Numbers of a workgroup's memory, of which any device has 16 KiB in f32.
const NUMBERS: usize = 3968;
/// Points of a tile: a multiple of `ROW`, at most `WIDEST`.
const ROW: usize = 32;
const WIDEST: usize = 128;

/// Numbers of the arrays beside the tile, for so many parameters.
const fn others(n: usize) -> usize {
    n * (n + 1) + 12 * n + 16
}

/// Points of a tile. Its columns do not begin in the same bank of memory.
fn tile_points(n: usize) -> usize {
    let columns = n + FitProgram::BEFORE as usize;
    let points = (NUMBERS - others(n)) / columns - 1;
    (points / ROW * ROW).min(WIDEST)
}

/// Constants and memory of tiles, for so many parameters.
pub(super) fn write_tile(n: usize, text: &mut Writer) -> Result {
    let points = tile_points(n);
    writeln!(text, "\n// Parameters, and the entries of the lower triangle of their normal matrix.")?;
    writeln!(text, "const unknowns: u32 = {n}u;\nconst triangle: u32 = {}u;", n * (n + 1) / 2)?;
    writeln!(text, "const tile_points: u32 = {points}u;\nconst tile_stride: u32 = {}u;", points + 1)?;
    writeln!(text, "// Columns of points: part of F, u, k, 1 if all is defined, and J. In the end, the inverse of the factor.")?;
    writeln!(text, "var<workgroup> tile: array<real, {}u * tile_stride>;", n + FitProgram::BEFORE as usize)
}

pub(super) fn write(fit: &FitProgram, text: &mut Writer) -> Result {
    let layout = &fit.layout;
    write_declarations(fit, text)?;
    write_tile(layout.free.len(), text)?;
    write!(text, "{EVALUATED}{MEMORY}")?;
    // Free parameters follow each other but for those that are fixed.
    let gaps: String = (0..layout.parameters)
        .filter(|number| !layout.free.contains(number))
        .map(|number| format!(" + select(0u, 1u, j >= {}u)", layout.free.partition_point(|free| *free < number)))
        .collect();
    writeln!(text, "\n// Number of a free parameter.\nfn field_of(j: u32) -> u32 {{\n    return j{gaps};\n}}")?;
    writeln!(text, "{ROW_OF}")?;

    writeln!(text, "@compute @workgroup_size(group_size)")?;
    writeln!(text, "fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {{")?;
    writeln!(text, "    let number = group_index(group);\n    if (number >= params.group_count) {{\n        return;\n    }}")?;
    writeln!(text, "    let fit = index[number];\n    let fits = params.args.fits;")?;
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
    write_begin(fit, text)?;
    writeln!(text, "    for (var round = 0u; round <= params.args.rounds; round++) {{")?;
    let value = |number: u32| match layout.free.iter().position(|free| *free == number) {
        Some(j) => format!("trial[{j}]"),
        None => field(&format!("{number}u")),
    };
    write_evaluation(fit, weights, value, text)?;
    write!(text, "{}", filled(fit, JUDGEMENT))?;
    write!(text, "{}", filled(fit, SYSTEM))?;
    write!(text, "{}", filled(fit, END))?;
    write!(text, "{}", filled(fit, STEP))?;
    writeln!(text, "    }}")?;
    write_outcome(fit, text)
}

/// A text with names in capitals, for which a fit's own parts stand.
fn filled(fit: &FitProgram, template: &str) -> String {
    let bounded = fit.layout.bounded;
    let vector = NAMES[binding::VECTOR_IN];
    let [lower, upper] = ["j * bound_stride", "(unknowns + j) * bound_stride"].map(|place| format!("{vector}[{place} + bound]"));
    let at_bound = format!("(at_value[j] <= {lower} || at_value[j] >= {upper})");
    let stays = format!("((at_value[j] <= {lower} && at_slope[j] > 0.0) || (at_value[j] >= {upper} && at_slope[j] < 0.0))");
    let clamped = format!("clamp(at_value[j] + scale[j] * solved[j], {lower}, {upper})");
    let within = "select(real(0.0), change / select(real(1.0), scale[j], scale[j] != 0.0), scale[j] != 0.0)";
    let pick = |with: String, without: &str| if bounded { with } else { without.to_string() };
    let numbers =
        [("LEAST_GAIN", FitProgram::LEAST_GAIN), ("LAST_DAMPING", FitProgram::LAST_DAMPING), ("FIRST_DAMPING", FitProgram::FIRST_DAMPING)];
    let states = [
        ("NON_FINITE", fit_state::NON_FINITE),
        ("CONVERGED", fit_state::CONVERGED),
        ("SINGULAR", fit_state::SINGULAR),
        ("RUNNING", fit_state::RUNNING),
        ("BOUND_STATE", fit_state::AT_BOUND),
        ("LIMIT", fit_state::LIMIT),
    ];
    let texts = [
        ("AT_BOUND", pick(at_bound, "false")),
        ("STAYS", pick(stays, "false")),
        ("TARGET", pick(clamped, "at_value[j] + scale[j] * solved[j]")),
        ("WITHIN", pick(within.into(), "solved[j]")),
    ];
    let numbers = numbers.map(|(name, value)| (name, format!("{value:e}")));
    let states = states.map(|(name, value)| (name, format!("{value}u")));
    let parts = numbers.into_iter().chain(states).chain(texts);
    parts.fold(template.to_string(), |text, (name, part)| text.replace(&format!("${name}"), &part))
}

/// Start of the fit.
fn write_begin(fit: &FitProgram, text: &mut Writer) -> Result {
    let layout = &fit.layout;
    writeln!(text, "    for (var j = lane; j < unknowns; j += group_size) {{\n        let value = {};", field("field_of(j)"))?;
    let vector = NAMES[binding::VECTOR_IN];
    let begin = match layout.bounded {
        true => format!("clamp(value, {vector}[j * bound_stride + bound], {vector}[(unknowns + j) * bound_stride + bound])"),
        false => "value".into(),
    };
    writeln!(text, "        at_value[j] = {begin};\n        trial[j] = at_value[j];\n        deviation[j] = 0.0;\n    }}")?;
    let damped = layout.damping();
    writeln!(text, "    // The first lane's.")?;
    writeln!(text, "    var damping: real = {};", field(&format!("{damped}u")))?;
    writeln!(text, "    var growth: real = {};", field(&format!("{}u", damped + 1)))?;
    writeln!(text, "    var iterations = u32({});", field(&format!("{}u", layout.iterations())))?;
    write!(text, "{}", filled(fit, BEGIN))
}

/// F, gradient and normal matrix at values of the parameters.
pub(super) fn write_evaluation(fit: &FitProgram, weights: Option<&str>, value: impl Fn(u32) -> String, text: &mut Writer) -> Result {
    let n = fit.layout.free.len() + fit.shared.len();
    write!(text, "{TILES}")?;
    let indent = "                ";
    for number in 0..fit.layout.parameters {
        writeln!(text, "{indent}let g{number}: real = {};", value(number))?;
    }
    writeln!(text, "{indent}let k = begin + p;")?;
    write_given(fit, weights, indent, text)?;
    write_values(&fit.program, &[], "params.count", indent, text)?;
    for column in 0..FitProgram::BEFORE + n as u32 {
        writeln!(text, "{indent}tile[{column}u * tile_stride + p] = {};", stored(fit, column))?;
    }
    write!(text, "{ADDITION}")
}

/// Results of the fit.
fn write_outcome(fit: &FitProgram, text: &mut Writer) -> Result {
    let layout = &fit.layout;
    writeln!(text, "    for (var j = lane; j < unknowns; j += group_size) {{\n        {} = at_value[j];", field("field_of(j)"))?;
    writeln!(text, "        {} = deviation[j];\n    }}", field(&format!("({}u + j)", layout.errors())))?;
    writeln!(text, "    if (lane == 0u) {{")?;
    let number = |number: u32| field(&format!("{number}u"));
    writeln!(text, "        {} = select(flagged(), at_cost, at_usable);", number(layout.cost()))?;
    writeln!(text, "        {} = damping;\n        {} = growth;", number(layout.damping()), number(layout.damping() + 1))?;
    writeln!(text, "        {} = real(iterations);\n        {} = real(status);", number(layout.iterations()), number(layout.state()))?;
    writeln!(text, "    }}\n}}")
}

pub(super) const EVALUATED: &str = r"// Sums at a trial: the lower triangle of the normal matrix, row by row, later the factor.
var<workgroup> factor: array<real, triangle>;
// Gradient, F, and 1 if all is defined; low parts of all but the last.
var<workgroup> total: array<real, unknowns + 2u>;
var<workgroup> low: array<real, unknowns + 1u>;
";

const MEMORY: &str = r"// The normal matrix at the parameters.
var<workgroup> at_normal: array<real, triangle>;
// Parameters, gradient there, and the trial.
var<workgroup> at_value: array<real, unknowns>;
var<workgroup> at_slope: array<real, unknowns>;
var<workgroup> trial: array<real, unknowns>;
// Scales to a diagonal of 1, 0 for parameters that stay; standard errors.
var<workgroup> scale: array<real, unknowns>;
var<workgroup> deviation: array<real, unknowns>;
// Right-hand side of the first triangular system and its solution, which becomes that of the second; parts of a prediction.
var<workgroup> rest: array<real, unknowns>;
var<workgroup> half_step: array<real, unknowns>;
var<workgroup> solved: array<real, unknowns>;
var<workgroup> part: array<real, unknowns>;
// 1 for a parameter that changes.
var<workgroup> changes: array<u32, unknowns>;
// Diagonal of the matrix, and the pivot that it must have.
var<workgroup> diagonal: real;
var<workgroup> least: real;
// 0: a step follows; 1: standard errors, and the end; 2: the end.
var<workgroup> stage: u32;
// 1 if the trial was accepted; if a pivot is too small, or errors are not known.
var<workgroup> accepted: u32;
var<workgroup> singular: u32;
";

pub(super) const ROW_OF: &str = r"
// Row of an entry of a lower triangle.
fn row_of(entry: u32) -> u32 {
    var i = u32((sqrt(8.0 * f32(entry) + 1.0) - 1.0) * 0.5);
    if (i * (i + 1u) / 2u > entry) {
        i--;
    }
    if ((i + 1u) * (i + 2u) / 2u <= entry) {
        i++;
    }
    return i;
}
";

const BEGIN: &str = r"    if (damping == 0.0) {
        damping = $FIRST_DAMPING;
        growth = 2.0;
    }
    var status = $RUNNING;
    var predicted: real = 0.0;
    var still = false;
    var at_cost: real = 0.0;
    var at_usable = false;
    if (lane == 0u) {
        singular = 0u;
    }
    workgroupBarrier();
";

const TILES: &str = r"        for (var e = lane; e < triangle + unknowns + 2u; e += group_size) {
            if (e < triangle) {
                factor[e] = 0.0;
            } else {
                let j = e - triangle;
                total[j] = select(real(0.0), real(1.0), j == unknowns + 1u);
                if (j <= unknowns) {
                    low[j] = 0.0;
                }
            }
        }
        for (var begin = 0u; begin < points; begin += tile_points) {
            let here = min(tile_points, points - begin);
            for (var p = lane; p < here; p += group_size) {
";

const ADDITION: &str = r"            }
            workgroupBarrier();
            // The same lanes have the same entries in every tile.
            for (var e = lane; e < triangle + unknowns + 2u; e += group_size) {
                if (e < triangle) {
                    let i = row_of(e);
                    let row = (4u + i) * tile_stride;
                    let column = (4u + e - i * (i + 1u) / 2u) * tile_stride;
                    var sum = factor[e];
                    for (var p = 0u; p < here; p++) {
                        sum += (tile[2u * tile_stride + p] * tile[row + p]) * tile[column + p];
                    }
                    factor[e] = sum;
                } else if (e == triangle + unknowns + 1u) {
                    for (var p = 0u; p < here; p++) {
                        if (tile[3u * tile_stride + p] == 0.0) {
                            total[unknowns + 1u] = 0.0;
                        }
                    }
                } else {
                    // Compensated (Kahan 1965).
                    let j = e - triangle;
                    var sum = total[j];
                    var lost = low[j];
                    for (var p = 0u; p < here; p++) {
                        var value = tile[p];
                        if (j < unknowns) {
                            value = tile[tile_stride + p] * tile[(4u + j) * tile_stride + p];
                        }
                        let addend = value - lost;
                        let next = opaque(sum + addend);
                        lost = opaque(next - sum) - addend;
                        sum = next;
                    }
                    total[j] = sum;
                    low[j] = lost;
                }
            }
            workgroupBarrier();
        }
        workgroupBarrier();
";

const JUDGEMENT: &str = r"        if (lane == 0u) {
            let cost = total[unknowns];
            var usable = total[unknowns + 1u] != 0.0 && is_finite(cost);
            for (var j = 0u; j < size; j++) {
                if (!is_finite(total[j]) || !is_finite(factor[j * (j + 3u) / 2u])) {
                    usable = false;
                }
            }
            accepted = 0u;
            if (round == 0u) {
                accepted = 1u;
                if (!usable) {
                    status = $NON_FINITE;
                }
            } else if (singular != 0u) {
                damping *= growth;
                growth *= 2.0;
                if (damping > $LAST_DAMPING) {
                    status = $SINGULAR;
                }
            } else {
                let change = at_cost - cost;
                let small = abs(predicted) <= cost_tolerance * at_cost;
                let room = noise * at_cost;
                let improves = predicted > 0.0 && change >= $LEAST_GAIN * predicted;
                let even = abs(predicted) <= room && change >= -room;
                if (usable && (improves || even)) {
                    let gain = 2.0 * min(max(change / max(predicted, real(1e-37)), 0.0), 1.0) - 1.0;
                    damping *= max(real(1.0) / 3.0, 1.0 - gain * gain * gain);
                    growth = 2.0;
                    accepted = 1u;
                } else {
                    damping *= growth;
                    growth *= 2.0;
                }
                if (usable && (small || still)) {
                    status = $CONVERGED;
                } else if (damping > $LAST_DAMPING) {
                    status = select($NON_FINITE, $CONVERGED, usable);
                }
            }
            if (accepted != 0u) {
                at_cost = cost;
                at_usable = usable;
            }
            if (status == $RUNNING && round < params.args.rounds) {
                if (iterations >= params.args.most) {
                    status = $LIMIT;
                } else {
                    iterations++;
                }
            }
            let over = status == $CONVERGED || status == $LIMIT;
            let ends = status != $RUNNING || round >= params.args.rounds;
            stage = select(select(0u, 2u, ends), 1u, over);
            diagonal = select(1.0 + damping, real(1.0), over);
            least = select(real(0.0), rank, over);
            singular = 0u;
        }
        let now = workgroupUniformLoad(&stage);
        if (accepted != 0u) {
            for (var e = lane; e < triangle; e += group_size) {
                at_normal[e] = factor[e];
            }
            for (var j = lane; j < unknowns; j += group_size) {
                at_slope[j] = total[j];
                at_value[j] = trial[j];
            }
        }
        workgroupBarrier();
        if (now == 2u) {
            break;
        }
";

const SYSTEM: &str = r"        for (var j = lane; j < unknowns; j += group_size) {
            let curvature = at_normal[j * (j + 3u) / 2u];
            let moves = curvature > least_curvature && !$STAYS;
            scale[j] = select(real(0.0), 1.0 / sqrt(max(curvature, least_curvature)), moves);
        }
        workgroupBarrier();
        // Cholesky's factor, column by column.
        for (var j = 0u; j < size; j++) {
            let top = j * (j + 1u) / 2u;
            for (var i = j + lane; i < unknowns; i += group_size) {
                let row = i * (i + 1u) / 2u;
                var pivot = diagonal;
                var entry = at_normal[row + j] * scale[i] * scale[j];
                for (var k = 0u; k < j; k++) {
                    let l = factor[top + k];
                    pivot -= l * l;
                    entry -= factor[row + k] * l;
                }
                let above = pivot > least;
                let root = sqrt(select(real(1.0), pivot, above));
                factor[row + j] = select(entry / root, root, i == j);
                if (i == j && !above) {
                    singular = 1u;
                }
            }
            workgroupBarrier();
        }
";

const END: &str = r"        if (now == 1u) {
            // Columns of the factor's inverse, whose squares make the diagonal of the matrix's.
            for (var j = lane; j < unknowns; j += group_size) {
                var squares: real = 0.0;
                for (var i = j; i < unknowns; i++) {
                    let row = i * (i + 1u) / 2u;
                    var known = select(real(0.0), real(1.0), i == j);
                    for (var k = j; k < i; k++) {
                        known -= factor[row + k] * tile[k * unknowns + j];
                    }
                    let entry = known / factor[row + i];
                    tile[i * unknowns + j] = entry;
                    squares += entry * entry;
                }
                deviation[j] = scale[j] * sqrt(squares);
            }
            if (lane == 0u) {
                // A parameter that stays, other than at a bound, has no influence.
                var at_bound = false;
                for (var j = 0u; j < size; j++) {
                    let there = $AT_BOUND;
                    at_bound = at_bound || there;
                    if (scale[j] == 0.0 && !there) {
                        singular = 1u;
                    }
                }
                if (status == $CONVERGED) {
                    status = select(select(status, $BOUND_STATE, at_bound), $SINGULAR, singular != 0u);
                }
            }
            workgroupBarrier();
            if (singular != 0u) {
                for (var j = lane; j < unknowns; j += group_size) {
                    deviation[j] = 0.0;
                }
            }
            break;
        }
";

const STEP: &str = r"        for (var j = lane; j < unknowns; j += group_size) {
            rest[j] = -at_slope[j] * scale[j];
        }
        workgroupBarrier();
        for (var j = 0u; j < size; j++) {
            let y = rest[j] / factor[j * (j + 3u) / 2u];
            for (var i = j + 1u + lane; i < unknowns; i += group_size) {
                rest[i] -= factor[i * (i + 1u) / 2u + j] * y;
            }
            if (lane == 0u) {
                half_step[j] = y;
            }
            workgroupBarrier();
        }
        for (var turn = 0u; turn < size; turn++) {
            let j = size - 1u - turn;
            let z = half_step[j] / factor[j * (j + 3u) / 2u];
            for (var i = lane; i < j; i += group_size) {
                half_step[i] -= factor[j * (j + 1u) / 2u + i] * z;
            }
            if (lane == 0u) {
                solved[j] = z;
            }
            workgroupBarrier();
        }
        // Within bounds.
        for (var j = lane; j < unknowns; j += group_size) {
            let reached = $TARGET;
            let change = reached - at_value[j];
            trial[j] = reached;
            changes[j] = select(1u, 0u, abs(change) <= step_tolerance * abs(at_value[j]));
            solved[j] = $WITHIN;
        }
        workgroupBarrier();
        for (var i = lane; i < unknowns; i += group_size) {
            var products: real = 0.0;
            for (var j = 0u; j < i; j++) {
                products += at_normal[i * (i + 1u) / 2u + j] * scale[i] * scale[j] * solved[i] * solved[j];
            }
            part[i] = products;
        }
        workgroupBarrier();
        if (lane == 0u) {
            var linear: real = 0.0;
            var squares: real = 0.0;
            var products: real = 0.0;
            still = true;
            for (var j = 0u; j < size; j++) {
                linear += (-at_slope[j] * scale[j]) * solved[j];
                squares += solved[j] * solved[j];
                products += part[j];
                still = still && changes[j] == 0u;
            }
            // Parameters that stay have no part in the model of F.
            predicted = linear - (0.5 * squares + products);
        }
";

//! The module of fits. Of few parameters, a thread has a fit, whose sums stay in its registers: every loop over parameters is written
//! out. Of more, [a workgroup](wide) has one. [Another](sharing) takes the own parameters out where fits share some.

mod sharing;
mod wide;

use super::writer::{Format, Writer};
use super::{NAMES, write_values};
use crate::fit::{FitProgram, FitTolerances, FitWeights, fit_state};
use crate::{KernelText, Store, binding};
use std::fmt::{Result, Write};

/// What follows the prelude, in f32 (or f64 on CUDA, which has the same text).
pub fn fit_module(fit: &FitProgram) -> KernelText {
    let mut text = Writer::new(Format::Single);
    // Writing to a string cannot fail.
    let _ = match (fit.is_of_shared(), fit.is_wide()) {
        (true, _) => sharing::write(fit, &mut text),
        (false, true) => wide::write(fit, &mut text),
        (false, false) => write(fit, &mut text),
    };
    text.single(fit.access())
}

/// `first` and the others, joined.
fn joined(count: usize, separator: &str, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect::<Vec<_>>().join(separator)
}

/// Pairs of the lower triangle below the diagonal.
fn below(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(|i| (0..i).map(move |j| (i, j)))
}

/// Buffers and arguments.
fn write_declarations(fit: &FitProgram, text: &mut Writer) -> Result {
    let layout = &fit.layout;
    if layout.ragged {
        writeln!(text, "// Where each fit's points begin, and the end of the last one's.")?;
        writeln!(text, "@group(0) @binding({}) var<storage, read> {}: array<u32>;", binding::ARENA, NAMES[binding::ARENA])?;
    }
    writeln!(text, "@group(0) @binding({}) var<storage, read> {}: array<real>;", binding::DATA, NAMES[binding::DATA])?;
    if !fit.is_of_shared() {
        let (slot, name) = (binding::INDEX, NAMES[binding::INDEX]);
        writeln!(text, "// The fits of this launch.\n@group(0) @binding({slot}) var<storage, read> {name}: array<u32>;")?;
    }
    if layout.bounded {
        writeln!(text, "@group(0) @binding({}) var<storage, read> {}: array<real>;", binding::VECTOR_IN, NAMES[binding::VECTOR_IN])?;
    }
    let out = binding::VECTOR_OUT;
    writeln!(text, "@group(0) @binding({out}) var<storage, read_write> {}: array<real>;", NAMES[out])?;
    if fit.is_of_shared() {
        for (slot, access) in [(binding::STATE, "read"), (binding::PARTIALS, "read_write")] {
            writeln!(text, "@group(0) @binding({slot}) var<storage, {access}> {}: array<real>;", NAMES[slot])?;
        }
    }
    writeln!(text, "\nstruct Args {{\n    fits: u32,\n    points: u32,\n    total: u32,\n    rounds: u32,\n    most: u32,")?;
    writeln!(text, "    // 1 if every fit has bounds of its own.\n    each: u32,")?;
    writeln!(text, "    // Invocations of a fit.\n    lanes: u32,\n}}")
}

fn write(fit: &FitProgram, text: &mut Writer) -> Result {
    let n = fit.layout.free.len();
    write_declarations(fit, text)?;
    writeln!(text, "\n// F with its low part, gradient, and the lower triangle of the normal matrix.\nstruct Sums {{\n    cost: real,")?;
    (0..n).try_for_each(|j| writeln!(text, "    d{j}: real,"))?;
    (0..n).try_for_each(|j| writeln!(text, "    h{j}_{j}: real,"))?;
    below(n).try_for_each(|(i, j)| writeln!(text, "    h{i}_{j}: real,"))?;
    writeln!(text, "    usable: bool,\n}}")?;
    write_evaluate(fit, text)?;
    write_main(fit, text)
}

/// A sum with compensation (Kahan 1965), behind an opaque barrier.
fn write_sum(text: &mut Writer, sum: &str, low: &str, value: &str) -> Result {
    writeln!(text, "        {{\n            let addend = {value} - {low};\n            let next = opaque({sum} + addend);")?;
    writeln!(text, "            {low} = opaque(next - {sum}) - addend;\n            {sum} = next;\n        }}")
}

/// Beginnings of data, weights and variables. Lengths are those of `FitLayout::places`. Gives the place of the weight of a point `k`,
/// which is `own` among the points of all fits.
fn write_places(fit: &FitProgram, text: &mut Writer) -> std::result::Result<Option<&'static str>, std::fmt::Error> {
    let layout = &fit.layout;
    let shared = layout.variables.iter().filter(|shared| **shared).count();
    writeln!(text, "    let data_at = {}u + {shared}u * params.args.points;", FitTolerances::COUNT)?;
    let mut next = String::from("data_at + params.args.total");
    let weights = match layout.weights {
        FitWeights::None => None,
        FitWeights::Shared => {
            writeln!(text, "    let weights_at = {next};")?;
            next = "weights_at + params.args.points".into();
            Some("weights_at + k")
        }
        FitWeights::Each => {
            writeln!(text, "    let weights_at = {next};")?;
            next = "weights_at + params.args.total".into();
            Some("weights_at + own")
        }
    };
    if shared < layout.variables.len() {
        writeln!(text, "    let variables_at = {next};")?;
    }
    Ok(weights)
}

/// Values given of a point `k`, besides the parameters.
fn write_given(fit: &FitProgram, weights: Option<&str>, indent: &str, text: &mut Writer) -> Result {
    let layout = &fit.layout;
    let (parameters, variables) = (layout.parameters as usize, layout.variables.len());
    match layout.ragged {
        true => writeln!(text, "{indent}let own = first + k;")?,
        false => writeln!(text, "{indent}let own = first + k * params.args.fits;")?,
    }
    let (mut of_shared, mut of_each) = (0, 0);
    for (number, is_shared) in layout.variables.iter().enumerate() {
        let place = if *is_shared {
            of_shared += 1;
            format!("{}u + {}u * params.args.points + k", FitTolerances::COUNT, of_shared - 1)
        } else {
            of_each += 1;
            format!("variables_at + {}u * params.args.total + own", of_each - 1)
        };
        writeln!(text, "{indent}let g{}: real = data[{place}];", parameters + number)?;
    }
    writeln!(text, "{indent}let g{}: real = data[data_at + own];", parameters + variables)?;
    if let Some(place) = weights {
        writeln!(text, "{indent}let g{}: real = data[{place}];", parameters + variables + 1)?;
    }
    Ok(())
}

/// The value of a column that the program stores.
fn stored(fit: &FitProgram, column: u32) -> String {
    let found = fit.program.stores.iter().find(|(store, _)| *store == Store::Tile(column));
    format!("v{}", found.map_or(0, |(_, value)| *value))
}

/// The order of `FitTolerances`.
fn write_tolerances(text: &mut Writer) -> Result {
    writeln!(text, "    let least_curvature = real({:e});", FitProgram::LEAST_CURVATURE)?;
    for (number, name) in ["cost_tolerance", "step_tolerance", "noise", "rank"].into_iter().enumerate() {
        writeln!(text, "    let {name}: real = data[{number}];")?;
    }
    Ok(())
}

/// A field of the fit.
fn field(place: &str) -> String {
    format!("{}[{place} * fits + fit]", NAMES[binding::VECTOR_OUT])
}

fn write_evaluate(fit: &FitProgram, text: &mut Writer) -> Result {
    let (layout, n) = (&fit.layout, fit.layout.free.len());
    let parameters = layout.parameters as usize;
    let arguments = joined(parameters, "", |j| format!(", g{j}: real"));
    writeln!(text, "\nfn evaluate(first: u32, points: u32{arguments}) -> Sums {{")?;
    writeln!(text, "    var cost: real = 0.0;\n    var cost_low: real = 0.0;\n    var usable = true;")?;
    (0..n).try_for_each(|j| writeln!(text, "    var d{j}: real = 0.0;\n    var d{j}_low: real = 0.0;\n    var h{j}_{j}: real = 0.0;"))?;
    below(n).try_for_each(|(i, j)| writeln!(text, "    var h{i}_{j}: real = 0.0;"))?;
    let weights = write_places(fit, text)?;
    writeln!(text, "    for (var k = 0u; k < points; k++) {{")?;
    write_given(fit, weights, "        ", text)?;
    write_values(&fit.program, &[], "params.count", "        ", text)?;
    let stored = |column: u32| stored(fit, column);
    writeln!(text, "        usable = usable && {} != 0.0;", stored(3))?;
    write_sum(text, "cost", "cost_low", &stored(0))?;
    let row = |j: usize| stored(FitProgram::BEFORE + j as u32);
    for i in 0..n {
        write_sum(text, &format!("d{i}"), &format!("d{i}_low"), &format!("{} * {}", stored(1), row(i)))?;
        writeln!(text, "        let k{i} = {} * {};", stored(2), row(i))?;
        (0..=i).try_for_each(|j| writeln!(text, "        h{i}_{j} += k{i} * {};", row(j)))?;
    }
    writeln!(text, "    }}\n    usable = usable && is_finite(cost);")?;
    (0..n).try_for_each(|j| writeln!(text, "    usable = usable && is_finite(d{j}) && is_finite(h{j}_{j});"))?;
    let fields = ["cost".to_string()].into_iter().chain((0..n).map(|j| format!("d{j}"))).chain((0..n).map(|j| format!("h{j}_{j}")));
    let fields: Vec<String> = fields.chain(below(n).map(|(i, j)| format!("h{i}_{j}"))).collect();
    writeln!(text, "    return Sums({}, usable);\n}}", fields.join(", "))
}

/// The Cholesky factor `l{i}_{j}` of the matrix with the entries `c{i}_{j}` below a diagonal of `diagonal`; where a pivot is at
/// most `least`, `regular` becomes false.
fn write_factor(n: usize, diagonal: &str, least: &str, indent: &str, text: &mut Writer) -> Result {
    for j in 0..n {
        let taken = (0..j).map(|k| format!(" - l{j}_{k} * l{j}_{k}")).collect::<String>();
        writeln!(text, "{indent}let pivot{j} = {diagonal}{taken};\n{indent}regular = regular && pivot{j} > {least};")?;
        writeln!(text, "{indent}let l{j}_{j} = sqrt(select(real(1.0), pivot{j}, pivot{j} > {least}));")?;
        for i in j + 1..n {
            let taken = (0..j).map(|k| format!(" - l{i}_{k} * l{j}_{k}")).collect::<String>();
            writeln!(text, "{indent}let l{i}_{j} = (c{i}_{j}{taken}) / l{j}_{j};")?;
        }
    }
    Ok(())
}

/// `s{j}` scales the normal matrix to a diagonal of 1, and is 0 for parameters that stay; `c{i}_{j}` is what is below it.
fn write_scaled(fit: &FitProgram, indent: &str, text: &mut Writer) -> Result {
    let n = fit.layout.free.len();
    for (j, number) in fit.layout.free.iter().enumerate() {
        let stays = match fit.layout.bounded {
            true => format!(" && !((g{number} <= lower{j} && at.d{j} > 0.0) || (g{number} >= upper{j} && at.d{j} < 0.0))"),
            false => String::new(),
        };
        writeln!(text, "{indent}let moves{j} = at.h{j}_{j} > least_curvature{stays};")?;
        writeln!(text, "{indent}let s{j} = select(real(0.0), 1.0 / sqrt(max(at.h{j}_{j}, least_curvature)), moves{j});")?;
    }
    below(n).try_for_each(|(i, j)| writeln!(text, "{indent}let c{i}_{j} = at.h{i}_{j} * s{i} * s{j};"))
}

fn write_main(fit: &FitProgram, text: &mut Writer) -> Result {
    let (layout, n) = (&fit.layout, fit.layout.free.len());
    let parameters = layout.parameters as usize;
    let place = |number: u32| field(&format!("{number}u"));
    writeln!(text, "\n@compute @workgroup_size(group_size)\nfn main(@builtin(global_invocation_id) id: vec3<u32>) {{")?;
    writeln!(text, "    let i = item(id);\n    if (i >= params.count) {{\n        return;\n    }}")?;
    writeln!(text, "    let fit = index[i];\n    let fits = params.args.fits;")?;
    match layout.ragged {
        true => writeln!(text, "    let first = arena[fit];\n    let points = arena[fit + 1u] - first;")?,
        false => writeln!(text, "    let points = params.args.points;\n    let first = fit;")?,
    }
    write_tolerances(text)?;
    if layout.bounded {
        writeln!(text, "    let bound_stride = select(1u, fits, params.args.each != 0u);\n    let bound = fit * params.args.each;")?;
        for j in 0..n {
            writeln!(text, "    let lower{j}: real = vector_in[{j}u * bound_stride + bound];")?;
            writeln!(text, "    let upper{j}: real = vector_in[{}u * bound_stride + bound];", n + j)?;
        }
    }
    for j in 0..parameters {
        let value = place(j as u32);
        match layout.free.iter().position(|free| *free == j as u32) {
            Some(free) if layout.bounded => writeln!(text, "    var g{j}: real = clamp({value}, lower{free}, upper{free});")?,
            Some(_) => writeln!(text, "    var g{j}: real = {value};")?,
            None => writeln!(text, "    let g{j}: real = {value};")?,
        }
    }
    let (cost, damped) = (layout.cost(), layout.damping());
    writeln!(text, "    var damping: real = {};\n    var growth: real = {};", place(damped), place(damped + 1))?;
    writeln!(text, "    if (damping == 0.0) {{\n        damping = {:e};\n        growth = 2.0;\n    }}", FitProgram::FIRST_DAMPING)?;
    writeln!(text, "    var iterations = u32({});\n    var status = {}u;", place(layout.iterations()), fit_state::RUNNING)?;
    // What a step is judged by. One place evaluates, and one factors: compilers write functions out where they are called.
    for (j, number) in layout.free.iter().enumerate() {
        writeln!(text, "    var q{j} = g{number};\n    var error{j}: real = 0.0;")?;
    }
    writeln!(text, "    var at = Sums();\n    var regular = true;\n    var still = false;\n    var predicted: real = 0.0;")?;
    let trial: String = (0..parameters)
        .map(|number| match layout.free.iter().position(|free| *free == number as u32) {
            Some(j) => format!(", q{j}"),
            None => format!(", g{number}"),
        })
        .collect();
    writeln!(text, "    for (var round = 0u; ; round++) {{\n        let trial = evaluate(first, points{trial});")?;
    writeln!(
        text,
        "        if (round == 0u) {{\n            at = trial;\n            if (!trial.usable) {{\n                status = {}u;\n            }}",
        fit_state::NON_FINITE
    )?;
    writeln!(text, "        }} else if (!regular) {{\n            damping *= growth;\n            growth *= 2.0;")?;
    writeln!(
        text,
        "            if (damping > {:e}) {{\n                status = {}u;\n            }}\n        }} else {{",
        FitProgram::LAST_DAMPING,
        fit_state::SINGULAR
    )?;
    write_judgement(fit, text)?;
    writeln!(text, "        }}\n        if (status == {}u && round < params.args.rounds) {{", fit_state::RUNNING)?;
    writeln!(
        text,
        "            if (iterations >= params.args.most) {{\n                status = {}u;\n            }} else {{\n                iterations++;\n            }}\n        }}",
        fit_state::LIMIT
    )?;
    writeln!(text, "        let over = status == {}u || status == {}u;", fit_state::CONVERGED, fit_state::LIMIT)?;
    writeln!(
        text,
        "        if (!over && (status != {}u || round >= params.args.rounds)) {{\n            break;\n        }}",
        fit_state::RUNNING
    )?;
    let indent = "        ";
    write_scaled(fit, indent, text)?;
    writeln!(
        text,
        "        regular = true;\n        let diagonal = select(1.0 + damping, real(1.0), over);\n        let least = select(real(0.0), rank, over);"
    )?;
    write_factor(n, "diagonal", "least", indent, text)?;
    write_end(fit, text)?;
    write_step(fit, text)?;
    writeln!(text, "    }}")?;
    for (j, number) in layout.free.iter().enumerate() {
        writeln!(text, "    {} = g{number};\n    {} = error{j};", place(*number), place(layout.errors() + j as u32))?;
    }
    writeln!(text, "    {} = select(flagged(), at.cost, at.usable);", place(cost))?;
    writeln!(text, "    {} = damping;\n    {} = growth;", place(damped), place(damped + 1))?;
    writeln!(text, "    {} = real(iterations);\n    {} = real(status);\n}}", place(layout.iterations()), place(layout.state()))
}

/// Accepts or rejects the step to the trial, and ends the fit where it does.
fn write_judgement(fit: &FitProgram, text: &mut Writer) -> Result {
    writeln!(text, "            let change = at.cost - trial.cost;")?;
    writeln!(text, "            let small = abs(predicted) <= cost_tolerance * at.cost;\n            let room = noise * at.cost;")?;
    writeln!(text, "            let improves = predicted > 0.0 && change >= {:e} * predicted;", FitProgram::LEAST_GAIN)?;
    writeln!(text, "            let even = abs(predicted) <= room && change >= -room;")?;
    writeln!(text, "            if (trial.usable && (improves || even)) {{")?;
    writeln!(text, "                let gain = 2.0 * min(max(change / max(predicted, real(1e-37)), 0.0), 1.0) - 1.0;")?;
    writeln!(text, "                damping *= max(real(1.0) / 3.0, 1.0 - gain * gain * gain);\n                growth = 2.0;")?;
    for (j, number) in fit.layout.free.iter().enumerate() {
        writeln!(text, "                g{number} = q{j};")?;
    }
    writeln!(
        text,
        "                at = trial;\n            }} else {{\n                damping *= growth;\n                growth *= 2.0;\n            }}"
    )?;
    writeln!(text, "            if (trial.usable && (small || still)) {{\n                status = {}u;", fit_state::CONVERGED)?;
    writeln!(text, "            }} else if (damping > {:e}) {{", FitProgram::LAST_DAMPING)?;
    writeln!(text, "                status = select({}u, {}u, trial.usable);\n            }}", fit_state::NON_FINITE, fit_state::CONVERGED)
}

/// The damped step, within bounds, and what the model of F predicts of it.
fn write_step(fit: &FitProgram, text: &mut Writer) -> Result {
    let (layout, n) = (&fit.layout, fit.layout.free.len());
    for j in 0..n {
        writeln!(text, "        let b{j} = -at.d{j} * s{j};")?;
        let taken = (0..j).map(|k| format!(" - l{j}_{k} * y{k}")).collect::<String>();
        writeln!(text, "        let y{j} = (b{j}{taken}) / l{j}_{j};")?;
    }
    for j in (0..n).rev() {
        let taken = (j + 1..n).map(|k| format!(" - l{k}_{j} * z{k}")).collect::<String>();
        writeln!(text, "        let z{j} = (y{j}{taken}) / l{j}_{j};")?;
    }
    writeln!(text, "        still = true;")?;
    for (j, number) in layout.free.iter().enumerate() {
        match layout.bounded {
            true => {
                writeln!(text, "        q{j} = clamp(g{number} + s{j} * z{j}, lower{j}, upper{j});\n        let e{j} = q{j} - g{number};")?;
                writeln!(text, "        let m{j} = select(real(0.0), e{j} / select(real(1.0), s{j}, moves{j}), moves{j});")?;
            }
            false => writeln!(text, "        let e{j} = s{j} * z{j};\n        q{j} = g{number} + e{j};\n        let m{j} = z{j};")?,
        }
        writeln!(text, "        still = still && abs(e{j}) <= step_tolerance * abs(g{number});")?;
    }
    let linear = joined(n, " + ", |j| format!("b{j} * m{j}"));
    let squares = joined(n, " + ", |j| format!("m{j} * m{j}"));
    let products: String = below(n).map(|(i, j)| format!(" + c{i}_{j} * m{i} * m{j}")).collect();
    // Parameters that stay have no part in the model of F.
    writeln!(text, "        predicted = {linear} - (0.5 * ({squares}){products});")
}

/// Standard errors and the state of a fit that is at its end.
fn write_end(fit: &FitProgram, text: &mut Writer) -> Result {
    let (layout, n) = (&fit.layout, fit.layout.free.len());
    writeln!(text, "        if (over) {{")?;
    // A parameter that stays, other than at a bound, has no influence.
    for (j, number) in layout.free.iter().enumerate() {
        let at_bound = if layout.bounded { format!(" || g{number} <= lower{j} || g{number} >= upper{j}") } else { String::new() };
        writeln!(text, "            regular = regular && (moves{j}{at_bound});")?;
    }
    // The columns of L⁻¹, whose squares make the diagonal of the inverse.
    for j in 0..n {
        writeln!(text, "            let w{j}_{j} = 1.0 / l{j}_{j};")?;
        for i in j + 1..n {
            let sum = (j..i).map(|k| format!("l{i}_{k} * w{k}_{j}")).collect::<Vec<_>>().join(" + ");
            writeln!(text, "            let w{i}_{j} = -({sum}) / l{i}_{i};")?;
        }
    }
    writeln!(text, "            if (regular) {{")?;
    for j in 0..n {
        let sum = (j..n).map(|i| format!("w{i}_{j} * w{i}_{j}")).collect::<Vec<_>>().join(" + ");
        writeln!(text, "                error{j} = s{j} * sqrt({sum});")?;
    }
    let converged = format!("status == {}u", fit_state::CONVERGED);
    if layout.bounded {
        let at_bound = layout.free.iter().enumerate().map(|(j, number)| format!("g{number} <= lower{j} || g{number} >= upper{j}"));
        let at_bound = at_bound.collect::<Vec<_>>().join(" || ");
        writeln!(
            text,
            "                if ({converged} && ({at_bound})) {{\n                    status = {}u;\n                }}",
            fit_state::AT_BOUND
        )?;
    }
    writeln!(
        text,
        "            }} else if ({converged}) {{\n                status = {}u;\n            }}\n            break;\n        }}",
        fit_state::SINGULAR
    )
}

//! Files that are generated from declarations of the engine, and held to them: `npm run generate` writes them anew.

use leastwise::expr::Opcode;
use leastwise::expr::rules::{Function, markdown, rules};
use leastwise::program::{BuiltInLoss, Range};
use leastwise::solve::Method;
use leastwise::solve::descent::{Rule, RuleEntry};
use leastwise::solve::linear::Preconditioner;
use leastwise::tensor::operations::{ELEMENTWISE, NAMED, TYPED, Takes, is_comparison, keeps_integers};
use std::fmt::Write;

/// The file is this text, which is written where golden files are blessed.
fn hold(path: &str, text: &str) {
    let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("LEASTWISE_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap_or_default() == text, "{path} is not what is declared: run npm run generate");
}

/// The lines of a file after one that starts with `after` are this text, up to one that starts with `until` (a blank one
/// where that is empty).
fn hold_lines(path: &str, after: &str, until: &str, text: &str) {
    let file = std::fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let lines: Vec<&str> = file.split_inclusive('\n').collect();
    let first = 1 + lines.iter().position(|line| line.starts_with(after)).unwrap_or_else(|| panic!("{path}: no line {after}"));
    let is_end = |line: &&str| if until.is_empty() { *line == "\n" } else { line.starts_with(until) };
    let last = first + lines[first..].iter().position(is_end).unwrap_or_else(|| panic!("{path}: no line {until}"));
    hold(path, &format!("{}{text}{}", lines[..first].concat(), lines[last..].concat()));
}

#[test]
fn the_facade_has_the_opcodes() {
    let mut text = String::from(
        "/**\n * What an instruction of a tape does. Generated from `src/expr/operations/` (`npm run generate`), and held to it by a test.\n */\nexport const Opcode = {\n",
    );
    for (opcode, name, meaning) in Opcode::TABLE {
        writeln!(text, "  /** {meaning} */\n  {name}: {},", *opcode as u32).unwrap();
    }
    text.push_str("} as const;\nexport type Opcode = (typeof Opcode)[keyof typeof Opcode];\n");
    hold("ts/src/opcodes.ts", &text);
}

/// The errors of every function of scalars.
const THROWS: &str =
    "`shape` for operands of other kinds; `foreign-expression` outside of the residual function whose expressions they are";

/// The names of parameters that are declared in TypeScript.
fn names(parameters: &str) -> String {
    let name = |parameter: &str| parameter.split(':').next().unwrap_or_default().trim().to_string();
    parameters.split(',').map(name).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_facade_has_the_functions() {
    let mut text = String::from(
        "/**\n * Functions of scalars. Outside of the domain that is given, a residual is flagged as not finite: an error at the start (it names term\n * and instance), a step that is refused later. Where no kink is mentioned there is none.\n *\n * Generated from `src/expr/operations/` (`npm run generate`), and held to it by a test.\n */\nimport { Opcode } from \"./opcodes.js\";\nimport { scalar, type Num, type Scalar } from \"./scalar.js\";\n",
    );
    let functions: Vec<(Opcode, Function)> = rules().iter().filter_map(|&(opcode, _)| Some((opcode, opcode.function()?))).collect();
    for (opcode, Function { name, parameters, description }) in functions {
        let made = format!("scalar(\"{name}\", Opcode.{opcode:?}, [{}])", names(parameters));
        let example = &["s", "s, u"][parameters.split(',').filter(|parameter| !parameter.contains('=')).count() - 1];
        writeln!(
            text,
            "\n/**\n * {description}\n *\n * @throws {THROWS}\n * @example\n * {name}({example})\n */\nexport function {name}({parameters}): Scalar {{ return {made}; }}"
        )
        .unwrap();
    }
    hold("ts/src/functions.ts", &text);
}

#[test]
fn the_page_of_operations_is_their_table() {
    hold("docs/OPERATIONS.md", &markdown());
}

/// Lines of documentation of TypeScript.
fn documentation(text: &str) -> String {
    format!("/**\n * {}\n */", text.replace('\n', "\n * ")).replace(" * \n", " *\n")
}

#[test]
fn the_facade_has_the_losses() {
    let mut text = String::from(
        "/** Built-in losses. Generated from `src/program/losses/` (`npm run generate`), and held to it by a test. */\nimport { atMost, builtIn, NOT_NEGATIVE, SCALE, type Loss } from \"./loss.js\";\n",
    );
    for &loss in BuiltInLoss::ALL {
        let (mut declared, mut given, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
        for parameter in loss.parameters() {
            let (range, said) = match parameter.range {
                Range::Scale => ("SCALE".into(), "a number from 1e-9 to 1e9".into()),
                Range::NotNegative => ("NOT_NEGATIVE".into(), "0 or more".into()),
                Range::AtMost(most) => (format!("atMost({most:e})"), format!("at most {most:e} or `-Infinity`")),
            };
            declared.push(format!("{}: number", parameter.name));
            given.push(format!("[\"{0}\", {0}, {range}]", parameter.name));
            ranges.push(format!("`{}` is {said}", parameter.name));
        }
        let (name, number) = (loss.name(), loss.number());
        let (declared, given, ranges) = (declared.join(", "), given.join(", "), ranges.join(" and "));
        let [description, example] = loss.documentation();
        let said = documentation(&format!("{description}\n\n@throws `invalid-option` unless {ranges}\n@example\n{example}"));
        writeln!(text, "\n{said}\nexport function {name}({declared}): Loss {{ return builtIn({number}, \"{name}\", [{given}]); }}")
            .unwrap();
    }
    hold("ts/src/losses.ts", &text);
}

#[test]
fn the_page_of_losses_has_a_line_for_each() {
    let line = |loss: &BuiltInLoss| {
        let symbols: Vec<&str> = loss.parameters().iter().map(|parameter| parameter.symbol).collect();
        let cells = loss.row().map(|cell| cell.replace('|', "\\|"));
        format!("| `{}({})` | {} |\n", loss.name(), symbols.join(", "), cells.join(" | "))
    };
    hold_lines("docs/LOSSES.md", "| `trivial()` |", "| `scaled(", &BuiltInLoss::ALL.iter().map(line).collect::<String>());
}

/// A list of names in quotes.
fn quoted(names: &[&str], between: &str) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(between)
}

/// The same, each as code.
fn coded(names: &[&str]) -> String {
    format!("`{}`", quoted(names, "`, `"))
}

fn methods() -> Vec<&'static str> {
    Method::OF_SYSTEMS.iter().map(|method| method.name()).chain(Rule::TABLE.iter().map(|rule| rule.name)).collect()
}

fn preconditioners() -> Vec<&'static str> {
    ["auto"].into_iter().chain(Preconditioner::ALL.iter().map(|preconditioner| preconditioner.name())).collect()
}

/// The linear solvers of a preconditioner, each as code.
fn linears(preconditioner: &Preconditioner) -> String {
    preconditioner.linears().iter().map(|linear| format!("`\"{}\"`", linear.name())).collect::<Vec<_>>().join(", ")
}

// One test, since tests run side by side and two would write the same files.
#[test]
fn methods_and_preconditioners_are_named_everywhere() {
    let (methods, preconditioners) = (methods(), preconditioners());
    let mut text = String::from(
        "/** Names of methods and preconditioners. Generated from `src/solve/` (`npm run generate`), and held to it by a test. */\n",
    );
    for (name, names) in [("METHODS", &methods), ("PRECONDITIONERS", &preconditioners)] {
        writeln!(text, "\n/** @internal */\nexport const {name} = [{}] as const;", quoted(names, ", ")).unwrap();
    }
    hold("ts/src/methods.ts", &text);

    let mut text = String::from("   *\n");
    let of_kind = |searches: bool| Rule::TABLE.iter().filter(move |rule| rule.searches == searches);
    let items = |text: &mut String, searches: bool| {
        of_kind(searches).for_each(|rule| writeln!(text, "   * - `\"{}\"`: {}", rule.name, rule.description).unwrap());
    };
    items(&mut text, true);
    let count = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"][of_kind(true).count()];
    writeln!(
        text,
        "   *\n   *   These {count} search along their direction for a point with the strong Wolfe conditions; `innerIterations` are the points tried."
    )
    .unwrap();
    items(&mut text, false);
    writeln!(text, "   *\n   * @defaultValue `\"lm\"`\n   */\n  method?: {};", quoted(&methods, " | ")).unwrap();
    hold_lines("ts/src/solver.ts", "   * By the gradient alone", "  /** History of", &text);

    let mut text = String::new();
    for preconditioner in Preconditioner::ALL {
        let lines = preconditioner.description().join("\n   *   ");
        writeln!(text, "   * - `\"{}\"`, for {}: {lines}", preconditioner.name(), linears(preconditioner)).unwrap();
    }
    writeln!(text, "   *\n   * @defaultValue `\"auto\"`\n   */\n  preconditioner?: {};", quoted(&preconditioners, " | ")).unwrap();
    hold_lines(
        "ts/src/solver.ts",
        "   * - `\"auto\"`: chosen from the problem's structure and size; `report.preconditioner",
        "  /**",
        &text,
    );

    let row = |rule: &RuleEntry| format!("| `\"{}\"` | {} |\n", rule.name, rule.row.join(" | "));
    hold_lines("docs/METHODS.md", "| `\"dogleg\"` |", "", &Rule::TABLE.iter().map(row).collect::<String>());
    let row = |preconditioner: &Preconditioner| {
        let [inverse, good_for] = preconditioner.row();
        format!("| `\"{}\"` | {inverse} | {} | {good_for} |\n", preconditioner.name(), linears(preconditioner))
    };
    let rows: String = Preconditioner::ALL.iter().map(row).collect();
    hold_lines("docs/SOLVERS.md", "| `preconditioner` | M⁻¹ |", "", &format!("|---|---|---|---|\n{rows}"));
    let head = "\n| option | values | default |\n|---|---|---|";
    let row = format!("{head}\n| `method` | {} | `\"lm\"` |\n", coded(&methods));
    hold_lines("docs/OPTIONS.md", "## `problem.solve(options)`", "| `linear` |", &row);
    let row = format!("| `preconditioner` | {} | `\"auto\"` |\n", coded(&preconditioners));
    hold_lines("docs/OPTIONS.md", "| `linear` |", "| `eliminate` |", &row);
}

#[test]
fn the_facade_has_the_operations_of_tensors() {
    let names: Vec<&str> = ELEMENTWISE.iter().map(|entry| entry.0).chain(NAMED.iter().copied()).chain(TYPED.iter().copied()).collect();
    let mut text = String::from(
        "/** Operations of tensors by name. Generated from `src/tensor/operations/` (`npm run generate`), and held to it by a test. */\n\n/** @internal */\nexport type Operation =\n",
    );
    let lines: Vec<String> = names.chunks(10).map(|names| format!("  | {}", quoted(names, " | "))).collect();
    writeln!(text, "{};", lines.join("\n")).unwrap();
    hold("ts/src/tensor/operations.ts", &text);

    let mut text = String::new();
    for (name, takes, description) in ELEMENTWISE {
        let (declared, given) = match takes {
            Takes::One => ("", "this"),
            Takes::Two => ("o: Kept<D> | number", "this, o"),
            Takes::Free => continue,
        };
        if !description.is_empty() {
            writeln!(text, "  /** {description} */").unwrap();
        }
        let whole = if *takes == Takes::Two { ", o: IntTensor<D> | BoolTensor<D> | number" } else { "" };
        if matches!(*name, "maximum" | "minimum") {
            writeln!(text, "  {name}(this: BoolTensor<D>, o: BoolTensor<D>): BoolTensor<D>;").unwrap();
        }
        if keeps_integers(name) {
            writeln!(text, "  {name}(this: IntTensor<D>{whole}): IntTensor<D>;\n  {name}({declared}): Tensor<D>;").unwrap();
        }
        let kind = match keeps_integers(name) {
            true => "Kept",
            false if is_comparison(name) => "BoolTensor",
            false => "Tensor",
        };
        writeln!(text, "  {name}({declared}): {kind}<D> {{ return apply(\"{name}\", [{given}]); }}").unwrap();
    }
    hold_lines("ts/src/tensor/tensor.ts", "  // ── element by element", "  // ── element by element, by hand", &text);
}

//! Files that are generated from declarations of the engine, and held to them: `npm run generate` writes them anew.

use leastwise::expr::Opcode;
use leastwise::expr::rules::{Function, markdown, rules};
use leastwise::kernel::{BuiltInLoss, Range};
use std::fmt::Write;

/// The file is this text, which is written where golden files are blessed.
fn hold(path: &str, text: &str) {
    let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("LEASTWISE_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap_or_default() == text, "{path} is not what is declared: run npm run generate");
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
    const PAGE: &str = "docs/LOSSES.md";
    let page = std::fs::read_to_string(format!("{}/{PAGE}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let start = page.find("| `trivial()` |").unwrap();
    let first = start + page[start..].find('\n').unwrap() + 1;
    let last = page.find("| `scaled(").unwrap();
    let line = |loss: &BuiltInLoss| {
        let symbols: Vec<&str> = loss.parameters().iter().map(|parameter| parameter.symbol).collect();
        let cells = loss.row().map(|cell| cell.replace('|', "\\|"));
        format!("| `{}({})` | {} |\n", loss.name(), symbols.join(", "), cells.join(" | "))
    };
    let lines: String = BuiltInLoss::ALL.iter().map(line).collect();
    hold(PAGE, &format!("{}{lines}{}", &page[..first], &page[last..]));
}

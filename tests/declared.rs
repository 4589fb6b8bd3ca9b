//! Files that are generated from declarations of the engine, and held to them: `npm run generate` writes them anew.

use leastwise::expr::Opcode;
use leastwise::expr::rules::{Function, markdown, rules};
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

// Lists of what a folder of the engine declares, a file each or a family a file: so that to add one is to add its file.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { page } from "../../pkg_tests/array-api.mjs";
import { root } from "./run.mjs";
import { surface } from "./surface/generated.mjs";

/** The texts of a folder's files, by the names of their modules. */
function modulesOf(folder) {
  const names = readdirSync(join(root, folder)).filter((name) => name.endsWith(".rs") && name !== "mod.rs").sort();
  return names.map((name) => ({ name: name.slice(0, -".rs".length), text: readFileSync(join(root, folder, name), "utf8") }));
}

/** What modules declare by a pattern of a name and a number, in the order of the numbers. */
function declared(modules, pattern) {
  const found = modules.flatMap(({ text }) => [...text.matchAll(pattern)].map((match) => ({ ...match.groups, number: Number(match.groups.number), text })));
  return found.sort((a, b) => a.number - b.number);
}

/** The same where the numbers are those from 0 on. */
function numbered(what, modules, pattern) {
  const found = declared(modules, pattern);
  const [odd, place] = found.map(({ name, number }, k) => [name, k, number]).find(([, k, number]) => k !== number) ?? [];
  if (odd) throw new Error(`${what} are numbered from 0 on: the next number that is free is ${place}, but ${odd} has another`);
  return found;
}

/** The doc comment of a struct, or the meaning of an instruction. */
function meaning({ name, text }) {
  const comment = new RegExp(`((?:^/// .*\\n)+)pub struct ${name};`, "m").exec(text)?.[1];
  const said = new RegExp(`impl Instruction for ${name} \\{[^}]*?MEANING: &'static str = "(.*)";`).exec(text)?.[1];
  return comment?.trimEnd().split("\n") ?? [`/// ${said}`];
}

const listed = (items) => items.flatMap((item) => [...meaning(item), `${item.name},`]).map((line) => `    ${line}`).join("\n");
const words = (items) => items.map(({ name }) => name).join(", ");

/** `src/expr/operations/mod.rs` */
function operations() {
  const modules = modulesOf("src/expr/operations");
  const instructions = numbered("opcodes", modules, /impl Instruction for (?<name>\w+) \{\n    const CODE: u32 = (?<number>\d+);/g);
  const nodes = numbered("nodes of one operand and of two together", modules, /impl (?<kind>Unary|Binary)Operation for (?<name>\w+) \{\n    const NUMBER: u32 = (?<number>\d+);\n    const NUMERICS: Numerics = Numerics::(?<numerics>\w+)/g);
  const [unary, binary] = ["Unary", "Binary"].map((kind) => nodes.filter((node) => node.kind === kind));
  const [ofOne, ofTwo] = [unary, binary].map((all) => all.filter(({ numerics }) => numerics === "Function" || numerics === "OfTurn"));
  return `//! The operations: a file each, or a family a file, which declare what [\`operation\`](crate::operation) asks for.
//!
//! This list is generated from the files (\`npm run generate\`), and a test holds it to them.

${modules.map(({ name }) => `mod ${name};`).join("\n")}

${modules.map(({ name }) => `pub use ${name}::*;`).join("\n")}

use crate::difference::Pair;
use crate::domain::{KnownSign, Operand};
use crate::operation::{Arity, BinaryOperation, Instruction, Numerics, Slope, Symmetry, UnaryOperation};
use crate::operation::{binary_operations, instructions, unary_operations};
use crate::rules::{Function, Rule};
use crate::{Expr, Graph, Symbol};

instructions! {
${listed(instructions)}
}

unary_operations! {
${listed(unary)}
}

binary_operations! {
${listed(binary)}
}

/// Hands a macro the nodes of one operand that are functions of the devices' library.
#[macro_export]
macro_rules! functions_of_one {
    ($with:ident) => {
        $with! { ${words(ofOne)} }
    };
}

/// The same of two operands.
#[macro_export]
macro_rules! functions_of_two {
    ($with:ident) => {
        $with! { ${words(ofTwo)} }
    };
}
`;
}

/** `src/program/losses/mod.rs` */
function losses() {
  const modules = modulesOf("src/program/losses");
  const found = declared(modules, /impl LossFunction for (?<name>\w+) \{\n    const NUMBER: u32 = (?<number>\d+);/g);
  const taken = new Map(surface().find(({ item, name }) => item === "packed" && name === "Loss").variants.map(({ name, number }) => [number, name]));
  for (const { name, number } of found) {
    if (taken.has(number)) throw new Error(`${number} is the number of the loss ${taken.get(number)}: ${name} needs another`);
    taken.set(number, name);
  }
  return `//! The built-in losses: a file each, which declares what [\`LossFunction\`] asks for.
//!
//! This list is generated from the files (\`npm run generate\`), and a test holds it to them.

${modules.map(({ name }) => `mod ${name};`).join("\n")}

${modules.map(({ name }) => `use ${name}::*;`).join("\n")}

use crate::loss_function::{LossFunction, Parameter, Symbol, built_in_losses};

built_in_losses! {
${found.map(({ name }) => `    ${name},`).join("\n")}
}
`;
}

/** `src/solve/descent/rules/mod.rs` */
function rules() {
  const modules = modulesOf("src/solve/descent/rules");
  const found = numbered("rules", modules, /impl DescentRule for (?<name>\w+) \{\n    const NUMBER: u32 = (?<number>\d+);/g);
  return `//! The rules of descents: a file each, which declares what [\`DescentRule\`] asks for.
//!
//! This list is generated from the files (\`npm run generate\`), and a test holds it to them.

${modules.map(({ name }) => `mod ${name};`).join("\n")}

use super::rule::{Command, DescentRule, Error, Options, Problem, RuleEntry, Turn, Workspace, descent_rules};

${modules.map(({ name }) => `use ${name}::*;`).join("\n")}

descent_rules! {
${found.map(({ name }) => `    ${name},`).join("\n")}
}
`;
}

/** The generated lists: a path, and its text. */
export const LISTS = [["src/expr/operations/mod.rs", operations], ["src/program/losses/mod.rs", losses], ["src/solve/descent/rules/mod.rs", rules], ["docs/ARRAY-API.md", page]];

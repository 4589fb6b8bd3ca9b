// Rust of the surface: what reads words.
import { camel, snake } from "./declaration.mjs";

export const HEADER = "// Written by `npm run generate` from src/session/surface.idl. Do not edit.\n";

export const documented = (docs) => docs.map((line) => `/// ${line}\n`).join("");

const within = (path) => path.replace(/^session::/, "crate::").replace(/^(?!crate)(\w+)::/, "leastwise_$1::");

/** `"a", "b" or "c"` */
const listed = (words) => words.map(({ word }) => `\\"${word}\\"`).join(", ").replace(/, (?=[^,]*$)/, " or ");

function word({ name, said, docs, path, words }) {
  const arms = words.map(({ word, variant }) => `"${word}" => Ok(${within(path)}::${variant}),\n`).join("");
  return `${documented(docs)}pub fn ${snake(camel(name))}(word: &str) -> Result<${within(path)}, Error> {
    match word {
        ${arms}other => Err(Error::InvalidOption(format!("${said} \\"{other}\\" is not ${listed(words)}"))),
    }
}\n`;
}

/** What is packed borrows where it has lists or names. */
function borrows(items, type) {
  if (type.optional) return borrows(items, type.optional);
  if (type.list) return true;
  if (type === "name") return true;
  const item = items.get(type);
  if (!item) return false;
  return [item, ...(item.variants ?? [])].some(({ fields }) => fields?.some((field) => field.type !== type && borrows(items, field.type)));
}

function typed(items, type, of) {
  if (type.optional) return `Option<${typed(items, type.optional, of)}>`;
  if (type.list === "u32" || type.list === "f64") return `&'a [${type.list}]`;
  if (type.list) return `Vec<${typed(items, type.list, of)}>`;
  if (type === "name") return "&'a str";
  const named = `${type}${borrows(items, type) ? "<'a>" : ""}`;
  return type === of ? `Box<${named}>` : named;
}

function packed(items, item) {
  const { name, docs, fields, variants } = item;
  const generic = borrows(items, name) ? "<'a>" : "";
  const declare = (fields, visible) => fields.map(({ name: field, type, docs }) => `${documented(docs)}${visible}${field}: ${typed(items, type, name)},\n`).join("");
  const read = (fields) => fields.map(({ name }) => `${name}: from.read()?,\n`).join("");
  const head = `impl<'a> Read<'a> for ${name}${generic} {\n    fn read(from: &mut Reader<'a>) -> Result<Self, Error> {\n`;
  if (fields) return `${documented(docs)}pub struct ${name}${generic} {\n${declare(fields, "pub ")}}\n\n${head}Ok(Self {\n${read(fields)}})\n}\n}\n`;
  const known = item.others && within(item.others);
  const other = known ? `/// One that the declaration does not list, of reals alone.\nOther { kind: ${known}, parameters: &'a [f64] },\n` : "";
  const declared = variants.map(({ name, fields, docs }) => `${documented(docs)}${name}${fields.length ? ` {\n${declare(fields, "")}}` : ""},\n`).join("");
  const arms = variants.map(({ name, fields, number }) => `${number} => Self::${name}${fields.length ? ` {\n${read(fields)}}` : ""},\n`).join("");
  const others = !known ? "other => return Err(from.unknown(other)),\n" : `other => {
    let kind = ${known}::of(other).ok_or_else(|| from.unknown(other))?;
    Self::Other { kind, parameters: from.reals(kind.parameters().len() as u32)? }
}\n`;
  return `${documented(docs)}pub enum ${name}${generic} {\n${declared}${other}}\n\n${head}Ok(match from.word()? {\n${arms}${others}})\n}\n}\n`;
}

/** src/session/wire/packed.rs. */
export function readers(all) {
  const items = new Map(all.filter(({ item }) => item === "packed").map((item) => [item.name, item]));
  const words = all.filter(({ item }) => item === "word").map(word);
  return `${HEADER}//! What crosses as words: \`ts/src/packed.ts\` packs it. Names of choices.

use super::reader::{Read, Reader};
use leastwise_error::Error;

${[...words, ...[...items.values()].map((item) => packed(items, item))].join("\n")}`;
}

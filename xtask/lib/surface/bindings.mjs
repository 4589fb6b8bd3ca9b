// The engine's methods in Rust for both hosts: wasm-bindgen, and Node-API by way of napi.
import { camel, snake } from "./declaration.mjs";
import { documented, HEADER } from "./rust.mjs";

// How a parameter comes, and how it becomes what the expression of its method has by the same name.
const plain = (type) => ({ takes: type, takesOptional: `Option<${type}>` });
const PLAIN = { u32: plain("u32"), f64: plain("f64"), bool: plain("bool"), strings: plain("Vec<String>") };
const lent = (name) => [`let ${name} = ${name}.as_deref();`];

const WASM = {
  head: `use super::engine::Engine;
use super::values::{read_indices, read_optional, read_reals, read_record, read_vectors, read_weight, to_js};
use leastwise_session::surface::*;
use wasm_bindgen::prelude::*;
`,
  attribute: "#[wasm_bindgen]",
  crate: (path) => `leastwise_${path}`,
  parameters: {
    ...PLAIN,
    string: { takes: "&str", takesOptional: "Option<String>", makeOptional: lent },
    words: { takes: "&[u32]", takesOptional: "Option<Vec<u32>>", makeOptional: lent },
    doubles: { takes: "&[f64]", takesOptional: "Option<Vec<f64>>", makeOptional: lent },
    bytes: { takes: "&[u8]", takesOptional: "Option<Vec<u8>>", makeOptional: lent },
    buffer: plain("Vec<u8>"),
    indices: {
      takes: "JsValue", make: (name) => [`let ${name} = read_indices(&${name})?;`, `let ${name} = &${name}[..];`],
      takesOptional: "JsValue", makeOptional: (name) => [`let ${name} = read_optional(&${name}, read_indices)?;`, ...lent(name)],
    },
    reals: { takes: "JsValue", make: (name) => [`let ${name} = read_reals(&${name})?;`, `let ${name} = ${name}.reals();`] },
    vectors: { takes: "JsValue", make: (name) => [`let ${name} = read_vectors(&${name})?;`] },
    weight: { takes: "JsValue", make: (name) => [`let ${name} = read_weight(&${name})?;`, `let ${name} = ${name}.weight();`] },
  },
  record: (name, path) => ({ takes: "JsValue", make: () => [`let ${name}: ${path} = read_record(${name})?;`, `let ${name} = &${name};`] }),
  results: { u32: "u32", f64: "f64", bool: "bool", string: "String", strings: "Vec<String>", words: "Vec<u32>", doubles: "Vec<f64>", singles: "Vec<f32>" },
  method({ item, name, parameters, result, made, inside, isRecord, typed }) {
    const rust = snake(name);
    const renamed = [item === "get" && "getter", rust !== name && `js_name = ${name}`].filter(Boolean);
    const gives = result ? (isRecord ? "JsValue" : typed) : "()";
    const call = `self.call(|session| ${inside})`;
    return `${renamed.length ? `#[wasm_bindgen(${renamed.join(", ")})]\n` : ""}pub fn ${rust}(${["&mut self", ...parameters].join(", ")}) -> Result<${gives}, JsValue> {
${made.join("\n")}
${isRecord ? `to_js(&${call}?)` : call}
}\n`;
  },
  posted: ({ name, parameters, inside }) => `${snake(name) === name ? "" : `#[wasm_bindgen(js_name = ${name})]\n`}pub fn ${snake(name)}(${["&mut self", ...parameters].join(", ")}) {
self.post(|session| ${inside});
}\n`,
  owned: () => ({ before: [], inside: [] }),
};

const slice = (kind) => ({ takesOptional: `Option<${kind}>`, makeOptional: lent });
const NODE = {
  head: `use crate::engine::Engine;
use crate::objects::to_js;
use crate::values::{read_reals, read_record, read_vectors, read_weight};
use leastwise::session::surface::*;
use napi::bindgen_prelude::{Env, Float32ArraySlice, Float64ArraySlice, Result, Uint8ArraySlice, Uint32ArraySlice, Unknown};
use napi_derive::napi;
`,
  attribute: "#[napi]",
  crate: (path) => `leastwise::${path}`,
  parameters: {
    ...PLAIN,
    string: { takes: "String", make: (name) => [`let ${name} = ${name}.as_str();`], takesOptional: "Option<String>", makeOptional: lent },
    words: { takes: "&[u32]", ...slice("Uint32ArraySlice") },
    indices: { takes: "&[u32]", ...slice("Uint32ArraySlice") },
    doubles: { takes: "&[f64]", ...slice("Float64ArraySlice") },
    bytes: { takes: "&[u8]", ...slice("Uint8ArraySlice") },
    buffer: { takes: "&[u8]", make: (name) => [`let ${name} = ${name}.to_vec();`], takesOptional: "Option<Uint8ArraySlice>", makeOptional: (name) => [`let ${name} = ${name}.map(|${name}| ${name}.to_vec());`] },
    reals: { takes: "Unknown", make: (name) => [`let ${name} = read_reals(env, ${name})?;`, `let ${name} = ${name}.reals();`] },
    vectors: { takes: "Unknown", make: (name) => [`let ${name} = read_vectors(env, ${name})?;`] },
    weight: { takes: "Unknown", make: (name) => [`let ${name} = read_weight(env, ${name})?;`, `let ${name} = ${name}.weight();`] },
  },
  record: (name, path) => ({ takes: "Unknown", make: () => [`let ${name}: ${path} = read_record(env, ${name})?;`, `let ${name} = &${name};`] }),
  results: {
    u32: "u32", f64: "f64", bool: "bool", string: "String", strings: "Vec<String>", words: "Uint32ArraySlice<'env>", doubles: "Float64ArraySlice<'env>",
    singles: "Float32ArraySlice<'env>",
  },
  method({ item, name, parameters, result, made, inside, isRecord, typed }) {
    const gives = result ? (isRecord ? "Unknown<'env>" : typed) : "()";
    const lives = gives.includes("'env");
    const call = `self.call(env, |session| ${inside})`;
    const array = !isRecord && /(\w+Slice)/.exec(gives)?.[1];
    const value = isRecord ? `to_js(env, &${call}?)` : !array ? call
      : result.optional ? `${call}?.map(|made| ${array}::from_data(env, made)).transpose()` : `${array}::from_data(env, ${call}?)`;
    return `#[napi${item === "get" ? "(getter)" : ""}]
pub fn ${snake(name)}${lives ? "<'env>" : ""}(${["&self", `env: &${lives ? "'env " : ""}Env`, ...parameters].join(", ")}) -> Result<${gives}> {
${made.join("\n")}
${value}
}\n`;
  },
  posted: ({ name, parameters, before, inside }) => `#[napi]
pub fn ${snake(name)}(${["&self", ...parameters].join(", ")}) {
${before.join("\n")}
self.post(move |session| ${inside});
}\n`,
  // What is posted outlives the call.
  owned: (name, type) => ({
    string: { before: [], inside: [`let ${name} = ${name}.as_str();`] },
    words: { before: [`let ${name} = ${name}.to_vec();`], inside: [`let ${name} = &${name}[..];`] },
  })[type] ?? { before: [], inside: [] },
};

function methodOf(host, items, of) {
  const { name, parameters, posted, expression, result, docs } = of;
  const made = [], inside = [];
  const owned = { before: [], inside: [] };
  const declared = parameters.map(({ name: script, type, optional }) => {
    const rust = snake(script), item = items.get(type);
    if (item?.item === "word") {
      const choice = snake(camel(type));
      inside.push(optional ? `let ${rust} = ${rust}.as_deref().map(wire::${choice}).transpose()?;` : `let ${rust} = wire::${choice}(${host === NODE ? "&" : ""}${rust})?;`);
      return `${rust}: ${optional ? "Option<String>" : host.parameters.string.takes}`;
    }
    if (item && !item.path) throw new Error(`${name}: ${type} is no structure of Rust's that could be read`);
    const known = item ? host.record(rust, host.crate(item.path)) : host.parameters[type];
    const takes = known && (optional ? known.takesOptional : known.takes);
    if (!takes) throw new Error(`${name}: there is no parameter of the type ${type}${optional ? "?" : ""}`);
    if (posted) {
      const own = host.owned(rust, type);
      owned.before.push(...own.before);
      owned.inside.push(...own.inside);
    } else made.push(...((optional ? known.makeOptional : known.make)?.(rust) ?? []));
    return `${rust}: ${takes}`;
  });
  const call = expression ?? `session.${snake(name)}(${parameters.map(({ name }) => snake(name)).join(", ")})`;
  const block = (lines) => (lines.length ? `{\n${lines.join("\n")}\n${call}\n}` : call);
  const text = posted ? host.posted({ name, parameters: declared, before: owned.before, inside: block(owned.inside) })
    : host.method({ ...of, parameters: declared, made, inside: block(inside), isRecord: result && items.get(result.type)?.item === "record", typed: result && resultOf(host, items, of) });
  return documented(docs) + text;
}

function resultOf(host, items, { name, result }) {
  if (items.has(result.type)) return undefined;
  const type = host.results[result.type];
  if (!type) throw new Error(`${name}: there is no result of the type ${result.type}`);
  return result.optional ? `Option<${type}>` : type;
}

function bindings(host, all) {
  const items = new Map(all.filter(({ item }) => item === "word" || item === "record").map((item) => [item.name, item]));
  const methods = all.filter(({ item, byHand }) => (item === "method" || item === "get") && !byHand);
  return `${HEADER}//! Methods of the engine that are the same on every host.
#![allow(clippy::too_many_arguments)]

${host.head}
${host.attribute}
impl Engine {
${methods.map((of) => methodOf(host, items, of)).join("\n")}}\n`;
}

/** src/js/generated.rs. */
export const wasmBindings = (items) => bindings(WASM, items);

/** native_cuda/addon/src/generated.rs. */
export const nodeBindings = (items) => bindings(NODE, items);

// TypeScript of the surface: the interface of the engine, and what packs words.
import { camel } from "./declaration.mjs";

const HEADER = "// Written by `npm run generate` from src/session/surface.idl. Do not edit.\n";

/** A comment of documentation; nothing where there is none. */
function comment(docs, indent = "") {
  if (docs.length <= 1) return docs.map((line) => `${indent}/** ${line} */\n`).join("");
  return `${indent}/**\n${docs.map((line) => `${indent} * ${line}\n`).join("")}${indent} */\n`;
}

const PARAMETERS = {
  u32: "number", f64: "number", bool: "boolean", string: "string", strings: "string[]", words: "Uint32Array", indices: "Uint32Array", doubles: "Float64Array",
  singles: "Float32Array", bytes: "Uint8Array", buffer: "Uint8Array", reals: "Float64Array | Float32Array", vectors: "Float64Array | Float32Array",
  weight: "number | Float64Array | Float32Array",
};

/** A type of a record's field. */
function typed(type) {
  if (typeof type === "string") return type;
  if (type.literal !== undefined) return `"${type.literal}"`;
  if (type.union) return type.union.map(typed).join(" | ");
  if (type.tuple) return `readonly [${type.tuple.map(typed).join(", ")}]`;
  if (type.array) return `readonly ${typed(type.array)}[]`;
  if (type.map) return `{ readonly [name: string]: ${typed(type.map)} }`;
  return `{ ${type.fields.map(field).join("; ")} }`;
}

const field = ({ name, optional, type }) => `readonly ${name}${optional ? "?" : ""}: ${typed(type)}`;

function signature({ item, name, parameters, result }) {
  const named = (type) => PARAMETERS[type] ?? type;
  // Where there is nothing, wasm-bindgen gives undefined, and Node-API null.
  const gives = result ? `${result.many ? "readonly " : ""}${named(result.type)}${result.many ? "[]" : ""}${result.optional ? " | null | undefined" : ""}` : "void";
  if (item === "get") return `readonly ${name}: ${gives};`;
  return `${name}(${parameters.map(({ name, type, optional }) => `${name}: ${named(type)}${optional ? " | undefined" : ""}`).join(", ")}): ${gives};`;
}

/** ts/src/native.ts. */
export function nativeInterface(items) {
  const blocks = [`${HEADER}/**
 * The engine's whole surface as the façade sees it: the module's bindings (\`src/js/\`) and the addon's (\`native_cuda/addon/\`) have it, too.
 * Everything crosses once per object, never once per operation. Handles are small integers. Every call may throw a {@link NativeError}.
 */\n`];
  let hasEngine = false;
  for (const item of items) {
    const docs = comment(item.docs);
    if (item.item === "word") blocks.push(`${docs}export type ${item.name} = ${item.words.map(({ word }) => `"${word}"`).join(" | ")};\n`);
    if (item.item === "record") {
      const fields = item.fields.map((of) => `${comment(of.docs, "  ")}  ${field(of)};\n`);
      blocks.push(`${docs}export interface ${item.name} {\n${fields.join("")}}\n`);
    }
    if (item.item === "type") blocks.push(`${docs}export type ${item.name} =${item.text};\n`);
    if (item.item === "interface") blocks.push(`${docs}export interface ${item.text}\n`);
    if ((item.item === "method" || item.item === "get") && !hasEngine) {
      hasEngine = true;
      const methods = items.filter(({ item }) => item === "method" || item === "get");
      blocks.push(`export interface NativeEngine {\n${methods.map((of) => `${comment(of.docs, "  ")}  ${signature(of)}\n`).join("")}}\n`);
    }
  }
  return blocks.join("\n");
}

// ── what is packed ──

const constant = (name) => name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();

/** Type of a packed field in TypeScript. */
function packedType(items, { type, mode }) {
  const named = (name) => {
    const { u32, f64, bool } = PARAMETERS;
    const known = { u32, f64, bool, name: "string" }[name];
    if (known) return known;
    const { variants } = items.get(name);
    return !variants ? `Packed${name}` : isWords(items.get(name)) ? name : "Packed";
  };
  if (mode === "following") return "number";
  if (mode === "appended") return "(words: Words) => void";
  if (type.optional) return `${packedType(items, { type: type.optional })} | undefined`;
  if (!type.list) return named(type);
  if (type.list === "u32" || type.list === "f64") return "ArrayLike<number>";
  return `readonly ${packedType(items, { type: type.list })}[]`;
}

const isWords = ({ variants }) => variants?.every(({ word }) => word !== undefined);

/** What packs a field: { scalar } for a word, { line } for what follows. */
function packing(items, { name, type, mode }) {
  const value = `given.${name}`;
  if (mode === "following") return [{ scalar: value }];
  if (mode === "appended") {
    const at = `at${name[0].toUpperCase()}${name.slice(1)}`;
    return [{ line: `const ${at} = words.length;` }, { line: "words.push(0);" }, { line: `${value}(words);` }, { line: `words.set(${at}, words.length - ${at} - 1);` }];
  }
  if (type.optional) return [{ scalar: `${value} ? 1 : 0` }, { line: `if (${value}) words.appendPacked(${value});` }];
  if (type.list) {
    const length = { scalar: `${value}.length` };
    if (type.list === "u32") return [length, { line: `words.append(${value});` }];
    if (type.list === "f64") return [length, { line: `words.reals.push(${value});` }];
    if (type.list.list === "u32") return [length, { line: `for (const list of ${value}) {\n    words.push(list.length);\n    words.append(list);\n  }` }];
    return [length, { line: `for (const item of ${value}) pack${type.list}(words, item);` }];
  }
  if (type === "u32") return [{ scalar: value }];
  if (type === "bool") return [{ scalar: `${value} ? 1 : 0` }];
  if (type === "name") return [{ line: `words.names.push(${value});` }];
  return [{ scalar: `${constant(type)}.indexOf(${value})` }];
}

/** Statements, words in threes where they come one after the other. */
function statements(steps) {
  const lines = [];
  let scalars = [];
  const flush = () => {
    for (; scalars.length; scalars = scalars.slice(3)) {
      const some = scalars.slice(0, 3);
      lines.push(`words.push${some.length > 1 ? some.length : ""}(${some.join(", ")});`);
    }
  };
  for (const { scalar, line } of steps) {
    if (scalar !== undefined) scalars.push(scalar);
    else { flush(); lines.push(line); }
  }
  flush();
  return lines;
}

function structure(items, { name, docs, fields }) {
  const declared = fields.map((of) => `${comment(of.docs, "  ")}  readonly ${of.name}: ${packedType(items, of)};\n`).join("");
  const body = statements(fields.flatMap((of) => packing(items, of))).map((line) => `  ${line}\n`).join("");
  return `${comment([...docs, "@internal"].length > 2 ? [...docs, "@internal"] : [[...docs, "@internal"].join(" ")])}export interface Packed${name} {\n${declared}}\n\n/** @internal */\nexport function pack${name}(words: Words, given: Packed${name}): void {\n${body}}\n`;
}

/** Functions that pack the variants of one of several: their numbers, then their fields. */
function variants(items, { name, docs, variants, others }) {
  const one = ({ name: variant, fields, number }) => {
    const parameters = fields.map(({ name, type }) => {
      const typed = type.list ? "ArrayLike<number> & Iterable<number>" : packedType(items, { type });
      return `${name}: ${typed}`;
    });
    const words = [String(number)], reals = [];
    for (const { name, type } of fields) {
      if (type === "u32") words.push(name);
      else if (type === "f64") reals.push(name);
      else if (type.list) { words.push(`${name}.length`); (type.list === "f64" ? reals : words).push(`...${name}`); }
      else { words.push(`...${name}.words`); reals.push(`...${name}.reals`); }
    }
    return `/** @internal */\nexport function ${camel(name)}${variant}(${parameters.join(", ")}): Packed {\n  return { words: [${words.join(", ")}], reals: [${reals.join(", ")}] };\n}\n`;
  };
  const other = others ? `\n/** @internal */\nexport function ${camel(name)}Other(number: number, parameters: readonly number[]): Packed {\n  return { words: [number], reals: parameters };\n}\n` : "";
  return `// ${docs.join(" ")}\n\n${variants.map(one).join("\n")}${other}`;
}

/** ts/src/packed.ts. */
export function packingFunctions(all) {
  const items = new Map(all.filter(({ item }) => item === "packed").map((item) => [item.name, item]));
  const blocks = [`${HEADER}/** What packs terms, shapes and losses into words: \`src/session/wire/packed.rs\` reads them. */
import type { Words } from "./words.js";
`, `/** What is packed by itself: words, and the reals that they speak of. @internal */\nexport interface Packed {\n  readonly words: readonly number[];\n  readonly reals: readonly number[];\n}\n`];
  for (const item of items.values()) {
    if (isWords(item)) {
      const words = item.variants.map(({ word }) => `"${word}"`);
      blocks.push(`${comment([...item.docs.slice(0, -1), `${item.docs.at(-1)} @internal`])}export type ${item.name} = ${words.join(" | ")};\n\nconst ${constant(item.name)}: readonly ${item.name}[] = [${words.join(", ")}];\n`);
    } else blocks.push(item.variants ? variants(items, item) : structure(items, item));
  }
  return blocks.join("\n");
}

// All files that come from src/session/surface.idl.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root, StepError } from "../run.mjs";
import { nodeBindings, wasmBindings } from "./bindings.mjs";
import { readDeclaration, readType } from "./declaration.mjs";
import { readers } from "./rust.mjs";
import { nativeInterface, packingFunctions } from "./script.mjs";

const SURFACE = "src/session/surface.idl";

/** The items of the declaration. */
export const surface = () => readDeclaration(readFileSync(join(root, SURFACE), "utf8"), SURFACE);

/** Rust as rustfmt has it. */
function formatted(text) {
  const { status, stdout, stderr } = spawnSync("rustfmt", ["--edition", "2024", "--config-path", join(root, "rustfmt.toml")], { input: text, encoding: "utf8" });
  if (status !== 0) throw new StepError(`rustfmt refuses what was written of ${SURFACE}:\n${stderr}`);
  return stdout;
}

/** What tests hold real values to. */
function described(items) {
  const only = (kinds) => items.filter(({ item }) => kinds.includes(item));
  const records = Object.fromEntries(only(["record"]).map(({ name, fields, path }) => [name, { fields: bare(fields), isGiven: path !== undefined }]));
  // Types of other types alone; the test knows the others itself.
  const types = Object.fromEntries(only(["type"]).filter(({ text }) => /^[\w\s|]+$/.test(text)).map(({ name, text }) => [name, readType(text)]));
  const words = Object.fromEntries(only(["word"]).map(({ name, words }) => [name, words.map(({ word }) => word)]));
  const methods = Object.fromEntries(only(["method", "get"]).map(({ item, name, parameters, result, byHand }) => [name, { isGetter: item === "get", parameters, result, byHand }]));
  return `${JSON.stringify({ words, types, records, methods }, null, 1)}\n`;
}

/** Fields without what is for people. */
const bare = (value) => JSON.parse(JSON.stringify(value, (key, part) => (key === "docs" ? undefined : part)));

/** Paths and texts. */
export function generated(items = surface()) {
  return new Map([
    ["ts/src/native.ts", nativeInterface(items)],
    ["ts/src/packed.ts", packingFunctions(items)],
    ["src/session/wire/packed.rs", formatted(readers(items))],
    ["src/js/generated.rs", formatted(wasmBindings(items))],
    ["native_cuda/addon/src/generated.rs", formatted(nodeBindings(items))],
    ["pkg_tests/node/surface.json", described(items)],
  ]);
}

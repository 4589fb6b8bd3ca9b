import assert from "node:assert/strict";
import { test } from "node:test";
import { warningsIn } from "./warnings.mjs";

const UNSTABLE = "warning: unstable feature specified for `-Ctarget-feature`: `atomics`\n  |\n  = note: this feature is not stably supported; its behavior can change in the future\n";
const UNUSED = "warning: unused variable: `x`\n --> src/lib.rs:3:9\n  |\n3 |     let x = 1;\n  |         ^ help: prefix it with an underscore: `_x`\n";

test("what the module with threads needs is no warning", () => {
  const said = `   Compiling leastwise v0.1.0\n${UNSTABLE}warning: \`leastwise\` (lib) generated 1 warning\n    Finished \`release\` profile [optimized] target(s) in 11m 59s`;
  assert.equal(warningsIn(said), "");
});

test("what wasm-opt is given for the splitter is no warning, and what wasm-pack says is none", () => {
  const said = `${UNUSED}    Finished \`release\` profile [optimized] target(s) in 1s\nwarning: linking section is present, so this is not a standard wasm file\n[INFO]: Your wasm pkg is ready\n`;
  assert.equal(warningsIn(said), UNUSED.trim());
});

test("a warning of our own is kept whole, and nothing else", () => {
  const said = `   Compiling leastwise v0.1.0\n${UNSTABLE}${UNUSED}warning: \`leastwise\` (lib) generated 2 warnings\n    Finished \`release\` profile [optimized] target(s) in 1s`;
  assert.equal(warningsIn(said), UNUSED.trim());
  assert.equal(warningsIn("   Compiling leastwise v0.1.0\n    Finished `release` profile"), "");
});

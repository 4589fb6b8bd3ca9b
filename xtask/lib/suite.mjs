// Which of the package's tests are run on the addon's engine too: not those of WebGPU, the browser's module, the façade alone, files or the package itself.
import { readdirSync } from "node:fs";
import { join } from "node:path";

const elsewhere = ["cli.test.mjs", "compression-errors.test.mjs", "doubles-limits.test.mjs", "doubles.test.mjs", "evaluators.test.mjs", "mesh.test.mjs", "package.test.mjs", "shaders.test.mjs", "threads.test.mjs", "vectors.test.mjs"];

export const suiteFiles = (project) => readdirSync(join(project, "node")).filter((name) => name.endsWith(".test.mjs") && !elsewhere.includes(name)).sort();

/** What they need besides. */
export const suitePackages = ["bunny", "mnist", "three", "webgpu"];

/** Of tests' names. Where the root of all tests matches, as it is called, every test does. */
export const suitePattern = "^(?!<root>|.*(WebGPU|webgpu))";

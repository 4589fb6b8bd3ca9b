// Which of the package's tests are run on the addon's engine too: not those of WebGPU, the browser's module, the façade alone, files, documents or the package itself.
import { readdirSync } from "node:fs";
import { join } from "node:path";

const elsewhere = ["array-api-document.test.mjs", "cli.test.mjs", "compression-errors.test.mjs", "documented-errors.test.mjs", "doubles-limits.test.mjs", "doubles.test.mjs", "evaluators.test.mjs", "hdf5.test.mjs", "loading.test.mjs", "mesh-files.test.mjs", "mesh-toolkit.test.mjs", "mesh.test.mjs", "package.test.mjs", "parts.test.mjs", "recipes.test.mjs", "shaders.test.mjs", "threads.test.mjs", "vectors.test.mjs"];

export const suiteFiles = (project) => readdirSync(join(project, "node")).filter((name) => name.endsWith(".test.mjs") && !elsewhere.includes(name)).sort();

/** Those that `npm test` repeats: solves, edits, errors, checkpoints, tensors, indices, covariances, aborts, all that crosses. `npm run test:full` has them all. */
export const contractFiles = ["arap.test.mjs", "checkpoints.test.mjs", "clusters.test.mjs", "covariance.test.mjs", "errors.test.mjs", "indices.test.mjs", "live.test.mjs", "surface.test.mjs", "tensors-runs.test.mjs"];

/** What they need besides. */
export const suitePackages = ["bunny", "mnist", "three", "webgpu"];

/** Of tests' names. Where the root of all tests matches, as it is called, every test does. */
export const suitePattern = "^(?!<root>|.*(WebGPU|webgpu))";

import { join } from "node:path";

// Next itself is installed two folders above.
const root = join(import.meta.dirname, "../..");

export default { outputFileTracingRoot: root, turbopack: { root } };

import { join } from "node:path";

const { LEASTWISE_VITE } = process.env;

export default {
  build: { target: "es2022", chunkSizeWarningLimit: 9000, rollupOptions: { input: ["index.html", "with-worker.html"].map((name) => join(import.meta.dirname, name)) } },
  // As docs/LOADING.md says: before version 8, the development server moves the package away from its files.
  ...(Number(LEASTWISE_VITE) < 8 && { optimizeDeps: { exclude: ["leastwise"] } }),
};

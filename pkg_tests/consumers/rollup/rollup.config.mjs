import resolve from "@rollup/plugin-node-resolve";

export default ["main", "inline"].map((name) => ({
  input: `${name}.js`,
  output: { file: `out/${name}.js`, format: "es", inlineDynamicImports: true },
  plugins: [resolve({ browser: true })],
  // A user reads every warning.
  onwarn({ message }) { throw new Error(message); },
}));

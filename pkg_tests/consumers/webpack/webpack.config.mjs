export default { mode: "production", entry: "./main.js", output: { filename: "main.js", path: `${import.meta.dirname}/out` }, performance: { hints: false } };

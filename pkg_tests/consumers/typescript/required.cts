import leastwise = require("leastwise");

export const engine: Promise<leastwise.Engine> = leastwise.init({ backend: "cpu" });

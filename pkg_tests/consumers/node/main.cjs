const { init } = require("leastwise");
const { run } = require("./program.mjs");

run(init, { backend: "cpu" }).then((result) => console.log(JSON.stringify(result)));

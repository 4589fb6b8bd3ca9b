import { solve } from "./out/main.js";

console.log(JSON.stringify(await solve()));

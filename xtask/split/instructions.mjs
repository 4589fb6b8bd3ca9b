// What the instructions of a function refer to. Only as much is understood as it takes to step over each of them.
import { Reader } from "./binary.mjs";

// Immediates of instructions of one byte: i a number, b a block's type, f a function, g a global, t a type, T a table.
const PLAIN = new Map([
  ...[0x02, 0x03, 0x04].map((code) => [code, "b"]), ...[0x0c, 0x0d, 0x20, 0x21, 0x22, 0x3f, 0x40, 0x42, 0xd0].map((code) => [code, "i"]),
  [0x11, "tT"], [0x23, "g"], [0x24, "g"], [0x25, "T"], [0x26, "T"], [0xd2, "f"],
]);
// Of those after 0xfc: memories, tables, and segments.
const BULK = new Map([[8, "ii"], [9, "i"], [10, "ii"], [11, "i"], [12, "iT"], [13, "i"], [14, "TT"], [15, "T"], [16, "T"], [17, "T"]]);
const KIND = { f: "function", g: "global", t: "type", T: "table" };

/**
 * Calls `see(kind, value, start, end)` for what the body in `bytes` refers to: "call", "function" (a reference to it), "global", "type" (of the
 * module's; of a block too), "table", "constant" and "offset" (numbers that may be addresses). The bytes from `start` to `end`
 * are the reference: for calls and constants the whole instruction, for others the number alone.
 */
export function walk(bytes, from, see) {
  const reader = new Reader(bytes, from);
  const number = (kind) => {
    const start = reader.at;
    see(kind, reader.u32(), start, reader.at);
  };
  const memory = () => {
    reader.u32();
    number("offset");
  };
  const immediates = (kinds) => {
    for (const kind of kinds) {
      if (kind === "i") reader.skipNumber();
      else if (kind !== "b") number(KIND[kind]);
      else {
        const at = reader.at, type = reader.s32();
        // Negative ones are of the language.
        if (type >= 0) see("type", type, at, reader.at);
      }
    }
  };
  while (!reader.isDone) {
    const start = reader.at;
    const code = reader.byte();
    if (code === 0x41) see("constant", reader.s32(), start, reader.at);
    else if (code === 0x10) see("call", reader.u32(), start, reader.at);
    else if (code === 0x43) reader.skip(4);
    else if (code === 0x44) reader.skip(8);
    else if (code >= 0x28 && code <= 0x3e) memory();
    else if (code === 0x0e) for (let left = reader.u32() + 1; left > 0; left--) reader.skipNumber();
    else if (code === 0x1c) reader.vector((each) => each.byte());
    else if (code === 0xfc) immediates(BULK.get(reader.u32()) ?? "");
    else if (code === 0xfd) {
      const lanes = reader.u32();
      if (lanes <= 11 || lanes === 92 || lanes === 93) memory();
      else if (lanes === 12 || lanes === 13) reader.skip(16);
      else if (lanes >= 21 && lanes <= 34) reader.skip(1);
      else if (lanes >= 84 && lanes <= 91) {
        memory();
        reader.skip(1);
      }
    } else if (PLAIN.has(code)) immediates(PLAIN.get(code));
    else if (!isBare(code)) throw new Error(`an instruction that is not known: 0x${code.toString(16)} at byte ${start}`);
  }
}

/** Whether an instruction has nothing but its code. */
const isBare = (code) => code <= 0x01 || code === 0x05 || code === 0x0b || code === 0x0f || code === 0x1a || code === 0x1b || (code >= 0x45 && code <= 0xc4) || code === 0xd1;

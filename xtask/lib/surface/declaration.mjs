// Reader of src/session/surface.idl, whose head says what its items are.
import { StepError } from "../run.mjs";

/** Text that is read from its beginning to its end. */
class Scanner {
  #at = 0;

  constructor(text, file) {
    this.text = text;
    this.file = file;
    /** Lines of `///` before the next item. */
    this.docs = [];
  }

  /** Skips blanks and comments, and keeps documentation. */
  #skip() {
    for (;;) {
      const [blank] = /^\s*/.exec(this.text.slice(this.#at));
      this.#at += blank.length;
      const comment = /^\/\/(\/?) ?(.*)/.exec(this.text.slice(this.#at));
      if (!comment) return;
      if (comment[1]) this.docs.push(comment[2]);
      this.#at += comment[0].length;
    }
  }

  /** The match of a pattern that comes next, if it does. */
  next(pattern) {
    this.#skip();
    const found = new RegExp(pattern.source, "y");
    found.lastIndex = this.#at;
    const match = found.exec(this.text);
    if (match) this.#at += match[0].length;
    return match;
  }

  expect(pattern, what) {
    return this.next(pattern) ?? this.fail(`${what} is expected`);
  }

  takeDocs() {
    const { docs } = this;
    this.docs = [];
    return docs;
  }

  isOver() {
    this.#skip();
    return this.#at === this.text.length;
  }

  fail(message) {
    const before = this.text.slice(0, this.#at).split("\n");
    throw new StepError(`${this.file}:${before.length}: ${message}, not "${this.text.slice(this.#at, this.#at + 30).split("\n")[0]}"`);
  }
}

/** What stands between braces, one after the other with commas between them. */
function list(scan, element) {
  const all = [];
  scan.expect(/\{/, "{");
  while (!scan.next(/\}/)) {
    if (scan.isOver()) scan.fail("} is expected");
    const made = element();
    all.push({ ...made, docs: scan.takeDocs() });
    if (!scan.next(/,/)) { scan.expect(/\}/, ", or }"); break; }
  }
  return all;
}

const NAME = /[A-Za-z_]\w*/;

/** A type of what is packed: { list: T }, { optional: T } or a name. */
function packedType(scan) {
  const type = scan.next(/\[/) ? { list: packedType(scan) } : scan.expect(NAME, "a type")[0];
  if (typeof type === "object") scan.expect(/\]/, "]");
  return scan.next(/\?/) ? { optional: type } : type;
}

function packedFields(scan) {
  return list(scan, () => {
    const name = scan.expect(NAME, "a field")[0];
    scan.expect(/:/, ":");
    const type = packedType(scan);
    return { name, type, mode: scan.next(/following|appended/)?.[0] };
  });
}

function packed(scan) {
  const name = scan.expect(NAME, "a name")[0];
  if (!scan.next(/one of/)) return { item: "packed", name, fields: packedFields(scan) };
  let next = 0;
  const variants = list(scan, () => {
    const variant = scan.expect(NAME, "a variant")[0];
    const word = scan.next(/= "([^"]*)"/)?.[1];
    const number = Number(scan.next(/= (\d+)/)?.[1] ?? next);
    next = number + 1;
    const opened = word === undefined && scan.next(/(?=\{)/);
    return { name: variant, word, number, fields: opened ? packedFields(scan) : [] };
  });
  return { item: "packed", name, variants, others: scan.next(/others of ([\w:]+)/)?.[1] };
}

/** A type in TypeScript's notation, as a tree that values are held to. */
export const readType = (text) => scriptType(new Scanner(text, text));

function scriptType(scan) {
  const parts = [];
  do parts.push(scriptPart(scan)); while (scan.next(/\|/));
  return parts.length === 1 ? parts[0] : { union: parts };
}

function scriptPart(scan) {
  let type;
  const literal = scan.next(/"([^"]*)"/);
  if (literal) type = { literal: literal[1] };
  else if (scan.next(/\[/)) {
    const tuple = [];
    do tuple.push(scriptType(scan)); while (scan.next(/,/));
    scan.expect(/\]/, "]");
    type = { tuple };
  } else if (scan.next(/\{ \[name: string\]: /)) {
    type = { map: scriptType(scan) };
    scan.expect(/\}/, "}");
  } else if (scan.next(/(?=\{)/)) type = { fields: recordFields(scan) };
  else type = scan.expect(NAME, "a type")[0];
  while (scan.next(/\[\]/)) type = { array: type };
  return type;
}

function recordFields(scan) {
  return list(scan, () => {
    const [, name, optional] = scan.expect(/([A-Za-z]\w*)(\?)?:/, "a field");
    // Before the type, in which there are fields with documentation of their own.
    const docs = scan.takeDocs();
    const type = scriptType(scan);
    scan.docs = docs;
    return { name, optional: optional !== undefined, type };
  });
}

function method(scan, item) {
  const name = scan.expect(NAME, "a name")[0];
  const parameters = [];
  if (item === "method") {
    scan.expect(/\(/, "(");
    while (!scan.next(/\)/)) {
      const [, parameter, type, optional] = scan.expect(/([A-Za-z]\w*): (\w+)(\?)?/, "a parameter");
      parameters.push({ name: parameter, type, optional: optional !== undefined });
      scan.next(/,/);
    }
  }
  const [, result, many, none] = scan.next(/-> (\w+)(\[\])?(\?)?/) ?? [];
  const posted = scan.next(/posted/) !== null;
  const byHand = scan.next(/by hand/) !== null;
  const expression = scan.next(/= (.+)/)?.[1];
  return { item, name, parameters, result: result && { type: result, many: many !== undefined, optional: none !== undefined }, posted, byHand, expression };
}

const READERS = {
  word(scan) {
    const [, name, said, path] = scan.expect(/(\w+)(?: as (\w+))? = ([\w:]+)/, "a name and a path");
    const words = list(scan, () => {
      const [, word, variant] = scan.expect(/"([^"]*)" = (\w+)/, "a word and its variant");
      return { word, variant };
    });
    return { item: "word", name, said: said ?? camel(name), path, words };
  },
  packed,
  record(scan) {
    const [, name, path] = scan.expect(/(\w+)(?: = ([\w:]+))?/, "a name");
    return { item: "record", name, path, fields: recordFields(scan) };
  },
  type(scan) {
    const [, name, text] = scan.expect(/(\w+) =([^;]*(?:;(?! *\n\n)[^;]*)*);(?= *\n\n)/, "a type that ends with ;");
    return { item: "type", name, text };
  },
  interface(scan) {
    return { item: "interface", text: scan.expect(/[^\n]+(?:\}(?=\n)|\{\n[^]*?\n\})/, "an interface")[0] };
  },
  get: (scan) => method(scan, "get"),
  method: (scan) => method(scan, "method"),
};

/** All items, in their order. */
export function readDeclaration(text, file) {
  const scan = new Scanner(text, file);
  const items = [];
  while (!scan.isOver()) {
    const docs = scan.takeDocs();
    const kind = scan.expect(/word|packed|record|type|interface|get|method/, "an item")[0];
    items.push({ ...READERS[kind](scan), docs });
  }
  return items;
}

/** `writeTable` as Rust writes it. */
export const snake = (name) => name.replace(/[A-Z]/g, (letter, at) => `${at ? "_" : ""}${letter.toLowerCase()}`);

/** `GemanMcClure` as JavaScript writes it. */
export const camel = (name) => name[0].toLowerCase() + name.slice(1);

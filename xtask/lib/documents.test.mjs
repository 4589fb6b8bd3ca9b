// The lint of the documents, on a repository of a few files.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { anchorsOf, checkDocuments } from "./documents.mjs";
import { StepError } from "./run.mjs";

/** Makes a repository that the lint accepts, with further files; gives what the lint says of it. */
function lint(t, files = {}) {
  const folder = mkdtempSync(join(tmpdir(), "leastwise-documents-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const all = {
    "README.md": "# Title\n[map](docs/ARCHITECTURE.md)\n",
    "docs/ARCHITECTURE.md": "# Architecture\n\n## `solve()`, and what is in it\n\n## Twice\n## Twice\n",
    "benches/results/README.md": "`a.txt`\n",
    "benches/results/a.txt": "",
    ...files,
  };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return () => checkDocuments(folder);
}

const refused = (message) => (error) => error instanceof StepError && (assert.equal(error.message, message), true);

test("anchors are those of GitHub", () => {
  const text = "# `solve()`, and what is in it\n```sh\n# no heading\n```\n## Double-floats\n## [Linked](x.md) λ_0\n## Twice\n## Twice\n";
  assert.deepEqual([...anchorsOf(text)], ["solve-and-what-is-in-it", "double-floats", "linked-λ_0", "twice", "twice-1"]);
});

test("links, anchors and names that are there are accepted", (t) => {
  const text = "# Page\n[a](ARCHITECTURE.md#solve-and-what-is-in-it) [b](ARCHITECTURE.md#twice-1) [c](#page)\n[d](https://example.org/#x) [`e`](../benches) `docs/page.md`\n`a[0](b)`\n```ts\nf[0](g)\n```\n";
  assert.equal(lint(t, { "docs/page.md": text })(), "4 documents\n");
});

test("dead links, dead anchors and unknown names are refused, each with its line", (t) => {
  const text = "# Page\n[a](GONE.md) [b](ARCHITECTURE.md#gone)\n\n[c](#gone) `src/gone.rs` [d](../benches/results/a.txt#line)\n";
  assert.throws(lint(t, { "docs/page.md": text }), refused(`Documents name what is not there:
docs/page.md:2: GONE.md
docs/page.md:2: ARCHITECTURE.md#gone
docs/page.md:4: #gone
docs/page.md:4: ../benches/results/a.txt#line
docs/page.md:4: src/gone.rs`));
});

test("long lines of prose are refused, but not those of tables, code, comments and the change log", (t) => {
  const [fits, long] = [120, 121].map((length) => "λ".repeat(length));
  const wide = `# Page\n${fits}\n| ${long} |\n\`\`\`\n${long}\n\`\`\`\n<!-- ts\n${long}\n-->\n`;
  assert.equal(lint(t, { "docs/page.md": wide, "CHANGELOG.md": `- ${long}\n` })(), "5 documents\n");
  assert.throws(lint(t, { "docs/page.md": `${wide}\n- ${fits}\n` }), refused("Lines of prose have at most 120 characters; longer ones:\ndocs/page.md:11"));
});

test("first pages stay short", (t) => {
  const longest = { "README.md": "line\n".repeat(60), "docs/ARCHITECTURE.md": "word\n".repeat(900) };
  assert.equal(lint(t, longest)(), "3 documents\n");
  assert.throws(lint(t, { "README.md": "line\n".repeat(61) }), refused("README.md has 61 lines, and at most 60 are allowed: move what is worth keeping to a page of docs/."));
  assert.throws(lint(t, { "docs/ARCHITECTURE.md": "word\n".repeat(901) }), /^Error: docs\/ARCHITECTURE\.md has 901 words, and at most 900 /);
});

test("a measurement that is not listed is refused", (t) => {
  assert.throws(lint(t, { "benches/results/b.txt": "" }), refused("benches/results/README.md does not list b.txt."));
});

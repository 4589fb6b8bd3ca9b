// Programs of the documents: what stands between ```ts and ```. A comment `<!-- ts … -->` right before a program has what it
// takes for granted: declarations, or, of programs that are run, code.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The documents of a folder: its README, and what is in docs/. */
const documentsOf = (folder) => ["README.md", ...readdirSync(join(folder, "docs")).filter((name) => name.endsWith(".md")).sort().map((name) => `docs/${name}`)];

/** Programs as `{ document, line, text }`: `text` has the program, and what it takes for granted, at the lines of the document. */
export function programsOf(folder) {
  return documentsOf(folder).flatMap((document) => programsIn(document, readFileSync(join(folder, document), "utf8").split("\n")));
}

function programsIn(document, lines) {
  const programs = [];
  let kept = new Set();
  for (let at = 0; at < lines.length; at++) {
    if (lines[at] === "<!-- ts") {
      const end = lines.indexOf("-->", at);
      if (end < 0 || lines[end + 1] !== "```ts") throw new Error(`${document}:${at + 1}: a comment <!-- ts … --> must be closed by a line -->, and \`\`\`ts must follow`);
      for (let line = at + 1; line < end; line++) kept.add(line);
      at = end;
    } else if (lines[at].startsWith("```")) {
      const language = lines[at].slice(3).trim(), first = at;
      at = lines.indexOf("```", at + 1);
      if (at < 0) throw new Error(`${document}:${first + 1}: \`\`\` is never closed`);
      if (["js", "javascript", "mjs", "typescript", "tsx", "jsx"].includes(language)) throw new Error(`${document}:${first + 1}: \`\`\`${language} is not checked: write \`\`\`ts`);
      if (language !== "ts") continue;
      for (let line = first + 1; line < at; line++) kept.add(line);
      programs.push({ document, line: first + 1, text: `${lines.map((line, k) => (kept.has(k) ? line : "")).join("\n")}\nexport {};\n` });
      kept = new Set();
    }
  }
  return programs;
}

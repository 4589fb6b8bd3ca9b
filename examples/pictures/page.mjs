// A recipe's file as a page: the comment that it begins with is Markdown, and the rest is the program.

/** `{ title, summary, prose, code }` of a recipe's text. */
export function pageOf(name, text) {
  const lines = text.split("\n"), end = lines.findIndex((line) => !line.startsWith("//"));
  const comment = lines.slice(0, end).map((line) => line.replace(/^\/\/ ?/, ""));
  const title = comment[0].match(/^# (.+)$/)?.[1];
  if (!title || comment[1] !== "") throw new Error(`examples/recipes/${name}.mjs must begin with "// # Title" and an empty line`);
  const prose = comment.slice(2).join("\n").trim();
  const [summary] = prose.split("\n\n");
  return { title, summary: summary.replaceAll("\n", " "), prose, code: lines.slice(end).join("\n").trimEnd() };
}

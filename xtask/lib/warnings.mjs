// A compiler's warnings, out of all that cargo said.

// The module with threads needs features that rustc calls unstable, and says so with each of our crates. wasm-opt is given what the linker has left
// for xtask/split, which asks the linker's own file and not what wasm-opt makes of it.
const EXPECTED = [/^warning: unstable feature specified for `-Ctarget-feature`/, /^warning: `leastwise[-a-z]*` \(lib\) generated/, /^warning: linking section is present/];

/** The warnings of our own crate in `said`, as one text; empty if there are none. */
export function warningsIn(said) {
  // Dependencies' warnings are capped by cargo, but for those of flags.
  const blocks = said.split(/^(?=warning|error|note: the following|\[INFO\]|\s+(?:Compiling|Finished|Checking|Building) )/m);
  return blocks.filter((block) => block.startsWith("warning") && !EXPECTED.some((expected) => expected.test(block))).join("").trim();
}

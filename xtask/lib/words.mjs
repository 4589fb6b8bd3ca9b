// Lint of wording: phrases that documents do not use, since the field has a word of its own.
export const PHRASES = [
  [/\bunless told\b/i, "default: …"],
  [/\bin vain\b/i, "wasted"],
  [/\bwhere it can be had\b/i, "if available"],
  [/\b(what|which) nothing holds\b/i, "gauge freedom, null space"],
  [/\bhardly damped\b/i, "lightly damped"],
  [/\bright side of (a|the) (system|equation)/i, "right-hand side"],
  [/\bnumbers of an instance\b/i, "components"],
  [/\bnames [^.|]*\bright\b/i, "classifies correctly, accuracy"],
  [/\bpromised (reduction|decrease)\b/i, "predicted reduction"],
  [/\bvalues that stay\b/i, "iterate"],
  [/\bthat which\b/i, "name the thing"],
  [/\bonly those who\b/i, "say what rejects"],
];

/** Phrases of a text to be replaced: `[line, phrase, instead]`. What is in code is left out. */
export function wrongWords(text) {
  let fence = false;
  return text.split("\n").flatMap((line, k) => {
    if (line.trimStart().startsWith("```")) fence = !fence;
    if (fence) return [];
    const plain = line.replace(/`[^`]*`/g, "");
    return PHRASES.flatMap(([phrase, instead]) => {
      const found = plain.match(phrase);
      return found ? [[k + 1, found[0], instead]] : [];
    });
  });
}

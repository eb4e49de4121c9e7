/** A character that means itself, in RE2 as in JavaScript, or one that is escaped. */
const LITERAL = String.raw`[A-Za-z0-9 _\/:@#,;=&%~!'"<>]|\\\.`;
/** `[-a-z0-9._]`: single characters and ranges, none of which is a class of its own. */
const CLASS = String.raw`\[-?(?:(?:[A-Za-z0-9 _.\/:@]|\\[.-])(?:-[A-Za-z0-9])?)+-?\]`;
const ATOM = `(?:${LITERAL}|${CLASS})`;
const PLAIN = new RegExp(String.raw`^\^${ATOM}*(?:${ATOM}(?:[*+?]|\{[0-9]{1,3}(?:,[0-9]{1,3})?\}))?${ATOM}*\$?$`);

/**
 * The pattern as an expression of JavaScript, when both engines mean the same by it and its time is linear: it begins at the start of
 * the text and repeats one thing at most. The engine of JavaScript is many times faster, and most patterns of schemas are so plain.
 */
export function plainPattern(pattern: string): RegExp | undefined {
  if (!PLAIN.test(pattern)) return undefined;
  try {
    return new RegExp(pattern, 'u');
  } catch {
    // A range whose ends are in the wrong order: the other engine tells it in its words.
    return undefined;
  }
}

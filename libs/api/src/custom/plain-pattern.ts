/** A literal character with the same meaning in RE2 and JavaScript, or an escaped one. */
const LITERAL = String.raw`[A-Za-z0-9 _\/:@#,;=&%~!'"<>]|\\\.`;
/** `[-a-z0-9._]`: single characters and ranges, without nested classes. */
const CLASS = String.raw`\[-?(?:(?:[A-Za-z0-9 _.\/:@]|\\[.-])(?:-[A-Za-z0-9])?)+-?\]`;
const ATOM = `(?:${LITERAL}|${CLASS})`;
const PLAIN = new RegExp(String.raw`^\^${ATOM}*(?:${ATOM}(?:[*+?]|\{[0-9]{1,3}(?:,[0-9]{1,3})?\}))?${ATOM}*\$?$`);

/**
 * Returns the pattern as a JavaScript expression when both engines agree on its meaning and it matches in linear time:
 * it is anchored at the start and has at most one repetition. JavaScript's engine is many times faster, and most
 * patterns in schemas are this simple.
 */
export function plainPattern(pattern: string): RegExp | undefined {
  if (!PLAIN.test(pattern)) return undefined;
  try {
    return new RegExp(pattern, 'u');
  } catch {
    // A range with its ends in the wrong order: the other engine reports it.
    return undefined;
  }
}

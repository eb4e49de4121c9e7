/**
 * Returns the texts of a `Warning` header: `299 - "text", 299 - "text"`, with escaped quotes and backslashes, in UTF-8.
 */
export function warningsOf(header: string): readonly string[] {
  const text = Buffer.from(header, 'latin1').toString();
  return Array.from(text.matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g), ([, quoted = '']) =>
    quoted.replace(/\\(.)/g, '$1'),
  );
}

/** Texts of a `Warning` header: `299 - "text", 299 - "text"`, with quotes and backslashes escaped. */
export function warningsOf(header: string): readonly string[] {
  return Array.from(header.matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g), ([, text = '']) => text.replace(/\\(.)/g, '$1'));
}

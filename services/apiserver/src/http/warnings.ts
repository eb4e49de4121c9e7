import type { ApiResponse } from '@holdfast/client';

/** Bounds of kube-apiserver, in characters: of all warnings while none is cut, of each one after that, and of all again. */
const ALL_MAX = 4 * 1024;
const EACH_MAX = 256;

/** Collects warnings of one request, each once. When they are too long together each is cut, and those that are still too many are left out. */
export class Warnings {
  /** Made for the first: most requests have none. */
  #texts: Set<string> | undefined;
  #characters = 0;
  #isCutting = false;

  add(text: string): void {
    this.#texts ??= new Set();
    if (this.#isCutting && this.#characters >= ALL_MAX) return;
    const kept = this.#isCutting ? cut(text) : text;
    const isNew = !this.#texts.has(kept);
    if (isNew) this.#texts.add(kept);
    // Truncated warnings count even as duplicates: otherwise too much would be truncated.
    if (isNew || this.#isCutting) this.#characters += lengthOf(kept);
    if (!this.#isCutting && this.#characters > ALL_MAX) this.#cutAll(this.#texts);
  }

  attach(response: ApiResponse): ApiResponse {
    if (this.#texts === undefined) return response;
    const warning = [...this.#texts].map((text) => `299 - ${quote(text)}`).join(', ');
    return { ...response, headers: { ...response.headers, warning } };
  }

  #cutAll(texts: Set<string>): void {
    this.#isCutting = true;
    this.#texts = new Set([...texts].map(cut));
    this.#characters = 0;
    for (const text of this.#texts) this.#characters += lengthOf(text);
  }
}

/** In whole characters, as Go counts them. */
const lengthOf = (text: string): number => (text.length <= EACH_MAX ? text.length : Array.from(text).length);

/** No character takes more than two units. */
const cut = (text: string): string =>
  text.length <= EACH_MAX
    ? text
    : Array.from(text.slice(0, 2 * EACH_MAX))
        .slice(0, EACH_MAX)
        .join('');

/** RFC 7234 quoted-string: control characters cannot appear in a header. As bytes of UTF-8, which is how Go writes and reads them; for Node each is a character. */
function quote(text: string): string {
  const printable = Array.from(text, (char) => (char.charCodeAt(0) < 0x20 || char === '\u007f' ? ' ' : char)).join('');
  const escaped = printable.replace(/\\/g, '\\\\').replace(/"/g, '\\"');
  return `"${Buffer.from(escaped).toString('latin1')}"`;
}

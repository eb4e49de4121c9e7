import type { ApiResponse } from '@holdfast/client';

/** Collects warnings of one request, each once. */
export class Warnings {
  /** Made for the first: most requests have none. */
  #texts: Set<string> | undefined;

  add(text: string): void {
    this.#texts ??= new Set();
    this.#texts.add(text);
  }

  attach(response: ApiResponse): ApiResponse {
    if (this.#texts === undefined) return response;
    const warning = [...this.#texts].map((text) => `299 - ${quote(text)}`).join(', ');
    return { ...response, headers: { ...response.headers, warning } };
  }
}

/** RFC 7234 quoted-string: control characters cannot appear in a header. As bytes of UTF-8, which is how Go writes and reads them; for Node each is a character. */
function quote(text: string): string {
  const printable = Array.from(text, (char) => (char.charCodeAt(0) < 0x20 || char === '\u007f' ? ' ' : char)).join('');
  const escaped = printable.replace(/\\/g, '\\\\').replace(/"/g, '\\"');
  return `"${Buffer.from(escaped).toString('latin1')}"`;
}

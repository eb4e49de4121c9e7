/** Cuts a stream of bytes into lines. */
export class LineReader {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The first line and the bytes after it; `undefined`: not yet. */
  first(chunk: Buffer): { readonly line: string; readonly rest: Buffer } | undefined {
    const end = chunk.indexOf('\n');
    if (end < 0) {
      this.#chunks.push(chunk);
      this.#bytes += chunk.length;
      if (this.#bytes > this.#maxBytes) throw new Error(`a line exceeds ${this.#maxBytes} bytes`);
      return undefined;
    }
    const line = Buffer.concat([...this.#chunks, chunk.subarray(0, end)]).toString('utf8');
    this.#chunks = [];
    this.#bytes = 0;
    return { line, rest: chunk.subarray(end + 1) };
  }

  /** Every line that is complete now. */
  lines(chunk: Buffer): readonly string[] {
    const found: string[] = [];
    let rest = chunk;
    while (rest.length > 0) {
      const next = this.first(rest);
      if (next === undefined) break;
      found.push(next.line);
      rest = next.rest;
    }
    return found;
  }
}

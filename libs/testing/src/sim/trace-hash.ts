/**
 * Folds all events of a run into 64 bits: two runs with the same hash behaved the same. It uses two independent 32-bit
 * FNV-1a lanes, because JavaScript multiplies 32 bits exactly and fast.
 */
export class TraceHash {
  #low = 0x811c9dc5;
  #high = 0xcbf29ce4;
  #count = 0;

  fold(text: string): void {
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      this.#low = Math.imul(this.#low ^ code, 0x01000193);
      this.#high = Math.imul(this.#high ^ (code + i), 0x01000197);
    }
    this.#count++;
  }

  /** The number of folded facts. */
  get count(): number {
    return this.#count;
  }

  digest(): string {
    const hex = (part: number): string => (part >>> 0).toString(16).padStart(8, '0');
    return `${hex(this.#high)}${hex(this.#low)}`;
  }
}

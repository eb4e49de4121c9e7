import type { WatchEvent } from './table.ts';

/** A watch sends one JSON document a line. Bytes arrive in pieces that end anywhere. */
export class LineReader {
  #rest = '';

  /** The complete lines so far. */
  take(text: string): readonly string[] {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    return lines.filter((line) => line !== '');
  }
}

export const readEvent = (line: string): WatchEvent => JSON.parse(line) as WatchEvent;

/** The revision is older than what the server remembers: only a new list helps. */
export function isExpired({ type, object }: WatchEvent): boolean {
  return type === 'ERROR' && (object as { readonly code?: number }).code === 410;
}

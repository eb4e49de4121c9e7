import { RuntimeError } from '../port.ts';
import { FRAME_MAX_BYTES } from './limits.ts';

/** One JSON value a line, as the engine reports progress and events. */
export class JsonLines<T> {
  #kept = '';
  readonly #decoder = new TextDecoder();

  /** The values that are complete by now. */
  push(chunk: Uint8Array): readonly T[] {
    const lines = (this.#kept + this.#decoder.decode(chunk, { stream: true })).split('\n');
    this.#kept = lines.pop() ?? '';
    if (this.#kept.length > FRAME_MAX_BYTES)
      throw new RuntimeError('Internal', 'the engine sent a line that is too long');
    return lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line) as T);
  }
}

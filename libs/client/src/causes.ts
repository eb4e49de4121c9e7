import type { Tracer } from '@holdfast/platform';
import { CAUSED_KEYS_MAX, CAUSES_MAX } from './limits.ts';

/** By key of queued work, the spans that asked for it. */
export class Causes {
  readonly #tracer: Tracer;
  readonly #byKey = new Map<string, readonly string[]>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  /** The current span asks for work on this key. */
  note(key: string): void {
    const cause = this.#tracer.traceparent();
    const known = this.#byKey.get(key) ?? [];
    if (cause === undefined || known.length >= CAUSES_MAX || known.includes(cause)) return;
    if (known.length === 0 && this.#byKey.size >= CAUSED_KEYS_MAX) return;
    this.#byKey.set(key, [...known, cause]);
  }

  of(key: string): readonly string[] {
    return this.#byKey.get(key) ?? [];
  }

  /** The same, and forgets them. */
  take(key: string): readonly string[] {
    const causes = this.of(key);
    this.#byKey.delete(key);
    return causes;
  }
}

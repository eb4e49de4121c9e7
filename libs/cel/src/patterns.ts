import { RE2JS } from 're2js';
import { MAX_KEPT_PATTERNS, MAX_PATTERN_CHARS, MAX_PATTERN_REPEATS } from './limits.ts';
import { EvaluationError } from './values.ts';

/** A compiled pattern. Matching takes linear time in the text for every pattern. */
export type Pattern = RE2JS;

const REPEAT = /\{(\d+)(?:,(\d*))?\}/g;

/** Throws with the reason when the pattern is invalid, or too large once its repeats are expanded. */
export function compilePattern(source: string): Pattern {
  if (source.length > MAX_PATTERN_CHARS || repeats(source) > MAX_PATTERN_REPEATS) {
    throw new Error('error parsing regexp: expression too large');
  }
  return RE2JS.compile(source);
}

function repeats(source: string): number {
  let sum = 0;
  for (const [, least, most] of source.matchAll(REPEAT)) sum += Math.max(Number(least), Number(most ?? 0));
  return sum;
}

/** Caches the latest patterns that were compiled at run time. */
export class Patterns {
  readonly #kept = new Map<string, Pattern>();

  get(source: string): Pattern {
    const known = this.#kept.get(source);
    if (known !== undefined) return known;
    const pattern = compiled(source);
    if (this.#kept.size >= MAX_KEPT_PATTERNS) this.#kept.clear();
    this.#kept.set(source, pattern);
    return pattern;
  }
}

function compiled(source: string): Pattern {
  try {
    return compilePattern(source);
  } catch (error) {
    throw new EvaluationError(error instanceof Error ? error.message : String(error));
  }
}

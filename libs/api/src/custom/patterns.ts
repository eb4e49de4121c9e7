import { createRequire } from 'node:module';
import { RecentMap } from '@holdfast/platform';
import { plainPattern } from './plain-pattern.ts';

type Engine = typeof import('re2js');

let loaded: Engine | undefined;

/** Loads the engine for the first pattern: every service loads the kinds, but few ever see a definition. */
const engine = (): Engine => (loaded ??= createRequire(import.meta.url)('re2js') as Engine);

/** Compile time grows with the square of the length. */
export const PATTERN_CHARS_MAX = 4_096;
const PATTERNS_KEPT = 4_096;
/** Characters of the text times states of the pattern: about one second. */
const MATCH_WORK_MAX = 2 ** 25;
/** Compilation expands repetitions, up to this count. */
const REPEATED_MAX = 1_000;

export type Compiled = { readonly matches: (text: string) => boolean } | { readonly problem: string };

const compiled = new RecentMap<string, Compiled>(PATTERNS_KEPT);

/** Compiles a pattern in RE2 syntax, which matches in linear time. Caches patterns, because many schemas share them. */
export function compilePattern(pattern: string): Compiled {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const made = compile(pattern);
  compiled.set(pattern, made);
  return made;
}

function compile(pattern: string): Compiled {
  if (pattern.length > PATTERN_CHARS_MAX) return { problem: `may not be longer than ${PATTERN_CHARS_MAX} characters` };
  const plain = plainPattern(pattern);
  if (plain !== undefined) return { matches: (text) => plain.test(text) };
  const { RE2JS, RE2JSException } = engine();
  try {
    const expression = RE2JS.compile(pattern);
    const states = pattern.length + (pattern.includes('{') ? REPEATED_MAX : 0);
    return { matches: (text) => text.length * states <= MATCH_WORK_MAX && expression.test(text) };
  } catch (error) {
    if (error instanceof RE2JSException) return { problem: error.message };
    throw error;
  }
}

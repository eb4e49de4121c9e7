import { createRequire } from 'node:module';
import { RecentMap } from '@holdfast/platform';
import { plainPattern } from './plain-pattern.ts';

type Engine = typeof import('re2js');

let loaded: Engine | undefined;

/** Loaded for the first pattern: every service reads the kinds, and few ever see a definition. */
const engine = (): Engine => (loaded ??= createRequire(import.meta.url)('re2js') as Engine);

/** Compiling takes a time that grows with the square of the length. */
export const PATTERN_CHARS_MAX = 4_096;
const PATTERNS_KEPT = 4_096;
/** Characters of the text times states of the pattern: about one second. */
const MATCH_WORK_MAX = 2 ** 25;
/** A repetition is written out, up to so often. */
const REPEATED_MAX = 1_000;

export type Compiled = { readonly matches: (text: string) => boolean } | { readonly problem: string };

const compiled = new RecentMap<string, Compiled>(PATTERNS_KEPT);

/** A pattern in the syntax of RE2, whose time is linear in the text. Many schemas have the same patterns. */
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

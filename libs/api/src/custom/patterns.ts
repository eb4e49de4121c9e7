import { RecentMap } from '@holdfast/platform';
import { automatonOf, type SpendSteps } from './automaton.ts';
import { PATTERN_CHARS_MAX, PATTERNS_KEPT_MAX, PLAIN_STEPS_AT_ONCE } from './limits.ts';
import { plainPattern } from './plain-pattern.ts';

export type Compiled =
  | { readonly matches: (text: string, spend: SpendSteps) => boolean; readonly problem?: undefined }
  | { readonly matches?: undefined; readonly problem: string };

const compiled = new RecentMap<string, Compiled>(PATTERNS_KEPT_MAX);

/** Compiles a pattern in RE2 syntax, which matches in linear time. Caches patterns, because many schemas share them. */
export function compilePattern(pattern: string): Compiled {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const plain = pattern.length > PATTERN_CHARS_MAX ? undefined : plainPattern(pattern);
  if (plain === undefined) return compileOther(pattern);
  const made: Compiled = {
    matches: (text, spend) => {
      // The characters after the repetition are compared at each place where it may end.
      spend(((text.length + 1) * pattern.length) / PLAIN_STEPS_AT_ONCE);
      return plain.test(text);
    },
  };
  compiled.set(pattern, made);
  return made;
}

/** Automata are kept by their size. */
function compileOther(pattern: string): Compiled {
  if (pattern.length > PATTERN_CHARS_MAX) return { problem: `may not be longer than ${PATTERN_CHARS_MAX} characters` };
  const { automaton, problem } = automatonOf(pattern);
  return automaton === undefined ? { problem } : { matches: (text, spend) => automaton.test(text, spend) };
}

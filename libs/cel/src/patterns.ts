import { type Automaton, automatonOf } from '@holdfast/api';
import { MATCH_STEPS_PER_STEP, MAX_PATTERN_CHARS, PATTERN_STEPS_PER_WEIGHT } from './limits.ts';
import type { Meter } from './meter.ts';
import { EvaluationError } from './values.ts';

/** Returns why a pattern is refused. */
export function patternProblem(source: string): string | undefined {
  return source.length > MAX_PATTERN_CHARS ? TOO_LARGE : automatonOf(source).problem;
}

const TOO_LARGE = 'error parsing regexp: expression too large';

export function matches(text: string, source: string, meter: Meter): boolean {
  return patternOf(source, meter).test(text, (steps) => meter.work(steps / MATCH_STEPS_PER_STEP));
}

/** Returns the matches, up to `limit` when it is not negative. */
export function findMatches(text: string, source: string, ...[limit, meter]: [number, Meter]): readonly string[] {
  return patternOf(source, meter).find(text, limit, {
    spend: (steps) => meter.work(steps / MATCH_STEPS_PER_STEP),
    ensure: (steps) => meter.canWork(steps / MATCH_STEPS_PER_STEP),
    look: () => meter.lookAtClock(),
  });
}

/** The pattern may come from the values of the expression. Compiling it is work as well. */
function patternOf(source: string, meter: Meter): Automaton {
  if (source.length > MAX_PATTERN_CHARS) throw new EvaluationError(TOO_LARGE);
  const { automaton, problem } = automatonOf(source, (weight) => meter.work(weight * PATTERN_STEPS_PER_WEIGHT));
  if (automaton === undefined) throw new EvaluationError(problem);
  return automaton;
}

import type { Scenario } from './model.ts';

/** What counts against a run in which this was found. A negative control has to break something. */
export function countedAgainst({ expect }: Scenario, broken: readonly string[]): readonly string[] {
  if (expect.breaks === undefined) return broken;
  return broken.length > 0 ? [] : ['nothing was found broken, and the file is a control that has to break something'];
}

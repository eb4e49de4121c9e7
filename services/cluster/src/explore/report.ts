import type { Accusation, Exploration } from './explore.ts';
import { describePlan } from './plans.ts';
import { lineOf, type Traced } from './trace.ts';

const DIFF_LINES_MAX = 12;
const HISTORY_LINES = 16;

/** The text of a finding: plan, difference, history, and the command that shows it again. */
export function reportOf({ plan, findings, result }: Accusation, commandFor: (plan: string) => string): string {
  return [
    `FOUND: ${describePlan(plan)}`,
    ...findings.flatMap(({ text, lines }) => [
      `  ${text}`,
      ...lines.slice(0, DIFF_LINES_MAX).map((line) => `    ${line}`),
    ]),
    '  What the operator saw and wrote around the fault:',
    ...historyOf(result.trace.entries).map((entry) => `    ${lineOf(entry)}`),
    `  Again: ${commandFor(JSON.stringify(plan))}`,
  ].join('\n');
}

/** What led to the fault and what followed from it. */
function historyOf(entries: readonly Traced[]): readonly Traced[] {
  const at = entries.findIndex((entry) => entry.kind === 'note' && entry.text.startsWith('FAULT'));
  const from = Math.max(0, at - HISTORY_LINES / 2);
  return entries.slice(from, from + 2 * HISTORY_LINES);
}

export function summaryOf({ accusations, tried, planned, runs, tookMs }: Exploration): string {
  const perMinute = tookMs === 0 ? 0 : (runs / tookMs) * 60_000;
  const count = accusations.length;
  const found = count === 0 ? 'nothing found' : `${count} ${count === 1 ? 'plan' : 'plans'} with findings`;
  return `${found}: ${tried} of ${planned} plans in ${(tookMs / 1_000).toFixed(1)} s (${perMinute.toFixed(0)} runs per minute)`;
}

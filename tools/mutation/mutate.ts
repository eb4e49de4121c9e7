import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { applyBreak, type Break, titlePattern } from './breaks.ts';
import { runTests } from './run-tests.ts';
import type { Scratch } from './scratch.ts';

export type Verdict = 'killed' | 'SURVIVED' | 'does not apply';

export interface Outcome {
  readonly broken: Break;
  readonly verdict: Verdict;
  readonly detail: string;
  readonly seconds: number;
}

const DEADLINE_MS = 120_000;
const TITLE_SHOWN = 70;

/** Runs the tests of each break with the break in place: at the same time as many as there are copies of the tree. */
export async function mutate(
  scratches: readonly Scratch[],
  breaks: readonly Break[],
  tell: (outcome: Outcome) => void = () => undefined,
): Promise<readonly Outcome[]> {
  const waiting = [...breaks];
  const outcomes: Outcome[] = [];
  const work = async (scratch: Scratch): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const outcome = await tryBreak(scratch, next);
      tell(outcome);
      outcomes.push(outcome);
    }
  };
  await Promise.all(scratches.map(work));
  return outcomes;
}

async function tryBreak(scratch: Scratch, broken: Break): Promise<Outcome> {
  const started = performance.now();
  const outcome = (verdict: Verdict, detail: string): Outcome => ({
    broken,
    verdict,
    detail,
    seconds: (performance.now() - started) / 1000,
  });
  const applied = applyBreak(scratch.tree, broken);
  if ('refused' in applied) return outcome('does not apply', applied.refused);
  const file = path.join(scratch.tree, broken.file);
  writeFileSync(file, applied.text);
  try {
    const seen = await runTests(scratch, { ids: [broken.id], files: broken.tests, deadlineMs: DEADLINE_MS });
    if (seen.late) return outcome('killed', `the tests did not end within ${DEADLINE_MS / 1000} s`);
    if (seen.exitCode === 0) return outcome('SURVIVED', `${seen.passed.length} tests passed`);
    const [title] = seen.failed;
    if (title === undefined) return outcome('does not apply', `the test runner ended with ${seen.exitCode}`);
    return outcome('killed', title.slice(0, TITLE_SHOWN));
  } finally {
    writeFileSync(file, applied.original);
  }
}

/** Requirements whose tests fail, or are not there, without any break: nothing can be learned from them. */
export async function unsound(scratch: Scratch, breaks: readonly Break[]): Promise<readonly string[]> {
  const ids = [...new Set(breaks.map(({ id }) => id))];
  const files = [...new Set(breaks.flatMap(({ tests }) => tests))];
  if (files.length === 0) return [];
  const seen = await runTests(scratch, { ids, files, deadlineMs: DEADLINE_MS * files.length });
  const late = seen.late ? ['the tests did not end in time'] : [];
  const failed = seen.failed.map((title) => `fails without a break: ${title}`);
  const missing = ids
    .filter((id) => !seen.passed.some((title) => titlePattern([id]).test(title)))
    .map((id) => `no test of ${id} passed`);
  return [...late, ...failed, ...missing];
}

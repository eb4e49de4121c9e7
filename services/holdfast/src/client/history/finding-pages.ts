import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { type Accusation, describePlan } from '@holdfast/cluster/explore';
import { describeError, OperatorError } from '@holdfast/platform';
import type { Terminal } from '../command.ts';
import { writePage } from '../pages.ts';
import { historyPage } from './page.ts';

/** Before the exploration: who learns after ten minutes that the folder cannot be made has lost them. */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (cause) {
    throw new OperatorError({
      code: 'PageUnwritable',
      message: `the folder ${folder} cannot be made: ${describeError(cause)}`,
      nextStep: 'Name a folder that you may write to with --html.',
      cause,
    });
  }
}

/** `finding-1.html`, ...: the history of the run, with the fault in red. */
export async function writeFindings(
  folder: string,
  accusations: readonly Accusation[],
  { print }: Pick<Terminal, 'print'>,
): Promise<void> {
  for (const [i, accusation] of accusations.entries()) {
    const file = path.join(folder, `finding-${i + 1}.html`);
    await writePage(file, findingPage(accusation));
    print(`the history of finding ${i + 1} is in ${file}`);
  }
}

export function findingPage({ plan, findings, result }: Accusation): string {
  const { faultMs, history } = result;
  const text = describePlan(plan);
  return historyPage(history, {
    title: `Finding: ${text}`,
    facts: findings.flatMap(({ text: what, lines }) => [`${what}.`, ...lines]),
    fault: faultMs === undefined ? undefined : { atMs: faultMs, text },
  });
}

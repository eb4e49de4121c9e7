import { mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { type Accusation, describePlan } from '@holdfast/cluster/explore';
import { describeError, OperatorError } from '@holdfast/platform';
import { writePage } from '../pages.ts';
import { historyPage } from './page.ts';

/** Before the exploration: who learns after ten minutes that the folder cannot be made has lost them. */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (cause) {
    throw unwritable(`the folder ${folder} cannot be made`, cause);
  }
}

const PAGE = /^finding-\d+\.html$/;

/** `finding-1.html`, ...: the history of the run, with the fault in red. They replace those of an earlier exploration. */
export async function writeFindings(
  folder: string,
  accusations: readonly Accusation[],
  say: (sentence: string) => void,
): Promise<void> {
  await removeEarlier(folder);
  for (const [i, accusation] of accusations.entries()) {
    const file = path.join(folder, `finding-${i + 1}.html`);
    await writePage(file, findingPage(accusation));
    say(`the history of finding ${i + 1} is in ${file}`);
  }
}

async function removeEarlier(folder: string): Promise<void> {
  try {
    const files = await readdir(folder, { withFileTypes: true });
    const earlier = files.filter((file) => file.isFile() && PAGE.test(file.name));
    for (const { name } of earlier) await rm(path.join(folder, name), { force: true });
  } catch (cause) {
    throw unwritable(`the pages of an earlier exploration in ${folder} cannot be removed`, cause);
  }
}

const unwritable = (what: string, cause: unknown): OperatorError =>
  new OperatorError({
    code: 'PageUnwritable',
    message: `${what}: ${describeError(cause)}`,
    nextStep: 'Name a folder that you may write to with --html.',
    cause,
  });

export function findingPage({ plan, findings, result }: Accusation): string {
  const { faultMs, history, historyFailure } = result;
  const text = describePlan(plan);
  return historyPage(history, {
    title: `Finding: ${text}`,
    facts: [
      ...findings.flatMap(({ text: what, lines }) => [`${what}.`, ...lines]),
      ...(historyFailure === undefined ? [] : [`The history of this run could not be read: ${historyFailure}`]),
    ],
    fault: faultMs === undefined ? undefined : { atMs: faultMs, text },
  });
}

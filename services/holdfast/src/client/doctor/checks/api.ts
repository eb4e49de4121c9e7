import { existsSync } from 'node:fs';
import { OperatorError } from '@holdfast/platform';
import { hasLock, isDataDirectoryInUse } from '../../../embedded/data-directory-lock.ts';
import { openSession } from '../../session.ts';
import type { Check, Subject } from '../check.ts';
import { type Judgement, ok, problem, warning } from '../finding.ts';

export const API: Check = {
  name: 'API',
  look: async (subject) => {
    if (!existsSync(subject.kubeconfig)) return ok(`there is no cluster yet (${subject.kubeconfig} does not exist)`);
    if (await isStopped(subject)) return ok('the cluster does not run');
    try {
      return judgeHealth(await readHealth(subject));
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      return problem(error.message, error.nextStep);
    }
  },
};

/** The check of the data directory tells when it cannot be read. */
async function isStopped({ dataDir, isOwnKubeconfig }: Subject): Promise<boolean> {
  if (!isOwnKubeconfig || !hasLock(dataDir)) return false;
  return !(await isDataDirectoryInUse(dataDir).catch(() => true));
}

async function readHealth({ kubeconfig, terminal }: Subject): Promise<string> {
  await using session = await openSession({ kubeconfig, name: undefined, namespace: undefined }, terminal);
  const { body } = await session.ask('/readyz', new URLSearchParams({ verbose: '' }));
  return body.kind === 'text' ? body.text : '';
}

/** The text of `/readyz?verbose`: a line for each check, `[+]` or `[-]`. */
export function judgeHealth(text: string): Judgement {
  const lines = text.split('\n');
  const failed = lines.filter((line) => line.startsWith('[-]')).map((line) => line.slice(3));
  if (failed.length > 0)
    return problem(`not ready: ${failed.join('; ')}`, 'Read the log of the API server about these checks.');
  const passed = lines.filter((line) => line.startsWith('[+]')).length;
  if (passed === 0)
    return warning('the answer of /readyz has no checks', 'Is the server of this kubeconfig Kubernetes?');
  return ok(`ready, ${passed} checks passed`);
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { titlePattern } from './breaks.ts';
import type { Scratch } from './scratch.ts';

export interface TestsAsked {
  readonly ids: readonly string[];
  readonly files: readonly string[];
  readonly deadlineMs: number;
}

export interface TestsSeen {
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  /** The deadline passed before the tests ended. */
  readonly late: boolean;
  readonly exitCode: number | null;
}

const FILES_AT_ONCE = 2;
/** The directive of TAP: a test that is skipped or still to be done. */
const RESULT = /^\s*(not )?ok \d+ - (.*?)(?: # ([A-Z]{4})\b.*)?$/;

/** Runs the tests of these requirements in these files. The tests and all they started end with it. */
export async function runTests({ tree, temporary }: Scratch, asked: TestsAsked): Promise<TestsSeen> {
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      '--test',
      `--test-concurrency=${FILES_AT_ONCE}`,
      `--test-name-pattern=${titlePattern(asked.ids).source}`,
      '--test-reporter=tap',
      ...asked.files,
    ],
    { cwd: tree, detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: environment(tree, temporary) },
  );
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => output.push(bytes));
  let late = false;
  const endGroup = (): void => killGroup(child.pid);
  const timer = setTimeout(() => {
    late = true;
    endGroup();
  }, asked.deadlineMs);
  process.once('exit', endGroup);
  const [exitCode] = (await once(child, 'exit')) as [number | null];
  clearTimeout(timer);
  process.off('exit', endGroup);
  endGroup();
  return { ...readResults(Buffer.concat(output).toString()), late, exitCode };
}

/** Processes that a test left behind are in the group of the runner. */
function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // They have ended.
  }
}

/** Skipped tests count as neither. */
export function readResults(tap: string): { readonly passed: readonly string[]; readonly failed: readonly string[] } {
  const [passed, failed]: [string[], string[]] = [[], []];
  for (const line of tap.split('\n')) {
    const [, not, title, skipped] = RESULT.exec(line) ?? [];
    if (title !== undefined && skipped === undefined) (not === undefined ? passed : failed).push(title);
  }
  return { passed, failed };
}

/** No setting of the caller changes what the tests see. */
function environment(tree: string, temporary: string): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => name !== 'CI' && name !== 'NODE_TEST_CONTEXT' && !name.startsWith('HOLDFAST_'),
  );
  const folders = [
    path.dirname(process.execPath),
    path.join(tree, 'node_modules', '.bin'),
    process.env['PATH'],
    '/usr/sbin',
  ];
  return {
    ...Object.fromEntries(inherited),
    PATH: folders.join(path.delimiter),
    TMPDIR: temporary,
    NODE_DISABLE_COMPILE_CACHE: '1',
  };
}

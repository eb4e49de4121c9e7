import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { changedFiles } from './affected.ts';

/** The inner loop: types of the whole tree, lint and format of what was changed, then the unit tests that import it. */
const root = path.resolve(import.meta.dirname, '../..');
const BUILD_INFO = path.join(root, 'node_modules', '.holdfast-types.tsbuildinfo');
const LINTED = /\.(tsx?|js|mjs)$/;
const FORMATTED = /\.(tsx?|mjs|json|css)$/;

interface Step {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
}

const changed = changedFiles(root);
const linted = changed.filter((file) => LINTED.test(file));
const formatted = changed.filter((file) => FORMATTED.test(file));
const steps: readonly Step[] = [
  // The second run compiles only what has changed.
  { name: 'types', program: 'tsc', args: ['-p', 'tsconfig.json', '--incremental', '--tsBuildInfoFile', BUILD_INFO] },
  ...(changed.some((file) => file.startsWith('services/console/'))
    ? [{ name: 'types of the console', program: 'tsc', args: ['-p', 'services/console/tsconfig.json'] }]
    : []),
  ...(linted.length === 0
    ? []
    : [
        {
          name: 'lint',
          program: 'oxlint',
          args: ['--type-aware', '--deny-warnings', '--no-error-on-unmatched-pattern', ...linted],
        },
      ]),
  ...(formatted.length === 0
    ? []
    : [
        {
          name: 'format',
          program: 'biome',
          args: ['check', '--error-on-warnings', '--no-errors-on-unmatched', ...formatted],
        },
      ]),
];
const good = await Promise.all(steps.map(runStep));
const tests = spawn(process.execPath, [path.join(import.meta.dirname, 'main.ts'), '--changed'], { stdio: 'inherit' });
const [code] = (await once(tests, 'exit')) as [number | null];
process.exit(good.every(Boolean) && code === 0 ? 0 : 1);

/** Shows what a step prints only where it fails. */
async function runStep({ name, program, args }: Step): Promise<boolean> {
  const started = performance.now();
  const child = spawn(path.join(root, 'node_modules', '.bin', program), args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => output.push(bytes));
  const [status] = (await once(child, 'close')) as [number | null];
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (status !== 0) process.stdout.write(Buffer.concat(output));
  process.stdout.write(`== ${name}: ${status === 0 ? 'good' : 'failed'} in ${seconds} s\n`);
  return status === 0;
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ensureContainerd } from '../setup/containerd.ts';
import { ensureDocker } from '../setup/docker.ts';
import { ensurePrograms, OWN_PROGRAMS } from '../setup/packages.ts';
import type { RunReport } from './count-reporter.ts';
import { countLeftovers, removeLeftovers } from './leftovers.ts';
import { SUITES, type Suite } from './suites.ts';

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const root = path.resolve(import.meta.dirname, '../..');
const chosen = chooseSuites(process.argv.slice(2));
// As the machine names it when it says where processes stand and what is mounted.
const scratch = realpathSync(mkdtempSync(path.join(tmpdir(), 'holdfast-test-')));
chmodSync(scratch, 0o755);
const total: Counts = { passed: 0, failed: 0, skipped: 0 };
const failures: string[] = [];
/** Ended by a signal: the suite that runs is told by it, too; what it leaves is removed, and no other begins. */
let interruptedBy: NodeJS.Signals | undefined;
for (const signal of SIGNALS) {
  process.on(signal, () => {
    interruptedBy = signal;
  });
}
for (const suite of chosen) {
  if (interruptedBy !== undefined) break;
  const started = performance.now();
  const counts = await runSuite(suite);
  failures.push(...counts.failures);
  total.passed += counts.passed;
  total.failed += counts.failed;
  total.skipped += counts.skipped;
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(`\n== ${suite.name}: ${summary(counts)} in ${seconds} s\n\n`);
}
removeLeftovers(scratch);
if (failures.length > 0) process.stdout.write(`== what failed\n${failures.join('\n')}\n\n`);
process.stdout.write(`${summary(total)}\n`);
process.exit(total.failed === 0 && total.passed > 0 && interruptedBy === undefined ? 0 : 1);

function chooseSuites(names: readonly string[]): readonly Suite[] {
  const unknown = names.filter((name) => !SUITES.some((suite) => suite.name === name));
  if (unknown.length > 0) {
    process.stderr.write(
      `unknown suite ${unknown.join(', ')}\n  Choose from ${SUITES.map((s) => s.name).join(', ')}.\n`,
    );
    process.exit(2);
  }
  return names.length === 0 ? SUITES : SUITES.filter((suite) => names.includes(suite.name));
}

/** A suite that cannot run counts as one failure: nothing is skipped unseen. */
async function runSuite(suite: Suite): Promise<RunReport> {
  process.stdout.write(`== ${suite.name}\n`);
  try {
    ensurePrograms(suite.programs ?? []);
    if (suite.docker === true) ensureDocker();
    if (suite.containerd === true) ensureContainerd();
  } catch (error) {
    return oneFailure(`${suite.name} cannot run: ${error instanceof Error ? error.message : String(error)}`);
  }
  const files = globSync(suite.files as string[], { cwd: root, exclude: ['**/node_modules/**'] }).sort();
  if (files.length === 0) return oneFailure(`no test file matches ${suite.files.join(', ')}`);
  return runFiles(suite, files);
}

async function runFiles(suite: Suite, files: readonly string[]): Promise<RunReport> {
  const countFile = path.join(scratch, `${suite.name}.json`);
  const temporary = makeTemporary(suite);
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      '--test',
      `--test-concurrency=${suite.concurrency}`,
      `--test-timeout=${suite.timeoutSecondsPerTest * 1000}`,
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      `--test-reporter=${path.join(import.meta.dirname, 'count-reporter.ts')}`,
      `--test-reporter-destination=${countFile}`,
      ...files,
    ],
    { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], env: testEnvironment(temporary) },
  );
  const forward = (signal: NodeJS.Signals): boolean => child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, forward);
  await once(child, 'exit');
  for (const signal of SIGNALS) process.off(signal, forward);
  const left = removeLeftovers(temporary);
  if (left.length > 0) process.stdout.write(`removed what tests left behind:\n  ${left.join('\n  ')}\n`);
  return countLeftovers(reportOf(suite, countFile, child), suite.name, left);
}

function reportOf(suite: Suite, countFile: string, { exitCode, signalCode }: ChildProcess): RunReport {
  const report = readReport(countFile);
  if (report === undefined) return oneFailure(`the runner of ${suite.name} died before it could count`);
  if (exitCode === 0 || report.failed > 0) return report;
  return { ...report, failed: 1, failures: [`✖ the runner of ${suite.name} ended with ${exitCode ?? signalCode}`] };
}

/** The temporary folder of a suite's tests, so that what one leaves is found. As open as the machine's: pods of other users look into it. */
function makeTemporary({ name }: Suite): string {
  const folder = path.join(scratch, name);
  mkdirSync(folder);
  chmodSync(folder, 0o1777);
  return folder;
}

function oneFailure(what: string): RunReport {
  process.stdout.write(`${what}\n`);
  return { passed: 0, failed: 1, skipped: 0, failures: [`✖ ${what}`] };
}

/** The pinned Node and the project's own commands first on PATH; no setting of the caller changes what the tests see. */
function testEnvironment(temporary: string): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('HOLDFAST_'));
  const folders = [
    path.dirname(process.execPath),
    path.join(root, 'node_modules', '.bin'),
    process.env['PATH'],
    '/usr/sbin',
    OWN_PROGRAMS,
  ];
  return {
    ...Object.fromEntries(inherited),
    PATH: folders.join(path.delimiter),
    TMPDIR: temporary,
    // npm keeps compiled modules in the temporary folder: nobody would find them there again.
    NODE_DISABLE_COMPILE_CACHE: '1',
  };
}

function readReport(file: string): RunReport | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as RunReport;
  } catch {
    return undefined;
  }
}

function summary(counts: Readonly<Counts>): string {
  const skipped = counts.skipped === 0 ? '' : `, ${counts.skipped} skipped`;
  return `${counts.passed} passed, ${counts.failed} failed${skipped}`;
}

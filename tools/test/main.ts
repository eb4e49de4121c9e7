import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ensureContainerd } from '../setup/containerd.ts';
import { ensureDocker } from '../setup/docker.ts';
import { ensurePrograms, OWN_PROGRAMS } from '../setup/packages.ts';
import { affectedFiles, changedFiles } from './affected.ts';
import type { RunReport } from './count-reporter.ts';
import { countLeftovers, removeLeftovers } from './leftovers.ts';
import { type ChosenSuite, chooseFiles, patternOf, readSelection, type Selection, USAGE } from './selection.ts';
import { describeSkips, refuseSkips } from './skips.ts';
import { SUITES, type Suite } from './suites.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const root = path.resolve(import.meta.dirname, '../..');
const selection = select(process.argv.slice(2));
const chosen = chooseFiles(selection, SUITES, {
  root,
  affected: (files) => affectedFiles(root, changedFiles(root), files),
});
// The real path, as the machine reports it for working directories and mounts.
const scratch = realpathSync(mkdtempSync(path.join(tmpdir(), 'holdfast-test-')));
chmodSync(scratch, 0o755);
const reports: RunReport[] = [];
/** Ended by a signal: the running suite gets it, too; its leftovers are removed, and no other suite starts. */
let interruptedBy: NodeJS.Signals | undefined;
for (const signal of SIGNALS) {
  process.on(signal, () => {
    interruptedBy = signal;
  });
}
if (chosen.length === 0) process.stdout.write('no test file is chosen\n');
for (const each of chosen) {
  if (interruptedBy !== undefined) break;
  const started = performance.now();
  const report = await runSuite(each);
  reports.push(isOnCi() ? refuseSkips(report) : report);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(`\n== ${each.suite.name}: ${summary(reports.slice(-1))} in ${seconds} s\n\n`);
}
removeLeftovers(scratch);
const failures = reports.flatMap((report) => report.failures);
const skipped = describeSkips(reports.flatMap(({ skips }) => skips));
if (skipped.length > 0) process.stdout.write(`== what was skipped\n${skipped.join('\n')}\n\n`);
if (failures.length > 0) process.stdout.write(`== what failed\n${failures.join('\n')}\n\n`);
// CI systems read the last line: it has these two counts and nothing else.
if (skipped.length > 0) process.stdout.write(`${summary(reports)} (the reasons are above)\n`);
process.stdout.write(`${ran(reports)}\n`);
process.exit(isGood() ? 0 : 1);

/** With `--changed`, running nothing is correct when nothing is affected. */
function isGood(): boolean {
  const hasRun = sum(reports, ({ passed }) => passed) > 0 || (selection.changed && chosen.length === 0);
  return sum(reports, ({ failed }) => failed) === 0 && hasRun && interruptedBy === undefined;
}

function select(args: readonly string[]): Selection {
  try {
    return readSelection(args, SUITES, process.cwd());
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n  ${USAGE}\n`);
    process.exit(2);
  }
}

/** The sign that all common CI services set. */
function isOnCi(): boolean {
  return !['', '0', 'false'].includes(process.env['CI'] ?? '');
}

/** A suite that cannot run counts as one failure: nothing is skipped unseen. */
async function runSuite({ suite, files }: ChosenSuite): Promise<RunReport> {
  process.stdout.write(`== ${suite.name}\n`);
  try {
    ensurePrograms(suite.programs ?? []);
    if (suite.docker === true) ensureDocker();
    if (suite.containerd === true) ensureContainerd();
  } catch (error) {
    return oneFailure(`${suite.name} cannot run: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (files.length === 0) return oneFailure(`no test file matches ${suite.files.join(', ')}`);
  return runFiles(suite, files);
}

async function runFiles(suite: Suite, files: readonly string[]): Promise<RunReport> {
  const { grep } = selection;
  const countFile = path.join(scratch, `${suite.name}.json`);
  const temporary = makeTemporary(suite);
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      '--test',
      `--test-concurrency=${suite.concurrency}`,
      ...(grep === undefined ? [] : [`--test-name-pattern=${patternOf(grep)}`]),
      `--test-timeout=${suite.timeoutSecondsPerTest * 1000}`,
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      `--test-reporter=${path.join(import.meta.dirname, 'count-reporter.ts')}`,
      `--test-reporter-destination=${countFile}`,
      ...files,
    ],
    { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], env: testEnvironment(suite, temporary) },
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
  return { passed: 0, failed: 1, skips: [], failures: [`✖ ${what}`] };
}

/** The pinned Node and the project's own commands first on PATH; no setting of the caller changes what the tests see. */
function testEnvironment(suite: Suite, temporary: string): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => name !== 'CI' && !name.startsWith('HOLDFAST_'));
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
    ...compileCache(suite),
  };
}

/** Each run has a cache of its own beside the temporary folders, so that a test cannot find what an earlier run compiled. */
function compileCache({ name, sharesCompiledModules }: Suite): NodeJS.ProcessEnv {
  // npm keeps compiled modules in the temporary folder: a suite without a cache must not use or leave them.
  if (sharesCompiledModules !== true) return { NODE_DISABLE_COMPILE_CACHE: '1' };
  return { NODE_COMPILE_CACHE: path.join(scratch, `compiled-${name}`), NODE_DISABLE_COMPILE_CACHE: undefined };
}

function readReport(file: string): RunReport | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as RunReport;
  } catch {
    return undefined;
  }
}

function summary(ofSuites: readonly RunReport[]): string {
  const skipped = sum(ofSuites, ({ skips }) => skips.length);
  return skipped === 0 ? ran(ofSuites) : `${ran(ofSuites)}, ${skipped} skipped`;
}

function ran(ofSuites: readonly RunReport[]): string {
  return `${sum(ofSuites, ({ passed }) => passed)} passed, ${sum(ofSuites, ({ failed }) => failed)} failed`;
}

function sum(ofSuites: readonly RunReport[], count: (report: RunReport) => number): number {
  return ofSuites.reduce((total, report) => total + count(report), 0);
}

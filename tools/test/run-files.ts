import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { OWN_PROGRAMS } from '../setup/packages.ts';
import type { RunReport } from './count-reporter.ts';
import { groupFiles, writeGroups } from './groups.ts';
import { IDLE_PATIENCE, type Lane, spawnInLane } from './idle-time.ts';
import { countLeftovers, removeLeftovers } from './leftovers.ts';
import { patternOf } from './selection.ts';
import type { Suite } from './suites.ts';

export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface Place {
  readonly root: string;
  /** Receives the temporary folders, counts and compiled modules of the suites. */
  readonly scratch: string;
  /** Text of the titles to run. */
  readonly grep: string | undefined;
  readonly lane: Lane;
}

interface Run extends Place {
  readonly suite: Suite;
  readonly temporary: string;
}

/** Runs the test files of a suite. A group that ends too early fails; what it did not run then runs file by file. */
export async function runFiles(suite: Suite, files: readonly string[], place: Place): Promise<RunReport> {
  const temporary = makeTemporary(suite, place);
  const run: Run = { ...place, suite, temporary };
  const report = await runAll(run, files);
  const left = removeLeftovers(temporary);
  if (left.length > 0) process.stdout.write(`removed what tests left behind:\n  ${left.join('\n  ')}\n`);
  return countLeftovers(report, suite.name, left);
}

/** Runs the files that may run beside each other, then those that need the machine for themselves. */
async function runAll(run: Run, files: readonly string[]): Promise<RunReport> {
  const { together, alone } = splitAlone(run.suite, files);
  if (alone.length === 0) return (await runInProcesses(run, together)).report;
  const oneByOne: Run = { ...run, suite: { ...run.suite, concurrency: 1 } };
  if (together.length === 0) return (await runInProcesses(oneByOne, alone)).report;
  const { report, interrupted } = await runInProcesses(run, together);
  return interrupted ? report : addReports(report, (await runInProcesses(oneByOne, alone)).report);
}

/** Separates the files that need the machine for themselves. */
export function splitAlone(
  suite: Pick<Suite, 'alone'>,
  files: readonly string[],
): Record<'together' | 'alone', readonly string[]> {
  const isAlone = (file: string): boolean => suite.alone?.includes(file) === true;
  return { together: files.filter((file) => !isAlone(file)), alone: files.filter(isAlone) };
}

export const addReports = (first: RunReport, second: RunReport): RunReport => ({
  passed: first.passed + second.passed,
  failed: first.failed + second.failed,
  skips: [...first.skips, ...second.skips],
  failures: [...first.failures, ...second.failures],
  ended: [...first.ended, ...second.ended],
  times: [...first.times, ...second.times],
});

async function runInProcesses(run: Run, files: readonly string[]): Promise<Outcome> {
  // A name pattern would also match the names of the files, which are suites in a group.
  if (run.suite.sharesProcesses !== true || run.grep !== undefined) return runRunner(run, files);
  const first = await runGroups(run, groupFiles(run.root, files));
  const missing = files.filter((file) => !first.report.ended.includes(file));
  if (missing.length === 0 || first.interrupted) return first;
  const again = await runGroups(
    run,
    missing.map((file) => [file]),
  );
  return { ...again, report: joinReports(first.report, again.report, missing) };
}

/** The run has failed, even if every file passes alone. */
export function joinReports(first: RunReport, again: RunReport, missing: readonly string[]): RunReport {
  const what = `✖ a process ended before these files were done, so each ran again alone: ${missing.join(', ')}`;
  const both = addReports(first, again);
  return { ...both, failed: both.failed + 1, failures: [...both.failures, what] };
}

function runGroups(run: Run, groups: readonly (readonly string[])[]): Promise<Outcome> {
  const { root, scratch, suite } = run;
  const timeoutMsPerFile = suite.timeoutSecondsPerTest * 1000;
  const folder = path.join(scratch, `groups-${suite.name}`);
  const longest = Math.max(...groups.map((group) => group.length));
  return runRunner(run, writeGroups(folder, groups, { root, timeoutMsPerFile }), longest);
}

interface Outcome {
  readonly report: RunReport;
  readonly interrupted: boolean;
}

async function runRunner(run: Run, files: readonly string[], filesPerProcess = 1): Promise<Outcome> {
  const { root, scratch, suite } = run;
  const countFile = path.join(scratch, `${suite.name}.json`);
  const args = [...runnerArgs(run, countFile, filesPerProcess), ...files];
  const child = spawnInLane(args, run.lane, { cwd: root, env: testEnvironment(run) });
  let interrupted = false;
  const forward = (signal: NodeJS.Signals): void => {
    interrupted = true;
    child.kill(signal);
  };
  for (const signal of SIGNALS) process.on(signal, forward);
  await once(child, 'exit');
  for (const signal of SIGNALS) process.off(signal, forward);
  return { report: reportOf(suite, countFile, child), interrupted };
}

function runnerArgs({ grep, lane, suite }: Run, countFile: string, filesPerProcess: number): readonly string[] {
  const secondsPerTest = suite.timeoutSecondsPerTest * (lane.isIdle ? IDLE_PATIENCE : 1);
  return [
    '--disable-warning=ExperimentalWarning',
    '--test',
    `--test-concurrency=${suite.concurrency}`,
    ...(grep === undefined ? [] : [`--test-name-pattern=${patternOf(grep)}`]),
    `--test-timeout=${secondsPerTest * filesPerProcess * 1000}`,
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${path.join(import.meta.dirname, 'count-reporter.ts')}`,
    `--test-reporter-destination=${countFile}`,
  ];
}

function reportOf(suite: Suite, countFile: string, { exitCode, signalCode }: ChildProcess): RunReport {
  const report = readReport(countFile);
  if (report === undefined) return oneFailure(`the runner of ${suite.name} died before it could count`);
  if (exitCode === 0 || report.failed > 0) return report;
  return { ...report, failed: 1, failures: [`✖ the runner of ${suite.name} ended with ${exitCode ?? signalCode}`] };
}

function readReport(file: string): RunReport | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as RunReport;
  } catch {
    return undefined;
  }
}

export function oneFailure(what: string): RunReport {
  process.stdout.write(`${what}\n`);
  return { passed: 0, failed: 1, skips: [], failures: [`✖ ${what}`], ended: [], times: [] };
}

/** The temporary folder of a suite's tests, so that what one leaves is found. As open as the machine's: pods of other users look into it. */
function makeTemporary({ name }: Suite, { scratch }: Place): string {
  const folder = path.join(scratch, name);
  mkdirSync(folder);
  chmodSync(folder, 0o1777);
  return folder;
}

/** The pinned Node and the project's own commands first on PATH; no setting of the caller changes what the tests see. */
function testEnvironment(run: Run): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    // A runner inside a test would report to the outer one.
    ([name]) => name !== 'CI' && name !== 'NODE_TEST_CONTEXT' && !name.startsWith('HOLDFAST_'),
  );
  const folders = [
    path.dirname(process.execPath),
    path.join(run.root, 'node_modules', '.bin'),
    process.env['PATH'],
    '/usr/sbin',
    OWN_PROGRAMS,
  ];
  return {
    ...Object.fromEntries(inherited),
    PATH: folders.join(path.delimiter),
    TMPDIR: run.temporary,
    ...compileCache(run),
  };
}

/** Each run has a cache of its own beside the temporary folders, so that a test cannot find what an earlier run compiled. */
function compileCache({ scratch, suite: { name, sharesCompiledModules } }: Run): NodeJS.ProcessEnv {
  // npm keeps compiled modules in the temporary folder: a suite without a cache must not use or leave them.
  if (sharesCompiledModules !== true) return { NODE_DISABLE_COMPILE_CACHE: '1' };
  return { NODE_COMPILE_CACHE: path.join(scratch, `compiled-${name}`), NODE_DISABLE_COMPILE_CACHE: undefined };
}

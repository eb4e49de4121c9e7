import { chmodSync, mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ensureBundle } from '../setup/bundle.ts';
import { ensureContainerd } from '../setup/containerd.ts';
import { ensureDocker } from '../setup/docker.ts';
import { ensurePrograms } from '../setup/packages.ts';
import { affectedFiles, changedFiles } from './affected.ts';
import type { RunReport } from './count-reporter.ts';
import { type Lane, MAIN_LANE, turnsOf, withIdleLane, withoutIdleTime } from './idle-time.ts';
import { removeLeftovers } from './leftovers.ts';
import { oneFailure, runFiles, SIGNALS } from './run-files.ts';
import { type ChosenSuite, chooseFiles, readSelection, type Selection, USAGE } from './selection.ts';
import { describeSkips, refuseSkips } from './skips.ts';
import { SUITES } from './suites.ts';

const root = path.resolve(import.meta.dirname, '../..');
const SLOWEST_SHOWN = 8;
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
/** What runs in idle time does so until it is done, also beside the suites that follow. */
const inIdleTime: Promise<void>[] = [];
for (const { suite, beside } of turnsOf(chosen)) {
  if (interruptedBy !== undefined) break;
  inIdleTime.push(...beside.map((each) => runAndReport(each, () => runInIdleTime(each))));
  const run = () => runAndReport(suite, () => runSuite(suite, MAIN_LANE));
  await (suite.suite.hasNoIdleTime === true ? withoutIdleTime(run) : run());
}
await Promise.all(inIdleTime);
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

function runInIdleTime(each: ChosenSuite): Promise<RunReport> {
  return withIdleLane(path.join(scratch, `${each.suite.name}.log`), (lane) => runSuite(each, lane));
}

async function runAndReport({ suite }: ChosenSuite, run: () => Promise<RunReport>): Promise<void> {
  const started = performance.now();
  const report = await run();
  reports.push(isOnCi() ? refuseSkips(report) : report);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(`\n== ${suite.name}: ${summary(reports.slice(-1))} in ${seconds} s\n${slowest(report)}\n`);
}

/** Where the time of a suite goes. */
function slowest({ times }: RunReport): string {
  const first = times.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST_SHOWN);
  return first.map(({ file, ms }) => `   ${(ms / 1000).toFixed(1)} s ${file}\n`).join('');
}

/** A suite that cannot run counts as one failure: nothing is skipped unseen. */
async function runSuite({ suite, files }: ChosenSuite, lane: Lane): Promise<RunReport> {
  process.stdout.write(`== ${suite.name}\n`);
  try {
    ensurePrograms(suite.programs ?? []);
    if (suite.startsServers === true) ensureBundle();
    if (suite.docker === true) ensureDocker();
    if (suite.containerd === true) ensureContainerd();
  } catch (error) {
    return oneFailure(`${suite.name} cannot run: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (files.length === 0) return oneFailure(`no test file matches ${suite.files.join(', ')}`);
  return runFiles(suite, files, { root, scratch, grep: selection.grep, lane });
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

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { RunReport } from './count-reporter.ts';

/**
 * Ends and removes what tests left in their temporary folder, as one that is killed in the middle does: processes that were started with a path in it or stand in
 * it, what is mounted there, files. Answers what there was. Where something stays mounted no file is removed: it could be one that lies elsewhere.
 */
export function removeLeftovers(folder: string): readonly string[] {
  const processes = processesThatStay(folder);
  for (const { pid } of processes) endProcess(pid);
  for (const target of mountsBelow(folder)) spawnSync('umount', ['-l', target]);
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => !isSocketFolderOfUser(folder, name)) : [];
  return [...processes.map(({ pid, command }) => `process ${pid} (${command})`), ...files, ...removeFiles(folder)];
}

/**
 * The leftovers of a suite count as one failed test: cleaning up silently would hide a process that was not ended, or a
 * mount that was not released.
 */
export function countLeftovers(report: RunReport, suite: string, left: readonly string[]): RunReport {
  if (left.length === 0) return report;
  const failure = [`✖ leftovers of ${suite}: its tests left these behind`, ...left].join('\n    ');
  return { ...report, failed: report.failed + 1, failures: [...report.failures, failure] };
}

/**
 * Each user has one folder for sockets whose paths would be too long elsewhere. All clusters of the user share it, so none
 * of them removes it. A socket in it is a leftover.
 */
function isSocketFolderOfUser(folder: string, name: string): boolean {
  return name === `holdfast-${process.getuid?.() ?? 0}` && readdirSync(path.join(folder, name)).length === 0;
}

/** Answers what hinders it. */
function removeFiles(folder: string): readonly string[] {
  const mounted = mountsBelow(folder);
  if (mounted.length > 0) return mounted.map((target) => `${target} is still mounted: unmount it and remove ${folder}`);
  try {
    // A process that was just ended may still be writing.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    return [];
  } catch (error) {
    return [`${folder} could not be removed: ${String(error)}`];
  }
}

/** A test that has killed a process need not have seen it end: on a busy machine that takes a moment. */
const ENDING_MS = 2_000;
const LOOK_AGAIN_MS = 50;

function processesThatStay(folder: string): ReturnType<typeof processesOf> {
  const deadline = performance.now() + ENDING_MS;
  let found = processesOf(folder);
  while (found.length > 0 && performance.now() < deadline) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_AGAIN_MS);
    found = processesOf(folder);
  }
  return found;
}

/** Processes that started before this one, such as a developer's shell in the folder, do not belong to its tests. */
function processesOf(folder: string): readonly { readonly pid: number; readonly command: string }[] {
  if (!existsSync('/proc/self/cmdline')) return [];
  const begunAt = beginningOf(process.pid);
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid)
    .map((pid) => ({ pid, command: commandOf(pid), directory: directoryOf(pid) }))
    .filter(({ command, directory }) => command.includes(`${folder}/`) || isBelow(directory, folder))
    .filter(({ pid }) => beginningOf(pid) >= begunAt);
}

/** In ticks since boot; the name before it may contain anything. */
function beginningOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
  } catch {
    return -1; // It has ended.
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return ''; // It has ended.
  }
}

function directoryOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return ''; // It has ended, or belongs to another user.
  }
}

function isBelow(directory: string, folder: string): boolean {
  return directory === folder || directory.startsWith(`${folder}${path.sep}`);
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** The innermost first. */
function mountsBelow(folder: string): readonly string[] {
  if (!existsSync('/proc/self/mounts')) return [];
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => unescaped(line.split(' ')[1] ?? ''))
    .filter((target) => target.startsWith(`${folder}/`))
    .toReversed();
}

/** Blanks and the like are octal numbers there. */
const unescaped = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

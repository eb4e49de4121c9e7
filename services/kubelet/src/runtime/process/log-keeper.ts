import { execFile } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import type { Clock } from '@holdfast/platform';
import type { LogLimits } from '../log-limits.ts';
import { COPY_BLOCK_BYTES, LINE_SEARCH_BYTES, PUNCH_DEADLINE_MS } from './limits.ts';
import { forgetTimes, timesPath } from './log-times.ts';
import { tellFault } from './tell-fault.ts';

/**
 * Beside the log: where the parts of it begin that are still there, the present one last. The writers hold the file open and
 * nobody can give them another, so older parts stay in the same file, and the oldest are taken out of it: the file keeps
 * its length, the disk gets its blocks back, and no line is lost or seen twice by whoever reads along.
 */
export const partsPath = (logPath: string): string => `${logPath}.parts`;

export function createLogKeeper(clock: Clock, paths: () => readonly string[], limits: () => LogLimits): void {
  const check = async (): Promise<void> => {
    for (const path of paths()) await rotate(path, limits()).catch(tellFault('a log was not kept short'));
    clock.timer(limits().checkMs, () => void check());
  };
  clock.timer(limits().checkMs, () => void check());
}

/** `punch` answers whether the disk got the blocks back. */
export async function rotate(
  path: string,
  { maxBytes, maxFiles }: Pick<LogLimits, 'maxBytes' | 'maxFiles'>,
  punch: (path: string, end: number) => Promise<boolean> = punchOut,
): Promise<void> {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const parts = readParts(path).filter((begin) => begin <= size);
  const present = parts.at(-1) ?? 0;
  if (size - present <= maxBytes) return;
  const begin = lineEndBefore(path, size, present);
  const kept = [...parts, begin].slice(-maxFiles);
  // Readers are notified first: removed blocks read as zeros.
  const isTold = tryWriteParts(path, kept);
  const [oldest = 0] = isTold ? kept : [begin];
  if (oldest > 0 && !(await punch(path, oldest))) return copyAndEmpty(path, parts[0] ?? 0);
  // The disk was full and has room now.
  if (!isTold) tryWriteParts(path, [begin]);
  forgetTimes(path, oldest);
}

/** A part begins where a line does, unless the line is endless. */
function lineEndBefore(path: string, size: number, floor: number): number {
  const from = Math.max(floor, size - LINE_SEARCH_BYTES);
  const bytes = Buffer.alloc(size - from);
  const file = openSync(path, 'r');
  try {
    const read = readSync(file, bytes, 0, bytes.length, from);
    const end = bytes.lastIndexOf(0x0a, read - 1);
    return end < 0 ? size : from + end + 1;
  } finally {
    closeSync(file);
  }
}

function readParts(path: string): readonly number[] {
  try {
    return readFileSync(partsPath(path), 'utf8').trim().split('\n').map(Number);
  } catch {
    return [0];
  }
}

function tryWriteParts(path: string, parts: readonly number[]): boolean {
  const target = partsPath(path);
  try {
    writeFileSync(`${target}.new`, `${parts.join('\n')}\n`, { mode: 0o600 });
    renameSync(`${target}.new`, target);
    return true;
  } catch {
    rmSync(`${target}.new`, { force: true });
    return false;
  }
}

function punchOut(path: string, end: number): Promise<boolean> {
  const range = ['--punch-hole', '--offset', '0', '--length', String(end), path];
  return new Promise((resolve) => {
    execFile('fallocate', range, { timeout: PUNCH_DEADLINE_MS }, (error) => resolve(error === null));
  });
}

/**
 * For disks that cannot release blocks (or a machine without `fallocate`): writes between the two steps are lost.
 * `begin`: blocks released before must not become real zeros again.
 */
function copyAndEmpty(path: string, begin: number): void {
  try {
    copyFrom(path, begin, `${path}.1`);
  } catch {
    // The disk is full: a partial copy is useless, and the next step frees space.
    rmSync(`${path}.1`, { force: true });
  }
  truncateSync(path, 0);
  for (const beside of [partsPath(path), timesPath(path)]) rmSync(beside, { force: true });
}

function copyFrom(path: string, begin: number, target: string): void {
  rmSync(target, { force: true });
  const from = openSync(path, 'r');
  try {
    const block = Buffer.alloc(COPY_BLOCK_BYTES);
    let offset = begin;
    for (let read = -1; read !== 0; offset += read) {
      read = readSync(from, block, 0, block.length, offset);
      appendFileSync(target, block.subarray(0, read), { mode: 0o600 });
    }
  } finally {
    closeSync(from);
  }
}

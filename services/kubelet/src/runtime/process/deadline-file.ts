import { closeSync, openSync, readFileSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { FencingDeadline } from '../fencing-deadline.ts';

/** The kubelet writes it, the supervisor and the watchdog read it. */
export interface DeadlineFile {
  /** Undefined: nothing is promised. One of an earlier boot is past. */
  read(): FencingDeadline | undefined;
  write(deadline: FencingDeadline): void;
  remove(): void;
}

const LENGTH = 128;
const PAST = { untilMs: 0, policy: 'all' } as const;

export function createDeadlineFile(stateDirectory: string, bootId: string): DeadlineFile {
  const path = join(stateDirectory, 'fencing-deadline');
  /** Before the first look: of a file that cannot be read nothing better is known. */
  let lastRead: FencingDeadline | undefined = PAST;
  return {
    read: () => {
      const text = readText(path);
      if (text === undefined) lastRead = undefined;
      // Half of a write, or no answer from the disk: what was there a moment ago holds.
      else if (text !== null) lastRead = decode(text, bootId) ?? lastRead ?? PAST;
      return lastRead;
    },
    // Written in place with a fixed length: a full disk cannot prevent a new deadline.
    write: (deadline) => {
      const text = `${JSON.stringify({ ...deadline, bootId }).padEnd(LENGTH - 1)}\n`;
      const file = openPresent(path);
      if (file === undefined) return createWhole(path, text);
      try {
        writeSync(file, text, 0);
      } finally {
        closeSync(file);
      }
    },
    remove: () => rmSync(path, { force: true }),
  };
}

function openPresent(path: string): number | undefined {
  try {
    return openSync(path, 'r+');
  } catch (error) {
    if (!isMissing(error)) throw error;
    return undefined;
  }
}

/** Created by a rename: an empty file would have an unknown deadline, which counts as past. */
function createWhole(path: string, text: string): void {
  const temporary = `${path}.new`;
  writeFileSync(temporary, text, { mode: 0o600 });
  renameSync(temporary, path);
}

/**
 * `undefined` when it does not exist. Null when it is unreadable: a throw would end the program that enforces the
 * deadline.
 */
function readText(path: string): string | undefined | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return isMissing(error) ? undefined : null;
  }
}

function decode(text: string, bootId: string): FencingDeadline | undefined {
  if (text.length !== LENGTH) return undefined;
  try {
    const { untilMs, policy, bootId: boot } = JSON.parse(text) as FencingDeadline & { readonly bootId: string };
    return boot === bootId ? { untilMs, policy } : PAST;
  } catch {
    return undefined;
  }
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type FencingPolicy, isCoveredBy } from '../fencing-deadline.ts';
import { type ContainerRecord, decodeFile, SANDBOX_FILE, type SandboxRecord, sandboxesDirectory } from './records.ts';

/** A container that may have processes. Without `process` they are found by its id alone. */
export type CoveredContainer = Pick<ContainerRecord, 'id' | 'process'>;

export interface Covered {
  readonly containers: readonly CoveredContainer[];
  /** Why there may be others: what could not be read, for lack of memory for one. */
  readonly failures: readonly unknown[];
}

const RECORD = '.json';

/**
 * Covered containers without a recorded end, read while a supervisor may write. What is not there has been removed; what
 * cannot be read counts as covered and as living.
 */
export function coveredContainers(stateDirectory: string, policy: FencingPolicy): Covered {
  const failures: unknown[] = [];
  const failed = (error: unknown): void => void failures.push(error);
  const root = sandboxesDirectory(stateDirectory);
  const containers = namesIn(root, failed).flatMap((sandbox) => {
    const directory = join(root, sandbox);
    const found = read<SandboxRecord>(join(directory, SANDBOX_FILE), failed);
    if (found !== undefined && !isCoveredBy(policy, found.config.fencing)) return [];
    return namesIn(directory, failed)
      .filter((name) => name.endsWith(RECORD) && name !== SANDBOX_FILE)
      .flatMap((name) => livingIn(directory, name, failed));
  });
  return { containers, failures };
}

type Failed = (error: unknown) => void;

function livingIn(directory: string, name: string, failed: Failed): readonly CoveredContainer[] {
  let isUnread = false;
  const record = read<ContainerRecord>(join(directory, name), (error) => {
    isUnread = true;
    failed(error);
  });
  if (isUnread) return [{ id: name.slice(0, -RECORD.length) }];
  return record === undefined || record.state === 'exited' ? [] : [record];
}

const namesIn = (directory: string, failed: Failed): readonly string[] =>
  attempt(() => readdirSync(directory), failed) ?? [];

const read = <T>(path: string, failed: Failed): T | undefined => attempt(() => decodeFile<T>(path), failed);

/** Undefined for what is not there, and for what cannot be read. */
function attempt<T>(act: () => T, failed: Failed): T | undefined {
  try {
    return act();
  } catch (error) {
    if (!isMissing(error)) failed(error);
    return undefined;
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');

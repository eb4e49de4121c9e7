import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The isolation level of this node's containers from the machine. */
export interface NodeIsolation {
  /** Directories of the machine that no container sees. */
  readonly hidden: readonly string[];
  /** Containers get a process table that shows nothing of other users. */
  readonly hidesProcesses: boolean;
}

export const NO_ISOLATION: NodeIsolation = { hidden: [], hidesProcesses: false };

const fileIn = (stateDirectory: string): string => join(stateDirectory, 'isolation.json');

/** In a file: the supervisor that reads it may be older than the kubelet that writes it, and outlives it. */
export function writeNodeIsolation(stateDirectory: string, isolation: NodeIsolation): void {
  const target = fileIn(stateDirectory);
  writeFileSync(`${target}.new`, JSON.stringify(isolation), { mode: 0o600 });
  renameSync(`${target}.new`, target);
}

/** Throws when it is not there: containers that would see the node's files are not started. */
export const readNodeIsolation = (stateDirectory: string): NodeIsolation => ({
  ...NO_ISOLATION,
  ...JSON.parse(readFileSync(fileIn(stateDirectory), 'utf8')),
});

import type { Writable } from 'node:stream';
import type { ContainerConfig, RuntimeError } from '../port.ts';
import type { ContainerRecord } from './records.ts';

/** The requester of a stop: when it disconnects, the kill is cancelled. */
export type Owner = object;

/** A container as its supervisor holds it. */
export interface LiveContainer {
  record: ContainerRecord;
  /** Callers that wait for the end of every process. */
  waiters: Set<Waiter>;
  stop: PendingStop | undefined;
  /** From the start request until its process is known to exist or not. */
  spawning: Promise<Spawned | undefined> | undefined;
  /** True from the exit of the main process to the end of the last one. */
  ending: boolean;
  /** The open end of its input. */
  stdin: Writable | undefined;
}

export interface RunningContainer {
  readonly config: ContainerConfig;
  readonly pid: number;
  readonly logPath: string;
  /** Absent when it was created without, or was adopted from a supervisor that was killed: its input ended with that one. */
  readonly stdin: Writable | undefined;
  readonly isOver: () => boolean;
}

export interface Spawned {
  /** Why the command could not be started after all; '' when it was. */
  readonly setUp: Promise<string>;
  /** The command's process is gone. */
  readonly ended: Promise<void>;
}

interface Waiter {
  resolve(): void;
  reject(error: RuntimeError): void;
  readonly owner: Owner;
}

interface PendingStop {
  readonly owner: Owner;
  readonly killAt: number;
  cancel(): void;
}

export const liveContainer = (record: ContainerRecord): LiveContainer => ({
  record,
  waiters: new Set(),
  stop: undefined,
  spawning: undefined,
  ending: false,
  stdin: undefined,
});

export const mayHaveProcesses = ({ record, spawning }: LiveContainer): boolean =>
  record.state === 'running' || spawning !== undefined;

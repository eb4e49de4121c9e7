import type { Writable } from 'node:stream';
import type { ContainerConfig, RuntimeError } from '../port.ts';
import type { ContainerRecord } from './records.ts';

/** Whoever asked for a stop: when it goes away, the kill is called off. */
export type Owner = object;

/** A container as its supervisor holds it. */
export interface LiveContainer {
  record: ContainerRecord;
  /** Callers that wait for every process of it to be gone. */
  waiters: Set<Waiter>;
  stop: PendingStop | undefined;
  /** From the start request until its process is known, or known not to be. */
  spawning: Promise<Spawned | undefined> | undefined;
  /** Between spawn and the end of the last process. */
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

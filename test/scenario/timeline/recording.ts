import type { PersistentVolume } from '@holdfast/api';
import type { ProcessFact } from '@holdfast/testing';
import type { Commit } from '../../sim/committed.ts';
import type { Step } from '../../sim/hunt/plan.ts';

/** What a run tells about itself, in virtual milliseconds. */
export interface Recording {
  /** The workloads are up: the times of a schedule count from here. `volumes`: as they are stored then. */
  begins(atMs: number, volumes: readonly PersistentVolume[]): void;
  /** `target`: whom the step met. */
  step(atMs: number, step: Step): void;
  /** A step has ended by itself or is taken back. */
  stepOver(atMs: number, step: Step): void;
  process(atMs: number, fact: ProcessFact): void;
  commit(atMs: number, commit: Commit): void;
  /** An API server has sent a write to the store. */
  stored(atMs: number, apiServer: string): void;
  healed(atMs: number): void;
  ends(atMs: number, violation: { readonly rule: string; readonly story: string } | undefined): void;
}

const nothing = (): void => {};

export const NO_RECORDING: Recording = {
  begins: nothing,
  step: nothing,
  stepOver: nothing,
  process: nothing,
  commit: nothing,
  stored: nothing,
  healed: nothing,
  ends: nothing,
};

import type { PreFiltered, Rejection } from './plugin.ts';

/** kube-scheduler's metric labels for the result of a step. */
export type StepStatus = 'Success' | 'Skip' | 'Unschedulable' | 'UnschedulableAndUnresolvable' | 'Wait' | 'Error';

/** Runs a step of a decision and may measure it. Without `statusOf`, a step that does not throw is a success. */
export type ExtensionTimer = <T>(extensionPoint: string, run: () => T, statusOf?: (result: T) => StepStatus) => T;

export const untimed: ExtensionTimer = (_, run) => run();

/** One plugin at one extension point. */
export interface PluginCall<T> {
  readonly plugin: string;
  readonly point: string;
  readonly statusOf: (result: T) => StepStatus;
}

/** Measures single plugin calls, only in some decisions, because a plugin is called for each node. */
export interface PluginTimer {
  run<T>(about: PluginCall<T>, call: () => T): T;
  /**
   * Measures calls per node by repeating a few of the first ones. The real calls are not wrapped, because that would
   * slow every decision.
   */
  few<A, T>(about: PluginCall<T>, call: (argument: A) => T, among: readonly A[]): void;
}

export const succeeded = (): StepStatus => 'Success';

export function statusOfRejection(rejection: Rejection | undefined): StepStatus {
  if (rejection === undefined) return 'Success';
  return rejection.resolvable ? 'Unschedulable' : 'UnschedulableAndUnresolvable';
}

export function statusOfPreFiltered(prepared: PreFiltered): StepStatus {
  if (prepared.kind === 'reject') return statusOfRejection(prepared.rejection);
  return prepared.kind === 'skip' ? 'Skip' : 'Success';
}

export const statusOfScorer = (scorer: unknown): StepStatus => (scorer === undefined ? 'Skip' : 'Success');

import type { Container, Pod, PodStatus } from '@holdfast/api';
import type { SandboxStatus } from '../runtime/port.ts';
import type { BackOff } from './back-off.ts';

/** The input of a decision about one pod. Any part may be stale. */
export interface PodObservation {
  readonly uid: string;
  /** The newest known object of this UID; `undefined` when the API reported that it does not exist. */
  readonly pod: Pod | undefined;
  /** The runtime's sandboxes of this UID. */
  readonly sandboxes: readonly SandboxStatus[];
  /** Another UID of the same name still has processes here. */
  readonly nameIsTaken: boolean;
  readonly node: NodeFacts;
}

export interface NodeFacts {
  readonly address: string;
  readonly hostname: string;
  readonly operatingSystem: string;
  /** Prefix of container ids in the API: `process` in `process://...`. */
  readonly runtimeName: string;
  /** True when file limits of pods are monitored. */
  readonly watchesFiles?: boolean;
  /** Lives of a container that are kept beside the latest; absent: one, for its last state and log. */
  readonly keptLives?: number;
}

/** Why the kubelet ends a pod that did nothing wrong by itself, e.g. `DeadlineExceeded`. */
export interface PodFailure {
  readonly reason: string;
  readonly message: string;
  /** Reported together with the end; absent when it was reported before. */
  readonly event?: { readonly type: 'Normal' | 'Warning'; readonly message: string };
  /** The node protects itself: the pod gets at most this grace period. 0: its own. */
  readonly graceSeconds?: number;
  /** The pod is not the cause: the message of its condition `DisruptionTarget`. */
  readonly disruption?: string;
}

/** The state of a worker between passes. Losing it (a crash) costs time, never safety. */
export interface PodMemory {
  /** The API confirmed, to this kubelet, that the pod exists and is not being deleted. */
  readonly confirmed: boolean;
  /** Why this node does not take it. */
  readonly rejected: PodFailure | undefined;
  /** 0 until termination began. */
  readonly graceSeconds: number;
  readonly terminationStartedAt: number | undefined;
  readonly backOff: Readonly<Record<string, BackOff>>;
  /** Why the last attempt to create a container failed. */
  readonly failures: Readonly<Record<string, StartFailure>>;
  /** Containers being stopped, by id, with the grace they were given. */
  readonly stopping: Readonly<Record<string, number>>;
  /** Those of them whose signal waits for its turn, by id. */
  readonly waiting: Readonly<Record<string, true>>;
  /** Containers that are stopped for another image, by id: they start again under any restart policy. */
  readonly replaced: Readonly<Record<string, true>>;
  /** Containers whose stop could not be confirmed, by id: not before this time again. */
  readonly stopRetryAt: Readonly<Record<string, number>>;
  readonly probes: Readonly<Record<string, ProbeResults>>;
  /** postStart hooks that have not succeeded, by container id. */
  readonly postStart: Readonly<Record<string, 'running' | 'failed'>>;
  /** Why a postStart hook failed, by container id. */
  readonly hookErrors: Readonly<Record<string, string>>;
  readonly deleteRequested: boolean;
  /** The last status that the server took, and the version of the object it answered with. */
  readonly acknowledged: { readonly status: PodStatus; readonly resourceVersion: string | undefined } | undefined;
}

export interface StartFailure {
  readonly reason: string;
  readonly message: string;
  readonly retryAt: number;
  /** The image that is missing: another one need not wait. */
  readonly image?: string | undefined;
}

/** Results of a running container's probes, by container id. Absent = no result yet. */
export interface ProbeResults {
  readonly startup?: 'success' | 'failure';
  readonly readiness?: 'success' | 'failure';
  readonly liveness?: 'success' | 'failure';
}

export const INITIAL_MEMORY: PodMemory = {
  confirmed: false,
  rejected: undefined,
  graceSeconds: 0,
  terminationStartedAt: undefined,
  backOff: {},
  failures: {},
  stopping: {},
  waiting: {},
  replaced: {},
  stopRetryAt: {},
  probes: {},
  postStart: {},
  hookErrors: {},
  deleteRequested: false,
  acknowledged: undefined,
};

export type PodAction =
  /** Ask the API, past every cache, whether this pod still exists and may run. */
  | { readonly kind: 'confirm' }
  | { readonly kind: 'runSandbox'; readonly attempt: number }
  | {
      readonly kind: 'startContainer';
      readonly sandboxId: string;
      readonly container: Container;
      readonly restartCount: number;
    }
  | {
      readonly kind: 'stopContainer';
      readonly id: string;
      readonly name: string;
      readonly graceSeconds: number;
      readonly message: string;
      /** Its hook runs now. Its signal waits for the same action without this. */
      readonly waits?: true;
    }
  | { readonly kind: 'removeContainer'; readonly id: string }
  | { readonly kind: 'stopSandbox'; readonly id: string }
  | { readonly kind: 'removeSandbox'; readonly id: string }
  | { readonly kind: 'writeStatus'; readonly status: PodStatus }
  | {
      readonly kind: 'event';
      readonly type: 'Normal' | 'Warning';
      readonly reason: string;
      readonly message: string;
      readonly container?: string;
    }
  /** Only ever the last action: every process is confirmed gone and everything is released. */
  | { readonly kind: 'deletePod' }
  /** Nothing of this UID is left: the worker ends. */
  | { readonly kind: 'forget' };

export interface Decision {
  readonly actions: readonly PodAction[];
  readonly memory: PodMemory;
  /** Look again then even if nothing happens. */
  readonly wakeAfterMs: number | undefined;
}

/** Drops what is remembered of containers that no longer exist. */
export function forgetContainers(memory: PodMemory, sandboxes: readonly SandboxStatus[]): PodMemory {
  const ids = new Set(sandboxes.flatMap(({ containers }) => containers.map(({ id }) => id)));
  const keep = <T>(record: Readonly<Record<string, T>>): Readonly<Record<string, T>> => {
    const entries = Object.entries(record);
    const kept = entries.filter(([id]) => ids.has(id));
    return kept.length === entries.length ? record : Object.fromEntries(kept);
  };
  const { stopping, waiting, replaced, stopRetryAt, postStart, hookErrors } = memory;
  return {
    ...memory,
    stopping: keep(stopping),
    waiting: keep(waiting),
    replaced: keep(replaced),
    stopRetryAt: keep(stopRetryAt),
    postStart: keep(postStart),
    hookErrors: keep(hookErrors),
  };
}

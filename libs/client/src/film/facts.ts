import {
  FENCED,
  hasTaint,
  isExclusive,
  type Lease,
  type Node,
  nodeCondition,
  OUT_OF_SERVICE_TAINT,
  type PersistentVolume,
  type Pod,
  podCondition,
  promiseOf,
  type SelfFencingPolicy,
} from '@holdfast/api/facts';
import { parseTime } from '@holdfast/platform/time';

export interface NodeFacts {
  readonly ready: string;
  readonly fence: 'none' | 'started' | 'done';
  readonly isOutOfService: boolean;
}

export interface LeaseFacts {
  readonly renewed: string;
  readonly durationMs: number;
  readonly policy: SelfFencingPolicy | undefined;
  readonly isBroken: boolean;
}

export interface PodFacts {
  readonly uid: string;
  readonly node: string;
  readonly phase: string;
  readonly isGoing: boolean;
  readonly isDown: boolean;
  readonly isExclusive: boolean;
  /** A StatefulSet makes another pod of the name. */
  readonly isPet: boolean;
  readonly claims: readonly string[];
}

export interface VolumeFacts {
  /** Empty: none. */
  readonly node: string;
  readonly claim: string;
}

/** An object as it was read, or as it was put together from its changes: any part of it may be missing. */
type Partly<T> = Partial<Record<keyof T, unknown>> & { readonly metadata?: object };
const whole = <T>(object: Partly<T>): T =>
  ({
    ...object,
    metadata: object.metadata ?? {},
    spec: object['spec' as keyof T] ?? {},
    status: object['status' as keyof T] ?? {},
  }) as T;

export function nodeFacts(object: object): NodeFacts {
  const node = whole<Node>(object);
  const fence = nodeCondition(node, FENCED)?.status;
  return {
    ready: nodeCondition(node, 'Ready')?.status ?? '',
    fence: fence === 'True' ? 'done' : fence === 'Unknown' ? 'started' : 'none',
    isOutOfService: hasTaint(node, OUT_OF_SERVICE_TAINT),
  };
}

export function leaseFacts(object: object): LeaseFacts {
  const lease = whole<Lease>(object);
  const promise = promiseOf(lease);
  return {
    renewed: String(lease.spec?.renewTime ?? ''),
    durationMs: (lease.spec?.leaseDurationSeconds ?? 0) * 1000,
    policy: promise?.policy,
    isBroken: promise?.isBroken === true,
  };
}

export function podFacts(object: object): PodFacts {
  const pod = whole<Pod>(object);
  const { uid = '', deletionTimestamp, ownerReferences = [] } = pod.metadata;
  return {
    uid,
    node: pod.spec.nodeName ?? '',
    phase: pod.status.phase ?? '',
    isGoing: deletionTimestamp !== undefined,
    isDown: podCondition(pod, 'NodeDown')?.status === 'True',
    isExclusive: isExclusive(pod),
    isPet: ownerReferences.some(({ kind, controller }) => kind === 'StatefulSet' && controller === true),
    claims: (pod.spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []),
  };
}

export function volumeFacts(object: object): VolumeFacts {
  const volume = whole<PersistentVolume>(object);
  const { namespace = '', name = '' } = volume.spec.claimRef ?? {};
  return { node: volume.status.attachment?.nodeName ?? '', claim: `${namespace}/${name}` };
}

/** When the lease was renewed by the clock of its node; only for what happened before the film. */
export const renewedMs = ({ renewed }: LeaseFacts): number | undefined => parseTime(renewed);

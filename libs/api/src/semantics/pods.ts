import type { Container, PodCondition, PodSpec } from '../generated/types.ts';
import type { KubeObject } from '../resource.ts';
import { MIRROR_ANNOTATION } from './well-known.ts';

type Phased = { readonly status?: { readonly phase?: string } };
type Conditioned = { readonly status?: { readonly conditions?: readonly PodCondition[] } };

/** True when all containers have ended for good: nothing of the pod runs or will run again. */
export const isFinishedPhase = (phase: string | undefined): phase is 'Succeeded' | 'Failed' =>
  phase === 'Succeeded' || phase === 'Failed';

export const isPodFinished = ({ status }: Phased): boolean => isFinishedPhase(status?.phase);

/** True when all containers ended with exit code 0. */
export const hasPodSucceeded = ({ status }: Phased): boolean => status?.phase === 'Succeeded';

/** True when all containers ended and one failed, or when the node rejected or evicted the pod. */
export const hasPodFailed = ({ status }: Phased): boolean => status?.phase === 'Failed';

/** True when its deletion was requested. */
export const isTerminating = ({ metadata }: Pick<KubeObject, 'metadata'>): boolean =>
  metadata.deletionTimestamp !== undefined;

export const podCondition = ({ status }: Conditioned, type: string): PodCondition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

/** Reads only the condition: a terminating pod may still be ready. */
export const isPodReady = (pod: Conditioned): boolean => podCondition(pod, 'Ready')?.status === 'True';

/** An init container that runs beside the others instead of before them. */
export const isSidecar = ({ restartPolicy }: Pick<Container, 'restartPolicy'>): boolean => restartPolicy === 'Always';

export const sidecarsOf = (spec: Pick<PodSpec, 'initContainers'> | undefined): readonly Container[] =>
  (spec?.initContainers ?? []).filter(isSidecar);

/** True for the API object of a static pod. Only the kubelet of its node ends that pod. */
export const isMirrorPod = ({ metadata }: Pick<KubeObject, 'metadata'>): boolean =>
  metadata.annotations?.[MIRROR_ANNOTATION] !== undefined;

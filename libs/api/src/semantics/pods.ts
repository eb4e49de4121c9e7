import type { Container, PodCondition, PodSpec } from '../generated/types.ts';
import type { KubeObject } from '../resource.ts';
import { MIRROR_ANNOTATION } from './well-known.ts';

type Phased = { readonly status?: { readonly phase?: string } };
type Conditioned = { readonly status?: { readonly conditions?: readonly PodCondition[] } };

/** All containers have ended for good: nothing of the pod runs or will run again. */
export const isFinishedPhase = (phase: string | undefined): phase is 'Succeeded' | 'Failed' =>
  phase === 'Succeeded' || phase === 'Failed';

export const isPodFinished = ({ status }: Phased): boolean => isFinishedPhase(status?.phase);

/** All containers ended with exit code 0. */
export const hasPodSucceeded = ({ status }: Phased): boolean => status?.phase === 'Succeeded';

/** All containers ended, one of them not with exit code 0, or the node refused or evicted the pod. */
export const hasPodFailed = ({ status }: Phased): boolean => status?.phase === 'Failed';

/** Its deletion was requested. */
export const isTerminating = ({ metadata }: Pick<KubeObject, 'metadata'>): boolean =>
  metadata.deletionTimestamp !== undefined;

export const podCondition = ({ status }: Conditioned, type: string): PodCondition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

/** It serves, by the condition alone: a pod that is on its way out may still be ready. */
export const isPodReady = (pod: Conditioned): boolean => podCondition(pod, 'Ready')?.status === 'True';

/** An init container that runs beside the others instead of before them. */
export const isSidecar = ({ restartPolicy }: Pick<Container, 'restartPolicy'>): boolean => restartPolicy === 'Always';

export const sidecarsOf = (spec: Pick<PodSpec, 'initContainers'> | undefined): readonly Container[] =>
  (spec?.initContainers ?? []).filter(isSidecar);

/** Shows a pod of the files of a node; only the kubelet of that node ends it. */
export const isMirrorPod = ({ metadata }: Pick<KubeObject, 'metadata'>): boolean =>
  metadata.annotations?.[MIRROR_ANNOTATION] !== undefined;

import type { Container, PodCondition, PodSpec } from '../generated/types.ts';
import type { KubeObject } from '../resource.ts';

type Phased = { readonly status?: { readonly phase?: string } };
type Conditioned = { readonly status?: { readonly conditions?: readonly PodCondition[] } };

/** All containers have ended for good: nothing of the pod runs or will run again. */
export const isFinishedPhase = (phase: string | undefined): phase is 'Succeeded' | 'Failed' =>
  phase === 'Succeeded' || phase === 'Failed';

export const isPodFinished = ({ status }: Phased): boolean => isFinishedPhase(status?.phase);

/** Somebody has asked for its end. */
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

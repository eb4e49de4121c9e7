import { copyJson } from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';
import { DEFAULT_FEATURES, type Features } from '../../features.ts';
import type { EphemeralContainer, Pod, PodCondition } from '../../generated/types.ts';
import type { Strategy, SubresourceStrategy } from '../../resource.ts';
import { isPodFinished, isTerminating } from '../../semantics/pods.ts';
import { qosClassOf } from '../../semantics/qos.ts';
import { alignAppArmorProfiles } from './app-armor.ts';
import { dropDisabledPodFields, dropDisabledStatusFields } from './disabled-fields.ts';
import { addMatchLabelKeys } from './match-label-keys.ts';
import { saysTheSame } from './same-spec.ts';
import { validatePodStatusUpdate } from './status-update.ts';
import { validateEphemeralContainersUpdate } from './subresource-updates.ts';
import { validatePodUpdate } from './update.ts';
import { validatePodCreate } from './validation.ts';
import { podWarnings } from './warnings.ts';

export const podStrategy: Strategy<Pod> = {
  prepareForCreate: (pod, { now, warn, features = DEFAULT_FEATURES }) => {
    dropDisabledPodFields(pod.spec, undefined, features);
    setPositiveGracePeriod(pod);
    addMatchLabelKeys(pod);
    for (const text of alignAppArmorProfiles(pod)) warn?.(text);
    pod.status = { phase: 'Pending', qosClass: qosClassOf(pod) };
    const gated = schedulingGatedCondition(pod, now);
    if (gated !== undefined) pod.status.conditions = [gated];
  },
  prepareForUpdate: (pod, old, { features = DEFAULT_FEATURES }) => {
    pod.status = old.status;
    setPositiveGracePeriod(pod);
    dropDisabledPodFields(pod.spec, old.spec, features);
  },
  validateCreate: validatePodCreate,
  validateUpdate: validatePodUpdate,
  warnings: podWarnings,
  saysTheSame,
  allowUnconditionalUpdate: true,
  gracefulDeletion: podDeletionSeconds,
};

/** A negative period means an immediate kill by the kubelet: it becomes the shortest grace period. */
function setPositiveGracePeriod(pod: Pod): void {
  if ((pod.spec.terminationGracePeriodSeconds ?? 0) < 0) pod.spec.terminationGracePeriodSeconds = 1;
}

function schedulingGatedCondition(pod: Readonly<Pod>, now: number): PodCondition | undefined {
  if ((pod.spec.schedulingGates ?? []).length === 0) return undefined;
  return {
    type: 'PodScheduled',
    status: 'False',
    reason: 'SchedulingGated',
    message: 'Scheduling is blocked due to non-empty scheduling gates',
    lastProbeTime: null,
    lastTransitionTime: formatTime(now),
  };
}

/**
 * A pod that never ran or has ended needs no grace period: it is removed immediately, whatever period the client
 * requested.
 */
export function podDeletionSeconds(pod: Readonly<Pod>, requestedSeconds: number | undefined): number {
  const seconds = requestedSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 0;
  if (!pod.spec.nodeName || isPodFinished(pod)) return 0;
  return seconds < 0 ? 1 : seconds;
}

export const podStatusStrategy: SubresourceStrategy<Pod> = {
  prepareForUpdate: (pod, old) => {
    pod.spec = old.spec;
    if (!isTerminating(old)) delete pod.metadata.deletionTimestamp;
    keepOwners(pod, old);
    if (!pod.status.qosClass && old.status.qosClass !== undefined) pod.status.qosClass = old.status.qosClass;
    dropDisabledStatusFields(pod.status, old.spec);
  },
  validateUpdate: validatePodStatusUpdate,
};

function keepOwners(pod: Pod, old: Readonly<Pod>): void {
  if (old.metadata.ownerReferences === undefined) delete pod.metadata.ownerReferences;
  else pod.metadata.ownerReferences = old.metadata.ownerReferences;
}

export const podSubresources: Readonly<Record<string, SubresourceStrategy<Pod>>> = {
  ephemeralcontainers: {
    prepareForUpdate: (pod, old, { features = DEFAULT_FEATURES }) => keepAllButEphemeral(pod, old, features),
    validateUpdate: validateEphemeralContainersUpdate,
  },
};

function keepAllButEphemeral(pod: Pod, old: Readonly<Pod>, features: Features): void {
  const containers: EphemeralContainer[] | undefined = pod.spec.ephemeralContainers;
  const { resourceVersion, uid, name, namespace } = pod.metadata;
  pod.metadata = { ...copyJson(old.metadata), ...present({ resourceVersion, uid, name, namespace }) };
  pod.spec = { ...copyJson(old.spec) };
  if (containers === undefined) delete pod.spec.ephemeralContainers;
  else pod.spec.ephemeralContainers = containers;
  pod.status = old.status;
  dropDisabledPodFields(pod.spec, old.spec, features);
}

function present(fields: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

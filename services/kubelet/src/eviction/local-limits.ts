import { type Pod, podLimits } from '@holdfast/api';
import { ownValue, parseQuantity, value } from '@holdfast/machinery';
import { type PodSample, podDisk } from '../stats/port.ts';

export interface ExceededLimit {
  readonly message: string;
  /** Label of the counter of evictions. */
  readonly signal: 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';
}

const STORAGE = 'ephemeral-storage';

/** True when the pod has limits for its files. */
export function hasLocalLimits(pod: Pod): boolean {
  const ofVolume = (pod.spec.volumes ?? []).some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined);
  return ofVolume || podLimits(pod)[STORAGE] !== undefined;
}

/** The first of its own limits that a pod wrote past, in the order of Kubernetes: volumes, the pod, containers. */
export function exceededLimit(sample: PodSample): ExceededLimit | undefined {
  return exceededVolume(sample) ?? exceededByPod(sample) ?? exceededByContainer(sample);
}

function exceededVolume({ pod, volumes }: PodSample): ExceededLimit | undefined {
  for (const { name, emptyDir } of pod.spec.volumes ?? []) {
    const limit = emptyDir?.sizeLimit;
    const used = ownValue(volumes, name);
    if (limit === undefined || used === undefined || amount(limit) === 0 || used.bytes <= amount(limit)) continue;
    const message = `Usage of EmptyDir volume "${name}" exceeds the limit "${limit}". `;
    return { message, signal: 'emptydirfs.limit' };
  }
  return undefined;
}

function exceededByPod(sample: PodSample): ExceededLimit | undefined {
  const limit = podLimits(sample.pod)[STORAGE];
  const used = podDisk(sample);
  if (limit === undefined || used === undefined || used.bytes <= amount(limit)) return undefined;
  const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${limit}. `;
  return { message, signal: 'ephemeralpodfs.limit' };
}

function exceededByContainer({ pod, containers }: PodSample): ExceededLimit | undefined {
  for (const { name, resources } of pod.spec.containers) {
    const limit = resources?.limits?.[STORAGE];
    const used = containers.find((each) => each.name === name)?.logs?.bytes ?? 0;
    if (limit === undefined || used <= amount(limit)) continue;
    const message = `Container ${name} exceeded its local ephemeral storage limit "${limit}". `;
    return { message, signal: 'ephemeralcontainerfs.limit' };
  }
  return undefined;
}

const amount = (text: string): number => value(parseQuantity(text));

import { readFeatureGates } from '@holdfast/platform';

export interface SchedulerFeatures {
  readonly podPriority: boolean;
}

/** `PodPriority=false`; gates of Kubernetes that this scheduler does not know are refused, not ignored. */
export function decodeFeatureGates(text: string | undefined): SchedulerFeatures {
  return { podPriority: readFeatureGates(text, { PodPriority: true }).PodPriority };
}

import { readFeatureGates } from '@holdfast/platform';

/** Feature gates that more than one component reads. The defaults are those of Kubernetes 1.32. */
export interface Features {
  readonly userNamespacesSupport: boolean;
  /** False: pods get no priority, and priorities affect neither the queue nor preemption. */
  readonly podPriority: boolean;
}

export const DEFAULT_FEATURES: Features = { userNamespacesSupport: false, podPriority: true };

export const FEATURE_GATES_SETTING = {
  kind: 'string',
  help: 'UserNamespacesSupport=true: pods may have user namespaces (hostUsers: false); PodPriority=false: no priorities; use the same for all components',
  default: '',
} as const;

/** Parses `--feature-gates`. Throws an `OperatorError` that names unknown gates. */
export function readFeatures(text: string): Features {
  const gates = readFeatureGates(text, {
    UserNamespacesSupport: DEFAULT_FEATURES.userNamespacesSupport,
    PodPriority: DEFAULT_FEATURES.podPriority,
  });
  return { userNamespacesSupport: gates.UserNamespacesSupport, podPriority: gates.PodPriority };
}

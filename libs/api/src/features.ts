import { readFeatureGates } from '@holdfast/platform';

/** Feature gates that more than one component asks for. The defaults are those of Kubernetes 1.32. */
export interface Features {
  readonly userNamespacesSupport: boolean;
  /** False: pods get no priority any more, and priorities neither order pods nor make room. */
  readonly podPriority: boolean;
}

export const DEFAULT_FEATURES: Features = { userNamespacesSupport: false, podPriority: true };

export const FEATURE_GATES_SETTING = {
  kind: 'string',
  help: 'UserNamespacesSupport=true: pods may have users of their own (hostUsers: false); PodPriority=false: no priorities; the same for all components',
  default: '',
} as const;

/** Of `--feature-gates`; throws an `OperatorError` that names what it does not know. */
export function readFeatures(text: string): Features {
  const gates = readFeatureGates(text, {
    UserNamespacesSupport: DEFAULT_FEATURES.userNamespacesSupport,
    PodPriority: DEFAULT_FEATURES.podPriority,
  });
  return { userNamespacesSupport: gates.UserNamespacesSupport, podPriority: gates.PodPriority };
}

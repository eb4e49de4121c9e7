import { readFeatureGates } from '@holdfast/platform';

/** Feature gates that change what an object may say. The defaults are those of Kubernetes 1.32. */
export interface Features {
  readonly userNamespacesSupport: boolean;
}

export const DEFAULT_FEATURES: Features = { userNamespacesSupport: false };

export const FEATURE_GATES_SETTING = {
  kind: 'string',
  help: 'UserNamespacesSupport=true: pods may ask for users of their own (hostUsers: false); the same for apiserver and kubelets',
  default: '',
} as const;

/** Of `--feature-gates`; throws an `OperatorError` that names what it does not know. */
export function readFeatures(text: string): Features {
  const gates = readFeatureGates(text, { UserNamespacesSupport: DEFAULT_FEATURES.userNamespacesSupport });
  return { userNamespacesSupport: gates.UserNamespacesSupport };
}

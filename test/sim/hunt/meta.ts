import type { KubeObject } from '@holdfast/api';

/** The user as which all controllers write. */
export const MANAGER = 'system:kube-controller-manager';

export const uidOf = ({ metadata }: KubeObject): string => metadata.uid ?? '';
export const controllerOf = (object: KubeObject | undefined): string | undefined =>
  object?.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;

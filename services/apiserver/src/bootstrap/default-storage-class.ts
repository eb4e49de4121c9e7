import { DEFAULT_CLASS_ANNOTATION, type KubeObject, LOCAL_PATH_PROVISIONER } from '@holdfast/api';
import { ownValue } from '@holdfast/machinery';

/** The name that small clusters use for the class of their own disks. */
export const STANDARD_CLASS = {
  metadata: { name: 'standard', annotations: { [DEFAULT_CLASS_ANNOTATION]: 'true' } },
  provisioner: LOCAL_PATH_PROVISIONER,
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'WaitForFirstConsumer',
} as const;

/** Marks the namespace kube-system of a cluster that has had its class: a user may have deleted or changed it since. */
const MARK = 'holdfast.io/default-storage-class';

export const hadDefaultClass = ({ metadata }: KubeObject): boolean =>
  ownValue(metadata.annotations, MARK) !== undefined;

/** The namespace with the mark; `undefined` when it has it already. */
export function withMark(namespace: KubeObject): KubeObject | undefined {
  if (hadDefaultClass(namespace)) return undefined;
  const annotations = { ...namespace.metadata.annotations, [MARK]: STANDARD_CLASS.metadata.name };
  return { ...namespace, metadata: { ...namespace.metadata, annotations } };
}

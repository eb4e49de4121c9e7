import type { PersistentVolume } from '@holdfast/api';

/** Describes which nodes may still write to an attached volume; `undefined` when it is not attached. */
export function riskOfBreaking({ metadata, status }: PersistentVolume): string | undefined {
  const { attachment } = status;
  if (attachment === undefined) return undefined;
  const pods = (attachment.pods ?? []).map(({ namespace, name }) => `${namespace}/${name}`);
  const users = pods.length === 0 ? 'no pod is known to use it' : `used by ${pods.join(', ')}`;
  return (
    `breaking the attachment of volume "${metadata.name ?? ''}" to node ${attachment.nodeName} (${users}) lets another node write: ` +
    'if anything on the old node still writes, data corruption is possible'
  );
}

/** Applies only to the examined state, never to a later attachment. */
export const breakingPatch = ({ metadata }: PersistentVolume): object => ({
  metadata: { resourceVersion: metadata.resourceVersion },
  status: { attachment: null },
});

import type { PersistentVolume } from '@holdfast/api';

/** What a volume's being attached says of who may write to it; `undefined` when it is attached to no node. */
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

/** For the state that was looked at, never for an attachment that was made since. */
export const breakingPatch = ({ metadata }: PersistentVolume): object => ({
  metadata: { resourceVersion: metadata.resourceVersion },
  status: { attachment: null },
});

import type { KubeObject } from '@holdfast/api';
import { semanticEqual } from '@holdfast/machinery';
import type { AdmissionRequest } from './port.ts';

/** All that garbage collection needs: owners, and finalizers of whoever waits for it. */
export function changesOwnersAlone({ object, old }: AdmissionRequest): boolean {
  if (object === undefined || old === undefined) return false;
  return semanticEqual(withoutOwners(object), withoutOwners(old));
}

function withoutOwners({ metadata, ...rest }: Readonly<KubeObject>): unknown {
  const { ownerReferences: _owners, finalizers: _finalizers, managedFields: _managers, ...others } = metadata;
  return { ...rest, metadata: others };
}

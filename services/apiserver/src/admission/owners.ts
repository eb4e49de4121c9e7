import type { KubeObject } from '@holdfast/api';
import { semanticEqual } from '@holdfast/machinery';
import type { AdmissionRequest } from './port.ts';

/** True when only owners and finalizers change, which is all that garbage collection needs. */
export function changesOwnersAlone({ object, old }: AdmissionRequest): boolean {
  if (object === undefined || old === undefined) return false;
  return semanticEqual(withoutOwners(object), withoutOwners(old));
}

function withoutOwners({ metadata, ...rest }: Readonly<KubeObject>): unknown {
  const { ownerReferences: _owners, finalizers: _finalizers, managedFields: _managers, ...others } = metadata;
  return { ...rest, metadata: others };
}

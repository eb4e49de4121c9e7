import type { CustomKind, ResourceDefinition } from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';

/** Refuses creates while the existing objects are being deleted. */
export function refuseWhileTerminating({ group, plural }: ResourceDefinition, custom: CustomKind): void {
  if (!custom.isTerminating) return;
  throw new StatusError({
    code: 405,
    reason: 'MethodNotAllowed',
    message: 'create not allowed while custom resource definition is terminating',
    details: { group, kind: plural },
  });
}

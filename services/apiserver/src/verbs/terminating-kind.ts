import type { CustomKind, ResourceDefinition } from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';

/** Nothing new is created while the objects that there are go. */
export function refuseWhileTerminating({ group, plural }: ResourceDefinition, custom: CustomKind): void {
  if (!custom.isTerminating) return;
  throw new StatusError({
    code: 405,
    reason: 'MethodNotAllowed',
    message: 'create not allowed while custom resource definition is terminating',
    details: { group, kind: plural },
  });
}

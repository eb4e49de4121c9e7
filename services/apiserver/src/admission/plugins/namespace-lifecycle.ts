import { NAMESPACES, type Namespace } from '@holdfast/api';
import { forbiddenError, notFound, StatusError } from '@holdfast/machinery';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, isCore, subjectOfRequest } from '../port.ts';

const IMMORTAL_NAMESPACES: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public']);

/** Nothing is created in a namespace that does not exist or is going away; the namespaces of the system stay. */
export const createNamespaceLifecycle = ({ reader }: AdmissionDeps): AdmissionPlugin => ({
  name: 'NamespaceLifecycle',
  handles: (request) =>
    (request.operation === 'CREATE' && request.definition.namespaced && !isAccessReview(request)) ||
    (request.operation === 'DELETE' && isCore(request, 'namespaces')),
  admit: (request) => {
    if (request.operation === 'DELETE') return refuseImmortal(request);
    const target = { name: request.namespace };
    const known = reader.cached(NAMESPACES, target);
    if (known !== undefined) return refuseUnlessLive(known, request);
    return reader.fresh(NAMESPACES, target).then((namespace) => refuseUnlessLive(namespace, request));
  },
});

function refuseUnlessLive(namespace: Namespace | undefined, request: AdmissionRequest): void {
  if (namespace === undefined) throw notFound({ group: '', resource: 'namespaces', name: request.namespace });
  if (namespace.metadata.deletionTimestamp !== undefined) throw terminating(request);
}

const isAccessReview = (request: AdmissionRequest): boolean =>
  request.definition.plural === 'localsubjectaccessreviews';

function refuseImmortal(request: AdmissionRequest): void {
  if (!IMMORTAL_NAMESPACES.has(request.name)) return;
  throw forbiddenError(subjectOfRequest(request), 'this namespace may not be deleted');
}

function terminating(request: AdmissionRequest): StatusError {
  const { body } = forbiddenError(
    subjectOfRequest(request),
    `unable to create new content in namespace ${request.namespace} because it is being terminated`,
  );
  return new StatusError({
    code: 403,
    reason: 'Forbidden',
    message: body.message ?? '',
    details: {
      ...body.details,
      causes: [
        {
          reason: 'NamespaceTerminating',
          message: `namespace ${request.namespace} is being terminated`,
          field: 'metadata.namespace',
        },
      ],
    },
  });
}

import { isTerminating, NAMESPACES, type Namespace } from '@holdfast/api';
import { forbiddenError, notFound, StatusError } from '@holdfast/machinery';
import type { ObjectReader } from '../../cache/reader.ts';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, isCore, subjectOfRequest } from '../port.ts';

const IMMORTAL_NAMESPACES: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public']);

/** Refuses creates in a namespace that does not exist or is terminating; system namespaces cannot be deleted. */
export const createNamespaceLifecycle = ({ reader }: AdmissionDeps): AdmissionPlugin => ({
  name: 'NamespaceLifecycle',
  handles: (request) =>
    (request.operation === 'CREATE' && request.definition.namespaced && !isAccessReview(request)) ||
    (request.operation === 'DELETE' && isCore(request, 'namespaces')),
  admit: (request) => {
    if (request.operation === 'DELETE') return refuseImmortal(request);
    return refuseUnlessLive(reader, request.namespace, () => subjectOfRequest(request));
  },
});

type Subject = ReturnType<typeof subjectOfRequest>;

/** Also for creates below an existing object: an eviction, a token. Synchronous for a cached namespace. */
export function refuseUnlessLive(
  reader: ObjectReader,
  name: string,
  subject: () => Subject,
): Promise<void> | undefined {
  const known = reader.cached(NAMESPACES, { name });
  if (known === undefined) return reader.fresh(NAMESPACES, { name }).then((found) => judge(found, name, subject));
  judge(known, name, subject);
  return undefined;
}

function judge(namespace: Namespace | undefined, name: string, subject: () => Subject): void {
  if (namespace === undefined) throw notFound({ group: '', resource: 'namespaces', name });
  if (isTerminating(namespace)) throw terminating(name, subject());
}

const isAccessReview = (request: AdmissionRequest): boolean =>
  request.definition.plural === 'localsubjectaccessreviews';

function refuseImmortal(request: AdmissionRequest): void {
  if (!IMMORTAL_NAMESPACES.has(request.name)) return;
  throw forbiddenError(subjectOfRequest(request), 'this namespace may not be deleted');
}

function terminating(namespace: string, subject: Subject): StatusError {
  const { body } = forbiddenError(
    subject,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
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
          message: `namespace ${namespace} is being terminated`,
          field: 'metadata.namespace',
        },
      ],
    },
  });
}

import type { ResourceDefinition } from '@holdfast/api';
import { isJsonObject, type JsonObject } from '@holdfast/machinery';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { groupVersion } from '../objects/object-keys.ts';
import type { ReviewKind } from '../verbs/review.ts';

/** A document that is not stored itself: it asks for a binding, an eviction or a token. */
export interface Posted {
  readonly kind: ReviewKind;
  readonly subresource: string;
  readonly document: object;
  readonly dryRun: boolean;
}

/** Shows the document to webhooks and policies, which may refuse it. What it makes the server write is not shown to them. */
export function admitPosted(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
  { kind, subresource, document, dryRun }: Posted,
): Promise<void> | undefined {
  const { namespace, name } = context.info;
  return core.admission.review(
    {
      operation: 'CREATE',
      definition,
      kind: { group: kind.group, version: kind.version, kind: kind.kind },
      subresource,
      namespace,
      name,
      user: context.user,
      object: shown(document, { kind, namespace, name }),
      oldObject: null,
      options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1', ...(dryRun ? { dryRun: ['All'] } : {}) },
      dryRun,
    },
    context,
  );
}

/** The body need not say its kind, nor whom it is about. */
function shown(
  document: object,
  { kind, namespace, name }: Pick<Posted, 'kind'> & { readonly namespace: string; readonly name: string },
): JsonObject {
  const { metadata, ...rest } = document as JsonObject;
  const own = isJsonObject(metadata) ? metadata : {};
  return { ...rest, apiVersion: groupVersion(kind), kind: kind.kind, metadata: { ...own, namespace, name } };
}

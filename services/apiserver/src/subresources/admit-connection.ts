import type { ResourceDefinition } from '@holdfast/api';
import type { JsonObject } from '@holdfast/machinery';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';

/** Calls webhooks and policies before a connection. `options` is the client's request as an object. */
export function admitConnection(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
  options: JsonObject & { readonly kind: string },
): Promise<void> | undefined {
  const { namespace, name, subresource } = context.info;
  return core.admission.review(
    {
      operation: 'CONNECT',
      definition,
      kind: { group: '', version: 'v1', kind: options.kind },
      subresource,
      namespace,
      name,
      user: context.user,
      object: options,
      oldObject: null,
      options: null,
      dryRun: false,
    },
    context,
  );
}

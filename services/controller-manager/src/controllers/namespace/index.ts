import { type KubeObject, NAMESPACES, type Namespace, type ResourceRef } from '@holdfast/api';
import type { ReconcileResult } from '@holdfast/client';
import { describeError } from '@holdfast/platform';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isTerminating, nameOf, namespaceOf, targetOf, uidOf } from '../../common/meta.ts';
import { inParallel, unlessChanged } from '../../common/writes.ts';
import { NAMESPACE_PAGE_OBJECTS, NAMESPACE_RECHECK_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { decide, FINALIZER, type NamespaceContent } from './decide.ts';

export function namespaceController({
  resources,
}: {
  readonly resources: readonly ResourceRef[];
}): ControllerDefinition {
  const contents = resources.filter(({ namespaced }) => namespaced);
  return {
    name: 'namespace',
    component: 'namespace-controller',
    identity: 'manager',
    watches: [NAMESPACES, ...contents],
    create: (context) => [createLoop(context, contents)],
  };
}

function createLoop(context: ControllerContext, contents: readonly ResourceRef[]): Loop {
  const namespaces = context.informers.of(NAMESPACES);
  return {
    name: 'namespace',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => namespaces.list().filter(isTerminating).map(nameOf),
    wake: (enqueue) => [
      namespaces.onChange(({ key, object }) => {
        if (object !== undefined && isTerminating(object)) enqueue(key);
      }),
      ...contents.map((kind) =>
        context.informers.of(kind).onChange(({ object, old }) => {
          const name = object === undefined && old !== undefined ? namespaceOf(old) : '';
          const namespace = name === '' ? undefined : namespaces.get({ name });
          if (namespace !== undefined && isTerminating(namespace)) enqueue(name);
        }),
      ),
    ],
    reconcile: (name) => pass(context, contents, name),
  };
}

async function pass(
  context: ControllerContext,
  contents: readonly ResourceRef[],
  name: string,
): Promise<ReconcileResult> {
  const { client, clock } = context;
  const namespace = await client.find(NAMESPACES, { name });
  if (namespace === undefined || !isTerminating(namespace)) return {};
  if (!(namespace.spec.finalizers ?? []).includes(FINALIZER)) return {};
  const current = await markTerminating(context, namespace);
  if (current === undefined) return { requeueAfterMs: NAMESPACE_RECHECK_MS };
  const action = decide(current, await empty(context, contents, name), clock.now());
  if (action?.type === 'finalize') {
    await client.updateSubresource(NAMESPACES, action.namespace, 'finalize');
    return {};
  }
  if (action !== undefined) await unlessChanged(() => client.updateStatus(NAMESPACES, action.namespace));
  return { requeueAfterMs: NAMESPACE_RECHECK_MS };
}

/** From the moment the phase is stored nothing new is admitted, so emptying it comes to an end. */
async function markTerminating({ client }: ControllerContext, namespace: Namespace): Promise<Namespace | undefined> {
  if (namespace.status.phase === 'Terminating') return namespace;
  const status = { ...namespace.status, phase: 'Terminating' };
  return unlessChanged(() => client.updateStatus(NAMESPACES, { ...namespace, status }));
}

/** Asks everything in the namespace to go, each object by its own rules, and reports what is still there afterwards. */
async function empty(
  context: ControllerContext,
  contents: readonly ResourceRef[],
  namespace: string,
): Promise<NamespaceContent> {
  const remaining = new Map<string, number>();
  const finalizers = new Map<string, number>();
  const failures: string[] = [];
  for (const resource of contents) {
    try {
      const before = await listAll(context, resource, namespace);
      const failure = await inParallel(
        before.filter((object) => !isTerminating(object)),
        (object) => remove(context, resource, object),
      );
      if (failure !== undefined) failures.push(describeError(failure));
      const left = before.length === 0 ? before : await listAll(context, resource, namespace);
      if (left.length > 0) remaining.set(`${resource.plural}.${resource.group}`, left.length);
      for (const finalizer of left.flatMap((object) => object.metadata.finalizers ?? [])) {
        finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
      }
    } catch (error) {
      failures.push(describeError(error));
    }
  }
  return { remaining, finalizers, failures };
}

/** Never with grace 0: a pod on a node that does not answer keeps the namespace, and the namespace says so. */
async function remove({ client }: ControllerContext, resource: ResourceRef, object: KubeObject): Promise<void> {
  await unlessChanged(() =>
    client.delete(resource, targetOf(object), { uid: uidOf(object), propagationPolicy: 'Background' }),
  );
}

async function listAll(
  { client }: ControllerContext,
  resource: ResourceRef,
  namespace: string,
): Promise<readonly KubeObject[]> {
  const all: KubeObject[] = [];
  let continueToken: string | undefined;
  do {
    const page = await client.list(resource, {
      namespace,
      limit: NAMESPACE_PAGE_OBJECTS,
      ...(continueToken === undefined ? {} : { continueToken }),
    });
    all.push(...page.items);
    continueToken = page.continueToken;
  } while (continueToken !== undefined);
  return all;
}

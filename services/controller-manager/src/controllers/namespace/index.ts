import { API_SERVICES, type KubeObject, NAMESPACES, type Namespace, type ResourceRef } from '@holdfast/api';
import type { Informer } from '@holdfast/client';
import { describeError } from '@holdfast/platform';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isFollowed } from '../../common/followed-kinds.ts';
import { NO_CUSTOM_KINDS } from '../../common/kind-pool.ts';
import { listAll } from '../../common/list-all.ts';
import { isTerminating, nameOf, namespaceOf } from '../../common/meta.ts';
import { inParallel, unlessChanged } from '../../common/writes.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { type AggregatedContents, aggregatedContents, unavailable } from './aggregated.ts';
import { decide, FINALIZER, type NamespaceContent } from './decide.ts';
import { Patience } from './patience.ts';

export function namespaceController({
  resources,
}: {
  readonly resources: readonly ResourceRef[];
}): ControllerDefinition {
  const contents = resources.filter(({ namespaced }) => namespaced);
  const apis = resources.filter(isApiServices);
  return {
    name: 'namespace',
    component: 'namespace-controller',
    identity: 'manager',
    watches: [NAMESPACES, ...apis, ...contents.filter(isFollowed)],
    create: (context) => [createLoop(context, contents, apis.length > 0)],
  };
}

const isApiServices = ({ group, plural }: ResourceRef): boolean =>
  group === API_SERVICES.group && plural === API_SERVICES.plural;

function createLoop(context: ControllerContext, contents: readonly ResourceRef[], hasApis: boolean): Loop {
  const { customKinds = NO_CUSTOM_KINDS } = context;
  const all = (): readonly ResourceRef[] => [...contents, ...customKinds.list().filter(({ namespaced }) => namespaced)];
  const namespaces = context.informers.of(NAMESPACES);
  /** Enqueues a namespace when the last object of a kind is gone, not for every one of thousands. */
  const wakeWhenEmpty = (cache: Informer<KubeObject>, enqueue: (key: string) => void): (() => void) =>
    cache.onChange(({ object, old }) => {
      if (object !== undefined || old === undefined) return;
      const name = namespaceOf(old);
      const namespace = namespaces.get({ name });
      if (namespace !== undefined && isTerminating(namespace) && cache.count(name) === 0) enqueue(name);
    });
  const patience = new Patience();
  return {
    name: 'namespace',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => namespaces.list().filter(isTerminating).map(nameOf),
    wake: (enqueue) => [
      namespaces.onChange(({ key, object, old }) => {
        if (object === undefined) patience.forget(key);
        else if (isTerminating(object) && (old === undefined || !isTerminating(old))) enqueue(key);
      }),
      ...contents.filter(isFollowed).map((kind) => wakeWhenEmpty(context.informers.of(kind), enqueue)),
      customKinds.follow((_, cache) => wakeWhenEmpty(cache, enqueue)),
    ],
    reconcile: async (name) => {
      const remaining = await pass(context, { own: all, hasApis }, name);
      if (remaining !== undefined) return { requeueAfterMs: patience.waitMs(name, remaining) };
      patience.forget(name);
      return {};
    },
  };
}

/** One pass over a namespace. Resolves with the remaining content, or `undefined` when there is nothing to wait for. */
async function pass(
  context: ControllerContext,
  kinds: { readonly own: () => readonly ResourceRef[]; readonly hasApis: boolean },
  name: string,
): Promise<number | undefined> {
  const { client, clock } = context;
  const namespace = await client.find(NAMESPACES, { name });
  if (namespace === undefined || !isTerminating(namespace)) return undefined;
  if (!(namespace.spec.finalizers ?? []).includes(FINALIZER)) return undefined;
  const current = await markTerminating(context, namespace);
  if (current === undefined) return Number.POSITIVE_INFINITY;
  const others = kinds.hasApis ? await aggregatedContents(context) : NO_OTHERS;
  const emptied = await empty(context, withOthers(kinds.own(), others), name);
  // A server may have gone away while the namespace was emptied.
  const away = kinds.hasApis ? unavailable(context) : [];
  const content = { ...emptied, undiscovered: [...new Set([...others.undiscovered, ...away])].toSorted() };
  const action = decide(current, content, clock.now());
  if (action?.type === 'finalize') {
    await client.updateSubresource(NAMESPACES, action.namespace, 'finalize');
    return undefined;
  }
  if (action !== undefined) await unlessChanged(() => client.updateStatus(NAMESPACES, action.namespace));
  return content.remaining
    .values()
    .reduce((sum, count) => sum + count, content.failures.length + content.undiscovered.length);
}

const NO_OTHERS: AggregatedContents = { resources: [], undiscovered: [] };

/** A group may be served here in one version and elsewhere in another: its objects are found here. */
function withOthers(own: readonly ResourceRef[], { resources }: AggregatedContents): readonly ResourceRef[] {
  if (resources.length === 0) return own;
  const known = new Set(own.map(({ group, plural }) => `${plural}.${group}`));
  return [...own, ...resources.filter(({ group, plural }) => !known.has(`${plural}.${group}`))];
}

/** Once the phase is stored, nothing new is admitted, so emptying it terminates. */
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
  const attempt = (work: (resource: ResourceRef) => Promise<void>) => (resource: ResourceRef) =>
    work(resource).catch((error: unknown) => void failures.push(describeError(error)));
  const found = new Map<ResourceRef, readonly KubeObject[]>();
  // Processes the kinds in parallel: most of them have nothing in the namespace.
  await inParallel(
    contents,
    attempt(async (resource) => void found.set(resource, await listAll(context, resource, { namespace }))),
  );
  for (const resource of contents.filter((each) => (found.get(each)?.length ?? 0) > 0)) {
    await attempt(async () => {
      const left = await end(resource, found.get(resource) ?? []);
      if (left.length > 0) remaining.set(`${resource.plural}.${resource.group}`, left.length);
      for (const finalizer of left.flatMap((object) => object.metadata.finalizers ?? [])) {
        finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
      }
    })(resource);
  }
  return { remaining, finalizers, failures };

  /** Requests the deletion of a kind's objects that are not terminating yet. Resolves with those that still exist. */
  async function end(resource: ResourceRef, before: readonly KubeObject[]): Promise<readonly KubeObject[]> {
    const due = before.filter((object) => !isTerminating(object) && object.metadata.name);
    if (due.length === 0) return before;
    const failure = await inParallel(due, (object) => remove(context, resource, { object, namespace }));
    if (failure !== undefined) failures.push(describeError(failure));
    return listAll(context, resource, { namespace });
  }
}

/** Never with grace period 0: a pod on an unreachable node keeps the namespace, and its status reports that. */
async function remove(
  { client }: ControllerContext,
  resource: ResourceRef,
  { object, namespace }: { readonly object: KubeObject; readonly namespace: string },
): Promise<void> {
  // Servers behind the API server may leave out what every stored object has.
  const { name = '', uid } = object.metadata;
  const preconditions = uid === undefined || uid === '' ? {} : { uid };
  await unlessChanged(() =>
    client.delete(resource, { namespace, name }, { ...preconditions, propagationPolicy: 'Background' }),
  );
}

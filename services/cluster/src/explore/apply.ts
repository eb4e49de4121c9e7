import type { ClusterFetch } from '../fetch.ts';
import { badWorkload, type WorkloadObject, type WorkloadStep } from './workload.ts';

/** Does a step of a workload as administrator. */
export async function actOn(
  fetch: ClusterFetch,
  { verb, object, subresource }: Pick<WorkloadStep, 'verb' | 'object' | 'subresource'>,
): Promise<void> {
  const { collection, item } = await pathsOf(fetch, object);
  if (verb === 'delete') return refuse(await fetch(item, { method: 'DELETE' }), object, [404]);
  const body = JSON.stringify(object);
  const headers = { 'content-type': 'application/merge-patch+json' };
  if (subresource !== undefined) {
    return refuse(await fetch(`${item}/${subresource}`, { method: 'PATCH', body, headers }), object);
  }
  const created = await fetch(collection, { method: 'POST', body });
  if (created.status !== 409) return refuse(created, object);
  return refuse(await fetch(item, { method: 'PATCH', body, headers }), object);
}

/** A definition is served a moment after it was written. */
const TRIES = 100;

async function pathsOf(fetch: ClusterFetch, object: WorkloadObject) {
  const { apiVersion, kind, metadata } = object;
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const answer = await fetch(root);
    const { resources = [] } = answer.ok ? ((await answer.json()) as Discovery) : {};
    const found = resources.find((each) => each.kind === kind && !each.name.includes('/'));
    if (found === undefined) continue;
    const place = found.namespaced ? `/namespaces/${metadata.namespace ?? 'default'}` : '';
    const collection = `${root}${place}/${found.name}`;
    return { collection, item: `${collection}/${metadata.name}` };
  }
  throw badWorkload(`the cluster has no kind ${kind} of ${apiVersion}`, 'Put its definition into setup.');
}

interface Discovery {
  readonly resources?: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[];
}

async function refuse(
  answer: Response,
  { kind, metadata }: WorkloadObject,
  fine: readonly number[] = [],
): Promise<void> {
  const { message = '' } = (await answer.json()) as { readonly message?: string };
  if (answer.ok || fine.includes(answer.status)) return;
  throw badWorkload(`${kind} ${metadata.name} is refused: ${message}`, 'Correct it in the workload.');
}

import { API_SERVICES, type APIService, isApiAvailable, type ResourceRef } from '@holdfast/api';
import type { ControllerContext } from '../../common/context.ts';
import { compareText } from '../../common/meta.ts';
import { inParallel } from '../../common/writes.ts';

/** Content of a namespace on aggregated API servers. */
export interface AggregatedContents {
  readonly resources: readonly ResourceRef[];
  /** Group-versions whose server cannot list its resources: `metrics.example.com/v1`. */
  readonly undiscovered: readonly string[];
}

const versionOf = ({ spec }: Readonly<APIService>): string => `${spec.group ?? ''}/${spec.version ?? ''}`;

const forwarded = ({ informers }: ControllerContext): readonly APIService[] =>
  informers
    .of(API_SERVICES)
    .list()
    .filter(({ spec }) => spec.service !== undefined);

/** The content on an unreachable server is unknown, so the namespace waits for it. */
export const unavailable = (context: ControllerContext): readonly string[] =>
  forwarded(context)
    .filter((api) => !isApiAvailable(api))
    .map(versionOf);

/** Asks each server that is there. A resource of several versions counts once, in the version with the highest priority. */
export async function aggregatedContents(context: ControllerContext): Promise<AggregatedContents> {
  const apis = forwarded(context).filter(isApiAvailable);
  const undiscovered: string[] = [];
  const found = new Map<APIService, readonly ResourceRef[]>();
  await inParallel(apis, async (api) => {
    try {
      found.set(api, await deletable(context, api));
    } catch {
      undiscovered.push(versionOf(api));
    }
  });
  const resources = new Map<string, ResourceRef>();
  for (const api of apis.toSorted(byPriority)) {
    for (const each of found.get(api) ?? []) {
      const key = `${each.plural}.${each.group}`;
      if (!resources.has(key)) resources.set(key, each);
    }
  }
  return { resources: [...resources.values()], undiscovered };
}

const byPriority = (a: APIService, b: APIService): number =>
  b.spec.versionPriority - a.spec.versionPriority || compareText(versionOf(a), versionOf(b));

async function deletable({ client }: ControllerContext, { spec }: APIService): Promise<readonly ResourceRef[]> {
  const resources = await client.resourcesOf(spec.group ?? '', spec.version ?? '');
  return resources
    .filter(({ ref, verbs }) => ref.namespaced && verbs.includes('delete') && verbs.includes('list'))
    .map(({ ref }) => ref);
}

import type { Api } from './api.ts';
import type { ResourceName } from './routes.ts';

export interface Kind extends ResourceName {
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly verbs: readonly string[];
}

interface Discovery {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly {
      readonly version: string;
      readonly resources?: readonly {
        readonly resource: string;
        readonly responseKind?: { readonly kind?: string };
        readonly scope?: string;
        readonly verbs?: readonly string[];
      }[];
    }[];
  }[];
}

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** All kinds that can be listed, each in the version that the server prefers. */
export async function readKinds(api: Api): Promise<readonly Kind[]> {
  const [core, groups] = await Promise.all(
    ['/api', '/apis'].map((path) => api.json<Discovery>(path, { accept: AGGREGATED })),
  );
  return [...kindsOf(core), ...kindsOf(groups)];
}

export function kindsOf(document: Discovery | undefined): readonly Kind[] {
  const found: Kind[] = [];
  for (const { metadata, versions = [] } of document?.items ?? []) {
    const group = metadata?.name ?? '';
    const seen = new Set<string>();
    for (const { version, resources = [] } of versions) {
      for (const each of resources) {
        if (seen.has(each.resource) || each.verbs?.includes('list') !== true) continue;
        seen.add(each.resource);
        found.push({
          group,
          version,
          plural: each.resource,
          kind: each.responseKind?.kind ?? each.resource,
          isNamespaced: each.scope !== 'Cluster',
          verbs: each.verbs,
        });
      }
    }
  }
  return found;
}

interface Section {
  readonly title: string;
  readonly kinds: readonly string[];
}

/** The kinds of the menu. All others are on the page of all kinds. */
export const MENU: readonly Section[] = [
  {
    title: 'Workloads',
    kinds: ['pods', 'deployments.apps', 'statefulsets.apps', 'daemonsets.apps', 'jobs.batch', 'cronjobs.batch'],
  },
  {
    title: 'Network',
    kinds: [
      'services',
      'ingresses.networking.k8s.io',
      'endpointslices.discovery.k8s.io',
      'networkpolicies.networking.k8s.io',
    ],
  },
  { title: 'Settings', kinds: ['configmaps', 'secrets', 'serviceaccounts'] },
  {
    title: 'Storage',
    kinds: ['persistentvolumeclaims', 'persistentvolumes', 'storageclasses.storage.k8s.io'],
  },
  { title: 'Cluster', kinds: ['nodes', 'namespaces', 'events', 'leases.coordination.k8s.io'] },
];

export function menuKinds(
  kinds: readonly Kind[],
): readonly { readonly title: string; readonly kinds: readonly Kind[] }[] {
  const byName = new Map(kinds.map((kind) => [[kind.plural, kind.group].filter(Boolean).join('.'), kind]));
  return MENU.map(({ title, kinds: names }) => ({
    title,
    kinds: names.map((name) => byName.get(name)).filter((kind) => kind !== undefined),
  })).filter((section) => section.kinds.length > 0);
}

/** `NetworkPolicy` -> `NetworkPolicies` */
export function pluralTitle({ kind }: Kind): string {
  if (kind.endsWith('s')) return kind.endsWith('ss') ? `${kind}es` : kind;
  return /[^aeiou]y$/.test(kind) ? `${kind.slice(0, -1)}ies` : `${kind}s`;
}

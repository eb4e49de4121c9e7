/** Generators of clients name their methods by these: they stay as they are in Kubernetes. */
export interface GroupNames {
  /** `rbacAuthorization_v1` */
  readonly tag: string;
  /** `RbacAuthorizationV1` */
  readonly part: string;
}

export function groupNames(group: string, version?: string): GroupNames {
  const [first = '', ...others] = group === '' ? ['core'] : group.replace(/\.k8s\.io$/, '').split('.');
  const name = [first, ...others.map(capitalized)].join('');
  if (version === undefined) return { tag: name, part: capitalized(name) };
  return { tag: `${name}_${version}`, part: `${capitalized(name)}${capitalized(version)}` };
}

const VERBS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    get: 'read',
    list: 'list',
    post: 'create',
    put: 'replace',
    patch: 'patch',
    delete: 'delete',
    deletecollection: 'delete',
    connect: 'connect',
    watch: 'watch',
    watchlist: 'watch',
  }),
);

export interface Named {
  readonly action: string;
  readonly method: string;
  /** `CoreV1` */
  readonly group: string;
  /** `NamespacedPod`; of subresources with their name behind it. */
  readonly subject: string;
}

/** `readCoreV1NamespacedPodLog`, `connectCoreV1GetNamespacedPodExec`, `deleteCoreV1CollectionNamespacedPod` */
export function operationId({ action, method, group, subject }: Named): string {
  const words = { connect: capitalized(method), deletecollection: 'Collection' }[action] ?? '';
  return `${VERBS.get(action) ?? action}${group}${words}${subject}`;
}

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

import type { Metadata } from './family.ts';

/** An object of any kind, as far as a page looks into it. */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: { readonly conditions?: readonly Condition[] } & Readonly<Record<string, unknown>>;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export interface Fact {
  readonly title: string;
  readonly text: string;
}

const FIELDS: readonly (readonly [title: string, path: string])[] = [
  ['Replicas', 'spec.replicas'],
  ['Ready replicas', 'status.readyReplicas'],
  ['Phase', 'status.phase'],
  ['Node', 'spec.nodeName'],
  ['Address', 'status.podIP'],
  ['Cluster address', 'spec.clusterIP'],
  ['Type', 'spec.type'],
  ['Service account', 'spec.serviceAccountName'],
  ['Priority', 'spec.priorityClassName'],
  ['Quality of service', 'status.qosClass'],
  ['Storage class', 'spec.storageClassName'],
  ['Volume', 'spec.volumeName'],
  ['Schedule', 'spec.schedule'],
  ['Reason', 'status.reason'],
  ['Message', 'status.message'],
];

/** What is known of an object in a few lines. */
export const factsOf = (object: ApiObject): readonly Fact[] =>
  FIELDS.map(([title, path]) => ({ title, text: textAt(object, path) })).filter(({ text }) => text !== '');

function textAt(object: unknown, path: string): string {
  let at: unknown = object;
  for (const part of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return '';
    at = Reflect.get(at, part);
  }
  return typeof at === 'string' || typeof at === 'number' || typeof at === 'boolean' ? String(at) : '';
}

export interface ContainerLine {
  readonly name: string;
  readonly image: string;
  readonly state: string;
  readonly ready: boolean;
  readonly restarts: number;
}

interface ContainerStatus {
  readonly name: string;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: Readonly<Record<string, { readonly reason?: string; readonly exitCode?: number } | undefined>>;
}

/** The containers of a pod, those that initialize it first. */
export function containersOf({ spec, status }: ApiObject): readonly ContainerLine[] {
  const statuses = ['initContainerStatuses', 'containerStatuses'].flatMap((name) =>
    listAt<ContainerStatus>(status, name),
  );
  const declared = ['initContainers', 'containers'].flatMap((name) =>
    listAt<{ readonly name: string; readonly image?: string }>(spec, name),
  );
  return declared.map(({ name, image = '' }) => {
    const found = statuses.find((each) => each.name === name);
    return { name, image, state: stateText(found), ready: found?.ready === true, restarts: found?.restartCount ?? 0 };
  });
}

const listAt = <T>(object: Readonly<Record<string, unknown>> | undefined, name: string): readonly T[] => {
  const found: unknown = object === undefined ? undefined : Reflect.get(object, name);
  return Array.isArray(found) ? (found as readonly T[]) : [];
};

function stateText(status: ContainerStatus | undefined): string {
  const [[word, detail] = ['waiting', undefined]] = Object.entries(status?.state ?? {});
  const code = detail?.exitCode === undefined ? '' : `, exit code ${detail.exitCode}`;
  return `${word}${detail?.reason === undefined ? '' : `: ${detail.reason}`}${code}`;
}

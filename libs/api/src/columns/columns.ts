import { formatLabelSelector, ownValue } from '@holdfast/machinery';
import type { LabelSelector, PodSpec } from '../generated/types.ts';
import type { Column, KubeObject } from '../resource.ts';
import { ageOf } from './age.ts';

type Cell<T> = Column<T>['cell'];

export const NONE = '<none>';

export const textColumn = <T>(name: string, description: string, cell: Cell<T>): Column<T> => ({
  name,
  type: 'string',
  description,
  priority: 0,
  cell,
});

export const integerColumn = <T>(name: string, description: string, cell: Cell<T>): Column<T> => ({
  name,
  type: 'integer',
  description,
  priority: 0,
  cell,
});

/** Shown with `-o wide`. */
export const wide = <T>(column: Column<T>): Column<T> => ({ ...column, priority: 1 });

export const nameColumn: Column<KubeObject> = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'The name of the object',
  priority: 0,
  cell: (object) => object.metadata.name ?? '',
};

export const ageColumn: Column<KubeObject> = {
  name: 'Age',
  type: 'string',
  description: 'How long ago the object was created',
  priority: 0,
  cell: (object, { now }) => ageOf(object.metadata.creationTimestamp, now),
};

interface Templated {
  readonly spec: { readonly template?: { readonly spec?: PodSpec }; readonly selector?: LabelSelector };
}

const containersOf = (object: Templated): PodSpec['containers'] => object.spec.template?.spec?.containers ?? [];

/** `CONTAINERS IMAGES` of the kinds that carry a pod template. */
export const templateColumns: readonly Column<Templated>[] = [
  wide(
    textColumn('Containers', 'The names of the containers in the pod template', (object) =>
      containersOf(object)
        .map((container) => container.name)
        .join(','),
    ),
  ),
  wide(
    textColumn('Images', 'The images of the containers in the pod template', (object) =>
      containersOf(object)
        .map((container) => container.image ?? '')
        .join(','),
    ),
  ),
];

export const selectorColumn: Column<Templated> = wide(
  textColumn('Selector', 'The pods that belong to the object', (object) => formatLabelSelector(object.spec.selector)),
);

/** `a=b,c=d`, or `<none>`. */
export function labelMapText(labels: Readonly<Record<string, string>> | undefined): string {
  const keys = Object.keys(labels ?? {}).sort();
  return keys.length === 0 ? NONE : keys.map((key) => `${key}=${ownValue(labels, key) ?? ''}`).join(',');
}

/** The column of kinds without a table of their own. */
export const createdAtColumn: Column<KubeObject> = {
  name: 'Created At',
  type: 'date',
  description: 'When the object was created',
  priority: 0,
  cell: (object) => object.metadata.creationTimestamp ?? null,
};

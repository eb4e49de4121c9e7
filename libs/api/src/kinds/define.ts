import { invariant } from '@holdfast/platform';
import { KINDS } from '../generated/kinds.ts';
import type { KubeObject, ResourceDefinition, ResourceRef } from '../resource.ts';

/** The properties that a kind's folder defines; discovery provides the others. */
export type ResourceForm<T extends KubeObject> = Omit<
  ResourceDefinition<T>,
  | 'group'
  | 'version'
  | 'kind'
  | 'plural'
  | 'singular'
  | 'shortNames'
  | 'categories'
  | 'namespaced'
  | 'verbs'
  | 'answersDeleted'
  | 'selectableFields'
> & { readonly selectableFields?: ResourceDefinition<T>['selectableFields'] };

const INFO = new Map(KINDS.map((kind) => [`${kind.group}/${kind.version}/${kind.plural}`, kind]));

export function defineResource<T extends KubeObject>(
  ref: ResourceRef<T>,
  form: ResourceForm<T>,
): ResourceDefinition<T> {
  const info = INFO.get(`${ref.group}/${ref.version}/${ref.plural}`);
  invariant(info !== undefined, 'a kind is defined that the API does not list', { plural: ref.plural });
  return {
    group: info.group,
    version: info.version,
    kind: info.kind,
    plural: info.plural,
    singular: info.singular,
    shortNames: info.shortNames,
    categories: info.categories,
    namespaced: info.namespaced,
    verbs: info.verbs,
    answersDeleted: info.answersDeleted === true,
    selectableFields: {},
    ...form,
  };
}

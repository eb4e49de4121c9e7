import type { KubeObject, ResourceDefinition, SubresourceStrategy } from '@holdfast/api';
import { ownValue } from '@holdfast/machinery';
import { invariant } from '@holdfast/platform';
import type { UpdateStrategy } from './update-object.ts';

/** The rules for updating an object, or one of its subresources that take the whole object. */
export function updateStrategyFor(definition: ResourceDefinition, subresource: string): UpdateStrategy {
  if (subresource === '') {
    const { prepareForUpdate, validateUpdate } = definition.strategy;
    return { subresource, prepare: prepareForUpdate, validate: validateUpdate };
  }
  const strategy = strategyOf(definition, subresource);
  invariant(strategy !== undefined, 'the route of a subresource leads to its strategy', { subresource });
  return { subresource, prepare: strategy.prepareForUpdate, validate: strategy.validateUpdate };
}

const strategyOf = (
  definition: ResourceDefinition,
  subresource: string,
): SubresourceStrategy<KubeObject> | undefined => {
  if (subresource === 'status') return definition.status;
  return ownValue(definition.subresources ?? {}, subresource);
};

/** What can be done to a subresource that is updated like the object itself. */
export const verbsOf = (definition: ResourceDefinition, subresource: string): readonly ('get' | 'patch' | 'update')[] =>
  strategyOf(definition, subresource)?.verbs ?? ['get', 'patch', 'update'];

/** Whether a subresource is updated like the object itself. */
export const isWholeObject = (definition: ResourceDefinition, subresource: string): boolean =>
  strategyOf(definition, subresource) !== undefined;

/** Subresources that are updated like the object itself. */
export function wholeObjectSubresources(definition: ResourceDefinition): readonly string[] {
  return [...(definition.status === undefined ? [] : ['status']), ...Object.keys(definition.subresources ?? {})];
}

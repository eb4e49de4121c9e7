import type { ResourceDefinition } from '@holdfast/api';
import { invariant } from '@holdfast/platform';
import type { UpdateForm } from './update-object.ts';

/** The rules for updating an object, or one of its subresources that take the whole object. */
export function formFor(definition: ResourceDefinition, subresource: string): UpdateForm {
  if (subresource === '') {
    const { prepareForUpdate, validateUpdate } = definition.strategy;
    return { subresource, prepare: prepareForUpdate, validate: validateUpdate };
  }
  const strategy = subresource === 'status' ? definition.status : definition.subresources?.[subresource];
  invariant(strategy !== undefined, 'the route of a subresource leads to its strategy', { subresource });
  return { subresource, prepare: strategy.prepareForUpdate, validate: strategy.validateUpdate };
}

/** Subresources that are updated like the object itself. */
export function wholeObjectSubresources(definition: ResourceDefinition): readonly string[] {
  return [...(definition.status === undefined ? [] : ['status']), ...Object.keys(definition.subresources ?? {})];
}

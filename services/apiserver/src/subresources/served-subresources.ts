import type { ResourceDefinition } from '@holdfast/api';
import { verbsOf, wholeObjectSubresources } from '../verbs/update-strategies.ts';
import type { Subresource } from './port.ts';
import { SUBRESOURCES } from './registry.ts';

export interface ServedSubresource {
  readonly name: string;
  readonly verbs: readonly string[];
  readonly body?: NonNullable<Subresource['body']>;
}

/** Every subresource of a kind, for discovery and routing, by name. */
export function subresourcesOf(definition: ResourceDefinition): readonly ServedSubresource[] {
  const whole = wholeObjectSubresources(definition).map((name) => ({ name, verbs: verbsOf(definition, name) }));
  const own = SUBRESOURCES.filter((each) => each.servedBy(definition)).map(({ name, verbs, body }) => ({
    name,
    verbs: Object.keys(verbs).toSorted(),
    ...(body === undefined ? {} : { body }),
  }));
  // The order for custom kinds.
  if (definition.custom !== undefined) return [...whole, ...own];
  return [...whole, ...own].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

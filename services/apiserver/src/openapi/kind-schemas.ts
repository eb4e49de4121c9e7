import { schemaFor, structSchema } from '@holdfast/api';
import type { ServedKind } from '../endpoints/served-kinds.ts';
import { addCustomKind } from './custom-schemas.ts';
import type { TypeName } from './operation-shapes.ts';
import { META } from './schema-names.ts';
import type { JsonSchema, PublishedKind, SchemaCollector } from './schemas.ts';

/** Adds the schema of a kind, of its list and of the bodies of its subresources. */
export function addKind(collector: SchemaCollector, served: ServedKind): void {
  addCustomKind(collector, served);
  const { group, version, kind } = served;
  const kinds: readonly PublishedKind[] = [
    { group, version, kind },
    { group, version, kind: `${kind}List` },
    ...served.subresources.flatMap((sub) => (sub.body === undefined ? [] : [sub.body])),
  ];
  for (const each of kinds) {
    const schema = schemaFor(each.group, each.version, each.kind);
    if (schema !== undefined) collector.add(schema, { group: each.group, kind: each.kind, version: each.version });
  }
}

/** Name of the struct of a kind, when it has a field table. */
export const structNameOf = ({ group, version, kind }: PublishedKind): string | undefined =>
  schemaFor(group, version, kind)?.name;

/** A type as the content of a body or an answer. */
export function typeSchema(type: TypeName, collector: SchemaCollector): JsonSchema {
  if (type === 'string' || type === 'object') return { type };
  const struct = type.startsWith(META) ? structSchema(type.replace(META, 'meta.v1.')) : undefined;
  if (struct !== undefined && !collector.has(type)) collector.add(struct);
  return collector.reference(type);
}

import { schemaFor, structSchema } from '@holdfast/api';
import type { ServedKind } from '../endpoints/served-kinds.ts';
import type { SchemaCollector } from './schemas.ts';

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Adds the schema of a kind, of its list and of the bodies of its subresources. */
export function addKind(collector: SchemaCollector, served: ServedKind): void {
  const { group, version, kind } = served;
  const kinds: readonly Kind[] = [
    { group, version, kind },
    { group, version, kind: `${kind}List` },
    ...served.subresources.flatMap((sub) => (sub.body === undefined ? [] : [sub.body])),
  ];
  for (const each of kinds) addOne(collector, each);
}

export function addCommon(collector: SchemaCollector): void {
  for (const kind of ['DeleteOptions', 'Status']) addOne(collector, { group: '', version: 'v1', kind });
  const event = structSchema(WATCH_EVENT);
  if (event !== undefined) collector.add(event);
}

/** No kind: it has no version of its own. */
export const WATCH_EVENT = 'meta.v1.WatchEvent';

function addOne(collector: SchemaCollector, { group, version, kind }: Kind): void {
  const schema = schemaFor(group, version, kind);
  if (schema !== undefined) collector.add(schema, { group, kind, version });
}

/** Name of the struct of a kind, when it has a field table. */
export const structNameOf = ({ group, version, kind }: Kind): string | undefined =>
  schemaFor(group, version, kind)?.name;

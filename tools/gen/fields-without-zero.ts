import { hasMessage, messageOf } from '../../libs/api/src/protobuf/message-table.ts';

const SCALARS: ReadonlySet<string> = new Set(['s', 'b', 'i', 'd', 'y']);

/** The OpenAPI documents do not say it, the messages of protobuf do: scalars that are no pointers and not always printed. */
export function fieldsWithoutZero(struct: string): ReadonlySet<string> {
  const fields = new Set<string>();
  if (!hasMessage(struct)) return fields;
  for (const { json, type, shape, keepsZero, inline } of messageOf(struct).values()) {
    if (inline) for (const field of fieldsWithoutZero(type)) fields.add(field);
    else if (shape === 'one' && !keepsZero && SCALARS.has(type)) fields.add(json);
  }
  return fields;
}

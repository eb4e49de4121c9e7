import { hasMessage, messageOf, type WireField } from '../../libs/api/src/protobuf/message-table.ts';

const SCALARS: ReadonlySet<string> = new Set(['s', 'b', 'i', 'd', 'y']);

/** The OpenAPI documents do not say it, the messages of protobuf do: scalars that are no pointers and not always printed. */
export const fieldsWithoutZero = (struct: string): ReadonlySet<string> =>
  fieldsThat(struct, ({ type, keepsZero }) => !keepsZero && SCALARS.has(type));

/** Nor which structs are part of their parent, and not only pointed to. */
export const structsByValue = (struct: string): ReadonlySet<string> =>
  fieldsThat(struct, ({ type, isPointer }) => !isPointer && !SCALARS.has(type));

function fieldsThat(struct: string, holds: (field: WireField) => boolean): ReadonlySet<string> {
  const fields = new Set<string>();
  if (!hasMessage(struct)) return fields;
  for (const field of messageOf(struct).values()) {
    if (field.inline) for (const inner of fieldsThat(field.type, holds)) fields.add(inner);
    else if (field.shape === 'one' && holds(field)) fields.add(field.json);
  }
  return fields;
}

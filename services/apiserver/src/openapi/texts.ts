import { readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Descriptions of fields and kinds. A line of `field-texts.txt` is `field = text` for all fields of that name, or
 * `Struct.field = text` for one. A line of `kind-texts.txt` is `Kind = text`. They are read with the first document.
 */
export function fieldText(struct: string, field: string): string | undefined {
  const texts = (fields ??= read('field-texts.txt'));
  return texts.get(`${shortName(struct)}.${field}`) ?? texts.get(field);
}

/**
 * The text of a kind, or a text derived from the name of a list. Other structs are described by the fields that contain
 * them.
 */
export function kindText(struct: string): string | undefined {
  const texts = (kinds ??= read('kind-texts.txt'));
  const name = shortName(struct);
  return texts.get(name) ?? (name.endsWith('List') ? `A list of ${name.slice(0, -LIST_LENGTH)} objects.` : undefined);
}

/** All lines, for the check that each is used. */
export const allTexts = (): { readonly fields: ReadonlySet<string>; readonly kinds: ReadonlySet<string> } => ({
  fields: new Set(read('field-texts.txt').keys()),
  kinds: new Set(read('kind-texts.txt').keys()),
});

/** `Container` of `core.v1.Container`. */
const shortName = (struct: string): string => struct.slice(struct.lastIndexOf('.') + 1);

const LIST_LENGTH = 'List'.length;

let fields: ReadonlyMap<string, string> | undefined;
let kinds: ReadonlyMap<string, string> | undefined;

function read(file: string): ReadonlyMap<string, string> {
  const lines = readFileSync(path.join(import.meta.dirname, file), 'utf8')
    .trim()
    .split('\n');
  return new Map(
    lines.map((line) => {
      const at = line.indexOf(SEPARATOR);
      return [line.slice(0, at), line.slice(at + SEPARATOR.length)];
    }),
  );
}

const SEPARATOR = ' = ';

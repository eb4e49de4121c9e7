import { isNumeric, type Json } from '@holdfast/machinery';
import { ageOf } from '../columns/age.ts';
import { nameColumn } from '../columns/columns.ts';
import type { CustomResourceColumnDefinition } from '../generated/types.ts';
import type { Column, KubeObject } from '../resource.ts';
import { JsonPath } from './json-path.ts';

type Cell = ReturnType<Column<KubeObject>['cell']>;

const AGE: CustomResourceColumnDefinition = {
  name: 'Age',
  type: 'date',
  description: 'How long ago the object was created',
  jsonPath: '.metadata.creationTimestamp',
};

/** Returns the name column and the columns of the definition; the age when it defines none. */
export function customColumns(
  wanted: readonly CustomResourceColumnDefinition[] | undefined,
): readonly Column<KubeObject>[] {
  const own = wanted === undefined || wanted.length === 0 ? [AGE] : wanted;
  return [nameColumn, ...own.map(columnOf)];
}

function columnOf(definition: CustomResourceColumnDefinition): Column<KubeObject> {
  const { name, format, description = '', priority = 0, jsonPath } = definition;
  const type = typeOf(definition.type);
  const path = JsonPath.parse(jsonPath);
  return {
    name,
    type,
    ...(format === undefined ? {} : { format }),
    description,
    priority: priority > 0 ? 1 : 0,
    cell: (object, { now }) => {
      const [value] = path?.find(object as unknown as Json) ?? [];
      return value === undefined ? null : cellOf(type, value, now);
    },
  };
}

const TYPES = ['string', 'integer', 'number', 'boolean', 'date'] as const;

const typeOf = (type: string): (typeof TYPES)[number] => TYPES.find((each) => each === type) ?? 'string';

/** Omits a value whose type differs from that of its column. */
function cellOf(type: (typeof TYPES)[number], value: Json, now: number): Cell {
  switch (type) {
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : typeof value === 'bigint' ? value : null;
    case 'number':
      return isNumeric(value) ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? dateCell(value, now) : null;
    case 'string':
      return textCell(value);
  }
}

function dateCell(text: string, now: number): string {
  const age = ageOf(text, now);
  return age === '<unknown>' ? '<invalid>' : age;
}

function textCell(value: Json): string | null {
  if (value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

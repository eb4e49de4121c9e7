import { schemaFor, structSchema } from '@holdfast/api';
import type { CelType, ObjectField } from '@holdfast/cel';
import type { JsonObject, ScalarType, Schema, StructSchema } from '@holdfast/machinery';
import type { ServedKind } from '../../endpoints/served-kinds.ts';
import { cel } from '../../expressions/load.ts';
import { DYN } from './expressions.ts';

/** The type of the objects of a kind, from its schema; undefined when no schema is known. */
export function typeOfKind({ group, version, kind, custom }: ServedKind): CelType | undefined {
  if (custom !== undefined) return customType(custom.openApi());
  const schema = schemaFor(group, version, kind);
  return schema === undefined ? undefined : structType(schema, kind, NONE);
}

/** A definition does not describe metadata: it is the same for every object. */
function customType(openApi: JsonObject): CelType | undefined {
  const type = cel().typeOfSchema(openApi, true)?.type;
  const meta = structSchema('meta.v1.ObjectMeta');
  if (type?.kind !== 'object' || meta === undefined) return type;
  const metadata = { property: 'metadata', type: structType(meta, 'object.metadata', NONE) };
  return { ...type, fields: new Map([...type.fields, ['metadata', metadata]]) };
}

/** The structs around a value. */
type Around = ReadonlySet<StructSchema>;

const NONE: Around = new Set();

/** `name` is the position of the value, such as `Deployment.spec.template`; messages show it. */
function typeOf(schema: Schema, name: string, around: Around): CelType {
  switch (schema.kind) {
    case 'scalar':
      return SCALARS[schema.scalar];
    case 'struct':
      // A type that contains itself has no end. Kubernetes does not check such kinds at all.
      return around.has(schema) ? DYN : structType(schema, name, around);
    case 'map':
      return { kind: 'map', key: { kind: 'string' }, value: typeOf(schema.values(), `${name}.@elem`, around) };
    case 'list':
      return { kind: 'list', element: typeOf(schema.items(), `${name}.@idx`, around) };
    case 'any':
      return DYN;
  }
}

function structType(schema: StructSchema, name: string, around: Around): CelType {
  const { escapeName } = cel();
  const within: Around = new Set([...around, schema]);
  const fields = new Map<string, ObjectField>();
  for (const [property, field] of Object.entries(schema.fields)) {
    const escaped = escapeName(property);
    if (escaped === undefined) continue;
    fields.set(escaped, { property, type: typeOf(field.type(), `${name}.${property}`, within) });
  }
  return { kind: 'object', name, fields };
}

/** A quantity may be a number or a string, so it has no fixed type: a warning would be wrong for one of them. */
const SCALARS: Readonly<Record<ScalarType, CelType>> = {
  string: { kind: 'string' },
  boolean: { kind: 'bool' },
  int32: { kind: 'int' },
  int64: { kind: 'int' },
  number: { kind: 'double' },
  quantity: DYN,
  intOrString: DYN,
  time: { kind: 'timestamp' },
  microTime: { kind: 'timestamp' },
  bytes: { kind: 'bytes' },
};

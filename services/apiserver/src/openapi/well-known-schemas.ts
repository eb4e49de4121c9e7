import {
  FIELDS_V1,
  INT_OR_STRING,
  JSON_ANY,
  JSON_SCHEMA_OR_ARRAY,
  JSON_SCHEMA_OR_BOOL,
  JSON_SCHEMA_OR_STRINGS,
  MICRO_TIME,
  PATCH,
  QUANTITY,
  RAW_EXTENSION,
  TIME,
  VERSION_INFO,
} from './schema-names.ts';
import type { Dialect, JsonSchema } from './schemas.ts';

const VERSION_FIELDS = [
  'major',
  'minor',
  'gitVersion',
  'gitCommit',
  'gitTreeState',
  'buildDate',
  'goVersion',
  'compiler',
  'platform',
];

const OBJECT: JsonSchema = { type: 'object' };

const SAME_IN_BOTH: ReadonlyMap<string, JsonSchema> = new Map(
  Object.entries({
    [TIME]: { type: 'string', format: 'date-time' },
    [MICRO_TIME]: { type: 'string', format: 'date-time' },
    [PATCH]: OBJECT,
    [RAW_EXTENSION]: OBJECT,
    [FIELDS_V1]: OBJECT,
    [JSON_ANY]: {},
    [JSON_SCHEMA_OR_ARRAY]: {},
    [JSON_SCHEMA_OR_BOOL]: {},
    [JSON_SCHEMA_OR_STRINGS]: {},
  }),
);

/** The schema of a type that has no field table. */
export function wellKnownSchema(name: string, dialect: Dialect): JsonSchema | undefined {
  switch (name) {
    case QUANTITY:
      return dialect.isVersion3 ? { oneOf: [{ type: 'string' }, { type: 'number' }] } : { type: 'string' };
    case INT_OR_STRING:
      return {
        format: 'int-or-string',
        ...(dialect.isVersion3 ? { oneOf: [{ type: 'integer' }, { type: 'string' }] } : { type: 'string' }),
      };
    case VERSION_INFO:
      return versionInfo({ type: 'string', ...(dialect.isVersion3 ? { default: '' } : {}) });
    default:
      return SAME_IN_BOTH.get(name);
  }
}

const versionInfo = (field: JsonSchema): JsonSchema => ({
  type: 'object',
  properties: Object.fromEntries(VERSION_FIELDS.map((name) => [name, field])),
  required: VERSION_FIELDS,
});

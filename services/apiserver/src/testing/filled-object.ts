type Schema = { readonly [key: string]: unknown };

/** A value in which every field of the schema has a value that it allows; `undefined` where none is known. */
export function filledValue(schema: Schema): unknown {
  const options = schema['enum'];
  if (Array.isArray(options)) return options[0];
  if (schema['x-kubernetes-int-or-string'] === true) return matching(schema, '1');
  switch (schema['type']) {
    case 'object':
      return filledObject(schema);
    case 'array':
      return filledItems(schema);
    case 'string':
      return filledText(schema);
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return Math.min(Math.max(2, numberAt(schema, 'minimum', 2)), numberAt(schema, 'maximum', 2 ** 31));
    default:
      return { anything: [1, 'a', null] };
  }
}

function filledObject(schema: Schema): unknown {
  const { properties, additionalProperties } = schema as {
    properties?: Record<string, Schema>;
    additionalProperties?: unknown;
  };
  if (properties === undefined && typeof additionalProperties === 'object') {
    return { key: filledValue(additionalProperties as Schema) };
  }
  if (properties === undefined) return { anything: { of: [1, 'a'] } };
  const left = omitted(schema);
  const filled = Object.entries(properties).map(
    ([name, each]) => [name, left.has(name) ? undefined : filledValue(each)] as const,
  );
  return Object.fromEntries(filled.filter(([, value]) => value !== undefined));
}

/** Of mutually exclusive fields the first one stays. */
function omitted({ oneOf, not }: Schema): ReadonlySet<string> {
  const required = (each: unknown): readonly string[] => (each as { required?: readonly string[] }).required ?? [];
  const [first, ...others] = Array.isArray(oneOf) ? oneOf.map(required) : [];
  const excluded = [...others.flat(), ...forbidden(not)];
  return new Set(excluded.filter((name) => first?.includes(name) !== true));
}

function forbidden(not: unknown): readonly string[] {
  const { required = [], anyOf = [] } = (not ?? {}) as { required?: readonly string[]; anyOf?: readonly unknown[] };
  return [...required, ...anyOf.flatMap(forbidden)];
}

function filledItems(schema: Schema): unknown {
  const item = filledValue(schema['items'] as Schema);
  return item === undefined ? [] : Array.from({ length: Math.max(1, numberAt(schema, 'minItems', 0)) }, () => item);
}

function filledText(schema: Schema): unknown {
  switch (schema['format']) {
    case 'date-time':
      return '2026-01-01T00:00:00Z';
    case 'byte':
      return 'aGk=';
    case 'uri':
      return 'https://example.com/';
    case 'duration':
      return '1m';
    case 'int64':
      return '2';
    case 'ipv4':
      return '10.0.0.1';
    case 'ipv6':
      return '::1';
    default:
      return TEXTS.find((text) => matching(schema, text) !== undefined);
  }
}

const TEXTS = [
  'example',
  '1m',
  '/example',
  'example.com',
  'example.com/a',
  'https://example.com/',
  '1Gi',
  '1.0',
  '10.0.0.1',
  'application/json',
  'a'.repeat(32),
  '100',
  'sha256:0',
  'Example',
  'True',
  'ssh://git@example.com/a',
  'oci://example.com/a',
  '1h',
  'POST',
  'feature-A',
];

function matching(schema: Schema, text: string): string | undefined {
  const pattern = schema['pattern'];
  if (typeof pattern === 'string' && !new RegExp(pattern, 'u').test(text)) return undefined;
  if (text.length < numberAt(schema, 'minLength', 0) || text.length > numberAt(schema, 'maxLength', Infinity))
    return undefined;
  return text;
}

function numberAt(schema: Schema, key: string, otherwise: number): number {
  const value = schema[key];
  return typeof value === 'number' ? value : otherwise;
}

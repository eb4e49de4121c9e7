import { allResources, type ResourceDefinition, schemaFor } from '@holdfast/api';
import type { Schema, StructSchema } from '@holdfast/machinery';

/** One list or map of a kind: the steps from the document to it; `0` is the only item of a list on the way. */
export interface WideField {
  readonly definition: ResourceDefinition;
  readonly steps: readonly string[];
}

export const nameOf = ({ definition, steps }: WideField): string =>
  `${definition.plural}.${definition.group} ${steps.join('.')}`;

/** `alike`: all items say the same. `crowded`: the other lists beside it are long, too. */
export const VARIANTS = ['distinct', 'alike', 'crowded'] as const;
/** Repeated parts of long strings: ambiguous patterns have quadratic cost, or worse. */
export const TEXTS = [
  'a',
  '1',
  '-',
  '.',
  'a.',
  'a-',
  '1.',
  '/',
  '../',
  ' ',
  'a ',
  ',',
  ':',
  '1,',
  '%',
  '\\',
  '=',
  '[',
  "'",
  'A=',
] as const;
export type Variant = (typeof VARIANTS)[number] | (typeof TEXTS)[number];
const isText = (variant: Variant): boolean => TEXTS.some((text) => text === variant);

/** Every list and map of every stored kind. Templates of pods are looked into once, in the kind that has them first. */
export const wideFields = (): readonly WideField[] =>
  fieldsOf((schema) => schema.kind === 'list' || schema.kind === 'map');

/** Every text. */
export const textFields = (): readonly WideField[] =>
  fieldsOf((schema) => schema.kind === 'scalar' && (schema.scalar === 'string' || LIKE_TEXT.has(schema.scalar)));

const LIKE_TEXT: ReadonlySet<string> = new Set(['quantity', 'intOrString', 'time', 'bytes']);

type Wanted = (schema: Schema) => boolean;

function fieldsOf(isWanted: Wanted): readonly WideField[] {
  const seen = new Set<string>();
  return allResources().flatMap((definition) => {
    const schema = schemaFor(definition.group, definition.version, definition.kind);
    if (schema === undefined) return [];
    return [...fieldsIn(schema, { steps: [], above: [], seen, isWanted })].map((steps) => ({ definition, steps }));
  });
}

const TEMPLATES: ReadonlySet<string> = new Set([
  'core.v1.PodTemplateSpec',
  'batch.v1.JobTemplateSpec',
  'meta.v1.ObjectMeta',
]);
/** Deeper ones are parts of parts that were looked into elsewhere. */
const STEPS_MAX = 9;

interface Walk {
  readonly steps: readonly string[];
  readonly above: readonly string[];
  readonly seen: Set<string>;
  readonly isWanted: Wanted;
}

function* fieldsIn(schema: Schema, walk: Walk): Generator<readonly string[]> {
  const { steps, above, seen, isWanted } = walk;
  if (steps.length > STEPS_MAX) return;
  if (isWanted(schema)) yield steps;
  if (schema.kind === 'list' || schema.kind === 'map') {
    const items = schema.kind === 'list' ? schema.items() : schema.values();
    yield* fieldsIn(items, { ...walk, steps: [...steps, '0'] });
  }
  if (schema.kind !== 'struct' || above.includes(schema.name)) return;
  if (TEMPLATES.has(schema.name)) {
    if (seen.has(schema.name)) return;
    seen.add(schema.name);
  }
  for (const [name, field] of Object.entries(schema.fields)) {
    if (name === 'managedFields') continue;
    yield* fieldsIn(field.type(), { ...walk, steps: [...steps, name], above: [...above, schema.name] });
  }
}

/** A document with that list or map of so many entries, and with what its kind cannot do without. */
export function wideDocument(
  { definition, steps }: WideField,
  size: number,
  variant: Variant,
): Record<string, unknown> {
  const { group, version, kind } = definition;
  const schema = schemaFor(group, version, kind);
  const place: Place = { steps, size, variant };
  const made = schema === undefined ? {} : structOf(schema, place, 0, 0);
  const apiVersion = group === '' ? version : `${group}/${version}`;
  const { metadata } = made;
  const isNamed = steps[1] === 'name' || steps[1] === 'generateName';
  return {
    ...made,
    apiVersion,
    kind,
    metadata: { ...(isNamed ? {} : { name: 'wide' }), ...(metadata as object | undefined) },
  };
}

interface Place {
  readonly steps: readonly string[];
  readonly size: number;
  readonly variant: Variant;
}

/** The value on the path at a depth; `index` distinguishes entries. */
function valueAt(schema: Schema, place: Place, depth: number, index: number): unknown {
  const isTarget = depth === place.steps.length;
  switch (schema.kind) {
    case 'list':
      return isTarget ? many(schema.items(), place) : [valueAt(schema.items(), place, depth + 1, index)];
    case 'map': {
      if (!isTarget) return { x0: valueAt(schema.values(), place, depth + 1, index) };
      const values = many(schema.values(), place);
      return Object.fromEntries(values.map((value, i) => [`x${i}`, value]));
    }
    case 'struct':
      return structOf(schema, place, depth, index);
    case 'scalar':
      return isTarget && isText(place.variant) ? place.variant.repeat(place.size) : leafOf(schema, '', index);
    case 'any':
      return leafOf(schema, '', index);
  }
}

function many(items: Schema, { size, variant }: Place): readonly unknown[] {
  return Array.from({ length: size }, (_, i) => leafOf(items, '', variant === 'alike' ? 1 : i));
}

function structOf(schema: StructSchema, place: Place, depth: number, index: number): Record<string, unknown> {
  const next = place.steps[depth];
  const made: Record<string, unknown> = {};
  const isParent = depth === place.steps.length - 1;
  for (const [name, field] of Object.entries(schema.fields)) {
    const type = field.type();
    if (name === next) made[name] = valueAt(type, place, depth + 1, index);
    else if (
      isParent &&
      place.variant === 'crowded' &&
      (type.kind === 'list' || type.kind === 'map') &&
      name !== 'managedFields'
    ) {
      made[name] = valueAt(type, { ...place, steps: [], size: Math.ceil(place.size / 16) }, 0, index);
    } else if (NAMES.has(name) && type.kind === 'scalar') made[name] = scalarOf(type.scalar, name, index);
    else if (USUAL.has(name)) made[name] = USUAL.get(name);
  }
  return made;
}

/** Other fields on the path stay empty: many fields end admission early. */
const NAMES: ReadonlySet<string> = new Set([
  'name',
  'image',
  'key',
  'topologyKey',
  'mountPath',
  'weight',
  'provisioner',
]);
const POD_SPEC = { containers: [{ name: 'c', image: 'i' }] };
/** Without these most kinds stop validation early. */
const USUAL: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['containers', POD_SPEC.containers],
  ['selector', { matchLabels: { a: 'b' } }],
  ['template', { metadata: { labels: { a: 'b' } }, spec: POD_SPEC }],
  ['labelSelector', { matchLabels: { a: 'b' } }],
]);

/** An entry: its own fields, and those of what it holds directly. */
function leafOf(schema: Schema, name: string, index: number): unknown {
  switch (schema.kind) {
    case 'struct':
      return { ...scalarsOf(schema, index), ...partsOf(schema, index) };
    case 'list':
      return [leafOf(schema.items(), name, index)];
    case 'map':
      return { [`x${index}`]: leafOf(schema.values(), name, index) };
    case 'any':
      return `x${index}`;
    case 'scalar':
      return scalarOf(schema.scalar, name, index);
  }
}

/** One part per entry, in turn: most allow only one of several. */
function partsOf(schema: StructSchema, index: number): Record<string, unknown> {
  const parts = Object.entries(schema.fields).filter(([, field]) => field.type().kind === 'struct');
  const [name, field] = parts[index % Math.max(1, parts.length)] ?? [];
  const type = field?.type();
  return name === undefined || type?.kind !== 'struct' ? {} : { [name]: scalarsOf(type, index) };
}

function scalarsOf(schema: StructSchema, index: number): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema.fields)) {
    const type = field.type();
    if (type.kind === 'scalar') made[name] = scalarOf(type.scalar, name, index);
  }
  return made;
}

const WORDS: ReadonlyMap<string, string> = new Map([
  ['operator', 'Exists'],
  ['effect', 'NoExecute'],
  ['protocol', 'TCP'],
  ['image', 'i'],
  ['restartPolicy', 'Always'],
  ['mountPath', '/m'],
  ['whenUnsatisfiable', 'DoNotSchedule'],
  ['apiVersion', 'v1'],
]);

function scalarOf(scalar: string, name: string, index: number): unknown {
  switch (scalar) {
    case 'boolean':
      return true;
    case 'int32':
    case 'int64':
    case 'number':
      return (index % 65_000) + 1;
    case 'quantity':
      return `${index + 1}`;
    case 'intOrString':
      return (index % 65_000) + 1;
    case 'time':
    case 'microTime':
      return '2026-01-01T00:00:00Z';
    case 'bytes':
      return 'eA==';
    default:
      return WORDS.has(name) && index % 2 === 0 ? WORDS.get(name) : `x${index}`;
  }
}

import {
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  type MutableJsonObject,
  ownValue,
  setOwn,
} from '@holdfast/machinery';

/** The flat metrics of v1: each source has its values, its target and its selector side by side. */
interface Field {
  readonly flat: string;
  /** Its path in v2. */
  readonly path: readonly [string] | readonly [string, string];
  /** Go's text for an absent value. */
  readonly zero?: string;
}

export type Sources = Readonly<Record<string, readonly Field[]>>;

const metricName: Field = { flat: 'metricName', path: ['metric', 'name'], zero: '' };
const selector: Field = { flat: 'selector', path: ['metric', 'selector'] };
const described: Field = { flat: 'target', path: ['describedObject'] };
const resource: Field = { flat: 'name', path: ['name'], zero: '' };
const container: Field = { flat: 'container', path: ['container'], zero: '' };

const target = (flat: string, key: string, zero?: string): Field => inPart('target', flat, key, zero);
const current = (flat: string, key: string, zero?: string): Field => inPart('current', flat, key, zero);
const inPart = (part: string, flat: string, key: string, zero: string | undefined): Field => ({
  flat,
  path: [part, key],
  ...(zero === undefined ? {} : { zero }),
});

const wantedUse = [
  resource,
  target('targetAverageUtilization', 'averageUtilization'),
  target('targetAverageValue', 'averageValue'),
];
const presentUse = [
  resource,
  current('currentAverageUtilization', 'averageUtilization'),
  current('currentAverageValue', 'averageValue', '0'),
];

/** Sources and their fields in Go's order of serialization. */
export const WANTED: Sources = {
  object: [
    described,
    metricName,
    target('targetValue', 'value', '0'),
    selector,
    target('averageValue', 'averageValue'),
  ],
  pods: [metricName, target('targetAverageValue', 'averageValue', '0'), selector],
  resource: wantedUse,
  containerResource: [...wantedUse, container],
  external: [
    metricName,
    { flat: 'metricSelector', path: selector.path },
    target('targetValue', 'value'),
    target('targetAverageValue', 'averageValue'),
  ],
};

export const PRESENT: Sources = {
  object: [
    described,
    metricName,
    current('currentValue', 'value', '0'),
    selector,
    current('averageValue', 'averageValue'),
  ],
  pods: [metricName, current('currentAverageValue', 'averageValue', '0'), selector],
  resource: presentUse,
  containerResource: [...presentUse, container],
  external: [
    metricName,
    { flat: 'metricSelector', path: selector.path },
    current('currentValue', 'value', '0'),
    current('currentAverageValue', 'averageValue'),
  ],
};

const asObject = (value: Json | undefined): JsonObject => (value !== undefined && isJsonObject(value) ? value : {});

export function flatMetric(metric: JsonObject, sources: Sources): JsonObject {
  const out: MutableJsonObject = { type: ownValue(metric, 'type') ?? '' };
  for (const [source, fields] of Object.entries(sources)) {
    const nested = ownValue(metric, source);
    if (nested !== undefined) out[source] = flatSource(asObject(nested), fields);
  }
  return out;
}

function flatSource(nested: JsonObject, fields: readonly Field[]): JsonObject {
  const out: MutableJsonObject = {};
  for (const { flat, path, zero } of fields) {
    const [part, key] = path;
    const value = key === undefined ? ownValue(nested, part) : ownValue(asObject(ownValue(nested, part)), key);
    const written = value ?? zero;
    if (written !== undefined) out[flat] = written;
  }
  return out;
}

/** Returns anything that is not a list of metrics unchanged; the decoder reports it. */
export function nestedMetrics(metrics: Json, sources: Sources): Json {
  if (!isJsonArray(metrics)) return metrics;
  return metrics.map((metric) => (isJsonObject(metric) ? nestedMetric(metric, sources) : metric));
}

function nestedMetric(metric: JsonObject, sources: Sources): JsonObject {
  const out: MutableJsonObject = { type: ownValue(metric, 'type') ?? '' };
  for (const [source, fields] of Object.entries(sources)) {
    const flat = ownValue(metric, source);
    if (flat === undefined || flat === null) continue;
    const nested = isJsonObject(flat) ? nestedSource(flat, fields) : flat;
    setOwn(out, source, sources === WANTED && isJsonObject(nested) ? withTargetType(source, nested) : nested);
  }
  return out;
}

function nestedSource(flat: JsonObject, fields: readonly Field[]): JsonObject {
  const out: Record<string, Json> = {};
  for (const { flat: name, path, zero } of fields) {
    const [part, key] = path;
    const value = ownValue(flat, name) ?? zero;
    if (value === undefined) continue;
    setOwn(out, part, key === undefined ? value : { ...asObject(ownValue(out, part)), [key]: value });
  }
  return out;
}

/** Derives the type of a target from the given fields. */
function withTargetType(source: string, nested: JsonObject): JsonObject {
  const { value, ...averages } = asObject(ownValue(nested, 'target'));
  const { averageValue, averageUtilization } = averages;
  if (averageUtilization !== undefined) return { ...nested, target: { type: 'Utilization', ...averages } };
  // Beside an average of an object, a zero value means unset.
  const byValue = value !== undefined && (source !== 'object' || averageValue === undefined);
  const given =
    value === undefined || (source === 'object' && !byValue && value === '0') ? averages : { ...averages, value };
  return { ...nested, target: { type: byValue ? 'Value' : 'AverageValue', ...given } };
}

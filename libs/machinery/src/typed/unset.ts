import { deepFreeze } from '../deep.ts';
import { type Json, type JsonObject, type MutableJsonObject, setOwn } from '../json.ts';
import type { FieldSchema, ScalarType, Schema, StructSchema } from '../schema.ts';

/** The object that a create is compared with: a shared, immutable object without set fields. */
export function sharedUnsetObject(schema: StructSchema): JsonObject {
  let object = shared.get(schema);
  if (object === undefined) {
    object = deepFreeze(unsetObject(schema));
    shared.set(schema, object);
  }
  return object;
}

const shared = new WeakMap<StructSchema, JsonObject>();

/** Returns the wire form of a struct without set fields. */
export function unsetObject(schema: StructSchema): JsonObject {
  const result: MutableJsonObject = {};
  for (const [name, field] of Object.entries(schema.fields)) {
    const value = unsetValue(schema, name, field);
    if (value !== undefined) setOwn(result, name, value);
  }
  return result;
}

function unsetValue(owner: StructSchema, name: string, field: FieldSchema): Json | undefined {
  const type = field.type();
  switch (field.unset ?? presumedUnset(owner, name, field, type)) {
    case undefined:
    case 'absent':
      return undefined;
    case 'null':
      return null;
    case 'struct':
      return type.kind === 'struct' ? unsetObject(type) : {};
    case 'zero':
      return type.kind === 'scalar' ? zeroScalar(type.scalar) : null;
  }
}

/** Default for tables that do not specify it: the convention of built-in types. */
function presumedUnset(owner: StructSchema, name: string, field: FieldSchema, type: Schema): FieldSchema['unset'] {
  if (type.kind === 'struct') {
    if (isStructByValue(owner.name, name)) return 'struct';
    return field.required === true ? 'null' : undefined;
  }
  if (ZERO_TIMES.has(name) && type.kind === 'scalar') return 'null';
  return field.required === true ? 'zero' : undefined;
}

const ZERO_TIMES: ReadonlySet<string> = new Set(['creationTimestamp', 'firstTimestamp', 'lastTimestamp', 'eventTime']);

/** Names of struct fields by value, which are always present, unlike pointers. */
const STRUCTS_BY_VALUE: ReadonlySet<string> = new Set([
  'metadata',
  'spec',
  'status',
  'template',
  'jobTemplate',
  'strategy',
  'updateStrategy',
  'resources',
  'source',
  'involvedObject',
  'regarding',
  'deprecatedSource',
  'state',
  'lastState',
  'nodeInfo',
  'daemonEndpoints',
  'kubeletEndpoint',
  'loadBalancer',
  'preference',
  'podAffinityTerm',
  'podSelector',
  'names',
  'acceptedNames',
  'clientConfig',
  'scaleTargetRef',
  'roleRef',
  'priorityLevelConfiguration',
  'limitResponse',
  'backend',
  'userInfo',
  'current',
  'target',
  'metric',
  'describedObject',
]);

/** Fields with such a name that may be nil. */
const NILLABLE_ALL_THE_SAME: ReadonlySet<string> = new Set([
  'apiextensions.v1.WebhookConversion.clientConfig',
  'core.v1.ContainerStatus.resources',
  'core.v1.PodSpec.resources',
  'core.v1.ReplicationControllerSpec.template',
  'networking.v1.NetworkPolicyPeer.podSelector',
]);

const isStructByValue = (owner: string, field: string): boolean =>
  STRUCTS_BY_VALUE.has(field) && !NILLABLE_ALL_THE_SAME.has(`${owner}.${field}`);

/** Go's zero value in JSON. */
export function zeroScalar(scalar: ScalarType): Json {
  switch (scalar) {
    case 'string':
      return '';
    case 'boolean':
      return false;
    case 'int32':
    case 'int64':
    case 'number':
    case 'intOrString':
      return 0;
    case 'quantity':
      return '0';
    case 'time':
    case 'microTime':
    case 'bytes':
      return null;
  }
}

/**
 * The types of the expression language. A type from a schema also carries the maximum size of its values
 * (`maxElements`), from which the cost of an expression is estimated.
 */
export type SimpleKind =
  | 'null'
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'timestamp'
  | 'duration'
  | 'dyn'
  | 'error';

export interface SimpleType {
  readonly kind: SimpleKind;
  readonly maxElements?: number;
}
export interface ListType {
  readonly kind: 'list';
  readonly element: CelType;
  readonly maxElements?: number;
  /** How equality and `+` treat the list: `x-kubernetes-list-type`. */
  readonly listType?: 'set' | 'map';
  readonly mapKeys?: readonly string[];
}
export interface MapType {
  readonly kind: 'map';
  readonly key: CelType;
  readonly value: CelType;
  readonly maxElements?: number;
}
export interface ObjectField {
  /** The property in the JSON object. Expressions may use an escaped name. */
  readonly property: string;
  readonly type: CelType;
}
export interface ObjectType {
  readonly kind: 'object';
  readonly name: string;
  /** By the name in expressions. */
  readonly fields: ReadonlyMap<string, ObjectField>;
  readonly maxElements?: number;
}
export interface OpaqueType {
  readonly kind: 'opaque';
  readonly name: string;
  readonly params: readonly CelType[];
  readonly maxElements?: number;
}
export interface TypeType {
  readonly kind: 'type';
  readonly of: CelType;
  readonly maxElements?: number;
}
export interface ParamType {
  readonly kind: 'param';
  readonly name: string;
  readonly maxElements?: number;
}
export type CelType = SimpleType | ListType | MapType | ObjectType | OpaqueType | TypeType | ParamType;

export const NULL: SimpleType = { kind: 'null' };
export const BOOL: SimpleType = { kind: 'bool' };
export const INT: SimpleType = { kind: 'int' };
export const UINT: SimpleType = { kind: 'uint' };
export const DOUBLE: SimpleType = { kind: 'double' };
export const STRING: SimpleType = { kind: 'string' };
export const BYTES: SimpleType = { kind: 'bytes' };
export const TIMESTAMP: SimpleType = { kind: 'timestamp' };
export const DURATION: SimpleType = { kind: 'duration' };
export const DYN: SimpleType = { kind: 'dyn' };
/** The type after an error. It causes no further errors. */
export const ERROR: SimpleType = { kind: 'error' };

export function listOf(element: CelType): ListType {
  return { kind: 'list', element };
}
export function mapOf(key: CelType, value: CelType): MapType {
  return { kind: 'map', key, value };
}
export function opaque(name: string, ...params: readonly CelType[]): OpaqueType {
  return { kind: 'opaque', name, params };
}
export function optionalOf(value: CelType): OpaqueType {
  return opaque('optional_type', value);
}
export function param(name: string): ParamType {
  return { kind: 'param', name };
}

const NAMES: Readonly<Record<SimpleKind, string>> = {
  null: 'null',
  bool: 'bool',
  int: 'int',
  uint: 'uint',
  double: 'double',
  string: 'string',
  bytes: 'bytes',
  timestamp: 'timestamp',
  duration: 'duration',
  dyn: 'dyn',
  error: '!error!',
};

/** Returns the name of a type for messages. */
export function typeName(type: CelType): string {
  switch (type.kind) {
    case 'list':
      return `list(${typeName(type.element)})`;
    case 'map':
      return `map(${typeName(type.key)}, ${typeName(type.value)})`;
    case 'object':
    case 'param':
      return type.name;
    case 'opaque':
      return type.params.length === 0 ? type.name : `${type.name}(${type.params.map(typeName).join(', ')})`;
    case 'type':
      return `type(${typeName(type.of)})`;
    default:
      return NAMES[type.kind];
  }
}

export function isDyn(type: CelType): boolean {
  return type.kind === 'dyn' || type.kind === 'error';
}

export function isOptional(type: CelType): type is OpaqueType {
  return type.kind === 'opaque' && type.name === 'optional_type';
}

/** True when all values of the type have the same, constant size. */
export function isScalar(type: CelType): boolean {
  switch (type.kind) {
    case 'bool':
    case 'double':
    case 'duration':
    case 'int':
    case 'timestamp':
    case 'uint':
      return true;
    case 'opaque':
      return isOptional(type) && isScalar(type.params[0] ?? DYN);
    default:
      return false;
  }
}

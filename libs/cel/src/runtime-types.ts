import type { CelType } from './types.ts';
import {
  type CelValue,
  Duration,
  isList,
  isMap,
  OpaqueValue,
  OptionalValue,
  Timestamp,
  TypeValue,
  Uint,
} from './values.ts';

/** True when a value fits a parameter. Elements of containers are not checked. */
export function fits(value: CelValue, type: CelType): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'param':
    case 'error':
      return true;
    case 'null':
      return value === null;
    case 'bool':
      return typeof value === 'boolean';
    case 'int':
      return typeof value === 'bigint';
    case 'double':
      return typeof value === 'number';
    case 'string':
      return typeof value === 'string';
    case 'list':
      return isList(value);
    case 'map':
    case 'object':
      return isMap(value);
    default:
      return fitsClass(value, type);
  }
}

function fitsClass(value: CelValue, type: CelType): boolean {
  switch (type.kind) {
    case 'uint':
      return value instanceof Uint;
    case 'bytes':
      return value instanceof Uint8Array;
    case 'timestamp':
      return value instanceof Timestamp;
    case 'duration':
      return value instanceof Duration;
    case 'type':
      return value instanceof TypeValue;
    case 'opaque':
      if (type.name === 'optional_type') {
        if (!(value instanceof OptionalValue)) return false;
        const [inner] = type.params;
        return inner === undefined || value.value === undefined || fits(value.value, inner);
      }
      return value instanceof OpaqueValue && value.opaqueName === type.name;
    default:
      return false;
  }
}

/**
 * Compact description of a type, generated from the API's OpenAPI documents. It is sufficient for decoding (unknown
 * fields, wrong types), strategic merge, server-side apply and explain. One shared table per named type.
 */
export type Schema = ScalarSchema | StructSchema | MapSchema | ListSchema | AnySchema;

export type ScalarType =
  | 'string'
  | 'boolean'
  | 'int32'
  | 'int64'
  | 'number'
  | 'quantity'
  | 'intOrString'
  | 'time'
  | 'microTime'
  /** base64 text */
  | 'bytes';

export interface ScalarSchema {
  readonly kind: 'scalar';
  readonly scalar: ScalarType;
}

export interface StructSchema {
  readonly kind: 'struct';
  /** `io.k8s.api.core.v1.Container` without the common prefix: `core.v1.Container`. */
  readonly name: string;
  readonly fields: Readonly<Record<string, FieldSchema>>;
  /** `x-kubernetes-map-type: atomic`: one owner has the whole value in server-side apply. */
  readonly atomic?: boolean;
  /** `x-kubernetes-preserve-unknown-fields`: undeclared fields are data without a schema, not an error. */
  readonly preserveUnknown?: boolean;
}

export interface FieldSchema {
  /** A function, because types can be cyclic. */
  readonly type: () => Schema;
  readonly required?: boolean;
  /** A zero value is dropped: `hostNetwork: false`, `workingDir: ""`. */
  readonly omitsZero?: boolean;
  /** A struct by value, not by pointer: it is always present. */
  readonly isValue?: boolean;
  /** `x-kubernetes-patch-strategy`, for strategic merge. */
  readonly patchStrategy?: readonly ('merge' | 'retainKeys' | 'replace')[];
  readonly patchMergeKey?: string;
  /** The schema's `default`: server-side apply completes the keys of associative lists with it (`protocol: TCP`). */
  readonly default?: string | number | bigint | boolean;
  /**
   * The wire form of an unset field: an empty struct, `null`, or a zero scalar. Default: the usual form of built-in
   * types.
   */
  readonly unset?: 'absent' | 'struct' | 'null' | 'zero';
}

export interface MapSchema {
  readonly kind: 'map';
  readonly values: () => Schema;
  readonly atomic?: boolean;
}

export interface ListSchema {
  readonly kind: 'list';
  readonly items: () => Schema;
  readonly listType: 'atomic' | 'set' | 'map';
  /** For `listType: 'map'`. */
  readonly mapKeys?: readonly string[];
}

/** Arbitrary JSON (RawExtension, FieldsV1, JSON). */
export interface AnySchema {
  readonly kind: 'any';
}

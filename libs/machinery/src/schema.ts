/**
 * Compact description of a type, generated from the API's OpenAPI documents: enough for decoding (unknown fields, wrong
 * types), strategic merge, server-side apply and explain. One table per named type, shared by reference.
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
  /** `x-kubernetes-map-type: atomic`: server-side apply owns it as a whole. */
  readonly atomic?: boolean;
  /** `x-kubernetes-preserve-unknown-fields`: what is not declared is data without a schema, not a mistake. */
  readonly preserveUnknown?: boolean;
}

export interface FieldSchema {
  /** A function, because types refer to each other in circles. */
  readonly type: () => Schema;
  readonly required?: boolean;
  /** A zero says the same as nothing, and is not kept: `hostNetwork: false`, `workingDir: ""`. */
  readonly omitsZero?: boolean;
  /** A struct that is part of its parent, and not only pointed to: it has no way not to be there. */
  readonly isValue?: boolean;
  /** `x-kubernetes-patch-strategy`, for strategic merge. */
  readonly patchStrategy?: readonly ('merge' | 'retainKeys' | 'replace')[];
  readonly patchMergeKey?: string;
  /** The schema's `default`: server-side apply completes the keys of associative lists with it (`protocol: TCP`). */
  readonly default?: string | number | boolean;
  /** What the wire form shows while nobody has set the field: an empty struct, `null`, or a zero scalar. Left out: what is usual for built-in types. */
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

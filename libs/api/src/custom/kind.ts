import {
  copyJson,
  type FieldError,
  type FieldSet,
  fieldSetOf,
  invalid,
  type JsonObject,
  type StructSchema,
  schemaOfCustomResource,
  semanticEqual,
} from '@holdfast/machinery';
import { invariant } from '@holdfast/platform';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionVersion,
  CustomResourceSubresources,
} from '../generated/types.ts';
import type { CustomKind, KubeObject, ResourceDefinition, SubresourceStrategy } from '../resource.ts';
import { structSchema } from '../schema-table.ts';
import { isTerminating } from '../semantics/pods.ts';
import { dnsSubdomainErrors } from '../validation/formats.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from '../validation/object-meta.ts';
import { customColumns } from './columns.ts';
import { lacksDefaults, setCustomDefaults, setStoredDefaults } from './defaulting.ts';
import { embeddedErrors } from './embedded.ts';
import { selectableFields } from './fields.ts';
import { listTypeErrors } from './list-types.ts';
import { prune } from './prune.ts';
import { hasRules, type RuleEngine, type RuleSet } from './rules.ts';
import { customScale, scaleErrors } from './scale.ts';
import { type SchemaNode, schemaNode } from './schema-node.ts';
import { schemaErrors } from './validate.ts';

/** The part of a definition that stays in memory while its kind is unused. */
export interface DefinitionSummary {
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly group: string;
  readonly names: CustomResourceDefinitionNames;
  readonly namespaced: boolean;
  readonly isTerminating: boolean;
  readonly conversion: 'None' | 'Webhook';
  readonly versions: readonly VersionSummary[];
}

export interface VersionSummary {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly subresources: CustomResourceSubresources;
  readonly selectable: readonly string[];
  readonly deprecation: string | undefined;
}

/** Returns `undefined` until the names are accepted. */
export function summaryOf(crd: CustomResourceDefinition): DefinitionSummary | undefined {
  const { metadata, spec, status } = crd;
  const isTrue = (type: string): boolean =>
    (status.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');
  if (!isTrue('Established')) return undefined;
  return {
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    generation: metadata.generation ?? 0,
    group: spec.group,
    names: copyJson(status.acceptedNames),
    namespaced: spec.scope === 'Namespaced',
    isTerminating: isTerminating({ metadata }),
    conversion: spec.conversion?.strategy === 'Webhook' ? 'Webhook' : 'None',
    versions: spec.versions.map((version) => versionSummary(crd, version)),
  };
}

function versionSummary({ spec }: CustomResourceDefinition, version: CustomResourceDefinitionVersion): VersionSummary {
  const { name, deprecated, deprecationWarning, selectableFields: selectable = [], subresources = {} } = version;
  const text = deprecationWarning ?? `${spec.group}/${name} ${spec.names.kind} is deprecated`;
  return {
    name,
    served: version.served,
    storage: version.storage,
    subresources: copyJson(subresources),
    selectable: selectable.map(({ jsonPath }) => jsonPath),
    deprecation: deprecated === true ? text : undefined,
  };
}

/** The input from which a kind is compiled. `read` returns the whole definition on first use of the kind. */
export interface CustomKindSource {
  readonly summary: DefinitionSummary;
  readonly read: () => CustomResourceDefinition;
  readonly rules: RuleEngine;
}

const VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];

/**
 * Returns the kinds of one definition by version, including versions that are not served, because objects may be stored
 * in them.
 */
export function customKinds(source: CustomKindSource): ReadonlyMap<string, ResourceDefinition> {
  const kinds = new Map<string, ResourceDefinition>();
  for (const version of source.summary.versions) kinds.set(version.name, customKind(source, version, kinds));
  return kinds;
}

function customKind(
  source: CustomKindSource,
  version: VersionSummary,
  siblings: ReadonlyMap<string, ResourceDefinition>,
): ResourceDefinition {
  const { summary } = source;
  const { names, group, namespaced } = summary;
  const compiled = once(() => compileVersion(source, version.name));
  const custom = customPart(source, version, { siblings, compiled });
  const parts = { source, version, compiled };
  const { status, scale } = version.subresources;
  return {
    group,
    version: version.name,
    kind: names.kind,
    plural: names.plural,
    singular: names.singular ?? '',
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    namespaced,
    verbs: VERBS,
    answersDeleted: false,
    setDefaults: (object) => setCustomDefaults(object, compiled().node),
    strategy: strategyOf(parts),
    ...(status === undefined ? {} : { status: statusStrategy(parts) }),
    ...(scale === undefined ? {} : { scale: customScale(scale) }),
    get columns() {
      return compiled().columns;
    },
    selectableFields: selectableFields(version.selectable),
    custom,
  };
}

interface Compiled {
  readonly openApi: JsonObject;
  readonly node: SchemaNode;
  readonly struct: StructSchema;
  readonly columns: ResourceDefinition['columns'];
  readonly hasRules: boolean;
  readonly rules: RuleSet | undefined;
}

const objectMetaSchema = once((): StructSchema => {
  const schema = structSchema('meta.v1.ObjectMeta');
  invariant(schema !== undefined, 'there is a field table for ObjectMeta');
  return schema;
});

function compileVersion({ read, rules }: CustomKindSource, name: string): Compiled {
  const version = read().spec.versions.find((each) => each.name === name);
  const openApi = (version?.schema?.openAPIV3Schema ?? {}) as unknown as JsonObject;
  return {
    openApi,
    node: schemaNode(openApi),
    struct: schemaOfCustomResource(openApi, objectMetaSchema()),
    columns: customColumns(version?.additionalPrinterColumns),
    hasRules: hasRules(openApi),
    rules: rules.compile(openApi),
  };
}

interface Parts {
  readonly source: CustomKindSource;
  readonly version: VersionSummary;
  readonly compiled: () => Compiled;
}

function customPart(
  source: CustomKindSource,
  version: VersionSummary,
  {
    siblings,
    compiled,
  }: { readonly siblings: ReadonlyMap<string, ResourceDefinition>; readonly compiled: () => Compiled },
): CustomKind {
  const { summary } = source;
  const storage = summary.versions.find((each) => each.storage)?.name ?? version.name;
  return {
    definition: summary.name,
    uid: summary.uid,
    generation: summary.generation,
    listKind: summary.names.listKind ?? `${summary.names.kind}List`,
    served: version.served,
    isTerminating: summary.isTerminating,
    conversion: summary.conversion,
    storageVersion: storage,
    deprecation: version.deprecation,
    schema: () => compiled().struct,
    openApi: () => compiled().openApi,
    sibling: (name) => siblings.get(name),
    decode: (value) => prune(value, compiled().node, { objectMeta: objectMetaSchema(), metadata: 'checked' }),
    readStored: (stored) => withDefaults(mendedBy(compiled, stored), compiled().node),
    fit: (object) => mendedBy(compiled, object),
  };
}

const mendedBy = (compiled: () => Compiled, object: Readonly<KubeObject>): KubeObject =>
  asObject(prune(asJson(object), compiled().node, { objectMeta: objectMetaSchema(), metadata: 'mended' }).value);

function withDefaults(object: KubeObject, node: SchemaNode): KubeObject {
  if (!lacksDefaults(object, node)) return object;
  const copy = copyJson(object);
  setStoredDefaults(copy, node);
  return copy;
}

function strategyOf(parts: Parts): ResourceDefinition['strategy'] {
  const hasStatus = parts.version.subresources.status !== undefined;
  return {
    prepareForCreate: (object) => {
      if (hasStatus) dropStatus(object);
    },
    prepareForUpdate: (object, old) => {
      if (hasStatus) takeStatus(object, old);
    },
    validateCreate: (object) => createErrors(parts, object),
    validateUpdate: (object, old) => updateErrors(parts, object, old, ['spec', 'status']),
    generationChanges: (object, old) => !semanticEqual(withoutMetadata(object), withoutMetadata(old)),
    allowUnconditionalUpdate: false,
  };
}

type WithStatus = KubeObject & { status?: unknown };

function dropStatus(object: WithStatus): void {
  delete object.status;
}

function takeStatus(object: WithStatus, from: Readonly<WithStatus>): void {
  if (Object.hasOwn(from, 'status')) object.status = from.status;
  else delete object.status;
}

const withoutMetadata = (object: Readonly<KubeObject>): unknown => ({ ...object, metadata: null });

/** `/status` changes only the status and its ownership. */
function statusStrategy(parts: Parts): SubresourceStrategy<KubeObject> {
  return {
    get resets(): FieldSet {
      const fields = [...parts.compiled().node.properties.keys(), 'metadata'].filter((name) => !RESERVED.has(name));
      return fieldSetOf(...fields.map((name) => [`f:${name}` as const]));
    },
    prepareForUpdate: (object: WithStatus, old) => {
      const { status } = object;
      const hadStatus = Object.hasOwn(object, 'status');
      const { managedFields } = object.metadata;
      for (const key of Object.keys(object)) Reflect.deleteProperty(object, key);
      Object.assign(object, old, { metadata: { ...old.metadata } });
      if (managedFields === undefined) delete object.metadata.managedFields;
      else object.metadata.managedFields = managedFields;
      delete object.status;
      if (hadStatus) object.status = status;
    },
    validateUpdate: (object, old) => updateErrors(parts, object, old, ['status']),
  };
}

const RESERVED: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'status']);

function createErrors(parts: Parts, object: Readonly<KubeObject>): readonly FieldError[] {
  const { node } = parts.compiled();
  const json = asJson(object);
  const errors: FieldError[] = [];
  validateObjectMeta(errors, object.metadata, {
    namespaced: parts.source.summary.namespaced,
    name: dnsSubdomainErrors,
    standardFinalizers: false,
  });
  errors.push(...schemaErrors(json, node));
  errors.push(...scaleErrorsOf(parts, object, ['spec', 'status']));
  errors.push(...embeddedErrors(json, node));
  errors.push(...listTypeErrors(json, node));
  return withRules(parts, errors, json, undefined);
}

function updateErrors(
  parts: Parts,
  object: Readonly<KubeObject>,
  old: Readonly<KubeObject>,
  scaled: readonly ('spec' | 'status')[],
): readonly FieldError[] {
  const { node } = parts.compiled();
  const json = asJson(object);
  const before = asJson(old);
  const errors: FieldError[] = [];
  validateObjectMetaUpdate(errors, object.metadata, old.metadata, { standardFinalizers: false });
  errors.push(...schemaErrors(json, node, { old: before }));
  errors.push(...scaleErrorsOf(parts, object, scaled));
  errors.push(...embeddedErrors(json, node));
  if (node.has.identities && listTypeErrors(before, node).length === 0) errors.push(...listTypeErrors(json, node));
  return withRules(parts, errors, json, before);
}

const scaleErrorsOf = (
  { version }: Parts,
  object: Readonly<KubeObject>,
  scaled: readonly ('spec' | 'status')[],
): readonly FieldError[] => {
  const { scale } = version.subresources;
  return scale === undefined ? [] : scaleErrors(object, scale, scaled);
};

/** Errors of these types would make unrelated rules fail. */
const BLOCKS_RULES: ReadonlySet<string> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

function withRules(
  { compiled }: Parts,
  errors: readonly FieldError[],
  object: JsonObject,
  old: JsonObject | undefined,
): readonly FieldError[] {
  const { hasRules: isRuled, rules } = compiled();
  if (!isRuled) return errors;
  if (errors.some(({ type }) => BLOCKS_RULES.has(type))) return [...errors, NOT_CHECKED];
  return rules === undefined ? errors : [...errors, ...rules.evaluate({ object, old })];
}

const NOT_CHECKED = invalid(
  '<nil>',
  null,
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
);

const asJson = (object: Readonly<KubeObject>): JsonObject => object as unknown as JsonObject;
const asObject = (json: JsonObject): KubeObject => json as unknown as KubeObject;

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

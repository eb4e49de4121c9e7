import {
  deepEqual,
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  type JsonObject,
  required,
  semanticEqual,
  tooMany,
  type Verbatim,
} from '@holdfast/machinery';
import { APPROVAL_ANNOTATION, approvalOf } from '../../custom/approval.ts';
import type { RuleEngine } from '../../custom/rules.ts';
import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
} from '../../generated/types.ts';
import type { ValidationContext } from '../../resource.ts';
import { isTerminating } from '../../semantics/pods.ts';
import { validateRequiredText, validateRequiredWord } from '../../validation/check.ts';
import { byteLength, type Check, dns1035LabelErrors, dnsSubdomainErrors } from '../../validation/formats.ts';
import { goValue } from '../../validation/go/print.ts';
import { goStrings } from '../../validation/go-text.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { type MetaRules, validateObjectMeta, validateObjectMetaUpdate } from '../../validation/object-meta.ts';
import { validateClientConfig, validateReviewVersions } from '../../validation/webhooks.ts';
import { DefinitionBudget } from './definition-budget.ts';
import { schemaAt } from './open-api-schema.ts';
import { validateSchema } from './schema.ts';

type Crd = Readonly<CustomResourceDefinition>;

const metaOf = ({ spec }: Crd): MetaRules => {
  const expected = `${spec.names.plural ?? ''}.${spec.group ?? ''}`;
  const name: Check = (given) =>
    given === expected
      ? dnsSubdomainErrors(given)
      : [...dnsSubdomainErrors(given), 'must be spec.names.plural+"."+spec.group'];
  return { namespaced: false, name, standardFinalizers: false };
};

export function validateCrdCreate(crd: Crd, { rules }: ValidationContext): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMeta(out, crd.metadata, metaOf(crd));
  validateSpec(out, crd.spec, { rules, budget: new DefinitionBudget() });
  validateStatus(out, crd);
  validateApproval(out, crd);
  return out;
}

export function validateCrdUpdate(crd: Crd, old: Crd, { rules }: ValidationContext): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMetaUpdate(out, crd.metadata, old.metadata, { standardFinalizers: false });
  validateSpec(out, crd.spec, { rules, old: old.spec, budget: new DefinitionBudget() });
  validateChange(out, crd.spec, old);
  // A status update may name any stored versions. Its finalizers can be removed all the same when the definition is deleted.
  if (!isTerminating(crd) || !deepEqual(crd.spec, old.spec)) validateStatus(out, crd);
  if (approvalOf(crd)?.state !== approvalOf(old)?.state) validateApproval(out, crd);
  return out;
}

export function validateCrdStatusUpdate(crd: Crd, old: Crd): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMetaUpdate(out, crd.metadata, old.metadata, { standardFinalizers: false });
  return out;
}

/** An API of a protected group must name its review. */
function validateApproval(out: FieldError[], crd: Crd): void {
  const approval = approvalOf(crd);
  const path = `metadata.annotations[${APPROVAL_ANNOTATION}]`;
  if (approval?.state === 'missing') out.push(required(path, approval.message));
  if (approval?.state === 'invalid') {
    out.push(invalid(path, crd.metadata.annotations?.[APPROVAL_ANNOTATION] ?? '', approval.message));
  }
}

interface Known {
  readonly rules: RuleEngine | undefined;
  readonly budget: DefinitionBudget;
  readonly old?: Readonly<CustomResourceDefinitionSpec>;
}

/** Objects may still be stored in versions that are no longer listed. */
function validateStatus(out: FieldError[], { spec, status }: Crd): void {
  const path = 'status.storedVersions';
  const stored = status.storedVersions ?? [];
  if (stored.length === 0) {
    out.push(invalid(path, goStrings(status.storedVersions ?? undefined), 'must have at least one stored version'));
    return;
  }
  const known = new Set(stored);
  for (const { name, storage } of spec.versions ?? []) {
    if (storage && !known.has(name)) {
      out.push(invalid(path, goStrings(stored), `must have the storage version ${name}`));
    }
  }
  const names = new Set((spec.versions ?? []).map((version) => version.name));
  for (const [i, name] of stored.entries()) {
    if (names.has(name)) continue;
    out.push(invalid(`${path}[${i}]`, name, 'must appear in spec.versions'));
  }
}

function validateSpec(out: FieldError[], spec: Readonly<CustomResourceDefinitionSpec>, known: Known): void {
  const group = spec.group ?? '';
  if (validateRequiredText(out, 'spec.group', group)) {
    const errors = dnsSubdomainErrors(group);
    if (errors.length > 0) out.push(invalid('spec.group', group, errors.join(',')));
    else if (!group.includes('.')) out.push(invalid('spec.group', group, 'should be a domain with at least one dot'));
  }
  validateRequiredWord(out, 'spec.scope', spec.scope, ['Cluster', 'Namespaced']);
  const shared = validateVersions(out, spec, known);
  for (const key of ['plural', 'singular', 'kind', 'listKind'] as const) {
    validateRequiredText(out, `spec.names.${key}`, spec.names[key]);
  }
  validateNames(out, 'spec.names', spec.names);
  for (const validate of shared) validate();
  if (spec.preserveUnknownFields === true && spec.conversion !== undefined && spec.conversion.strategy !== 'None') {
    const detail = 'must be None if spec.preserveUnknownFields is true';
    out.push(invalid('spec.conversion.strategy', spec.conversion.strategy, detail));
  }
  validateConversion(out, spec);
  if (spec.preserveUnknownFields === true) {
    const detail =
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
    out.push(invalid('spec.preserveUnknownFields', true, detail));
  }
}

/**
 * Errors that all versions share are reported once for the definition, after all others. Returns those deferred checks.
 */
function validateVersions(
  out: FieldError[],
  spec: Readonly<CustomResourceDefinitionSpec>,
  known: Known,
): readonly (() => void)[] {
  const versions = spec.versions ?? [];
  for (const [i, { schema }] of versions.entries()) {
    if (schema?.openAPIV3Schema !== undefined) continue;
    out.push(required(`spec.versions[${i}].schema.openAPIV3Schema`, 'schemas are required'));
  }
  const [first] = versions;
  const alike = PARTS.filter(({ key }) => versions.every((version) => semanticEqual(version[key], first?.[key])));
  for (const [i, version] of versions.entries()) {
    const path = `spec.versions[${i}]`;
    const errors = dns1035LabelErrors(version.name ?? '');
    if (errors.length > 0) out.push(invalid(`${path}.name`, version.name ?? '', errors.join(',')));
    validateDeprecation(out, `${path}.deprecationWarning`, version);
    for (const part of PARTS) if (!alike.includes(part)) part.validate(out, `${path}.${part.key}`, { version, known });
  }
  const refuse = (detail: string): void => {
    out.push(invalid('spec.versions', goVersions(versions, alike), detail));
  };
  const names = versions.map((version) => version.name);
  if (new Set(names).size < names.length) refuse('must contain unique version names');
  if (versions.filter((version) => version.storage).length !== 1) {
    refuse('must have exactly one version marked as storage version');
  }
  return first === undefined
    ? []
    : alike.map((part) => () => part.validate(out, `spec.${part.shared}`, { version: first, known }));
}

type Version = Readonly<CustomResourceDefinitionVersion>;

/** Parts of a version that Kubernetes stores once when all versions agree. */
const PARTS: readonly {
  readonly key: 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields';
  readonly shared: string;
  readonly validate: (
    out: FieldError[],
    path: string,
    part: { readonly version: Version; readonly known: Known },
  ) => void;
}[] = [
  {
    key: 'schema',
    shared: 'validation',
    validate: (out, path, { version, known }) => {
      const root = version.schema?.openAPIV3Schema;
      const before = known.old?.versions.find(({ name }) => name === version.name)?.schema?.openAPIV3Schema;
      if (root === undefined) return;
      const old = before === undefined ? undefined : asJson(before);
      validateSchema(out, `${path}.openAPIV3Schema`, asJson(root), { rules: known.rules, old, budget: known.budget });
    },
  },
  {
    key: 'subresources',
    shared: 'subresources',
    validate: (out, path, { version }) => validateSubresources(out, path, version),
  },
  {
    key: 'additionalPrinterColumns',
    shared: 'additionalPrinterColumns',
    validate: (out, path, { version: { additionalPrinterColumns = [] } }) => {
      for (const [i, column] of additionalPrinterColumns.entries()) validateColumn(out, `${path}[${i}]`, column);
    },
  },
  {
    key: 'selectableFields',
    shared: 'selectableFields',
    validate: (out, path, { version }) => validateSelectable(out, path, version),
  },
];

/** Formats versions without the parts stored once. */
function goVersions(versions: readonly Version[], alike: readonly { readonly key: keyof Version }[]): Verbatim {
  const keys = new Set<string>(alike.map(({ key }) => key));
  const own = versions.map((version) => Object.fromEntries(Object.entries(version).filter(([key]) => !keys.has(key))));
  return goValue('[]apiextensions.CustomResourceDefinitionVersion', own);
}

const DEPRECATION_CHARS_MAX = 256;

function validateDeprecation(out: FieldError[], path: string, version: Version): void {
  const text = version.deprecationWarning;
  if (text === undefined) return;
  const refuse = (detail: string): void => {
    out.push(invalid(path, text, detail));
  };
  if (version.deprecated !== true) refuse('can only be set for deprecated versions');
  else {
    if (byteLength(text) > DEPRECATION_CHARS_MAX) refuse(`must be <= ${DEPRECATION_CHARS_MAX} characters long`);
    if (text === '') refuse('must not be an empty string');
    const odd = text.search(/[^\P{C}\n]|[\n\p{Zl}\p{Zp}]/u);
    if (odd >= 0) refuse(`must only contain printable UTF-8 characters; non-printable character found at index ${odd}`);
  }
}

function validateSubresources(out: FieldError[], path: string, { subresources }: Version): void {
  const scale = subresources?.scale;
  if (scale === undefined) return;
  validateJsonPath(out, `${path}.scale.specReplicasPath`, scale.specReplicasPath, '.spec.');
  validateJsonPath(out, `${path}.scale.statusReplicasPath`, scale.statusReplicasPath, '.status.');
  const selector = scale.labelSelectorPath ?? '';
  if (selector === '' || selector.startsWith('.spec.') || selector.startsWith('.status.')) return;
  const detail = selector.startsWith('.')
    ? 'should be a json path under either .spec or .status'
    : 'must be a simple json path starting with .';
  out.push(invalid(`${path}.scale.labelSelectorPath`, selector, detail));
}

function validateJsonPath(out: FieldError[], path: string, value: string | undefined, root: string): void {
  if (!validateRequiredText(out, path, value) || value === undefined) return;
  if (!value.startsWith('.')) out.push(invalid(path, value, 'should be a json path under .'));
  if (!value.startsWith(root)) out.push(invalid(path, value, `should be a json path under ${root.slice(0, -1)}`));
}

const SELECTABLE_MAX = 8;
const SELECTABLE_TYPES = ['string', 'boolean', 'integer'];

/** Fields for selectors of lists and watches: scalar values in the object's own fields. */
function validateSelectable(out: FieldError[], path: string, { schema, selectableFields = [] }: Version): void {
  const seen = new Set<string>();
  for (const [i, { jsonPath }] of selectableFields.entries()) {
    const at = `${path}[${i}].jsonPath`;
    if (!jsonPath) {
      out.push(required(at));
      continue;
    }
    const isMetadata = /^\.metadata(?:\.|$)/.test(jsonPath);
    const found = isMetadata ? undefined : schemaAt(jsonPath, asJson(schema?.openAPIV3Schema ?? {}));
    if (isMetadata) out.push(invalid(at, jsonPath, 'must not point to fields in metadata'));
    else if (found === undefined || /[[\]]/.test(jsonPath)) {
      out.push(invalid(at, jsonPath, 'is an invalid path: does not refer to a valid field'));
      continue;
    } else if (!SELECTABLE_TYPES.some((type) => type === found['type'])) {
      const detail =
        'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.';
      out.push(invalid(at, jsonPath, detail));
    }
    if (seen.has(jsonPath)) out.push(duplicate(at, jsonPath));
    seen.add(jsonPath);
  }
  if (seen.size > SELECTABLE_MAX) out.push(tooMany(path, seen.size, SELECTABLE_MAX));
}

const asJson = (value: object): JsonObject => value as JsonObject;

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];
const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

function validateColumn(out: FieldError[], path: string, column: Readonly<CustomResourceColumnDefinition>): void {
  validateRequiredText(out, `${path}.name`, column.name);
  const list = (words: readonly string[]): string => `must be one of ${words.join(',')}`;
  if (!column.type) out.push(required(`${path}.type`, list(COLUMN_TYPES)));
  else if (!COLUMN_TYPES.includes(column.type)) out.push(invalid(`${path}.type`, column.type, list(COLUMN_TYPES)));
  if (column.format && !COLUMN_FORMATS.includes(column.format)) {
    out.push(invalid(`${path}.format`, column.format, list(COLUMN_FORMATS)));
  }
  if (!column.jsonPath) out.push(required(`${path}.JSONPath`));
  else if (!column.jsonPath.startsWith('.')) {
    out.push(invalid(`${path}.JSONPath`, column.jsonPath, 'must be a simple json path starting with .'));
  }
}

function validateNames(out: FieldError[], path: string, names: Readonly<CustomResourceDefinitionNames>): void {
  const check = (at: string, value: string | undefined, rule: Check): void => {
    const errors = value ? rule(value) : [];
    if (errors.length > 0) out.push(invalid(`${path}.${at}`, value, errors.join(',')));
  };
  check('plural', names.plural, dns1035LabelErrors);
  check('singular', names.singular, dns1035LabelErrors);
  check('kind', names.kind, lowered(dns1035LabelErrors));
  check('listKind', names.listKind, lowered(dns1035LabelErrors));
  for (const [i, name] of (names.shortNames ?? []).entries()) check(`shortNames[${i}]`, name, dns1035LabelErrors);
  if (names.kind && names.listKind === names.kind) {
    out.push(invalid(`${path}.listKind`, names.listKind, 'kind and listKind may not be the same'));
  }
  for (const [i, name] of (names.categories ?? []).entries()) check(`categories[${i}]`, name, dns1035LabelErrors);
}

const lowered =
  (check: Check): Check =>
  (value) => {
    const errors = check(value.toLowerCase());
    return errors.length === 0 ? errors : [`may have mixed case, but should otherwise match: ${errors.join(',')}`];
  };

function validateConversion(out: FieldError[], { conversion }: Readonly<CustomResourceDefinitionSpec>): void {
  const path = 'spec.conversion';
  if (conversion === undefined) return;
  validateRequiredWord(out, `${path}.strategy`, conversion.strategy, ['None', 'Webhook']);
  const { clientConfig, conversionReviewVersions = [] } = conversion.webhook ?? {};
  if (conversion.strategy === 'Webhook') {
    const at = `${path}.webhookClientConfig`;
    if (clientConfig === undefined) out.push(required(at, 'required when strategy is set to Webhook'));
    else validateClientConfig(out, at, clientConfig);
    if (conversionReviewVersions.length === 0) out.push(required(`${path}.conversionReviewVersions`));
    else validateReviewVersions(out, `${path}.conversionReviewVersions`, conversionReviewVersions);
    return;
  }
  const detail = 'should not be set when strategy is not set to Webhook';
  if (clientConfig !== undefined) out.push(forbidden(`${path}.webhookClientConfig`, detail));
  if (conversionReviewVersions.length > 0) out.push(forbidden(`${path}.conversionReviewVersions`, detail));
}

/** Existing objects were stored under these values. */
function validateChange(
  out: FieldError[],
  spec: Readonly<CustomResourceDefinitionSpec>,
  { spec: old, status }: Crd,
): void {
  const keep = (path: string, value: string | undefined, before: string | undefined): void => {
    if ((value ?? '') !== (before ?? '')) out.push(invalid(`spec.${path}`, value ?? '', IMMUTABLE_TEXT));
  };
  const conditions = status.conditions ?? [];
  if (conditions.some((condition) => condition.type === 'Established' && condition.status === 'True')) {
    keep('scope', spec.scope, old.scope);
    keep('names.kind', spec.names.kind, old.names.kind);
  }
  keep('group', spec.group, old.group);
  keep('names.plural', spec.names.plural, old.names.plural);
}

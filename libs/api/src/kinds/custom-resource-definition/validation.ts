import { type FieldError, forbidden, invalid, notSupported, required } from '@holdfast/machinery';
import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
} from '../../generated/types.ts';
import {
  validateDnsSubdomain,
  validateRequiredText,
  validateRequiredWord,
  validateText,
} from '../../validation/check.ts';
import { type Check, dns1035LabelErrors, dnsSubdomainErrors } from '../../validation/formats.ts';
import { goStrings } from '../../validation/go-text.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { validateClientConfig } from '../../validation/webhooks.ts';
import { checked, checkedUpdate } from '../checked.ts';

/** What the name must be is checked against the spec. */
const anyName: Check = (name) => dnsSubdomainErrors(name);
const META = { namespaced: false, name: anyName, standardFinalizers: false } as const;

export const crdChecks = checked<CustomResourceDefinition>(META, (out, crd, old) => {
  const { spec } = crd;
  const expected = `${spec.names.plural ?? ''}.${spec.group ?? ''}`;
  if (old === undefined && crd.metadata.name !== expected) {
    out.push(invalid('metadata.name', crd.metadata.name ?? '', 'must be spec.names.plural+"."+spec.group'));
  }
  validateSpec(out, spec);
  if (old !== undefined) validateChange(out, spec, old.spec);
});

export const validateCrdStatusUpdate = checkedUpdate<CustomResourceDefinition>((out, crd) => {
  const stored = crd.status.storedVersions ?? [];
  if (stored.length === 0)
    out.push(invalid('status.storedVersions', goStrings(stored), 'must have at least one stored version'));
  const names = (crd.spec.versions ?? []).map((version) => version.name);
  for (const [i, version] of stored.entries()) {
    if (!names.includes(version)) {
      out.push(invalid(`status.storedVersions[${i}]`, version, 'must appear in spec.versions'));
    }
  }
});

function validateSpec(out: FieldError[], spec: Readonly<CustomResourceDefinitionSpec>): void {
  if (validateRequiredText(out, 'spec.group', spec.group)) {
    validateDnsSubdomain(out, 'spec.group', spec.group);
    if (!spec.group.includes('.')) {
      out.push(invalid('spec.group', spec.group, 'should be a domain with at least one dot'));
    }
  }
  validateRequiredWord(out, 'spec.scope', spec.scope, ['Cluster', 'Namespaced']);
  if (spec.preserveUnknownFields === true) {
    const detail = 'must be false in order to use defaults in the schema';
    out.push(invalid('spec.preserveUnknownFields', true, detail));
  }
  validateVersions(out, spec);
  validateNames(out, 'spec.names', spec.names);
  validateConversion(out, spec);
}

function validateVersions(out: FieldError[], spec: Readonly<CustomResourceDefinitionSpec>): void {
  const versions = spec.versions ?? [];
  const names = new Set<string>();
  for (const [i, version] of versions.entries()) {
    const path = `spec.versions[${i}]`;
    if (names.has(version.name)) out.push(invalid(`${path}.name`, version.name, 'must contain unique version names'));
    names.add(version.name);
    validateText(out, `${path}.name`, version.name ?? '', dns1035LabelErrors);
    validateVersion(out, path, version);
  }
  const storing = versions.filter((version) => version.storage).length;
  const shown = goStrings(versions.map((version) => version.name));
  if (storing !== 1)
    out.push(invalid('spec.versions', shown, 'must have exactly one version marked as storage version'));
}

function validateVersion(out: FieldError[], path: string, version: Readonly<CustomResourceDefinitionVersion>): void {
  const schema = version.schema?.openAPIV3Schema;
  if (schema === undefined) out.push(required(`${path}.schema.openAPIV3Schema`, 'schemas are required'));
  else {
    const at = `${path}.schema.openAPIV3Schema`;
    if (!schema.type) out.push(required(`${at}.type`, 'must not be empty at the root'));
    else if (schema.type !== 'object') out.push(invalid(`${at}.type`, schema.type, 'must be object at the root'));
  }
  const scale = version.subresources?.scale;
  if (scale !== undefined) {
    validateJsonPath(out, `${path}.subresources.scale.specReplicasPath`, scale.specReplicasPath, '.spec.');
    validateJsonPath(out, `${path}.subresources.scale.statusReplicasPath`, scale.statusReplicasPath, '.status.');
  }
  for (const [i, column] of (version.additionalPrinterColumns ?? []).entries()) {
    validateColumn(out, `${path}.additionalPrinterColumns[${i}]`, column);
  }
  if (version.deprecationWarning !== undefined && version.deprecated !== true) {
    out.push(
      invalid(`${path}.deprecationWarning`, version.deprecationWarning, 'can only be set for deprecated versions'),
    );
  }
}

function validateJsonPath(out: FieldError[], path: string, value: string | undefined, root: string): void {
  if (!validateRequiredText(out, path, value) || value === undefined) return;
  if (!value.startsWith('.')) out.push(invalid(path, value, 'should be a json path under .'));
  if (!value.startsWith(root)) out.push(invalid(path, value, `should be a json path under ${root.slice(0, -1)}`));
}

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
}

function validateNames(out: FieldError[], path: string, names: Readonly<CustomResourceDefinitionNames>): void {
  validateText(out, `${path}.plural`, names.plural ?? '', dns1035LabelErrors);
  if (names.singular) validateText(out, `${path}.singular`, names.singular, dns1035LabelErrors);
  validateText(out, `${path}.kind`, names.kind ?? '', lowered(dns1035LabelErrors));
  for (const [i, name] of (names.shortNames ?? []).entries()) {
    validateText(out, `${path}.shortNames[${i}]`, name, dns1035LabelErrors);
  }
  for (const [i, name] of (names.categories ?? []).entries()) {
    validateText(out, `${path}.categories[${i}]`, name, dns1035LabelErrors);
  }
  if (names.listKind) validateText(out, `${path}.listKind`, names.listKind, lowered(dns1035LabelErrors));
  if (names.listKind && names.listKind === names.kind) {
    out.push(invalid(`${path}.listKind`, names.listKind, 'kind and listKind may not be the same'));
  }
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
  if (!conversion.strategy) out.push(required(`${path}.strategy`));
  else if (!['None', 'Webhook'].includes(conversion.strategy)) {
    out.push(notSupported(`${path}.strategy`, conversion.strategy, ['None', 'Webhook']));
  }
  const webhook = conversion.webhook;
  if (conversion.strategy === 'Webhook') {
    if (webhook?.clientConfig === undefined) {
      out.push(required(`${path}.webhook.clientConfig`, 'required when strategy is set to Webhook'));
    } else validateClientConfig(out, `${path}.webhook.clientConfig`, webhook.clientConfig);
    if ((webhook?.conversionReviewVersions ?? []).length === 0) {
      out.push(required(`${path}.webhook.conversionReviewVersions`));
    }
  } else if (webhook !== undefined) {
    out.push(forbidden(`${path}.webhook`, 'should not be set when strategy is not set to Webhook'));
  }
}

/** Objects that exist were stored under these. */
function validateChange(
  out: FieldError[],
  spec: Readonly<CustomResourceDefinitionSpec>,
  old: Readonly<CustomResourceDefinitionSpec>,
): void {
  if (spec.scope !== old.scope) out.push(invalid('spec.scope', spec.scope, IMMUTABLE_TEXT));
  if (spec.group !== old.group) out.push(invalid('spec.group', spec.group, IMMUTABLE_TEXT));
  for (const key of ['kind', 'plural'] as const) {
    if (spec.names[key] !== old.names[key]) out.push(invalid(`spec.names.${key}`, spec.names[key], IMMUTABLE_TEXT));
  }
}

import assert from 'node:assert/strict';
import { decodeWithSchema, type FieldError, fieldErrorMessage, type JsonObject } from '@holdfast/machinery';
import { allResources } from '../registry.ts';
import type { KubeObject, ResourceDefinition } from '../resource.ts';
import { schemaFor } from '../schema-table.ts';

const CONTEXT = { now: 1_700_000_000_000 };

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

function definitionOf(document: JsonObject): ResourceDefinition {
  const parts = text(document['apiVersion']).split('/');
  const [group = '', version = ''] = parts.length === 2 ? parts : ['', ...parts];
  const found = allResources().find((each) => {
    return each.group === group && each.version === version && each.kind === document['kind'];
  });
  assert.ok(found !== undefined, `no kind for ${JSON.stringify(document)}`);
  return found;
}

function decoded(document: JsonObject, definition: ResourceDefinition): KubeObject {
  const { group, version, kind } = definition;
  const schema = schemaFor(group, version, kind);
  assert.ok(schema !== undefined, kind);
  const object = decodeWithSchema(document, schema).value as unknown as KubeObject;
  definition.setDefaults(object);
  return object;
}

const said = (errors: readonly FieldError[]): readonly string[] => errors.map(fieldErrorMessage);

/** Returns the stored form: decoded, defaulted, prepared. `warn` gets the warnings of preparation. */
export function stored(document: JsonObject, warn: (text: string) => void = () => undefined): KubeObject {
  const definition = definitionOf(document);
  const object = decoded(document, definition);
  definition.strategy.prepareForCreate(object, { ...CONTEXT, warn });
  object.metadata.resourceVersion = '1';
  return object;
}

/** Returns the errors of creating it. */
export function refusals(document: JsonObject): readonly string[] {
  return said(definitionOf(document).strategy.validateCreate(stored(document), CONTEXT));
}

/**
 * Returns the errors of replacing the first object by the second. Both come from clients, the status through its own
 * request.
 */
export function changeRefusals(before: JsonObject, after: JsonObject, subresource = ''): readonly string[] {
  const { object, old, form } = updated(before, after, subresource);
  return said(form.validateUpdate(object, old, CONTEXT));
}

/** Returns the stored form after the replacement. */
export const replaced = (before: JsonObject, after: JsonObject, subresource = ''): KubeObject =>
  updated(before, after, subresource).object;

function updated(before: JsonObject, after: JsonObject, subresource: string, withStatus = false) {
  const definition = definitionOf(before);
  const old = withStatus ? decoded(before, definition) : stored(before);
  const object = decoded(after, definition);
  object.metadata.resourceVersion = '1';
  const form =
    subresource === ''
      ? definition.strategy
      : subresource === 'status'
        ? definition.status
        : definition.subresources?.[subresource];
  assert.ok(form !== undefined, subresource);
  form.prepareForUpdate(object, old, CONTEXT);
  return { object, old, form };
}

/** The same when the first object is stored with its status. */
export function statusRefusals(before: JsonObject, after: JsonObject, subresource = 'status'): readonly string[] {
  const { object, old, form } = updated(before, after, subresource, true);
  return said(form.validateUpdate(object, old, CONTEXT));
}

export const statusReplaced = (before: JsonObject, after: JsonObject, subresource = 'status'): KubeObject =>
  updated(before, after, subresource, true).object;

/** Returns the row of `kubectl get -o wide`. */
export function row(document: JsonObject): Readonly<Record<string, unknown>> {
  const definition = definitionOf(document);
  const object = decoded(document, definition);
  return Object.fromEntries(definition.columns.map(({ name, cell }) => [name, cell(object, CONTEXT)]));
}

/** Compares texts; an expected text that ends in `…` is a prefix. */
export function compareTexts(actual: readonly string[], expected: readonly string[], about: string): void {
  const shortened = actual.map((line, i) => {
    const wanted = expected[i] ?? '';
    return wanted.endsWith('…') && line.startsWith(wanted.slice(0, -1)) ? wanted : line;
  });
  assert.deepEqual(shortened, expected, about);
}

/** A certificate with a P-256 key. */
export const P256_CERTIFICATE = Buffer.from(
  'MIIBbjCCARWgAwIBAgIUIPzJ8DWYTwZwEUG6Mws5yDuXGhgwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBYTAgFw0yNjExMjIwMTA1NDBaGA8yMTI2' +
    'MTAyOTAxMDU0MFowDDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABOSpB4pTKru0lVsjdPIBetFob7JuR0UABblmYElAZgSi' +
    'LZo7NhAWBy4uS02OFQpRmojYQkOke7REpqJ5RCl540OjUzBRMB0GA1UdDgQWBBTs2jVsij9cK7UZ0SHo7VkdQ2kiLzAfBgNVHSMEGDAWgBTs2jVs' +
    'ij9cK7UZ0SHo7VkdQ2kiLzAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIAhXDtBbw2XP2stu0Kr0aGPf4zjo/NellbyTNMJvp1H4' +
    'AiALNFfyfrbktlB2KgeYz07xqOcbWZzihYPMfoj6Uf38GA==',
  'base64',
);

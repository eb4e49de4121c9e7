import type { KubeObject, ManagedFieldsEntry } from '@holdfast/api';
import { fieldsText } from '@holdfast/machinery';
import { invariant } from '@holdfast/platform';

const METADATA_OPENING = '"metadata":{';

/**
 * The stored text of an object: kind, apiVersion and metadata come first, without `metadata.resourceVersion`. Because of
 * that order the first `"metadata":{` in the text is always the object's own, and a revision can be spliced in without parsing.
 */
export function encodeStored(object: KubeObject): string {
  const { kind, apiVersion, metadata, ...rest } = object;
  const head = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":${encodeMetadata(metadata)}`;
  const tail = JSON.stringify(rest);
  return tail === '{}' ? `${head}}` : `${head},${tail.slice(1)}`;
}

function encodeMetadata(metadata: KubeObject['metadata']): string {
  const { resourceVersion: _assignedByTheStore, managedFields, ...own } = metadata;
  const text = JSON.stringify(own);
  if (managedFields === undefined) return text;
  return withMember(text, 'managedFields', `[${managedFields.map(encodeEntry).join(',')}]`);
}

/** The fields that a writer owns are the greater part of an entry, and their text is known for objects of one template. */
function encodeEntry(entry: ManagedFieldsEntry): string {
  const { fieldsV1, ...rest } = entry;
  const text = JSON.stringify(rest);
  return fieldsV1 === undefined ? text : withMember(text, 'fieldsV1', fieldsText(fieldsV1));
}

/** `object` is the text of one. */
const withMember = (object: string, key: string, value: string): string =>
  `${object.slice(0, -1)}${object === '{}' ? '' : ','}"${key}":${value}}`;

/** The object as clients see it: with its `metadata.resourceVersion`. Revision 0 (never stored) has none. */
export function withRevision(stored: string, revision: number): string {
  if (revision === 0) return stored;
  const at = afterMetadataOpening(stored);
  const separator = stored.charCodeAt(at) === CLOSING_BRACE ? '' : ',';
  return `${stored.slice(0, at)}${REVISION_OPENING}${revision}"${separator}${stored.slice(at)}`;
}

/** The text with its revision from `"metadata":` on, in two parts: the second one is a part of the stored text. */
export function metadataParts(stored: string, revision: number): readonly [string, string] {
  const at = afterMetadataOpening(stored);
  const separator = stored.charCodeAt(at) === CLOSING_BRACE ? '' : ',';
  const opening = revision === 0 ? METADATA_OPENING : `${METADATA_OPENING}${REVISION_OPENING}${revision}"${separator}`;
  return [opening, stored.slice(at)];
}

/** How many bytes `withRevision` adds. */
export const revisionLength = (stored: string, revision: number): number =>
  revision === 0
    ? 0
    : REVISION_OPENING.length +
      String(revision).length +
      (stored.charCodeAt(afterMetadataOpening(stored)) === CLOSING_BRACE ? 1 : 2);

/** Where `"metadata":{` begins, in the text as in its bytes: the names of kinds and versions are ASCII. */
export function metadataAt(stored: string): number {
  return afterMetadataOpening(stored) - METADATA_OPENING.length;
}

const REVISION_OPENING = '"resourceVersion":"';
const CLOSING_BRACE = 0x7d;

function afterMetadataOpening(stored: string): number {
  const at = stored.indexOf(METADATA_OPENING);
  invariant(at >= 0, 'a stored object has metadata', { start: stored.slice(0, 80) });
  return at + METADATA_OPENING.length;
}

import type { KubeObject } from '@holdfast/api';
import { invariant } from '@holdfast/platform';

const METADATA_OPENING = '"metadata":{';
const METADATA_OPENING_BYTES = Buffer.from(METADATA_OPENING);

/**
 * The stored text of an object: kind, apiVersion and metadata come first, without `metadata.resourceVersion`. Because of
 * that order the first `"metadata":{` in the text is always the object's own, and a revision can be spliced in without parsing.
 */
export function encodeStored(object: KubeObject): string {
  const { kind, apiVersion, metadata, ...rest } = object;
  const { resourceVersion: _assignedByTheStore, ...storedMetadata } = metadata;
  const head = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":${JSON.stringify(storedMetadata)}`;
  const tail = JSON.stringify(rest);
  return tail === '{}' ? `${head}}` : `${head},${tail.slice(1)}`;
}

/** The object as clients see it: with its `metadata.resourceVersion`. Revision 0 (never stored) has none. */
export function withRevision(stored: string, revision: number): string {
  if (revision === 0) return stored;
  const at = afterMetadataOpening(stored);
  const separator = stored.charCodeAt(at) === CLOSING_BRACE ? '' : ',';
  return `${stored.slice(0, at)}"resourceVersion":"${revision}"${separator}${stored.slice(at)}`;
}

/** Takes back what `withRevision` did. */
export function withoutRevision(text: string): string {
  const at = afterMetadataOpening(text);
  return text.slice(0, at) + text.slice(at).replace(/^"resourceVersion":"\d+",?/, '');
}

/** Where `"metadata":{` begins in encoded text. */
export function metadataAt(bytes: Buffer): number {
  const at = bytes.indexOf(METADATA_OPENING_BYTES);
  invariant(at >= 0, 'a stored object has metadata');
  return at;
}

const CLOSING_BRACE = 0x7d;

function afterMetadataOpening(stored: string): number {
  const at = stored.indexOf(METADATA_OPENING);
  invariant(at >= 0, 'a stored object has metadata', { start: stored.slice(0, 80) });
  return at + METADATA_OPENING.length;
}

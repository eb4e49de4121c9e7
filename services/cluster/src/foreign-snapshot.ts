import type { KubeObject } from '@holdfast/api';
import { objectKey, type StoredObject } from '@holdfast/store';
import { writeSnapshotFile } from './snapshot-file.ts';

/** An object as an API server showed it. */
export interface ForeignObject {
  readonly group: string;
  /** Plural, as in paths. */
  readonly resource: string;
  readonly object: KubeObject;
}

/** Writes a snapshot of objects that were read from another cluster. Revisions are new; uids and times stay. */
export function writeForeignSnapshot(file: string, objects: readonly ForeignObject[], nowMs: number): Promise<void> {
  const stored = objects.map(toStored);
  const state = {
    objects: stored,
    revision: stored.length,
    isComplete: false,
    hollow: new Map(),
    nowMs,
    generation: '',
  };
  return writeSnapshotFile(file, { state, options: {} });
}

function toStored({ group, resource, object }: ForeignObject, index: number): StoredObject {
  const { resourceVersion: _, ...metadata } = object.metadata;
  const { namespace = '', name = '' } = metadata;
  const revision = index + 1;
  const key = objectKey({ group, resource, namespace, name });
  return { key, value: JSON.stringify({ ...object, metadata }), revision, createRevision: revision };
}

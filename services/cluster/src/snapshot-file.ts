import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { HollowState } from '@holdfast/kubelet/hollow-runtime';
import { describeError, OperatorError } from '@holdfast/platform';
import type { StoredObject } from '@holdfast/store';
import type { ClusterOptions } from './options.ts';
import type { SnapshotContent } from './snapshot.ts';
import type { ClusterState } from './state.ts';

const FORMAT = 'holdfast-snapshot/1';
const FOR_OWNER = 0o600;
/** Distinguishes drafts of one process. */
let draftCount = 0;

/** The content of a snapshot file, as JSON. */
interface SnapshotDocument {
  readonly format: typeof FORMAT;
  readonly options: ClusterOptions;
  readonly nowMs: number;
  readonly revision: number;
  readonly objects: readonly StoredObject[];
  /** By node. */
  readonly hollow: readonly (readonly [string, HollowState])[];
}

export async function writeSnapshotFile(file: string, { state, options }: SnapshotContent): Promise<void> {
  const { onLog: _, https: __, ...kept } = options;
  const { nowMs, revision, objects, hollow } = state;
  const document: SnapshotDocument = { format: FORMAT, options: kept, nowMs, revision, objects, hollow: [...hollow] };
  // A new file replaces the old one: a present file keeps its mode, and a reader never sees half a snapshot.
  const draft = `${file}.${process.pid}.${draftCount++}`;
  try {
    await writeFile(draft, `${JSON.stringify(document)}\n`, { mode: FOR_OWNER, flag: 'wx' });
    await rename(draft, file);
  } catch (cause) {
    await rm(draft, { force: true });
    throw unusable(`${file} cannot be written: ${describeError(cause)}`, 'Choose another file.', cause);
  }
}

/** Throws an `OperatorError` for a file that is no snapshot, or a damaged one. */
export async function readSnapshotFile(file: string): Promise<Omit<SnapshotContent, 'keys'>> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw unusable(`${file} cannot be read: ${describeError(cause)}`, 'Check the path of the snapshot.', cause);
  });
  return readSnapshotText(text, file);
}

/** `name` is what the text is called in an error. */
export function readSnapshotText(text: string, name: string): Omit<SnapshotContent, 'keys'> {
  const { options, nowMs, revision, objects, hollow } = checked(parsed(text, name), name);
  const generation = `file.${revision}`;
  const state: ClusterState = { objects, revision, isComplete: false, hollow: new Map(hollow), nowMs, generation };
  return { state, options };
}

function parsed(text: string, name: string): Partial<SnapshotDocument> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch (cause) {
    throw unusable(`${name} is not a snapshot: it is not JSON`, TAKE_ONE, cause);
  }
  throw unusable(`${name} is not a snapshot`, TAKE_ONE);
}

function checked(document: Partial<SnapshotDocument>, name: string): SnapshotDocument {
  const { format, options = {}, nowMs, revision, objects, hollow = [] } = document;
  if (format !== FORMAT) {
    throw unusable(`${name} is not a snapshot of this version: its format is ${JSON.stringify(format)}`, TAKE_ONE);
  }
  const isWhole = typeof nowMs === 'number' && typeof revision === 'number' && Array.isArray(objects);
  if (!isWhole || !objects.every(isStored) || objects.some((each) => each.revision > revision)) {
    throw unusable(`${name} is a damaged snapshot`, TAKE_ONE);
  }
  return { format, options, nowMs, revision, objects, hollow };
}

const isStored = (object: Partial<StoredObject> | null): boolean =>
  typeof object?.key === 'string' &&
  typeof object.value === 'string' &&
  typeof object.revision === 'number' &&
  typeof object.createRevision === 'number';

const TAKE_ONE = 'Take one with snapshot.write(file), or with `holdfast snapshot` from a running cluster.';

const unusable = (message: string, nextStep: string, cause?: unknown): OperatorError =>
  new OperatorError({ code: 'Snapshot', message, nextStep, exitCode: 2, cause });

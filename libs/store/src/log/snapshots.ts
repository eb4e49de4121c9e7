import { invariant } from '@holdfast/platform';
import type { NatsConnection } from 'nats';
import { LOG_SNAPSHOT_BYTES, LOG_SNAPSHOT_ENTRIES } from '../limits.ts';
import { StoreUnavailable } from '../port.ts';
import { lastMessage, purge, store } from './jetstream.ts';
import type { CurrentLog, LogNames } from './layout.ts';
import {
  captureState,
  decodeManifests,
  digestOfParts,
  encodeManifests,
  encodePiece,
  type Manifest,
  type Manifests,
  SnapshotReader,
} from './snapshot.ts';
import { emptyState, type MachineState } from './state-machine.ts';

/** The log has lost entries that no snapshot contains. */
export class IncompleteLog extends Error {
  override readonly name = 'IncompleteLog';
}

interface LoadedSnapshot {
  readonly state: MachineState;
  /** Up to here, the log was there when the newest snapshot was taken. */
  readonly newestPosition: number;
}

export interface SnapshotPlace {
  readonly connection: NatsConnection;
  readonly names: LogNames;
  readonly current: CurrentLog;
}

/** True when a snapshot should be taken. Pure. */
export function isSnapshotDue(
  since: { readonly entries: number; readonly bytes: number },
  snapshotEntries = LOG_SNAPSHOT_ENTRIES,
): boolean {
  return since.entries >= snapshotEntries || since.bytes >= LOG_SNAPSHOT_BYTES;
}

/**
 * Stores a snapshot of the state, and drops the log up to the one before: whoever starts with that one has the history
 * since then. Resolves with false when another process has stored one meanwhile: two that
 * are close to each other would leave little history between them. Nobody sees it before `confirmed` says so.
 */
export async function takeSnapshot(
  place: SnapshotPlace,
  state: MachineState,
  {
    dueAfterEntries,
    confirmed = () => Promise.resolve(true),
  }: { readonly dueAfterEntries: number; readonly confirmed?: () => Promise<boolean> },
): Promise<boolean> {
  const pieces = captureState(state);
  const { position } = state;
  const before = await readManifests(place);
  if (before !== undefined && position - before.manifests.newest.position < dueAfterEntries / 2) return false;
  const newest = await storeParts(place, position, pieces);
  if (!(await confirmed())) return false;
  const previous = before?.manifests.newest;
  const stored = await storeManifests(place, { newest, previous }, before?.sequence ?? 0);
  if (!stored) return false;
  if (previous !== undefined) await dropBefore(place, previous);
  return true;
}

/**
 * Loads the oldest snapshot from which the log is complete; without any, the log has to be complete from its first
 * entry. Only the log of the first epoch is: every later one begins with a snapshot.
 */
export async function loadSnapshot(
  place: SnapshotPlace,
  { firstSequence, onPart }: { readonly firstSequence: number; readonly onPart: () => void },
): Promise<LoadedSnapshot> {
  const listed = await readManifests(place);
  const manifests = listed?.manifests;
  const newestPosition = manifests?.newest.position ?? 0;
  for (const manifest of [manifests?.previous, manifests?.newest]) {
    if (manifest === undefined || manifest.position + 1 < firstSequence) continue;
    const state = await loadParts(place, manifest, onPart);
    if (state !== undefined) return { state, newestPosition };
  }
  // Other processes may have dropped these snapshots meanwhile, and the log with them.
  if ((await readManifests(place))?.sequence !== listed?.sequence)
    throw new StoreUnavailable('newer snapshots were taken while one was loaded');
  if (firstSequence > 1) {
    throw new IncompleteLog(`the log begins at ${firstSequence}, and no complete snapshot reaches that far`);
  }
  const { epoch } = place.current.lineage;
  if (epoch > 1) throw new IncompleteLog(`the snapshot with which epoch ${epoch} begins is missing or damaged`);
  return { state: emptyState(), newestPosition };
}

export interface NewestSnapshot {
  readonly position: number;
  /** Resolves with `undefined` when it is damaged. */
  readonly load: () => Promise<MachineState | undefined>;
}

/** Its parts are loaded and verified only on request. */
export async function findNewestSnapshot(place: SnapshotPlace): Promise<NewestSnapshot | undefined> {
  const newest = (await readManifests(place))?.manifests.newest;
  if (newest === undefined) return undefined;
  return { position: newest.position, load: () => loadParts(place, newest) };
}

async function readManifests(
  place: SnapshotPlace,
): Promise<{ readonly manifests: Manifests; readonly sequence: number } | undefined> {
  const { connection, names, current } = place;
  const message = await lastMessage(connection, names.baseStream, names.manifestSubject(current.lineage));
  return message === undefined ? undefined : { manifests: decodeManifests(message.data), sequence: message.sequence };
}

async function storeParts(
  { connection, names, current }: SnapshotPlace,
  position: number,
  pieces: ReturnType<typeof captureState>,
): Promise<Manifest> {
  const digest = digestOfParts();
  let parts = 0;
  let first = 0;
  for (const piece of pieces) {
    const data = encodePiece(piece);
    digest.add(data);
    const subject = names.partSubject(current.lineage, position, parts);
    const sequence = await store(connection, { stream: names.baseStream, subject, data });
    invariant(sequence !== undefined, 'a part is stored whatever was there');
    if (parts === 0) first = sequence;
    parts += 1;
  }
  return { position, parts, digest: digest.end(), first };
}

async function storeManifests(
  { connection, names, current }: SnapshotPlace,
  manifests: Manifests,
  after: number,
): Promise<boolean> {
  const subject = names.manifestSubject(current.lineage);
  const message = { stream: names.baseStream, subject, data: encodeManifests(manifests), after };
  return (await store(connection, message)) !== undefined;
}

/**
 * Drops everything that only older snapshots need, and parts that a process left which lost against another one or was
 * killed: whoever stored a part before the first one of the kept snapshot has not seen the manifest of that one, so its
 * own is refused.
 */
async function dropBefore({ connection, names, current }: SnapshotPlace, kept: Manifest): Promise<void> {
  await purge(connection, current.stream, { seq: kept.position + 1 });
  const filter = names.partSubject(current.lineage, '*', '*');
  await purge(connection, names.baseStream, { filter, seq: kept.first });
}

/** Resolves with `undefined` when a part is missing or the parts are not what was stored. */
async function loadParts(
  { connection, names, current }: SnapshotPlace,
  { position, parts, digest }: Manifest,
  onPart?: () => void,
): Promise<MachineState | undefined> {
  const messages: Buffer[] = [];
  const found = digestOfParts();
  for (let part = 0; part < parts; part++) {
    const subject = names.partSubject(current.lineage, position, part);
    const message = await lastMessage(connection, names.baseStream, subject);
    if (message === undefined) return undefined;
    onPart?.();
    found.add(message.data);
    messages.push(message.data);
  }
  if (found.end() !== digest) return undefined;
  const reader = new SnapshotReader();
  for (const data of messages) reader.add(data);
  return reader.finish();
}

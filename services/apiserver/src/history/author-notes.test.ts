import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import type { Notes } from '@holdfast/bus';
import { createIds, createSeededRandom, createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { createMemoryStore } from '@holdfast/store/memory';
import { AUTHOR_NOTE_CHARS_MAX, AUTHOR_NOTE_MS, REFUSALS_TOLD_CHARS_MAX } from '../limits.ts';
import { composeNote, readNote, type Written } from './author-note.ts';
import { createAuthorNotes } from './author-notes.ts';
import type { RefusedWrite } from './open-batch.ts';
import { HISTORY, type HistoryApi, SEGMENT_MS, startHistoryApi, until } from './testing.ts';

const FOLDER = '/api/v1/namespaces/default/configmaps';

/** Hands each text to all listeners, when told to. */
function makeAir() {
  const listeners = new Set<(text: string) => void>();
  const texts: string[] = [];
  const notes: Notes = {
    tell: (text) => void texts.push(text),
    listen: (onNote) => {
      listeners.add(onNote);
      return () => void listeners.delete(onNote);
    },
  };
  const deliver = (these = texts.splice(0)): void => {
    for (const text of these) for (const listener of listeners) listener(text);
  };
  return { notes, texts, deliver, listeners };
}

/** Two API servers over one store, on one clock. */
async function startTwo() {
  const store = createMemoryStore();
  const clock = createVirtualClock(START);
  const air = makeAir();
  const one = await startHistoryApi({ store, clock });
  const other = await startHistoryApi({ store, clock, ids: createIds(createSeededRandom(2, 'ids')) });
  const sharing = [one, other].flatMap(({ server }) => server.shareAuthors(air.notes));
  assert.equal(sharing.length, 2);
  for (const each of sharing) await each.start();
  const stop = async (): Promise<void> => {
    for (const each of sharing) await each.stop();
    await other.server.stop();
    await one.stop();
  };
  return { one, other, air, clock, stop };
}

const START = 1_769_853_600_000;

interface Shown {
  readonly by?: { readonly user: string; readonly verb: string; readonly userAgent: string };
}

async function shown(api: HistoryApi, name: string): Promise<Shown | undefined> {
  const answer = await api.call('GET', `${HISTORY}/changes${FOLDER}/${name}`);
  return (answer.body as { readonly items?: readonly Shown[] }).items?.at(-1);
}

const create = (api: HistoryApi, name: string) =>
  api.call('POST', FOLDER, { body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } } });

const isThere = (api: HistoryApi, name: string) => until(async () => (await shown(api, name)) !== undefined);

test('authors: a change that another API server wrote has its user there as soon as it is told', async () => {
  const { one, other, air, clock, stop } = await startTwo();
  await create(one, 'told');
  await isThere(other, 'told');
  assert.equal((await shown(other, 'told'))?.by?.user, undefined, 'nobody has told yet');
  clock.skip(AUTHOR_NOTE_MS);
  air.deliver();
  assert.deepEqual((await shown(other, 'told'))?.by?.user, 'admin');
  assert.deepEqual((await shown(other, 'told'))?.by, (await shown(one, 'told'))?.by);
  await stop();
});

test('authors: they are in the segments, too, and survive what is told twice, late or never', async () => {
  const { one, other, air, clock, stop } = await startTwo();
  await create(one, 'first');
  await isThere(other, 'first');
  clock.skip(AUTHOR_NOTE_MS);
  const [text = ''] = air.texts;
  air.deliver();
  air.deliver([text]);
  await create(one, 'lost');
  clock.skip(AUTHOR_NOTE_MS);
  air.texts.splice(0);
  for (let n = 0; n < 3; n++) {
    clock.jump(SEGMENT_MS);
    await create(one, `more-${n}`);
    await isThere(other, `more-${n}`);
  }
  await until(async () => (await other.segments.list()).length > 0);
  assert.equal((await shown(other, 'first'))?.by?.user, 'admin');
  assert.equal((await shown(other, 'lost'))?.by?.user, undefined);
  air.deliver([text.replaceAll('admin', 'mallory')]);
  assert.equal((await shown(other, 'first'))?.by?.user, 'admin', 'a segment stays as it is');
  await stop();
});

test('authors: what is told before the change comes is joined when it comes', async () => {
  const { one, air, stop } = await startTwo();
  const lineage = await lineageOf(one, air);
  const next = Number((await create(one, 'now')).textAt('metadata.resourceVersion')) + 1;
  air.deliver([composeNote({ ...NOTE, from: 'a third server', lineage, written: [entry(next, { user: 'alice' })] })]);
  // A writer of its own is known better: this one does not ask the API server.
  await one.store.write([{ kind: 'create', key: 'core/configmaps/default/early', value: VALUE }]);
  await isThere(one, 'early');
  assert.equal((await shown(one, 'early'))?.by?.user, 'alice');
  await stop();
});

const VALUE = JSON.stringify({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'early', namespace: 'default' },
});

/** As its notes say it. */
async function lineageOf(api: HistoryApi, { texts }: ReturnType<typeof makeAir>): Promise<string> {
  texts.splice(0);
  await create(api, 'asked');
  api.clock.skip(AUTHOR_NOTE_MS);
  return readNote(texts.at(-1) ?? '')?.lineage ?? '';
}

const entry = (revision: number, { user = 'admin', verb = 'create' } = {}): Written => ({
  first: revision,
  last: revision,
  authorship: {
    author: { user, userAgent: 'kubectl', verb, subresource: '', manager: 'kubectl' },
    resource: 'core/configmaps/',
    requestId: '',
    seenOfResource: 0,
    seenOfAny: 0,
  },
});

const NOTE = { from: 'a', number: 1, lineage: 'b.1', written: [], refused: [] };

const refusal = (key: string): RefusedWrite => ({
  key,
  reason: 'it exists',
  authorship: entry(1).authorship,
});

/** A history that takes what it is told, and nothing more. */
const deafHistory = () => ({
  lineage: 'b.1',
  onWrote: undefined as ((written: Written) => void) | undefined,
  onRefused: undefined as ((write: RefusedWrite) => void) | undefined,
  told: () => {},
  toldRefused: () => {},
});

/** Notes of a server whose history hears nothing. */
function startDeaf() {
  const clock = createVirtualClock(START);
  const air = makeAir();
  const history = deafHistory();
  const ids = createIds(createSeededRandom(1, 'notes'));
  const sharing = createAuthorNotes({ notes: air.notes, history, clock, ids, log: createSilentLog() });
  void sharing.start();
  return { clock, air, history, sharing };
}

test('authors: what a server wrote itself it knows better than others', async () => {
  const { one, air, stop } = await startTwo();
  const lineage = await lineageOf(one, air);
  const revision = Number((await create(one, 'own')).textAt('metadata.resourceVersion'));
  air.deliver([composeNote({ ...NOTE, lineage, written: [entry(revision, { user: 'mallory' })] })]);
  await isThere(one, 'own');
  assert.equal((await shown(one, 'own'))?.by?.user, 'admin');
  await stop();
});

test('authors: a write that one API server refused is in the history of the other, once', async () => {
  const { one, other, air, clock, stop } = await startTwo();
  await create(one, 'taken');
  await isThere(other, 'taken');
  await create(one, 'taken');
  clock.skip(AUTHOR_NOTE_MS);
  const texts = [...air.texts];
  air.deliver();
  air.deliver(texts);
  for (const api of [one, other]) {
    const { body } = await api.call('GET', `${HISTORY}/changes${FOLDER}/taken`);
    const items = (body as { readonly items: readonly { readonly type: string; readonly reason?: string }[] }).items;
    assert.deepEqual(
      items.map(({ type, reason }) => [type, reason]),
      [
        ['created', undefined],
        ['refused', 'configmaps "taken" already exists'],
      ],
    );
  }
  assert.deepEqual((await shown(other, 'taken'))?.by, (await shown(one, 'taken'))?.by);
  clock.skip(AUTHOR_NOTE_MS);
  assert.equal(air.texts.length, 0, 'what was heard is not told again');
  await stop();
});

test('authors: a client that is refused all the time takes no place of authors, and little of the bus', () => {
  const { clock, air, history, sharing } = startDeaf();
  for (let n = 0; n < 50_000; n++) history.onRefused?.(refusal(`core/configmaps/default/c${n}`));
  history.onWrote?.(entry(7));
  clock.skip(AUTHOR_NOTE_MS);
  const [text = ''] = air.texts;
  assert.ok(text.length <= REFUSALS_TOLD_CHARS_MAX + 1_000, `${text.length} characters`);
  const note = readNote(text);
  assert.ok((note?.refused.length ?? 0) > 20);
  assert.deepEqual(note?.written, [entry(7)]);
  history.onRefused?.(refusal('core/configmaps/default/next'));
  clock.skip(AUTHOR_NOTE_MS);
  assert.equal(air.texts.length, 2);
  assert.deepEqual(
    readNote(air.texts[1] ?? '')?.refused.map(({ key }) => key),
    ['core/configmaps/default/next'],
  );
  void sharing.stop();
});

test('authors: a note survives its text, and a text that is none is not read', () => {
  const written = [entry(7), entry(8, { verb: 'patch' }), entry(9)];
  const note = { ...NOTE, written, refused: [refusal('core/configmaps/default/a')] };
  const text = composeNote(note);
  assert.deepEqual(readNote(text), note);
  assert.equal(JSON.parse(text).authors.length, 2, 'each author is told once');
  for (const wrong of [
    '',
    '[]',
    'null',
    '{',
    text.replace('[7,7,0', '[7,6,0'),
    text.replace('[7,7,0', '[7,1e9,0'),
    text.replace('[7,7,0', '[7,7,5'),
    text.replace('[7,7,0', '[-7,7,0'),
    text.replace('"kubectl"', '7'),
    text.replace('core/configmaps/default/a', 'core/configmaps/'),
    text.replace('core/configmaps/default/a', 'internal.holdfast/x/-/a'),
    text.replace('core/configmaps/default/a', 'core/secrets/default/a'),
    text.replace('"number":1', '"number":-1'),
    text.replace('"kubectl"', `"${'x'.repeat(10_000)}"`),
    `${text}${' '.repeat(2 * AUTHOR_NOTE_CHARS_MAX)}`,
  ]) {
    assert.equal(readNote(wrong), undefined, wrong.slice(0, 80));
  }
});

test('authors: notes are few and small however much is written, and no write waits or fails', () => {
  const { clock, air, history, sharing } = startDeaf();
  for (let revision = 1; revision <= 50_000; revision++) history.onWrote?.(entry(revision));
  assert.equal(clock.pendingTimers(), 1);
  assert.equal(air.texts.length, 0);
  clock.skip(AUTHOR_NOTE_MS);
  assert.equal(air.texts.length, 1);
  const [text = ''] = air.texts;
  assert.ok(text.length <= AUTHOR_NOTE_CHARS_MAX, `${text.length} characters`);
  assert.ok((readNote(text)?.written.length ?? 0) > 500, 'a note has the authors of many revisions');
  clock.skip(10 * AUTHOR_NOTE_MS);
  assert.equal(air.texts.length, 1, 'nothing is told about nothing');
  history.onWrote?.(entry(50_001));
  clock.skip(AUTHOR_NOTE_MS);
  assert.deepEqual(readNote(air.texts[1] ?? '')?.written, [entry(50_001)]);
  void sharing.stop();
  assert.equal(air.listeners.size, 0);
  assert.equal(history.onWrote, undefined);
  assert.equal(history.onRefused, undefined);
});

test('authors: an API server alone tells nobody, and what another store tells is not heard', async () => {
  const api = await startHistoryApi();
  assert.deepEqual(api.server.shareAuthors(undefined), []);
  const air = makeAir();
  const [sharing] = api.server.shareAuthors(air.notes);
  await sharing?.start();
  const revision = Number((await create(api, 'now')).textAt('metadata.resourceVersion'));
  // Whichever revision the next write gets.
  const foreign = [{ ...entry(revision + 1, { user: 'mallory' }), last: revision + 50 }];
  air.deliver([composeNote({ ...NOTE, lineage: 'another.1', written: foreign })]);
  await api.store.write([{ kind: 'create', key: 'core/configmaps/default/early', value: VALUE }]);
  await isThere(api, 'early');
  assert.equal((await shown(api, 'early'))?.by?.user, undefined);
  await sharing?.stop();
  await api.stop();
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { holdfast } from '../support/holdfast-command.ts';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { PartitionTour, PET, TOUR_FLAGS } from '../support/partition-tour.ts';

interface Film {
  readonly node: string;
  readonly back: string | null;
  readonly waits: readonly string[];
  readonly lanes: readonly {
    readonly kind: string;
    readonly name: string;
    readonly steps: readonly { readonly kind: string; readonly from: string }[];
  }[];
}

const isFenced = ({ lanes }: Film): boolean =>
  lanes.some((lane) => lane.kind === 'node' && lane.steps.some(({ kind }) => kind === 'fenced'));

test('[SAFE-22] the tour of the README is a film: a page of its own, and true to the order of what happened', async () => {
  await using cluster = await HoldfastProcess.start(TOUR_FLAGS);
  const tour = new PartitionTour(cluster);
  const node = await tour.begin();
  await tour.mend(await tour.cut(node), node);
  const page = path.join(cluster.dataDir, 'film.html');
  const asked = ['film', '--node', node, '--kubeconfig', cluster.ready.kubeconfig];
  assert.equal((await holdfast([...asked, '--html', page])).code, 0);
  const html = readFileSync(page, 'utf8');
  assert.match(html, /^<!doctype html>/i);
  assert.ok(html.includes('<svg') && html.includes(PET) && html.includes(node));
  assert.doesNotMatch(html, /<script|https?:\/\/(?!www\.w3\.org)/, 'it needs nothing but itself');
  // One document a line. A machine that is short of time may have lost its node once more, by itself.
  const films = (await holdfast([...asked, '--json'])).stdout.trim().split('\n');
  const film = films.map((line) => JSON.parse(line) as Film).find(isFenced) ?? assert.fail('one shows a fence');
  assert.deepEqual([film.node, film.waits], [node, []]);
  assert.notEqual(film.back, null);
  const kinds = film.lanes.find(({ kind }) => kind === 'node')?.steps.map((step) => step.kind) ?? [];
  assert.deepEqual([kinds[0], kinds.includes('fenced'), kinds.at(-1)], ['heard', true, 'heard']);
  const fencedAt = film.lanes[0]?.steps.find(({ kind }) => kind === 'fenced')?.from ?? '';
  const pet = film.lanes.find(({ kind, name }) => kind === 'pod' && name.endsWith(PET))?.steps ?? [];
  const againAt = pet.findLast(({ kind }) => kind === 'runs')?.from ?? '';
  assert.ok(fencedAt !== '' && fencedAt < againAt, `${PET} runs again at ${againAt}, after the promise at ${fencedAt}`);
});

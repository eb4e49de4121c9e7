import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FieldError } from '@holdfast/machinery';
import fc from 'fast-check';
import type { PersistentVolume } from '../../generated/types.ts';
import { FENCING_TOKEN_MAX, keepFencingToken, nextFencingToken, validateFencingToken } from './fencing-token.ts';

const volume = (resourceVersion: string, status: PersistentVolume['status'] = {}): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'data', resourceVersion },
  spec: {},
  status,
});
const on = (nodeName: string, nodeUID = `uid-${nodeName}`) => ({ nodeName, nodeUID, pods: [] });

function errorsOf(next: PersistentVolume['status'], old: PersistentVolume['status'], mustGrow = true): string[] {
  const out: FieldError[] = [];
  validateFencingToken(out, volume('8', next), { old: volume('7', old), mustGrow });
  return out.map(({ detail }) => detail);
}

/** A store with compare-and-swap and one revision for everything, and controllers that act on what they read some time ago. */
class Model {
  revision = 0;
  stored: PersistentVolume | undefined = undefined;
  #copy: { readonly revision: number; readonly stored: PersistentVolume | undefined } | undefined;
  /** The tokens of the attachments, in the order of their commits, over all objects of this name. */
  readonly given: number[] = [];
  readonly #read: (PersistentVolume | undefined)[] = [undefined, undefined];

  create(): void {
    if (this.stored === undefined) this.stored = volume(String(++this.revision));
  }

  remove(): void {
    if (this.stored !== undefined) this.revision++;
    this.stored = undefined;
  }

  backUp(): void {
    this.#copy = { revision: this.revision, stored: this.stored };
  }

  /** Once, as of a history that is lost: a second restore of the copy would repeat the revisions of the first. */
  restore(): void {
    if (this.#copy === undefined) return;
    this.stored = this.#copy.stored;
    this.revision = this.#copy.revision + RESTORE_JUMP;
    this.#copy = undefined;
  }

  read(controller: number): void {
    this.#read[controller] = this.stored;
  }

  attach(controller: number, node: string): void {
    const read = this.#read[controller];
    if (read === undefined || read.status.attachment !== undefined) return;
    const fencingToken = nextFencingToken(read, this.revision);
    if (this.#write(read, { attachment: on(node), fencingToken })) this.given.push(fencingToken);
  }

  /** `forced`: an administrator, who does not know the token field and drops it. */
  detach(controller: number, forced: boolean): void {
    const read = this.#read[controller];
    if (read?.status.attachment === undefined) return;
    const { fencingToken } = read.status;
    this.#write(read, forced || fencingToken === undefined ? {} : { fencingToken });
  }

  #write(read: PersistentVolume, status: PersistentVolume['status']): boolean {
    const { stored } = this;
    if (stored === undefined || stored.metadata.resourceVersion !== read.metadata.resourceVersion) return false;
    const next = volume(String(this.revision + 1), { ...status });
    keepFencingToken(next, stored);
    const errors: FieldError[] = [];
    validateFencingToken(errors, next, { old: stored, mustGrow: true });
    assert.deepEqual(errors, [], 'what the controller writes is valid');
    this.revision++;
    this.stored = next;
    return true;
  }
}

/** As `ADOPTION_JUMP` of the store. */
const RESTORE_JUMP = 1_000_000_000_000;

const who = fc.record({ controller: fc.nat(1), isStale: fc.boolean() });
type Act = (model: Model) => void;

/** Half of the time the controller acts on what it read before. */
const by =
  (act: (model: Model, controller: number) => void) =>
  ({ controller, isStale }: { controller: number; isStale: boolean }): Act =>
  (model) => {
    if (!isStale) model.read(controller);
    act(model, controller);
  };
const step: fc.Arbitrary<Act> = fc.oneof(
  fc.constant((model: Model) => model.create()),
  fc.constant((model: Model) => model.remove()),
  fc.constant((model: Model) => void model.revision++),
  fc.constant((model: Model) => model.backUp()),
  fc.constant((model: Model) => model.restore()),
  who.map(by(() => {})),
  who.map(by((model, controller) => model.attach(controller, 'a'))),
  who.map(by((model, controller) => model.attach(controller, 'b'))),
  who.map(by((model, controller) => model.detach(controller, false))),
  who.map(by((model, controller) => model.detach(controller, true))),
);

test('[RWO-15] [RWO-16] [RWO-22] in any order of attach, detach, forced detach, stale controllers, deletion and creation again, and restores of older copies, tokens only grow', () => {
  let attached = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 30, maxLength: 60 }), (steps) => {
      const model = new Model();
      model.create();
      for (const each of steps) each(model);
      const { given } = model;
      assert.deepEqual(
        given,
        [...new Set(given)].sort((a, b) => a - b),
      );
      attached += given.length;
    }),
    { numRuns: 500, seed: 1 },
  );
  assert.ok(attached > 500, `${attached} attachments`);
});

test('no writer can decrease a token', () => {
  assert.deepEqual(errorsOf({ fencingToken: 5 }, { fencingToken: 5 }), []);
  assert.deepEqual(errorsOf({ fencingToken: 9 }, { fencingToken: 5 }), []);
  assert.match(errorsOf({ fencingToken: 4 }, { fencingToken: 5 })[0] ?? '', /must not be smaller than before \(5\)/);
  assert.match(errorsOf({ fencingToken: -1 }, {})[0] ?? '', /must be between 0 and/);
  assert.match(errorsOf({ fencingToken: FENCING_TOKEN_MAX + 1 }, {})[0] ?? '', /must be between 0 and/);
});

test('a volume of the storage server moves to another machine only with a greater token', () => {
  const old = { attachment: on('a'), fencingToken: 5 };
  const grow = /must be greater than before \(5\)/;
  assert.match(errorsOf({ attachment: on('b'), fencingToken: 5 }, { fencingToken: 5 })[0] ?? '', grow);
  assert.match(errorsOf({ attachment: on('a', 'uid-new'), fencingToken: 5 }, old)[0] ?? '', grow);
  assert.deepEqual(errorsOf({ attachment: on('a', 'uid-new'), fencingToken: 6 }, old), []);
  assert.deepEqual(errorsOf({ ...old, attachment: { ...on('a'), pods: [] } }, old), [], 'other pods of the same node');
  assert.deepEqual(errorsOf({ attachment: on('b') }, {}, false), [], 'other volumes have no such server');
});

test('[RWO-15] an older copy of the volume gets a number above those given since, and thousands of restores leave room', () => {
  const copy = volume('5000');
  const given = nextFencingToken(copy, 5_000);
  assert.equal(nextFencingToken(copy, 5_000 + RESTORE_JUMP), 5_000 + RESTORE_JUMP);
  assert.ok(nextFencingToken(copy, 5_000 + RESTORE_JUMP) > given);
  assert.equal(nextFencingToken(volume('5000', { fencingToken: 9_000 }), 6_000), 9_001, 'the position is behind');
  assert.equal(nextFencingToken(copy, 4_000), 5_000, 'at least the revision of the volume');
  assert.ok(nextFencingToken(copy, 4_000 * RESTORE_JUMP) < FENCING_TOKEN_MAX);
});

test('a revision that is not a number does not block attachments', () => {
  assert.equal(nextFencingToken(volume('opaque', { fencingToken: 3 }), 0), 4);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CERTIFICATE_SIGNING_REQUESTS, type CertificateSigningRequest } from '@holdfast/api';
import { formatTime, parseTime } from '@holdfast/platform';
import fc from 'fast-check';
import { nameOf } from '../../common/meta.ts';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { expiresAt } from './decide.ts';
import { certificateCleanerController } from './index.ts';

const HOUR_MS = 3_600_000;
const request = (name: string, status: CertificateSigningRequest['status']): CertificateSigningRequest => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name },
  spec: { request: '', signerName: 'example.com/any' },
  status,
});

test('answered requests are removed after an hour, unanswered ones after a day, pending work stays', async () => {
  const world = createWorld();
  const answered = (type: string) => ({
    conditions: [{ type, status: 'True', lastUpdateTime: formatTime(world.clock.now()) }],
  });
  const put = (name: string, status: CertificateSigningRequest['status']): unknown =>
    world.api.put(CERTIFICATE_SIGNING_REQUESTS, request(name, status));
  put('issued', { ...answered('Approved'), certificate: 'PEM' });
  put('approved', answered('Approved'));
  put('denied', answered('Denied'));
  put('failed', { conditions: [...answered('Approved').conditions, ...answered('Failed').conditions] });
  put('pending', {});
  const controller = new DrivenController(world, certificateCleanerController);
  const left = async (afterMs: number): Promise<readonly string[]> => {
    world.clock.skip(afterMs);
    await controller.settle();
    return world.api.list(CERTIFICATE_SIGNING_REQUESTS).map(nameOf);
  };
  assert.equal((await left(HOUR_MS - 1_000)).length, 5);
  assert.deepEqual(await left(2_000), ['approved', 'pending']);
  assert.deepEqual(await left(22 * HOUR_MS), ['approved', 'pending']);
  assert.deepEqual(await left(2 * HOUR_MS), ['approved']);
  assert.deepEqual(controller.errors, []);
});

const CREATED = parseTime('2026-01-01T00:00:00Z') ?? 0;
const answers = fc.uniqueArray(
  fc.record({
    type: fc.constantFrom('Approved', 'Denied', 'Failed', 'example.com/Seen'),
    afterMs: fc.nat(100).map((minutes) => minutes * 60_000),
  }),
  { selector: ({ type }) => type },
);

test('no request is removed within an hour of its answer or a day of its creation, and none that is pending work', () => {
  fc.assert(
    fc.property(answers, fc.boolean(), (some, issued) => {
      const conditions = some.map(({ type, afterMs }) => ({
        type,
        status: 'True',
        lastUpdateTime: formatTime(CREATED + afterMs),
      }));
      const plain = request('r', { conditions, ...(issued ? { certificate: 'PEM' } : {}) });
      const endMs = expiresAt({ ...plain, metadata: { name: 'r', creationTimestamp: formatTime(CREATED) } });
      const final = some.filter(
        ({ type }) => type === 'Denied' || type === 'Failed' || (issued && type === 'Approved'),
      );
      if (some.length === 0) assert.equal(endMs, CREATED + 24 * HOUR_MS);
      else if (final.length === 0) assert.equal(endMs, undefined);
      else assert.ok(final.some(({ afterMs }) => endMs === CREATED + afterMs + HOUR_MS));
    }),
  );
});

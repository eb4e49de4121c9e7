import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answered } from '../api-servers.ts';
import { AcknowledgedRule } from './acknowledged-rule.ts';

const PATH = '/api/v1/namespaces/default/pods';
const stored = (uid: string, resourceVersion = '1') => JSON.stringify({ metadata: { uid, resourceVersion } });
const answer = (uid: string, resourceVersion: string, more: Partial<Answered> = {}): Answered => ({
  by: 'admin',
  method: 'PUT',
  path: `${PATH}/p`,
  status: 200,
  object: () => ({ metadata: { uid, resourceVersion } }),
  ...more,
});

/** A rule that has seen a start, an update of `a` at revision 7, and its removal at revision 9. */
function ruleOf(...answers: readonly Answered[]): string | undefined {
  const rule = new AcknowledgedRule();
  rule.startOn([{ key: 'core/pods/default/old', value: stored('old'), revision: 3, createRevision: 3 }]);
  const key = 'core/pods/default/p';
  rule.committed({ revision: 7, operation: { kind: 'update', key, value: stored('a'), expectedRevision: 5 } });
  rule.committed({ revision: 9, operation: { kind: 'delete', key, value: stored('a', '8'), expectedRevision: 7 } });
  for (const each of answers) rule.answered(each);
  return rule.check();
}

test('[TEST-07] rule: what is acknowledged is stored', () => {
  assert.equal(ruleOf(answer('a', '7'), answer('old', '3'), answer('a', '8', { method: 'DELETE' })), undefined);
  assert.match(ruleOf(answer('a', '6')) ?? '', /admin got 200 for PUT .* with revision 6, at which a was not stored/);
  assert.ok(ruleOf(answer('b', '7')) !== undefined, 'another object has this revision');
});

test('what was refused or read acknowledges nothing, nor does an answer without an object', () => {
  const none = [{ status: 409 }, { method: 'GET' }, { object: () => undefined }];
  assert.equal(ruleOf(...none.map((more) => answer('a', '6', more)), answer('a', '6', { status: 503 })), undefined);
});

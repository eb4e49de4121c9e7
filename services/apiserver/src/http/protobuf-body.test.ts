import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeObject } from '@holdfast/api/protobuf';
import type { ApiRequest } from '@holdfast/client';
import { MAX_ENTRIES, StatusError } from '@holdfast/machinery';
import { PROTOBUF } from '../testing/protobuf.ts';
import { withJsonBody } from './protobuf-body.ts';

const REVISION = { apiVersion: 'apps/v1', kind: 'ControllerRevision', metadata: { name: 'a' }, revision: 1 };

const bodyOf = (object: object): Buffer => encodeObject(object) ?? Buffer.alloc(0);
const requestOf = (body: Uint8Array): ApiRequest => ({
  method: 'POST',
  path: '/apis/apps/v1/namespaces/default/controllerrevisions',
  query: new URLSearchParams(),
  headers: { 'content-type': PROTOBUF },
  body,
});

/** A revision whose data is this text, of the length of the place-holder. */
function revisionWith(json: string): Buffer {
  const holder = 'x'.repeat(json.length - 2);
  const body = bodyOf({ ...REVISION, data: holder });
  const at = body.indexOf(`"${holder}"`);
  body.write(json, at);
  return body;
}

const refusal = (code: number, says: RegExp) => (error: unknown) =>
  error instanceof StatusError && error.code === code && says.test(error.message);

test('JSON inside a protobuf body that is nested too deeply, or is no JSON, is 400', async () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  await assert.rejects(withJsonBody(requestOf(revisionWith(deep))), refusal(400, /exceeded max depth/));
  await assert.rejects(withJsonBody(requestOf(revisionWith('{"a":,}'))), refusal(400, /JSON inside the protobuf body/));
});

test('too many entries in a protobuf body are 413', async () => {
  const data = Array.from({ length: MAX_ENTRIES + 1 }, () => 0);
  await assert.rejects(withJsonBody(requestOf(bodyOf({ ...REVISION, data }))), refusal(413, /limit is 10000 entries/));
});

test('a long integer in JSON inside a protobuf body keeps its digits', async () => {
  const { body } = await withJsonBody(requestOf(revisionWith('{"a":9007199254740993}')));
  assert.match(String(body), /"a":9007199254740993/);
});

import assert from 'node:assert/strict';
import { validateHeaderValue } from 'node:http';
import { test } from 'node:test';
import { Warnings } from './warnings.ts';

test('a warning of any text is a header that can be written, in UTF-8', () => {
  const warnings = new Warnings();
  warnings.add('unknown field "größe 日"\n\u007f\\');
  const { headers } = warnings.attach({ status: 200, headers: {}, body: { kind: 'empty' } });
  const header = headers['warning'] ?? '';
  validateHeaderValue('warning', header);
  assert.equal(Buffer.from(header, 'latin1').toString(), '299 - "unknown field \\"größe 日\\"  \\\\"');
});

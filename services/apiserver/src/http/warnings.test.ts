import assert from 'node:assert/strict';
import { validateHeaderValue } from 'node:http';
import { test } from 'node:test';
import { Warnings } from './warnings.ts';

test('a warning with any text becomes a valid header in UTF-8', () => {
  const warnings = new Warnings();
  warnings.add('unknown field "größe 日"\n\u007f\\');
  const { headers } = warnings.attach({ status: 200, headers: {}, body: { kind: 'empty' } });
  const header = headers['warning'] ?? '';
  validateHeaderValue('warning', header);
  assert.equal(Buffer.from(header, 'latin1').toString(), '299 - "unknown field \\"größe 日\\"  \\\\"');
});

function headerOf(texts: readonly string[]): string {
  const warnings = new Warnings();
  for (const text of texts) warnings.add(text);
  return Buffer.from(
    warnings.attach({ status: 200, headers: {}, body: { kind: 'empty' } }).headers['warning'] ?? '',
    'latin1',
  ).toString();
}

const count = (header: string): number => header.split('299 - ').length - 1;

test('warnings of 4,096 characters in total are sent in full', () => {
  const texts = ['a', 'b'].map((letter) => letter.repeat(2_048));
  assert.equal(headerOf(texts), `299 - "${texts[0]}", 299 - "${texts[1]}"`);
});

test('longer warnings are cut to 256 characters each, also the earlier ones', () => {
  const header = headerOf(['a'.repeat(4_000), '\u{1f600}'.repeat(300), 'short']);
  assert.equal(header, `299 - "${'a'.repeat(256)}", 299 - "${'\u{1f600}'.repeat(256)}", 299 - "short"`);
});

test('a request with a hundred thousand warnings has a header of some kilobytes', () => {
  const header = headerOf(Array.from({ length: 100_000 }, (_, n) => `unknown field "spec.${'x'.repeat(300)}${n}"`));
  assert.ok(header.length < 8_192, `${header.length} bytes`);
  const short = headerOf(Array.from({ length: 100_000 }, (_, n) => `unknown field "spec.f${n}"`));
  assert.ok(count(short) > 100 && short.length < 8_192, `${count(short)} warnings, ${short.length} bytes`);
});

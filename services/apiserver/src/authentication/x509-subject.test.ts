import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { createCertificate } from '../testing/certificate.ts';
import { readSubject, subjectOfCertificate } from './x509-subject.ts';

/** As openssl reads a subject: here a backslash makes a character part of the value. */
for (const [subject, commonNames, organizations] of [
  ['jane', ['jane'], []],
  ['dev\\+ops', ['dev+ops'], []],
  ['a, b; "c" <d> #e \\\\f/O=x,y/O=z', ['a, b; "c" <d> #e \\f'], ['x,y', 'z']],
  [' of nobody ', [' of nobody '], []],
  ['a+O=ops', ['a'], ['ops']],
  ['first/CN=second', ['first', 'second'], []],
] as const) {
  test(`the subject /CN=${subject} of a certificate is read as it stands there`, () => {
    const { raw } = new X509Certificate(createCertificate(subject).certificate);
    assert.deepEqual(subjectOfCertificate(raw), { commonNames, organizations });
  });
}

const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.of(tag, content.length), content]);
};

const nameOf = (value: Buffer): Buffer => der(0x31, der(0x30, der(0x06, Buffer.from('550403', 'hex')), value));

for (const [what, value, text] of [
  ['UTF-8', der(0x0c, Buffer.from('jané')), 'jané'],
  ['printable', der(0x13, Buffer.from('jane')), 'jane'],
  ['teletex', der(0x14, Buffer.from('jané', 'latin1')), 'jané'],
  ['two bytes', der(0x1e, Buffer.from('jané', 'utf16le').swap16()), 'jané'],
  ['four bytes', der(0x1c, Buffer.from('0000006a0001f600ffffffff', 'hex')), 'j\u{1f600}\ufffd'],
  ['line breaks', der(0x0c, Buffer.from('jane\nO=system:masters')), 'jane\nO=system:masters'],
] as const) {
  test(`a name in a string of ${what} is read`, () => {
    assert.deepEqual(readSubject({ tag: 0x30, content: nameOf(value) }), { commonNames: [text], organizations: [] });
  });
}

test('what is no certificate, is cut off or has lengths of another encoding has no subject', () => {
  const { raw } = new X509Certificate(createCertificate().certificate);
  for (let length = 0; length < raw.length; length += 7)
    assert.equal(subjectOfCertificate(raw.subarray(0, length)), undefined);
  assert.equal(
    readSubject({ tag: 0x30, content: Buffer.concat([Buffer.of(0x31, 0x80), Buffer.alloc(200)]) }),
    undefined,
  );
  assert.equal(readSubject({ tag: 0x31, content: nameOf(der(0x0c)) }), undefined);
});

import assert from 'node:assert/strict';
import { constants, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import { changeRefusals, compareTexts, P256_CERTIFICATE, refusals } from '../testing.ts';
import { requestProblem } from './signed-request.ts';

interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** Signs the bytes, given the object identifier and the parameters of the algorithm. */
interface Signer {
  readonly keys: KeyPair;
  readonly algorithm: string;
  readonly sign: (data: Buffer, key: KeyObject) => Buffer;
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const size = content.length < 0x80 ? [content.length] : [0x82, content.length >> 8, content.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const hex = (text: string): Buffer => Buffer.from(text, 'hex');

function requestOf({ keys, algorithm, sign }: Signer): Buffer {
  const version = der(0x02, hex('00'));
  const key = keys.publicKey.export({ type: 'spki', format: 'der' });
  const info = der(0x30, version, der(0x30), key, der(0xa0));
  return der(0x30, info, der(0x30, hex(algorithm)), der(0x03, hex('00'), sign(info, keys.privateKey)));
}

const rsaKeys = generateKeyPairSync('rsa', { modulusLength: 1024 });
const ecKeys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const edKeys = generateKeyPairSync('ed25519');

const SHA512 = '0609608648016503040203';
/** The parameters of RSA-PSS with SHA-512: hash, mask and length of the salt. */
const PSS = `06092a864886f70d01010a3034a00f300d${SHA512}0500a11c301a06092a864886f70d010108300d${SHA512}0500a203020140`;
const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };

const SIGNERS: Readonly<Record<string, Signer>> = {
  'RSA with SHA-256': {
    keys: rsaKeys,
    algorithm: '06092a864886f70d01010b0500',
    sign: (data, key) => sign('sha256', data, key),
  },
  'RSA-PSS with SHA-512': {
    keys: generateKeyPairSync('rsa', { modulusLength: 2048 }),
    algorithm: PSS,
    sign: (data, key) => sign('sha512', data, { key, ...pss }),
  },
  'ECDSA with SHA-256': {
    keys: ecKeys,
    algorithm: '06082a8648ce3d040302',
    sign: (data, key) => sign('sha256', data, key),
  },
  'ECDSA with SHA-384': {
    keys: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
    algorithm: '06082a8648ce3d040303',
    sign: (data, key) => sign('sha384', data, key),
  },
  Ed25519: { keys: edKeys, algorithm: '06032b6570', sign: (data, key) => sign(null, data, key) },
};

for (const [title, signer] of Object.entries(SIGNERS)) {
  test(`${title}: a request is accepted, with another key or signature it is refused`, () => {
    const request = requestOf(signer);
    assert.equal(requestProblem(request), undefined);
    const other = Buffer.from(request);
    other.writeUInt8(other.readUInt8(other.length - 5) ^ 1, other.length - 5);
    assert.match(requestProblem(other) ?? '', /verification (error|failure)$/);
    const stranger = generateKeyPairSync('ed25519').privateKey;
    const taken = requestOf({ ...signer, sign: (data) => sign(null, data, stranger) });
    assert.match(requestProblem(taken) ?? '', /verification (error|failure)$/);
  });
}

test('a request has the words of Go for what is wrong with it', () => {
  const good = requestOf(SIGNERS['Ed25519'] as Signer);
  for (const cut of [Buffer.alloc(0), hex('00'), good.subarray(0, 50), Buffer.concat([good, hex('0500')])]) {
    assert.equal(requestProblem(cut), 'asn1: structure error');
  }
  const signed = { keys: edKeys, sign: (data: Buffer, key: KeyObject) => sign(null, data, key) };
  assert.equal(
    requestProblem(requestOf({ ...signed, algorithm: '06092a864886f70d010104' })),
    'x509: cannot verify signature: algorithm unimplemented',
  );
  assert.match(
    requestProblem(requestOf({ ...signed, algorithm: '06092a864886f70d01010b' })) ?? '',
    /^x509: signature algorithm specifies an RSA public key/,
  );
});

const pem = (type: string, content: Buffer): string =>
  `-----BEGIN ${type}-----\n${content.toString('base64')}\n-----END ${type}-----\n`;
const csr = (request: string, status: JsonObject = {}): JsonObject => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name: 'a' },
  spec: { request: Buffer.from(request).toString('base64'), signerName: 'a.b/c', usages: ['any'] },
  status,
});

test('a request is checked when it is created, and not again', () => {
  const good = requestOf(SIGNERS['Ed25519'] as Signer);
  const unsigned = Buffer.from(good);
  unsigned.writeUInt8(good.readUInt8(good.length - 5) ^ 1, good.length - 5);
  const headed = pem('CERTIFICATE REQUEST', good).replace('\n', '\nA: b\n\n');
  for (const text of [pem('CERTIFICATE REQUEST', good), headed]) assert.deepEqual(refusals(csr(text)), []);
  const kept = csr(pem('CERTIFICATE REQUEST', unsigned));
  compareTexts(refusals(kept), ['spec.request: Invalid value: []byte{0x2d, …'], 'unsigned');
  assert.match(refusals(kept)[0] ?? '', /: x509: Ed25519 verification failure$/);
  const noBase64 = '-----BEGIN CERTIFICATE REQUEST-----\nA*==\n-----END CERTIFICATE REQUEST-----\n';
  assert.match(refusals(csr(noBase64))[0] ?? '', /: PEM block type must be CERTIFICATE REQUEST$/);
  const approval = { conditions: [{ type: 'Approved', status: 'True' }] };
  assert.deepEqual(changeRefusals(kept, { ...kept, status: approval }, 'approval'), []);
  assert.deepEqual(changeRefusals(kept, kept, 'status'), []);
});

test('an issued certificate has to be one', () => {
  const before = csr(pem('CERTIFICATE REQUEST', requestOf(SIGNERS['Ed25519'] as Signer)));
  const issue = (text: string): readonly string[] =>
    changeRefusals(before, { ...before, status: { certificate: Buffer.from(text).toString('base64') } }, 'status');
  const whole = pem('CERTIFICATE', P256_CERTIFICATE);
  assert.deepEqual(issue(`${whole}${whole}`), []);
  const refused = 'status.certificate: Invalid value: "<certificate data>": ';
  assert.deepEqual(issue(`${whole}${pem('CERTIFICATE', P256_CERTIFICATE.subarray(0, 90))}`), [
    `${refused}x509: malformed certificate`,
  ]);
  assert.deepEqual(issue(pem('CERTIFICATE', Buffer.alloc(0))), [
    `${refused}found CERTIFICATE PEM block containing 0 certificates`,
  ]);
});

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import { allResources } from '../registry.ts';
import { P256_CERTIFICATE, refusals, stored } from './testing.ts';

/** Far more than linear work needs, and far less than quadratic work. */
const CPU_US_MAX = 5_000_000;
const TEXT_CHARS = 512 * 1024;

const filled = (part: string): string => part.repeat(Math.ceil(TEXT_CHARS / part.length));
const base64 = (text: string): string => Buffer.from(text).toString('base64');

function inLittleTime<T>(work: () => T): T {
  const start = process.cpuUsage();
  const result = work();
  const { user } = process.cpuUsage(start);
  assert.ok(user < CPU_US_MAX, `${user} microseconds of CPU`);
  return result;
}

const secret = (data: JsonObject, type = 'kubernetes.io/tls'): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 's', namespace: 'n' },
  type,
  data,
});

function warnings(document: JsonObject): readonly string[] {
  const { strategy } = allResources().find(({ kind }) => kind === document['kind']) ?? assert.fail();
  return strategy.warnings?.(stored(document), undefined, {}) ?? [];
}

const iscsiPod = (iqn: string): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'n' },
  spec: {
    containers: [{ name: 'c', image: 'i' }],
    volumes: [{ name: 'v', iscsi: { targetPortal: 't', iqn, lun: 0 } }],
  },
});

test('long target names are scanned once', () => {
  const wrong = (iqn: string): number => refusals(iscsiPod(iqn)).filter((line) => line.includes('iscsi.iqn')).length;
  assert.equal(
    inLittleTime(() => wrong(`${filled('iqn.2000-01.a:')} `)),
    1,
  );
  assert.equal(
    inLittleTime(() => wrong(`iqn.${filled('iqn.2000-01.a')}`)),
    1,
  );
});

test('the name of a target may start before the match, and text may follow the colon', () => {
  const isRight = (iqn: string): boolean => !refusals(iscsiPod(iqn)).some((line) => line.includes('iscsi.iqn'));
  const right = ['iqn.2001-04.com.example:disk1', 'iqn iqn.2001-04.a:b:c', 'iqn:iqn.2001-04.a:b', 'iqn.2001-04.a::'];
  const wrong = [
    'iqn.2001-04.a',
    'iqn.2001-04.a:',
    'iqn.2001-04.:b',
    'iqn.2001-04.a:b c',
    'iqn.2001-4.a:b',
    'iqn.2001-04.a_:b',
  ];
  assert.deepEqual([...right, ...wrong].filter(isRight), right);
});

test('certificate blocks that start and never end are scanned once', () => {
  const text = base64(filled('-----BEGIN A-----\n'));
  const said = inLittleTime(() => warnings(secret({ 'tls.crt': text, 'tls.key': text })));
  assert.deepEqual(said, ['tls: failed to find any PEM data in certificate input']);
  const request = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'r' },
    spec: { request: base64(filled('-----BEGIN CERTIFICATE REQUEST-----\n')), signerName: 'a.b/c', usages: ['any'] },
  };
  assert.equal(inLittleTime(() => refusals(request)).length, 1);
});

const CERTIFICATE = P256_CERTIFICATE.toString('hex');
const KEY_TYPE = '2a8648ce3d0201';
const UNKNOWN_TYPE = '2a8648ce3d0209';

const pem = (type: string, hex: string): string =>
  `-----BEGIN ${type}-----\n${Buffer.from(hex, 'hex').toString('base64')}\n-----END ${type}-----\n`;

test('a certificate with an unknown key, or with a key that does not match, causes a warning', () => {
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const other = generateKeyPairSync('ed25519').privateKey;
  const key = ec.export({ type: 'pkcs8', format: 'pem' }).toString();
  const keyOfOtherType = other.export({ type: 'pkcs8', format: 'pem' }).toString();
  const certificate = pem('CERTIFICATE', CERTIFICATE);
  const unknown = pem('CERTIFICATE', CERTIFICATE.replace(KEY_TYPE, UNKNOWN_TYPE));
  const said = (crt: string, theKey: string): readonly string[] =>
    warnings(secret({ 'tls.crt': base64(crt), 'tls.key': base64(theKey) }));
  assert.deepEqual(said(unknown, key), ['tls: unknown public key algorithm']);
  assert.deepEqual(said(certificate, key), ['tls: private key does not match public key']);
  assert.deepEqual(said(certificate, keyOfOtherType), ['tls: private key type does not match public key type']);
  assert.deepEqual(said(certificate, certificate), [
    'tls: found a certificate rather than a key in the PEM for the private key',
  ]);
  assert.deepEqual(said(pem('CERTIFICATE', '00'), key), ['x509: malformed certificate']);
  assert.deepEqual(said('-----BEGIN A-----\n-----END B-----\n', key), [
    'tls: failed to find any PEM data in certificate input',
  ]);
});

test('bytes sent as null become empty', () => {
  const data = { a: null, b: 'eA==' };
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm', namespace: 'n' }, binaryData: data };
  for (const document of [secret(data, 'Opaque'), secret(data), map]) stored(document);
  assert.deepEqual(Reflect.get(stored(secret(data, 'Opaque')), 'data'), { a: '', b: 'eA==' });
  assert.deepEqual(Reflect.get(stored(map), 'binaryData'), { a: '', b: 'eA==' });
  assert.deepEqual([...refusals(secret(data, 'Opaque')), ...refusals(map)], []);
  assert.deepEqual(warnings(secret({ 'tls.crt': null, 'tls.key': null })), [
    'tls: failed to find any PEM data in certificate input',
  ]);
  assert.deepEqual(refusals(secret({ '.dockercfg': null }, 'kubernetes.io/dockercfg')), [
    'data[.dockercfg]: Invalid value: "<secret contents redacted>": unexpected end of JSON input',
  ]);
});

test('duplicates among many equal terms are reported up to a limit', () => {
  const allowedTopologies = Array.from({ length: 300 }, () => ({}));
  const type = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 's' }, provisioner: 'a/b' };
  assert.equal(refusals({ ...type, allowedTopologies }).length, 1000);
  assert.equal(refusals({ ...type, allowedTopologies: [{}, {}] }).length, 2 + 3);
});

test('a value that is not a schema is ignored in the place of a schema', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'array', items: { type: 'object', properties: { x: null } } } },
  };
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'as.b.c' },
    spec: {
      group: 'b.c',
      scope: 'Namespaced',
      names: { plural: 'as', singular: 'a', kind: 'A', listKind: 'AList' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
  assert.deepEqual(refusals(definition), []);
});

test('pods that were not validated cause warnings', () => {
  const podAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1 }] };
  const labels = { a: 'b' };
  const set = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 's', namespace: 'n' },
    spec: {
      selector: { matchLabels: labels },
      serviceName: 's',
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }], affinity: { podAffinity } } },
    },
  };
  assert.deepEqual(refusals(set), []);
  assert.equal(warnings(set).length, 1);
});

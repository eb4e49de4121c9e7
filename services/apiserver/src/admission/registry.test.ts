import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AdmissionDeps } from './port.ts';
import { ADMISSION_PLUGINS } from './registry.ts';

/** The order in which an API server 1.32 asks the plugins that exist here. */
const ORDER_OF_KUBERNETES = [
  'NamespaceLifecycle',
  'LimitRanger',
  'ServiceAccount',
  'NodeRestriction',
  'TaintNodesByCondition',
  'PodSecurity',
  'Priority',
  'DefaultTolerationSeconds',
  'DefaultStorageClass',
  'StorageObjectInUseProtection',
  'PersistentVolumeClaimResize',
  'RuntimeClass',
  'CertificateApproval',
  'CertificateSigning',
  'CertificateSubjectRestriction',
  'DefaultIngressClass',
  'DenyServiceExternalIPs',
  'MutatingAdmissionWebhook',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionWebhook',
  'ResourceQuota',
];

test('the plugins of Kubernetes run in the order of 1.32', () => {
  const known = new Set(ORDER_OF_KUBERNETES);
  const names = ADMISSION_PLUGINS.map((create) => create(NO_DEPS).name);
  assert.deepEqual(
    names.filter((name) => known.has(name)),
    ORDER_OF_KUBERNETES,
  );
});

/** Plugins are made here, and never called. */
const NO_DEPS = {} as AdmissionDeps;

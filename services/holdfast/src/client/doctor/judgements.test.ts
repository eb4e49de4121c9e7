import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClusterPki } from '@holdfast/pki/cluster-pki';
import { parseTime } from '@holdfast/platform';
import { judgeHealth } from './checks/api.ts';
import { judgeCertificates } from './checks/certificates.ts';
import { judgeClock } from './checks/clock.ts';
import { judgeControlGroups } from './checks/control-groups.ts';
import { judgeDisk } from './checks/disk.ts';
import { judgeKernel, type KernelFacts } from './checks/kernel.ts';
import { judgePort } from './checks/port.ts';
import { judgeRuntimes } from './checks/runtimes.ts';
import { judgeSync } from './checks/sync.ts';
import type { Judgement } from './finding.ts';

const GB = 2 ** 30;
const EXT4 = 0xef53;
const NOW = parseTime('2026-11-23T00:00:00Z') ?? 0;
const LINUX: KernelFacts = {
  userNamespacesMax: '63000',
  unprivileged: undefined,
  restricted: undefined,
  isRoot: false,
  missing: [],
};

const TABLE: readonly (readonly [what: string, found: Judgement, verdict: Judgement['verdict'], message: RegExp])[] = [
  ['a free port', judgePort('h:1', undefined), 'ok', /h:1 is free/],
  ['a used port', judgePort('h:1', 'EADDRINUSE'), 'problem', /h:1 is in use/],
  ['a port of root', judgePort('h:1', 'EACCES'), 'problem', /may not listen/],
  ['a foreign address', judgePort('h:1', 'EADDRNOTAVAIL'), 'problem', /not an address of this machine/],
  ['another failure', judgePort('h:1', 'EMFILE'), 'problem', /EMFILE/],
  ['much space', judgeDisk('/d', { freeBytes: 9 * GB, freeFiles: 1e6, type: EXT4 }), 'ok', /9 GB left/],
  ['little space', judgeDisk('/d', { freeBytes: GB / 2, freeFiles: 1e6, type: EXT4 }), 'warning', /512 MB/],
  ['no space', judgeDisk('/d', { freeBytes: 0, freeFiles: 1e6, type: EXT4 }), 'problem', /0 MB/],
  ['few files', judgeDisk('/d', { freeBytes: 9 * GB, freeFiles: 3, type: EXT4 }), 'warning', /3 files/],
  ['no files', judgeDisk('/d', { freeBytes: 9 * GB, freeFiles: 0, type: EXT4 }), 'problem', / 0 files left/],
  [
    'uncounted files',
    judgeDisk('/d', { freeBytes: GB / 2, freeFiles: Infinity, type: EXT4 }),
    'warning',
    /512 MB left/,
  ],
  ['NFS', judgeDisk('/d', { freeBytes: 9 * GB, freeFiles: 1e6, type: 0x6969 }), 'warning', /NFS/],
  ['memory', judgeDisk('/d', { freeBytes: 9 * GB, freeFiles: 1e6, type: 0x01021994 }), 'warning', /reboot loses/],
  ['a quick disk', judgeSync([0.4, 0.5, 9]), 'ok', /0\.50 ms \(slowest 9\.0 ms\)/],
  ['a slow disk', judgeSync([21, 22, 23]), 'warning', /22\.00 ms/],
  ['no disk', judgeSync([0.001, 0.001, 0.002]), 'warning', /does not sync/],
  ['no certificates', judgeCertificates([{ name: 'ca.crt', text: undefined }], NOW), 'ok', /first start/],
  ['no certificate', judgeCertificates([{ name: 'ca.crt', text: 'x' }], NOW), 'problem', /ca\.crt is not a/],
  ['a clock before us', judgeClock(0, undefined), 'problem', /1970/],
  ['a clock alone', judgeClock(NOW, undefined), 'ok', /2026-11-23/],
  ['an equal clock', judgeClock(NOW, -900), 'ok', /as on the API server/],
  ['a clock behind', judgeClock(NOW, -60_000), 'warning', /60 s behind/],
  ['a clock ahead', judgeClock(NOW, 60_000), 'warning', /60 s ahead of/],
  ['no runtime', judgeRuntimes([]), 'warning', /processes of this machine/],
  ['a runtime', judgeRuntimes([{ kind: 'cri', version: 'containerd://1.6' }]), 'ok', /--runtime=cri/],
  ['a kernel', judgeKernel(LINUX), 'ok', /addresses of their own/],
  ['no nft', judgeKernel({ ...LINUX, missing: ['nft'] }), 'warning', /needs nft/],
  ['no namespaces', judgeKernel({ ...LINUX, userNamespacesMax: '0' }), 'warning', /user namespaces/],
  ['closed ones', judgeKernel({ ...LINUX, unprivileged: '0' }), 'warning', /user namespaces/],
  ['restricted ones', judgeKernel({ ...LINUX, restricted: '1' }), 'warning', /user namespaces/],
  ['root', judgeKernel({ ...LINUX, isRoot: true, userNamespacesMax: '0' }), 'ok', /addresses/],
  ['version 2', judgeControlGroups({ unified: true, beside: false }), 'ok', /^version 2$/],
  ['both versions', judgeControlGroups({ unified: false, beside: true }), 'ok', /beside/],
  ['version 1', judgeControlGroups({ unified: false, beside: false }), 'warning', /cannot promise/],
  ['a ready API', judgeHealth('[+]ping ok\n[+]store ok\nreadyz check passed'), 'ok', /2 checks/],
  ['an API that is not', judgeHealth('[+]ping ok\n[-]store failed: halted\n'), 'problem', /store failed: halted/],
  ['another server', judgeHealth('<html>'), 'warning', /no checks/],
];

for (const [what, found, verdict, message] of TABLE) {
  test(`doctor judges ${what}`, () => {
    assert.equal(found.verdict, verdict);
    assert.match(found.message, message);
    assert.equal(found.nextStep !== undefined, verdict !== 'ok', 'a next step for everything that is not in order');
  });
}

test('doctor judges the validity of certificates by the first that expires', async () => {
  const { caCertificate, serverCertificate } = await createClusterPki(
    { dnsNames: [], ipAddresses: ['127.0.0.1'] },
    NOW,
  );
  const files = [
    { name: 'ca.crt', text: caCertificate },
    { name: 'server.crt', text: serverCertificate },
  ];
  const day = 24 * 60 * 60 * 1000;
  assert.equal(judgeCertificates(files, NOW + day).verdict, 'ok');
  assert.match(judgeCertificates(files, NOW - 3 * day).message, /counts from .* clock of this machine says/);
  const late = NOW + 200 * 365 * day;
  assert.match(judgeCertificates(files, late).message, /has expired at/);
  // The start renews them: nothing is to be removed.
  for (const file of files) assert.match(judgeCertificates([file], late).nextStep ?? '', /^Start the cluster again/);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '@holdfast/api';
import {
  type ClusterDns,
  hostsFile,
  kernelHostName,
  missesClusterDns,
  NO_CLUSTER_DNS,
  podNames,
  resolvConf,
} from './network-identity.ts';

const podOf = (spec: Partial<Pod['spec']>, name = 'web-0'): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop', uid: 'u1' },
  spec: { containers: [], ...spec },
  status: {},
});
const DNS: ClusterDns = { domain: 'cluster.local', servers: ['10.96.0.10'] };
const MACHINE = 'nameserver 192.0.2.53\nsearch example.com\noptions timeout:2\n';
const namesOf = (pod: Pod) => podNames(pod, 'machine', DNS);

test('[POD-08] the host name of a pod is its name, its hostname field, or the name of the node on the host network', () => {
  const long = `${'a'.repeat(62)}.${'b'.repeat(30)}`;
  const table: readonly [Pod, string][] = [
    [podOf({}), 'web-0'],
    [podOf({}, long), 'a'.repeat(62)],
    [podOf({ hostname: 'db' }), 'db'],
    [podOf({ hostNetwork: true }), 'machine'],
  ];
  for (const [pod, expected] of table) assert.equal(namesOf(pod).hostname, expected);
});

test('[POD-08] the FQDN is the host name only when the pod requests it, and is never truncated', () => {
  const named = podOf({ hostname: 'db', subdomain: 'peers' });
  const full = 'db.peers.shop.svc.cluster.local';
  assert.equal(kernelHostName(named, namesOf(named)), 'db');
  const asking = { ...named, spec: { ...named.spec, setHostnameAsFQDN: true } };
  assert.equal(kernelHostName(asking, namesOf(asking)), full);
  const long = podOf({ hostname: 'h'.repeat(40), subdomain: 'peers', setHostnameAsFQDN: true });
  assert.throws(() => kernelHostName(long, namesOf(long)), /too long \(64 characters is the max, 69 characters/);
});

test('/etc/hosts contains the pod, its FQDN first, and then the entries of the pod', () => {
  const hostAliases = [{ ip: '192.0.2.9', hostnames: ['old', 'older'] }];
  const pod = podOf({ hostname: 'db', subdomain: 'peers', hostAliases });
  const text = hostsFile(pod, '10.0.0.7', namesOf(pod), 'not this');
  assert.match(text, /^# Kubernetes-managed hosts file\.\n127\.0\.0\.1\tlocalhost\n/);
  assert.match(text, /\n10\.0\.0\.7\tdb\.peers\.shop\.svc\.cluster\.local\tdb\n/);
  assert.ok(text.endsWith('\n# Entries added by HostAliases.\n192.0.2.9\told\tolder\n'));
  const onHost = podOf({ hostNetwork: true });
  assert.equal(
    hostsFile(onHost, '10.0.0.7', namesOf(onHost), '127.0.0.1 machine\n'),
    '# Kubernetes-managed hosts file (host network).\n127.0.0.1 machine\n',
  );
});

test('the resolver follows the DNS policy of the pod, and its own settings are added', () => {
  const cluster = 'search shop.svc.cluster.local svc.cluster.local cluster.local example.com\nnameserver 10.96.0.10\n';
  const options = [{ name: 'ndots', value: '2' }, { name: 'edns0' }];
  const dnsConfig = { nameservers: ['198.51.100.1'], searches: ['internal'], options };
  const table: readonly [string, Partial<Pod['spec']>, ClusterDns, string | undefined][] = [
    ['cluster first', {}, DNS, `${cluster}options ndots:5\n`],
    ['no name server', {}, NO_CLUSTER_DNS, undefined],
    ['default', { dnsPolicy: 'Default' }, DNS, undefined],
    ['on the host network', { hostNetwork: true }, DNS, undefined],
    ['although', { hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' }, DNS, `${cluster}options ndots:5\n`],
    [
      'none',
      { dnsPolicy: 'None', dnsConfig },
      DNS,
      'search internal\nnameserver 198.51.100.1\noptions ndots:2 edns0\n',
    ],
    [
      'added to the machine',
      { dnsPolicy: 'Default', dnsConfig },
      DNS,
      'search example.com internal\nnameserver 192.0.2.53\nnameserver 198.51.100.1\noptions timeout:2 ndots:2 edns0\n',
    ],
    [
      'an option replaced',
      { dnsConfig: { options: [{ name: 'ndots', value: '1' }] } },
      DNS,
      `${cluster}options ndots:1\n`,
    ],
  ];
  for (const [what, spec, dns, expected] of table) assert.equal(resolvConf(podOf(spec), dns, MACHINE), expected, what);
  assert.ok(missesClusterDns(podOf({ dnsPolicy: 'ClusterFirstWithHostNet' }), NO_CLUSTER_DNS));
  assert.ok(!missesClusterDns(podOf({ dnsPolicy: 'ClusterFirstWithHostNet' }), DNS));
});

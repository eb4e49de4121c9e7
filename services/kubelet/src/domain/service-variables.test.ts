import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod, Service } from '@holdfast/api';
import { buildEnvironment } from './environment.ts';
import { serviceVariables, withApiAt } from './service-variables.ts';

const service = (name: string, spec: Service['spec'], namespace = 'shop'): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace },
  spec,
  status: { loadBalancer: {} },
});
const port = (number: number, name?: string) => ({
  port: number,
  protocol: 'TCP',
  ...(name === undefined ? {} : { name }),
});

const KUBERNETES = service('kubernetes', { clusterIP: '10.96.0.1', ports: [port(443, 'https')] }, 'default');
const SERVICES = [
  KUBERNETES,
  service('redis-primary', { clusterIP: '10.96.0.11', ports: [port(6379, 'tcp-redis'), port(9121)] }),
  service('headless', { clusterIP: 'None', ports: [port(80)] }),
  service('elsewhere', { clusterIP: '10.96.0.12', ports: [port(80)] }, 'other'),
];

test('[EXP-05] a container gets variables for the services of its namespace in both forms', () => {
  const variables = serviceVariables(SERVICES, 'shop', true);
  const { KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT, KUBERNETES_SERVICE_PORT_HTTPS } = variables;
  assert.deepEqual(
    [KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT, KUBERNETES_SERVICE_PORT_HTTPS],
    ['10.96.0.1', '443', '443'],
  );
  const redis = Object.fromEntries(Object.entries(variables).filter(([name]) => name.startsWith('REDIS')));
  assert.deepEqual(redis, {
    REDIS_PRIMARY_SERVICE_HOST: '10.96.0.11',
    REDIS_PRIMARY_SERVICE_PORT: '6379',
    REDIS_PRIMARY_SERVICE_PORT_TCP_REDIS: '6379',
    REDIS_PRIMARY_PORT: 'tcp://10.96.0.11:6379',
    REDIS_PRIMARY_PORT_6379_TCP: 'tcp://10.96.0.11:6379',
    REDIS_PRIMARY_PORT_6379_TCP_PROTO: 'tcp',
    REDIS_PRIMARY_PORT_6379_TCP_PORT: '6379',
    REDIS_PRIMARY_PORT_6379_TCP_ADDR: '10.96.0.11',
    REDIS_PRIMARY_PORT_9121_TCP: 'tcp://10.96.0.11:9121',
    REDIS_PRIMARY_PORT_9121_TCP_PROTO: 'tcp',
    REDIS_PRIMARY_PORT_9121_TCP_PORT: '9121',
    REDIS_PRIMARY_PORT_9121_TCP_ADDR: '10.96.0.11',
  });
  assert.ok(!Object.keys(variables).some((name) => /^(HEADLESS|ELSEWHERE)/.test(name)));
});

test('a pod on the host network gets the address of the API, and the usual variables of other services', () => {
  const variables = serviceVariables(withApiAt(SERVICES, { host: '127.0.0.1', port: 6443 }), 'shop', true);
  const { KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT, KUBERNETES_SERVICE_PORT_HTTPS, KUBERNETES_PORT } =
    variables;
  assert.deepEqual(
    [KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT, KUBERNETES_SERVICE_PORT_HTTPS, KUBERNETES_PORT],
    ['127.0.0.1', '6443', '6443', 'tcp://127.0.0.1:6443'],
  );
  assert.equal(variables['REDIS_PRIMARY_SERVICE_HOST'], '10.96.0.11');
});

test('enableServiceLinks: false keeps only the API server', () => {
  const prefixes = new Set(Object.keys(serviceVariables(SERVICES, 'shop', false)).map((name) => name.split('_')[0]));
  assert.deepEqual([...prefixes], ['KUBERNETES']);
});

test('variables of the container override those of services, and may refer to them', () => {
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'shop' },
    spec: { containers: [] },
    status: {},
  };
  const container: Container = {
    name: 'c',
    resources: {},
    env: [
      { name: 'URL', value: 'https://$(KUBERNETES_SERVICE_HOST)' },
      { name: 'KUBERNETES_SERVICE_PORT', value: '6443' },
    ],
  };
  const links = serviceVariables(SERVICES, 'shop', false);
  const data = new Map<string, Record<string, string>>();
  const environment = buildEnvironment(container, { pod, podIp: '', hostIp: '', allocatable: {}, data, links });
  assert.deepEqual([environment['URL'], environment['KUBERNETES_SERVICE_PORT']], ['https://10.96.0.1', '6443']);
});

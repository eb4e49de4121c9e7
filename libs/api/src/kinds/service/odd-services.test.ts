import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import { changeRefusals, compareTexts, refusals, replaced, row } from '../testing.ts';

type Case = readonly [spec: JsonObject, errors: readonly string[], metadata?: JsonObject];

const PORTS = [{ port: 80 }];
const service = (spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 's', namespace: 'n', ...metadata },
  spec: { ports: PORTS, ...spec },
});

const IP_TEXT = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
const ONLY_BALANCED = "may only be used when `type` is 'LoadBalancer'";

function check(cases: readonly Case[]): void {
  for (const [spec, errors, metadata] of cases) {
    const document = service(spec, metadata);
    compareTexts(refusals(document), errors, JSON.stringify(document));
  }
}

test('services: ports', () => {
  const P = 'spec.ports[0]';
  check([
    [{ ports: [] }, ['spec.ports: Required value']],
    [{ ports: [], clusterIP: 'None' }, []],
    [
      { ports: [{ port: 0, protocol: 'X', targetPort: '', appProtocol: 'a b' }] },
      [
        `${P}.port: Invalid value: 0: must be between 1 and 65535, inclusive`,
        `${P}.protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"`,
        `${P}.targetPort: Invalid value: 0: must be between 1 and 65535, inclusive`,
        `${P}.appProtocol: Invalid value: "a b": name part must consist…`,
      ],
    ],
    [
      { ports: [{ port: 80 }, { port: 80, name: 'A' }] },
      [
        `${P}.name: Required value`,
        'spec.ports[1].name: Invalid value: "A": a lowercase RFC 1123 label…',
        'spec.ports[1]: Duplicate value: core.ServicePort{Name:"", Protocol:"TCP", AppProtocol:(*string)(nil), Port:80, TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:""}, NodePort:0}',
      ],
    ],
    [
      {
        ports: [
          { port: 1, name: 'a' },
          { port: 2, name: 'a' },
        ],
      },
      ['spec.ports[1].name: Duplicate value: "a"'],
    ],
    [
      { ports: [{ port: 1, nodePort: 30000 }] },
      [`${P}.nodePort: Forbidden: may not be used when \`type\` is 'ClusterIP'`],
    ],
    [
      {
        type: 'NodePort',
        ports: [
          { port: 1, name: 'a', nodePort: 30000 },
          { port: 2, name: 'b', nodePort: 30000 },
        ],
      },
      ['spec.ports[1].nodePort: Duplicate value: 30000'],
    ],
    [
      { type: 'LoadBalancer', ports: [{ port: 10250 }] },
      [`${P}: Invalid value: 10250: may not expose port 10250 externally since it is used by kubelet`],
    ],
  ]);
});

test('services: types and addresses', () => {
  check([
    [
      { type: 'X' },
      ['spec.type: Unsupported value: "X": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'],
    ],
    [
      { type: 'LoadBalancer', clusterIP: 'None' },
      [`spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for LoadBalancer services`],
    ],
    [{ type: 'ExternalName' }, ['spec.externalName: Required value']],
    [
      {
        type: 'ExternalName',
        externalName: 'A.',
        clusterIP: '1.2.3.4',
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
      },
      [
        'spec.clusterIPs: Forbidden: may not be set for ExternalName services',
        'spec.ipFamilies: Forbidden: may not be set for ExternalName services',
        'spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services',
        'spec.externalName: Invalid value: "A": a lowercase RFC 1123 subdomain…',
      ],
    ],
    [{ clusterIP: 'x' }, [`spec.clusterIPs[0]: Invalid value: "x": ${IP_TEXT}`]],
    [
      { clusterIP: '1.1.1.1', clusterIPs: ['2.2.2.2', '3.3.3.3', '4.4.4.4'] },
      [
        'spec.clusterIPs: Invalid value: []string{"2.2.2.2", "3.3.3.3", "4.4.4.4"}: first value must match `clusterIP`',
        'spec.clusterIPs: Invalid value: []string{"2.2.2.2", "3.3.3.3", "4.4.4.4"}: may only hold up to 2 values',
        'spec.clusterIPs: Invalid value: []string{"2.2.2.2", "3.3.3.3", "4.4.4.4"}: may specify no more than one IP for each IP family',
      ],
    ],
    [
      { clusterIPs: ['None', '1.1.1.1'] },
      [
        'spec.clusterIPs: Invalid value: []string{"None", "1.1.1.1"}: must be empty when `clusterIP` is not specified',
        `spec.clusterIPs: Invalid value: []string{"None", "1.1.1.1"}: 'None' must be the first and only value`,
      ],
    ],
    [
      { ipFamilies: ['IPv5', 'IPv5'], ipFamilyPolicy: 'X' },
      [
        'spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
        'spec.ipFamilies[1]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
        'spec.ipFamilies[1]: Duplicate value: "IPv5"',
        'spec.ipFamilyPolicy: Unsupported value: "X": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"',
      ],
    ],
    [
      { clusterIP: '1.1.1.1', ipFamilies: ['IPv6'] },
      ['spec.clusterIPs[0]: Invalid value: "1.1.1.1": expected an IPv6 value as indicated by `ipFamilies[0]`'],
    ],
    [
      { externalIPs: ['x', '0.0.0.0', '127.0.0.1', '169.254.1.1', '224.0.0.1'] },
      [
        `spec.externalIPs[0]: Invalid value: "x": ${IP_TEXT}`,
        'spec.externalIPs[1]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)',
        'spec.externalIPs[2]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
        'spec.externalIPs[3]: Invalid value: "169.254.1.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
        'spec.externalIPs[4]: Invalid value: "224.0.0.1": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)',
      ],
    ],
  ]);
});

test('services: affinity, traffic and load balancers', () => {
  const affinity = (timeoutSeconds: number): JsonObject => ({
    sessionAffinity: 'ClientIP',
    sessionAffinityConfig: { clientIP: { timeoutSeconds } },
  });
  check([
    [{ sessionAffinity: 'X' }, ['spec.sessionAffinity: Unsupported value: "X": supported values: "ClientIP", "None"']],
    [
      affinity(86401),
      [
        'spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400',
      ],
    ],
    [
      { selector: { 'a b': 'c d' } },
      [
        'spec.selector: Invalid value: "a b": name part must consist…',
        'spec.selector: Invalid value: "c d": a valid label…',
      ],
    ],
    [
      { loadBalancerSourceRanges: ['x'], loadBalancerClass: 'a', allocateLoadBalancerNodePorts: false },
      [
        `spec.LoadBalancerSourceRanges: Forbidden: ${ONLY_BALANCED}`,
        'spec.LoadBalancerSourceRanges[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
        `spec.allocateLoadBalancerNodePorts: Forbidden: ${ONLY_BALANCED}`,
        `spec.loadBalancerClass: Forbidden: ${ONLY_BALANCED}`,
      ],
    ],
    [
      {},
      [
        `metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: Forbidden: ${ONLY_BALANCED}`,
        'metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
      ],
      { annotations: { 'service.beta.kubernetes.io/load-balancer-source-ranges': ' x , 10.0.0.0/8' } },
    ],
    [
      { externalTrafficPolicy: 'Local' },
      ['spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services'],
    ],
    [
      { type: 'NodePort', externalTrafficPolicy: 'X', internalTrafficPolicy: 'Y', trafficDistribution: 'Z' },
      [
        'spec.externalTrafficPolicy: Unsupported value: "X": supported values: "Cluster", "Local"',
        'spec.internalTrafficPolicy: Unsupported value: "Y": supported values: "Cluster", "Local"',
        'spec.trafficDistribution: Unsupported value: "Z": supported values: "PreferClose"',
      ],
    ],
    [
      { healthCheckNodePort: 1 },
      [
        "spec.healthCheckNodePort: Invalid value: 1: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      ],
    ],
    [
      {},
      [
        'metadata.annotations[service.kubernetes.io/topology-mode]: Invalid value: "a": must match annotations[service.kubernetes.io/topology-aware-hints] when both are specified',
      ],
      {
        annotations: { 'service.kubernetes.io/topology-mode': 'a', 'service.kubernetes.io/topology-aware-hints': 'b' },
      },
    ],
  ]);
});

test('services: immutable fields', () => {
  const change = (before: JsonObject, after: JsonObject): readonly string[] =>
    changeRefusals(service(before), service(after));
  assert.deepEqual(change({ clusterIP: '10.0.0.1' }, { clusterIP: '10.0.0.2' }), [
    'spec.clusterIPs[0]: Invalid value: []string{"10.0.0.2"}: may not change once set',
  ]);
  assert.deepEqual(
    change({ type: 'LoadBalancer', loadBalancerClass: 'a/b' }, { type: 'LoadBalancer', loadBalancerClass: 'c/d' }),
    ['spec.loadBalancerClass: Invalid value: "c/d": may not change once set'],
  );
  assert.deepEqual(change({ type: 'LoadBalancer', loadBalancerClass: 'a/b' }, { type: 'LoadBalancer' }), [
    'spec.loadBalancerClass: Invalid value: "null": may not change once set',
  ]);
  assert.deepEqual(change({ clusterIP: '10.0.0.1' }, {}), []);
  assert.deepEqual(change({ clusterIP: '10.0.0.1' }, { type: 'ExternalName', externalName: 'a.b' }), []);
  const balanced = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' };
  assert.deepEqual(change({ ...balanced, healthCheckNodePort: 31000 }, { ...balanced, healthCheckNodePort: 31001 }), [
    'spec.healthCheckNodePort: Forbidden: field is immutable',
  ]);
});

test('services: fields that a client omits are kept, fields that the type does not use are removed', () => {
  const specOf = (before: JsonObject, after: JsonObject): JsonObject =>
    (replaced(service(before), service(after)) as unknown as { spec: JsonObject }).spec;
  const ports = [
    { name: 'a', port: 1, nodePort: 30001 },
    { name: 'b', port: 2, nodePort: 30002 },
  ];
  const renumbered = [
    { name: 'b', port: 1 },
    { name: 'a', port: 2 },
  ];
  const kept = specOf({ type: 'NodePort', ports }, { type: 'NodePort', ports: renumbered })[
    'ports'
  ] as readonly JsonObject[];
  assert.deepEqual(
    kept.map(({ nodePort }) => nodePort),
    [30002, 30001],
  );
  const balanced = { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false };
  const bare = ports.map(({ name, port }) => ({ name, port }));
  assert.deepEqual(
    (specOf({ ...balanced, ports }, { ...balanced, ports: bare })['ports'] as readonly JsonObject[]).map(
      ({ nodePort }) => nodePort,
    ),
    [30001, 30002],
  );
  const plain = specOf(
    { type: 'NodePort', ports },
    { type: 'ClusterIP', ports: ports.slice(0, 1), externalTrafficPolicy: 'Cluster' },
  );
  assert.deepEqual(plain['ports'], [{ name: 'a', port: 1, protocol: 'TCP', targetPort: 1 }]);
  assert.equal(plain['externalTrafficPolicy'], undefined);
  const { clusterIP, clusterIPs } = specOf({ clusterIP: '10.0.0.1' }, { clusterIP: '10.0.0.1' });
  assert.deepEqual([clusterIP, clusterIPs], ['10.0.0.1', ['10.0.0.1']]);
});

test('the status of a service, and its table', () => {
  const status = (type: string, ...ingress: JsonObject[]): readonly string[] => {
    const document = service({ type });
    return changeRefusals(document, { ...document, status: { loadBalancer: { ingress } } }, 'status');
  };
  const I = 'status.loadBalancer.ingress';
  assert.deepEqual(status('ClusterIP', { ip: '1.1.1.1' }), [
    `${I}: Forbidden: may only be used when \`spec.type\` is 'LoadBalancer'`,
  ]);
  compareTexts(
    status('LoadBalancer', { ip: 'x' }, { hostname: '1.1.1.1', ipMode: 'VIP' }, { ip: '1.1.1.1', ipMode: 'X' }),
    [
      `${I}[0].ip: Invalid value: "x": ${IP_TEXT}`,
      `${I}[1].ipMode: Forbidden: may not be specified when \`ip\` is not set`,
      `${I}[1].hostname: Invalid value: "1.1.1.1": must be a DNS name, not an IP address`,
      `${I}[2].ipMode: Unsupported value: "X": supported values: "Proxy", "VIP"`,
    ],
    'ingress',
  );
  const balanced = service({
    type: 'LoadBalancer',
    clusterIPs: ['10.0.0.1'],
    externalIPs: ['9.9.9.9'],
    selector: { b: 'c', a: 'd' },
  });
  const shown = row({
    ...balanced,
    status: { loadBalancer: { ingress: [{ ip: '2.2.2.2' }, { hostname: '1.h' }, { ip: '2.2.2.2' }] } },
  });
  assert.deepEqual(
    [shown['Cluster-IP'], shown['External-IP'], shown['Port(s)'], shown['Selector']],
    ['10.0.0.1', '1.h,2.2.2.2,9.9.9.9', '80/TCP', 'a=d,b=c'],
  );
  assert.equal(row(service({ type: 'LoadBalancer' }))['External-IP'], '<pending>');
  assert.equal(row(service({ type: 'X' }))['External-IP'], '<unknown>');
});

test('endpoints', () => {
  const endpoints = (...subsets: JsonObject[]): JsonObject => ({
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'e', namespace: 'n' },
    subsets,
  });
  compareTexts(
    refusals(
      endpoints(
        { ports: [{ port: 0 }, { port: 1, name: 'A' }] },
        { addresses: [{ ip: 'x', hostname: 'a.b', nodeName: 'N' }] },
      ),
    ),
    [
      'subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`',
      'subsets[0].ports[0].name: Required value',
      'subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
      'subsets[0].ports[1].name: Invalid value: "A": a lowercase RFC 1123 label…',
      `subsets[1].addresses[0].ip: Invalid value: "x": ${IP_TEXT}`,
      'subsets[1].addresses[0].hostname: Invalid value: "a.b": must not contain dots',
      'subsets[1].addresses[0].nodeName: Invalid value: "N": a lowercase RFC 1123 subdomain…',
      'subsets[1].addresses[0].ip: Invalid value: "x": must be a valid IP address',
    ],
    'endpoints',
  );
  const ips = (...list: string[]): JsonObject[] => list.map((ip) => ({ ip }));
  assert.equal(row(endpoints())['Endpoints'], '<none>');
  assert.equal(row(endpoints({ notReadyAddresses: ips('1.1.1.1'), ports: [{ port: 1 }] }))['Endpoints'], '');
  assert.equal(
    row(endpoints({ addresses: ips('1.1.1.1', '::2', '3.3.3.3', '4.4.4.4'), ports: [{ port: 1 }] }))['Endpoints'],
    '1.1.1.1:1,[::2]:1,3.3.3.3:1 + 1 more...',
  );
});

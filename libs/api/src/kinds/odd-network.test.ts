import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import { changeRefusals, compareTexts, refusals, row, stored } from './testing.ts';

type Case = readonly [document: JsonObject, errors: readonly string[]];
const check = (cases: readonly Case[]): void => {
  for (const [document, errors] of cases) compareTexts(refusals(document), errors, JSON.stringify(document));
};
const networking = (kind: string, spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'networking.k8s.io/v1',
  kind,
  metadata: { name: 'x', ...(kind === 'IngressClass' ? {} : { namespace: 'n' }), ...metadata },
  spec,
});

test('network policies: refused fields', () => {
  const policy = (spec: JsonObject): JsonObject => networking('NetworkPolicy', { podSelector: {}, ...spec });
  const port = (value: JsonObject): JsonObject => policy({ ingress: [{ ports: [value] }] });
  const from = (value: JsonObject): JsonObject => policy({ ingress: [{ from: [value] }] });
  const P = 'spec.ingress[0].ports[0]';
  const F = 'spec.ingress[0].from[0]';
  const portRange = 'must be between 1 and 65535, inclusive';
  check([
    [
      port({ protocol: 'A', port: 0 }),
      [
        `${P}.protocol: Unsupported value: "A": supported values: "TCP", "UDP", "SCTP"`,
        `${P}.port: Invalid value: 0: ${portRange}`,
      ],
    ],
    [port({ port: 80, endPort: 70 }), [`${P}.endPort: Invalid value: 80: must be greater than or equal to \`port\``]],
    [port({ port: 80, endPort: 70_000 }), [`${P}.endPort: Invalid value: 70000: ${portRange}`]],
    [port({ endPort: 70 }), [`${P}.endPort: Invalid value: 70: may not be specified when \`port\` is not specified`]],
    [
      port({ port: 'a_b', endPort: 70 }),
      [
        `${P}.endPort: Invalid value: 70: may not be specified when \`port\` is non-numeric`,
        `${P}.port: Invalid value: "a_b": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)`,
      ],
    ],
    [from({}), [`${F}: Required value: must specify a peer`]],
    [
      from({ podSelector: {}, ipBlock: { cidr: '' } }),
      [`${F}.ipBlock.cidr: Required value`, `${F}: Forbidden: may not specify both ipBlock and another peer`],
    ],
    [
      from({ ipBlock: { cidr: '1.2.3.4' } }),
      [`${F}.ipBlock.cidr: Invalid value: "1.2.3.4": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`],
    ],
    [
      from({ ipBlock: { cidr: '10.0.0.0/8', except: ['10.0.0.0/8', '11.0.0.0/9', 'x'] } }),
      [
        `${F}.ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of \`cidr\``,
        `${F}.ipBlock.except[1]: Invalid value: "11.0.0.0/9": must be a strict subset of \`cidr\``,
        `${F}.ipBlock.except[2]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`,
      ],
    ],
    [
      policy({ policyTypes: ['Ingress', 'A'] }),
      ['spec.policyTypes[1]: Unsupported value: "A": supported values: "Ingress", "Egress"'],
    ],
    [
      policy({ policyTypes: ['Ingress', 'Egress', 'A'] }),
      [
        'spec.policyTypes: Invalid value: []networking.PolicyType{"Ingress", "Egress", "A"}: may not specify more than two policyTypes',
      ],
    ],
  ]);
  const twice = `${F}: Required value: must specify a peer`;
  assert.deepEqual(changeRefusals(policy({}), from({})), [twice, twice]);
});

const service = { service: { name: 's', port: { number: 80 } } };
const ingress = (spec: JsonObject, metadata: JsonObject = {}): JsonObject => networking('Ingress', spec, metadata);
const path = (value: JsonObject): JsonObject =>
  ingress({ rules: [{ http: { paths: [{ backend: service, ...value }] } }] });
const A = 'spec.rules[0].http.paths[0]';

test('ingresses: refused fields', () => {
  const backend = (value: JsonObject): JsonObject => ingress({ defaultBackend: value });
  const D = 'spec.defaultBackend';
  const bad = (text: string, detail: string): string => `${A}.path: Invalid value: "${text}": ${detail}`;
  check([
    [
      ingress({}),
      ['spec: Invalid value: []networking.IngressRule(nil): either `defaultBackend` or `rules` must be specified'],
    ],
    [
      ingress({ rules: [{ host: '1.2.3.4', http: { paths: [] } }] }),
      [
        'spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
        'spec.rules[0].http.paths: Required value',
      ],
    ],
    [
      ingress({ rules: [{ host: 'a.*.b' }] }),
      ['spec.rules[0].host: Invalid value: "a.*.b": a wildcard DNS-1123 subdomain must…'],
    ],
    [path({}), [`${A}.pathType: Required value: pathType must be specified`]],
    [
      path({ pathType: 'A' }),
      [`${A}.pathType: Unsupported value: "A": supported values: "Exact", "ImplementationSpecific", "Prefix"`],
    ],
    [path({ pathType: 'Prefix' }), [bad('', 'must be an absolute path')]],
    [
      path({ pathType: 'Exact', path: '/a//b/./%2f/..' }),
      [
        bad('/a//b/./%2f/..', "must not contain '//'"),
        bad('/a//b/./%2f/..', "must not contain '/./'"),
        bad('/a//b/./%2f/..', "must not contain '%2f'"),
        bad('/a//b/./%2f/..', "cannot end with '/..'"),
      ],
    ],
    [path({ pathType: 'ImplementationSpecific', path: 'a' }), [bad('a', 'must be an absolute path')]],
    [backend({}), [`${D}: Invalid value: "": resource or service backend is required`]],
    [
      backend({ service: { name: 'S', port: {} } }),
      [
        `${D}.service.name: Invalid value: "S": a DNS-1035 label must…`,
        `${D}: Required value: port name or number is required`,
      ],
    ],
    [
      backend({ service: { name: '', port: { name: 'a', number: 1 } } }),
      [`${D}.service.name: Required value`, `${D}: Invalid value: "": cannot set both port name & port number`],
    ],
    [
      backend({ service: { name: 's', port: { number: 70_000 } } }),
      [`${D}.service.port.number: Invalid value: 70000: must be between 1 and 65535, inclusive`],
    ],
    [
      backend({ ...service, resource: { kind: 'A', name: 'b' } }),
      [`${D}: Invalid value: "": cannot set both resource and service backends`],
    ],
    [
      backend({ resource: { apiGroup: 'A', kind: '', name: '' } }),
      [
        `${D}.resource.apiGroup: Invalid value: "A": a lowercase RFC 1123 subdomain…`,
        `${D}.resource.kind: Required value`,
        `${D}.resource.name: Required value`,
      ],
    ],
    [
      ingress({ defaultBackend: service, tls: [{ hosts: ['A', '*.b_c'], secretName: 'A' }], ingressClassName: 'A' }),
      [
        'spec.tls[0].hosts[0]: Invalid value: "A": a lowercase RFC 1123 subdomain…',
        'spec.tls[0].hosts[1]: Invalid value: "*.b_c": a wildcard DNS-1123 subdomain must…',
        'spec.tls[0].secretName: Invalid value: "A": a lowercase RFC 1123 subdomain…',
        'spec.ingressClassName: Invalid value: "A": a lowercase RFC 1123 subdomain…',
      ],
    ],
    [
      ingress(
        { defaultBackend: service, ingressClassName: 'b' },
        { annotations: { 'kubernetes.io/ingress.class': 'a' } },
      ),
      [
        'annotations.kubernetes.io/ingress.class: Invalid value: "a": must match `ingressClassName` when both are specified',
      ],
    ],
  ]);
});

test('ingresses: hosts and addresses in a table', () => {
  const hosts = (...names: string[]): unknown =>
    row(ingress({ rules: names.map((host) => (host === '' ? {} : { host })) }))['Hosts'];
  assert.equal(hosts(''), '*');
  assert.equal(hosts('a', '', 'b'), 'a,b');
  assert.equal(hosts('a', 'b', 'c'), 'a,b,c');
  assert.equal(hosts('a', 'b', 'c', 'd', ''), 'a,b,c + 2 more...');
  const points = [{ ip: '9.9.9.9' }, { hostname: 'a-long-name.example.com' }, { ip: '9.9.9.9', hostname: 'b' }];
  const cells = row({
    ...ingress({ defaultBackend: service, tls: [{}] }),
    status: { loadBalancer: { ingress: points } },
  });
  assert.deepEqual(
    [cells['Class'], cells['Address'], cells['Ports']],
    ['<none>', '9.9.9.9,a-long-name.example.com', '80, 443'],
  );
});

test('ingress classes: refused fields', () => {
  const named = (controller: string, parameters?: JsonObject): JsonObject =>
    networking('IngressClass', { controller, ...(parameters === undefined ? {} : { parameters }) });
  const good = { kind: 'A', name: 'b' };
  check([
    [named(''), ['spec.controller: Required value']],
    [named('a'), ['spec.controller: Invalid value: "a": must be a domain-prefixed path (such as "acme.io/foo")']],
    [
      named('A/b c'),
      [
        'spec.controller: Invalid value: "A": a lowercase RFC 1123 subdomain…',
        "spec.controller: Invalid value: \"b c\": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
      ],
    ],
    [
      named('a.b/c', { ...good, scope: 'A' }),
      ['spec.parameters.scope: Unsupported value: "A": supported values: "Cluster", "Namespace"'],
    ],
    [
      named('a.b/c', { ...good, scope: 'Namespace' }),
      ["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
    ],
    [
      named('a.b/c', { ...good, namespace: 'n' }),
      ["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
    ],
  ]);
  assert.deepEqual(changeRefusals(named('a.b/c'), named('a')), [
    'spec.controller: Invalid value: "a": field is immutable',
    'spec.controller: Invalid value: "a": must be a domain-prefixed path (such as "acme.io/foo")',
  ]);
  assert.equal(row(named('a.b/c', { ...good, apiGroup: 'g' }))['Parameters'], 'A.g/b');
});

test('endpoint slices: refused and dropped fields', () => {
  const slice = (rest: JsonObject): JsonObject => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'x', namespace: 'n' },
    addressType: 'IPv4',
    endpoints: [],
    ...rest,
  });
  const one = (endpoint: JsonObject, addressType = 'IPv4'): JsonObject =>
    slice({ addressType, endpoints: [{ addresses: ['1.2.3.4'], ...endpoint }] });
  const E = 'endpoints[0]';
  const domain = (name: string): JsonObject => one({ addresses: [name] }, 'FQDN');
  check([
    [slice({ addressType: '' }), ['addressType: Required value']],
    [slice({ addressType: 'A' }), ['addressType: Unsupported value: "A": supported values: "FQDN", "IPv4", "IPv6"']],
    [one({ addresses: [] }), [`${E}.addresses: Required value: must contain at least 1 address`]],
    [
      one({ addresses: ['::1'] }),
      [
        `${E}.addresses[0]: Invalid value: "::1": must be a valid IPv4 address`,
        `${E}.addresses[0]: Invalid value: "::1": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
      ],
    ],
    [domain(''), [`${E}.addresses[0]: Required value`]],
    [
      domain('a'),
      [`${E}.addresses[0]: Invalid value: "a": should be a domain with at least two segments separated by dots`],
    ],
    [domain('A.b'), [`${E}.addresses[0]: Invalid value: "A.b": a lowercase RFC 1123 subdomain…`]],
    [domain('a.b.'), []],
    [
      one({ nodeName: 'A', hostname: 'B' }),
      [
        `${E}.nodeName: Invalid value: "A": a lowercase RFC 1123 subdomain…`,
        `${E}.hostname: Invalid value: "B": a lowercase RFC 1123 label…`,
      ],
    ],
    [
      one({ hints: { forZones: [{ name: 'a' }, { name: 'a' }, { name: 'a b' }] } }),
      [
        `${E}.hints.forZones[1].name: Duplicate value: "a"`,
        `${E}.hints.forZones[2].name: Invalid value: "a b": a valid label…`,
      ],
    ],
    [
      one({ hints: { forZones: Array.from({ length: 9 }, () => ({ name: 'a b' })) } }),
      [`${E}.hints.forZones: Too many: 9: must have at most 8 items`],
    ],
    [
      slice({ ports: [{}, { name: '' }, { name: 'A', protocol: 'x', appProtocol: 'a b' }] }),
      [
        'ports[1].name: Duplicate value: ""',
        'ports[2].name: Invalid value: "A": a lowercase RFC 1123 label…',
        'ports[2].protocol: Unsupported value: "x": supported values: "SCTP", "TCP", "UDP"',
        'ports[2].appProtocol: Invalid value: "a b": name part must…',
      ],
    ],
  ]);
  assert.deepEqual(changeRefusals(slice({}), slice({ addressType: 'IPv6' })), [
    'addressType: Invalid value: "IPv6": field is immutable',
  ]);
  const shown = (...ports: JsonObject[]): unknown => row(slice({ ports }))['Ports'];
  assert.equal(shown({ name: 'a' }, { port: 80 }, {}, { port: 1 }), 'a,80, + 1 more...');
  assert.deepEqual([shown(), shown({})], ['<unset>', '<unset>']);
  const kept = stored(one({ deprecatedTopology: { a: 'b' } })) as unknown as { endpoints: unknown };
  assert.deepEqual(kept.endpoints, [{ addresses: ['1.2.3.4'], conditions: {} }]);
});

import {
  BODY_BYTES,
  CORE,
  creation,
  filled,
  filledMap,
  filledText,
  groupPath,
  type HostileRequest,
} from './hostile-request.ts';

const items = (make: (index: number) => unknown): readonly unknown[] => filled(BODY_BYTES, make);
const RBAC = groupPath('rbac.authorization.k8s.io/v1');
const NETWORKING = groupPath('networking.k8s.io/v1');
const APPS = groupPath('apps/v1');
const BATCH = groupPath('batch/v1');
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';

const pod = {
  metadata: { labels: { a: 'b' } },
  spec: { containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Never' },
};
const expressions = (): unknown => items((index) => ({ key: `k${index}`, operator: 'In', values: ['v'] }));
const port = (index: number): unknown => ({
  name: `p${index}`,
  port: (index % 65_535) + 1,
  protocol: index % 2 === 0 ? 'TCP' : 'UDP',
});
const role = (rules: unknown): unknown => ({ metadata: { name: 'wide' }, rules });

type Wide = readonly [name: string, path: string, make: () => unknown];

const spec =
  (make: () => unknown): (() => unknown) =>
  () => ({ metadata: { name: 'wide' }, spec: make() });

const WORKLOADS: readonly Wide[] = [
  [
    'deployment: selector',
    `${APPS}/deployments`,
    spec(() => ({ selector: { matchExpressions: expressions() }, template: pod })),
  ],
  [
    'deployment: matchLabels',
    `${APPS}/deployments`,
    spec(() => ({ selector: { matchLabels: filledMap(BODY_BYTES, (index) => [`l${index}`, 'v']) }, template: pod })),
  ],
  [
    'stateful set: claims',
    `${APPS}/statefulsets`,
    spec(() => ({
      selector: { matchLabels: { a: 'b' } },
      template: pod,
      volumeClaimTemplates: items((index) => ({ metadata: { name: `c${index}` } })),
    })),
  ],
  [
    'job: failure rules',
    `${BATCH}/jobs`,
    spec(() => ({
      template: pod,
      podFailurePolicy: { rules: items(() => ({ action: 'Ignore', onExitCodes: { operator: 'In', values: [1] } })) },
    })),
  ],
  [
    'job: exit codes',
    `${BATCH}/jobs`,
    spec(() => ({
      template: pod,
      podFailurePolicy: {
        rules: [{ action: 'Ignore', onExitCodes: { operator: 'In', values: items((index) => index + 1) } }],
      },
    })),
  ],
  [
    'job: success rules',
    `${BATCH}/jobs`,
    spec(() => ({
      template: pod,
      completionMode: 'Indexed',
      completions: 10,
      parallelism: 1,
      successPolicy: { rules: items((index) => ({ succeededIndexes: `${index}` })) },
    })),
  ],
  [
    'job: success indexes',
    `${BATCH}/jobs`,
    spec(() => ({
      template: pod,
      completionMode: 'Indexed',
      completions: 100_000,
      parallelism: 1,
      successPolicy: { rules: [{ succeededIndexes: filledText(BODY_BYTES, (index) => `${index}`) }] },
    })),
  ],
  [
    'cron job: a long schedule',
    `${BATCH}/cronjobs`,
    spec(() => ({
      schedule: `${filledText(BODY_BYTES, (index) => `${index % 60}`)} * * * *`,
      jobTemplate: { spec: { template: pod } },
    })),
  ],
  [
    'scaler: metrics',
    `${groupPath('autoscaling/v2')}/horizontalpodautoscalers`,
    spec(() => ({
      maxReplicas: 2,
      scaleTargetRef: { kind: 'Deployment', name: 'd' },
      metrics: items(() => ({
        type: 'Resource',
        resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
      })),
    })),
  ],
  [
    'budget: selector',
    `${groupPath('policy/v1')}/poddisruptionbudgets`,
    spec(() => ({ maxUnavailable: 1, selector: { matchExpressions: expressions() } })),
  ],
];

const NETWORK: readonly Wide[] = [
  ['service: ports', `${CORE}/services?dryRun=All`, spec(() => ({ ports: items(port) }))],
  ['service: the same port', `${CORE}/services?dryRun=All`, spec(() => ({ ports: items(() => ({ port: 80 })) }))],
  [
    'service: node ports',
    `${CORE}/services?dryRun=All`,
    spec(() => ({
      type: 'NodePort',
      ports: items((index) => ({ name: `p${index}`, port: (index % 65_535) + 1, nodePort: 30_000 + (index % 2_768) })),
    })),
  ],
  [
    'service: ports that want node ports',
    `${CORE}/services?dryRun=All`,
    spec(() => ({ type: 'NodePort', ports: items((index) => ({ name: `p${index}`, port: (index % 65_535) + 1 })) })),
  ],
  [
    'service: externalIPs',
    `${CORE}/services?dryRun=All`,
    spec(() => ({ ports: [{ port: 80 }], externalIPs: items(() => '1.2.3.4') })),
  ],
  [
    'service: clusterIPs',
    `${CORE}/services?dryRun=All`,
    spec(() => ({ ports: [{ port: 80 }], clusterIPs: items(() => '10.96.0.9') })),
  ],
  [
    'service: sources',
    `${CORE}/services?dryRun=All`,
    spec(() => ({ type: 'LoadBalancer', ports: [{ port: 80 }], loadBalancerSourceRanges: items(() => '1.2.3.0/24') })),
  ],
  [
    'service: selector',
    `${CORE}/services?dryRun=All`,
    spec(() => ({ ports: [{ port: 80 }], selector: filledMap(BODY_BYTES, (index) => [`l${index}`, 'v']) })),
  ],
  [
    'endpoints: addresses',
    `${CORE}/endpoints`,
    () => ({
      metadata: { name: 'wide' },
      subsets: [
        {
          addresses: items((index) => ({ ip: `1.${(index >> 16) % 250}.${(index >> 8) & 255}.${index & 255}` })),
          ports: [{ port: 80 }],
        },
      ],
    }),
  ],
  [
    'endpoints: addresses and ports',
    `${CORE}/endpoints`,
    () => ({
      metadata: { name: 'wide' },
      subsets: [
        {
          addresses: filled(BODY_BYTES / 2, (index) => ({ ip: `1.2.${(index >> 8) & 255}.${index & 255}` })),
          ports: filled(BODY_BYTES / 2, (index) => ({ name: `p${index}`, port: (index % 65_535) + 1 })),
        },
      ],
    }),
  ],
  [
    'endpoints: subsets',
    `${CORE}/endpoints`,
    () => ({
      metadata: { name: 'wide' },
      subsets: items((index) => ({
        addresses: [{ ip: `1.2.${(index >> 8) & 255}.${index & 255}` }],
        ports: [{ port: 80 }],
      })),
    }),
  ],
  [
    'endpoint slice: endpoints',
    `${groupPath('discovery.k8s.io/v1')}/endpointslices`,
    () => ({ metadata: { name: 'wide' }, addressType: 'IPv4', endpoints: items(() => ({ addresses: ['1.2.3.4'] })) }),
  ],
  [
    'endpoint slice: ports',
    `${groupPath('discovery.k8s.io/v1')}/endpointslices`,
    () => ({
      metadata: { name: 'wide' },
      addressType: 'IPv4',
      endpoints: [],
      ports: items((index) => ({ name: `p${index}`, port: 80 })),
    }),
  ],
  [
    'network policy: peers',
    `${NETWORKING}/networkpolicies`,
    spec(() => ({ podSelector: {}, ingress: [{ from: items(() => ({ podSelector: {} })) }] })),
  ],
  [
    'network policy: ports',
    `${NETWORKING}/networkpolicies`,
    spec(() => ({ podSelector: {}, ingress: items(() => ({ ports: [{ port: 80 }] })) })),
  ],
  [
    'network policy: excepted blocks',
    `${NETWORKING}/networkpolicies`,
    spec(() => ({
      podSelector: {},
      ingress: [{ from: [{ ipBlock: { cidr: '1.0.0.0/8', except: items(() => '1.2.3.0/24') } }] }],
    })),
  ],
  ['ingress: rules', `${NETWORKING}/ingresses`, spec(() => ({ rules: items((index) => ({ host: `h${index}.io` })) }))],
  [
    'ingress: paths',
    `${NETWORKING}/ingresses`,
    spec(() => ({
      rules: [
        {
          http: {
            paths: items((index) => ({
              path: `/p${index}`,
              pathType: 'Exact',
              backend: { service: { name: 's', port: { number: 80 } } },
            })),
          },
        },
      ],
    })),
  ],
  [
    'ingress: hosts of TLS',
    `${NETWORKING}/ingresses`,
    spec(() => ({
      defaultBackend: { service: { name: 's', port: { number: 80 } } },
      tls: [{ hosts: items((index) => `h${index}.io`) }],
    })),
  ],
];

const ACCESS: readonly Wide[] = [
  [
    'role: rules',
    `${RBAC}/roles`,
    () => role(items((index) => ({ verbs: ['get'], apiGroups: [''], resources: [`r${index}`] }))),
  ],
  [
    'role: verbs, groups and resources',
    `${RBAC}/roles`,
    () =>
      role([
        {
          verbs: filled(8_000, (index) => `v${index}`),
          apiGroups: filled(8_000, (index) => `g${index}`),
          resources: filled(8_000, (index) => `r${index}`),
        },
      ]),
  ],
  [
    'role: the most of verbs, groups and resources',
    `${RBAC}/roles`,
    () =>
      role([
        {
          verbs: filled(BODY_BYTES / 3, (index) => `v${index}`),
          apiGroups: filled(BODY_BYTES / 3, (index) => `g${index}`),
          resources: filled(BODY_BYTES / 3, (index) => `r${index}`),
        },
      ]),
  ],
  [
    'role: names of resources',
    `${RBAC}/roles`,
    () =>
      role([{ verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: items((index) => `n${index}`) }]),
  ],
  ['role: empty rules', `${RBAC}/roles`, () => role(items(() => ({})))],
  [
    'role binding: subjects',
    `${RBAC}/rolebindings`,
    () => ({
      metadata: { name: 'wide' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: items((index) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: `u${index}` })),
    }),
  ],
  [
    'service account: secrets',
    `${CORE}/serviceaccounts`,
    () => ({ metadata: { name: 'wide' }, secrets: items((index) => ({ name: `s${index}` })) }),
  ],
  [
    'service account: the same imagePullSecret',
    `${CORE}/serviceaccounts`,
    () => ({ metadata: { name: 'wide' }, imagePullSecrets: items(() => ({ name: 's' })) }),
  ],
  [
    'quota: resources',
    `${CORE}/resourcequotas`,
    spec(() => ({ hard: filledMap(BODY_BYTES, (index) => [`requests.a.io/r${index}`, '1']) })),
  ],
  [
    'quota: scopes',
    `${CORE}/resourcequotas`,
    spec(() => ({ hard: { pods: '1' }, scopes: items(() => 'Terminating') })),
  ],
  [
    'limit range: limits',
    `${CORE}/limitranges`,
    spec(() => ({ limits: items(() => ({ type: 'Container', max: { cpu: '1' } })) })),
  ],
  [
    'limit range: resources',
    `${CORE}/limitranges`,
    spec(() => ({ limits: [{ type: 'Container', max: filledMap(BODY_BYTES, (index) => [`a.io/r${index}`, '1']) }] })),
  ],
  [
    'config map: data',
    `${CORE}/configmaps`,
    () => ({ metadata: { name: 'wide' }, data: filledMap(BODY_BYTES, (index) => [`k${index}`, 'v']) }),
  ],
  [
    'config map: wrong keys',
    `${CORE}/configmaps`,
    () => ({ metadata: { name: 'wide' }, data: filledMap(BODY_BYTES, (index) => [`-/${index}`, 'v']) }),
  ],
  [
    'secret: data',
    `${CORE}/secrets`,
    () => ({ metadata: { name: 'wide' }, data: filledMap(BODY_BYTES, (index) => [`k${index}`, 'dg==']) }),
  ],
  [
    'event: a long message',
    `${CORE}/events`,
    () => ({ metadata: { name: 'wide' }, involvedObject: {}, message: 'm'.repeat(BODY_BYTES) }),
  ],
  [
    'pod template: labels',
    `${CORE}/podtemplates`,
    () => ({
      metadata: { name: 'wide' },
      template: { ...pod, metadata: { labels: filledMap(BODY_BYTES, (index) => [`l${index}`, 'v']) } },
    }),
  ],
  [
    'eviction: preconditions',
    `${CORE}/pods/none/eviction`,
    () => ({ metadata: { name: 'none', labels: filledMap(BODY_BYTES, (index) => [`l${index}`, 'v']) } }),
  ],
];

const definition = (schema: unknown): unknown => ({
  metadata: { name: 'as.b.c' },
  spec: {
    group: 'b.c',
    scope: 'Namespaced',
    names: { plural: 'as', singular: 'a', kind: 'A', listKind: 'AList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  },
});
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const CLUSTER: readonly Wide[] = [
  [
    'definition: properties',
    DEFINITIONS,
    () =>
      definition({ type: 'object', properties: filledMap(BODY_BYTES, (index) => [`p${index}`, { type: 'string' }]) }),
  ],
  ['definition: required', DEFINITIONS, () => definition({ type: 'object', required: items((index) => `p${index}`) })],
  [
    'webhooks',
    `${ADMISSION}/validatingwebhookconfigurations`,
    () => ({
      metadata: { name: 'wide' },
      webhooks: items((index) => ({
        name: `w${index}.a.io`,
        clientConfig: { url: 'https://a.io' },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      })),
    }),
  ],
  [
    'rules of a webhook',
    `${ADMISSION}/mutatingwebhookconfigurations`,
    () => ({
      metadata: { name: 'wide' },
      webhooks: [
        {
          name: 'w.a.io',
          clientConfig: { url: 'https://a.io' },
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          rules: items(() => ({ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] })),
        },
      ],
    }),
  ],
  [
    'resources of a webhook rule',
    `${ADMISSION}/mutatingwebhookconfigurations`,
    () => ({
      metadata: { name: 'wide' },
      webhooks: [
        {
          name: 'w.a.io',
          clientConfig: { url: 'https://a.io' },
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          rules: [
            { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: items((index) => `r${index}/s`) },
          ],
        },
      ],
    }),
  ],
  [
    'policy: variables',
    `${ADMISSION}/validatingadmissionpolicies`,
    spec(() => ({
      matchConstraints: {
        resourceRules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }],
      },
      validations: [{ expression: 'true' }],
      variables: items((index) => ({ name: `v${index}`, expression: 'true' })),
    })),
  ],
  [
    'node: taints',
    '/api/v1/nodes',
    spec(() => ({ taints: items((index) => ({ key: `k${index}`, effect: 'NoSchedule' })) })),
  ],
  ['node: pod networks', '/api/v1/nodes', spec(() => ({ podCIDRs: items(() => '10.0.0.0/24') }))],
  [
    'node: addresses',
    '/api/v1/nodes',
    () => ({
      metadata: { name: 'wide' },
      status: {
        addresses: items((index) => ({ type: 'InternalIP', address: `1.2.${(index >> 8) & 255}.${index & 255}` })),
        images: [],
      },
    }),
  ],
  [
    'storage class: topologies',
    '/apis/storage.k8s.io/v1/storageclasses',
    () => ({
      metadata: { name: 'wide' },
      provisioner: 'a/b',
      allowedTopologies: items((index) => ({ matchLabelExpressions: [{ key: `k${index}`, values: ['v'] }] })),
    }),
  ],
  [
    'storage class: parameters',
    '/apis/storage.k8s.io/v1/storageclasses',
    () => ({
      metadata: { name: 'wide' },
      provisioner: 'a/b',
      parameters: filledMap(BODY_BYTES, (index) => [`k${index}`, 'v']),
    }),
  ],
  [
    'flow schema: rules',
    '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
    spec(() => ({
      priorityLevelConfiguration: { name: 'exempt' },
      rules: items(() => ({
        subjects: [{ kind: 'User', user: { name: 'u' } }],
        resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] }],
      })),
    })),
  ],
  [
    'certificate request: usages',
    '/apis/certificates.k8s.io/v1/certificatesigningrequests',
    spec(() => ({ request: 'YQ==', signerName: 'a.b/c', usages: items((index) => `u${index}`) })),
  ],
  [
    'certificate request: a long request',
    '/apis/certificates.k8s.io/v1/certificatesigningrequests',
    spec(() => ({
      request: Buffer.from(
        `-----BEGIN CERTIFICATE REQUEST-----\n${'A'.repeat(BODY_BYTES / 2)}\n-----END CERTIFICATE REQUEST-----\n`,
      ).toString('base64'),
      signerName: 'a.b/c',
      usages: ['any'],
    })),
  ],
];

export const KINDS: readonly HostileRequest[] = [
  ...[...WORKLOADS, ...NETWORK, ...ACCESS].map(([name, path, make]) => creation(name, path, make)),
  ...CLUSTER.map(([name, path, make]) => creation(name, path, make, { sender: 'admin' })),
];
